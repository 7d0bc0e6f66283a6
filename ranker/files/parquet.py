"""Parquet files as columns, some at a time; the stated sizes are checked before anything is decoded."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from factors.types import Ints
from ranker.errors import DataError, check_distinct
from ranker.files import footers
from ranker.files.arrow import compact, is_text, mask_empty, of_texts
from ranker.files.columns import Columns
from ranker.files.text import unreadable_file
from ranker.limits import LIMITS, Limits, open_regular, within

BATCH = 64
"""Columns unpacked at once."""

LISTS = ("list", "large_list", "fixed_size_list")
"""Names of the types of lists."""


def read_parquet(path: Path, limits: Limits = LIMITS, nested: Collection[str] = ()) -> Columns:
    """Read the columns of a Parquet file.

    Args:
        nested: columns of deeper lists and objects to read; the others are listed as unread.
    """
    try:
        return _columns(path, limits, nested, once=True)
    except DataError as error:
        if "Not yet implemented" not in str(error):
            raise
        return _columns(path, limits, nested, once=False)  # Arrow keeps no dictionary of some encodings


@dataclass
class UnpackedColumns:
    """Columns of a file after unpacking, as in `Columns`."""

    cells: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    nested: dict[str, Any] = field(default_factory=dict)
    empty_lists: dict[str, Any] = field(default_factory=dict)


def _columns(path: Path, limits: Limits, nested: Collection[str], once: bool) -> Columns:
    with open_parquet(path, limits) as file:
        schema, about = file.schema_arrow, file.metadata
        limits.check(path, "table_rows", about.num_rows)
        limits.check(path, "parquet_cells", about.num_rows * len(schema.names))
        stated = readable_columns(path, file, limits, nested)
        columns_read, lists = list(stated), {name for name in stated if pa.types.is_nested(schema.field(name).type)}
        limits.check(path, "parquet_cells", sum(stated[name].values for name in columns_read))
        limits.check(path, "values", sum(stated[name].values for name in lists & set(nested)))
        texts = [name for name in columns_read if holds_text(schema.field(name).type)]
    parts = UnpackedColumns(
        unread={name: str(schema.field(name).type)[:50] for name in schema.names if name not in columns_read}
    )
    with open_parquet(path, limits, read_dictionary=texts if once else []) as file:
        for names in (columns_read[start : start + BATCH] for start in range(0, len(columns_read), BATCH)):
            with within(limits, path):
                table = file.read(columns=names, use_threads=False)
                if table.num_rows != about.num_rows:
                    raise ValueError(f"it states {about.num_rows:,} rows, and has {table.num_rows:,}")
                for name in names:
                    unpack(path, name, table.column(name), parts, limits, name in nested)
    labels = number_names(path, schema, limits)
    return columns_of(path, schema, np.arange(about.num_rows), parts, labels, limits)


def columns_of(
    path: Path,
    schema: Any,
    rows: Ints,
    parts: UnpackedColumns,
    names: Mapping[str, tuple[str, ...]],
    limits: Limits,
    files: tuple[tuple[str, int], ...] = (),
) -> Columns:
    """Return unpacked columns of a table.

    Args:
        schema: of its first file.
        rows: (n,) the rows that are read, from 0.
        names, files: as in `Columns`.
    """
    index = () if files else add_range(path, schema, rows, parts)
    order = (*schema.names, *index)
    limits.check(path, "columns", len(parts.cells))
    limits.check(path, "parquet_cells", len(rows) * len(parts.cells))
    return Columns(
        str(path),
        len(rows),
        parts.cells,
        parts.groups,
        parts.unread,
        names,
        parts.nested,
        order,
        limits=limits,
        files=files,
        empty_lists=parts.empty_lists,
    )


@contextmanager
def open_parquet(path: Path, limits: Limits, **options: Any) -> Iterator[Any]:
    """Open a `pyarrow.parquet.ParquetFile`, and report its faults in one line."""
    try:
        with os.fdopen(open_regular(path), "rb") as raw:
            limits.check(path, "file", os.fstat(raw.fileno()).st_size)
            with within(limits, path):
                file = parquet.ParquetFile(raw, **options)
            if file.metadata.num_rows < 0:
                raise ValueError("it states fewer than no rows")
            yield file
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise unreadable_file(path, error) from error


def stated_sizes(path: Path, file: Any, limits: Limits) -> dict[str, footers.ColumnChunkInfo]:
    """Return the stated sizes of each column of a data frame."""
    with os.fdopen(open_regular(path), "rb") as raw:
        groups = footers.read_footer(raw, path, limits)
    stated, first = {}, 0
    for column in file.schema_arrow:
        leaves = [group[j] for group in groups for j in range(first, first + _leaves(column.type)) if j < len(group)]
        stated[column.name] = footers.ColumnChunkInfo(
            sum(leaf.values for leaf in leaves), sum(leaf.size for leaf in leaves)
        )
        first += _leaves(column.type)
    if any(len(group) != first for group in groups):
        raise DataError.of(path, "cannot be read: a group of its rows has other columns than the file")
    return stated


def readable_columns(
    path: Path, file: Any, limits: Limits, nested: Collection[str]
) -> dict[str, footers.ColumnChunkInfo]:
    """Return the columns that are read, with their stated sizes; only call it inside `within`.

    Raises:
        DataError: two columns have one name, or they are too many or too large.
    """
    schema = file.schema_arrow
    check_distinct(path, "columns", schema.names)
    limits.check(path, "columns", len(schema.names))
    sizes = stated_sizes(path, file, limits)
    columns = {
        column.name: sizes[column.name]
        for column in schema
        if not pa.types.is_nested(column.type)
        or column.name in nested
        or (  # a short list, or an object, becomes columns of single values
            _is_flat(column.type)
            and sizes[column.name].values <= limits.list * max(_leaves(column.type), 1) * file.metadata.num_rows
        )
    }
    unpacked = sum(column.size for column in columns.values())
    limits.check(path, "file", unpacked)
    limits.check_ratio(path, unpacked, os.path.getsize(path))
    return columns


def holds_text(kind: Any) -> bool:
    """Return whether a type is of texts or bytes."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (is_text, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_string_view, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def _leaves(kind: Any) -> int:
    """Count the columns of Parquet in one column of a data frame."""
    return sum(_leaves(kind.field(i).type) for i in range(kind.num_fields)) if pa.types.is_nested(kind) else 1


