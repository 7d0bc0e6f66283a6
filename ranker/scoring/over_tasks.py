"""The same models on several tasks: how far apart they are on each, and over groups of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import UsageError
from ranker.results.over_tasks import ALL, Gap, Mean, Over, Part
from ranker.results.ranking import Ranking
from ranker.scoring.paired_comparison import MOST, clusters_of
from ranker.statistics import engine, paired
from ranker.statistics.engine import none_if_nan
from ranker.statistics.paired import Estimate
from ranker.statistics.significance import holm


@dataclass(frozen=True)
class TaskOutcomes:
    """The models' outcomes on one task.

    Attributes:
        ranking: the decision on it.
        outcomes: (M, N) in the order of the decision's table, on the rows that all were judged on.
        clusters: (N,) the number of each row's cluster; None where rows are independent.
    """

    ranking: Ranking
    outcomes: Floats
    clusters: Ints | None

    def of(self, model: str) -> Floats:
        """(N,) one model's outcomes."""
        return np.asarray(self.outcomes[self.ranking.table.models.index(model)])

    @property
    def by_metric(self) -> bool:
        """Whether models are compared by a metric that is no mean over rows."""
        return bool(self.ranking.found.metric)

    def score(self, model: str) -> float:
        """What the model's order over tasks goes by: its mean outcome, or the metric."""
        return self.mean(model).value if self.by_metric else float(self.of(model).mean())

    def mean(self, model: str) -> Estimate:
        """One model's mean outcome; or the metric, as the decision has it."""
        if not self.by_metric:
            return paired.estimate_mean(self.of(model), self.clusters)
        decided = next(one for one in self.ranking.decision.models if one.name == model)
        low, high = (np.nan if end is None else end for end in (decided.low, decided.high))
        return Estimate(decided.outcome, np.nan, np.nan, low, high)

    def difference(self, pair: tuple[str, str]) -> Estimate:
        """The mean outcome, or the metric, of one model minus that of another."""
        if not self.by_metric:
            return paired.estimate_difference(np.stack([self.of(model) for model in pair]), self.clusters)
        compared = next(one for one in self.ranking.decision.versus if {one.a, one.b} == {*pair})
        sign = 1 if compared.a == pair[0] else -1
        ends = [np.nan if end is None else sign * end for end in (compared.low, compared.high)]
        return Estimate(sign * compared.difference, np.nan, np.nan, *sorted(ends))

    def p(self, a: str, b: str) -> float | None:
        """The p of the decision's own test; None where it did not compare these two."""
        return next((one.p for one in self.ranking.decision.versus if {one.a, one.b} == {a, b}), None)


def task_outcomes(ranking: Ranking, groups: Sequence[str]) -> TaskOutcomes:
    """The outcomes of a decision.

    Args:
        ranking: the decision.
        groups: (N,) which of its rows belong together; all "" where rows are independent.

    Raises:
        UsageError: it is by a metric of which less is better, or of more models than are compared two at a time.
    """
    metric, models = ranking.found.metric, ranking.table.models
    if metric and any(model.score != model.outcome for model in ranking.decision.models):
        raise UsageError(f"`metric` {metric} is for one decision: errors have no scale that tasks share")
    if metric and len(models) > MOST:
        raise UsageError(f"`metric` {metric}: means over tasks are made of at most {MOST} models (got {len(models)})")
    there = engine.defined(ranking.table.values)[0]
    clusters = clusters_of([group for group, kept in zip(groups, there, strict=True) if kept])
    return TaskOutcomes(ranking, ranking.table.outcomes[:, there], clusters)


def parts(
    tasks: Mapping[str, TaskOutcomes], groups: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, ...], tuple[Part, ...]]:
    """Each task, and the means over each group of tasks and over all.

    Of a group that is not all there, the mean is over those of its tasks that are; it takes two of them.

    Args:
        tasks: task -> outcomes of the same models.
        groups: group -> the tasks in it.

    Returns:
        The models, the highest mean over all tasks first, and the parts.
    """
    one = next(iter(tasks.values()))
    over_all = {
        model: float(np.mean([task.score(model) for task in tasks.values()])) for model in one.ranking.table.models
    }
    models = tuple(sorted(over_all, key=lambda model: -round(over_all[model], 12)))
    pairs = [(a, b) for a, b in combinations(models, 2) if len(models) <= MOST or a == models[0]]
    means = {name: {model: task.mean(model) for model in models} for name, task in tasks.items()}
    differences = {name: {pair: task.difference(pair) for pair in pairs} for name, task in tasks.items()}
    plain = {(name, pair): p for name, task in tasks.items() for pair in pairs if (p := task.p(*pair)) is not None}
    corrected = dict(zip(plain, holm(np.array([*plain.values()])).tolist(), strict=True)) if plain else {}
    found = []
    for name, task in tasks.items():
        gaps = tuple(
            _gap(pair, one, plain.get((name, pair)), corrected.get((name, pair)))
            for pair, one in differences[name].items()
        )
        metric, rows = task.ranking.header.metric, task.outcomes.shape[1]
        found.append(Part(name, "task", metric, (name,), rows, _means(means[name]), gaps))
    metrics = {name: task.ranking.header.metric for name, task in tasks.items()}
    inside = {group: tuple(task for task in tasks if task in of) for group, of in groups.items()}
    named = {group: of for group, of in inside.items() if len(of) > 1}
    if len(tasks) > 1 and all(len(of) < len(tasks) for of in named.values()):
        named[ALL] = tuple(tasks)
    for group, of in named.items():
        rows = np.array([tasks[task].outcomes.shape[1] for task in of])
        by_metric = any(tasks[task].by_metric for task in of)
        weights: dict[Over, Floats] = {"macro": np.full(len(of), 1 / len(of))}
        if not by_metric:  # a metric of all rows together is no mean of those of the tasks
            weights = {"pooled": rows / rows.sum(), **weights}
        metric = metrics[of[0]] if len({metrics[task] for task in of}) == 1 else ""
        for over, each in weights.items():
            average = paired.combine_intervals if by_metric else paired.mean_over_tasks
            subtract = paired.combine_intervals if by_metric else paired.difference_over_tasks
            p_of = paired.p_of_interval if by_metric else paired.p_of
            mean = {model: average([means[task][model] for task in of], each) for model in models}
            apart = {pair: subtract([differences[task][pair] for task in of], each) for pair in pairs}
            gaps = tuple(_gap(pair, one, none_if_nan(p_of(one))) for pair, one in apart.items())
            found.append(Part(group, over, metric, of, int(rows.sum()), _means(mean), gaps))
    return models, tuple(found)


def _means(found: Mapping[str, Estimate]) -> tuple[Mean, ...]:
    return tuple(Mean(model, one.value, none_if_nan(one.low), none_if_nan(one.high)) for model, one in found.items())


def _gap(pair: tuple[str, str], one: Estimate, p: float | None, corrected: float | None = None) -> Gap:
    return Gap(*pair, one.value, none_if_nan(one.se), none_if_nan(one.low), none_if_nan(one.high), p, corrected)
