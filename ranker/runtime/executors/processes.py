"""Executor with worker processes: each group of models works in its own process, with limits, under supervision.

The supervisor computes the keys of the store, finds the missing work, and starts a process only for that. A worker
loads a model, answers, and sends its answers as shards. The supervisor checks each and stores it under the job's own
key. So a model that crashes, hangs or takes too much memory is left out, and the others are ranked.

These are limits, not a sandbox: a worker reads files and uses the network as the user does.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Literal

from ranker.errors import UsageError, first_line
from ranker.files.scratch import Scratch, remove_abandoned
from ranker.limits import free_memory
from ranker.numbers import counted
from ranker.progress import Advance, Progress
from ranker.runtime.base import NOTHING, Job, JobOutcome, Known
from ranker.runtime.executors import worker_process
from ranker.runtime.executors.serial import Serial
from ranker.runtime.executors.supervision import handle_message, missing_work
from ranker.runtime.executors.worker_process import Inbox, WorkerTask
from ranker.runtime.store import Store
from ranker.sources.base import Needs, Source

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext
    from multiprocessing.process import BaseProcess

log = logging.getLogger(__name__)

PRELOADED = ("pyarrow.parquet", "ranker.runtime.executors.worker_process")
"""Modules that every worker needs, imported once for all; sources state further ones."""

PROCESS, COPIES = 1 << 29, 3
"""Bytes that a process needs beside its model, and the most copies of the weights while it loads them."""

MEMORY = 4_000_000_000
"""Bytes that a worker may take by default, beside its weights `COPIES` times."""

PATIENCE = 300.0
"""Seconds without a sign of life after which a worker counts as hung."""

GRACE = 10.0
"""Seconds that workers have to send their rows, when the run is stopped."""

LOOK_EVERY = 0.2
"""Seconds between two checks of the workers."""

MAX_SILENT_STEP = 1.0
"""Most seconds between two checks that count as silence: after longer ones this process was stopped, as by Ctrl-Z."""

MAX_FOLDER_PATH = 50
"""Most bytes of the path of a folder with room for one of ours, and in that for a socket's name."""

AFTER_THEIRS = -200
"""Exit priority for removing the folder of the socket: Python removes its own folder in it at -100."""

SHORT = ("/tmp", "/var/tmp")  # noqa: S108  # folders in it are made as tempfile makes them
"""Folders for the socket if the temporary folder has a longer path."""

REVIVAL = 5.0
"""Seconds of retries to start a process whose server has been ended meanwhile."""

QUIET = {"PYTHONSAFEPATH": "1", "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
"""Environment of the server of processes: no modules from the current folder, and idle threads do not spin."""

KNOWN = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG(UAGE)?|LC_\w+|TZ|TERM|TMPDIR|LD_LIBRARY_PATH|VIRTUAL_ENV|XDG_CACHE_HOME|SSL_CERT_\w+|"
    r"(PYTHON|CUDA|NVIDIA|OMP|MKL|KMP|OPENBLAS|ATEN|DNNL|ONEDNN|PYTORCH|TORCH|HF|TRANSFORMERS|TOKENIZERS)(_?\w+)?"
)
NETWORK = re.compile(r"(?i)(https?|all|no)_proxy|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS")
"""Variables with network settings, for workers that need it; a proxy's may hold a password."""

SECRET = re.compile(r"(TOKEN|SECRET|PASSWORD|CREDENTIALS?|KEY)$")
"""Variables that workers do not see, unlike `KNOWN` ones, which say where things are and how to compute."""


