"""Comparison of models over many sets: ranks on each, tests that the models differ, and pairs that differ.

Each set counts the same, and only a value of each model on each set is needed. Axis letters as in `engine`, and S sets
(or tasks, where the sets of a task were averaged).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from operator import add

import numpy as np

from factors.rounding import TIE, level
from factors.types import Floats, Ints
from ranker.statistics.on_average import normal_draws
from ranker.statistics.significance import sign_flip

ALPHA = 0.05
"""Significance level of the tests."""

MODELS, SETS = 3, 3
"""Fewest models and sets for Friedman's test, and for a critical difference."""

PRIOR = 0.5
"""Weight of the prior observation "no difference" of the Bayesian test; each set weighs 1."""

DRAWS = 10_000
"""Draws of the sets' weights in the Bayesian test: a probability of 0.5 is off by 0.005."""

MIN_DRAWS = 1_000
"""Fewest draws, where pairs and sets are many: a probability of 0.5 is off by 0.016."""

MAX_DRAWN_WEIGHTS = 2**27
"""Most drawn weights over all pairs and sets, which takes seconds."""

RESAMPLES = 2_000
"""Draws of tasks and rows: the ends of a 95 % interval of a rank hardly move with more."""

MAX_ORDERS = 100_000
"""Most orders of ranks that are counted at a step of an exact p: a second for all of them."""

CHUNK = 2**22
"""Numbers in memory at once."""


@dataclass(frozen=True)
class Friedman:
    """Friedman's test that all models do equally well over the tasks, and its follow-up.

    Attributes:
        statistic, df: chi-square, corrected for ties, and its degrees of freedom, M - 1.
        p: share of the orders within the tasks whose statistic is as large, if they can be counted; else by Iman and
            Davenport's F.
        critical_difference: the least difference of two mean ranks that Nemenyi's test tells from none, at 5 %.
        groups: models that it does not tell apart, the best first.
    """

    statistic: float
    df: int
    p: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]


def ranks(values: Floats) -> Floats:
    """Return (M, S) ranks of the models on each set by (M, S) values, 1 for the highest; equal ones share their mean.

    They are nan where a model has no value.

    Example:
        >>> ranks(np.array([[0.9, 0.5], [0.8, 0.5], [0.7, np.nan]])).tolist()
        [[1.0, 1.5], [2.0, 1.5], [3.0, nan]]
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(-level(values), axis=0, nan_policy="omit"))


def impute_ranks(ranked: Floats) -> Floats:
    """Give models without a value on a set its middle rank, and spread the other (M, S) ranks around it.

    On a set that m of M models have, rank r becomes r (M + 1) / (m + 1), and that of the others (M + 1) / 2: so the
    ranks of each set have the mean (M + 1) / 2.

    Example:
        >>> impute_ranks(np.array([[1.0], [2.0], [np.nan]])).tolist()
        [[1.3333333333333333], [2.6666666666666665], [2.0]]

    Source: the middle rank for what is missing, as in Prentice 1979, "On the problem of m incomplete rankings".
    """
    models, present = len(ranked), (~np.isnan(ranked)).sum(axis=0)
    return np.where(np.isnan(ranked), (models + 1) / 2, ranked * (models + 1) / (present + 1))


def friedman(values: Floats, names: Sequence[str]) -> Friedman | None:
    """Test whether the models' ranks by (M, S) values differ at all, and group the models that do not differ.

    With R_m the mean rank of a model, chi2 = 12 S / (M (M + 1)) sum of (R_m - (M + 1) / 2)^2, over 1 less the share of
    ties. If the models do equally well, all orders of a set's ranks are equally probable. p counts them if they are
    few; else it is of F = (S - 1) chi2 / (S (M - 1) - chi2) with M - 1 and (M - 1)(S - 1) degrees of freedom, which is
    too small for few sets of few models. None with fewer than three models or sets, or where all are tied everywhere.

    Example:
        >>> test = friedman(np.array([[0.9, 0.8, 0.7, 0.9], [0.8, 0.7, 0.6, 0.8], [0.7, 0.6, 0.5, 0.7]]), "abc")
        >>> round(test.statistic, 9), test.df, round(test.p, 4), test.groups
        (8.0, 2, 0.0046, (('a', 'b'), ('b', 'c')))

    Source: Friedman 1940; Iman and Davenport 1980; both as in Demsar 2006, section 3.2.2.
    """
    models, sets = values.shape
    if models < MODELS or sets < SETS:
        return None
    ranked = ranks(values)
    spread = float((ranked**2).sum() - sets * models * (models + 1) ** 2 / 4)
    if spread <= TIE:
        return None
    away = ranked.sum(axis=1) - sets * (models + 1) / 2
    statistic = float((models - 1) * (away**2).sum() / spread)
    p = _share_of_orders(ranked)
    difference = critical_difference(models, sets)
    alike = tuple(tuple(names[model] for model in group) for group in groups(ranked.mean(axis=1), difference))
    return Friedman(statistic, models - 1, _p_of_f(statistic, *values.shape) if p is None else p, difference, alike)


def _share_of_orders(ranked: Floats) -> float | None:
    """Return the share of the orders of each set's ranks with rank sums as far apart as these (M, S); None if many."""
    doubled = np.rint(2 * ranked).astype(int)  # ties have halves
    if math.factorial(len(doubled)) > MAX_ORDERS:
        return None
    first, *later = doubled.T.tolist()
    # the first set keeps its order, since names do not matter; sums that differ in their order alone count as one
    sums = {tuple(sorted(first)): 1}
    for column in later:
        orders = Counter(permutations(column))
        if len(sums) * len(orders) > MAX_ORDERS:
            return None
        added: Counter[tuple[int, ...]] = Counter()
        for of_models, times in sums.items():
            for order, equal in orders.items():
                added[tuple(sorted(map(add, of_models, order)))] += times * equal
        sums = added
    apart = sum(total**2 for total in doubled.sum(axis=1).tolist())
    return sum(times for of_models, times in sums.items() if sum(n**2 for n in of_models) >= apart) / sum(sums.values())


