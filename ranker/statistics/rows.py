"""Belief in models' values in a domain, from labelled rows or clusters of them, by any metric.

A metric is a function `value` of the means of k statistics a row: (..., k) means -> (...) values, higher is better. Of
a mean outcome the one statistic is the outcome.

**Draws**, of all models together: with g from Gamma(1) for each row, or cluster, a draw is value(sum g_n s_n / sum
g_n), the Bayesian bootstrap. A domain has unseen rows: the prior is the mass of 4 c rows, each of them one that may
have been missed, which each model has right or wrong at random. So for each two models, the one wins c of them and the
other c, on average, and models that answer alike may differ in the domain. c is weighed as in `posterior`, whose
P(better) is the closed form of these draws for mean outcomes. Where no such row is known, it is a seen row on which
models differ, with the models' answers exchanged at random. The prior says how far models are apart, and pulls all of
them toward one half; so where one of them stands is told by its own outcomes alone:

**A mean outcome by itself.** The outcomes y of a model are thought of as drawn from Beta(mu phi, (1 - mu) phi). phi is
unknown: 0 where outcomes are right or wrong, large where they are all near each other. It is weighed by the likelihood
of the outcomes, rounded to a hundredth so that 0 and 1 have one, with mu integrated over. Given phi, n rows count as N
= n (1 + phi) rows of 0 and 1, and the mean in the domain is

    Beta(N mean(y) + 1, N (1 - mean(y)) + 1),

which depends on the outcomes through their mean alone, so that it is right also where they are not of that family. For
r of n rows right it is Beta(r + 1, n - r + 1). Clusters of uneven sizes count as (sum of sizes)^2 / (sum of squared
sizes) rows.

**Another metric by itself** has its value on the rows, and the interval of `resampling.intervals`.

Sources: Rubin 1981, "The Bayesian bootstrap"; Ferguson 1973, "A Bayesian analysis of some nonparametric problems";
Ishwaran and Zarepour 2002, "Exact and approximate sum representations for the Dirichlet process"; Ferrari and
Cribari-Neto 2004, "Beta regression for modelling rates and proportions"; Korn and Graubard 1998, "Confidence intervals
for proportions with small expected number of positive counts". Axis letters as in `engine`; k statistics, S draws, U
units, R kinds of rows that may be missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from factors.rounding import TIE
from factors.types import Floats, Ints
from ranker.statistics import posterior
from ranker.statistics.draws import TAIL, Alone, Draws, kinds_of, sample_count
from ranker.statistics.forecast import AHEAD, Outlook
from ranker.statistics.resampling import (
    RowUnits,
    Value,
    batch_size,
    batches,
    differing_shares,
    intervals,
    units_of,
    weighted_sums,
)

CHUNK = 500
"""Draws of weights that share the rows of the prior; the next chunk draws new ones."""

PRIOR_ROWS = 128
"""Rows that the mass of the prior is spread over. A Dirichlet process has infinitely many weights; with 64 rows hardly
more than eight of a draw matter."""

PHIS: Floats = np.concatenate([[0.0], np.geomspace(0.03, 30_000, 24)])
"""Values of phi that are weighed."""

ROUNDS = 3
"""Rounds of hashes by which models and rows are told apart."""

NODES = 7
"""Values of mu, for each phi, that the likelihood is integrated over."""

CAUTION = 0.2
"""Power of 1 + phi that its prior falls with, per step of its logarithm: five rows are near each other by chance, too.
With 0 and 0.35, in place of 0.2, intervals of five outcomes hold the truth in 90 to 97 % and 91 to 98 % of cases."""

HALVINGS = 42
"""Halvings of the interval from 0 to 1 until the end of a 95 % interval is exact to 2e-13."""

BIN = 0.01
"""Outcomes are rounded to this for the likelihood of phi. More regular ones count as if they differed by so much."""


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """Labelled rows that several models were judged on, and what they are judged by.

    Attributes:
        outcomes: (M, N) scores of the answers, from 0 to 1, which say how one-sided the models' differences are.
        statistics: (M, N, k) what the metric is a function of the means of.
        value: the metric, higher is better.
        unseen: (2, R, k) rows that may be missed, answered rightly and wrongly; None where they may change the metric
            by any amount.
        clusters: (N,) the number of each row's cluster; None where rows are independent.
        is_mean: whether the metric is the mean outcome.
    """

    outcomes: Floats
    statistics: Floats
    value: Value
    unseen: Floats | None
    clusters: Ints | None = None
    is_mean: bool = False

    @classmethod
    def of_means(cls, outcomes: Floats, clusters: Ints | None = None) -> RowEvidence:
        """Return the evidence of (M, N) outcomes from 0 to 1 whose mean is the metric."""
        outcomes = np.asarray(np.round(np.asarray(outcomes, dtype=np.float64), 12))
        shares, largest = cluster_shares(outcomes, clusters)
        # a missed row is worth as much as models typically differ by: whole rows would outweigh small differences
        typical = len(outcomes[0]) / len(shares[0])
        unseen = np.array([[[posterior.unit_of(shares) * largest / typical]], [[0.0]]])
        return cls(outcomes, outcomes[:, :, None], lambda means: means[..., 0], unseen, clusters, True)


def draw(evidence: RowEvidence, rng: np.random.Generator, samples: int = 0) -> Draws:
    """Draw models' values in the domain. The result does not depend on the order of the models, or of the rows.

    Example:
        >>> right = np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
        >>> belief = draw(RowEvidence.of_means(right), np.random.default_rng(0))
        >>> belief.values.shape, belief.expected.round(2).tolist(), belief.beats()[0].round(2).tolist()
        ((20000, 2), [0.83, 0.5], [0.5, 0.76])
    """
    order, units = _in_an_order_of_their_own(units_of(evidence.statistics, evidence.clusters))
    samples = samples or sample_count(len(order), len(units.sums))
    shares, _ = cluster_shares(evidence.outcomes, evidence.clusters)
    weights = posterior.weigh(shares)
    of_values, of_ends = rng.spawn(2)
    values = np.empty((samples, len(order)))
    values[:, order] = resample(units, evidence.value, evidence.unseen, weights, of_values, samples)
    bounded = evidence.unseen is not None or bool((np.ptp(values, axis=1) > TIE).any())
    size = len(evidence.outcomes[0]) / shares.shape[1]
    gain = posterior.label_gain(shares) / size
    return Draws(
        values,
        seed=int(rng.integers(2**32)),
        kinds=kinds_of(evidence.statistics),
        closed=posterior.more_accurate(shares) if evidence.is_mean else None,
        outlook=Outlook.of(values, gain, round(AHEAD * size)) if bounded else None,
        bounded=bounded,
        alone=mean_belief(evidence.outcomes, evidence.clusters)
        if evidence.is_mean
        else _metric_belief(evidence, of_ends),
    )


def mix_bits(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return each number with its bits mixed, as a hash of it; products wrap around.

    Args:
        numbers: of any shape.

    Example:
        >>> int(mix_bits(np.array([1], dtype=np.uint64))[0])
        10451216379200822465

    Source: the finalizer of splitmix64, Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
    """
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _in_an_order_of_their_own(units: RowUnits) -> tuple[Ints, RowUnits]:
    """Return the order of the models, and the units with them in it, that no listing of models or rows changes."""
    # Models are told apart by sums over units of hashes, of each cell with what tells the units apart, and these by
    # sums over models, in turn.
    cells = np.zeros(units.sums.shape[:2], dtype=np.uint64)  # (U, M)
    for place, values in enumerate(np.moveaxis(units.sums, 2, 0)):
        cells += mix_bits(np.ascontiguousarray(np.round(values, 12) + 0.0).view(np.uint64) + np.uint64(place))
    of_units = mix_bits(mix_bits(units.sizes.view(np.uint64)) + units.counts.view(np.uint64))
    for _ in range(ROUNDS):
        of_models = mix_bits(cells + of_units[:, None]).sum(axis=0, dtype=np.uint64)
        of_units = of_units + mix_bits(cells + of_models).sum(axis=1, dtype=np.uint64)
    order = np.argsort(of_models, kind="stable")
    sorted_units = np.argsort(of_units, kind="stable")
    return order, RowUnits(units.sums[sorted_units][:, order], units.sizes[sorted_units], units.counts[sorted_units])


