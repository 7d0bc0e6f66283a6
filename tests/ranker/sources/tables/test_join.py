import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from tables_made import ROWS, TASK, answers, csv, differing, joined_by, said_by, understood

from ranker.errors import Assumption, DataError
from ranker.sources.tables import join
from ranker.sources.tables.base import Columns, RequestedRows
from ranker.sources.tables.reading import parse_predictions


def test_by_id_in_any_order(tmp_path):
    """A row without an answer is missing, and rows that nobody asked about are counted."""
    joined = answers(tmp_path / "a.csv", csv("id,prediction", "d,good", "x,good", "a,negative"))
    assert said_by(joined.models[0]) == ["negative", "missing", "missing", "positive"]
    assert (joined_by(joined), joined.places.tolist()) == ("id", [2, -1, -1, 0])
    assert joined.notes == (
        "rows are joined by their ids",
        "2 rows are not in the file: missing",
        "1 row is only in the file",
    )


@pytest.mark.parametrize(("file", "rows", "same"), [
    ([7, 8], ["7", "8"], True), ([7.0, 8.0], ["7", "8"], True), (["7.0", "8.0"], ["7", "8"], True),
    ([7, 8], ["7.0", "8.0"], True), ([" 7", "8 "], ["7", "8"], True), (["7.0", "8.1"], ["7", "8"], False),
    (["07", "08"], ["7", "8"], False), (["A", "B"], ["a", "b"], False),
])  # fmt: skip
def test_ids_are_compared_as_texts(tmp_path, file, rows, same):
    """Numbers as they are written; ".0" is no part of a whole number where all ids end in it; "07" is not "7"."""
    content = [{"id": name, "prediction": "good"} for name in file]
    requested = RequestedRows(tuple(rows), ())
    if same:
        assert said_by(answers(tmp_path / "a.json", content, rows=requested).models[0]) == ["positive", "positive"]
    else:
        with refuses(DataError, place=tmp_path / "a.json"):
            answers(tmp_path / "a.json", content, rows=requested)


@pytest.mark.parametrize(
    ("file", "ids", "expected"),
    [
        ("0 1 2 3", "1 2 3 4", [0, 1, 2, 3]),  # both number the rows, from 0 and from 1
        ("1 2 3 4", "0 1 2 3", [0, 1, 2, 3]),
        ("3 0 2 1", "1 2 3 4", [1, 3, 2, 0]),
        ("0 3", "1 2 3 4", [0, -1, -1, 1]),  # of which there is no row 0
        ("0 1 2 3", "a b c d", [0, 1, 2, 3]),  # all numbers from 0, as GLUE's own programs write them
        ("2 1 3 4", "a b c d", [1, 0, 2, 3]),
        ("0 1 2 3", "0 1 2 3", [0, 1, 2, 3]),
        ("3 1", "1 2 3 4", [1, -1, 0, -1]),
        ("1 2 3 4", "1 2 3 4", [0, 1, 2, 3]),
    ],
)
def test_ids_that_number_the_rows(tmp_path, file, ids, expected):
    """Such ids are not what they look like: counted from 0, the number 1 is the second row."""
    content = csv("index,prediction", *(f"{number},good" for number in file.split()))
    assert answers(tmp_path / "a.csv", content, rows=RequestedRows(tuple(ids.split()), ())).places.tolist() == expected


def test_rows_without_ids_are_joined_by_no_number(tmp_path):
    """The ids of a file are its own then: its order tells the rows, or their texts, and a note says so."""
    rows = RequestedRows(None, (), size=4)
    joined = answers(tmp_path / "a.csv", csv("id,prediction", "9,good", "3,good", "70,negative", "2,good"), rows=rows)
    assert (joined_by(joined), joined.places.tolist()) == ("order", [0, 1, 2, 3])
    (note,) = joined.notes
    assert isinstance(note, Assumption)
    assert note.endswith("nothing in the file confirms it; it has ids, and the rows have none")
    texts = RequestedRows(None, ROWS.texts)
    lines = ["3,Poor.,good", "1,Dull.,good", "2,Lovely.,negative"]
    joined = answers(tmp_path / "b.csv", csv("id,text,prediction", *lines), rows=texts)
    assert (joined_by(joined), joined.places.tolist()) == ("text", [2, 1, -1, 0])
    with refuses(DataError, place=tmp_path / "c.csv"):
        answers(tmp_path / "c.csv", csv("id,prediction", "1,good", "2,good", "3,good"), rows=rows)
    with refuses(DataError, place=tmp_path / "d.csv"):
        answers(tmp_path / "d.csv", csv("id,prediction", "1,good", "0,good", "3,good", "2,good"), rows=rows)


