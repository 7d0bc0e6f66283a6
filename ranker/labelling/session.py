"""Labelling session: pick the next row of a pool, learn from the answers, and tell when to stop.

A session is a pool and a list of labelling events in their order. Everything else follows from these: the belief
depends on the answers and not on their order, and the last event can be undone at any time. A `Learner` turns answers
into a belief and chooses rows: see `learners`. Axis letters as in `ranker.statistics.pool`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.draws import Draws
from ranker.statistics.forecast import Forecast
from ranker.statistics.stopping import MARGIN, PROBABLE

SKIP_DISTANCE = 10
"""Other rows asked before a skipped one comes back."""

RANDOM = "random"


@dataclass(frozen=True)
class LabelEvent:
    """One labelling event of a row.

    Attributes:
        status: answered; skipped, to be asked again later; or cannot-tell, never asked again.
        label: the answer, as `Example.target`: the index of a label, or the task's value; None without one.
    """

    row: int
    status: Literal["answered", "skipped", "cannot-tell"] = "answered"
    label: Any = None


class Learner(ABC):
    """Pool that learns from the answers to some of its rows.

    Attributes:
        rules: that it can choose rows by, the usual one first; and `RANDOM`.
        rows: N, the number of rows.
        readable: rows that may be picked.
    """

    rules: tuple[str, ...]
    rows: int
    readable: Ints

    def check(self, event: LabelEvent) -> None:  # noqa: B027  # any answer can be one
        """Raise a ValueError if an answer cannot be one."""

    @abstractmethod
    def belief(self, answered: Sequence[LabelEvent], following: int | None) -> Draws:
        """Return what is believed of the models after some answers.

        Args:
            answered: the events with an answer; a row may have several.
            following: the row to label next, which tells what further answers will add; None for none.
        """

    @abstractmethod
    def choose(self, answered: Sequence[LabelEvent], rule: str, closed: Collection[int], count: int) -> list[int]:
        """Choose rows to label by a rule that is not `RANDOM`, the most useful first; fewer where fewer are left."""

    def alarmed(self, answered: Sequence[LabelEvent]) -> bool:
        """Return whether the models' answers do not describe the labels, so that the belief is unreliable."""
        return False


@dataclass(frozen=True)
class SessionStatus:
    """Results of the answers so far.

    Attributes:
        order: (M,) the models, the best first.
        score: (M,) the expected accuracies on the pool; of references, the differences from the mean model.
        low, high: (M,) ends of the 95 % intervals of the scores in the domain.
        beats: (M, M) P(the model of the row is better in the domain than that of the column).
        best: (M,) P(no other model is better).
        within: P(no model is better than the leader by more than the margin).
        shortfall: (M,) expected loss by taking each model instead of the best.
        forecast: of the further answers that make `within` probable enough; None if no row is left, or it is not known.
        alarmed: the models' votes do not describe these labels, so the other figures are unreliable.
    """

    order: Ints
    score: Floats
    low: Floats
    high: Floats
    beats: Floats
    best: Floats
    within: float
    shortfall: Floats
    forecast: Forecast | None
    alarmed: bool
    rows_left: bool


