"""Distributions of differences on a grid, and of their sums: one Fourier transform for all K-fold convolutions.

A difference on a grid point stays there. One between points is split over the three nearest, so that mass, mean and
variance are kept. Axis letters as in `engine`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from factors.types import Bools, Floats, Ints

BEND = 2e-5
"""Largest second difference of a distribution around zero that counts as smooth."""

AROUND = 3
"""Grid points on each side of zero whose second differences are checked."""

RELATIVE = 0.01
"""Largest bend of a distribution where probabilities are read from it, relative to their standard deviation."""

MIN_BEND = 1e-6
"""Bend that is always allowed."""

Complexes = npt.NDArray[np.complex128]


def points_for(reach: Ints, size: int) -> Ints:
    """Return (pairs,) powers of two that hold all sums of K differences, split over three points, without a wrap."""
    return np.asarray(2 ** np.ceil(np.log2(2 * size * (reach + 2) + 2 * AROUND + 2)), dtype=np.int64)


def room(points: int, size: int) -> int:
    """Return the greatest reach on a grid with this many points, the inverse of `points_for`."""
    return (points - 2 * AROUND - 2) // (2 * size) - 2


@dataclass(frozen=True)
class Grid:
    """Distributions of some pairs' differences on grids with the same number of points, G.

    Attributes:
        spectrum: (pairs, G / 2 + 1) their Fourier transforms.
        points: G.
        nearest: (pairs, N) the grid point nearest to each difference.
        beside: (pairs, N) offset from that point, in steps, -1/2 to 1/2.
        single: (pairs, 2 + 2 AROUND) `_near_zero` of the distribution of a single difference.
        zero: (pairs,) share of differences that are zero.
        positive: (pairs,) share that are above zero.
    """

    spectrum: Complexes
    points: int
    nearest: Ints
    beside: Floats
    single: Floats
    zero: Floats
    positive: Floats

    @classmethod
    def of(cls, difference: Floats, widths: Floats, points: int, reach: int, often: Floats | None = None) -> Grid:
        """Lay differences on grids.

        Args:
            difference: (pairs, N) of some pairs.
            widths: (pairs,) the step of each pair's grid.
            points: G.
            reach: the most steps from zero to the greatest difference.
            often: (pairs, N) counts of examples with each difference; None where it is one.
        """
        count = len(difference)
        beside = difference / widths[:, None]
        rounded = np.rint(beside)
        beside -= rounded
        nearest = rounded.astype(np.int64)
        width = 2 * (reach + 1) + 1
        cell = (nearest + (np.arange(count) * width + reach + 1)[:, None]).ravel()
        weighed = beside if often is None else beside * often
        near = np.bincount(cell, None if often is None else often.ravel(), count * width)
        first = np.bincount(cell, weighed.ravel(), count * width)
        second = np.bincount(cell, (weighed * beside).ravel(), count * width)
        # each difference is split over the point nearest to it and the ones before and after that
        mass: Floats = near.astype(np.float64) - second
        mass[:-1] += (second - first)[1:] / 2
        mass[1:] += (second + first)[:-1] / 2
        laid = np.zeros((count, points))
        centred = mass.reshape(count, width) / near.reshape(count, width).sum(axis=1, keepdims=True)
        laid[:, : reach + 2] = centred[:, reach + 1 :]
        laid[:, -(reach + 1) :] = centred[:, : reach + 1]
        return cls(
            spectrum=np.fft.rfft(laid, axis=1),
            points=points,
            nearest=nearest,
            beside=beside,
            single=_near_zero(laid),
            zero=share(difference == 0, often),
            positive=share(difference > 0, often),
        )

    def above_zero(self, size: int) -> tuple[Floats, Bools]:
        """Return (pairs,) P(S > 0) + P(S = 0) / 2, and whether S is smooth around zero.

        Probes with at most one difference that is not zero are counted exactly; the grid gives only the rest.
        """
        none = self.zero**size
        exactly_one = size * self.zero ** (size - 1)
        nothing = np.zeros(2 + 2 * AROUND)
        nothing[[0, 1 + AROUND]] = 0.5, 1.0
        near_zero = _near_zero(np.fft.irfft(_power(self.spectrum, size), self.points, axis=1))
        near_zero -= exactly_one[:, None] * self.single + (none - exactly_one * self.zero)[:, None] * nothing
        bend = np.abs(np.diff(near_zero[:, 1:], 2, axis=1)).max(axis=1)
        return np.clip(near_zero[:, 0] + exactly_one * self.positive + none / 2, 0.0, 1.0), bend <= BEND

    def given_first(self, size: int) -> tuple[Floats, Bools]:
        """Return (pairs, N) P(S > 0) + P(S = 0) / 2 given the first difference, and whether the grid is fine enough.

        It comes from the distribution of the other K - 1; the case that these are all zero is added exactly.
        """
        rest_mass = np.fft.irfft(_power(self.spectrum, size - 1), self.points, axis=1)
        none = self.zero ** (size - 1)
        rest_mass[:, 0] -= none
        reach = int(np.abs(self.nearest).max(initial=0)) + 1
        # mass above the point -l, plus half of that at the point itself, for l from -reach to reach
        centred = np.roll(rest_mass, self.points // 2, axis=1)
        upper = np.cumsum(centred[:, ::-1], axis=1)[:, ::-1]
        window = slice(self.points // 2 - reach, self.points // 2 + reach + 1)
        above = (upper[:, window] - centred[:, window] / 2)[:, ::-1]
        at_nearest = np.take_along_axis(above, self.nearest + reach, axis=1)
        side = np.where(self.beside < 0, -1, 1)
        next_to = np.take_along_axis(above, self.nearest + side + reach, axis=1)
        chances = at_nearest + np.abs(self.beside) * (next_to - at_nearest)
        chances += none[:, None] * (1 + np.sign(self.nearest + self.beside)) / 2
        # how the others' mass bends where it is read
        bends = np.diff(centred[:, window.start - 1 : window.stop + 1], 2, axis=1)[:, ::-1]
        bend = np.sqrt((np.take_along_axis(bends, self.nearest + reach, axis=1) ** 2).mean(axis=1))
        return chances, bend <= RELATIVE * chances.std(axis=1) + MIN_BEND


def share(values: Floats | Bools, often: Floats | None) -> Floats:
    """Return (pairs,) means of (pairs, N) values over the examples, weighed by their counts if there are any."""
    return np.asarray(np.average(values, axis=1, weights=often))


def _near_zero(masses: Floats) -> Floats:
    """Return (pairs, 2 + 2 AROUND): mass above zero plus half of that at zero, then mass at each point around zero."""
    upper = masses[:, 1 : masses.shape[1] // 2].sum(axis=1) + masses[:, 0] / 2
    return np.column_stack([upper, masses[:, -AROUND:], masses[:, : AROUND + 1]])


def _power(base: Complexes, exponent: int) -> Complexes:
    """Raise to a whole number by squaring; numpy's own power goes through logarithms, ten times as slow."""
    if exponent == 0:
        return np.ones_like(base)
    half = _power(base, exponent // 2) if exponent > 1 else np.ones((1, 1), dtype=base.dtype)
    power = half * half
    if exponent % 2:
        power = power * base
    return power
