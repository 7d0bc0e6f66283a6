"""Ask, answer, stop: which row of a pool to label next, what the answers tell, and when it is enough.

A session is a list of events, what was said of rows in the order in which it was said, and a pool. Everything else
follows from these: what is known depends on the answers, and not on their order, and the last event can be taken back
at any time. Axis letters as in `ranker.statistics.pool`, and A answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics import sequential_tests, stopping
from ranker.statistics.acquisition import Goal, next_rows
from ranker.statistics.beliefs import LABEL_NOISE, Beliefs, believe
from ranker.statistics.patterns import fold
from ranker.statistics.sequential_tests import BettingEvidence
from ranker.statistics.stopping import MARGIN, PROBABLE

Rule = Goal | Literal["certain", "random"]
"""How rows are picked: for the order, for the best model, for a certain winner, or any."""

RULES = (*get_args(Goal), "certain", "random")

BACK = 10
"""Rows that are asked before one that was skipped comes back."""


def noted(rule: str, margin: float, predicted: Ints) -> str:
    """How a rule is noted beside the rows that it picks: two that are noted alike pick rows in the same way.

    What is drawn for a certain winner depends on the margin, and on all that was predicted: what was drawn with others
    is no random row, and proves nothing.

    Args:
        rule: one of `RULES`.
        margin: how much less accurate than the best a winner may be.
        predicted: (M, N) the label that each model predicts on each row of the pool.

    Example:
        >>> noted("best", 0.01, np.zeros((2, 3), dtype=int)), noted("certain", 0.01, np.zeros((2, 3), dtype=int))
        ('best', 'certain 0.01 ...')
    """
    if rule != "certain":
        return rule
    digest = hashlib.sha256(f"{predicted.shape}".encode() + predicted.astype("<i8").tobytes())
    return f"{rule} {margin:g} {digest.hexdigest()[:8]}"


@dataclass(frozen=True)
class LabelEvent:
    """What was said of a row.

    Attributes:
        row: its place in the pool.
        status: answered; skipped, which comes back later; or cannot-tell, which does not.
        label: the answer; -1 where there is none.
    """

    row: int
    status: Literal["answered", "skipped", "cannot-tell"] = "answered"
    label: int = -1


@dataclass(frozen=True)
class SessionStatus:
    """What the answers so far tell.

    Attributes:
        order: (M,) the models, the best first.
        score: (M,) the expected accuracies on the pool.
        beats: (M, M) P(the model of the row is more accurate in the domain than that of the column).
        best: (M,) P(no other model is more accurate).
        within: P(no model is better than the leader by more than the margin).
        more_answers: how many more are expected to make that probable enough; -1 where no number would do.
        certain: whether the leader by the test of `betting` is accepted against all; None where rows are picked for
            something else.
        alarmed: the votes of the models do not describe these labels, and the rest is not to be believed.
    """

    order: Ints
    score: Floats
    beats: Floats
    best: Floats
    within: float
    more_answers: int
    certain: bool | None
    alarmed: bool


class Session:
    """A pool, and what was said of its rows.

    Args:
        predicted: (M, N) the label that each model predicts on each row of the pool; below 0 where it predicts none.
        classes: C, the labels that there are.
        events: what was said before, the first first; a row may have several answers.
        strength: (M, N) how much each prediction counts (`Pool.strength`); None where all count alike.
        drawn: how many of these, at the end, are of rows that this very session picked.
        rule: how rows are picked.
        label_noise: the share of answers that are given at random.
        margin: how much less accurate than the best a winner may be.
        probable: the probability of that that is enough.
        seed: of the rules that draw rows.

    Raises:
        ValueError: no model, no row, or a rule, a row or a label that is none.

    Example:
        >>> truth = np.array([0, 1] * 20)
        >>> session = Session(np.stack([truth, truth, 1 - truth]), 2)
        >>> for _ in range(4):
        ...     row = session.next()
        ...     session.tell(row, truth[row])
        >>> session.standing().order.tolist()[-1]
        2
        >>> session.undo().row == row
        True
    """

    def __init__(
        self,
        predicted: Ints,
        classes: int,
        events: Sequence[LabelEvent] = (),
        *,
        strength: Floats | None = None,
        drawn: int = 0,
        rule: Rule = "best",
        label_noise: float = LABEL_NOISE,
        margin: float = MARGIN,
        probable: float = PROBABLE,
        seed: int = 0,
    ) -> None:
        if rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)} (got {rule!r})")
        self.predicted, self.rule, self.label_noise = predicted, rule, label_noise
        self.margin, self.probable, self.seed = margin, probable, seed
        self.events: list[LabelEvent] = list(events)
        for event in self.events:
            self._check(event.row, event.label if event.status == "answered" else 0, classes)
        said = np.array([event.row for event in self.events], dtype=np.int64)
        self.patterns = fold(predicted, classes, said, strength=strength)
        self.known = max(len(self.events) - drawn, 0)
        self._chances: list[float] = []
        self._beliefs: Beliefs | None = None

    @property
    def answers(self) -> tuple[Ints, Ints]:
        """(A,) rows that were answered, in the order of the answers, and (A,) the answers."""
        given = [(event.row, event.label) for event in self.events if event.status == "answered"]
        rows, labels = np.array(given, dtype=np.int64).reshape(-1, 2).T
        return rows, labels

    @property
    def beliefs(self) -> Beliefs:
        """What pool and answers tell."""
        if self._beliefs is None:
            self._beliefs = self._after(len(self.answers[0]))
        return self._beliefs

    def _after(self, count: int) -> Beliefs:
        """What was known after so many answers."""
        rows, labels = self.answers
        return believe(self.patterns, rows[:count], labels[:count], self.label_noise)

    def next(self) -> int | None:
        """The row to label next; None where none is left, or nothing is in question any more.

        A row that was skipped comes back once `BACK` others were seen, or no other is left.
        """
        closed = {event.row for event in self.events if event.status != "skipped"}
        recent = {event.row for event in self.events[-BACK:] if event.status == "skipped"}
        picked = [*self._pick(closed | recent, 1), *self._pick(closed, 1)]
        return picked[0] if picked else None

    def several(self, count: int) -> list[int]:
        """So many rows to label at once, the most useful first: fewer, where fewer are left.

        They are picked as if the answers to those before them were known only in part: see
        `ranker.statistics.acquisition`.
        """
        return self._pick({event.row for event in self.events if event.status != "skipped"}, count)

    def _pick(self, closed: Collection[int], count: int) -> list[int]:
        """Rows by the rule, none of those that are closed."""
        if self.rule == "order" or self.rule == "best":
            return [*map(int, next_rows(self.beliefs, count, self.rule, sorted(closed)))]
        rows = np.setdiff1d(np.flatnonzero(self.patterns.of >= 0), sorted(closed))
        if self.rule == "random":  # one order of all rows: five and then five are the same ten
            order = np.random.default_rng(self.seed).permutation(self.predicted.shape[1])
            return [*map(int, order[np.isin(order, rows)][:count])]
        rng = np.random.default_rng([self.beliefs.seed, self.seed, len(self.events)])
        return [*map(int, rng.permutation(np.intersect1d(rows, np.flatnonzero(self.evidence.frame)))[:count])]

    @property
    def evidence(self) -> BettingEvidence:
        """What the answers to random rows prove, by the first answer to each.

        A row counts from when it was asked first. While it has no answer, as one that no model is right on.
        """
        said: dict[int, int] = {}
        before = {event.row for event in self.events[: self.known]}
        for event in self.events:
            if said.get(event.row, -1) < 0:
                said[event.row] = event.label
        labels = [label if label >= 0 else self.patterns.classes for label in said.values()]
        rows = np.array([*said], dtype=np.int64)
        return sequential_tests.weigh(self.predicted, rows, np.array(labels, dtype=np.int64), self.margin, len(before))

    def tell(self, row: int, label: int) -> None:
        """Take in an answer.

        Raises:
            ValueError: a row or a label that is none, or a row that has an answer.
        """
        self._check(row, label, self.patterns.classes)
        self._add(LabelEvent(int(row), "answered", int(label)))

    def skip(self, row: int) -> None:
        """Ask a row later."""
        self._check(row, 0, self.patterns.classes)
        self._add(LabelEvent(int(row), "skipped"))

    def cannot_tell(self, row: int) -> None:
        """Never ask a row again."""
        self._check(row, 0, self.patterns.classes)
        self._add(LabelEvent(int(row), "cannot-tell"))

    def _check(self, row: int, label: int, classes: int) -> None:
        if not 0 <= row < self.predicted.shape[1]:
            raise ValueError(f"row must be between 0 and {self.predicted.shape[1] - 1} (got {row})")
        if not 0 <= label < classes:
            raise ValueError(f"label must be between 0 and {classes - 1} (got {label})")

    def _add(self, event: LabelEvent) -> None:
        if event.row in self.answers[0]:
            raise ValueError(f"row {event.row} has an answer")
        if self.patterns.of[event.row] < 0:
            raise ValueError(f"row {event.row} is not among the rows of this large pool that are read")
        self.events.append(event)
        self._beliefs = None

    def undo(self) -> LabelEvent:
        """Take back what was said last, and return it.

        Raises:
            ValueError: nothing was said.
        """
        if not self.events:
            raise ValueError("nothing was said that could be taken back")
        event = self.events.pop()
        self.known = min(self.known, len(self.events))
        del self._chances[len(self.answers[0]) :]
        self._beliefs = None
        return event

    @property
    def chances(self) -> Floats:
        """(A,) the probability that each answer had before it was given."""
        rows, labels = self.answers
        for at in range(len(self._chances), len(rows)):
            self._chances.append(stopping.chance(self._after(at), int(rows[at]), int(labels[at])))
        return np.array(self._chances)

    def standing(self) -> SessionStatus:
        """What the answers so far tell."""
        known, row = self.beliefs, self.next()
        return SessionStatus(
            order=np.argsort(-known.score, kind="stable"),
            score=known.score,
            beats=known.beats(),
            best=known.best(),
            within=known.within(self.margin),
            more_answers=0 if row is None else stopping.more_answers(known, row, self.margin, self.probable),
            certain=self.evidence.settled if self.rule == "certain" else None,
            alarmed=stopping.alarmed(self.chances, self.answers[1], self.patterns.classes),
        )
