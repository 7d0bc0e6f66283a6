"""Few-shot accuracy over *all* probes there are, instead of some drawn ones: no seed, no noise of draws.

The first model of a pair wins a probe where the sum S of K differences of scores, drawn with replacement from the N
differences d_i of the pair, is above zero. P(S > 0) + P(S = 0) / 2 comes from the K-fold convolution of the d_i's
distribution: lay it on a grid, take its Fourier transform to the power K, and sum what lies above zero.

- Scores with a common step (ACC: 0 or 1; counts) lie on the grid as they are. The result is exact to rounding; for ACC
  it is the trinomial probability.
- Real scores lie between grid points; each is split over its three nearest so that mass, mean and variance are kept.
  What is left is of third order: for a smooth S at most K 0.375 h^3 / 6 max |f''| with f the density of S and h the
  step, for a normal S 0.025 (h / sigma)^3 / sqrt(K). With the step used, sigma / 5.5 or finer, that is below 9e-5 for
  K of 3 or more, and 5e-5 at K = 10. Whether S is smooth is looked at, not assumed: where its mass around zero bends
  by more than `BEND` from grid point to grid point, the grid is refined, up to `MAX_POINTS`. Where that is not enough,
  all sums of half a probe are listed if there are no more than `LISTED`; else the probability is nan, and the caller
  has to draw. The grid spans all sums, so nothing wraps around.

An example that is undefined for a model counts as a difference of zero, which is what leaving it out of both means
does. Axis letters as in `ranker.engine`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.engine import TIE, Bools, Floats, Ints, defined, pairs

ERROR = 1e-4
"""No probability that is returned is off by more; see above why, and the tests for how it was tried."""

BEND = 2e-5
"""The largest second difference of S's mass around zero that passes for smooth."""

STEPS = 5.5
"""Grid steps in a standard deviation of the differences, at first."""

REFINE = 8
"""A grid that is too coarse is followed by one of so many times the points."""

MAX_POINTS = 2**16
"""No grid has more points."""

LEVELS = 64
"""Scores of at most so many steps between the least and the greatest are laid on the grid as they are."""

CELLS = 2**20
"""Grid points handled at once: memory is about 40 bytes * CELLS, 40 MB, and 30 bytes for each difference (P, N)."""

LISTED = 2**24
"""No more sums than these are listed and sorted, over all pairs of a method: some seconds."""

AROUND = 3
"""Grid points on each side of zero that are looked at."""

Complexes = npt.NDArray[np.complex128]


