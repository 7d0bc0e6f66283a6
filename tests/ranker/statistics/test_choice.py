import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import choice, surrogate
from ranker.statistics.pool import Pool

GREEDY = ("variance-reduction", "facility", "disagreement")


def some_pool(seed=0, models=4, rows=9, classes=2):
    """Random probabilities, most of them far from even."""
    return Pool(np.random.default_rng(seed).dirichlet(np.full(classes, 0.4), size=(models, rows)))


def left_over(pool, labelled):
    """The sum over pairs of models of the variance of the difference of their accuracies, by the formula."""
    seen = pool.votes[list(labelled)].reshape(-1, pool.probs.shape[0])
    spread = np.linalg.inv(seen.T @ seen / surrogate.NOISE + np.eye(pool.probs.shape[0]))
    gain = pool.gains
    pairs = itertools.combinations(range(len(gain)), 2)
    return sum((gain[a] - gain[b]) @ spread @ (gain[a] - gain[b]) for a, b in pairs)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3))
def test_variance_reduction_takes_the_row_that_leaves_least(seed, classes):
    """Each row taken is the one after which the differences vary least, found by trying all."""
    pool = some_pool(seed, classes=classes)
    labelled = [3]
    for row in choice.choose(pool, 3, labelled).tolist():
        tried = {other: left_over(pool, [*labelled, other]) for other in range(9) if other not in labelled}
        assert tried[row] == pytest.approx(min(tried.values()), rel=1e-9)
        labelled.append(row)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_facility_takes_the_row_that_covers_most(seed):
    """Each row taken adds most to the disagreement that is covered, found by trying all."""
    pool = some_pool(seed)
    points = pool.probs.transpose(1, 0, 2).reshape(9, -1)
    distance = ((points[:, None] - points) ** 2).sum(axis=2)
    near = np.exp(-distance / (choice.WIDTH * distance.mean()))
    weight = pool.probs.var(axis=0).sum(axis=1)
    labelled = [3]

    def covered(rows):
        return sum(weight[x] * max(near[x, r] for r in rows) for x in range(9))

    for row in choice.choose(pool, 3, labelled, "facility").tolist():
        tried = {other: covered([*labelled, other]) for other in range(9) if other not in labelled}
        assert tried[row] == pytest.approx(max(tried.values()), rel=1e-9)
        labelled.append(row)


def test_disagreement_takes_the_rows_of_greatest_variance():
    """By the variance of the models' probabilities, the greatest first."""
    pool = some_pool()
    variance = [np.var(pool.probs[:, row, 0]) for row in range(9)]
    assert choice.choose(pool, 9, rule="disagreement").tolist() == sorted(range(9), key=lambda row: -variance[row])


@pytest.mark.parametrize("rule", choice.RULES)
def test_what_is_labelled_is_not_chosen_again(rule):
    """All other rows are, each once, and there are no more."""
    pool = some_pool()
    assert sorted(choice.choose(pool, 7, (0, 4, 4), rule).tolist()) == [1, 2, 3, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="between 1 and 7"):
        choice.choose(pool, 8, (0, 4, 4), rule)


@pytest.mark.parametrize("rule", GREEDY)
def test_the_best_few_come_first(rule):
    """Choosing more goes on where choosing fewer stopped, at once or after these have been labelled."""
    pool = some_pool(models=6, rows=60)
    ten = choice.choose(pool, 10, rule=rule).tolist()
    five = choice.choose(pool, 5, rule=rule).tolist()
    assert ten == five + choice.choose(pool, 5, five, rule).tolist()


@pytest.mark.parametrize("rule", GREEDY)
def test_the_order_of_the_models_changes_nothing(rule):
    """The same rows are chosen from models in another order."""
    pool = some_pool(models=6, rows=60)
    shuffled = pool.ordered([3, 1, 5, 0, 2, 4])
    assert choice.choose(shuffled, 10, rule=rule).tolist() == choice.choose(pool, 10, rule=rule).tolist()


def test_random_rows_follow_from_the_seed():
    """One seed, one choice; and no global generator is touched."""
    pool = some_pool(rows=60)
    state = np.random.get_state()[1].copy()  # noqa: NPY002  # to see that nothing else drew from it
    one, again, other = (choice.choose(pool, 10, rule="random", seed=seed).tolist() for seed in (1, 1, 2))
    assert one == again != other
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_a_large_pool_is_covered_by_landmarks(monkeypatch):
    """Facility location over a few rows that stand for all chooses nearly as well as over all."""
    pool = some_pool(models=6, rows=400)
    points = pool.votes.reshape(400, -1)
    distance = ((points[:, None] - points) ** 2).sum(axis=2)
    near = np.exp(-distance / (choice.WIDTH * distance.mean()))
    weight = pool.probs.var(axis=0).sum(axis=1)
    whole = choice.choose(pool, 10, rule="facility")
    monkeypatch.setattr(choice, "LANDMARKS", 200)
    few = choice.choose(pool, 10, rule="facility")
    assert weight @ near[:, few].max(axis=1) > 0.85 * (weight @ near[:, whole].max(axis=1))
