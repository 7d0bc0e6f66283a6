import itertools
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import acquisition
from ranker.statistics.acquisition import next_rows
from ranker.statistics.patterns import fold
from ranker.statistics.vote import believe

NONE = np.zeros(0, dtype=np.int64)
S = 30


@st.composite
def beliefs(draw):
    """What a few answers tell of a small pool."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    models, rows, classes = draw(st.integers(2, 4)), draw(st.integers(4, 8)), draw(st.integers(2, 3))
    answered = rng.choice(rows, draw(st.integers(0, 2)), replace=False)
    pool = fold(rng.integers(-1, classes, (models, rows)), classes)
    return believe(pool, answered, rng.integers(classes, size=len(answered)), 0.05, worlds=S)


def _leads(belief):
    """(S, P) P(the first of two models is better), in each world."""
    return belief.p_first_better(*np.triu_indices(belief.patterns.models, 1))


def open_for(belief, goal):
    """Which pairs count: all, or those of the model of the highest score."""
    pairs = itertools.combinations(range(belief.patterns.models), 2)
    return [goal == "order" or int(belief.score.argmax()) in pair for pair in pairs]


def answer_chances(belief, row):
    """(S, C) the probability of each answer to a row, in each world."""
    predictions = belief.patterns.predicted[belief.patterns.pattern_of_row[row]]
    odds = np.exp(
        belief.worlds.biases
        + sum(
            belief.worlds.weights[:, [m]] * (np.arange(belief.patterns.classes) == c) for m, c in enumerate(predictions)
        )
    )
    return 0.95 * odds / odds.sum(axis=1, keepdims=True) + 0.05 / belief.patterns.classes


def left_open(belief, rows, goal):
    """What is expected to be left open after answers to these rows: every combination of answers is gone through."""
    chances = [answer_chances(belief, row) for row in rows]
    total = 0.0
    for answers in itertools.product(range(belief.patterns.classes), repeat=len(rows)):
        weight = np.ones(S)
        for chance, answer in zip(chances, answers, strict=True):
            weight = weight * chance[:, answer]
        p = weight @ _leads(belief) / weight.sum()
        total += weight.mean() * (p * (1 - p))[open_for(belief, goal)].sum()
    return total


@settings(max_examples=60)
@given(beliefs(), st.sampled_from(["order", "best"]))
def test_the_next_row_leaves_least_open(belief, goal):
    """Of all rows without an answer, by trying each with each answer."""
    free = sorted(set(range(len(belief.patterns.pattern_of_row))) - set(belief.readings.rows.tolist()))
    tried = {row: left_open(belief, [row], goal) for row in free}
    (row,) = next_rows(belief, 1, goal).tolist()
    assert tried[row] == pytest.approx(min(tried.values()), abs=2e-5)


@settings(max_examples=30)
@given(beliefs(), st.sampled_from(["order", "best"]))
def test_each_row_of_a_batch_leaves_least_open(belief, goal):
    """With all answers to those before it gone through, which is exact up to sixteen combinations."""
    free = set(range(len(belief.patterns.pattern_of_row))) - set(belief.readings.rows.tolist())
    chosen = []
    for row in next_rows(belief, 3 if belief.patterns.classes == 2 else 2, goal).tolist():
        tried = {other_row: left_open(belief, [*chosen, other_row], goal) for other_row in free}
        assert tried[row] == pytest.approx(min(tried.values()), abs=5e-5)
        chosen.append(row)
        free.remove(row)


def after_answers(seed, classes, labels):
    """What answers to the first rows of a pool of sixteen tell, and the other rows."""
    pool = fold(np.random.default_rng(seed).integers(classes, size=(3, 16)), classes)
    belief = believe(pool, np.arange(len(labels)), np.array(labels, dtype=np.int64), 0.05, worlds=S)
    return belief, range(len(labels), 16)


@pytest.mark.more
@settings(max_examples=30)
@given(st.integers(0, 999), st.integers(2, 3), st.sampled_from([4, 5, 6, 10]), st.booleans())
def test_every_fifth_row_with_one_label_probably_has_another(seed, classes, count, alike):
    """Then the row leaves least open of those nearly as likely to have one as any; else it leaves least of all."""
    belief, free = after_answers(seed, classes, [1] * (count - 1) + [1 if alike else 0])
    second = {row: 1 - answer_chances(belief, row)[:, 1].mean() for row in free}
    likely = [row for row in free if second[row] >= max(second.values()) - acquisition.ALIKE - 1e-6]
    tried = {row: left_open(belief, [row], "best") for row in (likely if alike and count % 5 == 0 else free)}
    (row,) = next_rows(belief, 1, "best").tolist()
    assert tried[row] == pytest.approx(min(tried.values()), abs=2e-5)


@settings(max_examples=15)
@given(st.integers(0, 999), st.sampled_from([[], [0], [0, 0, 0]]))
def test_the_last_two_rows_of_a_batch_seek_a_second_label_where_it_may_be_missing(seed, labels):
    """The probability that all rows have one label is that of the worlds, each row given the world."""
    belief, _ = after_answers(seed, 2, labels)
    chosen = next_rows(belief, 7, "order").tolist()
    for size in (5, 6):
        chance_known = np.prod([answer_chances(belief, row) for row in chosen[:size]], axis=0)
        chance_known = chance_known * [1, not labels]
        alike = {
            row: (chance_known * answer_chances(belief, row)).sum() / chance_known.sum()
            for row in set(range(len(labels), 16)) - set(chosen[:size])
        }
        if chance_known.sum() / S > acquisition.ALIKE + 1e-6:
            assert alike[chosen[size]] <= min(alike.values()) + acquisition.ALIKE + 1e-5


@pytest.mark.parametrize(("labels", "asked_first"), [([], [1, 1]), ([0, 0], [1, 0]), ([0, 1], [0, 0])])
def test_the_probability_of_one_label_is_that_of_the_worlds(labels, asked_first):
    """In each world rows are independent; once two labels are there it is 0."""
    belief, free = after_answers(1, 2, labels)
    rows = list(free)[:3]
    chances = np.prod([answer_chances(belief, row) for row in rows], axis=0)
    expected = (chances * asked_first).sum(axis=1).mean()
    assert acquisition.one_label_probability(belief, np.array(rows)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("goal", get_args(acquisition.Goal))
def test_a_batch_of_steps_of_one_training_holds_a_second_label(goal):
    """Each step gives label 1 on a part of the rows of the step before, which may all have label 0; the rest has 1."""
    misled = np.arange(150) < np.array([150, 148, 140, 110, 80, 50, 20, 2])[:, None]
    predicted = np.concatenate([np.ones((8, 150), dtype=int), misled.astype(int)], axis=1)
    rows = next_rows(believe(fold(predicted, 2), NONE, NONE), 10, goal)
    assert (rows[:8] >= 150).all()
    assert (rows[8:] < 150).any()


def test_the_expected_fall_is_that_of_the_definition():
    """What rows gain is what is open now, less what is expected to be left open."""
    rng = np.random.default_rng(0)
    belief = believe(fold(rng.integers(2, size=(4, 12)), 2), np.array([0]), np.array([1]), 0.05, worlds=S)
    p = _leads(belief).mean(axis=0)
    gained = acquisition._loss_reductions(_leads(belief), np.ones((1, S)), belief.answers) / S
    for position, pattern in enumerate(belief.candidates):
        row = int(np.flatnonzero(belief.patterns.pattern_of_row == pattern)[0])
        assert gained[position] == pytest.approx((p * (1 - p)).sum() - left_open(belief, [row], "order"), abs=1e-5)


@pytest.mark.more
def test_few_pairs_stand_for_very_many():
    """Of more pairs than are judged by, the row that is taken leaves nearly as little open as the best does."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=100)
    predicted = np.where(rng.random((60, 100)) < rng.uniform(0.5, 0.9, size=(60, 1)), labels, 1 - labels)
    shares = []
    for label_count in range(10):
        belief = believe(fold(predicted, 2), np.arange(label_count), labels[:label_count])
        assert _leads(belief).shape[1] > acquisition.PAIRS
        branches = np.ones((1, len(_leads(belief))))
        expected = acquisition._loss_reductions(_leads(belief), branches, belief.answers)
        (row,) = next_rows(belief)
        shares.append(
            expected[np.flatnonzero(belief.candidates == belief.patterns.pattern_of_row[row])[0]] / expected.max()
        )
    assert np.mean(shares) >= 0.98
    assert min(shares) >= 0.9


