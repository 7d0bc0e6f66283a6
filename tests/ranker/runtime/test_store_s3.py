"""A store, models and rows on a server that speaks S3, on this machine: needs `moto[server]` and s3fs."""

import random
import socket
import threading
import time
from contextlib import suppress
from urllib.request import Request, urlopen

import pytest
from asking import attributions
from refusals import refuses
from test_store import EXAMPLES, KEY, Counter, row_of, same

from factors.types import Example
from ranker.errors import StoreError, UsageError
from ranker.files.buckets import local_path
from ranker.runtime import store as store_module
from ranker.runtime.storage import Remote, place, put_new
from ranker.runtime.store import Store
from ranker.runtime.upkeep import verify

pytestmark = pytest.mark.slow

MOMENTS = 10
"""Random moments at which the server is paused, and then gone."""

PAUSE = 20.0
"""Seconds of the pause."""


@pytest.fixture
def address(monkeypatch, tmp_path):
    """Host and port of a server on loopback, with the bucket `team`."""
    server_class = pytest.importorskip("moto.server").ThreadedMotoServer
    s3fs = pytest.importorskip("s3fs")
    server = server_class(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()  # its state outlives a server
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("team")
    try:
        yield host, port
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


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
    (bucket.parent / "rows" / "notes.txt").write_bytes(b"more")
    bucket.system.invalidate_cache()
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


class Proxy:
    """A way to a server that can be paused and cut off; `after` requests it is."""

    def __init__(self, target, after):
        self._target, self._after, self.requests = target, after, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.gone, self._lock, self._open = False, threading.Lock(), set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._open = {*self._open, client, server}  # a new set, since another thread may go through the old one
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(*pair, pair[0] is client), daemon=True).start()

    def _pass_on(self, source, target, counts):
        with suppress(OSError):
            while content := source.recv(1 << 16):
                if counts and content.split(b" ", 1)[0] in (b"GET", b"PUT", b"HEAD", b"DELETE", b"POST"):
                    self._count()
                target.sendall(content)
        for end in (source, target):
            end.close()

    def _count(self):
        with self._lock:
            self.requests += 1
            if self._after is not None and self.requests == self._after:
                time.sleep(PAUSE)
                self.gone = True
                self._listener.close()
                for end in tuple(self._open):
                    with suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
                raise OSError("gone")


def test_a_server_that_is_paused_and_then_gone_costs_unfinished_blocks(address, monkeypatch):
    """At ten random moments: one error each, and the next run asks for no row of a finished block, with its numbers."""
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
        whole = all(same(row, row_of(example)) for row, example in zip(rows, examples, strict=True))
        outcomes.append((proxy.gone, failed, len(first.asked), missing, second.asked, whole))

    moments = [chooser.randint(3, 18) for _ in range(MOMENTS)]
    threads = [threading.Thread(target=session, args=pair) for pair in enumerate(moments)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == MOMENTS
    for gone, failed, asked, missing, again, whole in outcomes:
        assert gone
        assert failed is not None
        assert "\n" not in failed
        assert whole
        assert len(again) == missing
        assert asked - (len(examples) - missing) <= store_module.BLOCK  # of what was computed, one block was lost
