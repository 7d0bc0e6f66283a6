"""The store: attributions and probabilities are computed once and kept in Parquet, keyed by what can change them.

A store is a folder of folders. Each inner folder belongs to one key, the sha256 over named fields (the checkpoint's
content, the label map, the backend and its settings, library versions); it holds ``key.json``, the fields in the
open, and one Parquet shard for each block of examples that was computed. A shard is named by the sha256 of its own
content, so a damaged one gives itself away; it is set aside and computed anew. Rows are found by the examples' texts,
so a renamed data set or another order of rows costs nothing.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from factors.types import Attributions, Example
from ranker.datasets.identity import text_key
from ranker.errors import StoreError
from ranker.records import digest, parse_json
from ranker.runtime.storage import Remote, place

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
BLOCK = 64
"""Examples a shard: what a crash can cost, for each model, beside what its backend is at."""
ABANDONED = 60.0
"""Seconds after which a temporary file is nobody's: a shard is written in a fraction of one."""

CALLED = "called"
"""The field of ``key.json`` that is no part of the key: the model's name, as the last run called it."""

Place = Path | Remote
"""A local path, or one on an object store."""
Compute = Callable[[list[Example]], Iterable[Attributions]]


def key_digest(key: Mapping[str, Any]) -> str:
    """What a key's folder is named after: see `records.digest`; keys of another format are others."""
    return digest({"schema": SCHEMA_VERSION, **key})