def probabilities(values: Floats, size: int) -> Floats:
    """Find how probable it is that a probe of K examples puts the first model of a pair above the second.

    Args:
        values: (M, F, N) scores, higher is better, nan where undefined.
        size: K.

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
        for rows, difference in _differences(scores):
            beats[rows, f] = _above_zero(difference, size, step)
    return np.asarray(np.round(beats, 12))  # so that the transform's rounding does not blur 0, 1/2 and 1


def influence(values: Floats, size: int, decided: Bools) -> Floats:
    """Find how much each example weighs in a method's few-shot accuracy.

    The few-shot accuracy A is a function of the examples' weights. Its derivative with respect to that of example i is
    U_i = K (P(success | the first of the K examples is i) - A).

    Args:
        values: (M, F, N) scores, higher is better, the models in their true order.
        size: K.
        decided: (P,) the pairs that A is the mean over.

    Returns:
        (F, N) derivatives, the mean of each row zero; sum U_i^2 / N^2 estimates the variance of A.
    """
    _, methods, examples = values.shape
    total = np.zeros((methods, examples))
    for f in range(methods):
        scores, step = _scores(values[:, f])
        for rows, difference in _differences(scores):
            kept = difference[decided[rows]]
            if len(kept):
                total[f] += _given_first(kept, size, step).sum(axis=0)
    success = total / max(int(decided.sum()), 1)
    return np.asarray(size * (success - success.mean(axis=1, keepdims=True)))


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


def _differences(scores: Floats) -> Iterator[tuple[slice, Floats]]:
    """The differences of the pairs, a bounded number of rows at once: which pairs, and their (rows, N) differences."""
    first, second = pairs(len(scores)).T
    count = max(CELLS // scores.shape[1], 1)
    for start in range(0, len(first), count):
        rows = slice(start, start + count)
        difference = scores[first[rows]] - scores[second[rows]]
        difference[np.abs(difference) <= TIE] = 0.0
        yield rows, difference


def _above_zero(difference: Floats, size: int, step: float | None) -> Floats:
    """(rows,) P(S > 0) + P(S = 0) / 2."""
    if size == 1:
        return np.asarray((1 + np.sign(difference).mean(axis=1)) / 2)
    if size == 2 and step is None:
        return np.array([_by_halves(row, size) for row in difference])
    result = np.full(len(difference), np.nan)
    reach = _reach(difference, step)
    todo = np.arange(len(difference))
    while len(todo):
        points = _points(reach[todo], size)
        for chunk, grid in _grids(difference, todo, points, reach, size, step):
            above, smooth = grid.above_zero(size)
            done = smooth | (step is not None)
            result[chunk[done]] = above[done]
        if step is not None:
            break
        reach = reach * REFINE
        todo = todo[np.isnan(result[todo]) & (_points(reach[todo], size) <= MAX_POINTS)]
    left = np.flatnonzero(np.isnan(result))
    if len(left) * difference.shape[1] ** (size - size // 2) <= LISTED:
        result[left] = [_by_halves(difference[row], size) for row in left]
    return result


def _by_halves(row: Floats, size: int) -> float:
    """P(S > 0) + P(S = 0) / 2 by counting: every sum of half of the probe meets every sum of the other half."""
    half = _sums(row, size // 2)
    half.sort()
    other = -_sums(row, size - size // 2)
    upto = np.searchsorted(half, other - TIE, side="left") + np.searchsorted(half, other + TIE, side="right")
    return float(1 - upto.sum() / (2 * len(half) * len(other)))


def _sums(row: Floats, size: int) -> Floats:
    """(N ** K,) the sums of all probes of K differences."""
    total = np.zeros(1)
    for _ in range(size):
        total = (total[:, None] + row).ravel()
    return total


def _given_first(difference: Floats, size: int, step: float | None) -> Floats:
    """(rows, N) P(S > 0) + P(S = 0) / 2 given that the first of the K examples is this one."""
    result = np.empty_like(difference)
    reach = _reach(difference, step)
    todo = np.arange(len(difference))
    for chunk, grid in _grids(difference, todo, _points(reach, size), reach, size, step):
        result[chunk] = grid.given_first(size)
    return result


def _reach(difference: Floats, step: float | None) -> Ints:
    """(rows,) how many grid steps the greatest difference is to be away from zero."""
    greatest = np.abs(difference).max(axis=1)
    if step is not None:
        return np.asarray(np.rint(greatest / step), dtype=np.int64)
    spread = difference.std(axis=1)
    # a constant difference has no spread; any grid will do for it
    ratio = np.divide(greatest, spread, out=np.ones_like(greatest), where=spread > TIE)
    return np.asarray(np.ceil(STEPS * ratio), dtype=np.int64)


def _points(reach: Ints, size: int) -> Ints:
    """(rows,) the power of two that holds all sums of K differences, each split over three points, without a wrap."""
    return np.asarray(2 ** np.ceil(np.log2(2 * size * (reach + 2) + 2 * AROUND + 2)), dtype=np.int64)


def _grids(
    difference: Floats, todo: Ints, points: Ints, reach: Ints, size: int, step: float | None
) -> Iterator[tuple[Ints, _Grid]]:
    """Lay the rows on grids, rows of the same number of points together."""
    for count in np.unique(points):
        alike = todo[points == count]
        most = (int(count) - 2 * AROUND - 2) // (2 * size) - 2  # the reach that this grid has room for
        for start in range(0, len(alike), max(CELLS // int(count), 1)):
            chunk = alike[start : start + max(CELLS // int(count), 1)]
            rows = difference[chunk]
            if step is None:
                widths = np.abs(rows).max(axis=1) / most
                widths[widths == 0] = 1.0
            else:
                widths = np.full(len(rows), step)
            yield chunk, _Grid.of(rows, widths, int(count), most if step is None else int(reach[chunk].max(initial=0)))


@dataclass(frozen=True)
class _Grid:
    """The distributions of some pairs' differences on grids of one number of points, G.

    Attributes:
        spectrum: (rows, G / 2 + 1) their Fourier transforms.
        points: G.
        nearest: (rows, N) the grid point nearest to each difference.
        beside: (rows, N) how far beyond that point it lies, in steps, -1/2 to 1/2.
        single: (rows, 2 + 2 AROUND) what `_read` reads from the spectrum of a single difference.
        zero: (rows,) share of differences that are zero.
        positive: (rows,) share that are above zero.
    """

    spectrum: Complexes
    points: int
    nearest: Ints
    beside: Floats
    single: Floats
    zero: Floats
    positive: Floats

    @classmethod
    def of(cls, difference: Floats, widths: Floats, points: int, reach: int) -> _Grid:
        rows, examples = difference.shape
        beside = difference / widths[:, None]
        rounded = np.rint(beside)
        beside -= rounded
        nearest = rounded.astype(np.int64)
        width = 2 * (reach + 1) + 1
        cell = (nearest + (np.arange(rows) * width + reach + 1)[:, None]).ravel()
        square = beside * beside
        mass = np.zeros(rows * width + 2)
        # each difference is split over three points: the first starts one before its own, the last one after
        for shift, weights in ((0, (square - beside) / 2), (1, 1 - square), (2, (square + beside) / 2)):
            mass[shift : len(mass) - 2 + shift] += np.bincount(cell, weights.ravel(), rows * width)
        laid = np.zeros((rows, points))
        centred = mass[1:-1].reshape(rows, width) / examples
        laid[:, : reach + 2] = centred[:, reach + 1 :]
        laid[:, -(reach + 1) :] = centred[:, : reach + 1]
        upper = laid[:, 1 : points // 2].sum(axis=1) + laid[:, 0] / 2
        return cls(
            spectrum=np.fft.rfft(laid, axis=1),
            points=points,
            nearest=nearest,
            beside=beside,
            single=np.column_stack([upper, laid[:, -AROUND:], laid[:, : AROUND + 1]]),
            zero=(difference == 0).mean(axis=1),
            positive=(difference > 0).mean(axis=1),
        )

    def above_zero(self, size: int) -> tuple[Floats, Bools]:
        """(rows,) P(S > 0) + P(S = 0) / 2, and whether S is smooth around zero.

        Probes with at most one difference that is not zero are counted exactly; only the rest is read from the grid.
        """
        none = self.zero**size
        one = size * self.zero ** (size - 1)
        nothing = np.zeros(2 + 2 * AROUND)
        nothing[[0, 1 + AROUND]] = 0.5, 1.0
        read = _read(_power(self.spectrum, size), self.points)
        read -= one[:, None] * self.single + (none - one * self.zero)[:, None] * nothing
        bend = np.abs(np.diff(read[:, 1:], 2, axis=1)).max(axis=1)
        return np.clip(read[:, 0] + one * self.positive + none / 2, 0.0, 1.0), bend <= BEND

    def given_first(self, size: int) -> Floats:
        """(rows, N) P(S > 0) + P(S = 0) / 2 given the first difference, from the distribution of the other K - 1."""
        others = np.fft.irfft(_power(self.spectrum, size - 1), self.points, axis=1)
        reach = int(np.abs(self.nearest).max(initial=0)) + 1
        # what lies at or above the point -l, half of that point itself counting, for l from -reach to reach
        centred = np.roll(others, self.points // 2, axis=1)
        upper = np.cumsum(centred[:, ::-1], axis=1)[:, ::-1]
        window = slice(self.points // 2 - reach, self.points // 2 + reach + 1)
        above = (upper[:, window] - centred[:, window] / 2)[:, ::-1]
        at = np.take_along_axis(above, self.nearest + reach, axis=1)
        side = np.where(self.beside < 0, -1, 1)
        next_to = np.take_along_axis(above, self.nearest + side + reach, axis=1)
        return np.asarray(at + np.abs(self.beside) * (next_to - at))


def _read(spectrum: Complexes, points: int) -> Floats:
    """(rows, 1 + 2 AROUND + 1) the mass above zero plus half of that at zero, then the mass at each point around zero.

    Sums over a distribution are products with its spectrum (Parseval); the distribution itself is not needed.
    """
    wanted = np.zeros((2 * AROUND + 2, points))
    wanted[0, 1 : points // 2] = 1.0
    wanted[0, 0] = 0.5
    wanted[np.arange(1, 2 * AROUND + 2), np.arange(-AROUND, AROUND + 1)] = 1.0
    weights = np.fft.rfft(wanted, axis=1)
    weights[:, 1:-1] *= 2  # each of these frequencies stands for itself and its conjugate
    return np.asarray((spectrum.real @ weights.real.T + spectrum.imag @ weights.imag.T) / points)


def _power(base: Complexes, exponent: int) -> Complexes:
    """Raise to a whole number by squaring; numpy's own power goes through logarithms, ten times as slow."""
    if exponent == 0:
        return np.ones_like(base)
    half = _power(base, exponent // 2) if exponent > 1 else np.ones((1, 1), dtype=base.dtype)
    result = half * half
    if exponent % 2:
        result = result * base
    return result