def test_numbers_of_rows_are_places_in_the_whole_file(tmp_path):
    """Rows may be asked about in any order; numbers in a file of other rows may be those of another file."""
    rows = RequestedRows(None, (), places=(2, 0))
    joined = answers(tmp_path / "a.csv", csv("prediction", "good", "good", "negative"), rows=rows)
    assert said_by(joined.models[0]) == ["negative", "positive"]
    with refuses(DataError, place=tmp_path / "a.csv"):
        rows = RequestedRows(("a", "b", "c"), ())
        answers(tmp_path / "a.csv", csv("index,prediction", "0,good", "1,good"), rows=rows)


def test_what_ids_leave_out_is_an_assumption(tmp_path):
    """If all are found, no note assumes anything."""
    lines = [f"{name},good" for name in "abcd"]
    for rows, expected in ((lines, []), (lines[:3], ["1 row is not in the file: missing"])):
        joined = answers(tmp_path / "a.csv", csv("id,prediction", *rows))
        assert [note for note in joined.notes if isinstance(note, Assumption)] == expected


def test_texts_join_in_order_or_by_themselves(tmp_path):
    """White space does not matter, and as many rows, even one in its place, are no order."""
    rows = RequestedRows(("1", "2", "3"), (("Same.",), ("Same.",), ("An other\none.",)))
    content = csv("text,prediction", "Same.,good", "Same.,negative", "An  other one.,")
    joined = answers(tmp_path / "a.csv", content, rows=rows)
    assert (joined_by(joined), differing(joined)) == ("order", 0)
    assert said_by(joined.models[0]) == ["positive", "negative", "no answer"]
    assert joined.notes == ("rows are joined by their order, and all texts agree",)
    lines = ["Lovely.,good", "Poor.,negative", "Dull.,negative", "Fine.,"]
    joined = answers(tmp_path / "a.csv", csv("text,prediction", *lines))
    assert (joined_by(joined), joined.places.tolist()) == ("text", [0, 2, 3, 1])


def test_rows_whose_text_differs_are_counted(tmp_path):
    """Two that were mangled, of five: their answers are to another text."""
    rows = RequestedRows(tuple("abcde"), tuple((f"Zürich {i}.",) for i in range(5)))
    texts = ["Zürich 0.", "ZÃ¼rich 1.", "Zürich 2.", "Z?rich 3.", "Zürich 4."]
    joined = answers(tmp_path / "a.csv", csv("text,prediction", *(f"{text},good" for text in texts)), rows=rows)
    assert (joined_by(joined), differing(joined)) == ("text", 0)
    assert said_by(joined.models[0]) == ["positive", "missing", "positive", "missing", "positive"]
    content = csv("id,text,prediction", *(f"{i},{t},good" for i, t in zip("abcde", texts, strict=True)))
    joined = answers(tmp_path / "b.csv", content, rows=rows)
    assert (joined_by(joined), differing(joined)) == ("id", 2)


def test_texts_that_repeat_as_often_are_joined_in_order(tmp_path):
    """One that is more or less often on one side is not joined: which answer is whose is not known."""
    rows = RequestedRows(tuple("abcdef"), tuple((text,) for text in ("x", "y", "x", "z", "y", "w")))
    lines = ["y,good", "x,good", "z,good", "x,negative", "z,negative", "v,good", "y,negative"]
    joined = answers(tmp_path / "a.csv", csv("text,prediction", *lines), rows=rows)
    assert joined_by(joined) == "text"
    assert joined.places.tolist() == [1, 0, 3, -1, 6, -1]
    assert "1 row has a text that is not as often in the file, so the answer is ambiguous" in joined.notes


