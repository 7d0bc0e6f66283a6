"""Label sets: any number of labels a row, such as the topics of a text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from factors.types import Bools, Floats
from ranker.errors import Assumption, UnknownName, UsageError, find_repeat, listed
from ranker.tasks.metrics import F1, Metric, ValueMetric, Values, f1_of, macro_f1_of, micro_f1_of, weighted_f1_of
from ranker.tasks.names import NameIndex, spelled
from ranker.tasks.values import ValueAnswers, ValueTask

LabelSet = tuple[str, ...]
"""Labels of a row, each once, in the order of their names."""

SAMPLES_F1 = "samples-f1"


OUTCOMES: Mapping[str, Callable[[set[str], set[str], int], float]] = {
    SAMPLES_F1: lambda answer, target, labels: 2 * len(answer & target) / (len(answer) + len(target)),
    "jaccard": lambda answer, target, labels: len(answer & target) / len(answer | target),
    "exact-match": lambda answer, target, labels: float(answer == target),
    "1-hamming": lambda answer, target, labels: 1 - len(answer ^ target) / max(labels, len(answer | target)),
}
"""Outcomes of a row by name: answer, target and number of labels -> score; 1 where both are empty."""

MICRO_F1 = "micro-f1"

OF_SETS: Mapping[str, Values] = {MICRO_F1: micro_f1_of, "macro-f1": macro_f1_of, "weighted-f1": weighted_f1_of}

SEPARATORS = ";|,"
"""Signs that may stand between labels."""

MOST_NAMED = 5
"""Labels that a note names."""


class LabelSetAnswers(ValueAnswers):
    """Label sets of N rows: `values` has a tuple of labels for each row, or None. See `ValueAnswers`."""

    kind = "label-sets"


@dataclass(frozen=True)
class LabelSetTask(ValueTask):
    """Multi-label classification; a `ranker.tasks.base.Task`.

    Answers and targets are lists of labels, texts with a stated separator between labels, or objects of labels with 0,
    1 or a probability. An answer that was not given counts as an empty set.

    The outcome of a row is the F1 of its labels, or another of `OUTCOMES`; two empty sets have 1. The metric of a set
    is `micro-f1`, or another of `OF_SETS`, or `f1:LABEL`. A label that neither rows nor answers have counts for no mean
    of labels, and one that only answers have is wrong for `micro-f1`, and not among the labels of means.

    Attributes:
        separator: sign between labels in a text; "" if none is stated.
        threshold: least probability of a label that is given.
        possible: the labels of rows and checkpoints, as far as they are known.

    Raises:
        UsageError: the threshold is no probability.

    Example:
        >>> from factors import Example
        >>> task = LabelSetTask("topics", separator=";")
        >>> rows = [Example("1", ("a",), task.target_of("joy; love")), Example("2", ("b",), task.target_of([]))]
        >>> task.outcomes(task.predictions([task.answer_of({"joy": 0.9, "anger": 0.2}), None]), rows).round(2).tolist()
        [0.67, 1.0]

    Source: Tsoumakas and Katakis 2007, "Multi-label classification: an overview".
    """

    answers = LabelSetAnswers.kind
    empty_lists = True
    metrics = (MICRO_F1, *OUTCOMES, *(name for name in OF_SETS if name != MICRO_F1), f"{F1}:LABEL")
    options = ("separator", "threshold")

    score: str = SAMPLES_F1
    separator: str = ""
    threshold: float = 0.5
    possible: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise UsageError.about(
                "threshold", f"must lie above 0, and be at most 1 (got {self.threshold:g})", self.threshold
            )

    @property
    def metric(self) -> str:
        """Name of the outcome in tables."""
        return self.score.upper()

    @property
    def hint(self) -> str:
        """The form of a set. See `ValueTask.hint`."""
        return f"Labels, with {self.separator} between" if self.separator else "Labels as a JSON list"

    @property
    def boxes(self) -> tuple[str, ...]:
        """Labels that people tick. See `ValueTask`."""
        return self.possible

    def fitted(self, cells: Iterable[Any], names: Iterable[str]) -> Self:
        """Return the task with the labels of rows and checkpoints. See `ValueTask.fitted`."""
        labels = {*self.possible, *map(spelled, names)}
        for cell in cells:
            try:
                labels.update(self._names_in(cell, lambda value: True))
            except ValueError:  # reading the row reports it
                continue
        return replace(self, possible=tuple(sorted(labels)))

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex((name, number) for number, name in enumerate(self.possible))

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> LabelSet:
        """Return the labels in a cell. See `ranker.tasks.base.Task`."""
        numbers = (
            (name, self._index.find(name)) for name in self._names_in(cell, lambda value: value >= self.threshold)
        )
        return tuple(sorted({name if number is None else self.possible[number] for name, number in numbers}))

    def _names_in(self, cell: Any, is_given: Callable[[float], bool]) -> list[str]:
        """Return the names of labels in a cell, of an object those whose number is that of a given one."""
        is_json = isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{")
        content = json.loads(cell) if is_json else self._split(cell) if isinstance(cell, str) else cell
        if isinstance(content, dict):
            content = [name for name, value in content.items() if is_given(_probability(name, value))]
        if not isinstance(content, (list, tuple)):
            raise ValueError(f"a set must be a list of labels, or an object of their numbers (got {str(cell)[:50]!r})")
        if wrong := [name for name in content if not isinstance(name, (str, int)) or isinstance(name, bool)]:
            raise ValueError(f"a label must be a text (got {str(wrong[0])[:50]!r})")
        names = [name for name in (spelled(str(name)) for name in content) if name]
        if twice := find_repeat(names):
            raise ValueError(f"the label {twice[:50]!r} stands twice")
        return names

    def _split(self, text: str) -> list[str]:
        """Return the labels of a text, which is one label where no separator is stated."""
        if not self.separator and (sign := next((sign for sign in SEPARATORS if sign in text), "")):
            problem = f"it may hold several labels: `separator={sign}` splits it, a list holds one with such a sign"
            raise ValueError(f"{problem} (got {text[:50]!r})")
        return text.split(self.separator) if self.separator else [text]

    def cell_of(self, target: LabelSet) -> str:
        """Return the labels as a JSON list. See `ranker.tasks.base.Task`."""
        return json.dumps(target, ensure_ascii=False)

    def show(self, answer: Any, segments: Sequence[str] = ()) -> str:
        """Return the labels with commas between, or "no label"."""
        return ", ".join(answer) or "no label"

    def outcome(self, answer: Any, target: Any) -> float:
        """Return the score of a set of labels."""
        return OUTCOMES[self.score]({*answer}, {*target}, len(self.possible)) if answer or target else 1.0

    def outcome_of_none(self, target: Any) -> float:
        """Return the score of an empty set."""
        return self.outcome((), target)

    def judged_by(self, name: str) -> Self:
        """Return the task with another outcome. See `ranker.tasks.base.Task`."""
        return replace(self, score=name.casefold()) if name.casefold() in OUTCOMES else self

    def metric_named(self, name: str) -> Metric | None:
        """Return a metric of all rows together; None for the mean of an outcome. See `ranker.tasks.base.Task`."""
        name = name or MICRO_F1
        folded, (of_label, _, label) = name.casefold(), name.partition(":")
        if folded in OUTCOMES:
            return None
        if folded in OF_SETS:
            return SetMetric(folded, self.possible, OF_SETS[folded])
        if of_label.casefold() != F1 or not label:
            raise UnknownName(f"metric of {self.name}", name, self.metrics)
        number = self._index.find(label)
        if number is None:
            raise UnknownName("label", label, self.possible)
        return SetMetric(f"{F1}:{self.possible[number]}", self.possible, partial(f1_of, label=number))

    def by_label(self, answers: Sequence[Any], targets: Sequence[Any]) -> dict[str, tuple[int, float]]:
        """Return label -> number of rows with it, and the F1 of answers. See `ValueTask.by_label`."""
        metric = SetMetric(MICRO_F1, self.possible or _labels_of(targets), micro_f1_of)
        means = metric.statistics(answers, targets).mean(axis=0)
        counts = Counter(label for target in targets for label in target)
        of_label = (float(f1_of(means[:-1], label)) for label in range(len(metric.labels)))
        return {label: (counts[label], value) for label, value in zip(metric.labels, of_label, strict=True)}

    def indicators(self, sets: Sequence[Any]) -> Bools:
        """Return (N, L) whether a row has each of the `possible` labels; none where it is None."""
        return _indicators(sets, self.possible) > 0

    def judging_notes(self, answers: Mapping[str, Sequence[Any]], targets: Sequence[Any]) -> tuple[str, ...]:
        """Return which labels no row has, and which no model answers with. See `ValueTask.judging_notes`."""
        true = {label for target in targets for label in target or ()} | {*self.possible}
        answered = {label for of_model in answers.values() for answer in of_model for label in answer or ()}
        strange, idle = sorted(answered - true), sorted(true - answered)
        openings = (
            (strange, "No row has these labels, which are wrong wherever they are answered"),
            (idle, "No model answers with these labels"),
        )
        return tuple(Assumption(f"{opening}: {listed(labels, MOST_NAMED)}.") for labels, opening in openings if labels)

    def identity(self) -> Mapping[str, Any]:
        """Return the name, and how cells and probabilities are read."""
        return {**super().identity(), "separator": self.separator, "threshold": self.threshold}


@dataclass(frozen=True)
class SetMetric(ValueMetric):
    """Metric of label sets over all rows together; a `Metric`.

    Attributes:
        labels: L labels; () for those of the targets.
        of_means: (..., 3 L) shares of rows where answer and target, the answer, and the target have a label -> values.

    Example:
        >>> metric = SetMetric("micro-f1", ("a", "b"), micro_f1_of)
        >>> rows = metric.statistics([("a",), None], [("a", "b"), ("b",)])
        >>> rows.tolist(), round(float(metric.value(rows.mean(axis=0))), 9)
        ([[1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]], 0.5)
    """

    name: str
    labels: tuple[str, ...]
    of_means: Values

    def statistics(self, answers: Sequence[Any], targets: Sequence[Any]) -> Floats:
        """Return (N, 3 L + 1) for each label whether both have it, the answer, the target; and other labels answered.

        An answer that was not given is an empty set.
        """
        labels = self.labels or _labels_of(targets)
        predicted, true = (_indicators(sets, labels) for sets in (answers, targets))
        other_labels = [len({*(answer or ())} - {*labels}) for answer in answers]
        return np.column_stack([predicted * true, predicted, true, other_labels]).astype(np.float64)

    def value(self, means: Floats) -> Floats:
        """Return (...) values of (..., 3 L + 1) means; labels of answers alone count for `micro-f1`."""
        means = np.asarray(means)
        if self.of_means is not micro_f1_of:
            return self.of_means(means[..., :-1])
        right, predicted, true = np.split(means[..., :-1], 3, axis=-1)
        nothing = np.zeros_like(means[..., -1:])
        parts = (right, nothing, predicted, means[..., -1:], true, nothing)
        return self.of_means(np.concatenate(parts, axis=-1))

    def by_label(self) -> Floats:
        """Return (3, 2, 3) statistics of one label, which is a label of two classes."""
        return COUNTS


COUNTS = np.array([[[0, 0, 0], [0, 0, 1]], [[0, 1, 0], [1, 1, 1]], [[0, 0, 0], [0, 0, 1]]], dtype=np.float64)
"""Whether both, the answer and the truth have a label, for an answer without it, with it and none, and each truth."""


def _probability(name: object, value: object) -> float:
    """Return the probability of a label, or raise a ValueError."""
    if isinstance(value, (bool, int, float)) and 0 <= value <= 1:
        return float(value)
    raise ValueError(f"the label {str(name)[:50]!r} needs 0, 1 or a probability (got {str(value)[:50]!r})")


def _labels_of(targets: Sequence[Any]) -> tuple[str, ...]:
    return tuple(sorted({label for target in targets for label in target or ()}))


def _indicators(sets: Sequence[Any], labels: Sequence[str]) -> Floats:
    """Return (N, L) 1 where a set has a label."""
    places = {label: place for place, label in enumerate(labels)}
    matrix = np.zeros((len(sets), len(labels)))
    for row, labels_of_row in enumerate(sets):
        matrix[row, [places[label] for label in labels_of_row or () if label in places]] = 1
    return matrix
