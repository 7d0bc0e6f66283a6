"""Belief from labelled rows.

Its differences are compared with draws of the prior in full, and its level with the beta distribution. The intervals
that hold the truth are counted.
"""

import numpy as np
import pytest
import scipy.stats
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_posterior import simulated
from test_resampling import LABELS, answers, first, statistics_of

from ranker.statistics.draws import NEAR
from ranker.statistics.forecast import AHEAD
from ranker.statistics.posterior import PRIORS, more_accurate, unit_of, weigh
from ranker.statistics.resampling import units_of
from ranker.statistics.rows import RowEvidence, draw, draw_level, mean_belief, resample
from ranker.tasks.metrics import metric_named

RIGHT_OR_WRONG = np.array([[[1.0]], [[0.0]]])


def belief(outcomes, seed=0, samples=0, clusters=None):
    """What is believed of mean outcomes."""
    return draw(RowEvidence.of_means(np.asarray(outcomes, dtype=float), clusters), np.random.default_rng(seed), samples)


def by_metric(name, predictions, targets, seed=0, samples=0, labels=LABELS):
    """What is believed of a metric of labels, and its statistics."""
    metric = metric_named(name, labels)
    statistics = statistics_of(metric, predictions, targets)
    evidence = RowEvidence((predictions == targets).astype(float), statistics, metric.value, metric.unseen(targets))
    return draw(evidence, np.random.default_rng(seed), samples)


# differences


def drawn_in_full(outcomes, rng, samples):
    """(S, M) mean outcomes by the definition: a Dirichlet process by stick breaking, draw by draw."""
    models, size = outcomes.shape
    weights, unit, means = weigh(outcomes), unit_of(outcomes), np.empty((samples, models))
    for place in range(samples):
        mass = 4 * rng.choice(PRIORS, p=weights)
        weights_seen, total = rng.standard_exponential(size), rng.standard_gamma(mass)
        broken = rng.beta(1.0, mass, 600)
        share = broken * np.cumprod([1.0, *(1 - broken[:-1])])
        types = rng.integers(2, size=(600, models))
        means[place] = (outcomes @ weights_seen + unit * total * share @ types) / (weights_seen.sum() + total)
    return means


@pytest.mark.more
@pytest.mark.parametrize("values", ["right or wrong", "marks"])
@pytest.mark.parametrize("near", [0.0, NEAR, 0.1, 1.0])
def test_probabilities_are_those_of_means_drawn_in_full(values, near):
    """Of being best, and near it within no point, one, ten and a hundred; a hundred is everybody."""
    rng = np.random.default_rng(8)
    outcomes = (rng.random((4, 10)) < [[0.9], [0.8], [0.7], [0.5]]).astype(float)
    if values == "marks":
        outcomes = 0.3 * outcomes + 0.4 * rng.random((4, 10))
    means, believed = drawn_in_full(outcomes, np.random.default_rng(1), 2_500), belief(outcomes)
    assert believed.near(near) == pytest.approx(
        (means >= means.max(axis=1, keepdims=True) - near).mean(axis=0), abs=0.04
    )
    assert believed.best() == pytest.approx(np.bincount(means.argmax(axis=1), minlength=4) / 2_500, abs=0.04)
    apart = means[:, 0] - means[:, 3]
    assert believed.difference(0, 3)[0] == pytest.approx(apart.mean(), abs=0.015)
    assert np.std(believed.values[:, 0] - believed.values[:, 3]) == pytest.approx(apart.std(), rel=0.08)


