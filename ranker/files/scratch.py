"""Temporary folders that are removed when their process ends, even if it is killed."""

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
"""Pattern of the folders' names: every folder with such a name and no lock is removed."""

NASCENT = 60.0
"""Seconds after which a folder that has not got its name yet belongs to a process that was killed meanwhile."""


class Scratch:
    """Temporary folder of this process, below `folder` or the system's; `close` removes it, or the garbage collector.

    It is locked as long as the process lives. The next `Scratch` removes folders that killed processes left, since
    these have no lock.

    Attributes:
        path: of it; it is empty at first.

    Raises:
        OSError: it cannot be made.

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
        hidden = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place))
        number = _lock(hidden)
        self.path = hidden.with_name(
            hidden.name.removeprefix(".")
        )  # others look at this name, so it is given once locked
        try:
            hidden.rename(self.path)
        except BaseException:
            _remove(hidden, number)
            raise
        self.close = weakref.finalize(self, _remove, self.path, number)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def remove_abandoned(folder: str) -> None:
    """Remove temporary folders whose processes are gone."""
    with suppress(OSError):
        for path in filter(lambda path: NAME.fullmatch(path.name.removeprefix(".")), Path(folder).iterdir()):
            with suppress(OSError):
                about = path.stat(follow_symlinks=False)
                if path.name.startswith(".") and time.time() - about.st_mtime < NASCENT:
                    continue  # its process may be about to lock it
                if about.st_uid == os.geteuid() and (number := _lock(path)) is not None:
                    _remove(path, number)


def _lock(folder: Path) -> int | None:
    """Return a descriptor that locks a folder as long as it is open; None where another process does."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock, so folders of killed processes stay
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
