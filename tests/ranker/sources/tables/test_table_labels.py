"""Cells of a table that are labels, nothing, or neither."""

import pyarrow as pa
import pytest
from refusals import refuses
from tables_made import STATES, TASK, csv, understood

from ranker.errors import Assumption, DataError, Question
from ranker.files import reader
from ranker.sources.tables.base import Columns, TableHints
from ranker.sources.tables.cells import Labels, blanks_to_null, numbers, numbers_of
from ranker.sources.tables.reading import parse_predictions
from ranker.tasks.base import ANSWERED, NO_ANSWER
from ranker.tasks.classes import ClassificationTask


def parsed_alone(path, *rows, **hints):
    """Parse a table by itself."""
    path.write_text(csv(*rows))
    return parse_predictions(reader.read_columns(path), hints=TableHints(**hints))


def assumed(parsed):
    """The notes that guess, of the file and of its models."""
    notes = (*parsed.notes, *(note for model in parsed.models for note in model.notes))
    return [note for note in notes if isinstance(note, Assumption) and "as the truth, by its name" not in note]


@pytest.mark.parametrize(
    "labels", [("-", "+"), ("_", "-"), ("01", "1"), ("-1", "1"), ("1", "10"), ("a b", "ab"), ("True", "10")]
)
def test_a_label_is_itself_and_nothing_else(tmp_path, labels):
    """Signs, zeros before a number and numbers with a sign are names; an empty cell is none of them."""
    first, second = labels
    parsed = parsed_alone(
        tmp_path / "a.csv", ["id", "label", "m"], ["a", first, first], ["b", second, first], ["c", first, ""]
    )
    assert set(parsed.task.labels) >= set(labels)
    (model,) = parsed.models
    assert [parsed.task.labels[label] if label >= 0 else "" for label in model.predicted] == [first, first, ""]
    assert model.state.tolist() == [ANSWERED, ANSWERED, NO_ANSWER]
    assert model.correct(parsed.truth).tolist() == [1, 0, 0]


def test_names_that_differ_in_case_are_asked_about(tmp_path):
    """Such names may be one label or two, and a label map says either."""
    rows = [["id", "label", "m"], ["a", "yes", "yes"], ["b", "YES", "yes"], ["c", "no", "Yes"], ["d", "no", "no"]]
    with refuses(Question, option="label_map", value="yes", place=tmp_path / "a.csv"):
        parsed_alone(tmp_path / "a.csv", *rows)
    parsed = parsed_alone(tmp_path / "a.csv", *rows, label_map={"YES": "yes"})
    assert parsed.task.labels == ("no", "yes")
    assert parsed.models[0].correct(parsed.truth).tolist() == [1, 1, 0, 1]
    two = rows[:3] + rows[4:]
    parsed = parsed_alone(tmp_path / "a.csv", *two, label_map={"YES": "YES", "yes": "yes"})
    assert parsed.task.labels == ("no", "YES", "yes")
    assert parsed.models[0].correct(parsed.truth).tolist() == [1, 0, 1]


def test_names_of_one_label_in_a_model_are_said(tmp_path):
    """Nothing else can be meant if the truth has but one of them."""
    rows = [["id", "label", "m"], ["a", "yes", "yes"], ["b", "yes", "Yes"], ["c", "no", "no"]]
    parsed = parsed_alone(tmp_path / "a.csv", *rows)
    assert parsed.models[0].correct(parsed.truth).tolist() == [1, 1, 1]
    assert assumed(parsed) == ["'yes' and 'Yes' in 'm' are read as one label"]


def test_labels_go_by_exact_names_and_by_no_places():
    """Another spelling, or a place, is a label only where no second one could be meant."""
    labels = Labels(ClassificationTask("own", ("yes", "YES", "no")), {"Y": "YES", "y": "yes"})
    assert [labels.index(cell) for cell in ("yes", "YES", "Yes", "NO", "y", "Y", "01")] == [0, 1, -2, 2, 0, 1, -2]
    stars = ClassificationTask("stars", ("1", "2", "3"))
    assert [Labels(stars).index(cell) for cell in (0, 1, 3.0, "2.0", "LABEL_0")] == [-2, 0, 2, 1, -2]
    stated = Labels(stars, order=("1", "2", "3"))
    assert [stated.index(cell) for cell in (0, 1, 2, -1, 3)] == [0, 1, 2, -1, -2]


