"""Restore the terminal when the program is stopped or interrupted.

A progress bar hides the cursor, and reading keys turns off echo and line ends.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

try:
    import termios
except ImportError:  # not on Windows
    termios = None  # type: ignore[assignment]

Modes = list[Any]
"""Modes of a terminal, as returned by `termios.tcgetattr`."""

SHOW_CURSOR = b"\x1b[?25h"

DUMB = ("", "dumb", "unknown")
"""Kinds of terminals without that code; nothing hides their cursor."""


def modes() -> Modes | None:
    """Return the modes of the terminal on stdin; None if stdin is no terminal."""
    if termios is None:
        return None
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def give_back(original: Modes | None) -> None:
    """Restore the original modes, and show the cursor. Takes no lock, since a signal may come at any moment.

    In the background the modes belong to the shell, and stay.
    """
    if not _in_background():
        _set(original)
    with suppress(OSError):
        if os.isatty(2) and os.environ.get("TERM", "") not in DUMB:
            os.write(2, SHOW_CURSOR)


def pause_handler(original: Modes | None) -> Callable[[int, object], None]:
    """Return a handler of SIGTSTP: the shell gets the original modes, and the program its own when it continues."""

    def pause(number: int, _: object) -> None:
        current = modes()
        give_back(original)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)  # stops here until continued
        signal.signal(number, pause)
        if current != original:
            _set(current)  # waits for the foreground

    return pause


def _set(original: Modes | None) -> None:
    if original is not None and modes() != original:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(0, termios.TCSANOW, original)


def _in_background() -> bool:
    """Return True if another process group has the terminal."""
    try:
        return termios is not None and os.tcgetpgrp(0) != os.getpgrp()
    except OSError:  # not our terminal
        return False
