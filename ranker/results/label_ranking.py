"""`LabelRanking`: order of the models after the answers so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ranker.errors import listed
from ranker.numbers import counted, interval, probability, unit
from ranker.results.balance import SAME, one_label
from ranker.results.choice import LOST, SURE, Choice, choose
from ranker.results.result import NAMES, Result
from ranker.statistics.forecast import Forecast

ALARM = (
    "the models' votes do not describe these labels: what they say of rows without a label is not to be believed. "
    "Rank by labelled rows drawn at random, without a pool"
)


@dataclass(frozen=True)
class LabelledModel:
    """A model with its results after the answers so far.

    Attributes:
        name: of the model.
        score: expected accuracy on the pool, a fraction, by which it is ranked; no estimate to quote. Where answers are
            no labels: expected difference from the mean model, in the task's outcome.
        low, high: 95 % interval of it in the domain.
        p_best: P(no other model is better in the domain).
        shortfall: what is expected to be lost by taking it instead of the best.
    """

    name: str
    score: float
    low: float
    high: float
    p_best: float
    shortfall: float


@dataclass(frozen=True, repr=False)
class LabelRanking(Result):
    """Order of the models after the answers so far, and its certainty.

    Attributes:
        models: the best first.
        p_beats: (M, M) P(the model of the row is more accurate in the domain than that of the column).
        answers: number of answers.
        margin: most accuracy that a winner may lack to the best, a fraction.
        within: P(no model is better than the first by more than the margin).
        forecast: of the further answers until that is probable enough; None if no row is left, or it is not known.
        alarmed: the models' votes do not describe these labels, so all figures are unreliable.
        failures: the models that could not be run.
        labels: label -> number of answers.
        until: probability of such a leader that is enough; None where no probability ends the session.
        shortfall: what is expected to be lost by taking the first, that ends the session, too; None where none does.
        rows_left: whether a row is left to ask.
        metric: metric by which models are ranked, in whose unit scores, intervals and margin are; "" for accuracy.
        scale: worst and best mark, in shares of which scores, intervals and margin are; None if they are no marks.

    Example:
        >>> from ranker import LabelRanking
        >>> ranking = LabelRanking((), (), 7, 0.01, 0.83, None, False, until=0.965)
        >>> print(ranking.line)
        7 answers; P(the leader is within 1 point of the best) 83 % (enough: 96.5 %); no row is left
        >>> print(ranking.sentence.partition("; ")[0])
        After 7 answers it is 83 % sure that the leading model is within 1 point of the best (96.5 % is enough)
    """

    models: tuple[LabelledModel, ...]
    p_beats: tuple[tuple[float, ...], ...]
    answers: int
    margin: float
    within: float
    forecast: Forecast | None
    alarmed: bool
    failures: tuple[str, ...] = ()
    labels: Mapping[str, int] = field(default_factory=dict)
    until: float | None = None
    shortfall: float | None = None
    rows_left: bool = False
    metric: str = ""
    scale: tuple[float, float] | None = None

    @property
    def line(self) -> str:
        """Its certainty and the answers still needed, in a line that names no model; and if all labels are alike."""
        caveat = one_label(self.labels) if self.answers >= SAME else ""
        return f"{self._certainty}; {caveat}" if caveat else self._certainty

    @property
    def _certainty(self) -> str:
        answers = counted(self.answers, "answer")
        if self.alarmed:
            return f"{answers}; {ALARM}"
        enough = "" if self.until is None else f" (enough: {100 * self.until:g} %)"
        sure = f"P(the leader is within {self.points} of the best) {self._sure} %{enough}"
        return "; ".join(filter(None, (answers, sure, self._needed)))

    @property
    def sentence(self) -> str:
        """The same as a sentence for people who label."""
        if self.alarmed:
            return f"{self.line}."
        sure = f"it is {self._sure} % sure that the leading model is within {self.points} of the best"
        enough = "" if self.until is None else f" ({100 * self.until:g} % is enough)"
        caveat = self.line.removeprefix(self._certainty)
        needed = f"; {self._needed}" if self._needed else ""
        return f"After {counted(self.answers, 'answer')} {sure}{enough}{needed}{caveat}."

    @property
    def _sure(self) -> str:
        return probability(self.within, decimals=0)

    @property
    def _needed(self) -> str:
        if self.forecast is None:
            return "" if self.rows_left else "no row is left"
        low, high = self.forecast.low, self.forecast.high
        if high == 0:
            return "that is enough"
        if low is None:
            return "how many more answers it takes cannot be said"
        count = f"{low:,}" if low == high else f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
        return f"{count} more answer{'' if (high or low) == 1 else 's'}"

    @property
    def points(self) -> str:
        """The margin in words: in points, or in the unit of the metric."""
        return self._in_points(self.margin)

    def _in_points(self, value: float) -> str:
        if self.metric:
            return f"{value:.3g} {self.metric}"
        if self.scale is not None:
            return f"{value * (self.scale[1] - self.scale[0]):.2g} of a mark"
        return f"{100 * value:.3g} point{'' if round(100 * value, 9) == 1 else 's'}"

    @property
    def loses_little(self) -> bool:
        """True if no more than `shortfall` is expected to be lost by taking the first; never before enough answers."""
        little = self.shortfall is not None and self.models[0].shortfall <= self.shortfall
        return little and not self.alarmed and self.answers >= SAME

    @property
    def loss(self) -> str:
        """Expected loss by taking the first, in words."""
        return self._in_points(self.models[0].shortfall)

    @property
    def choice(self) -> Choice:
        """Advice on which model to take; one that ended the session may be."""
        doubt = "" if self.answers else "no row has an answer"
        return choose(
            [model.name for model in self.models],
            self.within,
            [model.shortfall if self.answers >= SAME else None for model in self.models],
            self.p_beats[0],
            sure=SURE if self.until is None else min(self.until, SURE),
            lost=max(LOST, self.shortfall or 0.0),
            doubt="the models' votes do not describe these labels" if self.alarmed else doubt,
        )

    @property
    def answer(self) -> str:
        """The choice, after a caveat if all labels are one; then the order, and its certainty."""
        caveat = one_label(self.labels)
        order = listed((f"{model.name} (P(best) {probability(model.p_best, 0)} %)" for model in self.models), NAMES)
        failed = f"; failed: {listed(self.failures, NAMES)}" if self.failures else ""
        choice = f"{caveat[:1].upper()}{caveat[1:]}. {self.choice.text}" if caveat else self.choice.text
        return f"{choice}\n{order}\n{self._certainty}{failed}"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each model, the best first."""
        return [
            {"name": model.name, "score": model.score, "low": model.low, "high": model.high, "p_best": model.p_best}
            for model in self.models
        ]

    def in_words(self) -> list[dict[str, str]]:
        """Return the same as text for people."""
        write = unit(self.metric).value
        return [
            {
                "name": model.name,
                "score": write(model.score),
                "95 % interval": interval(model.low, model.high, write),
                "P(best)": probability(model.p_best),
            }
            for model in self.models
        ]
