"""LABEL-VOTES: a metric of label sets by each label's own vote, held to what is known by enumeration."""

import numpy as np
import pytest

from ranker.statistics import label_votes, vote
from ranker.statistics.label_votes import LabelVotes
from ranker.statistics.patterns import fold
from ranker.statistics.vote import MetricByLabel, VoteEvidence
from ranker.tasks.label_sets import LabelSetTask
from ranker.tasks.metrics import metric_named

LABELS = ("a", "b", "c")


def suite(seed, models=6, rows=200, labels=3):
    """Truth, and answers of models that err more and more often, each in its own way."""
    rng = np.random.default_rng(seed)
    truth = rng.random((rows, labels)) < np.array([0.5, 0.3, 0.2])
    wrong = np.linspace(0.05, 0.35, models)[rng.permutation(models)]
    return truth, truth ^ (rng.random((models, rows, labels)) < wrong[:, None, None])


def by_label(name, labels=LABELS):
    """The metric of that name, as a vote takes it."""
    metric = LabelSetTask("t", possible=labels).metric_named(name)
    return MetricByLabel(metric.by_label(), metric.value)


def test_one_label_is_the_vote_on_two_classes():
    """The draws are those of the positive class's F1, number for number."""
    truth, answers = suite(1, labels=3)
    places = np.arange(5)
    evidence = LabelVotes(answers[:, :, :1], places, truth[places, :1], by_label("f1:a", LABELS[:1]))
    metric = metric_named("f1:yes", ("no", "yes"))
    beliefs = vote.believe(fold(answers[:, :, 0].astype(np.int64), 2), places, truth[places, 0].astype(np.int64))
    expected = vote.draw(VoteEvidence(beliefs, MetricByLabel(metric.by_label(), metric.value)), beliefs.rng(1))
    np.testing.assert_allclose(label_votes.draw(evidence).values, expected.values, atol=1e-12)


@pytest.mark.parametrize("name", ["micro-f1", "macro-f1", "weighted-f1", "f1:b"])
def test_with_all_labels_the_values_are_those_of_the_pool(name):
    """Where each row is labelled, nothing is left to the vote: the mean of the draws is the metric of the pool."""
    truth, answers = suite(2, rows=80)
    task = LabelSetTask("t", possible=LABELS)
    metric = task.metric_named(name)
    evidence = LabelVotes(answers, np.arange(80), truth, by_label(name))
    sets = [[tuple(np.array(LABELS)[row].tolist()) for row in matrix] for matrix in (*answers, truth)]
    true_values = [float(metric.value(metric.statistics(predicted, sets[-1]).mean(axis=0))) for predicted in sets[:-1]]
    assert label_votes.draw(evidence, label_noise=0.0).expected == pytest.approx(true_values, abs=0.02)


@pytest.mark.more
def test_it_knows_more_than_the_labelled_rows():
    """Of simulated suites five rows with a pool put more pairs of models in true order than alone."""
    right = {"pool": [], "alone": []}
    for seed in range(12):
        truth, answers = suite(seed)
        task = LabelSetTask("t", possible=LABELS)
        metric = task.metric_named("macro-f1")
        sets = [[tuple(np.array(LABELS)[row].tolist()) for row in matrix] for matrix in (*answers, truth)]
        true = np.array([metric.value(metric.statistics(predicted, sets[-1]).mean(axis=0)) for predicted in sets[:-1]])
        few = np.array([metric.value(metric.statistics(row[:5], sets[-1][:5]).mean(axis=0)) for row in sets[:-1]])
        belief = label_votes.draw(LabelVotes(answers, np.arange(5), truth[:5], by_label("macro-f1")))
        pairs = np.triu_indices(len(true), 1)
        for name, score in (("pool", belief.score), ("alone", few)):
            right[name].append(
                np.mean([(score[a] - score[b]) * (true[a] - true[b]) > 0 for a, b in zip(*pairs, strict=True)])
            )
    assert np.mean(right["pool"]) > np.mean(right["alone"]) + 0.1


def test_it_depends_on_no_order():
    """Not of models, rows or labels; models that answer alike are told apart by nothing."""
    truth, answers = suite(3)
    answers[1] = answers[0]
    places, rng = np.array([7, 3, 90]), np.random.default_rng(0)
    belief = label_votes.draw(LabelVotes(answers, places, truth[places], by_label("micro-f1")))
    assert belief.beats()[0, 1] == 0.5
    assert belief.expected[0] == belief.expected[1]
    models, rows, labels = (rng.permutation(size) for size in answers.shape)
    moved = LabelVotes(
        answers[models][:, rows][:, :, labels],
        np.array([rows.tolist().index(place) for place in places]),
        truth[places][:, labels],
        by_label("micro-f1"),
    )
    np.testing.assert_allclose(label_votes.draw(moved).expected, belief.expected[models], atol=0.01)


def test_without_labelled_rows_it_is_the_vote_alone():
    """As a session is before the first answer."""
    truth, answers = suite(4)
    belief = label_votes.draw(LabelVotes(answers, np.zeros(0, np.int64), np.zeros((0, 3), bool), by_label("micro-f1")))
    assert belief.values.shape[1] == len(answers)
    assert ((belief.values >= 0) & (belief.values <= 1)).all()