@pytest.mark.parametrize("kind", ["right or wrong", "marks", "clusters"])
def test_draws_are_of_the_posterior_whose_closed_form_is_known(kind):
    """P(better) of each two, by shares of draws, within three standard errors and the noise of the prior's rows."""
    rng = np.random.default_rng(3)
    outcomes = (rng.random((4, 24)) < [[0.9], [0.8], [0.7], [0.5]]).astype(float)
    outcomes = rng.random((4, 24)) * outcomes if kind == "marks" else outcomes
    believed = belief(outcomes, clusters=np.arange(24) // 3 if kind == "clusters" else None)
    shares = (believed.values[:, :, None] > believed.values[:, None]).mean(axis=0) + np.eye(4) / 2
    assert np.abs(shares - believed.beats()).max() < 3 * 0.5 / 20_000**0.5 + 0.005
    if kind != "clusters":
        assert (believed.beats() == more_accurate(outcomes)).all()


@pytest.mark.parametrize("c", [PRIORS[0], PRIORS[-1]])
def test_the_best_are_drawn_from_the_prior_that_the_pairs_are_weighed_by(monkeypatch, c):
    """Where one wins nearly all disagreements and where both win some, P(best) of two is P(a better)."""
    monkeypatch.setattr("ranker.statistics.posterior.PRIORS", np.array([c]))
    outcomes = np.array([[1.0, 1, 1, 0, 1], [0, 0, 1, 1, 1]])
    assert belief(outcomes).best()[0] == pytest.approx(more_accurate(outcomes)[0, 1], abs=0.012)


@pytest.mark.more
@pytest.mark.parametrize(("count", "off"), [(200, 0.07), pytest.param(4_000, 0.02, marks=pytest.mark.slow)])
def test_the_probability_of_being_best_is_calibrated(count, off):
    """Over many suites, the models are best as often as they were given, or a little more."""
    stated, truly = [], []
    for accuracy, outcomes in simulated(np.random.default_rng(1), count):
        probability = belief(outcomes, 2, 500).best()
        stated.append(probability.max())
        truly.append(accuracy.argmax() == probability.argmax())
    assert -off <= np.mean(truly) - np.mean(stated) <= 0.12


@pytest.mark.parametrize("seed", range(5))
def test_models_that_are_right_on_the_same_rows_have_the_same_of_everything(seed):
    """No row tells them apart, and neither do the draws; others keep what is theirs."""
    outcomes = (np.random.default_rng(3).random((5, 12)) < 0.7).astype(float)
    outcomes[3] = outcomes[1]
    believed = belief(outcomes, seed, 500)
    for answer in (believed.best(), believed.near(), believed.expected, *believed.interval()):
        assert answer[1] == answer[3]
    assert len(set(believed.best())) == 4
    three = belief(outcomes[[0, 0, 0]], seed, 500)
    assert three.best() == pytest.approx(np.full(3, 1 / 3))
    assert (three.near() == three.near()[0]).all()
    assert three.near()[0] > 1 / 3


@pytest.mark.more
@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])  # every other draw has a tie
@given(st.integers(0, 2**32 - 1), st.sampled_from(["right or wrong", "marks", "clusters", "macro-f1"]))
def test_the_order_of_models_and_rows_changes_nothing(seed, kind):
    """Every number moves with its model."""
    rng = np.random.default_rng(seed)
    predictions, targets = answers(rng, 4, 15)
    models, rows = rng.permutation(4), rng.permutation(15)
    outcomes, clusters = (predictions == targets).astype(float), None
    assume(len({*outcomes.sum(axis=1)}) == 4)  # else two models may be each other's mirror image
    if kind == "marks":
        outcomes = outcomes * rng.random((4, 15))
    if kind == "clusters":
        clusters = rng.integers(5, size=15)
    if kind == "macro-f1":
        draws_once = by_metric(kind, predictions, targets, samples=500)
        two = by_metric(kind, predictions[models][:, rows], targets[rows], samples=500)
    else:
        draws_once = belief(outcomes, 0, 500, clusters)
        two = belief(outcomes[models][:, rows], 0, 500, None if clusters is None else clusters[rows])
    for first_said, second_said in (
        (draws_once.best(), two.best()),
        (draws_once.near(), two.near()),
        (draws_once.expected, two.expected),
    ):
        assert second_said == pytest.approx(first_said[models], abs=1e-9)
    assert two.beats() == pytest.approx(draws_once.beats()[np.ix_(models, models)], abs=1e-9)


