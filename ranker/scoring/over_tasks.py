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
from ranker.statistics.engine import known
from ranker.statistics.paired import Estimate
from ranker.statistics.significance import holm


@dataclass(frozen=True)
class Judged:
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

    def mean(self, model: str) -> Estimate:
        """One model's mean outcome."""
        return paired.estimate_mean(self.of(model), self.clusters)

    def difference(self, pair: tuple[str, str]) -> Estimate:
        """The mean outcome of one model minus that of another."""
        return paired.estimate_difference(np.stack([self.of(model) for model in pair]), self.clusters)

    def p(self, a: str, b: str) -> float | None:
        """The p of the decision's own test; None where it did not compare these two."""
        return next((one.p for one in self.ranking.decision.versus if {one.a, one.b} == {a, b}), None)


def judged(ranking: Ranking, groups: Sequence[str]) -> Judged:
    """The outcomes of a decision.

    Args:
        ranking: the decision.
        groups: (N,) which of its rows belong together; all "" where rows are independent.

    Raises:
        UsageError: it is by a metric that is no mean over rows, of which no mean over tasks is made.
    """
    if ranking.found.metric:
        raise UsageError(f"`metric` {ranking.found.metric} is for one task: means over tasks are of mean outcomes")
    there = engine.defined(ranking.table.values)[0]
    clusters = clusters_of([group for group, kept in zip(groups, there, strict=True) if kept])
    return Judged(ranking, ranking.table.outcomes[:, there], clusters)


def parts(tasks: Mapping[str, Judged], groups: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], tuple[Part, ...]]:
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
        model: float(np.mean([task.of(model).mean() for task in tasks.values()])) for model in one.ranking.table.models
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
        weights: dict[Over, Floats] = {"pooled": rows / rows.sum(), "macro": np.full(len(of), 1 / len(of))}
        metric = metrics[of[0]] if len({metrics[task] for task in of}) == 1 else ""
        for over, each in weights.items():
            mean = {one: paired.mean_over_tasks([means[task][one] for task in of], each) for one in models}
            apart = {one: paired.difference_over_tasks([differences[task][one] for task in of], each) for one in pairs}
            gaps = tuple(_gap(pair, one, known(paired.p_of(one))) for pair, one in apart.items())
            found.append(Part(group, over, metric, of, int(rows.sum()), _means(mean), gaps))
    return models, tuple(found)


def _means(found: Mapping[str, Estimate]) -> tuple[Mean, ...]:
    return tuple(Mean(model, one.value, known(one.low), known(one.high)) for model, one in found.items())


def _gap(pair: tuple[str, str], one: Estimate, p: float | None, corrected: float | None = None) -> Gap:
    return Gap(*pair, one.value, known(one.se), known(one.low), known(one.high), p, corrected)
