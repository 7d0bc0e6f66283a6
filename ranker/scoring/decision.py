"""Decision between models, from K labelled rows of a domain without a known truth.

A ranking method orders the models. `statistics.posterior` computes the probability of that order from the models'
outcomes on the rows. Where the method has an order for two models and the rows have none (they differ on no row, or as
often one way as the other), the probability stays 1/2, since the method's own reliability is unknown without the truth.

With a pool of unlabelled rows the first method that sees a pool and some labels orders the models, and computes the
probabilities from labels and pool together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from factors.rounding import TIE, level
from factors.types import Floats, Ints
from ranker.errors import UsageError, look_up
from ranker.numbers import counted, probability
from ranker.results.decision import DecidedModel, Decision, RowResult, have_one_label
from ranker.results.table import ScoreTable
from ranker.scoring.by_metric import MetricRows
from ranker.scoring.paired_comparison import clusters_of, compare_pairs, pairs_of, warnings
from ranker.scoring.score import averages, check, signed_scores
from ranker.scoring.unlabelled import ModelOrder, UnlabelledContext
from ranker.statistics import combined, engine, paired, posterior, resampling
from ranker.statistics.forecast import AHEAD, Forecast, Outlook, forecast_labels
from ranker.statistics.pool import Posterior
from ranker.statistics.posterior import LEVEL

STEPS = ("the order", "how sure it is", "pairs", "remarks")
"""The parts of a decision that may take long with many models, rows or classes."""


def decide(
    table: ScoreTable,
    *,
    method: str | None = None,
    designed: str | None = None,
    seed: int = 0,
    families: Sequence[str] | None = None,
    misled: Mapping[str, float] | None = None,
    in_domain: Mapping[str, float] | None = None,
    beside: UnlabelledContext | None = None,
    rows: Sequence[RowResult] = (),
    groups: Sequence[str] = (),
    precomputed: bool = False,
    base: str | None = None,
    by_metric: MetricRows | None = None,
    watch: Callable[[str, int], object] = lambda step, done: None,
) -> Decision:
    """Order models without a known truth, and compute how far these rows support the order.

    Args:
        table: the scores on the labelled rows.
        method: orders the models; None for the first of a pool's methods that sees labels, without one for ACC+TIES
            (the metric's), else the metric.
        designed: the factor declared for the domain, which then breaks the ties.
        seed: of the draws behind P(best).
        families: (M,) each model's architecture, in the order of the table.
        misled: model -> share of rows on which the shortcut misleads it, where known.
        in_domain: model -> its mean outcome in the domain that it was trained for, where known.
        beside: rows without labels; None where there are none.
        rows: (K,) the labelled rows as the models predict them, for reports.
        groups: (K,) the group of each row; none where rows are independent.
        precomputed: whether the answers were made elsewhere, where more answers may have been possible.
        base: a model that each other one is compared with, however many they are.
        by_metric: what the rows add to a metric that is no mean, of the table's models and examples. Values, intervals,
            probabilities and comparisons are then of that metric, and the order, where no method is named or the
            method's posterior gives it.
        watch: is told what comes next, of `STEPS`, and how many more of them are done.

    Raises:
        UsageError: fewer than two models, no row that all were judged on, an unknown method, or a pool beside a metric
            that labels alone do not give, such as a correlation.
    """
    check(table, len(table.examples))
    if by_metric is not None and beside is not None and by_metric.by_label is None:
        name = by_metric.metric.name
        raise UsageError.about("metric", f"{name} is for labelled rows alone, and a pool is read, too", name)
    watch(STEPS[0], 0)
    if by_metric is not None and method is None and beside is None:
        name = by_metric.metric.name
        by = ModelOrder(name, "baseline", by_metric.signed_value(by_metric.statistics.mean(axis=1)))
    else:
        by = _order(table, method, designed, beside, seed, by_metric)
    order = np.argsort(-level(by.score), kind="stable")
    scores = averages(table)
    metric_ties = f"{table.metric}{combined.TIES}"
    if by.method not in (metric_ties, *scores[0]):
        by_values = by.score if by_metric is None or beside is not None else by_metric.values
        scores = [{**row, by.method: float(value)} for row, value in zip(scores, by_values, strict=True)]
    scored_by = table.metric if by.method == metric_ties else by.method
    judged = engine.defined_for_all(table.values)[0] if by_metric is None else by_metric.judged
    if not judged.any():
        text = "there is no row that all models were judged on; do their answers belong to the same rows?"
        raise UsageError(text, option="models")
    outcomes = table.outcomes[:, judged]
    clusters = clusters_of([group for group, is_judged in zip(groups, judged, strict=False) if is_judged])
    rng = np.random.default_rng(seed)
    watch(STEPS[1], 1)
    if by_metric is not None and not by.posterior:
        sure = _sure_of_metric(by_metric, outcomes, clusters, order, rng)
    elif clusters is not None and not by.posterior:
        sure = _sure_of_clusters(outcomes, clusters, order, rng)
    else:
        sure = _posterior_summary(outcomes, by.posterior, order, rng)
    watch(STEPS[2], 1)
    rows_of = groups or ("",) * len(table.examples)
    if beside is not None:
        pairs: tuple[paired.PairedComparison, ...] = ()
    elif by_metric is not None:
        pairs = by_metric.compare_pairs(
            table.models, outcomes, pairs_of(order.tolist(), table.models, base), seed, clusters
        )
    else:
        pairs = compare_pairs(table, order.tolist(), rows_of, seed, base)
    watch(STEPS[3], 1)
    values = outcomes.mean(axis=1) if by_metric is None else by_metric.values
    decision = Decision(
        method=by.method,
        kind=by.kind,
        models=tuple(
            DecidedModel(
                name=table.models[m],
                family="" if families is None else families[m],
                rank=1 + int((by.score > by.score[m] + TIE).sum()),
                score=scores[m].get(scored_by),
                outcome=float(values[m]),
                expected=engine.none_if_nan(sure.expected[m]),
                low=engine.none_if_nan(sure.ends[0][m]),
                high=engine.none_if_nan(sure.ends[1][m]),
                p_best=float(sure.best[m]),
                scores=scores[m],
                in_domain=(in_domain or {}).get(table.models[m]),
                misled=(misled or {}).get(table.models[m]),
                p_near_best=engine.none_if_nan(sure.near[m]),
                p_equal=float(sure.equal[m]),
            )
            for m in order
        ),
        p_beats=tuple(map(tuple, sure.better[np.ix_(order, order)].tolist())),
        forecast=None if have_one_label(rows) else sure.forecast,
        level=LEVEL,
        versus=pairs,
        rows=tuple(rows),
        metric="" if by_metric is None else by_metric.metric.name,
        lower_is_better=by_metric is not None and not by_metric.metric.higher_is_better,
    )
    notes = (*_notes(by, order, decision, outcomes[order], beside), *warnings(pairs, precomputed))
    if decision.lower_is_better:
        lower_is_better = f"Less of {decision.metric} is better"
        notes += (f"{lower_is_better}; a difference above 0 means that the first model is better.",)
    return replace(decision, notes=notes)


def resolve_method(method: str, names: Sequence[str], designed: str | None, pooled: Sequence[str] = ()) -> str:
    """Return the method of a name that a user wrote; case does not matter.

    Args:
        method: the name.
        names: of the metric, and of the factors and baselines that are measured.
        designed: the factor declared for the domain.
        pooled: the methods that read a pool, where there is one.

    Raises:
        UnknownName: there is no such method or combination.

    Example:
        >>> resolve_method("acc+ties", ["ACC", "NLL"], None)
        'ACC+TIES'
    """
    return look_up("method", method, {name: name for name in (*names, *combined.names(names, designed), *pooled)})


def _order(
    table: ScoreTable,
    method: str | None,
    designed: str | None,
    beside: UnlabelledContext | None,
    seed: int,
    by_metric: MetricRows | None,
) -> ModelOrder:
    """Choose the method, and score the models by it."""
    names = [factor.name for factor in table.methods]
    mixed = combined.names(names, designed)
    pooled = {} if beside is None else beside.methods
    first = next((name for name, kind in pooled.items() if kind == "pool"), None)
    default = first or f"{table.metric}{combined.TIES}"
    method = resolve_method(
        method or (default if default in (*mixed, *pooled) else table.metric), names, designed, [*pooled]
    )
    if beside is not None and method in pooled:
        return beside.order(method, seed, by_metric)
    values = signed_scores(table)
    means = engine.means(values, np.arange(values.shape[2])[None])
    if method in mixed:
        score = combined.scores(method, means[:, 0], means[:, names.index(mixed[method])])[:, 0]
        return ModelOrder(method, "combined", score)
    column = names.index(method)
    return ModelOrder(method, table.methods[column].kind, means[:, column, 0])


class Summary(NamedTuple):
    """Certainty about (M,) mean outcomes in the domain, or values of a metric.

    `better` is (M, M) P(better), `best` P(best), `near` P(near best), nan if unknown, `equal` P(as good as the first of
    the order); `ends` are those of the intervals.
    """

    better: Floats
    best: Floats
    near: Floats
    equal: Floats
    expected: Floats
    ends: tuple[Floats, Floats]
    forecast: Forecast | None


def _posterior_summary(
    outcomes: Floats, by_method: Posterior | None, order: Ints, rng: np.random.Generator, near: float = posterior.NEAR
) -> Summary:
    """Summarize the models' mean outcomes in the domain by the method's posterior, else by (M, K) outcomes."""
    ahead = rng.spawn(1)[0]
    if by_method:
        better, expected, ends, outlook = (
            *(by_method.beats(), by_method.expected(), by_method.interval()),
            by_method.outlook(),
        )
        best, close, equal = by_method.best(), by_method.near(near), by_method.equal(int(order[0]), near)
    else:
        # P(best) is drawn in the predicted order of the models
        best, close, equal = (drawn[np.argsort(order)] for drawn in posterior.best(outcomes[order], rng, near=near))
        better, outlook = posterior.more_accurate(outcomes), posterior.outlook(outcomes, ahead)
        expected, ends = posterior.expected_accuracy(outcomes), posterior.intervals_of_accuracy(outcomes)
    return Summary(better, best, close, equal, expected, ends, _forecast(outlook, ahead, near, close))


def _forecast(outlook: Outlook | None, rng: np.random.Generator, near: float, close: Floats) -> Forecast | None:
    """Forecast the labels until the leader is probably near the best, of (M,) P(near best) now."""
    if outlook is None:
        return None
    return forecast_labels(outlook, rng, LEVEL, near, float(close[outlook.mean.argmax()]))


def _sure_of_clusters(outcomes: Floats, clusters: Ints, order: Ints, rng: np.random.Generator) -> Summary:
    """Summarize outcomes of rows in clusters, which are resampled as a whole."""
    # A cluster's outcomes are summed, in units of the largest cluster; intervals are those of `statistics.paired`,
    # robust to clusters. Numbers of further labels are in rows, for clusters of the mean size.
    sizes = np.bincount(clusters)
    sure = _posterior_summary(
        _cluster_shares(outcomes, clusters), None, order, rng, posterior.NEAR * sizes.mean() / sizes.max()
    )
    errors, means = paired.standard_errors(outcomes, clusters), outcomes.mean(axis=1)
    df = len(sizes) - 1
    ends = [paired.of_mean(mean, se, df) for mean, se in zip(means, errors.tolist(), strict=True)]
    low = np.nan_to_num(np.array([end.low for end in ends]), nan=0.0)
    high = np.nan_to_num(np.array([end.high for end in ends]), nan=1.0)
    forecast = None if sure.forecast is None else sure.forecast.times(float(sizes.mean()))
    return sure._replace(expected=means, ends=(low, high), forecast=forecast)


def _sure_of_metric(
    rows: MetricRows, outcomes: Floats, clusters: Ints | None, order: Ints, rng: np.random.Generator
) -> Summary:
    """Summarize a metric that is no mean, from draws of weights."""
    of_values, of_intervals = rng.spawn(2)
    units = outcomes if clusters is None else _cluster_shares(outcomes, clusters)
    drawn = resampling.posterior_values(
        rows.statistics, rows.signed_value, posterior.weigh(units), rows.unseen, of_values, clusters
    )
    level, unknown = bool((np.ptp(drawn, axis=1) <= TIE).all()), np.full(len(drawn[0]), np.nan)
    shared = resampling.alike(rows.statistics)
    near = unknown if level else shared @ resampling.p_near_best(drawn)
    outlook = None if level else Outlook.of(drawn, posterior.label_gain(units), AHEAD)
    forecast = _forecast(outlook, of_values, posterior.NEAR, near)
    if forecast is not None and clusters is not None:
        forecast = forecast.times(outcomes.shape[1] / units.shape[1])
    return Summary(
        better=np.round(shared @ resampling.p_better(drawn) @ shared, 12),
        best=np.round(shared @ resampling.p_best(drawn), 12),
        near=near,
        equal=np.zeros_like(near) if level else (np.abs(drawn - drawn[:, order[:1]]) <= posterior.NEAR).mean(axis=0),
        expected=rows.values,
        ends=rows.intervals(of_intervals, clusters),
        forecast=forecast,
    )


def _in_domain_note(by: ModelOrder, without: Posterior, order: Ints, names: Sequence[str]) -> str:
    """Say that in-domain accuracies counted, and how the models would be ranked without them."""
    near, score = without.near(posterior.NEAR)[order], level(without.score[order])
    ranked = np.argsort(-score, kind="stable")
    changed = f"would be {', '.join(names[m] for m in ranked)}" if (np.diff(score) > TIE).any() else "would be the same"
    return (
        f"{by.method} starts from the models' in-domain accuracies, and labels can overrule them. Without them the "
        f"order {changed}, and P(near best) of {names[ranked[0]]} {probability(float(near[ranked[0]]))} %."
    )


def _cluster_shares(outcomes: Floats, clusters: Ints) -> Floats:
    """Return (M, G) outcomes summed over clusters, in units of the largest one."""
    return np.asarray(paired.cluster_sums(outcomes, clusters) / np.bincount(clusters).max())


def _notes(
    by: ModelOrder, order: Ints, decision: Decision, outcomes: Floats, beside: UnlabelledContext | None
) -> list[str]:
    """Return notes on a decision, with (M, K) outcomes in the order of its models."""
    notes, size, won, score = [], outcomes.shape[1], posterior.wins(outcomes), by.score[order]
    if beside is not None:
        measured = decision.metric or "accuracy"
        rows, reads = counted(beside.unlabelled, "row"), by.method in beside.methods
        notes += [
            f"The pool adds {rows}, read without labels."
            if reads
            else f"{by.method} does not read the other {rows} of the pool.",
            f"If `rank-models label` asked for the labelled rows, the {measured} on them is no estimate of {measured} "
            "in the domain. Rows drawn at random give one.",
        ]
        if reads and by.warning:
            notes.append(f"{by.method} {'sees no label, and ' if by.kind == 'label-free' else ''}{by.warning}.")
    if by.without_in_domain is not None:
        notes.append(_in_domain_note(by, by.without_in_domain, order, decision.names))
    if len(decision.groups) == 1:
        labels = "this one label" if size == 1 else f"these {size} labels"
        notes.append(f"No two models can be told apart with {labels}.")
    if decision.models[0].p_near_best is None:
        notes.append(
            "P(near best) is unknown: the models are level on these rows, and more rows may change "
            f"{decision.metric} by any amount."
        )
    if np.ptp(score) <= TIE:
        notes.append(f"{decision.method} ties all models; they are in the given order.")
    # counted, not taken from `p_beats`: with a pool these are no statement about the labels alone
    above = score[:, None] > score + TIE
    against = np.argwhere(above & (won < won.T)).tolist()
    if against:
        a, b = (decision.names[m] for m in against[0])
        count_others = len(against) - 1
        more_pairs = f", and {counted(count_others, 'more pair')} like this" if count_others else ""
        notes.append(
            f"{decision.method} puts {a} above {b}, but on the labelled rows {b} did better more often{more_pairs}."
        )
    if have_one_label(decision.rows):
        notes.append("All rows have the same label; a model that always predicts it looks perfect.")
    return notes
