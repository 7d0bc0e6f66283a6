import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import engine, resampling, rows
from ranker.statistics.resampling import APART, derive, intervals, swap_test
from ranker.statistics.significance import mcnemar, sign_flip
from ranker.tasks.metrics import metric_named

LABELS = ("a", "b", "c")
RIGHT_OR_WRONG = np.array([[[1.0]], [[0.0]]])


def first(means):
    """The mean of one statistic."""
    return means[..., 0]


def answers(rng, models, rows, right=0.7):
    """(M, N) labels that are mostly right, and (N,) the true ones."""
    targets = rng.integers(3, size=rows)
    hit = rng.random((models, rows)) < right
    return np.where(hit, targets, rng.integers(3, size=(models, rows))), targets


def statistics_of(metric, given_answers, targets):
    """(M, N, k)."""
    return np.stack([metric.statistics(predictions, targets) for predictions in given_answers])


# intervals


def interval(statistics, *flags, **options):
    """The interval of one model's value."""
    return intervals(statistics[None], *flags[:2], [(0,)], *flags[2:], **options)[0]


def interval_of_difference(statistics, *flags, **options):
    """The interval of the first model's value minus the second's."""
    return intervals(statistics, *flags[:2], [(0, 1)], *flags[2:], **options)[0]


@pytest.mark.parametrize(("right", "rows"), [(0, 10), (7, 10), (10, 10), (28, 30), (150, 300)])
def test_of_an_accuracy_the_interval_is_clopper_and_pearson(right, rows):
    """With one row more that is wrong, or right, the draws are of the two beta distributions."""
    outcomes = (np.arange(rows) < right).astype(float)[:, None]
    low, high = interval(outcomes, first, RIGHT_OR_WRONG, np.random.default_rng(0), samples=100_000)
    expected = scipy.stats.binomtest(right, rows).proportion_ci(method="exact")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.003)


def test_of_marks_the_interval_is_gaffkes():
    """Means of the marks and of a 1, or a 0, with weights from a Dirichlet."""
    rng = np.random.default_rng(0)
    marks = rng.beta(2, 1, 12)
    low, high = interval(marks[:, None], first, RIGHT_OR_WRONG, rng, samples=100_000)
    weights = rng.dirichlet(np.ones(13), 100_000)
    upper = weights[:, :12] @ marks + weights[:, 12]
    lower = weights[:, :12] @ marks
    assert (low, high) == pytest.approx((np.quantile(lower, 0.025), np.quantile(upper, 0.975)), abs=0.003)


@pytest.mark.parametrize("name", ["macro-f1", "mcc", "kappa", "balanced-accuracy", "f1:c"])
def test_intervals_have_a_width_without_a_wrong_answer(name):
    """All answers right; and two models that answer alike."""
    metric = metric_named(name, LABELS)
    targets = np.array([0, 1, 2, 0] * 25)
    statistics = metric.statistics(targets, targets)
    unseen = metric.unseen(targets)
    low, high = interval(statistics, metric.value, unseen, np.random.default_rng(0))
    assert 0.8 < low < 1 - 0.025
    assert high == pytest.approx(1)
    both_models = np.stack([statistics, statistics])
    low, high = interval_of_difference(both_models, metric.value, unseen, np.random.default_rng(0))
    assert low < -0.025 < 0.025 < high
    assert low == pytest.approx(-high, abs=0.01)


def test_the_row_more_is_the_worst_there_may_be():
    """Of macro-F1 a wrong row of the rarest label, which costs more than one of another."""
    metric = metric_named("macro-f1", ("a", "b"))
    targets = np.array([0] * 95 + [1] * 5)
    low, _ = interval(
        metric.statistics(targets, targets), metric.value, metric.unseen(targets), np.random.default_rng(0)
    )
    lost = -np.log(0.025) / (100 - np.log(0.025))  # the weight of the row, at 2.5 %
    of_b = metric.value(
        metric.statistics(targets, targets).mean(axis=0) * (1 - lost) + lost * np.array([0, 0, 1, 0, 0, 1])
    )
    assert low == pytest.approx(of_b, abs=0.05)
    assert low < 0.9


