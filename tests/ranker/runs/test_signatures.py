"""Calls of public functions: one order of arguments, and one line for a wrong one."""

import inspect

import numpy as np
import pytest

from ranker import Evidence, UsageError, decide, explain, label, load_set, load_suite, rank, rank_votes

MODELS = load_suite(["hans-sub-mini"]).models[-2:]
ROWS = load_set("hans-sub", limit=40)


@pytest.mark.parametrize(
    ("function", "second"), [(decide, "examples"), (rank, "examples"), (label, "pool"), (explain, "example")]
)
def test_models_come_first_then_rows_and_all_else_by_name(function, second):
    """Whatever is asked."""
    positional = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind != parameter.KEYWORD_ONLY
    ]
    assert positional == ["models", second]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decide(ROWS, MODELS), "`models` must be a suite, or references to models (got LabelledDataset)"),
        (lambda: label(ROWS, MODELS), "`models` must be a suite, or references to models (got LabelledDataset)"),
        (lambda: decide(MODELS, 5), "`examples` must be a dataset, a file, or rows in memory (got int)"),
        (lambda: decide(MODELS, ROWS, pool=5), "`pool` must be examples, a file, or rows in memory (got int)"),
        (lambda: decide(MODELS, ROWS, evidence="shap"), "`evidence` must be Evidence (got str)"),
        (lambda: decide(MODELS, ROWS, probe="ten"), "`probe` must be int | None (got str)"),
        (lambda: rank(MODELS, ROWS, draws=2.5), "`draws` must be int | Literal['exact'] (got float)"),
        (lambda: rank_votes(5), "`votes` must be a file of votes, or rows in memory (got int)"),
    ],
)
def test_a_wrong_call_is_one_line(call, message):
    """The line names the argument, what it takes, and what it got, before any work."""
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value) == message


def test_a_call_that_python_refuses_says_what_python_says():
    """An unknown name, or an argument too many."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'prob'"):
        decide(MODELS, ROWS, prob=3)
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        explain(MODELS, ROWS.task, ROWS.examples[0])


def test_numbers_of_numpy_are_numbers():
    """A probe and a seed may come from an array."""
    evidence = Evidence("none")
    by_numpy = decide(MODELS, ROWS, probe=np.int64(10), seed=np.int32(3), evidence=evidence)
    assert by_numpy.decision == decide(MODELS, ROWS, probe=10, seed=3, evidence=evidence).decision


def test_a_text_is_explained_as_it_is():
    """Or a pair of them, by the models' own labels; the same as an example with the task."""
    texts = ROWS.examples[0].segments
    by_texts = explain(MODELS, texts, evidence=Evidence("none"))
    by_example = explain(MODELS, ROWS.examples[0], task=ROWS.task, evidence=Evidence("none"))
    assert [reading.probabilities for reading in by_texts.readings] == [
        reading.probabilities for reading in by_example.readings
    ]
    assert explain(MODELS, "The nurse ran.", evidence=Evidence("none")).example.segments == ("The nurse ran.",)


def test_a_session_shows_itself_in_a_line():
    """Not with all rows of its pool; a notebook shows the models in order."""
    session = label(MODELS, ROWS.examples, task=ROWS.task)
    row = session.next()
    session.tell(row, ROWS.task.labels[row.target])
    assert repr(session) == "<Labelling of 40 rows of nli by inoc-1600, inoc-4000: 1 answer>"
    assert len(session._repr_html_()) < 1_000
