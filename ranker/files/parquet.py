"""Parquet as columns, some at a time; what a file states of its size is checked before anything of it is decoded."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from ranker.errors import DataError, repeated
from ranker.files import footers
from ranker.files.arrow import compact, is_text, masked, of_texts
from ranker.files.columns import Columns
from ranker.limits import LIMITS, Limits, open_regular, within

BATCH = 64
"""Columns that are unpacked at once."""

_LISTS = ("list", "large_list", "fixed_size_list")


def read_parquet(path: Path, limits: Limits = LIMITS, nested: Collection[str] = ()) -> Columns:
    """The columns of a Parquet file.

    Args:
        path: the file.
        limits: how much of it is read.
        nested: the columns of deeper lists and objects that are read; the others are named as unread.

    Raises:
        DataError: it cannot be read, or holds too much.
    """
    try:
        return _columns(path, limits, nested, once=True)
    except DataError as error:
        if "Not yet implemented" not in str(error):
            raise
        return _columns(path, limits, nested, once=False)  # of some encodings Arrow keeps no dictionary


@dataclass
class _Parts:
    """What the columns of a file became.

    Attributes:
        cells, groups, unread, nested: as in `Columns`.
    """

    cells: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    nested: dict[str, Any] = field(default_factory=dict)


def _columns(path: Path, limits: Limits, nested: Collection[str], once: bool) -> Columns:
    with _opened(path, limits) as file:
        schema, about = file.schema_arrow, file.metadata
        if (twice := repeated(schema.names)) is not None:
            raise DataError(f"{path}: two columns are named {twice!r}")
        limits.check(path, "columns", len(schema.names))
        limits.check(path, "table_rows", about.num_rows)
        limits.check(path, "table_cells", about.num_rows * len(schema.names))
        stated = _stated(path, file, limits)
        lists = {of.name for of in schema if pa.types.is_nested(of.type)}
        kept = [
            name
            for name in schema.names
            if name not in lists or name in nested or _is_short(name, file, stated, limits)
        ]
        size = sum(stated[name].size for name in kept)
        limits.check(path, "file", size)
        limits.check_ratio(path, size, os.path.getsize(path))
        limits.check(path, "table_cells", sum(stated[name].values for name in kept))
        limits.check(path, "values", sum(stated[name].values for name in lists & set(nested)))
        texts = [name for name in kept if name not in lists and _is_text(file, name)]
    parts = _Parts(unread={name: str(schema.field(name).type)[:50] for name in schema.names if name not in kept})
    with _opened(path, limits, read_dictionary=texts if once else []) as file:
        for names in _batches(kept):
            with within(limits, path):
                table = file.read(columns=names, use_threads=False)
                if table.num_rows != about.num_rows:
                    raise ValueError(f"it states {about.num_rows:,} rows, and has {table.num_rows:,}")
                for name in names:
                    _unpack(path, name, table.column(name), parts, limits, name in nested)
    order = (*schema.names, *_add_range(path, schema, about.num_rows, parts))
    limits.check(path, "columns", len(parts.cells))
    limits.check(path, "table_cells", about.num_rows * len(parts.cells))
    return Columns(
        str(path),
        about.num_rows,
        parts.cells,
        parts.groups,
        parts.unread,
        _names(path, schema, limits),
        parts.nested,
        order,
        limits=limits,
    )


@contextmanager
def _opened(path: Path, limits: Limits, **options: Any) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile`, whose faults are said in one line."""
    try:
        with os.fdopen(open_regular(path), "rb") as raw:
            limits.check(path, "file", os.fstat(raw.fileno()).st_size)
            with within(limits, path):
                file = parquet.ParquetFile(raw, **options)
            if file.metadata.num_rows < 0:
                raise ValueError("it states fewer than no rows")
            yield file
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _stated(path: Path, file: Any, limits: Limits) -> dict[str, footers.ColumnChunkInfo]:
    """What a file states of each column of a data frame. Where it lies, there is `within`."""
    with os.fdopen(open_regular(path), "rb") as raw:
        groups = footers.stated(raw, path, limits)
    stated, at = {}, 0
    for of in file.schema_arrow:
        leaves = [group[j] for group in groups for j in range(at, at + _leaves(of.type)) if j < len(group)]
        stated[of.name] = footers.ColumnChunkInfo(
            sum(leaf.values for leaf in leaves), sum(leaf.size for leaf in leaves)
        )
        at += _leaves(of.type)
    if any(len(group) != at for group in groups):
        raise DataError(f"{path} cannot be read: a group of its rows has other columns than the file")
    return stated


def _is_short(name: str, file: Any, stated: Mapping[str, footers.ColumnChunkInfo], limits: Limits) -> bool:
    """Whether a column of lists or objects may become columns of single values."""
    kind = file.schema_arrow.field(name).type
    most = limits.list * max(_leaves(kind), 1) * file.metadata.num_rows
    return _is_flat(kind) and stated[name].values <= most


