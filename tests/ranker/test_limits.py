"""Readers are bounded: hostile files, measured in a process of their own, and the table of limits."""

import gzip
import json
import os
import struct
import subprocess
import sys
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from refusals import refuses

from ranker import limits
from ranker.datasets.readers import read_sheet
from ranker.errors import MAX_MESSAGE_CHARACTERS, MAX_PATH_CHARACTERS, DataError
from ranker.files import reader
from ranker.limits import LIMITS, Limits
from ranker.results.ranking import Ranking

ROOT = Path(__file__).parents[2]

MEASURE = """
import json, sys
from pathlib import Path
import pyarrow.parquet
from ranker.datasets.readers import read_sheet
from ranker.errors import RankModelsError
from ranker.files import reader

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024

def measured(read, path):
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    try:
        found = len(read(Path(path)).rows)
    except RankModelsError as error:
        found = str(error)
    except TypeError:
        found = "a table"
    return found, peak() - before

for path in sys.argv[1:]:
    print(json.dumps([measured(read_sheet, path), measured(reader.read_columns, path)]))
"""


def measured(*paths):
    """Read files as rows and as tables in a process of their own; return (found, MiB) of each."""
    command = [sys.executable, "-c", MEASURE, *map(str, paths)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, cwd=paths[0].parent)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def of_one(text, count):
    """A column that holds one text in all rows, which stands in the file once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text]))


def lists(rows, size):
    """A column of lists of zeros."""
    offsets = pa.array(np.arange(0, rows * size + 1, size, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(np.zeros(rows * size, np.int64)))


def written(path, **columns):
    """A Parquet file."""
    parquet.write_table(pa.table(columns), path, compression="zstd", dictionary_pagesize_limit=1 << 24)
    return path


@pytest.mark.more
def test_small_parquet_files_cost_little(tmp_path):
    """Texts of 64 MB that stand there 200 times, an unused list of 10 million numbers, 100,000 texts of 90 kB."""
    short = pa.array(["a b"] * 200)
    label = pa.array(["0"] * 200)
    paths = [
        written(tmp_path / "dictionary.parquet", text=of_one("a" * (1 << 26), 200), label=label),
        written(tmp_path / "list.parquet", text=short, label=label, extra=lists(200, 50_000)),
        written(tmp_path / "needed.parquet", text=short, label=label, marks=lists(200, 50_000)),
        written(tmp_path / "value.parquet", text=of_one("a" * 90_000, 100_000), label=of_one("0", 100_000)),
        written(tmp_path / "rows.parquet", text=of_one("a b", 2_000_000), label=of_one("0", 2_000_000)),
    ]
    assert all(path.stat().st_size < 100_000 for path in paths)
    measures = dict(zip((path.stem for path in paths), measured(*paths), strict=True))
    row_mebibytes = {name: as_rows[0] for name, (as_rows, _) in measures.items()}
    assert row_mebibytes.pop("list") == 200
    assert {name: text.rpartition("`")[0].rpartition("`")[2] for name, text in row_mebibytes.items()} == {
        "dictionary": "limits.ratio", "needed": "limits.values", "value": "limits.file", "rows": "limits.rows",
    }  # fmt: skip
    for as_rows, as_table in measures.values():
        assert as_rows[1] < 200  # MiB
        assert as_table[1] < 600  # a table has room for 33 million numbers


def many_parts(path, count):
    """A zip archive whose list names so many parts, all of them empty, of which there is none."""
    entry = struct.Struct("<4s6H3L5H2L8s")
    listed = b"".join(entry.pack(b"PK\1\2", *(0,) * 9, 8, *(0,) * 6, b"%08d" % number) for number in range(count))
    far = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(listed), 4)
    ends = struct.pack("<4sLQL", b"PK\6\7", 0, 4 + len(listed), 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *(0xFFFF,) * 2, *(0xFFFFFFFF,) * 2, 0)
    path.write_bytes(b"PK\3\4" + listed + far + ends + end)
    return path


@pytest.mark.more
def test_parts_of_an_archive_are_counted_before_they_are_looked_at(tmp_path):
    """A million of them, in an `.npz` file."""
    ((_, (row_count, mebibytes)),) = measured(many_parts(tmp_path / "a.npz", 1_000_000))
    assert row_count.endswith("more than 100 parts, the most that is read (`limits.members`)")
    assert mebibytes < 20


LYING = """
import sys
from pathlib import Path
import pyarrow.parquet
from ranker.datasets.readers import read_sheet
from ranker.errors import DataError
from ranker.files import footers, parquet
from ranker.limits import Limits

