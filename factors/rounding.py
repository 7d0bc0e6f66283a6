"""The rule for ties: numbers that differ by rounding alone are equal."""

from __future__ import annotations

import numpy as np

from factors.types import Floats

TIE = 1e-12
"""Means this close are equal: sums of equal numbers in another order differ by less, true differences by more."""


def level(values: Floats, unit: float = 1.0) -> Floats:
    """Make numbers equal that differ by rounding alone, so that no order, rank or choice rests on it.

    Each number that is within `TIE` of the next lower one takes its value.

    Args:
        values: (N, ...); each column by itself. nan stays nan.
        unit: the size of the numbers that the values are sums or differences of.

    Example:
        >>> level(np.array([0.3, 0.1 + 0.2, 0.2])).tolist()
        [0.3, 0.3, 0.2]
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    starts = np.ones(ordered.shape, dtype=bool)
    starts[1:] = ~(np.diff(ordered, axis=0) <= TIE * unit)
    places = np.indices(ordered.shape)[0] * starts
    levelled = np.empty_like(ordered)
    first = np.take_along_axis(ordered, np.maximum.accumulate(places, axis=0), axis=0)
    np.put_along_axis(levelled, order, first, axis=0)
    return levelled
