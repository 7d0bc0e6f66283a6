"""Where a store lies: a local folder, or a prefix of an object store such as S3, through fsspec.

A store asks little of a place: list, read, write, rename and remove whole files. A local one is a `pathlib.Path`;
`Remote` has the same few methods by the same names. `put` writes a file so that nobody sees half of it.
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
    """The place that ``--store`` names: a folder, or a URL such as ``s3://bucket/prefix``.

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
        raise UsageError(f"`store`: {text} cannot be opened: {reason}") from error
    return Path(path) if isinstance(system, LocalFileSystem) else Remote(path.rstrip("/"), system)


@dataclass(frozen=True)
class UserStore:
    """The store that the command line uses, too: $RANK_MODELS_STORE, else a folder in the user's cache.

    Where that is, is looked up when a run begins, so that a change of the environment counts.

    Example:
        >>> USER_STORE
        USER_STORE
    """

    def place(self) -> Path | Remote:
        """The folder, or the prefix of an object store.

        Raises:
            UsageError: $RANK_MODELS_STORE is a URL that cannot be opened.
        """
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return place(os.environ.get("RANK_MODELS_STORE") or str(cache / "rank-models"))

    def __repr__(self) -> str:
        return "USER_STORE"


USER_STORE = UserStore()


@dataclass(frozen=True, order=True)
class Remote:
    """A path on an object store, which has no folders: only names of files, with slashes in them.

    Every failure is an OSError, whatever the library behind it raises.

    Attributes:
        path: as the file system writes it, without the protocol.
        system: the file system, fsspec's.
    """

    path: str
    system: Any = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Remote:
        """The path without its last part."""
        return Remote(self.path.rpartition("/")[0], self.system)

    def __truediv__(self, name: str) -> Remote:
        return Remote(f"{self.path}/{name}", self.system)

    def __str__(self) -> str:
        return str(self.system.unstrip_protocol(self.path))

    def with_suffix(self, suffix: str) -> Remote:
        """The path with another suffix."""
        return self.parent / f"{self.name.rpartition('.')[0]}{suffix}"

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a folder is there as soon as a file in it is."""

    def check(self) -> None:
        """Write and remove a file.

        Raises:
            OSError: that is not possible.
        """
        probe = self / f".{uuid.uuid4().hex}.tmp"
        probe.write_bytes(b"")
        probe.unlink(missing_ok=True)  # another process may prune

    def iterdir(self) -> Iterator[Remote]:
        """What lies directly below, asked anew each time: other machines write here, too."""
        with _as_os_errors():
            self.system.invalidate_cache(self.path)
            found = self.system.ls(self.path, detail=False)
        return (Remote(path.rstrip("/"), self.system) for path in found if path.rstrip("/") != self.path)

    def glob(self, pattern: str) -> Iterator[Remote]:
        """The files directly below whose names fit a pattern."""
        try:
            found = self.iterdir()
        except FileNotFoundError:
            return iter(())
        return (entry for entry in found if fnmatchcase(entry.name, pattern))

    def is_dir(self) -> bool:
        """Say whether anything lies below."""
        with _as_os_errors():
            return bool(self.system.isdir(self.path))

    def is_file(self) -> bool:
        """Say whether there is a file of this name."""
        with _as_os_errors():
            return bool(self.system.isfile(self.path))

    def read_bytes(self) -> bytes:
        """The content of the file."""
        with _as_os_errors():
            return bytes(self.system.cat_file(self.path))

    def write_bytes(self, content: bytes) -> None:
        """Put the file there in one request: a reader sees all of it or none."""
        with _as_os_errors():
            self.system.pipe_file(self.path, content)

    def rename(self, target: Remote) -> None:
        """Copy to another path, and remove; object stores know no renaming."""
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
    """The libraries behind fsspec have errors of their own: no credentials, no network, no such bucket."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(next(iter(str(error).splitlines()), type(error).__name__)) from error


Place = Path | Remote
"""A local path, or one on an object store."""


def put(target: Place, content: bytes) -> None:
    """Put a file there in one piece: a reader sees all of it or none. See `ranker.files.saving.save`."""
    if isinstance(target, Remote):
        target.write_bytes(content)
        return
    save(target, content)


def contents_of(file: Place) -> bytes:
    """What is in a file.

    Raises:
        OSError: it cannot be read, or is no regular one: a pipe would be waited for.
    """
    if isinstance(file, Remote):
        return file.read_bytes()
    with os.fdopen(open_regular(file), "rb") as raw:
        return raw.read()


@contextmanager
def failures(path: Place, done: str) -> Iterator[None]:
    """Whatever a disk refuses meanwhile is told in one line, with the path and what could not be done to it."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be {done}: {error.strerror or error}") from error


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep other processes from a file that is replaced again and again, by a lock on another one beside it.

    Of a link it is the file that it leads to.

    Raises:
        BlockingIOError: another process holds it.
        OSError: there can be no file beside it.
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
        os.close(number)  # whoever held it before has removed it meanwhile
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        os.close(number)
