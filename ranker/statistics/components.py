"""Variance of the mean outcomes of members that are made of two parts: which part matters more.

A member is, say, a model with a prompt. Its mean outcome in the domain is

    mu_m = mu + a[i(m)] + b[j(m)] + r_m,    with variances A, B and R of the three effects,

where i(m) and j(m) are its first and its second part, and r_m is what is left: the interaction of the two, and
differences between members of the same two parts. Estimates are Henderson's third method, which fits constants by least
squares: the sums of squares of the first part beyond the second, of the second beyond the first, and of what is left
beyond both, equated to their expectations, which are linear in A, B and R. Pairs of parts may be missing, or have
several members. Where all pairs have the same number of members, this is the two-way analysis of variance.

Only N rows are seen, and the members share them. A row that is hard for all changes no difference between members, so
the noise of a sum of squares is that of its contrasts, each measured from row to row. It is subtracted.

The intervals are over other rows, for these members. They are percentiles of draws by the Bayesian bootstrap
(`rows.resample`), since those hold for any shape of the distribution and keep the order of squares and
roots. Drawn means scatter around the observed ones, which are too far apart by the noise themselves, so bare
percentiles would count the noise twice. Each sum of squares is therefore first scaled to its estimate. The draws have a
prior, rows of exchanged outcomes. So members that answer alike may differ in the domain, and an interval has a width
even if few rows show no noise. Where draws are narrower than the noise that the rows show, they are widened to it, by
as much as Student's t is wider than the normal distribution: few rows show their noise only roughly.

Axis letters as in `engine`: M members, N rows, S draws; and k contrasts.

Sources: Henderson 1953, "Estimation of variance and covariance components", method 3; Searle, Casella and McCulloch
1992, "Variance components", section 5.5; for these members alone: Gelman 2005, "Analysis of variance: why it is more
important than ever", section 3.5; Rubin 1981, "The Bayesian bootstrap".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from factors.rounding import TIE
from factors.types import Floats, Ints
from ranker.statistics.draws import TAIL, Draws
from ranker.statistics.intervals import Z95
from ranker.statistics.paired import standard_errors, t_quantile
from ranker.statistics.posterior import PRIORS
from ranker.statistics.resampling import INTERVAL_DRAWS, units_of
from ranker.statistics.rows import resample

RANK = 1e-9
"""Length below which what is left of a unit vector is rounding."""


@dataclass(frozen=True)
class Component:
    """Variance of the members' mean outcomes that is due to one part.

    Attributes:
        variance: estimate, in squared outcomes; below 0 if the members differ less than by noise alone.
        sd: its root, in outcomes: 0.08 are 8 points; 0 where the estimate is below 0.
        low, high: 95 % interval of the root; at most 1, the range of outcomes.
    """

    variance: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of the mean outcomes of members of two parts.

    Attributes:
        rows: N, the rows that all members were judged on.
        first, second: due to either part.
        residual: due to neither alone: their interaction, and differences between members of the same two parts.
        p_first: probability that the first part's variance is the larger one, given these rows.
    """

    rows: int
    first: Component
    second: Component
    residual: Component
    p_first: float


