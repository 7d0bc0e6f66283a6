"""Tasks whose answers were judged elsewhere: what is given is taken as it is."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factors.types import Example
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER
from ranker.tasks.classes import ClassProbabilities
from ranker.tasks.precomputed import PrecomputedScores, PrecomputedTask

TASK = PrecomputedTask("summaries", "ROUGE-L")


def rows(count):
    """So many rows, of which no true label is known."""
    return [Example(str(n), ("x",), None) for n in range(count)]


def same(first, second):
    """Equal to the last bit, and with labels or without."""
    ours, theirs = first.columns(), second.columns()
    return list(ours) == list(theirs) and all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)


@st.composite
def scores(draw):
    """Answers in any state, with the probabilities of labels or without."""
    count = draw(st.integers(1, 6))
    state = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    values = np.array(draw(st.lists(st.floats(0, 1), min_size=count, max_size=count)))
    probs = draw(st.sampled_from([None, np.random.default_rng(0).dirichlet([1, 1, 1], count)]))
    return PrecomputedScores(np.where(state == ANSWERED, values, np.nan), state, probs)


def test_an_outcome_is_the_score_that_is_given():
    """Of an answer that was asked for and not given it is 0; of what failed, or is missing, nothing is known."""
    state = np.array([ANSWERED, ANSWERED, ANSWERED, NO_ANSWER, ERROR, MISSING])
    for unknown in (np.nan, 0.7):  # whatever stands where there is no answer
        answers = PrecomputedScores(np.array([0.0, 0.25, 1.0, unknown, unknown, unknown]), state)
        outcomes = TASK.outcomes(answers, rows(6))
        assert np.array_equal(outcomes, [0.0, 0.25, 1.0, 0.0, np.nan, np.nan], equal_nan=True)


@given(scores())
def test_every_outcome_is_in_its_range_or_unknown(answers):
    """Row by row: nan exactly for what failed or is missing."""
    outcomes = TASK.outcomes(answers, rows(len(answers))).tolist()
    for outcome, state, value in zip(outcomes, answers.state.tolist(), answers.values.tolist(), strict=True):
        assert np.isnan(outcome) == (state in (ERROR, MISSING))
        if not np.isnan(outcome):
            assert outcome == (value if state == ANSWERED else 0.0)


def test_answers_that_were_not_judged_are_refused():
    """Probabilities have no score."""
    with pytest.raises(TypeError, match=r"the task summaries takes answers that were judged \(got classes\)"):
        TASK.outcomes(ClassProbabilities(np.array([[0.5, 0.5]])), rows(1))


ONE, ANSWER = np.array([0.5]), np.array([ANSWERED])


@pytest.mark.parametrize(
    ("values", "state", "probs", "wrong"),
    [
        (ONE, np.array([ANSWERED] * 2), None, r"must have the shape \(N,\) \(got \(1,\), \(2,\)\)"),
        (ONE[None], ANSWER[None], None, r"must have the shape \(N,\) \(got \(1, 1\), \(1, 1\)\)"),
        (ONE, ANSWER, np.array([0.5]), r"probs must have the shape \(N, C\) \(got \(1,\)\)"),
        (ONE, ANSWER, np.full((2, 2), 0.5), r"probs must have the shape \(N, C\) \(got \(2, 2\)\)"),
        (ONE, np.array([4]), None, "a state must be between 0 and 3"),
        (ONE, np.array([-1]), None, "a state must be between 0 and 3"),
        *(
            (np.array([score]), ANSWER, None, rf"a score must be between 0 and 1 \(got {score:g}\)")
            for score in (-0.01, 1.01, np.nan, np.inf, -np.inf)
        ),
    ],
)
def test_what_cannot_be_scores_is_refused(values, state, probs, wrong):
    """Shapes that do not agree, states that are none, and an answer whose score is none."""
    with pytest.raises(ValueError, match=wrong):
        PrecomputedScores(values, state, probs)


def test_answers_stay_what_they_are():
    """Nobody changes what was judged."""
    answers = PrecomputedScores(ONE.copy(), ANSWER.copy(), np.full((1, 2), 0.5))
    for array in (answers.values, answers.state, answers.probs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@given(scores(), st.data())
def test_parts_and_blocks_are_rows_of_the_whole(answers, drawing):
    """A part is its rows one by one, in its order; blocks joined are the whole again."""
    places = drawing.draw(st.lists(st.integers(0, len(answers) - 1)))
    part = answers.part(places)
    assert len(part) == len(places)
    assert part.state.tolist() == [answers.state[place] for place in places]
    assert part.values.tobytes() == np.array([answers.values[place] for place in places], dtype=float).tobytes()
    if answers.probs is None:
        assert part.probs is None
    else:
        assert part.probs.tolist() == [answers.probs[place].tolist() for place in places]
    cut = drawing.draw(st.integers(1, len(answers)))
    blocks = [answers.part(range(start, min(start + cut, len(answers)))) for start in range(0, len(answers), cut)]
    assert same(PrecomputedScores.joined(blocks), answers)
    assert same(PrecomputedScores(**answers.columns()), answers)


def test_labels_are_those_of_all_blocks_or_of_none():
    """Labels are dropped where a block has none, since nothing would stand in its rows."""
    bare = PrecomputedScores(ONE.copy(), ANSWER.copy())
    labelled = PrecomputedScores(ONE.copy(), ANSWER.copy(), np.full((1, 2), 0.5))
    assert PrecomputedScores.joined([bare, labelled]).probs is None
    assert PrecomputedScores.joined([labelled, labelled]).probs.shape == (2, 2)
    assert list(bare.columns()) == ["state", "values"]
    assert list(labelled.columns()) == ["state", "values", "probs"]


def test_the_identity_of_a_task_is_its_metric_and_labels():
    """As plain JSON; its name changes no answer."""
    task = PrecomputedTask("answers", "EM", ("A", "B"))
    assert json.loads(json.dumps(task.identity())) == {"metric": "EM", "labels": ["A", "B"]}
    assert PrecomputedTask("other", "EM", ("A", "B")).identity() == task.identity()
    assert TASK.identity() != PrecomputedTask("summaries", "BLEU").identity()


@pytest.mark.parametrize("metric", ["", "exact match", "A,B", "metric.py"])
def test_a_metric_that_cannot_be_a_column_is_refused(metric):
    """A metric is asked for by its name, as factors are."""
    with pytest.raises(ValueError, match="the name of a metric must be one word without a comma"):
        PrecomputedTask("answers", metric)
