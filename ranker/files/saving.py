"""Atomic writing of files: each is replaced as a whole, or not at all."""

from __future__ import annotations

import errno
import os
import re
import stat
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_OPEN = re.compile(r"/proc/(?:self|\d+)/fd/(\d+)")
"""Linux's name of a file that a process has open."""


def save(path: Path, content: bytes, confirm: Callable[[], bool] = lambda: True) -> bool:
    """Replace a file as a whole: write a temporary file, sync it, and rename it. Return False if it was left as it is.

    A link stays a link, and its target is replaced. A file keeps its mode and its owner. Pipes, devices and files that
    this process has open, such as /dev/stdout, are written to directly.

    Args:
        confirm: called right before the file is replaced; False leaves it as it is.

    Raises:
        OSError: it cannot be written, is read-only, or would have another owner.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     save(Path(folder, "a.txt"), b"Fine."), Path(folder, "a.txt").read_bytes(), len(os.listdir(folder))
        (True, b'Fine.', 1)
    """
    before: os.stat_result | None = None
    with suppress(FileNotFoundError):
        before = path.stat()
    number = _descriptor(path)
    if number is not None or (before and not stat.S_ISREG(before.st_mode)):
        with path.open("wb") if number is None else os.fdopen(os.dup(number), "wb") as through:
            through.write(content)
        return True
    target = Path(os.path.realpath(path))
    if before and is_read_only(target):
        os.close(os.open(target, os.O_WRONLY))  # raises the system's own error
        raise PermissionError(errno.EACCES, "it is read-only", str(path))
    beside = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with beside.open("xb") as file:  # with the umask's permissions, unlike those of tempfile
            if before:
                _keep(file.fileno(), before)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not confirm():
            beside.unlink()
            return False
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)  # it is gone where Ctrl-C came after the renaming
        raise
    sync(target.parent)
    return True


def _descriptor(path: Path) -> int | None:
    """Return the number of a file that this process has open, if the path names one."""
    place = os.path.join(os.path.realpath(path.parent), path.name)
    if place.startswith("/dev/") and os.path.islink(place):
        place = os.readlink(place)
    match = _OPEN.fullmatch(place)
    return int(match[1]) if match and os.path.samefile(os.path.dirname(place), "/proc/self/fd") else None


def is_read_only(path: Path) -> bool:
    """Return whether a file may not be written, by its mode, which root would ignore, or by the system."""
    return not (path.stat().st_mode & 0o222 and os.access(path, os.W_OK))


def _keep(number: int, before: os.stat_result) -> None:
    """Give a new file the owner and the mode of the one that it replaces."""
    now = os.fstat(number)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(number, before.st_uid, before.st_gid)
        except PermissionError as error:
            raise PermissionError(error.errno, "it belongs to somebody else") from error
    os.fchmod(number, stat.S_IMODE(before.st_mode))


def sync(folder: Path) -> None:
    """Sync a folder's list of names to the disk, where the system allows it (Windows does not)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
