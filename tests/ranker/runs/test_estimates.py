"""Estimates of slow methods are kept: a second run asks them nothing, and finds the same numbers."""

from dataclasses import replace

import numpy as np
import pytest

from ranker.runs.estimates import cache_methods
from ranker.runtime.store import Store
from ranker.statistics import methods
from ranker.statistics.pool import MANY, Pool, PoolMethod, Targets

SLOW = [method for method in methods.BUILTIN if method.draws < MANY]
DRAWS = np.array([[3, 8, 8], [0, 4, 17]])


@pytest.fixture
def world():
    """A pool of three models, and what is known of its rows."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=30)
    pool = Pool(rng.dirichlet(np.ones(2), (3, 30)), factor=rng.normal(size=(3, 30)))
    return pool, Targets((pool.predicted == labels).astype(float), labels)


@pytest.fixture
def calls(monkeypatch):
    """Count how often the vote is learnt."""
    calls = []
    learnt = methods.believe
    monkeypatch.setattr(methods, "believe", lambda *arguments: calls.append(1) or learnt(*arguments))
    return calls


def ask(methods, world):
    """Ask each method for scores of draws, those of parts, and the rows that it asks for."""
    pool, targets = world
    half = np.arange(15)
    return [
        (
            method.estimate(pool, targets, DRAWS).tolist(),
            method.estimate(pool.part(half), targets.part(half), DRAWS % 15).tolist(),
            None if method.pick is None else method.pick(pool, targets, 3).tolist(),
        )
        for method in methods
    ]


def test_what_was_asked_is_not_asked_again(world, tmp_path, calls):
    """A second run reads what the first wrote; so does one whose store is opened anew."""
    assert len(SLOW) == 2
    alone = ask(SLOW, world)
    for times in (1, 0, 0):
        calls.clear()
        with cache_methods(SLOW, world[0], Store(tmp_path)) as remembered:
            assert ask(remembered, world) == alone
        assert bool(calls) == bool(times)


@pytest.mark.few(1)
@pytest.mark.parametrize("change", ["labels", "rows", "pool", "factor", "silence", "in-domain"])
def test_other_questions_have_other_answers(world, tmp_path, change):
    """Another shown label, row, probability, factor or in-domain accuracy takes nothing of the former."""
    pool, targets = world
    with cache_methods(SLOW, pool, Store(tmp_path)) as remembered:
        ask(remembered, world)
    if change == "labels":
        targets = Targets(targets.outcomes, 1 - targets.labels)
    elif change == "pool":
        pool = replace(pool, probs=pool.probs[:, ::-1])
    elif change == "factor":
        pool = replace(pool, factor=-pool.factor)
    elif change == "silence":
        pool = replace(pool, probs=np.concatenate([pool.probs, np.zeros((3, 30, 1))], axis=2), silence=True)
    elif change == "in-domain":
        pool = replace(pool, in_domain_accuracy=np.array([0.5, 0.7, 0.9]))
    draws = DRAWS + (change == "rows")
    with cache_methods(SLOW, pool, Store(tmp_path)) as remembered:
        for method, estimates in zip(SLOW, remembered, strict=True):
            assert np.array_equal(estimates.estimate(pool, targets, draws), method.estimate(pool, targets, draws))


def test_labels_of_other_rows_do_not_matter(world, tmp_path, calls):
    """Labels that a method does not see are no part of the question."""
    pool, targets = world
    with cache_methods(SLOW[:1], pool, Store(tmp_path)) as (method,):
        method.estimate(pool, targets, DRAWS)
        calls.clear()
        hidden = np.isin(np.arange(30), DRAWS, invert=True)
        method.estimate(pool, Targets(targets.outcomes, np.where(hidden, -1, targets.labels)), DRAWS)
    assert not calls


def test_what_is_new_is_written_whatever_ends_it(world, tmp_path, calls):
    """An interrupted run goes on where it was."""

    def interrupted():
        with cache_methods(SLOW[:1], world[0], Store(tmp_path)) as (method,):
            method.estimate(*world, DRAWS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    calls.clear()
    with cache_methods(SLOW[:1], world[0], Store(tmp_path)) as (method,):
        method.estimate(*world, DRAWS)
    assert not calls


def test_what_nobody_can_identify_has_no_memory(world, tmp_path):
    """A method that closes over something may change without its source: it is asked each time."""
    hidden = [1.0]

    def estimate(pool, targets, rows):
        return np.full((3, len(rows)), hidden[0])

    own_method = PoolMethod("OWN", "pool", estimate, draws=10)
    for value in (1.0, 2.0):
        hidden[0] = value
        with cache_methods([own_method], world[0], Store(tmp_path)) as (method,):
            assert method.estimate(*world, DRAWS)[0, 0] == value


def test_without_a_pool_nothing_is_kept(world, tmp_path):
    """The methods are as they were; so are those that take many draws, which are fast."""
    with cache_methods(SLOW, None, Store(tmp_path)) as methods_:
        assert list(methods_) == SLOW
    quick = [method for method in methods.BUILTIN if method.draws == MANY]
    with cache_methods(quick, world[0], Store(tmp_path)) as methods_:
        assert list(methods_) == quick