def unpack(path: Path, name: str, column: Any, parts: UnpackedColumns, limits: Limits, as_json: bool) -> None:
    """Unpack one column of a file into columns of single values, if possible."""
    kind = column.type
    if not pa.types.is_nested(kind):
        array = _single(path, name, column)
        if array is None:
            parts.unread[name] = str(kind.value_type if pa.types.is_dictionary(kind) else kind)[:50]
        else:
            parts.cells[name] = compact(mask_empty(array))
        return
    flat = _parts(column, limits) if _is_flat(kind) else None
    if flat is None:
        parts.unread[name] = str(kind)[:50]
        if as_json:
            texts = (None if value is None else json.dumps(value, default=str) for value in column.to_pylist())
            parts.nested[name] = of_texts(list(texts))
        return
    arrays = {part: _single(path, f"{name}/{part}", values) for part, values in flat.items()}
    if any(array is None for array in arrays.values()):
        parts.unread[name] = str(kind)[:50]
        return
    parts.groups[name] = tuple(f"{name}/{part}" for part in arrays)
    if not pa.types.is_struct(kind):
        parts.empty_lists[name] = np.array(pc.equal(pc.list_value_length(_whole(column)), 0).fill_null(False))
    parts.cells.update({f"{name}/{part}": compact(mask_empty(array)) for part, array in arrays.items()})