@pytest.mark.parametrize("word", ["N/A", "None", "nan", "NULL", "na", "#N/A"])
def test_a_word_for_nothing_is_asked_about_where_labels_are_read_off_the_cells(tmp_path, word):
    """In the truth and in answers; what is said then holds."""
    rows = [
        ["id", "label", "m"], ["a", "x", "x"], ["b", "y", word], ["c", "y", word], ["d", word, word], ["e", "y", "x"],
    ]  # fmt: skip
    for part in rows, [row for row in rows if row[0] != "d"]:
        with refuses(Question, option="empty_words", value=word, place=tmp_path / "a.csv"):
            parsed_alone(tmp_path / "a.csv", *part)
    parsed = parsed_alone(tmp_path / "a.csv", *rows, empty_words=(word,))
    assert (parsed.task.labels, parsed.truth.tolist()) == (("x", "y"), [0, 1, 1, -1, 1])
    assert [STATES[state] for state in parsed.models[0].state] == ["answered", *["no answer"] * 3, "answered"]
    parsed = parsed_alone(tmp_path / "a.csv", *rows, empty_words=())
    assert word in parsed.task.labels
    assert parsed.models[0].correct(parsed.truth).tolist() == [1, 0, 0, 1, 0]


def test_a_label_map_declares_a_label_that_the_truth_lacks(tmp_path):
    """Ten rows often lack a rare class; an answer with it is no answer, or one, as the map says."""
    rows = [["id", "label", "m"], ["a", "good", "good"], ["b", "bad", "rare"], ["c", "good", "bad"]]
    plain = parsed_alone(tmp_path / "a.csv", *rows)
    assert (plain.task.labels, plain.models[0].predicted.tolist()) == (("bad", "good"), [1, -1, 0])
    declared = parsed_alone(tmp_path / "a.csv", *rows, label_map={"rare": "rare"})
    assert (declared.task.labels, declared.models[0].predicted.tolist()) == (("bad", "good", "rare"), [1, 2, 0])
    assert declared.models[0].state.tolist() == [ANSWERED] * 3


def test_declared_labels_ask_nothing(tmp_path):
    """A word that is none of them is nothing, in the truth, too, and counted; one that is a label is one."""
    rows = [["id", "label", "m"], ["a", "good", "N/A"], ["b", "N/A", "negative"], ["c", "negative", "negative"]]
    parsed = understood(tmp_path / "a.csv", csv(*rows))
    assert (parsed.truth.tolist(), parsed.models[0].state.tolist()) == (
        [1, -1, 0],
        [NO_ANSWER, ANSWERED, ANSWERED],
    )
    assert assumed(parsed) == ["1 cell says 'N/A' in 'label': no label", "1 cell says 'N/A' in 'm': no answer"]
    scores = [["id", "label", "yes", "no"], ["a", "yes", 0.9, 0.1], ["b", "None", 0.5, 0.5], ["c", "no", 0, 1]]
    assert parsed_alone(tmp_path / "b.csv", *scores).truth.tolist() == [1, -1, 0]
    parsed = parsed_alone(tmp_path / "c.csv", *rows, label_map={"good": "positive"})
    assert parsed.task.labels == ("negative", "positive")
    task = ClassificationTask("own", ("good", "negative", "N/A"))
    assert understood(tmp_path / "a.csv", csv(*rows), task).models[0].predicted.tolist() == [2, 1, 1]


def test_the_classes_that_a_file_states(tmp_path):
    """Numbers are those of the classes, -1 is a row without a label, and a class may be called None."""
    cells = {"label": pa.array([0, 1, -1]), "m": pa.array([1, 1, 0])}
    cells = {name: array.dictionary_encode() for name, array in cells.items()}
    parsed = parse_predictions(Columns("memory", 3, cells, names=dict.fromkeys(cells, ("None", "some"))))
    assert (parsed.task.labels, parsed.truth.tolist()) == (("None", "some"), [0, 1, -1])
    assert parsed.models[0].predicted.tolist() == [1, 1, 0]


