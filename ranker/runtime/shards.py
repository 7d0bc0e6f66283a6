"""The files of a store: Parquet shards of answers and of attributions, each of which says what it is and whose.

A shard is named by the sha256 of its own content, and carries the digest of its key. So one that is damaged gives
itself away, and so does one that lies in the folder of another key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from factors.types import Attributions
from ranker.tasks.classes import Classes

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Of shards and of keys: raised when either is written in another way. Folders of other formats are left alone."""

NAME = "example"
"""The column of the names of examples' texts: see `datasets.identity.text_names`."""

KEY = b"rank-models key"
"""Where a shard carries the digest of its key, with the number of the format."""

FIELDS = tuple(field.name for field in fields(Attributions))
LISTS = ("probs", "tokens", "segment", "word", "offsets", "scores")
"""The columns of attributions that hold a list in each row."""


def answers(names: Sequence[bytes], columns: Mapping[str, np.ndarray]) -> pa.Table:
    """Answers as a table: an array whose first axis is N becomes a column; a second axis, lists of one length."""
    import pyarrow as pa

    table = {NAME: pa.array(names, pa.binary(32))}
    for name, values in columns.items():
        flat = pa.array(values.reshape(-1))
        table[name] = flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.table(table)


def columns_of(table: pa.Table) -> dict[str, np.ndarray]:
    """The inverse of `answers`, but for the names, to the last bit."""
    import pyarrow as pa

    found = {}
    for name in table.column_names:
        if name != NAME:
            column = table.column(name).combine_chunks()
            listed = pa.types.is_fixed_size_list(column.type)
            values = column.flatten() if listed else column
            flat = values.to_numpy(zero_copy_only=False).copy()
            found[name] = flat.reshape(len(column), column.type.list_size) if listed else flat
    return found


def attributions(names: Sequence[bytes], rows: Sequence[Attributions]) -> pa.Table:
    """Attributions as a table, a row each; arrays become lists."""
    import pyarrow as pa

    plain = [{NAME: name, **_plain(row)} for name, row in zip(names, rows, strict=True)]
    return pa.Table.from_pylist(plain, schema=_attributions())


def attributions_of(table: pa.Table) -> list[Attributions]:
    """The inverse of `attributions`, but for the names, to the last bit."""
    return [
        Attributions(
            probs=np.array(row["probs"], np.float64),
            target=row["target"],
            tokens=tuple(row["tokens"]),
            segment=np.array(row["segment"], np.int64),
            word=np.array(row["word"], np.int64),
            offsets=np.array(row["offsets"], np.int64).reshape(-1, 2),
            scores=np.array(row["scores"], np.float64),
            backend=row["backend"],
            residual=row["residual"],
            effort=row["effort"],
        )
        for row in table.to_pylist()
    ]


def holds_answers(table: pa.Table) -> bool:
    """Whether it is a table of `answers`, not of `attributions`."""
    return bool(table.column_names != [NAME, *FIELDS])


def written(table: pa.Table, key: str) -> bytes:
    """A table as the content of a shard.

    Args:
        table: of `answers` or `attributions`.
        key: the digest of the key.
    """
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    marked = table.replace_schema_metadata({KEY: f"{FORMAT} {key}".encode()})
    parquet.write_table(marked, sink, compression="zstd", use_dictionary=False)
    return bytes(sink.getvalue().to_pybytes())


def read(content: bytes, name: str, key: str | None, columns: Sequence[str] | None = None) -> pa.Table:
    """The table in a shard.

    Args:
        content: of the file.
        name: the file's, which is its checksum.
        key: the digest of the key that it should be of, or how that begins; None where any will do.
        columns: those that are wanted; None for all.

    Raises:
        ValueError: it is not what was written, is of another key, or holds nothing of ours.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if named(content) != name:
        raise ValueError("its checksum is another")
    try:
        # without Arrow's threads: a shard is small, and a process that ends while they do can be aborted
        file = parquet.ParquetFile(pa.BufferReader(content))
        table = file.read(columns=None if columns is None else list(columns), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise ValueError("it holds no rows of ours") from error
    number, _, own = (table.schema.metadata or {}).get(KEY, b"").decode(errors="replace").partition(" ")
    wanted = {NAME} if columns is None else set(columns)
    if number != str(FORMAT) or not wanted <= set(table.column_names) or table.schema.field(NAME).type != pa.binary(32):
        raise ValueError("it holds no rows of ours")
    if key is not None and not own.startswith(key):
        raise ValueError("it is of another key")
    if columns is None:
        _check(table)
    return table.replace_schema_metadata(None)


def _check(table: pa.Table) -> None:
    """Refuse a table that `columns_of` and `attributions_of` could not read.

    Raises:
        ValueError: so it is.
    """
    import pyarrow as pa
    from pyarrow import compute

    lists = [column for column in table.columns if pa.types.is_nested(column.type)]
    if any(column.null_count for column in [*table.columns, *map(compute.list_flatten, lists)]):
        raise ValueError("it holds no rows of ours")
    if not holds_answers(table):
        if not table.schema.remove_metadata().equals(_attributions()):
            raise ValueError("it holds no rows of ours")
        size = {name: compute.list_value_length(table.column(name)).to_numpy() for name in LISTS}
        target, tokens = table.column("target").to_numpy(), size["tokens"]
        alike = [size[name] == tokens for name in ("segment", "word", "scores")] + [size["offsets"] == 2 * tokens]
        if not np.all([*alike, target >= 0, target < size["probs"]]):
            raise ValueError("it holds no rows of ours")
    else:
        try:
            Classes.of_columns(columns_of(table))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError("it holds no rows of ours") from error


def named(content: bytes) -> str:
    """A shard's file name: the checksum of what is in it."""
    return f"{hashlib.sha256(content).hexdigest()[:32]}.parquet"


def _plain(row: Attributions) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in FIELDS}
    return {name: value.ravel().tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def _attributions() -> pa.Schema:
    import pyarrow as pa

    floats, whole = pa.list_(pa.float64()), pa.list_(pa.int64())
    kinds = {
        NAME: pa.binary(32),
        "probs": floats,
        "target": pa.int64(),
        "tokens": pa.list_(pa.string()),
        "segment": whole,
        "word": whole,
        "offsets": whole,
        "scores": floats,
        "backend": pa.string(),
        "residual": pa.float64(),
        "effort": pa.int64(),
    }
    return pa.schema(kinds)
