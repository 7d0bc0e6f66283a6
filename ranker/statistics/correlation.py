"""Pearson's and Spearman's correlations of two numbers over several sets, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from factors.rounding import TIE
from factors.types import Floats
from ranker.statistics.engine import none_if_nan
from ranker.statistics.intervals import Z95


@dataclass(frozen=True)
class DistanceMeasure:
    """A measure of two samples, or of one, with its interval.

    Attributes:
        name: as in `docs/shift.md`.
        value: None where it is not defined.
        low, high: its 95 % interval; None where there is none.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None


def pearson(first: Floats, second: Floats) -> DistanceMeasure:
    """Measure Pearson's r of (S,) numbers with Fisher's interval: tanh(artanh r -+ 1.96 / sqrt(S - 3)).

    It is None with fewer than three sets, or where one number is the same for all. The interval needs four sets, and of
    |r| = 1 it has no width.

    Example:
        >>> measure = pearson(np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 2, 2, 4, 6]))
        >>> round(measure.value, 3), round(measure.low, 3), round(measure.high, 3)
        (0.949, 0.407, 0.997)

    Source: Fisher 1921, "On the 'probable error' of a coefficient of correlation deduced from a small sample".
    """
    return _fisher("pearson", _r(first, second), len(first), 1.0)


def pearson_p(r: float, sets: int) -> float:
    """Return the two-sided p of Pearson's r of S sets, three at least, by Student's t with S - 2 degrees of freedom.

    Example:
        >>> round(pearson_p(0.886, 5), 3)
        0.045

    Source: Student 1908, "Probable error of a correlation coefficient".
    """
    from scipy.special import stdtr

    left = (1 - r) * (1 + r)
    return float(2 * stdtr(sets - 2, -abs(r) * np.sqrt((sets - 2) / left))) if left > 0 else 0.0


def spearman(first: Floats, second: Floats) -> DistanceMeasure:
    """Measure Spearman's rho, Pearson's r of the ranks, with a wider interval.

    tanh(artanh rho -+ 1.96 sqrt((1 + rho^2 / 2) / (S - 3))). Equal numbers share the mean of their ranks; those that
    differ in the twelfth decimal are equal.

    Source: Bonett and Wright 2000, "Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations".
    """
    from scipy.stats import rankdata

    rho = _r(*(rankdata(np.round(numbers, 12)) for numbers in (first, second)))
    return _fisher("spearman", rho, len(first), 1 + rho**2 / 2)


def _r(first: Floats, second: Floats) -> float:
    if len(first) < 3 or min(np.ptp(first), np.ptp(second)) <= TIE:
        return np.nan
    return float(np.clip(np.corrcoef(first, second)[0, 1], -1.0, 1.0))


def _fisher(name: str, r: float, sets: int, variance: float) -> DistanceMeasure:
    if np.isnan(r) or sets < 4:
        return DistanceMeasure(name, none_if_nan(r), None, None)
    if abs(r) > 1 - TIE:
        return DistanceMeasure(name, r, r, r)
    half = Z95 * np.sqrt(variance / (sets - 3))
    return DistanceMeasure(name, r, float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half)))
