"""Models on a real Ray cluster of two nodes, started once for this module: `make ray` installs what it needs."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from ray_nodes import asked, at_work, check, lines, logging_toys, numbers, stored, two_nodes, wait_for_end
from refusals import refuses
from toys import ROWS, TASK, Toy

from ranker.datasets import sets
from ranker.errors import UsageError
from ranker.runs.collect import run_models
from ranker.runs.inspected import inspect_models
from ranker.runtime.base import Request
from ranker.runtime.executors import ray_tasks
from ranker.runtime.executors.named import executor_named
from ranker.runtime.executors.ray_tasks import Expected, RayTasks
from ranker.runtime.runtime import Runtime
from ranker.runtime.upkeep import verify
from ranker.sources import suites

ray = pytest.importorskip("ray", reason="`make ray` installs it")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # Ray's own code warns
    pytest.mark.allow_hosts(["127.0.0.1", ray.util.get_node_ip_address()]),  # nodes are named by this machine's address
]

HERE = Path(__file__).parent
PORT = 10_100 + os.getpid() % 500
KILLS = int(os.environ.get("RANK_MODELS_KILLS", "2"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two nodes, and a server for clients on the first."""
    with pytest.MonkeyPatch.context() as patch, two_nodes(patch, tmp_path_factory.mktemp("home"), PORT) as cluster:
        yield cluster


@pytest.mark.parametrize("address", ["", f"ray://127.0.0.1:{PORT}"], ids=["node", "client"])
@pytest.mark.usefixtures("cluster")
def test_answers_come_through_the_store_and_a_model_that_fails_is_left_out(tmp_path, address):
    """Each way of failing costs its own model alone, in the words of local processes; so from outside the cluster."""
    toys = [Toy("a"), Toy("b", "is_killed"), Toy("c", "raises"), Toy("d", shares="e"), Toy("e", shares="e")]
    executor = executor_named(address or "ray")
    assert executor == RayTasks(address)
    answers, failures = asked(toys, tmp_path, executor)
    check(answers, ["a", "d", "e"])
    assert failures == {
        "b": "its process was ended by SIGKILL, perhaps for want of memory",
        "c": "ZeroDivisionError: division by zero",
    }
    assert not verify(tmp_path)[1]


@pytest.mark.usefixtures("cluster")
def test_a_model_sees_no_secret_and_its_own_folder(tmp_path, monkeypatch):
    """Nothing of the environment of the driver comes with a task, and a model's process has that of a local one."""
    monkeypatch.setenv("MOON_API_KEY", "a secret")
    asked([Toy("a", "tells", str(tmp_path / "seen"))], tmp_path / "store", RayTasks())
    environment = json.loads((tmp_path / "seen").read_text())["environment"]
    assert "a secret" not in environment.values()
    assert [name for name in environment if name.startswith("RAY_")] == []


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("cluster")
def test_progress_of_all_nodes_is_in_one_place(tmp_path, workers):
    """Every row is counted once, those that were stored before among them."""
    done, stages = [], []

    @contextmanager
    def progress(label, total):
        stages.append((label, total))
        yield done.append

    runtime = Runtime(store=tmp_path, executor=RayTasks(workers=workers), progress=progress)
    for _ in range(2):
        run_models(inspect_models([Toy("a"), Toy("b")]), TASK, [[Request(ROWS)]] * 2, runtime)
    assert stages == [("2 models on Ray", 80)] * 2
    assert sum(done) == 160


def test_an_address_where_nobody_listens_is_refused():
    """At once, in one line; Ray would try for minutes."""
    began = time.monotonic()
    for address in ("ray://127.0.0.1:1", "ray://127.0.0.1:x"):
        with refuses(UsageError, option="executor", value=address):
            asked([Toy("a")], None, RayTasks(address))
    assert time.monotonic() - began < 10


@contextmanager
def another_node(cluster, folder, code):
    """A third node, whose Python begins with some code."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    node = cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"})
    try:
        yield
    finally:
        cluster.remove_node(node)
        cluster.wait_for_nodes()


BLOCKER = """
import sys
class Blocker:
    def find_spec(name, path=None, target=None):
        if name == "ranker":
            raise ModuleNotFoundError("No module named 'ranker'", name="ranker")
