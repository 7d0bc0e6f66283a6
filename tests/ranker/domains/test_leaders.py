import itertools

import numpy as np
import pytest
from scipy import stats

from ranker.domains.statistics import leaders


@pytest.mark.few(1)
@pytest.mark.parametrize(("models", "sets", "seed"), [(3, 4, 0), (5, 8, 1), (19, 8, 2), (4, 30, 3)])
def test_friedman_is_that_of_scipy(models, sets, seed):
    """With ties as without, the statistic and its p are scipy's."""
    rng = np.random.default_rng(seed)
    for values in (rng.random((models, sets)), rng.integers(0, 4, (models, sets)) / 4):
        ranks, (statistic, _) = leaders.friedman(values, range(len(values))), stats.friedmanchisquare(*values)
        assert ranks.statistic == pytest.approx(statistic)
        assert ranks.df == models - 1


def test_iman_and_davenport_as_in_demsar():
    """Demsar 2006, section 3.2.2: four models on 14 sets, chi-square 9.28, F 3.69, and that is below 5 %."""
    mean_ranks = np.array([3.143, 2.000, 2.893, 1.964])
    chi = 12 * 14 / (4 * 5) * ((mean_ranks**2).sum() - 4 * 25 / 4)
    assert chi == pytest.approx(9.28, abs=0.01)
    assert 13 * chi / (14 * 3 - chi) == pytest.approx(3.69, abs=0.01)
    rng = np.random.default_rng(0)
    values = rng.random((10, 14)) + np.linspace(0, 0.4, 10)[:, None]
    friedman = leaders.friedman(values, range(len(values)))
    f = 13 * friedman.statistic / (14 * 9 - friedman.statistic)
    assert friedman.p == pytest.approx(stats.f.sf(f, 9, 117))


@pytest.mark.few(1)
@pytest.mark.parametrize(("models", "sets", "ties"), [(3, 3, False), (3, 4, True), (4, 3, False), (3, 6, True)])
def test_friedman_of_few_sets_counts_their_orders(models, sets, ties):
    """The p is the share of all orders of the ranks of each set with a statistic as large, by a loop."""
    rng = np.random.default_rng(models * sets)
    for _ in range(5):
        values = rng.integers(0, 3, (models, sets)) / 2 if ties else rng.random((models, sets))
        friedman = leaders.friedman(values, range(models))
        if friedman is None:
            continue
        of_sets = [list(itertools.permutations(column)) for column in leaders.ranks(values).T]
        middle = sets * (models + 1) / 2
        spreads = [((np.sum(orders, axis=0) - middle) ** 2).sum() for orders in itertools.product(*of_sets)]
        observed = ((leaders.ranks(values).sum(axis=1) - middle) ** 2).sum()
        assert friedman.p == pytest.approx(np.mean(np.array(spreads) >= observed - 1e-9))


def test_friedman_counts_what_it_can():
    """Three models on 30 sets and five on six are counted, without long loops; nine models are not."""
    rng = np.random.default_rng(0)
    for shape in ((3, 30), (4, 8), (5, 6)):
        values = rng.random(shape)
        test = leaders.friedman(values, range(shape[0]))
        assert test.p == pytest.approx(
            stats.f.sf(
                (shape[1] - 1) * test.statistic / (shape[1] * (shape[0] - 1) - test.statistic),
                shape[0] - 1,
                (shape[0] - 1) * (shape[1] - 1),
            ),
            abs=0.03,
        )


def test_friedman_says_nothing_of_too_little():
    """Two models, two sets, or models that are tied on every set."""
    assert leaders.friedman(np.random.default_rng(0).random((2, 9)), range(2)) is None
    assert leaders.friedman(np.random.default_rng(0).random((9, 2)), range(9)) is None
    assert leaders.friedman(np.full((4, 5), 0.5), range(4)) is None


def test_friedman_of_one_order_everywhere():
    """If all sets agree, p is that of one order of 24 in all but one, and the best model is first in the groups."""
    values = np.repeat(np.arange(4.0)[:, None], 6, axis=1)
    friedman = leaders.friedman(values, "abcd")
    assert friedman.critical_difference == leaders.critical_difference(4, 6)
    assert friedman.groups == (("d", "c"), ("c", "b"), ("b", "a"))
    assert friedman.p == pytest.approx(24.0**-5)
    assert leaders.friedman(np.repeat(np.arange(9.0)[:, None], 6, axis=1), range(9)).p == 0.0


