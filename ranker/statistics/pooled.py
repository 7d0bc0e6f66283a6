"""How often the methods that see a whole pool put two models in their true order, and how sure that is.

Those that are shown random labels are measured on as few draws as they declare, beside the metric, whose pairwise
accuracy is known: what the metric happens to have more or less on these draws is taken off by as much as the two go
together (a control variate). The label-free ones see no label, so that no draw changes them;
those that are shown chosen rows see the labels of the K rows that they ask for, always the same ones. What varies then
is the pool: halves of the population are drawn, without replacement, and each is a pool; of a large half so are evenly
spaced rows. The spread over halves is also how sure the result is, since leaving out half of the rows shakes an
estimate about as much as drawing all of them anew (the delete-half jackknife).

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
"""Halves of the population that are drawn."""

DRAWN = 400
"""Draws of K labels from each of them, at most; what their noise adds to the variance is taken off."""

FEWER_HALVES = 25
"""Halves that a method is asked about that takes few draws, as many over all of them as over the whole."""

POOLS, POOL_ROWS = 8, 500
"""Halves that rows are chosen from, and how many rows of a half make a pool: each step reads all of them."""

WORK, FEWEST = 5_000_000, 16
"""Draws x models x rows that a slow method is measured by, and the fewest draws."""

CURVE = 8
"""A point of a learning curve takes so many times fewer draws."""

LONGEST, ASKED = 20, 2_000_000
"""Labels that are asked for to draw a learning curve, and the most of them x models x rows of all pools. Where either
is less than K, there is no more to the curve than K labels. Each is a step of its own."""


@dataclass(frozen=True)
class Halves:
    """Halves of a population, and probes from each: the same for every method.

    Attributes:
        rows: (halves) the examples of each, in their order.
        draws: (halves) (B, K) of these examples, by their places in the half.
    """

    rows: Sequence[Ints]
    draws: Sequence[Ints]

    @classmethod
    def of(cls, examples: int, probe: int, rng: np.random.Generator) -> Halves:
        """Draw them.

        Args:
            examples: N.
            probe: K.
            rng: the only source of randomness.
        """
        of_rows, of_draws = rng.spawn(2)
        rows = [np.sort(of_rows.permutation(examples)[: (examples + 1) // 2]) for _ in range(HALVES)]
        return cls(rows, [engine.draw_probes(of_draws, len(half), probe, DRAWN) for half in rows])


@dataclass(frozen=True)
class Population:
    """What is ranked on.

    Attributes:
        pool: what the models make of the N examples; the models in their true order.
        targets: what is known of these.
        decided: (P,) pairs that have a true order.
        halves: of the examples.
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
    """Rank by the methods that see the whole pool.

    Args:
        methods: those that the pool has what they need for; of the others nothing is said.
        on: the population. Methods that are shown chosen rows are left out where K is above N / 2.
        probe: K.
        metric: what was found of the table's methods with K labels, the metric first.
        curves: what these reach with other numbers of labels.
        rng: the only source of randomness.

    Returns:
        What was found of all with K labels, those of the table first; and of each what it reaches with other numbers.
    """
    half = on.pool.probs.shape[1] // 2
    shown, reached = drawn([one for one in methods if one.drawn], on, probe, metric, curves, rng)
    free, always = unsupervised_accuracy([one for one in methods if one.kind == "label-free"], on)
    picking = [one for one in methods if one.pick is not None and probe <= half]
    each = on.pool.probs.shape[0] * min(half, POOL_ROWS) * POOLS
    few = [size for size in curves if size <= min(half, max(probe, min(LONGEST, ASKED // each)))]
    told, picked = chosen(picking, on, probe, few if picking else [])
    found = metric.joined(shown).joined(told.joined(free).beside(metric))
    return found, {
        size: {**known, **reached.get(size, {}), **picked.get(size, {}), **always} for size, known in curves.items()
    }


def drawn(
    methods: Sequence[PoolMethod],
    on: Population,
    probe: int,
    metric: MethodAgreement,
    curves: Curves,
    rng: np.random.Generator,
) -> tuple[MethodAgreement, Curves]:
    """Rank by methods that are shown the labels of random rows, as many draws as each declares; see `measure`."""
    beats, noise, noise_of_difference, sampled = [], [], [], {}
    name, (models, examples) = metric.names[0], on.pool.said.shape
    of_metric = intervals.variance(metric.influence[:1], np.zeros(1))[0]
    reached: dict[int, dict[str, float]] = {size: {} for size in curves}
    most = max(WORK // (models * examples), FEWEST)
    methods = [one if one.draws == MANY else replace(one, draws=min(one.draws, most)) for one in methods]
    for one, own in zip(methods, rng.spawn(len(methods)), strict=True):
        shown = _beside(one, on.pool, on.targets, on.decided, engine.draw_probes(own, examples, probe, one.draws))
        together = _together(*shown.pairwise_accuracy)
        of_draws = intervals.of_draws(shown.pairwise_accuracy[1:] - together * shown.pairwise_accuracy[0])[0]
        of_rows, of_lead = variances(one, on)
        beats.append(np.clip(shown.beats[:, 1] + together * (metric.beats[:, 0] - shown.beats[:, 0]), 0.0, 1.0))
        noise.append(of_draws + (together**2 * metric.noise[0] if together else 0.0) + of_rows)
        rest = (1 - together) ** 2 * metric.noise[0] if together != 1 else 0.0
        noise_of_difference.append(of_draws + rest + of_lead - of_metric)
        if one.draws < MANY:
            sampled[one.name] = one.draws, float(np.sqrt(of_draws))
        draws = engine.draw_probes(own, examples, max(one.draws // CURVE, 2), max(curves, default=1)).T
        for size, known in curves.items():  # the same draws, longer and longer: a curve of few is smooth
            few = _beside(one, on.pool, on.targets, on.decided, draws[:, :size]).pairwise_accuracy.mean(axis=1)
            reached[size][one.name] = float(np.clip(few[1] + together * (known[name] - few[0]), 0.0, 1.0))
    found = MethodAgreement(
        names=tuple(one.name for one in methods),
        kinds=tuple(one.kind for one in methods),
        beats=np.reshape(beats, (len(methods), len(on.decided))).T,
        influence=np.zeros((len(methods), examples)),
        noise=np.array(noise),
        noise_of_difference=np.array(noise_of_difference),
        sampled=sampled,
    )
    return found, reached


def variances(method: PoolMethod, on: Population) -> tuple[float, float]:
    """The variances of a method's pairwise accuracy, and of its difference to the metric, over populations.

    Both the labels that it is shown and its pool are of the population, so that no single example's weight tells them.

    Args:
        method: one that is shown random labels.
        on: the population, with its halves.
    """
    each = max(min(method.draws // FEWER_HALVES, DRAWN), 2)
    halves = HALVES if each == DRAWN else FEWER_HALVES
    means, noise = [], []
    for half, draws in zip(on.halves.rows[:halves], on.halves.draws, strict=False):
        pool, known = on.pool.part(half), on.targets.part(half)
        found = engine.simulate(known.outcomes[:, None], draws[:each], on.decided, _beside_metric(method, pool, known))
        metric, own = found.pairwise_accuracy
        both = np.stack([own, own - metric])
        means.append(both.mean(axis=1))
        noise.append(intervals.of_draws(both))
    of_accuracy, of_difference = np.maximum(np.var(means, axis=0) - np.mean(noise, axis=0), 0.0).tolist()
    return of_accuracy, of_difference


def _beside(method: PoolMethod, pool: Pool, targets: Targets, decided: Bools, draws: Ints) -> engine.Simulation:
    """What the metric has on these draws, and what a method has."""
    return engine.simulate(targets.outcomes[:, None], draws, decided, _beside_metric(method, pool, targets))


def _together(metric: Floats, own: Floats) -> float:
    """By how much a method's pairwise accuracy rises with the metric's, over draws: the slope of a regression."""
    spread = metric.var()
    return float(np.mean((metric - metric.mean()) * (own - own.mean())) / spread) if spread > 0 else 0.0


def _beside_metric(method: PoolMethod, pool: Pool, targets: Targets) -> engine.Derive:
    def derive(means: Floats, draws: Ints) -> Floats:
        return np.concatenate([means, method.estimate(pool, targets, draws)[:, None]], axis=1)

    return derive


def unsupervised_accuracy(methods: Sequence[PoolMethod], on: Population) -> tuple[MethodAgreement, dict[str, float]]:
    """Rank by what needs no label: what was found, and each method's pairwise accuracy, whatever K is."""
    if not methods:
        return _agreement(methods, np.zeros((len(on.decided), 0)), np.zeros(0), on), {}
    parts = [np.arange(on.pool.probs.shape[1]), *on.halves.rows]
    scores = np.array([one.of_parts(on.pool, parts) if one.of_parts else _of_each(one, on) for one in methods])
    points = engine.compare_pairs(scores.transpose(2, 0, 1)) / 2  # of (M, F, 1 + halves)
    pairwise_accuracy = points[on.decided].mean(axis=0)
    found = _agreement(methods, points[:, :, 0], pairwise_accuracy[:, 1:].var(axis=1), on)
    return found, dict(zip(found.names, pairwise_accuracy[:, 0].tolist(), strict=True))


def _of_each(method: PoolMethod, on: Population) -> Floats:
    """(1 + halves, M) what a method that sees no label gives on a pool, and on each half of it."""
    nothing = np.zeros((1, 0), dtype=np.int64)
    parts = ((on.pool.part(half), on.targets.part(half)) for half in on.halves.rows)
    return np.array([method.estimate(*part, nothing)[:, 0] for part in chain([(on.pool, on.targets)], parts)])


def chosen(
    methods: Sequence[PoolMethod], on: Population, probe: int, sizes: Sequence[int]
) -> tuple[MethodAgreement, dict[int, dict[str, float]]]:
    """Rank by methods that are shown the labels of the rows that they ask for.

    Few halves tell the variance roughly, and the interval is made wider by as much as that of Student's t is.

    Args:
        methods: those that ask.
        on: the population.
        probe: K.
        sizes: other K; all are at most N / 2.

    Returns:
        What was found with K labels, and K -> method -> pairwise accuracy.
    """
    from scipy.special import stdtrit

    if not methods:
        return _agreement(methods, np.zeros((len(on.decided), 0)), np.zeros(0), on), {}
    wanted = list(dict.fromkeys([probe, *sizes]))
    scores = []
    for rows in on.halves.rows[:POOLS]:
        half = rows[:: max(len(rows) // max(POOL_ROWS, probe), 1)]
        part, own = on.pool.part(half), on.targets.part(half)
        asked = [(one, one.pick(part, own, max(wanted))) for one in methods if one.pick]  # the first k are asked first
        scores.append([one.estimate(part, own, these[None, :size])[:, 0] for size in wanted for one, these in asked])
    points = engine.compare_pairs(np.array(scores).transpose(2, 1, 0)) / 2  # (P, sizes x methods, halves)
    pairwise_accuracy = points[on.decided].mean(axis=0)
    first, halves = slice(len(methods)), len(scores)  # K labels
    wider = (stdtrit(halves - 1, 0.975) / intervals.Z95) ** 2 if halves > 1 else np.inf
    found = _agreement(
        methods,
        points[:, first].mean(axis=2),
        wider * pairwise_accuracy[first].var(axis=1, ddof=min(halves - 1, 1)),
        on,
    )
    error = np.sqrt(pairwise_accuracy[first].var(axis=1, ddof=min(halves - 1, 1)) / halves)
    sampled = {one.name: (halves, float(own)) for one, own in zip(methods, error, strict=True)}
    reached = pairwise_accuracy.mean(axis=1).reshape(len(wanted), len(methods)).tolist()
    return replace(found, sampled=sampled), {
        size: dict(zip(found.names, each, strict=True)) for size, each in zip(wanted, reached, strict=True)
    }


def _agreement(methods: Sequence[PoolMethod], beats: Floats, noise: Floats, on: Population) -> MethodAgreement:
    """What was found, as of methods that no single example's weight is known to change.

    The difference to the metric is taken for that of independent estimates, so that its interval is rather too wide.
    """
    return MethodAgreement(
        names=tuple(one.name for one in methods),
        kinds=tuple(one.kind for one in methods),
        beats=beats,
        influence=np.zeros((len(methods), on.pool.probs.shape[1])),
        noise=noise,
        noise_of_difference=noise,
    )
