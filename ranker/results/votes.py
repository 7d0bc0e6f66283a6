"""Models by votes between their answers: strengths, win rates, and how far they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from ranker.numbers import counted, percent, probability
from ranker.records import Share
from ranker.results.choice import LOST_IN_SESSION, Choice, choose
from ranker.results.result import Result, to_plain
from ranker.statistics.draws import tied_groups

SCHEMA_VERSION = 1
"""Version of `to_dict`."""


@dataclass(frozen=True)
class VotedModel:
    """A model by votes.

    Attributes:
        name: its name.
        rank: 1 for the best.
        votes: number of votes on its answers.
        won: its mean vote, a tie as one half; None without a vote.
        win_rate: expected mean win rate against each other model.
        low, high: its 95 % interval.
        p_best: probability that no other model's is higher.
        p_near_best: the same, but for one point.
        shortfall: what is expected to be lost by taking it instead of the best.
    """

    name: str
    rank: int
    votes: int
    won: Share | None
    win_rate: Share
    low: Share
    high: Share
    p_best: Share
    p_near_best: Share
    shortfall: Share


@dataclass(frozen=True)
class PairRate:
    """Two models.

    Attributes:
        a, b: the models, `a` before `b` in the order.
        votes, ties: number of votes between them, and of these the ties.
        win_rate: expected share of rows on which the answer of `a` is preferred, a tie as one half.
        low, high: its 95 % interval.
        p: probability that `a` has the higher mean win rate.
    """

    a: str
    b: str
    votes: int
    ties: int
    win_rate: Share
    low: Share
    high: Share
    p: Share


@dataclass(frozen=True)
class VotingJudge:
    """A judge whose verdicts were read beside people's votes.

    Attributes:
        verdicts: rows and pairs that it compared.
        agreement: share of people's votes, ties aside, with its verdict; None if unknown.
        worth: further votes that would tell as much; None without people's votes.
    """

    name: str
    verdicts: int
    agreement: Share | None
    worth: float | None


@dataclass(frozen=True)
class Effect:
    """Effect of standing first, or of being longer.

    Attributes:
        chance: that such an answer is preferred to an equally good one.
        low, high: its 95 % interval.
    """

    chance: Share
    low: Share
    high: Share


@dataclass(frozen=True, repr=False)
class VoteRanking(Result):
    """Models in the order of their win rates.

    Attributes:
        models: the best first.
        pairs: every two models.
        p_beats: (M, M) probability that the model of the row has a higher win rate than that of the column.
        votes, rows, raters: numbers of people's votes, of the rows that they are about, and of people.
        ties: share of votes that are ties; None without votes.
        alpha: Krippendorff's, of several votes on one row and pair; None if there are none.
        reliability: rater -> votes that one counts as, by how far others agree; {} where no two voted on the same.
        side: effect of standing first; None if sides do not vary.
        length: effect of being longer by a standard deviation; None if it is not taken out.
        judges: those whose verdicts were read.
        left_out: model -> why it is not ranked.
        failed_answers: model or judge that was asked in this run -> its answers that failed, if there are any.
        notes: a sentence each.
        seed: of the draws.
        level: probability at which two models are told apart.

    Example:
        >>> from ranker.runs.votes import rank_votes
        >>> rows = [{"id": n, "model_a": "x", "model_b": "y", "winner": "x"} for n in range(8)]
        >>> rank_votes(rows).names
        ('x', 'y')
    """

    index: ClassVar[tuple[str, ...]] = ("name",)

    models: tuple[VotedModel, ...]
    pairs: tuple[PairRate, ...]
    p_beats: tuple[tuple[Share, ...], ...]
    votes: int
    rows: int
    raters: int
    ties: Share | None = None
    alpha: float | None = None
    reliability: Mapping[str, float] = field(default_factory=dict)
    side: Effect | None = None
    length: Effect | None = None
    judges: tuple[VotingJudge, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    failed_answers: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seed: int = 0
    level: Share = 0.9

    @property
    def confirmed(self) -> bool:
        """False if no person voted."""
        return self.votes > 0

    @property
    def names(self) -> tuple[str, ...]:
        """(M,) names, the best first."""
        return tuple(model.name for model in self.models)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Sets of models of which no two are told apart."""
        together = tied_groups(self.p_beats, self.level)
        return tuple(tuple(self.names[m] for m in members) for members in together)

    @cached_property
    def choice(self) -> Choice:
        """Advice on which model to take; none before a person has voted."""
        first = self.models[0]
        doubt = "" if self.confirmed else f"no person has confirmed that {first.name} leads"
        lost, beats = [model.shortfall for model in self.models], self.p_beats[0]
        return choose(self.names, first.p_near_best, lost, beats, sure=self.level, lost=LOST_IN_SESSION, doubt=doubt)

    @property
    def title(self) -> str:
        """One-line title."""
        return f"{counted(len(self.models), 'model')} by {counted(self.votes, 'vote')}"

    @property
    def answer(self) -> str:
        """The choice; then the first model's win rate, and how near it is to the best."""
        first = self.models[0]
        sure = f"; P(within a point of the best) {probability(first.p_near_best)} %"
        return f"{self.title}\n{self.choice.text}\nfirst: {first.name}, win rate {percent(first.win_rate)} %{sure}"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each model, with the fields of `VotedModel`."""
        return [to_plain(model) for model in self.models]

    def in_words(self) -> list[dict[str, str]]:
        """Return each model with its win rate and P(near best)."""
        return [
            {
                "rank": str(model.rank),
                "model": model.name,
                "votes": f"{model.votes:,}",
                "win rate": percent(model.win_rate),
                "95 % interval": f"{percent(model.low)} to {percent(model.high)}",
                "P(near best)": probability(model.p_near_best),
            }
            for model in self.models
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable schema: see `docs/json-schema.md`."""
        groups, choice = [list(group) for group in self.groups], to_plain(self.choice)
        return {"schema_version": SCHEMA_VERSION, "choice": choice, "groups": groups, **to_plain(self)}
