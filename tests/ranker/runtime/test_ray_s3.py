"""A real Ray cluster of two nodes with its store and models in a bucket; a server on loopback speaks S3."""

import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from ray_nodes import asked, check, lines, logging_toys, numbers, stored, two_nodes, wait_for_end
from refusals import refuses
from s3_server import Proxy, s3_server

from ranker.datasets import sets
from ranker.errors import StoreError, UsageError
from ranker.files.buckets import copies_folder
from ranker.runtime.executors import ray_tasks
from ranker.runtime.executors.ray_tasks import RayTasks
from ranker.runtime.storage import place
from ranker.runtime.upkeep import verify
from ranker.sources import suites

ray = pytest.importorskip("ray", reason="`make ray` installs it")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # Ray's own code warns
    pytest.mark.allow_hosts(["127.0.0.1", ray.util.get_node_ip_address()]),  # nodes are named by this machine's address
]

PORT = 10_700 + os.getpid() % 500
EXPLAINED = int(os.environ.get("RANK_MODELS_ROWS", "6"))
KILLS = int(os.environ.get("RANK_MODELS_KILLS", "1"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A way to the server, by which the nodes and this process reach it; the nodes are up."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, s3_server(patch, home) as address:
        proxy = Proxy(address)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        with two_nodes(patch, home, PORT):
            yield proxy
        proxy.close()


@pytest.fixture
def suite():
    """Eight small models and their rows."""
    return suites.load(["hans-sub-mini"]).models, sets.load("hans-sub")


@pytest.mark.usefixtures("server")
def test_the_numbers_with_a_store_in_a_bucket_are_those_of_one_process(tmp_path, suite):
    """Eight models and their attributions, to 1e-9; `RANK_MODELS_ROWS` rows are explained."""
    all_numbers = [
        numbers(*suite, store, executor, EXPLAINED)
        for store, executor in ((tmp_path, "serial"), ("s3://team/numbers", "ray"))
    ]
    np.testing.assert_allclose(*all_numbers, rtol=0, atol=1e-9)
    count, damaged = verify(place("s3://team/numbers"))
    assert count >= 2 * len(suite[0])
    assert damaged == []


@pytest.mark.usefixtures("server")
def test_each_node_copies_models_from_a_bucket(tmp_path, suite, monkeypatch):
    """Nodes have copies where the driver has them, with the same numbers; copies elsewhere are refused before work."""
    models, rows = suite
    local = [Path(model.source.place) for model in models[:2]]
    for model in local:
        for file in filter(Path.is_file, model.rglob("*")):
            (place("s3://team/models") / model.name / str(file.relative_to(model))).write_bytes(file.read_bytes())
    urls = [f"s3://team/models/{model.name}" for model in local]
    remote = suites.load(urls).models
    check_nodes = ray_tasks.check_nodes

    def forget(expected):
        assert sorted(expected.copies.values()) == sorted(urls)
        shutil.rmtree(copies_folder())
        check_nodes(expected)
        assert not copies_folder().exists()

    monkeypatch.setattr(ray_tasks, "check_nodes", forget)
    all_numbers = [numbers(suites.load(local).models, rows, tmp_path, "serial", 2)]
    all_numbers.append(numbers(remote, rows, "s3://team/copied", "ray", 2))
    np.testing.assert_allclose(*all_numbers, rtol=0, atol=1e-9)
    assert all(Path(model.source.place, "config.json").exists() for model in remote)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    with refuses(UsageError, option="executor") as stop:
        numbers(suites.load(urls).models, rows, "s3://team/elsewhere", "ray", 2)
    assert "set $XDG_CACHE_HOME to one path on all" in str(stop.value)


@pytest.mark.parametrize("moment", range(KILLS))
def test_a_server_that_is_paused_and_then_gone_costs_unfinished_shards(server, tmp_path, moment):
    """After a random number of requests: one error, and the next run computes what is not stored, and nothing else."""
    toys, store = logging_toys(tmp_path), f"s3://team/moment{moment}"
    server.close()
    server.restore(after=random.Random(moment).randint(5, 100))
    try:
        with pytest.raises((StoreError, UsageError)) as stop:
            asked(toys, store, RayTasks())
        assert "\n" not in str(stop.value)
        wait_for_end()
    finally:
        server.close()
        server.restore()
    names, earlier = stored(store), lines(tmp_path)
    answers, failures = asked(toys, store, RayTasks())
    assert failures == {}
    check(answers, [toy.name for toy in toys])
    again = lines(tmp_path)[len(earlier) :]
    assert sorted(again) == sorted({toy.name for toy in toys} - names)
    assert verify(place(store))[1] == []