def resample(
    units: RowUnits, value: Value, unseen: Floats | None, prior: Floats, rng: np.random.Generator, samples: int
) -> Floats:
    """Draw (S, M) values in the domain, whose differences count.

    Where `unseen` is None, and no row tells two models apart, those of a draw are level: they do not show how far apart
    the models may be.

    Args:
        unseen: as of `RowEvidence`.
        prior: (3,) the weights of `posterior.PRIORS`.
    """
    values = []
    for count in batches(samples, min(CHUNK, batch_size(len(units.sums) + PRIOR_ROWS + units.sums[0].size))):
        drawn, total = weighted_sums(rng.standard_gamma(units.counts, (count, len(units.sums))), units)
        prior_units, mass = _exchanged(units, rng) if unseen is None else _missed(units, unseen, rng)
        c = rng.choice(posterior.PRIORS, size=(count, 1), p=prior)
        added, size = weighted_sums(rng.standard_gamma(c * mass / PRIOR_ROWS, (count, PRIOR_ROWS)), prior_units)
        values.append(value((drawn + added) / (total + size)[:, None, None]))
    return np.concatenate(values)


def mean_belief(outcomes: Floats, clusters: Ints | None = None) -> Alone:
    """Return what is believed of each model's mean outcome in the domain, by itself, of (M, N) outcomes.

    Example:
        >>> belief = mean_belief(np.array([[1.0, 1.0, 0.0, 0.0], [0.5, 0.52, 0.5, 0.48]]))
        >>> belief.expected.round(2).tolist(), belief.low.round(2).tolist(), belief.high.round(2).tolist()
        ([0.5, 0.5], [0.15, 0.47], [0.85, 0.53])
    """
    from scipy.special import betainc

    mixtures = [_mean_mixture(row, clusters) for row in np.round(np.asarray(outcomes, dtype=np.float64), 12)]
    weights, right, sizes = (np.array(part) for part in zip(*mixtures, strict=True))  # (M, PHIS)
    ends = find_ends(
        lambda values: (weights * betainc(right, sizes - right, values[..., None])).sum(axis=2),
        np.zeros(len(weights)),
        np.ones(len(weights)),
    )
    return Alone((weights * right / sizes).sum(axis=1), *ends)


