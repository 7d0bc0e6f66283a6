"""From a score table whose truth is known to a `Ranking`: how well each method would have ranked these models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from factors.types import Floats
from ranker.numbers import counted, percent
from ranker.results.ranking import Ranking
from ranker.results.records import MethodResult, ModelResult, PairResult
from ranker.results.table import ScoreTable
from ranker.scoring.reference import NEAR, Truth, guess_range
from ranker.scoring.score import averages, check, turned
from ranker.statistics import engine, intervals, pooled
from ranker.statistics.agreement import MANY, Agreement, Draws, Plan, measure, pairwise_accuracies
from ranker.statistics.methods import CHOSEN, COINS, LABEL_FREE, SURROGATE
from ranker.statistics.pool import Pool

FEW = 60
"""Examples below which intervals were seen to be too narrow (docs/STATISTICS.md)."""

CURVE = (1, 2, 3, 5, 10, 20, 50)
"""The probe sizes of the learning curve."""


def evaluate(
    table: ScoreTable,
    *,
    probe: int = 10,
    draws: Draws = "exact",
    seed: int = 0,
    ood: str = "",
    suite: str = "",
    families: Sequence[str] | None = None,
    misled: Mapping[str, float] | None = None,
    designed: str | None = None,
    curve: Sequence[int] = CURVE,
    pool: Pool | None = None,
) -> Ranking:
    """Say how often each method, shown K examples, would have put two models in the right order.

    Args:
        table: the scores, with known OOD accuracies.
        probe: K.
        draws: B, or "exact": all draws there are, for the methods that are means.
        seed: of the draws, and of what has to be drawn even where the rest is exact.
        ood, suite: names, kept in the result.
        families: (M,) each model's architecture, in the order of the table; splits the pairs.
        misled: model -> how often the shortcut misleads it, a fraction; splits them, too.
        designed: the factor designed for the set.
        curve: probe sizes of the learning curve; those above N are left out.
        pool: what the models make of the examples, for methods that see rows without their labels; None leaves these
            out, and so does a table without ACC.

    Raises:
        UsageError: K does not fit the population, fewer than two models, or no two that differ in OOD accuracy.
        ValueError: the table holds no OOD accuracies.
    """
    check(table, probe, ood)
    truth = Truth.of(table, families, misled)
    values = turned(table)[truth.order]
    labels = np.array(table.labels)
    plan = Plan.of(table.methods, designed, None if pool is None else pool.ordered(truth.order), labels)
    rng = np.random.default_rng(seed)
    measured, drawn = measure(values, plan, probe, draws, truth.decided, rng)
    sizes = [size for size in curve if size <= len(table.examples)]
    curves = {size: pairwise_accuracies(values, plan, size, truth.decided, rng) for size in sizes}
    if plan.pool is not None:
        added, reached = pooled.measure(plan.pool, labels, probe, sizes, truth.decided, rng)
        measured = measured.joined(added)
        measured = measured.varying(SURROGATE, *pooled.variances(plan.pool, labels, probe, truth.decided, rng))
        curves = {size: {**curves[size], **reached[size]} for size in sizes}
    measured = measured.with_coins(COINS if "across-family" in truth.splits else COINS[:1])
    methods = _methods(table, truth, measured, curves, designed)
    return Ranking(
        mode="evaluation",
        ood=ood,
        suite=suite,
        probe=probe,
        draws=draws,
        seed=seed,
        table=table,
        models=_models(table, truth, measured),
        methods=methods,
        pair_results=_pairs(table, truth, measured),
        tied_pairs=int((~truth.decided).sum()),
        near=NEAR,
        notes=(*_notes(table, truth, measured, drawn), *_budget(methods, probe), *_traps(methods)),
    )


def _methods(
    table: ScoreTable,
    truth: Truth,
    measured: Agreement,
    curves: Mapping[int, Mapping[str, float]],
    designed: str | None,
) -> tuple[MethodResult, ...]:
    accuracy = measured.beats[truth.decided].mean(axis=0)
    low, high = intervals.of_pairwise_accuracy(accuracy, intervals.variance(measured.influence, measured.noise))
    least, most = intervals.over_models(measured.beats, truth.decided, len(truth.order))
    versus = _versus_acc(measured, accuracy)
    return tuple(
        MethodResult(
            name=name,
            kind=measured.kinds[f],
            few_shot_accuracy=float(accuracy[f]),
            ci_low=float(low[f]),
            ci_high=float(high[f]),
            models_low=_optional(least[f]),
            models_high=_optional(most[f]),
            vs_acc=versus[f][0],
            vs_acc_low=versus[f][1],
            vs_acc_high=versus[f][2],
            designed=name == designed,
            dropped=dict(table.dropped.get(name, {})),
            curve={size: found.get(name, 0.5) for size, found in curves.items() if name in found or name in COINS},
            splits={part: float(measured.beats[rows, f].mean()) for part, rows in truth.splits.items()},
        )
        for f, name in enumerate(measured.names)
    )


def _versus_acc(measured: Agreement, accuracy: Floats) -> list[tuple[float | None, float | None, float | None]]:
    """Of each method its difference to ACC, and the ends of the 95 % interval of that."""
    acc = measured.acc
    if acc is None:
        return [(None, None, None)] * len(accuracy)
    difference = accuracy - accuracy[acc]
    variance = intervals.variance(measured.influence - measured.influence[acc], measured.noise_vs_acc)
    low, high = intervals.of_difference(difference, variance)
    return [(float(d), float(a), float(b)) for d, a, b in zip(difference, low, high, strict=True)]


def _models(table: ScoreTable, truth: Truth, measured: Agreement) -> tuple[ModelResult, ...]:
    ranks = engine.expected_ranks(measured.beats, len(truth.order))
    scores = averages(table)
    return tuple(
        ModelResult(
            name=table.models[row],
            family="" if truth.families is None else truth.families[m],
            ood_accuracy=float(truth.accuracy[m]),
            rank=1 + int((truth.accuracy > truth.accuracy[m] + engine.TIE).sum()),
            scores=scores[row],
            expected_rank={name: float(ranks[m, f]) for f, name in enumerate(measured.names)},
        )
        for m, row in enumerate(truth.order)
    )


def _pairs(table: ScoreTable, truth: Truth, measured: Agreement) -> tuple[PairResult, ...]:
    names = [table.models[row] for row in truth.order]
    pairs = engine.pairs(len(names))
    return tuple(
        PairResult(
            a=names[a],
            b=names[b],
            method=name,
            accuracy=float(measured.beats[p, f]),
            accuracy_a=float(truth.accuracy[a]),
            accuracy_b=float(truth.accuracy[b]),
            gap=float(truth.gap[p]),
            near=bool(truth.near[p]),
            same_family=None if truth.families is None else truth.families[a] == truth.families[b],
        )
        for p, (a, b) in enumerate(pairs)
        if truth.decided[p]
        for f, name in enumerate(measured.names)
    )


def _notes(table: ScoreTable, truth: Truth, measured: Agreement, drawn: Mapping[str, int]) -> list[str]:
    """What a reader of the numbers has to know."""
    notes = []
    if drawn:
        pairs = ", ".join(f"{name} {count}" for name, count in drawn.items())
        notes.append(f"From {MANY} draws, as no grid is fine enough to be exact: of {len(truth.gap)} pairs {pairs}.")
    for f, method in enumerate(table.methods):
        usable = table.values[:, f, engine.defined(table.values)[f]]
        if not usable.size or np.ptp(usable, axis=0).max() <= engine.TIE:
            why = "ties all models" if usable.size else "is defined on no example"
            notes.append(f"{method.name} {why}; it counts as a coin.")
    if len(table.examples) < FEW:
        notes.append(f"{len(table.examples)} examples are few: intervals over other examples are rather too narrow.")
    if len(set(table.labels)) == 1:
        notes.append("All examples have the same label; a model that always says it looks perfect.")
    if "GUESS" in measured.names:
        low, high = guess_range(truth)
        notes.append(
            "GUESS prefers one model, picked blindly, in every draw: 50 % over all picks, "
            f"{percent(low)} to {percent(high)} % of the pairs by the pick."
        )
    return notes


def _budget(methods: Sequence[MethodResult], probe: int) -> list[str]:
    """What a label is worth: at random, with a pool, and chosen; and how many random ones accuracy would need."""
    known = {method.name: method for method in methods}
    if SURROGATE not in known:
        return []
    acc, found = known["ACC"], known[SURROGATE]
    of_acc, of_pool = (percent(one.few_shot_accuracy) for one in (acc, found))
    said = f"{counted(probe, 'label')}: ACC {of_acc} %, {found.name} {of_pool} %"
    if CHOSEN in known:
        said += f", and {percent(known[CHOSEN].few_shot_accuracy)} % if `rank-models choose` picks them"
    enough = [n for n, reached in sorted(acc.curve.items()) if n > probe and reached >= found.few_shot_accuracy]
    if found.few_shot_accuracy > acc.few_shot_accuracy:
        tried = max(n for n in (probe, *acc.curve) if not enough or n < enough[0])
        least = "" if enough and enough[0] == tried + 1 else f"{tried + 1} to "
        needs = f"{least}{enough[0]}" if enough else f"more than {tried}"
        said += f". For the {of_pool} % of {found.name} ACC needs {needs} labels"
    return [f"{said}."]


def _traps(methods: Sequence[MethodResult]) -> list[str]:
    """When those methods fail that see no label."""
    names = {method.name for method in methods if method.kind == "label-free"}
    traps = [f"{one.name}: {one.trap}" for one in LABEL_FREE if one.name in names]
    return [f"None of the methods that see no label is safe. {'; '.join(traps)}."] if traps else []


def _optional(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
