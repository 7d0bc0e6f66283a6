import numpy as np
import pytest

from ranker.statistics.pool import LOUDEST, SUREST, Pool


def test_a_temperature_changes_no_strength():
    """A model is measured by itself: probabilities to any power, made to sum to 1 again, say the same."""
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], size=(2, 50))
    cooler = probs ** np.array([0.5, 1.3])[:, None, None]
    cooler /= cooler.sum(axis=2, keepdims=True)
    assert Pool(cooler).strength == pytest.approx(Pool(probs).strength)
    assert Pool(probs).strength.mean(axis=1) == pytest.approx([1, 1])


def test_a_strength_is_the_logarithm_of_the_odds_against_the_next_label():
    """By the mean over rows; odds above the most count as these."""
    first = np.array([0.5, 0.6, 1.0])
    probs = np.stack([first, 0.4 * np.ones(3), 0.6 - first], axis=1)[None].clip(0)
    odds = np.log([0.5 / 0.4, 0.6 / 0.4, 1.0 / 0.4])
    assert Pool(probs).strength[0] == pytest.approx(odds / odds.mean())
    sure = np.array([[[1.0, 0.0], [1 - 1e-9, 1e-9], [0.99, 0.01]]])
    odds = np.array([np.log(SUREST), np.log(SUREST), np.log(99)])
    assert Pool(sure).strength[0] == pytest.approx(odds / odds.mean(), abs=1e-6)


def test_models_that_give_labels_alone_or_nothing_are_as_sure_of_each_row():
    """A silent model is not sure of its silence, and its other rows are measured without it."""
    alone = np.eye(3)[[[0, 1, 1, 0], [0, 2, 2, 2]]]
    assert (Pool(alone, silence=True).strength[alone[:, :, 2] == 0] == 1).all()
    assert (Pool(np.full((1, 3, 2), 0.5)).strength == 1).all()
    probs = np.array([[[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]]])
    odds = np.log([9, 1.5])
    assert Pool(probs, silence=True).strength[0, :2] == pytest.approx(odds / odds.mean())


def test_a_row_on_which_a_model_is_far_surer_than_elsewhere_does_not_decide_all():
    """What a prediction counts has an end, as it has where a vote is folded."""
    probs = np.full((2, 20_000, 2), 0.5)
    probs[:, 0] = [1, 0]
    pool = Pool(probs)
    assert pool.strength.max() == LOUDEST
    assert pool.patterns().strength.max() == LOUDEST
