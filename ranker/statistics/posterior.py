"""Probability that one model is better than others in a domain, from the outcomes of each on K rows.

An outcome scores a model's answer to a row from 0 to 1: right, wrong, or between. A model's quality in the domain is
the mean of its outcomes there; for outcomes of 0 and 1 that is its accuracy.

The model is a Bayesian bootstrap with a prior. The domain is a mix of row types; a type holds the outcomes of the M
models. The prior of the mix is a Dirichlet process whose base measure gives all 2^M types of outcomes 0 and 1 the same
mass, 4 c rows in all. Each labelled row adds the mass of one row to its type. A Dirichlet is made of gammas. So, with
d_k the outcome of model a minus that of b on row k in units of u,

    P(a is better than b) = P(sum_k g_k d_k + G+ - G- > 0),    g_k from Gamma(1), G+ and G- from Gamma(c).

`gammas` computes it. Where all d_k are -1, 0 or 1, it is P(Beta(n_ab + c, n_ba + c) > 1/2): a won n_ab of their
disagreements, b n_ba. The unit u is the typical size of differences, over all pairs and rows: the sum of their squares
over the sum of their sizes, 1 for outcomes of 0 and 1. Without it the prior, which stands for whole rows won or lost,
would outweigh small differences however regular they are.

Rows on which the two are equally good do not matter. c measures how one-sided disagreements are between models of this
kind: a small c expects one of two models to win nearly all of them, as among steps of one training, a large c that both
win as many, as if all models were equally good. So it says how far their accuracies spread, where they disagree. It is
learnt from these rows: each c of `PRIORS` has as its weight the likelihood of the disagreements of all pairs
(beta-binomial, to the power 2 / M, since pairs that share a model are not independent). Where outcomes are real
numbers, n_ab is the sum of a's leads, in units.

All else that is asked of this belief has no closed form: `rows` draws from the same model.

Sources: Ferguson 1973, "A Bayesian analysis of some nonparametric problems"; Rubin 1981, "The Bayesian bootstrap";
Varin, Reid, Firth 2011 (powers of pairwise likelihoods). Axis letters as in `engine`; `outcomes` are (M, K), of each
model on each labelled row, from 0 to 1.
"""

from __future__ import annotations

import numpy as np

from factors.rounding import TIE
from factors.types import Floats, Ints
from ranker.statistics.gammas import above_zero

PRIORS: Floats = np.array([1.0, 4.0, 16.0])
"""Values of c that are weighed: from 1 (nothing is assumed about who wins) to 16 (both win about as many). Ten rows say
little of c, so these decide how bold probabilities are: between suites of third-party models, which ask for c up to 4,
and suites of any spread from 2 to 40 points, which ask for more."""

LEVEL = 0.9
"""Probability at which two models count as told apart."""

PAIRS = 512
"""Pairs compared at once: memory is 8 bytes * 2 * PAIRS * K, 5 MB at 600 rows, beside that of `gammas`."""


def wins(outcomes: Floats) -> Ints:
    """Return (M, M) counts of rows on which the row's model is better than the column's, by more than `TIE`.

    Example:
        >>> wins(np.array([[1.0, 1.0, 0.5], [1.0, 0.0, 0.4]])).tolist()
        [[0, 2], [0, 0]]
    """
    outcomes = np.asarray(outcomes, dtype=np.float64)
    if _right_or_wrong(outcomes):
        return np.asarray(np.rint(gains(outcomes)), dtype=np.int64)
    return np.stack([(row - outcomes > TIE).sum(axis=1) for row in outcomes])


def gains(outcomes: Floats) -> Floats:
    """Return (M, M) sums of the leads of the row's model over the column's: n_ab, counts where outcomes are 0 and 1.

    Example:
        >>> gains(np.array([[1.0, 1.0, 0.5], [1.0, 0.0, 0.75]])).round(9).tolist()
        [[0.0, 1.0], [0.25, 0.0]]
    """
    outcomes = np.asarray(outcomes, dtype=np.float64)
    if _right_or_wrong(outcomes):
        return np.asarray(outcomes @ (1 - outcomes).T)  # whole numbers, so no sum is rounded
    return np.stack([np.maximum(row - outcomes, 0).sum(axis=1) for row in outcomes])


