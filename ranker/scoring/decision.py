"""Which of several models to take, from K labelled rows of a domain and no known truth.

The models are put in order by a ranking method. How sure that order is, is a question about outcomes, which
`statistics.posterior` answers from how good each model was on which row. Where the method has an order for two models
and the rows have none (they differ on no row, or as often one way as the other), the probability stays 1/2: how much
the method then knows cannot be told without the truth.

With a pool of unlabelled rows the models are put in order by the first method that sees one and some labels; how sure
that is, the method itself says from labels and pool together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from factors.types import Floats, Ints
from ranker.errors import UsageError, look_up
from ranker.numbers import counted
from ranker.results.decision import DecidedModel, Decision, RowResult
from ranker.results.table import ScoreTable
from ranker.scoring.by_metric import MetricRows
from ranker.scoring.paired_comparison import clusters_of, compare_pairs, pairs_of, warnings
from ranker.scoring.score import averages, check, turned
from ranker.statistics import combined, engine, paired, posterior, resampling
from ranker.statistics.engine import TIE
from ranker.statistics.pool import Kind, Pool, PoolMethod, Posterior, Targets, possible
from ranker.statistics.posterior import LEVEL


@dataclass(frozen=True)
class UnlabelledContext:
    """Rows of the domain without a label beside the labelled ones.

    Attributes:
        pool: what the models make of all of them.
        targets: what is known of them: of the labelled ones.
        places: (K,) where the labelled ones stand in the pool; a row that several labelled stands there several times.
        labels: (K,) what each of them was labelled.
        methods: what may rank by them.
    """

    pool: Pool
    targets: Targets
    places: Ints
    labels: Ints
    methods: tuple[PoolMethod, ...]

    @property
    def usable(self) -> dict[str, PoolMethod]:
        """The methods that a decision can go by, by name."""
        shown = self.targets.labels[self.places]
        return {one.name: one for one in possible(self.methods, self.pool, shown) if one.decides}


@dataclass(frozen=True)
class ModelOrder:
    """What models are put in order by.

    Attributes:
        method, kind: of the method.
        score: (M,) what it gives them, higher is better.
        known: how sure it is, where it says so itself.
    """

    method: str
    kind: Kind
    score: Floats
    known: Posterior | None = None


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
    kept: bool = False,
    base: str | None = None,
    by_metric: MetricRows | None = None,
    watch: Callable[[str, int], object] = lambda step, done: None,
) -> Decision:
    """Put models whose truth is not known in order, and say what of that order these rows support.

    Args:
        table: the scores on the labelled rows.
        method: what to order by; None for the first of a pool's methods that sees labels, without one for ACC+TIES
            (the metric's), else the metric.
        designed: the factor declared for the domain, which then breaks the ties.
        seed: of the draws behind P(best).
        families: (M,) each model's architecture, in the order of the table.
        misled: model -> how often the shortcut misleads it, a fraction, where that is known.
        in_domain: model -> its mean outcome in the domain that it was trained for, where that is known.
        beside: rows without labels; None where there are none.
        rows: (K,) the labelled rows as the models predict them, for reports.
        groups: (K,) which of them belong together; none where rows are independent.
        kept: the answers were made elsewhere, so that more of them could have been.
        base: a model that each other one is compared with, however many they are.
        by_metric: what the rows add to a metric that is no mean, of the table's models and examples. Values, intervals,
            probabilities and comparisons are then of that metric, and the order, where no method is named.
        watch: is told what comes next, of `STEPS`, and how many more of them are done.

    Raises:
        UsageError: fewer than two models, no row that all were judged on, an unknown method, or a pool beside a metric
            that is no mean.
    """
    check(table, len(table.examples))
    if by_metric is not None and beside is not None:
        raise UsageError(f"`metric` {by_metric.metric.name} is for labelled rows alone, and a pool is read, too")
    watch(STEPS[0], 0)
    if by_metric is not None and method is None:
        name = by_metric.metric.name
        by = ModelOrder(name, "baseline", by_metric.turned(by_metric.statistics.mean(axis=1)))
    else:
        by = _order(table, method, designed, beside)
    order = np.argsort(-np.round(by.score, 12), kind="stable")
    shown = averages(table)
    metric_ties = f"{table.metric}{combined.TIES}"
    if by.method not in (metric_ties, *shown[0]):
        own = by.score if by_metric is None else by_metric.values
        shown = [{**one, by.method: float(value)} for one, value in zip(shown, own, strict=True)]
    scored_by = table.metric if by.method == metric_ties else by.method
    judged = engine.defined(table.values)[0] if by_metric is None else by_metric.judged
    if not judged.any():
        raise UsageError("there is no row that all models were judged on; do their answers belong to the same rows?")
    outcomes = table.outcomes[:, judged]
    clusters = clusters_of([group for group, known in zip(groups, judged, strict=False) if known])
    rng = np.random.default_rng(seed)
    watch(STEPS[1], 1)
    if by_metric is not None:
        better, (best, near), (low, high), more = _sure_of_metric(by_metric, outcomes, clusters, rng)
    elif clusters is not None and not by.known:
        better, (best, near), (low, high), more = _sure_of_clusters(outcomes, clusters, order, rng)
    else:
        better, (best, near), (low, high), more = _posterior_summary(outcomes, by.known, order, rng)
    watch(STEPS[2], 1)
    rows_of = groups or ("",) * len(table.examples)
    if by_metric is not None:
        pairs = by_metric.compare_pairs(
            table.models, outcomes, pairs_of(order.tolist(), table.models, base), seed, clusters
        )
    else:
        pairs = () if beside is not None else compare_pairs(table, order.tolist(), rows_of, seed, base)
    watch(STEPS[3], 1)
    values = outcomes.mean(axis=1) if by_metric is None else by_metric.values
    found = Decision(
        method=by.method,
        kind=by.kind,
        models=tuple(
            DecidedModel(
                name=table.models[m],
                family="" if families is None else families[m],
                rank=1 + int((by.score > by.score[m] + TIE).sum()),
                score=shown[m].get(scored_by),
                outcome=float(values[m]),
                low=engine.none_if_nan(low[m]),
                high=engine.none_if_nan(high[m]),
                p_best=float(best[m]),
                scores=shown[m],
                in_domain=(in_domain or {}).get(table.models[m]),
                misled=(misled or {}).get(table.models[m]),
                p_near_best=float(near[m]),
            )
            for m in order
        ),
        p_beats=tuple(map(tuple, better[np.ix_(order, order)].tolist())),
        more_labels=tuple(tuple(None if n < 0 else n for n in row) for row in more[np.ix_(order, order)].tolist()),
        level=LEVEL,
        versus=pairs,
        rows=tuple(rows),
        metric="" if by_metric is None else by_metric.metric.name,
    )
    notes = (*_notes(by.score[order], found, outcomes[order], beside), *warnings(pairs, kept))
    if by_metric is not None:
        if not by_metric.metric.higher_is_better:
            less = f"Less of {by_metric.metric.name} is better"
            notes += (f"{less}; a difference above 0 says that the first model is better.",)
        notes += (f"How many more labels tell two models apart is said of means; {by_metric.metric.name} is none.",)
    return replace(found, notes=notes)


def resolve_method(method: str, names: Sequence[str], designed: str | None, pooled: Sequence[str] = ()) -> str:
    """The method of a name that somebody wrote; case does not matter.

    Args:
        method: the name.
        names: of the metric, and of the factors and baselines that are measured.
        designed: the factor declared for the domain.
        pooled: the methods that read a pool, where there is one.

    Raises:
        UnknownName: it is none of these, and no combination of them.

    Example:
        >>> resolve_method("acc+ties", ["ACC", "NLL"], None)
        'ACC+TIES'
    """
    return look_up("method", method, {name: name for name in (*names, *combined.names(names, designed), *pooled)})


def _order(table: ScoreTable, method: str | None, designed: str | None, beside: UnlabelledContext | None) -> ModelOrder:
    """The method to order by, and what it gives the models."""
    names = [factor.name for factor in table.methods]
    mixed = combined.names(names, designed)
    pooled = {} if beside is None else beside.usable
    first = next((one.name for one in pooled.values() if one.kind == "pool"), None)
    default = first or f"{table.metric}{combined.TIES}"
    method = resolve_method(
        method or (default if default in (*mixed, *pooled) else table.metric), names, designed, [*pooled]
    )
    if beside is not None and method in pooled:
        one, shown = pooled[method], beside.places[None]
        known = one.posterior(beside.pool, beside.places, beside.labels) if one.posterior else None
        score = known.score if known else one.estimate(beside.pool, beside.targets, shown)[:, 0]
        return ModelOrder(method, one.kind, score, known)
    values = turned(table)
    means = engine.means(values, np.arange(values.shape[2])[None])
    if method in mixed:
        score = combined.scores(method, means[:, 0], means[:, names.index(mixed[method])])[:, 0]
        return ModelOrder(method, "combined", score)
    column = names.index(method)
    return ModelOrder(method, table.methods[column].kind, means[:, column, 0])


Sure = tuple[Floats, tuple[Floats, Floats], tuple[Floats, Floats], Ints]
"""(M, M) P(better), (M,) P(best) and P(near best), the ends of (M,) intervals, (M, M) more labels."""


def _posterior_summary(
    outcomes: Floats, known: Posterior | None, order: Ints, rng: np.random.Generator, near: float = posterior.NEAR
) -> Sure:
    """What is known of the models' mean outcomes in the domain: by the method itself, else by the labels alone.

    Args:
        outcomes: (M, K) on the labelled rows.
        known: how sure the method is, if it says so.
        order: (M,) the models in the predicted order, in which P(best) is drawn.
        rng: the only source of randomness.
        near: see `posterior.best`.
    """
    if known:
        better, best = known.beats(), (known.best(), known.near(near))
        ends, more = known.interval(), known.more_labels()
    else:
        drawn, back = posterior.best(outcomes[order], rng, near=near), np.argsort(order)
        better, best = posterior.more_accurate(outcomes), (drawn[0][back], drawn[1][back])
        ends, more = posterior.intervals_of_accuracy(outcomes), posterior.more_labels(outcomes)
    more[np.maximum(better, 1 - better) >= LEVEL] = 0
    np.fill_diagonal(more, 0)
    return better, best, ends, more


def _sure_of_clusters(outcomes: Floats, clusters: Ints, order: Ints, rng: np.random.Generator) -> Sure:
    """The same of rows that belong together: a cluster is what is drawn anew, so that its rows have one weight.

    A cluster's outcomes are summed, in units of the largest cluster; intervals are those of `statistics.paired`, robust
    to clusters. How many more labels would tell two apart, is told in rows, of clusters of the mean size.

    Args:
        outcomes, order, rng: as for `_posterior_summary`.
        clusters: (K,) the number of each row's cluster.
    """
    sizes = np.bincount(clusters)
    better, best, _, more = _posterior_summary(
        _cluster_shares(outcomes, clusters), None, order, rng, posterior.NEAR * sizes.mean() / sizes.max()
    )
    errors = paired.standard_errors(outcomes, clusters)
    df = len(sizes) - 1
    ends = [paired.of_mean(mean, se, df) for mean, se in zip(outcomes.mean(axis=1), errors.tolist(), strict=True)]
    low = np.nan_to_num(np.array([end.low for end in ends]), nan=0.0)
    high = np.nan_to_num(np.array([end.high for end in ends]), nan=1.0)
    rows = np.where(more > 0, np.ceil(more * sizes.mean()).astype(np.int64), more)
    return better, best, (low, high), rows


def _sure_of_metric(rows: MetricRows, outcomes: Floats, clusters: Ints | None, rng: np.random.Generator) -> Sure:
    """The same of a metric that is no mean, from draws of weights; how many more labels would do is not known.

    Args:
        rows: what each row adds to the metric.
        outcomes, clusters, rng: as for `_sure_of_clusters`.
    """
    of_values, of_intervals = rng.spawn(2)
    prior = posterior.weigh(outcomes if clusters is None else _cluster_shares(outcomes, clusters))
    drawn = resampling.posterior_values(rows.statistics, rows.turned, prior, of_values, clusters)
    better = resampling.p_better(drawn)
    more = np.where(np.maximum(better, 1 - better) >= LEVEL, 0, -1)
    np.fill_diagonal(more, 0)
    sure_of_first = resampling.p_best(drawn), resampling.p_near_best(drawn)
    return better, sure_of_first, rows.intervals(of_intervals, clusters), more


def _cluster_shares(outcomes: Floats, clusters: Ints) -> Floats:
    """(M, G) outcomes summed over clusters, in units of the largest one."""
    return np.asarray(paired.cluster_sums(outcomes, clusters) / np.bincount(clusters).max())


def _notes(score: Floats, found: Decision, outcomes: Floats, beside: UnlabelledContext | None) -> list[str]:
    """What a reader of the decision has to know.

    Args:
        score: (M,) what the models were put in order by, in that order.
        found: the decision.
        outcomes: (M, K) of the models in that order.
        beside: rows without labels, if there are any.
    """
    notes, size, won = [], outcomes.shape[1], posterior.wins(outcomes)
    if beside is not None:
        # labelled rows of one text stand in one place
        more = beside.pool.probs.shape[1] - len(set(beside.places.tolist()))
        notes += [
            f"The pool adds {counted(more, 'row')} without a label.",
            "If `rank-models label` asked for the labelled rows, the accuracy on them is no estimate of accuracy in "
            "the domain. Rows drawn at random give one.",
        ]
        one = beside.usable.get(found.method)
        if one is not None and one.warning:
            notes.append(f"{one.name} {'sees no label, and ' if one.kind == 'label-free' else ''}{one.warning}.")
    if len(found.groups) == 1:
        these = "this one label" if size == 1 else f"these {size} labels"
        notes.append(f"No two models can be told apart with {these}.")
    if np.ptp(score) <= TIE:
        notes.append(f"{found.method} ties all models; their order is that in which they were given.")
    # counted, not taken from `p_beats`: with a pool these are no statement about the labels alone
    above = score[:, None] > score + TIE
    against = [(found.names[j], found.names[i]) for i, j in np.argwhere(above & (won < won.T)).tolist()]
    if against:
        b, a = against[0]
        others = len(against) - 1
        more_pairs = f", and {counted(others, 'more pair')} like this" if others else ""
        notes.append(
            f"{found.method} puts {a} above {b}, but on the labelled rows {b} did better more often{more_pairs}."
        )
    if len({row.label for row in found.rows}) == 1 and found.rows[0].label:
        notes.append("All rows have the same label; a model that always says it looks perfect.")
    return notes