sys.meta_path.insert(0, Blocker)
"""


OTHER = """
from importlib import metadata
version = metadata.version
metadata.version = lambda name: "9.9" if name == "rank-models" else version(name)
"""


@pytest.mark.parametrize(
    ("code", "words"),
    [(BLOCKER, "lacks the package rank-models"), (OTHER, "has rank-models 9.9, and this machine ")],
    ids=["no package", "another version"],
)
def test_a_node_that_cannot_do_the_work_is_refused(cluster, tmp_path, code, words):
    """Before any model is asked, whatever the other nodes can."""
    with another_node(cluster, tmp_path / "node", code), refuses(UsageError, option="executor") as caught:
        asked([Toy("a", "marks", str(tmp_path / "mark"))], tmp_path / "store", RayTasks())
    assert words in str(caught.value)
    assert not (tmp_path / "mark").exists()


@pytest.mark.usefixtures("cluster")
def test_a_cluster_of_another_python_is_refused(tmp_path, monkeypatch):
    """Ray compares the versions, and says both."""
    local = ray._private.utils.compute_version_info()
    monkeypatch.setattr("ray._private.utils.compute_version_info", lambda: (local[0], "3.9.1", *local[2:]))
    with refuses(UsageError, option="executor") as caught:
        asked([Toy("a")], tmp_path, RayTasks())
    assert "Python: 3.9.1" in str(caught.value)


@pytest.mark.usefixtures("cluster")
def test_what_only_the_driver_sees_is_refused(tmp_path, monkeypatch):
    """A store in its memory, and a model in its folder."""
    with refuses(UsageError, option="executor") as caught:
        asked([Toy("a")], "memory://here", RayTasks())
    assert "does not see the store memory://" in str(caught.value)
    plain = Expected.of.__func__
    monkeypatch.setattr(
        Expected, "of", classmethod(lambda cls, *flags: plain(cls, *flags)._replace(paths=["/only/here", "/b"]))
    )
    with refuses(UsageError, option="executor") as caught:
        asked([Toy("a")], tmp_path, RayTasks())
    assert "does not see /only/here and 1 more" in str(caught.value)


@pytest.mark.usefixtures("cluster")
def test_the_numbers_are_those_of_one_process(tmp_path):
    """Embedded models and their attributions, to 1e-9."""
    suite, rows = suites.load(["hans-sub-mini"]).models[:2], sets.load("hans-sub")
    both_numbers = [numbers(suite, rows, tmp_path / name, name, 6) for name in ("serial", "ray")]
    np.testing.assert_allclose(*both_numbers, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("cluster")
def test_ray_has_few_tasks_at_a_time(tmp_path, monkeypatch):
    """Two for each core and one that waits, however many models there are."""
    counts = []
    start = ray_tasks._Run.start

    def counted(run, *work):
        start(run, *work)
        counts.append((len(run.at_work), 2 * int(ray.cluster_resources()["CPU"]) + 1))

    monkeypatch.setattr(ray_tasks, "AHEAD", 1)
    monkeypatch.setattr(ray_tasks._Run, "start", counted)
    toys = [Toy(f"t{n}") for n in range(12)]
    answers, failures = asked(toys, tmp_path / "store", RayTasks(limits=False))
    assert failures == {}
    check(answers, [toy.name for toy in toys])
    most, room = max(counts)
    assert most == room < len(toys)


def test_a_node_that_is_gone_before_the_work_is_no_trouble(cluster, tmp_path):
    """Ray lists it for a while; the others do the work."""
    cluster.remove_node(cluster.add_node(num_cpus=1), allow_graceful=False)
    toys = logging_toys(tmp_path)
    answers, failures = asked(toys, tmp_path / "store", RayTasks())
    assert failures == {}
    check(answers, [toy.name for toy in toys])


@pytest.mark.parametrize("victim", ["worker", "node"])
@pytest.mark.parametrize("moment", range(KILLS))
def test_a_worker_or_a_node_that_dies_costs_its_unfinished_shards(cluster, tmp_path, victim, moment):
    """Ray repeats its task, which does not repeat what was stored before."""
    toys, before = logging_toys(tmp_path), []
    if victim == "node":
        doomed = cluster.add_node(num_cpus=1)

    def kill():
        rng = random.Random(moment)
        while not (pids := at_work()):
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 6))
        before.extend(stored(tmp_path / "store"))
        before.append(lines(tmp_path))
        if victim == "node":
            cluster.remove_node(doomed, allow_graceful=False)
        else:
            os.kill(rng.choice(at_work() or pids), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    answers, failures = asked(toys, tmp_path / "store", RayTasks())
    killer.join()
    assert failures == {}
    check(answers, [toy.name for toy in toys])
    *names, earlier = before
    again = lines(tmp_path)[len(earlier) :]
    assert not set(names) & set(again)
    assert len(again) + len(earlier) <= len(toys) + 1


DRIVER = """
import sys
from pathlib import Path
from ray_nodes import asked, logging_toys
from ranker.runtime.executors.ray_tasks import RayTasks
folder = Path(sys.argv[1])
asked(logging_toys(folder), folder / "store", RayTasks())
"""


@pytest.mark.parametrize("moment", range(KILLS))
@pytest.mark.usefixtures("cluster")
def test_a_driver_that_dies_costs_unfinished_shards(tmp_path, moment):
    """The next run computes what is not stored, and nothing else."""
    path = os.pathsep.join([os.environ["PYTHONPATH"], str(HERE.parents[1])])
    environment = {**os.environ, "PYTHONPATH": path}
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path)], env=environment)
    while not at_work():
        assert driver.poll() is None
        time.sleep(0.05)
    time.sleep(random.Random(moment).uniform(0, 8))
    driver.kill()
    driver.wait()
    wait_for_end()
    names, earlier = stored(tmp_path / "store"), lines(tmp_path)
    toys = logging_toys(tmp_path)
    answers, failures = asked(toys, tmp_path / "store", RayTasks())
    assert failures == {}
    check(answers, [toy.name for toy in toys])
    again = lines(tmp_path)[len(earlier) :]
    assert sorted(again) == sorted({toy.name for toy in toys} - names)
