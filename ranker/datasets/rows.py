"""Files of rows: lines of text, or Parquet -> column -> value, and the line or row in every complaint.

Nothing about a file is believed: not its encoding, its columns or its size. Memory and time are bounded by the
constants below, also for a file that unpacks into far more than it seems to be.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import logging
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ranker.datasets import encodings
from ranker.errors import DataError, UsageError
from ranker.records import parse_json

log = logging.getLogger(__name__)

MAX_BYTES = 1 << 29
"""Bytes of a file, unpacked: 512 MiB, a million rows of HANS with their parses."""

MAX_LINE = 1 << 20
"""Bytes of a line: 1 MiB."""

MAX_RATIO = 200
"""Bytes that one byte of a gzip file may unpack to, once it has unpacked to `FREE`. A table of labels packs to a
twentieth of its size; what packs to a thousandth is one byte, repeated."""

FREE = 1 << 24
"""Bytes that any file may unpack to: 16 MiB."""

PARQUET = ".parquet"
"""How the name of a Parquet file ends, whose compression is its own."""

BATCH = 100
"""Rows of a Parquet file that are in memory at once."""


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


def read_rows(path: Path, encoding: str = "") -> Iterator[Row]:
    """The rows of a file, one at a time.

    Args:
        path: the file.
        encoding: of a file of text that is not UTF-8 and does not say what it is, as UTF-16 does by its mark.

    Raises:
        UsageError: its name does not end in a known way.
        DataError: it cannot be read, is too large, or a line of it is malformed.
    """
    if path.suffix == PARQUET:
        return _parquet(path)
    parse = _PARSERS.get(Path(path.name.removesuffix(".gz")).suffix)
    if parse is None:
        known = ", ".join(_PARSERS)
        raise UsageError(f"{path}: a file of examples ends in {known}, one of these and .gz, or {PARQUET}")
    return parse(path, encoding)


def label_names(path: Path, column: str | None) -> Sequence[str] | None:
    """The label that each number of a column stands for, where `datasets` has written that into a Parquet file.

    Raises:
        DataError: the file cannot be read.
    """
    if path.suffix != PARQUET:
        return None
    with parquet_file(path) as file:
        about = parse_json((file.schema_arrow.metadata or {}).get(b"huggingface", b"{}").decode())
    try:
        return tuple(map(str, about["info"]["features"][column]["names"]))
    except (KeyError, TypeError):
        return None


def _parquet(path: Path) -> Iterator[Row]:
    """What `datasets` and data frames write."""
    for number, cells in enumerate(_unpacked(path), 1):
        yield Row(f"{path}, row {number}", number, cells)


def _unpacked(path: Path) -> Iterator[dict[str, Any]]:
    """The cells of each row of a Parquet file, no more of them in memory than a batch."""
    with parquet_file(path) as file:
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"{path}: two columns are named {twice!r}")
        _check_size(path, sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)))
        size = 0
        for batch in file.iter_batches(BATCH, use_threads=False):
            size += batch.nbytes
            _check_size(path, size)
            yield from batch.to_pylist()


def _check_size(place: Path | str, size: int) -> None:
    if size > MAX_BYTES:
        raise DataError(f"{place}: more than {MAX_BYTES:,} bytes, the most that is read")


@contextmanager
def parquet_file(path: Path, **options: Any) -> Iterator[Any]:
    """A Parquet file, whose faults are said in one line.

    Args:
        path: the file.
        options: of `pyarrow.parquet.ParquetFile`.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, **options) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def tab_separated(path: Path, encoding: str = "") -> Iterator[Row]:
    """Tabs between cells, no quotes: the format of HANS and PAWS."""
    return _table(path, ((number, line.split("\t")) for number, line in _filled(path, encoding)))


def separated(path: Path, encoding: str = "", sign: str = "") -> Iterator[Row]:
    """RFC 4180: a sign between cells, a cell may stand in double quotes and then hold anything.

    The sign is told by the line that names the columns, where none is given; another one than a comma is logged.
    """
    if not sign:
        sign = encodings.delimiter(next(lines(path, encoding), ""))
        if sign != ",":
            log.warning("%s: read with %s between its cells", path, encodings.SIGNS[sign])
    reader = csv.reader(lines(path, encoding), strict=True, delimiter=sign)

    def numbered() -> Iterator[tuple[int, list[str]]]:
        try:
            for cells in reader:
                if any(cells):  # a blank line is no row, nor are the commas that spreadsheets leave of one
                    yield reader.line_num, cells
        except csv.Error as error:
            why = "are its lines ended by bare carriage returns?" if "new-line character" in str(error) else error
            raise DataError(f"{path}, line {reader.line_num}: {why}") from error

    return _table(path, numbered())


