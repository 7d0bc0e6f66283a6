"""Forecast of how many further labels it takes until the best model is known, as a range with its probability.

What is known of the models' mean outcomes is taken for Normal(m, V + R): V is what labels lower, R (the pool as a
sample of the domain) what they do not. A label raises the precision of V by the share g (times `SPEED`), so that n
labels leave V / (1 + n g). What they take away is how far m still moves: as Brownian motion stopped at
V n g / (1 + n g), since the mean of a posterior is a martingale. Paths of m are drawn, and on each the first n is noted
at which no model is better than the leader by more than the margin with the probability that is wanted.

Axis letters: M models, B paths, D draws of the models' mean outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from factors.types import Floats, Ints

RANGE = 0.8
"""Probability that the number of labels lies in the range: the ends are left with one half of the rest each."""

PATHS, DRAWS = 200, 128
"""Paths of the means, and draws at each step of a path."""

AHEAD = 1_000
"""Labels to look ahead where rows are not limited by a pool: nobody labels more to choose a model."""

SPEED = 1.5
"""Ratio of the gain by a label to that of the normal approximation: posteriors here are mixtures, and labels first cut
off their tails. With 1 the lower end was too high in 19 % of 355 forecasts on the development sets, with 1.5 in 11 %,
with 2 in 6 %; 10 % are meant."""

STEPS = 20
"""Numbers of labels at which a path is looked at, evenly spread over their logarithm."""

CANDIDATES = 16
"""Models with the highest means, less their spread, that can still be the best; the others count no more."""


@dataclass(frozen=True)
class Outlook:
    """Normal approximation of what is known of the models' mean outcomes, and how labels would change it.

    Attributes:
        mean: (M,) expected mean outcomes.
        reducible: (M, M) their covariance that labels lower.
        lasting: (M, M) their covariance that labels do not lower.
        gain: share by which one label raises the precision, the inverse of `reducible`.
        most: labels that can still be given.
    """

    mean: Floats
    reducible: Floats
    lasting: Floats
    gain: float
    most: int

    @classmethod
    def of(cls, drawn: Floats, gain: float, most: int) -> Outlook:
        """Describe (S, M) draws of mean outcomes, all of whose spread labels can lower."""
        spread = np.atleast_2d(np.cov(drawn.T, bias=True))
        return cls(drawn.mean(axis=0), spread, np.zeros_like(spread), gain, most)


@dataclass(frozen=True)
class Forecast:
    """Range of the number of further labels until the best model is known, with a probability of `RANGE`.

    Attributes:
        low, high: its ends; None for one beyond `most`.
        most: labels that can still be given, or that are looked ahead.
        goal: probability that no model is better than the leader by more than a margin, which is waited for.
    """

    low: int | None
    high: int | None
    most: int
    goal: float


def forecast_labels(
    outlook: Outlook, rng: np.random.Generator, goal: float, margin: float, now: float = 0.0
) -> Forecast:
    """Forecast after how many labels no model is better than the leader by more than a margin, probably enough.

    The range is from 1 to `outlook.most`; from 0 to 0 if the goal is reached.

    Args:
        margin: the lead that counts, in outcomes.

    Example:
        >>> apart = Outlook(np.array([0.8, 0.7]), np.eye(2) * 0.01, np.zeros((2, 2)), 0.1, 1_000)
        >>> close = Outlook(np.array([0.8, 0.79]), np.eye(2) * 0.01, np.zeros((2, 2)), 0.1, 1_000)
        >>> few, many = (forecast_labels(now, np.random.default_rng(0), 0.9, 0.01) for now in (apart, close))
        >>> few.low < many.low, few.high < many.high
        (True, True)
    """
    if now >= goal:
        return Forecast(0, 0, outlook.most, goal)
    if goal >= 1:
        return Forecast(None, None, outlook.most, goal)  # a normal distribution has no end
    reached = np.full(PATHS, np.inf)
    models = _candidates(outlook)
    reducible, lasting = outlook.reducible[np.ix_(models, models)], outlook.lasting[np.ix_(models, models)]
    steps = np.unique(np.rint(np.geomspace(1, max(outlook.most, 1), STEPS)).astype(np.int64))[: outlook.most]
    gained = steps * outlook.gain * SPEED
    done = gained / (1 + gained)
    draws, mean = rng.standard_normal((DRAWS, len(models))), np.tile(outlook.mean[models], (PATHS, 1))
    spread = _root(reducible)
    for count, share, step in zip(steps, done, np.sqrt(np.diff(done, prepend=0.0)), strict=True):
        mean = mean + step * rng.standard_normal(mean.shape) @ spread
        open_ = np.flatnonzero(np.isinf(reached))
        apart = mean[open_, None] + draws @ _root(reducible * (1 - share) + lasting)  # (b, D, M)
        leader = apart[np.arange(len(open_)), :, mean[open_].argmax(axis=1)]
        near = (leader >= apart.max(axis=2) - margin).mean(axis=1)
        reached[open_[near >= goal]] = count
    ends = np.sort(reached)[[round(PATHS * (1 - RANGE) / 2), round(PATHS * (1 + RANGE) / 2) - 1]]
    low, high = (None if np.isinf(end) else int(end) for end in ends)
    return Forecast(low, high, outlook.most, goal)


def _candidates(outlook: Outlook) -> Ints:
    """Return the models that can still be the best, in the given order."""
    deviation = np.sqrt(np.maximum(np.diagonal(outlook.reducible), 0))
    return np.asarray(np.sort(np.argsort(-(outlook.mean + 2 * deviation), kind="stable")[:CANDIDATES]))


def _root(covariance: Floats) -> Floats:
    """Return the symmetric root, which does not depend on how a library signs eigenvectors."""
    sizes, axes = np.linalg.eigh(covariance)
    return np.asarray(axes * np.sqrt(np.maximum(sizes, 0.0)) @ axes.T)
