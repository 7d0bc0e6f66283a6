"""How probable it is that one model is more accurate than others in a domain, from who was right on which of K rows.

A Bayesian bootstrap with a prior. The domain is a mix of row types; a type says which of the M models are right on it.
Before any row is seen, the mix is a Dirichlet process whose base measure gives all 2^M types the same mass, 4 c rows in
all. Each labelled row adds the mass of one row to its type. Parts of a Dirichlet are Beta. So, with n_ab the rows that
model a had right and b wrong, the share of their disagreements that a wins from b is Beta(n_ab + c, n_ba + c), and

    P(a is more accurate than b) = P(that share > 1/2).

Rows on which the two agree say nothing about it. How large c is, says how one-sided disagreements are between models of
this kind: a small c expects one of two models to win nearly all of them, as among steps of one training, a large c that
both win as many. It is not set but learnt from these very rows: each c of `PRIORS` weighs as much as it makes the
disagreements of all pairs likely (beta-binomial, to the power 2 / M, since pairs that share a model are not
independent). No truth is used. P(best) has no closed form and is drawn from the same model. The interval of a model's
accuracy is its own: Beta(r + 1, K - r + 1) with r of K rows right.

Sources: Ferguson 1973, "A Bayesian analysis of some nonparametric problems"; Rubin 1981, "The Bayesian bootstrap";
Varin, Reid, Firth 2011 (powers of pairwise likelihoods); Sethuraman 1994 (the draws). Axis letters as in
`engine`.
"""

from __future__ import annotations

import numpy as np

from factors.types import Bools, Floats, Ints

PRIORS = 2.0 ** np.arange(-5, 3)
"""The c that are weighed against each other: 1/32 (one wins nearly all) to 4 (both win about as many)."""

LEVEL = 0.9
"""The probability at which two models count as told apart."""

SAMPLES = 20_000
"""Draws behind P(best): off by less than 0.01."""

CHUNK = 500
"""Of these at once: memory is 2 * 8 bytes * CHUNK * STICKS * M, 26 MB at 50 models."""

STICKS = 64
"""Row types drawn from the prior in each of them; what is left beyond is at most (16/17)^64 = 2 % of it."""


def wins(outcomes: Bools) -> Ints:
    """Count the disagreements.

    Args:
        outcomes: (M, K) whether each model is right on each labelled row.

    Returns:
        (M, M) rows that the model of the row had right and that of the column wrong.

    Example:
        >>> wins(np.array([[True, True, True], [True, False, False]])).tolist()
        [[0, 2], [0, 0]]
    """
    right = outcomes.astype(np.int64)
    return np.asarray(right @ (1 - right).T)


def weigh(outcomes: Bools) -> Floats:
    """Weigh the priors by how one-sided the disagreements of these models are.

    Args:
        outcomes: (M, K) whether each model is right on each labelled row.

    Returns:
        (8,) the weight of each c of `PRIORS`; they sum to 1.

    Example:
        >>> nested = np.tril(np.ones((4, 4), dtype=bool))  # each model is right wherever the one before it is
        >>> float(weigh(nested) @ PRIORS) < float(weigh(np.eye(4, dtype=bool)) @ PRIORS)
        True
    """
    from scipy.special import betaln, softmax

    won = wins(outcomes)
    above = np.triu_indices(len(outcomes), 1)
    won, lost = won[above][:, None], won.T[above][:, None]
    likelihood = (betaln(won + PRIORS, lost + PRIORS) - betaln(PRIORS, PRIORS)).sum(axis=0) * 2 / len(outcomes)
    return np.asarray(softmax(likelihood))


def more_accurate(outcomes: Bools) -> Floats:
    """Find how probable it is, for each two models, that the one is more accurate in the domain than the other.

    Args:
        outcomes: (M, K) whether each model is right on each labelled row.

    Returns:
        (M, M) P(the model of the row is more accurate than that of the column); 1/2 on the diagonal.

    Example:
        >>> more_accurate(np.array([[True, True, True], [True, False, False]])).round(2).tolist()
        [[0.5, 0.93], [0.07, 0.5]]
    """
    from scipy.special import betainc

    won = wins(outcomes)[..., None]
    better = betainc(won.swapaxes(0, 1) + PRIORS, won + PRIORS, 0.5) @ weigh(outcomes)
    return np.asarray(np.round(better, 12))  # so that rounding does not put one of two equals first


