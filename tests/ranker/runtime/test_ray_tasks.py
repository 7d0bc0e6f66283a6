"""Tasks for Ray without Ray: what they ask for, what stands in them, and which machines they refuse."""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from refusals import refuses
from toys import ROWS, TASK, Toy, truth

from ranker.errors import StoreError, UsageError
from ranker.files.buckets import copies_folder, local_path
from ranker.progress import silent
from ranker.runs.collect import run_models
from ranker.runs.inspected import inspect_models
from ranker.runtime.base import Job, Request
from ranker.runtime.executors import ray_cluster, ray_tasks
from ranker.runtime.executors.processes import COPIES, MEMORY, PROCESS
from ranker.runtime.executors.ray_cluster import Expected, copy_models, trouble_here, versions
from ranker.runtime.executors.ray_tasks import RayTasks, resources
from ranker.runtime.runtime import Runtime
from ranker.sources.base import Machine, ModelInfo, Needs


class Here:
    """Stand-in for Ray that works in this process and records what it was asked for."""

    exceptions = SimpleNamespace(RayError=ZeroDivisionError)

    def __init__(self):
        self.stored, self.tasks, self.options_of = {}, [], []

    def is_initialized(self):
        """A script has connected to it."""
        return True

    def nodes(self):
        """None to be checked."""
        return []

    def cluster_resources(self):
        """One core."""
        return {"CPU": 1.0}

    def remote(self, work):
        """A function as a task, or an actor."""

        def start(*flags):
            if isinstance(work, type):
                return SimpleNamespace(
                    take=SimpleNamespace(remote=dict), add=SimpleNamespace(remote=lambda *rows: None)
                )
            self.tasks.append(flags)
            return self.put(
                work(
                    *(
                        self.stored.get(argument, argument) if isinstance(argument, str) else argument
                        for argument in flags
                    )
                )
            )

        def options(**options):
            self.options_of.append(options)
            return SimpleNamespace(remote=start)

        return SimpleNamespace(options=options)

    def put(self, content):
        """A reference to it."""
        reference = f"reference {len(self.stored)}"
        self.stored[reference] = content
        return reference

    def get(self, reference, timeout=None):
        """The content of a reference."""
        return self.stored[reference] if isinstance(reference, str) else reference

    def cancel(self, reference):
        """Nothing is to be ended."""

    def wait(self, references, timeout, num_returns=1):
        """All are done."""
        return references, []

    def kill(self, actor):
        """Nothing is to be ended."""


@pytest.fixture
def cluster(monkeypatch):
    """Ray in this process."""
    fake = Here()
    strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=None)
    for name, module in (("ray", fake), ("ray.util", None), ("ray.util.scheduling_strategies", strategies)):
        monkeypatch.setitem(sys.modules, name, module)
    return fake


def test_a_task_carries_references_to_rows_and_gives_bytes(cluster, tmp_path):
    """Rows that several models are asked about are sent once, without their labels; answers come through the store."""
    toys = [Toy("a"), Toy("b", shares="base"), Toy("c", shares="base"), Toy("d", "fails")]
    runtime = Runtime(store=tmp_path, executor=RayTasks(limits=False), progress=silent)
    answers, failures = run_models(inspect_models(toys), TASK, [[Request(ROWS)]] * 4, runtime)
    assert failures == {"d": "d cannot be run"}
    for name in "abc":
        assert np.array_equal(answers[name].answers[0].predictions.probs, truth(name, ROWS))
    assert [[job.source.name for job in task.jobs] for task, *_ in cluster.tasks] == [["a"], ["b", "c"], ["d"]]
    for task, _, *references in cluster.tasks:
        assert references == ["reference 0"]
        assert all(request.examples == () for job in task.jobs for request in job.requests)
    first, *messages = cluster.stored.values()
    assert json.loads(first)[:2] == [["0", "row number 0"], ["1", "row number 1"]]
    assert {type(content) for content in cluster.stored.values()} == {bytes}
    assert [sorted(json.loads(message)) for message in messages] == [["end", "log", "outcomes"]] * 3
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_store_that_fails_on_a_node_ends_the_run(cluster, tmp_path, monkeypatch):
    """As one that fails here does."""
    monkeypatch.setattr("ranker.runtime.store.put", refused)
    runtime = Runtime(store=tmp_path, executor=RayTasks(limits=False), progress=silent)
    with refuses(StoreError, option="store"):
        run_models(inspect_models([Toy("a")]), TASK, [[Request(ROWS)]], runtime)


def refused(*_):
    """No right to write."""
    raise PermissionError("Access Denied")


def job(size=0, device="cpu", threads=None, **needs):
    """A model of a size."""
    return Job(Toy("a"), TASK, (), Machine(device, threads=threads), size=size, needs=Needs(**needs))


