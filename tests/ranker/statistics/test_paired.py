import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from ranker.statistics import paired, score_interval
from ranker.statistics.paired import (
    combine_intervals,
    correct_for_pairs,
    detectable,
    estimate_difference,
    estimate_mean,
    mean_over_tasks,
    not_worse,
    of_mean,
    p_of,
    standard_errors,
    weighted_sum,
)
from ranker.statistics.significance import mcnemar


def compare(outcomes, rng, clusters=None):
    """The comparison of two models of these outcomes."""
    return paired.compare(("a", "b"), outcomes, rng, clusters)


def pooled(tasks):
    """The weights of tasks of so many rows by which each row counts the same."""
    rows = np.array([outcomes.shape[1] for outcomes in tasks])
    return rows / rows.sum()


def macro(tasks):
    """The weights by which each task counts the same."""
    return np.full(len(tasks), 1 / len(tasks))


@st.composite
def two_models(draw, values=(0.0, 0.25, 0.5, 1.0)):
    """(2, N) outcomes and (N,) clusters, or none."""
    size = draw(st.integers(2, 12))
    outcome = st.sampled_from(values) if draw(st.booleans()) else st.floats(0, 1, allow_subnormal=False)
    rows = st.lists(outcome if len(values) > 2 else st.sampled_from(values), min_size=size, max_size=size)
    clusters = draw(st.none() | st.lists(st.integers(-2, 3), min_size=size, max_size=size))
    return np.array([draw(rows), draw(rows)]), None if clusters is None else np.array(clusters)


def generator():
    """A new one with the same seed."""
    return np.random.default_rng(0)


def binary(rng, *shape, of=(0.8, 0.7)):
    """(2, *shape) outcomes 0 and 1 of two models of these accuracies, on rows that are hard for both or for neither."""
    hard = rng.normal(size=shape)
    latent = np.sqrt(0.5) * hard + np.sqrt(0.5) * rng.normal(size=(2, *shape))
    return (latent < scipy.stats.norm.ppf(of).reshape(2, *[1] * len(shape))).astype(float)


def slow_standard_error(values, clusters):
    """By the formula, one cluster after the other."""
    mean, labels = sum(values) / len(values), sorted(set(clusters))
    if len(labels) == 1:
        return np.nan
    total = 0.0
    for label in labels:
        total += sum(value - mean for value, own in zip(values, clusters, strict=True) if own == label) ** 2
    return (len(labels) / (len(labels) - 1) * total) ** 0.5 / len(values)


@pytest.mark.more
@given(two_models())
def test_means_difference_flips_and_errors_are_their_definitions(given_rows):
    """What the record holds is what loops over rows and clusters count."""
    outcomes, clusters = given_rows
    found = compare(outcomes, generator(), clusters)
    first, second = outcomes.tolist()
    d = [a - b if abs(a - b) > 1e-12 else 0.0 for a, b in zip(first, second, strict=True)]
    own = list(range(len(d))) if clusters is None else clusters.tolist()
    assert (found.rows, found.clusters) == (len(d), None if clusters is None else len(set(own)))
    assert found.difference == pytest.approx(sum(d) / len(d), abs=1e-12)
    assert found.better == sum(one > 0 for one in d)
    assert found.worse == sum(one < 0 for one in d)
    assert found.se_rows == pytest.approx(slow_standard_error(d, range(len(d))), abs=1e-12)
    means = [(estimate_mean(np.array(values), clusters), values) for values in (first, second)]
    for estimate, values in (*means, (estimate_difference(outcomes, clusters), d)):
        assert estimate.value == pytest.approx(sum(values) / len(values), abs=1e-12)
        assert estimate.se == pytest.approx(slow_standard_error(values, own), abs=1e-12, nan_ok=True)
        assert estimate.df == len(set(own)) - 1


