"""Models and rows in a bucket: copied once for each version of the files, or refused in one line."""

import importlib.util
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from calling import called
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import parquet
from refusals import refuses

from ranker import load_suite
from ranker.datasets.embedded import folder as data_folder
from ranker.errors import UsageError
from ranker.files.buckets import copied_from, copies_folder, file_system, local_path, with_urls
from ranker.runs.gather import gather_without_truth


@pytest.fixture(autouse=True)
def bucket(monkeypatch, tmp_path):
    """An empty bucket, and a cache of its own; counts what is asked for."""
    MemoryFileSystem.store.clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    calls = []
    for name in ("find", "get_file"):
        method = getattr(MemoryFileSystem, name)

        def counted(self, path, *arguments, method=method, name=name, **options):
            calls.append((name, path))
            return method(self, path, *arguments, **options)

        monkeypatch.setattr(MemoryFileSystem, name, counted)
    yield calls
    MemoryFileSystem.store.clear()


def put(path, content):
    """Write a file of the bucket."""
    MemoryFileSystem().pipe_file(path, content.encode() if isinstance(content, str) else content)


def test_a_file_is_listed_once_and_copied_once(bucket):
    """A second call lists again and copies nothing; another version is another copy."""
    put("/team/rows.csv", "text\nIt rang.\n")
    first = local_path("memory://team/rows.csv", "data")
    assert (first.name, first.read_text()) == ("rows.csv", "text\nIt rang.\n")
    assert [name for name, _ in bucket] == ["find", "get_file"]
    assert local_path("memory://team/rows.csv", "data") == first
    assert [name for name, _ in bucket] == ["find", "get_file", "find"]
    put("/team/rows.csv", "text\nIt sang.\n")
    assert local_path("memory://team/rows.csv", "data").read_text() == "text\nIt sang.\n"
    assert first.read_text() == "text\nIt rang.\n"


def test_a_copy_knows_its_url_and_paths_stay():
    """A path in the copy knows the URL, too; others have none, and stay as they are."""
    put("/team/models/a/config.json", "{}")
    copy = local_path("memory://team/models/", "models")
    for path in (copy, copy / "a", copy / "a" / "config.json"):
        assert copied_from(str(path)) == "memory://team/models"
    for path in (Path("/models/a"), copies_folder(), copies_folder() / "other"):
        assert copied_from(str(path)) == ""
    assert local_path("rows.csv", "data") == Path("rows.csv")
    assert local_path(Path("s3:/team/rows.csv"), "data") == Path("s3:/team/rows.csv")


def test_a_message_names_urls_and_no_copies(rank_models, tmp_path):
    """The file that cannot be read, and whatever lies below a folder or a pattern; another path stays."""
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        file.write_text("text,prediction\na,good\nb,bad\n")
    put("/team/rows.csv", "text,label\na,good\nb,bad,extra\n")
    status, _, messages = rank_models("--data", "memory://team/rows.csv", "--models", *files)
    assert status == 2
    assert "rank-models: memory://team/rows.csv, line 3: 2 cells are needed, as in line 1 (got 3)" in messages
    put("/team/my rows/a.csv", "text\nIt rang.\n")
    for place in ("memory://team/my rows", "memory://team/my rows/*.csv"):
        copy = local_path(place, "pool")
        file = copy if copy.name.startswith("*") else copy / "a.csv"
        assert with_urls(f"{file}, line 2: no") == f"memory://team/my rows/{file.name}, line 2: no"
    assert with_urls(f"{copies_folder() / 'notes'} stays") == f"{copies_folder() / 'notes'} stays"


def test_copies_that_no_run_has_used_for_long_are_removed():
    """Another copy removes them; one that is used again stays, and so does what is no copy."""
    for name in "abc":
        put(f"/team/{name}.csv", f"text\n{name}\n")
    used, unused = (local_path(f"memory://team/{name}.csv", "data") for name in "ab")
    notes = copies_folder() / "notes"
    notes.mkdir()
    for path in (used.parent, unused.parent, notes):
        os.utime(path, (0, 0))
    assert local_path("memory://team/a.csv", "data") == used
    assert unused.exists()
    assert local_path("memory://team/c.csv", "data").read_text() == "text\nc\n"
    assert [path.exists() for path in (used, unused, unused.parent, notes)] == [True, False, False, True]
    assert (copied_from(str(used)), copied_from(str(unused))) == ("memory://team/a.csv", "")


@pytest.mark.parametrize("name", ["parts", "parts/*.parquet", "parts/[01].parquet"])
def test_a_folder_or_a_pattern_of_rows_is_a_pool(name):
    """The files that fit are copied, and are one table."""
    for part in range(2):
        out = pa.BufferOutputStream()
        parquet.write_table(pa.table({"text": [f"Row {part}{n}." for n in range(3)]}), out)
        put(f"/team/parts/{part}.parquet", out.getvalue().to_pybytes())
    put("/team/parts/notes.txt", "none")
    put("/team/partsother/9.parquet", "none")
    labelled = [{"text": "Row 01.", "label": "good"}, {"text": "Row 12.", "label": "bad"}]
    put("/team/a.jsonl", "".join(json.dumps({**row, "prediction": row["label"]}) + "\n" for row in labelled))
    put("/team/b.jsonl", "".join(json.dumps({**row, "prediction": "good"}) + "\n" for row in labelled))
    models = ["memory://team/a.jsonl", "b=memory://team/b.jsonl"]
    inputs = gather_without_truth(models, labelled, f"memory://team/{name}")
    assert [row.segments[0] for row in inputs.pool] == [f"Row {part}{n}." for part in range(2) for n in range(3)]
    assert [model.name for model in inputs.inspected.models] == ["a", "b"]


