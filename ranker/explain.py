"""What models saw in one example: each word's score toward one label, the predictions, and every factor's value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from factors import BUILTIN, Factor
from factors.types import SPECIAL, Attributions, Example, Span
from ranker.backends import SETTINGS, Settings
from ranker.errors import ModelError, UsageError, look_up
from ranker.score import applicable, score_model

if TYPE_CHECKING:
    from ranker.measure import Subject
    from ranker.ood import Task

SCHEMA_VERSION = 1

NEEDS_LABEL = "needs the true label"


@dataclass(frozen=True)
class Word:
    """A word of the example, or a special token of the model's input.

    Attributes:
        text: as it stands in the example; a special token as the tokenizer writes it.
        segment: the segment that it stands in; a special token, behind or, the first ones, before.
        span: its characters; None for a special token.
        score: the sum of its tokens' attributions toward the explained label; nan if the model did not see it.
        marks: the marks that touch it.
    """

    text: str
    segment: int
    span: Span | None
    score: float
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What one model made of the example.

    Attributes:
        model: its name.
        probs: (C,) the probability of each label.
        words: in the order of the model's input.
        values: factor -> its value, nan where it is undefined; each about the label that it declares.
        undefined: factor -> why it has no value, if it says so.
        within_tolerance: the attribution's own measure of error is small enough.
    """

    model: str
    probs: tuple[float, ...]
    words: tuple[Word, ...]
    values: Mapping[str, float]
    undefined: Mapping[str, str]
    within_tolerance: bool

    @property
    def predicted(self) -> int:
        """The label of the highest probability; of equals, the first."""
        return int(np.argmax(self.probs))

    @property
    def strongest(self) -> float:
        """The largest magnitude among the scores; 0 where there are none."""
        return max((abs(word.score) for word in self.words if not np.isnan(word.score)), default=0.0)


