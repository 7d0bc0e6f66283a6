"""Rows of tables of numbers: columns in any case, wide tables as long ones, and checked cells."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ranker.errors import DataError, UsageError, listed
from ranker.files import reader
from ranker.files.cells import cell_text
from ranker.files.columns import Row
from ranker.limits import LIMITS, Limits
from ranker.tasks.empty import is_empty_word

NAMES = (*("model", "set", "value", "se", "n", "group", "kind", "run"), *("level", "source", "similarity", "measure"))
"""Columns with a meaning, which a table may write in any case."""

SUMMARIES = ("average", "avg", "mean", "overall", "rank")
"""Columns of a leaderboard that sum up its sets, so that they are none themselves."""

DASHES = ("-", "\N{EN DASH}")
"""Cells that published tables use for a missing number, besides the usual words for nothing."""

_SIGNED = re.compile(r"\A[-+*]*[0-9][0-9.,]*\s*[%±*†‡^(].*")
"""Cell with a number and a sign beside it, such as ``81.2%`` or ``81.2 ± 0.3``."""

IN_DOMAIN = " (in-domain)"
"""End of the head of an in-domain set in a wide table: ``task: set (in-domain)``, of which only the set is needed."""


def read_rows(table: Any, limits: Limits = LIMITS) -> tuple[Iterator[Row], list[str]]:
    """Read a table, long or wide, as long rows, with notes on how it was read.

    Args:
        table: a file, a data frame, or a list of mappings from column to cell.

    Raises:
        UsageError: it is no table (a `DataError` names the line).
    """
    if isinstance(table, (str, Path)):
        return long_rows(reader.read_columns(Path(table), limits=limits).rows())
    if not (isinstance(table, Sequence) or hasattr(table, "to_dict")):
        name = type(table).__name__
        raise UsageError(f"a table must be a file, a data frame or a list of rows (got {name})", value=name)
    return long_rows(reader.of_rows(table, limits).rows())


def long_rows(rows: Iterable[Row]) -> tuple[Iterator[Row], list[str]]:
    """Return rows with known columns in lower case, and for a wide table a row a cell, with notes.

    A table with the column `model` and neither `set` nor `value` is wide: each of its other columns with numbers is a
    set, and columns that sum up sets are left unread.

    Example:
        >>> rows, notes = long_rows([Row("row 1", 1, {"Model": "a", "qa: x": 0.7, "qa: y (in-domain)": 0.9})])
        >>> [(row.cells["value"], row.cells["group"], row.cells["kind"]) for row in rows]
        [(0.7, 'qa', 'ood'), (0.9, 'qa', 'in-domain')]
        >>> notes
        ['Each column but the model is read as a set: qa: x, qa: y (in-domain).']
    """
    remaining = iter(rows)
    if (first := next(remaining, None)) is None:
        return iter(()), []
    columns = _columns(first)
    folded = (
        row._replace(cells={columns[name]: cell for name, cell in row.cells.items()})
        for row in chain([first], remaining)
    )
    names = list(columns.values())
    return (folded, []) if "model" not in names or {"set", "value"} & {*names} else _unpivot(list(folded), names)


def _unpivot(rows: Sequence[Row], names: Sequence[str]) -> tuple[Iterator[Row], list[str]]:
    """Return a row for each model and set of a wide table; a table without sets stays as it is."""
    sets = [name for name in names if _is_set(name) and any(is_number(row.cells[name]) for row in rows)]
    _check_cells(rows, [name for name in names if _is_set(name) and name not in sets])
    if not sets:
        return iter(rows), []
    if beside := [name for name in names if name in NAMES and name not in ("model", "run")]:
        predicate = "cannot stand in a wide table: write a row for each model and set"
        raise DataError.of_column(beside[0], predicate, beside[0], place=rows[0].place)
    cells_of_set = _set_columns(sets)
    others = [name for name in names if name not in sets]
    wide = (
        Row(
            f"{row.place}, column {name!r}",
            row.number,
            {other: row.cells[other] for other in others} | {**cells_of_set[name], "value": row.cells[name]},
        )
        for row in rows
        for name in sets
    )
    return wide, [f"Each column but the model is read as a set: {listed(sets)}."]


def _check_cells(rows: Sequence[Row], names: Sequence[str]) -> None:
    """Refuse a wide table whose cells hold numbers and signs beside them; the first such cell is named."""
    for row in rows:
        for name in names:
            if _SIGNED.fullmatch(cell := optional(row, name)):
                predicate = f"must be a number (got {cell[:50]!r}); write the number alone"
                raise DataError.of_column(name, predicate, cell, place=row.place)


def _columns(row: Row) -> dict[str, str]:
    """Map each column to its name, which is in lower case if it is a known one."""
    columns: dict[str, str] = {}
    for name in row.cells:
        folded = str(name).strip().casefold()
        column = folded if folded in NAMES else str(name)
        if column in columns.values():
            raise DataError.at(row.place, f"two columns are called {column}, in any case", value=column)
        columns[name] = column
    return columns


def _is_set(column: str) -> bool:
    return column not in NAMES and column.strip().casefold() not in SUMMARIES


def is_number(cell: Any) -> bool:
    """Return True if a cell holds a finite number."""
    try:
        return math.isfinite(float(cell_text(cell)))
    except (TypeError, ValueError):
        return False


def _set_columns(heads: Sequence[str]) -> dict[str, dict[str, str]]:
    """Map each head of a wide table to its set, group and kind; an in-domain set takes the task of its name."""
    columns = {}
    for head in heads:
        group, separator, name = head.strip().partition(": ")
        group, name = (group, name) if separator and name else ("", head.strip())
        kind = "in-domain" if name.casefold().endswith(IN_DOMAIN) else "ood"
        columns[head] = {"set": name, "group": group, "kind": kind}
    tasks = {cells["group"] or cells["set"] for cells in columns.values() if cells["kind"] == "ood"}
    for cells in columns.values():
        own_task = cells["set"][: -len(IN_DOMAIN)]
        if cells["kind"] == "in-domain" and own_task in tasks:
            cells["group"] = cells["group"] or own_task
    return columns


def optional(row: Row, column: str) -> str:
    """Return a cell's text; "" where it is empty or missing."""
    cell = row.cells.get(column)
    return "" if cell is None else cell_text(cell)


def required(row: Row, column: str) -> str:
    """Return a cell's text, or refuse an empty one."""
    if not (content := optional(row, column)):
        raise DataError.at(row.place, f"the cell `{column}` is empty", option=column)
    return content


def number(row: Row, column: str) -> float:
    """Return a cell's number; nan where it holds none."""
    content = optional(row, column)
    if content in DASHES or is_empty_word(content):  # nothing in a column of numbers can be a name
        content = ""
    try:
        value = float(content or "nan")
    except ValueError as error:
        if re.fullmatch(r"[-+]?[0-9]*,[0-9]+", content):
            predicate = f"has a decimal comma (got {content[:50]!r}); write a point"
            raise DataError.about(column, predicate, content, place=row.place) from error
        raise DataError.about(column, f"must be a number (got {content[:50]!r})", content, place=row.place) from error
    if math.isinf(value):
        raise DataError.about(column, f"must be finite (got {content[:50]!r})", content, place=row.place)
    return value


def require(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[Row]:
    """Yield rows, and refuse the first without a needed column."""
    for row in rows:
        if lacking := [name for name in columns if name not in row.cells]:
            raise DataError.at(
                row.place,
                f"the columns {', '.join(columns)} are needed, and {lacking[0]} is missing (got {listed(row.cells)})",
                value=lacking[0],
                allowed=columns,
            )
        yield row
