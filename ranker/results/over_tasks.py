"""`OverTasks`: the same models on several tasks, with each task's decision and means over tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from factors.rounding import TIE
from ranker.errors import listed
from ranker.numbers import Unit, counted, p_value, unit
from ranker.results.choice import Choice, choose, choose_by
from ranker.results.gate import Gate
from ranker.results.ranking import Ranking
from ranker.results.result import NAMES, Result, to_plain
from ranker.statistics.draws import sample_count
from ranker.statistics.on_average import INTERVAL_WIDTH, normal_draws

SCHEMA_VERSION = 2

Over = Literal["task", "pooled", "macro"]

ALL = "all tasks"
"""Name of the group of all tasks, if the logs name no such group."""


@dataclass(frozen=True)
class Mean:
    """Mean outcome of one model, a fraction.

    Attributes:
        model: its name.
        value: the mean.
        low, high: its 95 % interval; None for a single cluster of rows.
    """

    model: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Gap:
    """Difference between two models on the same rows.

    Attributes:
        a, b: the models, the one with the higher mean over all tasks first.
        difference: the mean outcome of a minus that of b.
        se: its standard error; None for a single cluster of rows, as below.
        low, high: its 95 % interval.
        p: two-sided p that both do equally well: for one task from the test of its decision, for several from the
            interval.
        p_corrected: for one task, corrected for all pairs and tasks (Holm); None for a mean over tasks.
    """

    a: str
    b: str
    difference: float
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None = None


@dataclass(frozen=True)
class Part:
    """A task, or a mean over the tasks of a group.

    Attributes:
        name: name of the task or group.
        over: "task"; "pooled" weights every row of the group equally; "macro" every task.
        metric: metric of the outcomes; "" if the tasks differ in it.
        tasks: its tasks.
        rows: number of rows on which all models were judged.
        means: (M,) in the order of the models.
        gaps: every two models, in the order of the models.
    """

    name: str
    over: Over
    metric: str
    tasks: tuple[str, ...]
    rows: int
    means: tuple[Mean, ...]
    gaps: tuple[Gap, ...]

    def gap(self, a: str, b: str) -> Gap:
        """Return the difference between two models, given in their order."""
        return next(gap for gap in self.gaps if (gap.a, gap.b) == (a, b))


@dataclass(frozen=True, repr=False)
class OverTasks(Result):
    """Results of models that were run on the same tasks.

    Attributes:
        models: (M,) names, the highest mean over all tasks first.
        parts: each task, then the means over each group of tasks, and over all.
        rankings: task -> its decision.
        only: reference -> its tasks that not all models were run on.
        failures: task -> why it has no result.
        notes: notes for a reader, a sentence each.
        gate: whether the others are shown to be no worse than one of them; None if not requested.

    Example:
        >>> OverTasks(("a", "b"), (), {}).title
        '2 models on 0 tasks'
    """

    index: ClassVar[tuple[str, ...]] = ("part", "over", "model")

    models: tuple[str, ...]
    parts: tuple[Part, ...]
    rankings: Mapping[str, Ranking]
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    gate: Gate | None = None

    @property
    def tasks(self) -> tuple[Part, ...]:
        """The parts that are one task."""
        return tuple(part for part in self.parts if part.over == "task")

    @property
    def means(self) -> tuple[Part, ...]:
        """The parts that are means over tasks."""
        return tuple(part for part in self.parts if part.over != "task")

    @property
    def whole(self) -> tuple[Part, ...]:
        """The means over all tasks: pooled (except for a metric that is no mean) and macro; a single task itself."""
        of_all = [part for part in self.parts if len(part.tasks) == len(self.tasks)]
        return tuple(part for part in of_all if part.name == of_all[-1].name)

    @property
    def unit(self) -> Unit:
        """Unit of the values."""
        return unit(next((ranking.found.metric for ranking in self.rankings.values()), ""))

    @cached_property
    def choice(self) -> Choice:
        """Advice on which model to take, by the last of the means over all tasks; of one task, by its decision."""
        if len(self.tasks) == 1:
            return self.rankings[self.tasks[0].name].decision.choice
        mean = self.whole[-1]
        leads = [mean.gap(self.models[0], name).difference for name in self.models[1:]]
        if any(model.low is None or model.high is None for model in mean.means):
            unknown = [None] * len(self.models)
            return choose(self.models, None, unknown, [0.5, *(1.0 if lead > TIE else 0.5 for lead in leads)])
        values = np.array([[model.value, model.low, model.high] for model in mean.means], dtype=np.float64)
        errors, order = (values[:, 2] - values[:, 1]) / INTERVAL_WIDTH, {n: m for m, n in enumerate(self.models)}
        beats = np.full((len(order), len(order)), 0.5)
        for gap in mean.gaps:
            a, b, p = order[gap.a], order[gap.b], 1.0 if gap.p is None else gap.p
            beats[a, b] = 1 - p / 2 if gap.difference > 0 else p / 2
            beats[b, a] = 1 - beats[a, b]
        rng = np.random.default_rng(0)
        belief = normal_draws(values[:, 0], errors, beats, rng, sample_count(len(order)))
        return choose_by(belief, self.models)

    @property
    def title(self) -> str:
        """One-line title of the comparison."""
        return f"{counted(len(self.models), 'model')} on {counted(len(self.tasks), 'task')}"

    @property
    def answer(self) -> str:
        """The verdict of a gate, the choice, how far apart the first two models are, and tasks without a result."""
        first, second, *_ = self.models
        gap = self.whole[-1].gap(first, second)
        p = "" if gap.p is None else f", p {p_value(gap.p)}"
        failed = [f"failed: {listed(list(self.failures), NAMES)}"] if self.failures else []
        above = f"{first} is {self.unit.value(gap.difference)}{self.unit.points} above {second}{p}"
        verdict = [self.gate.headline] if self.gate else []
        return "\n".join([*verdict, f"{self.title}: {self.choice.text}", above, *failed])

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each part and model, with the fields of `Mean`; `over` is the kind of part."""
        return [
            {"part": part.name, "over": part.over, "model": mean.model, "metric": part.metric, "rows": part.rows}
            | to_plain(mean)
            for part in self.parts
            for mean in part.means
        ]

    def in_words(self) -> list[dict[str, str]]:
        """Return the mean outcomes of the first models as text, a row for each part."""
        return [
            {
                "task": part.name if part.over == "task" else f"{part.name}, {part.over}",
                "rows": f"{part.rows:,}",
                **{mean.model: self.unit.value(mean.value) for mean in part.means[:NAMES]},
            }
            for part in self.parts
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the stable schema: see `docs/json-schema.md`."""
        saved = {
            name: to_plain(getattr(self, name)) for name in ("models", "parts", "only", "failures", "notes", "gate")
        }
        tasks = {task: ranking.to_dict() for task, ranking in self.rankings.items()}
        return {"schema_version": SCHEMA_VERSION, "choice": to_plain(self.choice), **saved, "tasks": tasks}
