"""Differences between two models on the same rows, with intervals and tests.

A row has an outcome in [0, 1] for each model: 1 right, 0 wrong, or between (a graded answer, a mean over epochs).
Everything is computed from the differences row by row, so that the difficulty of a row cancels out. Rows of one cluster
belong together (questions on one passage, cases from one template): then clusters are independent, and rows are not.

`compare` compares two models, `correct_for_pairs` corrects for many pairs, `mean_over_tasks` and
`combine_intervals` average over several tasks. `posterior` has the probability that one model is better;
`score_interval` has the intervals of differences. Axis letters as in `engine`, and G clusters (N where every row is
one).

A quantity is nan where one cluster is all there is, in a `PairedComparison` None: one cluster shows no spread.

Sources: Miller 2024, "Adding error bars to evals"; Cameron and Miller 2015, "A practitioner's guide to cluster-robust
inference"; Dror, Baumer, Shlomov, Reichart 2018, "The hitchhiker's guide to testing statistical significance in NLP".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from factors.rounding import TIE
from factors.types import Floats, Ints
from ranker.statistics import score_interval
from ranker.statistics.engine import none_if_nan
from ranker.statistics.intervals import Z95
from ranker.statistics.significance import MCNEMAR, Test, holm, mcnemar, sign_flip


@dataclass(frozen=True)
class Estimate:
    """Mean or difference of means, with its error.

    Attributes:
        value: between 0 and 1, or -1 and 1.
        se: its standard error.
        df: the degrees of freedom that the standard error has.
        low, high: the 95 % interval.
    """

    value: float
    se: float
    df: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedComparison:
    """Difference between two models on the same labelled rows, with its error.

    Attributes:
        a, b: the models, the one that is first in the order first.
        difference: the mean outcome of a minus that of b.
        se: its standard error, robust to clusters of rows; None where one cluster is all there is, as below.
        low, high: its 95 % interval.
        better, worse: rows on which a was better, and worse, than b.
        p: of a two-sided test that both do equally well; 1 where no row tells them apart.
        test: where p comes from: "mcnemar", "sign-flip", or "sign-flip-drawn".
        p_corrected: the same, corrected for the number of pairs (Holm).
        p_unpaired: p of a test that assumes different rows for the two (Welch's); None, too, where each model has the
            same outcome on every row, and not the other's.
        detectable: the smallest true difference that as many such rows find in 80 % of cases, at p < 0.05; None where
            no row tells the two apart.
        rows: number of rows of both.
        clusters: number of clusters of these; None where rows are independent.
        se_rows: the standard error if rows were independent; None where one row is all there is, and in runs that were
            saved before it was kept.
    """

    a: str
    b: str
    difference: float
    se: float | None
    low: float | None
    high: float | None
    better: int
    worse: int
    p: float
    test: Test
    p_corrected: float
    p_unpaired: float | None
    detectable: float | None
    rows: int
    clusters: int | None
    se_rows: float | None = None

    @property
    def turned(self) -> PairedComparison:
        """The same of b minus a."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(
            self,
            a=self.b,
            b=self.a,
            difference=-self.difference,
            low=low,
            high=high,
            better=self.worse,
            worse=self.better,
        )


def estimate_mean(outcomes: Floats, clusters: Ints | None = None) -> Estimate:
    """Estimate the mean of (N,) outcomes of one model.

    Example:
        >>> mean = estimate_mean(np.array([1.0, 1.0, 1.0, 0.0]))
        >>> round(mean.value, 9), round(mean.se, 3), round(mean.low, 2), round(mean.high, 2)
        (0.75, 0.25, 0.13, 0.98)
    """
    df = cluster_sums(outcomes[None], clusters).shape[1] - 1
    return of_mean(float(outcomes.mean()), float(standard_errors(outcomes[None], clusters)[0]), df)


def estimate_difference(outcomes: Floats, clusters: Ints | None = None) -> Estimate:
    """Estimate the mean outcome of one model minus that of another, of (2, N) outcomes on the same rows.

    Raises:
        ValueError: shapes do not fit, or an outcome is not finite or not in [0, 1].

    Example:
        >>> difference = estimate_difference(np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))
        >>> round(difference.value, 9), round(difference.se, 3)
        (0.5, 0.289)
    """
    _check(outcomes, clusters)
    differences = _differences(outcomes)
    sums = cluster_sums(differences[None], clusters)[0]
    se = float(standard_errors(differences[None], clusters)[0])
    return Estimate(float(differences.mean()), se, len(sums) - 1, *_ends(outcomes, sums, clusters))


