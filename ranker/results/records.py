"""The records that a `Ranking` is made of: of methods, models, pairs, a decision, and what numbers were made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, Literal

from ranker.statistics.engine import TIE
from ranker.statistics.methods import RULES, SURROGATE, Kind

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
        few_shot_accuracy: its pairwise accuracy, the mean over the pairs that are decided; few-shot accuracy in the
            paper.
        ci_low, ci_high: 95 %, over populations of examples: what other examples of the domain would have given.
        models_low, models_high: 95 %, over models: what other models of this kind would have given; None if M < 3.
        vs_acc: pairwise accuracy minus that of ACC; None where ACC was not measured.
        vs_acc_low, vs_acc_high: 95 % of that difference over populations of examples: on the same draws, and paired,
            but for methods that see no label or chosen rows, which are taken as independent of ACC.
        dropped: reason -> how many examples the method could not be computed on.
        curve: K -> pairwise accuracy with a probe of K examples.
        splits: a part of the pairs -> pairwise accuracy on it. Parts: "near" and "far"; "within-family" and
            "across-family"; "misled", one of the two models follows the shortcut, and "not-misled", neither does.
    """

    name: str
    kind: Kind
    few_shot_accuracy: float
    ci_low: float
    ci_high: float
    models_low: float | None
    models_high: float | None
    vs_acc: float | None
    vs_acc_low: float | None
    vs_acc_high: float | None
    designed: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    curve: Mapping[int, float] = field(default_factory=dict)
    splits: Mapping[str, float] = field(default_factory=dict)

    @property
    def sees_chosen_rows(self) -> bool:
        """Whether the rows whose labels it sees were chosen; they are random otherwise."""
        return self.name in RULES


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
        attribution: the backend with its settings, as `--attribution` takes it.
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
        known = plain(self) | {"data": self.data and asdict(self.data)}
        return {name: value for name, value in known.items() if value not in (None, {})}


@dataclass(frozen=True)
class ModelResult:
    """One model, and where the truth and each method put it.

    Attributes:
        name: unique in the suite.
        family: its architecture, "" where unknown.
        ood_accuracy: on the whole OOD set, a fraction; None in a decision.
        rank: 1 for the best; by OOD accuracy, in a decision by the chosen method. Equal models share the better rank.
        scores: method -> mean score over the population, in the method's own unit.
        expected_rank: method -> the rank it gives the model, averaged over draws.
        in_domain_accuracy: on rows of the domain that it was trained for, a fraction; None where it is not known.
        misled: share of the rows on which the shortcut is wrong where the model gives the shortcut's label; None where
            the set has no shortcut, or no such row.
    """

    name: str
    family: str
    ood_accuracy: float | None
    rank: int
    scores: Mapping[str, float | None] = field(default_factory=dict)
    expected_rank: Mapping[str, float] = field(default_factory=dict)
    in_domain_accuracy: float | None = None
    misled: float | None = None


@dataclass(frozen=True)
class PairResult:
    """How often a method puts two models in the right order.

    Attributes:
        a, b: the models, the truly better one first.
        method: the ranking method.
        accuracy: share of draws in which it scores a better than b, a tie counting one half.
        accuracy_a, accuracy_b: OOD accuracies, fractions.
        gap: accuracy_a - accuracy_b.
        near: the gap is below the threshold that `Ranking.near` states.
        same_family: None where families are unknown.
    """

    a: str
    b: str
    method: str
    accuracy: float
    accuracy_a: float
    accuracy_b: float
    gap: float
    near: bool
    same_family: bool | None


@dataclass(frozen=True)
class Decision:
    """What K labelled rows say about models whose truth is not known. Models are in the predicted order, best first.

    The order is the method's; every probability and interval is about accuracy in the domain, from who was right on
    which row: see `ranker.decision`.

    Attributes:
        method: what the order was made by.
        models: (M,) names.
        scores: (M,) the method's score of each model on the rows, in its own unit; ACC's for ACC+TIES.
        accuracy: (M,) share of the rows that the model was right on.
        low, high: (M,) 95 % interval of the model's accuracy in the domain.
        p_best: (M,) probability that no other model is more accurate in the domain; models that cannot differ share
            it.
        p_beats: (M, M) probability that the model of the row is more accurate than that of the column; 1/2 on the
            diagonal.
        groups: sets of models within which no two are told apart; two that are in none together are. A model that is
            told from all others is a set of its own. They follow from `p_beats` and `level`.
        more_labels: (M, M) how many more labels would tell the two apart, with 90 % probability, if they go on to
            disagree as they did; 0 where they are told apart already. None where that cannot be said: the two were
            right on the same rows, or each as often where the other was not; with a pool: labels and pool put them
            level, or nearly so, or the pool has too few rows.
        level: the probability at which two models count as told apart.

    Raises:
        ValueError: the lengths do not agree.
    """

    method: str
    models: tuple[str, ...]
    scores: tuple[float | None, ...]
    accuracy: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    p_best: tuple[float, ...]
    p_beats: tuple[tuple[float, ...], ...]
    groups: tuple[tuple[str, ...], ...] = field(init=False)
    more_labels: tuple[tuple[int | None, ...], ...]
    level: float = 0.9

    def __post_init__(self) -> None:
        size = len(self.models)
        for name in ("scores", "accuracy", "low", "high", "p_best", "p_beats", "more_labels"):
            column = getattr(self, name)
            rows = column if name in ("p_beats", "more_labels") else ()
            if {len(column), *map(len, rows)} != {size}:
                raise ValueError(f"`{name}` must have the length {size}, a value for each model")
        together = groups(self.p_beats, self.level)
        object.__setattr__(self, "groups", tuple(tuple(self.models[m] for m in members) for members in together))

    @property
    def reads_pool(self) -> bool:
        """Whether its probabilities come from labels and unlabelled rows together, not from labels alone."""
        return self.method == SURROGATE

    def apart(self, i: int, j: int) -> bool:
        """Whether the models at two places of the order are told apart, whichever is the better one."""
        return apart(self.p_beats, i, j, self.level)


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


@dataclass(frozen=True)
class RowResult:
    """A labelled row of a decision, and what the models took it for.

    Attributes:
        id: of the example.
        label: the true one, by name.
        predicted: model -> label, by name.
    """

    id: str
    label: str
    predicted: Mapping[str, str]


def plain(result: ModelResult | MethodResult | RowResult | Provenance) -> dict[str, Any]:
    """A record's fields, by name; frozen mappings, which JSON does not know, as dicts."""
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(result).items()}
