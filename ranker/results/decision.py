"""Evidence of labelled rows about models whose truth is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from ranker.numbers import Unit, probability, unit, with_interval
from ranker.records import ROUNDING, Share
from ranker.results.choice import LOST, Choice, choose, choose_least
from ranker.results.costs import Costs
from ranker.results.evaluation import MethodResult
from ranker.results.gate import Gate
from ranker.results.judged import JudgeResult
from ranker.results.result import Result, to_plain
from ranker.results.same_names import same, within
from ranker.results.table import ScoreTable
from ranker.statistics.draws import tied_groups
from ranker.statistics.forecast import Forecast
from ranker.statistics.paired import PairedComparison
from ranker.statistics.pool import Kind

SURE = 0.95
"""Probability from which on a model may be called better, provided its interval excludes 0."""


@dataclass(frozen=True)
class DecidedModel:
    """A model whose truth is unknown, and the evidence of the labelled rows about it.

    Attributes:
        name, family, in_domain, misled: as in `EvaluatedModel`.
        rank: 1 for the best, by the chosen method. Equal models share the better rank.
        score: the method's score on the rows, in its own unit; the metric's for ACC+TIES. None if it has none.
        outcome: mean of the metric over the rows (for classes, the accuracy), or the value of a metric that is no mean
            (`Decision.metric`).
        expected: expected mean outcome in the domain, or value of that metric; None if unknown.
        low, high: 95 % interval of the same; None if these rows give no bound.
        p_best: probability that no other model is better in the domain; models that cannot differ share it.
        scores: method -> mean score over the rows, in the method's own unit.
        p_near_best: probability that no other model is better by more than 0.01 (a point) in the domain. Models that
            are alike do not share it, as they do `p_best`, so reports show it. None if unknown.
        p_equal: probability that its mean outcome in the domain is within 0.01 of that of the first model.
        shortfall: what is expected to be lost in the domain by taking it instead of the best. None if unknown.
    """

    name: str
    family: str
    rank: int
    score: float | None
    outcome: float
    expected: float | None
    low: float | None
    high: float | None
    p_best: Share
    scores: Mapping[str, float | None] = field(default_factory=dict)
    in_domain: float | None = None
    misled: Share | None = None
    p_near_best: Share | None = None
    p_equal: Share = 0.0
    shortfall: float | None = None


@dataclass(frozen=True)
class RowResult:
    """A labelled row of a decision, with the models' predictions.

    Attributes:
        id: of the example.
        label: the true label, by name; "" if answers have no labels.
        predicted: model -> label, by name; empty if answers have no labels.
        text: beginning of the input; "" if unknown.
    """

    id: str
    label: str
    predicted: Mapping[str, str]
    text: str = ""


@dataclass(frozen=True)
class LabelResult:
    """Label of a set, and how well each model tells it on the labelled rows.

    Attributes:
        label: its name.
        rows: number of labelled rows with it.
        f1: model -> F1 of the label.
    """

    label: str
    rows: int
    f1: Mapping[str, Share]


@dataclass(frozen=True, repr=False)
class Decision(Result):
    """Evidence of K labelled rows about models whose truth is unknown. Models are in the predicted order, best first.

    The method gives the order. Every probability and interval is about the mean outcome in the domain, computed from
    each model's outcomes on the rows: see `ranker.scoring.decision`.

    Attributes:
        method: the method that gives the order.
        kind: of that method; if "pool", probabilities come from labels and unlabelled rows together.
        models: (M,) in the predicted order.
        p_beats: (M, M) probability that the model of the row is better than that of the column; 1/2 on the diagonal.
        groups: maximal sets of models of which no two are told apart; together they contain every such pair, and each
            model. They follow from `p_beats` and `level`.
        choice: what to take. It follows from the models, `p_beats`, `lost`, `costs` if the cheapest or fastest is
            preferred, and doubts: no person confirmed judges, the first does worse than guessing, all labels are alike,
            or the labels speak for another model.
        forecast: further labels until no model is better than the leader of the labels by more than 0.01, with the
            probability `forecast.goal`; None if unknown: a method without a forecast, or labels that are all alike.
        level: the probability at which two models count as told apart.
        versus: every two models on the labelled rows alone; with very many models, each with the first; empty if a pool
            was read.
        rows: (K,) the labelled rows with every model's prediction; empty if answers have no labels.
        notes: notes for a reader of these numbers, a sentence each.
        gate: whether the others are shown to be no worse than one of them; None if not requested.
        metric: a metric that is no mean over rows, by which models are compared; "" for the mean outcome.
        lower_is_better: less of this metric is better.
        judges: those that marked the models' answers beside people.
        scale: worst and best mark, where outcomes are marks; None for shares.
        confirmed: False if no person labelled or marked a row: outcomes are then the marks of the first judge.
        labels: the labels that rows may have beside each other; empty where a row has one, or answers are none.
        lost: what may be expected to be lost by a model that is taken.
        picked: number of the rows that a session picked, so that outcomes on them are no estimate for the domain.
        worse: models that are right less often than guessing: labels are probably read wrongly.
        costs: tokens, seconds and money of the models' answers; None if nothing is known of them.
        mode: "decision".
        methods: (): no method is measured where the truth is unknown.

    Raises:
        ValueError: there is no model, the lengths do not agree, or a model's values cannot be right.

    Example:
        >>> from ranker import Evidence, decide, load_set, load_suite
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=10)
        >>> decision = decide(models, rows, evidence=Evidence("none")).decision
        >>> decision.names[0], decision.tied(0)
        ('inoc-4000', ['inoc-1600', 'inoc-800'])
    """

    mode: ClassVar[Literal["decision"]] = "decision"
    methods: ClassVar[tuple[MethodResult, ...]] = ()

    method: str
    kind: Kind
    models: tuple[DecidedModel, ...]
    p_beats: tuple[tuple[Share, ...], ...]
    groups: tuple[tuple[str, ...], ...] = field(init=False)
    choice: Choice = field(init=False)
    forecast: Forecast | None = None
    level: Share = 0.9
    versus: tuple[PairedComparison, ...] = ()
    rows: tuple[RowResult, ...] = ()
    notes: tuple[str, ...] = ()
    gate: Gate | None = None
    metric: str = ""
    lower_is_better: bool = False
    judges: tuple[JudgeResult, ...] = ()
    scale: tuple[float, float] | None = None
    confirmed: bool = True
    labels: tuple[LabelResult, ...] = ()
    lost: float = LOST
    worse: tuple[str, ...] = ()
    picked: int = 0
    costs: Costs | None = None

    def __post_init__(self) -> None:
        size = len(self.models)
        if not size:
            raise ValueError("`models` are none")
        if {len(self.p_beats), *map(len, self.p_beats)} != {size}:
            raise ValueError(f"`p_beats` must have the length {size}, a value for each model")
        if self.costs is not None and tuple(model.name for model in self.costs.models) != self.names:
            raise ValueError("`costs` must have the models in their order")
        for model in self.models:
            _check_values(model, is_share=not self.metric)
        names, together = self.names, tied_groups(self.p_beats, self.level)
        object.__setattr__(self, "groups", tuple(tuple(names[m] for m in members) for members in together))
        object.__setattr__(self, "choice", self._choose())

    def _choose(self) -> Choice:
        first, doubt = self.names[0], ""
        if not self.confirmed:
            doubt = f"no person has confirmed that {first} leads"
        elif first in self.worse:
            doubt = f"{first} leads, and does worse than guessing"
        elif self.judges and not self._agreed and (self.models[0].p_near_best or 0) < self.level:
            doubt = f"{first} leads, and no judge agrees with people"
        elif self.against:
            doubt = f"{self.method} puts {first} first, but the labels speak for {self.names[self.against]}"
        elif have_one_label(self.rows) and not self.reads_pool:
            doubt = f"{first} leads, and all labels are alike"
        return self._preferred(doubt) or choose(
            self.names,
            self.models[0].p_near_best,
            [model.shortfall for model in self.models],
            self.p_beats[0],
            [model.p_equal for model in self.models],
            sure=self.level,
            lost=self.lost,
            doubt=doubt,
        )

    @property
    def _agreed(self) -> bool:
        """True if a judge's marks rise with people's."""
        return any((judge.agreement or 0.0) > 0 for judge in self.judges)

    def _preferred(self, doubt: str) -> Choice | None:
        """Return the choice of the cheapest or fastest model; None if that is not preferred, or none is good enough."""
        if self.costs is None or self.costs.prefer is None:
            return None
        within, amounts = [model.p_within for model in self.costs.models], self.costs.amounts(self.costs.prefer.by)
        words = self.costs.prefer.in_words(self.unit)
        return choose_least(self.names, within, amounts, words, sure=self.level, doubt=doubt)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(M,) names of the models."""
        return tuple(model.name for model in self.models)

    @property
    def unit(self) -> Unit:
        """Unit of the models' values."""
        return unit(self.metric, self.scale)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that its numbers depend on, beside those of the run: none."""
        return {}

    def check(self, table: ScoreTable, probe: int) -> None:
        """Raise a ValueError if it names what the table of its run lacks, or if the probe is not all of its rows."""
        if probe != len(table.examples):
            rows = f"{len(table.examples)}, the number of labelled rows of the table"
            raise ValueError(f"`probe` must be {rows} (got {probe})")
        measured = {method.name for method in table.methods} | {self.method}
        for model in self.models:
            within(f"{model.name} has scores by methods that", model.scores, measured, "the table")
        factors = [table.metric, *(factor.name for factor in table.factors)]
        for model in self.models if any(model.scores for model in self.models) else ():
            within("the table has methods that", factors, model.scores, f"the scores of {model.name}")
        compared = [name for pair in self.versus for name in (pair.a, pair.b)]
        within("`versus` compares models that", compared, self.names, "`models`")
        within("`rows` are some that", [row.id for row in self.rows], table.examples, "the table")
        for judge in self.judges:
            within(
                f"the biases of {judge.name} are of models that",
                [bias.model for bias in judge.biases],
                self.names,
                "`models`",
            )
        for label in self.labels:
            same(f"the F1 of {label.label}", label.f1, self.names, "the models")
        for row in (row for row in self.rows if row.predicted or row.label):
            same(f"what is predicted of {row.id}", row.predicted, self.names, "the models")

    @property
    def reads_pool(self) -> bool:
        """True if its probabilities come from labels and unlabelled rows together, not from labels alone."""
        return self.kind == "pool"

    def pair(self, a: str, b: str) -> PairedComparison | None:
        """Return the comparison of two models, of a minus b; None if a pool was read, or they were not compared."""
        for pair in self.versus:
            if {pair.a, pair.b} == {a, b}:
                return pair if pair.a == a else pair.turned
        return None

    def better(self, i: int, j: int) -> bool:
        """Tell whether the model at one place of the order may be called better than that at another.

        That takes a probability of 95 % and, if labelled rows alone were compared, an interval of the difference above
        0.
        """
        pair = self.pair(self.names[i], self.names[j])
        above = pair is not None and pair.low is not None and pair.low > 0
        return self.p_beats[i][j] >= SURE and (above or not self.versus)

    def tied(self, i: int) -> list[str]:
        """Return the models that the one at a place of the order cannot be told apart from."""
        beats = self.p_beats[i]
        return [name for j, name in enumerate(self.names) if j != i and max(beats[j], 1 - beats[j]) < self.level]

    @property
    def against(self) -> int:
        """Place in the order of a model that is told from the first as the better one; 0 if there is none."""
        better = [i for i, beats in enumerate(self.p_beats) if i and beats[0] >= self.level]
        return max(better, key=lambda i: self.p_beats[i][0], default=0)

    @property
    def answer(self) -> str:
        """The verdict of a gate, if there is one; the choice; then how near the first model is to the best."""
        first, near = self.models[0], self.models[0].p_near_best
        sure = "" if near is None else f"; P(within {self.unit.point} of the best) {probability(near)} %"
        verdict = [self.gate.headline] if self.gate else []
        return "\n".join([*verdict, self.choice.text, f"first by {self.method}: {first.name}{sure}"])

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each model, with the fields of `DecidedModel` as columns, and two more.

        `method` gives the order, and `tied` lists the models that this one cannot be told from. If something is known
        of costs, these follow: see `ModelUsage`.
        """
        tied = map(self.tied, range(len(self.models)))
        return [
            to_plain(model) | {"method": self.method, "tied": ", ".join(names)} | cost
            for model, names, cost in zip(self.models, tied, self.cost_rows, strict=True)
        ]

    @property
    def cost_rows(self) -> list[dict[str, Any]]:
        """(M,) usage of each model as columns, with P(frontier); empty ones if nothing is known of it."""
        if self.costs is None:
            return [{} for _ in self.models]
        names = ("prompt_tokens", "output_tokens", "seconds", "money", "currency")
        return [
            {name: getattr(model.usage, name) for name in names} | {"p_frontier": model.p_frontier}
            for model in self.costs.models
        ]

    def in_words(self) -> list[dict[str, str]]:
        """Return each model with its outcome and P(near best), in percent or in the metric's own unit."""
        value = self.unit.value
        return [
            {
                "model": model.name,
                self.method: "" if model.score is None else f"{model.score:.3g}",
                f"{self.metric or 'outcome'} here": value(model.outcome),
                "in the domain": with_interval(model.expected, model.low, model.high, value),
                "P(near best)": probability(model.p_near_best),
            }
            for model in self.models
        ]


