"""Evaluation of each ranking method on a score table with known truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from factors.rounding import TIE
from ranker.numbers import counted, percent
from ranker.results.evaluation import EvaluatedModel, Evaluation, MethodResult, PairResult
from ranker.results.table import ScoreTable
from ranker.scoring.by_metric import MetricRows
from ranker.scoring.reference import NEAR, Truth, guess_range
from ranker.scoring.score import averages, check, signed_scores
from ranker.statistics import engine, intervals, pooled
from ranker.statistics.agreement import Draws, MethodAgreement, Ranked, measure, pairwise_accuracies
from ranker.statistics.methods import COINS
from ranker.statistics.pool import CHOSEN, MANY, RANDOM, Pool, PoolMethod, Targets, possible

MIN_EXAMPLES = 60
"""Examples below which intervals are too narrow (docs/STATISTICS.md)."""

CURVE = (1, 2, 3, 5, 10, 20, 50)
"""Probe sizes of the learning curve."""


STEPS = ("probes", "the learning curve", "methods that see the pool", "remarks")
"""The parts of an evaluation that may take long with many models, examples or methods."""


def evaluate(
    table: ScoreTable,
    *,
    probe: int = 10,
    draws: Draws = "exact",
    seed: int = 0,
    families: Sequence[str] | None = None,
    misled: Mapping[str, float] | None = None,
    in_domain: Mapping[str, float] | None = None,
    designed: str | None = None,
    curve: Sequence[int] = CURVE,
    methods: Sequence[PoolMethod] = (),
    pool: Pool | None = None,
    targets: Targets | None = None,
    by_metric: MetricRows | None = None,
    watch: Callable[[str, int], object] = lambda step, done: None,
) -> Evaluation:
    """Measure how often each method, shown K examples, puts two models in the right order.

    Args:
        draws: B, or "exact" for all draws, for the methods that are means.
        families: (M,) each model's architecture, in the order of the table; splits the pairs.
        misled: model -> share of examples on which the shortcut misleads it; splits them, too.
        in_domain: model -> its mean outcome in the domain that it was trained for, where known.
        curve: probe sizes of the learning curve; those above N are left out.
        methods: those that see rows without their labels.
        pool: what the models make of the examples; without it, or their targets, these methods are left out.
        by_metric: what the examples add to a metric that is no mean, by which the truth of the table is. It is the
            first of the methods, always drawn.
        watch: is told what comes next, of `STEPS`, and how many more of them are done.
    """
    check(table, probe)
    truth = Truth.of(table, families, misled)
    values = signed_scores(table)[truth.order]
    ranked = Ranked.of(table.methods, designed)
    of_probes, of_curve, of_halves, of_pools = np.random.default_rng(seed).spawn(4)
    watch(STEPS[0], 0)
    measured, drawn = measure(values, ranked, probe, draws, truth.decided, of_probes)
    watch(STEPS[1], 1)
    sizes = [size for size in curve if size <= len(table.examples)]
    curves: pooled.Curves = {
        size: pairwise_accuracies(values, ranked, size, truth.decided, stream)
        for size, stream in zip(sizes, of_curve.spawn(len(sizes)), strict=True)
    }
    watch(STEPS[2], 1)
    if pool is None or targets is None:
        methods = ()
    else:
        ordered, known_targets = pool.ordered(truth.order), Targets(targets.outcomes[truth.order], targets.labels)
        methods = possible(methods, ordered, known_targets.labels)
        halves = pooled.Halves.draw(len(table.examples), probe, of_halves)
        population = pooled.Population(ordered, known_targets, truth.decided, halves)
        measured, curves = pooled.measure(methods, population, probe, measured, curves, of_pools)
    if by_metric is not None:
        of_metric = np.random.default_rng(seed).spawn(5)[4]
        measured, curves = _with_metric(by_metric, truth, measured, curves, probe, draws, of_metric)
    watch(STEPS[3], 1)
    measured = measured.with_coins(COINS if "across-family" in truth.splits else COINS[:1])
    results = _methods(table, truth, measured, curves, designed, {method.name: method.rule for method in methods})
    return Evaluation(
        draws=draws,
        models=_models(table, truth, measured, misled or {}, in_domain or {}),
        methods=results,
        pairs=_pairs(table, truth, measured),
        tied_pairs=int((~truth.decided).sum()),
        near=NEAR,
        metric="" if by_metric is None else by_metric.metric.name,
        notes=(
            *_notes(table, truth, measured, drawn),
            *_drawn_metric_note(by_metric, draws),
            *_one_label(targets),
            *_guess_note(truth, measured),
            *_label_worth_note(results, probe),
            *_traps(methods),
        ),
    )


def _with_metric(
    rows: MetricRows,
    truth: Truth,
    measured: MethodAgreement,
    curves: pooled.Curves,
    probe: int,
    count: Draws,
    rng: np.random.Generator,
) -> tuple[MethodAgreement, pooled.Curves]:
    """Put a metric that is no mean before the other methods: it is drawn, and they are measured against it."""
    name, examples = rows.metric.name, len(rows.judged)
    of_probes, *of_curve = rng.spawn(1 + len(curves))
    draws = engine.draw_probes(of_probes, examples, probe, MANY if count == "exact" else count)
    simulation = rows.simulate(draws, truth.decided, truth.order)
    right, noise = simulation.pairwise_accuracy, intervals.of_draws(simulation.pairwise_accuracy)
    first = MethodAgreement(
        names=(name,),
        kinds=("baseline",),
        beats=simulation.beats,
        influence=intervals.drawn_influence(right, draws, examples),
        noise=noise - probe * right.var(axis=1) / len(draws),
        noise_of_difference=np.zeros(1),
    )
    other_methods = replace(measured, noise_of_difference=measured.noise + first.noise[0])
    drawn = {}
    for (size, accuracies), stream in zip(curves.items(), of_curve, strict=True):
        probes = engine.draw_probes(stream, examples, size, MANY // 4)
        drawn[size] = {
            name: float(rows.simulate(probes, truth.decided, truth.order).pairwise_accuracy.mean()),
            **accuracies,
        }
    return first.joined(other_methods), drawn


def _methods(
    table: ScoreTable,
    truth: Truth,
    measured: MethodAgreement,
    curves: Mapping[int, Mapping[str, float]],
    designed: str | None,
    rules: Mapping[str, str],
) -> tuple[MethodResult, ...]:
    accuracy = measured.beats[truth.decided].mean(axis=0)
    low, high = intervals.of_pairwise_accuracy(accuracy, intervals.variance(measured.influence, measured.noise))
    least, most = intervals.over_models(measured.beats, truth.decided, len(truth.order))
    difference = accuracy - accuracy[0]
    variance = intervals.variance(measured.influence - measured.influence[0], measured.noise_of_difference)
    worse, better = intervals.of_difference(difference, variance)
    return tuple(
        MethodResult(
            name=name,
            kind=measured.kinds[f],
            pairwise_accuracy=float(accuracy[f]),
            ci_low=float(low[f]),
            ci_high=float(high[f]),
            models_low=engine.none_if_nan(least[f]),
            models_high=engine.none_if_nan(most[f]),
            difference=float(difference[f]),
            difference_low=float(worse[f]),
            difference_high=float(better[f]),
            draws=measured.sampled.get(name, (None, None))[0],
            draws_error=measured.sampled.get(name, (None, None))[1],
            rule=rules.get(name, RANDOM),
            designed=name == designed,
            dropped=dict(table.dropped.get(name, {})),
            curve={size: point.get(name, 0.5) for size, point in curves.items() if name in point or name in COINS},
            splits={part: float(measured.beats[rows, f].mean()) for part, rows in truth.splits.items()},
        )
        for f, name in enumerate(measured.names)
    )


def _models(
    table: ScoreTable,
    truth: Truth,
    measured: MethodAgreement,
    misled: Mapping[str, float],
    in_domain: Mapping[str, float],
) -> tuple[EvaluatedModel, ...]:
    ranks = engine.expected_ranks(measured.beats, len(truth.order))
    scores = averages(table)
    return tuple(
        EvaluatedModel(
            name=table.models[row],
            family="" if truth.families is None else truth.families[m],
            rank=1 + int((truth.outcome > truth.outcome[m] + TIE).sum()),
            outcome=float(truth.outcome[m]),
            scores=scores[row],
            expected_rank={name: float(ranks[m, f]) for f, name in enumerate(measured.names)},
            in_domain=in_domain.get(table.models[row]),
            misled=misled.get(table.models[row]),
        )
        for m, row in enumerate(truth.order)
    )


def _pairs(table: ScoreTable, truth: Truth, measured: MethodAgreement) -> tuple[PairResult, ...]:
    names = [table.models[row] for row in truth.order]
    pairs = engine.pairs(len(names))
    return tuple(
        PairResult(
            a=names[a],
            b=names[b],
            method=name,
            accuracy=float(measured.beats[p, f]),
            outcome_a=float(truth.outcome[a]),
            outcome_b=float(truth.outcome[b]),
            gap=float(truth.gap[p]),
            near=bool(truth.near[p]),
            same_family=None if truth.families is None else truth.families[a] == truth.families[b],
        )
        for p, (a, b) in enumerate(pairs)
        if truth.decided[p]
        for f, name in enumerate(measured.names)
    )


def _notes(table: ScoreTable, truth: Truth, measured: MethodAgreement, drawn: Mapping[str, int]) -> list[str]:
    """Return notes on the numbers."""
    notes = []
    if drawn:
        pairs = ", ".join(f"{name} {count}" for name, count in drawn.items())
        notes.append(f"From {MANY} draws, as no grid is fine enough to be exact: of {len(truth.gap)} pairs {pairs}.")
    for f, method in enumerate(table.methods):
        usable = table.values[:, f, engine.defined_for_all(table.values)[f]]
        if not usable.size or np.ptp(usable, axis=0).max() <= TIE:
            problem = "ties all models" if usable.size else "is defined on no example"
            notes.append(f"{method.name} {problem}; it counts as guessing.")
    if len(table.examples) < MIN_EXAMPLES:
        notes.append(f"{len(table.examples)} examples are few: intervals over other examples are rather too narrow.")
    return notes


def _drawn_metric_note(by_metric: MetricRows | None, count: Draws) -> list[str]:
    """Return the note on a metric that is no mean beside methods that are measured exactly."""
    if by_metric is None or count != "exact":
        return []
    return [f"{by_metric.metric.name} is not a mean over examples, so it is measured by {MANY:,} draws, not exactly."]


def _one_label(targets: Targets | None) -> list[str]:
    labels = set() if targets is None else set(targets.labels.tolist())
    alike = len(labels) == 1 and min(labels) >= 0  # below 0 is unknown
    return ["All examples have the same label; a model that always predicts it looks perfect."] if alike else []


def _guess_note(truth: Truth, measured: MethodAgreement) -> list[str]:
    if "GUESS" not in measured.names:
        return []
    low, high = guess_range(truth)
    return [
        "GUESS prefers one model, picked at random, in every draw: 50 % over all picks, "
        f"{percent(low)} to {percent(high)} % of the pairs by the pick."
    ]


def _label_worth_note(methods: Sequence[MethodResult], probe: int) -> list[str]:
    """Return the note on the worth of a label: random, with a pool, or chosen, against random ones for the metric."""
    metric = methods[0]
    with_pool = [method for method in methods if method.kind == "pool" and method.rule == RANDOM][:1]
    for pool_method in with_pool:
        alone, reached = (percent(method.pairwise_accuracy) for method in (metric, pool_method))
        note = f"{counted(probe, 'label')}: {metric.name} {alone} %, {pool_method.name} {reached} %"
        for method in [method for method in methods if method.rule == CHOSEN][:1]:
            note += f", and {percent(method.pairwise_accuracy)} % if `rank-models label` asks for them"
        enough = [
            n for n, share in sorted(metric.curve.items()) if n > probe and share >= pool_method.pairwise_accuracy - TIE
        ]
        if pool_method.pairwise_accuracy > metric.pairwise_accuracy + TIE:
            tried = max(n for n in (probe, *metric.curve) if not enough or n < enough[0])
            least = "" if enough and enough[0] == tried + 1 else f"{tried + 1} to "
            needs = f"{least}{enough[0]}" if enough else f"more than {tried}"
            note += f". {metric.name} needs {needs} labels to reach the {reached} % of {pool_method.name}"
        return [f"{note}."]
    return []


def _traps(methods: Sequence[PoolMethod]) -> list[str]:
    """Return the note on when the label-free methods fail."""
    traps = [f"{method.name}: {method.warning}" for method in methods if method.kind == "label-free" and method.warning]
    return [f"No method without labels is safe. {'; '.join(traps)}."] if traps else []
