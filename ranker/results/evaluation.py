"""Accuracy with which methods rank models whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from factors.rounding import TIE
from ranker import records
from ranker.errors import listed, look_up
from ranker.numbers import interval, percent, points, unit
from ranker.records import Gain, Share
from ranker.results.result import NAMES, Result, to_plain
from ranker.results.same_names import same, within
from ranker.results.table import ScoreTable
from ranker.statistics.pool import RANDOM, Kind

FOLLOWS = 0.8
"""Share of the rows with a wrong shortcut label on which a model must give that label to count as following it."""


@dataclass(frozen=True)
class MethodResult:
    """Ranking accuracy of one method on the suite from K examples. Accuracies are fractions.

    Attributes:
        name: "ACC", "INDEX-DIFF", ...
        kind: "baseline" reads probabilities (RANDOM and GUESS: nothing), "factor" reads attributions, "combined" both.
            "pool" reads labelled rows and unlabelled ones, "label-free" unlabelled ones alone.
        designed: whether it is the factor designed for this OOD set.
        pairwise_accuracy: mean over the decided pairs; few-shot accuracy in the paper.
        ci_low, ci_high: 95 % interval over populations of examples: the range with other examples of the domain.
        models_low, models_high: 95 % interval over models: the range with other models of this kind; None if M < 3.
        difference: pairwise accuracy minus that of the metric's column, ACC for classes.
        difference_low, difference_high: its 95 % interval over populations of examples: on the same draws and paired,
            except for methods that see no label or chosen rows, which are taken as independent of that column.
        draws: number of draws, or of pools for chosen rows; None if exact, or so many that they do not matter.
        draws_error: standard error that the draws leave in the pairwise accuracy, included in the intervals.
        rule: how the rows of a draw are picked: "random", or "chosen" by the method; "" if it reads all unlabelled rows
            and no draw.
        dropped: reason -> number of examples on which the method could not be computed.
        curve: K -> pairwise accuracy with a probe of K examples.
        splits: a part of the pairs -> pairwise accuracy on it. Parts: "near" and "far"; "within-family" and
            "across-family"; "misled", one of the two models follows the shortcut, and "not-misled", neither does.

    Example:
        >>> from ranker import Evidence, load_set, load_suite, rank
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=60)
        >>> rank(models, rows, evidence=Evidence("none", methods=())).evaluation.method("ACC").kind
        'baseline'
    """

    name: str
    kind: Kind
    pairwise_accuracy: Share
    ci_low: Share
    ci_high: Share
    models_low: Share | None
    models_high: Share | None
    difference: Gain
    difference_low: Gain
    difference_high: Gain
    draws: int | None = None
    draws_error: Share | None = None
    rule: str = RANDOM
    designed: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    curve: Mapping[int, Share] = field(default_factory=dict)
    splits: Mapping[str, Share] = field(default_factory=dict)

    @property
    def sees_labels(self) -> bool:
        """False if the method reads unlabelled rows alone."""
        return self.kind != "label-free"

    @property
    def sees_chosen_rows(self) -> bool:
        """True if the method sees labels of chosen rows."""
        return self.rule not in (RANDOM, "")


@dataclass(frozen=True)
class EvaluatedModel:
    """A model whose truth is known, with the rank that each method gives it.

    Attributes:
        name: unique in the suite.
        family: its architecture, "" where unknown.
        rank: 1 for the best. Equal models share the better rank.
        outcome: mean of the metric on the whole OOD set, a fraction: for classes the OOD accuracy.
        scores: method -> mean score over the population, in the method's own unit.
        expected_rank: method -> the rank it gives the model, averaged over draws.
        in_domain: the same metric on rows of the training domain; None if unknown.
        misled: share of the rows with a wrong shortcut label on which the model gives that label; None if the set has
            no shortcut, or no such row.
        p_near_best: None: that the truth is known leaves nothing to be said of it.
    """

    p_near_best: ClassVar[None] = None

    name: str
    family: str
    rank: int
    outcome: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    expected_rank: Mapping[str, float] = field(default_factory=dict)
    in_domain: float | None = None
    misled: Share | None = None


@dataclass(frozen=True)
class PairResult:
    """Accuracy of a method in ordering two models.

    Attributes:
        a, b: the models, the truly better one first.
        method: the ranking method.
        accuracy: share of draws in which it scores a above b; a tie counts one half.
        outcome_a, outcome_b: the models' mean outcomes on the OOD set, fractions.
        gap: outcome_a - outcome_b.
        near: the gap is below the threshold that `Evaluation.near` states.
        same_family: None if families are unknown.
    """

    a: str
    b: str
    method: str
    accuracy: Share
    outcome_a: float
    outcome_b: float
    gap: float
    near: bool
    same_family: bool | None


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Accuracy with which each method ranks models whose truth is known.

    Attributes:
        draws: B, or "exact" for all possible draws; methods that are no means are drawn even then.
        models: by rank, best first.
        methods: in the order of the table, then RANDOM and the combined ones, then those that read a pool.
        pairs: every decided pair with every method, best models first.
        tied_pairs: pairs left out because their outcomes are equal.
        near: outcomes less than this apart make a near pair.
        notes: notes for a reader of these numbers, a sentence each.
        metric: a metric that is no mean over rows, by which models are compared; "" for the mean outcome.
        mode: "evaluation".

    Example:
        >>> from ranker import Evidence, load_set, load_suite, rank
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=40)
        >>> evaluation = rank(models, rows, evidence=Evidence("none")).evaluation
        >>> evaluation.best.name, round(evaluation.method("ACC").pairwise_accuracy, 2)
        ('SURROGATE', 0.83)
    """

    mode: ClassVar[Literal["evaluation"]] = "evaluation"
    scale: ClassVar[None] = None
    confirmed: ClassVar[bool] = True

    draws: int | Literal["exact"]
    models: tuple[EvaluatedModel, ...]
    methods: tuple[MethodResult, ...]
    pairs: tuple[PairResult, ...]
    tied_pairs: int
    near: float
    notes: tuple[str, ...] = ()
    metric: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that its numbers depend on, beside those of the run."""
        return {"draws": self.draws, "near": self.near}

    def check(self, table: ScoreTable, probe: int) -> None:
        """Raise a ValueError if it names what the table of its run lacks, or if the probe is none of its rows."""
        if self.draws != "exact":
            records.typed(self.draws, int, "draws")
        if [model.rank for model in self.models[:1]] != [1]:
            raise ValueError("`models` must begin with one of rank 1")
        names, columns = [method.name for method in self.methods], [method.name for method in table.methods]
        if not 1 <= probe <= len(table.examples):
            raise ValueError(f"`probe` must be from 1 to {len(table.examples)}, the rows of the table (got {probe})")
        for model in self.models:
            within(f"{model.name} has scores by methods that", model.scores, columns, "the table")
        if table.truth is None:
            raise ValueError("an evaluation needs the `truth` of its table")
        metric = self.metric or columns[0]
        if names[:1] != [metric] or not self.methods[0].sees_labels:
            raise ValueError(f"the first of `methods` must be the metric, {metric}")
        for model in self.models:
            within(f"{model.name} has ranks by methods that", model.expected_rank, names, "`methods`")
        compared = {name for pair in self.pairs for name in (pair.a, pair.b)}
        within("`pairs` name methods that", {pair.method for pair in self.pairs}, names, "`methods`")
        within("`pairs` name models that", compared, [model.name for model in self.models], "`models`")
        pairs = {name: {(pair.a, pair.b) for pair in self.pairs if pair.method == name} for name in names}
        for method, own_pairs in pairs.items():
            same(f"the pairs of {method}", own_pairs, next(iter(pairs.values())), "the other methods")

    def method(self, name: str) -> MethodResult:
        """Return the result of one method.

        Raises:
            UnknownName: no such method was measured.
        """
        return look_up("method", name, {method.name: method for method in self.methods})

    @property
    def advised(self) -> tuple[MethodResult, ...]:
        """Methods that may be recommended: all but the label-free ones.

        A label-free method is right or wrong about a suite as a whole, and nothing tells in advance which.
        """
        return tuple(method for method in self.methods if method.sees_labels)

    @property
    def best(self) -> MethodResult:
        """The advised method that ranks best; choosing it after the fact makes it look better than it is."""
        most = max(method.pairwise_accuracy for method in self.advised)
        return next(method for method in self.advised if equal_up_to_rounding(method.pairwise_accuracy, most))

    @property
    def answer(self) -> str:
        """The method that ranks best, beside the metric's own column, and the truly best models."""
        best, metric, metric_unit = self.best, self.methods[0], unit(self.metric)
        first = [model for model in self.models if model.rank == 1]
        value = f"{metric.name} {metric_unit.value(first[0].outcome)}{metric_unit.sign}"
        truly = f"truly best: {listed([model.name for model in first], NAMES)}, {value}"
        if best.pairwise_accuracy <= 0.5 + TIE:
            return f"no method beats chance\n{truly}"
        right = f"puts two models right {percent(best.pairwise_accuracy)} % of the time"
        if equal_up_to_rounding(best.pairwise_accuracy, metric.pairwise_accuracy):
            return f"{metric.name} {right}, and no method does better\n{truly}"
        beside = f"{metric.name} {percent(metric.pairwise_accuracy)} %; picked after the fact"
        return f"{best.name} {right} ({beside})\n{truly}"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each method, with the fields of `MethodResult` as columns."""
        return [to_plain(method) for method in self.methods]

    def in_words(self) -> list[dict[str, str]]:
        """Return each method's pairwise accuracy in percent."""
        return [
            {
                "method": method.name,
                "kind": method.kind,
                "pairwise accuracy": percent(method.pairwise_accuracy),
                "95 % interval": interval(method.ci_low, method.ci_high),
                f"minus {self.methods[0].name}": points(method.difference),
            }
            for method in self.methods
        ]


def equal_up_to_rounding(a: float, b: float) -> bool:
    """Tell whether two accuracies, or probabilities, are equal up to rounding.

    Example:
        >>> equal_up_to_rounding(0.1 + 0.2, 0.3), equal_up_to_rounding(0.3, 0.301)
        (True, False)
    """
    return abs(a - b) < TIE
