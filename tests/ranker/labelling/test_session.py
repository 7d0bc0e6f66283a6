import numpy as np
import pytest

from ranker.labelling.session import SKIP_DISTANCE, LabelEvent
from ranker.labelling.votes import VoteSession


def some_pool(models=4, rows=60, classes=2, seed=0):
    """Predictions that are better the earlier a model stands, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=rows)
    chance = np.linspace(0.95, 0.4, models)[:, None]
    return np.where(rng.random((models, rows)) < chance, truth, rng.integers(classes, size=(models, rows))), truth


def labelled(session, truth, count):
    """Answer what is asked."""
    for _ in range(count):
        row = session.next()
        if row is None:
            break
        session.tell(row, truth[row])
    return session


def test_a_session_finds_the_order():
    """After some answers the models stand in their true order, and it says how sure that is."""
    predicted, truth = some_pool()
    found = labelled(VoteSession(predicted, 2), truth, 15).status()
    assert found.order.tolist()[0] == 0
    assert found.best.sum() == pytest.approx(1.0)
    assert not found.alarmed
    assert found.certain is None


def test_undo_goes_back_to_the_very_same():
    """Every number, the next row included, is what it was before; also several steps back."""
    predicted, truth = some_pool()
    session = labelled(VoteSession(predicted, 2), truth, 4)
    before, row, chances = session.status(), session.next(), session.predictive_probabilities
    labelled(session, truth, 3)
    session.skip(session.next())
    undone = [session.undo() for _ in range(4)]
    assert undone[0].status == "skipped"
    assert undone[-1] == LabelEvent(row, "answered", truth[row])
    again = session.status()
    assert (again.score == before.score).all()
    assert (again.beats == before.beats).all()
    assert (again.within, again.forecast, session.next()) == (before.within, before.forecast, row)
    assert (session.predictive_probabilities == chances).all()
    for _ in range(4):
        session.undo()
    assert session.events == []


def test_the_same_answers_say_the_same_in_any_order():
    """Whatever was asked before: a session that goes on from a file is the one that wrote it."""
    predicted, truth = some_pool()
    first = labelled(VoteSession(predicted, 2), truth, 6)
    second = VoteSession(predicted, 2, first.events[::-1])
    assert (second.status().beats == first.status().beats).all()
    assert second.next() == first.next()


def test_a_skipped_row_comes_back_and_one_that_cannot_be_told_does_not():
    """After so many other rows, or when no other is left."""
    predicted, truth = some_pool(rows=30)
    session = VoteSession(predicted, 2)
    skipped = session.next()
    session.skip(skipped)
    never = session.next()
    session.cannot_tell(never)
    seen = []
    while (row := session.next()) is not None:
        seen.append(row)
        session.tell(row, truth[row])
    assert skipped not in seen[: SKIP_DISTANCE - 2]
    assert sorted([*seen, never]) == list(range(30))


@pytest.mark.parametrize(("skipped", "picks"), [(False, 1), (True, 2)])
def test_a_row_is_picked_once(monkeypatch, skipped, picks):
    """It is the dearest step; a second look is for rows that were skipped, if no other is left."""
    session, calls = VoteSession(some_pool()[0], 2), []
    if skipped:
        session.skip(session.next())
    monkeypatch.setattr(VoteSession, "_pick", lambda self, closed, count: calls.append(count) or [3][skipped:])
    session.next()
    assert len(calls) == picks


def test_a_row_that_was_skipped_is_asked_when_no_other_is_left():
    """It is the last one."""
    session = VoteSession(
        np.array([[0, 1, 1], [1, 1, 0]]), 2, [LabelEvent(0, "answered", 0), LabelEvent(1, "cannot-tell")]
    )
    session.skip(2)
    assert session.next() == 2


def test_certain_draws_rows_and_ends():
    """Rows on which the leader is in question, until it is in none; and the same ones are drawn again."""
    predicted, truth = some_pool(models=2, rows=200)
    session = labelled(VoteSession(predicted, 2, rule="certain"), truth, 200)
    found = session.status()
    assert (found.certain, session.next()) == (True, None)
    assert len(session.answers[0]) < (predicted[0] != predicted[1]).sum()
    assert (predicted[0] != predicted[1])[session.answers[0]].all()
    again = labelled(VoteSession(predicted, 2, rule="certain"), truth, 200)
    assert again.events == session.events
    resumed = VoteSession(predicted, 2, session.events[:5], drawn=5, rule="certain")
    assert labelled(resumed, truth, 200).events == session.events
    foreign = VoteSession(predicted, 2, session.events, rule="certain")
    assert not foreign.status().certain  # rows that came from elsewhere are no bets


def test_random_rows_are_any_rows():
    """Each once, and not the order of the file."""
    predicted, truth = some_pool(rows=20)
    session = labelled(VoteSession(predicted, 2, rule="random"), truth, 20)
    rows = session.answers[0].tolist()
    assert sorted(rows) == list(range(20))
    assert rows != sorted(rows)


def test_labels_that_the_votes_do_not_describe_raise_an_alarm():
    """Eight models agree closely and find both labels as often, and every answer is one of these."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    predicted = np.where(rng.random((8, 300)) < 0.95, truth, 1 - truth)
    wrong = VoteSession(predicted, 2, rule="random")
    right = VoteSession(predicted, 2, rule="random")
    labelled(wrong, np.ones(300, dtype=int), 40)
    labelled(right, truth, 40)
    assert wrong.status().alarmed
    assert not right.status().alarmed


def test_several_answers_to_a_row_are_readings():
    """Three people's answers to a row, from a file, count together."""
    predicted, _ = some_pool()
    events = [LabelEvent(3, "answered", 1), LabelEvent(3, "answered", 1), LabelEvent(3, "answered", 0)]
    session = VoteSession(predicted, 2, events)
    assert session.beliefs.readings.counts.tolist() == [1]


@pytest.mark.parametrize(
    "act",
    [lambda session: session.tell(60, 0), lambda session: session.tell(0, 2), lambda session: session.skip(-1)],
)
def test_an_invalid_answer_changes_nothing(act):
    """Neither a row that is not there nor a label that is none is recorded."""
    session = VoteSession(some_pool()[0], 2)
    with pytest.raises(ValueError, match="^(row|label) must be between"):
        act(session)
    assert session.events == []
