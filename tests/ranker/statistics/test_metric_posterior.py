"""A metric of labels, given a pool and a few labels: its draws, loop by loop, and what they say of accuracy."""

import numpy as np
import pytest
from hypothesis import given, settings
from test_beliefs import S, cases, right_in_worlds

from ranker.statistics.beliefs import believe
from ranker.statistics.metric_posterior import draw_values
from ranker.statistics.patterns import fold
from ranker.tasks.metrics import metric_named


@settings(max_examples=30, deadline=None)
@given(cases())
def test_draws_are_those_of_the_definition(case):
    """Weighted means over rows of the statistics of each answer and label, each label as probable as in its world."""
    predicted, classes, rows, labels = case
    metric = metric_named("macro-f1", tuple("abc"[:classes]))
    beliefs = believe(fold(predicted, classes), rows, labels, 0.1, worlds=S)
    kinds = list(beliefs._kinds())
    drawn = draw_values(kinds, metric.by_label(), metric.value, np.random.default_rng(1))
    rng, sums, total = np.random.default_rng(1), np.zeros((S, len(predicted), 3 * classes)), np.zeros(S)
    for predictions, counts, probable in kinds:
        weights = rng.standard_gamma(counts, (S, len(counts)))
        total += weights.sum(axis=1)
        for world in range(S):
            for row in range(len(counts)):
                for label in range(classes):
                    answers = predictions[row]
                    statistics = metric.statistics(answers, np.full(len(answers), label))
                    sums[world] += weights[world, row] * probable[label, world, row] * statistics
    np.testing.assert_allclose(drawn, metric.value(sums / total[:, None, None]), atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(cases())
def test_expected_accuracy_is_that_of_the_vote(case):
    """Over many draws of weights a world's accuracy is its own, the mean over rows."""
    predicted, classes, rows, labels = case
    beliefs = believe(fold(predicted, classes), rows, labels, 0.1, worlds=S)
    accuracy = metric_named("accuracy", tuple("abc"[:classes]))
    drawn = np.mean(
        [
            draw_values(beliefs._kinds(), accuracy.by_label(), accuracy.value, np.random.default_rng(seed))
            for seed in range(200)
        ],
        axis=0,
    )
    right = right_in_worlds(*case, 0.1, beliefs, np.ones(predicted.shape))
    np.testing.assert_allclose(drawn, right.mean(axis=1), atol=0.15)  # a mean of 200 draws, of up to 8 rows
    assert beliefs.judged_by(accuracy.by_label(), accuracy.value).drawn.shape == (S, len(predicted))


def test_many_labels_and_models_read_fewer_worlds(monkeypatch):
    """The table of answers and labels in each world stays within its budget; the values keep their order."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=200)
    predicted = np.where(rng.random((3, 200)) < np.array([[0.9], [0.7], [0.4]]), truth, rng.integers(4, size=(3, 200)))
    metric, rows = metric_named("macro-f1", tuple("abcd")), np.arange(20)
    beliefs = believe(fold(predicted, 4), rows, truth[rows])
    whole = beliefs.judged_by(metric.by_label(), metric.value)
    monkeypatch.setattr("ranker.statistics.beliefs.METRIC_CELLS", 3 * 5 * 4 * 50)
    fewer = beliefs.judged_by(metric.by_label(), metric.value)
    assert (len(whole.drawn), len(fewer.drawn)) == (500, 50)
    assert fewer.expected() == pytest.approx(whole.expected(), abs=0.03)
    assert whole.score.argmax() == fewer.score.argmax() == 0


def test_what_a_posterior_says_follows_from_its_draws():
    """Probabilities of pairs sum to 1, those of the best, too; the interval holds 95 % of the draws."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    predicted = np.where(rng.random((4, 300)) < np.array([[0.9], [0.8], [0.7], [0.5]]), truth, 1 - truth)
    metric, rows = metric_named("mcc", ("no", "yes")), np.arange(10)
    found = believe(fold(predicted, 2), rows, truth[rows]).judged_by(metric.by_label(), metric.value)
    better, (low, high) = found.beats(), found.interval()
    np.testing.assert_allclose(better + better.T, 1)
    assert found.best().sum() == pytest.approx(1)
    assert (found.near(0.1) >= found.near(0.01)).all()
    assert found.equal(0, 0.01)[0] == 1
    inside = ((low <= found.drawn) & (found.drawn <= high)).mean(axis=0)
    assert inside == pytest.approx(0.95, abs=0.01)
    outlook = found.outlook()
    assert outlook.mean == pytest.approx(found.expected())
    assert outlook.reducible + outlook.lasting == pytest.approx(np.cov(found.drawn.T, bias=True))
