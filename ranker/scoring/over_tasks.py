"""Differences between the same models on several tasks, and over groups of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from factors.rounding import level
from factors.types import Floats, Ints
from ranker.errors import UsageError
from ranker.results.over_tasks import ALL, Gap, Mean, Over, Part
from ranker.results.ranking import Ranking
from ranker.scoring.paired_comparison import MAX_PAIRED_MODELS, clusters_of
from ranker.statistics import engine, paired
from ranker.statistics.engine import none_if_nan
from ranker.statistics.paired import Estimate
from ranker.statistics.significance import holm


@dataclass(frozen=True)
class TaskOutcomes:
    """Outcomes of the models on one task.

    Attributes:
        outcomes: (M, N) in the order of the decision's table, on the rows where all have one.
        clusters: (N,) the number of each row's cluster; None where rows are independent.
    """

    ranking: Ranking
    outcomes: Floats
    clusters: Ints | None

    def of(self, model: str) -> Floats:
        """Return (N,) one model's outcomes."""
        return np.asarray(self.outcomes[self.ranking.table.models.index(model)])

    @property
    def by_metric(self) -> bool:
        """True if models are compared by a metric that is no mean over rows."""
        return bool(self.ranking.found.metric)

    def mean(self, model: str) -> Estimate:
        """Estimate one model's mean outcome; or return the metric, as the decision has it."""
        if not self.by_metric:
            return paired.estimate_mean(self.of(model), self.clusters)
        decided = next(candidate for candidate in self.ranking.decision.models if candidate.name == model)
        low, high = (np.nan if end is None else end for end in (decided.low, decided.high))
        return Estimate(decided.outcome, np.nan, np.nan, low, high)

    def difference(self, pair: tuple[str, str]) -> Estimate:
        """Estimate the mean outcome, or the metric, of one model minus that of another."""
        if not self.by_metric:
            return paired.estimate_difference(np.stack([self.of(model) for model in pair]), self.clusters)
        compared = self.ranking.decision.pair(*pair)
        assert compared is not None  # of a metric that is no mean, all models are
        low, high = (np.nan if end is None else end for end in (compared.low, compared.high))
        return Estimate(compared.difference, np.nan, np.nan, low, high)

    def p(self, a: str, b: str) -> float | None:
        """Return the p of the decision's own test; None where it did not compare these two."""
        pair = self.ranking.decision.pair(a, b)
        return None if pair is None else pair.p


def task_outcomes(ranking: Ranking, groups: Sequence[str]) -> TaskOutcomes:
    """Return the outcomes of a decision.

    Args:
        groups: (N,) the group of each row; all "" where rows are independent.

    Raises:
        UsageError: by a metric where lower is better, or with more models than are compared in pairs.
    """
    metric, models = ranking.found.metric, ranking.table.models
    if ranking.decision.lower_is_better:
        reason = "errors have no scale that tasks or parts share; rank each alone, or by a metric where more is better"
        raise UsageError.about("metric", f"{metric} is for one decision: {reason}", metric)
    if metric and len(models) > MAX_PAIRED_MODELS:
        text = f"`metric` {metric}: means over tasks are made of at most {MAX_PAIRED_MODELS} models (got {len(models)})"
        raise UsageError(text, option="metric", value=metric)
    judged = engine.defined_for_all(ranking.table.values)[0]
    clusters = clusters_of([group for group, is_judged in zip(groups, judged, strict=True) if is_judged])
    return TaskOutcomes(ranking, ranking.table.outcomes[:, judged], clusters)


def parts(
    tasks: Mapping[str, TaskOutcomes], groups: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, ...], tuple[Part, ...]]:
    """Compare the models, the highest mean over all tasks first, on each task, over each group of tasks and over all.

    The mean over an incomplete group is over those of its tasks that exist, at least two.

    Args:
        tasks: task -> outcomes of the same models.
        groups: group -> the tasks in it.
    """
    first_task = next(iter(tasks.values()))
    over_all = {
        model: float(np.mean([task.mean(model).value for task in tasks.values()]))
        for model in first_task.ranking.table.models
    }
    names = list(over_all)
    models = tuple(names[place] for place in np.argsort(-level(np.array(list(over_all.values()))), kind="stable"))
    pairs = [(a, b) for a, b in combinations(models, 2) if len(models) <= MAX_PAIRED_MODELS or a == models[0]]
    means = {name: {model: task.mean(model) for model in models} for name, task in tasks.items()}
    differences = {name: {pair: task.difference(pair) for pair in pairs} for name, task in tasks.items()}
    plain = {(name, pair): p for name, task in tasks.items() for pair in pairs if (p := task.p(*pair)) is not None}
    corrected = dict(zip(plain, holm(np.array([*plain.values()])).tolist(), strict=True)) if plain else {}
    measured = []
    for name, task in tasks.items():
        gaps = tuple(
            _gap(pair, estimate, plain.get((name, pair)), corrected.get((name, pair)))
            for pair, estimate in differences[name].items()
        )
        metric, rows = task.ranking.header.metric, task.outcomes.shape[1]
        measured.append(Part(name, "task", metric, (name,), rows, _means(means[name]), gaps))
    metrics = {name: task.ranking.header.metric for name, task in tasks.items()}
    inside = {group: tuple(task for task in tasks if task in members) for group, members in groups.items()}
    averaged = {group: members for group, members in inside.items() if len(members) > 1}
    if len(tasks) > 1 and all(len(members) < len(tasks) for members in averaged.values()):
        averaged[ALL] = tuple(tasks)
    for group, members in averaged.items():
        rows = np.array([tasks[task].outcomes.shape[1] for task in members])
        by_metric = any(tasks[task].by_metric for task in members)
        weights: dict[Over, Floats] = {"macro": np.full(len(members), 1 / len(members))}
        if not by_metric:  # a metric of all rows together is no mean of those of the tasks
            weights = {"pooled": rows / rows.sum(), **weights}
        metric = metrics[members[0]] if len({metrics[task] for task in members}) == 1 else ""
        for over, task_weights in weights.items():
            average = paired.combine_intervals if by_metric else paired.mean_over_tasks
            mean = {model: average([means[task][model] for task in members], task_weights) for model in models}
            leads = {
                pair: paired.combine_intervals([differences[task][pair] for task in members], task_weights)
                for pair in pairs
            }
            gaps = tuple(_gap(pair, lead, none_if_nan(paired.p_of(lead))) for pair, lead in leads.items())
            measured.append(Part(group, over, metric, members, int(rows.sum()), _means(mean), gaps))
    return models, tuple(measured)


def _means(means: Mapping[str, Estimate]) -> tuple[Mean, ...]:
    return tuple(
        Mean(model, mean.value, none_if_nan(mean.low), none_if_nan(mean.high)) for model, mean in means.items()
    )


def _gap(pair: tuple[str, str], lead: Estimate, p: float | None, corrected: float | None = None) -> Gap:
    return Gap(*pair, lead.value, none_if_nan(lead.se), none_if_nan(lead.low), none_if_nan(lead.high), p, corrected)
