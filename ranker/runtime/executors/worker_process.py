"""Worker process: its work, and its messages to the supervisor.

Messages are bytes: a length, a line of JSON, and for rows a shard in the store's format. Nothing is unpickled.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranker.attribution.settings import Settings
from ranker.errors import ModelError
from ranker.progress import Advance
from ranker.runtime import shards
from ranker.runtime.base import Job, JobOutcome, TimeEstimate, Usage, WorkItem
from ranker.runtime.store import Keep, collect_blocks, key_digest
from ranker.runtime.worker import carry_out, estimate_job, key_of, model_opener, notes_of
from ranker.sources.base import Bill, Predictor, ResourceCache
from ranker.sources.faults import reason

if TYPE_CHECKING:
    import pyarrow as pa

BEAT_EVERY = 0.2
"""Seconds between two signs of life, which must cost little."""

MAX_MESSAGE = 1 << 30
"""Most bytes of a message."""

SIZE = struct.Struct(">I")

CHANGED = "its files were changed while the run was on; run it again"


@dataclass(frozen=True)
class WorkerTask:
    """Work of one model elsewhere.

    Attributes:
        job: itself; a worker gets it without its requests.
        done: its outcome as far as the store knows it.
        missing: the missing examples.
        folder: see `ResourceCache`.
    """

    number: int
    job: Job
    done: JobOutcome
    missing: Sequence[WorkItem]
    folder: Path | None = None


@dataclass(frozen=True)
class Rules:
    """Limits of one worker process.

    Attributes:
        folder: its working folder, empty at the start.
        memory: bytes that it may take; None for no limit.
        environment: variables that it sees beside those of its server.
    """

    folder: str
    memory: int | None
    level: int
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Message:
    """Message of a worker: a line of JSON, and a body."""

    head: dict[str, Any]
    body: bytes


class Inbox:
    """Buffer of received bytes, and the complete messages in it."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def take(self, content: bytes) -> None:
        """Add received bytes."""
        self._bytes += content

    def messages(self) -> Iterator[Message]:
        """Yield the complete messages, in order, each once; a ValueError if the bytes are none."""
        while len(self._bytes) >= SIZE.size:
            (size,) = SIZE.unpack_from(self._bytes)
            if size > MAX_MESSAGE:
                raise ValueError("a message is too long")
            if len(self._bytes) < SIZE.size + size:
                return
            content = bytes(self._bytes[SIZE.size : SIZE.size + size])
            del self._bytes[: SIZE.size + size]
            line, _, body = content.partition(b"\n")
            head = json.loads(line)
            if not isinstance(head, dict):
                raise ValueError("a message must be an object")
            yield Message(head, body)


class Outbox:
    """Messages of a worker to its supervisor; the worker ends where nobody listens, or on request."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write, self._rows, self._last_beat = write, 0, 0.0
        self.stop_requested = False

    def send(self, body: bytes = b"", /, **head: object) -> None:
        """Send a message; a SystemExit if the supervisor is gone."""
        content = json.dumps(head).encode() + b"\n" + body
        self._write(SIZE.pack(len(content)) + content)

    def beat(self, rows: int = 0) -> None:
        """Send a sign of life, with the number of further examples done; exit if the worker was told to end."""
        self._rows += rows
        now = time.monotonic()
        if now - self._last_beat >= BEAT_EVERY:
            self.send(what="beat", rows=self._rows)
            self._rows, self._last_beat = 0, now
        if self.stop_requested:
            self.stop_requested = False  # once, so that the work of ending is not interrupted
            sys.exit(0)

    def progress(self, label: str, total: int) -> AbstractContextManager[Advance]:
        """Open a stage of the work, as a `ranker.progress.Progress`."""
        return nullcontext(self.beat)

    def flush(self) -> None:
        """Send the number of examples done since the last message."""
        self.send(what="beat", rows=self._rows)
        self._rows = 0


class Forwarded(logging.Handler):
    """Handler that sends log lines to the supervisor."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def emit(self, record: logging.LogRecord) -> None:
        """Send a line."""
        self._outbox.send(what="log", level=record.levelno, text=record.getMessage())