@pytest.mark.more
@given(two_models(), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_the_numbers_of_clusters_matter(given_rows, random):
    """Rows shuffled, clusters numbered anew: the same record but for rounding."""
    outcomes, clusters = given_rows
    clusters = np.arange(outcomes.shape[1]) if clusters is None else clusters
    order = random.sample(range(len(clusters)), len(clusters))
    one, other = compare(outcomes, generator(), clusters), compare(outcomes[:, order], generator(), 7 - clusters[order])
    assert (one.better, one.worse, one.test, one.clusters) == (other.better, other.worse, other.test, other.clusters)
    assert one.low == pytest.approx(other.low, abs=1e-12)
    assert one.p == pytest.approx(other.p, abs=1e-12)


@pytest.mark.more
@given(two_models())
def test_exchanging_the_models_turns_the_signs(given_rows):
    """The interval changes sides; the p and the standard errors stay."""
    outcomes, clusters = given_rows
    one, other = compare(outcomes, generator(), clusters), compare(outcomes[::-1], generator(), clusters)
    assert (other.difference, other.p) == pytest.approx((-one.difference, one.p), abs=1e-12)
    assert (other.better, other.worse) == (one.worse, one.better)
    if one.low is not None:
        assert [other.low, other.high] == pytest.approx([-one.high, -one.low], abs=1e-12)


@pytest.mark.more
@given(two_models())
def test_clusters_of_one_row_are_no_clusters(given_rows):
    """Every row its own cluster: all is as without, McNemar's test too."""
    outcomes, _ = given_rows
    one, other = compare(outcomes, generator()), compare(outcomes, generator(), np.arange(outcomes.shape[1])[::-1])
    assert (one.p, one.test) == (pytest.approx(other.p), other.test)
    assert one.p_unpaired == pytest.approx(other.p_unpaired)
    assert one.se == pytest.approx(one.se_rows, abs=1e-15)
    assert one.se == pytest.approx(other.se, abs=1e-12)


def test_standard_errors_are_scipys():
    """A paired t test has that of the difference, and of many marks nearly the interval; Welch's ignores the pairs."""
    outcomes = np.clip(np.random.default_rng(1).normal([[0.6], [0.5]], 0.1, (2, 2_000)), 0, 1)
    found = compare(outcomes, generator())
    theirs = scipy.stats.ttest_rel(*outcomes)
    ends = theirs.confidence_interval()
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=4e-4)
    assert found.difference / found.se == pytest.approx(theirs.statistic)
    welch = scipy.stats.ttest_ind(*outcomes, equal_var=False)
    assert found.p_unpaired == pytest.approx(welch.pvalue, rel=1e-9)
    assert found.test == "sign-flip-drawn"


def test_the_interval_of_a_mean_is_wilsons():
    """Of many rows of 0 and 1 it is scipy's; of all rows right it has a width; of any, its ends are t errors away."""
    outcomes = binary(np.random.default_rng(2), 100_000)
    found = estimate_mean(outcomes[0])
    expected = scipy.stats.binomtest(int(outcomes[0].sum()), 100_000).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    value, se, df = 0.9, 0.04, 12
    t = scipy.stats.t.ppf(0.975, df)

    def off(p):
        """How far `value` is from p, in standard errors that p would have, beyond t."""
        return (value - p) ** 2 - t**2 * p * (1 - p) * se**2 / (value * (1 - value))

    found = of_mean(value, se, df)
    assert found.low == pytest.approx(scipy.optimize.brentq(off, 0.01, value))
    assert found.high == pytest.approx(scipy.optimize.brentq(off, value, 0.9999))
    assert of_mean(0.0, 0.0, 299).high == pytest.approx(1 - of_mean(1.0, 0.0, 299).low)
    assert of_mean(1.0, 0.0, 2).low == pytest.approx(1 / (1 + scipy.stats.t.ppf(0.975, 2) ** 2 / 3))


