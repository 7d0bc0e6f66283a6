"""The records that a `Ranking` is made of: its header, an evaluation of methods, a decision between models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import combinations
from typing import Any, Literal

from ranker.errors import listed, look_up
from ranker.numbers import interval, percent, points, probability
from ranker.results.result import NAMES, Result
from ranker.statistics.engine import TIE
from ranker.statistics.pool import RANDOM, Kind
from ranker.statistics.significance import Test

FOLLOWS = 0.8
"""A model follows the shortcut that gives its label on this share of the rows on which that is wrong, or on more."""

Mode = Literal["evaluation", "decision"]


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
class Quality:
    """How good a model's attributions are, by the backend's own measure of error: `Settings.error`.

    Attributes:
        error_median, error_high: the median and the 95th percentile; None where there is no such measure.
        over_tolerance: rows over the error tolerance.
        truncated: rows that were cut at the model's limit.
    """

    error_median: float | None
    error_high: float | None
    over_tolerance: int
    truncated: int


@dataclass(frozen=True)
class Data:
    """The rows that numbers were made from.

    Attributes:
        origin: the file, or "embedded sample".
        rows: of the whole set.
        fingerprint: a hash of their content.
    """

    origin: str
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class Provenance:
    """What numbers were made from; None, or empty, what is not known.

    Attributes:
        command: the command that made the run, as a shell takes it; a run from Python has none.
        data: the rows.
        population: N, rows that probes are drawn from; in a decision, all there are.
        attribution: the backend with its settings, as `settings_of` takes it.
        error: what the backend measures its error by, in words.
        settings: of the attribution backend.
        target: the rule that says which label attributions speak for.
        norm: what an example's attributions are divided by.
        dtype: of the models' numbers.
        versions: package -> version.
        models: model -> what identifies its checkpoint.
    """

    command: str | None = None
    data: Data | None = None
    population: int | None = None
    attribution: str | None = None
    error: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None
    norm: str | None = None
    dtype: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """What is known, as JSON knows it."""
        known = plain(self)
        return {name: value for name, value in known.items() if value not in (None, {})}


@dataclass(frozen=True)
class Header:
    """What a run was about, whatever it found.

    Attributes:
        ood: the name of the set, or of the file of rows.
        suite: the name of the suite of models.
        probe: K, labelled examples a draw; in a decision, all there are.
        seed: of the draws.
        metric: what an outcome is, the name of its column: "ACC" for classes.
        attribution: the backend that the factors read ("none": baselines alone).
        failures: model -> why it is not ranked.
        left_out: method -> why it has no numbers: it cannot apply to this set, or is defined on none of its examples.
        failed_factors: those of the user's own that raised, or returned no number, on every example.
        quality: model -> how good its attributions are.
        notes: what a reader has to know of rows and models, a sentence each.
        provenance: what the numbers were made from.
    """

    ood: str
    suite: str
    probe: int
    seed: int
    metric: str = "ACC"
    attribution: str = "none"
    failures: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    failed_factors: tuple[str, ...] = ()
    quality: Mapping[str, Quality] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)


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
class DecidedModel:
    """A model whose truth is not known, and what the labelled rows say of it.

    Attributes:
        name, family, in_domain, misled: as in `EvaluatedModel`.
        rank: 1 for the best, by the chosen method. Equal models share the better rank.
        score: the method's score on the rows, in its own unit; the metric's for ACC+TIES. None where it has none.
        outcome: the mean of the metric over the rows: of classes the share that the model was right on.
        low, high: 95 % interval of the model's mean outcome in the domain.
        p_best: probability that no other model is better in the domain; models that cannot differ share it.
        scores: method -> mean score over the rows, in the method's own unit.
        p_near_best: probability that no other model is better by more than a point (0.01) in the domain. Models that
            are alike do not share it, as they do `p_best`, so that it is what reports show. None where it is not known.
    """

    name: str
    family: str
    rank: int
    score: float | None
    outcome: float
    low: float
    high: float
    p_best: float
    scores: Mapping[str, float | None] = field(default_factory=dict)
    in_domain: float | None = None
    misled: float | None = None
    p_near_best: float | None = None


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


@dataclass(frozen=True)
class RowResult:
    """A labelled row of a decision, and what the models took it for.

    Attributes:
        id: of the example.
        label: the true one, by name; "" where answers have no labels.
        predicted: model -> label, by name; empty where answers have no labels.
        text: the beginning of what was asked; "" where that is not known.
    """

    id: str
    label: str
    predicted: Mapping[str, str]
    text: str = ""


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
        best, metric = self.best, self.methods[0]
        first = [model for model in self.models if model.rank == 1]
        truly = (
            f"truly best: {listed([model.name for model in first], NAMES)}, {metric.name} {percent(first[0].outcome)} %"
        )
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


@dataclass(frozen=True)
class Versus:
    """Two models on the same labelled rows: how far apart they are, and how sure that is.

    Attributes:
        a, b: the models, the one that is first in the order first.
        difference: the mean outcome of a minus that of b.
        se: its standard error, robust to clusters of rows; None where one cluster is all there is, as below.
        low, high: its 95 % interval.
        better, worse: rows on which a did better, and worse, than b.
        p: of a two-sided test that both do equally well; 1 where no row tells them apart.
        test: where p comes from: "mcnemar", "sign-flip", or "sign-flip-drawn".
        p_corrected: the same, corrected for the number of pairs (Holm).
        p_unpaired: what a test would have said that takes the two as judged on different rows.
        detectable: the smallest true difference that as many such rows find in 80 % of cases; None where no row tells
            the two apart.
        rows: how many rows both were judged on.
        clusters: how many clusters these make; None where rows are independent.
        se_rows: what the standard error would be if rows were independent; None where one row is all there is, and in
            runs that were saved before it was kept.
    """

    a: str
    b: str
    difference: float
    se: float | None
    low: float | None
    high: float | None
    better: int
    worse: int
    p: float
    test: Test
    p_corrected: float
    p_unpaired: float | None
    detectable: float | None
    rows: int
    clusters: int | None
    se_rows: float | None = None


@dataclass(frozen=True, repr=False)
class Decision(Result):
    """What K labelled rows say about models whose truth is not known. Models are in the predicted order, best first.

    The order is the method's; every probability and interval is about the mean outcome in the domain, from how good
    each model was on each row: see `ranker.scoring.decision`.

    Attributes:
        method: what the order was made by.
        kind: of that method; where it is "pool", probabilities come from labels and unlabelled rows together.
        models: (M,) in the predicted order.
        p_beats: (M, M) probability that the model of the row is better than that of the column; 1/2 on the diagonal.
        groups: sets of models within which no two are told apart; two that are in none together are. A model that is
            told from all others is a set of its own. They follow from `p_beats` and `level`.
        more_labels: (M, M) how many more labels would tell the two apart, with 90 % probability, if they go on to
            disagree as they did; 0 where they are told apart already. None where that cannot be said: the two were
            as good on the same rows, or each as often where the other was not; with a pool: labels and pool put them
            level, or nearly so, or the pool has too few rows.
        level: the probability at which two models count as told apart.
        versus: every two models on the labelled rows alone, of very many each with the first; none where a pool was
            read, too.
        rows: (K,) the labelled rows, as every model predicts them; none where answers have no labels.
        notes: what a reader of these numbers has to know, a sentence each.

    Raises:
        ValueError: there is no model, or the lengths do not agree.

    Example:
        >>> from ranker import Evidence, decide, load_set, load_suite
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=10)
        >>> decision = decide(models, rows, evidence=Evidence("none")).decision
        >>> decision.names[0], decision.tied(0)
        ('inoc-4000', ['inoc-1600', 'inoc-800'])
    """

    method: str
    kind: Kind
    models: tuple[DecidedModel, ...]
    p_beats: tuple[tuple[float, ...], ...]
    groups: tuple[tuple[str, ...], ...] = field(init=False)
    more_labels: tuple[tuple[int | None, ...], ...]
    level: float = 0.9
    versus: tuple[Versus, ...] = ()
    rows: tuple[RowResult, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.models)
        if not size:
            raise ValueError("`models` are none")
        for name in ("p_beats", "more_labels"):
            rows = getattr(self, name)
            if {len(rows), *map(len, rows)} != {size}:
                raise ValueError(f"`{name}` must have the length {size}, a value for each model")
        together = groups(self.p_beats, self.level)
        object.__setattr__(self, "groups", tuple(tuple(self.names[m] for m in members) for members in together))

    @property
    def names(self) -> tuple[str, ...]:
        """(M,) the names of the models."""
        return tuple(model.name for model in self.models)

    @property
    def reads_pool(self) -> bool:
        """Whether its probabilities come from labels and unlabelled rows together, not from labels alone."""
        return self.kind == "pool"

    def apart(self, i: int, j: int) -> bool:
        """Whether the models at two places of the order are told apart, whichever is the better one."""
        return apart(self.p_beats, i, j, self.level)

    def tied(self, i: int) -> list[str]:
        """The models that the one at a place of the order cannot be told apart from."""
        return [name for j, name in enumerate(self.names) if j != i and not self.apart(i, j)]

    @property
    def against(self) -> int:
        """The place in the order of a model that is told from the first as the better one; 0 where there is none."""
        better = [i for i, beats in enumerate(self.p_beats) if i and beats[0] >= self.level]
        return max(better, key=lambda i: self.p_beats[i][0], default=0)

    @property
    def answer(self) -> str:
        """Which model is first, how sure that is, and which others cannot be told from it."""
        first, tied = self.models[0], self.tied(0)
        near = first.p_near_best
        sure = "" if near is None else f"; P(within a point of the best) {probability(near)} %"
        but = f"cannot be told from it: {listed(tied, NAMES)}" if tied else "told apart from all others"
        better = f"; but the labels speak for {self.names[self.against]}" if self.against else ""
        return f"first: {first.name}{sure}, by {self.method}\n{but}{better}"

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each model, with the fields of `DecidedModel` as columns, and two more.

        `method` is what the order was made by, `tied` the models that this one cannot be told from.
        """
        tied = map(self.tied, range(len(self.models)))
        return [
            plain(model) | {"method": self.method, "tied": ", ".join(names)}
            for model, names in zip(self.models, tied, strict=True)
        ]

    def in_words(self) -> list[dict[str, str]]:
        """Each model with its outcome and P(near best), in percent."""
        return [
            {
                "model": model.name,
                self.method: "" if model.score is None else f"{model.score:.3g}",
                "outcome here": percent(model.outcome),
                "95 % interval": interval(model.low, model.high),
                "P(near best)": probability(model.p_near_best),
            }
            for model in self.models
        ]


