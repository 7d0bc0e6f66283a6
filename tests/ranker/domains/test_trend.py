from collections import Counter

import numpy as np
import pytest
from scipy import stats

from ranker.domains.statistics import trend

SHAPES = {"I": (1.1, 1.1), "II": (0.4, 1.8), "III": (-0.8, 1.5), "negative": (-1.0, -1.0), "flat": (0.0, 0.0)}
"""Type -> slopes before and after the joint, as steep as those of SQuAD's models on other domains."""

NOISE = 0.02
"""Standard deviation around the line of about 100 models of SQuAD on Amazon's questions (F1)."""


FIRST, LAST = 0.54, 0.92
"""In-domain values lie between these."""


def points(kind, models, rng, noise=NOISE, joint=0.75):
    """Models with in-domain values from 0.54 to 0.92, and their values on another set."""
    before, after = SHAPES[kind]
    x = rng.uniform(FIRST, LAST, models)
    return x, 0.6 + np.where(x < joint, before, after) * (x - joint) + rng.normal(0, noise, models)


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
    fitted = trend.fit(x, y, np.ones((1, models)))
    line = stats.linregress(x, y)
    assert fitted.squares[0, 0] == pytest.approx(((y - y.mean()) ** 2).sum())
    assert fitted.slopes[0, 1] == pytest.approx([line.slope] * 2)
    assert fitted.squares[0, 1] == pytest.approx(((y - line.intercept - line.slope * x) ** 2).sum())
    left, joint = slow_joined(x, y)
    assert fitted.squares[0, 2] == pytest.approx(left)
    assert fitted.joints[0, 2] == pytest.approx(joint)


def test_weights_are_copies():
    """A model that weighs two is there twice."""
    rng = np.random.default_rng(0)
    x, y = points("III", 14, rng)
    weights = np.array([2, 1, 1, 1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 1])
    line = trend.fit(x, y, weights[None, :].astype(float))
    many = trend.fit(np.repeat(x, weights), np.repeat(y, weights), np.ones((1, weights.sum())))
    assert line.squares[0] == pytest.approx(many.squares[0])
    assert line.slopes[0] == pytest.approx(many.slopes[0])
    assert line.at(np.array(0.6))[0] == pytest.approx(many.at(np.array(0.6))[0])


def test_a_joint_by_hand():
    """A V with its turn at a model, and one whose turn is midway between two models."""
    x = np.arange(8.0)
    for joint in (3.0, 3.5):
        fitted = trend.fit(x, 2 + np.where(x < joint, -0.5, 1.0) * (x - joint), np.ones((1, 8)))
        assert fitted.joints[0, 2] == pytest.approx(joint)
        assert fitted.slopes[0, 2] == pytest.approx([-0.5, 1.0])
        assert fitted.levels[0, 2] == pytest.approx(2)
        assert fitted.squares[0, 2] == pytest.approx(0, abs=1e-12)


