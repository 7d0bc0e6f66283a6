"""Intervals of a pairwise accuracy, over other examples and over other models.

Two questions, two intervals:

- *Would another population of N examples from the same domain have given this pairwise accuracy?* The models stay, the
  examples vary: `variance` of the examples' influences (the infinitesimal jackknife), then
  `of_pairwise_accuracy`, or `of_difference` for a method minus ACC, whose influences are subtracted example by example
  and so stay paired.
- *Would other models of this kind have given it?* The examples stay, the models vary: `over_models`, by leaving out
  one model at a time, since pairs that share a model are not independent.

Axis letters as in `engine`.
"""

from __future__ import annotations

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.engine import pairs

Z95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


def drawn_influence(pairwise_accuracy: Floats, draws: Ints, examples: int) -> Floats:
    """Estimate the (F, N) influence of each example on a pairwise accuracy from draws: its derivative by weights.

    U_i = N Cov(c_i, a), with c_i the count of example i in a draw and a the draw's pairwise accuracy. The noise of B
    draws adds K Var(a) / B to the variance computed from it, which the caller subtracts. `exact.influence` is better
    where it applies.

    Args:
        pairwise_accuracy: (F, B) of each draw, or a difference of two such.

    Source: Efron 2014, "Estimation and accuracy after model selection", section 3; the correction: Wager, Hastie,
    Efron 2014, "Confidence intervals for random forests", section 2.
    """
    size = draws.shape[1]
    centred = pairwise_accuracy - pairwise_accuracy.mean(axis=1, keepdims=True)
    sums = [np.bincount(draws.ravel(), weights=np.repeat(draw, size), minlength=examples) for draw in centred]
    return np.asarray(np.reshape(sums, (len(centred), examples)) * (examples / len(draws)))


def variance(influence: Floats, noise: Floats) -> Floats:
    """Return (F,) variances over populations of N examples: sum U_i^2 / N^2, corrected for draws; at least 0.

    Args:
        influence: (F, N) derivatives U_i with respect to the examples' weights.
        noise: (F,) a variance on top (of the draws), or to be taken off (the noise in U).

    Source: Efron 1982, "The jackknife, the bootstrap and other resampling plans", chapter 6.
    """
    return np.asarray(np.maximum((influence**2).sum(axis=1) / influence.shape[1] ** 2 + noise, 0.0))


def of_draws(pairwise_accuracy: Floats) -> Floats:
    """Return (F,) variances of means over draws of (F, B) pairwise accuracies; infinite with one draw."""
    methods, count = pairwise_accuracy.shape
    return np.asarray(pairwise_accuracy.var(axis=1, ddof=1) / count) if count > 1 else np.full(methods, np.inf)


def of_pairwise_accuracy(estimate: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the 95 % interval of a pairwise accuracy, symmetric in the arcsine of its root, so it stays in [0, 1].

    Near 0 and 1 that scale has hardly a slope, and would stretch a few points over the whole range. So no end moves
    further than an interval of 1.96 standard errors from 0 or 1. Log-odds would stretch the ends further: 98.4 -+ 4
    points would become an interval from 83.

    Example:
        >>> estimate, variance = np.array([0.97, 0.999, 1.0]), np.array([0.01, 0.04, 0.04]) ** 2
        >>> [end.round(3).tolist() for end in of_pairwise_accuracy(estimate, variance)]
        [[0.947, 0.904, 0.922], [0.986, 1.0, 1.0]]

    Source: Freeman and Tukey 1950, "Transformations related to the angular and the square root".
    """
    half = Z95 * np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = half / (2 * np.sqrt(estimate * (1 - estimate)))
    turn = np.fmin(turn, np.arcsin(np.sqrt(np.minimum(half, 1.0))))  # of no variance at 0 or 1, none
    angle = np.arcsin(np.sqrt(estimate))
    return np.sin(np.maximum(angle - turn, 0)) ** 2, np.sin(np.minimum(angle + turn, np.pi / 2)) ** 2


def of_difference(estimate: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the 95 % interval of a difference of pairwise accuracies: 1.96 standard errors, cut at -1 and 1."""
    margin = Z95 * np.sqrt(variance)
    return np.clip(estimate - margin, -1.0, 1.0), np.clip(estimate + margin, -1.0, 1.0)


def over_models(pairwise_accuracy: Floats, decided: Bools, models: int) -> tuple[Floats, Floats]:
    """Return (F,) ends of the 95 % interval of a mean over (P, F) pairs, over the choice of the models, cut at 0 and 1.

    It is the jackknife that leaves out one model with all its pairs, with a t quantile of M - 1 degrees of freedom; nan
    with fewer than three models, or where one model is in all pairs.

    Source: Arvesen 1969, "Jackknifing U-statistics".
    """
    from scipy.special import stdtrit  # scipy takes longer to import than everything else here takes to run

    without = [(pairs(models) != model).all(axis=1) & decided for model in range(models)]
    methods = pairwise_accuracy.shape[1]
    if models < 3 or not all(remaining.any() for remaining in without):
        return np.full(methods, np.nan), np.full(methods, np.nan)
    left = np.stack([pairwise_accuracy[remaining].mean(axis=0) for remaining in without])
    spread = (models - 1) / models * ((left - left.mean(axis=0)) ** 2).sum(axis=0)
    mean, half = pairwise_accuracy[decided].mean(axis=0), stdtrit(models - 1, 0.975) * np.sqrt(spread)
    return np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)
