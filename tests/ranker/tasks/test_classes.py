import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER
from ranker.tasks.classes import Classes

PROBS = np.array([[0.25, 0.75], [np.nan, np.nan], [1.0, 0.0]])
STATE = np.array([ANSWERED, NO_ANSWER, ANSWERED])


def same(one, other):
    """Equal to the last bit."""
    return one.probs.tobytes() == other.probs.tobytes() and one.state.tolist() == other.state.tolist()


def test_answers_say_whether_they_were_given():
    """All were where nothing else is said; a row of nan is none, and says so."""
    assert Classes(PROBS[[0, 2]]).state.tolist() == [ANSWERED, ANSWERED]
    assert Classes(PROBS, STATE).state.tolist() == [ANSWERED, NO_ANSWER, ANSWERED]
    with pytest.raises(ValueError, match="not finite"):
        Classes(PROBS)


@pytest.mark.parametrize(
    ("probs", "state", "wrong"),
    [
        (PROBS, STATE[:2], r"shapes \(N, C\) and \(N,\)"),
        (PROBS[0], None, r"shapes \(N, C\) and \(N,\)"),
        (PROBS[[0]], np.array([4]), r"between 0 and 3 \(got 4\)"),
        (PROBS[[0]], np.array([-1]), r"between 0 and 3 \(got -1\)"),
    ],
)
def test_what_cannot_be_answers_is_refused(probs, state, wrong):
    """Shapes that do not agree, and states that are none."""
    with pytest.raises(ValueError, match=wrong):
        Classes(probs, state)


def test_answers_stay_what_they_are():
    """Nobody changes what a model has said."""
    answers = Classes(PROBS.copy(), STATE.copy())
    for array in (answers.probs, answers.state):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_four_states_are_four():
    """They are kept as numbers, which must stay what they are."""
    assert (ANSWERED, NO_ANSWER, ERROR, MISSING) == (0, 1, 2, 3)


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=st.floats(0, 1)), st.data())
def test_parts_and_blocks_are_rows_of_the_whole(probs, data):
    """A part is its rows one by one, in its order; blocks joined are the whole again, as are columns."""
    whole = Classes(probs.copy())
    places = data.draw(st.lists(st.integers(0, len(probs) - 1)))
    assert [row.tolist() for row in whole.part(places).probs] == [probs[at].tolist() for at in places]
    cut = data.draw(st.integers(1, len(probs)))
    blocks = [whole.part(range(start, min(start + cut, len(probs)))) for start in range(0, len(probs), cut)]
    assert same(Classes.joined(blocks), whole)
    assert same(Classes.of_columns(whole.columns()), whole)
    assert [int(np.argmax(row)) for row in probs] == whole.predicted.tolist()
