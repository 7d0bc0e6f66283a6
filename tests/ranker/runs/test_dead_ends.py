"""Files that were refused although they mean one thing, and files that were read although they mean nothing."""

import json
import unicodedata

import numpy as np
import pytest
from refusals import refuses

from ranker.commands import arguments
from ranker.datasets.readers import raw_labels, read_sheet
from ranker.errors import DataError, UsageError
from ranker.files.reader import read_columns

MOODS = ("müde", "froh")


@pytest.fixture
def run(tmp_path, monkeypatch, rank_models):
    """`rank-models` in a folder and with a store of its own: arguments -> (exit status, stdout, stderr)."""
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return rank_models


@pytest.fixture
def shares(run):
    """What each model has right, in percent, by its name."""

    def call(*arguments):
        status, out, err = run(*arguments, "--format", "json")
        assert status == 0, err
        return {model["name"]: round(100 * model["outcome"], 1) for model in json.loads(out)["decision"]["models"]}

    return call


def saved(path, *lines):
    """A file of lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def refusal(result, status=2):
    """The line that a run was refused with."""
    assert result[0] == status, result
    return " ".join(result[2].split()).removeprefix("rank-models: ")


def as_letters_and_accents(text):
    """Text in NFD, as macOS writes names of files."""
    return unicodedata.normalize("NFD", text)


# ---- names of labels


def test_labels_that_look_alike_are_one_label(shares, tmp_path):
    """A label is the same with its accents in one character or two, in rows, answers, and label maps."""
    rows = [f"{n},Row {n}.,{MOODS[n % 2] if n % 3 else as_letters_and_accents(MOODS[n % 2])}" for n in range(8)]
    data = saved(tmp_path / "rows.csv", "id,text,label", *rows)
    composed = saved(tmp_path / "a.csv", "id,prediction", *(f"{n},{MOODS[n % 2]}" for n in range(8)))
    apart = saved(tmp_path / "b.csv", "id,prediction", *(f"{n},{as_letters_and_accents(MOODS[0])}" for n in range(8)))
    mapped = saved(tmp_path / "c.csv", "id,prediction", *(f"{n},{'tm'[n % 2]}" for n in range(8)))
    assert shares("--data", data, "--models", composed, apart) == {"a": 100.0, "b": 50.0}
    label_map = json.dumps({"t": as_letters_and_accents(MOODS[0]), "m": MOODS[1]})
    assert shares("--data", data, "--models", composed, mapped, "--label-map", label_map) == {"a": 100.0, "c": 100.0}


def test_a_table_with_the_truth_has_each_label_once(shares, tmp_path):
    """So it is where one file holds the truth and the answers, in columns of labels or of scores."""
    cells = [f"{n},{MOODS[n % 2]},{as_letters_and_accents(MOODS[n % 2])},{MOODS[0]}" for n in range(6)]
    wide = saved(tmp_path / "wide.csv", "id,label,a,b", *cells)
    assert shares("--models", wide) == {"a": 100.0, "b": 50.0}


# ---- label maps


@pytest.mark.parametrize("text", ['{"A": "bad", "A": "good", "B": "bad"}', "A = bad; A = good; B = bad"])
def test_a_name_has_one_label(text):
    """Neither form of a label map may name two labels for one name."""
    with refuses(UsageError, option="label_map"):
        arguments.label_map(text)


def test_a_file_of_a_label_map_names_each_once(tmp_path):
    """Nor may a file."""
    file = saved(tmp_path / "map.json", '{"A": "bad",', '"A": "good"}')
    with pytest.raises(UsageError):
        arguments.label_map(str(file))


@pytest.mark.parametrize("form", ['{{"{}": "bad", "{}": "good"}}', "{} = bad; {} = good"])
def test_names_that_look_alike_are_one_name(form):
    """One name written in two ways has one label, too."""
    with refuses(UsageError, option="label_map", value=MOODS[0]):
        arguments.label_map(form.format(MOODS[0], as_letters_and_accents(MOODS[0])))


# ---- shapes of files

LABELS = ["good", "bad", "good", "good", "bad", "bad"]
SAID = {"a": ["good", "bad", "good", "good", "bad", "good"], "b": ["bad"] * 6}
SHARES = {"a": 83.3, "b": 50.0}


ROWS = [{"id": str(n), "label": label, "prediction": "good"} for n, label in enumerate(LABELS)]


def read(path):
    """Rows of a file, as it has them."""
    return [dict(row.cells) for row in read_columns(path).rows()]


@pytest.mark.parametrize("key", ["predictions", "data", "rows", "samples", "instances", "results", "examples"])
def test_rows_under_one_key_are_the_rows(tmp_path, key):
    """Facts about the whole file may stand beside them: texts, numbers, objects, and lists of other lengths."""
    facts = {"model": "m", "metadata": {"seed": 1, "lr": [0.1]}, "tags": ["x", "y"], "accuracy": 0.5, "none": None}
    assert read(saved(tmp_path / "a.json", json.dumps({**facts, key: ROWS}))) == ROWS
    assert read(saved(tmp_path / "a.json", json.dumps({key: ROWS}))) == ROWS


def test_columns_may_stand_beside_an_object(tmp_path):
    """Lists of one length are columns, even if one holds objects, whatever stands beside them."""
    columns = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    assert read(saved(tmp_path / "a.json", json.dumps({"metadata": {"seed": 1}, **columns}))) == ROWS
    nested = {"text": ["A.", "B."], "answers": [{"text": ["a"]}, {"text": ["b"]}]}
    names = read_columns(saved(tmp_path / "b.json", json.dumps(nested))).order
    assert names == ("text", "answers")


def test_which_of_two_lists_holds_the_rows_is_a_question(run, tmp_path):
    """Nothing says which of several lists of objects is meant."""
    file = saved(tmp_path / "a.json", json.dumps({"dev": ROWS, "test": ROWS[:2]}))
    assert "'dev', 'test'" in refusal(run("--models", file))


def test_a_quote_that_is_not_closed_is_named_by_its_line(tmp_path):
    """The line is that on which it opens, not that of the end of the file."""
    data = saved(
        tmp_path / "rows.csv", "text,label", '"Two', 'lines",good', '"It said ""no""",bad', '"Open,good', "A,bad"
    )
    with refuses(DataError, place=f"{data}, line 5"):
        read(data)


