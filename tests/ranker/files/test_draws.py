"""Rows drawn from a file while it is read: uniform, typed by the whole file, and few in memory."""

import csv
import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from corpus import KINDS, saved
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from making import files, written
from pyarrow import parquet
from refusals import refuses
from scipy.stats import chisquare

from ranker.errors import DataError, UsageError
from ranker.files.draws import Draw, draw_records, sample_rows
from ranker.files.reader import of_rows, read_columns
from ranker.limits import Limits

TABLE = {
    "id": [301 + 2 * n for n in range(40)],
    "text": [f"The ferry {n} was late." for n in range(40)],
    "label": ["good" if n % 3 else None for n in range(40)],
    "score": [n / 4 if n % 5 else None for n in range(40)],
}


def cells(columns):
    """The rows of columns: number -> place and cells."""
    return {row.number: (row.place, row.cells) for row in columns.rows()}


def agree(path, most):
    """Assert that the drawn rows of a file are those of the whole file, with their numbers and places."""
    expected, drawn = (cells(read_columns(path, draw=draw)) for draw in (None, Draw(most)))
    assert sorted(drawn) == (sample_rows(len(expected), most) + 1).tolist()
    assert drawn == {number: expected[number] for number in drawn}


# the draw


def test_rows_are_drawn_equally_often_and_stay():
    """Over 300 seeds, and with one seed of many rows; of 1,000 rows 909 stay once there are a tenth more."""
    counts = sum(np.bincount(sample_rows(200, 40, seed), minlength=200) for seed in range(300))
    assert chisquare(counts).pvalue > 0.01
    tenths = np.bincount(sample_rows(1_234_567, 20_000) * 10 // 1_234_567)
    assert chisquare(tenths).pvalue > 0.01
    assert abs(int(tenths[0]) - int(tenths[9])) < 4 * (2 * 2_000 * 0.9) ** 0.5
    common = np.intersect1d(sample_rows(50_000, 1_000), sample_rows(55_000, 1_000))
    assert 870 < len(common) < 950


@given(st.integers(1, 400), st.integers(1, 60), st.integers(0, 5))
@settings(max_examples=60)
def test_rows_one_by_one_and_row_numbers_are_one_draw(size, most, seed):
    """A file whose number of rows is known beforehand has the same rows drawn as a stream."""
    records = ((n + 1, {"text": f"Row {n}."}) for n in range(size))
    drawn = draw_records(records, Draw(most, seed=seed), "rows")
    assert drawn.size == size
    assert (drawn.numbers - 1).tolist() == sample_rows(size, most, seed).tolist()
    assert [drawn.records[place][0] for place in drawn.places] == drawn.numbers.tolist()


# what is read


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "npz" not in kind])
def test_drawn_rows_of_every_kind_of_file_are_those_of_the_whole(kind, tmp_path):
    """Seven of 40 rows, or all of them: ids, texts, labels, numbers, empty cells and places."""
    path = saved(kind, TABLE, tmp_path, "pool")
    agree(path, 7)
    agree(path, 100)


@pytest.mark.more
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_a_second_reader_finds_the_same_cells(count, wide, tmp_path_factory):
    """Files of the second opinion, with stray types and empty cells: no draw changes what a cell is read as."""
    folder = tmp_path_factory.mktemp("opinion")

    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    @given(files(wide), st.integers(1, 9))
    def look(file, most):
        arguments, _ = written(file, folder)
        for path in (path for path in arguments if not isinstance(path, str)):
            agree(path, most)

    look()


