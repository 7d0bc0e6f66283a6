"""Decision between models, from K labelled rows of a domain without a known truth.

A ranking method orders the models. All that is said of certainty is asked of one belief in the models' values, a set of
`statistics.draws`. Where the method has an order for two models and the rows have none (they differ on no row, or as
often one way as the other), the probability stays 1/2, since the method's own reliability is unknown without the truth.

With a pool of unlabelled rows the first method that sees a pool and some labels orders the models, and has the belief
from labels and pool together. Otherwise the rows have it, by what the models are judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from factors.rounding import TIE, level
from factors.types import Floats, Ints
from ranker.errors import UsageError, listed, look_up
from ranker.numbers import counted, probability
from ranker.results.costs import SUPERLATIVES, Costs, ModelCost, ModelUsage, Preference, Quantity
from ranker.results.decision import DecidedModel, Decision, RowResult, have_one_label
from ranker.results.table import ScoreTable
from ranker.scoring.by_metric import JudgedRows
from ranker.scoring.paired_comparison import clusters_of, pairs_of, warnings
from ranker.scoring.score import averages, check, signed_scores
from ranker.scoring.unlabelled import ModelOrder, Part, UnlabelledContext
from ranker.statistics import combined, engine, posterior
from ranker.statistics.draws import NEAR, Draws
from ranker.statistics.engine import none_if_nan
from ranker.statistics.paired import PairedComparison
from ranker.statistics.posterior import LEVEL

STEPS = ("the order", "how sure it is", "pairs", "remarks")
"""The parts of a decision that may take long with many models, rows or classes."""


MISSING: Mapping[Quantity, str] = {
    "money": "no price of {} is known; `prices` names a file that has them, for answers whose tokens are known",
    "seconds": "the time of {} is not known; logs of Inspect and promptfoo record it",
}
"""Quantity -> what is missing where it is known of no model."""


def decide(
    table: ScoreTable,
    judged: JudgedRows,
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
    scale: tuple[float, float] | None = None,
    picked: int = 0,
    usage: Mapping[str, ModelUsage] | None = None,
    usage_notes: Sequence[str] = (),
    prefer: Preference | None = None,
    watch: Callable[[str, int], object] = lambda step, done: None,
) -> Decision:
    """Order models without a known truth, and compute how far these rows support the order.

    Args:
        judged: what the models are judged by on them, of the table's models and examples. Values, intervals,
            probabilities and comparisons are of that.
        method: orders the models; None for the first of a pool's methods that sees labels, without one for ACC+TIES
            (the metric's), else the metric.
        designed: the factor declared for the domain, which then breaks the ties.
        families: (M,) each model's architecture, in the order of the table.
        misled: model -> share of rows on which the shortcut misleads it, where known.
        in_domain: model -> its mean outcome in the domain that it was trained for, where known.
        groups: (K,) the group of each row; none where rows are independent.
        precomputed: whether the answers were made elsewhere, where more answers may have been possible.
        base: a model that each other one is compared with, however many they are.
        scale: worst and best mark, where outcomes are marks.
        usage: model -> what its answers take, where something is known.
        usage_notes: how that was measured, a sentence each.
        watch: is told what comes next, of `STEPS`, and how many more of them are done.

    Raises:
        UsageError: fewer than two models, or an unknown method; or the price of no model is known, and the cheapest is
            preferred.
    """
    check(table, len(table.examples))
    watch(STEPS[0], 0)
    by = _order(table, judged, method, designed, beside, seed)
    order = np.argsort(-level(by.score), kind="stable")
    scores = averages(table)
    metric_ties = f"{table.metric}{combined.TIES}"
    if by.method not in (metric_ties, *scores[0]):
        in_unit = by.score if beside is not None else judged.values
        scores = [{**row, by.method: float(value)} for row, value in zip(scores, in_unit, strict=True)]
    scored_by = table.metric if by.method == metric_ties else by.method
    outcomes = table.outcomes[:, judged.judged]
    clusters = clusters_of([group for group, is_judged in zip(groups, judged.judged, strict=False) if is_judged])
    watch(STEPS[1], 1)
    belief = by.belief or judged.belief(outcomes, clusters, np.random.default_rng(seed))
    sign, ends = (-1, belief.interval()[::-1]) if judged.lower_is_better else (1, belief.interval())
    expected = belief.expected
    if by.of_differences:
        expected, ends = (unknown := np.full(len(order), np.nan)), (unknown, unknown)
    best, near, equal = belief.best(), belief.near(), belief.equal(int(order[0]))
    shortfall = belief.shortfall()
    forecast = None if have_one_label(rows) else belief.forecast(LEVEL)
    watch(STEPS[2], 1)
    pairs: tuple[PairedComparison, ...] = ()
    if beside is None:
        compared = pairs_of(order.tolist(), table.models, base)
        pairs = judged.compare_pairs(table.models, outcomes, compared, seed, clusters)
    watch(STEPS[3], 1)
    decision = Decision(
        method=by.method,
        kind=by.kind,
        models=tuple(
            DecidedModel(
                name=table.models[m],
                family="" if families is None else families[m],
                rank=1 + int((by.score > by.score[m] + TIE).sum()),
                score=scores[m].get(scored_by),
                outcome=float(judged.values[m]),
                expected=none_if_nan(sign * expected[m]),
                low=none_if_nan(sign * ends[0][m]),
                high=none_if_nan(sign * ends[1][m]),
                p_best=float(best[m]),
                scores=scores[m],
                in_domain=(in_domain or {}).get(table.models[m]),
                misled=(misled or {}).get(table.models[m]),
                p_near_best=none_if_nan(near[m]),
                p_equal=float(equal[m]),
                shortfall=none_if_nan(shortfall[m]),
            )
            for m in order
        ),
        p_beats=tuple(map(tuple, belief.beats()[np.ix_(order, order)].tolist())),
        forecast=forecast,
        level=LEVEL,
        versus=pairs,
        rows=tuple(rows),
        metric=judged.name,
        lower_is_better=judged.lower_is_better,
        judges=by.judges,
        scale=scale,
        confirmed=by.confirmed,
        lost=by.lost,
        picked=picked,
        costs=compare_costs(belief, table.models, order, usage or {}, prefer, usage_notes),
    )
    notes = (*_notes(by, order, decision, outcomes[order], beside), *warnings(pairs, precomputed))
    if decision.lower_is_better:
        lower_is_better = f"Less of {decision.metric} is better"
        notes += (f"{lower_is_better}; a difference above 0 means that the first model is better.",)
    return replace(decision, notes=notes)


def compare_costs(
    belief: Draws,
    names: Sequence[str],
    order: Ints,
    usage: Mapping[str, ModelUsage],
    prefer: Preference | None = None,
    notes: Sequence[str] = (),
) -> Costs | None:
    """Compare what models take with how good they are; None if nothing is known of what they take.

    Args:
        order: (M,) their places in the order of the decision.
        usage: model -> what its answers take, where something is known.

    Raises:
        UsageError: the quantity that is preferred less of is known of no model.

    Example:
        >>> belief = Draws(np.array([[0.50, 0.49], [0.52, 0.53]]))
        >>> usage = {"a": ModelUsage(money=3), "b": ModelUsage(money=1)}
        >>> costs = compare_costs(belief, ["a", "b"], np.arange(2), usage)
        >>> [model.p_frontier for model in costs.models], costs.by
        ([0.5, 1.0], 'money')
    """
    if prefer is not None and all(getattr(model, prefer.by) is None for model in usage.values()):
        text = MISSING[prefer.by].format(listed(names))
        raise UsageError(f"`prefer` takes the {SUPERLATIVES[prefer.by]} model, and {text}", option="prefer")
    if all(model == ModelUsage() for model in usage.values()):
        return None
    of_models = [usage.get(name, ModelUsage()) for name in names]
    quantities: tuple[Quantity, ...] = ("money", "seconds") if prefer is None else (prefer.by,)
    amounts = {name: np.array([getattr(model, name) for model in of_models], dtype=float) for name in quantities}
    by = next((name for name, values in amounts.items() if prefer or (~np.isnan(values)).sum() > 1), None)
    frontier = np.full(len(names), np.nan) if by is None else belief.frontier(amounts[by])
    within = belief.near(NEAR if prefer is None else prefer.margin)
    models = tuple(
        ModelCost(
            names[m],
            of_models[m],
            none_if_nan(frontier[m]),
            none_if_nan(within[m]),
            *belief.difference(m, int(order[0])),
        )
        for m in order
    )
    return Costs(models, by, prefer, tuple(notes))


def resolve_method(method: str, names: Sequence[str], designed: str | None, pooled: Sequence[str] = ()) -> str:
    """Return the method of a name that a user wrote; case does not matter.

    Args:
        names: of the metric, and of the factors and baselines that are measured.
        pooled: the methods that read a pool, where there is one.

    Example:
        >>> resolve_method("acc+ties", ["ACC", "NLL"], None)
        'ACC+TIES'
    """
    return look_up("method", method, {name: name for name in (*names, *combined.names(names, designed), *pooled)})


def _order(
    table: ScoreTable,
    judged: JudgedRows,
    method: str | None,
    designed: str | None,
    beside: UnlabelledContext | None,
    seed: int,
) -> ModelOrder:
    """Choose the method, and score the models by it."""
    if beside is None and method is None and judged.order is not None:
        return ModelOrder(judged.name, "baseline", judged.order)
    names = [factor.name for factor in table.methods]
    mixed = combined.names(names, designed)
    of_labels = None if beside is None or beside.reads_metric else judged.of_labels
    pooled = {} if beside is None else beside.methods
    first = next((name for name, kind in pooled.items() if kind == "pool"), None)
    default = first or f"{table.metric}{combined.TIES}"
    method = resolve_method(
        method or (default if default in (*mixed, *pooled) else table.metric), names, designed, [*pooled]
    )
    if beside is not None and method in pooled:
        return beside.order(method, seed, of_labels)
    values = signed_scores(table)
    means = engine.means(values, np.arange(values.shape[2])[None])
    if method in mixed:
        score = combined.scores(method, means[:, 0], means[:, names.index(mixed[method])])[:, 0]
        return ModelOrder(method, "combined", score)
    column = names.index(method)
    return ModelOrder(method, table.methods[column].kind, means[:, column, 0])


STATED: Mapping[Part, str] = {
    "in-domain": "starts from the models' in-domain accuracies, and labels can overrule them",
    "voters": "reads what models say that are not ranked, and labels can overrule them",
    "judges": "reads more than people's marks, and these can overrule the rest",
}
"""Part of what a belief is made of -> how a method uses it."""


def _note_without(method: str, part: Part, without: Draws, order: Ints, names: Sequence[str]) -> str:
    """Say that something beside the labels counted, and how the models would be ranked without it."""
    near, score = without.near()[order], level(without.score[order])
    ranked = np.argsort(-score, kind="stable")
    changed = f"would be {', '.join(names[m] for m in ranked)}" if (np.diff(score) > TIE).any() else "would be the same"
    return (
        f"{method} {STATED[part]}. Without them the "
        f"order {changed}, and P(near best) of {names[ranked[0]]} {probability(float(near[ranked[0]]))} %."
    )


def _notes(
    by: ModelOrder, order: Ints, decision: Decision, outcomes: Floats, beside: UnlabelledContext | None
) -> list[str]:
    """Return notes on a decision, with (M, K) outcomes in the order of its models."""
    notes, won, score = [], posterior.wins(outcomes), by.score[order]
    if beside is not None:
        rows, reads = counted(beside.unlabelled, "row"), by.method in beside.methods
        notes.append(beside.adds if reads else f"{by.method} does not read the other {rows} of the pool.")
        if reads and by.warning:
            notes.append(f"{by.method} {'sees no label, and ' if by.kind == 'label-free' else ''}{by.warning}.")
    outcome = decision.metric or ("accuracy" if decision.rows and decision.rows[0].label else "mean outcome")
    no_estimate = f"the {outcome} on them is no estimate of {outcome} in the domain. Rows drawn at random give one."
    if decision.picked:
        notes.append(f"`rank-models label` picked {decision.picked:,} of the labelled rows, so {no_estimate}")
    elif beside is not None and not by.judges:
        notes.append(f"If `rank-models label` asked for the labelled rows, {no_estimate}")
    notes += [*by.notes]
    notes += [_note_without(by.method, part, belief, order, decision.names) for part, belief in by.without.items()]
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
