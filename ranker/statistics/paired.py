"""How far apart two models are that were judged on the same rows, and how sure that is.

A row has an outcome in [0, 1] for each model: 1 right, 0 wrong, or between (a graded answer, a mean over epochs).
All is computed from the differences row by row, so what makes a row hard for both models cancels out. Rows of one
cluster belong together (questions on one passage, cases from one template): then clusters are independent, and rows are
not.

`compare` answers for two models, `corrected` for many pairs at once, `mean_over_tasks` and `difference_over_tasks` for
several tasks. How probable it is that one model is better, `posterior` says; intervals of differences are
`score_interval`'s. Axis letters as in `engine`, and G clusters (N where every row is one).

A quantity is nan where one cluster is all there is, in a `PairedComparison` None: one cluster shows no spread.

Sources: Miller 2024, "Adding error bars to evals"; Cameron and Miller 2015, "A practitioner's guide to cluster-robust
inference"; Dror, Baumer, Shlomov, Reichart 2018, "The hitchhiker's guide to testing statistical significance in NLP".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics import score_interval
from ranker.statistics.engine import none_if_nan
from ranker.statistics.intervals import Z95
from ranker.statistics.significance import MCNEMAR, TIE, Test, holm, mcnemar, sign_flip


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference of means, with what is known of its error.

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
    """Two models on the same labelled rows: how far apart they are, and how sure that is.

    Attributes:
        a, b: the models, the one that is first in the order first.
        difference: the mean outcome of a minus that of b.
        se: its standard error, robust to clusters of rows; None where one cluster is all there is, as below.
        low, high: its 95 % interval.
        better, worse: rows on which a did better, and worse, than b.
        p: of a two-sided test that both do equally well; 1 where no row tells them apart.
        test: where p comes from: "mcnemar", "sign-flip", or "sign-flip-drawn".
        p_corrected: the same, corrected for the number of pairs (Holm).
        p_unpaired: what a test would have said that takes the two as judged on different rows (Welch's); None, too,
            where each model has the same outcome on every row, and not the other's.
        detectable: the smallest true difference that as many such rows find in 80 % of cases, at p < 0.05; None where
            no row tells the two apart.
        rows: how many rows both were judged on.
        clusters: how many clusters these make; None where rows are independent.
        se_rows: what the standard error would be if rows were independent; None where one row is all there is, and in
            runs that were saved before it was kept.
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


def estimate_mean(outcomes: Floats, clusters: Ints | None = None) -> Estimate:
    """Estimate the mean outcome of one model.

    Args:
        outcomes: (N,) between 0 and 1.
        clusters: (N,) the number of each row's cluster, in any order; None where rows are independent.

    Example:
        >>> found = estimate_mean(np.array([1.0, 1.0, 1.0, 0.0]))
        >>> found.value, round(found.se, 3), round(found.low, 2), round(found.high, 2)
        (0.75, 0.25, 0.13, 0.98)
    """
    df = cluster_sums(outcomes[None], clusters).shape[1] - 1
    return of_mean(float(outcomes.mean()), float(standard_errors(outcomes[None], clusters)[0]), df)


def estimate_difference(outcomes: Floats, clusters: Ints | None = None) -> Estimate:
    """Estimate the mean outcome of one model minus that of another on the same rows.

    Args:
        outcomes: (2, N) of the first and the second model, between 0 and 1.
        clusters: (N,) the number of each row's cluster, in any order; None where rows are independent.

    Raises:
        ValueError: shapes do not fit, or an outcome is not finite or not in [0, 1].

    Example:
        >>> found = estimate_difference(np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))
        >>> found.value, round(found.se, 3)
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
    """Compare two models on the same rows.

    Where every outcome is 0 or 1 and rows are independent the test is McNemar's, else signs of clusters are flipped.

    Args:
        names: of the first and the second model.
        outcomes: (2, N) theirs, between 0 and 1.
        rng: the only source of randomness, read only where signs are drawn. Give each of many pairs a generator of its
            own, so that no p depends on which pairs came before.
        clusters: (N,) the number of each row's cluster, in any order; None where rows are independent.

    Returns:
        The comparison as of one pair alone; `corrected` takes the p of several together.

    Raises:
        ValueError: shapes do not fit, or an outcome is not finite or not in [0, 1].

    Example:
        >>> outcomes = np.array([[1, 1, 1, 1, 1, 1, 1, 0], [1, 0, 0, 0, 0, 0, 0, 0]], dtype=np.float64)
        >>> found = compare(("a", "b"), outcomes, np.random.default_rng(0))
        >>> found.difference, round(found.low, 2), round(found.high, 2)
        (0.75, 0.1, 0.96)
        >>> found.better, found.worse, found.test, found.p, round(found.p_unpaired, 3)
        (6, 0, 'mcnemar', 0.03125, 0.001)
    """
    found = estimate_difference(outcomes, clusters)
    differences = _differences(outcomes)
    sums = cluster_sums(differences[None], clusters)[0]
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    if _right_or_wrong(outcomes, sums):
        p, test = float(mcnemar(np.array(better), np.array(worse))), MCNEMAR
    else:
        p, test = sign_flip(sums, rng)
    own = [estimate_mean(one, clusters) for one in outcomes]
    return PairedComparison(
        *names,
        difference=found.value,
        se=none_if_nan(found.se),
        low=none_if_nan(found.low),
        high=none_if_nan(found.high),
        better=better,
        worse=worse,
        p=p,
        test=test,
        p_corrected=p,
        p_unpaired=none_if_nan(_p_of_t(*weighted(own, np.array([1.0, -1.0])))),
        detectable=none_if_nan(detectable(found.se)),
        rows=outcomes.shape[1],
        clusters=None if clusters is None else len(sums),
        se_rows=none_if_nan(float(standard_errors(differences[None])[0])),
    )


def corrected(found: Sequence[PairedComparison]) -> tuple[PairedComparison, ...]:
    """The comparisons with their p corrected for how many they are.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    p = holm(np.array([one.p for one in found])).tolist() if found else []
    return tuple(replace(one, p_corrected=of) for one, of in zip(found, p, strict=True))


def cluster_sums(values: Floats, clusters: Ints | None) -> Floats:
    """Sum the values of each cluster.

    Args:
        values: (R, N) any quantities of the rows.
        clusters: (N,) the number of each row's cluster; None where every row is one.

    Returns:
        (R, G) sums, in the order of the numbers.

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
    """The standard error of means over rows, robust to whatever binds the rows of a cluster.

    sqrt(G / (G - 1) * sum over clusters of (sum over its rows of (x_k - mean))^2) / N, which is called CR1. Where every
    row is a cluster this is sd / sqrt(N), with N - 1 for the divisor of the variance.

    Args:
        values: (R, N) outcomes, or differences.
        clusters: (N,) the number of each row's cluster; None where rows are independent.

    Returns:
        (R,) standard errors; nan with one cluster.

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
    """A mean of outcomes in [0, 1] with its 95 % interval, which stays in [0, 1] and has a width at 0 and at 1, too.

    Wilson's, with t in place of the normal quantile:

        (value + t^2 / 2n -+ t sqrt(value (1 - value) / n + t^2 / 4n^2)) / (1 + t^2 / n)

    n = value (1 - value) / se^2 is how many independent rows of 0 and 1 would have this standard error. Where se is 0,
    as for a model that has every row right, n = G. (value -+ t se would then have no width.)

    Args:
        value, se: the mean and its standard error.
        df: degrees of freedom of t, G - 1.

    Example:
        >>> found = of_mean(1.0, 0.0, 99)
        >>> round(found.low, 3), found.high
        (0.962, 1.0)

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference"; n: Korn and Graubard
    1998, "Confidence intervals for proportions with small expected number of positive counts".
    """
    if np.isnan(se):
        return Estimate(value, se, df, np.nan, np.nan)
    variance = value * (1 - value)
    pull = _t_quantile(df) ** 2 * (se**2 / variance if se > TIE else 1 / (df + 1))  # t^2 / n
    middle, half = value + pull / 2, np.sqrt(pull * variance + pull**2 / 4)
    low, high = np.clip([(middle - half) / (1 + pull), (middle + half) / (1 + pull)], 0.0, 1.0).tolist()
    return Estimate(value, se, df, low, high)


def detectable(se: float, power: float = 0.8) -> float:
    """The smallest true difference that is found, at p < 0.05, with a given probability: (z_.975 + z_power) * se.

    Args:
        se: of a difference.
        power: that probability.

    Returns:
        The difference; nan where the standard error is 0.

    Example:
        >>> round(detectable(0.02), 3)
        0.056

    Source: Card, Henderson, Khandelwal, Jia, Mahowald, Jurafsky 2020, "With little power comes great responsibility";
    Miller 2024, section 5.
    """
    from scipy.special import ndtri

    return float((Z95 + ndtri(power)) * se) if se > TIE else np.nan


def not_worse(low: float, by: float) -> bool:
    """Whether a model is shown to be no worse than another, but for a margin: the 95 % interval lies above -margin.

    A test of one side at 2.5 %. One cluster shows nothing, so the answer is no.

    Args:
        low: the lower end of the 95 % interval of the model minus the other; nan where there is none.
        by: the margin, at least 0.

    Example:
        >>> never_apart = [estimate_difference(np.ones((2, rows))).low for rows in (300, 100)]
        >>> [not_worse(low, 0.02) for low in never_apart]  # 100 rows are too few to know
        [True, False]

    Source: ICH E9 1998, "Statistical principles for clinical trials", section 3.3.2.
    """
    return low >= -by - TIE


def p_of(difference: Estimate) -> float:
    """The p of a two-sided t-test that there is no difference, below 0.05 just where its interval leaves out 0.

    Its standard error is read off the end of the interval that is nearer to 0: a mean over tasks without any spread
    has an interval, and so a p.

    Example:
        >>> round(p_of(Estimate(0.1, 0.04, 299, 0.02, 0.18)), 3)
        0.014

    Source: Altman and Bland 2011, "How to obtain the P value from a confidence interval".
    """
    half = difference.value - difference.low if difference.value > 0 else difference.high - difference.value
    return _p_of_t(difference.value, half / _t_quantile(difference.df), difference.df)


def mean_over_tasks(tasks: Sequence[Estimate], weights: Floats) -> Estimate:
    """The weighted mean of a model's means on several tasks.

    The tasks are these and no others; what varies is their rows, independently from task to task. With weights n_j / N,
    of n_j of N rows, every row counts the same (pooled); with 1 / J, of J tasks, every task does (macro).

    Args:
        tasks: one estimate a task.
        weights: (J,) that sum to 1.

    Source: Cochran 1977, "Sampling techniques", section 5.3 (each task is a stratum).
    """
    return of_mean(*weighted(tasks, weights))


def difference_over_tasks(tasks: Sequence[Estimate], weights: Floats) -> Estimate:
    """The weighted mean of the differences of two models on several tasks, which are taken as in `mean_over_tasks`.

    Its interval goes as far as the roots of the sums of squares of how far the weighted ends of the differences' own
    intervals are from them: where none has a spread, it has a width.

    Args:
        tasks: one estimate a task.
        weights: (J,) that sum to 1.

    Example:
        >>> one = estimate_difference(np.array([[1.0] * 90 + [0.0] * 10, [1.0] * 80 + [0.0] * 20]))
        >>> four = difference_over_tasks([one] * 4, np.full(4, 1 / 4))
        >>> round(one.se / four.se, 3), round(one.low, 3), round(four.low, 3)
        (2.0, 0.05, 0.075)

    Source: Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach".
    """
    value, se, df = weighted(tasks, weights)
    low, high = _combined_ends(tasks, weights)
    return Estimate(value, se, df, max(low, -1.0), min(high, 1.0))


def combine_intervals(tasks: Sequence[Estimate], weights: Floats) -> Estimate:
    """Average values of a metric that is no mean over several tasks, by their intervals alone.

    Args:
        tasks: one estimate a task; their standard errors are not read.
        weights: (J,) that sum to 1.

    Returns:
        The mean, with an interval as of `difference_over_tasks`; nan for its standard error and degrees of freedom.

    Example:
        >>> two = [Estimate(0.6, np.nan, np.nan, 0.5, 0.8), Estimate(0.8, np.nan, np.nan, 0.7, 0.9)]
        >>> mean = combine_intervals(two, np.full(2, 1 / 2))
        >>> round(mean.value, 3), round(mean.low, 3), round(mean.high, 3)
        (0.7, 0.629, 0.812)

    Source: Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach".
    """
    value = float(weights @ np.array([task.value for task in tasks]))
    return Estimate(value, np.nan, np.nan, *_combined_ends(tasks, weights))


def p_of_interval(difference: Estimate) -> float:
    """Two-sided p that is read off a 95 % interval, whose side toward 0 is taken for 1.96 standard errors.

    Source: Altman and Bland 2011, "How to obtain the P value from a confidence interval".

    Example:
        >>> round(p_of_interval(Estimate(0.1, np.nan, np.nan, 0.0, 0.3)), 3)
        0.05
    """
    side = difference.value - difference.low if difference.value > 0 else difference.high - difference.value
    if side == 0:
        return 1.0 if difference.value == 0 else 0.0
    from scipy.special import ndtr  # scipy takes longer to import than the rest here

    return float(2 * ndtr(-Z95 * abs(difference.value) / side))


def _combined_ends(tasks: Sequence[Estimate], weights: Floats) -> tuple[float, float]:
    """The ends of the interval of a weighted sum, each from the same ends of its parts."""
    value = float(weights @ np.array([task.value for task in tasks]))
    ends = np.array([(task.value - task.low, task.high - task.value) for task in tasks])
    down, up = np.sqrt((weights**2) @ ends**2).tolist()
    return value - down, value + up


def weighted(estimates: Sequence[Estimate], weights: Floats) -> tuple[float, float, float]:
    """Sum independent estimates with weights.

    df = (sum of v)^2 / (sum of v^2 / df), with v = weight^2 se^2; the sum of the df where every standard error is 0.

    Args:
        estimates: one or more.
        weights: (E,) of each.

    Returns:
        The sum, its standard error, and the degrees of freedom of that.

    Example:
        >>> found = weighted([of_mean(0.8, 0.03, 99), of_mean(0.5, 0.04, 99)], np.array([1.0, -1.0]))
        >>> [round(number, 2) for number in found]
        [0.3, 0.05, 183.61]

    Source: Welch 1947, "The generalization of 'Student's' problem"; Satterthwaite 1946, "An approximate
    distribution of estimates of variance components".
    """
    values, errors, df = np.array([(one.value, one.se, one.df) for one in estimates]).T
    variances = (weights * errors) ** 2
    se = float(np.sqrt(variances.sum()))
    freedom = variances.sum() ** 2 / (variances**2 / df).sum() if se > TIE else df.sum()
    return float(weights @ values), se, float(freedom)


def _ends(outcomes: Floats, sums: Floats, clusters: Ints | None) -> tuple[float, float]:
    """The ends of the interval of a difference whose clusters have these sums."""
    if len(sums) == 1:
        return np.nan, np.nan
    if _right_or_wrong(outcomes, sums):
        better, worse = int((sums > 0).sum()), int((sums < 0).sum())
        return score_interval.of_counts(better, worse, len(sums), Z95)
    sizes = cluster_sums(np.ones((1, outcomes.shape[1])), clusters)[0]
    return score_interval.of_sums(sums, sizes, _t_quantile(len(sums) - 1))


def _right_or_wrong(outcomes: Floats, sums: Floats) -> bool:
    """Whether rows are independent, and every outcome is 0 or 1."""
    return len(sums) == outcomes.shape[1] and bool(np.isin(outcomes, (0, 1)).all())


def _differences(outcomes: Floats) -> Floats:
    """(N,) the first model's outcomes minus the second's; what rounding leaves of no difference is none."""
    differences = np.asarray(outcomes[0] - outcomes[1])
    differences[np.abs(differences) <= TIE] = 0.0
    return differences


def _check(outcomes: Floats, clusters: Ints | None) -> None:
    """Refuse what is no two models on the same rows."""
    if outcomes.ndim != 2 or outcomes.shape[0] != 2 or outcomes.shape[1] < 1:
        raise ValueError(f"outcomes must have the shape (2, N), with N >= 1 (got {outcomes.shape})")
    if not ((outcomes >= 0) & (outcomes <= 1)).all():
        raise ValueError("outcomes must be finite and between 0 and 1")
    if clusters is not None and clusters.shape != outcomes.shape[1:]:
        raise ValueError(f"clusters must have the shape ({outcomes.shape[1]},), a number a row (got {clusters.shape})")


def _t_quantile(df: float) -> float:
    """The 97.5 % quantile of Student's t; nan without degrees of freedom."""
    from scipy.special import stdtrit  # scipy takes longer to import than everything else here takes to run

    return float(stdtrit(df, 0.975)) if df > 0 else np.nan


def _p_of_t(value: float, se: float, df: float) -> float:
    """The two-sided p of Student's t; without any spread 1 for equal means, and nan for others."""
    from scipy.special import stdtr

    if abs(value) <= TIE:
        return np.nan if np.isnan(se) else 1.0
    return float(2 * stdtr(df, -abs(value) / se)) if se > TIE else np.nan
