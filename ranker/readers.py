"""Files of examples: lines -> rows -> examples, and a line number in every complaint.

Nothing about a file is believed: not its encoding, its columns or its size. Memory and time are bounded by the
constants below, also for a gzip file that unpacks into far more than it seems to be.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from factors import Example, Span
from factors.types import UNLABELLED
from ranker.cards import Layout, Task
from ranker.errors import DataError, UsageError
from ranker.records import parse_json

MAX_BYTES = 1 << 29
"""Bytes of a file, unpacked: 512 MiB, a million rows of HANS with their parses."""

MAX_LINE = 1 << 20
"""Bytes of a line: 1 MiB."""

MAX_CELL = 100_000
"""Characters of a text; what a model of 512 tokens can read has some 3,000."""

USUAL = {
    "text": (
        ("segments",),
        ("premise", "hypothesis"),
        ("sentence1", "sentence2"),
        ("question1", "question2"),
        ("text1", "text2"),
        ("text_a", "text_b"),
        ("sentence",),
        ("question",),
        ("text",),
    ),
    "label": (("gold_label",), ("label",), ("labels",), ("is_duplicate",), ("target",)),
    "id": (("id",), ("pairID",), ("idx",), ("index",), ("guid",)),
}
"""The names that columns usually have, the first that fits is taken."""

Marker = Callable[[tuple[str, ...], Mapping[str, Any]], Mapping[str, tuple[Span, ...]]]
"""Finds marks: (segments, the whole row) -> name -> spans."""


class Row(NamedTuple):
    """One row of a file, or of any other table.

    Attributes:
        place: where it stands, for messages: "dev.tsv, line 17".
        cells: column -> value.
    """

    place: str
    cells: Mapping[str, Any]


def no_marks(segments: tuple[str, ...], row: Mapping[str, Any]) -> Mapping[str, tuple[Span, ...]]:
    """The marker of data without marks."""
    return {}


def read_examples(
    path: Path, task: Task, columns: Mapping[str, Sequence[str]] | None = None, marker: Marker = no_marks
) -> tuple[Example, ...]:
    """A user's own labelled examples, from a ``.jsonl``, ``.csv``, ``.tsv`` or ``.txt`` file, with or without ``.gz``.

    The first line of all but ``.jsonl`` names the columns. A ``.tsv`` or ``.txt`` has a tab between cells and knows no
    quotes. A column ``marks``, if there is one, holds name -> list of [segment, start, end] (as JSON in a table).

    Args:
        path: the file.
        task: the labels. A row gives its label by name, by alias, or by number in the order of the task.
        columns: "text" -> one or two columns, "label" -> one, "id" -> one; what is left out is found by `USUAL` names.
        marker: finds marks in rows that bring none.

    Raises:
        DataError: the file cannot be read, or a line of it cannot be right; the line is named.
    """
    return tuple(examples(read_rows(path), task, lambda found: layout_of(found, columns or {}), marker))


def read_unlabelled(
    path: Path, task: Task, columns: Mapping[str, Sequence[str]] | None = None, marker: Marker = no_marks
) -> tuple[Example, ...]:
    """The rows of a file without their labels, if it has any; else like `read_examples`."""
    unlabelled = {**(columns or {}), "label": ()}
    return tuple(examples(read_rows(path), task, lambda found: layout_of(found, unlabelled), marker))


def from_rows(
    rows: Iterable[Mapping[str, Any]],
    task: Task,
    columns: Mapping[str, Sequence[str]] | None = None,
    marker: Marker = no_marks,
) -> tuple[Example, ...]:
    """Examples from mappings that are in memory already, such as a ``datasets.Dataset``; else like `read_examples`.

    Where the rows' container names its label numbers (``features[...].names``), its numbers are read by these names:
    the Hugging Face copy of HANS counts from entailment, and the task here from non-entailment.

    Example:
        >>> task = Task("nli", ("non-entailment", "entailment"))
        >>> rows = [{"premise": "The actor ran.", "hypothesis": "An actor ran.", "label": "entailment"}]
        >>> from_rows(rows, task)[0].label
        1
    """
    return tuple(examples(placed(rows), task, lambda found: named(layout_of(found, columns or {}), rows), marker))


def placed(rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Rows that are in memory, with their numbers as places."""
    return (Row(f"row {number}", cells) for number, cells in enumerate(rows, 1))


