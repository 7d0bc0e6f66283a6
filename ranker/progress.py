"""Progress of long work: what is told of it, and how it is shown on stderr.

A bar on a terminal, one line that is written over in a notebook, a line now and then in a log file.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

Advance = Callable[[int], object]
"""Told how many more examples are done."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""Opens a stage of the work (its label, its number of examples); gives the function that is told of examples done."""

LOG_EVERY = 15.0
"""Seconds between two lines of a log."""


LINE_EVERY = 1.0
"""Seconds between two states of a line that is written over, at least; longer the longer a stage takes."""

STATES = 20
"""A new state is worth telling after this part of the time that a stage has taken: a saved notebook may keep them all.
"""

WIDTH = 79
"""Characters of such a line, so that no part of an earlier one stays behind it."""


def silent(label: str, total: int) -> AbstractContextManager[Advance]:
    """Show no progress.

    Example:
        >>> with silent("answers", 600) as advance:
        ...     advance(64)
    """
    return nullcontext(lambda done: None)


def shown(label: str, total: int) -> AbstractContextManager[Advance]:
    """Show progress where a person looks on: a bar on a terminal, one line in a notebook; elsewhere nothing."""
    if of_notebook(sys.stderr):
        return line(sys.stderr, label, total)
    console = stderr()
    return bar(console, label, total) if console.is_terminal else silent(label, total)


def of_notebook(file: TextIO) -> bool:
    """Whether what is written goes to a cell of a notebook, by way of its kernel."""
    return type(file).__module__.partition(".")[0] == "ipykernel"


@contextmanager
def line(file: TextIO, label: str, total: int) -> Iterator[Advance]:
    """Show how far a stage is in one line; it is written over, and gone at the end. All stages share it.

    Args:
        file: where to; it takes a carriage return for the start of the line.
        label: what is being done.
        total: number of examples.
    """
    started = said = time.monotonic()
    count = 0

    def advance(done: int) -> None:
        nonlocal said, count
        count += done
        now = time.monotonic()
        if now - said >= max(LINE_EVERY, (now - started) / STATES):
            said = now
            over(_state(label, count, total, now - started))

    def over(text: str) -> None:
        file.write(f"\r{text[:WIDTH].ljust(WIDTH)}")
        file.flush()

    try:
        yield advance
    finally:
        if said > started:
            over("")
            file.write("\r")
            file.flush()


@contextmanager
def bar(console: Console, label: str, total: int) -> Iterator[Advance]:
    """Show how far a stage is; gives the function that is told of examples done.

    Args:
        console: where to; on anything but a terminal, one line each `LOG_EVERY` seconds.
        label: what is being done.
        total: number of examples.
    """
    if not console.is_terminal:
        yield _logger(console, label, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(show_speed=True),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console, transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.advance(task, done)


@contextmanager
def transfer(console: Console, label: str, total: int | None) -> Iterator[Advance]:
    """Show how much of a file has come; gives the function that is told of bytes. Only a terminal shows it.

    Args:
        console: where to.
        label: what is coming.
        total: bytes, if the sender says.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)


def _logger(console: Console, label: str, total: int) -> Advance:
    started = said = time.monotonic()
    count = 0

    def advance(done: int) -> None:
        nonlocal said, count
        count += done
        now = time.monotonic()
        if now - said >= LOG_EVERY:
            said = now
            console.print(_state(label, count, total, now - started), highlight=False)

    return advance


def _state(label: str, count: int, total: int, seconds: float) -> str:
    """How far a stage is, in a line: a rate, and what is left, as soon as something is done."""
    rate = count / seconds
    left = f", {rate:.1f} rows/s, {(total - count) / rate:.0f} s left" if rate else ""
    return f"{label}: {count}/{total}{left}"


def stderr() -> Console:
    """The console of everything that is not the answer."""
    return Console(file=sys.stderr, stderr=True, soft_wrap=True)
