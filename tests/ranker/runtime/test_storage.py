"""A store on an object store, through fsspec: in memory, and on a local disk by way of fsspec alone."""

import logging

import pytest
from asking import attributions
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from refusals import refuses
from test_store import EXAMPLES, KEY, Counter, row_of, same

from ranker.cli import main
from ranker.errors import StoreError, UsageError
from ranker.runtime import store as store_module
from ranker.runtime.storage import Remote, place, put_new
from ranker.runtime.store import Store, key_digest
from ranker.runtime.upkeep import contents, prune, verify


@pytest.fixture(params=["memory", "disk"])
def root(request, tmp_path):
    """A prefix on a file system of fsspec's, empty."""
    if request.param == "disk":
        yield Remote(str(tmp_path / "bucket"), LocalFileSystem(auto_mkdir=True))
    else:
        yield place(f"memory:/{tmp_path}")
        MemoryFileSystem.store.clear()


def test_rows_are_kept_and_found(root):
    """Rows come back to the last bit and are not computed again; a larger set builds on them."""
    attributions(Store(root).entry(KEY), EXAMPLES[:3], Counter())
    counter = Counter()
    rows = attributions(Store(root).entry(KEY), EXAMPLES, counter)
    assert counter.asked == ["e3", "e4"]
    assert all(same(row, row_of(example)) for row, example in zip(rows, EXAMPLES, strict=True))
    assert len(Store(root).entry(KEY).missing(EXAMPLES)) == 0


def test_what_was_done_before_an_interruption_is_kept(root, monkeypatch):
    """Ctrl-C in the fourth example keeps three."""
    monkeypatch.setattr(store_module, "BLOCK", 2)

    def interrupted(examples):
        yield from (row_of(example) for example in examples[:3])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attributions(Store(root).entry(KEY), EXAMPLES, interrupted)
    assert len(Store(root).entry(KEY).missing(EXAMPLES)) == 2


def test_a_damaged_shard_is_set_aside_and_pruned(root, caplog):
    """The shard is named, its rows are computed anew, `verify` counts what is whole, and `prune` removes it."""
    attributions(Store(root).entry(KEY), EXAMPLES, Counter())
    [entry] = contents(root)
    [shard] = entry.folder.glob("*.parquet")
    assert (entry.rows, entry.size) == (5, len(shard.read_bytes()))
    shard.write_bytes(shard.read_bytes()[:-1])
    assert verify(root) == (2, [shard])
    counter = Counter()
    attributions(Store(root).entry(KEY), EXAMPLES, counter)
    assert len(counter.asked) == 5
    assert f"{shard} is damaged" in caplog.text
    assert [reason for _, reason in prune(root)] == ["damaged"]
    assert verify(root) == (2, [])
    assert len(Store(root).entry(KEY).missing(EXAMPLES)) == 0


def test_two_writers_lose_nothing(root):
    """Each asks anew what is there, once it has closed a key: it sees what another one has written since."""
    first_store, second_store = Store(root), Store(root)
    assert len(first_store.entry(KEY).missing(EXAMPLES)) == 5
    attributions(second_store.entry(KEY), EXAMPLES[:2], Counter())
    first_store.close(key_digest(KEY))
    assert len(first_store.entry(KEY).missing(EXAMPLES)) == 3
    attributions(first_store.entry(KEY), EXAMPLES[1:], Counter())
    second_store.close(key_digest(KEY))
    assert len(second_store.entry(KEY).missing(EXAMPLES)) == 0


def test_nothing_is_left_of_the_first_look(root):
    """Whether a place can be written to is tried, and the try is removed."""
    Store(root)
    assert not root.is_dir() or list(root.iterdir()) == []


def test_a_place_that_refuses_is_told_at_once(tmp_path):
    """A file stands where the store should be: one line, before any work."""
    (tmp_path / "taken").write_text("")
    taken_root = Remote(str(tmp_path / "taken"), LocalFileSystem())
    with refuses(StoreError, option="store", value=taken_root):
        Store(taken_root)


def test_errors_of_a_library_are_one_line(root, monkeypatch):
    """No credentials, no network: whatever is raised behind fsspec becomes an error of the store."""

    def refuse(*arguments, **options):
        raise RuntimeError("no credentials\nand a long story")

    monkeypatch.setattr(type(root.system), "pipe_file", refuse)
    with refuses(StoreError, option="store", value=root):
        Store(root)


def test_what_a_killed_process_tried_is_pruned(root):
    """Whether a store can be written to is tried with an empty file; one that is left alone is still an empty store."""
    left = root / f".{'0' * 32}.tmp"
    left.write_bytes(b"")
    assert list(contents(root)) == []
    attributions(Store(root).entry(KEY), EXAMPLES, Counter())
    assert list(prune(root)) == [(left, "temporary")]
    assert not left.is_file()
    assert len(Store(root).entry(KEY).missing(EXAMPLES)) == 0


@pytest.mark.parametrize("text", ["a/b", "file:///tmp/a/b", "local:///tmp/a/b"])
def test_a_local_folder_is_a_path(text):
    """So it keeps its promises about renaming, whichever way it is named."""
    assert not isinstance(place(text), Remote)
    assert place(text).parts[-2:] == ("a", "b")


