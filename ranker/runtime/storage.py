"""Places of a store: a local folder, or a prefix of an object store such as S3, through fsspec.

A store needs few operations of a place: list, read, write, rename and remove whole files. A local one is a
`pathlib.Path`; `Remote` has the same few methods by the same names. `put` writes a file so that nobody sees half of it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ranker.errors import StoreError, UsageError
from ranker.files.saving import save
from ranker.limits import open_regular


def place(text: str) -> Path | Remote:
    """Return the place that ``--store`` names: a folder, or a URL such as ``s3://bucket/prefix``.

    Args:
        text: a path, or a URL of a protocol that fsspec knows; ``file://`` is a local folder.

    Raises:
        UsageError: no such protocol, or the package for it is not installed.

    Example:
        >>> place("memory://shared/store") / "key.json"
        Remote(path='/shared/store/key.json')
    """
    if "://" not in text:
        return Path(text)
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    try:
        system, path = url_to_fs(text)
    except (ImportError, ValueError, TypeError, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise UsageError(f"`store`: {text} cannot be opened: {reason}", option="store", value=text) from error
    return Path(path) if isinstance(system, LocalFileSystem) else Remote(path.rstrip("/"), system)


@dataclass(frozen=True)
class UserStore:
    """Store of the command line: $RANK_MODELS_STORE, else a folder in the user's cache.

    The environment is read when a run begins, so changes of it count.

    Example:
        >>> USER_STORE
        USER_STORE
    """

    def place(self) -> Path | Remote:
        """Return the folder, or the prefix of an object store.

        Raises:
            UsageError: $RANK_MODELS_STORE is a URL that cannot be opened.
        """
        return place(os.environ.get("RANK_MODELS_STORE") or str(self.local()))

    def local(self) -> Path:
        """Return the folder in the user's cache."""
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rank-models"

    def __repr__(self) -> str:
        return "USER_STORE"


USER_STORE = UserStore()


@dataclass(frozen=True, order=True)
class Remote:
    """Path on an object store, which has no folders: only names of files, with slashes in them.

    Every failure is an OSError, whatever the library behind it raises.

    Attributes:
        path: as the file system writes it, without the protocol.
        system: the file system, fsspec's.
    """

    path: str
    system: Any = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Remote:
        """Path without its last part."""
        return Remote(self.path.rpartition("/")[0], self.system)

    def __truediv__(self, name: str) -> Remote:
        return Remote(f"{self.path}/{name}", self.system)

    def __str__(self) -> str:
        return str(self.system.unstrip_protocol(self.path))

    def with_suffix(self, suffix: str) -> Remote:
        """Return the path with another suffix."""
        return self.parent / f"{self.name.rpartition('.')[0]}{suffix}"

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a folder exists as soon as a file in it does."""

    def check(self) -> None:
        """Write and remove a file.

        Raises:
            OSError: that is not possible.
        """
        probe = self / f".{uuid.uuid4().hex}.tmp"
        probe.write_bytes(b"")
        probe.unlink(missing_ok=True)  # another process may prune

    def iterdir(self) -> Iterator[Remote]:
        """Yield the entries directly below, listed anew each time, since other machines write here, too."""
        with _as_os_errors():
            self.system.invalidate_cache(self.path)
            paths = self.system.ls(self.path, detail=False)
        return (Remote(path.rstrip("/"), self.system) for path in paths if path.rstrip("/") != self.path)

    def glob(self, pattern: str) -> Iterator[Remote]:
        """Yield the files directly below whose names fit a pattern."""
        try:
            entries = self.iterdir()
        except FileNotFoundError:
            return iter(())
        return (entry for entry in entries if fnmatchcase(entry.name, pattern))

    def is_dir(self) -> bool:
        """Return whether anything lies below."""
        with _as_os_errors():
            return bool(self.system.isdir(self.path))

    def is_file(self) -> bool:
        """Return whether there is a file of this name."""
        with _as_os_errors():
            return bool(self.system.isfile(self.path))

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        with _as_os_errors():
            return bytes(self.system.cat_file(self.path))

    def write_bytes(self, content: bytes) -> None:
        """Write the file in one request: a reader sees all of it or none."""
        with _as_os_errors():
            self.system.pipe_file(self.path, content)

    def rename(self, target: Remote) -> None:
        """Copy to another path, and remove; object stores cannot rename."""
        with _as_os_errors():
            self.system.mv(self.path, target.path)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file."""
        try:
            with _as_os_errors():
                self.system.rm_file(self.path)
        except FileNotFoundError:
            if not missing_ok:
                raise


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Turn errors of the libraries behind fsspec (no credentials, no network, no such bucket) into OSError."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(next(iter(str(error).splitlines()), type(error).__name__)) from error


Place = Path | Remote
"""Local path, or one on an object store."""


def put(target: Place, content: bytes) -> None:
    """Write a file as a whole: a reader sees all of it or none. See `ranker.files.saving.save`."""
    if isinstance(target, Remote):
        target.write_bytes(content)
        return
    save(target, content)


def contents_of(file: Place) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: it cannot be read, or is no regular file: a pipe would block.
    """
    if isinstance(file, Remote):
        return file.read_bytes()
    with os.fdopen(open_regular(file), "rb") as raw:
        return raw.read()


@contextmanager
def failures(path: Place, done: str) -> Iterator[None]:
    """Report errors of the disk in one line, with the path and the failed operation."""
    try:
        yield
    except OSError as error:
        raise StoreError.of(path, f"cannot be {done}: {error.strerror or error}") from error


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Lock a file that is replaced repeatedly against other processes, by a lock file beside it.

    For a link, its target is locked.

    Raises:
        BlockingIOError: another process holds it.
        OSError: the lock file cannot be made.
    """
    import fcntl

    path = Path(os.path.realpath(path))
    beside = path.parent / f".{path.name}.lock"
    while True:
        number = os.open(beside, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if beside.exists() and os.path.samestat(os.fstat(number), beside.stat()):
                break
        except BaseException:
            os.close(number)
            raise
        os.close(number)  # its former holder has removed it meanwhile
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        os.close(number)