@pytest.mark.parametrize(
    ("jobs", "amounts"),
    [
        ([job()], (1, PROCESS, 0)), ([job(10**8), job(10**9)], (1, PROCESS + COPIES * 10**9, 0)),
        ([job(threads=4)], (4, PROCESS, 0)), ([job(device="cuda", accelerator=True)], (1, PROCESS, 1)),
        ([job(accelerator=True)], (1, PROCESS, 0)), ([job(network=True)], (0, PROCESS, 0)),
    ],
    ids=["small", "the largest", "threads", "a GPU", "no GPU", "a server"],
)  # fmt: skip
def test_cores_memory_and_gpus_are_asked_for(jobs, amounts):
    """Ray places a group where its largest model has room; what waits for a server needs no core."""
    assert resources(jobs) == dict(zip(("num_cpus", "memory", "num_gpus"), amounts, strict=True))


def test_a_machine_says_why_it_cannot_do_the_work(tmp_path, monkeypatch):
    """Another version, a store or a model that it does not see, a store that it cannot write to."""
    (tmp_path / "mark").write_bytes(b"")
    right = Expected(versions(), str(tmp_path), "mark", [str(tmp_path)], {})
    assert trouble_here(right) == ""
    other_versions = {**versions(), "torch": "1.0"}
    assert trouble_here(right._replace(versions=other_versions)).endswith(", and this machine 1.0")
    assert "does not see the store" in trouble_here(right._replace(mark="other"))
    assert trouble_here(right._replace(paths=["/only/here"])).startswith("does not see /only/here; ")
    monkeypatch.setattr(ray_cluster, "put", refused)
    assert "cannot write to the store" in trouble_here(right)


def test_a_node_copies_models_from_buckets(tmp_path, monkeypatch):
    """To the driver's paths; a cache elsewhere, a bucket that it does not see and another version are refused."""
    MemoryFileSystem.store.clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "mark").write_bytes(b"")
    for name in "ab":
        MemoryFileSystem().pipe_file(f"/team/{name}/config.json", b"{}")
    copies = [str(local_path(f"memory://team/{name}", "models")) for name in "ab"]
    jobs = [
        Job(Placed("a", copies[0]), TASK, (), Machine()),
        Job(Placed("b", f"{copies[1]}#part"), TASK, (), Machine()),
    ]
    expected = Expected.of(jobs, str(tmp_path), "mark")
    assert (expected.paths, expected.copies) == ([], {copies[0]: "memory://team/a", copies[1]: "memory://team/b"})
    shutil.rmtree(copies_folder())
    assert trouble_here(expected) == ""
    assert not copies_folder().exists()
    copy_models(copies[:1], expected.copies)
    assert [Path(copy, "config.json").exists() for copy in copies] == [True, False]
    MemoryFileSystem().pipe_file("/team/b/config.json", b"{ }")
    with refuses(UsageError, option="models", value="memory://team/b"):
        copy_models(copies, expected.copies)
    MemoryFileSystem.store.clear()
    assert "nothing lies at memory://team/" in trouble_here(expected)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert trouble_here(expected).startswith(f"keeps copies in {tmp_path}/other/rank-models/copies, and not at ")


@dataclass(frozen=True)
class Placed(Toy):
    """A toy that lies somewhere; `does` is the place."""

    @property
    def place(self):
        """The place that it was told."""
        return self.does


def test_a_store_without_the_right_to_write_is_refused_by_the_driver(cluster, tmp_path, monkeypatch):
    """Before any node is asked."""
    monkeypatch.setattr(ray_cluster, "put", refused)
    runtime = Runtime(store=tmp_path, executor=RayTasks(), progress=silent)
    with refuses(StoreError, place=str(tmp_path)):
        run_models(inspect_models([Toy("a")]), TASK, [[Request(ROWS)]], runtime)
    assert cluster.tasks == []


def test_an_address_is_checked_before_ray_tries_for_minutes(cluster, monkeypatch):
    """An address without a port, or where nothing listens, is refused."""
    monkeypatch.setattr(cluster, "is_initialized", lambda: False)
    for address in ("ray://127.0.0.1:1", "ray://head:port"):
        with refuses(UsageError, option="executor", value=address):
            next(RayTasks(address).run([job()], None, silent))


def test_models_of_a_kind_wait_for_each_other(cluster, tmp_path, monkeypatch):
    """No more tasks at a time than `workers`, or than their source allows."""
    counts = []
    cluster.wait = lambda references, **_: (counts.append(len(references)) or references[:1], [])
    for workers, needs, most in ((3, Needs(), 3), ("auto", Needs(), 5), ("auto", Needs(at_once=2), 2)):
        counts.clear()
        monkeypatch.setattr(Toy, "inspect", lambda self, cache, needs=needs: ModelInfo(self, needs=needs))
        runtime = Runtime(store=tmp_path, executor=RayTasks(workers=workers, limits=False), progress=silent)
        run_models(inspect_models([Toy(str(n)) for n in range(5)]), TASK, [[Request(ROWS)]] * 5, runtime)
        assert max(counts) == most


def test_what_a_model_may_take_is_in_its_task():
    """The options of the command line reach the node."""
    options = ray_tasks.ExecutorOptions(2, False, 10**9, "ray://head:1")
    assert ray_tasks.of_options(options) == RayTasks("ray://head:1", 2, False, 10**9)
    assert RayTasks().memory == MEMORY
