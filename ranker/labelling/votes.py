"""Learner of labels: votes of the models, SURROGATE's posterior and its alarm.

Axis letters as in `ranker.statistics.pool`, and A answers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from typing import cast, get_args

import numpy as np

from factors.types import Floats
from ranker.labelling.session import LabelEvent
from ranker.statistics import stopping, vote
from ranker.statistics.acquisition import Goal, next_rows
from ranker.statistics.draws import Draws
from ranker.statistics.patterns import Patterns
from ranker.statistics.vote import LABEL_NOISE, Beliefs, MetricByLabel, VoteEvidence, believe

RULES: tuple[str, ...] = tuple(reversed(get_args(Goal)))
"""Rules that choose rows: to find the best model, or to learn the order."""

Answers = tuple[tuple[int, int], ...]
"""Rows and labels of answers, in their order."""


class VoteLearner:
    """A pool of predicted labels; a `ranker.labelling.session.Learner`.

    Args:
        patterns: the pool, with all rows that have an answer.
        label_noise: share of answers that are random.
        metric: of labels, by which models are ranked and the session ends; None for accuracy. Rows are picked for
            accuracy.
    """

    rules = RULES

    def __init__(
        self, patterns: Patterns, *, label_noise: float = LABEL_NOISE, metric: MetricByLabel | None = None
    ) -> None:
        self.patterns, self.label_noise, self.metric = patterns, label_noise, metric
        self.classes = patterns.classes
        self.readable = np.flatnonzero(self.patterns.pattern_of_row >= 0)
        self._believe = lru_cache(maxsize=4)(self._after)
        self._probability = cache(self._of_last)

    @property
    def rows(self) -> int:
        """N, the number of rows."""
        return len(self.patterns.pattern_of_row)

    def check(self, event: LabelEvent) -> None:
        """Raise a ValueError if there is no such label."""
        if event.status == "answered" and not 0 <= event.label < self.classes:
            raise ValueError(f"label must be between 0 and {self.classes - 1} (got {event.label})")

    def beliefs(self, answered: Sequence[LabelEvent]) -> Beliefs:
        """Return the posterior after the pool and some answers."""
        return self._believe(_answers(answered))

    def belief(self, answered: Sequence[LabelEvent], following: int | None) -> Draws:
        """Return what is believed of the models; each further answer is worth as much as that to the next row."""
        beliefs = self.beliefs(answered)
        often = None if following is None else beliefs.candidates == self.patterns.pattern_of_row[following]
        return vote.draw(VoteEvidence(beliefs, self.metric, often), beliefs.rng(1))

    def choose(self, answered: Sequence[LabelEvent], rule: str, closed: Collection[int], count: int) -> list[int]:
        """Choose rows by their expected gain. See `ranker.statistics.acquisition`."""
        return [*map(int, next_rows(self.beliefs(answered), count, cast(Goal, rule), sorted(closed)))]

    def alarmed(self, answered: Sequence[LabelEvent]) -> bool:
        """Return whether the votes do not describe the labels. See `ranker.statistics.stopping`."""
        labels = np.array([event.label for event in answered], dtype=np.int64)
        return stopping.raises_alarm(self.predictive_probabilities(answered), labels, self.classes)

    def predictive_probabilities(self, answered: Sequence[LabelEvent]) -> Floats:
        """Return (A,) the probability of each answer before it was given."""
        answers = _answers(answered)
        return np.array([self._probability(answers[: place + 1]) for place in range(len(answers))])

    def _after(self, answers: Answers) -> Beliefs:
        rows, labels = np.array(answers, dtype=np.int64).reshape(-1, 2).T
        return believe(self.patterns, rows, labels, self.label_noise)

    def _of_last(self, answers: Answers) -> float:
        """Return the probability of the last answer before it was given."""
        return stopping.answer_probability(self._believe(answers[:-1]), *answers[-1])


def _answers(answered: Sequence[LabelEvent]) -> Answers:
    return tuple((event.row, int(event.label)) for event in answered)
