import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refuses

from factors.types import Example
from ranker.errors import LabelError
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER
from ranker.tasks.classes import ClassificationTask, ClassProbabilities, require_labels, softmax
from ranker.tasks.precomputed import PrecomputedScores, PrecomputedTask

PROBS = np.array([[0.25, 0.75], [np.nan, np.nan], [1.0, 0.0]])
STATE = np.array([ANSWERED, NO_ANSWER, ANSWERED])


def same(first, second):
    """Equal to the last bit."""
    return first.probs.tobytes() == second.probs.tobytes() and first.state.tolist() == second.state.tolist()


def test_answers_say_whether_they_were_given():
    """All were where nothing else is said; a row of nan is none, and says so."""
    assert ClassProbabilities(PROBS[[0, 2]]).state.tolist() == [ANSWERED, ANSWERED]
    assert ClassProbabilities(PROBS, STATE).state.tolist() == [ANSWERED, NO_ANSWER, ANSWERED]
    with pytest.raises(ValueError, match="not finite"):
        ClassProbabilities(PROBS)


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
        ClassProbabilities(probs, state)


def test_answers_stay_what_they_are():
    """Nobody changes what a model has said."""
    answers = ClassProbabilities(PROBS.copy(), STATE.copy())
    for array in (answers.probs, answers.state):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_four_states_are_four():
    """The states are saved as numbers, which must stay what they are."""
    assert (ANSWERED, NO_ANSWER, ERROR, MISSING) == (0, 1, 2, 3)


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=st.floats(0, 1)), st.data())
def test_parts_and_blocks_are_rows_of_the_whole(probs, drawing):
    """A part is its rows one by one, in its order; blocks joined are the whole again, as are columns."""
    answers = ClassProbabilities(probs.copy())
    places = drawing.draw(st.lists(st.integers(0, len(probs) - 1)))
    assert [row.tolist() for row in answers.part(places).probs] == [probs[place].tolist() for place in places]
    cut = drawing.draw(st.integers(1, len(probs)))
    blocks = [answers.part(range(start, min(start + cut, len(probs)))) for start in range(0, len(probs), cut)]
    assert same(ClassProbabilities.joined(blocks), answers)
    assert same(ClassProbabilities.of_columns(answers.columns()), answers)
    assert [int(np.argmax(row)) for row in probs] == answers.predicted.tolist()


TASK = ClassificationTask("nli", ("no", "yes"), {"no": ("neutral", "contradiction")}, shortcut=1)


def examples(*labels):
    """Rows of these labels."""
    return [Example(str(n), ("x",), label) for n, label in enumerate(labels)]


def test_the_outcome_of_a_row_is_whether_its_label_was_predicted():
    """The most probable label and the true one, row by row; of labels that are as probable the first is said."""
    answers = ClassProbabilities(np.array([[0.2, 0.8], [0.3, 0.7], [0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]))
    assert TASK.outcomes(answers, examples(1, 0, 0, 0, 1)).tolist() == [1, 0, 1, 1, 0]
    assert TASK.metric == "ACC"


@pytest.mark.parametrize(
    ("state", "label", "outcome"),
    [
        *((ANSWERED, label, expected) for label, expected in ((0, 1.0), (1, 0.0), (-1, np.nan))),
        *((NO_ANSWER, label, expected) for label, expected in ((0, 0.0), (1, 0.0), (-1, np.nan))),
        *((state, label, np.nan) for state in (ERROR, MISSING) for label in (0, 1, -1)),
    ],
)
def test_what_was_asked_for_and_not_answered_is_wrong(state, label, outcome):
    """Of what failed, was never asked for, or has no true label nothing is known; a row of nan is no label 0."""
    answers = ClassProbabilities(np.array([[0.9, 0.1] if state == ANSWERED else [np.nan] * 2]), np.array([state]))
    assert np.array_equal(TASK.outcomes(answers, examples(label)), [outcome], equal_nan=True)


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=st.floats(0, 1)), st.data())
def test_outcomes_are_those_of_a_loop(probs, drawing):
    """On any rows, in any states."""
    task = ClassificationTask("three", ("a", "b", "c"))
    labels = drawing.draw(st.lists(st.integers(-1, 2), min_size=len(probs), max_size=len(probs)))
    state = drawing.draw(st.lists(st.integers(0, 3), min_size=len(probs), max_size=len(probs)))
    outcomes = task.outcomes(ClassProbabilities(probs.copy(), np.array(state)), examples(*labels))
    for row, label, answered, outcome in zip(probs.tolist(), labels, state, outcomes.tolist(), strict=True):
        if label < 0 or answered in (ERROR, MISSING):
            assert np.isnan(outcome)
        else:
            assert outcome == (answered == ANSWERED and row.index(max(row)) == label)


def test_only_classes_are_judged_by_labels():
    """Scores that come with an answer are another task's."""
    with pytest.raises(TypeError, match=r"the task nli judges classes \(got scores\)"):
        TASK.outcomes(PrecomputedScores(np.array([0.5]), np.array([ANSWERED])), examples(1))
    assert require_labels(TASK, "bert") is TASK
    with refuses(LabelError, place="bert"):
        require_labels(PrecomputedTask("summaries", "JUDGE"), "bert")


def test_the_identity_of_a_task_is_its_labels_and_what_else_they_are_called():
    """The order of labels counts, that of aliases and the shortcut do not."""
    turned = ClassificationTask("nli", ("no", "yes"), {"no": ("contradiction", "neutral")})
    assert TASK.identity() == turned.identity() == {"labels": [["no", ["contradiction", "neutral"]], ["yes", []]]}
    assert ClassificationTask("nli", ("yes", "no")).identity() != ClassificationTask("nli", ("no", "yes")).identity()


def test_an_answer_that_is_not_given_predicts_nothing():
    """No answer has no probabilities, is right of no label, and stands for none."""
    answers = ClassProbabilities(np.array([[np.nan, np.nan], [0.2, 0.8]]), np.array([NO_ANSWER, ANSWERED]))
    assert answers.predicted.tolist() == [-1, 1]
    rows = [Example("a", ("x",), 0), Example("b", ("y",), 1)]
    assert ClassificationTask("mood", ("bad", "good")).outcomes(answers, rows).tolist() == [0.0, 1.0]


def test_logits_that_are_as_far_apart_as_numbers_go():
    """Finite ones: the lower has a probability of 0, and nothing is warned of."""
    logits = np.array([[1e308, -1e308], [-1e308, 1e308], [1e308, 1e308]])
    assert softmax(logits).tolist() == [[1, 0], [0, 1], [0.5, 0.5]]


@pytest.mark.parametrize(("labels", "cell", "label"), [
    (("1", "2"), 1.0, "1"), (("1", "2"), "2.0", "2"), (("1", "2"), 0, None), (("False", "N/A"), True, None),
    (("False", "N/A"), False, "False"), (("False", "True"), 1, "True"), (("bad", "good"), 1, "good"),
])  # fmt: skip
def test_a_number_stands_for_a_label_only_where_no_label_is_another_number(labels, cell, label):
    """1.0 is the label 1, and not the second of 1 and 2; true is not the label beside False."""
    task = ClassificationTask("mood", labels)
    if label is None:
        with pytest.raises(ValueError, match="a label must be one of"):
            task.target_of(cell)
    else:
        assert task.labels[task.target_of(cell)] == label
