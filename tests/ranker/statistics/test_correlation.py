import numpy as np
import pytest
from scipy import stats

from ranker.statistics.correlation import pearson, spearman


def test_pearson_is_scipys():
    """Its interval, too."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=12)
    second = first + rng.normal(size=12)
    expected = stats.pearsonr(first, second)
    estimate = pearson(first, second)
    ends = expected.confidence_interval()
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((expected.statistic, ends.low, ends.high))


def test_spearman_is_scipys():
    """With ties; its interval is wider than Pearson's of the same number."""
    first, second = np.array([1.0, 2, 2, 4, 5, 7]), np.array([2.0, 1, 4, 4, 9, 6])
    estimate = spearman(first, second)
    assert estimate.value == pytest.approx(stats.spearmanr(first, second).statistic)
    ranks = pearson(stats.rankdata(first), stats.rankdata(second))
    assert estimate.low < ranks.low < estimate.value < ranks.high < estimate.high


def test_the_interval_of_spearman_holds_the_truth():
    """Of normal numbers with a correlation of 0.6, whose rho is 6 / pi asin(0.3)."""
    rng = np.random.default_rng(1)
    truth, inside = 6 / np.pi * np.arcsin(0.3), []
    for _ in range(400):
        first, second = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=20).T
        estimate = spearman(first, second)
        inside.append(estimate.low <= truth <= estimate.high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_rounding_breaks_no_tie():
    """Two differences of one size, in another order of terms."""
    drops = np.array([0.85 - 0.775, 0.9 - 0.825, 0.3, 0.2])
    assert drops[0] != drops[1]
    assert spearman(np.array([4.0, 3, 2, 1]), drops).value == spearman(np.array([3.0, 4, 2, 1]), drops).value


def test_what_has_no_correlation():
    """Two sets, or a number that is the same for all; three sets have no interval."""
    assert pearson(np.array([1.0, 2]), np.array([1.0, 3])).value is None
    assert pearson(np.ones(5), np.arange(5.0)).value is None
    three = pearson(np.array([1.0, 2, 4]), np.array([1.0, 3, 3]))
    assert three.value == pytest.approx(0.756, abs=1e-3)
    assert three.low is None
    same = pearson(np.arange(5.0), np.arange(5.0))
    assert (same.value, same.low, same.high) == pytest.approx((1.0, 1.0, 1.0))
