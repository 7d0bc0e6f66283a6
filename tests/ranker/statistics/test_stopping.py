import numpy as np
import pytest

from ranker.statistics.patterns import fold
from ranker.statistics.stopping import BEHIND, MARGIN, PROBABLE, answer_probability, evidence_against_vote, raises_alarm
from ranker.statistics.vote import VoteEvidence, believe, draw

NONE = np.zeros(0, dtype=np.int64)


def forecast_answers(beliefs, row, probable=PROBABLE):
    """Each further answer is worth as much as that to the next row."""
    often = beliefs.candidates == beliefs.patterns.pattern_of_row[row]
    return draw(VoteEvidence(beliefs, often=often), beliefs.rng(1)).forecast(probable, MARGIN)


def test_labels_fall_behind_as_the_definition_says():
    """The product of what each label had by the shares before, over that of what the vote gave it, in loops."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        classes, size = int(rng.integers(2, 5)), int(rng.integers(0, 9))
        labels, chances = rng.integers(classes, size=size), rng.uniform(0.05, 1, size)
        evidence, expected = evidence_against_vote(chances, labels, classes), 1.0
        for k, label in enumerate(labels):
            expected *= (labels[:k].tolist().count(label) + 1) / (k + classes) / chances[k]
            assert evidence[k] == pytest.approx(expected)


def test_an_alarm_is_rare_where_the_vote_is_right():
    """Labels drawn with the very probabilities that the vote gives: one run in twenty at most, over 100 looks each."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(1_000):
        positive = rng.beta(0.5, 0.5, 100)
        labels = (rng.random(100) < positive).astype(int)
        alarms += raises_alarm(np.where(labels == 1, positive, 1 - positive), labels, 2)
    assert alarms <= 1_000 / BEHIND


def test_an_alarm_is_raised_where_the_vote_says_nothing_of_labels():
    """Models that agree and are wrong half of the time, while one label is far more frequent than the other."""
    chances = np.where(np.arange(60) % 2, 0.9, 0.1)
    assert raises_alarm(chances, np.ones(60, dtype=int), 2)
    assert not raises_alarm(chances[:1], np.ones(1, dtype=int), 2)
    assert not raises_alarm(NONE.astype(float), NONE, 2)


def test_an_alarm_stays():
    """Labels that fit the vote later do not take it back."""
    chances = np.concatenate([np.full(6, 0.05), np.full(50, 0.999)])
    labels = np.concatenate([np.ones(6, dtype=int), np.tile([0, 1], 25)])
    assert evidence_against_vote(chances, labels, 2)[-1] < BEHIND
    assert raises_alarm(chances, labels, 2)


def test_the_chances_of_all_answers_sum_to_one():
    """Before it is given, an answer has the probability that the worlds give it on average, noise included."""
    belief = believe(fold(np.array([[0, 1, 2, -1], [0, 0, 1, 2]]), 3), np.array([1]), np.array([1]), 0.3)
    chances = [answer_probability(belief, 2, label) for label in range(3)]
    assert sum(chances) == pytest.approx(1.0, abs=1e-5)
    assert min(chances) >= 0.1
    (place,) = np.flatnonzero(belief.candidates == belief.patterns.pattern_of_row[2])
    assert chances == pytest.approx(belief.answers[:, :, place].mean(axis=1).tolist(), abs=1e-5)


def test_more_answers_are_wanted_the_closer_the_best_two_are():
    """None where it is sure; few where one leads clearly; more where two are close."""
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=1000)
    clear = np.where(rng.random((3, 1000)) < [[0.97], [0.6], [0.5]], labels, 1 - labels)
    close = np.where(rng.random((3, 1000)) < [[0.9], [0.89], [0.6]], labels, 1 - labels)
    assert forecast_answers(believe(fold(clear, 2), np.arange(60), labels[:60]), 60).high == 0
    few = forecast_answers(believe(fold(clear, 2), np.arange(4), labels[:4]), 4)
    many = forecast_answers(believe(fold(close, 2), np.arange(4), labels[:4]), 4)
    assert 1 <= few.low <= few.high < 996
    assert many.low > few.low
    assert many.high is None or many.high > few.high
    assert few == forecast_answers(believe(fold(clear, 2), np.arange(4), labels[:4]), 4)


def test_no_number_of_answers_makes_it_sure():
    """A probability of 1 is reached by no further answers, and is asked for without a warning."""
    labels = np.arange(60) % 2
    predicted = np.stack([labels, np.where(np.arange(60) < 20, 1 - labels, labels)])
    assert forecast_answers(believe(fold(predicted, 2), np.arange(4), labels[:4]), 4, probable=1).low is None
