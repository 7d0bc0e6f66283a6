"""What slow methods made of draws is kept: a second run asks them nothing, and finds the same numbers."""

from dataclasses import replace

import numpy as np
import pytest

from ranker.runs.estimates import cache_methods
from ranker.runtime.store import Store
from ranker.statistics import methods
from ranker.statistics.pool import MANY, Pool, PoolMethod, Targets

SLOW = [one for one in methods.BUILTIN if one.draws < MANY]
DRAWS = np.array([[3, 8, 8], [0, 4, 17]])


@pytest.fixture
def world():
    """A pool of three models, and what is known of its rows."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=30)
    pool = Pool(rng.dirichlet(np.ones(2), (3, 30)))
    return pool, Targets((pool.predicted == labels).astype(float), labels)


@pytest.fixture
def asked(monkeypatch):
    """How often the vote was learnt."""
    found = []
    learnt = methods.believe
    monkeypatch.setattr(methods, "believe", lambda *given: found.append(1) or learnt(*given))
    return found


def ask(methods, world):
    """What each gives: scores of draws, those of parts, and the rows that it asks for."""
    pool, targets = world
    half = np.arange(15)
    return [
        (
            one.estimate(pool, targets, DRAWS).tolist(),
            one.estimate(pool.part(half), targets.part(half), DRAWS % 15).tolist(),
            None if one.pick is None else one.pick(pool, targets, 3).tolist(),
        )
        for one in methods
    ]


def test_what_was_asked_is_not_asked_again(world, tmp_path, asked):
    """A second run reads what the first wrote; so does one whose store is opened anew."""
    assert len(SLOW) == 2
    alone = ask(SLOW, world)
    for times in (1, 0, 0):
        asked.clear()
        with cache_methods(SLOW, world[0], Store(tmp_path)) as remembered:
            assert ask(remembered, world) == alone
        assert bool(asked) == bool(times)


@pytest.mark.few(1)
@pytest.mark.parametrize("what", ["labels", "rows", "pool", "silence", "in-domain"])
def test_other_questions_have_other_answers(world, tmp_path, what):
    """Another label of a row that is shown, another row, another probability, other accuracies in-domain: nothing of
    the former is taken."""
    pool, targets = world
    with cache_methods(SLOW, pool, Store(tmp_path)) as remembered:
        ask(remembered, world)
    if what == "labels":
        targets = Targets(targets.outcomes, 1 - targets.labels)
    elif what == "pool":
        pool = Pool(pool.probs[:, ::-1])
    elif what == "silence":
        pool = Pool(np.concatenate([pool.probs, np.zeros((3, 30, 1))], axis=2), silence=True)
    elif what == "in-domain":
        pool = replace(pool, in_domain_accuracy=np.array([0.5, 0.7, 0.9]))
    draws = DRAWS + (what == "rows")
    with cache_methods(SLOW, pool, Store(tmp_path)) as remembered:
        for one, own in zip(SLOW, remembered, strict=True):
            assert np.array_equal(own.estimate(pool, targets, draws), one.estimate(pool, targets, draws))


def test_labels_of_other_rows_do_not_matter(world, tmp_path, asked):
    """What is not shown to a method is no part of the question."""
    pool, targets = world
    with cache_methods(SLOW[:1], pool, Store(tmp_path)) as (method,):
        method.estimate(pool, targets, DRAWS)
        asked.clear()
        hidden = np.isin(np.arange(30), DRAWS, invert=True)
        method.estimate(pool, Targets(targets.outcomes, np.where(hidden, -1, targets.labels)), DRAWS)
    assert not asked


def test_what_is_new_is_written_whatever_ends_it(world, tmp_path, asked):
    """An interrupted run goes on where it was."""

    def interrupted():
        with cache_methods(SLOW[:1], world[0], Store(tmp_path)) as (method,):
            method.estimate(*world, DRAWS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    asked.clear()
    with cache_methods(SLOW[:1], world[0], Store(tmp_path)) as (method,):
        method.estimate(*world, DRAWS)
    assert not asked


def test_what_nobody_can_identify_has_no_memory(world, tmp_path):
    """A method that closes over something may change without its source: it is asked each time."""
    hidden = [1.0]

    def estimate(pool, targets, rows):
        return np.full((3, len(rows)), hidden[0])

    own = PoolMethod("OWN", "pool", estimate, draws=10)
    for value in (1.0, 2.0):
        hidden[0] = value
        with cache_methods([own], world[0], Store(tmp_path)) as (method,):
            assert method.estimate(*world, DRAWS)[0, 0] == value


def test_without_a_pool_nothing_is_kept(world, tmp_path):
    """The methods are as they were; so are those that take many draws, which are fast."""
    with cache_methods(SLOW, None, Store(tmp_path)) as methods_:
        assert list(methods_) == SLOW
    quick = [one for one in methods.BUILTIN if one.draws == MANY]
    with cache_methods(quick, world[0], Store(tmp_path)) as methods_:
        assert list(methods_) == quick
