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
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from factors.types import Attributions, Example
from ranker.errors import StoreError

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
BLOCK = 64
"""Examples a shard: what a crash can cost, for each model."""

Compute = Callable[[list[Example]], Iterable[Attributions]]


def digest(fields: Mapping[str, Any]) -> str:
    """The sha256 over named fields, as canonical JSON.

    Raises:
        TypeError: a field that JSON cannot name; nothing is keyed by an object's address or by chance.

    Example:
        >>> digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
        True
    """
    text = json.dumps({"schema": SCHEMA_VERSION, **fields}, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def example_key(example: Example) -> str:
    """What identifies an example's text: neither its id nor its label changes what a model makes of it."""
    return digest({"segments": list(example.segments)})


class Store:
    """A folder that remembers.

    Args:
        root: the folder; it is made if it is not there.

    Raises:
        StoreError: the folder cannot be made or written to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                pass
        except OSError as error:
            raise StoreError(
                f"`--store`: {root} cannot be written to ({error.strerror}); name another folder"
            ) from error

    def rows(self, key: Mapping[str, Any], examples: Sequence[Example], compute: Compute) -> list[Attributions]:
        """One row for each example, in order: remembered ones from disk, the others computed and kept.

        Args:
            key: named fields, everything that can change a number but the example itself.
            examples: any examples; equal texts are computed once.
            compute: called with the examples that are missing, if any; yields their rows in order. What it yielded
                before it was interrupted is kept, in blocks of `BLOCK`.

        Raises:
            StoreError: the disk refuses to be read or written.
        """
        folder = self._folder(key)
        known = self._read(folder)
        wanted = {example_key(example): example for example in examples}
        missing = {name: example for name, example in wanted.items() if name not in known}
        if missing:
            self._describe(folder, key)
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
        return [known[example_key(example)] for example in examples]

    def missing(self, key: Mapping[str, Any], examples: Sequence[Example]) -> int:
        """How many different texts of the examples are not known under the key."""
        return len({example_key(example) for example in examples} - self._read(self._folder(key)).keys())

    def _folder(self, key: Mapping[str, Any]) -> Path:
        return self.root / digest(key)[:32]

    def _read(self, folder: Path) -> dict[str, Attributions]:
        import pyarrow as pa
        from pyarrow import parquet

        rows: dict[str, Attributions] = {}
        for shard in sorted(folder.glob("*.parquet")):
            with _failures(shard, "read"):
                content = shard.read_bytes()
            if _name(content) != shard.name:
                log.warning("%s is damaged; it is set aside, and its rows are computed anew", shard)
                with _failures(shard, "renamed"):
                    shard.rename(shard.with_suffix(".damaged"))
                continue
            table = parquet.read_table(pa.BufferReader(content))
            rows.update((record.pop("example"), _attributions(record)) for record in table.to_pylist())
        return rows

    def _describe(self, folder: Path, key: Mapping[str, Any]) -> None:
        with _failures(folder, "written to"):
            folder.mkdir(exist_ok=True)
            _replace(folder / "key.json", json.dumps(key, indent=1, sort_keys=True).encode())

    def _write(self, folder: Path, block: Mapping[str, Attributions]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.Table.from_pylist([{"example": name, **_record(row)} for name, row in block.items()])
        sink = pa.BufferOutputStream()
        parquet.write_table(table, sink, compression="zstd")
        content = sink.getvalue().to_pybytes()
        with _failures(folder, "written to"):
            _replace(folder / _name(content), content)


def _name(content: bytes) -> str:
    """A shard's file name: the checksum of what is in it."""
    return f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"


def _record(row: Attributions) -> dict[str, Any]:
    """A row as plain columns; arrays become lists, offsets one flat list."""
    return {
        "probs": row.probs.tolist(),
        "target": row.target,
        "tokens": list(row.tokens),
        "segment": row.segment.tolist(),
        "word": row.word.tolist(),
        "offsets": row.offsets.ravel().tolist(),
        "scores": row.scores.tolist(),
        "method": row.method,
        "residual": row.residual,
        "effort": row.effort,
    }


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


def _replace(target: Path, content: bytes) -> None:
    """Write beside and rename, so that a reader sees all of a file or none of it."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", suffix=".tmp", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise


@contextmanager
def _failures(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be {done}: {error.strerror}") from error
