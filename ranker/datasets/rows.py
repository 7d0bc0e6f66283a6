"""Files of rows: lines of text, or Parquet -> column -> value, and the line or row in every complaint.

Nothing about a file is believed: not its encoding, its columns or its size. Memory and time are bounded by
`ranker.limits`, also for a file that unpacks into far more than it seems to be.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import itertools
import json
import logging
import os
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ranker.datasets import encodings, footers
from ranker.errors import DataError, UsageError, repeated
from ranker.limits import LIMITS, Limits, opened, within
from ranker.records import parse_json

log = logging.getLogger(__name__)

PARQUET = ".parquet"
"""How the name of a Parquet file ends, whose compression is its own."""


class Row(NamedTuple):
    """One row of a file, or of any other table.

    Attributes:
        place: where it stands, for messages: "dev.tsv, line 17".
        number: its place among the rows, from 1; its id where no column holds one.
        cells: column -> value.
    """

    place: str
    number: int
    cells: Mapping[str, Any]


def read_rows(path: Path, encoding: str = "", limits: Limits = LIMITS, nested: Collection[str] = ()) -> Iterator[Row]:
    """The rows of a file, one at a time.

    Args:
        path: the file.
        encoding: of a file of text that is not UTF-8 and does not say what it is, as UTF-16 does by its mark.
        limits: how much of it is read.
        nested: of a Parquet file: the columns that are read even if they hold lists or objects; of the others only
            those of single values are.

    Raises:
        UsageError: its name does not end in a known way.
        DataError: it cannot be read, is too large, or a line of it is malformed.
    """
    return _counted(path, parsed(path, encoding, limits, nested), limits)


def _counted(path: Path, found: Iterator[Row], limits: Limits) -> Iterator[Row]:
    """The rows, as long as they and their cells are not too many."""
    cells = 0
    for row in found:
        cells += len(row.cells) + nested_in(row.cells)
        limits.check(path, "rows", row.number)
        limits.check(row.place, "columns", len(row.cells))
        limits.check(row.place, "values", cells)
        yield row


def nested_in(cells: Mapping[str, Any]) -> int:
    """How many values stand in the lists and objects of a row, and in those within.

    Example:
        >>> nested_in({"text": "a", "probs": [0.5, 0.5], "marks": {"x": [[0, 1]]}})
        6
    """
    found, left = 0, [cell for cell in cells.values() if isinstance(cell, (list, dict))]
    while left:
        inner = left.pop()
        values = inner.values() if isinstance(inner, dict) else inner
        found += len(inner)
        left += [value for value in values if isinstance(value, (list, dict))]
    return found


def parsed(path: Path, encoding: str = "", limits: Limits = LIMITS, nested: Collection[str] = ()) -> Iterator[Row]:
    """The same as `read_rows`, where somebody else counts rows and cells."""
    if path.suffix == PARQUET:
        return _parquet(path, limits, nested)
    parse = _PARSERS.get(Path(path.name.removesuffix(".gz")).suffix)
    if parse is None:
        known = ", ".join(_PARSERS)
        raise UsageError(f"{path}: a file of examples ends in {known}, one of these and .gz, or {PARQUET}")
    return parse(path, encoding, limits)


def label_names(path: Path, column: str | None, limits: Limits = LIMITS) -> Sequence[str] | None:
    """The label that each number of a column stands for, where `datasets` has written that into a Parquet file.

    Raises:
        DataError: the file cannot be read.
    """
    if path.suffix != PARQUET:
        return None
    with parquet_file(path, limits) as file:
        text = (file.schema_arrow.metadata or {}).get(b"huggingface", b"{}").decode()
        limits.check_objects(path, text)
        about = parse_json(text)
    try:
        return tuple(map(str, about["info"]["features"][column]["names"]))
    except (KeyError, TypeError):
        return None


def _parquet(path: Path, limits: Limits, nested: Collection[str]) -> Iterator[Row]:
    """What `datasets` and data frames write: a group of rows at a time, and each text once."""
    with parquet_file(path, limits) as file:
        names = file.schema_arrow.names
        if (twice := repeated(names)) is not None:
            raise DataError(f"{path}: two columns are named {twice!r}")
        limits.check(path, "columns", len(names))
        limits.check(path, "rows", file.metadata.num_rows)
        kept, texts = decoded(path, file, limits, nested)
        groups = file.num_row_groups
    size, number = 0, 0
    with parquet_file(path, limits, read_dictionary=texts) as file:
        for group in range(groups):
            with within(limits, path):
                table = file.read_row_group(group, columns=kept, use_threads=False)
                size += sum(sum(map(_expanded, table.column(name).chunks)) for name in kept)
                limits.check(path, "file", size)
                columns = [_listed(table.column(name)) for name in kept]
            for cells in zip(*columns, strict=True):
                number += 1
                yield Row(f"{path}, row {number}", number, dict(zip(kept, cells, strict=True)))


def decoded(
    path: Path, file: Any, limits: Limits, nested: Collection[str], cells: str = "values"
) -> tuple[list[str], list[str]]:
    """The columns of a Parquet file that are read: those of single values, and some others.

    What the file states of its size is believed here; where it lies, there is `ranker.limits.within`.

    Args:
        path: of the file.
        file: a `pyarrow.parquet.ParquetFile`.
        limits: how much of it is read.
        nested: the columns of lists and objects that are read, too.
        cells: the limit of the number of its cells.

    Returns:
        Their names, and the places of texts in them.

    Raises:
        DataError: they hold too much.
    """
    import pyarrow as pa

    kept: list[str] = []
    leaves: list[int] = []
    at = 0
    for field in file.schema_arrow:
        count = _leaves(field.type)
        if field.name in nested or not pa.types.is_nested(field.type):
            kept.append(field.name)
            leaves += range(at, at + count)
        at += count
    with os.fdopen(opened(path), "rb") as raw:
        groups = footers.stated(raw, path, limits)
    if any(len(group) != at for group in groups):
        raise DataError(f"{path} cannot be read: a group of its rows has other columns than the file")
    columns = [group[j] for group in groups for j in leaves]
    size = sum(column.size for column in columns)
    limits.check(path, "file", size)
    limits.check_ratio(path, size, os.path.getsize(path))
    limits.check(path, cells, sum(column.values for column in columns))
    texts = [file.schema.column(j).path for j in leaves if file.schema.column(j).physical_type == "BYTE_ARRAY"]
    return kept, texts


def _leaves(kind: Any) -> int:
    """How many columns of Parquet one of a data frame is."""
    import pyarrow as pa

    return sum(_leaves(kind.field(i).type) for i in range(kind.num_fields)) if pa.types.is_nested(kind) else 1


def _expanded(array: Any) -> int:
    """Bytes of an array in which each value stands wherever it is said."""
    import pyarrow as pa
    from pyarrow import compute

    kind = array.type
    if pa.types.is_struct(kind):
        return sum(map(_expanded, array.flatten()))
    if pa.types.is_map(kind):
        return _expanded(array.keys) + _expanded(array.items)
    if pa.types.is_nested(kind):
        return int(array.nbytes if pa.types.is_union(kind) else _expanded(array.flatten()))
    if pa.types.is_dictionary(kind) and hasattr(array.dictionary, "buffers") and _is_binary(kind.value_type):
        sizes = compute.binary_length(array.dictionary).cast(pa.int64())
        return 4 * len(array) + (compute.sum(sizes.take(array.indices)).as_py() or 0)
    return int(array.nbytes)


def _is_binary(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


def _listed(column: Any) -> list[Any]:
    """The cells of a column; a value that stands there often is one object."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    found: list[Any] = []
    for chunk in column.chunks:
        values = chunk.dictionary.to_pylist()
        found += [None if at is None else values[at] for at in chunk.indices.to_pylist()]
    return found


