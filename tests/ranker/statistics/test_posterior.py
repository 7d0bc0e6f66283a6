import numpy as np
import pytest
import scipy.stats

from ranker.statistics.posterior import PRIORS, best, intervals_of_accuracy, more_accurate, more_labels, weigh, wins

UNIFORM = np.array(PRIORS == 1, dtype=np.float64)
"""The weights of the priors where it is known that c = 1."""


def simulated(rng, count, models=8, size=10):
    """Models of true accuracies between 50 and 99 %, and who is right on which of 10 rows; rows differ in hardness."""
    for _ in range(count):
        accuracy = rng.uniform(0.5, 0.99, models)
        hardness = np.sqrt(0.5) * rng.normal(size=size) + np.sqrt(0.5) * rng.normal(size=(models, size))
        yield accuracy, hardness < scipy.stats.norm.ppf(accuracy)[:, None]


def test_what_stands_beside_a_pair_changes_no_number_of_labels():
    """It is at least 1, alone or beside a pair that needs many."""
    alone = more_labels(np.array([3]), np.array([0]), 4, UNIFORM)
    beside = more_labels(np.array([3, 1]), np.array([0, 0]), 4, UNIFORM)
    assert alone.tolist() == [1]
    assert beside.tolist() == [1, *more_labels(np.array([1]), np.array([0]), 4, UNIFORM)]


@pytest.mark.parametrize("count", [1_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_the_probabilities_are_calibrated(count):
    """Of the pairs given 80 to 90 %, 80 to 90 % are right; the same goes for the other tenths."""
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
        assert low <= right[inside].mean() <= low + 0.1


@pytest.mark.parametrize(("count", "off"), [(200, 0.07), pytest.param(4_000, 0.02, marks=pytest.mark.slow)])
def test_the_probability_of_being_best_is_calibrated(count, off):
    """Over many suites, the models are best as often as they were given."""
    given, truly = [], []
    for accuracy, outcomes in simulated(np.random.default_rng(1), count):
        probability = best(outcomes, np.random.default_rng(2), samples=500)
        given.append(probability.max())
        truly.append(accuracy.argmax() == probability.argmax())
    assert np.mean(truly) == pytest.approx(np.mean(given), abs=off)


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
    assert weigh(outcomes) == pytest.approx(np.array(weights) / sum(weights), rel=0.01)


def test_rows_that_both_have_right_say_nothing_about_the_pair():
    """Only disagreements count, and none at all leaves 1/2."""
    few = np.array([[1, 1], [0, 0]], dtype=bool)
    many = np.hstack([few, np.ones((2, 50), bool)])
    assert more_accurate(few)[0, 1] == pytest.approx(more_accurate(many)[0, 1])
    assert more_accurate(np.ones((2, 9), bool))[0, 1] == 0.5


def test_probabilities_of_a_pair_add_up():
    """P(a better) + P(b better) = 1, and P(best) of two models is P(a better)."""
    outcomes = np.random.default_rng(3).random((5, 12)) < 0.7
    matrix = more_accurate(outcomes)
    assert matrix + matrix.T == pytest.approx(np.ones((5, 5)))
    assert best(outcomes, np.random.default_rng(0)).sum() == pytest.approx(1)
    two = best(outcomes[:2], np.random.default_rng(0))
    assert two[0] == pytest.approx(more_accurate(outcomes[:2])[0, 1], abs=0.012)


@pytest.mark.parametrize("c", [PRIORS[0], PRIORS[-1]])
def test_the_best_are_drawn_from_the_prior_that_the_pairs_are_weighed_by(monkeypatch, c):
    """Where one wins nearly all disagreements and where both win some, P(best) of two is P(a better)."""
    monkeypatch.setattr("ranker.statistics.posterior.PRIORS", np.array([c]))
    outcomes = np.array([[1, 1, 1, 0, 1], [0, 0, 1, 1, 1]], dtype=bool)
    assert best(outcomes, np.random.default_rng(0))[0] == pytest.approx(more_accurate(outcomes)[0, 1], abs=0.012)


@pytest.mark.parametrize("seed", range(5))
def test_models_that_are_right_on_the_same_rows_share_the_first_place_alike(seed):
    """No row tells them apart, and neither do the draws; others keep what is theirs."""
    outcomes = np.random.default_rng(3).random((5, 12)) < 0.7
    outcomes[3] = outcomes[1]
    found = best(outcomes, np.random.default_rng(seed), samples=500)
    assert found[1] == found[3]
    assert len(set(found)) == 4
    assert found.sum() == pytest.approx(1)
    assert best(outcomes[[0, 0, 0]], np.random.default_rng(seed), samples=500) == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize(("wins", "losses", "size"), [(2, 0, 10), (4, 1, 20), (3, 2, 10), (8, 5, 40)])
def test_so_many_more_labels_tell_them_apart(wins, losses, size):
    """Models that go on to disagree as they did are told apart after that many labels in about 90 % of cases."""
    more = int(more_labels(np.array(wins), np.array(losses), size, UNIFORM))
    rng = np.random.default_rng(4)
    share = np.array([wins, losses, size - wins - losses]) / size
    after = rng.multinomial(more, share, size=4_000) + [wins, losses, 0]
    apart = scipy.stats.beta.sf(0.5, after[:, 0] + 1, after[:, 1] + 1) >= 0.9
    assert 0.85 <= apart.mean() <= 0.98


def test_equal_disagreement_needs_no_number():
    """Two models that are wrong on different rows equally often would stay level, as far as these rows say."""
    assert more_labels(np.array([2, 0]), np.array([2, 0]), 10, UNIFORM).tolist() == [-1, -1]


def test_a_small_number_of_labels_keeps_its_word_too():
    """Of unrelated models, whose c is learnt to be large, nine of ten pairs that few rows would tell apart are told."""
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(300):
        outcomes = rng.random((8, 20)) < rng.uniform(0.6, 0.8, 8)[:, None]
        better, won = more_accurate(outcomes), wins(outcomes)
        more = more_labels(won, won.T, 20, weigh(outcomes))
        told = np.argwhere((better > 0.5) & (better < 0.9) & (more > 0) & (more <= 30))
        for i, j in told[:1]:
            later = [np.column_stack([outcomes, outcomes[:, rng.integers(20, size=more[i, j])]]) for _ in range(20)]
            kept.append(np.mean([more_accurate(seen)[i, j] >= 0.9 for seen in later]))
    assert len(kept) > 20
    assert np.mean(kept) >= 0.85
