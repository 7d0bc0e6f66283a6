"""`OverSets`: ranking of models over many sets, and trends over in-domain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ranker.domains.results.shift import Correlation
from ranker.domains.statistics.leaders import Friedman
from ranker.domains.statistics.trend import Shape, Type
from ranker.errors import listed
from ranker.numbers import counted, percent, probability
from ranker.results.choice import Choice
from ranker.results.result import NAMES, Result, to_plain

SCHEMA_VERSION = 1

Missing = Literal["sets", "models", "ranks"]
"""Treatment of missing cells: drop their sets, or their models, or give them the middle rank."""

Axes = Literal["plain", "probit"]

Drawn = Literal["tasks", "rows", "some rows"]
"""Units resampled for intervals of ranks; "some rows" if the rows of some sets are unknown."""


@dataclass(frozen=True)
class Leader:
    """A model over all tasks, fractions.

    Attributes:
        model: its name.
        rank: 1 for the highest mean; where ranks are imputed, for the lowest mean rank.
        value: mean over tasks, after averaging the sets of each; None if it lacks one.
        in_domain: the same of the in-domain sets of these tasks; None if a task has none.
        decay: (in_domain - value) / in_domain; None also if in_domain is not above 0.
        friedman: mean of its ranks on the tasks, 1 for the best.
        friedman_in_domain: the same by in-domain values.
        rank_by_decay: 1 for the smallest decay.
        low, high: 95 % interval of its rank, over tasks and, if they can be resampled, rows.
        p_first: share of these draws in which it is first.
        tasks: task -> its value.
        levels: level -> mean over its tasks, if sets have levels; None if it lacks one.
        drops: level -> mean loss against in-domain; None also without in-domain values.
    """

    model: str
    rank: int
    value: float | None
    in_domain: float | None
    decay: float | None
    friedman: float
    friedman_in_domain: float | None
    rank_by_decay: int | None
    low: int | None
    high: int | None
    p_first: float | None
    tasks: Mapping[str, float | None]
    levels: Mapping[str, float | None] = field(default_factory=dict)
    drops: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """Two models over the tasks on which both have a value; None if these are fewer than three.

    Attributes:
        a, b: the models, a the higher one in the order.
        difference: mean over tasks of a minus b.
        tasks: number of these tasks.
        nemenyi: p of Nemenyi's test on the mean ranks, corrected for all pairs; None also if ranks are imputed.
        wilcoxon: p of Wilcoxon's signed-rank test.
        holm: the same, corrected for all pairs.
        p_better, p_same, p_worse: probability that a is better by more than the margin, equally good, or worse; they
            sum to 1.
    """

    a: str
    b: str
    difference: float
    tasks: int
    nemenyi: float | None
    wilcoxon: float | None
    holm: float | None
    p_better: float | None
    p_same: float | None
    p_worse: float | None


@dataclass(frozen=True)
class Point:
    """A model as a point of a trend, fractions.

    Attributes:
        model: its name.
        x: its in-domain value.
        y: its value on the set; None if missing, and then predicted.
        expected: value of the trend at x.
        low, high: interval with 95 % of new models of this in-domain value.
        robustness: effective robustness, y - expected; None without y.
    """

    model: str
    x: float
    y: float | None
    expected: float
    low: float
    high: float
    robustness: float | None


@dataclass(frozen=True)
class Trend:
    """Trend of one set over in-domain values; without points if it cannot be fitted.

    Attributes:
        task, set: the task and its set.
        models: number of models with both values.
        axes: "plain", or "probit": the trend is one of normal quantiles of the values.
        type: type after BOSS: "I" a rising line, "II" two rising lines, "III" a V, "negative" falling; "flat", "other";
            None if uncertain.
        why: why it is uncertain; empty if it is not.
        shape: fitted shape: "flat", "line" or "joined"; None without a fit.
        correlation: between in-domain values and those on the set, on the axes.
        slopes: before and after the joint, on the axes.
        joint: in-domain value at which two lines meet; None for one line.
        joint_low, joint_high: its 95 % interval; None also if unknown.
        p_types: type -> share of resamples of the models in which it is chosen.
        bic, loo: shape -> BIC, and the root mean squared error on models left out, on the axes; lower is better.
        far: models far off a robust line.
        type_without: type without these; None if no model is far off.
        points: the models by in-domain value.
    """

    task: str
    set: str
    models: int
    axes: Axes
    type: Type | None
    why: str
    shape: Shape | None = None
    correlation: float | None = None
    slopes: tuple[float, float] | None = None
    joint: float | None = None
    joint_low: float | None = None
    joint_high: float | None = None
    p_types: Mapping[Type, float] = field(default_factory=dict)
    bic: Mapping[Shape, float | None] = field(default_factory=dict)
    loo: Mapping[Shape, float | None] = field(default_factory=dict)
    far: tuple[str, ...] = ()
    type_without: Type | None = None
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class OnAverage:
    """Posterior of the means over several sets, given a few labelled rows of each.

    Attributes:
        labels: set -> number of its labelled rows.
        p_best: model -> probability that no other has a higher mean.
        p_near_best: model -> probability that none has a higher mean by more than the margin.
        p_beats: (M, M) in the order of the models, P(the model of the row has a higher mean than that of the column).
        level: the probability at which two models count as told apart.
        groups: sets of models of which no two can be told apart.
        first, second: the two models with the highest `p_best`.
        next_labels: set -> its share of the next labels, which together tell most of the first from the second.
    """

    labels: Mapping[str, int]
    p_best: Mapping[str, float]
    p_near_best: Mapping[str, float]
    p_beats: tuple[tuple[float, ...], ...]
    level: float
    groups: tuple[tuple[str, ...], ...]
    first: str
    second: str
    next_labels: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class OverSets(Result):
    """Ranking of models over many sets, and its certainty.

    Attributes:
        models: (M,) the best first.
        choice: what to take: for the mean over these sets, if a few rows of each were read; else for other tasks.
        tasks: task -> its sets that count.
        missing: treatment of missing cells.
        rope: half the width of the region within which two models count as equally good, a fraction.
        differences: every two models; with very many models, each with the first.
        test: test that the models differ at all; None for too few tasks or models, or imputed ranks.
        left_out: set or model -> why it is not ranked.
        notes: notes for a reader, a sentence each.
        draws_of: units resampled for the intervals of ranks and `p_first`; empty without draws.
        trends: trend of each set whose task has in-domain values.
        on_average: posterior of the means from a few labelled rows of each set; None if values are no decisions.
        lower_is_better: whether lower values are better. All numbers have the unit and the sign of the table, so that a
            difference below 0 then favours `a`, and a robustness below 0 the model.
        levels: level -> the names of its tasks and sets; empty if sets have no levels.
        measures: measure -> set, or task -> number, as in the table of measures.
        correlations: of the measures with the models' mean values and drops.

    Example:
        >>> from ranker import compare
        >>> compare([{"model": model, "set": "a", "value": value} for model, value in (("x", 0.9), ("y", 0.8))]).title
        '2 models over 1 task'
    """

    index: ClassVar[tuple[str, ...]] = ("model",)
    figures: ClassVar[str] = "ranker.domains.report.sets_figures"

    models: tuple[Leader, ...]
    choice: Choice
    tasks: Mapping[str, tuple[str, ...]]
    missing: Missing
    rope: float
    differences: tuple[Difference, ...]
    test: Friedman | None
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    draws_of: tuple[Drawn, ...] = ()
    trends: tuple[Trend, ...] = ()
    on_average: OnAverage | None = None
    lower_is_better: bool = False
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    measures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    correlations: tuple[Correlation, ...] = ()

    @property
    def title(self) -> str:
        """One-line title of the comparison."""
        return f"{counted(len(self.models), 'model')} over {counted(len(self.tasks), 'task')}"

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names, the best first."""
        return tuple(leader.model for leader in self.models)

    @property
    def tied(self) -> tuple[str, ...]:
        """Models that Nemenyi's test does not tell from the first; only the first without a test."""
        if self.test is None:
            return self.names[:1]
        near = self.test.critical_difference + 1e-12
        return tuple(leader.model for leader in self.models if abs(leader.friedman - self.models[0].friedman) <= near)

    @property
    def answer(self) -> str:
        """The choice, the first model, how often it is first, and the models not told from it."""
        first = self.models[0]
        line = f"first: {first.model}"
        line += "" if first.value is None else f", {percent(first.value)} %"
        line += "" if first.p_first is None else f", in {probability(first.p_first)} % of draws"
        tied = [name for name in self.tied if name != first.model]
        title = f"{self.title}: {self.choice.text}"
        return "\n".join([title, line, *([f"not told from the first: {listed(tied, NAMES)}"] if tied else [])])

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each model, with the fields of `Leader`, and a column for each task and each level."""
        nested = {"tasks": "task", "levels": "level", "drops": "drop"}
        return [
            {key: value for key, value in to_plain(leader).items() if key not in nested}
            | {f"{kind}: {name}": value for key, kind in nested.items() for name, value in getattr(leader, key).items()}
            for leader in self.models
        ]

    def in_words(self) -> list[dict[str, str]]:
        """Return the models in order, with means in percent and mean ranks."""
        return [
            {
                "rank": str(leader.rank),
                "model": leader.model,
                "OOD": percent(leader.value),
                "in-domain": percent(leader.in_domain),
                "decay": percent(leader.decay),
                "mean rank": f"{leader.friedman:.2f}",
                "95 % interval": "" if leader.low is None else f"{leader.low} to {leader.high}",
            }
            for leader in self.models
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable schema: see `docs/json-schema.md`."""
        return {"schema_version": SCHEMA_VERSION, **to_plain(self)}
