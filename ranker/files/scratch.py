"""Temporary folders that are gone when their process is, however it ends."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

PREFIX = "rank-models-tmp-"
NAME = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")
"""How they are called, and nothing else: what is called so and not locked is removed."""


NASCENT = 60.0
"""Seconds after which a folder that has not got its name yet belongs to a process that was killed meanwhile."""


class Scratch:
    """A temporary folder of this process's; `close` removes it, at the latest when nobody has it any more.

    It is locked as long as the process lives. What a process that was killed has left is removed by whoever makes the
    next one: no lock is left with it.

    Args:
        folder: to make it in; None for the system's temporary one.

    Attributes:
        path: of it; it is empty at first.

    Raises:
        OSError: there can be none.

    Example:
        >>> with Scratch() as scratch:
        ...     (scratch.path / "a").write_text("Fine.")
        5
        >>> scratch.path.exists()
        False
    """

    def __init__(self, folder: str | None = None) -> None:
        place = tempfile.gettempdir() if folder is None else folder
        remove_abandoned(place)
        made = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place))
        number = _locked(made)
        self.path = made.with_name(made.name.removeprefix("."))  # under a name that others look at once it is locked
        try:
            made.rename(self.path)
        except BaseException:
            _remove(made, number)
            raise
        self.close = weakref.finalize(self, _remove, self.path, number)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def remove_abandoned(folder: str) -> None:
    """Remove the folders in a temporary one whose processes are gone."""
    with suppress(OSError):
        for path in filter(lambda path: NAME.fullmatch(path.name.removeprefix(".")), Path(folder).iterdir()):
            with suppress(OSError):
                about = path.stat(follow_symlinks=False)
                if path.name.startswith(".") and time.time() - about.st_mtime < NASCENT:
                    continue  # its process may be about to lock it
                if about.st_uid == os.geteuid() and (number := _locked(path)) is not None:
                    _remove(path, number)


def _locked(folder: Path) -> int | None:
    """A descriptor that holds a folder as long as it is open; None where another process does.

    Raises:
        OSError: it is no folder.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such lock; there what a killed process has left, stays
        return None
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        return None
    return number


def _remove(folder: Path, number: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if number is not None:
        os.close(number)