def level(one: float, other: float) -> bool:
    """Whether two accuracies, or probabilities, differ by no more than rounding does.

    Example:
        >>> level(0.1 + 0.2, 0.3), level(0.3, 0.301)
        (True, False)
    """
    return abs(one - other) < TIE


def apart(p_beats: Sequence[Sequence[float]], i: int, j: int, level: float) -> bool:
    """Whether one of two models is more accurate with a probability of that level, whichever it is.

    Args:
        p_beats: (M, M), see `Decision`.
        i, j: the two.
        level: the probability.
    """
    return max(p_beats[i][j], 1 - p_beats[i][j]) >= level


def groups(p_beats: Sequence[Sequence[float]], level: float) -> list[list[int]]:
    """Sets of models within which no two are told apart; two that are in none together are.

    Models that cannot be told apart need not be neighbours in the order: it may be another than that of accuracy, and
    how sure a difference is, depends on how often the two disagree. So a set is usually a run of the order, but need
    not be one.

    Args:
        p_beats: (M, M), see `Decision`.
        level: the probability at which two count as told apart.

    Example:
        >>> groups([[0.5, 0.7, 0.95], [0.3, 0.5, 0.8], [0.05, 0.2, 0.5]], 0.9)
        [[0, 1], [1, 2]]
    """
    size = len(p_beats)
    sets: list[list[int]] = []
    covered: set[tuple[int, int]] = set()
    for i, j in combinations(range(size), 2):
        if (i, j) in covered or apart(p_beats, i, j, level):
            continue
        members = [i, j]
        for k in range(size):
            if k not in members and not any(apart(p_beats, min(k, m), max(k, m), level) for m in members):
                members.append(k)
        sets.append(sorted(members))
        covered.update(combinations(sets[-1], 2))
    inside = {m for members in sets for m in members}
    return sorted([*sets, *([m] for m in range(size) if m not in inside)])


def plain(value: Any) -> Any:
    """A record as JSON knows it: by the names of its fields; mappings as objects, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inside) for key, inside in value.items()}
    return [plain(inside) for inside in value] if isinstance(value, (tuple, list)) else value