def test_the_scale_of_outcomes_makes_no_difference():
    """Marks from 0 to 1 and from 0.4 to 0.6 say the same; a point is one of the same scale."""
    outcomes = np.random.default_rng(11).random((4, 10))
    wide, narrow = belief(outcomes), belief(0.4 + 0.2 * outcomes)
    assert narrow.best() == pytest.approx(wide.best(), abs=0.015)
    assert narrow.near(0.2 * NEAR) == pytest.approx(wide.near(NEAR), abs=0.015)


def test_rounding_of_outcomes_makes_no_difference():
    """0.1 + 0.2 is 0.3: two models that are equal but for that have the same P(best)."""
    chances = belief([[0.1 + 0.2, 0.9, 0.2], [0.3, 0.9, 0.2], [0.4, 0.9, 0.1]], 0, 500).best()
    assert chances[0] == chances[1]


def test_what_is_expected_never_contradicts_the_rows():
    """The order of expected values is that of the means on the rows, and equal means are equal."""
    for seed in range(20):
        outcomes = (np.random.default_rng(seed).random((8, 12)) < 0.7).astype(float)
        expected, means = belief(outcomes, seed, 500).expected.round(9), outcomes.mean(axis=1).round(9)
        assert (np.sign(expected[:, None] - expected) == np.sign(means[:, None] - means)).all()


def test_the_outlook_is_that_of_the_draws():
    """A label raises the precision by 1 of the rows and the prior's; of clusters, by that over the rows of one."""
    outcomes = np.array([[1.0] * 7 + [0.0] * 3, [0.0] * 10])
    believed = belief(outcomes)
    assert believed.outlook.mean == pytest.approx(believed.values.mean(axis=0))
    assert believed.outlook.reducible == pytest.approx(np.cov(believed.values.T, bias=True))
    assert (believed.outlook.lasting == 0).all()
    assert 1 / believed.outlook.gain == pytest.approx(10 + 4 * weigh(outcomes) @ PRIORS)
    thrice = belief(np.repeat(outcomes, 3, axis=1), clusters=np.repeat(np.arange(10), 3)).outlook
    assert (1 / thrice.gain, thrice.most) == (pytest.approx(3 / believed.outlook.gain), 3 * AHEAD)


# a model by itself


@pytest.mark.parametrize(("right", "rows"), [(0, 10), (7, 10), (10, 10), (150, 300)])
def test_of_right_and_wrong_it_is_the_beta_distribution(right, rows):
    """With r of n right, and one of each from the uniform prior."""
    outcomes = (np.arange(rows) < right).astype(float)
    believed, expected = mean_belief(np.stack([outcomes, 1 - outcomes])), scipy.stats.beta(right + 1, rows - right + 1)
    assert believed.expected == pytest.approx([expected.mean(), 1 - expected.mean()])
    assert [believed.low[0], believed.high[0]] == pytest.approx(expected.ppf([0.025, 0.975]), abs=1e-10)
    assert [1 - believed.high[1], 1 - believed.low[1]] == pytest.approx(expected.ppf([0.025, 0.975]), abs=1e-10)
    levels = draw_level(outcomes[None], np.random.default_rng(0), 40_000)
    assert levels.mean() == pytest.approx(expected.mean())
    assert np.quantile(levels, [0.025, 0.975]) == pytest.approx(expected.ppf([0.025, 0.975]), abs=0.01)


def test_of_regular_outcomes_the_interval_is_about_students():
    """It holds the mean closely, where outcomes are far from 0 and 1; one of 0 more would take it far below."""
    outcomes = np.array([0.93, 0.95, 0.94, 0.96, 0.95, 0.97, 0.95, 0.94])
    _, (low,), (high,) = mean_belief(outcomes[None])
    half = scipy.stats.t.ppf(0.975, 7) * scipy.stats.sem(outcomes)
    assert (low, high) == pytest.approx((outcomes.mean() - half, outcomes.mean() + half), abs=0.35 * half)


def test_rows_that_are_all_near_an_end_leave_room():
    """Five of 0.001 may be of a domain where one in ten is 1; and one row says little."""
    assert mean_belief(np.full((1, 5), 0.001)).high[0] > 0.1
    _, (low,), (high,) = mean_belief(np.array([[0.5]]))
    assert high - low > 0.8