@dataclass(frozen=True)
class Explanation:
    """One example as several models read it.

    Attributes:
        example: the text, with its marks.
        labels: (C,) the task's labels by name.
        label: the true one; None where it is not known.
        toward: the label that positive scores speak for.
        attribution: the backend that the scores come from.
        factors: what was measured.
        readings: one for each model that could be run.
        left_out: factor -> why it cannot be measured on this example.
        failures: model -> why it could not be run.
    """

    example: Example
    labels: tuple[str, ...]
    label: int | None
    toward: int
    attribution: str
    factors: tuple[Factor, ...]
    readings: tuple[Reading, ...]
    left_out: Mapping[str, str]
    failures: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON, keys in a fixed order; nan is None."""
        return {
            "schema_version": SCHEMA_VERSION,
            "example": {
                "id": self.example.id,
                "segments": list(self.example.segments),
                "label": None if self.label is None else self.labels[self.label],
            },
            "toward": self.labels[self.toward],
            "attribution": self.attribution,
            "models": [
                {
                    "name": reading.model,
                    "predicted": self.labels[reading.predicted],
                    "probabilities": dict(zip(self.labels, reading.probs, strict=True)),
                    "within_tolerance": reading.within_tolerance,
                    "words": [
                        {
                            "text": word.text,
                            "segment": word.segment,
                            "span": None if word.span is None else [word.span.start, word.span.end],
                            "score": _number(word.score),
                            "marks": list(word.marks),
                        }
                        for word in reading.words
                    ],
                    "factors": {name: _number(value) for name, value in reading.values.items()},
                    "undefined": dict(reading.undefined),
                }
                for reading in self.readings
            ],
            "factors": [
                {"name": factor.name, "explains": factor.explains, "higher_is_better": factor.higher_is_better}
                for factor in self.factors
            ],
            "left_out": dict(self.left_out),
            "failures": dict(self.failures),
        }


def explain(
    subjects: Sequence[Subject],
    example: Example,
    *,
    attribution: str = "shap",
    settings: Settings | None = None,
    factors: Sequence[Factor] = tuple(BUILTIN.values()),
    toward: int | None = None,
    labelled: bool = True,
    designed: str | None = None,
) -> Explanation:
    """Ask models what they make of one example, and where they see it.

    Args:
        subjects: the models, all of one task.
        example: the text.
        attribution: a backend's name, or "none" for predictions and baselines alone.
        settings: of that backend; its defaults where None.
        factors: what to measure.
        toward: the label that positive scores speak for; None takes the one that the heuristic predicts, where the
            task names none the last one.
        labelled: the example's label is its true one; otherwise it is not looked at, and factors that need it have no
            value.
        designed: the factor that was designed for the example's set, if any.

    Raises:
        UsageError: an unknown backend, or a label that the backend's attributions cannot be turned toward.
        ModelError: no model could be run.
        StoreError: the store cannot be read or written.
    """
    task = subjects[0].task
    settings = settings or look_up("attribution backend", attribution, SETTINGS)()
    if toward is None:
        toward = len(task.labels) - 1 if task.heuristic is None else task.heuristic
    if attribution == "none":
        factors = [factor for factor in factors if factor.kind == "baseline"]
    kept, left_out = applicable(factors, [example], task, designed, only_label=settings.only_label)
    readings, failures = [], {}
    for subject in subjects:
        try:
            (row,) = subject.rows([example], attribution, settings)
        except ModelError as error:
            failures[subject.model.name] = str(error)
            continue
        values, undefined = measure(row, example, kept, task, labelled)
        try:
            turned = row.toward(toward)
        except ValueError as error:
            raise UsageError(f"`--toward` {task.labels[toward]}: {error}") from error
        probs = tuple(row.probs.tolist())
        words = tuple(words_of(turned, example))
        readings.append(Reading(subject.model.name, probs, words, values, undefined, settings.accepts(row)))
    if not readings:
        raise ModelError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    label = example.label if labelled else None
    return Explanation(
        example, task.labels, label, toward, attribution, tuple(kept), tuple(readings), left_out, failures
    )


def measure(
    row: Attributions, example: Example, factors: Sequence[Factor], task: Task, labelled: bool = True
) -> tuple[dict[str, float], dict[str, str]]:
    """Every factor's value on one row, nan where it is undefined, and why it is, where there is something to say.

    Where the true label is not known, a factor has a value if it is the same under every label.
    """
    labels = [example.label] if labelled else range(len(task.labels))
    runs = [score_model([row], [replace(example, label=label)], factors, task) for label in labels]
    table = np.stack([run.values[:, 0] for run in runs])  # (labels, F)
    settled = np.all((table == table[0]) | (np.isnan(table) & np.isnan(table[0])), axis=0)
    values, undefined = {}, {}
    for f, factor in enumerate(factors):
        values[factor.name] = float(table[0, f]) if settled[f] else float("nan")
        reasons = [reason for run in runs for reason in run.undefined.get(factor.name, ())]
        if not settled[f]:
            undefined[factor.name] = NEEDS_LABEL
        elif reasons and reasons[0] != "undefined":
            undefined[factor.name] = reasons[0]
    return values, undefined


def words_of(row: Attributions, example: Example) -> list[Word]:
    """The words of an example with the scores of a row, and the special tokens where they stand among them."""
    scores = np.full(len(example.words), np.nan)
    scores[: len(row.word_scores)] = row.word_scores
    behind = np.maximum.accumulate(row.segment) if len(row.segment) else row.segment
    special = [
        (int(behind[t]), Word(row.tokens[t], max(int(behind[t]), 0), None, float(row.scores[t])))
        for t in np.flatnonzero(row.segment == SPECIAL)
    ]
    words = [word for before, word in special if before == SPECIAL]
    for segment in range(len(example.segments)):
        for span, score in zip(example.words, scores.tolist(), strict=True):
            if span.segment == segment:
                marks = (name for name, spans in example.marks.items() if any(span.overlaps(mark) for mark in spans))
                words.append(Word(example.text(span), segment, span, score, tuple(marks)))
        words += [word for before, word in special if before == segment]
    return words


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
