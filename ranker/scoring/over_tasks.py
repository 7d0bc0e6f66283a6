"""The same models on several tasks: how far apart they are on each, and over groups of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from factors.types import Floats, Ints
from ranker.results.over_tasks import ALL, Gap, Mean, Over, Part
from ranker.results.ranking import Ranking
from ranker.scoring.versus import MOST, clusters_of, known
from ranker.statistics import engine, paired
from ranker.statistics.paired import Both
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

    def both(self, a: str, b: str) -> Both:
        """Two models: their means, and the first minus the second."""
        return paired.means(np.stack([self.of(a), self.of(b)]), self.clusters)

    def p(self, a: str, b: str) -> float | None:
        """The p of the decision's own test; None where it did not compare these two."""
        return next((one.p for one in self.ranking.decision.versus if {one.a, one.b} == {a, b}), None)


def judged(ranking: Ranking, groups: Sequence[str]) -> Judged:
    """The outcomes of a decision.

    Args:
        ranking: the decision.
        groups: (N,) which of its rows belong together; all "" where rows are independent.
    """
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
    both = {name: {pair: task.both(*pair) for pair in pairs} for name, task in tasks.items()}
    plain = {(name, pair): p for name, task in tasks.items() for pair in pairs if (p := task.p(*pair)) is not None}
    corrected = dict(zip(plain, holm(np.array([*plain.values()])).tolist(), strict=True)) if plain else {}
    found = []
    for name, task in tasks.items():
        gaps = tuple(
            _gap(pair, one, plain.get((name, pair)), corrected.get((name, pair))) for pair, one in both[name].items()
        )
        means, rows = _means(models, both[name]), task.outcomes.shape[1]
        found.append(Part(name, "task", task.ranking.header.metric, (name,), rows, means, gaps))
    metrics = {name: task.ranking.header.metric for name, task in tasks.items()}
    inside = {group: tuple(task for task in tasks if task in of) for group, of in groups.items()}
    named = {group: of for group, of in inside.items() if len(of) > 1}
    if len(tasks) > 1 and all(len(of) < len(tasks) for of in named.values()):
        named[ALL] = tuple(tasks)
    for group, of in named.items():
        found += _over(group, of, models, pairs, [both[task] for task in of], {metrics[task] for task in of})
    return models, tuple(found)


def _over(
    group: str,
    tasks: tuple[str, ...],
    models: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    both: Sequence[Mapping[tuple[str, str], Both]],
    metrics: set[str],
) -> Iterator[Part]:
    """The pooled and the macro mean over the tasks of a group."""
    metric = next(iter(metrics)) if len(metrics) == 1 else ""
    pooled = {pair: paired.pooled([one[pair] for one in both]) for pair in pairs}
    macro = {pair: paired.macro([one[pair] for one in both]) for pair in pairs}
    rows = pooled[pairs[0]].rows
    means: dict[Over, dict[tuple[str, str], Both]] = {"pooled": pooled, "macro": macro}
    for over, found in means.items():
        gaps = tuple(_gap(pair, one, known(paired.p_of(one.difference))) for pair, one in found.items())
        yield Part(group, over, metric, tasks, rows, _means(models, found), gaps)


def _means(models: Sequence[str], both: Mapping[tuple[str, str], Both]) -> tuple[Mean, ...]:
    """(M,) each model's mean, as it stands in one of its pairs."""
    found = {b: one.second for (_, b), one in both.items()} | {a: one.first for (a, _), one in both.items()}
    return tuple(Mean(model, found[model].value, known(found[model].low), known(found[model].high)) for model in models)


def _gap(pair: tuple[str, str], both: Both, p: float | None, corrected: float | None = None) -> Gap:
    one = both.difference
    return Gap(*pair, one.value, known(one.se), known(one.low), known(one.high), p, corrected)
