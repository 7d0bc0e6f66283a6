"""Pairwise accuracy of the methods that see a whole pool, and its variance.

Methods that see random labels are measured on as few draws as they declare, beside the metric, whose pairwise accuracy
is known. The metric's error on these draws serves as a control variate. Label-free methods see no label, so no draw
changes them. Methods that choose rows always see the labels of the same K rows. For these two kinds the pool varies:
halves of the population are drawn without replacement, and each half (or evenly spaced rows of a large one) is a pool.
The variance over halves estimates that of the result, since leaving out half of the rows changes an estimate about as
much as drawing all of them anew (the delete-half jackknife).

Sources: Owen 2013, "Monte Carlo theory, methods and examples", section 8.9; Shao and Wu 1989, "A general theory for
jackknife variance estimation". Axis letters as in `engine`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics import engine, intervals
from ranker.statistics.agreement import MethodAgreement
from ranker.statistics.pool import MANY, Pool, PoolMethod, Targets

HALVES = 50
"""Number of halves drawn from the population."""

DRAWN = 400
"""Most draws of K labels from each half. The variance that their noise adds is subtracted."""

FEWER_HALVES = 25
"""Number of halves for a method with few draws; all halves together take as many draws as the whole pool."""

POOLS, POOL_ROWS = 8, 500
"""Number of halves that rows are chosen from, and rows of a half in a pool: choosing a row reads all of them."""

MAX_CELLS, MIN_DRAWS = 5_000_000, 16
"""Budget of draws x models x rows that bounds the time of a slow method, and its fewest draws."""

CURVE = 8
"""Factor by which a point of a learning curve takes fewer draws."""

MAX_CURVE_LABELS, MAX_CURVE_CELLS = 20, 2_000_000
"""Most labels of a learning curve of chosen rows, and most labels x models x rows of all pools: each label is a step
of its own. Where either bound is below K, the curve ends at K labels."""


@dataclass(frozen=True)
class Halves:
    """Halves of a population, and probes from each; the same for every method.

    Attributes:
        rows: (halves) the examples of each, in their order.
        draws: (halves) (B, K) of these examples, by their places in the half.
    """

    rows: Sequence[Ints]
    draws: Sequence[Ints]

    @classmethod
    def draw(cls, examples: int, probe: int, rng: np.random.Generator) -> Halves:
        """Draw the halves and their probes."""
        row_rng, draw_rng = rng.spawn(2)
        rows = [np.sort(row_rng.permutation(examples)[: (examples + 1) // 2]) for _ in range(HALVES)]
        return cls(rows, [engine.draw_probes(draw_rng, len(half), probe, DRAWN) for half in rows])


@dataclass(frozen=True)
class Population:
    """Models and rows that the methods are measured on.

    Attributes:
        pool: the models' predictions on the N examples; the models in their true order.
        targets: labels and outcomes of these.
        decided: (P,) pairs that have a true order.
    """

    pool: Pool
    targets: Targets
    decided: Bools
    halves: Halves


Curves = Mapping[int, Mapping[str, float]]
"""K -> method -> pairwise accuracy with K labels."""


def measure(
    methods: Sequence[PoolMethod],
    on: Population,
    probe: int,
    metric: MethodAgreement,
    curves: Curves,
    rng: np.random.Generator,
) -> tuple[MethodAgreement, Curves]:
    """Measure the methods that see the whole pool.

    Args:
        methods: those whose needs the pool meets; the result leaves the others out.
        on: the population. Methods that choose rows are left out where K is above N / 2.
        metric: the result of the table's methods with K labels, the metric first, which the new ones follow.
        curves: their pairwise accuracies with other numbers of labels, to which those of the new ones are added.
    """
    half = on.pool.probs.shape[1] // 2
    random_labels, reached = measure_random_labels(
        [method for method in methods if method.drawn], on, probe, metric, curves, rng
    )
    free, always = unsupervised_accuracy([method for method in methods if method.kind == "label-free"], on)
    picking = [method for method in methods if method.pick is not None and probe <= half]
    cells = on.pool.probs.shape[0] * min(half, POOL_ROWS) * POOLS
    sizes = [size for size in curves if size <= min(half, max(probe, min(MAX_CURVE_LABELS, MAX_CURVE_CELLS // cells)))]
    chosen_rows, picked = measure_chosen_rows(picking, on, probe, sizes if picking else [])
    agreement = metric.joined(random_labels).joined(chosen_rows.joined(free).beside(metric))
    return agreement, {
        size: {**accuracies, **reached.get(size, {}), **picked.get(size, {}), **always}
        for size, accuracies in curves.items()
    }


def measure_random_labels(
    methods: Sequence[PoolMethod],
    on: Population,
    probe: int,
    metric: MethodAgreement,
    curves: Curves,
    rng: np.random.Generator,
) -> tuple[MethodAgreement, Curves]:
    """Measure methods that see the labels of random rows, with the draws that each declares; see `measure`."""
    beats, noise, noise_of_difference, sampled = [], [], [], {}
    name, (models, examples) = metric.names[0], on.pool.answered_labels.shape
    of_metric = intervals.variance(metric.influence[:1], np.zeros(1))[0]
    reached: dict[int, dict[str, float]] = {size: {} for size in curves}
    max_draws = max(MAX_CELLS // (models * examples), MIN_DRAWS)
    methods = [
        method if method.draws == MANY else replace(method, draws=min(method.draws, max_draws)) for method in methods
    ]
    for method, method_rng in zip(methods, rng.spawn(len(methods)), strict=True):
        simulation = _simulate(
            method, on.pool, on.targets, on.decided, engine.draw_probes(method_rng, examples, probe, method.draws)
        )
        slope = _slope(*simulation.pairwise_accuracy)
        of_draws = intervals.of_draws(simulation.pairwise_accuracy[1:] - slope * simulation.pairwise_accuracy[0])[0]
        of_rows, of_lead = population_variances(method, on)
        beats.append(np.clip(simulation.beats[:, 1] + slope * (metric.beats[:, 0] - simulation.beats[:, 0]), 0.0, 1.0))
        noise.append(of_draws + (slope**2 * metric.noise[0] if slope else 0.0) + of_rows)
        metric_noise = (1 - slope) ** 2 * metric.noise[0] if slope != 1 else 0.0
        noise_of_difference.append(of_draws + metric_noise + of_lead - of_metric)
        if method.draws < MANY:
            sampled[method.name] = method.draws, float(np.sqrt(of_draws))
        draws = engine.draw_probes(method_rng, examples, max(method.draws // CURVE, 2), max(curves, default=1)).T
        for size, accuracies in curves.items():  # the same draws, longer and longer: a curve of few is smooth
            few = _simulate(method, on.pool, on.targets, on.decided, draws[:, :size]).pairwise_accuracy.mean(axis=1)
            reached[size][method.name] = float(np.clip(few[1] + slope * (accuracies[name] - few[0]), 0.0, 1.0))
    agreement = MethodAgreement(
        names=tuple(method.name for method in methods),
        kinds=tuple(method.kind for method in methods),
        beats=np.reshape(beats, (len(methods), len(on.decided))).T,
        influence=np.zeros((len(methods), examples)),
        noise=np.array(noise),
        noise_of_difference=np.array(noise_of_difference),
        sampled=sampled,
    )
    return agreement, reached


def population_variances(method: PoolMethod, on: Population) -> tuple[float, float]:
    """Return the variances over populations of a method's pairwise accuracy, and of its difference to the metric.

    Both its labels and its pool come from the population, so influences of single examples do not give them.
    """
    draws_per_half = max(min(method.draws // FEWER_HALVES, DRAWN), 2)
    halves = HALVES if draws_per_half == DRAWN else FEWER_HALVES
    means, noise = [], []
    for half, draws in zip(on.halves.rows[:halves], on.halves.draws, strict=False):
        pool, targets = on.pool.part(half), on.targets.part(half)
        metric, accuracy = _simulate(method, pool, targets, on.decided, draws[:draws_per_half]).pairwise_accuracy
        values = np.stack([accuracy, accuracy - metric])
        means.append(values.mean(axis=1))
        noise.append(intervals.of_draws(values))
    of_accuracy, of_difference = np.maximum(np.var(means, axis=0) - np.mean(noise, axis=0), 0.0).tolist()
    return of_accuracy, of_difference


def _simulate(method: PoolMethod, pool: Pool, targets: Targets, decided: Bools, draws: Ints) -> engine.Simulation:
    """Simulate the metric and a method on the same draws."""

    def beside_metric(means: Floats, draws: Ints) -> Floats:
        return np.concatenate([means, method.estimate(pool, targets, draws)[:, None]], axis=1)

    return engine.simulate(targets.outcomes[:, None], draws, decided, beside_metric)


def _slope(metric: Floats, accuracy: Floats) -> float:
    """Return the slope of the regression of a method's pairwise accuracy on the metric's, over draws."""
    spread = metric.var()
    return float(np.mean((metric - metric.mean()) * (accuracy - accuracy.mean())) / spread) if spread > 0 else 0.0


def unsupervised_accuracy(methods: Sequence[PoolMethod], on: Population) -> tuple[MethodAgreement, dict[str, float]]:
    """Measure label-free methods; return the result, and each one's pairwise accuracy, which holds for every K."""
    no_draws = np.zeros((1, 0), dtype=np.int64)
    halves = ((on.pool.part(half), on.targets.part(half)) for half in on.halves.rows)
    parts = chain([(on.pool, on.targets)], halves)
    scores = np.array([[method.estimate(*part, no_draws)[:, 0] for method in methods] for part in parts])
    scores = scores.reshape(len(scores), len(methods), len(on.pool.probs))
    points = engine.compare_pairs(scores.transpose(2, 1, 0)) / 2  # of (M, F, 1 + halves)
    pairwise_accuracy = points[on.decided].mean(axis=0)
    agreement = _agreement(methods, points[:, :, 0], pairwise_accuracy[:, 1:].var(axis=1), on)
    return agreement, dict(zip(agreement.names, pairwise_accuracy[:, 0].tolist(), strict=True))


