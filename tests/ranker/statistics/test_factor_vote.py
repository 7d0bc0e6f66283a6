"""A factor that needs no label, as a covariate of the vote's prior."""

import numpy as np
import pytest

from ranker.statistics.patterns import fold
from ranker.statistics.vote import believe

NONE = np.zeros(0, dtype=np.int64)


@pytest.fixture
def shortcut():
    """Eight models and 200 rows of two labels: the later a model, the less often it falls for a shortcut."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=200)
    misled = rng.random((8, 200)) < np.linspace(0.9, 0.1, 8)[:, None]
    predicted = np.where(misled, 1, labels)
    return predicted, labels, (predicted == labels).mean(axis=1)


def order(score, truth):
    """Share of pairs in their true order."""
    first, second = np.triu_indices(len(truth), 1)
    return np.mean(np.sign(score[first] - score[second]) == np.sign(truth[first] - truth[second]))


def test_a_factor_orders_models_before_any_label(shortcut):
    """Where hardly any sample trusts a model, and the vote alone cannot tell them."""
    predicted, _, truth = shortcut
    alone = believe(fold(predicted, 2), NONE, NONE).score
    with_factor = believe(fold(predicted, 2, factor=np.arange(8.0)), NONE, NONE).score
    assert order(with_factor, truth) > max(0.95, order(alone, truth))


def test_labels_overrule_a_factor_that_misleads(shortcut):
    """Its slope is learnt, and may turn: with ten labels the order is that without a factor, nearly."""
    predicted, labels, truth = shortcut
    rows = np.arange(10)
    misleading = believe(fold(predicted, 2, factor=-np.arange(8.0)), rows, labels[rows]).score
    alone = believe(fold(predicted, 2), rows, labels[rows]).score
    assert order(misleading, truth) > order(alone, truth) - 0.1


def test_a_factor_that_is_constant_says_nothing(shortcut):
    """The order is that without it, but for the noise of the draws; so it is of a factor that is unknown."""
    predicted, labels, _ = shortcut
    rows = np.arange(5)
    alone = believe(fold(predicted, 2), rows, labels[rows]).score
    for factor in (np.full(8, 0.3), np.full(8, np.nan)):
        beside = believe(fold(predicted, 2, factor=factor), rows, labels[rows]).score
        assert beside == pytest.approx(alone, abs=0.03)


def test_the_order_of_models_and_the_scale_of_a_factor_change_nothing(shortcut):
    """Factors have no unit, and a list of models has no order."""
    predicted, labels, _ = shortcut
    rows, factor = np.arange(5), np.arange(8.0)
    score = believe(fold(predicted, 2, factor=factor), rows, labels[rows]).score
    scaled = believe(fold(predicted, 2, factor=1000 * factor - 7), rows, labels[rows]).score
    turned = believe(fold(predicted[::-1], 2, factor=factor[::-1]), rows, labels[rows]).score
    assert scaled == pytest.approx(score, abs=1e-6)
    assert turned[::-1] == pytest.approx(score, abs=1e-6)
