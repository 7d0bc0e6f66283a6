"""How often the methods that see a whole pool put two models in their true order, and how sure that is.

The label-free ones see no label, so that no draw changes them; those that are shown chosen rows see the labels of the K
rows that a rule of `choice` picks, and these are always the same. What varies is the pool: halves of the population are
drawn, without replacement, and each is a pool. The spread over halves is also how sure the result is, since leaving out
half of the rows shakes an estimate about as much as drawing all of them anew (the delete-half jackknife). So it is for
the methods that see K random labels: how often these are right, `agreement` says.

Source of that: Shao and Wu 1989, "A general theory for jackknife variance estimation". Axis letters as in
`engine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics import choice, engine, intervals
from ranker.statistics.agreement import Agreement
from ranker.statistics.pool import Pool, PoolMethod, Targets

HALVES = 50
"""Halves of the population that are drawn."""

DRAWN = 400
"""Draws of K labels from each of them; what their noise adds to the variance is taken off."""


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


def measure(
    methods: Sequence[PoolMethod],
    pool: Pool,
    targets: Targets,
    probe: int,
    sizes: Sequence[int],
    decided: Bools,
    halves: Halves,
) -> tuple[Agreement, dict[int, dict[str, float]]]:
    """Rank by the methods that see the whole pool and no random labels: see `chosen` and `label_free`.

    Args:
        methods: those that the pool has what they need for; of the others nothing is said.
        pool, decided, halves: as for `label_free`.
        targets: the population's, for `chosen`, which is left out where K is above N / 2.
        probe: K.
        sizes: the K of a learning curve.

    Returns:
        What was found with K labels; and K -> method -> pairwise accuracy, for each of the sizes.
    """
    found, always = label_free([one for one in methods if one.kind == "label-free"], pool, targets, decided, halves)
    half = pool.probs.shape[1] // 2
    picking = [one for one in methods if one.kind == "pool" and not one.drawn]
    if probe > half or not picking:
        return found, dict.fromkeys(sizes, always)
    few = [size for size in sizes if size <= half]
    first, picked = chosen(picking, pool, targets, probe, few, decided, halves)
    return first.joined(found), {size: always | picked.get(size, {}) for size in sizes}


def variances(method: PoolMethod, pool: Pool, targets: Targets, decided: Bools, halves: Halves) -> tuple[float, float]:
    """The variances of a method's pairwise accuracy, and of its difference to the metric, over populations.

    Both the labels that it is shown and its pool are of the population, so that no single example's weight tells them.

    Args:
        method: one that is shown random labels.
        pool: what the models make of the population; the models in their true order.
        targets: the population's.
        decided: (P,) pairs that have a true order.
        halves: of the population, with probes.
    """
    means, noise = [], []
    for half, draws in zip(halves.rows, halves.draws, strict=True):
        known = targets.part(half)
        derive = _beside_metric(method, pool.part(half), known)
        metric, own = engine.simulate(known.outcomes[:, None], draws, decided, derive).pairwise_accuracy
        found = np.stack([own, own - metric])
        means.append(found.mean(axis=1))
        noise.append(intervals.of_draws(found))
    of_accuracy, of_difference = np.maximum(np.var(means, axis=0) - np.mean(noise, axis=0), 0.0).tolist()
    return of_accuracy, of_difference


def _beside_metric(method: PoolMethod, pool: Pool, targets: Targets) -> engine.Derive:
    def derive(means: Floats, draws: Ints) -> Floats:
        return np.concatenate([means, method.estimate(pool, targets, draws)[:, None]], axis=1)

    return derive


def label_free(
    methods: Sequence[PoolMethod], pool: Pool, targets: Targets, decided: Bools, halves: Halves
) -> tuple[Agreement, dict[str, float]]:
    """Rank by what needs no label.

    Args:
        methods: those that need none.
        pool: what the models make of the population; the models in their true order.
        targets: the population's, at which they do not look.
        decided: (P,) pairs that have a true order.
        halves: of the population.

    Returns:
        What was found, and each method's pairwise accuracy, whatever K is.
    """
    if not methods:
        none = np.zeros((len(decided), 0))
        return _agreement(methods, none, np.zeros(0), pool), {}
    parts = [np.arange(pool.probs.shape[1]), *halves.rows]
    scores = np.array(
        [one.of_parts(pool, parts) if one.of_parts else _of_each(one, pool, targets, halves) for one in methods]
    )
    points = engine.compare_pairs(scores.transpose(2, 0, 1)) / 2  # of (M, F, 1 + halves)
    pairwise_accuracy = points[decided].mean(axis=0)
    found = _agreement(methods, points[:, :, 0], pairwise_accuracy[:, 1:].var(axis=1), pool)
    return found, dict(zip(found.names, pairwise_accuracy[:, 0].tolist(), strict=True))


def _of_each(method: PoolMethod, pool: Pool, targets: Targets, halves: Halves) -> Floats:
    """(1 + halves, M) what a method that sees no label gives on a pool, and on each half of it."""
    nothing = np.zeros((1, 0), dtype=np.int64)
    parts = ((pool.part(half), targets.part(half)) for half in halves.rows)
    return np.array([method.estimate(*part, nothing)[:, 0] for part in chain([(pool, targets)], parts)])


def chosen(
    methods: Sequence[PoolMethod],
    pool: Pool,
    targets: Targets,
    probe: int,
    sizes: Sequence[int],
    decided: Bools,
    halves: Halves,
) -> tuple[Agreement, dict[int, dict[str, float]]]:
    """Rank by methods that are shown the labels of the rows that are best to label, by the rule of each.

    Args:
        methods: those that are shown chosen rows.
        pool: what the models make of the population; the models in their true order.
        targets: the population's.
        probe: K.
        sizes: other K; all are at most N / 2.
        decided: (P,) pairs that have a true order.
        halves: of the population.

    Returns:
        What was found with K labels, and K -> method -> pairwise accuracy.
    """
    wanted = list(dict.fromkeys([probe, *sizes]))
    scores = []
    for half in halves.rows:
        part, own = pool.part(half), targets.part(half)
        best = [choice.choose(part, max(wanted), rule=one.rule) for one in methods]  # the best k of them come first
        each = list(zip(methods, best, strict=True))
        scores.append([one.estimate(part, own, rows[None, :size])[:, 0] for size in wanted for one, rows in each])
    points = engine.compare_pairs(np.array(scores).transpose(2, 1, 0)) / 2  # (P, sizes x methods, halves)
    pairwise_accuracy = points[decided].mean(axis=0)
    first = slice(len(methods))  # K labels
    varying = pairwise_accuracy[first].var(axis=1)
    found = _agreement(methods, points[:, first].mean(axis=2), varying, pool)
    reached = pairwise_accuracy.mean(axis=1).reshape(len(wanted), len(methods)).tolist()
    return found, {size: dict(zip(found.names, each, strict=True)) for size, each in zip(wanted, reached, strict=True)}


def _agreement(methods: Sequence[PoolMethod], beats: Floats, noise: Floats, pool: Pool) -> Agreement:
    """What was found, as of methods that no single example's weight is known to change.

    The difference to the metric is taken for that of independent estimates, so that its interval is rather too wide.
    """
    return Agreement(
        names=tuple(one.name for one in methods),
        kinds=tuple(one.kind for one in methods),
        beats=beats,
        influence=np.zeros((len(methods), pool.probs.shape[1])),
        noise=noise,
        noise_of_difference=noise,
    )
