"""A file -> columns: text tables and Parquet here, JSON and numpy's arrays beside it. Nothing of it is believed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ranker.datasets import rows
from ranker.datasets.rows import Row
from ranker.errors import DataError, UsageError, repeated
from ranker.limits import LIMITS, Limits, within
from ranker.records import parse_json
from ranker.sources.tables import arrays, shapes
from ranker.sources.tables.base import Columns
from ranker.sources.tables.cells import written

BLOCK = 1_000
"""Rows of a text file that are in memory as Python's own values at once."""

NESTED = 1 << 20
"""Values in lists and objects of these rows, from which on they are fewer."""

BATCH = 64
"""Columns of a Parquet file that are unpacked at once."""

UNNAMED = "Unnamed: 0"
"""What a column without a name is called."""

T = TypeVar("T")

_LISTS = ("list", "large_list", "fixed_size_list")


def read(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Columns:
    """The columns of a table.

    Args:
        path: ends in .csv, .tsv, .txt, .jsonl, .json, one of these and .gz, or .parquet, .npy, .npz.
        encoding: of a table of text that is not UTF-8 and does not say what it is.
        limits: how much of it is read.

    Raises:
        UsageError: its name does not end in a known way.
        DataError: it cannot be read, is larger than `limits`, or malformed.
    """
    texts = {**dict.fromkeys((".csv", ".jsonl"), _of_lines), ".tsv": _tabbed, ".txt": _of_text, ".json": _of_json}
    readers: dict[str, Callable[..., Columns]] = {
        **{ending: partial(of_text, encoding=encoding) for ending, of_text in texts.items()},
        rows.PARQUET: _parquet,
        **dict.fromkeys((".npy", ".npz"), arrays.read),
    }
    packed = path.name.endswith(".gz")
    ending = Path(path.name.removesuffix(".gz")).suffix
    if ending not in readers or (packed and ending in (rows.PARQUET, ".npy", ".npz")):
        raise UsageError(f"{path}: a table ends in {', '.join(readers)}; those of text may be gzipped (.csv.gz)")
    check_file(path, limits)
    found = readers[ending](path, limits=limits)
    if not found.size:
        raise DataError(f"{path} holds no row")
    return found


def check_file(path: Path, limits: Limits = LIMITS) -> None:
    """Refuse what is no file, too large, or a link that leads out of its folder, as in the folder of a checkpoint.

    The hub's cache, which links to its own blobs, is not refused.

    Raises:
        DataError: it is one of these.
    """
    try:
        about = path.stat()
        if path.is_symlink():
            folder = path.parent.resolve()
            hub = next((up.parent for up in (folder, *folder.parents) if up.name == "snapshots"), folder)
            if not Path(os.path.realpath(path)).is_relative_to(hub):
                raise DataError(f"{path} links to {os.readlink(path)}, outside of its folder; put a copy there")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(about.st_mode):
        raise DataError(f"{path} is no file" + (", but a folder" if stat.S_ISDIR(about.st_mode) else ""))
    limits.check(path, "file", about.st_size)


def _of_lines(path: Path, encoding: str, limits: Limits) -> Columns:
    return collected(path, rows.parsed(path, encoding, limits), limits)


def _of_text(path: Path, encoding: str, limits: Limits) -> Columns:
    header = next(rows.lines(path, encoding, limits), "")
    return _tabbed(path, encoding, limits) if "\t" in header else _of_lines(path, encoding, limits)


def _tabbed(path: Path, encoding: str, limits: Limits) -> Columns:
    """By tabs; with quotes where that is how the file was written, which HANS and PAWS were not."""
    if _is_quoted(path, encoding, limits):
        return collected(path, rows.separated(path, encoding, limits, "\t"), limits)
    try:
        return collected(path, rows.tab_separated(path, encoding, limits), limits)
    except DataError as error:  # a quoted cell may hold tabs and line ends
        try:
            return collected(path, rows.separated(path, encoding, limits, "\t"), limits)
        except DataError:
            raise error from None


def _is_quoted(path: Path, encoding: str, limits: Limits) -> bool:
    """Whether the cells of a file by tabs stand in quotes, as two kinds of programs write them.

    One quotes every text, and so all names of columns. The other quotes what has to be: a cell that begins with a quote
    then ends with one, and holds another, doubled. A text that merely begins with a quote looks like neither.
    """
    lines = rows.lines(path, encoding, limits)
    names = next(lines, "").lstrip("\ufeff").rstrip("\r\n").split("\t")
    if all(len(name) > 1 and name[0] == name[-1] == '"' for name in names):
        return True
    found = False
    for line in lines:
        for cell in line.rstrip("\r\n").split("\t") if '"' in line else ():
            if cell.startswith('"'):
                inner = cell[1:-1]
                if not (cell[1:].endswith('"') and '"' in inner and '"' not in inner.replace('""', "")):
                    return False
                found = True
    return found


def _of_json(path: Path, encoding: str, limits: Limits) -> Columns:
    return collected(path, shapes.read(path, encoding, limits), limits)


def collected(path: Path, found: Iterable[Row], limits: Limits = LIMITS) -> Columns:
    """Rows as columns; what a row does not name is empty there."""
    parts: dict[str, list[Any]] = {}
    groups: dict[str, dict[str, None]] = {}
    unread: dict[str, str] = {}
    size = 0
    for block in _in_blocks(_checked(found, limits)):
        flat = [shapes.flat(row.cells, groups, unread, limits.list) for row in block]
        for name in dict.fromkeys(chain.from_iterable(flat)):
            if name not in parts:
                parts[name] = [pa.nulls(size)] if size else []
        limits.check(path, "columns", len(parts))
        size += len(block)
        limits.check(path, "table_rows", size)
        limits.check(path, "table_cells", size * len(parts))
        for name, blocks in parts.items():
            blocks.append(_array([cells.get(name) for cells in flat], name, block, limits))
    cells = {name: arrays.compact(_joined(parts.pop(name))) for name in list(parts)}
    for name in unread:  # in some rows only
        cells.pop(name, None)
    if "" in cells and UNNAMED not in cells:  # pandas' numbering of the rows, under the name that it reads it by
        cells = {name or UNNAMED: array for name, array in cells.items()}
    kept = {name: tuple(columns) for name, columns in groups.items() if name not in unread}
    return Columns(str(path), size, cells, kept, unread, limits=limits)


def _checked(found: Iterable[Row], limits: Limits) -> Iterator[Row]:
    for row in found:
        limits.check(row.place, "columns", len(row.cells))
        yield row


def _in_blocks(found: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows that are in memory at once."""
    block: list[Row] = []
    nested = 0
    for row in found:
        block.append(row)
        nested += rows.nested_in(row.cells)
        if len(block) == BLOCK or nested >= NESTED:
            yield block
            block, nested = [], 0
    if block:
        yield block


def _blocks(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    left = iter(items)
    while block := tuple(islice(left, size)):
        yield block


def _array(values: Sequence[Any], name: str, block: Sequence[Row], limits: Limits) -> Any:
    """(R,) the cells of one column in some rows.

    Raises:
        DataError: one is too long, or no text.
    """
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {str}:
        said = list(filter(None, values))
        if max(map(len, said), default=0) > limits.cell or "\0" in "".join(said):
            _refuse_cell(values, name, block, limits)
    try:
        if not kinds:
            return pa.nulls(len(values))
        if kinds == {str}:
            return arrays.of_texts(values)
        if kinds <= {bool} or kinds <= {int, float}:
            return pa.array(values, pa.float64() if kinds == {int, float} else None)
    except (pa.ArrowException, OverflowError):
        pass  # numbers too large for one type are texts
    except UnicodeError as error:
        raise _no_text(name, block, error) from error
    try:
        return arrays.of_texts([v if v is None or isinstance(v, str) else written(v) for v in values])
    except (pa.ArrowException, UnicodeError) as error:
        raise _no_text(name, block, error) from error


def _no_text(name: str, block: Sequence[Row], error: Exception) -> DataError:
    return DataError(f"{block[0].place}: the column {name!r} holds no text after that ({error})")


def _refuse_cell(values: Sequence[str | None], name: str, block: Sequence[Row], limits: Limits) -> None:
    for row, value in zip(block, values, strict=True):
        limits.check(f"{row.place}: the column {name!r}", "cell", len(value or ""))
        if "\0" in (value or ""):
            raise DataError(f"{row.place}: the column {name!r} holds a NUL; is the file text, and UTF-8?")


def _joined(parts: Sequence[Any]) -> Any:
    """Blocks of one column as one, in the narrowest type that holds all of them."""
    kinds = {part.type for part in parts} - {pa.null()}
    if len(kinds) > 1:
        numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)
        kinds = {pa.float64() if numbers else pa.string()}
    kind = next(iter(kinds), pa.null())
    return pa.concat_arrays([part.cast(kind) for part in parts])


def _parquet(path: Path, limits: Limits) -> Columns:
    """Some columns at a time, each text once."""
    with rows.parquet_file(path, limits) as file:
        schema, about = file.schema_arrow, file.metadata
        if (twice := repeated(schema.names)) is not None:
            raise DataError(f"{path}: two columns are named {twice!r}")
        limits.check(path, "columns", len(schema.names))
        limits.check(path, "table_rows", about.num_rows)
        limits.check(path, "table_cells", about.num_rows * len(schema.names))
        flat = [field.name for field in schema if _is_flat(field.type)]
        kept, places = rows.decoded(path, file, limits, flat, "table_cells")
        kept = [name for name in kept if _is_read(schema.field(name).type)]
        texts = [place for place in places if place in kept]
    cells: dict[str, Any] = {}
    groups: dict[str, tuple[str, ...]] = {}
    unread = {name: str(schema.field(name).type)[:50] for name in schema.names if name not in kept}
    with rows.parquet_file(path, limits, read_dictionary=texts) as file:
        for names in _blocks(kept, BATCH):
            with within(limits, path):
                table = file.read(columns=list(names), use_threads=False)
                if table.num_rows != about.num_rows:
                    raise ValueError(f"it states {about.num_rows:,} rows, and has {table.num_rows:,}")
                for name in names:
                    _unpack(path, name, table.column(name), cells, groups, unread, limits)
    limits.check(path, "columns", len(cells))
    limits.check(path, "table_cells", about.num_rows * len(cells))
    return Columns(str(path), about.num_rows, cells, groups, unread, _names(path, schema, limits), limits)


def _unpack(
    path: Path,
    name: str,
    column: Any,
    cells: dict[str, Any],
    groups: dict[str, tuple[str, ...]],
    unread: dict[str, str],
    limits: Limits,
) -> None:
    """One column of Parquet, as columns of single values."""
    kind = column.type
    if _is_flat(kind):
        parts = _parts(column, limits)
        if parts is None:
            unread[name] = str(kind)[:50]
            return
        groups[name] = tuple(f"{name}/{part}" for part in parts)
        cells.update({f"{name}/{part}": arrays.compact(values) for part, values in parts.items()})
        return
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_uint64(kind):
        column = column.cast(pa.string())
    array = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], kind)
    cells[name] = arrays.compact(array)
    _check_texts(path, name, cells[name], limits)


def _is_read(kind: Any) -> bool:
    """Whether columns of a type are read."""
    return _is_flat(kind) or _is_single(kind) or bool(pa.types.is_decimal(kind))


def _is_flat(kind: Any) -> bool:
    """Whether it is of lists or objects of single values."""
    if pa.types.is_struct(kind):
        return all(_is_single(kind.field(i).type) for i in range(kind.num_fields))
    return str(kind).split("<")[0] in _LISTS and _is_single(kind.value_type)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_single(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def _parts(column: Any, limits: Limits) -> dict[str, Any] | None:
    """The parts of lists of numbers, or of two texts, or of structures, by their number or name; None of others."""
    if pa.types.is_struct(column.type):
        names = [column.type.field(i).name for i in range(column.type.num_fields)]
        if not names or len(set(names)) < len(names) or not all(_is_single(column.type.field(n).type) for n in names):
            return None
        return {name: pc.struct_field(column, name).combine_chunks() for name in names}
    inner = column.type.value_type
    longest = pc.max(pc.list_value_length(column)).as_py() or 0
    most = 2 if _is_text(inner) else limits.list
    if not _is_single(inner) or not 0 < longest <= most:
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


def _check_texts(path: Path, name: str, array: Any, limits: Limits) -> None:
    """Refuse cells that are too long, or hold what no text holds."""
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    if len(values) and _is_text(values.type):
        limits.check(f"{path}: the column {name!r}", "cell", pc.max(pc.binary_length(values)).as_py() or 0)
        try:
            array.validate(full=True)
        except pa.ArrowException as error:
            raise DataError(f"{path}: the column {name!r} holds no UTF-8 text") from error
        if pc.any(pc.match_substring(values, "\0")).as_py():
            raise DataError(f"{path}: the column {name!r} holds a NUL; is that text?")


def _names(path: Path, schema: Any, limits: Limits) -> Mapping[str, tuple[str, ...]]:
    """The labels that numbers stand for, as `datasets` writes them beside the columns."""
    try:
        text = (schema.metadata or {}).get(b"huggingface", b"{}").decode()
        limits.check_objects(path, text)
        about = parse_json(text)
        features = about["info"]["features"]
        return {name: tuple(map(str, f["names"])) for name, f in features.items() if isinstance(f.get("names"), list)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
