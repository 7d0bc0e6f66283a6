"""Executor on a Ray cluster: each group of models that share something is one task, which Ray places and repeats.

A task works as `Processes` does on one machine: it computes the keys, finds the missing rows, runs each model in a
process with limits, checks its shards and writes them to the store. The store is the only way of answers; a task
returns JSON with keys and reasons. So a worker or a node that dies costs its unfinished shards, and the driver holds
no prediction.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from factors.types import Example
from ranker.datasets.identity import Texts
from ranker.errors import StoreError, UsageError
from ranker.progress import Advance, Progress
from ranker.runtime.base import NOTHING, Executor, Job, JobOutcome, Known
from ranker.runtime.executors.named import ExecutorOptions
from ranker.runtime.executors.processes import (
    COPIES,
    GRACE,
    LOOK_EVERY,
    MEMORY,
    PROCESS,
    Processes,
    group_by_sharing,
    next_of,
)
from ranker.runtime.executors.ray_cluster import (
    Expected,
    cause,
    check_nodes,
    connected,
    copy_models,
    marked_store,
    paths_of,
    trouble_here,
)
from ranker.runtime.executors.worker_process import WorkerTask, estimate_of, usage_of
from ranker.runtime.storage import place
from ranker.runtime.store import Store
from ranker.sources.faults import reason

log = logging.getLogger(__name__)

REPEATS = 3
"""Times that Ray repeats a task whose worker or node has died."""

AHEAD = 100
"""Tasks that wait in Ray beside two for each core: so no core is idle, and a cluster that can grow sees a queue."""

REPORT_EVERY = 2.0
"""Seconds between two reports of a task's progress, which all reach one actor, and between two looks at that."""

MAX_LINES = 100
"""Most log lines of a task that are repeated by the driver."""


@dataclass(frozen=True)
class RayTasks:
    """Executor that runs models as tasks on a Ray cluster: `Runtime(executor=RayTasks())`.

    Attributes:
        address: of a cluster, ``ray://HOST:PORT``; "" for that of RAY_ADDRESS, else the one that runs on this machine,
            else one that is started for the run.
        workers: most groups of models at a time, or "auto": as many as Ray has room for.
        limits: whether models run in processes with limits, see `Processes`.
        memory: bytes that a model's process may take, beside three times its weights.

    Example:
        >>> RayTasks("ray://head:10001").workers
        'auto'
    """

    address: str = ""
    workers: int | Literal["auto"] = "auto"
    limits: bool = True
    memory: int = MEMORY

    def run(
        self, jobs: Sequence[Job], store: Store, progress: Progress, known: Known = NOTHING
    ) -> Generator[tuple[int, JobOutcome], None, None]:
        """Run jobs on the cluster. See `ranker.runtime.base.Executor`.

        Raises:
            UsageError: the cluster cannot be reached, or one of its nodes cannot do the work.
        """
        if not jobs:
            return
        with connected(self.address), marked_store(store) as marked:
            expected = Expected.of(jobs, *marked)
            check_nodes(expected)
            yield from _Run(self, store, expected, jobs).outcomes(progress)


def of_options(options: ExecutorOptions) -> Executor:
    """Make the executor that the command line names: ``ray``, or ``ray://HOST:PORT``."""
    return RayTasks(options.address, options.workers, options.limits, options.memory)


def resources(jobs: Sequence[Job]) -> dict[str, float]:
    """Return the resources of a group of models that Ray is asked for: cores, bytes of memory, and a GPU."""
    on_gpu = any(job.needs.accelerator and job.machine.device != "cpu" for job in jobs)
    cores = 0.0 if all(job.needs.network for job in jobs) else float(jobs[0].machine.threads or 1)
    return {
        "num_cpus": cores,
        "memory": PROCESS + COPIES * max(job.size for job in jobs),
        "num_gpus": float(on_gpu),
    }


def rows_as_bytes(examples: Sequence[Example]) -> bytes:
    """Return the ids and texts of rows as bytes: a model's machine needs neither labels nor marks.

    Example:
        >>> rows_of_bytes(rows_as_bytes([Example("a", ("A dog ran.",), 1)]))[0]
        Example(id='a', segments=('A dog ran.',), target=None, ...)
    """
    return json.dumps([[example.id, *example.segments] for example in examples]).encode()


