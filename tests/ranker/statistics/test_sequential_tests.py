import numpy as np
import pytest

from ranker.statistics.sequential_tests import rows_apart, weigh


def session(predicted, labels, rng, margin, undrawn=0, most=400):
    """Rows drawn until the leader is accepted or none is left: the last evidence, and how many were drawn."""
    rows = rng.choice(len(labels), undrawn, replace=False)
    while True:
        found = weigh(predicted, rows, labels[rows], margin, undrawn)
        if found.settled or not found.frame.any() or len(rows) == most:
            return found, rows
        rows = np.append(rows, rng.choice(np.flatnonzero(found.frame)))


def pair(size, lead, rng):
    """Two models that differ on all rows of a pool, and labels by which the first has `lead` rows more right."""
    first = np.zeros(size, dtype=int)
    labels = np.where(np.arange(size) < (size + lead) // 2, 0, 1)
    return np.stack([first, 1 - first]), rng.permutation(labels)


@pytest.mark.parametrize(
    ("margin", "lead"), [(-1 / 400, 0), pytest.param(0.01, -6, marks=pytest.mark.slow), (0.1, -42)]
)
def test_a_model_is_wrongly_accepted_at_most_once_in_twenty(margin, lead):
    """With a look at each of 400 rows, at an exact tie, where a lead is to be shown, and one row beyond the margin."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        predicted, labels = pair(400, lead, rng)
        order = rng.permutation(400)
        wrong += accepted_ever(predicted, order, labels[order], margin)
    assert wrong <= 0.05 * 200 + 2 * np.sqrt(200 * 0.05 * 0.95)
    assert wrong > 0  # a test that never rejects would pass, too


def accepted_ever(predicted, rows, labels, margin):
    """Whether the first model is accepted against the second at any look: acceptance stays."""
    return bool(weigh(predicted, rows, labels, margin).accepted[0, 1])


def test_wealth_is_that_of_the_definition():
    """Bets are settled one by one, in loops, and the pair is accepted where their mean passes the limit."""
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(30):
        size = int(rng.integers(10, 60))
        predicted = rng.integers(2, size=(2, size))
        labels = np.where(rng.random(size) < 0.8, predicted[0], predicted[1])
        rows = rng.permutation(np.flatnonzero(predicted[0] != predicted[1]))
        allowed = int(0.05 * size + 1e-9)
        left, total, accepted, wealth = len(rows), 0, len(rows) <= allowed, [1.0] * 6
        for at, row in enumerate(rows):
            d = int(predicted[0, row] == labels[row]) - int(predicted[1, row] == labels[row])
            m = (-allowed - 1 - total) / left
            for number, share in enumerate((0.1, 0.2, 0.35, 0.5, 0.7, 0.9)):
                if m > -1:
                    wealth[number] *= max(1 + share * (d - m) / (1 + m), 0.0)
            total, left = total + d, left - 1
            accepted = accepted or sum(wealth) / 6 >= 20 or total - left >= -allowed
            assert weigh(predicted, rows[: at + 1], labels[rows[: at + 1]], 0.05).accepted[0, 1] == accepted
            seen.add(accepted)
    assert seen == {True, False}


@pytest.mark.slow
def test_the_winner_of_many_models_is_within_the_margin():
    """Of eight models, five of which are equally good: the winner of 25 sessions is hardly ever too far behind."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(25):
        labels = rng.integers(2, size=200)
        chance = np.array([0.85] * 3 + [0.8] * 5)
        predicted = np.where(rng.random((8, 200)) < chance[:, None], labels, 1 - labels)
        accuracies = (predicted == labels).mean(axis=1)
        found, _ = session(predicted, labels, rng, 0.02)
        assert found.settled
        wrong += accuracies[found.leader] < accuracies.max() - 0.02 - 1e-9
    assert wrong <= 3


def test_rows_that_were_known_are_subtracted():
    """They are no bets, but what is left can no longer hold what they held."""
    rng = np.random.default_rng(3)
    predicted, labels = pair(60, 40, rng)
    with_known, rows = session(predicted, labels, rng, 0.01, undrawn=20)
    assert with_known.settled
    assert len(rows) < 60
    everything = weigh(predicted, np.arange(60), labels, 0.01, undrawn=60)
    assert everything.settled  # all is counted
    few = weigh(predicted, np.arange(12), np.zeros(12, dtype=int), 0.01, undrawn=12)
    assert not few.settled  # without a bet


def test_models_that_hardly_differ_are_accepted_at_once():
    """Before any label: two that differ on fewer rows than the margin allows cannot be further apart."""
    predicted = np.zeros((2, 300), dtype=int)
    predicted[1, :3] = 1
    none = np.zeros(0, dtype=int)
    assert weigh(predicted, none, none, 0.01).settled
    predicted[1, 3] = 1
    assert not weigh(predicted, none, none, 0.01).settled
    assert rows_apart(predicted).tolist() == [[0, 4], [4, 0]]


def test_one_model_and_equal_models_need_no_label():
    """There is nothing to show."""
    none = np.zeros(0, dtype=int)
    for models in (1, 3):
        found = weigh(np.zeros((models, 5), dtype=int), none, none, 0.0)
        assert found.settled
        assert not found.frame.any()


def test_rows_are_drawn_where_the_leader_is_in_question():
    """Not where it differs only from models that it is accepted against."""
    labels = np.zeros(100, dtype=int)
    predicted = np.zeros((3, 100), dtype=int)
    predicted[1, :90] = 1
    predicted[2, 50:] = np.arange(50) % 2
    predicted[2, 0] = 1  # which puts it behind
    found = weigh(predicted, np.arange(25), labels[:25], 0.01)
    assert found.leader == 0
    assert found.accepted[0, 1]
    assert not found.accepted[0, 2]
    assert (np.flatnonzero(found.frame) == np.flatnonzero(predicted[2] == 1)[1:]).all()
