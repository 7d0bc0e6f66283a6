from collections import Counter

import numpy as np
import pytest
from scipy import stats

from ranker.statistics import trend

SHAPES = {"I": (1.1, 1.1), "II": (0.4, 1.8), "III": (-0.8, 1.5), "negative": (-1.0, -1.0), "flat": (0.0, 0.0)}
"""Type -> slopes before and after 0.75, as steep as those of SQuAD's models on other domains."""

NOISE = 0.02
"""Standard deviation around the line of about 100 models of SQuAD on Amazon's questions (F1)."""


def points(kind, models, rng, noise=NOISE):
    """Models with in-domain values from 0.54 to 0.92."""
    before, after = SHAPES[kind]
    x = rng.uniform(0.54, 0.92, models)
    return x, 0.6 + np.where(x < 0.75, before, after) * (x - 0.75) + rng.normal(0, noise, models)


def slow_joined(x, y):
    """The best joined lines by trying each place with scipy's least squares, a model or midway between two."""
    places = np.unique(x)
    best = (np.inf, None)
    for joint in (*places, *((places[1:] + places[:-1]) / 2)):
        if min((places <= joint).sum(), (places >= joint).sum()) < trend.leg(len(x)):
            continue
        design = np.column_stack([np.ones(len(x)), np.minimum(x - joint, 0), np.maximum(x - joint, 0)])
        left = float(((y - design @ np.linalg.lstsq(design, y)[0]) ** 2).sum())
        best = min(best, (left, joint))
    return best


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("models", [6, 9, 25])
def test_fits_are_those_of_a_plain_search(kind, models):
    """The mean, scipy's line, and joined lines tried at every place."""
    x, y = points(kind, models, np.random.default_rng(models))
    found = trend.fit(x, y, np.ones((1, models)))
    line = stats.linregress(x, y)
    assert found.squares[0, 0] == pytest.approx(((y - y.mean()) ** 2).sum())
    assert found.slopes[0, 1] == pytest.approx([line.slope] * 2)
    assert found.squares[0, 1] == pytest.approx(((y - line.intercept - line.slope * x) ** 2).sum())
    left, joint = slow_joined(x, y)
    assert found.squares[0, 2] == pytest.approx(left)
    assert found.joints[0, 2] == pytest.approx(joint)


def test_weights_are_copies():
    """A model that weighs two is there twice."""
    rng = np.random.default_rng(0)
    x, y = points("III", 14, rng)
    weights = np.array([2, 1, 1, 1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 1])
    one = trend.fit(x, y, weights[None, :].astype(float))
    many = trend.fit(np.repeat(x, weights), np.repeat(y, weights), np.ones((1, weights.sum())))
    assert one.squares[0] == pytest.approx(many.squares[0])
    assert one.slopes[0] == pytest.approx(many.slopes[0])
    assert one.at(np.array(0.6))[0] == pytest.approx(many.at(np.array(0.6))[0])


def test_a_joint_by_hand():
    """A V with its turn at a model, and one whose turn is midway between two models."""
    x = np.arange(8.0)
    for joint in (3.0, 3.5):
        found = trend.fit(x, 2 + np.where(x < joint, -0.5, 1.0) * (x - joint), np.ones((1, 8)))
        assert found.joints[0, 2] == pytest.approx(joint)
        assert found.slopes[0, 2] == pytest.approx([-0.5, 1.0])
        assert found.levels[0, 2] == pytest.approx(2)
        assert found.squares[0, 2] == pytest.approx(0, abs=1e-12)