def rows_of_bytes(content: bytes) -> Texts:
    """Invert `rows_as_bytes`."""
    return Texts([Example(name, tuple(segments)) for name, *segments in json.loads(content)])


@dataclass(frozen=True)
class GroupTask:
    """Work of a task.

    Attributes:
        jobs: of its models, whose requests have no rows.
        rows: the rows of each request, as places among the rows that the task is given.
        expected: conditions that the node must meet, since it may have joined late.
    """

    number: int
    jobs: Sequence[Job]
    rows: Sequence[Sequence[int]]
    rules: RayTasks
    expected: Expected
    level: int


def run_group(task: GroupTask, tally: Any, *contents: bytes) -> bytes:
    """Run the models of a group here, as a task; their answers are in the store afterwards."""
    lines = _Lines()
    logger = logging.getLogger("ranker")
    before = logger.handlers, logger.propagate, logger.level
    logger.handlers, logger.propagate = [lines], False
    logger.setLevel(task.level)
    outcomes: dict[int, dict[str, Any]] = {}
    end = ""
    try:
        trouble = trouble_here(task.expected)
        if trouble:
            raise UsageError(f"its node {trouble}")
        copy_models(paths_of(task.jobs), task.expected.copies)
        rows = [rows_of_bytes(content) for content in contents]
        jobs = [
            replace(
                job,
                requests=tuple(
                    replace(request, examples=rows[n]) for request, n in zip(job.requests, numbers, strict=True)
                ),
            )
            for job, numbers in zip(task.jobs, task.rows, strict=True)
        ]
        store = Store(place(task.expected.store))
        executor = Processes(1, limits=task.rules.limits, memory=task.rules.memory)
        advance = _reporting(task.number, tally)
        with _without_main_file():
            for number, outcome in executor.run(jobs, store, lambda label, total: nullcontext(advance)):
                keys = [store.key(digest) for digest in outcome.keys]
                outcomes[number] = {**asdict(outcome), "keys": keys}
                for digest in dict.fromkeys(outcome.keys):
                    store.close(digest)
    except StoreError as error:
        end = str(error)
    except Exception as error:  # whatever it is, it is of these models alone
        failed = JobOutcome(failure=reason(error))
        outcomes = {number: asdict(failed) for number in range(len(task.jobs))} | outcomes
    finally:
        logger.handlers, logger.propagate = before[:2]
        logger.setLevel(before[2])
    return json.dumps({"outcomes": outcomes, "log": lines.kept, "end": end}).encode()


@contextmanager
def _without_main_file() -> Iterator[None]:
    """Hide the program of this process from processes that it starts, which would run it, and so import Ray."""
    main = vars(sys.modules["__main__"])
    file = main.pop("__file__", None)
    try:
        yield
    finally:
        if file is not None:
            main["__file__"] = file


class _Lines(logging.Handler):
    """Handler that keeps the first log lines."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.kept) < MAX_LINES:
            self.kept.append((record.levelno, record.getMessage()))


def _reporting(group: int, tally: Any) -> Advance:
    """Return a function that reports rows done to the tally, now and then."""
    rows, reported = 0, time.monotonic()

    def advance(done: int) -> None:
        nonlocal rows, reported
        rows += done
        if rows and time.monotonic() - reported >= REPORT_EVERY:
            tally.add.remote(group, rows)
            rows, reported = 0, time.monotonic()

    return advance


class Tally:
    """Actor that counts the rows that the tasks of a run have done."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}

    def add(self, group: int, rows: int) -> None:
        """Count rows of a group."""
        self.rows[group] = self.rows.get(group, 0) + rows

    def take(self) -> dict[int, int]:
        """Return the rows counted since the last call, by group."""
        rows, self.rows = self.rows, {}
        return rows


