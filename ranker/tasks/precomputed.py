"""Tasks whose answers were judged elsewhere: the score of each answer stands in the file that it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.errors import UsageError
from ranker.tasks import metrics
from ranker.tasks.base import ANSWERED, MISSING, NO_ANSWER, Predictions, states_of
from ranker.tasks.classes import given_labels, labels_of, predicted_labels
from ranker.tasks.names import NameIndex


@dataclass(frozen=True)
class PrecomputedTask:
    """What the models were asked, and what their answers were judged by.

    Attributes:
        name: suites and rows say which task they are for.
        metric: what an outcome is, in one word: a judge's score, a metric of generated text, an exact match.
        labels: (C,) the names of the answers where they have some; else none.

    Raises:
        ValueError: a metric that cannot be the name of a column.
    """

    answers: ClassVar[str] = "scores"

    name: str
    metric: str
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.metric or set(self.metric) & set(", \n\t") or self.metric.endswith(".py"):
            raise ValueError(f"the name of a metric must be one word without a comma (got {self.metric!r})")

    def target_of(self, cell: Any) -> int:
        """The label that a cell names, where answers have labels.

        Raises:
            ValueError: it names none.
        """
        label = NameIndex((name, at) for at, name in enumerate(self.labels)).find(str(cell))
        if label is None:
            raise ValueError(f"answers to {self.name} were judged elsewhere: no cell says what is right")
        return label

    def answer_of(self, cell: Any) -> float:
        """The score that a cell holds.

        Raises:
            ValueError: it holds no number from 0 to 1.
        """
        score = float(cell)
        if not 0 <= score <= 1:
            raise ValueError(f"a score must be between 0 and 1 (got {score:g})")
        return score

    def predictions(self, answers: Sequence[float | None], state: Ints | None = None) -> PrecomputedScores:
        """Scores as answers; None for a row without one."""
        scores = np.array([np.nan if answer is None else answer for answer in answers])
        return PrecomputedScores(scores, states_of(answers) if state is None else state)

    def show(self, answer: int) -> str:
        """The name of a label; its number where answers have no labels."""
        return self.labels[answer] if 0 <= answer < len(self.labels) else str(answer)

    def metric_named(self, name: str) -> metrics.Metric | None:
        """The metric of labels of that name; None for what the answers were judged by: see `ranker.tasks.base.Task`."""
        if not name or is_recorded(name, self.metric):
            return None
        if not self.labels:
            raise UsageError(
                f"`metric` {name} is of labels, and these answers have none: they are judged by {self.metric}"
            )
        return metrics.metric_named(name, self.labels)

    def metric_inputs(self, answers: Predictions, examples: Sequence[Example]) -> tuple[Ints, Ints]:
        """(N,) the labels that are given, -1 for none, and (N,) the true ones: see `ranker.tasks.base.Task`."""
        return predicted_labels(answers), labels_of(examples)

    def outcomes(self, answers: Predictions, examples: Sequence[Example]) -> Floats:
        """(N,) the scores that are given; 0 for an answer that was not: see `ranker.tasks.base.Task`.

        Example:
            >>> answers = PrecomputedScores(np.array([0.25, 1.0, np.nan]), np.array([ANSWERED, ANSWERED, NO_ANSWER]))
            >>> rows = [Example(str(n), ("a",)) for n in range(3)]
            >>> PrecomputedTask("summaries", "ROUGE-L").outcomes(answers, rows)
            array([0.25, 1.  , 0.  ])
        """
        if not isinstance(answers, PrecomputedScores):
            raise TypeError(f"the task {self.name} takes answers that were judged (got {answers.kind})")
        found = np.where(answers.state == NO_ANSWER, 0.0, answers.values)
        return np.where(answers.state > NO_ANSWER, np.nan, found)

    def identity(self) -> dict[str, Any]:
        """The metric, and the labels."""
        return {"metric": self.metric, "labels": list(self.labels)}


def is_recorded(name: str, metric: str) -> bool:
    """Whether somebody names what a log records: the metric, a scorer or a part of its, with or without a reducer.

    Example:
        >>> is_recorded("acc,none", "acc_none"), is_recorded("quality", "judge.quality[max]")
        (True, True)
    """
    if name.casefold() == metric.casefold():
        return True
    whole = metric.casefold().partition("[")[0]
    return "_".join(name.casefold().replace(",", " ").split()) in (whole, *whole.split("."))


@dataclass(frozen=True, eq=False)
class PrecomputedScores:
    """How good the answers to N examples are: a `ranker.tasks.base.Predictions`.

    Attributes:
        values: (N,) in [0, 1]; nan where there is no score. Read-only.
        state: (N,) the states of the answers. Read-only.
        probs: (N, C) the probabilities of labels that the answers have; None where they have none. Read-only.

    Raises:
        ValueError: the shapes do not agree, or an answer has a score outside [0, 1].
    """

    kind: ClassVar[str] = "scores"

    values: Floats
    state: Ints
    probs: Floats | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.state.shape != self.values.shape:
            raise ValueError(f"values and state must have the shape (N,) (got {self.values.shape}, {self.state.shape})")
        if self.probs is not None and (self.probs.ndim != 2 or len(self.probs) != len(self.values)):
            raise ValueError(f"probs must have the shape (N, C) (got {self.probs.shape})")
        if ((self.state < ANSWERED) | (self.state > MISSING)).any():
            raise ValueError(f"a state must be between {ANSWERED} and {MISSING}")
        outside = self.values[(self.state == ANSWERED) & ~((self.values >= 0) & (self.values <= 1))]
        if len(outside):
            raise ValueError(f"a score must be between 0 and 1 (got {outside[0]:g})")
        for array in (self.values, self.state, *(() if self.probs is None else (self.probs,))):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.values)

    def part(self, places: Sequence[int] | Ints) -> Self:
        """Some of the answers, in another order."""
        at = np.asarray(places, dtype=np.int64)
        return type(self)(self.values[at], self.state[at], None if self.probs is None else self.probs[at])

    def answers(self) -> list[int | None] | None:
        """The labels that are given, None where there is no answer; None where labels are not known."""
        return None if self.probs is None else given_labels(self)

    def columns(self) -> Mapping[str, np.ndarray]:
        """The answers by the name of their column."""
        known = {"state": self.state, "values": self.values}
        return known if self.probs is None else {**known, "probs": self.probs}

    def probabilities(self) -> Floats | None:
        """(N, C) the probabilities of labels that the answers have: `probs`."""
        return self.probs

    @classmethod
    def of_columns(cls, columns: Mapping[str, np.ndarray]) -> Self:
        """What `columns` made."""
        return cls(columns["values"], columns["state"], columns.get("probs"))

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Several blocks of answers as one; labels are those of all, or of none."""
        probs = [one.probs for one in blocks if one.probs is not None]
        return cls(
            np.concatenate([one.values for one in blocks]),
            np.concatenate([one.state for one in blocks]),
            np.concatenate(probs) if len(probs) == len(blocks) else None,
        )
