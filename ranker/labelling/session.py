"""Labelling session: pick the next row of a pool, learn from the answers, and tell when to stop.

A session is a pool and a list of labelling events in their order. Everything else follows from these: the beliefs
depend on the answers and not on their order, and the last event can be undone at any time. Axis letters as in
`ranker.statistics.pool`, and A answers.
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
from ranker.statistics.forecast import Forecast
from ranker.statistics.patterns import fold
from ranker.statistics.sequential_tests import BettingEvidence
from ranker.statistics.stopping import MARGIN, PROBABLE

Rule = Goal | Literal["certain", "random"]
"""Rule that picks rows: to learn the order, to find the best model, to prove a winner, or at random."""

RULES = (*get_args(Goal), "certain", "random")

SKIP_DISTANCE = 10
"""Other rows asked before a skipped one comes back."""


def rule_key(rule: str, margin: float, predicted: Ints) -> str:
    """Describe a rule for the record of the rows that it picks; equal descriptions pick rows in the same way.

    Draws for a certain winner depend on the margin and on all predictions: rows drawn with other values are not random
    for this test, and prove nothing.

    Args:
        rule: one of `RULES`.
        margin: most accuracy that a winner may lack to the best.
        predicted: (M, N) predicted label of each model on each row of the pool.

    Example:
        >>> rule_key("best", 0.01, np.zeros((2, 3), dtype=int)), rule_key("certain", 0.01, np.zeros((2, 3), dtype=int))
        ('best', 'certain 0.01 ...')
    """
    if rule != "certain":
        return rule
    digest = hashlib.sha256(f"{predicted.shape}".encode() + predicted.astype("<i8").tobytes())
    return f"{rule} {margin:g} {digest.hexdigest()[:8]}"


@dataclass(frozen=True)
class LabelEvent:
    """One labelling event of a row.

    Attributes:
        row: its index in the pool.
        status: answered; skipped, to be asked again later; or cannot-tell, never asked again.
        label: the answer; -1 without one.
    """

    row: int
    status: Literal["answered", "skipped", "cannot-tell"] = "answered"
    label: int = -1


@dataclass(frozen=True)
class SessionStatus:
    """Results of the answers so far.

    Attributes:
        order: (M,) the models, the best first.
        score: (M,) the expected accuracies on the pool.
        beats: (M, M) P(the model of the row is more accurate in the domain than that of the column).
        best: (M,) P(no other model is more accurate).
        within: P(no model is better than the leader by more than the margin).
        forecast: of the further answers that make that probable enough; None if no row is left.
        certain: whether the leader is accepted against all by the test of `sequential_tests`; None under other rules.
        alarmed: the models' votes do not describe these labels, so the other figures are unreliable.
    """

    order: Ints
    score: Floats
    beats: Floats
    best: Floats
    within: float
    forecast: Forecast | None
    certain: bool | None
    alarmed: bool


class Session:
    """A pool and the labelling events of its rows.

    Args:
        predicted: (M, N) predicted label of each model on each row of the pool; below 0 without a prediction.
        classes: C, the number of labels.
        events: earlier events in their order; a row may have several answers.
        strength: (M, N) weight of each prediction (`Pool.strength`); None if all are equal.
        in_domain: (M,) in-domain accuracies, nan where unknown; None where all are.
        drawn: number of trailing events whose rows this very session picked.
        rule: rule that picks rows.
        label_noise: share of answers that are random.
        margin: most accuracy that a winner may lack to the best.
        probable: probability of that at which to stop.
        seed: random seed of rules that draw rows.

    Raises:
        ValueError: no model, no row, or an invalid rule, row or label.

    Example:
        >>> truth = np.array([0, 1] * 20)
        >>> session = Session(np.stack([truth, truth, 1 - truth]), 2)
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
        predicted: Ints,
        classes: int,
        events: Sequence[LabelEvent] = (),
        *,
        strength: Floats | None = None,
        in_domain: Floats | None = None,
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
        seen_rows = np.array([event.row for event in self.events], dtype=np.int64)
        self.patterns = fold(predicted, classes, seen_rows, strength=strength, in_domain=in_domain)
        self.known = max(len(self.events) - drawn, 0)
        self._chances: list[float] = []
        self._beliefs: Beliefs | None = None
        self._status: SessionStatus | None = None

    @property
    def answers(self) -> tuple[Ints, Ints]:
        """(A,) answered rows, in the order of the answers, and (A,) the answers."""
        pairs = [(event.row, event.label) for event in self.events if event.status == "answered"]
        rows, labels = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return rows, labels

    @property
    def beliefs(self) -> Beliefs:
        """Posterior after the pool and all answers."""
        if self._beliefs is None:
            self._beliefs = self._after(len(self.answers[0]))
        return self._beliefs

    def _after(self, count: int) -> Beliefs:
        """Return the posterior after the first answers."""
        rows, labels = self.answers
        return believe(self.patterns, rows[:count], labels[:count], self.label_noise)

    def next(self) -> int | None:
        """Return the row to label next; None if no row is left, or a winner is proven (`certain`).

        A skipped row comes back after `SKIP_DISTANCE` others, or when no other is left.
        """
        closed = {event.row for event in self.events if event.status != "skipped"}
        recent = {event.row for event in self.events[-SKIP_DISTANCE:] if event.status == "skipped"}
        picked = self._pick(closed | recent, 1) or (self._pick(closed, 1) if recent else [])
        return picked[0] if picked else None

    def several(self, count: int) -> list[int]:
        """Return rows to label at once, the most useful first; fewer if fewer are left.

        Each is picked as if the answers to those before it were partly known: see `ranker.statistics.acquisition`.
        """
        return self._pick({event.row for event in self.events if event.status != "skipped"}, count)

    def _pick(self, closed: Collection[int], count: int) -> list[int]:
        """Pick rows by the rule, none of them closed."""
        if self.rule == "order" or self.rule == "best":
            return [*map(int, next_rows(self.beliefs, count, self.rule, sorted(closed)))]
        rows = np.setdiff1d(np.flatnonzero(self.patterns.pattern_of_row >= 0), sorted(closed))
        if self.rule == "random":  # one order of all rows: five and then five are the same ten
            order = np.random.default_rng(self.seed).permutation(self.predicted.shape[1])
            return [*map(int, order[np.isin(order, rows)][:count])]
        rng = np.random.default_rng([self.beliefs.seed, self.seed, len(self.events)])
        return [*map(int, rng.permutation(np.intersect1d(rows, np.flatnonzero(self.evidence.frame)))[:count])]

    @property
    def evidence(self) -> BettingEvidence:
        """Evidence of the answers to random rows, by the first answer to each.

        A row counts once it was first asked. While it has no answer, it counts as one on which no model is right.
        """
        first_labels: dict[int, int] = {}
        before = {event.row for event in self.events[: self.known]}
        for event in self.events:
            if first_labels.get(event.row, -1) < 0:
                first_labels[event.row] = event.label
        labels = [label if label >= 0 else self.patterns.classes for label in first_labels.values()]
        rows = np.array([*first_labels], dtype=np.int64)
        return sequential_tests.weigh(self.predicted, rows, np.array(labels, dtype=np.int64), self.margin, len(before))

    def tell(self, row: int, label: int) -> None:
        """Add an answer.

        Raises:
            ValueError: an invalid row or label, or a row that already has an answer.
        """
        self._check(row, label, self.patterns.classes)
        self._add(LabelEvent(int(row), "answered", int(label)))

    def skip(self, row: int) -> None:
        """Ask a row again later."""
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
        if self.patterns.pattern_of_row[event.row] < 0:
            raise ValueError(f"row {event.row} is not among the rows of this large pool that are read")
        self.events.append(event)
        self._beliefs = self._status = None

    def undo(self) -> LabelEvent:
        """Remove the last event and return it.

        Raises:
            ValueError: there is no event.
        """
        if not self.events:
            raise ValueError("nothing was said that could be taken back")
        event = self.events.pop()
        self.known = min(self.known, len(self.events))
        del self._chances[len(self.answers[0]) :]
        self._beliefs = self._status = None
        return event

    @property
    def predictive_probabilities(self) -> Floats:
        """(A,) probability of each answer before it was given."""
        rows, labels = self.answers
        for count in range(len(self._chances), len(rows)):
            self._chances.append(stopping.answer_probability(self._after(count), int(rows[count]), int(labels[count])))
        return np.array(self._chances)

    def status(self) -> SessionStatus:
        """Return the results of the answers so far."""
        if self._status is None:
            self._status = self._compute_status()
        return self._status

    def _compute_status(self) -> SessionStatus:
        beliefs, row = self.beliefs, self.next()
        return SessionStatus(
            order=np.argsort(-beliefs.score, kind="stable"),
            score=beliefs.score,
            beats=beliefs.beats(),
            best=beliefs.best(),
            within=beliefs.within(self.margin),
            forecast=None if row is None else stopping.forecast_answers(beliefs, row, self.margin, self.probable),
            certain=self.evidence.settled if self.rule == "certain" else None,
            alarmed=stopping.raises_alarm(self.predictive_probabilities, self.answers[1], self.patterns.classes),
        )