class _Run:
    """One run on a connected cluster."""

    def __init__(self, rules: RayTasks, store: Store, expected: Expected, jobs: Sequence[Job]) -> None:
        import ray

        self.ray: Any = ray
        self.rules, self.store, self.expected, self.jobs = rules, store, expected, jobs
        self.at_work: dict[Any, tuple[int, deque[WorkerTask]]] = {}
        self.rows: dict[int, Any] = {}  # id of some requests' rows -> reference to them
        self.tally = ray.remote(Tally).options(num_cpus=0, max_restarts=-1).remote()
        self.left: dict[int, int] = {}  # group -> its rows that no report has named
        self.looked = time.monotonic()

    def outcomes(self, progress: Progress) -> Iterator[tuple[int, JobOutcome]]:
        """Run all groups, and yield the outcome of each of their models."""
        tasks = [WorkerTask(number, job, JobOutcome(), ()) for number, job in enumerate(self.jobs)]
        groups = group_by_sharing(tasks)
        waiting = deque(map(deque, groups))
        total = sum(len(request.examples) for job in self.jobs for request in job.requests)
        with progress(f"{len(self.jobs)} models on Ray", total) as advance:
            try:
                while waiting or self.at_work:
                    sources = [group[0].job.source for _, group in self.at_work.values()]
                    most = self.room()
                    while len(self.at_work) < most and (group := next_of(waiting, sources)):
                        waiting.remove(group)
                        sources.append(group[0].job.source)
                        self.start(len(self.left), group)
                    ended, _ = self.ray.wait(list(self.at_work), timeout=LOOK_EVERY)
                    self.report(advance)
                    for ref in ended:
                        number, group = self.at_work.pop(ref)
                        yield from self.outcomes_of(ref, group)
                        advance(self.left[number])
                        self.left[number] = 0
            finally:
                self.stop()

    def room(self) -> int:
        """Return how many tasks Ray may have at a time; it looks at each of them whenever one has ended."""
        if self.rules.workers != "auto":
            return self.rules.workers
        return 2 * int(self.ray.cluster_resources().get("CPU", 0)) + AHEAD

    def start(self, number: int, group: Sequence[WorkerTask]) -> None:
        """Submit a group's task; rows that several models are asked about are put into Ray's memory once."""
        jobs = [task.job for task in group]
        refs: dict[int, Any] = {}
        for request in (request for job in jobs for request in job.requests):
            key = id(request.examples)
            if key not in self.rows:
                self.rows[key] = self.ray.put(rows_as_bytes(request.examples))
            refs[key] = self.rows[key]
        places = {key: place for place, key in enumerate(refs)}
        task = GroupTask(
            number,
            [replace(job, requests=tuple(replace(request, examples=()) for request in job.requests)) for job in jobs],
            [[places[id(request.examples)] for request in job.requests] for job in jobs],
            self.rules,
            self.expected,
            log.getEffectiveLevel(),
        )
        remote = self.ray.remote(run_group).options(max_retries=REPEATS, **resources(jobs))
        self.at_work[remote.remote(task, self.tally, *refs.values())] = number, deque(group)
        self.left[number] = sum(len(request.examples) for job in jobs for request in job.requests)

    def report(self, advance: Advance) -> None:
        """Show the rows that tasks have reported, now and then; a repeated task reports some again."""
        if time.monotonic() - self.looked < REPORT_EVERY:
            return
        self.looked = time.monotonic()
        with suppress(self.ray.exceptions.RayError):  # while its node is replaced
            for group, rows in self.ray.get(self.tally.take.remote(), timeout=GRACE).items():
                done = min(rows, self.left[group])
                self.left[group] -= done
                advance(done)

    def outcomes_of(self, ref: Any, group: Sequence[WorkerTask]) -> Iterator[tuple[int, JobOutcome]]:
        """Yield the outcomes of a task that has ended; a StoreError if it could not write its answers."""
        try:
            message = json.loads(self.ray.get(ref))
        except self.ray.exceptions.RayError as error:
            for task in group:
                yield task.number, JobOutcome(failure=f"its Ray task failed ({cause(error)})")
            return
        for level, text in message["log"]:
            log.log(level, "%s", text)
        if message["end"]:
            raise StoreError(message["end"], option="store", value=self.expected.store)
        for number, task in enumerate(group):
            reply = message["outcomes"][str(number)]
            keys = tuple(self.store.entry(key, task.job.source.name).digest for key in reply["keys"])
            numbers = estimate_of(reply["estimate"]), usage_of(reply["used"])
            yield task.number, JobOutcome(keys, reply["content"], *numbers, reply["failure"])

    def stop(self) -> None:
        """Cancel the tasks that are left, and give them time to store their rows."""
        for ref in self.at_work:
            self.ray.cancel(ref)
        if self.at_work:
            self.ray.wait(list(self.at_work), num_returns=len(self.at_work), timeout=GRACE)
        self.ray.kill(self.tally)
