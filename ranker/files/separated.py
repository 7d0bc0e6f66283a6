"""Text tables as rows: the file itself shows its delimiter and quotes."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from ranker.errors import Assumption, DataError, check_distinct
from ranker.files import encodings
from ranker.files.columns import Record
from ranker.files.text import lines
from ranker.limits import LIMITS, Limits

log = logging.getLogger(__name__)

Cells = Iterator[tuple[int, Sequence[str]]]
"""Lines of a table: their numbers, and their cells."""

_QUOTES = re.compile('"+')
"""Quotes in a row inside a cell in quotes: the last of an odd number ends the cell, as doubled ones belong to it."""

_SEP = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""First line of a file that names the delimiter, as Excel reads it."""


def by_commas(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[Record]:
    """Read RFC 4180: delimited cells, which may hold anything in double quotes.

    A first line ``sep=;``, or the line that names the columns, shows the delimiter; one other than a comma is logged.
    """
    first, sign, declared = _first_line(path, encoding, limits)
    if sign != ",":
        kind_of_note = str if declared else Assumption
        log.warning(kind_of_note(f"{path}: read with {encodings.SIGNS.get(sign, repr(sign))} between its cells"))
    return _table(path, _read_quoted(path, encoding, limits, sign, skip=declared), by_r=_all_quoted(first, sign))


def _first_line(path: Path, encoding: str, limits: Limits) -> tuple[str, str, bool]:
    """Return the first line of a file, its delimiter, and whether the line declares it."""
    first = next(lines(path, encoding, limits), "")
    declared = _SEP.fullmatch(first)
    return first, declared[1] if declared else encodings.delimiter(first), bool(declared)


def has_semicolons(path: Path, encoding: str = "", limits: Limits = LIMITS) -> bool:
    """Return whether the cells of a ``.csv`` or ``.txt`` are between semicolons."""
    return _first_line(path, encoding, limits)[1] == ";"


def by_tabs(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[Record]:
    """Read cells between tabs; with quotes if the file was written so, as HANS and PAWS were not."""
    if _is_quoted(path, encoding, limits):
        first = next(lines(path, encoding, limits), "")
        return _table(path, _read_quoted(path, encoding, limits, "\t"), by_r=_all_quoted(first, "\t"))
    return _table(path, _read_unquoted(path, encoding, limits))


def without_header(path: Path, names: Sequence[str], encoding: str = "", limits: Limits = LIMITS) -> Iterator[Record]:
    """Read cells between tabs, without quotes, of a file whose first line is a row; `names` are its columns."""
    return _table(path, chain([(0, names)], _read_unquoted(path, encoding, limits)))


def by_either(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[Record]:
    """Read a ``.txt``: by tabs where the line that names the columns has one, or no delimiter; else as a ``.csv``."""
    header = next(lines(path, encoding, limits), "")
    if "\t" not in header and (encodings.delimiter(header) in header or _SEP.fullmatch(header)):
        return by_commas(path, encoding, limits)
    return by_tabs(path, encoding, limits)


def _read_quoted(path: Path, encoding: str, limits: Limits, sign: str, skip: bool = False) -> Cells:
    text = lines(path, encoding, limits)
    if skip:
        next(text)
    reader = csv.reader(text, strict=True, delimiter=sign)
    try:
        yield from _drop_blank_lines(path, ((reader.line_num + skip, cells) for cells in reader), limits)
    except csv.Error as error:
        last = reader.line_num + skip
        if "new-line character" in str(error):
            raise DataError.at(f"{path}, line {last}", "are its lines ended by bare carriage returns?") from error
        opened = _line_of_open_quote(islice(lines(path, encoding, limits), last), sign)
        reason = (
            str(error) if opened in (0, last) else f"the quote that opens here is not closed (line {last}: {error})"
        )
        raise DataError.at(f"{path}, line {opened or last}", reason) from error


def _line_of_open_quote(text: Iterable[str], sign: str) -> int:
    r"""Return the number of the line on which the last quote opens around a cell; 0 if there is none."""
    opening = re.compile(f'(?:^|{re.escape(sign)})"')
    line_of_quote, is_open = 0, False
    for number, line in enumerate(text, 1):
        place = 0
        while quotes := (_QUOTES if is_open else opening).search(line, place):
            place = quotes.end()
            if is_open:
                is_open = len(quotes[0]) % 2 == 0
            else:
                is_open, line_of_quote = True, number
    return line_of_quote


def _read_unquoted(path: Path, encoding: str, limits: Limits) -> Cells:
    split = (line.rstrip("\r\n") for line in lines(path, encoding, limits))
    numbered = ((number, line.split("\t") if line else []) for number, line in enumerate(split, 1))
    return _drop_blank_lines(path, numbered, limits)


def _drop_blank_lines(path: Path, numbered: Cells, limits: Limits) -> Cells:
    """Yield the lines without blank ones, and without the delimiters that spreadsheets leave below the last row."""
    blank = 0
    empty: list[tuple[int, Sequence[str]]] = []
    for number, cells in numbered:
        if any(cells) or len(cells) == 1:  # in a single column an empty cell in quotes is a row
            yield from empty
            empty.clear()
            yield number, cells
            continue
        blank += 1
        limits.check(path, "blank", blank)
        if cells:
            empty.append((number, cells))


def _is_quoted(path: Path, encoding: str, limits: Limits) -> bool:
    """Return whether the cells of a file by tabs stand in quotes."""
    # Two kinds of programs write quotes. One quotes every text, and so all names of columns. The other quotes only
    # where it must: a cell that begins with a quote then ends with one, in this line or a later one, and each quote
    # within it is doubled; and either some cell holds such a quote, or a line has too few cells without them. A text
    # that merely begins with a quote looks like neither.
    cells = (line.rstrip("\r\n").split("\t") for line in lines(path, encoding, limits))
    names = next(cells, [])
    if _all_quoted("\t".join(names), "\t"):
        return True
    doubled = broken = False
    for row in cells:
        broken = broken or (any(row) and len(row) != len(names))
        for cell in row:
            if cell.startswith('"'):
                inner = cell[1:-1]
                if cell == '""' or (cell[1:].endswith('"') and '"' in inner and '"' not in inner.replace('""', "")):
                    doubled = True
                elif not broken:
                    return False
    return doubled or (broken and _reads(path, encoding, limits, len(names)))


def _all_quoted(header: str, sign: str) -> bool:
    """Return whether all names of columns stand in quotes."""
    names = header.rstrip("\r\n").split(sign)
    return all(len(name) > 1 and name[0] == name[-1] == '"' for name in names)


def _reads(path: Path, encoding: str, limits: Limits, width: int) -> bool:
    """Return whether each line of a file by tabs has as many cells as columns, once quotes are read."""
    try:
        return all(len(cells) == width for _, cells in _read_quoted(path, encoding, limits, "\t"))
    except DataError:
        return False


def _table(path: Path, numbered: Cells, by_r: bool = False) -> Iterator[Record]:
    """Yield the rows below a line that names the columns; R quotes all of these, and leaves out that of row names."""
    header = list(next(numbered, (1, [""]))[1])
    if not any(header):
        raise DataError.of(path, "is empty; its first line must name the columns")
    while not header[-1]:  # spreadsheets write columns that were once in use
        header.pop()
    check_distinct(f"{path}, line 1", "columns", header)
    for number, (line, all_cells) in enumerate(numbered):
        cells = list(all_cells)
        while len(cells) > len(header) and not cells[-1]:
            cells.pop()
        if by_r and number == 0 and len(cells) == len(header) + 1 and "" not in header:
            header = ["", *header]
        if len(cells) != len(header):
            raise DataError.at(
                f"{path}, line {line}",
                f"{len(header)} cells are needed, as in line 1 (got {len(cells)})",
                value=len(cells),
            )
        yield line, dict(zip(header, cells, strict=True))