def _is_text(file: Any, name: str) -> bool:
    """Whether a column of single values is stored as bytes, of which each may be kept once."""
    kind = file.schema_arrow.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (is_text, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_string_view, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def _leaves(kind: Any) -> int:
    """How many columns of Parquet one of a data frame is."""
    return sum(_leaves(kind.field(i).type) for i in range(kind.num_fields)) if pa.types.is_nested(kind) else 1


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    left = iter(names)
    while batch := list(islice(left, BATCH)):
        yield batch


def _unpack(path: Path, name: str, column: Any, parts: _Parts, limits: Limits, whole: bool) -> None:
    """One column of a file, as columns of single values where it can be."""
    kind = column.type
    if not pa.types.is_nested(kind):
        array = _single(path, name, column)
        if array is None:
            parts.unread[name] = str(kind.value_type if pa.types.is_dictionary(kind) else kind)[:50]
        else:
            parts.cells[name] = compact(masked(array))
        return
    flat = _parts(column, limits) if _is_flat(kind) else None
    if flat is None:
        parts.unread[name] = str(kind)[:50]
        if whole:
            texts = (None if value is None else json.dumps(value, default=str) for value in column.to_pylist())
            parts.nested[name] = of_texts(list(texts))
        return
    arrays = {part: _single(path, f"{name}/{part}", values) for part, values in flat.items()}
    if any(array is None for array in arrays.values()):
        parts.unread[name] = str(kind)[:50]
        return
    parts.groups[name] = tuple(f"{name}/{part}" for part in arrays)
    parts.cells.update({f"{name}/{part}": compact(masked(array)) for part, array in arrays.items()})


def _single(path: Path, name: str, column: Any) -> Any | None:
    """A column of single values as one array of texts, numbers or truth values; None of what is none of these.

    Raises:
        DataError: texts are none.
    """
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
    """A column as one array, with one dictionary."""
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
    """Whether it is of lists or objects of values that are none."""
    if pa.types.is_struct(kind):
        return not any(pa.types.is_nested(kind.field(i).type) for i in range(kind.num_fields))
    return str(kind).split("<")[0] in _LISTS and not pa.types.is_nested(kind.value_type)


def _parts(column: Any, limits: Limits) -> dict[str, Any] | None:
    """The parts of lists of numbers, or of two texts, or of structures, by their number or name; None of others."""
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
    found = {}
    for at in range(longest):
        there = pc.greater(pc.list_value_length(column), at)
        long_enough = pc.if_else(there, column, pa.nulls(1, column.type)[0])
        kept = [chunk.drop_null() for chunk in long_enough.chunks]
        values = pa.chunked_array([pc.list_element(chunk, at) for chunk in kept], inner).combine_chunks()
        whole = pa.nulls(len(column), inner)
        found[str(at)] = pc.replace_with_mask(whole, pc.fill_null(there, False).combine_chunks(), values)
    return found


def _check_texts(path: Path, name: str, values: Any) -> None:
    """Refuse cells that hold what no text holds."""
    try:
        values.validate(full=True)
    except pa.ArrowException as error:
        raise DataError(f"{path}: the column {name!r} holds no UTF-8 text") from error
    if pc.any(pc.match_substring(values, "\0")).as_py():
        raise DataError(f"{path}: the column {name!r} holds a NUL; is that text?")


def _add_range(path: Path, schema: Any, rows: int, parts: _Parts) -> Iterator[str]:
    """Add the index of a data frame that pandas wrote as a range, where it has a name; its name.

    Raises:
        DataError: its numbers have more than 64 bits.
    """
    for index in ((schema.pandas_metadata or {}).get("index_columns") or []) if schema.metadata else []:
        if isinstance(index, dict) and index.get("kind") == "range" and index.get("name") and rows:
            start, step = index.get("start"), index.get("step")
            if isinstance(start, int) and isinstance(step, int):
                if max(abs(start), abs(start + step * rows)) >= 1 << 63:
                    raise DataError(f"{path} cannot be read: its index holds numbers of more than 64 bits")
                parts.cells[str(index["name"])] = pa.array(np.arange(rows, dtype=np.int64) * step + start)
                yield str(index["name"])


def _names(path: Path, schema: Any, limits: Limits) -> Mapping[str, tuple[str, ...]]:
    """The labels that numbers stand for, as `datasets` writes them beside the columns.

    Raises:
        DataError: what stands there is no JSON.
    """
    try:
        text = (schema.metadata or {}).get(b"huggingface", b"{}").decode()
        limits.check_objects(path, text)
        about = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"{path} cannot be read: {why}, in what `datasets` wrote of its columns") from error
    try:
        features = about["info"]["features"]
        return {name: tuple(map(str, f["names"])) for name, f in features.items() if isinstance(f.get("names"), list)}
    except (KeyError, TypeError, AttributeError):
        return {}
