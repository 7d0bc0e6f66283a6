"""The statistics of drawn probes: arrays in, arrays out; no names, no files, no models.

A ranking method gives each model the mean of its scores over the K examples of a draw. Everything here takes scores
that are turned so that *higher is better*, and compares models two at a time.

Axis letters: M models, F methods, N examples, K examples a draw, B draws, P = M (M - 1) / 2 pairs of models.
`draws` are (B, K) the examples that each draw shows, and `decided` are (P,) the pairs that have a true order.

In all modules here a generator `rng` is the only source of randomness of what takes one, and `clusters` are (N,)
numbers of the rows' clusters, in any order; None where rows are independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from factors.rounding import TIE
from factors.types import Bools, Floats, Ints

Derive = Callable[[Floats, Ints], Floats]
"""(means of draws, these draws) -> scores to rank by; see `simulate` for the shapes."""

CHUNK = 1_000
"""Draws handled at once: memory is CHUNK * (2 M F + P F / 8) * 8 bytes, 25 MB at M = 50, F = 12, whatever B is."""


def none_if_nan(value: float) -> float | None:
    """Return a number as saved records hold it: None for nan.

    Example:
        >>> none_if_nan(np.float64(0.5)), none_if_nan(np.nan)
        (0.5, None)
    """
    return None if np.isnan(value) else float(value)


def draw_probes(rng: np.random.Generator, examples: int, size: int, count: int) -> Ints:
    """Return (B, K) examples, K of N for each probe, with replacement; all methods and models share them.

    Raises:
        ValueError: a number below 1.

    Example:
        >>> draw_probes(np.random.default_rng(0), examples=600, size=10, count=500).shape
        (500, 10)

    Source: Singhal et al. 2022, section 4.3 and Appendix B.
    """
    if min(examples, size, count) < 1:
        raise ValueError(f"examples, size and count must be at least 1 (got {examples}, {size}, {count})")
    return rng.integers(examples, size=(count, size))


def defined_for_all(values: Floats) -> Bools:
    """Return (F, N) where every model has a score: an example undefined for one model leaves the method for all."""
    return np.asarray(~np.isnan(values).any(axis=0))


def means(values: Floats, draws: Ints) -> Floats:
    """Return (M, F, B) mean (M, F, N) scores over each draw, of the examples that are defined for all models: not nan.

    A draw without such an example leaves all models equal, at 0.

    Example:
        >>> means(np.array([[[0.0, 1.0, np.nan]]]), np.array([[0, 1], [1, 2], [2, 2]]))
        array([[[0.5, 1. , 0. ]]])
    """
    models, methods, examples = values.shape
    usable = defined_for_all(values)
    # one example's scores lie side by side, so that a draw is K reads of a long stretch each
    by_example = np.ascontiguousarray(np.where(usable, values, 0.0).reshape(-1, examples).T)
    sums = np.ascontiguousarray(_sums(by_example, draws).T).reshape(models, methods, len(draws))
    if usable.all():
        return np.asarray(sums / draws.shape[1])
    counts = _sums(np.ascontiguousarray(usable.T, dtype=np.float64), draws).T
    return np.asarray(sums / np.maximum(counts, 1.0))


def _sums(by_example: Floats, draws: Ints) -> Floats:
    """Return (B, columns) sums over each draw; one example of every draw at a time, to stay in the cache."""
    total = np.take(by_example, draws[:, 0], axis=0)
    for examples in draws.T[1:]:
        total += np.take(by_example, examples, axis=0)
    return total


def pairs(models: int) -> Ints:
    """Return (P, 2) pairs of models, first before second, in the order of every axis P.

    Example:
        >>> pairs(3).tolist()
        [[0, 1], [0, 2], [1, 2]]
    """
    return np.stack(np.triu_indices(models, 1), axis=1)


def compare_pairs(scores: Floats) -> npt.NDArray[np.int8]:
    """Return (P, F, B) half points of a pair's first model by (M, F, B) scores: 2 if it is higher, 1 for a tie, else 0.

    Example:
        >>> compare_pairs(np.array([[[0.9, 0.3, 0.1]], [[0.5, 0.1 + 0.2, 0.6]]])).tolist()
        [[[2, 1, 0]]]
    """
    models, methods, count = scores.shape
    points = np.empty((models * (models - 1) // 2, methods, count), dtype=np.int8)
    above, below = scores + TIE, scores - TIE
    start = 0
    for first in range(models - 1):
        stop = start + models - 1 - first
        np.greater(scores[first], above[first + 1 :], out=points[start:stop].view(np.bool_))
        points[start:stop] += (scores[first] >= below[first + 1 :]).view(np.int8)
        start = stop
    return points


@dataclass(frozen=True)
class Simulation:
    """Outcome of B draws.

    Attributes:
        beats: (P, F) share of draws in which the first model of the pair scores higher, a tie counting one half.
        pairwise_accuracy: (F, B) share of the decided pairs that each draw puts in the right order, a tie counting one
            half.
    """

    beats: Floats
    pairwise_accuracy: Floats


def simulate(values: Floats, draws: Ints, decided: Bools, derive: Derive = lambda means, draws: means) -> Simulation:
    """Let every method rank the models from every draw; memory stays bounded (see `CHUNK`).

    Args:
        values: (M, F, N) scores, higher is better, nan where undefined; the models in their true order, best first.
        decided: (P,) pairs whose truth is known and no tie; the first model of such a pair is the better one.
        derive: maps (M, F, b) means and their (b, K) draws to (M, F', b) scores to be ranked by, for methods that are
            no means.

    Raises:
        ValueError: there is no draw.
    """
    total, pairwise_accuracy = None, []
    for start in range(0, len(draws), CHUNK):
        chunk = draws[start : start + CHUNK]
        points = compare_pairs(derive(means(values, chunk), chunk))
        part = points.sum(axis=2, dtype=np.int64)
        total = part if total is None else total + part
        halves = points[decided].sum(axis=0, dtype=np.int32)
        any_decided = decided.any()
        pairwise_accuracy.append(halves / (2 * decided.sum()) if any_decided else np.full(points.shape[1:], 0.5))
    if total is None:
        raise ValueError("at least one draw is needed")
    return Simulation(total / (2 * len(draws)), np.concatenate(pairwise_accuracy, axis=1))


def expected_ranks(beats: Floats, models: int) -> Floats:
    """Return (M, F) ranks, 1 for the best, averaged over draws; models that tie share ranks.

    rank(a) = 1 + sum over b of (P(b beats a) + P(tie) / 2), by beats as in `Simulation`.

    Example:
        >>> expected_ranks(np.array([[1.0], [0.5], [0.0]]), 3).ravel()
        array([1.5, 3. , 1.5])
    """
    first, second = pairs(models).T
    ranks = np.ones((models, beats.shape[1]))
    np.add.at(ranks, first, 1 - beats)
    np.add.at(ranks, second, beats)
    return ranks