def test_the_interval_is_of_counts_where_the_test_is_mcnemars():
    """Else of the sums of clusters, with Student's t."""
    outcomes = np.array([[1.0] * 9 + [0.0], [1.0, 0.0] * 5])
    z, t = scipy.stats.norm.ppf(0.975), scipy.stats.t.ppf(0.975, [9, 4])
    found = estimate_difference(outcomes)
    assert (found.low, found.high) == score_interval.of_counts(4, 0, 10, z)
    clusters = np.arange(10) // 2
    found = estimate_difference(outcomes, clusters)
    sums = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    assert (found.low, found.high) == score_interval.of_sums(sums, np.full(5, 2.0), t[1])
    marks = outcomes * 0.5
    found = estimate_difference(marks)
    assert (found.low, found.high) == score_interval.of_sums(marks[0] - marks[1], np.ones(10), t[0])


@pytest.mark.more
@given(two_models(values=(0.0, 1.0)))
def test_the_test_is_mcnemars_only_of_independent_rows_of_0_and_1(given_rows):
    """With clusters, or an outcome between, signs are flipped; the record says which test it was."""
    outcomes, clusters = given_rows
    binary_rows = np.rint(outcomes)
    assert compare(binary_rows, generator()).test == "mcnemar"
    if clusters is not None and len(set(clusters)) < len(clusters):
        assert compare(binary_rows, generator(), clusters).test == "sign-flip"
    between = np.concatenate([binary_rows, [[0.5], [0.5]]], axis=1)
    found = compare(between, generator())
    assert found.test == "sign-flip"
    assert found.p == pytest.approx(float(mcnemar(np.array(found.better), np.array(found.worse))))


def test_clustered_intervals_cover():
    """Of 95 % intervals over 20 clusters of 8 rows, 93 to 97 % hold the true difference; over rows, under 90 %."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(20), 8)
    leaning = rng.normal(0.05, 0.3, (5_000, 20))[:, clusters]  # how much better the first is, cluster by cluster
    differences = leaning + rng.normal(0, 0.3, (5_000, 160))
    off = np.abs(differences.mean(axis=1) - 0.05)
    robust = scipy.stats.t.ppf(0.975, 19) * standard_errors(differences, clusters)
    assert 0.93 <= np.mean(off <= robust) <= 0.97
    assert np.mean(off <= scipy.stats.t.ppf(0.975, 159) * standard_errors(differences)) < 0.9


@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.95])
def test_the_intervals_of_means_cover_near_1_too(accuracy):
    """Of those from 100 rows, 93 to 98 % hold the model's accuracy."""
    outcomes = (np.random.default_rng(4).random((1_000, 100)) < accuracy).astype(float)
    means, errors = outcomes.mean(axis=1), standard_errors(outcomes)
    found = [of_mean(mean, se, 99) for mean, se in zip(means.tolist(), errors.tolist(), strict=True)]
    assert 0.93 <= np.mean([one.low <= accuracy <= one.high for one in found]) <= 0.98


def test_the_detectable_difference_is_found_in_80_percent():
    """Where it is the true one, 80 % of intervals leave out 0."""
    rng = np.random.default_rng(5)
    true = detectable(0.3 / np.sqrt(400))
    differences = rng.normal(true, 0.3, (2_000, 400))
    low = differences.mean(axis=1) - scipy.stats.t.ppf(0.975, 399) * standard_errors(differences)
    assert np.mean(low > 0) == pytest.approx(0.8, abs=0.03)
    assert true == pytest.approx((1.959964 + 0.841621) * 0.015, rel=1e-6)


def test_pairs_tell_apart_what_two_samples_do_not():
    """Rows that are hard for both models cancel out: the paired error is the smaller, and so is p."""
    outcomes = binary(np.random.default_rng(6), 500, of=(0.8, 0.75))
    found = compare(outcomes, generator())
    _, se_unpaired, _ = weighted_sum([estimate_mean(one) for one in outcomes], np.array([1.0, -1.0]))
    assert found.se < se_unpaired
    assert found.p < found.p_unpaired