def test_rows_of_a_cluster_say_less():
    """Thirty rows in ten clusters that are all right or all wrong are ten rows; clusters of 4, 1 and 1 are 36 / 18."""
    outcomes = np.array([[1.0] * 7 + [0.0] * 3])
    thrice = mean_belief(np.repeat(outcomes, 3, axis=1), np.repeat(np.arange(10), 3))
    assert np.array(thrice) == pytest.approx(np.array(mean_belief(outcomes)))
    uneven = mean_belief(np.array([[1.0, 1, 1, 1, 1, 0]]), np.array([0, 0, 0, 0, 1, 2]))
    two = scipy.stats.beta(2 * 5 / 6 + 1, 2 / 6 + 1)
    assert [uneven.low[0], uneven.high[0]] == pytest.approx(two.ppf([0.025, 0.975]), abs=1e-10)


def beta(rng, mean, sd, shape):
    """Beta outcomes of a mean and a standard deviation."""
    phi = mean * (1 - mean) / sd**2 - 1
    return rng.beta(mean * phi, (1 - mean) * phi, shape)


def share_outside(simulated, rounds):
    """Shares of intervals that lie above the truth, and below it."""
    above, below = [], []
    for seed in range(rounds):
        truth, outcomes = simulated(seed)
        _, low, high = mean_belief(outcomes)
        above += [*(low > truth)]
        below += [*(high < truth)]
    return np.mean(above), np.mean(below)


@pytest.mark.more
@pytest.mark.parametrize(("mean", "sd"), [(0.95, 0.01), (0.95, 0.05), (0.5, 0.15), (0.2, 0.05), (0.05, 0.05)])
@pytest.mark.parametrize("rows", [5, 30])
def test_intervals_of_graded_outcomes_cover(mean, sd, rows):
    """93 to 98 %, but for the noise of 120 rounds; `benchmarks.belief` has the whole grid."""
    rng = np.random.default_rng([rows, round(100 * sd)])
    above, below = share_outside(lambda _: (mean, beta(rng, mean, sd, (2, rows))), 120)
    assert above <= 0.075
    assert below <= 0.075
    assert above + below <= 0.11


@pytest.mark.more
def test_intervals_of_accuracies_cover():
    """Of models that are 49 points apart, and of ten rows, 93 to 98 % hold the model's accuracy in the domain."""
    worlds = list(simulated(np.random.default_rng(10), 250))
    above, below = share_outside(lambda seed: worlds[seed], 250)
    assert 0.93 <= 1 - above - below <= 0.985


# other metrics


@pytest.mark.few(1)
@pytest.mark.parametrize(("unseen", "within"), [(RIGHT_OR_WRONG, 0.02), (None, 0.05)])
@pytest.mark.parametrize("seed", range(4))
def test_of_accuracies_a_metric_says_what_means_say(seed, unseen, within):
    """Exchanged rows are those on which models differ, so that it is the same only roughly."""
    rng = np.random.default_rng(seed)
    outcomes = (rng.random((2 + seed, 30)) < rng.uniform(0.4, 0.9, (2 + seed, 1))).astype(float)
    draws = draw(RowEvidence(outcomes, outcomes[:, :, None], first, unseen), rng)
    assert draws.beats() == pytest.approx(more_accurate(outcomes), abs=within)
    assert draws.best() == pytest.approx(belief(outcomes).best(), abs=within)
    assert draws.near() == pytest.approx(belief(outcomes).near(), abs=within)


def test_without_a_row_that_may_be_missed_models_that_answer_alike_are_level():
    """In each draw: the metric is not known to bound a missed row."""
    predictions = np.array([[0, 1, 2, 0]] * 2)
    metric = metric_named("mcc", LABELS)
    statistics = statistics_of(metric, predictions, np.array([0, 1, 1, 0]))
    draws = draw(RowEvidence(np.ones((2, 4)), statistics, metric.value, None), np.random.default_rng(0))
    assert draws.beats() == pytest.approx(np.full((2, 2), 0.5))
    assert draws.best() == pytest.approx([0.5, 0.5])
    assert np.isnan(draws.near()).all()
    assert draws.outlook is None


