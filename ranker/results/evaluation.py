"""How well methods rank models whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ranker.errors import listed, look_up
from ranker.numbers import interval, percent, points, unit
from ranker.results.result import NAMES, Result, plain
from ranker.statistics.engine import TIE
from ranker.statistics.pool import RANDOM, Kind

FOLLOWS = 0.8
"""A model follows the shortcut that gives its label on this share of the rows on which that is wrong, or on more."""


@dataclass(frozen=True)
class MethodResult:
    """How well one method ranks the suite from K examples. Accuracies are fractions.

    Attributes:
        name: "ACC", "INDEX-DIFF", ...
        kind: "baseline" reads probabilities (RANDOM and GUESS: nothing), "factor" reads attributions, "combined" both.
            "pool" reads labelled rows and unlabelled ones, "label-free" unlabelled ones alone.
        designed: it is the factor designed for this OOD set.
        pairwise_accuracy: the mean over the pairs that are decided; few-shot accuracy in the paper.
        ci_low, ci_high: 95 %, over populations of examples: what other examples of the domain would have given.
        models_low, models_high: 95 %, over models: what other models of this kind would have given; None if M < 3.
        difference: pairwise accuracy minus that of the metric's column, ACC for classes.
        difference_low, difference_high: 95 % of it over populations of examples: on the same draws, and paired, but
            for methods that see no label or chosen rows, which are taken as independent of that column.
        draws: how few draws, or pools for chosen rows, it was measured by; None where it was measured exactly, or by
            so many that they do not matter.
        draws_error: the standard error that they leave in the pairwise accuracy; it is a part of the intervals.
        rule: how the rows of a draw are picked for it: "random", or "chosen", those that it asks for; "" where it reads
            all unlabelled rows and no draw.
        dropped: reason -> how many examples the method could not be computed on.
        curve: K -> pairwise accuracy with a probe of K examples.
        splits: a part of the pairs -> pairwise accuracy on it. Parts: "near" and "far"; "within-family" and
            "across-family"; "misled", one of the two models follows the shortcut, and "not-misled", neither does.
    """

    name: str
    kind: Kind
    pairwise_accuracy: float
    ci_low: float
    ci_high: float
    models_low: float | None
    models_high: float | None
    difference: float
    difference_low: float
    difference_high: float
    draws: int | None = None
    draws_error: float | None = None
    rule: str = RANDOM
    designed: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    curve: Mapping[int, float] = field(default_factory=dict)
    splits: Mapping[str, float] = field(default_factory=dict)

    @property
    def sees_chosen_rows(self) -> bool:
        """Whether the rows whose labels it sees were chosen."""
        return self.rule not in (RANDOM, "")


@dataclass(frozen=True)
class EvaluatedModel:
    """A model whose truth is known, and where each method puts it.

    Attributes:
        name: unique in the suite.
        family: its architecture, "" where unknown.
        rank: 1 for the best. Equal models share the better rank.
        outcome: the mean of the metric on the whole OOD set, a fraction: of classes the OOD accuracy.
        scores: method -> mean score over the population, in the method's own unit.
        expected_rank: method -> the rank it gives the model, averaged over draws.
        in_domain: the same metric on rows of the domain that it was trained for; None where it is not known.
        misled: share of the rows on which the shortcut is wrong where the model gives the shortcut's label; None where
            the set has no shortcut, or no such row.
    """

    name: str
    family: str
    rank: int
    outcome: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    expected_rank: Mapping[str, float] = field(default_factory=dict)
    in_domain: float | None = None
    misled: float | None = None


@dataclass(frozen=True)
class PairResult:
    """How often a method puts two models in the right order.

    Attributes:
        a, b: the models, the truly better one first.
        method: the ranking method.
        accuracy: share of draws in which it scores a better than b, a tie counting one half.
        outcome_a, outcome_b: the models' mean outcomes on the OOD set, fractions.
        gap: outcome_a - outcome_b.
        near: the gap is below the threshold that `Evaluation.near` states.
        same_family: None where families are unknown.
    """

    a: str
    b: str
    method: str
    accuracy: float
    outcome_a: float
    outcome_b: float
    gap: float
    near: bool
    same_family: bool | None


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """How well each method ranks models whose truth is known.

    Attributes:
        draws: B, or "exact": over all draws there are; methods that are no means are drawn even then.
        models: by rank, best first.
        methods: in the order of the table, then RANDOM and the combined ones, then those that read a pool.
        pairs: every decided pair with every method, best models first.
        tied_pairs: pairs left out because their outcomes are equal.
        near: outcomes less than this apart make a near pair.
        notes: what a reader of these numbers has to know, a sentence each.
        metric: a metric that is no mean over rows, by which models are compared; "" for the mean outcome.

    Example:
        >>> from ranker import Evidence, load_set, load_suite, rank
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=40)
        >>> evaluation = rank(models, rows, evidence=Evidence("none")).evaluation
        >>> evaluation.best.name, round(evaluation.method("ACC").pairwise_accuracy, 2)
        ('SURROGATE', 0.83)
    """

    draws: int | Literal["exact"]
    models: tuple[EvaluatedModel, ...]
    methods: tuple[MethodResult, ...]
    pairs: tuple[PairResult, ...]
    tied_pairs: int
    near: float
    notes: tuple[str, ...] = ()
    metric: str = ""

    def method(self, name: str) -> MethodResult:
        """The result of one method.

        Raises:
            UnknownName: no such method was measured.
        """
        return look_up("method", name, {result.name: result for result in self.methods})

    @property
    def advised(self) -> tuple[MethodResult, ...]:
        """The methods that may be recommended: those that see labels, or read nothing but each row's own answer.

        What sees no label is right or wrong about a suite as a whole, and nothing tells which beforehand.
        """
        return tuple(method for method in self.methods if method.kind != "label-free")

    @property
    def best(self) -> MethodResult:
        """The method of these that ranks best; picked after the fact, which flatters it."""
        return max(self.advised, key=lambda method: method.pairwise_accuracy)

    @property
    def answer(self) -> str:
        """Which method ranks best beside the metric's own column, and which models are truly best."""
        best, metric, of = self.best, self.methods[0], unit(self.metric)
        first = [model for model in self.models if model.rank == 1]
        value = f"{metric.name} {of.value(first[0].outcome)}{of.sign}"
        truly = f"truly best: {listed([model.name for model in first], NAMES)}, {value}"
        if best.pairwise_accuracy <= 0.5:
            return f"no method does better than a coin\n{truly}"
        right = f"puts two models right {percent(best.pairwise_accuracy)} % of the time"
        if level(best.pairwise_accuracy, metric.pairwise_accuracy):
            return f"{metric.name} {right}, and no method does better\n{truly}"
        others = f"{metric.name} {percent(metric.pairwise_accuracy)} %; picked after the fact"
        return f"{best.name} {right} ({others})\n{truly}"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each method, with the fields of `MethodResult` as columns."""
        return [plain(method) for method in self.methods]

    def in_words(self) -> list[dict[str, str]]:
        """Each method's pairwise accuracy in percent."""
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


def level(one: float, other: float) -> bool:
    """Whether two accuracies, or probabilities, differ by no more than rounding does.

    Example:
        >>> level(0.1 + 0.2, 0.3), level(0.3, 0.301)
        (True, False)
    """
    return abs(one - other) < TIE
