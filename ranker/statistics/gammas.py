"""Probability that a weighted sum of gamma variables is above zero, computed without drawing.

    X = sum_k g_k d_k + G+ - G-,    g_k from Gamma(1), G+ and G- from Gamma(c), all independent; c is mixed over.

The moment generating function M(s) = E exp(s X) = (1 - s^2)^-c prod_k 1 / (1 - s d_k) is known, and for any sigma > 0
at which M(-sigma) is finite

    P(X < 0) = 1 / pi * integral_0^inf Re( M(-sigma + i tau) / (sigma - i tau) ) d tau.

As sigma goes to 0 this is the formula of Gil-Pelaez, which Imhof uses. There the integrand swings many times where X is
nearly always above zero. Through the saddle point, the sigma with the smallest M(-sigma), it hardly swings (Rice). With
tau = sigma sinh(v) the nearest singularities, 0 and those of M, are pi / 2 away from the path, and the trapezoidal rule
converges geometrically: half the step doubles the digits (Trefethen and Weideman). So a change of 1e-10 from one step
to the next leaves an error near 1e-16.

Sources: Gil-Pelaez 1951, "Note on the inversion theorem"; Imhof 1961, "Computing the distribution of quadratic forms in
normal variables"; Rice 1980, "Distribution of quadratic forms in normal random variables: evaluation by numerical
integration"; Trefethen, Weideman 2014, "The exponentially convergent trapezoidal rule".
"""

from __future__ import annotations

import numpy as np

from factors.types import Floats, Ints

CHUNK = 512
"""Sums handled at once: memory is 8 bytes * CHUNK * (4 K + 12 nodes), the nodes 32 as a rule and at most `NODES`."""

WIDEST = 0.25
"""Largest step whose value is accepted; there are at least 16 steps."""

NODES = 2**14
"""Most nodes of the refinement. 600 differences that all are 0.01 need 2^10."""

CLOSE = 1e-10
"""Change, relative to M(-sigma), at which refinement ends."""

END_EXPONENT = 34.5
"""The path ends where the integrand is below exp(-END_EXPONENT) = 1e-15 of M(-sigma)."""


def above_zero(rows: Floats, shapes: Floats, weights: Floats) -> Floats:
    """Return (P,) P(X > 0) of sums, to 1e-12.

    Args:
        rows: (P, K) the d_k of each sum, from -1 to 1, of which one at least is not 0.
        shapes: (C,) the values of c, above 0.
        weights: (C,) the probability of each.

    Example:
        >>> rows = np.array([[0.5, -0.5], [1.0, -0.5]])
        >>> above_zero(rows, np.array([1.0]), np.ones(1)).round(3).tolist()
        [0.5, 0.611]
    """
    chances = [_above_zero(rows[low : low + CHUNK], shapes, weights) for low in range(0, len(rows), CHUNK)]
    return np.concatenate([np.empty(0), *chances])


def _above_zero(rows: Floats, shapes: Floats, weights: Floats) -> Floats:
    """Return P(X > 0) for a chunk of sums, each turned so that its mean is not below zero."""
    turned = rows.sum(axis=1) < 0
    rows = np.where(turned[:, None], -rows, rows)
    sigma = _saddle(rows, shapes, weights)
    tilted = 1 + sigma[:, None] * rows
    size = np.exp(-np.log(tilted).sum(axis=1))  # M(-sigma), but for G+ and G-
    tilted = rows / tilted  # 1 - s d = (1 + sigma d) (1 - i tau tilted)
    end = _end(tilted, sigma)

    def inside(sums: Ints, v: Floats) -> Floats:
        """Return (Q,) sums over the nodes v, (Q, nodes), of the integrand over `size`."""
        tau = sigma[sums, None] * np.sinh(v)
        real, imaginary = np.ones_like(tau), np.zeros_like(tau)
        for column in tilted[sums].T:
            turn = column[:, None] * tau
            real, imaginary = real + turn * imaginary, imaginary - turn * real
        value = (1 / np.cosh(v) + 1j * np.tanh(v)) / (real + 1j * imaginary)
        square = 1 - (1j * tau - sigma[sums, None]) ** 2
        mix = sum(weight * (1 / square) ** shape for shape, weight in zip(shapes, weights, strict=True))
        return np.asarray((value * mix).real.sum(axis=1))

    everything, nodes = np.arange(len(rows)), 16
    inner = inside(everything, end[:, None] * np.arange(1, nodes + 1) / nodes)
    mean, left = (inner + inside(everything, np.zeros((len(rows), 1))) / 2) / nodes, everything
    while len(left) and nodes < NODES:
        between = inside(left, end[left, None] * (np.arange(nodes) + 0.5) / nodes) / nodes
        change = (between - mean[left]) / 2
        mean[left] += change
        nodes *= 2
        left = left[(np.abs(change) * end[left] > CLOSE) | (end[left] / nodes > WIDEST)]
    below = np.clip(size * mean * end / np.pi, 0, 1)
    return np.asarray(np.where(turned, below, 1 - below))


def _saddle(rows: Floats, shapes: Floats, weights: Floats) -> Floats:
    """Return (P,) sigmas that minimise M(-sigma), at least 1 / sd(X), at most half way to where M is infinite."""
    # log M has the derivative sum_k d_k / (1 - s d_k) + 2 c s / (1 - s^2), which grows with s; c is its mean here;
    # 1 / s is infinite at 0
    c = float(shapes @ weights)
    lowest = np.maximum(-rows.min(axis=1), 1.0)  # M is infinite from -1 / lowest on
    low, high = np.zeros(len(rows)), 0.5 / lowest
    most = high
    for _ in range(12):
        middle = (low + high) / 2
        rising = (rows / (1 + middle[:, None] * rows)).sum(axis=1) > 2 * c * middle / (1 - middle**2)
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.asarray(np.minimum(most, np.maximum(high, 1 / np.sqrt((rows**2).sum(axis=1) + 2 * c))))


def _end(tilted: Floats, sigma: Floats) -> Floats:
    """Return (P,) the v at which the path ends."""
    # The integrand is at most prod_k (1 + (tau d_k)^2)^-1/2 <= (1 + (tau d_(j))^2)^(-j / 2), with d_(j) the j-th
    # greatest of all |d_k|. Each j gives a place where it is small enough; the first of these is the end.
    greatest = np.maximum(-np.sort(-np.abs(tilted), axis=1), 1e-100)  # a 0 gives no bound
    reach = np.sqrt(np.expm1(2 * END_EXPONENT / np.arange(1, 1 + tilted.shape[1])))
    return np.asarray(np.arcsinh((reach / greatest).min(axis=1) / sigma))