def test_the_command_line_reads_all_from_a_bucket(tmp_path):
    """`--data`, `--pool` and `--models`: the numbers are those of the same files on disk."""
    texts = [f"The ferry {n} was late." for n in range(30)]
    lines = [f"{text},{'good' if n % 3 else 'bad'}\n" for n, text in enumerate(texts)]
    files = {
        "ten.csv": "text,label\n" + "".join(lines[:10]),
        "pool.csv": "text\n" + "".join(f"{text}\n" for text in texts),
        "a.csv": "text,prediction\n" + "".join(lines),
        "b.csv": "text,prediction\n" + "".join(f"{text},good\n" for text in texts),
    }
    decisions = []
    for name, content in files.items():
        put(f"/team/{name}", content)
        (tmp_path / name).write_text(content)
    for place in ("memory://team", tmp_path):
        models = [f"{place}/a.csv", f"{place}/b.csv"]
        rows = ["--data", f"{place}/ten.csv", "--pool", f"{place}/pool.csv", "--store", tmp_path / "store"]
        ended = called("run", *rows, "--models", *models, "-q", output=tmp_path / "o.json")
        assert ended.status == 0, ended.message
        decisions.append(ended.json["decision"])
    assert decisions[0] == decisions[1]


def test_checkpoints_in_a_bucket_are_those_on_disk():
    """Names and contents are the same."""
    suite = data_folder() / "suites" / "hans-sub-mini"
    local = sorted(path.parent for path in suite.glob("*/config.json"))[:2]
    for model in local:
        for file in filter(Path.is_file, model.rglob("*")):
            put(f"/team/{model.name}/{file.relative_to(model)}", file.read_bytes())
    remote = load_suite([f"memory://team/{model.name}" for model in local])
    assert [model.name for model in remote.models] == [model.name for model in local]
    for copy, model in zip(remote.models, local, strict=True):
        assert Path(copy.source.place, "config.json").read_bytes() == (model / "config.json").read_bytes()


# refusals


@pytest.mark.parametrize(("url", "extra"), [("gs://team/a", "gs"), ("az://team/a", "az"), ("s3://team/a", "s3")])
def test_a_package_that_is_not_installed_is_named(url, extra):
    """One line says what to install."""
    package = {"gs": "gcsfs", "az": "adlfs", "s3": "s3fs"}[extra]
    if importlib.util.find_spec(package):
        pytest.skip(f"{package} is installed")
    with refuses(UsageError, option="data", value=url) as stop:
        file_system(url, "data")
    assert f"`pip install 'rank-models[{extra}]'`" in str(stop.value)


@pytest.mark.parametrize("option", ["data", "pool", "models"])
def test_where_nothing_lies_is_one_line(option, tmp_path):
    """The option and the address are named."""
    put("/team/a.csv", "text,prediction\nIt rang.,good\n")
    places = {"data": "memory://team/a.csv", "pool": "memory://team/a.csv", "models": "memory://team/a.csv"}
    places[option] = "memory://team/none"
    (tmp_path / "b.csv").write_text("text,prediction\nIt rang.,good\n")
    rows = ["--data", places["data"], "--pool", places["pool"], "--columns", "text=text,label=prediction"]
    ended = called("run", *rows, "--models", places["models"], tmp_path / "b.csv", "-q")
    assert ended.refused
    assert f"`--{option}`: nothing lies at memory://team/none" in ended.message


def test_what_is_too_large_is_not_copied(bucket, monkeypatch):
    """Neither beyond a limit, nor beyond the room on the disk, nor more files than a folder may have."""
    put("/team/rows.csv", "text\n" + "It rang.\n" * 100)
    with refuses(UsageError, option="data", value="memory://team/rows.csv"):
        local_path("memory://team/rows.csv", "data", most=100)
    monkeypatch.setattr("ranker.files.buckets.MAX_FILES", 0)
    with refuses(UsageError, option="data", value="memory://team/rows.csv"):
        local_path("memory://team/rows.csv", "data")
    monkeypatch.undo()
    monkeypatch.setattr("ranker.files.buckets.shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with refuses(UsageError, option="data", value="memory://team/rows.csv"):
        local_path("memory://team/rows.csv", "data")
    assert not [path for name, path in bucket if name == "get_file"]


@pytest.mark.parametrize("name", ["/team/x/../../../etc/passwd", "/team/x/./a", "/team/x/a\\b", "/team/x//a"])
def test_a_name_that_leads_out_of_the_folder_is_refused(name, monkeypatch):
    """Object stores may have any name; nothing is written outside of the copy."""
    listing = {name: {"name": name, "size": 3, "type": "file"}}
    monkeypatch.setattr(MemoryFileSystem, "find", lambda *_, **__: listing)
    with refuses(UsageError, option="models", value="memory://team/x"):
        local_path("memory://team/x", "models")


def test_a_copy_that_fails_leaves_nothing(monkeypatch, tmp_path):
    """A file that changed meanwhile, and a right that is missing: one line, and the next call copies all."""
    put("/team/x/a", "abc")
    put("/team/x/b", "abc")
    get_file = MemoryFileSystem.get_file

    def cut(self, path, local, **options):
        get_file(self, path, local, **options)
        if path.endswith("b"):
            Path(local).write_text("ab")

    def refuse(*_, **__):
        raise PermissionError("Access Denied")

    for failing in (cut, refuse):
        with monkeypatch.context() as patch:
            patch.setattr(MemoryFileSystem, "get_file", failing)
            with refuses(UsageError, option="models", value="memory://team/x"):
                local_path("memory://team/x", "models")
        assert not [*(tmp_path / "cache" / "rank-models" / "copies").iterdir()]
    assert sorted(path.name for path in local_path("memory://team/x", "models").iterdir()) == ["a", "b"]
