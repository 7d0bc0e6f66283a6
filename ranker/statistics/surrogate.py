"""SURROGATE: a few labels teach which models to believe, and what these say of all other rows stands in for labels.

The label of a row is taken for a weighted vote of the models on it. Labels, probabilities and predictions are points
around the centre of the simplex, in C - 1 coordinates: the label c is the point t_c, all |t_c| = 1; a model that is
certain of c stands on t_c, one that does not know in the centre. With v_m the point of model m on a row and u that of
the row's label,

    u = sum over m of w_m v_m / sqrt(M) + noise,   w ~ Normal(0, s^2 I),   noise ~ Normal(0, s^2 NOISE I).

K labelled rows make this a linear regression with M weights, negative ones allowed: where all models share a
wrong shortcut, those that follow it least are right where they differ. The accuracy of a model on the pool is how often
the label is what the model says, 1 / C + (1 - 1 / C) mean <t_predicted, u>, which is linear in w. So its estimate, and
the variance of the difference of two, are closed formulas; nothing is iterated, and no two rows are ever compared, so
that a pool of any size costs N M^2. Only what is said of rows enters, never a text.

There is one constant, NOISE, and no bandwidth; it was set on the embedded suites (docs/results/labels.md). It ranks;
how sure the ranking is, is said with the noise unknown, or models with nothing in common would be believed. The
weights are drawn to zero, and with them every accuracy to 1 / C: an estimate ranks, and is careful, but is no
measurement. Source of the idea: stacking, Wolpert 1992, and Breiman 1996; the regression is that of Bishop 2006,
"Pattern recognition and machine learning", section 3.3. Axis letters as in `pool`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.pool import Pool, corners
from ranker.statistics.posterior import LEVEL, NEAR, SAMPLES

NAME = "SURROGATE"

NOISE = 0.3
"""The variance of a label around the vote, a coordinate, in units of that of a vote of models that all are certain."""

NOISES = (NOISE, 1.0, 3.0, 10.0)
"""The noises that a posterior weighs against each other: a vote of models that have little in common tells less."""

BELIEF = 4.0
"""Labels that the prior scale, with which labels have the variance they have, counts for against what they show."""

CHUNK = 1_000
"""Draws handled at once: memory is 8 bytes * CHUNK * M * (K (C - 1) + M), 24 MB at M = 50, K = 10."""

EQUAL = 1e-7
"""Two sampled accuracies this close are equal: models that predict the same everywhere, but for rounding."""

ENOUGH = 2**20
"""No number of further labels above this is told."""


def estimates(pool: Pool, labels: Ints, draws: Ints) -> Floats:
    """Estimate the models' accuracies on a pool, once for each draw of labelled rows.

    Args:
        pool: what the models make of all rows.
        labels: (N,) labels of the pool's rows; only those that a draw shows are looked at.
        draws: (B, K) the rows of the pool that each draw shows.

    Returns:
        (M, B) accuracies; drawn to 1 / C, so that their order means more than their size.

    Example:
        >>> sure = np.array([[0.9, 0.9, 0.1, 0.1], [0.9, 0.1, 0.9, 0.1]])
        >>> pool = Pool(np.stack([sure, 1 - sure], axis=2))
        >>> estimates(pool, np.array([0, 0, 1, 1]), np.array([[1]])).round(2).ravel().tolist()  # the first is right
        [0.67, 0.33]
    """
    classes = pool.probs.shape[2]
    seen, gain = pool.votes, pool.gains
    told = corners(classes)[labels]
    found = [gain @ _weights(seen, told, draws[start : start + CHUNK]).T for start in range(0, len(draws), CHUNK)]
    return np.asarray(1 / classes + (1 - 1 / classes) * np.concatenate(found, axis=1))


def _weights(seen: Floats, told: Floats, draws: Ints) -> Floats:
    """(B, M) the models' weights, from votes (N, C - 1, M) and labels (N, C - 1) on the rows of each draw.

    (X'X + n I)^-1 X'y is X'(XX' + n I)^-1 y: the smaller of the two systems is solved.
    """
    models = seen.shape[2]
    x = seen[draws].reshape(len(draws), -1, models)
    y = told[draws].reshape(len(draws), -1, 1)
    across = x.transpose(0, 2, 1)
    if x.shape[1] < models:
        return np.asarray((across @ np.linalg.solve(x @ across + NOISE * np.eye(x.shape[1]), y))[:, :, 0])
    return np.asarray(np.linalg.solve(across @ x + NOISE * np.eye(models), across @ y)[:, :, 0])


@dataclass(frozen=True)
class Posterior:
    """What labels and pool say of the models' accuracies in the domain: a mix of H normal distributions.

    Attributes:
        score: (M,) what the models are ranked by, the `estimates`.
        weights: (H,) how probable each noise of `NOISES` is; they sum to 1.
        means: (H, M) expected accuracies, drawn to 1 / C.
        covariances: (H, M, M) of these, from the weights that are not known and from the pool being a sample.
        directions: (H, M, M) the accuracies' covariance due to the weights is directions @ directions.T.
        to_come: (H, M) by how much one more random label raises the precision of each direction, relative to now.
    """

    score: Floats
    weights: Floats
    means: Floats
    covariances: Floats
    directions: Floats
    to_come: Floats

    def beats(self) -> Floats:
        """(M, M) P(the model of the row is more accurate than that of the column); 1/2 on the diagonal."""
        from scipy.special import ndtr

        lead = self.means[:, :, None] - self.means[:, None]
        spread = np.sqrt(_of_differences(self.covariances))
        apart = spread > EQUAL
        better = np.where(apart, ndtr(np.divide(lead, spread, out=np.zeros_like(lead), where=apart)), 0.5)
        return np.asarray(np.round(np.tensordot(self.weights, better, axes=1), 12))

    def best(self, rng: np.random.Generator, samples: int = SAMPLES) -> tuple[Floats, Floats]:
        """(M,) P(no other is more accurate), equal models share; (M,) P(none is by more than a point): see `NEAR`."""
        count, close = np.zeros(len(self.score)), np.zeros(len(self.score))
        parts = zip(rng.multinomial(samples, self.weights), self.means, self.covariances, strict=True)
        for many, mean, covariance in parts:
            size, axes = np.linalg.eigh(covariance)
            factor = axes * np.sqrt(np.maximum(size, 0.0))
            drawn = mean + rng.standard_normal((many, len(size))) @ factor.T
            first = drawn >= drawn.max(axis=1, keepdims=True, initial=-np.inf) - EQUAL
            count += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
            close += (drawn >= drawn.max(axis=1, keepdims=True, initial=-np.inf) - NEAR).sum(axis=0)
        return np.asarray(count / samples), np.asarray(close / samples)

    def interval(self) -> tuple[Floats, Floats]:
        """(M,) lower and (M,) upper ends of the 95 % interval of each accuracy, as of one normal distribution."""
        from ranker.statistics.intervals import Z95

        mean = self.weights @ self.means
        variance = self.weights @ (np.diagonal(self.covariances, axis1=1, axis2=2) + (self.means - mean) ** 2)
        half = Z95 * np.sqrt(variance)
        return np.clip(mean - half, 0.0, 1.0), np.clip(mean + half, 0.0, 1.0)

    def more_labels(self) -> Ints:
        """Find how many more labels of random rows would tell two models apart.

        With n more labels the variance of a difference is v_n + r, r being what only more rows, and no labels, would
        take away; both are averages over the noises. If the difference is what it now seems, its estimate varies by
        about v_n and is told apart where it exceeds z sqrt(v_n + r): with probability `LEVEL` from the n on for which
        |difference| >= z sqrt(v_n + r) + z sqrt(v_n).

        Returns:
            (M, M) numbers, at least 1; -1 where no number up to 2^20 would do with this pool.
        """
        from scipy.special import ndtri

        z = float(ndtri(LEVEL))
        mean = self.weights @ self.means
        lead = np.abs(mean[:, None] - mean)
        apart = (self.directions[:, :, None] - self.directions[:, None]) ** 2  # (H, M, M, directions)
        rest = np.tensordot(self.weights, _of_differences(self.covariances) - apart.sum(axis=3), axes=1)

        def enough(more: Ints) -> Bools:
            shrunk = apart / (1 + more[..., None] * self.to_come[:, None, None])
            left = np.tensordot(self.weights, shrunk.sum(axis=3), axes=1)
            return np.asarray(lead >= z * np.sqrt(np.maximum(left + rest, 0.0)) + z * np.sqrt(left))

        low, high = np.zeros(lead.shape, dtype=np.int64), np.full(lead.shape, ENOUGH)
        possible = enough(high) & (lead > EQUAL)
        while (high - low).max() > 1:
            middle = (low + high) // 2
            reached = enough(middle)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.asarray(np.where(possible, np.maximum(high, 1), -1))


def posterior(pool: Pool, places: Ints, labels: Ints) -> Posterior:
    """Say what K labels and a pool tell of the models' accuracies in the domain that the pool is a sample of.

    A difference of two accuracies has three sources of error. The weights are known no better than K labels allow:
    with a noise n their covariance is s^2 n (V'V + n I)^-1, and s^2 is estimated from the labels. How well a vote of
    these models can tell labels at all, is not known either: each noise of `NOISES` counts as much as it makes the
    labels that were seen likely (a multivariate t). And the pool is a sample of N rows: a difference on it varies by
    d / N around that in the domain, d the share of rows on which the two disagree.

    Args:
        pool: what the models make of all rows.
        places: (K,) where the labelled rows stand in the pool.
        labels: (K,) their labels.
    """
    from scipy.special import softmax

    models, size, classes = pool.probs.shape
    seen = pool.votes
    x = seen[places].reshape(-1, models)
    y = corners(classes)[labels].ravel()
    every = np.einsum("ncm,nck->mk", seen, seen) / size
    gain = (1 - 1 / classes) * pool.gains
    likely, means, covariances, directions, to_come = [], [], [], [], []
    for noise in NOISES:
        precision = x.T @ x / noise + np.eye(models)
        weights = np.linalg.solve(precision, x.T @ y / noise)
        prior = scale(noise, classes)
        evidence = BELIEF * prior + (y @ y - (x.T @ y) @ weights) / noise
        counted = BELIEF + len(y)
        log_volume = np.linalg.slogdet(precision)[1] + len(y) * np.log(noise)
        likely.append(-0.5 * (log_volume + counted * np.log(evidence) - BELIEF * np.log(BELIEF * prior)))
        # the directions of the weights in which further labels say something independent
        half = np.linalg.inv(np.linalg.cholesky(precision))
        further, axes = np.linalg.eigh(half @ (every / noise) @ half.T)
        means.append(1 / classes + gain @ weights)
        directions.append(np.sqrt(evidence / counted) * gain @ half.T @ axes)
        covariances.append(directions[-1] @ directions[-1].T + pool.agreement / (2 * size))
        to_come.append(np.maximum(further, 0.0))
    return Posterior(
        score=means[0],
        weights=softmax(likely),
        means=np.array(means),
        covariances=np.array(covariances),
        directions=np.array(directions),
        to_come=np.array(to_come),
    )


def scale(noise: float, classes: int) -> float:
    """The s^2 for which a label's point has length 1 on average: E|u|^2 = s^2 (1 + (C - 1) noise).

    Example:
        >>> scale(1.0, 2), scale(0.5, 3)
        (0.5, 0.5)
    """
    return 1 / (1 + (classes - 1) * noise)


def _of_differences(covariances: Floats) -> Floats:
    """(..., M, M) the variance of the difference of each two."""
    own = np.diagonal(covariances, axis1=-2, axis2=-1)
    return np.asarray(np.maximum(own[..., :, None] + own[..., None, :] - 2 * covariances, 0.0))
