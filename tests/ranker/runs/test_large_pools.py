"""Pools with more rows than are read: a run and a session on rows that were drawn while the file was read."""

import contextlib
import csv
import io
import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from ranker.cli import main
from ranker.files.draws import sample_rows
from ranker.runs.gather import gather_without_truth

SIZE, DRAWN = 300, 40
TRUTH = np.random.default_rng(0).integers(2, size=SIZE)
LABELS = ("bad", "good")


def write(path, columns):
    """Write columns as CSV."""
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([columns, *zip(*columns.values(), strict=True)])


@pytest.fixture(name="folder")
def large_pool(tmp_path, monkeypatch):
    """A pool in two Parquet files, with ids in no order, and as CSV; what three models say of it; ten rows."""
    monkeypatch.setattr("ranker.runs.rows.POOL_ROWS", DRAWN)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = {"id": [f"r{7 * n % SIZE}" for n in range(SIZE)], "text": [f"Row {n} of the pool." for n in range(SIZE)]}
    (tmp_path / "parts").mkdir()
    for part, rows_of_part in enumerate((slice(0, 170), slice(170, SIZE))):
        table = pa.table({name: cells[rows_of_part] for name, cells in rows.items()})
        parquet.write_table(table, tmp_path / "parts" / f"{part}.parquet")
    write(tmp_path / "pool.csv", rows)
    for name, wrong in (("alpha", 2), ("beta", 4), ("gamma", 3)):
        labels = [LABELS[int(t if rng.random() > 1 / wrong else 1 - t)] for t in TRUTH]
        write(tmp_path / f"{name}.csv", {**rows, "prediction": labels})
        for alone in rows:
            order = rng.permutation(SIZE)
            shuffled = {alone: rows[alone], "prediction": labels}
            write(tmp_path / f"{name}-{alone}.csv", {c: [cells[n] for n in order] for c, cells in shuffled.items()})
        write(tmp_path / f"{name}-order.csv", {"prediction": labels})
    labelled = range(0, SIZE, 30)
    write(
        tmp_path / "ten.csv",
        {
            "id": [rows["id"][n] for n in labelled],
            "text": [rows["text"][n] for n in labelled],
            "label": [LABELS[TRUTH[n]] for n in labelled],
        },
    )
    return tmp_path


def ranked(folder, pool, joined="", rows_file="ten.csv"):
    """The decision of a run."""
    models = [f"{name}={name}{joined}.csv" for name in ("alpha", "beta", "gamma")]
    arguments = ["run", "--data", rows_file, "--pool", pool, "--models", *models, "--store", "store", "-q"]
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--format", "json", "-o", "found.json", "--force"])
    assert not stop.value.code
    return json.loads((folder / "found.json").read_text())


@pytest.mark.few(1)
@pytest.mark.parametrize("joined", ["", "-id", "-text"])
@pytest.mark.parametrize("pool", ["parts", "parts/*.parquet", "pool.csv"])
def test_a_run_on_a_large_pool_is_that_on_its_drawn_rows(pool, joined, folder, monkeypatch):
    """Answers are found by ids or texts, whatever the file of the pool; a note says how many rows were drawn."""
    drawn = sorted({*sample_rows(SIZE, DRAWN).tolist(), *range(0, SIZE, 30)})
    with (folder / "pool.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    write(folder / "small.csv", {name: [rows[n][name] for n in drawn] for name in ("id", "text")})
    ranking = ranked(folder, pool, joined)
    note = f"{len(drawn)} of the {SIZE} rows of the pool are read, drawn at random (seed 0)."
    assert note in ranking["header"]["notes"]
    monkeypatch.setattr("ranker.runs.rows.POOL_ROWS", SIZE)
    assert ranking["decision"]["models"] == ranked(folder, "small.csv", joined)["decision"]["models"]


def test_answers_without_ids_and_texts_are_those_of_the_rows_in_the_whole_file(folder):
    """Joined by order, drawn rows have the same answers as by their ids."""
    write(folder / "ten.csv", {"text": ["Row 0 of the pool.", "Row 30 of the pool."], "label": ["bad", "good"]})
    decisions = []
    for joined in ("-text", "-order"):
        for name in ("alpha", "beta", "gamma"):
            assert (folder / f"{name}{joined}.csv").exists()
        decisions.append(ranked(folder, "pool.csv", joined)["decision"]["models"])
    assert decisions[0] == decisions[1]


def labelled(folder, keys, *flags):
    """A session of `label` that is told these answers; what it said."""
    models = [f"{name}.csv" for name in ("alpha", "beta", "gamma")]
    arguments = ["label", "--pool", "pool.csv", "--models", *models, "-o", "labels.csv", "--store", "store"]
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), pytest.raises(SystemExit) as stop:
            main([*arguments, "--until", "1", "--annotator", "ann", *flags])
    assert not stop.value.code, out.getvalue()
    return out.getvalue()


def answers(folder):
    """The rows of the session's file."""
    with (folder / "labels.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.more
def test_a_session_on_a_large_pool_goes_on_although_the_pool_grew(folder):
    """Rows that were answered are read in any case, and so are rows with a label in the pool."""
    output = labelled(folder, ["1", "2", "1", "q"])
    assert f"{DRAWN} of the {SIZE} rows of the pool are read, drawn at random (seed 0)." in output
    first = answers(folder)
    assert len(first) == 3
    with (folder / "pool.csv").open("a", newline="") as out:
        csv.writer(out).writerows([f"new{n}", f"New row {n}."] for n in range(2_000))
    labelled(folder, ["2", "q"])
    assert answers(folder)[:3] == first
    assert len(answers(folder)) == 4
    ranked(folder, "pool.csv", rows_file="labels.csv")


@pytest.mark.more
def test_labels_in_a_large_pool_are_all_used(folder):
    """Five rows of the pool have a label, and few of them are drawn: all five count."""
    with (folder / "pool.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    labels = [LABELS[TRUTH[n]] if n % 60 == 1 else "" for n in range(SIZE)]
    write(folder / "pool.csv", {**{name: [row[name] for row in rows] for name in ("id", "text")}, "label": labels})
    labelled_rows = {n for n in range(SIZE) if n % 60 == 1}
    drawn = len({*sample_rows(SIZE, DRAWN).tolist(), *labelled_rows})
    assert f"{drawn} of the {SIZE} rows" in labelled(folder, ["1", "q"])
    assert "6 answers" in labelled(folder, ["q"])


def test_a_streamed_data_set_is_a_pool(folder):
    """An `IterableDataset` has no length, and is drawn as its rows are."""
    datasets = pytest.importorskip("datasets")
    rows = [{"id": f"s{n}", "text": f"Row {n} of the stream."} for n in range(SIZE)]
    stream = datasets.Dataset.from_list(rows).to_iterable_dataset()
    models = [str(folder / f"{name}.csv") for name in ("alpha", "beta")]
    inputs = gather_without_truth(models, folder / "ten.csv", stream)
    drawn = [row.id for row in inputs.pool if row.id.startswith("s")]
    assert drawn == [f"s{n}" for n in sample_rows(SIZE, DRAWN)]