def measure_chosen_rows(
    methods: Sequence[PoolMethod], on: Population, probe: int, sizes: Sequence[int]
) -> tuple[MethodAgreement, dict[int, dict[str, float]]]:
    """Measure methods that choose the rows whose labels they see.

    Few halves give a rough variance; it is scaled so that the interval is as wide as that of Student's t.
    """
    from scipy.special import stdtrit

    if not methods:
        return _agreement(methods, np.zeros((len(on.decided), 0)), np.zeros(0), on), {}
    wanted = list(dict.fromkeys([probe, *sizes]))
    scores = []
    for rows in on.halves.rows[:POOLS]:
        half = rows[:: max(len(rows) // max(POOL_ROWS, probe), 1)]
        part, targets = on.pool.part(half), on.targets.part(half)
        picks = [
            (method, method.pick(part, targets, max(wanted))) for method in methods if method.pick
        ]  # the first k come first
        scores.append(
            [method.estimate(part, targets, picked[None, :size])[:, 0] for size in wanted for method, picked in picks]
        )
    points = engine.compare_pairs(np.array(scores).transpose(2, 1, 0)) / 2  # (P, sizes x methods, halves)
    pairwise_accuracy = points[on.decided].mean(axis=0)
    first, halves = slice(len(methods)), len(scores)  # K labels
    variance = pairwise_accuracy[first].var(axis=1, ddof=1)
    wider = (stdtrit(halves - 1, 0.975) / intervals.Z95) ** 2
    agreement = _agreement(methods, points[:, first].mean(axis=2), wider * variance, on)
    error = np.sqrt(variance / halves)
    sampled = {method.name: (halves, float(deviation)) for method, deviation in zip(methods, error, strict=True)}
    reached = pairwise_accuracy.mean(axis=1).reshape(len(wanted), len(methods)).tolist()
    return replace(agreement, sampled=sampled), {
        size: dict(zip(agreement.names, accuracies, strict=True))
        for size, accuracies in zip(wanted, reached, strict=True)
    }


def _agreement(methods: Sequence[PoolMethod], beats: Floats, noise: Floats, on: Population) -> MethodAgreement:
    """Return the result of methods without influences of single examples."""
    # the difference to the metric counts as one of independent estimates, so its interval is rather too wide
    return MethodAgreement(
        names=tuple(method.name for method in methods),
        kinds=tuple(method.kind for method in methods),
        beats=beats,
        influence=np.zeros((len(methods), on.pool.probs.shape[1])),
        noise=noise,
        noise_of_difference=noise,
    )
