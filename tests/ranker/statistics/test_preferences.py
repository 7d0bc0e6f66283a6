"""Bradley and Terry's model with ties, sides and verdicts: strengths, win rates, and how far they are known."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from ranker.statistics.preferences import Preferences, draw, gains, infer, parts, win_rates, worth


def some_votes(seed, count=60, models=4, side=0.0, judge=None, raters=1, strength=1.0):
    """Votes on random pairs by true strengths, on rows of their own, and the strengths."""
    rng = np.random.default_rng(seed)
    strengths = strength * rng.normal(0, 1, models)
    pairs = np.array([rng.choice(models, 2, replace=False) for _ in range(count)])
    stands = rng.choice([-1.0, 1.0], count)
    logits = strengths[pairs[:, 0]] - strengths[pairs[:, 1]] + side * stands
    chances = 1 / (1 + np.exp(-logits))
    row_chances = np.where(rng.random(count) < chances, 0.9, 0.1) if raters > 1 else chances
    votes = (rng.random((raters, count)) < row_chances).mean(axis=0)
    verdicts = np.zeros((0, count))
    if judge is not None:
        verdicts = np.where(rng.random(count) < 1 / (1 + np.exp(-judge * logits)), 1.0, -1.0)[None]
    counts = np.full(count, float(raters))
    return Preferences(models, np.arange(count), *pairs.T, votes, counts, stands, verdicts), strengths


def by_minimizing(votes, sd):
    """The mode of the strengths, from the log of likelihood and prior written out vote by vote."""

    def loss(strengths):
        total = (strengths**2).sum() / (2 * sd**2)
        for first, second, value in zip(votes.first, votes.second, votes.value, strict=True):
            chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
            total -= value * np.log(chance) + (1 - value) * np.log(1 - chance)
        return total

    return minimize(loss, np.zeros(votes.models), method="BFGS", options={"gtol": 1e-9}).x


@pytest.mark.parametrize("sd", [0.6, 100.0])
def test_strengths_are_those_of_a_plain_likelihood(sd):
    """With ties as one half; sides are as good as unknown where none is stated."""
    votes_without, _ = some_votes(0)
    value = np.where(np.arange(len(votes_without.value)) % 7 == 0, 0.5, votes_without.value)
    votes = Preferences.of(votes_without.models, votes_without.first, votes_without.second, value)
    assert infer(votes, [sd]).expected[-votes_without.models :] == pytest.approx(by_minimizing(votes, sd), abs=1e-5)


def test_the_spread_is_that_of_the_curvature():
    """The inverse of the second derivatives of the log posterior, by differences."""
    few_votes, _ = some_votes(1, models=3)
    votes = Preferences.of(3, few_votes.first, few_votes.second, few_votes.value)
    inferred = infer(votes, [1.0])
    mode, step = inferred.means[0], 1e-4

    def log_posterior(coefficients):
        logits = votes.inputs @ coefficients
        prior = (coefficients[1:] ** 2).sum() / 2 + coefficients[0] ** 2 / (2 * 0.5**2)  # length, strengths; side
        return (votes.value * logits - np.logaddexp(0, logits)).sum() - prior

    hessian = np.zeros((5, 5))
    for i, a in enumerate(step * np.eye(5)):
        for j, b in enumerate(step * np.eye(5)):
            corners = [log_posterior(mode + s * a + t * b) * s * t for s in (1, -1) for t in (1, -1)]
            hessian[i, j] = sum(corners) / (4 * step**2)
    assert inferred.covariances[0] == pytest.approx(np.linalg.inv(-hessian), abs=1e-4)


@pytest.mark.more
@pytest.mark.parametrize("judge", [None, 1.5])
def test_probabilities_keep_their_word(judge):
    """P(a before b) given 75 to 95 is right in as many cases, with a judge and without, by true mean win rates."""
    stated, right = [], []
    for seed in range(120):
        votes, strengths = some_votes(seed, count=30, judge=judge, strength=0.5)
        rates = 1 / (1 + np.exp(strengths - strengths[:, None]))
        truth = rates.sum(axis=1)
        beats = draw(votes, np.random.default_rng(seed), 800).beats()
        first, second = np.triu_indices(4, 1)
        lead = truth[first] > truth[second]
        stated += np.where(lead, beats[first, second], 1 - beats[first, second]).tolist()
    sure = np.maximum(stated, 1 - np.array(stated))
    right = np.array(stated) > 0.5
    inside = (sure > 0.75) & (sure < 0.95)
    assert inside.sum() > 100
    assert abs(right[inside].mean() - sure[inside].mean()) < 0.08


def test_the_side_is_taken_out():
    """Where both orders occur; models that always stood first gain nothing by it."""
    votes, _ = some_votes(3, count=2000, side=0.8, strength=0.3)
    rates = win_rates(votes, np.random.default_rng(0), 2000)
    chance = 1 / (1 + np.exp(-0.8))
    assert rates.side[1] < chance < rates.side[2]
    assert abs(rates.side[0] - chance) < 0.03
    fixed = Preferences.of(votes.models, votes.first, votes.second, votes.value)
    assert not fixed.sides_vary
    assert np.isnan(win_rates(fixed, np.random.default_rng(0), 500).side).all()


def test_votes_on_one_row_are_not_as_many_rows():
    """Three raters who agree tell hardly more than one; three rows tell more."""
    votes, _ = some_votes(4, count=40, raters=3)
    assert 0.5 < votes.correlation <= 1
    assert votes.weights.max() < 2
    assert Preferences.of(2, [0, 0], [1, 1], [1.0, 0.0]).weights.tolist() == [1.0, 1.0]
    split = Preferences(2, np.zeros(2, int), np.array([0, 0]), np.array([1, 1]), np.array([1.0, 1.0]), np.ones(2),
                        np.array([1.0, -1.0]), np.zeros((0, 2)))  # fmt: skip
    assert split.weights.sum() < 2  # one row, seen in both orders


def test_a_judge_is_worth_votes_as_far_as_it_agrees():
    """A good one much, one of noise next to nothing; its verdicts also count where nobody voted."""
    good, strengths = some_votes(5, count=300, judge=3.0)
    few = np.where(np.arange(300) < 15, good.votes, 0.0)
    value = np.where(few > 0, good.value, np.nan)
    preferences = Preferences(4, good.row, good.first, good.second, value, few, good.side, good.verdicts)
    rng = np.random.default_rng(0)
    noise = Preferences(4, good.row, good.first, good.second, value, few, good.side, rng.choice([-1.0, 1.0], (1, 300)))
    assert worth(preferences, 0) > 2 * worth(noise, 0)
    score = draw(preferences, rng, 2000).score
    assert np.argsort(score).tolist() == np.argsort(strengths).tolist()


def test_models_that_never_met_are_compared_through_others():
    """And not at all where nothing connects them."""
    votes = Preferences.of(3, [0] * 8 + [1] * 8, [1] * 8 + [2] * 8, [1.0] * 16)
    assert draw(votes, np.random.default_rng(0), 2000).beats()[0, 2] > 0.95
    assert parts(Preferences.of(4, [0, 2], [1, 3], [1.0, 1.0])) == [[0, 1], [2, 3]]


def test_nothing_depends_on_the_order_of_models_or_votes():
    """Strengths and win rates are the same by name."""
    votes, _ = some_votes(6)
    shuffled = np.random.default_rng(1).permutation(len(votes.value))
    places = np.array([2, 0, 3, 1])
    reordered = Preferences.of(4, places[votes.first[shuffled]], places[votes.second[shuffled]], votes.value[shuffled])
    plain = Preferences.of(4, votes.first, votes.second, votes.value)
    assert infer(reordered).expected[2:][places] == pytest.approx(infer(plain).expected[2:], abs=1e-8)


def test_what_is_no_vote_is_refused():
    """A model against itself, one model, arrays of other lengths."""
    with pytest.raises(ValueError, match="itself"):
        Preferences.of(2, [0], [0], [1.0])
    with pytest.raises(ValueError, match="two models or more"):
        Preferences.of(1, [0], [1], [1.0])
    with pytest.raises(ValueError, match="shapes"):
        Preferences.of(2, [0], [1], [1.0, 0.0])


def test_the_length_is_taken_out():
    """Where longer answers are preferred, the model that writes them is no better at equal length."""
    rng, count = np.random.default_rng(5), 1500
    first, second = np.array([rng.choice(3, 2, replace=False) for _ in range(count)]).T
    strengths, wordy = np.array([0.6, 0.0, -0.6]), np.array([-1.0, 0.0, 1.5])
    longer = np.tanh(wordy[first] - wordy[second] + rng.normal(0, 0.7, count))
    chance = 1 / (1 + np.exp(-(strengths[first] - strengths[second] + 1.5 * longer)))
    value = (rng.random(count) < chance).astype(float)
    plain = Preferences.joined(3, np.arange(count), first, second, value)
    controlled = Preferences.joined(3, np.arange(count), first, second, value, length=longer)
    rates = win_rates(controlled, np.random.default_rng(0), 500)
    assert draw(plain, np.random.default_rng(0), 500).score.argmax() == 2
    assert rates.belief.order.tolist() == [0, 1, 2]
    truth = 1 / (1 + np.exp(-1.5 * np.tanh(1)))
    assert rates.length[1] < truth < rates.length[2]
    assert np.isnan(win_rates(plain, np.random.default_rng(0), 500).length).all()
    turned = Preferences.joined(3, np.arange(count), second, first, 1 - value, length=-longer)
    assert infer(turned).expected[-3:] == pytest.approx(infer(controlled).expected[-3:], abs=1e-8)


def test_worth_is_that_of_many_draws():
    """Variances of the differences of win rates, by the draws, which are of the same posterior."""
    rng = np.random.default_rng(11)
    votes, _ = some_votes(6, count=120, models=3)
    judge = np.where(votes.value == 0.5, 0.0, 2 * votes.value - 1)
    judge = np.where(rng.random(120) < 0.3, -judge, judge)
    preferences = Preferences(
        3, *(getattr(votes, name) for name in ("row", "first", "second", "value", "votes", "side")), judge[None]
    )

    def spread(part):
        values = draw(part, np.random.default_rng(0), 100_000).values
        return np.mean([np.var(values[:, a] - values[:, b]) for a, b in combinations(range(3), 2)])

    expected = 120 * (spread(preferences.without_judges()) / spread(preferences) - 1)
    assert expected > 5
    assert worth(preferences, 0) == pytest.approx(expected, rel=0.25)


def test_the_gain_of_a_vote_is_that_of_the_covariance_after_it():
    """By the inverse of the precision with one more vote, for each pair of models; decided pairs count little."""
    judge = np.random.default_rng(2).choice([-1.0, 0.0, 1.0], 40)
    votes, _ = some_votes(4, count=40, models=3)
    votes = Preferences(
        3, *(getattr(votes, name) for name in ("row", "first", "second", "value", "votes", "side")), judge[None]
    )
    gains_found, posterior = gains(votes, votes), infer(votes)
    mean, normals = posterior.expected, zip(posterior.weights, posterior.means, posterior.covariances, strict=True)
    before = sum(w * (c + np.outer(m - mean, m - mean)) for w, m, c in normals)
    judge_means = [np.mean([*judge[votes.first == m], *-judge[votes.second == m]]) for m in range(3)]
    for unit in (0, 7, 23):
        x = np.array([judge[unit], 0, 0, *(np.eye(3)[votes.first[unit]] - np.eye(3)[votes.second[unit]])])
        chance = 1 / (1 + np.exp(-x @ mean))
        after = np.linalg.inv(np.linalg.inv(before) + chance * (1 - chance) * np.outer(x, x))
        total = 0.0
        for a, b in combinations(range(3), 2):
            difference = np.array([judge_means[a] - judge_means[b], 0, 0, *(1.5 * (np.eye(3)[a] - np.eye(3)[b]))])
            v, v_after = difference @ before @ difference, difference @ after @ difference
            total += (v - v_after) / v * np.exp(-((difference @ mean) ** 2) / (2 * v))
        assert gains_found[unit] == pytest.approx(total, rel=1e-6)
