"""What a guest does in its own process, and the words between it and its supervisor.

Messages are bytes: a length, a line of JSON, and for rows a shard as the store keeps it. Nothing of them is unpickled.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from ranker.errors import ModelError, first_line
from ranker.progress import Advance
from ranker.runtime import shards
from ranker.runtime.base import Job, TimeEstimate, WorkItem
from ranker.runtime.estimate import estimate
from ranker.runtime.store import Keep, filling, key_digest
from ranker.runtime.worker import carry_out, key_of, notes_of, opening
from ranker.sources.base import ResourceCache

if TYPE_CHECKING:
    import pyarrow as pa

    from ranker.attribution.settings import Settings
    from ranker.sources.base import Predictor

BEAT_EVERY = 0.2
"""Seconds between two signs of life; a guest has more to do than to give them."""

LONGEST = 1 << 30
"""Bytes of a message, at most."""

SIZE = struct.Struct(">I")

CHANGED = "its files were changed while the run was on; run it again"


@dataclass(frozen=True)
class WorkerSession:
    """One model's work as a guest.

    Attributes:
        job: the model; its requests are left out.
        missing: what it is to be asked.
    """

    job: Job
    missing: Sequence[WorkItem]


@dataclass(frozen=True)
class Rules:
    """What holds for a guest.

    Attributes:
        folder: where it works; empty when it begins.
        memory: bytes that it may take; None for as many as there are.
        level: from which on it logs.
        environment: variables that it sees beside those of its server.
    """

    folder: str
    memory: int | None
    level: int
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Message:
    """What a guest says: a line of JSON, and what comes with it."""

    head: dict[str, Any]
    body: bytes


class Inbox:
    """Bytes as they come, and the messages that are whole."""

    def __init__(self) -> None:
        self._held = bytearray()

    def take(self, content: bytes) -> None:
        """Take in more bytes."""
        self._held += content

    def messages(self) -> Iterator[Message]:
        """The messages that are whole, in order; each is given once.

        Raises:
            ValueError: what came is no message.
        """
        while len(self._held) >= SIZE.size:
            (size,) = SIZE.unpack_from(self._held)
            if size > LONGEST:
                raise ValueError("a message is too long")
            if len(self._held) < SIZE.size + size:
                return
            content = bytes(self._held[SIZE.size : SIZE.size + size])
            del self._held[: SIZE.size + size]
            line, _, body = content.partition(b"\n")
            head = json.loads(line)
            if not isinstance(head, dict):
                raise ValueError("a message must be an object")
            yield Message(head, body)


class Outbox:
    """What a guest says to its supervisor; it ends where nobody listens, or it was told to end.

    Args:
        write: carries bytes to the supervisor's `Inbox`.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write, self._rows, self._said = write, 0, 0.0
        self.told = False

    def send(self, body: bytes = b"", /, **head: object) -> None:
        """Send a message.

        Raises:
            SystemExit: nobody listens.
        """
        content = json.dumps(head).encode() + b"\n" + body
        self._write(SIZE.pack(len(content)) + content)

    def beat(self, rows: int = 0) -> None:
        """Give a sign of life, and say how many more examples are done.

        Raises:
            SystemExit: the guest was told to end; what it knows is sent first by whoever holds it.
        """
        self._rows += rows
        now = time.monotonic()
        if now - self._said >= BEAT_EVERY:
            self.send(what="beat", rows=self._rows)
            self._rows, self._said = 0, now
        if self.told:
            self.told = False  # once: what is done while it ends is done in peace
            sys.exit(0)

    def progress(self, label: str, total: int) -> AbstractContextManager[Advance]:
        """A stage of the work, as `ranker.progress.Progress` has it."""
        return nullcontext(self.beat)

    def flush(self) -> None:
        """Say how many examples are done that were not told of."""
        self.send(what="beat", rows=self._rows)
        self._rows = 0