@pytest.mark.parametrize("clusters", [None, np.array([0, 0, 1, 1])])
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_equal_models_are_nothing_to_tell_apart(value, clusters):
    """Difference 0, p 1, and no error, whatever the outcomes; also where they differ by rounding. Its interval has a
    width: another row may tell them apart."""
    outcomes = np.stack([np.full(4, value), np.clip(np.full(4, value) + 1e-15, 0, 1)])
    found = compare(outcomes, generator(), clusters)
    assert (found.difference, found.se) == (0.0, 0.0)
    assert estimate_difference(outcomes, clusters).df == (3 if clusters is None else 1)
    assert -1 <= found.low < -0.3
    assert found.high == -found.low
    assert (found.p, found.p_unpaired, found.better, found.worse) == (1.0, 1.0, 0, 0)
    assert found.detectable is None
    own = estimate_mean(outcomes[0], clusters)
    assert own.low < own.high


def test_models_that_differ_everywhere_alike_have_an_interval_with_a_width():
    """All right against all wrong: no spread was seen, and four rows are few. An unpaired test can say nothing."""
    outcomes = np.array([[1.0] * 4, [0.0] * 4])
    found = compare(outcomes, generator())
    assert found.low == pytest.approx(-0.1, abs=0.01)
    assert found.high == 1.0
    assert found.p == 0.125
    assert found.p_unpaired is None
    both = combine_intervals([estimate_difference(outcomes)] * 2, macro([outcomes] * 2))
    assert 0 < both.low < 0.3
    assert 0.01 < p_of(both) < 0.05


@pytest.mark.more
@given(two_models(), two_models())
def test_the_p_of_a_mean_over_tasks_goes_with_its_interval(one, other):
    """It is below 0.05 just where the interval leaves out 0."""
    found = combine_intervals([estimate_difference(*one), estimate_difference(*other)], macro([one[0], other[0]]))
    p = p_of(found)
    assert np.isnan(p) == np.isnan(found.low)
    if abs(found.low) > 1e-9 and abs(found.high) > 1e-9:
        assert (p < 0.05) == (found.low > 0 or found.high < 0)


@pytest.mark.parametrize(
    ("outcomes", "clusters"),
    [([[1.0], [0.0]], None), ([[1.0], [1.0]], None), ([[1.0, 0.5, 1.0], [0.0] * 3], [4, 4, 4])],
)
def test_one_row_or_one_cluster_shows_no_spread(outcomes, clusters):
    """Errors and intervals are not known, p is 1, and nothing is shown to be no worse."""
    outcomes, clusters = np.array(outcomes), None if clusters is None else np.array(clusters)
    found, own = compare(outcomes, generator(), clusters), estimate_mean(outcomes[1], clusters)
    assert {found.se, found.low, found.high, found.p_unpaired, found.detectable} == {None}
    assert np.isnan([own.se, own.low]).all()
    assert found.p == pytest.approx(1.0)
    apart = estimate_difference(outcomes, clusters)
    assert not not_worse(apart.low, 0.5)
    other = np.array([[1.0, 0.0], [0.0, 0.0]])
    both = combine_intervals([apart, estimate_difference(other)], macro([outcomes, other]))
    mean = mean_over_tasks([own, estimate_mean(other[1])], macro([outcomes, other]))
    assert np.isnan([both.se, both.low, mean.high]).all()


@pytest.mark.parametrize(
    ("outcomes", "clusters", "said"),
    [
        (np.zeros(3), None, "shape"),
        (np.zeros((3, 2)), None, "shape"),
        (np.zeros((2, 0)), None, "N >= 1"),
        (np.array([[0.0, np.nan], [0.0, 1.0]]), None, "finite"),
        (np.array([[0.0, 1.5], [0.0, 1.0]]), None, "between 0 and 1"),
        (np.zeros((2, 3)), np.zeros(2, int), "clusters"),
    ],
)
def test_what_is_no_two_models_on_the_same_rows_is_refused(outcomes, clusters, said):
    """Wrong shapes and wrong numbers, each with what it should have been."""
    with pytest.raises(ValueError, match=said):
        compare(outcomes, generator(), clusters)