def named(layout: Layout, rows: object) -> Layout:
    """The layout, with numbers read as the container of the rows names them, if it does (a ``datasets.ClassLabel``)."""
    features = getattr(rows, "features", None)
    names = getattr(features.get(layout.label), "names", None) if isinstance(features, Mapping) else None
    return replace(layout, numbers=tuple(names)) if names else layout


def examples(
    rows: Iterable[Row], task: Task, choose: Callable[[Sequence[str]], Layout], marker: Marker = no_marks
) -> Iterator[Example]:
    """The rows that belong to the layout's part of the data, as examples.

    Args:
        rows: what was read.
        task: the labels.
        choose: the layout, given the columns of the first row; raises a ValueError where none fits.
        marker: finds marks in rows that bring none.

    Raises:
        DataError: a column is missing, a label is unknown, a text is empty or too long, an id occurs twice.
    """
    layout: Layout | None = None
    taken: dict[str, str] = {}
    for number, (place, cells) in enumerate(rows, 1):
        try:
            layout = layout or choose(tuple(cells))
            if any(str(cells[column]) != value for column, value in layout.where.items()):
                continue
            segments = tuple(_texts(cells, layout.text))
            identity = str(number if layout.id is None else cells[layout.id])
            if taken.setdefault(identity, place) is not place:
                raise ValueError(f"the id {identity!r} is used at {taken[identity]} already")
            label = UNLABELLED if layout.label is None else label_of(cells[layout.label], task, layout.numbers)
            own = _marks(cells["marks"]) if cells.get("marks") else {}
            yield Example(identity, segments, label, {**marker(segments, cells), **own})
        except KeyError as error:
            raise DataError(f"{place}: the column {error} is missing (columns: {', '.join(cells)})") from error
        except ValueError as error:
            raise DataError(f"{place}: {error}") from error
        except RecursionError as error:
            raise DataError(f"{place}: a value is nested too deeply") from error


def layout_of(found: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Layout:
    """The layout of a file with these columns, as far as it is not said found by the usual names.

    Args:
        found: the file's columns.
        columns: "text", "label" and "id" -> columns; no column for the label leaves the rows unlabelled. A file that
            has none of them, and other, usual names for its texts, is read by those: a run may read several files.

    Raises:
        ValueError: a column is not there, or none has a usual name.
    """
    named = [name for names in columns.values() for name in names]
    usual_texts = any(set(names) <= set(found) for names in USUAL["text"])
    if columns.get("text") and usual_texts and not set(named) & set(found):
        columns = {part: names for part, names in columns.items() if not names}  # another file, with usual names
    parts: dict[str, tuple[str, ...]] = {}
    for part, usual in USUAL.items():
        if part in columns:
            missing = [name for name in columns[part] if name not in found]
            if missing:
                raise ValueError(f"the column {missing[0]!r} is missing (columns: {', '.join(found)})")
            parts[part] = tuple(columns[part])
        else:
            parts[part] = next((names for names in usual if set(names) <= set(found)), ())
    for part in ("text", "label"):
        if not parts[part] and part not in columns:
            raise ValueError(
                f"no column has a usual name for the {part}; say which with `--columns` (columns: {', '.join(found)})"
            )
    return Layout(parts["text"], next(iter(parts["label"]), None), next(iter(parts["id"]), None))


def label_of(value: Any, task: Task, numbers: Sequence[str] = ()) -> int:
    """The class that a cell gives: by name, by alias or by number.

    Args:
        value: the cell.
        task: the labels.
        numbers: the labels that 0, 1, ... stand for; empty: the task's own order.

    Raises:
        ValueError: it is no label of the task.
    """
    order = numbers or task.labels
    label = task.index(str(value))
    if label is None and (isinstance(value, (int, float)) or str(value).strip() in _DIGITS):
        number = float(value) if isinstance(value, str) else value
        label = task.index(order[int(number)]) if number in range(len(order)) else None
    if label is None:
        counted = ", ".join(f"{name} ({i})" for i, name in enumerate(order))
        raise ValueError(f"a label must be one of {counted} or an alias (got {str(value)[:50]!r})")
    return label


_DIGITS = frozenset(f"{digit}{tail}" for digit in range(10) for tail in ("", ".0"))


def _texts(cells: Mapping[str, Any], columns: tuple[str, ...]) -> Iterator[str]:
    for column in columns:
        value = cells[column]
        for text in value if isinstance(value, list) else (value,):
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"the column {column!r} must hold a text (got {str(text)[:50]!r})")
            if len(text) > MAX_CELL:
                raise ValueError(f"the column {column!r} holds {len(text):,} characters; at most {MAX_CELL:,} are read")
            if not text.isascii():
                text.encode()  # half a surrogate pair, which JSON can say, is no text; UnicodeError is a ValueError
            yield text


