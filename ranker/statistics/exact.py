"""Pairwise accuracy over *all* probes there are, instead of some drawn ones: no seed, no noise of draws.

The first model of a pair wins a probe where the sum S of K differences of scores, drawn with replacement from the N
differences d_i of the pair, is above zero. P(S > 0) + P(S = 0) / 2 comes from the K-fold convolution of the d_i's
distribution: lay it on a grid, take its Fourier transform to the power K, and sum what lies above zero.

- Scores with a common step (ACC: 0 or 1; counts) lie on the grid as they are. The result is exact to rounding; for ACC
  it is the trinomial probability.
- Real scores lie between grid points; each is split over its three nearest so that mass, mean and variance are kept.
  What is left is of third order: for a smooth S at most K 0.375 h^3 / 6 max |f''| with f the density of S and h the
  step, for a normal S 0.025 (h / sigma)^3 / sqrt(K). With the step used, sigma / 5.5 or finer, that is below 9e-5 for
  K of 3 or more, and 5e-5 at K = 10. Whether S is smooth is looked at, not assumed: where its mass around zero bends
  (`grid.BEND`), the grid is refined, up to `MAX_POINTS`. Where that is not enough, or would be more work, all
  sums of half a probe are listed if there are no more than `LISTED`; else the probability is nan, and the caller has to
  draw. The grid spans all sums, so nothing wraps around.

`influence` asks the same of the K - 1 examples that follow a first one. It is a standard error that comes of it, not a
probability that is shown, so that where a modest grid is not fine enough draws do.

An example that is undefined for a model counts as a difference of zero, which is what leaving it out of both means
does. Axis letters as in `engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations_with_replacement
from math import comb, factorial

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.engine import TIE, defined, pairs
from ranker.statistics.grid import Grid, points_for, room, share

ERROR = 1e-4
"""No probability that is returned is off by more; see above why, and the tests for how it was tried."""

STEPS = 5.5
"""Grid steps in a standard deviation of the differences, at first."""

REFINE = 8
"""A grid that is too coarse is followed by one of so many times the points."""

MAX_POINTS = 2**22
"""No refined grid has more points; one of this size takes 200 MB."""

MODEST = 2**16
"""Where the examples' influences need more points, to draw what follows an example is less work."""

WORTH = 2**24
"""Grids are refined to no more points than these in all, over the pairs of a method: a second or two."""

LEVELS = 64
"""Scores of at most so many steps between the least and the greatest are laid on the grid as they are."""

COUNTED = 4
"""Scores of no more levels than these, a common step apart, are counted before they are laid on a grid."""

CELLS = 2**20
"""Differences (pairs, N) held at once: memory is about 30 bytes * CELLS, 30 MB."""

CACHED = 2**17
"""Grid points handled at once, few enough to stay in the processor's cache: memory is about 40 bytes * CACHED, 5 MB."""

FEW = 2**13
"""Where half of a probe has no more sums than these, they are listed at once: K = 10 from up to 13 examples."""

LISTED = 2**22
"""No more sums than these are listed and sorted, over all pairs of a method: some seconds."""