def test_one_row_is_no_certainty():
    """Of one row that tells two apart, P(better) is about 3/4 with c = 1, whatever the metric is."""
    metric = metric_named("macro-f1", LABELS)
    targets = np.array([0, 1, 2] * 10)
    worse = np.where(np.arange(30) == 4, 2, targets)
    units = units_of(statistics_of(metric, [targets, worse], targets), None)
    drawn = resample(
        units, metric.value, metric.unseen(targets), np.array([1.0, 0.0, 0.0]), np.random.default_rng(0), 20_000
    )
    assert (drawn[:, 0] > drawn[:, 1]).mean() == pytest.approx(0.75, abs=0.04)


@pytest.mark.few(1)
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("name", ["macro-f1", "mcc", "balanced-accuracy", "kappa"])
def test_models_right_on_the_same_rows_may_differ_in_the_domain(name, labels):
    """Of ten rows, P(near best) is on average within 0.08 of that by accuracies: whether errors are alike or not."""
    rng = np.random.default_rng(0)
    by_metric_draws, by_accuracy = [], []
    for seed in range(12):
        targets = rng.permutation(np.arange(10) % labels)
        wrong = rng.random(10) < 0.2
        two_models = np.stack(
            [np.where(wrong, (targets + rng.integers(1, labels, 10)) % labels, targets) for _ in range(2)]
        )
        by_metric_draws.append(by_metric(name, two_models, targets, seed, 1_000, LABELS[:labels]).near())
        by_accuracy.append(belief(two_models == targets, seed, 1_000).near())
    assert np.mean(by_metric_draws) == pytest.approx(np.mean(by_accuracy), abs=0.08)


@pytest.mark.more
@pytest.mark.parametrize("name", ["macro-f1", pytest.param("mcc", marks=pytest.mark.slow)])
def test_p_better_means_what_it_says(name):
    """In worlds where two models are anyhow apart, of those given 70 to 90 % about as many are better."""
    rng = np.random.default_rng(5)
    stated, right = [], []
    for seed in range(400):
        ability = rng.uniform(0.5, 0.9, 2)
        given_answers, targets = answers(rng, 2, 25, ability[:, None])
        stated.append(by_metric(name, given_answers, targets, seed, 500).beats()[0, 1])
        right.append(ability[0] > ability[1])
    stated, right = np.maximum(stated, 1 - np.array(stated)), np.where(np.array(stated) > 0.5, right, ~np.array(right))
    inside = (stated > 0.7) & (stated < 0.9)
    assert 0.7 < right[inside].mean() < 0.9


@pytest.mark.more
@pytest.mark.parametrize("rows", [30, 100])
def test_intervals_of_other_metrics_cover(rows):
    """Of macro-F1 of three labels, whose truth is known of a million rows."""
    rng, outside = np.random.default_rng(rows), []
    many, truth = answers(rng, 1, 1_000_000)
    metric = metric_named("macro-f1", LABELS)
    value = metric.value(metric.statistics(many[0], truth).mean(axis=0))
    for seed in range(100):
        low, high = by_metric("macro-f1", *answers(rng, 2, rows), seed, 1_000).interval()
        outside += [*((value < low) | (value > high))]
    assert 0.01 <= np.mean(outside) <= 0.09


def test_rows_that_are_there_twice_in_a_cluster_say_no_more():
    """Everything is as of the rows that are there once."""
    rng = np.random.default_rng(2)
    outcomes = (rng.random((3, 30)) < 0.7).astype(float)
    once, twice = belief(outcomes), belief(np.tile(outcomes, 2), clusters=np.tile(np.arange(30), 2))
    assert twice.beats() == pytest.approx(once.beats(), abs=1e-12)
    assert twice.expected == pytest.approx(once.expected, abs=1e-9)
    assert twice.best() == pytest.approx(once.best(), abs=0.015)
    assert np.array(twice.interval()) == pytest.approx(np.array(once.interval()), abs=0.015)


def test_rows_without_a_value_are_refused():
    """Whoever calls leaves them out."""
    with pytest.raises(ValueError, match="leave out rows with nothing to judge"):
        belief([[np.nan, 1.0], [1.0, 1.0]])
