import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from ranker.statistics import score_interval
from ranker.statistics.score_interval import HALF, of_counts, of_sums

Z95 = 1.959963984540054


def slow_z(better, worse, rows, delta):
    """By the definition: the law of the rows that is most probable under delta, found by search."""
    ties = rows - better - worse

    def unlikely(q):  # the shares of rows that the second, the first, and neither alone has right
        shares = (better, q + delta), (worse, q), (ties, 1 - 2 * q - delta)
        return -sum(count * math.log(max(share, 1e-300)) for count, share in shares if count)

    low, high = max(0.0, -delta), (1 - delta) / 2
    q = scipy.optimize.minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    q = min((low, high, q), key=unlikely)  # a search does not reach the ends
    variance = rows * (2 * q + delta - delta**2)
    return (better - worse - rows * delta - HALF) / math.sqrt(variance) if variance > 0 else math.inf


@st.composite
def counts(draw):
    """Rows that one model alone has right, and all rows."""
    better, worse = draw(st.integers(0, 12)), draw(st.integers(0, 12))
    return better, worse, better + worse + draw(st.integers(0 if better + worse > 1 else 2, 40))


@given(counts())
def test_the_ends_are_where_the_definition_rejects(given_counts):
    """A difference a little outside has a z above the quantile, one a little inside has not."""
    better, worse, rows = given_counts
    low, high = of_counts(better, worse, rows, Z95)
    assert -1 <= low < (better - worse) / rows < high <= 1 or abs(better - worse) == rows
    if low > -1:
        assert slow_z(better, worse, rows, low + 1e-5) < Z95 < slow_z(better, worse, rows, max(low - 1e-5, -1))
    if high < 1:
        assert slow_z(worse, better, rows, -high + 1e-5) < Z95 < slow_z(worse, better, rows, max(-high - 1e-5, -1))


def test_without_the_half_it_is_the_published_one(monkeypatch):
    """Fagerland, Lydersen and Laake 2014: 1 and 7 of 21 children; Tango's interval is -0.517 to -0.026."""
    monkeypatch.setattr(score_interval, "HALF", 0.0)
    assert of_counts(1, 7, 21, Z95) == pytest.approx((-0.517, -0.026), abs=5e-4)


@pytest.mark.more
@given(counts(), st.floats(1.0, 3.0))
def test_of_rows_of_0_and_1_both_are_one(given_counts, critical):
    """The general law is the closed one."""
    better, worse, rows = given_counts
    sums = np.repeat([1.0, -1.0, 0.0], [better, worse, rows - better - worse])
    assert of_sums(sums, np.ones(rows), critical) == pytest.approx(of_counts(better, worse, rows, critical), abs=1e-9)


@pytest.mark.parametrize("rows", [5, 20, 300])
def test_equal_models_have_a_width(rows):
    """No discordant row: the end solves (n d - 1/2)^2 = z^2 n d (1 - d), by hand."""
    low, high = of_counts(0, 0, rows, Z95)
    assert low == -high
    expected = np.roots([rows**2 + Z95**2 * rows, -rows - Z95**2 * rows, 0.25]).max()
    assert high == pytest.approx(expected, abs=1e-9)