class Session:
    """A pool and the labelling events of its rows.

    Args:
        events: earlier events in their order; a row may have several answers.
        rule: rule that picks rows, of the learner's or `RANDOM`; "" for the learner's usual one.
        margin: most that a winner may lack to the best.
        probable: probability of that at which to stop.
        seed: random seed of the order of random rows.

    Raises:
        ValueError: an invalid rule, row or label.

    Example:
        >>> from ranker.labelling.learners import VoteLearner
        >>> from ranker.statistics.patterns import fold
        >>> truth = np.array([0, 1] * 20)
        >>> session = Session(VoteLearner(fold(np.stack([truth, truth, 1 - truth]), 2)))
        >>> for _ in range(4):
        ...     row = session.next()
        ...     session.tell(row, truth[row])
        >>> session.status().order.tolist()[-1]
        2
        >>> session.undo().row == row
        True
    """

    def __init__(
        self,
        learner: Learner,
        events: Sequence[LabelEvent] = (),
        *,
        rule: str = "",
        margin: float = MARGIN,
        probable: float = PROBABLE,
        seed: int = 0,
    ) -> None:
        rules = (*learner.rules, RANDOM)
        if rule and rule not in rules:
            raise ValueError(f"rule must be one of {', '.join(rules)} (got {rule!r})")
        self.learner, self.rule, self.margin, self.probable = learner, rule or rules[0], margin, probable
        self.events: list[LabelEvent] = list(events)
        order = np.random.default_rng(seed).permutation(learner.rows)
        self._shuffled = order[np.isin(order, learner.readable)]
        self._status: SessionStatus | None = None
        self._next: list[int] | None = None
        for event in self.events:
            self._check(event)

    @property
    def answered(self) -> list[LabelEvent]:
        """The events with an answer, in their order."""
        return [event for event in self.events if event.status == "answered"]

    def next(self) -> int | None:
        """Return the row to label next; None if no row is left.

        A skipped row comes back after `SKIP_DISTANCE` others, or when no other is left.
        """
        if self._next is None:
            closed = {event.row for event in self.events if event.status != "skipped"}
            recent = {event.row for event in self.events[-SKIP_DISTANCE:] if event.status == "skipped"}
            self._next = self._pick(closed | recent, 1) or (self._pick(closed, 1) if recent else [])
        return self._next[0] if self._next else None

    def several(self, count: int) -> list[int]:
        """Return rows to label at once, the most useful first; fewer if fewer are left.

        Each is picked as if the answers to those before it were partly known: see `ranker.statistics.acquisition`.
        Random rows are the first of one order: five and then five of them are the same ten.
        """
        return self._pick({event.row for event in self.events if event.status != "skipped"}, count)

    def tell(self, row: int, label: Any) -> None:
        """Add an answer; see `add`."""
        self.add(LabelEvent(int(row), "answered", label))

    def add(self, event: LabelEvent) -> None:
        """Add an event; raises a ValueError for an invalid row or label, or a row that has an answer."""
        self._check(event)
        if event.row not in self.learner.readable:
            raise ValueError(f"row {event.row} is not among the rows of this large pool that are read")
        if any(earlier.row == event.row for earlier in self.answered):
            raise ValueError(f"row {event.row} has an answer")
        self.events.append(event)
        self._status = self._next = None

    def undo(self) -> LabelEvent:
        """Remove the last event and return it; raises a ValueError if there is none."""
        if not self.events:
            raise ValueError("nothing was said that could be taken back")
        event = self.events.pop()
        self._status = self._next = None
        return event

    def status(self) -> SessionStatus:
        """Return the results of the answers so far."""
        if self._status is None:
            row, answered = self.next(), self.answered
            alarmed = self.learner.alarmed(answered)
            belief = self.learner.belief(answered, row)
            low, high = belief.interval()
            self._status = SessionStatus(
                order=belief.order,
                score=belief.score,
                low=low,
                high=high,
                beats=belief.beats(),
                best=belief.best(),
                within=belief.within(self.margin),
                shortfall=belief.shortfall(),
                forecast=None if row is None else belief.forecast(self.probable, self.margin),
                alarmed=alarmed,
                rows_left=row is not None,
            )
        return self._status

    def _pick(self, closed: Collection[int], count: int) -> list[int]:
        """Pick rows by the rule, none of them closed."""
        if self.rule != RANDOM:
            return self.learner.choose(self.answered, self.rule, closed, count)
        return [*map(int, self._shuffled[~np.isin(self._shuffled, [*closed])][:count])]

    def _check(self, event: LabelEvent) -> None:
        """Raise a ValueError if there is no such row or label."""
        if not 0 <= event.row < self.learner.rows:
            raise ValueError(f"row must be between 0 and {self.learner.rows - 1} (got {event.row})")
        self.learner.check(event)
