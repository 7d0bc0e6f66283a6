"""Rows drawn from Parquet tables of any size, in one file or several, a block of rows in memory at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from factors.types import Ints
from ranker.errors import DataError
from ranker.files import parquet
from ranker.files.arrow import is_text
from ranker.files.columns import Columns
from ranker.files.draws import Draw, PinnedRows, filled_column, sample_rows
from ranker.limits import LIMITS, Limits, within

BLOCK_ROWS = 8_192
"""Most rows in memory at once, beside those that are drawn."""

BLOCK_BYTES = 1 << 26
"""Most bytes of a block of rows, by the sizes that its file states."""


@dataclass(frozen=True)
class _Part:
    """One file of a table: its rows, the first one's place in the table, its schema, and the rows of a block."""

    path: Path
    start: int
    size: int
    schema: Any
    names: tuple[str, ...]
    block: int


def draw_parquet(
    path: Path,
    files: Sequence[Path],
    draw: Draw,
    limits: Limits = LIMITS,
    streamed: Limits = LIMITS,
    nested: Collection[str] = (),
) -> Columns:
    """Draw rows of a Parquet table: a file, the files of a folder, or those that fit a pattern.

    Args:
        path: the file, folder or pattern, for messages.
        limits: bounds of what is in memory.
        streamed: bounds of the files.
        nested: columns of deeper lists and objects to read; the others are listed as unread.

    Raises:
        DataError: a file cannot be read, has other columns than the first, or the drawn rows hold too much.
    """
    parts = _parts(files, streamed, nested)
    names = [name for name in parts[0].schema.names if all(name in part.names for part in parts)]
    size = sum(part.size for part in parts)
    sampled, pins = sample_rows(size, draw.most, draw.seed), PinnedRows(draw)
    blocks: list[Any] = []
    places: list[Ints] = []
    lengths: dict[str, int] = {}
    held = 0
    for part in parts:
        for start, block in _blocks(part, names, streamed):
            pinned = _pinned(pins, block, start, draw)
            within_block = (
                sampled[np.searchsorted(sampled, start) : np.searchsorted(sampled, start + len(block))] - start
            )
            chosen = np.unique(np.concatenate([within_block, pinned, _longest(block, lengths)]))
            if len(chosen):
                blocks.append(block.take(pa.array(chosen)))
                places.append(chosen + start)
                held += blocks[-1].nbytes
                limits.check(part.path, "file", held)
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *places])
    fields = pa.schema([parts[0].schema.field(name) for name in names])
    table = pa.Table.from_batches(blocks, None if blocks else fields)
    drawn = np.isin(rows, np.union1d(sampled, np.array(sorted(pins.rows), dtype=np.int64)))
    columns = _columns(path, parts, table, rows, limits, nested)
    return columns.drawn(np.flatnonzero(drawn), rows[drawn] + 1, size)


