"""Learner of answers that only the task can compare, such as texts: rows and order by ANCHORS.

Axis letters as in `ranker.statistics.likeness`, and K answered rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

import numpy as np

from factors.types import Floats
from ranker.labelling.session import LabelEvent
from ranker.statistics import likeness
from ranker.statistics.draws import Draws
from ranker.statistics.likeness import Anchors, LikenessEvidence, choose_rows

RULES: tuple[str, ...] = ("order",)
"""Rule that chooses rows to write references for: to learn the order of the models."""


class ReferenceLearner:
    """A pool of answers that are compared; a `ranker.labelling.session.Learner`.

    Args:
        anchors: likeness of the models' answers on the pool.
        outcomes: (row, reference) -> (M,) outcomes of the models' answers to a row, were that the truth. Of several
            references of a row the mean outcome counts.
        believe: answered events -> what is believed of the models; None for what outcomes and likeness tell.

    Example:
        >>> from ranker.labelling.session import Session
        >>> answers = np.array([[0, 1, 2, 3], [0, 1, 2, 9], [9, 8, 7, 6]])  # of three models to four rows
        >>> alike = (answers[:, None] == answers).astype(float)
        >>> pool = ReferenceLearner(Anchors(alike), lambda row, truth: (answers[:, row] == truth).astype(float))
        >>> session = Session(pool)
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
        believe: Callable[[Sequence[LabelEvent]], Draws] | None = None,
    ) -> None:
        self.believe = believe
        self.anchors, self.outcomes, self.rows = anchors, cache(outcomes), anchors.rows
        self.readable = np.arange(anchors.rows)

    def check(self, event: LabelEvent) -> None:
        """Do nothing: any reference can be one."""

    def belief(self, answered: Sequence[LabelEvent], following: int | None) -> Draws:
        """Return what is believed of the differences between the models; what a further answer adds is not known."""
        if self.believe is not None:
            return self.believe(answered)
        outcomes: dict[int, list[Floats]] = {}
        for event in answered:
            outcomes.setdefault(event.row, []).append(self.outcomes(event.row, event.label))
        means = [np.mean(of_row, axis=0) for of_row in outcomes.values()]
        matrix = np.array(means).reshape(-1, self.anchors.models).T
        evidence = LikenessEvidence(self.anchors, matrix, np.array([*outcomes], dtype=np.int64), random=False)
        return likeness.draw(evidence, np.random.default_rng(0))

    def choose(self, answered: Sequence[LabelEvent], rule: str, closed: Collection[int], count: int) -> list[int]:
        """Choose rows that tell most of the differences. See `ranker.statistics.likeness.choose_rows`."""
        labelled = sorted({event.row for event in answered})
        return [*map(int, choose_rows(self.anchors, count, labelled, sorted(closed)))]

    def alarmed(self, answered: Sequence[LabelEvent]) -> bool:
        """Return False: no answer has a probability before it is given."""
        return False