def test_bic_by_hand():
    """M log(squares / M) + numbers log M."""
    criterion = trend.bic(np.array([[4.0, 2.0, 1.0]]), 10)[0]
    expected = [10 * np.log(error / 10) + numbers * np.log(10) for error, numbers in ((4, 2), (2, 3), (1, 6))]
    assert criterion == pytest.approx(expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("models", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_simulated_points_are_recognised(kind, models):
    """At least 90 % of 60 simulations at the noise of SQuAD's models."""
    rng = np.random.default_rng(7)
    shapes = Counter(trend.fit_trend(*points(kind, models, rng), rng, draws=100).type for _ in range(60))
    assert shapes[kind] >= 0.9 * 60, shapes


@pytest.mark.more
def test_twelve_models_are_recognised_mostly():
    """Of 150 simulations of each type at least 85 %, but for points without any trend."""
    rng = np.random.default_rng(8)
    for kind in ("I", "II", "III", "negative"):
        shapes = Counter(trend.fit_trend(*points(kind, 12, rng), rng, draws=50).type for _ in range(150))
        assert shapes[kind] >= 0.85 * 150, (kind, shapes)


def test_what_is_between_two_types_is_not_told():
    """A first slope of nothing: rising or falling by chance, and resamples disagree."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.54, 0.92, 40)
    trends = []
    for _ in range(20):
        y = 0.6 + np.where(x < 0.75, 0.0, 1.5) * (x - 0.75) + rng.normal(0, NOISE, 40)
        trends.append(trend.fit_trend(x, y, rng, draws=200))
    assert {fitted.type for fitted in trends} == {"II", "III"}
    assert all(fitted.shares["II"] + fitted.shares["III"] > 0.95 for fitted in trends)
    assert min(max(fitted.shares.values()) for fitted in trends) < 0.7


def test_six_models_are_the_fewest():
    """Five, or one in-domain value for all, are refused."""
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at least 6 models"):
        trend.fit_trend(np.arange(5.0), np.arange(5.0), rng)
    with pytest.raises(ValueError, match="different x"):
        trend.fit_trend(np.full(9, 0.5), np.arange(9.0), rng)
    assert trend.fit_trend(np.arange(6.0), 2 * np.arange(6.0), rng).type == "I"


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
    for index in range(15):
        line = stats.linregress(np.delete(x, index), np.delete(y, index))
        errors.append(y[index] - line.intercept - line.slope * x[index])
    assert trend.fit_trend(x, y, rng, draws=10).loo[1] == pytest.approx(np.sqrt(np.mean(np.square(errors))))


def test_the_prediction_interval_of_a_line_is_the_classical_one():
    """The reach is t s sqrt(1 + 1/M + (x - mean)^2 / S), as any textbook has it."""
    rng = np.random.default_rng(3)
    x, y = points("I", 20, rng)
    fitted, new = trend.fit_trend(x, y, rng, draws=10), np.array([0.5, 0.8])
    line = stats.linregress(x, y)
    left = y - line.intercept - line.slope * x
    error = np.sqrt((left**2).sum() / 18 * (1 + 1 / 20 + (new - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()))
    low, high = fitted.predict(new)
    assert fitted.shape == "line"
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 18) * error)
    assert (high + low) / 2 == pytest.approx(line.intercept + line.slope * new)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["I", "II", "III"])
def test_prediction_intervals_hold_what_they_promise(kind):
    """Of 400 new models, 95 % within 2.5 points."""
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(100):
        x, y = points(kind, 30, rng)
        new = points(kind, 4, rng)
        low, high = trend.fit_trend(x, y, rng, draws=20).predict(new[0])
        inside += [(low <= new[1]) & (new[1] <= high)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.025)


@pytest.mark.few(1)
@pytest.mark.parametrize("place", [0.15, 0.25, 0.5, 0.75])
@pytest.mark.parametrize("models", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_the_interval_of_a_joint_holds_it(models, place):
    """Of 200 simulations of II and of III each, at least 90 % of the intervals; each contains its estimate."""
    rng = np.random.default_rng((models, round(100 * place)))
    joint, fits = FIRST + place * (LAST - FIRST), []
    for kind in ("II", "III"):
        fits += [trend.fit_trend(*points(kind, models, rng, joint=joint), rng, draws=10) for _ in range(200)]
    joined = [fit for fit in fits if fit.joint_low is not None]
    assert all(fit.joint_low <= fit.joint <= fit.joint_high for fit in joined)
    assert np.mean([fit.joint_low <= joint <= fit.joint_high for fit in joined]) >= 0.9
    assert len(joined) >= 0.5 * sum(fit.shape == "joined" for fit in fits) > 0


def test_the_interval_of_a_joint_among_many_models_contains_its_estimate():
    """100 models with a joint at 15 %, beyond which a resample of the models often has too few of them."""
    rng = np.random.default_rng(3)
    joint = FIRST + 0.15 * (LAST - FIRST)
    fits = [trend.fit_trend(*points("III", 100, rng, joint=joint), rng, draws=10) for _ in range(25)]
    assert all(fit.joint_low <= fit.joint <= fit.joint_high for fit in fits)


def slow_interval(x, y, joint):
    """The places that the F test accepts, one at a time with scipy's quantile and numpy's least squares."""
    distinct = np.unique(x)
    places = sorted({*distinct[1:-1], *((distinct[1:] + distinct[:-1]) / 2)[1:-1], joint})

    def left(place):
        design = np.column_stack([np.ones(len(x)), np.minimum(x - place, 0), np.maximum(x - place, 0)])
        return ((y - design @ np.linalg.lstsq(design, y)[0]) ** 2).sum()

    df = len(x) - 5
    accepted = [(left(place) - left(joint)) / 2 / (left(joint) / df) <= stats.f.ppf(0.95, 2, df) for place in places]
    if accepted[0] and accepted[-1]:
        return None
    low = min(x) if accepted[0] else places[accepted.index(True) - 1]
    high = max(x) if accepted[-1] else places[len(places) - accepted[::-1].index(True)]
    return low, high


@pytest.mark.parametrize("models", [6, 9, 25, 60])
def test_the_interval_of_a_joint_is_that_of_a_plain_search(models):
    """Of points on a V, on one line, and with equal x; where the search tells none, there is none."""
    for seed in range(12):
        rng = np.random.default_rng((models, seed))
        x, y = points(("III", "II", "I")[seed % 3], models, rng)
        x = x if seed % 2 else np.round(x, 2)
        fits = trend.fit(x, y, np.ones((1, models)))
        if np.isfinite(fits.squares[0, 2]):
            joint = float(fits.joints[0, 2])
            slow = slow_interval(x, y, joint)
            assert trend.joint_interval(x, y, joint) == (slow if slow is None else pytest.approx(slow))


def test_the_interval_of_a_joint_without_noise_ends_at_the_next_places():
    """A V through eight models, which turns at a model or midway between two."""
    x = np.arange(8.0)
    for joint in (3.0, 3.5):
        low, high = trend.joint_interval(x, 2 + np.where(x < joint, -0.5, 1.0) * (x - joint), joint)
        assert (low, high) == (joint - 0.5, joint + 0.5)


def test_a_joint_that_may_be_at_an_end_has_an_interval_that_ends_there():
    """Of twelve models with two before the joint: the more noise, the further the interval reaches, until none is."""
    rng = np.random.default_rng(0)
    x, noise = np.linspace(FIRST, LAST, 12), rng.normal(0, NOISE, 12)
    y = 0.6 + np.where(x < 0.6, 0.4, 1.8) * (x - 0.6)
    interval, reaching = trend.joint_interval(x, y + noise / 5, 0.6), trend.joint_interval(x, y + noise / 2, 0.6)
    assert interval == pytest.approx((0.5745, 0.6264), abs=1e-4)
    assert reaching == pytest.approx((FIRST, 0.6609), abs=1e-4)
    assert trend.joint_interval(-x, y + noise / 2, -0.6) == pytest.approx((-reaching[1], -FIRST))
    assert trend.joint_interval(x, y + noise, 0.6) is None


def test_many_models_have_an_interval_around_their_joint():
    """Of 500 models some places alone are tried, and the joint is one of them."""
    rng = np.random.default_rng(1)
    x, y = points("III", 500, rng)
    fitted = trend.fit_trend(x, y, rng, draws=5)
    assert fitted.joint_low < fitted.joint < fitted.joint_high
    assert fitted.joint_high - fitted.joint_low < 0.02


def test_models_that_lie_far_off_are_found():
    """Two of 40 by ten times the noise, and none of 40 on a V."""
    rng = np.random.default_rng(0)
    x, y = points("I", 40, rng)
    y[[3, 17]] += [10 * NOISE, -10 * NOISE]
    assert trend.far_off(x, y).nonzero()[0].tolist() == [3, 17]
    assert not trend.far_off(*points("III", 40, rng)).any()
