"""The 95 % interval of a paired difference by its score test, which has a width where no row tells two models apart.

A difference delta is in the interval unless a test rejects it. Under delta the sum of r_c = s_c - n_c delta over the
clusters is 0 on average (s_c: the differences of a cluster, summed; n_c: its rows). The test statistic is

    z(delta) = (|sum of r_c| - 1/2) / sqrt(G sum of p_c r_c^2),

p the most probable law of clusters under delta: on the observed ones and on one unseen cluster, all of whose rows one
model loses (or wins). So an unseen difference is in the interval as long as it may have been missed. The 1/2 is a
continuity correction: sums move in whole rows.

Rows of 0 and 1 without clusters are clusters of one row: there this is Tango's interval, and z is normal. Else z is
compared with Student's t of G - 1 degrees of freedom, and the unseen cluster has the mean size.

Source: Tango 1998, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
design"; the law of other values: Owen 1988, "Empirical likelihood ratio confidence intervals for a single functional",
with the ends of the range as in Honda and Takemura 2010, "An asymptotically optimal bandit algorithm for bounded
support models"; the half: Yates 1934, "Contingency tables involving small numbers".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from factors.types import Floats, Ints

HALF = 0.5
"""Continuity correction, in rows. Without it coverage falls to 93 %, and one end is missed in 5 % of cases."""

STEPS = 44
"""Halvings of a bracket of at most 2, which leave an error of 2e-13."""


def of_counts(better: int, worse: int, rows: int, critical: float) -> tuple[float, float]:
    """Return the ends of the interval of a difference of two accuracies on the same N independent rows.

    Args:
        better, worse: rows that the first model alone, and the second alone, has right.
        critical: the quantile of z.

    Example:
        >>> [round(end, 3) for end in of_counts(7, 1, 12, 1.96)]
        [-0.004, 0.799]
        >>> [round(end, 3) for end in of_counts(0, 0, 300, 1.96)]
        [-0.016, 0.016]
    """
    return (
        _low(lambda delta: _tango(better, worse, rows, delta), (better - worse) / rows, critical),
        -_low(lambda delta: _tango(worse, better, rows, delta), (worse - better) / rows, critical),
    )


def of_sums(sums: Floats, sizes: Floats, critical: float) -> tuple[float, float]:
    """Return the ends of the interval of a mean difference of outcomes in [0, 1], of independent clusters of rows.

    Args:
        sums: (G,) the differences of each cluster's rows, summed; of independent rows the differences.
        sizes: (G,) how many rows each has.
        critical: the quantile of z.

    Example:
        >>> sums, sizes = np.repeat([1.0, -1.0, 0.0], [7, 1, 4]), np.ones(12)
        >>> [round(end, 3) for end in of_sums(sums, sizes, 1.96)]
        [-0.004, 0.799]
    """
    value = float(sums.sum() / sizes.sum())
    (sums, sizes), counts = np.unique(np.stack([sums, sizes]), axis=1, return_counts=True)
    unseen = float(counts @ sizes / counts.sum())
    return (
        _low(lambda delta: _z(sums - sizes * delta, counts, unseen * (1 + delta)), value, critical),
        -_low(lambda delta: _z(-sums - sizes * delta, counts, unseen * (1 + delta)), -value, critical),
    )


def _low(z: Callable[[float], float], value: float, critical: float) -> float:
    """Return the least difference, at least -1, from which on z is no greater than `critical`."""
    rejected, accepted = -1.0, value
    for _ in range(STEPS):
        middle = (rejected + accepted) / 2
        if z(middle) > critical:
            rejected = middle
        else:
            accepted = middle
    return rejected if rejected == -1.0 else accepted


def _tango(better: int, worse: int, rows: int, delta: float) -> float:
    """Return z of `of_counts`; q is the most probable share of rows that the second alone has right."""
    linear = (2 * rows - better + worse) * delta - better - worse
    q = (math.sqrt(max(linear**2 + 8 * rows * worse * delta * (1 - delta), 0.0)) - linear) / (4 * rows)
    return _corrected_z(better - worse - rows * delta, rows * (2 * q + delta * (1 - delta)))


def _z(residuals: Floats, counts: Ints, lost: float) -> float:
    """Return z of residuals; that of an unseen cluster may be as far below 0 as `lost`."""
    from scipy.optimize import brentq

    total, groups = float(counts @ residuals), float(counts.sum())
    lost = max(lost, -float(residuals.min()))
    if total <= HALF:
        return -math.inf

    def pull(turn: float) -> float:
        return float((counts * residuals / (1 + turn * residuals / lost)).sum())

    open_end = 1 - 1e-12
    turn = 1.0 if (most := pull(open_end)) >= 0 else float(brentq(pull, 0.0, open_end, xtol=1e-12))
    mass = counts / (groups * (1 + min(turn, open_end) * residuals / lost))
    unseen_mass = max(1 - float(mass.sum()), 0.0) if most >= 0 else 0.0
    return _corrected_z(total, groups * float(mass @ residuals**2 + unseen_mass * lost**2))


def _corrected_z(total: float, variance: float) -> float:
    if total <= HALF:
        return -math.inf
    return (total - HALF) / math.sqrt(variance) if variance > 0 else math.inf
