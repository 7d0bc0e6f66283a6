"""Exact tests that two models are equally good on the same rows, and corrections for many tests.

The tests assume no distribution of outcomes. If two models are equally good, their outcomes on a row, or on all rows of
a cluster, can be swapped: each difference is as probable with either sign.

Axis letters as in `engine`, and G clusters of rows.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from factors.rounding import TIE
from factors.types import Floats, Ints

Test: TypeAlias = Literal["mcnemar", "sign-flip", "sign-flip-drawn"]
"""Source of a p: rows that one model alone has right, all signs of the clusters, or a sample of these signs."""

MCNEMAR: Test = "mcnemar"

STEPS = 100
"""Largest q for which sums that are multiples of 1/q lie on a grid: means over up to 10 epochs, percentages."""

MAX_ADDITIONS = 2**28
"""Most additions on that grid for a p: less than a second."""

LISTED = 16
"""Most sums off the grid whose signs are all listed: 2^16 of them."""

DRAWS = 19_999
"""Signs that are drawn where there are more: no p is below 1/20,000, and one of 0.05 is off by 0.0015."""

CHUNK = 2**20
"""Signs at once: 9 bytes each."""


def mcnemar(better: Ints, worse: Ints) -> Floats:
    """Run McNemar's exact two-sided test: of the rows that one model alone has right, each has half of them.

    p = 2 P(X <= min(better, worse)), X binomial (better + worse, 1/2), at most 1. It is 1 where no row tells them
    apart.

    Args:
        better, worse: any shape, rows that the first model had right and the second wrong, and the other way round.

    Example:
        >>> mcnemar(np.array([6, 3, 0]), np.array([0, 3, 0])).tolist()
        [0.03125, 1.0, 1.0]

    Source: McNemar 1947, "Note on the sampling error of the difference between correlated proportions".
    """
    from scipy.special import bdtr

    return np.asarray(np.minimum(2 * bdtr(np.minimum(better, worse), better + worse, 0.5), 1.0))


def sign_flip(sums: Floats, rng: np.random.Generator) -> tuple[float, Test]:
    """Test whether the two models could be swapped in every cluster, by (G,) differences s_c; p is 1 if their sum is 0.

    If they could, the difference summed over a cluster, s_c, is as probable with either sign. So

        p = P(|sum over clusters of e_c s_c| >= |sum over clusters of s_c|),

    over all signs e, where the sums lie on a grid or are few. Else signs are drawn, and p = (b + 1) / (B + 1), with b
    of B draws at least as far from 0. Of differences -1, 0 and 1 of independent rows this is McNemar's test.

    Example:
        >>> p, test = sign_flip(np.array([1.0, 2.0, 0.5, 0.0, 1.0]), np.random.default_rng(0))
        >>> round(p, 9), test
        (0.125, 'sign-flip')

    Source: Fisher 1935, "The design of experiments", section 21; by cluster: Canay, Romano, Shaikh 2017,
    "Randomization tests under an approximate symmetry assumption"; drawn: Phipson and Smyth 2010, "Permutation p-values
    should never be zero".
    """
    sizes, distance = np.abs(sums[np.abs(sums) > TIE]), abs(float(sums.sum()))
    slack = TIE * len(sums)
    if distance <= slack:
        return 1.0, "sign-flip"
    if (step := _step(sizes)) is not None:
        units = np.rint(sizes * step).astype(np.int64)
        flipped = (int(units.sum()) - round(distance * step)) // 2
        if len(units) * (flipped + 1) <= MAX_ADDITIONS:
            return _on_a_grid(units, flipped), "sign-flip"
    if len(sizes) <= LISTED:
        totals = np.zeros(1)
        for size in sizes:
            totals = np.concatenate([totals - size, totals + size])
        return float((np.abs(totals) >= distance - slack).mean()), "sign-flip"
    farther, chunk = 0, max(CHUNK // len(sizes), 1)
    for start in range(0, DRAWS, chunk):
        signs = rng.integers(2, size=(min(chunk, DRAWS - start), len(sizes)), dtype=np.int8)
        totals = 2 * (signs.astype(np.float64) @ sizes) - sizes.sum()
        farther += int((np.abs(totals) >= distance - slack).sum())
    return (farther + 1) / (DRAWS + 1), "sign-flip-drawn"


def holm(p: Floats) -> Floats:
    """Return (P,) p adjusted for many tests: no more than 5 % of such families have a false one below 0.05.

    The i-th smallest of P becomes the greatest of (P - j + 1) p_(j) over j <= i, at most 1.

    Example:
        >>> holm(np.array([0.01, 0.04, 0.03, 0.005])).round(3).tolist()
        [0.03, 0.06, 0.06, 0.02]

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def _step(sizes: Floats) -> int | None:
    """Return the smallest q for which all sizes are multiples of 1/q; None where no q up to `STEPS` is."""
    return next((q for q in range(1, STEPS + 1) if (np.abs(sizes * q - np.rint(sizes * q)) < 1e-9).all()), None)


def _on_a_grid(units: Ints, flipped: int) -> float:
    """Return P(|sum of e_c u_c| >= sum of u_c - 2 flipped) over all signs, for whole numbers u_c."""
    # The sum is that far above 0 where the u_c with a minus add to no more than `flipped`, and as often that far below.
    # Only positive numbers are added, so a small p has as many digits as a large one.
    law = np.zeros(flipped + 1)  # P(those with a minus add to 0, 1, ...)
    law[0] = 1.0
    for unit in units:
        law[unit:] += law[: len(law) - unit] if unit < len(law) else 0.0
        law /= 2
    return float(min(2 * law.sum(), 1.0))