def worker_main(pipe: Connection, tasks: Sequence[WorkerTask], rules: Rules) -> None:
    """Run the work of models, one after the other; the last message on each is its outcome."""
    outbox = Outbox(partial(write_message, pipe))

    def request_stop(*_: object) -> None:
        outbox.stop_requested = True

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches every process; the supervisor tells the others
    signal.signal(signal.SIGTERM, request_stop)
    try:
        apply_limits(rules)
    except OSError:  # the run was stopped before this process began, and has removed its folder
        sys.exit(1)
    logger = logging.getLogger("ranker")
    logger.handlers, logger.propagate = [Forwarded(outbox)], False
    logger.setLevel(rules.level)
    cache = ResourceCache(outbox.beat)
    for task in tasks:
        report_task(task, cache, outbox, rules.memory)


def write_message(pipe: Connection, content: bytes) -> None:
    """Write to the supervisor."""
    view = memoryview(content)
    try:
        while view:
            view = view[os.write(pipe.fileno(), view) :]
    except BrokenPipeError:
        sys.exit(1)


def report_task(task: WorkerTask, cache: ResourceCache, outbox: Outbox, memory: int | None = None) -> None:
    """Do one model's work, and send its outcome."""
    failure, left, used = "", None, None
    try:
        left, used = run_task(task, cache, outbox)
    except SystemExit:
        raise
    except BaseException as error:  # anything a model's code may raise, and panics of native libraries
        failure = reason(error, memory)
    outbox.flush()
    numbers = {"estimate": left and asdict(left), "used": used and asdict(used)}
    outbox.send(what="ended", failure=failure, **numbers)


def run_task(task: WorkerTask, cache: ResourceCache, outbox: Outbox) -> tuple[TimeEstimate | None, Usage | None]:
    """Do one model's work; return an estimate of it, if one was asked for, and its cost, if it is not a dry job.

    The model is opened before it is compared with the supervisor's key, so that its files are hashed only once, while
    they are loaded.
    """
    job = task.job
    cache.folder, cache.offline = task.folder, job.dry
    opened = model_opener(job, cache)
    keys = {order.settings: key_digest(order.key) for order in task.missing}

    def checked(settings: Settings | None) -> Predictor:
        model = opened(settings)
        if key_digest(key_of(job, settings, cache)) != keys[settings]:
            raise ModelError(CHANGED)
        if not job.dry:
            outbox.send(what="notes", notes=notes_of(job, cache))
        return model

    if job.dry:
        return estimate_job(job, checked, task.missing), None
    numbers = {id(order): number for number, order in enumerate(task.missing)}

    def keeping(order: WorkItem) -> AbstractContextManager[Keep]:
        def send(table: pa.Table) -> None:
            outbox.send(shards.serialize(table, key_digest(order.key)), what="rows", order=numbers[id(order)])

        return collect_blocks(order.examples, send)

    done = carry_out(job, checked, task.missing, keeping, outbox.progress)
    outbox.send(what="notes", notes=notes_of(job, cache))
    return done


def apply_limits(rules: Rules) -> None:
    """Apply the limits to this process, move it to its own folder, and silence its output."""
    import resource

    os.chdir(rules.folder)
    os.environ.update(rules.environment)
    os.environ["TMPDIR"] = tempfile.tempdir = rules.folder
    if rules.level > logging.DEBUG:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if rules.memory is not None:
        with suppress(ValueError, OSError):  # not every system has it
            resource.setrlimit(resource.RLIMIT_DATA, (rules.memory, rules.memory))


def estimate_of(sent: Any) -> TimeEstimate | None:
    """Return an estimate from a message; a TypeError or ValueError if it is malformed."""
    if sent is None:
        return None
    counts = (int(sent["predict"]), int(sent["explain"]), int(sent["passes"]), float(sent["load"]))
    usage, bill = usage_of(sent["usage"]), sent["bill"]
    if bill is None:
        return TimeEstimate(*counts, usage)
    requests, most = int(bill["requests"]), int(bill["most"])
    numbers = int(bill["prompt_tokens"]), int(bill["output_tokens"]), float(bill["money"])
    host, currency = printable(str(bill["host"])), printable(str(bill["currency"]))
    return TimeEstimate(*counts, usage, Bill(host, requests, most, *numbers, currency))


def usage_of(sent: Any) -> Usage | None:
    """Return a cost from a message; a TypeError or ValueError if it is malformed."""
    if sent is None:
        return None
    return Usage(float(sent["seconds"]), int(sent["memory"]), int(sent["stored"]), bool(sent["accelerated"]))


def printable(text: str) -> str:
    """Return a text in one line, without terminal control codes."""
    return "".join(character if character.isprintable() else "?" for character in text)
