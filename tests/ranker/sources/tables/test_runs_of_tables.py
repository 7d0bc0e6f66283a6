"""Tables whose rows repeat for each run: they are asked about, averaged, or kept apart."""

import numpy as np
from refusals import refuses
from tables_made import TASK, csv, said_by, understood

from ranker.errors import Absence, Assumption, DataError, Question
from ranker.files import reader
from ranker.sources.tables.base import TableHints
from ranker.sources.tables.keys import join_ids
from ranker.sources.tables.reading import parse_predictions
from ranker.sources.tables.values import collect_values
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER

LONG = [
    ("a", "good", "one", 1, "good"), ("b", "bad", "one", 1, "bad"), ("c", "bad", "one", 1, ""),
    ("a", "good", "one", 2, "bad"), ("b", "bad", "one", 2, "bad"), ("c", "bad", "one", 2, ""),
    ("a", "good", "two", 1, "good"), ("a", "good", "two", 2, "good"), ("b", "bad", "two", 2, "good"),
]  # fmt: skip


def table(rows, names="id,label,model,seed,prediction"):
    """A table of these rows."""
    return csv(names, *rows)


def test_it_is_asked_what_is_meant(tmp_path):
    """By the name of the column that tells the runs apart."""
    with refuses(Question, option="runs", place=tmp_path / "a.csv", allowed=("newest", "mean", "each")):
        understood(tmp_path / "a.csv", table(LONG), task=None)


def test_the_mean_of_runs_is_how_often_an_answer_is_right(tmp_path):
    """Over the runs that have the row: no answer is wrong, and a row that is in none is missing."""
    parsed = understood(tmp_path / "a.csv", table(LONG), runs="mean", task=None)
    assert parsed.ids == ("a", "b", "c")
    first, second = parsed.models
    assert (first.name, first.kind, first.outcomes.tolist()) == ("one", "outcomes", [0.5, 1, 0])
    assert first.state.tolist() == [ANSWERED, ANSWERED, NO_ANSWER]
    np.testing.assert_array_equal(second.outcomes, [1, 0, np.nan])
    assert second.state.tolist() == [ANSWERED, ANSWERED, MISSING]
    assert "each row is the mean of 2 runs, by 'seed'" in first.notes
    assert "each row is the mean of 2 runs, by 'seed' (1 of 2 rows of fewer, down to 1)" in second.notes


def test_each_run_may_be_a_model(tmp_path):
    """Under the model's name and its own."""
    parsed = understood(tmp_path / "a.csv", table(LONG), runs="each", task=None)
    assert [model.name for model in parsed.models] == ["one@1", "one@2", "two@1", "two@2"]
    assert parsed.models[2].state.tolist() == [ANSWERED, MISSING, MISSING]


def test_the_newest_run_is_the_one_with_the_highest_number(tmp_path):
    """Of each model its own; other names are in the order of the file."""
    rows = [("a", "good", "m", run, answer) for run, answer in ((9, "negative"), (10, "good"), (2, "negative"))]
    rows += [("a", "good", "n", 2, "good")]
    parsed = understood(tmp_path / "a.csv", table(rows), runs="newest", task=TASK)
    assert {model.name: said_by(model) for model in parsed.models} == {"m": ["positive"], "n": ["positive"]}
    assert "of 3 runs, by 'seed', the last is read: 10" in parsed.models[0].notes
    rows = [
        (row, "good", "m", run, answer) for run, answer in (("late", "negative"), ("early", "good")) for row in "ab"
    ]
    (model,) = understood(tmp_path / "b.csv", table(rows), runs="newest", task=TASK).models
    assert said_by(model) == ["positive", "positive"]


def test_a_run_that_failed_leaves_the_others_and_a_note(tmp_path):
    """A gate reads it: the row has a mean, and of fewer runs."""
    rows = [("a", 1, 1.0, ""), ("b", 1, 0.5, ""), ("a", 2, 0.0, "429!"), ("b", 2, 0.5, "")]
    (model,) = understood(tmp_path / "a.csv", table(rows, "id,run,outcome,error"), runs="mean", task=None).models
    assert model.outcomes.tolist() == [1, 0.5]
    (note,) = [note for note in model.notes if isinstance(note, Absence)]
    assert (type(note), note) == (Absence, "1 row failed in some runs; the others count")


TURNS = [
    (row, turn, model, text, mark)
    for row, turn, model, text, mark in (
        (7, 1, "one", "Q", 9), (7, 1, "two", "Q", 4), (7, 2, "one", "R", 8), (7, 2, "two", "R", 3),
        (8, 1, "one", "S", 7), (8, 1, "two", "S", 5), (8, 2, "one", "T", 6), (8, 2, "two", "T", 6),
    )
]  # fmt: skip
OF_TURNS = "question_id,turn,model,prompt_text,mark"


def test_several_answers_to_a_row_are_rows_or_runs(tmp_path):
    """The column that tells them apart is named, though others do so, too; a user says what it tells."""
    path, hints = tmp_path / "a.csv", {"answers": "outcomes", "prediction": ("mark",), "scale": (1, 10)}
    with refuses(Question, option="id_column", value="7", place=f"{path}, rows 1 and 3") as stop:
        understood(path, table(TURNS, OF_TURNS), task=None, **hints)
    assert "which 'turn' tells apart; `id_column=question_id` `id_column=turn`" in str(stop.value)
    parsed = understood(path, task=None, runs="mean", **hints)
    assert parsed.ids == ("7", "8")
    assert [model.outcomes.round(2).tolist() for model in parsed.models] == [[0.83, 0.61], [0.28, 0.5]]
    assert any(note == "'turn' says in which run" for note in parsed.notes if isinstance(note, Assumption))
    columns = join_ids(reader.read_columns(path), ("question_id", "turn"))
    parsed = parse_predictions(columns, None, TableHints(id="question_id + turn", **hints))
    assert parsed.ids == ("7/1", "7/2", "8/1", "8/2")
    assert [len(model) for model in parsed.models] == [4, 4]