def test_nemenyi_is_that_of_scikit_posthocs():
    """Every p of a random table, with ties."""
    posthocs = pytest.importorskip("scikit_posthocs")
    rng = np.random.default_rng(0)
    for values in (rng.random((6, 9)), rng.integers(0, 5, (5, 12)) / 4):
        theirs = posthocs.posthoc_nemenyi_friedman(values.T).to_numpy()
        mean_ranks, (first, second) = leaders.ranks(values).mean(axis=1), np.triu_indices(len(values), 1)
        ours = leaders.nemenyi(mean_ranks[first] - mean_ranks[second], *values.shape)
        assert ours == pytest.approx(theirs[first, second], abs=1e-6)


def test_the_critical_difference_is_where_nemenyi_reaches_alpha():
    """Two mean ranks that far apart have a p of 0.05."""
    difference = leaders.critical_difference(7, 11)
    assert leaders.nemenyi(np.array([difference]), 7, 11)[0] == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(("models", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_values_are_the_published_ones(models, q):
    """Demsar 2006, Table 5 (a), for 0.05."""
    critical_difference = leaders.critical_difference(models, 6) / np.sqrt(models * (models + 1) / 36)
    assert critical_difference == pytest.approx(q, abs=1e-3)


def test_groups_are_the_largest_sets_within_the_difference():
    """As by trying every set of models."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        ranks = np.round(rng.uniform(1, 6, 6), 2)
        groups = {frozenset(group) for group in leaders.groups(ranks, 1.5)}
        near = [
            frozenset(combination)
            for size in range(2, 7)
            for combination in itertools.combinations(range(6), size)
            if np.ptp(ranks[list(combination)]) <= 1.5 + 1e-9
        ]
        assert groups == {group for group in near if not any(group < wider for wider in near)}


def test_signed_rank_is_that_of_scipy():
    """Exact without ties; with ties by trying all signs."""
    rng = np.random.default_rng(0)
    for size in (4, 8, 12):
        differences = rng.normal(0.3, 1, size)
        assert leaders.signed_rank(differences, rng) == pytest.approx(
            stats.wilcoxon(differences, method="exact").pvalue
        )
        tied = np.array([*rng.integers(1, 4, size - 1) * rng.choice([-1, 1], size - 1), 0]) / 10
        sizes = stats.rankdata(np.abs(tied[:-1]))
        sums = [abs(np.dot(signs, sizes)) for signs in itertools.product((-1, 1), repeat=size - 1)]
        expected = np.mean(np.array(sums) >= abs(np.dot(np.sign(tied[:-1]), sizes)) - 1e-9)
        assert leaders.signed_rank(tied, rng) == pytest.approx(expected)
    assert leaders.signed_rank(np.zeros(5), rng) == 1.0


def test_the_bayesian_test_of_one_set_by_hand():
    """One set, w0 from Beta(1/2, 1), P(w0 < x) = sqrt(x): the pairs for the first model are all but w0^2.

    With a difference of more than twice the margin they win where w0^2 < 1/2; with less than that only the set with
    itself speaks for it, where (1 - w0)^2 > 1/2.
    """
    rng = np.random.default_rng(0)
    better, same, worse = leaders.bayesian_signed_rank(np.array([[0.05], [0.015], [-0.05]]), 0.01, rng, 200_000)
    assert better == pytest.approx([2 ** (-1 / 4), (1 - 2**-0.5) ** 0.5, 0.0], abs=0.004)
    assert worse == pytest.approx([0.0, 0.0, 2 ** (-1 / 4)], abs=0.004)
    assert better + same + worse == pytest.approx(1)


@pytest.mark.more
def test_the_bayesian_test_is_that_of_baycomp():
    """The same three probabilities, on random differences."""
    baycomp = pytest.importorskip("baycomp")
    rng = np.random.default_rng(1)
    differences = rng.normal(0.01, 0.02, (4, 9))
    ours = np.column_stack(leaders.bayesian_signed_rank(differences, 0.01, rng, 40_000))
    for values, of_ours in zip(differences, ours, strict=True):
        theirs = baycomp.SignedRankTest.probs(
            values, np.zeros(9), rope=0.01, prior=0.5, nsamples=40_000, random_state=1
        )
        assert of_ours == pytest.approx(theirs, abs=0.02)


def test_the_bayesian_test_by_plain_sums():
    """Every pair of sets tried, with the same weights; ties with the margin speak for neither."""
    differences = np.array([0.02, 0.0, -0.02, 0.05, 0.02, -0.01])
    posterior = leaders.bayesian_signed_rank(differences[None], 0.01, np.random.default_rng(4), 500)
    gammas = np.random.default_rng(4).standard_gamma(np.r_[0.5, np.ones(6)], size=(500, 7))
    wins = np.zeros(3)
    for weights in gammas / gammas.sum(axis=1, keepdims=True):
        shares = np.zeros(3)
        for (a, mean_a), (b, mean_b) in itertools.product(enumerate([0.0, *differences]), repeat=2):
            side = 0 if mean_a + mean_b > 0.02 + 1e-12 else 2 if mean_a + mean_b < -0.02 - 1e-12 else 1
            shares[side] += weights[a] * weights[b]
        wins[shares.argmax()] += 1 / 500
    assert [float(shares[0]) for shares in posterior] == pytest.approx(wins)


def test_the_bayesian_test_turns_with_the_models():
    """A difference that is better for one model is worse for the other."""
    differences = np.random.default_rng(2).normal(0.01, 0.03, (3, 7))
    posterior = leaders.bayesian_signed_rank(differences, 0.01, np.random.default_rng(0))
    turned = leaders.bayesian_signed_rank(-differences, 0.01, np.random.default_rng(0))
    assert posterior[0] == pytest.approx(turned[2])
    assert posterior[1] == pytest.approx(turned[1])


def test_imputed_ranks_have_the_mean_of_whole_ones():
    """On every set the mean rank is (M + 1) / 2, whoever is missing, and nothing changes where nobody is."""
    values = np.random.default_rng(0).random((6, 5))
    assert leaders.impute_ranks(leaders.ranks(values)) == pytest.approx(leaders.ranks(values))
    values[[0, 1, 3], [0, 0, 4]] = np.nan
    assert leaders.impute_ranks(leaders.ranks(values)).mean(axis=0) == pytest.approx(3.5)


def test_resampled_means_have_the_variance_of_tasks_and_rows():
    """Over tasks that of their values over S; within a set that of its rows, or the square of the stated error."""
    rng = np.random.default_rng(0)
    values, unknown = rng.random((3, 6)), np.full((3, 6), np.nan)
    means = leaders.resample_means(values, unknown, [None] * 6, [None] * 6, np.arange(6), rng, 40_000)
    assert means.var(axis=1) == pytest.approx(values.var(axis=1) / 6, rel=0.03)
    outcomes = (rng.random((2, 50)) < 0.7).astype(float)
    alone = np.zeros(1, dtype=np.int64)
    resampled = leaders.resample_means(
        outcomes.mean(axis=1)[:, None], unknown[:2, :1], [outcomes], [None], alone, rng, 40_000
    )
    assert np.cov(resampled) == pytest.approx(np.cov(outcomes, bias=True) / 50, rel=0.06, abs=1e-4)
    stated = leaders.resample_means(values[:, :1], np.full((3, 1), 0.02), [None], [None], alone, rng, 40_000)
    assert stated.std(axis=1) == pytest.approx(0.02, rel=0.03)


def test_sets_of_one_task_are_averaged_before_tasks_are_drawn():
    """Three sets of two tasks: a task weighs the same, however many sets it has."""
    values = np.array([[0.2, 0.4, 0.9]])
    means = leaders.resample_means(
        values, np.full((1, 3), np.nan), [None] * 3, [None] * 3, np.array([0, 0, 1]), np.random.default_rng(0), 20_000
    )
    assert set(np.round(means[0], 9)) == {0.3, 0.6, 0.9}
    assert means.mean() == pytest.approx(0.6, abs=0.01)


def test_rank_intervals_of_a_clear_and_an_open_order():
    """A model that is ahead in all draws is first; two that take turns share the places below."""
    rng = np.random.default_rng(0)
    means = np.vstack([np.full(1000, 9.0), rng.random((2, 1000))])
    low, high, first = leaders.rank_intervals(means)
    assert low.tolist() == [1, 2, 2]
    assert high.tolist() == [1, 3, 3]
    assert first.tolist() == [1.0, 0.0, 0.0]
