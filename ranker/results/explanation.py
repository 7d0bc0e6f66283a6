"""What models saw in one example, as plain records that can be saved, loaded and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from factors import Factor
from factors.types import Example, Span
from ranker import records
from ranker.errors import listed
from ranker.numbers import probability, signed
from ranker.results.result import NAMES, Result, plain

SCHEMA_VERSION = 1

LONGEST = 80
"""Characters of a text that its answer quotes, at most."""


@dataclass(frozen=True)
class Word:
    """A word of the example, or a special token of the model's input.

    Attributes:
        text: as it stands in the example; a special token as the tokenizer writes it.
        segment: the segment that it stands in; a special token counts to the one before it, the first to segment 0.
        span: its first character in the segment, and the one behind its last; None for a special token.
        score: the sum of its tokens' attributions toward the explained label; None if the model did not see it.
        marks: the marks that touch it.
        read: the factor designed for the set reads it: its value depends on the word's score.

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
    """What one model made of the example.

    Attributes:
        name: of the model.
        predicted: the label of the highest probability; of equals, the first.
        probabilities: label -> its probability.
        within_tolerance: the attribution's own measure of error is small enough.
        words: in the order of the model's input.
        factors: factor -> its value, None where it is undefined; each about the label that it declares.
        undefined: factor -> why it has no value, if it says so.

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

    def __post_init__(self) -> None:
        if self.predicted != max(self.probabilities, key=lambda label: self.probabilities[label], default=None):
            raise ValueError(f"`predicted` must be the most probable label (got {self.predicted!r})")

    @property
    def probability(self) -> float:
        """That of the predicted label."""
        return self.probabilities[self.predicted]

    @property
    def strongest(self) -> float:
        """The largest magnitude among the scores; 0 where there are none."""
        return max((abs(word.score) for word in self.words if word.score is not None), default=0.0)


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """One example as several models read it.

    Attributes:
        example: the text, with its marks.
        labels: (C,) the task's labels by name.
        toward: the label that positive scores speak for.
        attribution: the backend that the scores come from.
        factors: what was measured.
        readings: one for each model that could be run.
        left_out: factor -> why it cannot be measured on this example.
        failures: model -> why it could not be run.
        designed: the factor that was designed for the example's set, if it was measured.

    Example:
        >>> from ranker import Evidence, explain, load_set, load_suite
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-1:], load_set("hans-sub", limit=10)
        >>> shown = explain(models, rows.task, rows.examples[0], evidence=Evidence("occlusion"))
        >>> [reading.name for reading in shown.readings], shown.labels[shown.toward]
        (['inoc-4000'], 'entailment')
    """

    index: ClassVar[tuple[str, ...]] = ()

    example: Example
    labels: tuple[str, ...]
    toward: int
    attribution: str
    factors: tuple[Factor, ...]
    readings: tuple[Reading, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    designed: str | None = None

    @property
    def label(self) -> int | None:
        """The true label; None where it is not known."""
        return cast("int | None", self.example.target)

    @property
    def answer(self) -> str:
        """The example, what each model takes it for, and whose words the scores are of."""
        text = " / ".join(self.example.segments)
        short = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
        true = "label unknown" if self.label is None else self.labels[self.label]
        seen = [f"{one.name} {self._said(one)}" for one in self.readings]
        failed = f"; failed: {listed(list(self.failures), NAMES)}" if self.failures else ""
        scored = any(one.words for one in self.readings)
        by = [f"words by {self.attribution}, toward {self.labels[self.toward]}"] if scored else []
        return "\n".join([f"{short!r}: {true}", f"{listed(seen, NAMES)}{failed}", *by])

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each model and word: its score toward the explained label, None where the model did not see it.

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
        """The words of the example with their scores, and the first models' predictions above them, a column each."""
        first = self.readings[:NAMES]
        lines = zip(*([word for word in one.words if word.span] for one in first), strict=True)
        return [
            {"word": "(predicted)", **{one.name: self._said(one) for one in first}},
            *(
                {"word": words[0].text, **{one.name: _signed(of.score) for one, of in zip(first, words, strict=True)}}
                for words in lines
            ),
        ]

    def _said(self, one: Reading) -> str:
        return f"{one.predicted} {probability(one.probability)} %"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON, keys in a fixed order; None is null."""
        return {
            "schema_version": SCHEMA_VERSION,
            "example": {
                "id": self.example.id,
                "segments": list(self.example.segments),
                "label": None if self.label is None else self.labels[self.label],
                "marks": {
                    name: [[span.segment, span.start, span.end] for span in spans]
                    for name, spans in self.example.marks.items()
                },
            },
            "labels": list(self.labels),
            "designed": self.designed,
            "toward": self.labels[self.toward],
            "attribution": self.attribution,
            "models": plain(self.readings),
            "factors": [
                {"name": factor.name, "explains": factor.explains, "higher_is_better": factor.higher_is_better}
                for factor in self.factors
            ],
            "left_out": dict(self.left_out),
            "failures": dict(self.failures),
        }

    @classmethod
    def from_dict(cls, content: Any) -> Explanation:
        """What `to_dict` made; factors come back with their declarations, not their functions.

        Raises:
            KeyError, ValueError: something is not there, or is not what it should be.
        """
        whole = records.table(content, "examples")
        labels = records.typed(whole["labels"], tuple[str, ...], "labels")
        given = records.table(whole["example"], "example")
        label = None if given["label"] is None else labels.index(given["label"])
        marks = {
            name: tuple(Span(*records.typed(span, tuple[int, ...], name)) for span in spans)
            for name, spans in records.table(given["marks"], "marks").items()
        }
        segments = records.typed(given["segments"], tuple[str, ...], "segments")
        return cls(
            example=Example(records.typed(given["id"], str, "id"), segments, label, marks),
            labels=labels,
            toward=labels.index(whole["toward"]),
            attribution=records.typed(whole["attribution"], str, "attribution"),
            factors=tuple(_declared(records.table(factor, "factors")) for factor in whole["factors"]),
            readings=records.typed(whole["models"], tuple[Reading, ...], "models"),
            left_out=records.typed(whole["left_out"], Mapping[str, str], "left_out"),
            failures=records.typed(whole["failures"], Mapping[str, str], "failures"),
            designed=records.typed(whole["designed"], str | None, "designed"),
        )


def _declared(given: Mapping[str, Any]) -> Factor:
    return records.record(Factor, {**given, "score": not_saved, "source": ""}, "factors")


def not_saved(attributions: object, example: object) -> float:
    """Stands in for a factor's function: a file holds its declaration and its scores, no code."""
    raise NotImplementedError("a saved ranking holds a factor's scores, not its function")


def _signed(value: float | None) -> str:
    return "" if value is None else signed(value, decimals=2)
