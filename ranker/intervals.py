"""How sure a few-shot accuracy is: intervals over other examples, and over other models.

Two questions, two intervals:

- *Would another population of N examples from the same domain have given this few-shot accuracy?* The models stay, the
  examples vary: `population_variance`, by the infinitesimal jackknife.
- *Would other models of this kind have given it?* The examples stay, the models vary: `over_models`, by leaving out
  one model at a time, since pairs that share a model are not independent.

Axis letters as in `ranker.engine`.
"""

from __future__ import annotations

import numpy as np

from ranker.engine import Floats, Ints, pairs

Z95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


def population_variance(success: Floats, rows: Ints, examples: int) -> Floats:
    """The variance of each method's few-shot accuracy over populations of N examples.

    The few-shot accuracy is a mean over draws, so its derivative with respect to the weight of example i is
    U_i = N Cov(c_i, s), with c_i how often i occurs in a draw and s the draw's success. The variance is
    sum U_i^2 / N^2; what the noise of B draws adds to it, K Var(s) / B, is taken off. For the difference of two
    methods pass the difference of their successes.

    Args:
        success: (F, B) share of pairs in the right order in each draw.
        rows: (B, K) the draws.
        examples: N.

    Returns:
        (F,) variances, at least 0.

    Source: Efron 2014, "Estimation and accuracy after model selection", section 3; the correction: Wager, Hastie,
    Efron 2014, "Confidence intervals for random forests", section 2.
    """
    count, size = rows.shape
    centred = success - success.mean(axis=1, keepdims=True)
    influence = np.stack(
        [np.bincount(rows.ravel(), weights=np.repeat(row, size), minlength=examples) / count for row in centred]
    )
    noise = size * centred.var(axis=1) / count
    return np.maximum((influence**2).sum(axis=1) - noise, 0.0)


def interval(estimate: Floats, variance: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The 95 % interval, estimate -+ 1.96 standard errors, cut at what is possible."""
    margin = Z95 * np.sqrt(variance)
    return np.clip(estimate - margin, low, high), np.clip(estimate + margin, low, high)


def over_models(accuracy: Floats, decided: np.ndarray, models: int) -> Floats:
    """The half-width of the 95 % interval of a mean over pairs, over the choice of the models.

    The jackknife that leaves out one model with all its pairs, with a t quantile of M - 1 degrees of freedom; nan
    where fewer than three models, or one whose pairs are all there is.

    Args:
        accuracy: (P, F) accuracy of each pair.
        decided: (P,) pairs that count.
        models: M.

    Returns:
        (F,) half-widths, in the unit of the accuracies.

    Source: Arvesen 1969, "Jackknifing U-statistics".
    """
    from scipy.special import stdtrit  # scipy takes longer to import than everything else here takes to run

    without = [(pairs(models) != model).all(axis=1) & decided for model in range(models)]
    if models < 3 or not all(kept.any() for kept in without):
        return np.full(accuracy.shape[1], np.nan)
    left = np.stack([accuracy[kept].mean(axis=0) for kept in without])
    variance = (models - 1) / models * ((left - left.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(stdtrit(models - 1, 0.975) * np.sqrt(variance))
