"""Learner of what people say of models' answers, such as votes and marks.

Axis letters as in `engine`, and Q questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from factors.types import Floats
from ranker.labelling.session import LabelEvent
from ranker.statistics.draws import Draws

BALANCED, INFORMATIVE = "balanced", "informative"
"""Rules: questions in the order in which they were prepared; the one whose answer tells most."""


class QuestionLearner:
    """Questions with the same few answers; a `ranker.labelling.session.Learner`, whose rows are the questions.

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
        self.rules: tuple[str, ...] = (BALANCED,) if gains is None else (INFORMATIVE, BALANCED)

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

    def alarmed(self, answered: Sequence[LabelEvent]) -> bool:
        """Return False: no answer has a probability before it is given."""
        return False