def test_without_a_bound_there_is_no_interval():
    """Numbers may be wrong by any amount: where too few rows tell two models apart, none is said."""
    rng = np.random.default_rng(0)
    metric = metric_named("pearson")
    targets = rng.normal(size=100)
    first, second = targets + rng.normal(size=(2, 100))
    alike, enough = (np.where(np.arange(100) < count, second, first) for count in (APART - 1, APART))
    for predictions, is_defined in ((first, False), (alike, False), (enough, True)):
        statistics = statistics_of(metric, [first, predictions], targets)
        bounds = interval_of_difference(statistics, metric.value, metric.unseen(targets), rng)
        assert np.isfinite(bounds).tolist() == [is_defined, is_defined]
    same = np.zeros((5, 5))
    assert np.isnan(interval(same, metric.value, None, rng)).all()


def test_without_a_row_more_the_ends_are_those_of_a_t_interval():
    """Of a mean of normal numbers, where a t-interval is exact; the plain quantiles are a tenth narrower or more."""
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        numbers = rng.normal(size=10)
        low, high = interval(numbers[:, None], first, None, rng)
        ratios.append((high - low) / (2 * scipy.stats.t.ppf(0.975, 9) * numbers.std(ddof=1) / np.sqrt(10)))
    assert 0.93 < np.mean(ratios) < 1.02


def test_two_models_are_drawn_together():
    """The interval of a difference is much narrower than those of two models that err on the same rows."""
    rng = np.random.default_rng(1)
    metric = metric_named("macro-f1", LABELS)
    predictions, targets = answers(rng, 1, 400)
    other_predictions = np.where(rng.random(400) < 0.03, targets, predictions[0])
    statistics = statistics_of(metric, [predictions[0], other_predictions], targets)
    low, high = interval_of_difference(statistics, metric.value, metric.unseen(targets), rng)
    least, most = interval(statistics[0], metric.value, metric.unseen(targets), rng)
    value = np.subtract(*metric.value(statistics.mean(axis=1)))
    assert low < value < high
    assert high - low < (most - least) / 2


@pytest.mark.more
@pytest.mark.parametrize("name", ["macro-f1", "pearson"])
def test_intervals_from_shared_draws_are_those_of_each_alone(name, monkeypatch):
    """Of each model and of each difference, however few fit into memory; what has no interval alone has none here."""
    rng = np.random.default_rng(4)
    metric = metric_named(name, LABELS if name == "macro-f1" else ())
    predictions, targets = (
        answers(rng, 4, 200) if name == "macro-f1" else (rng.normal(size=(4, 200)), rng.normal(size=200))
    )
    predictions[3] = predictions[2]
    statistics = statistics_of(metric, predictions, targets)
    wanted, unseen = [(0,), (2,), (0, 1), (2, 1), (2, 3)], metric.unseen(targets)
    alone = [
        interval(statistics[pair[0]], metric.value, unseen, rng, samples=40_000)
        if len(pair) == 1
        else interval_of_difference(statistics[list(pair)], metric.value, unseen, rng, samples=40_000)
        for pair in wanted
    ]
    for cells in (resampling.CELLS, 2 * 40_000):
        monkeypatch.setattr(resampling, "CELLS", cells)
        intervals_found = intervals(statistics, metric.value, unseen, wanted, rng, samples=40_000)
        np.testing.assert_allclose(intervals_found, alone, atol=0.005)
    assert np.isnan(intervals_found[-1]).all() == (name == "pearson")


# clusters


@pytest.mark.parametrize("name", ["macro-f1", "mcc"])
def test_rows_that_are_there_twice_in_a_cluster_say_no_more(name):
    """Everything is as of the rows that are there once."""
    rng = np.random.default_rng(2)
    metric = metric_named(name, LABELS)
    predictions, targets = answers(rng, 2, 30)
    once = statistics_of(metric, predictions, targets)
    twice, clusters = np.concatenate([once, once], axis=1), np.tile(rng.permutation(30), 2)
    unseen = metric.unseen(targets)
    for function, arguments in ((interval_of_difference, (unseen,)), (swap_test, ())):
        estimate = function(once, metric.value, *arguments, np.random.default_rng(0))
        again = function(twice, metric.value, *arguments, np.random.default_rng(0), clusters)
        np.testing.assert_allclose(estimate[0], again[0], atol=1e-9)