def _p_of_f(statistic: float, models: int, sets: int) -> float:
    """Return the p of Iman and Davenport's F; 0 if all sets agree, as it has no bound then."""
    from scipy.special import fdtrc

    left = sets * (models - 1) - statistic
    return 0.0 if left <= TIE else float(fdtrc(models - 1, (models - 1) * (sets - 1), (sets - 1) * statistic / left))


def critical_difference(models: int, sets: int) -> float:
    """Return the least difference of two mean ranks that Nemenyi's test tells from none.

    CD = q sqrt(M (M + 1) / (6 S)), with q the quantile of the studentised range of M means, over sqrt(2).

    Example:
        >>> round(critical_difference(4, 14), 2)
        1.25

    Source: Nemenyi 1963; Demsar 2006, section 3.2.2.
    """
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - ALPHA, models, np.inf) * np.sqrt(models * (models + 1) / (12 * sets)))


def nemenyi(apart: Floats, models: int, sets: int) -> Floats:
    """Return (P,) p of Nemenyi's test that two models have the same mean rank, corrected for all pairs of models.

    It is by (P,) distances of the mean ranks of two models, over sets that all models have.

    Example:
        >>> nemenyi(np.array([0.0, 1.25]), 4, 14).round(2).tolist()
        [1.0, 0.05]

    Source: Nemenyi 1963; Demsar 2006, section 3.2.2.
    """
    from scipy.stats import studentized_range

    distances, place = np.unique(np.round(np.abs(apart), 9), return_inverse=True)
    p = studentized_range.sf(distances * np.sqrt(12 * sets / (models * (models + 1))), models, np.inf)
    return np.asarray(np.clip(p, 0.0, 1.0)[place])


def groups(mean_ranks: Floats, difference: float) -> list[tuple[int, ...]]:
    """Group the models that a critical difference does not tell apart: the bars of its diagram.

    Groups are of two and more models, by (M,) mean rank, none within another.

    Example:
        >>> groups(np.array([1.0, 3.0, 2.0, 5.0]), 1.5)
        [(0, 2), (2, 1)]
    """
    order = np.argsort(mean_ranks, kind="stable")
    sorted_ranks = mean_ranks[order]
    ends = np.searchsorted(sorted_ranks, sorted_ranks + difference + TIE, side="right")
    spans = [(start, int(end)) for start, end in enumerate(ends) if end - start > 1]
    maximal = [span for i, span in enumerate(spans) if i == 0 or span[1] > spans[i - 1][1]]
    return [tuple(int(order[i]) for i in range(start, end)) for start, end in maximal]


def signed_rank(differences: Floats, rng: np.random.Generator) -> float:
    """Return the two-sided p of Wilcoxon's test that (S,) differences lie as far above 0 as below: exact with ties.

    Differences of 0 are left out; the others are ranked by their size, and the signs of the ranks are flipped in all
    ways (drawn where they are too many: see `significance.sign_flip`). It is 1 where nothing differs.

    Example:
        >>> round(signed_rank(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), np.random.default_rng(0)), 9)
        0.03125

    Source: Wilcoxon 1945; Demsar 2006, section 3.1.3.
    """
    from scipy.stats import rankdata

    nonzero = differences[np.abs(differences) > TIE]
    return sign_flip(np.sign(nonzero) * rankdata(level(np.abs(nonzero))), rng)[0]


