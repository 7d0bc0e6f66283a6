"""A store on a server that speaks S3, on this machine: needs `moto[server]` and s3fs."""

import pytest
from asking import attributions
from test_store import EXAMPLES, KEY, Counter, row_of, same

from ranker.runtime.storage import place, put_new
from ranker.runtime.store import Store
from ranker.runtime.upkeep import verify

pytestmark = pytest.mark.slow


@pytest.fixture
def bucket(monkeypatch):
    """A place in a bucket of a server on loopback."""
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
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("team")
    try:
        yield place("s3://team/answers")
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


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
