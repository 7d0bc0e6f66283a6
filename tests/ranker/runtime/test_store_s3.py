"""A store, models and rows on a server that speaks S3, on this machine: needs `moto[server]` and s3fs."""

import os
import random
import socket
import threading

import pytest
from asking import attributions
from refusals import refuses
from s3_server import Proxy, s3_server
from test_store import EXAMPLES, KEY, Counter, row_of, same

from factors.types import Example
from ranker.errors import StoreError, UsageError
from ranker.files.buckets import local_path
from ranker.runtime import store as store_module
from ranker.runtime.storage import Remote, place, put_new
from ranker.runtime.store import Store
from ranker.runtime.upkeep import verify

pytestmark = pytest.mark.slow

MOMENTS = int(os.environ.get("RANK_MODELS_KILLS", "10"))
"""Random moments at which the server is paused, and then gone."""


@pytest.fixture
def address(monkeypatch, tmp_path):
    """Host and port of a server on loopback, with the bucket `team`."""
    with s3_server(monkeypatch, tmp_path) as address:
        yield address


@pytest.fixture
def bucket(address):
    """A place in the bucket."""
    return place("s3://team/answers")


def test_rows_come_back_and_shards_are_not_replaced(bucket):
    """Answers are kept to the last bit and verified; a second writer of a shard's name changes nothing."""
    attributions(Store(bucket).entry(KEY), EXAMPLES[:3], Counter())
    counter = Counter()
    rows = attributions(Store(bucket).entry(KEY), EXAMPLES, counter)
    assert counter.asked == ["e3", "e4"]
    assert all(same(row, row_of(example)) for row, example in zip(rows, EXAMPLES, strict=True))
    assert verify(bucket)[1] == []
    put_new(bucket / "shard", b"first")
    put_new(bucket / "shard", b"second")
    assert (bucket / "shard").read_bytes() == b"first"
    with pytest.raises(FileExistsError):
        (bucket / "shard").create(b"second")


def test_files_and_folders_are_copied(bucket):
    """A file, a folder and a pattern; another version is another copy."""
    for name in ("a.parquet", "b.parquet", "notes.txt"):
        (bucket.parent / "rows" / name).write_bytes(name.encode())
    assert local_path("s3://team/rows/notes.txt", "data").read_text() == "notes.txt"
    assert sorted(path.name for path in local_path("s3://team/rows", "pool").iterdir()) == [
        "a.parquet", "b.parquet", "notes.txt",
    ]  # fmt: skip
    pattern = local_path("s3://team/rows/*.parquet", "pool")
    assert sorted(path.name for path in pattern.parent.iterdir()) == ["a.parquet", "b.parquet"]
    type(bucket.system)(skip_instance_cache=True).pipe_file("team/rows/notes.txt", b"more")  # as another machine does
    assert local_path("s3://team/rows/notes.txt", "data").read_text() == "more"


@pytest.mark.parametrize("fault", ["no bucket", "no credentials", "nobody listens"])
def test_what_cannot_be_reached_is_one_line(fault, address, monkeypatch):
    """A store, and rows: before any work, with the address."""
    import s3fs

    url = "s3://nobody/x" if fault == "no bucket" else "s3://team/x"
    if fault == "no credentials":
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
    if fault == "nobody listens":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free.getsockname()[1]}")
    s3fs.S3FileSystem.clear_instance_cache()
    with refuses(StoreError, option="store", value=place(url)) as stop:
        Store(place(url))
    assert "\n" not in str(stop.value)
    with refuses(UsageError, option="pool", value=url) as stop:
        local_path(url, "pool")
    assert "\n" not in str(stop.value)
    print(stop.value)  # noqa: T201  # what a user reads


def test_a_server_that_is_paused_and_then_gone_costs_unfinished_blocks(address, monkeypatch):
    """At random moments: one error each, and the next run asks for no row of a finished block, with its numbers."""
    import s3fs

    monkeypatch.setattr(store_module, "BLOCK", 4)
    monkeypatch.setattr("ranker.files.buckets.PAUSES", (0.2, 0.5))
    examples = [Example(f"e{n}", (f"text {n}", "more")) for n in range(60)]
    chooser = random.Random(0)
    outcomes = []

    def root(proxy, number):
        options = {"endpoint_url": f"http://127.0.0.1:{proxy.port}", "key": "testing", "secret": "testing"}
        system = s3fs.S3FileSystem(**options, skip_instance_cache=True, config_kwargs={"retries": {"max_attempts": 1}})
        return Remote(f"team/run{number}", system)

    def session(number, after):
        first, second = Counter(), Counter()
        proxy = Proxy(address, after)
        failed = None
        try:
            attributions(Store(root(proxy, number)).entry(KEY), examples, first)
        except StoreError as error:
            failed = str(error)
        again = root(Proxy(address, None), number)
        missing = len(Store(again).entry(KEY).missing(examples))
        rows = attributions(Store(again).entry(KEY), examples, second)
        all_same = all(same(row, row_of(example)) for row, example in zip(rows, examples, strict=True))
        outcomes.append((proxy.gone, failed, len(first.asked), missing, second.asked, all_same))

    moments = [chooser.randint(3, 18) for _ in range(MOMENTS)]
    threads = [threading.Thread(target=session, args=pair) for pair in enumerate(moments)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == MOMENTS
    for gone, failed, requests, missing, again, complete in outcomes:
        assert gone
        assert failed is not None
        assert "\n" not in failed
        assert complete
        assert len(again) == missing
        assert requests - (len(examples) - missing) <= store_module.BLOCK  # of what was computed, one block was lost
