"""A session of answers that are no labels."""

import numpy as np
import pytest

from ranker.labelling.learners import ReferenceLearner
from ranker.labelling.session import LabelEvent, Session
from ranker.statistics.likeness import Anchors, choose_rows, infer_differences

MODELS, ROWS = 4, 40


def comparing(anchors, outcomes, events=(), **options):
    """A session of answers that are compared."""
    return Session(ReferenceLearner(anchors, outcomes), events, **options)


def answers_of(seed=0):
    """Answers of models that are better the earlier they stand, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(5, size=ROWS)
    right = rng.random((MODELS, ROWS)) < np.linspace(0.95, 0.3, MODELS)[:, None]
    return np.where(right, truth, rng.integers(5, size=(MODELS, ROWS))), truth


@pytest.fixture
def pool():
    """Likeness of the answers, the outcomes by a truth, and the truth."""
    answers, truth = answers_of()
    anchors = Anchors((answers[:, None] == answers).astype(float))
    return anchors, lambda row, label: (answers[:, row] == label).astype(float), truth


def test_rows_and_figures_are_those_of_anchors(pool):
    """Each row is the one that `choose_rows` names, those that cannot be told left out; the figures follow from it."""
    anchors, outcomes, truth = pool
    session, asks, never = comparing(anchors, outcomes), [], []
    for step in range(6):
        row = session.next()
        assert row == choose_rows(anchors, 1, sorted(asks), sorted(never))[0]
        if step == 2:
            session.add(LabelEvent(row, "cannot-tell"))
            never.append(row)
        else:
            session.tell(row, truth[row])
            asks.append(row)
    posterior = infer_differences(anchors, np.stack([outcomes(row, truth[row]) for row in asks], 1), asks, domain=True)
    status = session.status()
    assert status.score == pytest.approx(posterior.score, abs=1e-9)
    assert (status.beats == posterior.beats()).all()
    assert status.order[0] == 0
    drawn = posterior.drawn(np.random.default_rng(1), 20_000)
    assert status.within == pytest.approx((drawn[:, 0] >= drawn.max(axis=1) - 0.01).mean(), abs=0.015)
    assert (status.alarmed, status.rows_left) == (False, True)
    assert (status.low < status.score).all()
    assert (status.score < status.high).all()


def test_rows_at_once_are_those_asked_one_after_the_other(pool):
    """A batch is as good: rows depend on no outcome. Random rows go on where they stopped, too."""
    anchors, outcomes, truth = pool
    for rule in ("order", "random"):
        session = comparing(anchors, outcomes, rule=rule, seed=3)
        batch = session.several(7)
        for row in batch:
            assert session.next() == row
            session.tell(row, truth[row])


def test_several_references_of_a_row_count_as_their_mean(pool):
    """Two people's answers are one row with the mean outcome; undone, all is as before."""
    anchors, outcomes, _ = pool
    events = [LabelEvent(3, "answered", 1), LabelEvent(3, "answered", 2)]
    session = comparing(anchors, outcomes, events)
    mean = (outcomes(3, 1) + outcomes(3, 2)) / 2
    score = session.status().score
    assert score == pytest.approx(infer_differences(anchors, mean[:, None], [3], domain=True).score, abs=1e-9)
    row = session.next()
    session.tell(row, 0)
    assert (session.status().score != score).any()
    session.undo()
    assert (session.status().score == score).all()


def test_it_ends_with_the_rows(pool):
    """Then none is left, and enough is what reaches the wanted probability."""
    anchors, outcomes, truth = pool
    session = comparing(anchors, outcomes, probable=0.0)
    assert session.status().forecast.high == 0
    for row in range(ROWS):
        session.tell(row, truth[row])
    assert (session.next(), session.status().rows_left, session.status().forecast) == (None, False, None)


@pytest.mark.parametrize("rule", ["best", "worst"])
def test_rules_of_labels_are_refused(pool, rule):
    """They need predicted labels."""
    with pytest.raises(ValueError, match="rule must be one of order, random"):
        comparing(*pool[:2], rule=rule)