def _text(path: Path, encoding: str) -> Iterator[Row]:
    """A ``.txt``: by tabs; as a ``.csv`` where the line that names the columns has a comma, or so, and no tab."""
    header = next(lines(path, encoding), "")
    if "\t" not in header and encodings.delimiter(header) in header:
        return separated(path, encoding)
    return tab_separated(path, encoding)


def _table(path: Path, numbered: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    header = next(numbered, (1, []))[1]
    if not any(header):
        raise DataError(f"{path} is empty; its first line must name the columns")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError(f"{path}, line 1: two columns are named {twice!r}")
    for number, (line, cells) in enumerate(numbered, 1):
        place = f"{path}, line {line}"
        if len(cells) != len(header):
            raise DataError(f"{place}: {len(header)} cells are needed, as in line 1 (got {len(cells)})")
        yield Row(place, number, dict(zip(header, cells, strict=True)))


def _json_lines(path: Path, encoding: str) -> Iterator[Row]:
    for number, (at, line) in enumerate(_filled(path, encoding), 1):
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
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)[:50]!r} is there twice")
    return content


def _filled(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """The lines without their ends; only the last ones may be empty."""
    empty = 0
    for number, line in enumerate(lines(path, encoding), 1):
        if line.isspace():
            empty = empty or number
        elif empty:
            raise DataError(f"{path}, line {empty}: empty")
        else:
            yield number, line.rstrip("\r\n")


def lines(path: Path, encoding: str = "") -> Iterator[str]:
    """The lines of a file with their ends, unpacked and decoded, no more of it in memory than one line.

    Args:
        path: the file.
        encoding: see `read_rows`.

    Raises:
        DataError: it cannot be read, is of another encoding, or it or a line of it is too large.
    """
    size = 0
    number = 1
    try:
        with _unpacking(path) as stream:
            packed = os.fstat(stream.fileno()).st_size
            readline = encodings.reader(stream, _encoding(path, stream, encoding))
            for number in itertools.count(1):
                line = readline(MAX_LINE + 1)
                size += len(line)
                if not line:
                    return
                if len(line) > MAX_LINE:
                    raise DataError(f"{path}, line {number}: longer than {MAX_LINE:,} bytes, the most that is read")
                _check_size(f"{path}, line {number}", size)
                _check_ratio(path, size, packed)
                if number == 1 and b"\0" in line:
                    nul = UnicodeDecodeError("utf-8", line, 0, 1, "")
                    raise DataError(f"{path}, line 1: {encodings.unreadable(nul, nul=True)}")
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        place = f"{path}, line {number}" if error.encoding == "utf-8" else path  # others are decoded in blocks
        raise DataError(f"{place}: {encodings.unreadable(error)}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def content(path: Path, most: int, encoding: str = "") -> str:
    """A file as one text, unpacked and decoded, for formats that cannot be read by the line.

    Args:
        path: the file.
        most: bytes that are read.
        encoding: see `read_rows`.

    Raises:
        DataError: it cannot be read, is no UTF-8, or has more bytes than `most`.
    """
    try:
        with _unpacking(path) as stream:
            packed = os.fstat(stream.fileno()).st_size
            told = _encoding(path, stream, encoding)
            whole = stream.read(1 + (most if path.suffix == ".gz" else min(most, packed)))
        if len(whole) > most:
            raise DataError(f"{path}: more than {most:,} bytes, the most that is read")
        _check_ratio(path, len(whole), packed)
        return whole.decode(told or "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {encodings.unreadable(error)}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _encoding(path: Path, stream: encodings.Stream, said: str) -> str:
    """What the file says itself; else what was said of it, unless it is UTF-8; "" for that."""
    return encodings.marked(stream) or (said if said and not _is_utf8(path) else "")


def _is_utf8(path: Path) -> bool:
    """Whether a whole file is text in UTF-8."""
    decoder, size = codecs.getincrementaldecoder("utf-8")(), 0
    with _unpacking(path) as stream:
        packed = os.fstat(stream.fileno()).st_size
        while block := stream.read(1 << 16):
            size += len(block)
            _check_size(path, size)
            _check_ratio(path, size, packed)
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return False
            if b"\0" in block:
                return False
    return True


def _unpacking(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")


def _check_ratio(path: Path, size: int, packed: int) -> None:
    if size > FREE and size > MAX_RATIO * packed:
        raise DataError(f"{path}: it unpacks to more than {MAX_RATIO} times its size, the most that is read")


_PARSERS = {".jsonl": _json_lines, ".csv": separated, ".tsv": tab_separated, ".txt": _text}