def test_texts_join_rows_whose_ids_are_of_another_file(tmp_path):
    """Rows that were numbered anew are known by their texts, and one text of a pair is enough."""
    joined = answers(tmp_path / "a.csv", csv("id,text,prediction", "x1,Dull.,negative", "x2,Lovely.,good"))
    assert (joined_by(joined), joined.places.tolist()) == ("text", [1, 0, -1, -1])
    rows = RequestedRows(("1", "2"), (("A dog ran.", "It ran."), ("A dog ran.", "It sat.")))
    joined = answers(tmp_path / "a.csv", csv("hyp,prediction", "It sat.,good", "It ran.,negative"), rows=rows)
    assert said_by(joined.models[0]) == ["negative", "positive"]


def test_more_texts_than_the_rows_have(tmp_path):
    """The file has pairs, and the rows their first text: that is compared."""
    rows = RequestedRows(("1", "2"), (("A dog ran.",), ("A cat sat.",)))
    content = csv("id,premise,hypothesis,prediction", "2,A cat sat.,It sat.,good", "1,A dog ran.,It ran.,negative")
    reading = understood(tmp_path / "a.csv", content)
    assert reading.texts.keys() == {0, 1}
    assert differing(join.join(reading, rows)) == 0


def test_rows_with_two_answers_are_counted(tmp_path):
    """The first is named."""
    content = csv("id,prediction", "a,good", "b,good", "a,good", "b,good", "c,good", "c,good")
    with refuses(DataError, value="a", place=f"{tmp_path}/a.csv, rows 1 and 3"):
        answers(tmp_path / "a.csv", content)


def test_order_alone_is_said(tmp_path):
    """A file of nothing but answers, and rows without texts."""
    for rows in (ROWS, RequestedRows(ROWS.ids, ())):
        joined = answers(tmp_path / "a.csv", csv("prediction", "good", "good", "negative", "good"), rows=rows)
        assert joined.notes == ("rows are joined by their order alone; nothing in the file confirms it",)


def test_the_order_of_one_row_is_that_of_its_file(tmp_path):
    """The third of three rows is the third of three answers, and not the first of one."""
    rows = RequestedRows(("c",), (), stands=(2,), file_size=3)
    joined = answers(tmp_path / "a.csv", csv("prediction", "good", "good", "negative"), rows=rows)
    assert joined.places.tolist() == [2]
    with refuses(DataError, place=tmp_path / "b.csv"):
        answers(tmp_path / "b.csv", csv("prediction", "good"), rows=rows)


def test_scores_and_outcomes_are_joined_like_labels(tmp_path):
    """Missing rows are nan."""
    model = answers(tmp_path / "a.csv", csv("id,negative,positive", "b,0.25,0.75", "a,0.9,0.1")).models[0]
    assert np.array_equal(model.probs, [[0.9, 0.1], [0.25, 0.75], [np.nan] * 2, [np.nan] * 2], equal_nan=True)
    model = answers(tmp_path / "b.csv", csv("id,m", "b,0.5", "a,1"), answers="outcomes").models[0]
    assert np.array_equal(model.outcomes, [1, 0.5, np.nan, np.nan], equal_nan=True)
    assert model.state.tolist() == [0, 0, 3, 3]


def by_definition(file, rows):
    """(N,) the place of each row, one pair after the other: a text is joined where it is as often on both sides."""
    return [
        [i for i, candidate in enumerate(file) if candidate == text][sum(t == text for t in rows[:place])]
        if sum(t == text for t in file) == sum(t == text for t in rows)
        else -1
        for place, text in enumerate(rows)
    ]


@given(
    st.lists(st.sampled_from("vwxyz"), min_size=1, max_size=12),
    st.lists(st.sampled_from("vwxyz"), min_size=1, max_size=12),
)
def test_texts_are_joined_as_they_are_defined(file, rows):
    """The fast join agrees with the slow one."""
    assert join._by_text(file, rows)[0].tolist() == by_definition(file, rows)


LABEL = st.sampled_from(["positive", "negative", "good", "", "[invalid]", "0", "1"])
IDS = st.lists(
    st.text("abc123é -", min_size=1, max_size=6).map(str.strip).filter(bool).filter(lambda t: t.casefold() != "nan"),
    min_size=1,
    max_size=12,
    unique=True,
)


