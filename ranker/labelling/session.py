"""Labelling session: pick the next row of a pool, learn from the answers, and tell when to stop.

A session is a pool and a list of labelling events in their order. Everything else follows from these: the posterior
depends on the answers and not on their order, and the last event can be undone at any time. `votes` learns from
labels, `references` from texts, tags and numbers. Axis letters as in `ranker.statistics.pool`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.forecast import Forecast

SKIP_DISTANCE = 10
"""Other rows asked before a skipped one comes back."""


@dataclass(frozen=True)
class LabelEvent:
    """One labelling event of a row.

    Attributes:
        row: its index in the pool.
        status: answered; skipped, to be asked again later; or cannot-tell, never asked again.
        label: the answer, as `Example.target`: the index of a label, or the task's value; None without one.
    """

    row: int
    status: Literal["answered", "skipped", "cannot-tell"] = "answered"
    label: Any = None


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
        forecast: of the further answers that make that probable enough; None if no row is left, or it is not known.
        certain: whether the leader is accepted against all by the test of `sequential_tests`; None under other rules.
        alarmed: the models' votes do not describe these labels, so the other figures are unreliable.
        rows_left: whether a row is left to ask.
    """

    order: Ints
    score: Floats
    low: Floats
    high: Floats
    beats: Floats
    best: Floats
    within: float
    forecast: Forecast | None
    certain: bool | None
    alarmed: bool
    rows_left: bool


class Session(ABC):
    """A pool and the labelling events of its rows.

    Attributes:
        rows: N, the number of rows.
        events: the events in their order; a row may have several answers.
        rules: rules that it can pick rows by.
        rule: the one that it picks them by.
        margin: most that a winner may lack to the best.
        probable: probability of that at which to stop.
        rule_key: description of the rule for the record of the rows that it picks.
    """

    rules: ClassVar[tuple[str, ...]]
    rule_key: str

    def __init__(self, rows: int, events: Sequence[LabelEvent], rule: str, margin: float, probable: float) -> None:
        if rule not in self.rules:
            raise ValueError(f"rule must be one of {', '.join(self.rules)} (got {rule!r})")
        self.rows, self.rule, self.margin, self.probable = rows, rule, margin, probable
        self.events: list[LabelEvent] = list(events)
        self._status: SessionStatus | None = None
        self._next: list[int] | None = None
        for event in self.events:
            self._check(event)

    @property
    def answered(self) -> list[LabelEvent]:
        """The events with an answer, in their order."""
        return [event for event in self.events if event.status == "answered"]

    def next(self) -> int | None:
        """Return the row to label next; None if no row is left, or a winner is proven (`certain`).

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
        """
        return self._pick({event.row for event in self.events if event.status != "skipped"}, count)

    def tell(self, row: int, label: Any) -> None:
        """Add an answer.

        Raises:
            ValueError: an invalid row or label, or a row that already has an answer.
        """
        self._add(LabelEvent(int(row), "answered", label))

    def skip(self, row: int) -> None:
        """Ask a row again later."""
        self._add(LabelEvent(int(row), "skipped"))

    def cannot_tell(self, row: int) -> None:
        """Never ask a row again."""
        self._add(LabelEvent(int(row), "cannot-tell"))

    def undo(self) -> LabelEvent:
        """Remove the last event and return it.

        Raises:
            ValueError: there is no event.
        """
        if not self.events:
            raise ValueError("nothing was said that could be taken back")
        event = self.events.pop()
        self._forget()
        return event

    def status(self) -> SessionStatus:
        """Return the results of the answers so far."""
        if self._status is None:
            self._status = self._compute_status()
        return self._status

    def _check(self, event: LabelEvent) -> None:
        """Raise a ValueError if there is no such row or label."""
        if not 0 <= event.row < self.rows:
            raise ValueError(f"row must be between 0 and {self.rows - 1} (got {event.row})")

    def _add(self, event: LabelEvent) -> None:
        self._check(event)
        if any(earlier.row == event.row for earlier in self.answered):
            raise ValueError(f"row {event.row} has an answer")
        self.events.append(event)
        self._forget()

    def _forget(self) -> None:
        """Drop what followed from other events."""
        self._status = self._next = None

    @abstractmethod
    def _pick(self, closed: Collection[int], count: int) -> list[int]:
        """Pick rows by the rule, none of them closed."""

    @abstractmethod
    def _compute_status(self) -> SessionStatus:
        """Compute the results of the answers so far."""


def random_rows(rows: int, seed: int, open_rows: Collection[int] | Ints, count: int) -> list[int]:
    """Return the first open rows of one random order of all: five and then five of them are the same ten.

    Args:
        rows: N, the number of all rows.
        seed: random seed.
        open_rows: rows that may be picked.
        count: how many; fewer where fewer are open.
    """
    order = np.random.default_rng(seed).permutation(rows)
    return [*map(int, order[np.isin(order, [*open_rows])][:count])]
