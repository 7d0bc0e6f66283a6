import os
import subprocess
import sys

import numpy as np
import pytest
from asking import attributions
from refusals import refuses

from factors.types import Attributions, Example
from ranker.errors import StoreError
from ranker.runtime import shards
from ranker.runtime import store as store_module
from ranker.runtime.store import Store, key_digest
from ranker.runtime.upkeep import contents, prune, verify

EXAMPLES = [Example(f"e{n}", (f"text {n}", "naïve 走"), n % 2) for n in range(5)]
KEY = {"model": "abc", "backend": "ig"}


def row_of(example):
    """A row with awkward numbers, different for each example."""
    number = float(len(example.segments[0]) + int(example.segments[0][-1])) / 3
    return Attributions(
        probs=np.array([number / 10, 1 - number / 10]), target=1, tokens=("[CLS]", "▁té", "👍"),
        segment=np.array([-1, 0, 1]), word=np.array([-1, 0, 3]), offsets=np.array([[0, 0], [0, 2], [4, 5]]),
        scores=np.array([number, -1e-300, np.nextafter(1, 2)]), backend="ig", residual=float("nan"), effort=20,
    )  # fmt: skip


class Counter:
    """Computes rows, and remembers which examples it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, examples):
        """One row for each example."""
        for example in examples:
            self.asked.append(example.id)
            yield row_of(example)


def same(a, b):
    """Equal to the last bit, field by field."""
    arrays = ("probs", "segment", "word", "offsets", "scores")
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in arrays) and (
        (a.target, a.tokens, a.backend, a.effort) == (b.target, b.tokens, b.backend, b.effort)
        and np.isnan(a.residual) == np.isnan(b.residual)
    )


def test_what_is_read_back_equals_what_was_kept(tmp_path):
    """Every field of a row survives the way to disk and back, bit by bit."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    again = attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    assert all(same(row, row_of(example)) for row, example in zip(again, EXAMPLES, strict=True))


def test_the_second_run_computes_nothing(tmp_path):
    """Whatever the order, the ids and the labels of the rows are the second time."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    second = Counter()
    renamed = [Example("other", example.segments, 1 - example.target) for example in reversed(EXAMPLES)]
    rows = attributions(Store(tmp_path).entry(KEY), renamed, second)
    assert second.asked == []
    assert same(rows[0], row_of(EXAMPLES[-1]))


def test_only_what_is_missing_is_computed_and_the_whole_comes_back(tmp_path):
    """A larger population builds on a smaller one."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES[:2], Counter())
    counter = Counter()
    assert len(attributions(Store(tmp_path).entry(KEY), EXAMPLES, counter)) == 5
    assert counter.asked == ["e2", "e3", "e4"]


def test_equal_texts_are_computed_once(tmp_path):
    """Two rows of one text have one answer."""
    counter = Counter()
    rows = attributions(Store(tmp_path).entry(KEY), [EXAMPLES[0], Example("twin", EXAMPLES[0].segments, 1)], counter)
    assert len(counter.asked) == 1
    assert rows[0].scores.tobytes() == rows[1].scores.tobytes()


def test_a_block_is_on_the_disk_before_it_counts(tmp_path, monkeypatch):
    """The content is brought to the disk before it is renamed, and the folder with its name after that."""
    done, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (done.append(os.fstat(number).st_ino), fsync(number)))
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("renamed"), replace(*names)))
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    [shard] = tmp_path.rglob("*.parquet")
    position = len(done) - 1 - done[::-1].index("renamed")
    assert done[position - 1 :] == [shard.stat().st_ino, "renamed", shard.parent.stat().st_ino]
    assert {tmp_path.stat().st_ino, (tmp_path / "v2").stat().st_ino} <= set(done)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_files_are_readable_by_whom_the_umask_says(tmp_path, mask, mode):
    """So that people who share a folder can share the store in it."""
    before = os.umask(mask)
    try:
        attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    finally:
        os.umask(before)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.rglob("*.*")} == {mode}