@contextmanager
def parquet_file(path: Path, limits: Limits = LIMITS, **options: Any) -> Iterator[Any]:
    """A Parquet file, whose faults are said in one line.

    Args:
        path: the file.
        limits: how much of it is read.
        options: of `pyarrow.parquet.ParquetFile`.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with os.fdopen(opened(path), "rb") as raw:
            limits.check(path, "file", os.fstat(raw.fileno()).st_size)
            with within(limits, path):
                file = parquet.ParquetFile(raw, **options)
            if file.metadata.num_rows < 0:
                raise ValueError("it states fewer than no rows")
            yield file
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def tab_separated(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[Row]:
    """Tabs between cells, no quotes: the format of HANS and PAWS."""
    return _table(path, ((number, line.split("\t")) for number, line in _filled(path, encoding, limits)))


def separated(path: Path, encoding: str = "", limits: Limits = LIMITS, sign: str = "") -> Iterator[Row]:
    """RFC 4180: a sign between cells, a cell may stand in double quotes and then hold anything.

    The sign is told by the line that names the columns, where none is given; another one than a comma is logged.
    """
    if not sign:
        sign = encodings.delimiter(next(lines(path, encoding, limits), ""))
        if sign != ",":
            log.warning("%s: read with %s between its cells", path, encodings.SIGNS[sign])
    reader = csv.reader(lines(path, encoding, limits), strict=True, delimiter=sign)

    def numbered() -> Iterator[tuple[int, list[str]]]:
        blank = 0
        try:
            for cells in reader:
                if any(cells):
                    yield reader.line_num, cells
                else:  # a blank line is no row, nor are the commas that spreadsheets leave of one
                    blank += 1
                    limits.check(path, "blank", blank)
        except csv.Error as error:
            why = "are its lines ended by bare carriage returns?" if "new-line character" in str(error) else error
            raise DataError(f"{path}, line {reader.line_num}: {why}") from error

    return _table(path, numbered())


def _text(path: Path, encoding: str, limits: Limits) -> Iterator[Row]:
    """A ``.txt``: by tabs; as a ``.csv`` where the line that names the columns has a comma, or so, and no tab."""
    header = next(lines(path, encoding, limits), "")
    if "\t" not in header and encodings.delimiter(header) in header:
        return separated(path, encoding, limits)
    return tab_separated(path, encoding, limits)


def _table(path: Path, numbered: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    header = next(numbered, (1, []))[1]
    if not any(header):
        raise DataError(f"{path} is empty; its first line must name the columns")
    if (twice := repeated(header)) is not None:
        raise DataError(f"{path}, line 1: two columns are named {twice!r}")
    for number, (line, cells) in enumerate(numbered, 1):
        place = f"{path}, line {line}"
        if len(cells) != len(header):
            raise DataError(f"{place}: {len(header)} cells are needed, as in line 1 (got {len(cells)})")
        yield Row(place, number, dict(zip(header, cells, strict=True)))


def _json_lines(path: Path, encoding: str, limits: Limits) -> Iterator[Row]:
    for number, (at, line) in enumerate(_filled(path, encoding, limits), 1):
        place = f"{path}, line {at}"
        try:
            cells = json.loads(line, object_pairs_hook=once)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: no JSON ({getattr(error, 'msg', None) or error})") from error
        if not isinstance(cells, dict):
            raise DataError(f"{place}: an object {{...}} is needed (got {line[:50]!r})")
        yield Row(place, number, cells)


def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object that JSON says, if no key of it is there twice.

    Raises:
        ValueError: one is; which of its values is meant, nobody can tell.

    Example:
        >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=once)
        Traceback (most recent call last):
        ValueError: the key 'a' is there twice
    """
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = repeated(name for name, _ in pairs) or ""
        raise ValueError(f"the key {twice[:50]!r} is there twice")
    return content