class Forwarded(logging.Handler):
    """Log lines that the supervisor shows."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def emit(self, record: logging.LogRecord) -> None:
        """Send a line."""
        self._outbox.send(what="log", level=record.levelno, text=record.getMessage())


def worker_main(pipe: Connection, visits: Sequence[WorkerSession], rules: Rules) -> None:
    """What a guest does: its models' work, one after the other; how each has ended is the last that it says of it.

    Args:
        pipe: to the supervisor.
        visits: the models.
        rules: what holds for it.
    """
    outbox = Outbox(partial(write_message, pipe))

    def tell(*_: object) -> None:
        outbox.told = True

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C reaches every process; the supervisor tells the others
    signal.signal(signal.SIGTERM, tell)
    try:
        settle(rules)
    except OSError:  # the run was stopped before this process began, and has removed its folder
        sys.exit(1)
    logger = logging.getLogger("ranker")
    logger.handlers, logger.propagate = [Forwarded(outbox)], False
    logger.setLevel(rules.level)
    shelf = ResourceCache(outbox.beat)
    for visit in visits:
        carry(visit, shelf, outbox, rules.memory)


def write_message(pipe: Connection, content: bytes) -> None:
    """Write to the supervisor.

    Raises:
        SystemExit: nobody listens.
    """
    view = memoryview(content)
    try:
        while view:
            view = view[os.write(pipe.fileno(), view) :]
    except BrokenPipeError:
        sys.exit(1)


def carry(visit: WorkerSession, shelf: ResourceCache, outbox: Outbox, memory: int | None = None) -> None:
    """Do one model's work, and say how it has ended.

    Args:
        visit: the work.
        shelf: of this process.
        outbox: to the supervisor.
        memory: bytes that this process may take, for the message of a model for which they are too few.
    """
    failure, left = "", None
    try:
        left = visited(visit, shelf, outbox)
    except SystemExit:
        raise
    except BaseException as error:  # whatever a model's code may raise, and panics of native libraries
        failure = reason(error, memory)
    outbox.flush()
    outbox.send(what="ended", failure=failure, estimate=None if left is None else asdict(left))


def reason(error: BaseException, memory: int | None) -> str:
    """Why a model has failed, in a line.

    Example:
        >>> reason(ZeroDivisionError("division by zero"), None), reason(MemoryError(), 3_000_000_000)
        ('ZeroDivisionError: division by zero', 'MemoryError; its process may take 3.0 GB of memory')
    """
    text = str(error) if isinstance(error, ModelError) else type(error).__name__
    line = first_line(error)
    if not isinstance(error, ModelError) and line not in ("", text):
        text = f"{text}: {line}"
    causes = [error, *filter(None, (error.__cause__, error.__context__))]
    scarce = any(isinstance(one, MemoryError) or "memory" in str(one) for one in causes)
    return f"{text}; its process may take {memory / 1e9:.1f} GB of memory" if scarce and memory else text


def visited(visit: WorkerSession, shelf: ResourceCache, outbox: Outbox) -> TimeEstimate | None:
    """Do one model's work; how long it would take, where that is all that is asked.

    The model is opened before it is compared with what the supervisor saw: its files are then hashed while they are
    read to be loaded, and not a second time.

    Raises:
        ModelError: the model is not the one that the supervisor saw, or cannot be loaded or run.
    """
    job = visit.job
    opened = opening(job, shelf)
    keys = {order.settings: key_digest(order.key) for order in visit.missing}

    def checked(settings: Settings | None) -> Predictor:
        model = opened(settings)
        if key_digest(key_of(job, settings, shelf)) != keys[settings]:
            raise ModelError(CHANGED)
        if not job.dry:
            outbox.send(what="notes", notes=notes_of(job, shelf))
        return model

    if job.dry:
        return estimate(checked, visit.missing)
    numbers = {id(order): number for number, order in enumerate(visit.missing)}

    def keeping(order: WorkItem) -> AbstractContextManager[Keep]:
        return filling(order.examples, partial(hand_over, outbox, numbers[id(order)], key_digest(order.key)))

    carry_out(job.source.name, checked, visit.missing, keeping, outbox.progress)
    return None


def hand_over(outbox: Outbox, order: int, key: str, table: pa.Table) -> None:
    """Send rows as a shard of their key."""
    outbox.send(shards.serialize(table, key), what="rows", order=order)


def settle(rules: Rules) -> None:
    """Set this process its limits, and take it to a folder of its own, where nothing is heard of what it prints."""
    os.chdir(rules.folder)
    os.environ.update(rules.environment)
    os.environ["TMPDIR"] = rules.folder
    import tempfile

    tempfile.tempdir = rules.folder
    if rules.level > logging.DEBUG:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
    with suppress(ImportError):
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if rules.memory is not None:
            with suppress(ValueError, OSError):  # not every system has it
                resource.setrlimit(resource.RLIMIT_DATA, (rules.memory, rules.memory))


def estimate_of(sent: Any) -> TimeEstimate | None:
    """An estimate as it was sent.

    Raises:
        TypeError, ValueError: it is none.
    """
    if sent is None:
        return None
    return TimeEstimate(int(sent["predict"]), int(sent["explain"]), int(sent["passes"]), float(sent["rate"]))


def printable(text: str) -> str:
    """A text in one line, without codes that a terminal obeys."""
    return "".join(character if character.isprintable() else "?" for character in text)