def probabilities(values: Floats, size: int, worth: int = WORTH) -> Floats:
    """Find how probable it is that a probe of K examples puts the first model of a pair above the second.

    Args:
        values: (M, F, N) scores, higher is better, nan where undefined.
        size: K.
        worth: grids are refined to no more points than these in all, over the pairs of a method.

    Returns:
        (P, F) P(first above second) + P(tie) / 2, off by at most `ERROR`; nan where no grid is fine enough, which
        happens where scores differ on very different scales (probabilities within 1e-4 of 0 or 1).

    Example:
        >>> accuracy = np.array([[[1.0, 1.0, 0.0, 1.0]], [[1.0, 0.0, 1.0, 0.0]]])  # + - 0 -: two wins, one loss
        >>> probabilities(accuracy, 1)
        array([[0.625]])
    """
    models, methods, _ = values.shape
    beats = np.empty((models * (models - 1) // 2, methods))
    for f in range(methods):
        scores, step = _scores(values[:, f])
        for some, difference, often in _counted(scores) if step and _few(scores) else _differences(scores):
            beats[some, f] = _above_zero(difference, often, size, step, worth)
    return np.asarray(np.round(beats, 12))  # so that the transform's rounding does not blur 0, 1/2 and 1


def influence(values: Floats, size: int, decided: Bools, draws: Ints) -> Floats:
    """Find how much each example weighs in a method's pairwise accuracy.

    The pairwise accuracy A is a function of the examples' weights. Its derivative with respect to that of example i is
    U_i = K (A_i - A), with A_i the pairwise accuracy of the probes whose first example is i.

    Args:
        values: (M, F, N) scores, higher is better, the models in their true order.
        size: K.
        decided: (P,) the pairs that A is the mean over.
        draws: (B, K) the examples that each draw shows; its last K - 1 stand for all that may follow the
            first where there are more than B of these and no small grid is fine enough.

    Returns:
        (F, N) derivatives, with the mean of each method's zero; sum U_i^2 / N^2 estimates the variance of A.
    """
    _, methods, examples = values.shape
    total = np.zeros((methods, examples))
    for f in range(methods):
        scores, step = _scores(values[:, f])
        for some, difference, _ in _differences(scores):
            kept = difference[decided[some]]
            if len(kept):
                total[f] += _given_first(kept, size, step, draws[:, 1:]).sum(axis=0)
    given_first = total / max(int(decided.sum()), 1)
    return np.asarray(size * (given_first - given_first.mean(axis=1, keepdims=True)))


def _scores(values: Floats) -> tuple[Floats, float | None]:
    """(M, N) the scores, 0 where they do not count, and the step of which all their differences are multiples."""
    usable = defined(values[:, None])[0]
    levels = np.unique(values[:, usable])
    gaps = np.diff(levels)
    gaps = gaps[gaps > TIE]
    step = float(gaps.min()) if len(gaps) else 1.0
    multiples = gaps / step
    common = multiples.sum() <= LEVELS and np.abs(multiples - np.rint(multiples)).max(initial=0.0) <= 1e-9
    return np.where(usable, values, 0.0), step if common else None


def _differences(scores: Floats) -> Iterator[tuple[slice, Floats, None]]:
    """The pairs, a bounded number at once: which these are, and their (pairs, N) differences, one an example."""
    first, second = pairs(len(scores)).T
    count = max(CELLS // scores.shape[1], 1)
    for start in range(0, len(first), count):
        some = slice(start, start + count)
        difference = scores[first[some]] - scores[second[some]]
        difference[np.abs(difference) <= TIE] = 0.0
        yield some, difference, None


def _few(scores: Floats) -> bool:
    """Whether they have so few levels that it pays to count these."""
    return len(np.unique(scores)) <= COUNTED and scores.shape[1] > COUNTED**2


def _counted(scores: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
    """The pairs, a bounded number at once: which these are, (pairs, n) differences, and how many examples have each."""
    levels, at = np.unique(scores, return_inverse=True)
    each = (np.arange(len(levels))[:, None, None] == at.reshape(scores.shape)).astype(np.float64)  # (levels, M, N)
    together = np.tensordot(each, each, axes=(2, 2))  # (levels, M, levels, M)
    difference = (levels[:, None] - levels).ravel()
    difference[np.abs(difference) <= TIE] = 0.0
    first, second = pairs(len(scores)).T
    count = max(CELLS // len(difference), 1)
    for start in range(0, len(first), count):
        some = slice(start, start + count)
        often = together[:, first[some], :, second[some]].reshape(-1, len(difference))
        yield some, np.where(often > 0, difference, 0.0), often


def _above_zero(difference: Floats, often: Floats | None, size: int, step: float | None, worth: int) -> Floats:
    """(pairs,) P(S > 0) + P(S = 0) / 2."""
    if size == 1:
        return np.asarray((1 + share(np.sign(difference), often)) / 2)
    half = size - size // 2
    sums = comb(difference.shape[1] + half - 1, half)
    if step is None and (size == 2 or sums <= FEW):
        return _by_halves(difference, size)

    def affordable(points: Ints) -> Bools:
        few = points <= MAX_POINTS
        listed = len(points) * sums
        return np.asarray(few & (points[few].sum() <= (listed if listed <= LISTED else worth)))

    result = _on_grids(Grid.above_zero, difference, often, size, step, affordable, np.full(len(difference), np.nan))
    left = np.flatnonzero(np.isnan(result))
    if 0 < len(left) * sums <= LISTED:
        result[left] = _by_halves(difference[left], size)
    return result


def _on_grids(
    ask: Callable[[Grid, int], tuple[Floats, Bools]],
    difference: Floats,
    often: Floats | None,
    size: int,
    step: float | None,
    affordable: Callable[[Ints], Bools],
    result: Floats,
) -> Floats:
    """Lay the differences of pairs on grids, finer ones until they are fine enough.

    Args:
        ask: of a grid and K, what is asked for, and whether the grid was fine enough for it.
        difference: (pairs, N).
        often: (pairs, N) how many examples have each; None where it is one.
        size: K.
        step: what all differences are multiples of: then every grid is exact.
        affordable: of the points that each pair's next grid has, whether there is to be one.
        result: (pairs, ...) nan, to be filled in.

    Returns:
        The result, nan where no grid was fine enough.
    """
    reach, todo = _reach(difference, step), np.arange(len(difference))
    while len(todo):
        for chunk, grid in _grids(difference, often, todo, reach, size, step):
            found, smooth = ask(grid, size)
            done = smooth | (step is not None)
            result[chunk[done]] = found[done]
        left = np.flatnonzero(np.isnan(result.reshape(len(result), -1)[:, 0]))
        reach = reach * REFINE
        todo = left[affordable(points_for(reach[left], size))]
    return result


def _by_halves(difference: Floats, size: int) -> Floats:
    """(pairs,) P(S > 0) + P(S = 0) / 2 by listing: every sum of half of the probe meets every sum of the other half."""
    half, half_chance = _halves(difference.shape[1], size // 2)
    other, other_chance = _halves(difference.shape[1], size - size // 2)
    found = [_above(one[half].sum(axis=1), half_chance, -one[other].sum(axis=1)) @ other_chance for one in difference]
    return np.array(found)


def _above(sums: Floats, chance: Floats, bounds: Floats) -> Floats:
    """(bounds,) P(S > bound) + P(S = bound) / 2 of listed sums and the probability of each."""
    order = np.argsort(sums)
    ordered, below = sums[order], np.concatenate([[0.0], np.cumsum(chance[order])])
    less = np.searchsorted(ordered, bounds - TIE, side="left")
    upto = np.searchsorted(ordered, bounds + TIE, side="right")
    return np.asarray(1 - (below[less] + below[upto]) / 2)


def _halves(examples: int, size: int) -> tuple[Ints, Floats]:
    """All that a draw of K may show, but for the order: (n, K) the examples and (n,) the probability of each."""
    count = comb(examples + size - 1, size)
    listed = combinations_with_replacement(range(examples), size)
    chosen = np.fromiter(chain.from_iterable(listed), np.int64, count * size).reshape(count, size)
    again = np.ones(chosen.shape)  # of its kind, which one each example is, counted from 1
    for k in range(1, size):
        again[:, k] += np.where(chosen[:, k] == chosen[:, k - 1], again[:, k - 1], 0)
    return chosen, factorial(size) / again.prod(axis=1) / examples**size


def _given_first(difference: Floats, size: int, step: float | None, others: Ints) -> Floats:
    """(pairs, N) P(S > 0) + P(S = 0) / 2 given the first of K examples, from drawn (n, K - 1) others if need be."""
    examples = difference.shape[1]
    if step is None and comb(examples + size - 2, size - 1) <= len(others):
        return _by_others(difference, *_halves(examples, size - 1))
    unknown = np.full_like(difference, np.nan)
    result = _on_grids(Grid.given_first, difference, None, size, step, lambda points: points <= MODEST, unknown)
    left = np.flatnonzero(np.isnan(result[:, 0]))
    if len(left):
        result[left] = _by_others(difference[left], others, np.full(len(others), 1 / len(others)))
    return result


def _by_others(difference: Floats, others: Ints, chance: Floats) -> Floats:
    """The same from (n, K - 1) examples that may follow the first, and (n,) the probability of each set of them."""
    return np.stack([_above(one[others].sum(axis=1), chance, -one) for one in difference])


def _reach(difference: Floats, step: float | None) -> Ints:
    """(pairs,) how many grid steps the greatest difference is to be away from zero."""
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
    """Lay some pairs on grids, those that need the same number of points together."""
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
