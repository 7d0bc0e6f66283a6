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


def binary(rng, *shape, shares=(0.8, 0.7)):
    """(2, *shape) outcomes 0 and 1 of two models of these accuracies, on rows that are hard for both or for neither."""
    hard = rng.normal(size=shape)
    latent = np.sqrt(0.5) * hard + np.sqrt(0.5) * rng.normal(size=(2, *shape))
    return (latent < scipy.stats.norm.ppf(shares).reshape(2, *[1] * len(shape))).astype(float)


def slow_standard_error(values, clusters):
    """By the formula, one cluster after the other."""
    mean, labels = sum(values) / len(values), sorted(set(clusters))
    if len(labels) == 1:
        return np.nan
    total = 0.0
    for label in labels:
        total += sum(value - mean for value, cluster in zip(values, clusters, strict=True) if cluster == label) ** 2
    return (len(labels) / (len(labels) - 1) * total) ** 0.5 / len(values)


@pytest.mark.more
@given(two_models())
def test_means_difference_flips_and_errors_are_their_definitions(given_rows):
    """What the record holds is what loops over rows and clusters count."""
    outcomes, clusters = given_rows
    comparison = compare(outcomes, generator(), clusters)
    first, second = outcomes.tolist()
    d = [a - b if abs(a - b) > 1e-12 else 0.0 for a, b in zip(first, second, strict=True)]
    groups = list(range(len(d))) if clusters is None else clusters.tolist()
    assert (comparison.rows, comparison.clusters) == (len(d), None if clusters is None else len(set(groups)))
    assert comparison.difference == pytest.approx(sum(d) / len(d), abs=1e-12)
    assert comparison.better == sum(difference > 0 for difference in d)
    assert comparison.worse == sum(difference < 0 for difference in d)
    assert comparison.se_rows == pytest.approx(slow_standard_error(d, range(len(d))), abs=1e-12)
    means = [(estimate_mean(np.array(values), clusters), values) for values in (first, second)]
    for estimate, values in (*means, (estimate_difference(outcomes, clusters), d)):
        assert estimate.value == pytest.approx(sum(values) / len(values), abs=1e-12)
        assert estimate.se == pytest.approx(slow_standard_error(values, groups), abs=1e-12, nan_ok=True)
        assert estimate.df == len(set(groups)) - 1