def compare(
    names: tuple[str, str], outcomes: Floats, rng: np.random.Generator, clusters: Ints | None = None
) -> PairedComparison:
    """Compare two models on the same rows, as one pair alone; `correct_for_pairs` corrects p for several.

    Where every outcome is 0 or 1 and rows are independent the test is McNemar's, else signs of clusters are flipped.

    Args:
        outcomes: (2, N) theirs, between 0 and 1.
        rng: read only where signs are drawn. Give each of many pairs a generator of its own, so that no p depends on
            which pairs came before.

    Raises:
        ValueError: shapes do not fit, or an outcome is not finite or not in [0, 1].

    Example:
        >>> outcomes = np.array([[1, 1, 1, 1, 1, 1, 1, 0], [1, 0, 0, 0, 0, 0, 0, 0]], dtype=np.float64)
        >>> pair = compare(("a", "b"), outcomes, np.random.default_rng(0))
        >>> round(pair.difference, 9), round(pair.low, 2), round(pair.high, 2)
        (0.75, 0.1, 0.96)
        >>> pair.better, pair.worse, pair.test, pair.p, round(pair.p_unpaired, 3)
        (6, 0, 'mcnemar', 0.03125, 0.001)
    """
    difference = estimate_difference(outcomes, clusters)
    differences = _differences(outcomes)
    sums = cluster_sums(differences[None], clusters)[0]
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    if _right_or_wrong(outcomes, sums):
        p, test = float(mcnemar(np.array(better), np.array(worse))), MCNEMAR
    else:
        p, test = sign_flip(sums, rng)
    means = [estimate_mean(row, clusters) for row in outcomes]
    return PairedComparison(
        *names,
        difference=difference.value,
        se=none_if_nan(difference.se),
        low=none_if_nan(difference.low),
        high=none_if_nan(difference.high),
        better=better,
        worse=worse,
        p=p,
        test=test,
        p_corrected=p,
        p_unpaired=none_if_nan(_p_of_t(*weighted_sum(means, np.array([1.0, -1.0])))),
        detectable=none_if_nan(detectable(difference.se)),
        rows=outcomes.shape[1],
        clusters=None if clusters is None else len(sums),
        se_rows=none_if_nan(float(standard_errors(differences[None])[0])),
    )


