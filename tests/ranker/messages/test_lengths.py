"""No message is longer than a few lines, whatever is in a file: its beginning and its remedy are kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_messages import MESSAGES

from ranker.datasets.mapping import check_spellings, label_disagreement, label_mismatch
from ranker.datasets.readers import read_sheet
from ranker.errors import (
    MAX_EXAMPLES,
    MAX_MESSAGE_CHARACTERS,
    MAX_PATH_CHARACTERS,
    DataError,
    RankModelsError,
    UnknownName,
    UsageError,
    choice_error,
    listed,
)
from ranker.runs.task import decide_task
from ranker.sources.hf.labels import reconcile
from ranker.sources.tables.base import some
from ranker.tasks.classes import ClassificationTask

MOST = 300
"""Characters of a message with the name of the program before it."""


@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "message"), [(row[0], row[2]) for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_each_message_is_short(name, message):
    """Messages of the tables are, with the names of their files; one of them holds a path of 300 characters."""
    assert len(f"rank-models: {message}") < MOST or name == "a long path"


def outcome(call, *arguments):
    """Text of a call, or of its error."""
    try:
        return str(RankModelsError(call(*arguments)))
    except (RankModelsError, ValueError) as error:
        return str(error if isinstance(error, RankModelsError) else DataError(str(error)))


HOSTILE = {
    "labels of rows": lambda labels: decide_task(rows=read_sheet([{"text": "a", "label": label} for label in labels])),
    "labels and outputs": lambda labels: label_mismatch(labels, labels[::-1]),
    "more labels than outputs": lambda labels: label_mismatch(labels, labels[1:]),
    "models that differ": lambda labels: label_disagreement({f"m {n}": labels[n:] for n in labels and range(3)}),
    "an unknown name": lambda labels: (_ for _ in ()).throw(UnknownName("label", "no such", labels)),
    "a choice": lambda labels: (_ for _ in ()).throw(choice_error("task", labels, labels)),
    "two spellings": lambda labels: check_spellings("a.csv", "'label'", [*labels, labels[0].upper()]),
    "outputs": lambda labels: reconcile(dict(enumerate(labels)), ClassificationTask("own", ("bad", "good"))),
    "a cell": lambda labels: ClassificationTask("own", tuple(labels)).target_of("no such"),
    "columns": lambda labels: read_sheet([dict.fromkeys(labels, "a")]),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize(("count", "width"), [(2, 5_000), (30, 60), (1_500, 12)])
def test_many_and_long_names_make_no_long_message(kind, count, width):
    """1,500 labels, and labels of 5,000 characters, are a message of a few lines, which begins as ever."""
    text = outcome(HOSTILE[kind], [f"{n:05} {'x' * width}" for n in range(count)])
    assert len(f"rank-models: {text}") < MOST, text
    assert text.isprintable()


@settings(max_examples=60)
@given(text=st.text(max_size=3_000), place=st.text(max_size=500), end=st.text("abc", min_size=1, max_size=100))
def test_the_remedy_is_kept(text, place, end):
    """Whatever stands before it: the end of a message is that of its text."""
    message = str(DataError.at(place, f"{text}; {end}"))
    assert len(message) <= MAX_MESSAGE_CHARACTERS + MAX_PATH_CHARACTERS
    assert message.endswith(end)


def test_a_path_may_be_longer():
    """A file is found by its whole path: its folder does not shorten what is said of it."""
    path, reason = f"/home/{'f' * 90}/rows.csv", "r" * 250
    assert str(UsageError.at(path, reason)) == f"{path}: {reason}"
    message = str(UsageError.at(f"/home/{'f' * 9_000}/rows.csv", reason))
    assert len(message) == MAX_MESSAGE_CHARACTERS + MAX_PATH_CHARACTERS


@given(st.lists(st.text("ab", max_size=90), min_size=1, max_size=30))
def test_a_list_counts_what_it_leaves_out(names):
    """Of long names three are listed, of short ones ten; of examples three."""
    text = listed(names)
    assert len(text) <= 200
    assert text.endswith(" more") == (len(text.split(", ")) < len(names) and " more" in text)
    assert len(some(names).split(", ")) <= MAX_EXAMPLES