def _single(path: Path, name: str, column: Any) -> Any | None:
    """Return a column of single values as one array of texts, numbers or truth values; None for other types."""
    array = _whole(column)
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    kind = values.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        values = values.cast(pa.float64())
    elif pa.types.is_uint64(kind) or pa.types.is_temporal(kind) or pa.types.is_string_view(kind):
        values = values.cast(pa.string())
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        try:
            values = values.cast(pa.binary()).cast(pa.string())
        except pa.ArrowInvalid:
            return None
    kind = values.type
    tests = (is_text, pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    if not any(test(kind) for test in tests):
        return None
    if is_text(kind):
        _check_texts(path, name, values)
    return pa.DictionaryArray.from_arrays(array.indices, values) if pa.types.is_dictionary(array.type) else values


def _whole(column: Any) -> Any:
    """Return a column as one array, with one dictionary."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if pa.types.is_dictionary(column.type) and not is_text(column.type.value_type):
        column = column.cast(column.type.value_type)  # Arrow joins dictionaries of few types alone
    elif pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], column.type)
    return array


def _is_flat(kind: Any) -> bool:
    """Return whether a type is of lists or objects of single values."""
    if pa.types.is_struct(kind):
        return not any(pa.types.is_nested(kind.field(i).type) for i in range(kind.num_fields))
    return str(kind).split("<")[0] in LISTS and not pa.types.is_nested(kind.value_type)


def _parts(column: Any, limits: Limits) -> dict[str, Any] | None:
    """Return the parts of lists of numbers, or of two texts, or of structures, by number or name; None for others."""
    if pa.types.is_struct(column.type):
        names = [column.type.field(i).name for i in range(column.type.num_fields)]
        if not names or len(set(names)) < len(names):
            return None
        return {name: pc.struct_field(column, name) for name in names}
    inner = column.type.value_type
    inner_values = inner.value_type if pa.types.is_dictionary(inner) else inner
    longest = pc.max(pc.list_value_length(column)).as_py() or 0
    numeric = pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_boolean(inner)
    most = limits.list if numeric else 2
    if not 0 < longest <= most or not (numeric or is_text(inner_values) or pa.types.is_null(inner)):
        return None
    if not is_text(inner) and pa.types.is_dictionary(inner):
        return None
    padded = pc.list_slice(column, 0, longest, return_fixed_size_list=True)
    return {str(index): pc.list_element(padded, index) for index in range(longest)}


def _check_texts(path: Path, name: str, values: Any) -> None:
    """Refuse cells that are not UTF-8 or hold a NUL."""
    try:
        values.validate(full=True)
    except pa.ArrowException as error:
        raise DataError.of_column(name, "holds no UTF-8 text", place=path) from error
    if pc.any(pc.match_substring(values, "\0")).as_py():
        raise DataError.of_column(name, "holds a NUL; is that text?", place=path)


def add_range(path: Path, schema: Any, rows: Ints, parts: UnpackedColumns) -> Iterator[str]:
    """Add the index of a data frame that pandas wrote as a range, if it has a name, and yield that name."""
    for index in ((schema.pandas_metadata or {}).get("index_columns") or []) if schema.metadata else []:
        if isinstance(index, dict) and index.get("kind") == "range" and index.get("name") and len(rows):
            start, step = index.get("start"), index.get("step")
            if isinstance(start, int) and isinstance(step, int):
                if max(abs(start), abs(start + step * (int(rows[-1]) + 1))) >= 1 << 63:
                    raise DataError.of(path, "cannot be read: its index holds numbers of more than 64 bits")
                parts.cells[str(index["name"])] = pa.array(rows * step + start)
                yield str(index["name"])


def number_names(path: Path, schema: Any, limits: Limits) -> Mapping[str, tuple[str, ...]]:
    """Return the labels of numbers, as `datasets` writes them beside the columns."""
    try:
        text = (schema.metadata or {}).get(b"huggingface", b"{}").decode()
        limits.check_objects(path, text)
        about = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError.of(path, f"cannot be read: {reason}, in what `datasets` wrote of its columns") from error
    try:
        features = about["info"]["features"]
        return {name: tuple(map(str, f["names"])) for name, f in features.items() if isinstance(f.get("names"), list)}
    except (KeyError, TypeError, AttributeError):
        return {}