def test_answers_that_differ_by_nothing_else_are_refused(tmp_path):
    """No column of answers is taken for one of runs."""
    for names in ("id,prediction", "id,label,m"):
        rows = [("a", "good", "good"), ("b", "bad", "good"), ("a", "good", "bad")]
        content = table([row if "label" in names else row[::2] for row in rows], names)
        with refuses(DataError, value="a", place=f"{tmp_path / 'a.csv'}, rows 1 and 3"):
            understood(tmp_path / "a.csv", content, task=TASK)


def test_runs_of_texts_are_asked_about_and_have_no_mean(tmp_path):
    """One of them, or each, may be read."""
    path = tmp_path / "a.csv"
    path.write_text(table([("a", 1, "Yes."), ("b", 1, "No."), ("a", 2, "Well."), ("b", 2, "")], "id,trial,output"))
    columns = reader.read_columns(path)
    for runs, allowed in (("", ("newest", "mean", "each")), ("mean", ("newest", "each"))):
        with refuses(Question, option="runs", allowed=allowed):
            collect_values(columns, TableHints(runs=runs))
    (newest,) = collect_values(columns, TableHints(runs="newest")).models
    assert newest.answers.tolist() == ["Well.", None]
    assert len(collect_values(columns, TableHints(runs="each")).models) == 2


def test_a_column_of_runs_without_repeats_is_nothing_to_ask_about(tmp_path):
    """Such a column is left out as any other."""
    parsed = understood(tmp_path / "a.csv", table([("a", 0, 1), ("b", 0, 0.5)], "id,trial,outcome"), task=None)
    assert not [note for note in parsed.notes if "trial" in note]
    rows = [("a", "good", 1, "good"), ("b", "bad", 1, "bad"), ("c", "bad", 2, "bad")]
    parsed = understood(tmp_path / "a.csv", table(rows, "id,label,seed,prediction"), task=None)
    assert [model.name for model in parsed.models] == ["a"]


def test_a_run_may_be_called_anything(tmp_path):
    """An at sign in its name parts no model in two."""
    rows = [(row, "good", "m", run, answer) for run, answer in (("x@1", "good"), ("x@2", "bad")) for row in "ab"]
    parsed = understood(tmp_path / "a.csv", table([*rows, ("c", "bad", "m", "x@1", "bad")]), runs="mean", task=None)
    assert [(model.name, model.outcomes.tolist()) for model in parsed.models] == [("m", [0.5, 0.5, 1])]


def test_runs_of_one_model_need_no_column_of_models(tmp_path):
    """The name is the file's; outcomes need no truth, and labels do."""
    rows = [("a", 1, 1.0), ("b", 1, 0.0), ("a", 2, 0.5), ("b", 2, "")]
    parsed = understood(tmp_path / "a.csv", table(rows, "id,run,outcome"), runs="mean", task=None)
    assert [(model.name, model.outcomes.tolist()) for model in parsed.models] == [("a", [0.75, 0])]
    assert parsed.models[0].state.tolist() == [ANSWERED, ANSWERED]
    rows = [("a", 1, "good"), ("b", 1, "bad"), ("a", 2, "good"), ("b", 2, "bad")]
    with refuses(DataError, place=tmp_path / "b.csv"):
        understood(tmp_path / "b.csv", table(rows, "id,run,prediction"), runs="mean", task=None)


def test_a_row_without_a_true_label_has_no_mean(tmp_path):
    """Such a row cannot be judged in any run."""
    rows = [("a", "good", 1, "good"), ("a", "good", 2, "bad")]
    rows += [(name, label, seed, "bad") for name, label in (("b", ""), ("c", "bad")) for seed in (1, 2)]
    parsed = understood(tmp_path / "a.csv", table(rows, "id,label,seed,prediction"), runs="mean", task=None)
    np.testing.assert_array_equal(parsed.models[0].outcomes, [0.5, np.nan, 1])
    assert parsed.models[0].state.tolist() == [ANSWERED, ERROR, ANSWERED]


def test_texts_that_repeat_for_each_run_are_rows_too(tmp_path):
    """Without ids the runs have the same texts, in the same order; else a line asks for ids."""
    rows = [(text, "good", seed, answer) for seed, answer in ((1, "good"), (2, "bad")) for text in ("Lovely.", "Fine.")]
    rows += [("Dull.", "bad", seed, "bad") for seed in (1, 2)]
    rows = sorted(rows, key=lambda row: row[2])
    names = "text,label,seed,prediction"
    with refuses(Question, option="runs", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", table(rows, names), task=None)
    parsed = understood(tmp_path / "a.csv", table(rows, names), runs="mean", task=None)
    assert parsed.models[0].outcomes.tolist() == [0.5, 0.5, 1]
    with refuses(DataError, option="id_column", place=tmp_path / "b.csv"):
        understood(tmp_path / "b.csv", table([*rows[:3], *rows[:2:-1]], names), runs="mean", task=None)
    with refuses(DataError, option="id_column", place=tmp_path / "c.csv"):
        understood(tmp_path / "c.csv", table(rows[:-1], names), runs="mean", task=None)