parquet.stated_sizes = lambda path, file, limits: dict.fromkeys(file.schema_arrow.names, footers.ColumnChunkInfo(0, 0))
try:
    read_sheet(Path(sys.argv[1]), limits=Limits(memory=50_000_000))
except DataError as error:
    print(error)
print(len(bytearray(600_000_000)))
"""


@pytest.mark.more
def test_a_parquet_file_that_lies_is_bounded_by_memory(tmp_path):
    """Decoding ends at the limit of memory, in one line, in a process that cannot use old memory again."""
    path = written(tmp_path / "a.parquet", text=pa.array(["a b"] * 200), label=lists(200, 50_000))
    ran = subprocess.run([sys.executable, "-c", LYING, path], capture_output=True, text=True, check=True, timeout=300)
    first_line, last_line = ran.stdout.splitlines()
    assert first_line.startswith(f"{path}: more than 50,000,000 bytes of memory")
    assert "`limits.memory`" in first_line
    assert last_line == "600000000"  # the limit is gone with the file


def test_the_memory_that_is_left_is_what_counts():
    """Not that which a process has by now."""
    held = bytearray(100_000_000)
    with limits.within(Limits(memory=50_000_000), "a"):
        assert len(bytearray(20_000_000)) < len(held)
    with (
        refuses(DataError, option="limits.memory", allowed=(0, 50_000_000), place="a"),
        limits.within(Limits(memory=50_000_000), "a"),
    ):
        bytearray(20_000_000_000)  # far more than what earlier tests may give back meanwhile


def test_what_a_parquet_file_repeats_is_counted(tmp_path):
    """A text within the limit of a cell, in a list as well as by itself."""
    texts = pa.ListArray.from_arrays(pa.array(range(2001), pa.int32()), pa.array(["a" * 5_000] * 2_000))
    path = written(tmp_path / "a.parquet", segments=texts, label=pa.array(["0"] * 2_000))
    assert path.stat().st_size < 5_000
    assert len(read_sheet(path).rows) == 2_000
    with refuses(DataError, option="limits.file", allowed=(0, 1_000_000)):
        read_sheet(path, limits=Limits(file=1_000_000))


@pytest.mark.slow
def test_what_stands_in_lists_and_objects_is_counted(tmp_path):
    """Lines of JSON whose lists of lists take far more memory than they have characters, packed or not."""
    path = tmp_path / "a.jsonl.gz"
    line = json.dumps({"text": "a b", "label": 0, "extra": [[n % 7] for n in range(150_000)]})
    path.write_bytes(gzip.compress(f"{line}\n".encode() * 30, 1))
    assert path.stat().st_size < 500_000
    ((as_rows, as_table),) = measured(path)
    assert as_rows[0].endswith("more than 8,388,608 cells, the most that is read (`limits.values`)")
    assert as_table[0] == "a table"
    assert as_rows[1] < 600  # MiB; 899 and 877 where nothing counted them
    assert as_table[1] < 300


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_blank_lines_are_counted(tmp_path, ending):
    """A file that unpacks to nothing but line ends is read no further than a spreadsheet has rows."""
    path = tmp_path / f"a.{ending}.gz"
    first = {"csv": b"text,label\na,0\n", "tsv": b"text\tlabel\na\t0\n", "jsonl": b'{"text": "a", "label": 0}\n'}
    path.write_bytes(gzip.compress(first[ending]) + gzip.compress(b"\n" * 50_000) * 4)
    assert len(read_sheet(path).rows) == 1
    with refuses(DataError, option="limits.blank", place=path):
        read_sheet(path, limits=Limits(blank=100_000))


@pytest.mark.parametrize("ending", ["csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("limit", [{"rows": 99}, {"values": 199}, {"columns": 1}])
def test_rows_cells_and_columns_are_counted(tmp_path, ending, limit):
    """Of every kind of file; as many as the limit are read."""
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        written(path, text=pa.array(["a"] * 100), label=pa.array(["0"] * 100))
    elif ending == "jsonl":
        path.write_text('{"text": "a", "label": 0}\n' * 100)
    else:
        path.write_bytes(gzip.compress(b"text,label\n" + b"a,0\n" * 100))
    ((name, most),) = limit.items()
    assert len(read_sheet(path, limits=Limits(**{name: most + 1})).rows) == 100
    with refuses(DataError, option=f"limits.{name}", allowed=(0, most)):
        read_sheet(path, limits=Limits(**limit))


NOT_FILES = {
    "rows": ("run", "--models", "a", "b", "--data", "{}.csv"),
    "packed rows": ("run", "--models", "a", "b", "--data", "{}.csv.gz"),
    "Parquet": ("run", "--models", "a", "b", "--data", "{}.parquet"),
    "a pool": ("label", "--models", "a", "b", "--batch", "1", "--pool", "{}.jsonl"),
    "options": ("run", "--config", "{}.toml"),
    "a run": ("report", "{}.json"),
    "a label map": ("run", "--ood", "hans-sub", "--models", "a", "b", "--label-map", "{}"),
    "a table": ("run", "--models", "{}.csv", "{}.csv"),
    "guidelines": ("label", "--models", "a", "b", "--pool", "new.csv", "-o", "new.csv", "--guidelines", "{}"),
}


@pytest.mark.parametrize("name", NOT_FILES)
def test_a_pipe_is_not_waited_for(tmp_path, rank_models, name):
    """Whatever file is meant: it is refused in one line, and read by nobody."""
    place = tmp_path / "pipe"
    arguments = [argument.format(place) for argument in NOT_FILES[name]]
    for argument in arguments:
        if argument.startswith(str(place)) and not os.path.exists(argument):
            os.mkfifo(argument)
    status, _, err = rank_models(*arguments)
    assert status in (1, 2)
    assert len(err.splitlines()) == 1


WIDE = [f"column {number}" for number in range(15_000)]


@pytest.mark.more
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_a_message_names_a_few_of_many_columns(tmp_path, ending):
    """The first ones and how many more there are, of a file that has thousands."""
    path = tmp_path / f"a.{ending}"
    separator = {"csv": ",", "tsv": "\t"}.get(ending)
    text = (
        json.dumps(dict.fromkeys(WIDE, "1")) if separator is None else f"{separator.join(WIDE)}\n{separator * 14_999}x"
    )
    path.write_text(text)
    for columns in ({}, {"text": ["none"]}):
        with pytest.raises(DataError) as caught:
            read_sheet(path, columns)
        assert str(caught.value).endswith("column 8, column 9 and 14,990 more)")


def test_no_message_is_longer_than_a_screen(tmp_path):
    """A name, a value or a path in it may be: its middle is left out, and its end is kept."""
    path = tmp_path / "a.csv"
    path.write_text(f"{'a' * 100_000},{'a' * 100_000}\n")
    with pytest.raises(DataError) as caught:
        read_sheet(path)
    assert MAX_MESSAGE_CHARACTERS <= len(str(caught.value)) <= MAX_MESSAGE_CHARACTERS + MAX_PATH_CHARACTERS
    assert str(caught.value).startswith(f"{path}, line 1: two columns are named 'aaa")
    assert len(str(DataError("\0" * 10_000))) == MAX_MESSAGE_CHARACTERS


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json"])
def test_a_name_that_is_there_twice_is_found(tmp_path, ending):
    """Among 150,000, as many as fit into a line: as rows, and as a table."""
    names = [f"{number:x}" for number in range(150_000)] + ["24000"]
    path = tmp_path / f"a.{ending}"
    if ending.startswith("json"):
        names = names[:90_000] + ["15000"]
        pairs = ",".join(f'"{name}":1' for name in names)
        path.write_text(f"{{{pairs}}}\n")
    else:
        path.write_text({"csv": ",", "tsv": "\t"}[ending].join(names) + "\n")
    for read_file in (read_sheet, reader.read_columns):
        with pytest.raises(DataError):
            read_file(path)


def test_guidelines_have_a_limit(tmp_path, rank_models):
    """As every other file that a command reads."""
    (tmp_path / "a.txt").write_text("Is it so?\n" * 20)
    (tmp_path / "a.toml").write_text("limits.guidelines = 100\n")
    arguments = ["--models", "a", "b", "--pool", "new.csv", "-o", "new.csv", "--guidelines", tmp_path / "a.txt"]
    status, _, err = rank_models("label", *arguments, "--config", str(tmp_path / "a.toml"))
    assert status == 2
    text = f"{tmp_path / 'a.txt'}: more than 100 characters, the most that is read (`limits.guidelines`)"
    assert f"rank-models: {text}" in err


def test_objects_of_a_saved_run_are_counted_before_they_are_decoded(tmp_path):
    """Each takes far more memory than it has characters."""
    (tmp_path / "a.json").write_text("[" + "[]," * 100 + "[]]")
    with refuses(DataError, option="limits.objects", place=tmp_path / "a.json"):
        Ranking.load(tmp_path / "a.json", Limits(objects=100))


# the table


def test_every_limit_says_what_it_counts_and_why():
    """The message names the limit, which cannot be nothing."""
    for field in fields(Limits):
        assert field.metadata["of"]
        assert field.metadata["why"]
        assert LIMITS.excess_error("a", field.name).option == f"limits.{field.name}"
        with pytest.raises(ValueError, match=field.name):
            replace(LIMITS, **{field.name: 0})


def test_the_page_lists_every_limit():
    """`docs/limits.md` has a row for each, with the default, what is counted and the reason."""
    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| `")]
    assert table == [
        f"| `{field.name}` | {field.default:,} {field.metadata['of']} | {field.metadata['why']} |"
        for field in fields(Limits)
    ]
    example = page.partition("```toml\n")[2].partition("```")[0]
    assert set(tomllib.loads(example)["limits"]) <= {field.name for field in fields(Limits)}


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("limits.colums = 5", "there is no key of `[limits]` 'colums'; did you mean columns?"),
        ("limits.columns = 0", "`limits.columns` must be at least 1 (got 0)"),
        ("limits.columns = 1.5", "`columns` must be a whole number (got 1.5)"),
        ("limits = 3", "`limits` must be a table: `[limits]` (got 3)"),
    ],
)
def test_a_limit_that_cannot_be_is_one_line(tmp_path, rank_models, content, part):
    """As for any other key of `--config`."""
    (tmp_path / "a.toml").write_text(content)
    status, _, err = rank_models("run", "--config", str(tmp_path / "a.toml"))
    assert status == 2
    assert part in err


@pytest.mark.parametrize("name", ["run", "label", "explain", "report", "compare", "shift", "fetch"])
def test_every_command_that_reads_files_takes_limits(tmp_path, rank_models, name):
    """Limits are read from the table of `--config`, and hold for what the command reads."""
    file = tmp_path / "a.csv"
    file.write_text("text,label\n" + "a,b\n" * 20)
    (tmp_path / "values.csv").write_text("model,set,value\n" + "".join(f"a,{n},0.5\n" for n in range(20)))
    (tmp_path / "a.json").write_text("[" + "1," * 20 + "1]")
    (tmp_path / "a.toml").write_text("[limits]\nrows = 10\ntext = 10\n")
    models = ["--models", "hans-sub-mini"]
    arguments = {
        "run": ["--data", file, *models], "label": ["--batch", "1", "--pool", file, *models],
        "explain": ["--data", file, "--id", "1", *models], "report": [tmp_path / "a.json"],
        "compare": [tmp_path / "values.csv"], "shift": [file, file], "fetch": ["none", "--data-dir", tmp_path],
    }[name]  # fmt: skip
    status, _, err = rank_models(name, *arguments, "--config", str(tmp_path / "a.toml"))
    assert status == 2
    assert ("(`limits." in err) == (name != "fetch")
    assert "no such option" not in err


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet", "a.npz", "rows.conll"])
def test_a_pointer_of_git_lfs_is_no_file_of_rows(tmp_path, rank_models, name):
    """Rows and tables of answers that were not fetched are named, with the command that fetches them."""
    (tmp_path / name).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n")
    for rows in ((), ("--data", tmp_path / name)):
        status, _, stderr = rank_models("--models", tmp_path / name, *rows, "--store", tmp_path / "store")
        assert status == 2
        assert f"{name} cannot be read: it is a pointer of Git LFS; `git lfs pull` fetches the file" in stderr