@settings(max_examples=40)
@given(beliefs(), st.integers(1, 9), st.sets(st.integers(0, 3)))
def test_rows_are_asked_once(belief, count, closed):
    """Neither those that were answered nor closed ones, and as many as are left."""
    chosen = next_rows(belief, count, closed=sorted(closed)).tolist()
    left = set(range(len(belief.patterns.pattern_of_row))) - set(belief.readings.rows.tolist()) - closed
    assert len(set(chosen)) == len(chosen) == min(count, len(left))
    assert set(chosen) <= left


def test_the_order_of_models_does_not_change_what_is_asked():
    """The same rows, however the models are listed."""
    rng = np.random.default_rng(1)
    predicted = rng.integers(2, size=(5, 40))
    rows, labels = np.arange(3), np.array([0, 1, 1])
    chosen = next_rows(believe(fold(predicted, 2), rows, labels), 6).tolist()
    assert next_rows(believe(fold(predicted[[3, 1, 4, 0, 2]], 2), rows, labels), 6).tolist() == chosen


def test_where_all_models_predict_the_same_the_first_row_is_asked():
    """No answer tells any of them apart."""
    assert next_rows(believe(fold(np.zeros((3, 5), dtype=int), 2), np.array([0]), np.array([1]))).tolist() == [1]
    assert next_rows(believe(fold(np.zeros((1, 5), dtype=int), 2), NONE, NONE), goal="best").tolist() == [0]


def test_nothing_is_left_to_ask():
    """All rows have an answer."""
    assert next_rows(believe(fold(np.array([[0, 1], [1, 1]]), 2), np.arange(2), np.array([0, 1]))).tolist() == []
