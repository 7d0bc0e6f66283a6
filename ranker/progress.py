"""Progress of long work: what is told of it, and how it is shown on stderr.

A bar where a person looks on, a line now and then where a log file does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

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


def silent(label: str, total: int) -> AbstractContextManager[Advance]:
    """No progress."""
    return nullcontext(lambda done: None)


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
            rate = count / (now - started)
            left = f", {rate:.1f} examples/s, {(total - count) / rate:.0f} s left" if rate else ""
            console.print(f"{label}: {count}/{total}{left}", highlight=False)

    return advance


def stderr() -> Console:
    """The console of everything that is not the answer."""
    return Console(file=sys.stderr, stderr=True, soft_wrap=True)
