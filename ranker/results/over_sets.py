"""`OverSets`: who leads over many sets, and what in-domain values say of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ranker.errors import listed
from ranker.numbers import counted, percent, probability
from ranker.results.result import NAMES, Result, plain
from ranker.statistics.leaders import Friedman
from ranker.statistics.trend import Shape, Type

SCHEMA_VERSION = 1

Missing = Literal["sets", "models", "ranks"]
"""What becomes of cells without a value: their sets are left out, or their models; or they get the middle rank."""


Axes = Literal["plain", "probit"]

Drawn = Literal["tasks", "rows", "some rows"]
"""What is drawn anew for intervals of ranks; "some rows" where those of some sets are not known."""


@dataclass(frozen=True)
class Leader:
    """A model over all tasks, fractions.

    Attributes:
        model: its name.
        rank: 1 for the highest mean; where ranks are imputed, for the lowest mean rank.
        value: mean over tasks, the sets of each averaged first; None where it lacks one.
        in_domain: the same of the in-domain sets of these tasks; None where a task has none.
        decay: (in_domain - value) / in_domain; None where in_domain is not above 0, too.
        friedman: mean of its ranks on the tasks, 1 for the best.
        friedman_in_domain: the same by in-domain values.
        rank_by_decay: 1 for the smallest decay.
        low, high: the 95 % interval of its rank, over tasks and, where something is known of them, rows.
        p_first: how often it is first in these draws.
        tasks: task -> its value.
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


@dataclass(frozen=True)
class Difference:
    """Two models over the tasks that both have a value on; None where these are fewer than three.

    Attributes:
        a, b: the models, a the one that is higher in the order.
        difference: mean over tasks of a minus b.
        tasks: how many these are.
        nemenyi: p of Nemenyi's test on the mean ranks, corrected for all pairs; None where ranks are imputed, too.
        wilcoxon: p of Wilcoxon's signed-rank test.
        holm: the same, corrected for all pairs.
        p_better, p_same, p_worse: that a is better by more than the margin, as good, or worse; they sum to 1.
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
        y: its value on the set; None where it has none, and is predicted.
        expected: what the trend says at x.
        low, high: what 95 % of new models with this in-domain value would have.
        robustness: effective robustness, y - expected; None where there is no y.
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
    """What in-domain values say of one set; without points where nothing can be told.

    Attributes:
        task, set: which.
        models: how many have both values.
        axes: "plain", or "probit": the trend is one of normal quantiles of the values.
        type: BOSS's: "I" a rising line, "II" two rising lines, "III" a V, "negative" falling; "flat", "other"; None
            where it cannot be told.
        why: why it cannot be told; empty where it can.
        shape: what was fitted: "flat", "line" or "joined"; None where there is nothing to fit.
        correlation: of in-domain values and those on the set, on the axes.
        slopes: before and after the joint, on the axes.
        joint: the in-domain value where two lines meet; None where there is one.
        joint_low, joint_high: its 95 % interval; None where it cannot be told, too.
        p_types: type -> share of resamples of the models in which it is chosen.
        bic, loo: shape -> BIC, and the root mean squared error on models left out, on the axes; lower is better.
        far: models that lie far off a robust line.
        type_without: the type of the others; None where none is far off.
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
    """What few labelled rows of each set say of the means over these sets.

    Attributes:
        labels: set -> how many of its rows are labelled.
        p_best: model -> probability that no other has a higher mean.
        p_near_best: model -> probability that none has a higher mean by more than the margin.
        p_beats: (M, M) in the order of the models, P(the model of the row has a higher mean than that of the column).
        level: the probability at which two models count as told apart.
        groups: sets of models within which no two are told apart.
        first, second: the two models with the highest `p_best`.
        more_labels: set -> how many more labels it needs, all together the fewest, until the first is told from the
            second; None where that cannot be said.
    """

    labels: Mapping[str, int]
    p_best: Mapping[str, float]
    p_near_best: Mapping[str, float]
    p_beats: tuple[tuple[float, ...], ...]
    level: float
    groups: tuple[tuple[str, ...], ...]
    first: str
    second: str
    more_labels: Mapping[str, int] | None


@dataclass(frozen=True, repr=False)
class OverSets(Result):
    """Models on many sets: who leads, and how sure that is.

    Attributes:
        models: (M,) the best first.
        tasks: task -> its sets, as far as they count.
        missing: what became of cells without a value.
        rope: half the width of the region within which two models count as equally good, a fraction.
        differences: every two models; of very many each with the first.
        test: that they differ at all; None where that cannot be told of so few, or of imputed ranks.
        left_out: set or model -> why it does not count in the order.
        notes: what a reader has to know, a sentence each.
        draws_of: what is drawn anew for the intervals of ranks and `p_first`; empty where there are none.
        trends: of each set whose task has in-domain values.
        on_average: what few labelled rows of each set say; None where values are no decisions.

    Example:
        >>> OverSets((), {}, "sets", 0.01, (), None, {}, ()).title
        '0 models over 0 tasks'
    """

    index: ClassVar[tuple[str, ...]] = ("model",)

    models: tuple[Leader, ...]
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

    @property
    def title(self) -> str:
        """What was compared on what, in a line."""
        return f"{counted(len(self.models), 'model')} over {counted(len(self.tasks), 'task')}"

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names, the best first."""
        return tuple(one.model for one in self.models)

    @property
    def tied(self) -> tuple[str, ...]:
        """The models that Nemenyi's test does not tell from the first; that alone where there is no test."""
        if self.test is None:
            return self.names[:1]
        near = self.test.critical_difference + 1e-12
        return tuple(one.model for one in self.models if abs(one.friedman - self.models[0].friedman) <= near)

    @property
    def answer(self) -> str:
        """Who is first, how often, and which models are not told from it."""
        first = self.models[0]
        said = f"first: {first.model}"
        said += "" if first.value is None else f", {percent(first.value)} %"
        said += "" if first.p_first is None else f", in {probability(first.p_first)} % of draws"
        others = [name for name in self.tied if name != first.model]
        return "\n".join([self.title, said, *([f"not told from the first: {listed(others, NAMES)}"] if others else [])])

    def to_rows(self) -> list[dict[str, Any]]:
        """A row for each model, with the fields of `Leader`; a column for each task, `task: NAME`."""
        return [
            {key: value for key, value in plain(one).items() if key != "tasks"}
            | {f"task: {task}": value for task, value in one.tasks.items()}
            for one in self.models
        ]

    def in_words(self) -> list[dict[str, str]]:
        """The models in order, with means in percent and mean ranks."""
        return [
            {
                "rank": str(one.rank),
                "model": one.model,
                "OOD": percent(one.value),
                "in-domain": percent(one.in_domain),
                "decay": percent(one.decay),
                "mean rank": f"{one.friedman:.2f}",
                "95 % interval": "" if one.low is None else f"{one.low} to {one.high}",
            }
            for one in self.models
        ]

    def to_dict(self) -> dict[str, Any]:
        """The stable schema: see `docs/json-schema.md`."""
        return {"schema_version": SCHEMA_VERSION, **plain(self)}
