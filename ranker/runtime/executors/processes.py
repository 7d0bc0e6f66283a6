"""Models as guests: each group of models works in a process of its own, with limits, and this process supervises them.

The supervisor works out the keys of the store, sees what is missing, and starts a process only for that. A guest loads
a model, answers, and sends what it finds back as shards. The supervisor checks each and keeps it under the job's own
key. So a model that crashes, hangs or takes too much memory is left out, and the others are ranked.

These are limits, and no sandbox: a guest reads files and reaches the network as the user does.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import signal
import tempfile
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
from ranker.progress import Progress
from ranker.runtime.base import NOTHING, Executor, Job, JobOutcome, Known
from ranker.runtime.executors import worker_process
from ranker.runtime.executors.serial import Serial
from ranker.runtime.executors.supervision import WorkerTask, handle_message, missing_work
from ranker.runtime.executors.worker_process import Inbox
from ranker.sources.base import Needs

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext
    from multiprocessing.process import BaseProcess

    from ranker.progress import Advance
    from ranker.runtime.store import Store

log = logging.getLogger(__name__)

PRELOADED = ("pyarrow.parquet", "ranker.runtime.executors.worker_process")
"""What every guest needs imported, once for all of them; sources state what they need beside it."""

PROCESS, COPIES = 1 << 29, 3
"""Bytes that a process needs beside its model, and how often it holds the weights at most, while it loads them."""

MEMORY = 4_000_000_000
"""Bytes that a guest may take by default, beside its weights `COPIES` times."""

PATIENCE = 300.0
"""Seconds without a sign of life after which a guest counts as hung."""

GRACE = 10.0
"""Seconds that guests have to send what they know, when the run is stopped."""

LOOK_EVERY = 0.2
"""Seconds between two looks at how guests are."""

LONGEST_LOOK = 1.0
"""Seconds between two looks that count as silence: in what is longer this process was stopped itself, as by Ctrl-Z."""

LONGEST_FOLDER = 50
"""Bytes of the path of a folder in which there is room for one of ours, and in that for a socket's name."""

AFTER_THEIRS = -200
"""When the folder is removed in which Python has made one for the socket: that goes at -100, and must be there."""

SHORT = ("/tmp", "/var/tmp")  # noqa: S108  # folders in it are made as tempfile makes them
"""Where the socket lies if the temporary folder has a longer path."""

REVIVAL = 5.0
"""Seconds for which a process is started again and again, where its server has been ended meanwhile."""

QUIET = {"PYTHONSAFEPATH": "1", "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
"""What the server of processes is started with: it looks for no module in the current folder, and threads that have
nothing to do do not spin."""

KNOWN = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG(UAGE)?|LC_\w+|TZ|TERM|TMPDIR|LD_LIBRARY_PATH|VIRTUAL_ENV|XDG_CACHE_HOME|SSL_CERT_\w+|"
    r"(PYTHON|CUDA|NVIDIA|OMP|MKL|KMP|OPENBLAS|ATEN|DNNL|ONEDNN|PYTORCH|TORCH|HF|TRANSFORMERS|TOKENIZERS)(_?\w+)?"
)
NETWORK = re.compile(r"(?i)(https?|all|no)_proxy|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS")
"""Variables that say how the network is reached, for guests that need it; a proxy's may hold a password."""

SECRET = re.compile(r"(TOKEN|SECRET|PASSWORD|CREDENTIALS?|KEY)$")
"""Which variables of the environment guests see: those that say where things are and how to compute, and no secrets."""


