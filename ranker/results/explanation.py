"""Explanations of one example by several models, as plain records that can be saved, loaded and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from factors import Factor
from factors.types import Example, Span
from ranker import records
from ranker.errors import UsageError, check_installed, listed, look_up
from ranker.numbers import probability, signed
from ranker.results.result import NAMES, Result, to_plain

if TYPE_CHECKING:
    import shap
    from captum.attr._utils.visualization import VisualizationDataRecord

SCHEMA_VERSION = 1

MAX_QUOTED_CHARACTERS = 80
"""Characters of a text that its answer quotes, at most."""


@dataclass(frozen=True)
class Word:
    """A word of the example, or a special token of the model's input.

    Attributes:
        text: as in the example; a special token as the tokenizer writes it.
        segment: its segment; a special token counts to the segment before it, the first one to segment 0.
        span: its first character in the segment, and the one after its last; None for a special token.
        score: sum of its tokens' attributions toward the explained output; None if the model did not see it, or its
            answer has nothing to attribute.
        marks: the marks that touch it.
        read: whether the factor designed for the set depends on the word's score.

    Raises:
        ValueError: the span is no stretch of characters.
    """

    text: str
    segment: int
    span: tuple[int, ...] | None
    score: float | None
    marks: tuple[str, ...] = ()
    read: bool = False

    def __post_init__(self) -> None:
        if self.span is not None:
            if len(self.span) != 2:
                raise ValueError(f"`span` must be two characters (got {len(self.span)})")
            Span(self.segment, *self.span)


@dataclass(frozen=True)
class Reading:
    """One model's prediction, word scores and factors for the example.

    Attributes:
        name: of the model.
        predicted: the label of the highest probability, of equals the first; or another answer, as text.
        probabilities: label -> its probability; empty where answers are no labels.
        within_tolerance: whether the attribution's own measure of error is small enough.
        words: in the order of the model's input.
        factors: factor -> its value, None if undefined; each about the label that it declares.
        undefined: factor -> why it has no value, if it says so.
        wordless: log-odds of the explained label with all words hidden: the share of a prompt, and of the model itself;
            None if the scores of words do not add up to the rest.

    Raises:
        ValueError: `predicted` is not the most probable label.
    """

    name: str
    predicted: str
    probabilities: Mapping[str, float]
    within_tolerance: bool
    words: tuple[Word, ...]
    factors: Mapping[str, float | None]
    undefined: Mapping[str, str]
    wordless: float | None = None

    def __post_init__(self) -> None:
        best = max(self.probabilities, key=lambda label: self.probabilities[label], default=self.predicted)
        if self.predicted != best:
            raise ValueError(f"`predicted` must be the most probable label (got {self.predicted!r})")

    @property
    def probability(self) -> float | None:
        """Probability of the predicted label; None where answers are no labels."""
        return self.probabilities.get(self.predicted)

    @property
    def scored(self) -> bool:
        """True if some word has a score."""
        return any(word.score is not None for word in self.words)

    @property
    def strongest(self) -> float:
        """Largest magnitude among the scores; 0 if there are none."""
        return max((abs(word.score) for word in self.words if word.score is not None), default=0.0)


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """One example as read by several models.

    Attributes:
        example: the text, with its marks; its target is the right answer as text.
        labels: (C,) the task's labels by name; () where answers are none.
        toward: label, or another answer of the model's own, that positive scores support; "" if there are no scores.
        attribution: backend that gives the scores.
        factors: the measured factors.
        readings: one for each model that could be run.
        left_out: factor -> why it cannot be measured on this example.
        failures: model -> why it could not be run.
        designed: the factor that was designed for the example's set, if it was measured.

    Raises:
        ValueError: the true label, or that of the scores, is none of the labels.

    Example:
        >>> from ranker import Evidence, explain, load_set, load_suite
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-1:], load_set("hans-sub", limit=10)
        >>> explanation = explain(models, rows.examples[0], task=rows.task, evidence=Evidence("occlusion"))
        >>> [reading.name for reading in explanation.readings], explanation.toward
        (['inoc-4000'], 'entailment')
    """

    index: ClassVar[tuple[str, ...]] = ()

    example: Example
    labels: tuple[str, ...]
    toward: str
    attribution: str
    factors: tuple[Factor, ...]
    readings: tuple[Reading, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    designed: str | None = None

    def __post_init__(self) -> None:
        for field_name, name in (("label", self.label), ("toward", self.toward)):
            if self.labels and name not in (None, *self.labels):
                raise ValueError(f"`{field_name}` must be one of {', '.join(self.labels)} (got {name!r})")

    @property
    def label(self) -> str | None:
        """The true label, or another right answer; None if unknown."""
        return cast("str | None", self.example.target)

    @property
    def answer(self) -> str:
        """The example, each model's prediction, and the source of the word scores."""
        text = " / ".join(self.example.segments)
        short = text if len(text) <= MAX_QUOTED_CHARACTERS else f"{text[: MAX_QUOTED_CHARACTERS - 3]}..."
        true = "label unknown" if self.label is None else self.label
        predictions = [f"{reading.name} {_prediction(reading)}" for reading in self.readings]
        failed = f"; failed: {listed(list(self.failures), NAMES)}" if self.failures else ""
        scored = any(reading.scored for reading in self.readings)
        by = [f"words by {self.attribution}, toward {self.toward}"] if scored else []
        return "\n".join([f"{short!r}: {true}", f"{listed(predictions, NAMES)}{failed}", *by])

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each model and word, with its score toward the explained label (None if unseen).

        `start` and `end` are characters of the segment; None for the special tokens of a model's input.
        """
        return [
            {
                "model": reading.name,
                "predicted": reading.predicted,
                "probability": reading.probability,
                "segment": word.segment,
                "word": word.text,
                "start": None if word.span is None else word.span[0],
                "end": None if word.span is None else word.span[1],
                "score": word.score,
                "marks": ", ".join(word.marks),
                "read": word.read,
            }
            for reading in self.readings
            for word in reading.words
        ]

    def in_words(self) -> list[dict[str, str]]:
        """Return the words with their scores, below the predictions, in a column for each of the first models."""
        first = self.readings[:NAMES]
        lines = zip(*([word for word in reading.words if word.span] for reading in first), strict=True)
        return [
            {"word": "(predicted)", **{reading.name: _prediction(reading) for reading in first}},
            *(
                {"word": words[0].text}
                | {reading.name: _signed(word.score) for reading, word in zip(first, words, strict=True)}
                for words in lines
            ),
        ]

    def to_shap(self, model: str | None = None) -> shap.Explanation:
        """Return one model's word scores for shap's plots, such as `shap.plots.text` and `shap.plots.waterfall`.

        `data` are the words with the blanks after them. Base value and values add up to the log-odds of the explained
        label.

        Args:
            model: name of the model; None for the only one.

        Raises:
            UsageError: shap is not installed, there are no scores, or they do not add up, as shap's plots take them
                to; or there are several models and none is named.
            UnknownName: no model has that name.
        """
        check_installed("`to_shap`", "notebook", "shap")
        import shap

        readings = {reading.name: reading for reading in self._scored()}
        if model is None and len(readings) > 1:
            text = f"`model` is needed, one of {listed(readings)}"
            raise UsageError(text, option="model", allowed=tuple(readings))
        reading = look_up("model", next(iter(readings)) if model is None else model, readings)
        texts, scores = self._texts_and_scores(reading)
        if reading.wordless is None:
            predicate = (
                f"must be shap or ig, of the margin: these scores by {self.attribution} do not add up to log-odds of a "
                "label, as shap's plots take them to"
            )
            raise UsageError.about("attribution", predicate, self.attribution, allowed=("shap", "ig"))
        return shap.Explanation(
            np.array(scores)[:, None],
            base_values=np.array([reading.wordless]),
            data=np.array(texts),
            feature_names=texts,
            output_names=[self.toward],
        )[:, 0]

    def to_captum(self) -> list[VisualizationDataRecord]:
        """Return a record for each model, for captum's `visualize_text`: scores are shares of the strongest one.

        Raises:
            UsageError: captum is not installed, or there are no scores.
        """
        check_installed("`to_captum`", "models")
        import torch
        from captum.attr import visualization

        exported = []
        for reading in self._scored():
            texts, scores = self._texts_and_scores(reading)
            shares = torch.tensor(scores, dtype=torch.float64) / (reading.strongest or 1.0)
            label = "unknown" if self.label is None else self.label
            probability = float("nan") if reading.probability is None else reading.probability
            words = [text.strip() for text in texts]
            exported.append(
                visualization.VisualizationDataRecord(
                    shares, probability, reading.predicted, label, self.toward, sum(scores), words, float("nan")
                )
            )
        return exported

    def _scored(self) -> list[Reading]:
        """Return the readings with scores, at least one."""
        scored = [reading for reading in self.readings if reading.scored]
        if not scored:
            raise UsageError("there are no scores of words to show", option="attribution", value=self.attribution)
        return scored

    def _texts_and_scores(self, reading: Reading) -> tuple[list[str], list[float]]:
        """Return the words that a model saw, each with the blanks up to the next one, and their scores."""
        texts, scores = [], []
        for word, following in zip_longest(reading.words, reading.words[1:]):
            if word.score is None:
                continue
            between = " "
            if following and word.span and following.span and following.segment == word.segment:
                between = self.example.segments[word.segment][word.span[1] : following.span[0]]
            texts.append(word.text + between)
            scores.append(word.score)
        return texts, scores

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, keys in a fixed order; None is null."""
        return {
            "schema_version": SCHEMA_VERSION,
            "example": {
                "id": self.example.id,
                "segments": list(self.example.segments),
                "label": self.label,
                "marks": {
                    name: [[span.segment, span.start, span.end] for span in spans]
                    for name, spans in self.example.marks.items()
                },
            },
            **{name: to_plain(getattr(self, name)) for name in ("labels", "designed", "toward", "attribution")},
            "models": to_plain(self.readings),
            "factors": [
                {"name": factor.name, "explains": factor.explains, "higher_is_better": factor.higher_is_better}
                for factor in self.factors
            ],
            "left_out": dict(self.left_out),
            "failures": dict(self.failures),
        }

    @classmethod
    def from_dict(cls, content: Any) -> Explanation:
        """Rebuild the output of `to_dict`; factors come back with their declarations, not their functions.

        Raises:
            KeyError, ValueError: a key is missing, or a value is invalid.
        """
        saved = records.table(content, "examples")
        saved_example = records.table(saved["example"], "example")
        label = records.typed(saved_example["label"], str | None, "label")
        marks = {
            name: tuple(Span(*records.typed(span, tuple[int, ...], name)) for span in spans)
            for name, spans in records.table(saved_example["marks"], "marks").items()
        }
        segments = records.typed(saved_example["segments"], tuple[str, ...], "segments")
        return cls(
            example=Example(records.typed(saved_example["id"], str, "id"), segments, label, marks),
            labels=records.typed(saved["labels"], tuple[str, ...], "labels"),
            toward=records.typed(saved["toward"], str, "toward"),
            attribution=records.typed(saved["attribution"], str, "attribution"),
            factors=tuple(_declared(records.table(factor, "factors")) for factor in saved["factors"]),
            readings=records.typed(saved["models"], tuple[Reading, ...], "models"),
            left_out=records.typed(saved["left_out"], Mapping[str, str], "left_out"),
            failures=records.typed(saved["failures"], Mapping[str, str], "failures"),
            designed=records.typed(saved["designed"], str | None, "designed"),
        )


def _declared(content: Mapping[str, Any]) -> Factor:
    return records.record(Factor, {**content, "score": not_saved, "source": ""}, "factors")


def not_saved(attributions: object, example: object) -> float:
    """Raise: stands in for a factor's function, since a file holds its declaration and scores but no code."""
    raise NotImplementedError("a saved ranking holds a factor's scores, not its function")


def _prediction(reading: Reading) -> str:
    share = reading.probability
    return reading.predicted if share is None else f"{reading.predicted} {probability(share)} %"


def _signed(value: float | None) -> str:
    return "" if value is None else signed(value, decimals=2)