def _parts(files: Sequence[Path], limits: Limits, nested: Collection[str]) -> list[_Part]:
    """Return the files of a table, after checking what they state of themselves."""
    parts: list[_Part] = []
    for path in files:
        with parquet.open_parquet(path, limits) as file:
            schema, size = file.schema_arrow, file.metadata.num_rows
            stated = parquet.readable_columns(path, file, limits, nested)
        if parts:
            _check_same(parts[0], path, schema)
        unpacked = sum(column.size for column in stated.values())
        block = max(1, min(BLOCK_ROWS, BLOCK_BYTES * size // max(unpacked, 1)))
        start = parts[-1].start + parts[-1].size if parts else 0
        parts.append(_Part(path, start, size, schema, tuple(stated), block))
    return parts


def _check_same(first: _Part, path: Path, schema: Any) -> None:
    """Refuse a file whose columns are not those of the first file."""
    for name in dict.fromkeys((*first.schema.names, *schema.names)):
        types = [
            str(part.field(name).type)[:50] if name in part.names else "missing" for part in (first.schema, schema)
        ]
        if types[0] != types[1]:
            reason = (
                f"is {types[0]} in {first.path} and {types[1]} here; the files of a table must have the same columns"
            )
            raise DataError.of_column(name, reason, place=path)


def _blocks(part: _Part, names: Sequence[str], limits: Limits) -> Iterator[tuple[int, Any]]:
    """Yield the blocks of a file's rows, each with the place of its first row in the table."""
    start = part.start
    with parquet.open_parquet(part.path, limits, buffer_size=1 << 20, pre_buffer=False) as file:
        blocks = file.iter_batches(part.block, columns=list(names), use_threads=False)
        while True:
            with within(limits, part.path):
                block = next(blocks, None)
            if block is None:
                break
            yield start, _without_views(block)
            start += len(block)
        if start != part.start + part.size:
            raise ValueError(f"it states {part.size:,} rows, and has {start - part.start:,}")


def _without_views(block: Any) -> Any:
    """Return a block whose texts and bytes are of types that rows can be taken from."""
    kinds = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    if not any(column.type in kinds for column in block.schema):
        return block
    return block.cast(pa.schema([column.with_type(kinds.get(column.type, column.type)) for column in block.schema]))


def _pinned(pins: PinnedRows, block: Any, start: int, draw: Draw) -> Ints:
    """Return the rows of a block that are read in any case; only those that may be are looked at one by one."""
    mask = np.zeros(len(block), dtype=bool)
    filled = filled_column(tuple(block.schema.names), draw.filled)
    for column in block.schema if draw.texts or filled else ():
        values = block.column(column.name)
        if column.name == filled:
            mask |= np.asarray(pc.is_valid(values).to_numpy(zero_copy_only=False))
        if draw.texts and pa.types.is_nested(column.type):
            mask[:] |= is_text(getattr(column.type, "value_type", pa.null()))
        elif draw.texts and parquet.holds_text(column.type):
            texts = pa.array(list(draw.firsts), pa.string())
            mask |= pc.is_in(values.cast(pa.string()), texts).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(mask)
    cells = block.take(pa.array(rows)).to_pylist() if len(rows) else []
    return np.array(
        [row for row, row_cells in zip(rows.tolist(), cells, strict=True) if pins.add(start + row, row_cells)],
        dtype=np.int64,
    )


def _longest(block: Any, lengths: dict[str, int]) -> Ints:
    """Return the rows of a block with a column's longest list so far, on which the column's type depends."""
    rows = []
    for column in block.schema:
        if str(column.type).split("<")[0] in parquet.LISTS:
            sizes = pc.fill_null(pc.list_value_length(block.column(column.name)), 0)
            longest = pc.max(sizes).as_py() or 0
            if longest > lengths.get(column.name, 0):
                lengths[column.name] = longest
                rows.append(pc.index(sizes, pa.scalar(longest, sizes.type)).as_py())
    return np.array(rows, dtype=np.int64)


def _columns(
    path: Path, parts: Sequence[_Part], table: Any, rows: Ints, limits: Limits, nested: Collection[str]
) -> Columns:
    """Unpack rows of a table into columns of single values."""
    first = parts[0]
    lists = [name for name in table.schema.names if pa.types.is_nested(table.schema.field(name).type)]
    limits.check(path, "values", sum(_values(table.column(name)) for name in lists))
    unpacked = parquet.UnpackedColumns(
        unread={
            name: str(first.schema.field(name).type)[:50]
            for name in first.schema.names
            if name not in table.schema.names
        }
    )
    for name in table.schema.names:
        parquet.unpack(path, name, table.column(name), unpacked, limits, name in nested)
    files = tuple((str(part.path), part.start) for part in parts) if parts[1:] else ()
    names = parquet.number_names(first.path, first.schema, limits)
    return parquet.columns_of(path, first.schema, rows, unpacked, names, limits, files)


def _values(column: Any) -> int:
    """Count the lists, objects and single values in a column of lists or objects."""
    kind = column.type
    if pa.types.is_struct(kind):
        return sum(_values(pc.struct_field(column, [n])) for n in range(kind.num_fields))
    if str(kind).split("<")[0] in parquet.LISTS:
        return len(column) + _values(pc.list_flatten(column))
    return len(column)