def best(outcomes: Bools, rng: np.random.Generator, samples: int = SAMPLES) -> Floats:
    """Find how probable it is, for each model, that none is more accurate in the domain.

    Args:
        outcomes: (M, K) whether each model is right on each labelled row.
        rng: the only source of randomness.
        samples: how many to draw, a multiple of `CHUNK`.

    Returns:
        (M,) probabilities; they sum to 1. Models that are right on the same rows have the same one.
    """
    models, size = outcomes.shape
    weights = weigh(outcomes)
    count = np.zeros(models)
    for _ in range(samples // CHUNK):
        mass = 4 * rng.choice(PRIORS, size=(CHUNK, 1), p=weights)
        seen = rng.standard_exponential((CHUNK, size))
        broken = rng.beta(1.0, mass, (CHUNK, STICKS))
        left = np.cumprod(np.column_stack([np.ones(CHUNK), 1 - broken[:, :-1]]), axis=1)
        types = rng.integers(2, size=(CHUNK, STICKS, models)).astype(np.float64)
        unseen = np.matmul((rng.standard_gamma(mass) * broken * left)[:, None], types)[:, 0]
        accuracy = seen @ outcomes.T + unseen  # up to a factor that all models share
        # models that are right on the same of all these rows share the first place
        first = accuracy == accuracy.max(axis=1, keepdims=True)
        count += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    # the rows tell these apart in nothing, and the draws are not to
    _, alike, many = np.unique(outcomes, axis=0, return_inverse=True, return_counts=True)
    alike = alike.reshape(-1)
    return np.asarray((np.bincount(alike, weights=count) / many)[alike] / samples)


def intervals_of_accuracy(outcomes: Bools) -> tuple[Floats, Floats]:
    """Find where a model's accuracy in the domain is, with 95 % probability.

    Args:
        outcomes: (M, K) whether each model is right on each labelled row.

    Returns:
        (M,) lower and (M,) upper ends, quantiles of Beta(r + 1, K - r + 1).
    """
    from scipy.special import betaincinv

    right, wrong = outcomes.sum(axis=1) + 1, (~outcomes).sum(axis=1) + 1
    return np.asarray(betaincinv(right, wrong, 0.025)), np.asarray(betaincinv(right, wrong, 0.975))


def more_labels(wins: Ints, losses: Ints, size: int, weights: Floats) -> Ints:
    """Find how many more labels would tell two models apart, if they go on to disagree as they did.

    With n more rows the lead is normal with mean (K + n) delta and variance n (d - delta^2), where d is the share of
    rows on which the two disagree and delta the lead of the better one as a share of all. After D disagreements with a
    lead of L the probability that the better one is more accurate is, in a normal approximation,
    sum over c of w_c Phi(L sqrt(D + 2 c + 1) / (D + 2 c)). The answer is the n for which that reaches `LEVEL` with the
    probability `LEVEL`.

    Args:
        wins, losses: any shape, rows that one model had right and the other wrong, and the other way round.
        size: K.
        weights: (8,) w_c, of each c of `PRIORS`: see `weigh`.

    Returns:
        The numbers, at least 1; -1 where the two disagree as often either way, so that no number would do.

    Example:
        >>> uniform = np.array(PRIORS == 1, dtype=np.float64)
        >>> more_labels(np.array([2, 3, 1]), np.array([0, 2, 1]), 10, uniform)
        array([ 17, 312,  -1])
    """
    from scipy.special import ndtr, ndtri

    z = float(ndtri(LEVEL))
    lead = np.abs(wins - losses) / size
    disagree = (wins + losses) / size

    def enough(more: Floats) -> Bools:
        seen = (size + more) * disagree
        safe = (size + more) * lead - z * np.sqrt(more * (disagree - lead**2))
        mass = seen[..., None] + 2 * PRIORS
        return np.asarray(ndtr(safe[..., None] * np.sqrt(mass + 1) / mass) @ weights >= LEVEL)

    possible = lead > 0
    high = np.ones(lead.shape)
    while (short := possible & ~enough(high)).any():
        high[short] *= 2
    low = np.floor(high / 2)
    while ((high - low) > 1).any():
        middle = np.floor((low + high) / 2)
        reached = enough(middle)
        high, low = np.where(reached, middle, high), np.where(reached, low, middle)
    return np.asarray(np.where(possible, np.maximum(high, 1), -1), dtype=np.int64)