def variance_components(
    outcomes: Floats,
    first: Ints,
    second: Ints,
    rng: np.random.Generator,
    clusters: Ints | None = None,
    draws: int = INTERVAL_DRAWS,
) -> VarianceComponents | str:
    """Estimate how far members differ by their first part, by their second, and by neither alone, or say why not.

    Args:
        outcomes: (M, N) of the members, from 0 to 1; nan where a member was not judged, which leaves the row out.
        first, second: (M,) number of each member's first and second part.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> right = np.array([0.5, 0.5, 0.9, 0.9])  # the first part makes 40 points of difference, the second none
        >>> outcomes = (rng.random((4, 500)) < right[:, None]).astype(float)
        >>> parts = variance_components(outcomes, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), rng)
        >>> round(parts.first.sd, 2), round(parts.second.sd, 2), round(parts.p_first, 2)
        (0.3, 0.01, 1.0)
    """
    judged = ~np.isnan(outcomes).any(axis=0)
    outcomes, clusters = outcomes[:, judged], None if clusters is None else clusters[judged]
    contrasts, expected = _sums_of_squares(first, second)
    if reason := _undefined(outcomes, first, second, contrasts, clusters):
        return reason
    solve = np.linalg.inv(expected)
    means = [matrix.T @ outcomes.mean(axis=1) for matrix in contrasts]
    squares = np.array([mean @ mean for mean in means])
    noise = np.array([(standard_errors(matrix.T @ outcomes, clusters) ** 2).sum() for matrix in contrasts])
    estimates = solve @ (squares - noise)
    estimates[np.abs(estimates) <= TIE**2] = 0.0
    rows = units_of(outcomes[:, :, None], clusters)
    drawn = resample(rows, lambda values: values[..., 0], None, np.eye(len(PRIORS))[0], rng, draws)
    moves = [(drawn - drawn.mean(axis=0)) @ matrix for matrix in contrasts]
    spread = np.array([(move**2).sum(axis=1).mean() for move in moves])
    units = outcomes.shape[1] if clusters is None else len(np.unique(clusters))
    to_noise = max(t_quantile(units - 1) / Z95 * np.sqrt(noise.sum() / spread.sum()), 1.0)
    targets = expected @ np.maximum(estimates, 0.0)
    to_estimate = np.sqrt(np.divide(targets, squares, out=np.zeros(3), where=squares > TIE**2))
    drawn_squares = [
        ((scale * mean + to_noise * move) ** 2).sum(axis=1) - to_noise**2 * of_noise
        for scale, mean, move, of_noise in zip(to_estimate, means, moves, spread, strict=True)
    ]
    variances = np.maximum(np.stack(drawn_squares, axis=1) @ solve.T, 0.0)
    ends = np.sqrt(np.minimum(np.quantile(variances, [TAIL, 1 - TAIL], axis=0), 1.0)).T.tolist()
    a, b, residual = (
        Component(variance, max(variance, 0.0) ** 0.5, low, high)
        for variance, (low, high) in zip(estimates.tolist(), ends, strict=True)
    )
    return VarianceComponents(outcomes.shape[1], a, b, residual, float(Draws(variances[:, :2]).beats()[0, 1]))


def _sums_of_squares(first: Ints, second: Ints) -> tuple[Sequence[Floats], Floats]:
    """Return (M, k) orthonormal contrasts of three sums of squares, and (3, 3) what each expects of A, B and R."""
    of_first, of_second = (np.eye(codes.max() + 1)[codes] for codes in (first, second))
    contrasts = (
        _beyond(of_first, of_second),
        _beyond(of_second, of_first),
        _beyond(np.eye(len(first)), np.hstack([of_first, of_second])),
    )
    expected = np.diag([((contrasts[0].T @ of_first) ** 2).sum(), ((contrasts[1].T @ of_second) ** 2).sum(), 0.0])
    expected[:, 2] = [matrix.shape[1] for matrix in contrasts]
    return contrasts, expected


def _beyond(columns: Floats, other_columns: Floats) -> Floats:
    """Return (M, k) an orthonormal basis of what columns reach and others do not."""
    reached, sizes, _ = np.linalg.svd(other_columns, full_matrices=False)
    reached = reached[:, sizes > RANK]
    basis, sizes, _ = np.linalg.svd(columns - reached @ (reached.T @ columns), full_matrices=False)
    return np.asarray(basis[:, sizes > RANK])


def _undefined(outcomes: Floats, first: Ints, second: Ints, contrasts: Sequence[Floats], clusters: Ints | None) -> str:
    """Explain why the components cannot be computed; "" if they can."""
    by_first, by_second, left = (matrix.shape[1] for matrix in contrasts)
    if min(len(np.unique(first)), len(np.unique(second))) < 2:
        return "two of each part are needed"
    if not (by_first and by_second and left):
        return "the parts are confounded: too few pairs of them exist to tell the two apart"
    if outcomes.shape[1] < 2 or (clusters is not None and len(np.unique(clusters)) < 2):
        return "two rows that all were judged on are needed, or two clusters of them"
    if np.ptp(outcomes, axis=0).max() <= TIE:
        return "all did equally well on every row"
    return ""
