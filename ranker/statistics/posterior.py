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

P(best), and P(near best), which allows for a point, have no closed form and are drawn from the same model. The interval
of one model is a Bayesian bootstrap over its outcomes with one more row of 0 and one of 1: Beta(r + 1, K - r + 1) with
r of K rows right.

Sources: Ferguson 1973, "A Bayesian analysis of some nonparametric problems"; Rubin 1981, "The Bayesian bootstrap";
Varin, Reid, Firth 2011 (powers of pairwise likelihoods); Sethuraman 1994 (the draws). Axis letters as in
`engine`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from factors.rounding import TIE
from factors.types import Floats, Ints
from ranker.statistics.forecast import AHEAD, Outlook
from ranker.statistics.gammas import above_zero

PRIORS: Floats = np.array([1.0, 4.0, 16.0])
"""Values of c that are weighed: from 1 (nothing is assumed about who wins) to 16 (both win about as many). Ten rows say
little of c, so these decide how bold probabilities are: between suites of third-party models, which ask for c up to 4,
and suites of any spread from 2 to 40 points, which ask for more."""

LEVEL = 0.9
"""Probability at which two models count as told apart."""

NEAR = 0.01
"""Distance below the best mean outcome, a point, within which a model is as good a choice as the best."""

SAMPLES = 20_000
"""Draws behind P(best): off by less than 0.01."""

OUTLOOK_SAMPLES = 4_000
"""Draws behind the covariance of mean outcomes, which is off by a few percent."""

CHUNK = 500
"""Draws at once. With more rows than this, rows with the same outcomes are drawn together: of two models that are right
or wrong there are four kinds."""

TYPES = 1 << 20
"""Row types of all models drawn from the prior at once: memory is 2 * 8 bytes of each, 17 MB."""

STICKS = 64
"""Row types per draw of the prior; the many small ones that remain are drawn as their normal limit."""

PAIRS = 512
"""Pairs compared at once: memory is 8 bytes * 2 * PAIRS * K, 5 MB at 600 rows, beside that of `gammas`."""

HALVINGS = 42
"""Halvings of the interval from 0 to 1 until the end of a 95 % interval is exact to 2e-13."""


def wins(outcomes: Floats) -> Ints:
    """Count the rows on which one model is better than another, by more than `TIE`.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.

    Returns:
        (M, M) rows on which the model of the row is better than that of the column.

    Example:
        >>> wins(np.array([[1.0, 1.0, 0.5], [1.0, 0.0, 0.4]])).tolist()
        [[0, 2], [0, 0]]
    """
    outcomes = np.asarray(outcomes, dtype=np.float64)
    if _right_or_wrong(outcomes):
        return np.asarray(np.rint(gains(outcomes)), dtype=np.int64)
    return np.stack([(row - outcomes > TIE).sum(axis=1) for row in outcomes])