def _check_values(model: DecidedModel, is_share: bool) -> None:
    """Raise a ValueError if a mean outcome is no share, or an interval ends before it begins.

    Example:
        >>> _check_values(DecidedModel("a", "", 1, None, 0.5, 7.0, 0.2, 0.8, 0.5), is_share=True)
        Traceback (most recent call last):
        ValueError: `expected` of a must be from 0 to 1 (got 7)
    """
    values = {name: getattr(model, name) for name in ("outcome", "expected", "low", "high")}
    for name, value in values.items() if is_share else ():
        if value is not None and not -ROUNDING <= value <= 1 + ROUNDING:
            raise ValueError(f"`{name}` of {model.name} must be from 0 to 1 (got {value:g})")
    if model.low is not None and model.high is not None and model.low > model.high:
        raise ValueError(f"`low` of {model.name} must be at most `high` (got {model.low:g} and {model.high:g})")


def have_one_label(rows: Sequence[RowResult]) -> bool:
    """Tell whether labelled rows have one label only, so that they measure the recall of that label alone.

    Example:
        >>> have_one_label([RowResult("a", "yes", {}), RowResult("b", "yes", {})]), have_one_label([])
        (True, False)
    """
    return len({row.label for row in rows}) == 1 and bool(rows[0].label)
