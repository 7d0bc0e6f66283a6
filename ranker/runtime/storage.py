"""Places of a store: a local folder, or a prefix of an object store such as S3, through fsspec.

A store needs few operations of a place: list, read, write, rename and remove whole files. A local one is a
`pathlib.Path`; `Remote` has the same few methods by the same names. `put` writes a file so that nobody sees half of it,
and `put_new` one whose name is the checksum of its content, which is never written twice.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ranker.errors import StoreError
from ranker.files.buckets import cache_folder, file_system, request
from ranker.files.saving import save
from ranker.limits import open_regular


def place(text: str) -> Path | Remote:
    """Return the place that ``--store`` names: a folder, or a URL such as ``s3://bucket/prefix``.

    Args:
        text: a path, or a URL of a protocol that fsspec knows; ``file://`` is a local folder.

    Example:
        >>> place("memory://shared/store") / "key.json"
        Remote(path='/shared/store/key.json')
    """
    if "://" not in text:
        return Path(text)
    from fsspec.implementations.local import LocalFileSystem

    system, path = file_system(text, "store")
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
        """Return the folder, or the prefix of an object store."""
        return place(os.environ.get("RANK_MODELS_STORE") or str(self.local()))

    def local(self) -> Path:
        """Return the folder in the user's cache."""
        return cache_folder()

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
        """Write and remove a file; an OSError if that is not possible."""
        probe = self / f".{uuid.uuid4().hex}.tmp"
        probe.write_bytes(b"")
        probe.unlink(missing_ok=True)  # another process may prune

    def iterdir(self) -> Iterator[Remote]:
        """Yield the entries directly below, listed anew each time, since other machines write here, too."""
        self.system.invalidate_cache(self.path)
        paths = request(lambda: self.system.ls(self.path, detail=False))
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
        return bool(request(lambda: self.system.isdir(self.path)))

    def is_file(self) -> bool:
        """Return whether there is a file of this name."""
        return bool(request(lambda: self.system.isfile(self.path)))

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        return bytes(request(lambda: self.system.cat_file(self.path)))

    def write_bytes(self, content: bytes) -> None:
        """Write the file in one request: a reader sees all of it or none."""
        request(lambda: self.system.pipe_file(self.path, content))

    def create(self, content: bytes) -> None:
        """Write the file in one request unless there is one of this name, where the service can tell."""
        try:
            request(lambda: self.system.pipe_file(self.path, content, mode="create"))
        except NotImplementedError:
            self.write_bytes(content)

    def rename(self, target: Remote) -> None:
        """Copy to another path, and remove; object stores cannot rename."""
        request(lambda: self.system.mv(self.path, target.path))

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file."""
        try:
            request(lambda: self.system.rm_file(self.path))
        except FileNotFoundError:
            if not missing_ok:
                raise


Place = Path | Remote
"""Local path, or one on an object store."""


def put(target: Place, content: bytes) -> None:
    """Write a file as a whole: a reader sees all of it or none. See `ranker.files.saving.save`."""
    if isinstance(target, Remote):
        target.write_bytes(content)
        return
    save(target, content)


def put_new(target: Place, content: bytes) -> None:
    """Write a file whose name is the checksum of its content; one that is there already is the same.

    So several writers, and attempts whose answer was lost, never replace what others read.
    """
    if not isinstance(target, Remote):
        put(target, content)
        return
    with suppress(FileExistsError):
        target.create(content)


def contents_of(file: Place) -> bytes:
    """Return the content of a file."""
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
        number = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
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