def test_no_worse_means_that_the_lower_end_is_above_the_margin():
    """The end itself counts, rounding included."""
    assert not_worse(-0.02, 0.02)
    assert not_worse(-0.1 - 0.2, 0.3)  # -0.30000000000000004
    assert not not_worse(-0.02, 0.019)


def over(tasks, weigh):
    """The means of both models over tasks of these outcomes, and their difference, by one of the two rules."""
    each = weigh(tasks)
    means = [mean_over_tasks([estimate_mean(outcomes[m]) for outcomes in tasks], each) for m in (0, 1)]
    return *means, combine_intervals([estimate_difference(outcomes) for outcomes in tasks], each)


def test_tasks_of_equal_size_have_one_mean():
    """Pooled and macro agree; the pooled mean is that of all rows, the macro mean that of the tasks' means."""
    rng = np.random.default_rng(7)
    equal = [binary(rng, 50) for _ in range(3)]
    assert vars(over(equal, pooled)[2]) == pytest.approx(vars(over(equal, macro)[2]))
    tasks = [binary(rng, size) for size in (20, 50, 200)]
    assert over(tasks, pooled)[0].value == pytest.approx(np.concatenate(tasks, axis=1)[0].mean())
    _, second, apart = over(tasks, macro)
    assert second.value == pytest.approx(np.mean([outcomes[1].mean() for outcomes in tasks]))
    errors = [estimate_difference(outcomes).se for outcomes in tasks]
    assert apart.se == pytest.approx(np.sqrt(sum(se**2 for se in errors)) / 3)


def test_one_task_is_its_own_group():
    """With the same standard error, degrees of freedom and interval."""
    outcomes, clusters = binary(np.random.default_rng(8), 60), np.arange(60) // 5
    apart, own = estimate_difference(outcomes, clusters), estimate_mean(outcomes[0], clusters)
    assert vars(combine_intervals([apart], np.ones(1))) == pytest.approx(vars(apart))
    assert vars(mean_over_tasks([own], np.ones(1))) == pytest.approx(vars(own))


def test_groups_of_tasks_cover():
    """Of intervals of pooled and macro differences over three tasks of 10 to 80 rows, 93 to 99 % hold the truth."""
    rng = np.random.default_rng(9)
    sizes, accuracies = np.array([10, 25, 80]), np.array([(0.8, 0.6), (0.7, 0.7), (0.9, 0.95)])
    true, inside = accuracies @ [1, -1], []
    for _ in range(600):
        tasks = [(rng.random((2, n)) < of[:, None]).astype(float) for n, of in zip(sizes, accuracies, strict=True)]
        apart = [estimate_difference(outcomes) for outcomes in tasks]
        for weights in (pooled(tasks), macro(tasks)):
            found = combine_intervals(apart, weights)
            inside.append(found.low <= weights @ true <= found.high)
    assert 0.93 <= np.mean(inside[::2]) <= 0.99
    assert 0.93 <= np.mean(inside[1::2]) <= 0.99


def test_several_pairs_are_corrected_by_holm():
    """The smallest p of three counts three times; all else stays."""
    found = [compare(binary(np.random.default_rng(seed), 200, of=(0.8, 0.6)), generator()) for seed in range(3)]
    first, *_ = sorted(correct_for_pairs(found), key=lambda one: one.p)
    assert first.p_corrected == pytest.approx(3 * first.p)
    assert [one.p for one in correct_for_pairs(found)] == [one.p for one in found]
    assert correct_for_pairs([]) == ()