@dataclass(frozen=True)
class Processes:
    """Models at work in processes of their own, with limits; each is a guest: `Runtime(executor=Processes())`.

    A script that asks for it begins its work under ``if __name__ == "__main__":``, as Python wants of all that starts
    processes.

    Attributes:
        workers: how many guests work side by side, or "auto": as many as there is work, cores and memory for. It
            changes the last digits of numbers.
        limits: guests have limits; without, several still work side by side, and one works in this process.
        memory: bytes that a guest may take, beside three times its weights.
        patience: seconds without a sign of life after which a guest counts as hung.

    Raises:
        UsageError: no worker.

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
            raise UsageError(f"`workers` must be at least 1 (got {self.workers})")

    def run(
        self, jobs: Sequence[Job], store: Store, progress: Progress, known: Known = NOTHING
    ) -> Generator[tuple[int, JobOutcome], None, None]:
        """What is known is answered here; a guest is started only where something is missing."""
        tasks = yield from missing_work(jobs, store, known)
        if not tasks:  # else whoever makes a folder removes what a killed run has left
            remove_abandoned(tempfile.gettempdir())
        groups = group_by_sharing(tasks)
        count = min(worker_count(groups) if self.workers == "auto" else self.workers, len(groups))
        if count == 1 and not self.limits:
            alone = Serial().run([visitor.job for visitor in tasks], store, progress)
            yield from ((tasks[n].number, done) for n, done in alone)
        elif groups:
            total = sum(len(order.examples) for one in tasks for order in one.missing)
            with progress(f"{len(tasks)} models, {count} at a time", total) as advance:
                yield from Supervisor(self, store, count, advance).supervise(groups)


if TYPE_CHECKING:
    _can: Executor = Processes()  # checked by mypy


def group_by_sharing(tasks: Sequence[WorkerTask]) -> list[list[WorkerTask]]:
    """Models that share something together, and each of the others alone."""
    groups: dict[object, list[WorkerTask]] = {}
    for one in tasks:
        groups.setdefault(one.job.source.shares or one.number, []).append(one)
    return list(groups.values())


def worker_count(groups: Sequence[Sequence[WorkerTask]]) -> int:
    """How many processes "auto" is: as many as there are groups, cores, and room in memory for the largest model.

    On an accelerator it is one: models beside each other there share its memory, and gain nothing. Models that are
    reached over a network wait for it, and take no core here.
    """
    every = [task.job for group in groups for task in group]
    if not groups or any(job.needs.accelerator and job.machine.device != "cpu" for job in every):
        return 1
    free = free_memory()
    most = max(PROCESS + COPIES * job.size for job in every)
    room = len(groups) if free is None else free // most
    here = len(groups) if all(job.needs.network for job in every) else cores()
    return max(min(len(groups), here, room), 1)


def threads(count: int) -> int:
    """How many threads each of so many processes has: its share of the cores, or fewer if the environment says so."""
    most = os.environ.get("OMP_NUM_THREADS", "")
    share = max(cores() // count, 1)
    return min(share, int(most)) if most.isdecimal() and int(most) else share


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class WorkerProcess:
    """A process, and the models in it that have not ended: the first of them is at work.

    Attributes:
        tasks: these models.
        process: where they work.
        pipe: what it says comes through it.
        folder: where it works; empty when it begins.
        inbox: what came and is not yet a whole message.
        silent: seconds in which nothing has come.
        over: nothing more will come.
        fault: why it is to be ended; "" while there is no reason.
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
        """Take in what has come, after so many seconds of waiting."""
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
        """End it at once. It is asked by its number: of a process whose server is gone, Python knows nothing."""
        if self.process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Leave nothing of it behind."""
        if not self.over:
            self.kill()
        self.process.join(GRACE)
        if self.process.is_alive():
            self.kill()
        self.pipe.close()
        with suppress(OSError):
            self.folder.close()


class Supervisor:
    """It starts guests, hears what they say, and ends them.

    Args:
        rules: the executor.
        store: what guests find is kept in it.
        count: how many there may be at a time.
        advance: told how many more examples are done.
    """

    def __init__(self, rules: Processes, store: Store, count: int, advance: Advance) -> None:
        self.rules, self.store, self.count, self.advance = rules, store, count, advance
        self.guests: list[WorkerProcess] = []

    def supervise(self, groups: Sequence[Sequence[WorkerTask]]) -> Iterator[tuple[int, JobOutcome]]:
        """Have all groups work, and say how each of their models has ended."""
        context = processes_with(list(dict.fromkeys(name for group in groups for one in group
                                                    for name in (*PRELOADED, *one.job.preload))))  # fmt: skip
        waiting = deque(map(deque, groups))
        looked = time.monotonic()
        try:
            while waiting or self.guests:
                while len(self.guests) < self.count and (group := self.next_of(waiting)):
                    waiting.remove(group)
                    self.guests.append(self.start(context, group))
                wait([guest.pipe for guest in self.guests], LOOK_EVERY)
                before, looked = looked, time.monotonic()
                for guest in list(self.guests):
                    guest.read(min(looked - before, LONGEST_LOOK))
                    yield from self.heard(guest)
                    reason = self.ended(guest)
                    if reason is not None:
                        self.guests.remove(guest)
                        guest.close()
                        if guest.tasks:
                            yield guest.tasks.popleft().number, JobOutcome(failure=reason)
                        if guest.tasks:  # the death of one is no reason against those that share something with it
                            waiting.append(guest.tasks)
        finally:
            self.stop()

    def next_of(self, waiting: deque[deque[WorkerTask]]) -> deque[WorkerTask] | None:
        """The first group that may work now: of each kind no more models do than it states."""
        for group in waiting:
            most, kind = group[0].job.needs.at_once, type(group[0].job.source)
            alike = sum(type(guest.tasks[0].job.source) is kind for guest in self.guests if guest.tasks)
            if most is None or alike < most:
                return group
        return None

    def start(self, context: ForkServerContext | SpawnContext, tasks: deque[WorkerTask]) -> WorkerProcess:
        """Start a process for a group of models."""
        receiving, sending = context.Pipe(duplex=False)
        os.set_blocking(receiving.fileno(), False)
        folder = Scratch()
        machine = replace(tasks[0].job.machine, threads=threads(self.count))
        work = [task.visit(machine) for task in tasks]
        on_cpu = all(one.job.machine.device == "cpu" for one in tasks)
        most = self.rules.memory + COPIES * max(one.job.size for one in tasks)
        rules = worker_process.Rules(
            str(folder.path),
            most if self.rules.limits and on_cpu else None,
            log.getEffectiveLevel(),
            needed_variables(os.environ, [one.job.needs for one in tasks]),
        )
        process = started(context, sending, work, rules)
        sending.close()
        return WorkerProcess(tasks, process, receiving, folder)

    def heard(self, guest: WorkerProcess) -> Iterator[tuple[int, JobOutcome]]:
        """Do what a guest's messages ask for; one that is none ends it."""
        try:
            for message in guest.inbox.messages():
                done = handle_message(message, guest.tasks[0], self.store, self.advance)
                if done is not None:
                    yield guest.tasks.popleft().number, done
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
            guest.fault = f"its process sent what is no answer ({first_line(error)})"

    def ended(self, guest: WorkerProcess) -> str | None:
        """Why a guest has ended, for the model at work in it, if any; None while it goes on."""
        if guest.fault:
            return guest.fault
        if guest.over:
            guest.process.join(GRACE)
            return died(guest.process.exitcode)
        patience = (guest.tasks[0].job.needs.silence if guest.tasks else None) or self.rules.patience
        if guest.silent > patience:
            return f"its process gave no sign of life for {patience:.0f} s, and was ended"
        return None

    def stop(self) -> None:
        """Ask guests to end, keep what they send meanwhile, and end them."""
        self.advance = lambda rows: None
        try:
            for guest in self.guests:
                if guest.process.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(guest.process.pid, signal.SIGTERM)
            deadline = time.monotonic() + GRACE
            left = list(self.guests)
            while left and time.monotonic() < deadline:
                wait([guest.pipe for guest in left], LOOK_EVERY)
                for guest in left:
                    guest.read()
                    deque(self.heard(guest), maxlen=0)
                left = [guest for guest in left if not (guest.over or guest.fault)]
        finally:  # whoever presses a key again does not want to wait
            while self.guests:
                self.guests.pop().close()


