"""Session of models whose answers only the task can compare, such as texts: rows and order by ANCHORS.

Axis letters as in `ranker.statistics.anchors`, and K answered rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

import numpy as np

from factors.types import Floats
from ranker.labelling.session import LabelEvent, Session, SessionStatus, random_rows
from ranker.statistics.anchors import Anchors, choose_rows, infer_differences
from ranker.statistics.forecast import Forecast
from ranker.statistics.stopping import MARGIN, PROBABLE

RULES = ("order", "random")
"""Rules that pick rows to write references for: to learn the order of the models, or at random."""


class ReferenceSession(Session):
    """A pool of answers that are compared, and the labelling events of its rows; see `Session`.

    Args:
        anchors: likeness of the models' answers on the pool.
        outcomes: (row, reference) -> (M,) outcomes of the models' answers to a row, were that the truth.
        events: earlier events in their order. Of several references of a row the mean outcome counts.
        rule: rule that picks rows, one of `RULES`.
        margin: most that a winner may lack to the best, in outcomes.
        probable: probability of that at which to stop.
        seed: random seed of the order of random rows.

    Raises:
        ValueError: an invalid rule or row.

    Example:
        >>> answers = np.array([[0, 1, 2, 3], [0, 1, 2, 9], [9, 8, 7, 6]])  # of three models to four rows
        >>> alike = (answers[:, None] == answers).astype(float)
        >>> session = ReferenceSession(Anchors(alike), lambda row, truth: (answers[:, row] == truth).astype(float))
        >>> row = session.next()
        >>> session.tell(row, answers[0, row])
        >>> session.status().order.tolist()[-1]
        2
    """

    rules = RULES

    def __init__(
        self,
        anchors: Anchors,
        outcomes: Callable[[int, Any], Floats],
        events: Sequence[LabelEvent] = (),
        *,
        rule: str = "order",
        margin: float = MARGIN,
        probable: float = PROBABLE,
        seed: int = 0,
    ) -> None:
        super().__init__(anchors.rows, events, rule, margin, probable)
        self.anchors, self.seed, self.rule_key = anchors, seed, rule
        self.outcomes = cache(outcomes)

    def _pick(self, closed: Collection[int], count: int) -> list[int]:
        """Pick rows by the rule, none of them closed."""
        if self.rule == "random":
            return random_rows(self.rows, self.seed, {*range(self.rows)} - {*closed}, count)
        labelled = sorted({event.row for event in self.answered})
        return [*map(int, choose_rows(self.anchors, count, labelled, sorted(closed)))]

    def _compute_status(self) -> SessionStatus:
        """Compute what a decision by ANCHORS says of the domain."""
        outcomes: dict[int, list[Floats]] = {}
        for event in self.answered:
            outcomes.setdefault(event.row, []).append(self.outcomes(event.row, event.label))
        means = [np.mean(of_row, axis=0) for of_row in outcomes.values()]
        matrix = np.array(means).reshape(-1, self.anchors.models).T
        posterior = infer_differences(self.anchors, matrix, [*outcomes], domain=True)
        best, near = posterior.best(np.random.default_rng(0), near=self.margin)
        order = np.argsort(-posterior.score, kind="stable")
        low, high = posterior.interval()
        within = float(near[order[0]])
        return SessionStatus(
            order=order,
            score=posterior.score,
            low=low,
            high=high,
            beats=posterior.beats(),
            best=best,
            within=within,
            forecast=Forecast(0, 0, 0, self.probable) if within >= self.probable else None,
            certain=None,
            alarmed=False,
            rows_left=self.next() is not None,
        )