def bayesian_signed_rank(
    differences: Floats, rope: float, rng: np.random.Generator, draws: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return (P,) probabilities that the first model of a pair is better by more than a margin, as good, or worse.

    These hold for sets like the given ones. The sets have weights w from a Dirichlet distribution, with parameter 1 for
    each and 1/2 for a pseudo-set without a difference. A pair of sets i, j (also i = j) favours the first model where
    z_i + z_j > 2 rope, the second where it is < -2 rope, else neither. The probability of each of the three is the
    share of drawn weights under which the sum of w_i w_j over its pairs is the largest of the three.

    Args:
        differences: (P, S) of two models each, on each set.
        rope: half the width of the region of practical equivalence, a fraction.
        draws: of the weights; None for `DRAWS`, or fewer where pairs and sets are many.

    Example:
        >>> shares = bayesian_signed_rank(np.array([[0.05, 0.06, 0.04, 0.05]]), 0.01, np.random.default_rng(0))
        >>> [round(float(p[0]), 1) for p in shares]
        [1.0, 0.0, 0.0]

    Source: Benavoli, Corani, Demsar, Zaffalon 2017, "Time for a change", section 4.2; Benavoli et al. 2014.
    """
    shape, sets = len(differences), differences.shape[1]
    if draws is None:
        draws = max(MIN_DRAWS, min(DRAWS, MAX_DRAWN_WEIGHTS // max(shape * sets, 1)))
    gammas = rng.standard_gamma(np.r_[PRIOR, np.ones(sets)], size=(draws, sets + 1))
    weights = gammas / gammas.sum(axis=1, keepdims=True)
    with_prior = np.column_stack([np.zeros(shape), differences])
    better, worse = np.empty(shape), np.empty(shape)
    for pair, row in enumerate(with_prior):
        order = np.argsort(row, kind="stable")
        values, drawn = row[order], weights[:, order]
        below = np.column_stack([np.zeros(draws), np.cumsum(drawn, axis=1)])  # of the sets with the least differences
        # for each set the weight of those with which it favours the first model, or the second
        first = 1.0 - below[:, np.searchsorted(values, 2 * rope + TIE - values, side="right")]
        second = below[:, np.searchsorted(values, -2 * rope - TIE - values, side="left")]
        above, under = ((drawn * weight).sum(axis=1) for weight in (first, second))
        same = 1.0 - above - under
        better[pair] = ((above > under) & (above >= same)).mean()
        worse[pair] = ((under > above) & (under >= same)).mean()
    return better, np.maximum(1.0 - better - worse, 0.0), worse


def resample_means(
    values: Floats,
    errors: Floats,
    outcomes: Sequence[Floats | None],
    beats: Sequence[Floats | None],
    tasks: Ints,
    rng: np.random.Generator,
    draws: int = RESAMPLES,
) -> Floats:
    """Return (M, B) models' mean values, resampled over other tasks like these, and over other rows of each set.

    Tasks are drawn with replacement; the sets of a task are averaged first. Where the rows of a set are known, they are
    drawn with replacement, too, the same for all models; else each value gets a normal error, if its size is known. The
    errors of two models are correlated as the probability of their order says, where that is known.

    Args:
        values: (M, S), none missing.
        errors: (M, S) standard errors of the values; nan where unknown.
        outcomes: for each set the outcomes (M, N) whose means are its values; None where they are unknown.
        beats: for each set (M, M) P(the row's model is better than the column's); None where it is unknown.
        tasks: (S,) the task of each set, numbered from 0.
    """
    models = len(values)
    sizes = np.bincount(tasks)
    counts = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=draws) / len(sizes)  # (B, tasks)
    means = np.zeros((models, draws))
    for place, task in enumerate(tasks):
        set_outcomes = outcomes[place]
        mean, error, set_beats = values[:, place], np.nan_to_num(errors[:, place]), beats[place]
        if set_outcomes is not None:
            drawn = _means_of_rows(set_outcomes, rng, draws)
        elif set_beats is not None:
            drawn = normal_draws(mean, error, set_beats, rng, draws).values.T
        else:
            drawn = mean[:, None] + error[:, None] * rng.standard_normal((models, draws))
        means += counts[:, task] / sizes[task] * drawn
    return means


def _means_of_rows(outcomes: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Return (M, B) means of (M, N) outcomes over rows drawn with replacement."""
    size = outcomes.shape[1]
    step = max(CHUNK // size, 1)
    drawn = [
        rng.multinomial(size, np.full(size, 1 / size), size=min(step, draws - start)) @ outcomes.T / size
        for start in range(0, draws, step)
    ]
    return np.asarray(np.concatenate(drawn).T)


def rank_intervals(means: Floats) -> tuple[Ints, Ints, Floats]:
    """Return (M,) low and (M,) high ends of the 95 % intervals of ranks by (M, B) means, and shares of draws as first.

    Models that are first together share a draw.

    Example:
        >>> [array.tolist() for array in rank_intervals(np.array([[3.0, 3.0], [1.0, 2.0], [2.0, 1.0]]))]
        [[1, 2, 2], [1, 3, 3], [1.0, 0.0, 0.0]]
    """
    ranked = ranks(means)
    low = np.quantile(ranked, 0.025, axis=1, method="inverted_cdf")
    high = np.quantile(ranked, 0.975, axis=1, method="inverted_cdf")
    first = means >= means.max(axis=0) - TIE
    return np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64), (first / first.sum(axis=0)).mean(axis=1)
