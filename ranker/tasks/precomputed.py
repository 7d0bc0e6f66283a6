"""Tasks whose answers were judged elsewhere: their file holds the score of each answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.errors import UsageError
from ranker.tasks import metrics
from ranker.tasks.base import ANSWERED, MISSING, NO_ANSWER, Predictions, states_of
from ranker.tasks.classes import LabelledTask, given_labels
from ranker.tasks.names import NameIndex


@dataclass(frozen=True)
class PrecomputedTask(LabelledTask):
    """Task of the models, and the metric that their answers were judged by.

    Attributes:
        name: of the task, by which suites and rows refer to it.
        metric: the name of an outcome, in one word: a judge's score, a metric of generated text, an exact match.
        labels: (C,) the names of the answers, if they have some.
        scale: worst and best mark, where people or judges gave marks, which reports show; None for shares.

    Raises:
        ValueError: a metric that cannot be the name of a column.
    """

    answers: ClassVar[str] = "scores"
    outputs: ClassVar[tuple[str, ...]] = ()

    name: str
    metric: str
    labels: tuple[str, ...] = ()
    scale: tuple[float, float] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.metric or set(self.metric) & set(", \n\t") or self.metric.endswith(".py"):
            raise ValueError(f"the name of a metric must be one word without a comma (got {self.metric!r})")

    def target_of(self, cell: Any, segments: Sequence[str] = ()) -> int:
        """Return the label of a cell, where answers have labels, or raise a ValueError."""
        label = NameIndex((name, index) for index, name in enumerate(self.labels)).find(str(cell))
        if label is None:
            raise ValueError(f"answers to {self.name} were judged elsewhere: no cell says what is right")
        return label

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> float:
        """Return the score of a cell, from 0 to 1, or raise a ValueError."""
        score = float(cell)
        if not 0 <= score <= 1:
            raise ValueError(f"a score must be between 0 and 1 (got {score:g})")
        return score

    def predictions(self, answers: Sequence[float | None], state: Ints | None = None) -> PrecomputedScores:
        """Return scores as answers; None for a row without one."""
        scores = np.array([np.nan if answer is None else answer for answer in answers])
        return PrecomputedScores(scores, states_of(answers) if state is None else state)

    def show(self, answer: int, segments: Sequence[str] = ()) -> str:
        """Return the name of a label; its number where answers have no labels."""
        return self.labels[answer] if 0 <= answer < len(self.labels) else str(answer)

    def metric_named(self, name: str) -> metrics.Metric | None:
        """Return the metric of labels of that name; None for the answers' own: see `ranker.tasks.base.Task`."""
        if not name or is_recorded(name, self.metric):
            return None
        if not self.labels:
            raise UsageError.about(
                "metric", f"{name} is of labels, and these answers have none: they are judged by {self.metric}", name
            )
        return metrics.metric_named(name, self.labels)

    def outcomes(self, answers: Predictions, examples: Sequence[Example]) -> Floats:
        """Return (N,) scores; 0 for an answer that was not given: see `ranker.tasks.base.Task`.

        Example:
            >>> answers = PrecomputedScores(np.array([0.25, 1.0, np.nan]), np.array([ANSWERED, ANSWERED, NO_ANSWER]))
            >>> rows = [Example(str(n), ("a",)) for n in range(3)]
            >>> PrecomputedTask("summaries", "ROUGE-L").outcomes(answers, rows)
            array([0.25, 1.  , 0.  ])
        """
        if not isinstance(answers, PrecomputedScores):
            raise TypeError(f"the task {self.name} takes answers that were judged (got {answers.kind})")
        scores = np.where(answers.state == NO_ANSWER, 0.0, answers.values)
        return np.where(answers.state > NO_ANSWER, np.nan, scores)

    def identity(self) -> dict[str, Any]:
        """Return the metric and the labels."""
        return {"metric": self.metric, "labels": list(self.labels)}


def scale_of(task: object) -> tuple[float, float] | None:
    """Return the worst and the best mark of a task whose outcomes are marks; None for shares."""
    return task.scale if isinstance(task, PrecomputedTask) else None


def is_recorded(name: str, metric: str) -> bool:
    """Return whether a name is that of a log's metric, its scorer or a part of it, with or without a reducer.

    Example:
        >>> is_recorded("acc,none", "acc_none"), is_recorded("quality", "judge.quality[max]")
        (True, True)
    """
    if name.casefold() == metric.casefold():
        return True
    without_reducer = metric.casefold().partition("[")[0]
    return "_".join(name.casefold().replace(",", " ").split()) in (without_reducer, *without_reducer.split("."))


@dataclass(frozen=True, eq=False)
class PrecomputedScores:
    """Scores of the answers to N examples; a `ranker.tasks.base.Predictions`.

    Attributes:
        values: (N,) in [0, 1]; nan where there is no score. Read-only.
        state: (N,) the states of the answers. Read-only.
        probs: (N, C) the answers' probabilities of labels; None where they have none. Read-only.

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
        """Return some of the answers, in any order."""
        indices = np.asarray(places, dtype=np.int64)
        return type(self)(
            self.values[indices], self.state[indices], None if self.probs is None else self.probs[indices]
        )

    def answers(self) -> list[int | None] | None:
        """Return the predicted labels, None where there is no answer; None where labels are unknown."""
        return None if self.probs is None else given_labels(self)

    def columns(self) -> Mapping[str, np.ndarray]:
        """Return the answers by the name of their column."""
        scores = {"state": self.state, "values": self.values}
        return scores if self.probs is None else {**scores, "probs": self.probs}

    def probabilities(self) -> Floats | None:
        """Return (N, C) probabilities of labels: `probs`."""
        return self.probs

    @classmethod
    def of_columns(cls, columns: Mapping[str, np.ndarray]) -> Self:
        """Return the answers of `columns`."""
        return cls(columns["values"], columns["state"], columns.get("probs"))

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Join several blocks of answers, with labels if all have them."""
        probs = [block.probs for block in blocks if block.probs is not None]
        return cls(
            np.concatenate([block.values for block in blocks]),
            np.concatenate([block.state for block in blocks]),
            np.concatenate(probs) if len(probs) == len(blocks) else None,
        )