@pytest.mark.parametrize(
    ("text", "reason"), [("nowhere://bucket", "Protocol not known: nowhere"), ("s3://bucket/prefix", "Install s3fs")]
)
def test_a_protocol_that_cannot_be_had_is_one_line(text, reason):
    """An unknown one, and one whose package is not there; the library's reason is kept."""
    if text.startswith("s3"):
        try:
            import s3fs  # noqa: F401

            pytest.skip("s3fs is installed")
        except ImportError:
            pass
    with refuses(UsageError, option="store", value=text) as stop:
        place(text)
    assert reason in str(stop.value)


@pytest.mark.more
def test_the_command_line_takes_a_url(capsys):
    """`--store memory://...`: a run keeps its rows there, and `store info` lists them."""
    url = "memory://shared/store"
    logging.getLogger("ranker").setLevel(logging.ERROR)
    run = ["--ood", "hans-sub", "--limit", "8", "--probe", "2", "--attribution", "none", "--methods", "AVG-CONF", "-q",
           "--store", url]  # fmt: skip
    codes = []
    for arguments in (run, ["store", "info", "--store", url], ["store", "verify", "--store", url]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        codes.append(stop.value.code or 0)
    MemoryFileSystem.store.clear()
    assert codes == [0, 0, 0]
    assert "8 rows" in capsys.readouterr().out


@pytest.fixture
def pauses(monkeypatch):
    """Seconds that would be slept."""
    slept = []
    monkeypatch.setattr("ranker.files.buckets.time.sleep", slept.append)
    return slept


@pytest.mark.parametrize("name", ["pipe_file", "cat_file", "ls"])
def test_a_request_that_fails_in_passing_is_sent_again(root, monkeypatch, pauses, name):
    """Every third attempt succeeds, after two pauses, the second longer; what is kept is the same."""
    attempts, method = [], getattr(type(root.system), name)

    def flaky(*arguments, **options):
        attempts.append(arguments)
        if len(attempts) % 3:
            raise TimeoutError("slow down") if len(attempts) % 2 else OSError(5, "internal error")
        return method(*arguments, **options)

    monkeypatch.setattr(type(root.system), name, flaky)
    for _ in range(2):
        attributions(Store(root).entry(KEY), EXAMPLES, Counter())
        assert len(Store(root).entry(KEY).missing(EXAMPLES)) == 0
    assert pauses == [0.2, 1.0] * (len(attempts) // 3)
    assert pauses


def test_a_request_that_keeps_failing_is_given_up(root, monkeypatch, pauses):
    """After four attempts, in one line; a right that is missing is told at once."""

    def refuse(*arguments, **options):
        raise failure

    monkeypatch.setattr(type(root.system), "pipe_file", refuse)
    for failure, slept in ((TimeoutError("slow down"), [0.2, 1.0, 5.0]), (PermissionError("denied"), [])):
        pauses.clear()
        with pytest.raises(type(failure)):
            root.check()
        assert pauses == slept


def test_a_shard_that_is_there_is_not_written_again(root, monkeypatch):
    """A shard's name is its checksum: a second writer leaves it, as does an attempt whose answer was lost."""
    attributions(Store(root).entry(KEY), EXAMPLES, Counter())
    [entry] = contents(root)
    [shard] = entry.folder.glob("*.parquet")
    content = shard.read_bytes()
    with pytest.raises(FileExistsError):
        shard.create(b"another")
    put_new(shard, b"another")
    assert shard.read_bytes() == content
    pipe_file = type(root.system).pipe_file

    def lost(system, path, value, **options):
        pipe_file(system, path, value, **options)
        raise TimeoutError("no answer")

    monkeypatch.setattr("ranker.files.buckets.time.sleep", lambda seconds: None)
    monkeypatch.setattr(type(root.system), "pipe_file", lost)
    put_new(root / "new.parquet", b"content")
    assert (root / "new.parquet").read_bytes() == b"content"


def test_a_key_is_listed_when_its_work_is_planned_and_when_its_shards_are_merged(root, monkeypatch):
    """One listing for each key tells what is missing; none while blocks are written and read; one before the merge."""
    monkeypatch.setattr(store_module, "BLOCK", 2)
    listed, list_folder = [], type(root.system).ls

    def counted(self, path, *arguments, **options):
        listed.append(path)
        return list_folder(self, path, *arguments, **options)

    store = Store(root)
    monkeypatch.setattr(type(root.system), "ls", counted)
    keys = [{**KEY, "model": str(n)} for n in range(3)]
    for key in keys:
        store.entry(key).missing(EXAMPLES)
    assert len(listed) == 3
    for key in keys:
        attributions(store.entry(key), EXAMPLES, Counter())
    assert len(listed) == 3
    for key in keys:
        store.close(key_digest(key))
    assert len(listed) == 6
    for key in keys:
        attributions(store.entry(key), EXAMPLES, Counter())
        store.close(key_digest(key))
    assert len(listed) == 9
