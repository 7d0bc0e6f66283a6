"""Upkeep of a store: its contents, checks for damage, and removal of useless files."""

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
    matching_files,
    name_earlier,
    summarize_shards,
)

ABANDONED = 60.0
"""Age in seconds of a temporary file that no process writes: a shard takes a fraction of one."""


@dataclass(frozen=True)
class StoredEntry:
    """Rows under one key.

    Attributes:
        key: the named fields; empty where ``key.json`` is damaged; it is written anew with the next row.
        called: the model's name in the last run that computed a row; empty where unknown.
        rows: number of texts; of scores, of measures on some rows.
    """

    folder: Place
    key: Mapping[str, Any]
    called: str
    rows: int
    size: int

    def __str__(self) -> str:
        """Return one line of a list."""
        settings = ",".join(f"{name}={value}" for name, value in (self.key.get("settings") or {}).items())
        kind = "scores" if "scores" in self.key else self.key.get("backend", self.key.get("answers", "?"))
        kind = f"{kind}:{settings}".rstrip(":")
        source = self.key.get("source") or {}
        model, dtype = str(source.get("content", "?"))[:12], source.get("dtype", "?")
        model += f" {self.called!r}" if self.called else ""  # untrusted in a shared store
        return f"{self.folder.name[:12]}  {self.rows:>6,} rows  {self.size:>10,} bytes  model {model}  {dtype}  {kind}"


def contents(root: Place) -> list[StoredEntry]:
    """List the contents of a store, key by key, without damaged shards; a StoreError if it is no store."""
    return [_entry(folder) for folder in _folders(root)]


def verify(root: Place) -> tuple[int, list[Place]]:
    """Compare every shard with its checksum, and every ``key.json`` with its folder's name. Nothing is changed.

    Returns:
        The number of files compared, and those that are damaged.
    """
    files: dict[Place, bool] = {}
    for folder in _folders(root):
        files[folder / "key.json"] = _is_described(folder)
        files |= {shard: summary.sound for shard, summary in summarize_shards(folder).items()}
    return len(files), [file for file, sound in files.items() if not sound]


def prune(root: Place, abandoned: float = ABANDONED) -> Iterator[tuple[Place, str]]:
    """Remove files that no run will read again, and yield each with the reason. The answers stay unchanged.

    These are temporary files of crashed processes (of that age in seconds), damaged shards, and shards whose every row
    is in a later one, as two processes at the same work can leave.
    """
    folders = _folders(root)
    for file, reason in chain(_temporary(root, abandoned), *(_useless(folder, abandoned) for folder in folders)):
        with failures(file, "removed"):
            file.unlink(missing_ok=True)
        yield file, reason


def _temporary(folder: Place, abandoned: float) -> list[tuple[Place, str]]:
    with failures(folder, "read"):
        files = [file for file in matching_files(folder, ".*.tmp") if _TEMPORARY.fullmatch(file.name)]
        return [(file, "temporary") for file in files if _age(file) >= abandoned]


def _useless(folder: Place, abandoned: float) -> Iterator[tuple[Place, str]]:
    yield from _temporary(folder, abandoned)
    shards = summarize_shards(folder)
    for file in [
        *matching_files(folder, "*.damaged"),
        *(shard for shard, summary in shards.items() if not summary.sound),
    ]:
        yield file, "damaged"
    later: set[bytes] = set()
    for shard, summary in reversed(shards.items()):  # the last row of a text counts
        if summary.names and summary.names <= later:
            yield shard, "duplicate"
        later |= summary.names


def _age(file: Place) -> float:
    """Return the seconds since a file was written to; 0 where its writer has renamed it by now."""
    # an object store has only the temporary file of `Remote.check`, which it removes
    if isinstance(file, Remote):
        return float("inf")
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _folders(root: Place) -> list[Place]:
    """Return the folder of each key."""
    with failures(root, "read"):
        if not root.is_dir():
            raise StoreError(f"`store`: there is no folder {root}", option="store", value=root)
        entries: list[Place] = sorted(root.iterdir())
        earlier, keys = name_earlier(root), root / FOLDER
        strangers = [entry for entry in entries if entry not in earlier and not _TEMPORARY.fullmatch(entry.name)]
        if strangers and keys not in entries:
            text = f"`store`: {root} is no store; it holds other things, such as {strangers[0].name!r}"
            raise StoreError(text, option="store", value=root, place=str(strangers[0]))
        folders: list[Place] = sorted(keys.iterdir()) if keys.is_dir() else []
        return [folder for folder in folders if is_key(folder)]


_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.tmp")


def _entry(folder: Place) -> StoredEntry:
    key, called = _key(folder / "key.json") if _is_described(folder) else ({}, "")
    shards = summarize_shards(folder).values()
    names = set[bytes]().union(*(shard.names for shard in shards))
    return StoredEntry(folder, key, called, len(names), sum(shard.size for shard in shards))


def _is_described(folder: Place) -> bool:
    """Return whether the ``key.json`` of a key is undamaged."""
    file = folder / "key.json"
    try:
        return file.is_file() and key_digest(_key(file)[0])[:32] == file.parent.name
    except (ValueError, TypeError):
        return False


def _key(file: Place) -> tuple[dict[str, Any], str]:
    """Return the key in a ``key.json``, and its model's name; ValueError or TypeError if there is none in it."""
    with failures(file, "read"):
        content = dict(parse_json(file.read_bytes()))
    called = content.pop(CALLED, "")
    content.pop(NOTES, None)
    return content, called if isinstance(called, str) else ""
