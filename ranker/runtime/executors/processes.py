"""Models run side by side, in processes of their own, which leave what they find in the store.

The flow stays as it is: afterwards it goes from model to model and finds everything known. What a process left undone,
because its model fails or because it was killed, is done there, or refused in the same words as ever.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING

from ranker.errors import ModelError, RankModelsError, UsageError
from ranker.progress import Progress
from ranker.runtime.base import Job, Request
from ranker.runtime.guest import Subject
from ranker.sources.base import ModelOptions
from ranker.sources.hf import checkpoints
from ranker.sources.suites import Model
from ranker.tasks.classes import Task

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext
    from multiprocessing.sharedctypes import Synchronized

    from ranker.runtime.store import Store
    from ranker.sources.hf.loading import Bases

log = logging.getLogger(__name__)

PRELOADED = ("torch", "transformers", "pyarrow.parquet", "ranker.sources.hf.classifiers", "ranker.attribution.perturb")
"""What takes seconds to import, once for all processes."""

PROCESS, COPIES = 1 << 29, 3
"""Bytes that a process needs beside its model, and how often it holds the weights at most, while it loads them."""

QUIET = {"PYTHONSAFEPATH": "1", "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
"""What the server of processes is started with: it looks for no module in the current folder, and threads that have
nothing to do do not spin."""

LOOK_EVERY = 0.2
"""Seconds between two looks at how far the processes are."""


def ahead(jobs: Sequence[Job], task: Task, options: ModelOptions, store: Store | None, progress: Progress) -> None:
    """Have jobs done by `ModelOptions.workers` processes, a model each at a time.

    With one there is nothing to do ahead, and "auto" is one where there is no store. Each process has its share of the
    processor's cores.

    Args:
        jobs: models of which the store lacks something, and what will be asked of each.
        task: what the models do.
        options: how they are loaded and run.
        store: where the processes leave what they find.
        progress: opens the one stage of all the work.

    Raises:
        UsageError: several workers and no store.
        StoreError: the store cannot be read.
    """
    if options.workers == 1 or (options.workers == "auto" and store is None):
        return
    if store is None:
        raise UsageError("several workers need a store: it is where they leave what they find")
    count = min(fair(jobs, options) if options.workers == "auto" else options.workers, len(jobs))
    if not count or (count == 1 and options.workers == "auto"):  # one process is as good as this one
        return
    context = processes_with(PRELOADED)
    taken, done = context.Value("q", 0), context.Value("q", 0)
    threads = max(cores() // count, 1)
    processes = [
        context.Process(
            target=work,
            args=(jobs, task, options, store, taken, done, threads, log.getEffectiveLevel()),
            daemon=True,
        )
        for _ in range(count)
    ]
    total = sum(len(question.examples) for _, questions in jobs for question in questions)
    with progress(f"{len(jobs)} models, {count} at a time", total) as advance:
        said = 0
        try:
            for process in processes:
                process.start()
            while running := [process.sentinel for process in processes if process.is_alive()]:
                wait(running, LOOK_EVERY)
                now = done.value
                advance(now - said)
                said = now
        finally:
            for process in processes:
                if process.pid is not None:
                    process.terminate()
            for process in processes:
                if process.pid is not None:
                    process.join()
    for process in processes:
        if process.exitcode:
            log.warning("a worker ended with status %d; what it left undone is done now", process.exitcode)


def fair(jobs: Sequence[Job], options: ModelOptions) -> int:
    """How many processes "auto" is: as many as there are models, cores, and room in memory for the largest model.

    On an accelerator it is one: models beside each other there share its memory, and gain nothing.
    """
    if options.device != "cpu" or not jobs:
        return 1
    free = free_memory()
    room = len(jobs) if free is None else free // max(needs(model, options) for model, _ in jobs)
    return max(min(len(jobs), cores(), room), 1)


def needs(model: Model, options: ModelOptions) -> int:
    """Bytes that a process with a model needs, roughly; of one that cannot be read, those of the process alone."""
    try:
        folder = checkpoints.locate(model.path, allow_pickle=options.allow_pickle)
        folders = [folder, checkpoints.locate_base(folder, allow_pickle=options.allow_pickle)]
        files = [file for one in folders if one for file in checkpoints.weights(one, allow_pickle=options.allow_pickle)]
        return PROCESS + COPIES * sum(file.stat().st_size for file in files)
    except (ModelError, OSError):
        return PROCESS


def free_memory() -> int | None:
    """Bytes that new processes may take without swapping; None where the system does not say (Linux does)."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None


def processes_with(modules: Sequence[str]) -> ForkServerContext | SpawnContext:
    """How processes begin: with these modules in memory already, where the system can fork a server that has them.

    The server, and what keeps count of shared memory, are started by Python with a line of code; without the variable
    they would look for its modules in the current folder first, where anybody's torch.py may lie.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    with patched(os.environ, **QUIET):
        resource_tracker.ensure_running()
        forkserver.ensure_running()
    return context


@contextmanager
def patched(environment: MutableMapping[str, str], **values: str) -> Iterator[None]:
    """Variables of the environment that are others for a while."""
    before = {name: environment.get(name) for name in values}
    environment.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del environment[name]
            else:
                environment[name] = value


def lacks(subject: Subject, questions: Sequence[Request]) -> bool:
    """Whether the store lacks anything of what is asked. It is not said of a model that cannot even be read."""
    with suppress(ModelError):
        return any(subject.missing(one.examples, one.settings) for one in questions)
    return False


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def work(
    jobs: Sequence[Job],
    task: Task,
    options: ModelOptions,
    store: Store,
    taken: Synchronized[int],
    done: Synchronized[int],
    threads: int,
    level: int,
) -> None:
    """What one process does: take the next model until none is left, or the run is gone that began it.

    Args:
        jobs: models, and what is asked of each.
        task, options, store: as in `ahead`.
        taken: how many of the jobs are taken, by all processes.
        done: how many rows are done, by all processes.
        threads: how many the process may use.
        level: from which on it logs.
    """
    told: list[bool] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches every process; the first one tells the others
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    logging.getLogger("ranker").setLevel(level)
    import torch

    torch.set_num_threads(threads)
    run = multiprocessing.parent_process()

    def over() -> bool:
        return bool(told) or (run is not None and not run.is_alive())

    def advance(rows: int) -> None:
        with done.get_lock():
            done.value += rows
        if over():
            sys.exit()  # between two batches, so that rows that were given are written first

    bases: Bases = {}
    while True:
        with taken.get_lock():
            mine, taken.value = taken.value, taken.value + 1
        if over() or mine >= len(jobs):
            return
        model, questions = jobs[mine]
        subject = Subject(model, task, options, store, bases)
        with suppress(RankModelsError):  # it will be met again, and reported, where the flow comes to this model
            for question in questions:
                subject.made_of(question, advance)
