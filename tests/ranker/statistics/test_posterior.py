import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import betainc, betaln

from ranker.statistics import posterior
from ranker.statistics.posterior import (
    CHUNK,
    NEAR,
    PRIORS,
    STICKS,
    best,
    draw_mean_outcomes,
    gains,
    intervals_of_accuracy,
    more_accurate,
    outlook,
    weigh,
    wins,
)


@pytest.fixture
def uniform(monkeypatch):
    """It is known that c = 1."""
    monkeypatch.setattr("ranker.statistics.posterior.PRIORS", np.ones(1))


def unit_of(outcomes):
    """How large differences are, pair by pair and row by row."""
    sizes = [abs(a - b) for row in outcomes.T for a in row for b in row]
    return sum(size**2 for size in sizes) / sum(sizes)


def disagreeing(wins, losses, size):
    """(2, K) outcomes of a model that so often is right where another is wrong, and the other way round."""
    row = np.arange(size)
    return np.stack([row < wins, (row >= wins) & (row < wins + losses)]).astype(float)


def simulated(rng, count, models=8, size=10):
    """Models of true accuracies between 50 and 99 %, and who is right on which of 10 rows; rows differ in hardness."""
    for _ in range(count):
        accuracy = rng.uniform(0.5, 0.99, models)
        hardness = np.sqrt(0.5) * rng.normal(size=size) + np.sqrt(0.5) * rng.normal(size=(models, size))
        yield accuracy, (hardness < scipy.stats.norm.ppf(accuracy)[:, None]).astype(float)