def _marks(cell: Any) -> Mapping[str, tuple[Span, ...]]:
    """Marks as data: name -> list of [segment, start, end], or the same as JSON."""
    try:
        content = parse_json(cell) if isinstance(cell, str) else cell
        return {str(name): tuple(Span(*map(int, span)) for span in spans) for name, spans in content.items()}
    except (AttributeError, TypeError, OverflowError, json.JSONDecodeError) as error:
        raise ValueError(f"marks must be name -> list of [segment, start, end] (got {str(cell)[:50]!r})") from error


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, one at a time.

    Raises:
        UsageError: its name does not end in a known way.
        DataError: it cannot be read, is too large, or a line of it is malformed.
    """
    parse = _PARSERS.get(Path(path.name.removesuffix(".gz")).suffix)
    if parse is None:
        raise UsageError(f"{path}: a file of examples ends in {', '.join(_PARSERS)}, or one of these and .gz")
    return parse(path)


def _tab_separated(path: Path) -> Iterator[Row]:
    """Tabs between cells, no quotes: the format of HANS and PAWS."""
    return _table(path, ((number, line.split("\t")) for number, line in _filled(path)))


def _comma_separated(path: Path) -> Iterator[Row]:
    """RFC 4180: commas between cells, a cell may stand in double quotes and then hold anything."""
    reader = csv.reader(_lines(path), strict=True)

    def numbered() -> Iterator[tuple[int, list[str]]]:
        try:
            for cells in reader:
                if cells:  # a blank line is no row
                    yield reader.line_num, cells
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}: {error}") from error

    return _table(path, numbered())


def _table(path: Path, lines: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    header = next(lines, (1, []))[1]
    if not any(header):
        raise DataError(f"{path} is empty; its first line must name the columns")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError(f"{path}, line 1: two columns are named {twice!r}")
    for number, cells in lines:
        if len(cells) != len(header):
            raise DataError(f"{path}, line {number}: {len(header)} cells are needed, as in line 1 (got {len(cells)})")
        yield Row(f"{path}, line {number}", dict(zip(header, cells, strict=True)))


def _json_lines(path: Path) -> Iterator[Row]:
    for number, line in _filled(path):
        place = f"{path}, line {number}"
        try:
            cells = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: no JSON ({getattr(error, 'msg', None) or error})") from error
        if not isinstance(cells, dict):
            raise DataError(f"{place}: an object {{...}} is needed (got {line[:50]!r})")
        yield Row(place, cells)


def _filled(path: Path) -> Iterator[tuple[int, str]]:
    """The lines without their ends; only the last may be empty."""
    empty = 0
    for number, line in enumerate(_lines(path), 1):
        if empty:
            raise DataError(f"{path}, line {empty}: empty")
        if line.isspace():
            empty = number
        else:
            yield number, line.rstrip("\r\n")


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file with their ends, unpacked and decoded, no more of it in memory than one line."""
    size = 0
    number = 1
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as stream:
            for number in itertools.count(1):
                line = stream.readline(MAX_LINE + 1)
                size += len(line)
                if not line:
                    return
                if len(line) > MAX_LINE:
                    raise DataError(f"{path}, line {number}: longer than {MAX_LINE:,} bytes, the most that is read")
                if size > MAX_BYTES:
                    raise DataError(f"{path}, line {number}: more than {MAX_BYTES:,} bytes, the most that is read")
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, line {number}: not UTF-8 (byte 0x{error.object[error.start]:02x})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


_PARSERS = {".jsonl": _json_lines, ".csv": _comma_separated, ".tsv": _tab_separated, ".txt": _tab_separated}