def find_ends(below: Callable[[Floats], Floats], least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """Find the (M,) ends of 95 % intervals between (M,) bounds.

    Args:
        below: (2, M) values -> the probability of what is below each.
    """
    low, high = np.stack([least, least]), np.stack([most, most])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rises = below(middle) < np.array([[TAIL], [1 - TAIL]])
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    lower, upper = (low + high) / 2
    return lower, upper


def draw_level(outcomes: Floats, rng: np.random.Generator, samples: int) -> Floats:
    """Return (S,) draws of the mean over models of their (M, N) outcomes' means in the domain.

    Their mean is that of the belief, not of a sample of it.
    """
    weights, right, sizes = _mean_mixture(np.asarray(outcomes, dtype=np.float64).mean(axis=0), None)
    chosen = rng.choice(len(weights), samples, p=weights)
    levels = rng.beta(right[chosen], (sizes - right)[chosen])
    return np.asarray(levels + weights @ (right / sizes) - levels.mean())


def _mean_mixture(outcomes: Floats, clusters: Ints | None) -> tuple[Floats, Floats, Floats]:
    """Return, for each of `PHIS`, its weight, and a and a + b of the beta distribution of the mean outcome."""
    units = units_of(outcomes[None, :, None], clusters)
    of_units, rows = units.sums[:, 0, 0] / units.sizes, units.counts * units.sizes
    mean = float(np.clip(rows @ of_units / rows.sum(), 0.0, 1.0))
    count = rows.sum() ** 2 / float(units.counts @ units.sizes**2)  # equally large clusters that say as much
    sizes = count * (1 + PHIS)
    weights = _phi_weights(of_units, units.counts * (count / units.counts.sum()), mean, sizes)
    return weights, sizes * mean + 1, sizes + 2


def _phi_weights(outcomes: Floats, counts: Floats, mean: float, sizes: Floats) -> Floats:
    """Return the weights of `PHIS`, by the likelihood of (U,) outcomes with their numbers, mu integrated over."""
    from scipy.special import betainc, betaincinv, betaln, logsumexp, softmax

    if counts.sum() <= 1 or bool((np.minimum(outcomes, 1 - outcomes) <= TIE).all()):  # one row shows no spread
        return np.asarray((PHIS == 0).astype(np.float64))
    places, bins = np.unique(np.rint(outcomes / BIN), return_inverse=True)
    of_bins = np.bincount(bins.reshape(-1), weights=counts)
    a, b = (sizes[1:] * share + 1 for share in (mean, 1 - mean))
    mu = betaincinv(a, b, (np.arange(NODES)[:, None] + 0.5) / NODES)  # (NODES, PHIS - 1), as the mean is spread
    low, high = (
        betainc((mu * PHIS[1:])[..., None], ((1 - mu) * PHIS[1:])[..., None], np.clip(places * BIN + side, 0, 1))
        for side in (-BIN / 2, BIN / 2)
    )
    likelihood = np.log(np.maximum(high - low, np.finfo(float).tiny)) @ of_bins
    spread = (a - 1) * np.log(mu) + (b - 1) * np.log1p(-mu) - betaln(a, b)
    prior = -CAUTION * np.log1p(PHIS[1:])
    return np.concatenate([[0.0], softmax(logsumexp(likelihood - spread, axis=0) + prior)])


def _metric_belief(evidence: RowEvidence, rng: np.random.Generator) -> Alone:
    """Return the models' values on the rows, and their intervals."""
    models = [(model,) for model in range(len(evidence.statistics))]
    ends = intervals(evidence.statistics, evidence.value, evidence.unseen, models, rng, evidence.clusters)
    low, high = np.array(ends).T
    return Alone(evidence.value(evidence.statistics.mean(axis=1)), low, high)


def _missed(units: RowUnits, unseen: Floats, rng: np.random.Generator) -> tuple[RowUnits, float]:
    """Return rows of the prior that each model has right or wrong, as large as a unit is, and their mass for c = 1."""
    kinds = np.tile(rng.integers(unseen.shape[1], size=(PRIOR_ROWS // 2, 1)), (2, 1))
    wrong = rng.integers(2, size=(PRIOR_ROWS // 2, units.sums.shape[1]))
    wrong = np.concatenate([wrong, 1 - wrong])  # so that chance puts no model ahead
    typical = float(np.average(units.sizes, weights=units.counts))
    return RowUnits(typical * unseen[wrong, kinds], np.full(PRIOR_ROWS, typical), np.ones(PRIOR_ROWS)), 4.0


def _exchanged(units: RowUnits, rng: np.random.Generator) -> tuple[RowUnits, float]:
    """Return rows of the prior that are units with models' answers exchanged, and their mass for c = 1."""
    differ = differing_shares(units.sums)
    chosen = units.counts * (differ > 0) if differ.any() else units.counts
    rows = rng.choice(len(chosen), PRIOR_ROWS, p=chosen / chosen.sum())
    answers = rng.permuted(np.tile(np.arange(units.sums.shape[1]), (PRIOR_ROWS, 1)), axis=1)
    mass = 2 / float(np.average(differ, weights=chosen)) if differ.any() else 0.0
    return RowUnits(units.sums[rows[:, None], answers], units.sizes[rows], np.ones(PRIOR_ROWS)), mass


def cluster_shares(outcomes: Floats, clusters: Ints | None) -> tuple[Floats, int]:
    """Return (M, G) outcomes summed over clusters, in units of the largest one, and the number of rows of that.

    Example:
        >>> cluster_shares(np.array([[1.0, 0.0, 1.0]]), np.array([0, 0, 1]))
        (array([[0.5, 0.5]]), 2)
    """
    if clusters is None:
        return outcomes, 1
    numbers = np.unique(clusters, return_inverse=True)[1]
    sums, largest = np.stack([np.bincount(numbers, weights=row) for row in outcomes]), int(np.bincount(numbers).max())
    return np.asarray(sums / largest), largest
