"""Session of models that answer with labels: votes of the models, SURROGATE's posterior and its stopping rules.

Axis letters as in `ranker.statistics.pool`, and A answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Literal, get_args

import numpy as np

from factors.types import Floats, Ints
from ranker.labelling.session import LabelEvent, Session, SessionStatus, random_rows
from ranker.statistics import sequential_tests, stopping
from ranker.statistics.acquisition import Goal, next_rows
from ranker.statistics.beliefs import LABEL_NOISE, Beliefs, believe
from ranker.statistics.metric_posterior import MetricPosterior
from ranker.statistics.patterns import fold
from ranker.statistics.sequential_tests import BettingEvidence
from ranker.statistics.stopping import MARGIN, PROBABLE

Rule = Goal | Literal["certain", "random"]
"""Rule that picks rows: to learn the order, to find the best model, to prove a winner, or at random."""

RULES = (*get_args(Goal), "certain", "random")


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


class VoteSession(Session):
    """A pool of predicted labels, and the labelling events of its rows; see `Session`.

    Args:
        predicted: (M, N) predicted label of each model on each row of the pool; below 0 without a prediction.
        classes: C, the number of labels.
        events: earlier events in their order; a row may have several answers.
        strength: (M, N) weight of each prediction (`Pool.strength`); None if all are equal.
        in_domain: (M,) in-domain accuracies, nan where unknown; None where all are.
        drawn: number of trailing events whose rows this very session picked.
        rule: rule that picks rows.
        label_noise: share of answers that are random.
        margin: most accuracy that a winner may lack to the best, or most of the metric.
        probable: probability of that at which to stop.
        seed: random seed of rules that draw rows.
        judge: turns the posterior of accuracies into that of a metric, by which models are ranked and the session ends;
            None for accuracy. Rows are picked for accuracy.

    Raises:
        ValueError: no model, no row, or an invalid rule, row or label.

    Example:
        >>> truth = np.array([0, 1] * 20)
        >>> session = VoteSession(np.stack([truth, truth, 1 - truth]), 2)
        >>> for _ in range(4):
        ...     row = session.next()
        ...     session.tell(row, truth[row])
        >>> session.status().order.tolist()[-1]
        2
        >>> session.undo().row == row
        True
    """

    rules = RULES

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
        judge: Callable[[Beliefs], MetricPosterior] | None = None,
    ) -> None:
        self.judge = judge
        self.predicted, self.label_noise, self.seed, self.classes = predicted, label_noise, seed, classes
        self.goal: Goal | None = "order" if rule == "order" else "best" if rule == "best" else None
        super().__init__(predicted.shape[1], events, rule, margin, probable)
        seen_rows = np.array([event.row for event in self.events], dtype=np.int64)
        self.patterns = fold(predicted, classes, seen_rows, strength=strength, in_domain=in_domain)
        self.known = max(len(self.events) - drawn, 0)
        self.rule_key = rule_key(rule, margin, predicted)
        self._chances: list[float] = []
        self._beliefs: Beliefs | None = None

    @property
    def answers(self) -> tuple[Ints, Ints]:
        """(A,) answered rows, in the order of the answers, and (A,) the answers."""
        pairs = [(event.row, event.label) for event in self.answered]
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

    def _pick(self, closed: Collection[int], count: int) -> list[int]:
        """Pick rows by the rule, none of them closed."""
        if self.goal:
            return [*map(int, next_rows(self.beliefs, count, self.goal, sorted(closed)))]
        rows = np.setdiff1d(np.flatnonzero(self.patterns.pattern_of_row >= 0), sorted(closed))
        if self.rule == "random":
            return random_rows(self.rows, self.seed, rows, count)
        rng = np.random.default_rng([self.beliefs.seed, self.seed, len(self.events)])
        return [*map(int, rng.permutation(np.intersect1d(rows, np.flatnonzero(self.evidence.frame)))[:count])]

    @property
    def evidence(self) -> BettingEvidence:
        """Evidence of the answers to random rows, by the first answer to each.

        A row counts once it was first asked. While it has no answer, it counts as one on which no model is right.
        """
        first_labels: dict[int, int | None] = {}
        before = {event.row for event in self.events[: self.known]}
        for event in self.events:
            if first_labels.get(event.row) is None:
                first_labels[event.row] = event.label
        labels = [self.classes if label is None else label for label in first_labels.values()]
        rows = np.array([*first_labels], dtype=np.int64)
        return sequential_tests.weigh(self.predicted, rows, np.array(labels, dtype=np.int64), self.margin, len(before))

    def _check(self, event: LabelEvent) -> None:
        super()._check(event)
        if event.status == "answered" and not 0 <= event.label < self.classes:
            raise ValueError(f"label must be between 0 and {self.classes - 1} (got {event.label})")

    def _add(self, event: LabelEvent) -> None:
        self._check(event)
        if self.patterns.pattern_of_row[event.row] < 0:
            raise ValueError(f"row {event.row} is not among the rows of this large pool that are read")
        before, complete = self._beliefs, len(self._chances) == len(self.answered)
        super()._add(event)
        if before is not None and complete and event.status == "answered":
            self._chances.append(stopping.answer_probability(before, event.row, event.label))

    def _forget(self) -> None:
        super()._forget()
        self._beliefs = None
        self.known = min(self.known, len(self.events))
        del self._chances[len(self.answers[0]) :]

    @property
    def predictive_probabilities(self) -> Floats:
        """(A,) probability of each answer before it was given."""
        rows, labels = self.answers
        for count in range(len(self._chances), len(rows)):
            self._chances.append(stopping.answer_probability(self._after(count), int(rows[count]), int(labels[count])))
        return np.array(self._chances)

    def _compute_status(self) -> SessionStatus:
        beliefs, row = self.beliefs, self.next()
        judged = None if self.judge is None else self.judge(beliefs)
        posterior, forecast = judged or beliefs, None
        if row is not None:
            forecast = stopping.forecast_answers(beliefs, row, self.margin, self.probable, judged)
        low, high = posterior.interval()
        return SessionStatus(
            order=np.argsort(-posterior.score, kind="stable"),
            score=posterior.score,
            low=low,
            high=high,
            beats=posterior.beats(),
            best=posterior.best(),
            within=posterior.within(self.margin),
            forecast=forecast,
            certain=self.evidence.settled if self.rule == "certain" else None,
            alarmed=stopping.raises_alarm(self.predictive_probabilities, self.answers[1], self.classes),
            rows_left=row is not None,
        )
