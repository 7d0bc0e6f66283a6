"""`LabelRanking`: what the answers to rows of a pool say of the models so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ranker.numbers import counted, interval, percent, probability
from ranker.results.result import Result

ALARM = (
    "the models' votes do not describe these labels: what they say of rows without a label is not to be believed. "
    "Rank by labelled rows drawn at random, without a pool"
)


@dataclass(frozen=True)
class LabelledModel:
    """A model, by the answers so far.

    Attributes:
        name: of the model.
        score: its expected accuracy on the pool, a fraction, which it is ranked by; no estimate to quote.
        low, high: the 95 % interval of its accuracy in the domain.
        p_best: P(no other model is more accurate in the domain).
    """

    name: str
    score: float
    low: float
    high: float
    p_best: float


@dataclass(frozen=True, repr=False)
class LabelRanking(Result):
    """The order of the models by the answers so far, and whether it is enough.

    Attributes:
        models: the best first.
        p_beats: (M, M) P(the model of the row is more accurate in the domain than that of the column).
        answers: how many there are.
        margin: how much less accurate than the best a winner may be, a fraction.
        within: P(no model is better than the first by more than the margin).
        more_answers: how many more are expected until that is probable enough; -1 where no number would do.
        certain: whether the first is proven to be within the margin of the best on the pool; None where nothing is.
        alarmed: the votes of the models do not describe these labels, and nothing here is to be believed.
        failures: model -> why it could not be asked.

    Example:
        >>> from ranker import LabelRanking
        >>> print(LabelRanking((), (), 7, 0.01, 0.83, 12, None, False).line)
        7 answers; P(the leader is within 1 point of the best) 83 %; about 12 more answers
    """

    models: tuple[LabelledModel, ...]
    p_beats: tuple[tuple[float, ...], ...]
    answers: int
    margin: float
    within: float
    more_answers: int
    certain: bool | None
    alarmed: bool
    failures: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """How sure it is, and how long it will take, in a line that names no model."""
        given = counted(self.answers, "answer")
        if self.certain is not None:
            proven = "is proven" if self.certain else "is not yet proven"
            return f"{given}; that the leader is within {self.points} of the best on this pool {proven}"
        if self.alarmed:
            return f"{given}; {ALARM}"
        more = {
            -1: "no number of answers would do with this pool",
            0: "that is enough",
        }.get(self.more_answers, f"about {counted(self.more_answers, 'more answer')}")
        sure = probability(self.within, decimals=0)
        return f"{given}; P(the leader is within {self.points} of the best) {sure} %; {more}"

    @property
    def points(self) -> str:
        """The margin in points."""
        return f"{100 * self.margin:g} point{'' if 100 * self.margin == 1 else 's'}"

    @property
    def answer(self) -> str:
        """The models in order, and how sure that is."""
        failed = f"\nfailed: {', '.join(self.failures)}" if self.failures else ""
        order = ", ".join(f"{one.name} (P(best) {probability(one.p_best, 0)} %)" for one in self.models)
        return f"{order}\n{self.line}{failed}"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each model, the best first."""
        return [
            {"name": one.name, "score": one.score, "low": one.low, "high": one.high, "p_best": one.p_best}
            for one in self.models
        ]

    def in_words(self) -> list[dict[str, str]]:
        """The same as a person reads it."""
        return [
            {
                "name": one.name,
                "score": percent(one.score),
                "95 % interval": interval(one.low, one.high),
                "P(best)": probability(one.p_best),
            }
            for one in self.models
        ]