@dataclass(frozen=True)
class Processes:
    """Executor that runs models in worker processes with limits: `Runtime(executor=Processes())`.

    A script that uses it must begin its work under ``if __name__ == "__main__":``, as Python requires of all that
    starts processes.

    Attributes:
        workers: how many work at a time, or "auto": as many as there is work, cores and memory for. It changes the last
            digits of numbers.
        limits: whether workers have limits; without, several still work at a time, and one works in this process.
        memory: bytes that a worker may take, beside three times its weights.
        patience: seconds without a sign of life after which a worker counts as hung.

    Raises:
        UsageError: fewer than one worker.

    Example:
        >>> Processes(workers=2).limits
        True
    """

    workers: int | Literal["auto"] = "auto"
    limits: bool = True
    memory: int = MEMORY
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        if self.workers != "auto" and self.workers < 1:
            raise UsageError.about("workers", f"must be at least 1 (got {self.workers})", self.workers)

    def run(
        self, jobs: Sequence[Job], store: Store, progress: Progress, known: Known = NOTHING
    ) -> Generator[tuple[int, JobOutcome], None, None]:
        """Run jobs; workers are started only for missing work. See `ranker.runtime.base.Executor`."""
        tasks = yield from missing_work(jobs, store, known)
        if not tasks:  # else whoever makes a folder removes what a killed run has left
            remove_abandoned(tempfile.gettempdir())
        groups = group_by_sharing(tasks)
        count = min(worker_count(groups) if self.workers == "auto" else self.workers, len(groups))
        if count == 1 and not self.limits:
            alone = Serial().run([task.job for task in tasks], store, progress)
            yield from ((tasks[n].number, done) for n, done in alone)
        elif groups:
            total = sum(len(order.examples) for task in tasks for order in task.missing)
            with progress(f"{counted(len(tasks), 'model')}, {count} at a time", total) as advance:
                yield from Supervisor(self, store, count, advance).supervise(groups)


def group_by_sharing(tasks: Sequence[WorkerTask]) -> list[list[WorkerTask]]:
    """Group models that share something, and each of the others alone."""
    groups: dict[object, list[WorkerTask]] = {}
    for task in tasks:
        groups.setdefault(task.job.source.shares or task.number, []).append(task)
    return list(groups.values())


def next_of(waiting: Sequence[deque[WorkerTask]], at_work: Sequence[Source]) -> deque[WorkerTask] | None:
    """Return the first group that may start now, within the stated limit of models of its kind at a time."""
    for group in waiting:
        most, kind = group[0].job.needs.at_once, type(group[0].job.source)
        if most is None or sum(type(source) is kind for source in at_work) < most:
            return group
    return None


def worker_count(groups: Sequence[Sequence[WorkerTask]]) -> int:
    """Return the number of processes for "auto": as many as groups, cores, and room in memory for the largest model.

    On an accelerator it is one, since several models would share its memory and gain nothing. Models behind a network
    wait for it, and need no core here.
    """
    jobs = [task.job for group in groups for task in group]
    if not groups or any(job.needs.accelerator and job.machine.device != "cpu" for job in jobs):
        return 1
    free = free_memory()
    most = max(PROCESS + COPIES * job.size for job in jobs)
    room = len(groups) if free is None else free // most
    available_cores = len(groups) if all(job.needs.network for job in jobs) else cores()
    return max(min(len(groups), available_cores, room), 1)