STRAY = {
    "a fraction": (1, 0.5), "a text": (1, "one"), "a truth value": (1, True),
    "a number that no float is": (0.5, 2**53 + 1), "a number of many bits": (1, 2**70), "a list": ("a", ["a", "b"]),
    "a longer list": ([0.25, 0.75], [0.25, 0.25, 0.5]), "a deep list": ("a", [["a"]]),
    "an object": ({"a": 1}, {"a": 1, "b": "x"}), "a column": (None, 5),
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", STRAY)
@pytest.mark.parametrize("place", [0, 1_500, 2_999])
def test_one_cell_decides_the_type_of_its_column_wherever_it_stands(kind, place, tmp_path):
    """One row of 3,000 is of another type, and is not drawn: the others are read as in the whole file."""
    usual, stray = STRAY[kind]
    rows = [{"text": f"Row {n}.", "cell": stray if n == place else usual} for n in range(3_000)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    agree(tmp_path / "a.jsonl", 30)
    expected, drawn = (read_columns(tmp_path / "a.jsonl", draw=draw) for draw in (None, Draw(30)))
    assert drawn.cells.keys() == expected.cells.keys()
    assert drawn.unread == expected.unread
    assert drawn.order == expected.order


@pytest.mark.parametrize("kind", ["a longer list", "a list of texts"])
def test_the_longest_list_of_a_parquet_column_decides_its_parts(kind, tmp_path):
    """The longest list stands in a row that is not drawn."""
    usual, stray = ([0.25, 0.75], [0.25, 0.25, 0.5]) if kind == "a longer list" else (["a"], ["a", "b", "c"])
    table = {"text": [f"Row {n}." for n in range(300)], "cell": [stray if n == 7 else usual for n in range(300)]}
    parquet.write_table(pa.table(table), tmp_path / "a.parquet", row_group_size=100)
    assert 7 not in sample_rows(300, 5)
    expected, drawn = (read_columns(tmp_path / "a.parquet", draw=draw) for draw in (None, Draw(5)))
    assert drawn.cells.keys() == expected.cells.keys()
    assert drawn.unread == expected.unread
    agree(tmp_path / "a.parquet", 5)


def test_rows_with_known_texts_or_a_label_are_read_in_any_case(tmp_path):
    """The first of each text, and each row with a label; of other rows as many as are drawn."""
    rows = [
        {"id": n, "a": f"Row {n % 150}.", "b": "It ran.", "Label": "x" if n in (50, 250) else " "} for n in range(300)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "b.parquet", row_group_size=70)
    with (tmp_path / "c.csv").open("w", newline="") as out:
        csv.writer(out).writerows([rows[0], *(row.values() for row in rows)])
    draw = Draw(5, frozenset({("Row 149.", "It ran."), ("Row 3.", "It sat.")}), ("gold_label", "label"))
    expected = {*sample_rows(300, 5).tolist(), 50, 149, 250}
    for name in ("a.jsonl", "b.parquet", "c.csv"):
        assert {row - 1 for row in cells(read_columns(tmp_path / name, draw=draw))} == expected, name


def test_labels_of_more_rows_than_are_drawn_are_not_kept(tmp_path):
    """The draw decides the rows if nearly all have a label."""
    rows = [{"text": f"Row {n}.", "label": "x" if n % 9 else ""} for n in range(300)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "b.parquet")
    for name in ("a.jsonl", "b.parquet"):
        columns = read_columns(tmp_path / name, draw=Draw(5, filled=("label",)))
        assert list(columns.numbers) == (sample_rows(300, 5) + 1).tolist(), name


def test_a_stream_of_rows_is_drawn_as_a_file_is():
    """A data set of `datasets` that is streamed has no length."""
    stream = ({"text": f"Row {n}."} for n in range(5_000))
    columns = of_rows(stream, draw=Draw(20))
    assert columns.total == 5_000
    assert [row.cells["text"] for row in columns.rows()] == [f"Row {n}." for n in sample_rows(5_000, 20)]


# several files


@pytest.fixture
def parts(tmp_path):
    """A folder with a table in three files, and a file of another kind."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        rows = {"text": [f"Row {n}." for n in range(40 * part, 40 * part + 40)], "n": [*range(40)]}
        parquet.write_table(pa.table(rows), folder / f"{part}.parquet")
    (folder / "README.md").write_text("rows")
    return folder


@pytest.mark.parametrize("name", ["", "*.parquet", "[0-9].parquet"])
def test_a_folder_or_a_pattern_of_parquet_files_is_one_table(name, parts):
    """Rows are numbered through, and their places name their files."""
    columns = read_columns(parts / name, draw=Draw(10))
    numbers = sample_rows(120, 10)
    assert list(columns.numbers) == (numbers + 1).tolist()
    assert [row.cells["text"] for row in columns.rows()] == [f"Row {n}." for n in numbers]
    places = [f"{parts / str(n // 40)}.parquet, row {n % 40 + 1}" for n in numbers]
    assert [row.place for row in columns.rows()] == places


@pytest.mark.parametrize("rows", [{"text": ["a"], "n": ["b"]}, {"text": ["a"]}, {"text": ["a"], "n": [1], "m": [1]}])
def test_files_of_a_table_have_the_same_columns(rows, parts):
    """One line names the column and both files."""
    parquet.write_table(pa.table(rows), parts / "3.parquet")
    with refuses(DataError, place=parts / "3.parquet") as caught:
        read_columns(parts, draw=Draw(10))
    assert str(parts / "0.parquet") in str(caught.value)


@pytest.mark.parametrize("name", ["*.csv", "*"])
def test_a_pattern_names_parquet_files_alone(name, parts):
    """No file, or a file of another kind, is refused; without a draw a folder is, as before."""
    with refuses(UsageError, value=parts / name):
        read_columns(parts / name, draw=Draw(10))
    with pytest.raises((DataError, UsageError)):
        read_columns(parts)


# limits


def lines_file(folder, rows, length=100, endings=("jsonl", "csv", "parquet")):
    """Texts of a length, as JSON lines, CSV and Parquet."""
    texts = [f"Row {n} ".ljust(length, "x") for n in range(rows)]
    if "jsonl" in endings:
        (folder / "a.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    if "csv" in endings:
        (folder / "a.csv").write_text("text\n" + "".join(text + "\n" for text in texts))
    if "parquet" in endings:
        parquet.write_table(pa.table({"text": texts}), folder / "a.parquet", row_group_size=500)
    return [folder / f"a.{ending}" for ending in endings]


def test_limits_bind_what_is_held_and_not_what_is_read(tmp_path):
    """A file beyond the limit of a file is read, and drawn rows beyond it are not; nor a pool beyond its own."""
    for path in lines_file(tmp_path, 3_000):
        small = Limits(file=20_000)
        with refuses(DataError, option="limits.file"):
            read_columns(path, limits=small)
        assert read_columns(path, limits=small, draw=Draw(100)).size == 100
        with refuses(DataError, option="limits.file"):
            read_columns(path, limits=small, draw=Draw(1_000))
        with refuses(DataError, option="limits.file"):
            read_columns(path, limits=replace(small, pool=30_000), draw=Draw(100))


@pytest.mark.parametrize("rows", [4_000, 40_000])
def test_rows_in_memory_are_at_most_twice_those_that_are_drawn(rows):
    """A generator counts the rows that are alive, whatever their number."""
    alive = peak = 0

    class CountedText(str):
        """A text that is counted while it is in memory."""

        def __del__(self):
            nonlocal alive
            alive -= 1

    def records():
        nonlocal alive, peak
        for n in range(rows):
            alive += 1
            peak = max(peak, alive)
            yield n + 1, {"text": CountedText(f"Row {n}.")}

    draw_records(records(), Draw(500), "rows")
    assert peak <= 2 * 500 + 1_000 + 10


@pytest.mark.more
def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Python's memory at its peak is the same for 4,000 rows and for 16,000."""
    peaks = []
    for rows in (4_000, 16_000):
        path = lines_file(tmp_path, rows)[0]
        read_columns(path, draw=Draw(100))
        tracemalloc.start()
        read_columns(path, draw=Draw(100))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] + 200_000


GROWTH = """
import resource, sys
from pathlib import Path
from ranker.files.draws import Draw
from ranker.files.reader import read_columns
import ranker.files.parquet_draws
folder, small, large = Path(sys.argv[1]), *sys.argv[2:]
for name in (small, large):
    assert read_columns(folder / name, draw=Draw(5_000)).size == 5_000
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_million_rows_take_the_memory_of_fifty_thousand(ending, tmp_path):
    """The peak of a process grows by less than 40 MB; the texts of all rows would take 250 MB."""
    for rows in (50_000, 1_000_000):
        (tmp_path / str(rows)).mkdir()
        lines_file(tmp_path / str(rows), rows, length=250, endings=(ending,))
    command = [sys.executable, "-c", GROWTH, tmp_path, f"50000/a.{ending}", f"1000000/a.{ending}"]
    small, large = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert large - small < 40, (small, large)
