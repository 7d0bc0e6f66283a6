import numpy as np
import pytest

from ranker.labelling.learners import VoteLearner
from ranker.labelling.session import SKIP_DISTANCE, LabelEvent, Session
from ranker.statistics.patterns import fold


def some_pool(models=4, rows=60, classes=2, seed=0):
    """Predictions that are better the earlier a model stands, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=rows)
    chance = np.linspace(0.95, 0.4, models)[:, None]
    return np.where(rng.random((models, rows)) < chance, truth, rng.integers(classes, size=(models, rows))), truth


def voting(predicted, events=(), **options):
    """A session of predicted labels, two of them."""
    patterns = fold(predicted, 2, np.array([event.row for event in events], dtype=np.int64))
    return Session(VoteLearner(patterns), events, **options)


def labelled(session, truth, count):
    """Answer what is asked."""
    for _ in range(count):
        row = session.next()
        if row is None:
            break
        session.tell(row, truth[row])
    return session


def probabilities(session):
    """What each answer had before it was given."""
    return session.learner.predictive_probabilities(session.answered)


@pytest.mark.more
def test_a_session_finds_the_order():
    """After some answers the models stand in their true order, and it says how sure that is."""
    predicted, truth = some_pool()
    status = labelled(voting(predicted), truth, 15).status()
    assert status.order.tolist()[0] == 0
    assert status.best.sum() == pytest.approx(1.0)
    assert not status.alarmed
    assert status.shortfall[status.order[0]] == status.shortfall.min() >= 0


def test_undo_goes_back_to_the_very_same():
    """Every number, the next row included, is what it was before; also several steps back."""
    predicted, truth = some_pool()
    session = labelled(voting(predicted), truth, 4)
    before, row, chances = session.status(), session.next(), probabilities(session)
    labelled(session, truth, 3)
    session.add(LabelEvent(session.next(), "skipped"))
    session.status()
    undone = [session.undo() for _ in range(4)]
    assert undone[0].status == "skipped"
    assert undone[-1] == LabelEvent(row, "answered", truth[row])
    again = session.status()
    assert (again.score == before.score).all()
    assert (again.beats == before.beats).all()
    assert (again.within, again.forecast, session.next()) == (before.within, before.forecast, row)
    assert (probabilities(session) == chances).all()
    for _ in range(4):
        session.undo()
    assert session.events == []


def test_the_same_answers_say_the_same_in_any_order():
    """Whatever was asked before: a session that goes on from a file is the one that wrote it."""
    predicted, truth = some_pool()
    first = labelled(voting(predicted), truth, 6)
    second = voting(predicted, first.events[::-1])
    assert (second.status().beats == first.status().beats).all()
    assert second.next() == first.next()


@pytest.mark.more
def test_a_skipped_row_comes_back_and_one_that_cannot_be_told_does_not():
    """After so many other rows, or when no other is left."""
    predicted, truth = some_pool(rows=30)
    session = voting(predicted)
    skipped = session.next()
    session.add(LabelEvent(skipped, "skipped"))
    never = session.next()
    session.add(LabelEvent(never, "cannot-tell"))
    row_ids = []
    while (row := session.next()) is not None:
        row_ids.append(row)
        session.tell(row, truth[row])
    assert skipped not in row_ids[: SKIP_DISTANCE - 2]
    assert sorted([*row_ids, never]) == list(range(30))


@pytest.mark.parametrize(("skipped", "picks"), [(False, 1), (True, 2)])
def test_a_row_is_picked_once(monkeypatch, skipped, picks):
    """It is the dearest step; a second look is for rows that were skipped, if no other is left."""
    session, calls = voting(some_pool()[0]), []
    if skipped:
        session.add(LabelEvent(session.next(), "skipped"))
    monkeypatch.setattr(Session, "_pick", lambda self, closed, count: calls.append(count) or [3][skipped:])
    session.next()
    assert len(calls) == picks


def test_a_row_that_was_skipped_is_asked_when_no_other_is_left():
    """It is the last one."""
    session = voting(np.array([[0, 1, 1], [1, 1, 0]]), [LabelEvent(0, "answered", 0), LabelEvent(1, "cannot-tell")])
    session.add(LabelEvent(2, "skipped"))
    assert session.next() == 2


def test_random_rows_are_any_rows():
    """Each once, and not the order of the file."""
    predicted, truth = some_pool(rows=20)
    session = labelled(voting(predicted, rule="random"), truth, 20)
    rows = [event.row for event in session.answered]
    assert sorted(rows) == list(range(20))
    assert rows != sorted(rows)


@pytest.mark.more
def test_labels_that_the_votes_do_not_describe_raise_an_alarm():
    """Eight models agree closely and find both labels as often, and every answer is one of these."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    predicted = np.where(rng.random((8, 300)) < 0.95, truth, 1 - truth)
    wrong = voting(predicted, rule="random")
    right = voting(predicted, rule="random")
    labelled(wrong, np.ones(300, dtype=int), 40)
    labelled(right, truth, 40)
    assert wrong.status().alarmed
    assert not right.status().alarmed


def test_several_answers_to_a_row_are_readings():
    """Three people's answers to a row, from a file, count together."""
    predicted, _ = some_pool()
    events = [LabelEvent(3, "answered", 1), LabelEvent(3, "answered", 1), LabelEvent(3, "answered", 0)]
    session = voting(predicted, events)
    assert session.learner.beliefs(session.answered).readings.counts.tolist() == [1]


@pytest.mark.parametrize(
    "act",
    [
        lambda session: session.tell(60, 0),
        lambda session: session.tell(0, 2),
        lambda session: session.tell(-1, 0),
    ],
)
def test_an_invalid_answer_changes_nothing(act):
    """Neither a row that is not there nor a label that is none is recorded."""
    session = voting(some_pool()[0])
    with pytest.raises(ValueError, match="^(row|label) must be between"):
        act(session)
    assert session.events == []


def test_the_first_answer_to_a_row_is_not_the_last():
    """Answers that were given one after the other have the probabilities that each had then."""
    predicted, _ = some_pool()
    events = [LabelEvent(3, "answered", 1), LabelEvent(3, "answered", 0), LabelEvent(5, "answered", 1)]
    chances = voting(predicted, events).learner.predictive_probabilities(events)
    for place, event in enumerate(events):
        labels = (
            voting(predicted, events[:place])
            .learner.beliefs(events[:place])
            .worlds.labels(predicted[:, [event.row]].T, None)
        )
        share = labels[:, :, 0].mean(axis=1)[event.label]
        assert chances[place] == pytest.approx(0.98 * share + 0.01, abs=0.2 if place == 1 else 0.02)
    turned = voting(predicted, events[::-1]).learner.predictive_probabilities(events[::-1])
    assert turned.tolist() != chances.tolist()
