"""Rows of tables of numbers: columns in any case, wide tables as long ones, and checked cells."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
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

HEAD = re.compile(r"(?:(?P<group>.+?): )?(?P<set>.+?)(?P<in_domain> \(in-domain\))?", re.IGNORECASE)
"""Head of a set's column in a wide table: ``task: set (in-domain)``, of which only the set is needed."""


def read_rows(table: Any, limits: Limits = LIMITS, encoding: str = "") -> tuple[list[Row], list[str]]:
    """Read a table, long or wide, as long rows, with notes on how it was read.

    Args:
        table: a file, a data frame, or a list of mappings from column to cell.
        limits: size limits of a file.
        encoding: of a file that is not UTF-8.

    Raises:
        UsageError: it is no table (a `DataError` names the line).
    """
    if isinstance(table, (str, Path)):
        return long_rows(reader.read_columns(Path(table), encoding, limits).rows())
    if not (isinstance(table, Sequence) or hasattr(table, "to_dict")):
        name = type(table).__name__
        raise UsageError(f"a table must be a file, a data frame or a list of rows (got {name})", value=name)
    return long_rows(reader.of_rows(table, limits).rows())


def long_rows(rows: Iterable[Row]) -> tuple[list[Row], list[str]]:
    """Return rows with known columns in lower case, and for a wide table a row a cell, with notes.

    A table with the column `model` and neither `set` nor `value` is wide: each of its other columns with numbers is a
    set, and columns that sum up sets are left unread.

    Example:
        >>> rows, notes = long_rows([Row("row 1", 1, {"Model": "a", "qa: x": 0.7, "qa: y (in-domain)": 0.9})])
        >>> [row.cells["value"] for row in rows], rows[0].cells["group"], rows[1].cells["kind"]
        ([0.7, 0.9], 'qa', 'in-domain')
        >>> notes
        ['Each column but the model is read as a set: qa: x, qa: y (in-domain).']
    """
    folded = [row._replace(cells=_folded(row)) for row in rows]
    names = dict.fromkeys(name for row in folded for name in row.cells)
    if "model" not in names or {"set", "value"} & names.keys():
        return folded, []
    sets = [name for name in names if _is_set(name) and any(is_number(row.cells.get(name)) for row in folded)]
    if not sets:
        return folded, []
    if beside := [name for name in names if name in NAMES and name not in ("model", "run")]:
        predicate = "cannot stand in a wide table: write a row for each model and set"
        raise DataError.of_column(beside[0], predicate, beside[0], place=folded[0].place)
    cells_of_set = _set_columns(sets)
    unread = [name for name in names if name not in (*sets, "model", "run")]
    wide = [
        Row(
            f"{row.place}, column {name!r}",
            row.number,
            {name: row.cells.get(name) for name in ("model", "run", *unread) if name in names}
            | {**cells_of_set[name], "value": row.cells.get(name)},
        )
        for row in folded
        for name in sets
    ]
    return wide, [f"Each column but the model is read as a set: {listed(sets)}."]


def _folded(row: Row) -> dict[str, Any]:
    """Return cells by their columns, of which known ones are in lower case."""
    cells: dict[str, Any] = {}
    for name, cell in row.cells.items():
        folded = str(name).strip().casefold()
        column = folded if folded in NAMES else str(name)
        if column in cells:
            raise DataError.at(row.place, f"two columns are called {column}, in any case", value=column)
        cells[column] = cell
    return cells


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
    parts = {head: match for head in heads if (match := HEAD.fullmatch(head.strip()))}
    tasks = {match["group"] or match["set"] for match in parts.values() if not match["in_domain"]}
    columns = {}
    for head, match in parts.items():
        group, name, suffix = match.groups(default="")
        of_name = name if suffix and name in tasks else ""
        kind = "in-domain" if suffix else "ood"
        columns[head] = {"set": name + suffix, "group": group or of_name, "kind": kind}
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
