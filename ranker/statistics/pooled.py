"""How often the methods that see a whole pool put two models in their true order, and how sure that is.

The label-free ones see no label, so that no draw changes them; SURROGATE+CHOICE, +FACILITY and +DISAGREE see the labels
of the K rows that a rule of `choice` picks, and these are always the same. What varies is the pool: halves of
the population are drawn, without replacement, and each is a pool. The spread over halves is also how sure the result
is, since leaving out half of the rows shakes an estimate about as much as drawing all of them anew (the delete-half
jackknife). So it is for SURROGATE, which sees K random labels: how often it is right, `agreement` says.

Source of that: Shao and Wu 1989, "A general theory for jackknife variance estimation". Axis letters as in
`engine`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics import choice, engine, intervals, surrogate
from ranker.statistics.agreement import Agreement
from ranker.statistics.methods import RULES, Kind, possible
from ranker.statistics.pool import Pool

HALVES = 50
"""Halves of the population that are drawn."""

DRAWN = 400
"""Draws of K labels from each of them, for SURROGATE; what their noise adds to its variance is taken off."""


def measure(
    pool: Pool,
    labels: Ints,
    probe: int,
    sizes: Sequence[int],
    decided: Bools,
    rng: np.random.Generator,
) -> tuple[Agreement, dict[int, dict[str, float]]]:
    """Rank by every method that sees the whole pool: see `chosen` and `label_free`.

    Args:
        pool, decided, rng: as for `label_free`.
        labels: (N,) the population's labels, for `chosen`, which is left out where K is above N / 2.
        probe: K.
        sizes: the K of a learning curve.

    Returns:
        What was found with K labels; and K -> method -> pairwise accuracy, for each of the sizes.
    """
    found, always = label_free(pool, decided, rng)
    half = len(labels) // 2
    if probe > half:
        return found, dict.fromkeys(sizes, always)
    first, picked = chosen(pool, labels, probe, [size for size in sizes if size <= half], decided, rng)
    return first.joined(found), {size: always | picked.get(size, {}) for size in sizes}


def variances(pool: Pool, labels: Ints, probe: int, decided: Bools, rng: np.random.Generator) -> tuple[float, float]:
    """The variances of SURROGATE's pairwise accuracy, and of its difference to ACC, over populations.

    Both the labels that it is shown and its pool are of the population, so that no single example's weight tells them.

    Args:
        pool: what the models make of the population; the models in their true order.
        labels: (N,) the population's labels.
        probe: K.
        decided: (P,) pairs that have a true order.
        rng: the only source of randomness.
    """
    outcomes = np.asarray(pool.predicted == labels, dtype=np.float64)[:, None]
    means, noise = [], []
    for half in _halves(pool, rng):
        draws = engine.draw_probes(rng, len(half), probe, DRAWN)
        derive = _beside_acc(pool.part(half), labels[half])
        acc, own = engine.simulate(outcomes[:, :, half], draws, decided, derive).pairwise_accuracy
        found = np.stack([own, own - acc])
        means.append(found.mean(axis=1))
        noise.append(intervals.of_draws(found))
    of_accuracy, of_difference = np.maximum(np.var(means, axis=0) - np.mean(noise, axis=0), 0.0).tolist()
    return of_accuracy, of_difference


def _beside_acc(pool: Pool, labels: Ints) -> engine.Derive:
    def derive(means: Floats, draws: Ints) -> Floats:
        return np.concatenate([means, surrogate.estimates(pool, labels, draws)[:, None]], axis=1)

    return derive


def label_free(pool: Pool, decided: Bools, rng: np.random.Generator) -> tuple[Agreement, dict[str, float]]:
    """Rank by what needs no label.

    Args:
        pool: what the models make of the population; the models in their true order.
        decided: (P,) pairs that have a true order.
        rng: the only source of randomness.

    Returns:
        What was found, and each method's pairwise accuracy, whatever K is.
    """
    methods = possible(pool)
    parts = [pool, *(pool.part(half) for half in _halves(pool, rng))]
    scores = np.array([[one.score(part) for one in methods] for part in parts])  # (1 + halves, F, M)
    points = engine.compare_pairs(scores.transpose(2, 1, 0)) / 2
    pairwise_accuracy = points[decided].mean(axis=0)
    names = [one.name for one in methods]
    found = _agreement(names, "label-free", points[:, :, 0], pairwise_accuracy[:, 1:].var(axis=1), pool)
    return found, dict(zip(names, pairwise_accuracy[:, 0].tolist(), strict=True))


def chosen(
    pool: Pool, labels: Ints, probe: int, sizes: Sequence[int], decided: Bools, rng: np.random.Generator
) -> tuple[Agreement, dict[int, dict[str, float]]]:
    """Rank by SURROGATE, shown the labels of the rows that are best to label, by each of `methods.RULES`.

    Args:
        pool: what the models make of the population; the models in their true order.
        labels: (N,) the population's labels.
        probe: K.
        sizes: other K; all are at most N / 2.
        decided: (P,) pairs that have a true order.
        rng: the only source of randomness.

    Returns:
        What was found with K labels, and K -> method -> pairwise accuracy.
    """
    wanted = list(dict.fromkeys([probe, *sizes]))
    scores = []
    for half in _halves(pool, rng):
        part, own = pool.part(half), labels[half]
        best = [choice.choose(part, max(wanted), rule=rule) for rule in RULES.values()]  # the best k of them come first
        scores.append([surrogate.estimates(part, own, one[None, :size])[:, 0] for size in wanted for one in best])
    points = engine.compare_pairs(np.array(scores).transpose(2, 1, 0)) / 2  # (P, sizes x rules, halves)
    pairwise_accuracy = points[decided].mean(axis=0)
    first = slice(len(RULES))  # K labels
    varying = pairwise_accuracy[first].var(axis=1)
    found = _agreement(list(RULES), "pool", points[:, first].mean(axis=2), varying, pool)
    reached = pairwise_accuracy.mean(axis=1).reshape(len(wanted), len(RULES))
    return found, {
        size: dict(zip(RULES, each, strict=True)) for size, each in zip(wanted, reached.tolist(), strict=True)
    }


def _halves(pool: Pool, rng: np.random.Generator) -> list[Ints]:
    size = pool.probs.shape[1]
    return [np.sort(rng.permutation(size)[: (size + 1) // 2]) for _ in range(HALVES)]


def _agreement(names: Sequence[str], kind: Kind, beats: Floats, noise: Floats, pool: Pool) -> Agreement:
    """What was found, as of methods that no single example's weight is known to change.

    The difference to ACC is taken for that of independent estimates, so that its interval is rather too wide.
    """
    return Agreement(
        names=tuple(names),
        kinds=(kind,) * len(names),
        beats=beats,
        influence=np.zeros((len(names), pool.probs.shape[1])),
        noise=noise,
        noise_vs_acc=noise,
    )