@pytest.mark.parametrize("count", [1_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_the_probabilities_are_calibrated(count):
    """Of the pairs given 80 to 90 %, 80 to 90 % are right, or a little more; the same goes for the other tenths. These
    models are 49 points apart, more than the prior expects."""
    given, right = [], []
    for accuracy, outcomes in simulated(np.random.default_rng(0), count):
        probability = more_accurate(outcomes)
        i, j = np.nonzero(probability > 0.5)
        given.append(probability[i, j])
        right.append(accuracy[i] > accuracy[j])
    given, right = np.concatenate(given), np.concatenate(right)
    for low in (0.6, 0.7, 0.8, 0.9):
        inside = (given >= low) & (given < low + 0.1)
        assert inside.sum() > count / 2
        assert low <= right[inside].mean() <= low + 0.14


@pytest.mark.parametrize(("models", "count"), [(3, 1_000), (8, 200), (20, 60)])
def test_the_probabilities_between_close_models_are_calibrated(models, count):
    """Of the pairs given 80 to 95 % where models have 70 to 90 %, as many are right as given, to four points."""
    rng, given, right = np.random.default_rng(0), [], []
    for _ in range(count):
        accuracy = rng.uniform(0.7, 0.9, models)
        hardness = np.sqrt(0.5) * rng.normal(size=10) + np.sqrt(0.5) * rng.normal(size=(models, 10))
        probability = more_accurate((hardness < scipy.stats.norm.ppf(accuracy)[:, None]).astype(float))
        i, j = np.nonzero((probability >= 0.8) & (probability < 0.95))
        given.append(probability[i, j])
        right.append(accuracy[i] > accuracy[j])
    given, right = np.concatenate(given), np.concatenate(right)
    assert len(given) > 200
    assert given.mean() == pytest.approx(right.mean(), abs=0.04)


@pytest.mark.parametrize(("count", "off"), [(200, 0.07), pytest.param(4_000, 0.02, marks=pytest.mark.slow)])
def test_the_probability_of_being_best_is_calibrated(count, off):
    """Over many suites, the models are best as often as they were given, or a little more."""
    given, truly = [], []
    for accuracy, outcomes in simulated(np.random.default_rng(1), count):
        probability, *_ = best(outcomes, np.random.default_rng(2), samples=500)
        given.append(probability.max())
        truly.append(accuracy.argmax() == probability.argmax())
    assert -off <= np.mean(truly) - np.mean(given) <= 0.12


def test_the_intervals_of_accuracies_cover():
    """Of the 95 % intervals from ten rows, 93 to 97 % hold the model's accuracy in the domain."""
    inside = []
    for accuracy, outcomes in simulated(np.random.default_rng(10), 1_000):
        low, high = intervals_of_accuracy(outcomes)
        inside.append((low <= accuracy) & (accuracy <= high))
    assert 0.93 <= np.mean(inside) <= 0.97


def test_suites_of_close_models_get_more_cautious_probabilities():
    """Where no model is much better, disagreements go either way, and a lead of two rows convinces less."""
    rng = np.random.default_rng(8)
    nested = np.arange(20) < np.array([20, 18, 14, 10])[:, None]
    level = rng.random((4, 20)) < 0.8
    for outcomes in (nested, level):
        outcomes[:2, :2] = [[True, True], [False, False]]
        outcomes[:2, 2:] = True
    nested, level = nested.astype(float), level.astype(float)
    assert more_accurate(nested)[0, 1] > more_accurate(level)[0, 1] > 0.5


def test_the_weights_of_the_priors_are_their_likelihoods():
    """Each c weighs as the product over pairs of P(these disagreements), by numerical integration, to the 2 / M."""
    outcomes = np.random.default_rng(9).random((3, 8)) < 0.6
    weights = []
    for c in PRIORS:
        likelihood = 1.0
        for a in range(3):
            for b in range(a + 1, 3):
                won, lost = (outcomes[a] & ~outcomes[b]).sum(), (outcomes[b] & ~outcomes[a]).sum()
                # of a share x, which is Beta(c, c): E[x^won (1 - x)^lost], by a sum over its quantiles
                x = scipy.stats.beta.ppf((np.arange(20_000) + 0.5) / 20_000, c, c)
                likelihood *= np.mean(x**won * (1 - x) ** lost)
        weights.append(likelihood ** (2 / 3))
    assert weigh(outcomes.astype(float)) == pytest.approx(np.array(weights) / sum(weights), rel=0.01)


def test_rows_that_both_have_right_say_nothing_about_the_pair():
    """Only disagreements count, and none at all leaves 1/2."""
    few = np.array([[1.0, 1.0], [0.0, 0.0]])
    many = np.hstack([few, np.ones((2, 50))])
    assert more_accurate(few)[0, 1] == pytest.approx(more_accurate(many)[0, 1])
    assert more_accurate(np.ones((2, 9)))[0, 1] == 0.5


def test_probabilities_of_a_pair_add_up():
    """P(a better) + P(b better) = 1, and P(best) of two models is P(a better)."""
    outcomes = (np.random.default_rng(3).random((5, 12)) < 0.7).astype(float)
    matrix = more_accurate(outcomes)
    assert matrix + matrix.T == pytest.approx(np.ones((5, 5)))
    assert best(outcomes, np.random.default_rng(0))[0].sum() == pytest.approx(1)
    two, *_ = best(outcomes[:2], np.random.default_rng(0))
    assert two[0] == pytest.approx(more_accurate(outcomes[:2])[0, 1], abs=0.012)


@pytest.mark.parametrize("c", [PRIORS[0], PRIORS[-1]])
def test_the_best_are_drawn_from_the_prior_that_the_pairs_are_weighed_by(monkeypatch, c):
    """Where one wins nearly all disagreements and where both win some, P(best) of two is P(a better)."""
    monkeypatch.setattr("ranker.statistics.posterior.PRIORS", np.array([c]))
    outcomes = np.array([[1.0, 1, 1, 0, 1], [0, 0, 1, 1, 1]])
    assert best(outcomes, np.random.default_rng(0))[0][0] == pytest.approx(more_accurate(outcomes)[0, 1], abs=0.012)


@pytest.mark.parametrize("seed", range(5))
def test_models_that_are_right_on_the_same_rows_share_the_first_place_alike(seed):
    """No row tells them apart, and neither do the draws; others keep what is theirs."""
    outcomes = (np.random.default_rng(3).random((5, 12)) < 0.7).astype(float)
    outcomes[3] = outcomes[1]
    found, near, _ = best(outcomes, np.random.default_rng(seed), samples=500)
    assert found[1] == found[3]
    assert near[1] == near[3]
    assert len(set(found)) == 4
    assert found.sum() == pytest.approx(1)
    three, near, _ = best(outcomes[[0, 0, 0]], np.random.default_rng(seed), samples=500)
    assert three == pytest.approx(np.full(3, 1 / 3))
    assert (near == near[0]).all()
    assert near[0] > 1 / 3


def counted(outcomes):
    """The formulas for right and wrong, pair by pair: (M, M) P(better), (3,) weights of c."""
    models = len(outcomes)
    won = [[int(sum(x and not y for x, y in zip(a, b, strict=True))) for b in outcomes] for a in outcomes]
    likelihood = np.zeros(len(PRIORS))
    for a in range(models):
        for b in range(a):
            likelihood += [betaln(won[a][b] + c, won[b][a] + c) - betaln(c, c) for c in PRIORS]
    weights = np.exp(2 / models * (likelihood - likelihood.max()))
    weights /= weights.sum()
    better = [
        [np.dot(weights, [betainc(won[b][a] + c, won[a][b] + c, 0.5) for c in PRIORS]) for b in range(models)]
        for a in range(models)
    ]
    return np.array(better), weights


def drawn_best(outcomes, rng, samples):
    """P(best) for right and wrong, as it was drawn before outcomes were real numbers."""
    models, size = outcomes.shape
    weights, count = weigh(outcomes), np.zeros(models)
    for _ in range(samples // CHUNK):
        mass = 4 * rng.choice(PRIORS, size=(CHUNK, 1), p=weights)
        seen = rng.standard_exponential((CHUNK, size))
        broken = rng.beta(1.0, mass, (CHUNK, STICKS))
        left = np.cumprod(np.column_stack([np.ones(CHUNK), 1 - broken[:, :-1]]), axis=1)
        types = rng.integers(2, size=(CHUNK, STICKS, models)).astype(np.float64)
        unseen = np.matmul((broken * left)[:, None], types)[:, 0]
        rest = 0.5 + rng.standard_normal((CHUNK, models)) / (2 * np.sqrt(mass + 1))
        unseen += (left * (1 - broken))[:, -1:] * np.clip(rest, 0, 1)
        accuracy = seen @ outcomes.T + rng.standard_gamma(mass) * unseen
        first = accuracy == accuracy.max(axis=1, keepdims=True)
        count += (first / first.sum(axis=1, keepdims=True)).sum(axis=0)
    _, alike, many = np.unique(outcomes, axis=0, return_inverse=True, return_counts=True)
    alike = alike.reshape(-1)
    return (np.bincount(alike, weights=count) / many)[alike] / samples


def drawn_near(outcomes, rng, samples, near):
    """How often no other mean outcome is higher by more than `near`: draw by draw, means worked out in full."""
    models, size = outcomes.shape
    weights, close = weigh(outcomes), np.zeros(models)
    for _ in range(samples):
        mass = 4 * rng.choice(PRIORS, p=weights)
        seen, total = rng.standard_exponential(size), rng.standard_gamma(mass)
        broken = rng.beta(1.0, mass, 2_000)
        share = broken * np.cumprod([1.0, *(1 - broken[:-1])])
        mean = (outcomes @ seen + total * share @ rng.integers(2, size=(2_000, models))) / (seen.sum() + total)
        close += mean >= mean.max() - near
    return close / samples


@pytest.mark.parametrize("near", [0.0, NEAR, 0.1, 1.0])
def test_the_probability_of_being_near_the_best_is_that_of_means_drawn_in_full(near):
    """Within no point, one, ten and a hundred of the best; a hundred is everybody."""
    outcomes = (np.random.default_rng(8).random((4, 10)) < [[0.9], [0.8], [0.7], [0.5]]).astype(float)
    first, found, _ = best(outcomes, np.random.default_rng(0), samples=5_000, near=near)
    assert found == pytest.approx(drawn_near(outcomes, np.random.default_rng(1), 1_500, near), abs=0.05)
    assert (found >= first - 1e-12).all()
    assert (found == 1).all() == (near == 1)


@settings(max_examples=60, deadline=None)
@given(st.tuples(st.integers(2, 5), st.integers(1, 15)).flatmap(lambda shape: arrays(bool, shape)), st.integers(0, 99))
def test_outcomes_that_are_right_or_wrong_are_counted(right, seed):
    """Of 0 and 1 everything follows from counts of rows: beta distributions, and the same draws, bit by bit."""
    outcomes = right.astype(float)
    better, weights = counted(right)
    assert weigh(outcomes) == pytest.approx(weights, abs=1e-12)
    assert more_accurate(outcomes) == pytest.approx(better, abs=1e-12)
    assert gains(outcomes).tolist() == wins(outcomes).tolist() == [[(a & ~b).sum() for b in right] for a in right]
    hits = right.sum(axis=1)
    ends = scipy.stats.beta.interval(0.95, hits + 1, right.shape[1] - hits + 1)
    assert np.array(intervals_of_accuracy(outcomes)) == pytest.approx(np.array(ends), abs=1e-12)
    drawn = drawn_best(right, np.random.default_rng(seed), 1_000)
    assert best(outcomes, np.random.default_rng(seed), samples=1_000)[0].tolist() == drawn.tolist()


GRADED = {
    # name -> (M, K) outcomes that are real numbers
    "even": np.random.default_rng(0).random((3, 12)),
    "the mean of three tries": np.random.default_rng(1).binomial(3, 0.7, (3, 20)) / 3,
    "a single row": np.array([[0.7], [0.6], [0.0]]),
    "one tiny difference": np.array([[0.5 + 1e-6, 1, 0], [0.5, 1, 0]]),
    "all sizes": 10.0 ** -np.random.default_rng(2).uniform(0, 6, (4, 15)),
    "600 close rows": np.random.default_rng(3).normal([[0.5], [0.502]], 0.03, (2, 600)),
    "a small lead beside great ones": np.array([[0.52, 0, 0.1], [0.5, 1, 0.9]]),
}


@pytest.mark.parametrize("outcomes", GRADED.values(), ids=GRADED)
def test_real_outcomes_agree_with_draws(outcomes):
    """200,000 draws of the gammas have a above b as often as computed, and a mean below an end in 2.5 % of cases."""
    rng, count, size = np.random.default_rng(5), 200_000, outcomes.shape[1]
    known = np.vstack([outcomes, np.ones(size)])
    seen = np.vstack([rng.standard_exponential((1_000, size)) @ known.T for _ in range(count // 1_000)])
    c = rng.choice(PRIORS, size=count, p=weigh(outcomes))
    unseen = unit_of(outcomes) * (rng.standard_gamma(c) - rng.standard_gamma(c))
    found = more_accurate(outcomes)
    for a in range(len(outcomes)):
        for b in range(a):
            assert found[a, b] == pytest.approx((seen[:, a] - seen[:, b] + unseen > 0).mean(), abs=0.003)
    right, wrong = rng.standard_exponential((2, count, 1))
    means = (seen[:, :-1] + right) / (seen[:, -1:] + right + wrong)
    low, high = intervals_of_accuracy(outcomes)
    assert (means < low).mean(axis=0) == pytest.approx(0.025, abs=0.003)
    assert (means < high).mean(axis=0) == pytest.approx(0.975, abs=0.003)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(2, 4), st.integers(1, 12)).flatmap(
        lambda shape: arrays(float, shape, elements=st.one_of(st.floats(0, 1), st.sampled_from([0, 1 / 3, 2 / 3, 1])))
    )
)
def test_real_outcomes_have_sound_probabilities(outcomes):
    """P(a better) + P(b better) is 1, and 1/2 of equals; good turned into bad turns all; ends hold the mean."""
    found = more_accurate(outcomes)
    assert ((found >= 0) & (found <= 1)).all()
    assert (found + found.T == 1).all()
    assert (np.diag(found) == 0.5).all()
    assert more_accurate(outcomes[[0, 0]]).tolist() == [[0.5, 0.5]] * 2
    assert more_accurate(1 - outcomes) == pytest.approx(found.T, abs=1e-9)
    assert more_accurate(outcomes[::-1])[::-1, ::-1] == pytest.approx(found, abs=1e-11)
    low, high = intervals_of_accuracy(outcomes)
    assert ((low > 0) & (low < high) & (high < 1)).all()
    mirrored = intervals_of_accuracy(1 - outcomes)
    assert mirrored[0] == pytest.approx(1 - high, abs=1e-11)
    assert mirrored[1] == pytest.approx(1 - low, abs=1e-11)
    assert ((wins(outcomes) > 0) == (gains(outcomes) > 1e-12)).all()


def test_the_scale_of_outcomes_makes_no_difference():
    """Marks from 0 to 1 and from 0.4 to 0.6 say the same of who is better; differences near 0 change no unit."""
    outcomes = np.random.default_rng(11).random((4, 10))
    narrow = 0.4 + 0.2 * outcomes
    assert more_accurate(narrow) == pytest.approx(more_accurate(outcomes), abs=1e-9)
    assert weigh(narrow) == pytest.approx(weigh(outcomes), abs=1e-9)
    chances, near, _ = best(outcomes, np.random.default_rng(0), samples=500)
    nearer = best(narrow, np.random.default_rng(0), samples=500, near=0.2 * NEAR)  # a point is one of the same scale
    assert nearer[0].tolist() == chances.tolist()
    assert nearer[1].tolist() == near.tolist()
    right = np.array([[1.0, 1, 1, 0], [0, 0, 0, 1]])
    noisy = np.hstack([right, [[0.5 + 1e-7] * 50, [0.5] * 50]])
    assert more_accurate(noisy) == pytest.approx(more_accurate(right), abs=1e-4)


@pytest.mark.parametrize("shape", [1, 10])
def test_the_probabilities_of_real_outcomes_are_calibrated(shape):
    """Of marks on rows of some hardness, in a wide or a narrow spread, as many are right as given, or a few more."""
    rng, given, right = np.random.default_rng(12), [], []
    for _ in range(300):
        mean = rng.uniform(0.5, 0.99, (8, 1))
        hardness = np.sqrt(0.5) * rng.normal(size=10) + np.sqrt(0.5) * rng.normal(size=(8, 10))
        marks = scipy.stats.beta.ppf(scipy.stats.norm.cdf(hardness), shape * mean, shape * (1 - mean))
        probability = more_accurate(marks)
        i, j = np.nonzero(probability > 0.5)
        given.append(probability[i, j])
        right.append(mean[i, 0] > mean[j, 0])
    given, right = np.concatenate(given), np.concatenate(right)
    inside = (given >= 0.8) & (given < 0.9)
    assert inside.sum() > 200
    assert -0.05 < right[inside].mean() - given[inside].mean() < 0.08


def test_rounding_of_outcomes_makes_no_difference():
    """0.1 + 0.2 is 0.3: two models that are equal but for that have 1/2, and the same P(best); none is ahead."""
    outcomes = np.array([[0.1 + 0.2, 0.9, 0.2], [0.3, 0.9, 0.2], [0.4, 0.9, 0.1]])
    assert more_accurate(outcomes)[0, 1] == 0.5
    chances, *_ = best(outcomes, np.random.default_rng(0), samples=500)
    assert chances[0] == chances[1]
    assert wins(outcomes)[:2, :2].tolist() == [[0, 0], [0, 0]]


def test_the_best_of_two_real_models_is_the_better_one():
    """The draws behind P(best) and the integral behind P(a better) are of one posterior."""
    outcomes = np.random.default_rng(6).random((2, 8))
    chances, *_ = best(outcomes, np.random.default_rng(0))
    assert chances[0] == pytest.approx(more_accurate(outcomes)[0, 1], abs=0.012)


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.25, 1.0)])
def test_many_rows_of_one_kind_are_drawn_together(values):
    """Beyond `CHUNK` rows the law is the same: means and covariances are those of rows that are drawn one by one, and
    of a prior of the rows that is likely for such models, half of them right."""
    outcomes = np.random.default_rng(0).choice(values, (3, posterior.CHUNK + 100))
    found = posterior.draw_mean_outcomes(outcomes, np.random.default_rng(1))
    rng, size = np.random.default_rng(2), outcomes.shape[1]
    mass = 4 * rng.choice(PRIORS, size=(4_000, 1), p=weigh(outcomes))
    weights, half = rng.standard_exponential((4_000, size)), 0.5 + rng.normal(0, 0.5, (4_000, 3)) / np.sqrt(mass + 1)
    total = weights.sum(axis=1, keepdims=True) + mass
    expected = (weights @ outcomes.T + unit_of(outcomes) * mass * half) / total
    assert found.mean(axis=0) == pytest.approx(expected.mean(axis=0), abs=0.003)
    assert np.cov(found.T) == pytest.approx(np.cov(expected.T), rel=0.15, abs=3e-5)
    assert posterior.best(outcomes, np.random.default_rng(1))[0].sum() == pytest.approx(1)


def test_of_many_models_few_draws_are_held_at_once(monkeypatch):
    """How many row types are drawn from the prior at once changes no draw."""
    outcomes = np.random.default_rng(0).integers(2, size=(9, 12)).astype(float)
    found = posterior.draw_mean_outcomes(outcomes, np.random.default_rng(1), CHUNK)
    monkeypatch.setattr(posterior, "TYPES", 3 * STICKS * 9)
    assert posterior.draw_mean_outcomes(outcomes, np.random.default_rng(1), CHUNK) == pytest.approx(found, abs=1e-12)


def test_the_outlook_is_that_of_the_beta_distribution():
    """Of one model it is its mean and variance, and a label raises the precision by 1 of the rows and the prior's."""
    outcomes = np.array([[1.0] * 7 + [0.0] * 3, [0.0] * 10])
    now = outlook(outcomes, np.random.default_rng(0))
    drawn = draw_mean_outcomes(outcomes, np.random.default_rng(1))
    assert now.mean == pytest.approx(drawn.mean(axis=0), abs=0.01)
    assert now.reducible == pytest.approx(np.cov(drawn.T), abs=0.001)
    assert (now.lasting == 0).all()
    assert 1 / now.gain == pytest.approx(10 + 4 * weigh(outcomes) @ PRIORS)


def test_models_are_equal_as_often_as_they_are_drawn_near_the_first():
    """The first is so always; of the others it is the share of draws within the margin."""
    outcomes = np.array([[1.0] * 30, [1.0] * 29 + [0.0], [0.0] * 30])
    equal = best(outcomes, np.random.default_rng(0), near=0.1)[2]
    drawn = draw_mean_outcomes(outcomes, np.random.default_rng(1))
    assert equal[0] == 1
    assert equal == pytest.approx((np.abs(drawn - drawn[:, :1]) <= 0.1).mean(axis=0), abs=0.015)
