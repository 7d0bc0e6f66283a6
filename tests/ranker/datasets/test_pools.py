"""Labelled rows are found in a pool by their ids, else by their texts, and never by an empty text."""

import pytest

from factors import Example
from ranker import ClassificationTask
from ranker.datasets.pools import distinct_rows, with_labelled
from ranker.datasets.readers import read_sheet
from ranker.datasets.sets import from_sheet
from ranker.tasks.texts import TextTask

MOOD = ClassificationTask("mood", ("bad", "good"))


def row(key, text, target=None, file=""):
    """A row; with a file its key is a number there, and no id."""
    return Example(key, (text,), target, numbered_in=file)


def test_rows_with_ids_are_the_same_by_these_whatever_their_texts():
    """Rows that share an instruction, or have no text, stay apart; a text under another id is another row."""
    pool = [row("a", "Sum up."), row("b", "Sum up."), row("c", "Go on.")]
    labelled = [row("b", "Sum up.", 1), row("a", "", 0), row("d", "Sum up.", 1), row("e", "", 1)]
    rows, places = with_labelled(pool, labelled)
    assert [example.id for example in rows] == ["a", "b", "c", "d", "e"]
    assert places.tolist() == [1, 0, 3, 4]


@pytest.mark.parametrize("files", [("pool.csv", "ten.csv"), ("", "ten.csv"), ("pool.csv", "")])
def test_without_ids_on_both_sides_equal_texts_are_the_same_rows_in_order(files):
    """Two labelled rows of one text, with different labels, are two rows; the pool lends as many as it has."""
    of_pool, of_rows = files
    pool = [row("1", "It rang.", file=of_pool), row("2", "It fell.", file=of_pool)]
    labelled = [row("7", "It fell.", 0, of_rows), row("8", "It fell.", 1, of_rows), row("9", "New.", 1, of_rows)]
    rows, places = with_labelled(pool, labelled)
    assert places.tolist() == [1, 2, 3]
    assert [example.segments[0] for example in rows] == ["It rang.", "It fell.", "It fell.", "New."]
    assert with_labelled(pool, labelled, repeated=True)[1].tolist() == [1, 1, 2]


def test_rows_without_ids_and_texts_are_like_no_other():
    """Neither in the pool nor among themselves."""
    labelled = [row("1", "", 0, "ten.csv"), row("2", "", 1, "ten.csv")]
    rows, places = with_labelled([row("1", "It rang.", file="pool.csv")], labelled)
    assert len(rows) == 3
    assert places.tolist() == [1, 2]


def test_ids_that_stand_for_two_texts_tell_no_rows(caplog):
    """Such ids count rows of different files; then texts tell, and a warning says so."""
    pool = [row("0", "It rang."), row("1", "It fell.")]
    rows, places = with_labelled(pool, [row("0", "It fell.", 1), row("1", "It stood.", 0)])
    assert places.tolist() == [1, 2]
    assert "the id '0' has another text in the pool" in caplog.text


def test_a_row_of_a_pool_is_distinct_by_its_id_else_by_its_text():
    """The first of equal rows counts."""
    assert [example.id for example in distinct_rows([row("a", "Go."), row("b", "Go."), row("a", "Go.")])] == ["a", "b"]
    assert [
        example.id for example in distinct_rows([row("1", "Go.", file="p.csv"), row("2", "Go.", file="p.csv")])
    ] == ["1"]


@pytest.mark.parametrize(("ids", "count"), [(False, 2), (True, 3)])
def test_a_repeated_row_counts_once_unless_it_has_an_id_of_its_own(ids, count):
    """Text and label are equal; with ids the file says that there are two rows, and a note counts them."""
    rows = [{"text": "Go.", "label": "good"}, {"text": "Go.", "label": "good"}, {"text": "No.", "label": "bad"}]
    sheet = read_sheet([{**({"id": n} if ids else {}), **cells} for n, cells in enumerate(rows)])
    dataset = from_sheet("rows", sheet, MOOD)
    assert len(dataset.examples) == count
    note = "2 rows have the same text and label as another, and an id of their own."
    assert (note in dataset.notes) == ids


def test_rows_that_share_an_instruction_stay_apart_where_answers_are_texts():
    """Ids or not: references are no labels by which rows repeat."""
    sheet = read_sheet([{"text": "Sum up.", "reference": "one"}, {"text": "Sum up.", "reference": "one"}])
    assert len(from_sheet("rows", sheet, TextTask("text")).examples) == 2
