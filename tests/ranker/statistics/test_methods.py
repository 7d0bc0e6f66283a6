"""What holds of every method that sees a pool, whichever it is."""

import numpy as np
import pytest

from ranker.statistics import methods
from ranker.statistics.pool import CHOSEN, RANDOM, InDomain, Pool, PoolMethod, Targets, possible

NAMED = {method.name: method for method in methods.BUILTIN}
DRAWS = np.array([[3, 8, 8, 21], [0, 40, 17, 2], [5, 6, 7, 9]])


def world(models=4, rows=41, classes=3):
    """A pool that has all that a method may need, and what is known of its rows."""
    rng = np.random.default_rng(0)
    own_in_domain = InDomain(rng.dirichlet(np.ones(classes), (models, 30)), rng.integers(classes, size=30))
    probs, factor = rng.dirichlet(np.ones(classes), (models, rows)), rng.normal(size=(models, rows))
    pool = Pool(probs, own_in_domain, factor, in_domain_accuracy=np.append(rng.random(models - 1), np.nan))
    labels = rng.integers(classes, size=rows)
    return pool, Targets((pool.predicted == labels).astype(float), labels)


def estimate(name, pool, targets, draws=DRAWS):
    """(M, B) the scores of a method."""
    return NAMED[name].estimate(pool, targets, draws)


@pytest.mark.parametrize("name", NAMED)
def test_a_score_for_each_model_and_draw(name):
    """They are numbers, and the same for the same draw."""
    estimates = estimate(name, *world())
    assert estimates.shape == (4, 3)
    assert np.isfinite(estimates).all()
    assert np.array_equal(estimates, estimate(name, *world()))


@pytest.mark.parametrize("name", NAMED)
def test_no_target_is_looked_at_but_those_of_the_rows_shown(name):
    """What is said of other rows may be anything; a method without labels looks at none."""
    pool, targets = world()
    outcomes, labels = np.full_like(targets.outcomes, np.nan), np.full_like(targets.labels, -1)
    if NAMED[name].kind == "pool":
        shown_rows = np.unique(DRAWS)
        outcomes[:, shown_rows], labels[shown_rows] = targets.outcomes[:, shown_rows], targets.labels[shown_rows]
    assert np.array_equal(estimate(name, pool, targets), estimate(name, pool, Targets(outcomes, labels)))


@pytest.mark.parametrize("name", NAMED)
def test_each_model_has_the_same_score_whatever_the_order_of_models_and_rows(name):
    """A draw shows the same rows, wherever these stand."""
    pool, targets = world()
    models, rows = [2, 0, 3, 1], np.random.default_rng(1).permutation(41)
    reordered = pool.ordered(models).part(rows), Targets(targets.outcomes[models], targets.labels).part(rows)
    estimates = estimate(name, *reordered, np.argsort(rows)[DRAWS])
    assert estimates == pytest.approx(estimate(name, pool, targets)[models], abs=2e-9)  # nine digits are kept


@pytest.mark.parametrize("name", [method.name for method in methods.BUILTIN if method.belief])
def test_what_a_decision_goes_by_is_what_was_measured(name):
    """The posterior ranks by the same scores, whatever the order of answers, and its probabilities are some."""
    pool, targets = world()
    rows = DRAWS[0]
    belief = NAMED[name].belief(pool, rows, targets.labels[rows], None)
    beats = belief.beats()
    assert belief.score == pytest.approx(estimate(name, pool, targets)[:, 0])
    assert beats + beats.T == pytest.approx(np.ones((4, 4)))
    assert np.array_equal(beats, NAMED[name].belief(pool, rows[::-1], targets.labels[rows[::-1]], None).beats())
    assert belief.best().sum() == pytest.approx(1)
    assert (belief.near(0.1) >= belief.near(0.0)).all()
    assert belief.near(1.0) == pytest.approx([1] * 4)


def test_each_is_declared_as_what_it_is():
    """Names occur once; what asks for its rows has no part in a decision, which has the rows already."""
    assert len(NAMED) == len(methods.BUILTIN)
    assert not set(NAMED) & set(methods.COINS)
    for method in methods.BUILTIN:
        assert method.source
        assert method.rule == ("" if method.kind == "label-free" else CHOSEN if method.pick else RANDOM)
        assert method.drawn == (method.rule == RANDOM)
        assert method.decides == (method.rule != CHOSEN)


@pytest.mark.parametrize("name", [method.name for method in methods.BUILTIN if method.pick])
def test_rows_are_asked_for_one_after_the_other(name):
    """No row twice, the first of many are those of fewer, and no target is looked at before its row is asked for."""
    pool, targets = world()
    rows = NAMED[name].pick(pool, targets, 6)
    assert len(set(rows.tolist())) == 6
    assert NAMED[name].pick(pool, targets, 3).tolist() == rows[:3].tolist()
    labels = np.where(np.isin(np.arange(41), rows[:5]), targets.labels, 2)  # the sixth is asked for with five known
    assert NAMED[name].pick(pool, Targets(targets.outcomes, labels), 6).tolist() == rows.tolist()
    few = pool.part(np.arange(2))
    assert sorted(NAMED[name].pick(few, targets.part(np.arange(2)), 5).tolist()) == [0, 1]  # no more are left


def test_what_a_pool_lacks_leaves_out_the_methods_that_need_it():
    """All can be had of a pool that has all, and most of one that has probabilities alone."""
    pool, targets = world()
    assert possible(methods.BUILTIN, pool, targets.labels) == list(methods.BUILTIN)
    bare = [method.name for method in possible(methods.BUILTIN, Pool(pool.probs), targets.labels)]
    assert [name for name in NAMED if name not in bare] == ["POOL-FACTOR", "ATC", "DOC", "ID-ACC", "ALINE", "COT"]
    unknown = [m.name for m in possible(methods.BUILTIN, pool, np.where(targets.labels == 0, -1, targets.labels))]
    assert [name for name in NAMED if name not in unknown] == ["SURROGATE", "SURROGATE+LABEL"]


@pytest.mark.parametrize("name", ["", "TWO WORDS", "A,B", "A\tB", "mine.py"])
def test_a_name_that_cannot_be_asked_for_is_refused(name):
    """It stands in a list on the command line, beside files."""
    with pytest.raises(ValueError, match="a method's name must be one word without a comma"):
        PoolMethod(name, "pool", lambda pool, targets, rows: np.zeros((1, 1)))


def test_what_is_shown_by_default_is_short():
    """SURROGATE with random and with chosen rows, and one that needs no label."""
    assert [method.name for method in methods.DEFAULT] == ["SURROGATE", "SURROGATE+LABEL", "DAWID-SKENE"]
    assert {need for method in methods.DEFAULT for need in method.needs} <= {"labels"}