@pytest.mark.more
@settings(max_examples=60)
@given(st.data())
def test_the_order_of_rows_with_ids_does_not_matter(tmp_path_factory, drawing):
    """Any permutation gives the same answers, of labels and of scores."""
    ids = [f"k{name}" for name in drawing.draw(IDS)]  # not such as could be numbers of rows
    labels = drawing.draw(st.lists(LABEL, min_size=len(ids), max_size=len(ids)))
    first = drawing.draw(st.lists(st.integers(0, 100), min_size=len(ids), max_size=len(ids)))
    order = drawing.draw(st.permutations(range(len(ids))))
    rows = RequestedRows(tuple(ids), ())
    path = tmp_path_factory.mktemp("order") / "a.csv"
    lines = [[name, label, p / 100, 1 - p / 100] for name, label, p in zip(ids, labels, first, strict=True)]
    for header, cut in ((["id", "prediction"], slice(0, 2)), (["id", "m/negative", "m/positive"], None)):
        cells = [line[cut] if cut else [line[0], *line[2:]] for line in lines]
        first_answers = answers(path, csv(header, *cells), rows=rows).models[0]
        second_answers = answers(path, csv(header, *(cells[i] for i in order)), rows=rows).models[0]
        assert np.array_equal(first_answers.state, second_answers.state)
        assert np.array_equal(first_answers.probs, second_answers.probs, equal_nan=True)


@pytest.mark.more
@settings(max_examples=40)
@given(st.integers(2, 4), st.integers(1, 8), st.data())
def test_a_wide_table_is_as_many_files_of_one_model(tmp_path_factory, models, rows, drawing):
    """And as one long table with a column that says which model was asked."""
    folder = tmp_path_factory.mktemp("wide")
    column = st.lists(LABEL, min_size=rows, max_size=rows)
    answers_of = {f"m{m}": drawing.draw(column) for m in range(models)}
    ids = [f"k{i}" for i in range(rows)]
    kind = {"answers": "labels"}
    content = csv(["id", *answers_of], *zip(ids, *answers_of.values(), strict=True))
    wide = understood(folder / "w.csv", content, prediction=tuple(answers_of), **kind)
    long = [[name, i, label] for name, labels in answers_of.items() for i, label in zip(ids, labels, strict=True)]
    content, requested = csv("model,id,prediction", *drawing.draw(st.permutations(long))), RequestedRows(tuple(ids), ())
    long_answers = join.join(understood(folder / "l.csv", content, rows=requested, **kind), requested)
    below = {model.name: model for model in long_answers.models}
    for model in wide.models:
        content = csv("id,prediction", *zip(ids, answers_of[model.name], strict=True))
        alone = understood(folder / f"{model.name}.csv", content, **kind).models[0]
        for same_model in (alone, below[model.name]):
            assert np.array_equal(model.state, same_model.state)
            assert np.array_equal(model.probs, same_model.probs, equal_nan=True)


def test_the_join_is_not_quadratic(tmp_path):
    """20,000 rows with ids in another order: each id is compared a few times, and not with every other."""
    looked = []

    class CountingText(str):
        __slots__ = ()

        def __eq__(self, text):
            looked.append(1)
            return str.__eq__(self, text)

        def strip(self):
            return self

        __hash__ = str.__hash__

    size = 20_000
    order = np.random.default_rng(0).permutation(size).tolist()
    lines = [[f"k{i}", TASK.labels[i % 2]] for i in order]
    reading = understood(tmp_path / "a.csv", csv("id,prediction", *lines))
    rows = RequestedRows(tuple(CountingText(f"k{i}") for i in range(size)), ())
    joined = join.join(reading, rows)
    assert joined.models[0].predicted.tolist() == [i % 2 for i in range(size)]
    assert size <= len(looked) <= 3 * size


def test_columns_of_any_origin(tmp_path):
    """Arrays that another program hands over are read like those of a file."""
    import pyarrow as pa

    cells = {"id": pa.array(["b", "a"]), "prediction": pa.array(["good", None]).dictionary_encode()}
    joined = join.join(parse_predictions(Columns("memory", 2, cells), TASK, rows=ROWS), ROWS)
    assert said_by(joined.models[0]) == ["no answer", "positive", "missing", "missing"]
