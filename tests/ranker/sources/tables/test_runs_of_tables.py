"""Tables whose rows repeat for each run: they are asked about, averaged, or kept apart."""

import numpy as np
from refusals import refuses
from tables_made import understood

from ranker.errors import DataError
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER

LONG = [
    ("a", "good", "one", 1, "good"),
    ("b", "bad", "one", 1, "bad"),
    ("c", "bad", "one", 1, ""),
    ("a", "good", "one", 2, "bad"),
    ("b", "bad", "one", 2, "bad"),
    ("c", "bad", "one", 2, ""),
    ("a", "good", "two", 1, "good"),
    ("a", "good", "two", 2, "good"),
    ("b", "bad", "two", 2, "good"),
]


def table(rows, names="id,label,model,seed,prediction"):
    """A table of these rows."""
    return "\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n"


def test_it_is_asked_what_is_meant(tmp_path):
    """By the name of the column that tells the runs apart."""
    with refuses(DataError, option="runs", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", table(LONG), task=None)


def test_the_mean_of_runs_is_how_often_an_answer_is_right(tmp_path):
    """Over the runs that have the row: no answer is wrong, and a row that is in none is missing."""
    found = understood(tmp_path / "a.csv", table(LONG), runs="mean", task=None)
    assert found.ids == ("a", "b", "c")
    one, two = found.models
    assert (one.name, one.kind, one.outcomes.tolist()) == ("one", "outcomes", [0.5, 1, 0])
    assert one.state.tolist() == [ANSWERED, ANSWERED, NO_ANSWER]
    np.testing.assert_array_equal(two.outcomes, [1, 0, np.nan])
    assert two.state.tolist() == [ANSWERED, ANSWERED, MISSING]
    assert "each row is the mean of 2 runs, by 'seed'" in one.notes
    assert "each row is the mean of 2 runs, by 'seed' (1 of 2 rows of fewer, down to 1)" in two.notes


def test_each_run_may_be_a_model(tmp_path):
    """Under the model's name and its own."""
    found = understood(tmp_path / "a.csv", table(LONG), runs="each", task=None)
    assert [model.name for model in found.models] == ["one@1", "one@2", "two@1", "two@2"]
    assert found.models[2].state.tolist() == [ANSWERED, MISSING, MISSING]


def test_a_run_may_be_called_anything(tmp_path):
    """An at sign in its name parts no model in two."""
    rows = [(row, "good", "m", run, said) for run, said in (("x@1", "good"), ("x@2", "bad")) for row in "ab"]
    found = understood(tmp_path / "a.csv", table([*rows, ("c", "bad", "m", "x@1", "bad")]), runs="mean", task=None)
    assert [(model.name, model.outcomes.tolist()) for model in found.models] == [("m", [0.5, 0.5, 1])]


def test_runs_of_one_model_need_no_column_of_models(tmp_path):
    """The name is the file's; outcomes need no truth, and labels do."""
    rows = [("a", 1, 1.0), ("b", 1, 0.0), ("a", 2, 0.5), ("b", 2, "")]
    found = understood(tmp_path / "a.csv", table(rows, "id,run,outcome"), runs="mean", task=None)
    assert [(model.name, model.outcomes.tolist()) for model in found.models] == [("a", [0.75, 0])]
    assert found.models[0].state.tolist() == [ANSWERED, ANSWERED]
    rows = [("a", 1, "good"), ("b", 1, "bad"), ("a", 2, "good"), ("b", 2, "bad")]
    with refuses(DataError, place=tmp_path / "b.csv"):
        understood(tmp_path / "b.csv", table(rows, "id,run,prediction"), runs="mean", task=None)


def test_a_row_without_a_true_label_has_no_mean(tmp_path):
    """It cannot be judged in any run."""
    rows = [
        ("a", "good", 1, "good"),
        ("a", "good", 2, "bad"),
        ("b", "", 1, "bad"),
        ("b", "", 2, "bad"),
        ("c", "bad", 1, "bad"),
        ("c", "bad", 2, "bad"),
    ]
    found = understood(tmp_path / "a.csv", table(rows, "id,label,seed,prediction"), runs="mean", task=None)
    np.testing.assert_array_equal(found.models[0].outcomes, [0.5, np.nan, 1])
    assert found.models[0].state.tolist() == [ANSWERED, ERROR, ANSWERED]


def test_a_column_called_run_is_no_run_where_rows_do_not_repeat(tmp_path):
    """It is left out as any other column."""
    rows = [("a", "good", 1, "good"), ("b", "bad", 1, "bad"), ("c", "bad", 2, "bad")]
    found = understood(tmp_path / "a.csv", table(rows, "id,label,seed,prediction"), task=None)
    assert [model.name for model in found.models] == ["a"]


def test_texts_that_repeat_for_each_run_are_rows_too(tmp_path):
    """Without ids the runs have the same texts, in the same order; else a line asks for ids."""
    rows = [(text, "good", seed, said) for seed, said in ((1, "good"), (2, "bad")) for text in ("Lovely.", "Fine.")]
    rows += [("Dull.", "bad", seed, "bad") for seed in (1, 2)]
    rows = sorted(rows, key=lambda row: row[2])
    names = "text,label,seed,prediction"
    with refuses(DataError, option="runs", place=tmp_path / "a.csv"):
        understood(tmp_path / "a.csv", table(rows, names), task=None)
    found = understood(tmp_path / "a.csv", table(rows, names), runs="mean", task=None)
    assert found.models[0].outcomes.tolist() == [0.5, 0.5, 1]
    with refuses(DataError, option="id", place=tmp_path / "b.csv"):
        understood(tmp_path / "b.csv", table([*rows[:3], *rows[:2:-1]], names), runs="mean", task=None)
    with refuses(DataError, option="id", place=tmp_path / "c.csv"):
        understood(tmp_path / "c.csv", table(rows[:-1], names), runs="mean", task=None)