def _filled(path: Path, encoding: str, limits: Limits) -> Iterator[tuple[int, str]]:
    """The lines without their ends; only the last ones may be empty."""
    empty = 0
    for number, line in enumerate(lines(path, encoding, limits), 1):
        if line.isspace():
            empty = empty or number
            limits.check(path, "blank", number - empty + 1)
        elif empty:
            raise DataError(f"{path}, line {empty}: empty")
        else:
            yield number, line.rstrip("\r\n")


def lines(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[str]:
    """The lines of a file with their ends, unpacked and decoded, no more of it in memory than one line.

    Args:
        path: the file.
        encoding: see `read_rows`.
        limits: how much of it is read.

    Raises:
        DataError: it cannot be read, is of another encoding, or it or a line of it is too large.
    """
    size = 0
    number = 1
    try:
        with _unpacking(path) as (stream, packed):
            readline = encodings.reader(stream, _encoding(path, stream, encoding, limits))
            for number in itertools.count(1):
                line = readline(limits.line + 1)
                size += len(line)
                if not line:
                    return
                if len(line) > limits.line:
                    raise limits.passed(f"{path}, line {number}", "line")
                if size > limits.file:
                    raise limits.passed(f"{path}, line {number}", "file")
                limits.check_ratio(path, size, packed)
                if number == 1 and b"\0" in line:
                    nul = UnicodeDecodeError("utf-8", line, 0, 1, "")
                    raise DataError(f"{path}, line 1: {encodings.unreadable(nul, nul=True)}")
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        place = f"{path}, line {number}" if error.encoding == "utf-8" else path  # others are decoded in blocks
        raise DataError(f"{place}: {encodings.unreadable(error)}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def content(path: Path, encoding: str = "", limits: Limits = LIMITS) -> str:
    """A JSON file as one text, unpacked and decoded.

    Args:
        path: the file.
        encoding: see `read_rows`.
        limits: how much of it is read.

    Raises:
        DataError: it cannot be read, is of another encoding, or has more bytes than ``limits.json``.
    """
    try:
        with _unpacking(path) as (stream, packed):
            told = _encoding(path, stream, encoding, limits)
            whole = stream.read(1 + (limits.json if path.suffix == ".gz" else min(limits.json, packed)))
        limits.check(path, "json", len(whole))
        limits.check_ratio(path, len(whole), packed)
        return whole.decode(told or "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {encodings.unreadable(error)}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _encoding(path: Path, stream: encodings.Stream, said: str, limits: Limits) -> str:
    """What the file says itself; else what was said of it, unless it is UTF-8; "" for that."""
    return encodings.marked(stream) or (said if said and not _is_utf8(path, limits) else "")


def _is_utf8(path: Path, limits: Limits) -> bool:
    """Whether a whole file is text in UTF-8."""
    decoder, size = codecs.getincrementaldecoder("utf-8")(), 0
    with _unpacking(path) as (stream, packed):
        while block := stream.read(1 << 16):
            size += len(block)
            limits.check(path, "file", size)
            limits.check_ratio(path, size, packed)
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return False
            if b"\0" in block:
                return False
    return True


@contextmanager
def _unpacking(path: Path) -> Iterator[tuple[encodings.Stream, int]]:
    """The stream of a file's bytes, unpacked, and how many they are packed."""
    with os.fdopen(opened(path), "rb") as raw:
        packed = os.fstat(raw.fileno()).st_size
        if path.suffix != ".gz":
            yield raw, packed
        else:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield stream, packed


_PARSERS = {".jsonl": _json_lines, ".csv": separated, ".tsv": tab_separated, ".txt": _text}
