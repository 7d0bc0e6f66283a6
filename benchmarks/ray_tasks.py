"""Models on Ray beside local processes: equal numbers, processor time, overhead of a task, memory of the driver.

    python -m benchmarks.ray_tasks compare [rows]
    python -m benchmarks.ray_tasks simulate [models] [cores]

`compare` asks eight small models for SHAP of rows of HANS: in this process, in two local processes, and on Ray with two
nodes of one core each. Processor time is that of all processes below, read five times a second; that of Ray's own
processes and of idle workers is listed apart. `simulate` is no measurement of models: each of them sleeps half a
second instead of computing, on so many logical cores, so that what is left is the work of Ray and of the executor.

It needs `pip install 'rank-models[ray]' psutil`, and starts a cluster of its own.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from factors.types import Example
from ranker import silent
from ranker.attribution.settings import SHAPSettings
from ranker.datasets import sets
from ranker.runs.collect import RawResponses, RequestMatrix, run_models
from ranker.runs.inspected import InspectedModels, inspect_models
from ranker.runtime.base import Executor, Request
from ranker.runtime.executors.processes import Processes
from ranker.runtime.executors.ray_tasks import RayTasks
from ranker.runtime.executors.serial import Serial
from ranker.runtime.runtime import Runtime
from ranker.sources import suites
from ranker.sources.base import Machine, ModelInfo, ResourceCache
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassificationTask, ClassProbabilities

LOOK_EVERY = 0.2
"""Seconds between two readings of processor time."""

SLEEP = 0.5
"""Seconds that a simulated model sleeps."""

TASK = ClassificationTask("mood", ("bad", "good"))


class ProcessorTime:
    """Processor time of this process and of all below, by kind, while the block runs."""

    def __enter__(self) -> ProcessorTime:
        self._seen: dict[tuple[int, float], tuple[str, float]] = {}
        self._look()
        self._before = dict(self._seen)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    def by_kind(self) -> Mapping[str, float]:
        """Return the seconds of each kind of process."""
        seconds: dict[str, float] = defaultdict(float)
        for process, (kind, spent) in self._seen.items():
            seconds[kind] += spent - self._before.get(process, ("", 0.0))[1]
        return seconds

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            self._look()

    def _look(self) -> None:
        driver = psutil.Process()
        self._record(driver, "driver")
        for child in driver.children():
            self._walk(child, "local")

    def _walk(self, process: psutil.Process, kind: str) -> None:
        try:
            line = " ".join(process.cmdline())
            if "ray::" in line:
                kind = "tasks"
            elif kind != "tasks" and any(
                name in line for name in ("raylet", "gcs_server", "ray/_private", "ray/dashboard")
            ):
                kind = "Ray"
            self._record(process, "idle workers" if "ray::IDLE" in line else kind)
            for child in process.children():
                self._walk(child, kind)
        except psutil.Error:
            return

    def _record(self, process: psutil.Process, kind: str) -> None:
        key = process.pid, process.create_time()
        times = process.cpu_times()
        before = self._seen.get(key, (kind, 0.0))[0]
        self._seen[key] = "tasks" if "tasks" in (kind, before) else kind, times.user + times.system


@contextmanager
def cluster(nodes: int, cores: int) -> Iterator[None]:
    """Start a cluster on this machine."""
    os.environ.update(RAY_raylet_start_wait_time_s="120", RAY_USAGE_STATS_ENABLED="0")  # read as Ray is imported
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": cores, "include_dashboard": False})
    for _ in range(nodes - 1):
        started.add_node(num_cpus=cores)
    os.environ["RAY_ADDRESS"] = started.address
    yield
    started.shutdown()


def measured(
    name: str, inspected: InspectedModels, task: Task, requests: RequestMatrix, executor: Executor
) -> dict[str, RawResponses]:
    """Run models with a store of their own, and print the time."""
    with tempfile.TemporaryDirectory() as folder, ProcessorTime() as spent:
        began = time.perf_counter()
        runtime = Runtime(Machine(threads=1), Path(folder), executor, silent)
        responses, failures = run_models(inspected, task, requests, runtime)
        wall = time.perf_counter() - began
    for model, failure in failures.items():
        print(f"{model}: {failure}")
    seconds = ", ".join(f"{kind} {number:.1f}" for kind, number in sorted(spent.by_kind().items()))
    print(f"{name}: {wall:.1f} s on the clock; processor time: {seconds}", flush=True)
    return responses


def compare(rows: int = 600) -> None:
    """Compare this process, local processes and Ray."""
    suite, dataset = suites.load(["hans-sub-mini"]), sets.load("hans-sub")
    examples = list({example.segments: example for example in dataset.examples}.values())[:rows]
    requests = [[Request(examples), Request(examples, SHAPSettings())]] * len(suite.models)
    inspected = inspect_models(suite)
    runs = {"this process": measured("this process", inspected, dataset.task, requests, Serial())}
    with cluster(2, 1):
        for name, executor in (("two processes", Processes(2)), ("Ray", RayTasks()), ("Ray again", RayTasks())):
            runs[name] = measured(name, inspected, dataset.task, requests, executor)
    for name, responses in runs.items():
        gaps = [
            np.abs(got - expected).max()
            for model, response in responses.items()
            for pair in zip(arrays(response), arrays(runs["this process"][model]), strict=True)
            for got, expected in [pair]
        ]
        print(f"{name}: {len(responses)} models, largest difference to this process {max(gaps):.1e}")


def arrays(response: RawResponses) -> list[np.ndarray]:
    """Return all numbers of a model's answers."""
    answers, explained = response.answers
    assert answers is not None
    assert explained is not None
    numbers: Any = answers.predictions
    return [numbers.probs, np.concatenate([row.scores for row in explained.attributions])]


@dataclass(frozen=True)
class Sleeper:
    """Source of a simulated model, which sleeps and answers the same to all rows."""

    name: str
    family: str = ""
    shares: str = ""
    precomputed: bool = False

    @property
    def place(self) -> str:
        """Name of the model."""
        return self.name

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """State nothing."""
        return ModelInfo(self)

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return the name."""
        return {"content": self.name}

    def open(self, task: Task, machine: Machine, cache: ResourceCache) -> Sleeper:
        """Load nothing."""
        return self

    def predict(self, examples: Sequence[Example], advance: Callable[[int], object]) -> Iterator[ClassProbabilities]:
        """Sleep, and answer."""
        time.sleep(SLEEP)
        advance(len(examples))
        yield ClassProbabilities(np.full((len(examples), 2), 0.5))


def simulate(models: int = 2_000, cores: int = 8) -> None:
    """Run simulated models on one node, and print what a task costs and how the driver's memory grows."""
    examples = [Example(str(n), (f"row {n}",)) for n in range(100)]
    with cluster(1, cores):
        for count, limits in ((cores, False), (models // 20, True), (models // 4, False), (models, False)):
            inspected = inspect_models([Sleeper(f"model {n}") for n in range(count)])
            name = f"{count} models {'in processes of their own' if limits else 'in the processes of Ray'}"
            measured(name, inspected, TASK, [[Request(examples)]] * count, RayTasks(limits=limits))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{name}: the driver's memory was at most {peak:.0f} MB", flush=True)


if __name__ == "__main__":
    from benchmarks import ray_tasks  # by its name, under which nodes find the sources

    COMMANDS: Mapping[str, Callable[..., None]] = {"compare": ray_tasks.compare, "simulate": ray_tasks.simulate}
    COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))
