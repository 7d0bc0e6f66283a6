"""Best model on average over sets with few labelled rows, and the sets that the next labels go to.

Axis letters as in `engine`, and S sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.draws import Draws

NEXT = 10
"""Labels that are shared among sets."""

INTERVAL_WIDTH = 2 * 1.959964
"""Width of a 95 % interval in standard errors."""

MIN_DISTANCE = 1e-6
"""Distance from 0, 1/2 and 1 below which a probability says nothing about a difference's variance."""


def normal_draws(means: Floats, errors: Floats, beats: Floats, rng: np.random.Generator, samples: int) -> Draws:
    """Draw mean outcomes from (M,) means, (M,) errors and (M, M) probabilities of each order.

    The variance of a difference follows from P(a beats b) = Phi((mean_a - mean_b) / sd). Where that says nothing, the
    correlation is the median over the other pairs, or 0. Negative eigenvalues are set to 0, and the errors are kept.
    """
    from scipy.special import ndtri

    apart = means[:, None] - means[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = apart / ndtri(beats)
        correlation = (errors[:, None] ** 2 + errors[None, :] ** 2 - sd**2) / (2 * errors[:, None] * errors[None, :])
    off = ~np.eye(len(means), dtype=bool)
    usable = (
        off
        & (np.abs(beats - 0.5) > MIN_DISTANCE)
        & (np.abs(beats - 0.5) < 0.5 - MIN_DISTANCE)
        & (sd > 0)
        & np.isfinite(correlation)
    )
    typical = float(np.median(np.clip(correlation[usable], -1, 1))) if usable.any() else 0.0
    correlation = np.where(usable, np.clip(correlation, -1, 1), typical)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    sizes = np.sqrt((root**2).sum(axis=1, keepdims=True))
    root = np.divide(root, sizes, out=np.zeros_like(root), where=sizes > 0) * errors[:, None]
    return Draws(np.asarray(means + rng.standard_normal((samples, len(means))) @ root.T))


def next_labels(beliefs: Sequence[Draws], labels: Ints, first: int, second: int) -> Ints:
    """Share `NEXT` labels among sets, so that they tell most of the difference of two models' means over sets.

    The variance v_s of a set's draws of the difference shrinks as 1 over its labels n_s. Each label goes to the set
    where it takes most off the variance of the mean difference, sum of v_s / S^2.

    Args:
        labels: (S,) numbers of labelled rows, n_s.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> beliefs = [Draws(rng.normal([0.8, 0.7], sd, (9999, 2))) for sd in (0.02, 0.2)]
        >>> next_labels(beliefs, np.array([10, 10]), 0, 1).tolist()
        [0, 10]
    """
    spread = (
        np.array([(belief.values[:, first] - belief.values[:, second]).var() for belief in beliefs]) * labels
    )  # over labels: variance
    added = np.zeros(len(beliefs), dtype=np.int64)
    for _ in range(NEXT):
        added[int((spread / (labels + added) - spread / (labels + added + 1)).argmax())] += 1
    return added
