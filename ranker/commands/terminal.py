"""The terminal that the program runs in: it is given back as it was found when the program is stopped or interrupted.

A bar hides the cursor, and whoever waits for a key turns off echo and line ends.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

try:
    import termios
except ImportError:  # Windows has none
    termios = None  # type: ignore[assignment]

Modes = list[Any]
"""What a terminal does with keys, as `termios.tcgetattr` has it."""

SHOW_CURSOR = b"\x1b[?25h"

DUMB = ("", "dumb", "unknown")
"""Kinds of terminals that know no such code; nothing hides their cursor."""


def modes() -> Modes | None:
    """The modes of the terminal that keys come from; None where they come from none."""
    if termios is None:
        return None
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def give_back(found: Modes | None) -> None:
    """Set the modes that were found, and show the cursor. Locks nothing: a signal may come at any moment.

    In the background the modes are the shell's own.
    """
    if not _in_background():
        _set(found)
    with suppress(OSError):
        if os.isatty(2) and os.environ.get("TERM", "") not in DUMB:
            os.write(2, SHOW_CURSOR)


def pausing(found: Modes | None) -> Callable[[int, object], None]:
    """A handler of SIGTSTP: the shell has the terminal as it was found, and the program has it again afterwards."""

    def pause(number: int, _: object) -> None:
        now = modes()
        give_back(found)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)  # here it stands until it goes on
        signal.signal(number, pause)
        if now != found:
            _set(now)  # in the background this waits for the foreground

    return pause


def _set(wanted: Modes | None) -> None:
    if wanted is not None and modes() != wanted:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(0, termios.TCSANOW, wanted)


def _in_background() -> bool:
    """Whether another process than one of ours has the terminal."""
    try:
        return termios is not None and os.tcgetpgrp(0) != os.getpgrp()
    except OSError:  # it is no terminal of ours
        return False