def test_another_key_is_computed_anew(tmp_path):
    """A changed setting never meets the rows of another one."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    counter = Counter()
    attributions(Store(tmp_path).entry({**KEY, "backend": "lime"}), EXAMPLES, counter)
    assert len(counter.asked) == 5


def test_what_was_done_before_an_interruption_is_kept(tmp_path, monkeypatch):
    """Ctrl-C in the fourth example keeps three, the last incomplete block included."""
    monkeypatch.setattr(store_module, "BLOCK", 2)

    def interrupted(examples):
        yield from (row_of(example) for example in examples[:3])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attributions(Store(tmp_path).entry(KEY), EXAMPLES, interrupted)
    counter = Counter()
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, counter)
    assert counter.asked == ["e3", "e4"]
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("place", [0.0, 0.25, 0.5, 0.75, 0.999])
def test_a_damaged_shard_is_set_aside_and_computed_anew(tmp_path, caplog, place):
    """A flipped byte anywhere in the file, footer included, is noticed, named, and costs the rows of one shard."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    [shard] = tmp_path.rglob("*.parquet")
    content = bytearray(shard.read_bytes())
    content[int(len(content) * place)] ^= 0xFF
    shard.write_bytes(content)
    counter = Counter()
    rows = attributions(Store(tmp_path).entry(KEY), EXAMPLES, counter)
    assert all(same(row, row_of(example)) for row, example in zip(rows, EXAMPLES, strict=True))
    assert len(counter.asked) == 5
    assert f"{shard.name} is damaged" in caplog.text
    assert shard.with_suffix(".damaged").exists()


def test_a_truncated_shard_is_set_aside(tmp_path):
    """Half a file is no file."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    [shard] = tmp_path.rglob("*.parquet")
    shard.write_bytes(shard.read_bytes()[:-100])
    counter = Counter()
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, counter)
    assert len(counter.asked) == 5


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path):
    """Before hours of work, not after them: here a file stands where the folder should be."""
    (tmp_path / "taken").write_text("")
    with refuses(StoreError, option="store", value=tmp_path / "taken"):
        Store(tmp_path / "taken")


def test_a_field_that_has_no_name_is_an_error():
    """An object's address is no key."""
    with pytest.raises(TypeError):
        key_digest({"model": object()})


FIELDS = {
    "source": {"content": "abc" * 20, "dtype": "float32"},
    "backend": "ig",
    "settings": {"steps": 5, "baseline": "mask"},
}


@pytest.fixture
def command(tmp_path, rank_models):
    """`rank-models store`, on a store in a folder: arguments -> (exit status, lines of stdout, stderr)."""

    def call(*arguments, root=tmp_path / "store"):
        status, out, err = rank_models("store", *arguments, "--store", str(root))
        return status, out.splitlines(), err

    return call


@pytest.fixture
def filled(tmp_path):
    """A store with two shards of one key."""
    store = Store(tmp_path / "store")
    attributions(store.entry(FIELDS), EXAMPLES[:2], Counter())
    attributions(store.entry(FIELDS), EXAMPLES, Counter())
    return store


def test_info_lists_keys_with_their_rows_and_bytes(filled, command):
    """A line a key: model, number format, method and settings, rows and bytes; a last line with the sums."""
    size = sum(shard.stat().st_size for shard in filled.root.rglob("*.parquet"))
    [folder] = (filled.root / "v2").iterdir()
    start = f"{folder.name[:12]}       5 rows  {size:>10,} bytes"
    assert command("info") == (
        0,
        [f"{start}  model abcabcabcabc  float32  ig:baseline=mask,steps=5", f"1 keys, 5 rows, {size:,} bytes"],
        "",
    )


def test_info_calls_a_model_by_its_last_name(filled, command):
    """The name is no part of the key, and none that anybody wrote reaches the terminal as a command to it."""
    more_examples = [*EXAMPLES, Example("new", ("text 9",), 0)]
    attributions(Store(filled.root).entry(FIELDS, "bert\x1b[2J"), more_examples, Counter())
    assert command("info")[1][0].endswith("model abcabcabcabc 'bert\\x1b[2J'  float32  ig:baseline=mask,steps=5")
    assert command("verify")[0] == 0
    assert len(Store(filled.root).entry(FIELDS).missing(more_examples)) == 0


