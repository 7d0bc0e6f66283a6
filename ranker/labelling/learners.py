"""Learners of labels by the models' votes, of texts and numbers by ANCHORS, and of votes and marks.

Axis letters as in `ranker.statistics.pool` and `ranker.statistics.likeness`; A answers, Q questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, lru_cache
from typing import Any, cast, get_args

import numpy as np

from factors.types import Floats
from ranker.labelling.session import LabelEvent, Learner
from ranker.statistics import likeness, stopping, vote
from ranker.statistics.acquisition import Goal, next_rows
from ranker.statistics.draws import Draws
from ranker.statistics.likeness import Anchors, LikenessEvidence, choose_rows
from ranker.statistics.patterns import Patterns
from ranker.statistics.vote import LABEL_NOISE, Beliefs, MetricByLabel, VoteEvidence, believe

Answers = tuple[tuple[int, int], ...]
"""Rows and labels of answers, in their order."""

BALANCED, INFORMATIVE = "balanced", "informative"
"""Rules: questions in the order in which they were prepared; the one whose answer tells most."""


class VoteLearner(Learner):
    """A pool of predicted labels: votes of the models, SURROGATE's posterior and its alarm.

    Args:
        patterns: the pool, with all rows that have an answer.
        label_noise: share of answers that are random.
        metric: of labels, by which models are ranked and the session ends; None for accuracy. Rows are picked for
            accuracy.
    """

    rules = tuple(reversed(get_args(Goal)))

    def __init__(
        self, patterns: Patterns, *, label_noise: float = LABEL_NOISE, metric: MetricByLabel | None = None
    ) -> None:
        self.patterns, self.label_noise, self.metric = patterns, label_noise, metric
        self.rows, self.classes = len(patterns.pattern_of_row), patterns.classes
        self.readable = np.flatnonzero(self.patterns.pattern_of_row >= 0)
        self._believe = lru_cache(maxsize=4)(self._after)
        self._probability = cache(self._of_last)

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


class ReferenceLearner(Learner):
    """A pool of answers that only the task can compare, such as texts.

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

    rules = ("order",)

    def __init__(
        self,
        anchors: Anchors,
        outcomes: Callable[[int, Any], Floats],
        believe: Callable[[Sequence[LabelEvent]], Draws] | None = None,
    ) -> None:
        self.believe = believe
        self.anchors, self.outcomes, self.rows = anchors, cache(outcomes), anchors.rows
        self.readable = np.arange(anchors.rows)

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


class QuestionLearner(Learner):
    """Questions about models' answers, with the same few answers; its rows are the questions.

    Args:
        size: Q.
        answers: number of answers, of which an event holds one.
        believe: answered events -> what is believed of the models.
        gains: answered events -> (Q,) how much an answer to each question tells; None to ask in order.
    """

    def __init__(
        self,
        size: int,
        answers: int,
        believe: Callable[[Sequence[LabelEvent]], Draws],
        gains: Callable[[Sequence[LabelEvent]], Floats] | None = None,
    ) -> None:
        self.rows, self.answers, self.believe, self.gains = size, answers, believe, gains
        self.readable = np.arange(size)
        self.rules = (BALANCED,) if gains is None else (INFORMATIVE, BALANCED)

    def check(self, event: LabelEvent) -> None:
        """Raise a ValueError if there is no such answer."""
        if event.status == "answered" and not 0 <= event.label < self.answers:
            raise ValueError(f"an answer must be between 0 and {self.answers - 1} (got {event.label})")

    def belief(self, answered: Sequence[LabelEvent], following: int | None) -> Draws:
        """Return what is believed of the models; what a further answer adds is not known."""
        return self.believe(answered)

    def choose(self, answered: Sequence[LabelEvent], rule: str, closed: Collection[int], count: int) -> list[int]:
        """Return open questions: the first ones, or by `INFORMATIVE` those that tell most."""
        order = np.arange(self.rows)
        if rule == INFORMATIVE and self.gains is not None:
            order = np.argsort(-self.gains(answered), kind="stable")
        return [*map(int, order[~np.isin(order, [*closed])][:count])]