def test_the_general_law_is_the_most_probable_one():
    """Two clusters of other sizes and some rows between: masses found by search give the same ends."""
    sums, sizes, critical = np.array([0.5, 1.25, 0.0, 2.0, -0.5, 0.75]), np.array([1.0, 2, 1, 3, 1, 2]), 1.5
    low, _ = of_sums(sums, sizes, critical)
    residuals = np.append(sums - sizes * low, -sizes.mean() * (1 + low))

    def unlikely(masses):
        return -np.log(masses[:-1]).sum()

    minimum = scipy.optimize.minimize(
        unlikely,
        np.full(7, 1 / 7),
        bounds=[(1e-9, 1)] * 6 + [(0, 1)],
        constraints=[{"type": "eq", "fun": lambda m: m.sum() - 1}, {"type": "eq", "fun": lambda m: m @ residuals}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    variance = 6 * minimum.x @ residuals**2
    assert (residuals[:-1].sum() - HALF) / math.sqrt(variance) == pytest.approx(critical, abs=1e-4)


def coverage(rows, shares):
    """The least share of intervals that hold the truth, and the most that lie above it, over laws of the rows.

    All tables of the rows are counted, none is drawn.
    """
    better, worse = (side.ravel() for side in np.mgrid[: rows + 1, : rows + 1])
    possible = better + worse <= rows
    better, worse = better[possible], worse[possible]
    ends = {pair: of_counts(*pair, rows, Z95) for pair in zip(better.tolist(), worse.tolist(), strict=True)}
    low, high = np.array([ends[pair] for pair in zip(better.tolist(), worse.tolist(), strict=True)]).T
    ways = gammaln(rows + 1) - gammaln(better + 1) - gammaln(worse + 1) - gammaln(rows - better - worse + 1)
    held, above = [], []
    for first, second in shares:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [np.where(n > 0, n * np.log(p), 0.0) for n, p in ((better, first), (worse, second))]
        law = np.exp(ways + sum(logs) + (rows - better - worse) * np.log1p(-first - second))
        true = first - second
        held.append(law[(low <= true + 1e-12) & (true - 1e-12 <= high)].sum())
        above.append(law[low > true + 1e-12].sum())
    return min(held), max(above)


SHARES = [
    (share * first, share * (1 - first))
    for share in (0.0, 0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3)
    for first in (0.0, 0.1, 0.3, 0.5, 0.9, 1.0)
]
"""Of rows that the first, and the second, alone has right: together 0 to 30 %."""


@pytest.mark.parametrize("rows", [5, 10, 20, 30, 60, *(pytest.param(n, marks=pytest.mark.slow) for n in (100, 300))])
def test_the_interval_covers_everywhere(rows):
    """95 % hold the truth, and no more than 3.2 % lie above it, however rarely and one-sidedly models differ."""
    held, above = coverage(rows, SHARES)
    assert held >= 0.95
    assert above <= 0.032


def lost_clusters(rng, groups):
    """Clusters of eight rows, of which each tenth is lost as a whole."""
    return -8.0 * (rng.random(groups) < 0.1), np.full(groups, 8.0), -0.1


def rare_marks(rng, groups):
    """Marks that differ on each tenth row, mostly to the second's favour, by anything up to 1."""
    size = rng.random(groups) * np.where(rng.random(groups) < 0.2, 1, -1)
    return np.where(rng.random(groups) < 0.1, size, 0.0), np.ones(groups), -0.03


def heavy_clusters(rng, groups):
    """A fifth of the clusters has 30 rows, the others 5; some are hard for the second model."""
    sizes = np.where(np.arange(groups) % 5 == 0, 30.0, 5.0)
    lost = rng.binomial(sizes.astype(int), rng.beta(0.5, 3, groups))
    return -lost.astype(float), sizes, -1 / 7


@pytest.mark.few(1)
@pytest.mark.parametrize("groups", [5, 20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("drawn", [lost_clusters, rare_marks, heavy_clusters])
def test_clusters_and_marks_cover(drawn, groups):
    """93 % hold the truth; the t interval, which has no width where nothing differs, does in 24 to 95 %."""
    rng, inside = np.random.default_rng(groups), []
    for _ in range(400):
        sums, sizes, true = drawn(rng, groups)
        low, high = of_sums(sums, sizes, scipy.stats.t.ppf(0.975, groups - 1))
        inside.append(low <= true <= high)
    assert np.mean(inside) >= 0.93


@pytest.mark.more
@given(counts(), st.integers(0, 5))
def test_the_models_may_be_exchanged(given_counts, half):
    """The interval is turned; so it is with marks."""
    better, worse, rows = given_counts
    low, high = of_counts(better, worse, rows, Z95)
    assert of_counts(worse, better, rows, Z95) == (-high, -low)
    sums, sizes = np.append(np.repeat([1.0, -0.5], [better, worse]), half / 10), np.full(better + worse + 1, 2.0)
    low, high = of_sums(sums, sizes, 2.5)
    assert of_sums(-sums, sizes, 2.5) == pytest.approx((-high, -low), abs=1e-9)