def started(
    context: ForkServerContext | SpawnContext,
    pipe: Connection,
    work: Sequence[worker_process.WorkerSession],
    rules: worker_process.Rules,
) -> BaseProcess:
    """A process for a guest; a server that somebody has ended is started anew, once its end can be read."""
    deadline = time.monotonic() + REVIVAL
    while True:
        process = context.Process(target=worker_process.worker_main, args=(pipe, work, rules), daemon=True)
        try:
            process.start()
            return process
        except (OSError, EOFError):
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_EVERY)
            processes_with(())


def died(status: int | None) -> str:
    """Why a process has ended, by its status, in words."""
    if status is not None and status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        memory = ", perhaps for want of memory" if -status == signal.SIGKILL else ""
        return f"its process was ended by {name}{memory}"
    return f"its process ended before its work was done (status {'unknown' if status is None else status})"


def processes_with(modules: Sequence[str]) -> ForkServerContext | SpawnContext:
    """How processes begin: with these modules in memory already, where the system can fork a server that has them.

    The server, and what keeps count of shared memory, are started by Python with a line of code; without the variable
    they would look for its modules in the current folder first, where anybody's torch.py may lie. They see no secrets,
    and nor does what is forked from them.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    if modules:
        context.set_forkserver_preload(list(modules))
    with _short_folder() as folder, only(os.environ, {**seen(os.environ), **QUIET, "TMPDIR": folder}):
        resource_tracker.ensure_running()  # which lets Ctrl-C through again once it has begun
        with _undisturbed():
            forkserver.ensure_running()
    return context


@contextmanager
def _short_folder() -> Iterator[str]:
    """A temporary folder whose path is short enough for the server's socket, which has a name of 107 bytes at most.

    Raises:
        UsageError: there is none.
    """
    before = tempfile.tempdir
    folders = [folder for folder in (tempfile.gettempdir(), *SHORT) if len(os.fsencode(folder)) <= LONGEST_FOLDER]
    found = next((folder for folder in folders if os.access(folder, os.W_OK | os.X_OK)), None)
    if found is None:
        raise UsageError(f"{tempfile.gettempdir()} is too long a path for processes; set TMPDIR to a shorter one")
    scratch = Scratch(found)
    tempfile.tempdir = str(scratch.path)
    try:
        yield tempfile.tempdir
    finally:
        tempfile.tempdir = before
        if any(scratch.path.iterdir()):
            _, remove, arguments, _ = scratch.close.detach() or (None, scratch.close, (), {})
            Finalize(None, remove, arguments, exitpriority=AFTER_THEIRS)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits, and never reaches what is started meanwhile: the terminal sends it to every process there is."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def seen(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that guests see.

    Example:
        >>> seen({"PATH": "/bin", "HF_HOME": "/hf", "HF_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "y"})
        {'PATH': '/bin', 'HF_HOME': '/hf'}
    """
    return {name: value for name, value in environment.items() if KNOWN.fullmatch(name) and not SECRET.search(name)}


def needed_variables(environment: Mapping[str, str], needs: Sequence[Needs]) -> dict[str, str]:
    """The variables of an environment that models state they need: no others of its secrets.

    Example:
        >>> needed_variables({"A_KEY": "x", "B_KEY": "y", "HTTPS_PROXY": "z"}, [Needs(secrets=("A_KEY",))])
        {'A_KEY': 'x'}
    """
    secrets = {name for one in needs for name in one.secrets}
    network = any(one.network for one in needs)
    return {
        name: value for name, value in environment.items() if name in secrets or (network and NETWORK.fullmatch(name))
    }


@contextmanager
def only(environment: MutableMapping[str, str], values: Mapping[str, str]) -> Iterator[None]:
    """An environment that holds other values, and nothing else, for a while."""
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