@pytest.mark.more
@given(two_models(), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_the_numbers_of_clusters_matter(given_rows, random):
    """Rows shuffled, clusters numbered anew: the same record but for rounding."""
    outcomes, clusters = given_rows
    clusters = np.arange(outcomes.shape[1]) if clusters is None else clusters
    order = random.sample(range(len(clusters)), len(clusters))
    first, second = (
        compare(outcomes, generator(), clusters),
        compare(outcomes[:, order], generator(), 7 - clusters[order]),
    )
    assert (first.better, first.worse, first.test, first.clusters) == (
        second.better,
        second.worse,
        second.test,
        second.clusters,
    )
    assert first.low == pytest.approx(second.low, abs=1e-12)
    assert first.p == pytest.approx(second.p, abs=1e-12)


@pytest.mark.more
@given(two_models())
def test_exchanging_the_models_turns_the_signs(given_rows):
    """The interval changes sides; the p and the standard errors stay."""
    outcomes, clusters = given_rows
    first, second = compare(outcomes, generator(), clusters), compare(outcomes[::-1], generator(), clusters)
    assert (second.difference, second.p) == pytest.approx((-first.difference, first.p), abs=1e-12)
    assert (second.better, second.worse) == (first.worse, first.better)
    if first.low is not None:
        assert [second.low, second.high] == pytest.approx([-first.high, -first.low], abs=1e-12)


@pytest.mark.more
@given(two_models())
def test_clusters_of_one_row_are_no_clusters(given_rows):
    """Every row its own cluster: all is as without, McNemar's test too."""
    outcomes, _ = given_rows
    first, second = compare(outcomes, generator()), compare(outcomes, generator(), np.arange(outcomes.shape[1])[::-1])
    assert (first.p, first.test) == (pytest.approx(second.p), second.test)
    assert first.p_unpaired == pytest.approx(second.p_unpaired)
    assert first.se == pytest.approx(first.se_rows, abs=1e-15)
    assert first.se == pytest.approx(second.se, abs=1e-12)


def test_standard_errors_are_scipys():
    """A paired t test has that of the difference, and of many marks nearly the interval; Welch's ignores the pairs."""
    outcomes = np.clip(np.random.default_rng(1).normal([[0.6], [0.5]], 0.1, (2, 2_000)), 0, 1)
    comparison = compare(outcomes, generator())
    theirs = scipy.stats.ttest_rel(*outcomes)
    ends = theirs.confidence_interval()
    assert (comparison.low, comparison.high) == pytest.approx((ends.low, ends.high), abs=4e-4)
    assert comparison.difference / comparison.se == pytest.approx(theirs.statistic)
    welch = scipy.stats.ttest_ind(*outcomes, equal_var=False)
    assert comparison.p_unpaired == pytest.approx(welch.pvalue, rel=1e-9)
    assert comparison.test == "sign-flip-drawn"


def test_the_interval_of_a_mean_is_wilsons():
    """Of many rows of 0 and 1 it is scipy's; of all rows right it has a width; of any, its ends are t errors away."""
    outcomes = binary(np.random.default_rng(2), 100_000)
    estimate = estimate_mean(outcomes[0])
    expected = scipy.stats.binomtest(int(outcomes[0].sum()), 100_000).proportion_ci(method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    value, se, df = 0.9, 0.04, 12
    t = scipy.stats.t.ppf(0.975, df)

    def off(p):
        """How far `value` is from p, in standard errors that p would have, beyond t."""
        return (value - p) ** 2 - t**2 * p * (1 - p) * se**2 / (value * (1 - value))

    estimate = of_mean(value, se, df)
    assert estimate.low == pytest.approx(scipy.optimize.brentq(off, 0.01, value))
    assert estimate.high == pytest.approx(scipy.optimize.brentq(off, value, 0.9999))
    assert of_mean(0.0, 0.0, 299).high == pytest.approx(1 - of_mean(1.0, 0.0, 299).low)
    assert of_mean(1.0, 0.0, 2).low == pytest.approx(1 / (1 + scipy.stats.t.ppf(0.975, 2) ** 2 / 3))


def test_the_interval_is_of_counts_where_the_test_is_mcnemars():
    """Else of the sums of clusters, with Student's t."""
    outcomes = np.array([[1.0] * 9 + [0.0], [1.0, 0.0] * 5])
    z, t = scipy.stats.norm.ppf(0.975), scipy.stats.t.ppf(0.975, [9, 4])
    estimate = estimate_difference(outcomes)
    assert (estimate.low, estimate.high) == score_interval.of_counts(4, 0, 10, z)
    clusters = np.arange(10) // 2
    estimate = estimate_difference(outcomes, clusters)
    sums = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    assert (estimate.low, estimate.high) == score_interval.of_sums(sums, np.full(5, 2.0), t[1])
    marks = outcomes * 0.5
    estimate = estimate_difference(marks)
    assert (estimate.low, estimate.high) == score_interval.of_sums(marks[0] - marks[1], np.ones(10), t[0])


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
    comparison = compare(between, generator())
    assert comparison.test == "sign-flip"
    assert comparison.p == pytest.approx(float(mcnemar(np.array(comparison.better), np.array(comparison.worse))))


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
    estimates = [of_mean(mean, se, 99) for mean, se in zip(means.tolist(), errors.tolist(), strict=True)]
    assert 0.93 <= np.mean([estimate.low <= accuracy <= estimate.high for estimate in estimates]) <= 0.98


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
    outcomes = binary(np.random.default_rng(6), 500, shares=(0.8, 0.75))
    comparison = compare(outcomes, generator())
    _, se_unpaired, _ = weighted_sum([estimate_mean(row) for row in outcomes], np.array([1.0, -1.0]))
    assert comparison.se < se_unpaired
    assert comparison.p < comparison.p_unpaired


@pytest.mark.parametrize("clusters", [None, np.array([0, 0, 1, 1])])
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_equal_models_are_nothing_to_tell_apart(value, clusters):
    """Difference 0, p 1, and no error, whatever the outcomes; also where they differ by rounding. Its interval has a
    width: another row may tell them apart."""
    outcomes = np.stack([np.full(4, value), np.clip(np.full(4, value) + 1e-15, 0, 1)])
    comparison = compare(outcomes, generator(), clusters)
    assert (comparison.difference, comparison.se) == (0.0, 0.0)
    assert estimate_difference(outcomes, clusters).df == (3 if clusters is None else 1)
    assert -1 <= comparison.low < -0.3
    assert comparison.high == -comparison.low
    assert (comparison.p, comparison.p_unpaired, comparison.better, comparison.worse) == (1.0, 1.0, 0, 0)
    assert comparison.detectable is None
    of_first = estimate_mean(outcomes[0], clusters)
    assert of_first.low < of_first.high


def test_models_that_differ_everywhere_alike_have_an_interval_with_a_width():
    """All right against all wrong: no spread was seen, and four rows are few. An unpaired test can say nothing."""
    outcomes = np.array([[1.0] * 4, [0.0] * 4])
    comparison = compare(outcomes, generator())
    assert comparison.low == pytest.approx(-0.1, abs=0.01)
    assert comparison.high == 1.0
    assert comparison.p == 0.125
    assert comparison.p_unpaired is None
    combined = combine_intervals([estimate_difference(outcomes)] * 2, macro([outcomes] * 2))
    assert 0 < combined.low < 0.3
    assert 0.01 < p_of(combined) < 0.05


@pytest.mark.more
@given(two_models(), two_models())
def test_the_p_of_a_mean_over_tasks_goes_with_its_interval(first, second):
    """It is below 0.05 just where the interval leaves out 0."""
    combined = combine_intervals(
        [estimate_difference(*first), estimate_difference(*second)], macro([first[0], second[0]])
    )
    p = p_of(combined)
    assert np.isnan(p) == np.isnan(combined.low)
    if abs(combined.low) > 1e-9 and abs(combined.high) > 1e-9:
        assert (p < 0.05) == (combined.low > 0 or combined.high < 0)


@pytest.mark.parametrize(
    ("outcomes", "clusters"),
    [([[1.0], [0.0]], None), ([[1.0], [1.0]], None), ([[1.0, 0.5, 1.0], [0.0] * 3], [4, 4, 4])],
)
def test_one_row_or_one_cluster_shows_no_spread(outcomes, clusters):
    """Errors and intervals are not known, p is 1, and nothing is shown to be no worse."""
    outcomes, clusters = np.array(outcomes), None if clusters is None else np.array(clusters)
    comparison, of_first = compare(outcomes, generator(), clusters), estimate_mean(outcomes[1], clusters)
    assert {comparison.se, comparison.low, comparison.high, comparison.p_unpaired, comparison.detectable} == {None}
    assert np.isnan([of_first.se, of_first.low]).all()
    assert comparison.p == pytest.approx(1.0)
    apart = estimate_difference(outcomes, clusters)
    assert not not_worse(apart.low, 0.5)
    unlike = np.array([[1.0, 0.0], [0.0, 0.0]])
    combined = combine_intervals([apart, estimate_difference(unlike)], macro([outcomes, unlike]))
    mean = mean_over_tasks([of_first, estimate_mean(unlike[1])], macro([outcomes, unlike]))
    assert np.isnan([combined.se, combined.low, mean.high]).all()


@pytest.mark.parametrize(
    ("outcomes", "clusters", "reason"),
    [
        (np.zeros(3), None, "shape"),
        (np.zeros((3, 2)), None, "shape"),
        (np.zeros((2, 0)), None, "N >= 1"),
        (np.array([[0.0, np.nan], [0.0, 1.0]]), None, "finite"),
        (np.array([[0.0, 1.5], [0.0, 1.0]]), None, "between 0 and 1"),
        (np.zeros((2, 3)), np.zeros(2, int), "clusters"),
    ],
)
def test_what_is_no_two_models_on_the_same_rows_is_refused(outcomes, clusters, reason):
    """Wrong shapes and wrong numbers, each with what it should have been."""
    with pytest.raises(ValueError, match=reason):
        compare(outcomes, generator(), clusters)


def test_no_worse_means_that_the_lower_end_is_above_the_margin():
    """The end itself counts, rounding included."""
    assert not_worse(-0.02, 0.02)
    assert not_worse(-0.1 - 0.2, 0.3)  # -0.30000000000000004
    assert not not_worse(-0.02, 0.019)


def over(tasks, weigh):
    """The means of both models over tasks of these outcomes, and their difference, by one of the two rules."""
    weights = weigh(tasks)
    means = [mean_over_tasks([estimate_mean(outcomes[m]) for outcomes in tasks], weights) for m in (0, 1)]
    return *means, combine_intervals([estimate_difference(outcomes) for outcomes in tasks], weights)


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
    apart, of_first = estimate_difference(outcomes, clusters), estimate_mean(outcomes[0], clusters)
    assert vars(combine_intervals([apart], np.ones(1))) == pytest.approx(vars(apart))
    assert vars(mean_over_tasks([of_first], np.ones(1))) == pytest.approx(vars(of_first))


def test_groups_of_tasks_cover():
    """Of intervals of pooled and macro differences over three tasks of 10 to 80 rows, 93 to 99 % hold the truth."""
    rng = np.random.default_rng(9)
    sizes, accuracies = np.array([10, 25, 80]), np.array([(0.8, 0.6), (0.7, 0.7), (0.9, 0.95)])
    true, inside = accuracies @ [1, -1], []
    for _ in range(600):
        tasks = [
            (rng.random((2, n)) < accuracy[:, None]).astype(float)
            for n, accuracy in zip(sizes, accuracies, strict=True)
        ]
        apart = [estimate_difference(outcomes) for outcomes in tasks]
        for weights in (pooled(tasks), macro(tasks)):
            combined = combine_intervals(apart, weights)
            inside.append(combined.low <= weights @ true <= combined.high)
    assert 0.93 <= np.mean(inside[::2]) <= 0.99
    assert 0.93 <= np.mean(inside[1::2]) <= 0.99


def test_several_pairs_are_corrected_by_holm():
    """The smallest p of three counts three times; all else stays."""
    pairs = [compare(binary(np.random.default_rng(seed), 200, shares=(0.8, 0.6)), generator()) for seed in range(3)]
    first, *_ = sorted(correct_for_pairs(pairs), key=lambda comparison: comparison.p)
    assert first.p_corrected == pytest.approx(3 * first.p)
    assert [pair.p for pair in correct_for_pairs(pairs)] == [comparison.p for comparison in pairs]
    assert correct_for_pairs([]) == ()