# ---- arrays


def as_arrays(folder, *more):
    """Two files of ``np.savez`` with two classes: logits, and what else is given."""
    files = []
    for name, answers in SAID.items():
        files.append(folder / f"{name}.npz")
        logits = np.array([[1.5, -1.0] if answer == "bad" else [-2.0, 0.5] for answer in answers])
        np.savez(files[-1], logits, *more)
    return files


TRUE = np.array([int(label == "good") for label in LABELS])


@pytest.mark.parametrize("named", [(), ("--prediction", "arr_0", "--truth", "arr_1")])
def test_what_trainers_return_is_read(shares, tmp_path, named):
    """`np.savez(file, *trainer.predict(rows))` names its arrays by their order; the third is an object of metrics."""
    files = as_arrays(tmp_path, TRUE, {"test_loss": 0.5})
    assert shares("--models", *files, *named) == SHARES


def test_what_trainers_return_without_labels_is_read(shares, tmp_path):
    """Without labels, the second array is None."""
    files = as_arrays(tmp_path, None, {"test_loss": 0.5})
    data = saved(tmp_path / "rows.csv", "text,label", *(f"Row {n}.,{label}" for n, label in enumerate(LABELS)))
    assert shares("--data", data, "--models", *files) == SHARES


def test_two_arrays_of_labels_are_not_guessed_at(run, tmp_path):
    """Of two arrays of labels, nothing says which is the truth."""
    np.savez(tmp_path / "a.npz", TRUE, TRUE[::-1])
    assert "arr_0" in refusal(run("--models", tmp_path / "a.npz"))


# ---- exports of labelling tools


def annotation(*choices, **facts):
    """An annotation as Label Studio writes it."""
    result = [{"type": "choices", "value": {"choices": [*choices]}}] if choices else []
    return {"id": 1, "completed_by": 1, "was_cancelled": False, "result": result, **facts}


def test_the_ground_truth_of_a_task_decides(tmp_path):
    """Where annotations are marked as ground truth, the others of the task are left out."""
    tasks = [
        {"data": {"text": "Fine."}, "annotations": [annotation("bad"), annotation("good", ground_truth=True)]},
        {"data": {"text": "Dull."}, "annotations": [annotation("bad"), annotation("good")]},
        {
            "data": {"text": "Odd."},
            "annotations": [annotation(ground_truth=True, was_cancelled=True), annotation("bad")],
        },
    ]
    sheet = read_sheet(saved(tmp_path / "export.json", json.dumps(tasks)))
    assert raw_labels(sheet) == ["good", "bad", "good", None, "bad"]


def test_a_row_with_several_labels_is_counted(tmp_path, caplog):
    """It counts as unlabelled, as long as most rows have one label."""
    tasks = [
        {"data": {"text": f"{n}."}, "annotations": [annotation(*labels)]} for n, labels in enumerate(["ab", "a", "b"])
    ]
    sheet = read_sheet(saved(tmp_path / "export.json", json.dumps(tasks)))
    assert raw_labels(sheet) == [None, "a", "b"]
    assert "several labels count as unlabelled: 1" in caplog.text
    lines = [json.dumps({"text": f"{n}.", "label": [*labels]}) for n, labels in enumerate(["a", "ab", "b"])]
    assert raw_labels(read_sheet(saved(tmp_path / "rows.jsonl", *lines))) == ["a", None, "b"]


def test_rows_that_mostly_have_several_labels_are_refused(tmp_path):
    """They are of a task with several labels a row, which is not read."""
    lines = [json.dumps({"text": f"{n}.", "label": [*labels]}) for n, labels in enumerate(["ab", "ab", "b"])]
    with refuses(DataError, value=["a", "b"]):
        read_sheet(saved(tmp_path / "rows.jsonl", *lines))