def threads(count: int) -> int:
    """Return the number of threads of each process: its share of the cores, or fewer by OMP_NUM_THREADS."""
    most = os.environ.get("OMP_NUM_THREADS", "")
    share = max(cores() // count, 1)
    return min(share, int(most)) if most.isdecimal() and int(most) else share


def cores() -> int:
    """Count the processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class WorkerProcess:
    """Worker process, and its models that have not ended: the first of them is at work.

    Attributes:
        folder: its working folder, empty at the start.
        inbox: bytes received and not yet a complete message.
        silent: seconds without a message.
        over: whether nothing more will come.
        fault: the reason to end it; "" while there is none.
    """

    tasks: deque[WorkerTask]
    process: BaseProcess
    pipe: Connection
    folder: Scratch
    inbox: Inbox = field(default_factory=Inbox)
    silent: float = 0.0
    over: bool = False
    fault: str = ""

    def read(self, waited: float = 0.0) -> None:
        """Read received bytes, after so many seconds of waiting."""
        self.silent += waited
        try:
            content = os.read(self.pipe.fileno(), 1 << 20)
        except BlockingIOError:
            return
        except OSError:
            content = b""
        self.inbox.take(content)
        self.over = not content
        self.silent = 0.0 if content else self.silent

    def kill(self) -> None:
        """Kill it by its number, since Python cannot reach a process whose server is gone."""
        if self.process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it, and remove its pipe and folder."""
        if not self.over:
            self.kill()
        self.process.join(GRACE)
        if self.process.is_alive():
            self.kill()
        self.pipe.close()
        with suppress(OSError):
            self.folder.close()


class Supervisor:
    """Supervisor that starts workers, handles their messages, and ends them."""

    def __init__(self, rules: Processes, store: Store, count: int, advance: Advance) -> None:
        self.rules, self.store, self.count, self.advance = rules, store, count, advance
        self.workers: list[WorkerProcess] = []

    def supervise(self, groups: Sequence[Sequence[WorkerTask]]) -> Iterator[tuple[int, JobOutcome]]:
        """Run all groups, and yield the outcome of each of their models."""
        context = processes_with(list(dict.fromkeys(name for group in groups for task in group
                                                    for name in (*PRELOADED, *task.job.preload))))  # fmt: skip
        waiting = deque(map(deque, groups))
        looked = time.monotonic()
        try:
            while waiting or self.workers:
                while len(self.workers) < self.count and (group := next_of(waiting, self.sources())):
                    waiting.remove(group)
                    self.workers.append(self.start(context, group))
                wait([worker.pipe for worker in self.workers], LOOK_EVERY)
                before, looked = looked, time.monotonic()
                for worker in list(self.workers):
                    worker.read(min(looked - before, MAX_SILENT_STEP))
                    yield from self.handle_messages(worker)
                    reason = self.end_reason(worker)
                    if reason is not None:
                        self.workers.remove(worker)
                        worker.close()
                        if worker.tasks:
                            yield worker.tasks.popleft().number, JobOutcome(failure=reason)
                        if worker.tasks:  # the others of its group may still succeed
                            waiting.append(worker.tasks)
        finally:
            self.stop()

    def sources(self) -> list[Source]:
        """Return the sources of the models at work."""
        return [worker.tasks[0].job.source for worker in self.workers if worker.tasks]

    def start(self, context: ForkServerContext, tasks: deque[WorkerTask]) -> WorkerProcess:
        """Start a process for a group of models."""
        receiving, sending = context.Pipe(duplex=False)
        os.set_blocking(receiving.fileno(), False)
        folder = Scratch()
        machine = replace(tasks[0].job.machine, threads=threads(self.count))
        work = [replace(task, job=replace(task.job, requests=(), machine=machine)) for task in tasks]
        on_cpu = all(task.job.machine.device == "cpu" for task in tasks)
        most = self.rules.memory + COPIES * max(task.job.size for task in tasks)
        rules = worker_process.Rules(
            str(folder.path),
            most if self.rules.limits and on_cpu else None,
            log.getEffectiveLevel(),
            needed_variables(os.environ, [task.job.needs for task in tasks]),
        )
        process = start_process(context, sending, work, rules)
        sending.close()
        return WorkerProcess(tasks, process, receiving, folder)

    def handle_messages(self, worker: WorkerProcess) -> Iterator[tuple[int, JobOutcome]]:
        """Handle a worker's messages; a malformed one ends it."""
        try:
            for message in worker.inbox.messages():
                done = handle_message(message, worker.tasks[0], self.store, self.advance)
                if done is not None:
                    yield worker.tasks.popleft().number, done
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
            worker.fault = f"its process sent what is no answer ({first_line(error)})"

    def end_reason(self, worker: WorkerProcess) -> str | None:
        """Return the reason of a worker's end, for its current model, if any; None while it goes on."""
        if worker.fault:
            return worker.fault
        if worker.over:
            worker.process.join(GRACE)
            return exit_reason(worker.process.exitcode)
        patience = (worker.tasks[0].job.needs.silence if worker.tasks else None) or self.rules.patience
        if worker.silent > patience:
            return f"its process gave no sign of life for {patience:.0f} s, and was ended"
        return None

    def stop(self) -> None:
        """Ask workers to end, store what they send meanwhile, and end them."""
        self.advance = lambda rows: None
        try:
            for worker in self.workers:
                if worker.process.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(worker.process.pid, signal.SIGTERM)
            deadline = time.monotonic() + GRACE
            left = list(self.workers)
            while left and time.monotonic() < deadline:
                wait([worker.pipe for worker in left], LOOK_EVERY)
                for worker in left:
                    worker.read()
                    deque(self.handle_messages(worker), maxlen=0)
                left = [worker for worker in left if not (worker.over or worker.fault)]
        finally:  # also after a second Ctrl-C
            while self.workers:
                self.workers.pop().close()


def start_process(
    context: ForkServerContext,
    pipe: Connection,
    work: Sequence[WorkerTask],
    rules: worker_process.Rules,
) -> BaseProcess:
    """Start a process for a worker, and the server anew if it has been ended."""
    deadline = time.monotonic() + REVIVAL
    while True:
        process = context.Process(target=worker_process.worker_main, args=(pipe, work, rules), daemon=True)
        try:
            with _hold_signals():
                process.start()
            return process
        except (OSError, EOFError):
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_EVERY)
            processes_with(())