def correct_for_pairs(comparisons: Sequence[PairedComparison]) -> tuple[PairedComparison, ...]:
    """Correct the p of comparisons for their number.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    adjusted = holm(np.array([pair.p for pair in comparisons])).tolist() if comparisons else []
    return tuple(replace(pair, p_corrected=p) for pair, p in zip(comparisons, adjusted, strict=True))


def cluster_sums(values: Floats, clusters: Ints | None) -> Floats:
    """Return (R, G) sums over each cluster of (R, N) quantities of rows, in the order of the clusters' numbers.

    Example:
        >>> cluster_sums(np.array([[1.0, 2.0, 3.0]]), np.array([7, 2, 7]))
        array([[2., 4.]])
    """
    if clusters is None:
        return values
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=clusters[order[0]] - 1))
    return np.asarray(np.add.reduceat(values[:, order], starts, axis=1))


def standard_errors(values: Floats, clusters: Ints | None = None) -> Floats:
    """Return (R,) standard errors of means over rows of (R, N) values, robust to correlation within a cluster.

    sqrt(G / (G - 1) * sum over clusters of (sum over its rows of (x_k - mean))^2) / N, which is called CR1. Where every
    row is a cluster this is sd / sqrt(N), with N - 1 for the divisor of the variance. With one cluster they are nan.

    Example:
        >>> standard_errors(np.array([[1.0, 0.0, 1.0, 0.0]])).round(3).tolist()
        [0.289]
        >>> standard_errors(np.array([[1.0, 0.0, 1.0, 0.0]]), np.array([0, 1, 0, 1])).round(3).tolist()
        [0.5]

    Source: Liang and Zeger 1986, "Longitudinal data analysis using generalized linear models"; Cameron and Miller 2015,
    section II.
    """
    residuals = cluster_sums(values - values.mean(axis=1, keepdims=True), clusters)
    count = residuals.shape[1]
    if count == 1:
        return np.full(len(values), np.nan)
    return np.asarray(np.sqrt(count / (count - 1) * (residuals**2).sum(axis=1)) / values.shape[1])


def of_mean(value: float, se: float, df: float) -> Estimate:
    """Return a mean of outcomes in [0, 1] with its 95 % interval, which stays in [0, 1] and has a width at 0 and 1.

    Wilson's, with t in place of the normal quantile:

        (value + t^2 / 2n -+ t sqrt(value (1 - value) / n + t^2 / 4n^2)) / (1 + t^2 / n)

    n = value (1 - value) / se^2 is the number of independent rows of 0 and 1 with this standard error. Where se is 0,
    as for a model that has every row right, n = G. (value -+ t se would then have no width.) df is G - 1.

    Example:
        >>> mean = of_mean(1.0, 0.0, 99)
        >>> round(mean.low, 3), round(mean.high, 3)
        (0.962, 1.0)

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference"; n: Korn and Graubard
    1998, "Confidence intervals for proportions with small expected number of positive counts".
    """
    if np.isnan(se):
        return Estimate(value, se, df, np.nan, np.nan)
    variance = value * (1 - value)
    pull = t_quantile(df) ** 2 * (se**2 / variance if se > TIE else 1 / (df + 1))  # t^2 / n
    middle, half = value + pull / 2, np.sqrt(pull * variance + pull**2 / 4)
    low, high = np.clip([(middle - half) / (1 + pull), (middle + half) / (1 + pull)], 0.0, 1.0).tolist()
    return Estimate(value, se, df, low, high)


def detectable(se: float) -> float:
    """Return the smallest true difference found at p < 0.05 in 80 % of cases, (z_.975 + z_.8) * se; nan if se is 0.

    Example:
        >>> round(detectable(0.02), 3)
        0.056

    Source: Card, Henderson, Khandelwal, Jia, Mahowald, Jurafsky 2020, "With little power comes great responsibility";
    Miller 2024, section 5.
    """
    from scipy.special import ndtri

    return float((Z95 + ndtri(0.8)) * se) if se > TIE else np.nan


def not_worse(low: float, by: float) -> bool:
    """Return whether a model is shown to be no worse than another by a margin: its 95 % interval lies above -margin.

    This is a one-sided test at 2.5 %. With one cluster, without a lower end, the answer is no.

    Example:
        >>> never_apart = [estimate_difference(np.ones((2, rows))).low for rows in (300, 100)]
        >>> [not_worse(low, 0.02) for low in never_apart]  # 100 rows are too few to know
        [True, False]

    Source: ICH E9 1998, "Statistical principles for clinical trials", section 3.3.2.
    """
    return low >= -by - TIE


def p_of(difference: Estimate) -> float:
    """Return the p of a two-sided t-test of no difference, below 0.05 just where the interval leaves out 0.

    Its standard error follows from the end of the interval that is nearer to 0: a mean over tasks without any spread
    has an interval, and so a p. Without degrees of freedom, as of a metric that is no mean, the test is normal.

    Example:
        >>> round(p_of(Estimate(0.1, 0.04, 299, 0.02, 0.18)), 3)
        0.014
        >>> round(p_of(Estimate(0.1, np.nan, np.nan, 0.0, 0.3)), 3)
        0.05

    Source: Altman and Bland 2011, "How to obtain the P value from a confidence interval".
    """
    from scipy.special import ndtr  # scipy takes longer to import than the rest here

    value = difference.value
    half = value - difference.low if value > 0 else difference.high - value
    if not np.isnan(difference.df):
        return _p_of_t(value, half / t_quantile(difference.df), difference.df)
    if half <= TIE:
        return 1.0 if abs(value) <= TIE else 0.0
    return float(2 * ndtr(-Z95 * abs(value) / half))


def mean_over_tasks(tasks: Sequence[Estimate], weights: Floats) -> Estimate:
    """Return the mean of a model's means on several tasks, with (J,) weights that sum to 1.

    The tasks are fixed; their rows vary, independently from task to task. With weights n_j / N, for n_j of N rows,
    every row counts the same (pooled); with 1 / J, for J tasks, every task does (macro).

    Source: Cochran 1977, "Sampling techniques", section 5.3 (each task is a stratum).
    """
    return of_mean(*weighted_sum(tasks, weights))


def combine_intervals(tasks: Sequence[Estimate], weights: Floats) -> Estimate:
    """Return the weighted mean of two models' differences on several tasks, which are fixed as in `mean_over_tasks`.

    Its ends lie at the root of the sum of squares of the weighted distances between each difference and its own end, so
    it has a width even where no difference has a spread. It averages the values of a metric that is no mean, too; its
    standard error and degrees of freedom are then nan.

    Example:
        >>> one = estimate_difference(np.array([[1.0] * 90 + [0.0] * 10, [1.0] * 80 + [0.0] * 20]))
        >>> four = combine_intervals([one] * 4, np.full(4, 1 / 4))
        >>> round(one.se / four.se, 3), round(one.low, 3), round(four.low, 3)
        (2.0, 0.05, 0.075)
        >>> two = [Estimate(0.6, np.nan, np.nan, 0.5, 0.8), Estimate(0.8, np.nan, np.nan, 0.7, 0.9)]
        >>> mean = combine_intervals(two, np.full(2, 1 / 2))
        >>> round(mean.value, 3), round(mean.low, 3), round(mean.high, 3)
        (0.7, 0.629, 0.812)

    Source: Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach".
    """
    value, se, df = weighted_sum(tasks, weights)
    ends = np.array([(task.value - task.low, task.high - task.value) for task in tasks])
    down, up = np.sqrt((weights**2) @ ends**2).tolist()
    return Estimate(value, se, df, value - down, value + up)


def weighted_sum(estimates: Sequence[Estimate], weights: Floats) -> tuple[float, float, float]:
    """Return a sum of independent estimates with (E,) weights, its standard error, and the degrees of freedom of that.

    df = (sum of v)^2 / (sum of v^2 / df), with v = weight^2 se^2; the sum of the df where every standard error is 0.

    Example:
        >>> total = weighted_sum([of_mean(0.8, 0.03, 99), of_mean(0.5, 0.04, 99)], np.array([1.0, -1.0]))
        >>> [round(number, 2) for number in total]
        [0.3, 0.05, 183.61]

    Source: Welch 1947, "The generalization of 'Student's' problem"; Satterthwaite 1946, "An approximate
    distribution of estimates of variance components".
    """
    values, errors, df = np.array([(estimate.value, estimate.se, estimate.df) for estimate in estimates]).T
    variances = (weights * errors) ** 2
    se = float(np.sqrt(variances.sum()))
    freedom = variances.sum() ** 2 / (variances**2 / df).sum() if se > TIE else df.sum()
    return float(weights @ values), se, float(freedom)


def _ends(outcomes: Floats, sums: Floats, clusters: Ints | None) -> tuple[float, float]:
    """Return the ends of the interval of a difference whose clusters have these sums."""
    if len(sums) == 1:
        return np.nan, np.nan
    if _right_or_wrong(outcomes, sums):
        better, worse = int((sums > 0).sum()), int((sums < 0).sum())
        return score_interval.of_counts(better, worse, len(sums), Z95)
    sizes = cluster_sums(np.ones((1, outcomes.shape[1])), clusters)[0]
    return score_interval.of_sums(sums, sizes, t_quantile(len(sums) - 1))


def _right_or_wrong(outcomes: Floats, sums: Floats) -> bool:
    """Return whether rows are independent, and every outcome is 0 or 1."""
    return len(sums) == outcomes.shape[1] and bool(np.isin(outcomes, (0, 1)).all())


def _differences(outcomes: Floats) -> Floats:
    """Return (N,) the first model's outcomes minus the second's; differences within rounding are 0."""
    differences = np.asarray(outcomes[0] - outcomes[1])
    differences[np.abs(differences) <= TIE] = 0.0
    return differences


def _check(outcomes: Floats, clusters: Ints | None) -> None:
    """Refuse outcomes that are not those of two models on the same rows."""
    if outcomes.ndim != 2 or outcomes.shape[0] != 2 or outcomes.shape[1] < 1:
        raise ValueError(f"outcomes must have the shape (2, N), with N >= 1 (got {outcomes.shape})")
    if not ((outcomes >= 0) & (outcomes <= 1)).all():
        raise ValueError("outcomes must be finite and between 0 and 1")
    if clusters is not None and clusters.shape != outcomes.shape[1:]:
        raise ValueError(f"clusters must have the shape ({outcomes.shape[1]},), a number a row (got {clusters.shape})")


def t_quantile(df: float) -> float:
    """Return the 97.5 % quantile of Student's t; nan without degrees of freedom."""
    from scipy.special import stdtrit  # scipy takes longer to import than everything else here takes to run

    return float(stdtrit(df, 0.975)) if df > 0 else np.nan


def _p_of_t(value: float, se: float, df: float) -> float:
    """Return the two-sided p of Student's t; without any spread 1 for equal means, and nan for others."""
    from scipy.special import stdtr

    if abs(value) <= TIE:
        return np.nan if np.isnan(se) else 1.0
    return float(2 * stdtr(df, -abs(value) / se)) if se > TIE else np.nan