class Store:
    """A folder that remembers.

    Args:
        root: the folder, made if it is not there; or a place on an object store (see `ranker.runtime.storage.place`).

    Raises:
        StoreError: the folder cannot be made or written to.
    """

    def __init__(self, root: Place) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
            if isinstance(root, Remote):
                root.check()
            else:
                with tempfile.TemporaryFile(dir=root):
                    pass
        except OSError as error:
            raise StoreError(
                f"`--store`: {root} cannot be written to ({error.strerror or error}); name another folder"
            ) from error

    def rows(
        self, key: Mapping[str, Any], examples: Sequence[Example], compute: Compute, called: str = ""
    ) -> list[Attributions]:
        """One row for each example, in order: remembered ones from disk, the others computed and kept.

        Args:
            key: named fields, everything that can change a number but the example itself.
            examples: any examples; equal texts are computed once.
            compute: called with the examples that are missing, if any; yields their rows in order. What it yielded
                before it was interrupted is kept, in blocks of `BLOCK`.
            called: what the model is called, for `contents` to tell; no row is found by it.

        Raises:
            StoreError: the disk refuses to be read or written.
        """
        folder = self._folder(key)
        known = self._read(folder)
        wanted = {text_key(example): example for example in examples}
        missing = {name: example for name, example in wanted.items() if name not in known}
        if missing:
            self._describe(folder, key, called)
            block: dict[str, Attributions] = {}
            try:
                for name, row in zip(missing, compute(list(missing.values())), strict=True):
                    block[name] = known[name] = row
                    if len(block) == BLOCK:
                        self._write(folder, block)
                        block = {}
            finally:
                if block:
                    self._write(folder, block)
        return [known[text_key(example)] for example in examples]

    def missing(self, key: Mapping[str, Any], examples: Sequence[Example]) -> int:
        """How many different texts of the examples are not known under the key."""
        return len({text_key(example) for example in examples} - self._read(self._folder(key)).keys())

    def _folder(self, key: Mapping[str, Any]) -> Place:
        return self.root / key_digest(key)[:32]

    def _read(self, folder: Place) -> dict[str, Attributions]:
        rows: dict[str, Attributions] = {}
        for shard in _shards(folder):
            try:
                rows |= {record.pop("example"): _attributions(record) for record in _records(shard)}
            except (ValueError, TypeError, OverflowError) as error:  # of other types than ours, though Parquet
                log.warning("%s is damaged (%s); it is set aside, and its rows are computed anew", shard, error)
                with _failures(shard, "renamed"), suppress(FileNotFoundError):  # another process was faster
                    shard.rename(shard.with_suffix(".damaged"))  # type: ignore[arg-type]  # both are of one kind
        return rows

    def _describe(self, folder: Place, key: Mapping[str, Any], called: str) -> None:
        with _failures(folder, "written to"):
            folder.mkdir(exist_ok=True)
            if isinstance(folder, Path):
                _sync(folder.parent)
            _replace(folder / "key.json", json.dumps({**key, CALLED: called}, indent=1, sort_keys=True).encode())

    def _write(self, folder: Place, block: Mapping[str, Attributions]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.Table.from_pylist([{"example": name, **_record(row)} for name, row in block.items()])
        sink = pa.BufferOutputStream()
        parquet.write_table(table, sink, compression="zstd")
        content = sink.getvalue().to_pybytes()
        with _failures(folder, "written to"):
            _replace(folder / _name(content), content)


def store_of(store: Store | str | Path | None) -> Store | None:
    """A store, or the one in a folder or at a URL, which is made if it is not there."""
    return Store(place(str(store))) if isinstance(store, (str, Path)) else store


@dataclass(frozen=True)
class Kept:
    """What is kept under one key.

    Attributes:
        folder: where.
        key: the named fields; empty where ``key.json`` is damaged; it is written anew with the next row.
        called: the model's name, as the last run called it that computed a row; empty where that is not known.
        rows: how many texts are known.
        size: bytes of its shards.
    """

    folder: Place
    key: Mapping[str, Any]
    called: str
    rows: int
    size: int

    def __str__(self) -> str:
        """One line of a list."""
        settings = ",".join(f"{name}={value}" for name, value in (self.key.get("settings") or {}).items())
        method = f"{self.key.get('method', '?')}:{settings}".rstrip(":")
        model, dtype = str(self.key.get("model", "?"))[:12], self.key.get("dtype", "?")
        model += f" {self.called!r}" if self.called else ""  # which anybody may have written into a shared store
        return (
            f"{self.folder.name[:12]}  {self.rows:>6,} rows  {self.size:>10,} bytes  model {model}  {dtype}  {method}"
        )


def contents(root: Place) -> list[Kept]:
    """What is kept in a store, key by key; damaged shards count nothing.

    Args:
        root: the store's folder.

    Raises:
        StoreError: it is no store, or cannot be read.
    """
    return [_kept(folder) for folder in _folders(root)]


def verify(root: Place) -> tuple[int, list[Place]]:
    """Compare every shard with its checksum, and every ``key.json`` with its folder's name. Nothing is changed.

    Args:
        root: the store's folder.

    Returns:
        How many files were compared, and those that are not what was written.

    Raises:
        StoreError: it is no store, or cannot be read.
    """
    files = [file for folder in _folders(root) for file in [folder / "key.json", *_shards(folder)]]
    return len(files), [file for file in files if not _sound(file)]


def prune(root: Place, abandoned: float = ABANDONED) -> Iterator[tuple[Place, str]]:
    """Remove what no run will read again. The answers of the store stay what they are, to the last bit.

    That is: what crashed processes were writing, shards that are damaged or were set aside as such, and shards whose
    every row stands in another that is read after them, as two processes at the same work can leave.

    Args:
        root: the store's folder.
        abandoned: seconds after which a temporary file is nobody's.

    Yields:
        Each file that was removed, and why.

    Raises:
        StoreError: it is no store, or a file cannot be removed.
    """
    folders = _folders(root)
    for file, why in chain(_temporary(root, abandoned), *(_useless(folder, abandoned) for folder in folders)):
        with _failures(file, "removed"):
            file.unlink(missing_ok=True)
        yield file, why


def _temporary(folder: Place, abandoned: float) -> list[tuple[Place, str]]:
    with _failures(folder, "read"):
        found = [file for file in _listed(folder, ".*.tmp") if _TEMPORARY.fullmatch(file.name)]
        return [(file, "temporary") for file in found if _age(file) >= abandoned]


def _useless(folder: Place, abandoned: float) -> Iterator[tuple[Place, str]]:
    yield from _temporary(folder, abandoned)
    for file in [*_listed(folder, "*.damaged"), *_shards(folder)]:
        if not _sound(file):
            yield file, "damaged"
    later: set[str] = set()
    for shard in reversed(_shards(folder)):  # of a text's rows the last one read counts
        names = _names(shard) if _sound(shard) else set()
        if names and names <= later:
            yield shard, "duplicate"
        later |= names


def _age(file: Place) -> float:
    """Seconds since a file was written to; none where its writer has renamed it by now.

    An object store has only the file that `Remote.check` writes and removes; one that is left over is of no age.
    """
    if isinstance(file, Remote):
        return float("inf")
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _folders(root: Place) -> list[Place]:
    """The folder of each key. Others' folders are not taken for one, whatever their names: `prune` removes files."""
    with _failures(root, "read"):
        if not root.is_dir():
            raise StoreError(f"`--store`: there is no folder {root}")
        entries: list[Place] = sorted(root.iterdir())
        entries = [entry for entry in entries if not _TEMPORARY.fullmatch(entry.name)]
        found = [entry for entry in entries if _FOLDER.fullmatch(entry.name) and (entry / "key.json").is_file()]
    if entries and not found:
        raise StoreError(f"`--store`: {root} is no store; it holds other things, such as {entries[0].name!r}")
    return found


_FOLDER = re.compile(r"[0-9a-f]{32}")
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.tmp")


def _kept(folder: Place) -> Kept:
    described = folder / "key.json"
    key, called = _key(described) if _sound(described) else ({}, "")
    shards = [shard for shard in _shards(folder) if _sound(shard)]
    names = set[str]().union(*map(_names, shards))
    with _failures(folder, "read"):
        return Kept(folder, key, called, len(names), sum(len(shard.read_bytes()) for shard in shards))


def _shards(folder: Place) -> list[Place]:
    """The shards of a key, in the order in which they are read."""
    return _listed(folder, "*.parquet")


def _listed(folder: Place, pattern: str) -> list[Place]:
    with _failures(folder, "read"):
        return sorted(folder.glob(pattern))


def _sound(file: Place) -> bool:
    """Say whether a shard, or a ``key.json``, is what was written."""
    try:
        if file.name == "key.json":
            return key_digest(_key(file)[0])[:32] == file.parent.name
        _records(file)
    except (ValueError, TypeError):
        return False
    return True


def _key(file: Place) -> tuple[dict[str, Any], str]:
    """The key in a ``key.json``, and what its model is called.

    Raises:
        ValueError, TypeError: there is none in it.
        StoreError: it cannot be read.
    """
    with _failures(file, "read"):
        read = dict(parse_json(file.read_bytes()))
    called = read.pop(CALLED, "")
    return read, called if isinstance(called, str) else ""


def _names(shard: Place) -> set[str]:
    """The names of the examples whose rows are in a shard."""
    return {record["example"] for record in _records(shard, ["example"])}


FIELDS = tuple(field.name for field in fields(Attributions))
COLUMNS = ("example", *FIELDS)
"""Of a shard."""


def _records(shard: Place, columns: Sequence[str] = COLUMNS) -> list[dict[str, Any]]:
    """The rows of a shard as plain columns; none where another process has removed it by now.

    Raises:
        ValueError: it is not what was written, or nothing of ours.
        StoreError: it cannot be read.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with _failures(shard, "read"):
        try:
            content = shard.read_bytes()
        except FileNotFoundError:
            return []
    if _name(content) != shard.name:
        raise ValueError("its checksum is another")
    try:
        # without Arrow's threads: a shard is small, and a process that ends while they do can be aborted
        rows = parquet.ParquetFile(pa.BufferReader(content)).read(columns=list(columns), use_threads=False).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise ValueError("it holds no rows of ours") from error
    if rows and set(rows[0]) != set(columns):
        raise ValueError("it holds no rows of ours")
    return rows  # type: ignore[no-any-return]


def _name(content: bytes) -> str:
    """A shard's file name: the checksum of what is in it."""
    return f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"


def _record(row: Attributions) -> dict[str, Any]:
    """A row as plain columns; arrays become flat lists."""
    values = {name: getattr(row, name) for name in FIELDS}
    return {name: value.ravel().tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def _attributions(record: Mapping[str, Any]) -> Attributions:
    """The inverse of `_record`, to the last bit."""
    return Attributions(
        probs=np.array(record["probs"], np.float64),
        target=record["target"],
        tokens=tuple(record["tokens"]),
        segment=np.array(record["segment"], np.int64),
        word=np.array(record["word"], np.int64),
        offsets=np.array(record["offsets"], np.int64).reshape(-1, 2),
        scores=np.array(record["scores"], np.float64),
        method=record["method"],
        residual=record["residual"],
        effort=record["effort"],
    )


def _replace(target: Place, content: bytes) -> None:
    """Write beside and rename, so that a reader sees all of a file or none of it; and bring both to the disk.

    An object store puts a file there in one piece; there is nothing to rename.
    """
    if isinstance(target, Remote):
        target.write_bytes(content)
        return
    beside = target.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        with beside.open("xb") as file:  # readable by whom the umask says, unlike those of tempfile
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)  # it is gone where Ctrl-C came after the renaming
        raise
    _sync(target.parent)


def _sync(folder: Path) -> None:
    """Bring a folder's list of names to the disk, where the system lets one (Windows does not)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _failures(path: Place, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be {done}: {error.strerror or error}") from error
