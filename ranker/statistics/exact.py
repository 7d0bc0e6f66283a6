"""Pairwise accuracy over *all* probes instead of random ones: no seed, no noise of draws.

The first model of a pair wins a probe where the sum S of K differences of scores, drawn with replacement from the N
differences d_i of the pair, is above zero. P(S > 0) + P(S = 0) / 2 comes from the K-fold convolution of the d_i's
distribution: lay it on a grid, take its Fourier transform to the power K, and sum what lies above zero.

- Scores with a common step (ACC: 0 or 1; counts) lie on the grid as they are. The result is exact to rounding; for ACC
  it is the trinomial probability.
- Real scores lie between grid points; each is split over its three nearest so that mass, mean and variance are kept.
  The remaining error is of third order: for a smooth S at most K 0.375 h^3 / 6 max |f''| with f the density of S and h
  the step, for a normal S 0.025 (h / sigma)^3 / sqrt(K). With the step used, sigma / 5.5 or finer, that is below 9e-5
  for K of 3 or more, and 5e-5 at K = 10. Smoothness of S is checked: where its mass around zero bends (`grid.BEND`),
  the grid is refined, up to `MAX_POINTS`. Where that is not enough, or would be more work, all sums of half a probe are
  listed if there are no more than `LISTED`; else the probability is nan, and the caller has to draw. The grid spans all
  sums, so nothing wraps around.

`influence` computes the same for the K - 1 examples that follow a first one. It yields a standard error, not a reported
probability, so draws are good enough where a modest grid is not fine enough.

An example that is undefined for a model counts as a difference of zero, which has the same effect as leaving it out of
both means. Axis letters as in `engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations_with_replacement
from math import comb, factorial

import numpy as np

from factors.rounding import TIE
from factors.types import Bools, Floats, Ints
from ranker.statistics.engine import defined_for_all, pairs
from ranker.statistics.grid import Grid, points_for, room, share

ERROR = 1e-4
"""Largest error of a returned probability; derived above, and checked in the tests."""

STEPS = 5.5
"""Grid steps in a standard deviation of the differences, at first."""

REFINE = 8
"""Factor by which a grid that is too coarse gets more points."""

MAX_POINTS = 2**22
"""Most points of a refined grid; one of this size takes 200 MB."""

MODEST = 2**16
"""Most grid points for influences; beyond, drawing the examples that follow costs less."""

MAX_TOTAL_POINTS = 2**24
"""Most points of refined grids in all, over the pairs of a method: a second or two."""

LEVELS = 64
"""Most steps between the least and the greatest score that are laid on the grid as they are."""

COUNTED = 4
"""Most levels of scores, a common step apart, that are counted before they are laid on a grid."""

CELLS = 2**20
"""Differences (pairs, N) in memory at once: about 30 bytes * CELLS, 30 MB."""

CACHED = 2**17
"""Grid points handled at once, few enough for the processor's cache: about 40 bytes * CACHED, 5 MB."""

MAX_SUMS_LISTED_FIRST = 2**13
"""Most sums of half a probe that are listed without trying a grid: K = 10 from up to 13 examples."""

LISTED = 2**22
"""Most sums that are listed and sorted, over all pairs of a method: some seconds."""


