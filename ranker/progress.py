"""Progress of long work, shown on stderr.

It is a bar on a terminal, one line that is overwritten in a notebook, a line now and then in a log file.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

Advance = Callable[[int], object]
"""Function that takes the number of further examples done."""

Progress = Callable[[Any, int], AbstractContextManager[Advance]]
"""Opens a stage of the work (its label, its number of examples); gives the function that is told of examples done.

The label is a text or an `Activity`; `str` of it is what is being done now.
"""

LOG_EVERY = 15.0
"""Seconds between two lines of a log."""

Watch = Callable[[str, int], object]
"""Told what is done next, and how many more steps are done by now."""

PATIENCE = 2.0
"""Seconds that an activity takes before it is shown; most are over by then."""

REDRAW_EVERY = 0.2
"""Seconds between two states of an activity on a terminal."""


LINE_EVERY = 1.0
"""Least seconds between two states of an overwritten line; longer the longer a stage takes."""

STATES = 20
"""Number of states per duration of a stage so far: a saved notebook may keep them all."""

WIDTH = 79
"""Characters of such a line, so that nothing of an earlier one remains after it."""


@dataclass
class Activity:
    """Label of a stage that is usually short, and whose steps take unequal time.

    It is shown once it has taken `PATIENCE` seconds, even if no step of it ever ends. Its text may change meanwhile.

    Attributes:
        text: what is being done now.
    """

    text: str

    def __str__(self) -> str:
        return self.text


@contextmanager
def steps(progress: Progress, text: str, total: int) -> Iterator[Watch]:
    """Open an activity whose steps have names; gives the function that is told of them.

    Args:
        progress: opens a stage of the work.
        text: what is being done, before the name of a step.
        total: number of steps.

    Example:
        >>> with steps(silent, "two models", 2) as watch:
        ...     watch("the order", 0)
        ...     watch("pairs", 1)
    """
    activity = Activity(text)
    with progress(activity, total) as advance:

        def watch(step: str, done: int) -> None:
            activity.text = f"{text}: {step}"
            advance(done)

        yield watch


def silent(label: object, total: int) -> AbstractContextManager[Advance]:
    """Show no progress.

    Example:
        >>> with silent("answers", 600) as advance:
        ...     advance(64)
    """
    return nullcontext(lambda done: None)


def show_progress(label: object, total: int) -> AbstractContextManager[Advance]:
    """Show progress to a person: a bar on a terminal, one line in a notebook; elsewhere nothing."""
    if of_notebook(sys.stderr):
        return line(sys.stderr, label, total)
    console = stderr()
    return bar(console, label, total) if console.is_terminal else silent(label, total)


def of_notebook(file: TextIO) -> bool:
    """Return whether a stream goes to a cell of a notebook, through its kernel."""
    return type(file).__module__.partition(".")[0] == "ipykernel"


@contextmanager
def line(file: TextIO, label: object, total: int) -> Iterator[Advance]:
    """Show how far a stage is in one line; it is written over, and gone at the end. All stages share it.

    Args:
        file: the stream, which takes a carriage return for the start of the line.
        label: of the stage.
        total: number of examples.
    """
    started = last_shown = time.monotonic()
    count, rate = 0, Rate()

    def advance(done: int) -> None:
        nonlocal last_shown, count
        count += done
        now = time.monotonic()
        rows_a_second = rate.at(count, now)
        if now - last_shown >= max(LINE_EVERY, (now - started) / STATES):
            last_shown = now
            over(_state(label, count, total, rows_a_second))

    def over(text: str) -> None:
        file.write(f"\r{text[:WIDTH].ljust(WIDTH)}")
        file.flush()

    try:
        yield advance
    finally:
        if last_shown > started:
            over("")
            file.write("\r")
            file.flush()


@contextmanager
def bar(console: Console, label: object, total: int, clean: Callable[[str], str] = str) -> Iterator[Advance]:
    """Show how far a stage is; gives the function that is told of examples done.

    Args:
        console: the output; one line each `LOG_EVERY` seconds unless it is a terminal.
        label: of the stage.
        total: number of examples.
        clean: makes a label harmless to a terminal.
    """
    if isinstance(label, Activity):
        with _patient(console, label, total, clean) as advance:
            yield advance
        return
    text = clean(str(label))
    if not console.is_terminal:
        yield _logger(console, text, total)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(show_speed=True),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        yield lambda done: progress.advance(task, done)


@contextmanager
def _patient(console: Console, activity: Activity, total: int, clean: Callable[[str], str]) -> Iterator[Advance]:
    """Show an activity from a thread of its own, so that a step that never ends is named: a bar, or lines."""
    if console.quiet:
        yield lambda done: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bars = Bars(*columns, console=console, transient=True, auto_refresh=False)
    task = bars.add_task("", total=total)
    began, count = time.monotonic(), 0

    def advance(done: int) -> None:
        nonlocal count
        count += done

    def tell() -> None:
        text = clean(str(activity))
        if console.is_terminal:
            bars.update(task, completed=count, description=text)
            bars.start()
            bars.refresh()
        else:
            seconds = time.monotonic() - began
            console.print(f"{text}: {count}/{total}, {seconds:.0f} s so far", highlight=False, markup=False)

    try:
        with _repeated(tell, PATIENCE, REDRAW_EVERY if console.is_terminal else LOG_EVERY):
            yield advance
    finally:
        if bars.live.is_started:
            bars.stop()


@contextmanager
def _repeated(tell: Callable[[], None], first: float, every: float) -> Iterator[None]:
    """Call a function from a thread, after so many seconds and then again and again, until the block ends."""
    over = threading.Event()

    def repeat() -> None:
        pause = first
        with suppress(OSError, ValueError, SystemExit):  # stderr is gone; rich makes SystemExit of a broken pipe
            while not over.wait(pause):
                tell()
                pause = every

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def transfer(console: Console, label: str, total: int | None) -> Iterator[Advance]:
    """Show the state of a download; yield its `Advance`, in bytes. Only a terminal shows it."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)


def _logger(console: Console, label: object, total: int) -> Advance:
    last_shown = time.monotonic()
    count, rate = 0, Rate()

    def advance(done: int) -> None:
        nonlocal last_shown, count
        now = time.monotonic()
        count += done
        rows_a_second = rate.at(count, now)
        if now - last_shown >= LOG_EVERY:
            last_shown = now
            console.print(_state(label, count, total, rows_a_second), highlight=False, markup=False)

    return advance


@dataclass
class Rate:
    """Rate of a stage from its first examples on: before these a model is loaded.

    Example:
        >>> rate = Rate()
        >>> rate.at(0, 60.0), rate.at(1, 61.0), rate.at(21, 71.0)
        (0.0, 0.0, 2.0)
    """

    first: int = 0
    began: float = 0.0

    def at(self, count: int, now: float) -> float:
        """Return the examples a second, with so many of them done, at a time in seconds; 0 if unknown."""
        if not self.first:
            self.first, self.began = count, now
        return (count - self.first) / (now - self.began) if now > self.began else 0.0


def _state(label: object, count: int, total: int, rate: float) -> str:
    """Describe the state of a stage in a line, with its rate and the time left once that is known."""
    left = f", {rate:.1f} rows/s, {(total - count) / rate:.0f} s left" if rate else ""
    return f"{label}: {count}/{total}{left}"


def stderr() -> Console:
    """Return the console of all output but the answer."""
    return Console(file=sys.stderr, stderr=True, soft_wrap=True)
