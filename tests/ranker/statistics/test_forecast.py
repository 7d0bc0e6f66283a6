import numpy as np
import pytest
import scipy.stats

from ranker.statistics.forecast import AHEAD, Forecast, Outlook, forecast_labels


def two_models(lead, spread, lasting=0.0, gain=0.1, most=AHEAD):
    """Two models whose difference has a mean and variances, the second known exactly."""
    covariance = np.diag([1.0, 0.0])
    return Outlook(np.array([0.5 + lead, 0.5]), spread * covariance, lasting * covariance, gain, most)


@pytest.mark.more
def test_the_range_is_that_of_labels_that_are_given():
    """Two models that disagree on each row, by beta distributions and coins: the quantiles of the first label at which
    the leader is probably better, and how often there is none."""
    rng = np.random.default_rng(0)
    won, lost = 7, 4
    truth = rng.beta(won, lost, size=(4_000, 1))
    wins = won + np.cumsum(rng.random((4_000, 200)) < truth, axis=1)
    losses = won + lost + np.arange(1, 201) - wins
    probable = scipy.stats.beta.sf(0.5, wins, losses)
    sure = np.maximum(probable, 1 - probable) >= 0.9
    first = np.where(sure.any(axis=1), sure.argmax(axis=1) + 1, np.inf)
    low, high = np.quantile(first, [0.1, 0.9], method="nearest")
    size = won + lost
    mean, variance = won / size, won * lost / size**2 / (size + 1)
    now = two_models(2 * mean - 1, 4 * variance, gain=1 / size, most=200)
    forecast = forecast_labels(now, np.random.default_rng(1), 0.9, 0.0)
    assert forecast.low == pytest.approx(low, abs=2)
    assert (forecast.high or np.inf) == pytest.approx(high, rel=0.35)
    assert 1 <= low < 5 < high < np.inf  # a range that could be missed


def test_a_pool_that_is_a_small_sample_is_never_enough():
    """What labels do not lower keeps the probability below the goal, however many are given."""
    small = two_models(0.02, 0.01, lasting=0.05)
    assert forecast_labels(small, np.random.default_rng(0), 0.9, 0.0) == Forecast(None, None, AHEAD, 0.9)
    none_left = two_models(0.02, 0.01, most=0)
    assert forecast_labels(none_left, np.random.default_rng(0), 0.9, 0.0).low is None


def test_a_goal_that_is_reached_needs_no_label():
    """From 0 to 0, whatever the outlook."""
    now = two_models(0.02, 0.01)
    assert forecast_labels(now, np.random.default_rng(0), 0.9, 0.0, now=0.9) == Forecast(0, 0, AHEAD, 0.9)
    assert forecast_labels(now, np.random.default_rng(0), 0.9, 0.0, now=0.89).low >= 1


def test_within_a_wide_margin_one_label_is_enough():
    """However little is known of the difference, it does not count."""
    level = two_models(0.0, 0.01)
    assert forecast_labels(level, np.random.default_rng(0), 0.9, 1.0) == Forecast(1, 1, AHEAD, 0.9)


def test_models_far_behind_change_nothing_but_the_draws():
    """A hundred of them are not drawn; the range is that of the two ahead, up to a step or two."""
    two = two_models(0.05, 0.01)
    many = Outlook(
        np.concatenate([two.mean, np.full(100, -3.0)]),
        np.pad(two.reducible, (0, 100)),
        np.pad(two.lasting, (0, 100)),
        two.gain,
        two.most,
    )
    alone, beside = (forecast_labels(now, np.random.default_rng(0), 0.9, 0.0) for now in (two, many))
    assert beside.low == pytest.approx(alone.low, rel=1)