def test_words_for_nothing_are_no_numbers(tmp_path):
    """Of scores and outcomes they are errors, and nobody is asked."""
    rows = [["id", "a", "b"], ["x", 1, "N/A"], ["y", "None", 0], ["z", 0, 1]]
    first, second = parsed_alone(tmp_path / "a.csv", *rows, answers="outcomes").models
    assert [STATES[state] for state in first.state] == ["answered", "error", "answered"]
    assert [STATES[state] for state in second.state] == ["error", "answered", "answered"]


def test_cells_that_are_emptied():
    """Blank ones always; a word that is named wherever it stands, of any type."""
    for array in (pa.array(["a", " ", "-1", None]), pa.array(["a", " ", "-1", None]).dictionary_encode()):
        assert blanks_to_null(array, None).to_pylist() == ["a", None, "-1", None]
        assert blanks_to_null(array, ("-1",)).to_pylist() == ["a", None, None, None]
    assert blanks_to_null(pa.array([1.5, -1.0]), ("-1",)).to_pylist() == [1.5, None]
    assert blanks_to_null(pa.array([1, -1]), None).to_pylist() == [1, -1]


def test_a_model_of_which_most_cells_are_labels_is_one(tmp_path):
    """Other cells, however many differ, are no answers and counted; too many refuse the model by name."""
    rows = [["id", "label", "m", "n"], *([f"r{i}", "yn"[i % 2], "yn"[i % 2], "n"] for i in range(6))]
    for row, cell in ((1, "who knows"), (2, "maybe"), (3, "y or n")):
        rows[row][2] = cell
    parsed = parsed_alone(tmp_path / "a.csv", *rows)
    assert [model.name for model in parsed.models] == ["m", "n"]
    assert parsed.models[0].state.tolist() == [NO_ANSWER] * 3 + [ANSWERED] * 3
    assert parsed.models[0].notes == ("3 cells are no labels in 'm' ('who knows', 'maybe' and 'y or n'): no answer",)
    assert isinstance(parsed.models[0].notes[0], Assumption)
    rows[4][2] = "perhaps"
    with refuses(DataError, option="label_map", value="who knows", place=tmp_path / "a.csv"):
        parsed_alone(tmp_path / "a.csv", *rows)
    assert [model.name for model in parsed_alone(tmp_path / "a.csv", *rows, prediction=("n",)).models] == ["n"]
    with refuses(DataError, option="label_map", value="who knows", place=tmp_path / "a.csv"):
        parsed_alone(tmp_path / "a.csv", *rows, prediction=("m",))
    rows = [[f"r{i}", "yn"[i % 2], f"Hm {i}." if i % 3 == 0 else "y", "n"] for i in range(4_000)]
    parsed = parsed_alone(tmp_path / "a.csv", ["id", "label", "m", "n"], *rows)
    assert [model.name for model in parsed.models] == ["m", "n"]
    assert int((parsed.models[0].state == NO_ANSWER).sum()) == 1_334