def exit_reason(status: int | None) -> str:
    """Describe why a process has ended, by its status."""
    if status is not None and status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        memory = ", perhaps for want of memory" if -status == signal.SIGKILL else ""
        return f"its process was ended by {name}{memory}"
    return f"its process ended before its work was done (status {'unknown' if status is None else status})"


def processes_with(modules: Sequence[str]) -> ForkServerContext:
    """Return a context of processes with these modules in memory: those of a server that forks them.

    Python starts the server and the resource tracker with a line of code; without PYTHONSAFEPATH they would look for
    its modules in the current folder first, where an untrusted torch.py may lie. They and their forks see no secrets.
    """
    context = multiprocessing.get_context("forkserver")
    if modules:
        context.set_forkserver_preload(list(modules))
    with (
        _short_folder() as folder,
        replace_environment(os.environ, {**visible_variables(os.environ), **QUIET, "TMPDIR": folder}),
    ):
        resource_tracker.ensure_running()  # unblocks Ctrl-C once it has begun
        with _block_interrupts():
            forkserver.ensure_running()
    return context


@contextmanager
def _short_folder() -> Iterator[str]:
    """Make a temporary folder whose path is short enough for the server's socket, whose name has at most 107 bytes."""
    before = tempfile.tempdir
    folders = [folder for folder in (tempfile.gettempdir(), *SHORT) if len(os.fsencode(folder)) <= MAX_FOLDER_PATH]
    parent = next((folder for folder in folders if os.access(folder, os.W_OK | os.X_OK)), None)
    if parent is None:
        folder = tempfile.gettempdir()
        raise UsageError.of(folder, "is too long a path for processes; set TMPDIR to a shorter one", option="TMPDIR")
    scratch = Scratch(parent)
    tempfile.tempdir = str(scratch.path)
    try:
        yield tempfile.tempdir
    finally:
        tempfile.tempdir = before
        if any(scratch.path.iterdir()):
            _, remove, arguments, _ = scratch.close.detach() or (None, scratch.close, (), {})
            Finalize(None, remove, arguments, exitpriority=AFTER_THEIRS)


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block Ctrl-C, which the terminal sends to every process, so that it never reaches those started meanwhile."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _hold_signals() -> Iterator[None]:
    """Call handlers of signals after the block: the process of a start that Ctrl-C breaks off prints a traceback."""
    if threading.current_thread() is not threading.main_thread():  # Python handles signals in the main one alone
        yield
        return
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    handlers = {number: handler for number, handler in before.items() if callable(handler)}
    came: list[int] = []
    for number in handlers:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for held in came:
            signal.raise_signal(held)


def visible_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that workers see.

    Example:
        >>> visible_variables({"PATH": "/bin", "HF_HOME": "/hf", "HF_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "y"})
        {'PATH': '/bin', 'HF_HOME': '/hf'}
    """
    return {name: value for name, value in environment.items() if KNOWN.fullmatch(name) and not SECRET.search(name)}


def needed_variables(environment: Mapping[str, str], needs: Sequence[Needs]) -> dict[str, str]:
    """Return the variables of an environment that models state they need, without other secrets.

    Example:
        >>> needed_variables({"A_KEY": "x", "B_KEY": "y", "HTTPS_PROXY": "z"}, [Needs(secrets=("A_KEY",))])
        {'A_KEY': 'x'}
    """
    secrets = {name for need in needs for name in need.secrets}
    network = any(need.network for need in needs)
    return {
        name: value for name, value in environment.items() if name in secrets or (network and NETWORK.fullmatch(name))
    }


@contextmanager
def replace_environment(environment: MutableMapping[str, str], values: Mapping[str, str]) -> Iterator[None]:
    """Replace an environment by other values for a while."""
    before = dict(environment)
    for name in before.keys() - values.keys():
        del environment[name]
    environment.update(values)
    try:
        yield
    finally:
        for name in values.keys() - before.keys():
            environment.pop(name, None)
        environment.update(before)