def probabilities(values: Floats, size: int, max_points: int = MAX_TOTAL_POINTS) -> Floats:
    """Return (P, F) P(a probe of K examples puts the first model of a pair above the second) + P(tie) / 2.

    They are off by at most `ERROR`; nan where no grid is fine enough, as for scores that differ on very different
    scales (probabilities within 1e-4 of 0 or 1).

    Args:
        values: (M, F, N) scores, higher is better, nan where undefined.
        max_points: most points of refined grids in all, over the pairs of a method.

    Example:
        >>> accuracy = np.array([[[1.0, 1.0, 0.0, 1.0]], [[1.0, 0.0, 1.0, 0.0]]])  # + - 0 -: two wins, one loss
        >>> probabilities(accuracy, 1)
        array([[0.625]])
    """
    models, methods, _ = values.shape
    beats = np.empty((models * (models - 1) // 2, methods))
    for f in range(methods):
        scores, step = _scores(values[:, f])
        for chunk, difference, often in _counted_differences(scores) if step and _few(scores) else _differences(scores):
            beats[chunk, f] = _above_zero(difference, often, size, step, max_points)
    return np.asarray(np.round(beats, 12))  # so that the transform's rounding does not blur 0, 1/2 and 1


def influence(values: Floats, size: int, decided: Bools, draws: Ints) -> Floats:
    """Return (F, N) influences of each example on a method's pairwise accuracy, with the mean of each method's zero.

    The pairwise accuracy A is a function of the examples' weights. Its derivative with respect to that of example i is
    U_i = K (A_i - A), with A_i the pairwise accuracy of the probes whose first example is i; sum U_i^2 / N^2 estimates
    the variance of A.

    Args:
        values: (M, F, N) scores, higher is better, the models in their true order.
        decided: (P,) the pairs that A is the mean over.
        draws: (B, K) the examples that each draw shows; its last K - 1 stand for all that may follow the
            first where there are more than B of these and no small grid is fine enough.
    """
    _, methods, examples = values.shape
    total = np.zeros((methods, examples))
    for f in range(methods):
        scores, step = _scores(values[:, f])
        for chunk, difference, _ in _differences(scores):
            decided_difference = difference[decided[chunk]]
            if len(decided_difference):
                total[f] += _given_first(decided_difference, size, step, draws[:, 1:]).sum(axis=0)
    given_first = total / max(int(decided.sum()), 1)
    return np.asarray(size * (given_first - given_first.mean(axis=1, keepdims=True)))


def _scores(values: Floats) -> tuple[Floats, float | None]:
    """Return (M, N) scores, 0 where they do not count, and the common step of their differences if there is one."""
    usable = defined_for_all(values[:, None])[0]
    levels = np.unique(values[:, usable])
    gaps = np.diff(levels)
    gaps = gaps[gaps > TIE]
    step = float(gaps.min()) if len(gaps) else 1.0
    multiples = gaps / step
    common = multiples.sum() <= LEVELS and np.abs(multiples - np.rint(multiples)).max(initial=0.0) <= 1e-9
    return np.where(usable, values, 0.0), step if common else None


def _differences(scores: Floats) -> Iterator[tuple[slice, Floats, None]]:
    """Yield a bounded number of pairs at once: their slice, and their (pairs, N) differences."""
    first, second = pairs(len(scores)).T
    count = max(CELLS // scores.shape[1], 1)
    for start in range(0, len(first), count):
        chunk = slice(start, start + count)
        difference = scores[first[chunk]] - scores[second[chunk]]
        difference[np.abs(difference) <= TIE] = 0.0
        yield chunk, difference, None


def _few(scores: Floats) -> bool:
    """Return whether counting the scores' levels saves work."""
    return len(np.unique(scores)) <= COUNTED and scores.shape[1] > COUNTED**2


def _counted_differences(scores: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield a bounded number of pairs at once: slice, (pairs, n) differences, and counts of examples with each."""
    levels, places = np.unique(scores, return_inverse=True)
    has_level = (np.arange(len(levels))[:, None, None] == places.reshape(scores.shape)).astype(
        np.float64
    )  # (levels, M, N)
    together = np.tensordot(has_level, has_level, axes=(2, 2))  # (levels, M, levels, M)
    difference = (levels[:, None] - levels).ravel()
    difference[np.abs(difference) <= TIE] = 0.0
    first, second = pairs(len(scores)).T
    count = max(CELLS // len(difference), 1)
    for start in range(0, len(first), count):
        chunk = slice(start, start + count)
        often = together[:, first[chunk], :, second[chunk]].reshape(-1, len(difference))
        yield chunk, np.where(often > 0, difference, 0.0), often


def _above_zero(difference: Floats, often: Floats | None, size: int, step: float | None, max_points: int) -> Floats:
    """Return (pairs,) P(S > 0) + P(S = 0) / 2."""
    if size == 1:
        return np.asarray((1 + share(np.sign(difference), often)) / 2)
    half = size - size // 2
    sums = comb(difference.shape[1] + half - 1, half)
    if step is None and (size == 2 or sums <= MAX_SUMS_LISTED_FIRST):
        return _by_halves(difference, size)

    def affordable(points: Ints) -> Bools:
        few = points <= MAX_POINTS
        listed = len(points) * sums
        return np.asarray(few & (points[few].sum() <= (listed if listed <= LISTED else max_points)))

    chances = _on_grids(Grid.above_zero, difference, often, size, step, affordable, np.full(len(difference), np.nan))
    left = np.flatnonzero(np.isnan(chances))
    if 0 < len(left) * sums <= LISTED:
        chances[left] = _by_halves(difference[left], size)
    return chances


def _on_grids(
    compute: Callable[[Grid, int], tuple[Floats, Bools]],
    difference: Floats,
    often: Floats | None,
    size: int,
    step: float | None,
    affordable: Callable[[Ints], Bools],
    values: Floats,
) -> Floats:
    """Fill in (pairs, ...) values from grids of the pairs' differences, finer ones until they are fine enough."""
    # compute: (grid, K) -> values, and whether the grid was fine enough; affordable: points of the next grids ->
    # whether to try them; often: (pairs, N) counts of examples; with a common step every grid is exact
    reach, todo = _reach(difference, step), np.arange(len(difference))
    while len(todo):
        for chunk, grid in _grids(difference, often, todo, reach, size, step):
            grid_values, smooth = compute(grid, size)
            done = smooth | (step is not None)
            values[chunk[done]] = grid_values[done]
        left = np.flatnonzero(np.isnan(values.reshape(len(values), -1)[:, 0]))
        reach = reach * REFINE
        todo = left[affordable(points_for(reach[left], size))]
    return values


def _by_halves(difference: Floats, size: int) -> Floats:
    """Return (pairs,) P(S > 0) + P(S = 0) / 2 by listing all sums of half of the probe and of the other half."""
    half, half_chance = _halves(difference.shape[1], size // 2)
    second_half, second_chance = _halves(difference.shape[1], size - size // 2)
    chances = [
        _above(row[half].sum(axis=1), half_chance, -row[second_half].sum(axis=1)) @ second_chance for row in difference
    ]
    return np.array(chances)


def _above(sums: Floats, chance: Floats, bounds: Floats) -> Floats:
    """Return (bounds,) P(S > bound) + P(S = bound) / 2 from listed sums and the probability of each."""
    order = np.argsort(sums)
    ordered, below = sums[order], np.concatenate([[0.0], np.cumsum(chance[order])])
    count_below = np.searchsorted(ordered, bounds - TIE, side="left")
    upto = np.searchsorted(ordered, bounds + TIE, side="right")
    return np.asarray(1 - (below[count_below] + below[upto]) / 2)


def _halves(examples: int, size: int) -> tuple[Ints, Floats]:
    """Return all that a draw of K may hold, in any order: (n, K) examples and (n,) the probability of each."""
    count = comb(examples + size - 1, size)
    listed = combinations_with_replacement(range(examples), size)
    chosen = np.fromiter(chain.from_iterable(listed), np.int64, count * size).reshape(count, size)
    again = np.ones(chosen.shape)  # of its kind, which one each example is, counted from 1
    for k in range(1, size):
        again[:, k] += np.where(chosen[:, k] == chosen[:, k - 1], again[:, k - 1], 0)
    return chosen, factorial(size) / again.prod(axis=1) / examples**size


def _given_first(difference: Floats, size: int, step: float | None, followers: Ints) -> Floats:
    """Return (pairs, N) P(S > 0) + P(S = 0) / 2 given the first example, from drawn (n, K - 1) others if need be."""
    examples = difference.shape[1]
    if step is None and comb(examples + size - 2, size - 1) <= len(followers):
        return _by_others(difference, *_halves(examples, size - 1))
    unknown = np.full_like(difference, np.nan)
    chances = _on_grids(Grid.given_first, difference, None, size, step, lambda points: points <= MODEST, unknown)
    left = np.flatnonzero(np.isnan(chances[:, 0]))
    if len(left):
        chances[left] = _by_others(difference[left], followers, np.full(len(followers), 1 / len(followers)))
    return chances


def _by_others(difference: Floats, followers: Ints, chance: Floats) -> Floats:
    """Return `_given_first` from (n, K - 1) examples that may follow the first, and (n,) their probabilities."""
    return np.stack([_above(row[followers].sum(axis=1), chance, -row) for row in difference])


def _reach(difference: Floats, step: float | None) -> Ints:
    """Return (pairs,) grid steps from zero to the greatest difference."""
    greatest = np.abs(difference).max(axis=1)
    if step is not None:
        return np.asarray(np.rint(greatest / step), dtype=np.int64)
    spread = difference.std(axis=1)
    # a constant difference has no spread; any grid will do for it
    ratio = np.divide(greatest, spread, out=np.ones_like(greatest), where=spread > TIE)
    return np.asarray(np.ceil(STEPS * ratio), dtype=np.int64)


def _grids(
    difference: Floats, often: Floats | None, todo: Ints, reach: Ints, size: int, step: float | None
) -> Iterator[tuple[Ints, Grid]]:
    """Lay pairs on grids, those with the same number of points together."""
    points = points_for(reach[todo], size)
    for count in np.unique(points):
        alike = todo[points == count]
        most = room(int(count), size)
        many = max(CACHED // max(int(count), difference.shape[1]), 1)
        for start in range(0, len(alike), many):
            chunk = alike[start : start + many]
            laid = difference[chunk]
            if step is None:
                widths = np.abs(laid).max(axis=1) / most
                widths[widths == 0] = 1.0
            else:
                widths = np.full(len(laid), step)
            furthest = most if step is None else int(reach[chunk].max(initial=0))
            yield chunk, Grid.of(laid, widths, int(count), furthest, None if often is None else often[chunk])
