import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import betainc, betaln

from ranker.statistics.posterior import PRIORS, gains, more_accurate, weigh, wins


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
    stated, right = [], []
    for accuracy, outcomes in simulated(np.random.default_rng(0), count):
        probability = more_accurate(outcomes)
        i, j = np.nonzero(probability > 0.5)
        stated.append(probability[i, j])
        right.append(accuracy[i] > accuracy[j])
    stated, right = np.concatenate(stated), np.concatenate(right)
    for low in (0.6, 0.7, 0.8, 0.9):
        inside = (stated >= low) & (stated < low + 0.1)
        assert inside.sum() > count / 2
        assert low <= right[inside].mean() <= low + 0.14


@pytest.mark.parametrize(("models", "count"), [(3, 1_000), (8, 200), (20, 60)])
def test_the_probabilities_between_close_models_are_calibrated(models, count):
    """Of the pairs given 80 to 95 % where models have 70 to 90 %, as many are right as given, to four points."""
    rng, stated, right = np.random.default_rng(0), [], []
    for _ in range(count):
        accuracy = rng.uniform(0.7, 0.9, models)
        hardness = np.sqrt(0.5) * rng.normal(size=10) + np.sqrt(0.5) * rng.normal(size=(models, 10))
        probability = more_accurate((hardness < scipy.stats.norm.ppf(accuracy)[:, None]).astype(float))
        i, j = np.nonzero((probability >= 0.8) & (probability < 0.95))
        stated.append(probability[i, j])
        right.append(accuracy[i] > accuracy[j])
    stated, right = np.concatenate(stated), np.concatenate(right)
    assert len(stated) > 200
    assert stated.mean() == pytest.approx(right.mean(), abs=0.04)


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
    """P(a better) + P(b better) = 1."""
    outcomes = (np.random.default_rng(3).random((5, 12)) < 0.7).astype(float)
    matrix = more_accurate(outcomes)
    assert matrix + matrix.T == pytest.approx(np.ones((5, 5)))


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


@settings(max_examples=60)
@given(st.tuples(st.integers(2, 5), st.integers(1, 15)).flatmap(lambda shape: arrays(bool, shape)))
def test_outcomes_that_are_right_or_wrong_are_counted(right):
    """Of 0 and 1 everything follows from counts of rows: beta distributions."""
    outcomes = right.astype(float)
    better, weights = counted(right)
    assert weigh(outcomes) == pytest.approx(weights, abs=1e-12)
    assert more_accurate(outcomes) == pytest.approx(better, abs=1e-12)
    assert gains(outcomes).tolist() == wins(outcomes).tolist() == [[(a & ~b).sum() for b in right] for a in right]


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


@pytest.mark.more
@pytest.mark.parametrize("outcomes", GRADED.values(), ids=GRADED)
def test_real_outcomes_agree_with_draws(outcomes):
    """200,000 draws of the gammas have a above b as often as computed."""
    rng, count, size = np.random.default_rng(5), 200_000, outcomes.shape[1]
    with_ones = np.vstack([outcomes, np.ones(size)])
    sampled = np.vstack([rng.standard_exponential((1_000, size)) @ with_ones.T for _ in range(count // 1_000)])
    c = rng.choice(PRIORS, size=count, p=weigh(outcomes))
    unseen = unit_of(outcomes) * (rng.standard_gamma(c) - rng.standard_gamma(c))
    probabilities = more_accurate(outcomes)
    for a in range(len(outcomes)):
        for b in range(a):
            assert probabilities[a, b] == pytest.approx((sampled[:, a] - sampled[:, b] + unseen > 0).mean(), abs=0.003)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.tuples(st.integers(2, 4), st.integers(1, 12)).flatmap(
        lambda shape: arrays(float, shape, elements=st.one_of(st.floats(0, 1), st.sampled_from([0, 1 / 3, 2 / 3, 1])))
    )
)
def test_real_outcomes_have_sound_probabilities(outcomes):
    """P(a better) + P(b better) is 1, and 1/2 of equals; good turned into bad turns all."""
    probabilities = more_accurate(outcomes)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert (probabilities + probabilities.T == 1).all()
    assert (np.diag(probabilities) == 0.5).all()
    assert more_accurate(outcomes[[0, 0]]).tolist() == [[0.5, 0.5]] * 2
    assert more_accurate(1 - outcomes) == pytest.approx(probabilities.T, abs=1e-9)
    assert more_accurate(outcomes[::-1])[::-1, ::-1] == pytest.approx(probabilities, abs=1e-11)
    assert ((wins(outcomes) > 0) == (gains(outcomes) > 1e-12)).all()


def test_the_scale_of_outcomes_makes_no_difference():
    """Marks from 0 to 1 and from 0.4 to 0.6 say the same of who is better; differences near 0 change no unit."""
    outcomes = np.random.default_rng(11).random((4, 10))
    narrow = 0.4 + 0.2 * outcomes
    assert more_accurate(narrow) == pytest.approx(more_accurate(outcomes), abs=1e-9)
    assert weigh(narrow) == pytest.approx(weigh(outcomes), abs=1e-9)
    right = np.array([[1.0, 1, 1, 0], [0, 0, 0, 1]])
    noisy = np.hstack([right, [[0.5 + 1e-7] * 50, [0.5] * 50]])
    assert more_accurate(noisy) == pytest.approx(more_accurate(right), abs=1e-4)


@pytest.mark.more
@pytest.mark.parametrize("shape", [1, 10])
def test_the_probabilities_of_real_outcomes_are_calibrated(shape):
    """Of marks on rows of some hardness, in a wide or a narrow spread, as many are right as given, or a few more."""
    rng, stated, right = np.random.default_rng(12), [], []
    for _ in range(300):
        mean = rng.uniform(0.5, 0.99, (8, 1))
        hardness = np.sqrt(0.5) * rng.normal(size=10) + np.sqrt(0.5) * rng.normal(size=(8, 10))
        marks = scipy.stats.beta.ppf(scipy.stats.norm.cdf(hardness), shape * mean, shape * (1 - mean))
        probability = more_accurate(marks)
        i, j = np.nonzero(probability > 0.5)
        stated.append(probability[i, j])
        right.append(mean[i, 0] > mean[j, 0])
    stated, right = np.concatenate(stated), np.concatenate(right)
    inside = (stated >= 0.8) & (stated < 0.9)
    assert inside.sum() > 200
    assert -0.05 < right[inside].mean() - stated[inside].mean() < 0.08


def test_rounding_of_outcomes_makes_no_difference():
    """0.1 + 0.2 is 0.3: two models that are equal but for that have 1/2, and none is ahead."""
    outcomes = np.array([[0.1 + 0.2, 0.9, 0.2], [0.3, 0.9, 0.2], [0.4, 0.9, 0.1]])
    assert more_accurate(outcomes)[0, 1] == 0.5
    assert wins(outcomes)[:2, :2].tolist() == [[0, 0], [0, 0]]