def test_rows_in_another_order_say_the_same():
    """Also the draws are the same."""
    rng = np.random.default_rng(3)
    metric = metric_named("kappa", LABELS)
    predictions, targets = answers(rng, 2, 30)
    statistics, order = statistics_of(metric, predictions, targets), rng.permutation(30)
    estimates = [
        interval_of_difference(ordered, metric.value, metric.unseen(targets), np.random.default_rng(0))
        for ordered in (statistics, statistics[:, order])
    ]
    assert estimates[0] == pytest.approx(estimates[1], abs=1e-12)


# the test


def slow_swap_p(metric, predictions, targets, clusters):
    """By the definition: every way to exchange the answers of whole clusters."""

    def distance(pair):
        return abs(
            np.subtract(*(metric.value(metric.statistics(predicted, targets).mean(axis=0)) for predicted in pair))
        )

    groups = np.unique(clusters)
    distances = []
    for swapped in itertools.product([False, True], repeat=len(groups)):
        exchange = np.isin(clusters, groups[list(swapped)])
        distances.append(distance(np.where(exchange, predictions[::-1], predictions)))
    return float(np.mean(np.array(distances) >= distance(predictions) - 1e-12))


@pytest.mark.more
@given(st.integers(0, 2**32 - 1), st.sampled_from(["macro-f1", "mcc", "f1:b", "balanced-accuracy"]), st.booleans())
@settings(max_examples=25)
def test_all_ways_to_exchange_answers_are_counted(seed, name, clustered):
    """Beside a list of them."""
    rng = np.random.default_rng(seed)
    metric = metric_named(name, LABELS)
    predictions, targets = answers(rng, 2, 9)
    clusters = rng.integers(5, size=9) if clustered else np.arange(9)
    p, test = swap_test(statistics_of(metric, predictions, targets), metric.value, rng, clusters if clustered else None)
    assert p == pytest.approx(slow_swap_p(metric, predictions, targets, clusters), abs=1e-12)
    assert test == "sign-flip"


@given(st.integers(0, 400), st.integers(0, 400))
def test_of_accuracies_it_is_mcnemars(better, worse):
    """However many rows there are, it is exact."""
    outcomes = np.repeat([[[1.0], [0.0]], [[0.0], [1.0]], [[1.0], [1.0]]], [better, worse, 9], axis=0).swapaxes(0, 1)
    p, test = swap_test(outcomes, first, np.random.default_rng(0))
    assert p == pytest.approx(float(mcnemar(np.array(better), np.array(worse))), abs=1e-12)
    assert test == "sign-flip"


def test_of_other_means_it_is_that_of_signs():
    """Marks of ten rows."""
    rng = np.random.default_rng(0)
    marks = rng.random((2, 10))
    expected, _ = sign_flip(marks[0] - marks[1], rng)
    assert swap_test(marks[:, :, None], first, rng)[0] == pytest.approx(expected)


def test_where_there_are_too_many_ways_some_are_drawn(monkeypatch):
    """Their p is near that of all, and never 0."""
    rng = np.random.default_rng(4)
    metric = metric_named("macro-f1", LABELS)
    predictions, targets = answers(rng, 2, 14)
    statistics = statistics_of(metric, predictions, targets)
    expected, _ = swap_test(statistics, metric.value, rng)
    monkeypatch.setattr(resampling, "LISTED", 1)
    p, test = swap_test(statistics, metric.value, rng)
    assert test == "sign-flip-drawn"
    assert p == pytest.approx(expected, abs=0.02)
    targets = np.tile([0, 1, 2], 100)
    p, _ = swap_test(statistics_of(metric, [targets, (targets + 1) % 3], targets), metric.value, rng)
    assert p == 1 / 20_000