def gains(outcomes: Floats) -> Floats:
    """Sum up each model's leads over each other: n_ab, the number of rows where outcomes are 0 and 1.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.

    Returns:
        (M, M) sum of the leads of the row's model over the column's, on the rows where it is the better one.

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
    """Weigh the priors by how one-sided the disagreements of these models are.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.

    Returns:
        (3,) the weight of each c of `PRIORS`; they sum to 1.

    Example:
        >>> nested = np.tril(np.ones((4, 4)))  # each model is right wherever the one before it is
        >>> float(weigh(nested) @ PRIORS) < float(weigh(np.eye(4)) @ PRIORS)
        True
    """
    from scipy.special import betaln, softmax

    gained = gains(outcomes) / _unit(outcomes)
    above = np.triu_indices(len(outcomes), 1)
    won, lost = gained[above][:, None], gained.T[above][:, None]
    likelihood = (betaln(won + PRIORS, lost + PRIORS) - betaln(PRIORS, PRIORS)).sum(axis=0) * 2 / len(outcomes)
    return np.asarray(softmax(likelihood))


def more_accurate(outcomes: Floats) -> Floats:
    """Compute for each two models the probability that the one is better in the domain than the other.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.

    Returns:
        (M, M) P(the model of the row is better than that of the column); 1/2 on the diagonal. P(a better) and
        P(b better) sum to 1 exactly.

    Example:
        >>> more_accurate(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])).round(2).tolist()
        [[0.5, 0.76], [0.24, 0.5]]
        >>> more_accurate(np.array([[0.9, 0.8, 0.7], [0.9, 0.2, 0.6]])).round(2).tolist()
        [[0.5, 0.69], [0.31, 0.5]]
    """
    weights, outcomes = weigh(outcomes), _round_outcomes(outcomes) / _unit(outcomes)
    first, second = np.triu_indices(len(outcomes), 1)
    gained = gains(outcomes)
    above = _by_counts(gained[first, second], gained[second, first], weights)
    if not _right_or_wrong(outcomes):
        for low in range(0, len(first), PAIRS):
            apart = outcomes[first[low : low + PAIRS]] - outcomes[second[low : low + PAIRS]]
            graded = (apart % 1 != 0).any(axis=1)
            above[low : low + PAIRS][graded] = above_zero(apart[graded], PRIORS, weights)
    above = np.round(above, 12)  # rounding puts none of two equals first
    better = np.full((len(outcomes), len(outcomes)), 0.5)
    better[first, second], better[second, first] = above, 1 - above
    return better


def _by_counts(won: Floats, lost: Floats, weights: Floats) -> Floats:
    """Return (P,) probabilities that the first is better in the domain, for differences of -1, 0 or 1 units."""
    from scipy.special import betainc

    return np.asarray(betainc(lost[:, None] + PRIORS, won[:, None] + PRIORS, 0.5) @ weights)


def _unit(outcomes: Floats) -> float:
    """Return the mean size of differences between models, each weighed by itself; 1 if there are none."""
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


def best(
    outcomes: Floats, rng: np.random.Generator, samples: int = SAMPLES, near: float = NEAR
) -> tuple[Floats, Floats, Floats]:
    """Estimate for each model how probably none is better in the domain, none is much better, and how like the first.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.
        rng: the only source of randomness.
        samples: how many to draw, a multiple of `CHUNK`.
        near: the lead that counts as much better, in outcomes.

    Returns:
        (M,) P(none is better), which sum to 1, (M,) P(none is better by more than `near`), and (M,) P(it and the first
        of them differ by no more than `near`). Models that are equally good on every row, to 12 digits, have the same
        of the former two.

    Example:
        >>> best(np.array([[1.0, 1.0], [1.0, 1.0]]), np.random.default_rng(0))[0].round(9).tolist()
        [0.5, 0.5]
    """
    unit = _unit(outcomes)
    outcomes = _round_outcomes(outcomes) / unit
    count, close, equal = np.zeros((3, len(outcomes)))
    for mean, mass in _drawn(outcomes, rng, samples):
        # models that are equally good on all these rows share the first place
        first = mean == mean.max(axis=1, keepdims=True)
        count += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
        close += (mean >= mean.max(axis=1, keepdims=True) - near / unit * mass).sum(axis=0)
        equal += (np.abs(mean - mean[:, :1]) <= near / unit * mass).sum(axis=0)
    # the rows do not tell these apart, so the draws must not either
    kinds: dict[bytes, int] = {}
    alike = np.array([kinds.setdefault((row + 0.0).tobytes(), len(kinds)) for row in outcomes])  # -0.0 + 0.0 is 0.0
    many = np.bincount(alike)
    shared = [np.asarray((np.bincount(alike, weights=counts) / many)[alike] / samples) for counts in (count, close)]
    return shared[0], shared[1], np.asarray(equal / samples)


def draw_mean_outcomes(outcomes: Floats, rng: np.random.Generator, samples: int = SAMPLES) -> Floats:
    """Draw the models' mean outcomes in the domain from the posterior.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.
        rng: the only source of randomness.
        samples: how many to draw, a multiple of `CHUNK`.

    Returns:
        (samples, M) mean outcomes, drawn together.

    Example:
        >>> drawn = draw_mean_outcomes(np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]), np.random.default_rng(0))
        >>> drawn.mean(axis=0).round(1).tolist()
        [0.6, 0.5]
    """
    unit = _unit(outcomes)
    means = [mean / mass for mean, mass in _drawn(_round_outcomes(outcomes) / unit, rng, samples)]
    return np.asarray(np.concatenate(means) * unit)


def _drawn(outcomes: Floats, rng: np.random.Generator, samples: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield (CHUNK, M) means of outcomes in units times a mass that all models share, and (CHUNK, 1) that mass."""
    # the gammas of rows of one kind add up to one gamma
    weights = weigh(outcomes)
    models, size = outcomes.shape
    outcomes, rows = np.unique(outcomes, axis=1, return_counts=True) if size > CHUNK else (outcomes, np.ones(size))
    for _ in range(samples // CHUNK):
        mass = 4 * rng.choice(PRIORS, size=(CHUNK, 1), p=weights)
        row_gammas = rng.standard_gamma(rows, (CHUNK, len(rows)))
        broken = rng.beta(1.0, mass, (CHUNK, STICKS))
        left = np.cumprod(np.column_stack([np.ones(CHUNK), 1 - broken[:, :-1]]), axis=1)
        shares, step = (broken * left)[:, None], max(TYPES // (STICKS * models), 1)
        unseen = np.concatenate(
            [
                np.matmul(sticks, rng.integers(2, size=(len(sticks), STICKS, models)).astype(np.float64))[:, 0]
                for sticks in (shares[start : start + step] for start in range(0, CHUNK, step))
            ]
        )
        remainder = 0.5 + rng.standard_normal((CHUNK, models)) / (2 * np.sqrt(mass + 1))
        unseen += left[:, -1:] * (1 - broken[:, -1:]) * np.clip(remainder, 0, 1)
        prior = rng.standard_gamma(mass)
        yield row_gammas @ outcomes.T + prior * unseen, row_gammas.sum(axis=1, keepdims=True) + prior


def expected_accuracy(outcomes: Floats) -> Floats:
    """Return each model's expected accuracy, the mean of its outcomes in the domain, before rounding to an order.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.

    Example:
        >>> expected_accuracy(np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])).round(2).tolist()
        [0.5, 0.83]
    """
    return np.asarray((outcomes.sum(axis=1) + 1) / (outcomes.shape[1] + 2))


def intervals_of_accuracy(outcomes: Floats) -> tuple[Floats, Floats]:
    """Compute the 95 % interval of each model's accuracy, the mean of its outcomes in the domain.

    With y_k its outcomes and all g from Gamma(1), the mean is (sum_k g_k y_k + g') / (sum_k g_k + g' + g''). It is
    above q where sum_k g_k (y_k - q) + g' (1 - q) - g'' q is above zero. For r of K rows right it is
    Beta(r + 1, K - r + 1).

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.

    Returns:
        (M,) lower and (M,) upper ends.

    Example:
        >>> low, high = intervals_of_accuracy(np.array([[1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]]))
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([0.15, 0.27], [0.85, 0.73])
    """
    from scipy.special import betaincinv

    outcomes = _round_outcomes(outcomes)
    right, ends = outcomes.sum(axis=1) + 1, np.array([[0.025], [0.975]])
    ends_found = np.asarray(betaincinv(right, outcomes.shape[1] + 2 - right, ends))
    graded = (outcomes % 1 != 0).any(axis=1)
    if graded.any():
        with_prior_rows = np.pad(outcomes[graded], ((0, 0), (0, 2)))
        with_prior_rows[:, -1] = 1
        ends_found[:, graded] = [_quantile(with_prior_rows, float(end)) for end in ends[:, 0]]
    return ends_found[0], ends_found[1]


def _quantile(outcomes: Floats, level: float) -> Floats:
    """Return the (M,) quantiles of the mean of (M, K) outcomes with weights from Gamma(1)."""
    low, high = np.zeros(len(outcomes)), np.ones(len(outcomes))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = above_zero(outcomes - middle[:, None]) > 1 - level
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2


def outlook(outcomes: Floats, rng: np.random.Generator, most: int = AHEAD) -> Outlook:
    """Describe what is known of the models' mean outcomes, and what one more label of a random row would add.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.
        rng: the only source of randomness.
        most: labels to look ahead.

    Example:
        >>> now = outlook(np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]), np.random.default_rng(0))
        >>> bool(now.mean[0] > now.mean[1]), round(1 / now.gain) > 4  # the prior counts as rows, too
        (True, True)
    """
    return Outlook.of(draw_mean_outcomes(outcomes, rng, OUTLOOK_SAMPLES), label_gain(outcomes), most)


def label_gain(outcomes: Floats) -> float:
    """Return the share by which one more label raises the precision of mean outcomes: 1 by all rows, the prior's, too.

    Args:
        outcomes: (M, K) of each model on each labelled row, from 0 to 1.
    """
    prior_rows = 4 * float(weigh(outcomes) @ PRIORS)
    return 1 / (float(outcomes.shape[1]) + prior_rows)