def _right_or_wrong(outcomes: Floats) -> bool:
    """Return whether every outcome is 0 or 1, so that models are compared by counts."""
    return bool(((outcomes == 0) | (outcomes == 1)).all())


def weigh(outcomes: Floats) -> Floats:
    """Return the weight of each c of `PRIORS`, by how one-sided the disagreements of these models are; they sum to 1.

    Example:
        >>> nested = np.tril(np.ones((4, 4)))  # each model is right wherever the one before it is
        >>> float(weigh(nested) @ PRIORS) < float(weigh(np.eye(4)) @ PRIORS)
        True
    """
    from scipy.special import betaln, softmax

    gained = gains(outcomes) / unit_of(outcomes)
    above = np.triu_indices(len(outcomes), 1)
    won, lost = gained[above][:, None], gained.T[above][:, None]
    likelihood = (betaln(won + PRIORS, lost + PRIORS) - betaln(PRIORS, PRIORS)).sum(axis=0) * 2 / len(outcomes)
    return np.asarray(softmax(likelihood))


def more_accurate(outcomes: Floats) -> Floats:
    """Return (M, M) P(the row's model is better in the domain than the column's); 1/2 on the diagonal.

    P(a better) and P(b better) sum to 1 exactly.

    Example:
        >>> more_accurate(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])).round(2).tolist()
        [[0.5, 0.76], [0.24, 0.5]]
        >>> more_accurate(np.array([[0.9, 0.8, 0.7], [0.9, 0.2, 0.6]])).round(2).tolist()
        [[0.5, 0.69], [0.31, 0.5]]
    """
    from scipy.special import betainc

    weights, outcomes = weigh(outcomes), _round_outcomes(outcomes) / unit_of(outcomes)
    first, second = np.triu_indices(len(outcomes), 1)
    gained = gains(outcomes)
    won, lost = gained[first, second][:, None], gained[second, first][:, None]
    above = betainc(lost + PRIORS, won + PRIORS, 0.5) @ weights  # right for differences of -1, 0 or 1 units
    if not _right_or_wrong(outcomes):
        for low in range(0, len(first), PAIRS):
            apart = outcomes[first[low : low + PAIRS]] - outcomes[second[low : low + PAIRS]]
            graded = (apart % 1 != 0).any(axis=1)
            above[low : low + PAIRS][graded] = above_zero(apart[graded], PRIORS, weights)
    above = np.round(above, 12)  # rounding puts none of two equals first
    better = np.full((len(outcomes), len(outcomes)), 0.5)
    better[first, second], better[second, first] = above, 1 - above
    return better


def unit_of(outcomes: Floats) -> float:
    """Return the mean size of differences between models, each weighed by itself; 1 if there are none.

    Example:
        >>> unit_of(np.array([[1.0, 0.0], [0.0, 0.0]])), unit_of(np.array([[0.5, 0.0], [0.25, 0.0]]))
        (1.0, 0.25)
    """
    # so the differences next to 0, of which there may be many, hardly count
    outcomes = _round_outcomes(outcomes)
    if _right_or_wrong(outcomes):
        return 1.0
    sizes = sum(float(np.abs(row - outcomes).sum()) for row in outcomes)
    squares = sum(float(((row - outcomes) ** 2).sum()) for row in outcomes)
    return squares / sizes if sizes else 1.0


def _round_outcomes(outcomes: Floats) -> Floats:
    """Return outcomes to 12 digits, so that means of the same numbers in another order are equal."""
    return np.asarray(np.round(np.asarray(outcomes, dtype=np.float64), 12))


def label_gain(outcomes: Floats) -> float:
    """Return the share by which a label raises the precision of mean outcomes: 1 by all rows, the prior's, too."""
    prior_rows = 4 * float(weigh(outcomes) @ PRIORS)
    return 1 / (float(outcomes.shape[1]) + prior_rows)
