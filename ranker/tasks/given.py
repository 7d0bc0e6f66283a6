"""Tasks whose answers were judged elsewhere: the score of each answer stands in the file that it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.tasks.base import ANSWERED, MISSING, NO_ANSWER, Predictions


@dataclass(frozen=True)
class GivenTask:
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

    @property
    def shortcut(self) -> None:
        """No label is known to be the shortcut's."""
        return

    @property
    def evidence(self) -> None:
        """Nor is one known to be the evidence's."""
        return

    def outcomes(self, answers: Predictions, examples: Sequence[Example]) -> Floats:
        """(N,) the scores that are given; 0 for an answer that was not: see `ranker.tasks.base.Task`.

        Example:
            >>> answers = Scores(np.array([0.25, 1.0, np.nan]), np.array([ANSWERED, ANSWERED, NO_ANSWER]))
            >>> GivenTask("summaries", "ROUGE-L").outcomes(answers, [Example(str(n), ("a",), -1) for n in range(3)])
            array([0.25, 1.  , 0.  ])
        """
        if not isinstance(answers, Scores):
            raise TypeError(f"the task {self.name} takes answers that were judged (got {answers.kind})")
        found = np.where(answers.state == NO_ANSWER, 0.0, answers.values)
        return np.where(answers.state > NO_ANSWER, np.nan, found)

    def identity(self) -> dict[str, Any]:
        """The metric, and the labels."""
        return {"metric": self.metric, "labels": list(self.labels)}


@dataclass(frozen=True, eq=False)
class Scores:
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
