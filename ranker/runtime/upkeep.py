"""A store looked after: what is kept in it, whether all of it is sound, and what can go."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ranker.errors import StoreError
from ranker.records import parse_json
from ranker.runtime.storage import Place, Remote, failures
from ranker.runtime.store import (
    CALLED,
    FOLDER,
    NOTES,
    is_key,
    key_digest,
    listed,
    looked_at,
    name_earlier,
)

ABANDONED = 60.0
"""Seconds after which a temporary file is nobody's: a shard is written in a fraction of one."""


@dataclass(frozen=True)
class StoredEntry:
    """What is kept under one key.

    Attributes:
        folder: where.
        key: the named fields; empty where ``key.json`` is damaged; it is written anew with the next row.
        called: the model's name, as the last run called it that computed a row; empty where that is not known.
        rows: how many texts are known; of scores, how many measures on some rows.
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
        kind = "scores" if "scores" in self.key else self.key.get("backend", self.key.get("answers", "?"))
        what = f"{kind}:{settings}".rstrip(":")
        source = self.key.get("source") or {}
        model, dtype = str(source.get("content", "?"))[:12], source.get("dtype", "?")
        model += f" {self.called!r}" if self.called else ""  # which anybody may have written into a shared store
        return f"{self.folder.name[:12]}  {self.rows:>6,} rows  {self.size:>10,} bytes  model {model}  {dtype}  {what}"


def contents(root: Place) -> list[StoredEntry]:
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
    files: dict[Place, bool] = {}
    for folder in _folders(root):
        files[folder / "key.json"] = _is_described(folder)
        files |= {shard: one.sound for shard, one in looked_at(folder).items()}
    return len(files), [file for file, sound in files.items() if not sound]


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
        with failures(file, "removed"):
            file.unlink(missing_ok=True)
        yield file, why


def _temporary(folder: Place, abandoned: float) -> list[tuple[Place, str]]:
    with failures(folder, "read"):
        found = [file for file in listed(folder, ".*.tmp") if _TEMPORARY.fullmatch(file.name)]
        return [(file, "temporary") for file in found if _age(file) >= abandoned]


def _useless(folder: Place, abandoned: float) -> Iterator[tuple[Place, str]]:
    yield from _temporary(folder, abandoned)
    shards = looked_at(folder)
    for file in [*listed(folder, "*.damaged"), *(shard for shard, one in shards.items() if not one.sound)]:
        yield file, "damaged"
    later: set[bytes] = set()
    for shard, one in reversed(shards.items()):  # of a text's rows the last one read counts
        if one.names and one.names <= later:
            yield shard, "duplicate"
        later |= one.names


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
    """The folder of each key."""
    with failures(root, "read"):
        if not root.is_dir():
            raise StoreError(f"`store`: there is no folder {root}")
        entries = _entries(root)
        earlier, keys = name_earlier(root), root / FOLDER
        strangers = [entry for entry in entries if entry not in earlier and not _TEMPORARY.fullmatch(entry.name)]
        if strangers and keys not in entries:
            raise StoreError(f"`store`: {root} is no store; it holds other things, such as {strangers[0].name!r}")
        return [entry for entry in _entries(keys) if is_key(entry)] if keys.is_dir() else []


def _entries(folder: Place) -> list[Place]:
    found: list[Place] = sorted(folder.iterdir())
    return found


_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.tmp")


def _kept(folder: Place) -> StoredEntry:
    key, called = _key(folder / "key.json") if _is_described(folder) else ({}, "")
    shards = looked_at(folder).values()
    names = set[bytes]().union(*(shard.names for shard in shards))
    return StoredEntry(folder, key, called, len(names), sum(shard.size for shard in shards))


def _is_described(folder: Place) -> bool:
    """Say whether the ``key.json`` of a key is what was written."""
    file = folder / "key.json"
    try:
        return file.is_file() and key_digest(_key(file)[0])[:32] == file.parent.name
    except (ValueError, TypeError):
        return False


def _key(file: Place) -> tuple[dict[str, Any], str]:
    """The key in a ``key.json``, and what its model is called.

    Raises:
        ValueError, TypeError: there is none in it.
        StoreError: it cannot be read.
    """
    with failures(file, "read"):
        read = dict(parse_json(file.read_bytes()))
    called = read.pop(CALLED, "")
    read.pop(NOTES, None)
    return read, called if isinstance(called, str) else ""