def test_labels_of_another_task_are_no_missing_answers(tmp_path):
    """Of three labels one is this task's, and two are said again and again in place of its other one."""
    task = ClassificationTask("own", ("no", "yes"))
    rows = [["id", "m"], *([f"r{i}", "yes" if i < 7 else "surely not"] for i in range(9))]
    with refuses(DataError, option="label_map", value="surely not", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", csv(*rows), task)
    rows[-1][1] = "no"
    model = understood(tmp_path / "a.csv", csv(*rows), task).models[0]
    assert model.state.tolist() == [*[ANSWERED] * 7, NO_ANSWER, ANSWERED]


def test_every_column_is_something(tmp_path):
    """Unread columns, as of counts, are said with the reason, in a note that guesses; named ones are not."""
    header = ["id", "text", "label", "m", "source", "remark", "length", "nothing"]
    rows = [[f"r{i}", f"Text {i}.", "yn"[i % 2], "y", "web", f"Remark {i}.", 7 * i + 3, ""] for i in range(6)]
    parsed = parsed_alone(tmp_path / "a.csv", header, *rows)
    assert [model.name for model in parsed.models] == ["model"]
    assert assumed(parsed) == [
        "'source' and 'remark' hold cells that are no labels: not read",
        "'length' holds numbers: not read",
        "'nothing' is empty: not read",
    ]
    assert assumed(parsed_alone(tmp_path / "a.csv", header, *rows, prediction=("m",))) == []
    rows = [[f"r{i}", i % 2, i % 2, [0, 0, 0, 1, 2, 3, 4, 5][i % 8]] for i in range(16)]
    parsed = parsed_alone(tmp_path / "a.csv", ["id", "label", "m", "errors"], *rows)
    assert [model.name for model in parsed.models] == ["model"]
    assert "'errors' holds numbers: not read" in assumed(parsed)


def test_signs_of_percents_and_decimal_commas_are_named(tmp_path):
    """Wherever numbers would be read, with a known task or by the file alone."""
    for number, (header, *rows) in enumerate(
        [
            (["negative", "positive"], ["13%", "87 %"], ["60%", "40%"]),
            (["id", "label", "acc"], ["a", "good", "50%"], ["b", "negative", "100 %"]),
            (["negative", "positive"], [0.13, 0.87], [0.6, "40%"], [0, 1]),
        ]
    ):
        for task in (TASK, None):
            with refuses(DataError, place=tmp_path / f"{number}.csv"):
                understood(tmp_path / f"{number}.csv", csv(header, *rows), task)
    content = "id|p_positive|p_negative\nx|0,87|0,13\ny|0,4|0,6\n"
    for task in (TASK, None):
        with refuses(DataError, place=tmp_path / "a.csv"):
            understood(tmp_path / "a.csv", content, task)


def test_texts_of_all_columns_are_read_at_once_as_each_would_be_alone(monkeypatch):
    """However many columns there are."""
    rows = [
        ("50%", "1", "n/a", "0,5"),
        ("100 %", "50%", "+2e1", "1"),
        (None, "-.5", "", "x"),
        ("7%", "inf", "1", "0,25"),
    ]
    columns = reader.of_rows(dict(zip("abcd", row, strict=True)) for row in rows)
    alone = {name: numbers(array) for name, array in columns.cells.items()}
    count = []
    monkeypatch.setattr("ranker.sources.tables.cells.numbers", lambda array: count.append(1) or numbers(array))
    for name, (values, bad) in alone.items():
        together = numbers_of(columns, name)
        assert together[0].tolist() == pytest.approx(values.tolist(), nan_ok=True)
        assert together[1].tolist() == bad.tolist()
    assert len(count) == 1


def test_why_a_file_cannot_be_read_is_found_once(tmp_path, monkeypatch):
    """One look tells the file's models, and what is said of it alone."""
    from ranker.sources.base import ResourceCache
    from ranker.sources.tables.kind import TableModel

    looks = []
    place = "ranker.sources.tables.reading.parse_predictions"
    monkeypatch.setattr(place, lambda *_, **__: looks.append(1) or parse_predictions(*_, **__))
    (tmp_path / "a.csv").write_text("id,count\n1,0.25\n2,7.5\n")
    model, cache = TableModel("a", str(tmp_path / "a.csv")), ResourceCache()
    for _ in range(3):
        with refuses(DataError, option="truth", place=tmp_path / "a.csv"):
            model.reading(cache)
    assert looks == [1]


def rows_answered(path, cells, labels=("neg", "pos"), task=None, column="prediction", **hints):
    """Parse a file of answers to rows of these labels, in no stated order unless a task is named."""
    path.write_text(csv(["id", column], *enumerate(cells)))
    task = task or ClassificationTask("rows", labels, ordered=False)
    return parse_predictions(reader.read_columns(path), task, TableHints(**hints)).models[0]


@pytest.mark.parametrize("form", ["{}", "LABEL_{}", "label-{}", "{}.0"])
def test_numbers_of_three_labels_are_not_read_as_those_of_two(tmp_path, form):
    """A 2 shows that 1 is not the second of two labels, however the numbers are written."""
    answers = [form.format(n) for n in (0, 1, 0, 1, 0, 1, 2)]
    with refuses(DataError, option="label_map", value=form.format(2), place=tmp_path / "a.csv"):
        rows_answered(tmp_path / "a.csv", answers)
    assert rows_answered(tmp_path / "a.csv", answers[:-1]).predicted.tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("form", ["{}", "LABEL_{}"])
@pytest.mark.parametrize("labels", [("fake", "real"), ("hate", "not_hate"), ("acceptable", "unacceptable")])
def test_two_words_of_ones_own_are_not_counted(tmp_path, labels, form):
    """Nothing says which of them 0 is, so the question names both maps; either one answers it."""
    first, second = (form.format(n) for n in (0, 1))
    with refuses(Question, option="label_map", value=first, allowed=labels):
        rows_answered(tmp_path / "a.csv", [first, second, second], labels)
    for label_map in (dict(zip((first, second), labels, strict=True)), dict(zip((second, first), labels, strict=True))):
        model = rows_answered(tmp_path / "a.csv", [first, second, second], labels, label_map=label_map)
        assert [labels[n] for n in model.predicted] == [label_map[n] for n in (first, second, second)]


@pytest.mark.parametrize("labels", [("no", "yes"), ("neg", "pos"), ("bad", "good"), ("great", "terrible"), ("n", "y")])
def test_the_ends_of_a_scale_are_counted_from_the_negative_one(tmp_path, labels):
    """Whatever their alphabetical order."""
    low = labels.index("terrible") if "terrible" in labels else 0
    assert rows_answered(tmp_path / "a.csv", [0, 1], labels).predicted.tolist() == [low, 1 - low]


def test_the_label_of_a_single_score_is_asked_for_if_labels_have_no_order(tmp_path):
    """A probability of one of two words may be of either."""
    answers, hints = [0.9, 0.2, 0.7], {"answers": "probabilities", "prediction": ("p",)}
    with refuses(Question, option="label_map", value="p"):
        rows_answered(tmp_path / "a.csv", answers, ("fake", "real"), column="p", **hints)
    hints["label_map"] = {"p": "fake"}
    model = rows_answered(tmp_path / "a.csv", answers, ("fake", "real"), column="p", **hints)
    assert model.predicted.tolist() == [0, 1, 0]


@pytest.mark.parametrize("word", ["error", "timeout", "failed"])
def test_a_word_among_outcomes_is_an_error_of_its_model(tmp_path, word):
    """The column does not vanish: one row has no outcome, and a note says why."""
    rows = [["id", "a", "b"], *[[n, n % 2, 1] for n in range(5)], [5, 1, word]]
    parsed = parsed_alone(tmp_path / "a.csv", *rows, answers="outcomes")
    assert [model.name for model in parsed.models] == ["a", "b"]
    assert parsed.models[1].state.tolist() == [ANSWERED] * 5 + [STATES.index("error")]
    assert f"1 cell is no outcome in 'b' ({word!r}): errors" in parsed.models[1].notes


@pytest.mark.parametrize("cell", ["2.0", "inf", '"1,0"', "100%", "-1"])
def test_a_number_that_is_no_outcome_is_refused_by_name(tmp_path, cell):
    """Such a number is not taken for an error, since it may be an outcome on another scale."""
    rows = [["id", "a", "b"], *[[n, n % 2, 1] for n in range(5)], [5, 1, cell]]
    with refuses(DataError, option="b", value=cell.strip('"')):
        parsed_alone(tmp_path / "a.csv", *rows, answers="outcomes")


def test_numbers_among_labels_that_are_numbers_do_not_make_a_column_vanish(tmp_path):
    """A model of which most distinct cells are labels, and most cells are not, is refused by name."""
    rows = [["id", "label", "a", "b"], *[[n, n % 2, n % 2, n % 2 if n < 14 else 2] for n in range(30)]]
    with refuses(DataError, option="label_map", value="2"):
        parsed_alone(tmp_path / "a.csv", *rows)
    parsed = parsed_alone(
        tmp_path / "a.csv", *[[*row[:3], "length" if n == 0 else 7 + n] for n, row in enumerate(rows)]
    )
    assert len(parsed.models) == 1