def test_bic_by_hand():
    """M log(squares / M) + numbers log M."""
    found = trend.bic(np.array([[4.0, 2.0, 1.0]]), 10)[0]
    expected = [10 * np.log(one / 10) + numbers * np.log(10) for one, numbers in ((4, 2), (2, 3), (1, 6))]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("models", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_simulated_points_are_recognised(kind, models):
    """At least 90 % of 60 simulations at the noise of SQuAD's models."""
    rng = np.random.default_rng(7)
    found = Counter(trend.tell(*points(kind, models, rng), rng, draws=100).type for _ in range(60))
    assert found[kind] >= 0.9 * 60, found


def test_twelve_models_are_recognised_mostly():
    """Of 150 simulations of each type at least 85 %, but for points without any trend."""
    rng = np.random.default_rng(8)
    for kind in ("I", "II", "III", "negative"):
        found = Counter(trend.tell(*points(kind, 12, rng), rng, draws=50).type for _ in range(150))
        assert found[kind] >= 0.85 * 150, (kind, found)


def test_what_is_between_two_types_is_not_told():
    """A first slope of nothing: rising or falling by chance, and resamples disagree."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.54, 0.92, 40)
    found = []
    for _ in range(20):
        y = 0.6 + np.where(x < 0.75, 0.0, 1.5) * (x - 0.75) + rng.normal(0, NOISE, 40)
        found.append(trend.tell(x, y, rng, draws=200))
    assert {one.type for one in found} == {"II", "III"}
    assert all(one.shares["II"] + one.shares["III"] > 0.95 for one in found)
    assert min(max(one.shares.values()) for one in found) < 0.7


def test_six_models_are_the_fewest():
    """Five, or one in-domain value for all, are refused."""
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at least 6 models"):
        trend.tell(np.arange(5.0), np.arange(5.0), rng)
    with pytest.raises(ValueError, match="different x"):
        trend.tell(np.full(9, 0.5), np.arange(9.0), rng)
    assert trend.tell(np.arange(6.0), 2 * np.arange(6.0), rng).type == "I"


def test_three_points_a_line_are_the_fewest_for_a_v():
    """Of five different x none can be joined; a V of seven models can."""
    x = np.array([0.0, 0, 1, 2, 3, 4])
    assert np.isfinite(trend.fit(x, np.abs(x - 2), np.ones((1, 6))).squares[0, 2])
    x = np.array([0.0, 0, 1, 1, 2, 3])
    assert np.isinf(trend.fit(x, np.abs(x - 1), np.ones((1, 6))).squares[0, 2])


def test_leave_one_out_is_that_of_fits_without_each_model():
    """Root mean squared error of the line."""
    rng = np.random.default_rng(0)
    x, y = points("I", 15, rng)
    errors = []
    for at in range(15):
        line = stats.linregress(np.delete(x, at), np.delete(y, at))
        errors.append(y[at] - line.intercept - line.slope * x[at])
    assert trend.tell(x, y, rng, draws=10).loo[1] == pytest.approx(np.sqrt(np.mean(np.square(errors))))


def test_the_prediction_interval_of_a_line_is_the_classical_one():
    """Its reach is t s sqrt(1 + 1/M + (x - mean)^2 / S), as any textbook has it."""
    rng = np.random.default_rng(3)
    x, y = points("I", 20, rng)
    found, new = trend.tell(x, y, rng, draws=10), np.array([0.5, 0.8])
    line = stats.linregress(x, y)
    left = y - line.intercept - line.slope * x
    error = np.sqrt((left**2).sum() / 18 * (1 + 1 / 20 + (new - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()))
    low, high = found.predict(new)
    assert found.shape == "line"
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 18) * error)
    assert (high + low) / 2 == pytest.approx(line.intercept + line.slope * new)


@pytest.mark.parametrize("kind", ["I", "II", "III"])
def test_prediction_intervals_hold_what_they_promise(kind):
    """Of 400 new models, 95 % within 2.5 points."""
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(100):
        x, y = points(kind, 30, rng)
        new = points(kind, 4, rng)
        low, high = trend.tell(x, y, rng, draws=20).predict(new[0])
        inside += [(low <= new[1]) & (new[1] <= high)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.025)


def test_the_interval_of_the_joint_holds_it():
    """In at least 88 % of 60 simulations of a V."""
    rng = np.random.default_rng(6)
    found = [trend.tell(*points("III", 40, rng), rng, draws=200) for _ in range(60)]
    assert all(one.shape == "joined" for one in found)
    assert np.mean([one.joint_low <= 0.75 <= one.joint_high for one in found]) >= 0.88


def test_models_that_lie_far_off_are_found():
    """Two of 40 by ten times the noise, and none of 40 on a V."""
    rng = np.random.default_rng(0)
    x, y = points("I", 40, rng)
    y[[3, 17]] += [10 * NOISE, -10 * NOISE]
    assert trend.far_off(x, y).nonzero()[0].tolist() == [3, 17]
    assert not trend.far_off(*points("III", 40, rng)).any()