def test_info_of_a_key_whose_description_is_damaged(filled, command):
    """Rows of the key are found and counted; their meaning is not known."""
    [described] = filled.root.rglob("key.json")
    described.write_text("{}")
    assert command("info")[1][0].endswith("model ?  ?  ?")


def test_verify_names_what_is_damaged(filled, command):
    """All is well, exit status 0; a flipped byte in a shard or a changed key.json is named, exit status 1."""
    assert command("verify") == (0, ["3 files compared, 0 damaged"], "")
    shard, described = next(filled.root.rglob("*.parquet")), next(filled.root.rglob("key.json"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"X")
    described.write_text(described.read_text().replace("mask", "zero"))
    before = {file: file.read_bytes() for file in filled.root.rglob("*") if file.is_file()}
    assert command("verify") == (
        1,
        [f"{described} is damaged", f"{shard} is damaged", "3 files compared, 2 damaged"],
        "",
    )
    assert {file: file.read_bytes() for file in filled.root.rglob("*") if file.is_file()} == before


def test_prune_removes_what_is_never_read_again(filled, command):
    """A crashed run's file, a damaged shard, one set aside, and one whose rows all stand in later ones; no more."""
    first, second = sorted(filled.root.rglob("*.parquet"))
    folder = first.parent
    table = shards.deserialize(first.read_bytes(), first.name, folder.name)
    again = shards.serialize(table.take(list(range(len(table)))[::-1]), key_digest(FIELDS))  # in another order
    (folder / shards.shard_name(again)).write_bytes(again)
    [twin] = set(folder.glob("*.parquet")) - {first, second}
    aside, damaged, left, writing = (
        folder / name for name in ("x.damaged", "y.parquet", f".{'0' * 32}.tmp", f".{'1' * 32}.tmp")
    )
    theirs = filled.root / ".own.tmp"
    for file in (aside, damaged, left, writing, theirs):
        file.write_text("rubbish")
    os.utime(left, (0, 0))
    os.utime(theirs, (0, 0))
    before = Store(filled.root)
    status, lines, _ = command("prune")
    duplicate = min(first, twin)
    assert status == 0
    assert lines == [
        f"{left} removed (temporary)", f"{aside} removed (damaged)", f"{damaged} removed (damaged)",
        f"{duplicate} removed (duplicate)", "4 files removed",
    ]  # fmt: skip
    assert writing.exists()  # by a process that is alive, perhaps
    assert theirs.exists()  # no name that a store gives
    assert len(before.entry(FIELDS).missing(EXAMPLES)) == 0
    assert command("prune")[1] == ["0 files removed"]


@pytest.mark.parametrize("name", ["info", "verify", "prune"])
def test_a_folder_that_is_no_store_is_left_alone(command, tmp_path, name):
    """A folder that is not there is not made, one with other things is refused; an empty one is an empty store."""
    assert command(name, root=tmp_path / "no") == (
        1,
        [],
        f"rank-models: `--store`: there is no folder {tmp_path / 'no'}\n",
    )
    assert not (tmp_path / "no").exists()
    photos = tmp_path / ("a" * 32)  # as a store, and as other programs, may call it
    photos.mkdir()
    (photos / "a.parquet").write_text("mine")
    assert command(name, root=tmp_path)[2] == (
        f"rank-models: `--store`: {tmp_path} is no store; it holds other things, such as {photos.name!r}\n"
    )
    assert (photos / "a.parquet").exists()
    (tmp_path / "empty").mkdir()
    assert command(name, root=tmp_path / "empty")[0] == 0


def test_a_parquet_file_of_something_else_is_set_aside(tmp_path, caplog):
    """A file under the name that its checksum gives it, but with no rows of ours in it, costs no more than itself."""
    from pyarrow import BufferOutputStream, parquet, table

    sink = BufferOutputStream()
    parquet.write_table(table({"price": [1.0]}), sink)
    attributions(Store(tmp_path).entry(KEY), EXAMPLES[:1], Counter())
    [folder] = (tmp_path / "v2").iterdir()
    for content in (sink.getvalue().to_pybytes(), b"PAR1 not at all"):
        (folder / shards.shard_name(content)).write_bytes(content)
    assert len(Store(tmp_path).entry(KEY).missing(EXAMPLES)) == 4
    assert caplog.text.count("is damaged (it holds no rows of ours)") == 2


def test_a_shard_that_goes_away_while_it_is_read_is_not_an_error(tmp_path, monkeypatch):
    """Another process may prune, or set aside, what this one has just listed."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES[:1], Counter())
    list_shards = store_module.shards_of
    monkeypatch.setattr(store_module, "shards_of", lambda folder: [*list_shards(folder), folder / "gone.parquet"])
    assert len(Store(tmp_path).entry(KEY).missing(EXAMPLES)) == 4


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are listed there on Linux only")
def test_reading_a_store_starts_no_thread(tmp_path):
    """Arrow's pool of threads, ending with the process, ended some runs with SIGABRT behind their last line."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    code = (
        "import os, sys, pathlib, pyarrow.parquet\n"
        "from ranker.runtime import upkeep as store\n"
        "before = os.listdir('/proc/self/task')\n"
        "(kept,) = store.contents(pathlib.Path(sys.argv[1]))\n"
        "print(kept.rows, len(os.listdir('/proc/self/task')) - len(before))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(EXAMPLES)), "0"]


def test_a_key_whose_description_is_gone_is_still_one(tmp_path):
    """The key is listed as damaged, its rows are found, and the run that finds them writes it anew."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    described = tmp_path / "v2" / key_digest(KEY)[:32] / "key.json"
    content = described.read_bytes()
    described.unlink()
    assert [(entry.rows, entry.key) for entry in contents(tmp_path)] == [(5, {})]
    assert verify(tmp_path) == (2, [described])
    assert list(prune(tmp_path)) == []
    store, second = Store(tmp_path), Counter()
    attributions(store.entry(KEY), EXAMPLES, second)
    assert second.asked == []
    store.close(key_digest(KEY))
    assert described.read_bytes() == content
    assert verify(tmp_path) == (2, [])


def test_a_store_that_may_not_be_written_is_read(tmp_path, monkeypatch, caplog):
    """Another user's: what is known is found; what is not is refused before it is computed, in one line."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES[:3], Counter())

    def refused(*_, **options):
        raise PermissionError(13, "Permission denied", options.get("dir"))

    monkeypatch.setattr(store_module.tempfile, "TemporaryFile", refused)
    monkeypatch.setattr(store_module, "put", refused)
    caplog.set_level("INFO")
    store = Store(tmp_path)
    assert caplog.messages == [
        f"{tmp_path} cannot be written to (Permission denied), and is only read; new results need another `store`"
    ]
    counter = Counter()
    assert len(attributions(store.entry(KEY), EXAMPLES[:3], counter)) == 3
    assert counter.asked == []
    with refuses(StoreError, place=store.entry(KEY).folder):
        store.entry(KEY).prepare()
    store.close(key_digest(KEY))
    with refuses(StoreError, option="store", value=tmp_path / "new"):
        Store(tmp_path / "new")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_pipe_in_the_place_of_a_shard_is_set_aside(tmp_path, make, caplog):
    """Nobody waits for the pipe, and its rows are computed anew."""
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, Counter())
    (shard,) = (tmp_path / "v2").glob("*/*.parquet")
    shard.unlink()
    make(shard)
    assert verify(tmp_path) == (2, [shard])
    counter = Counter()
    attributions(Store(tmp_path).entry(KEY), EXAMPLES, counter)
    assert len(counter.asked) == 5
    assert "is damaged" in caplog.text