def test_equal_models_are_seldom_told_apart():
    """Of two that answer alike well, p is below 0.05 in at most 5 % of cases."""
    rng = np.random.default_rng(6)
    metric = metric_named("macro-f1", LABELS)
    p_values = []
    for _ in range(300):
        predictions, targets = answers(rng, 2, 40)
        p_values.append(swap_test(statistics_of(metric, predictions, targets), metric.value, rng)[0])
    assert 0.01 < np.mean(np.array(p_values) <= 0.05) < 0.085


# drawn probes


def test_probes_rank_by_the_metric():
    """Beside scikit-learn on the rows of each draw; a row without a truth is passed over."""
    rng = np.random.default_rng(7)
    metric = metric_named("macro-f1", LABELS)
    predictions, targets = answers(rng, 3, 40)
    targets[:3] = -1
    statistics = statistics_of(metric, predictions, targets)
    draws = engine.draw_probes(rng, 40, 10, 60)
    simulation = engine.simulate(statistics.swapaxes(1, 2), draws, np.ones(3, dtype=bool), derive(metric.value))
    points = np.zeros(3)
    for draw in draws:
        judged = draw[targets[draw] >= 0]
        f1 = [
            sklearn.metrics.f1_score(
                targets[judged],
                predicted[judged],
                labels=np.union1d(targets[judged], predicted[judged]),
                average="macro",
                zero_division=0,
            )
            for predicted in predictions
        ]
        for p, (a, b) in enumerate(engine.pairs(3)):
            points[p] += 0.5 if abs(f1[a] - f1[b]) < 1e-12 else float(f1[a] > f1[b])
    np.testing.assert_allclose(simulation.beats[:, 0], points / 60)
    assert simulation.pairwise_accuracy.shape == (1, 60)


def test_of_one_statistic_probes_are_those_of_means():
    """ACC by its metric is ACC by its column."""
    rng = np.random.default_rng(8)
    outcomes = (rng.random((4, 1, 50)) < 0.7).astype(float)
    draws, decided = engine.draw_probes(rng, 50, 10, 200), np.ones(6, dtype=bool)
    plain, derived = (engine.simulate(outcomes, draws, decided, *options) for options in ((), (derive(first),)))
    np.testing.assert_array_equal(plain.beats, derived.beats)


# what arrays may be


def test_rows_with_nothing_to_judge_are_refused():
    """Whoever calls leaves them out, for all models alike."""
    metric = metric_named("macro-f1", LABELS)
    statistics = statistics_of(metric, np.array([[0, 1], [1, 1]]), np.array([0, -1]))
    with pytest.raises(ValueError, match="leave out rows with nothing to judge"):
        swap_test(statistics, metric.value, np.random.default_rng(0))
    with pytest.raises(ValueError, match="of at least one row"):
        swap_test(statistics[:, :0], metric.value, np.random.default_rng(0))


def test_clusters_are_a_number_a_row():
    """Else they are refused."""
    with pytest.raises(ValueError, match=r"clusters must have the shape \(3,\)"):
        swap_test(np.ones((2, 3, 1)), first, np.random.default_rng(0), np.zeros(2, dtype=np.int64))


def test_memory_is_bounded(monkeypatch):
    """Blocks of draws stay within `CELLS` numbers, a handful at a time, and the numbers found do not change much."""
    rng = np.random.default_rng(9)
    metric = metric_named("macro-f1", LABELS)
    predictions, targets = answers(rng, 4, 3_000)
    statistics, unseen = statistics_of(metric, predictions, targets), metric.unseen(targets)
    interval_of_all = interval_of_difference(statistics[:2], metric.value, unseen, rng)
    monkeypatch.setattr(resampling, "CELLS", 2**17)
    tracemalloc.start()
    parts = interval_of_difference(statistics[:2], metric.value, unseen, rng)
    rows.resample(rows.units_of(statistics, None), metric.value, unseen, np.ones(3) / 3, rng, 2_000)
    swap_test(statistics[:2], metric.value, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert parts == pytest.approx(interval_of_all, abs=0.003)
    assert peak < 8 * (5 * 2**17 + 6 * statistics.size)
