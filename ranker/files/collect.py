"""Conversion of rows to columns: blocks of Python values, joined to Arrow arrays."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from ranker.errors import DataError
from ranker.files import shapes
from ranker.files.arrow import compact, concatenate, of_cells
from ranker.files.columns import MEMORY, Columns, Record
from ranker.limits import LIMITS, Limits

BLOCK = 1_000
"""Rows in memory as Python values at once."""

NESTED = 1 << 20
"""Values in lists and objects of a block, above which it has fewer rows."""

SINGLE = frozenset({str, int, float, bool, type(None)})
"""Types of which no value holds others; there are millions of cells, and this is asked of all of them at once."""

UNNAMED = "Unnamed: 0"
"""Name of a column without a name."""


def collect(records: Iterable[Record], origin: str = MEMORY, unit: str = "row", limits: Limits = LIMITS) -> Columns:
    """Convert rows to columns; cells that a row does not name are empty, and `absent` lists them.

    Raises:
        DataError: they hold too much, or no text.

    Example:
        >>> collect([(1, {"a": 1, "p": [0.2, 0.8]}), (2, {"a": "x"})]).cells["a"].to_pylist()
        ['1', 'x']
    """
    parts: dict[str, list[Any]] = {}
    order: dict[str, None] = {}
    groups: dict[str, dict[str, None]] = {}
    unread: dict[str, str] = {}
    deep: dict[str, list[Any]] = {}
    unnamed: dict[str, list[int]] = {}
    empty: dict[str, list[int]] = {}
    stands = array("q")
    inside = 0
    for block, values in _blocks(records, origin, unit, limits):
        size, inside = len(stands), inside + values
        stands.extend(number for number, _ in block)
        new = dict.fromkeys(chain.from_iterable(cells for _, cells in block if cells.keys() != order.keys()))
        unnamed |= {name: [*range(size)] for name in new.keys() - order.keys() if size}
        order.update(new)
        for row, (_, cells) in enumerate(block, size):
            for name in order.keys() - cells.keys() if len(cells) < len(order) else ():
                unnamed.setdefault(name, []).append(row)
            for name in [name for name, cell in cells.items() if type(cell) is list and not cell]:
                empty.setdefault(name, []).append(row)
        flat = [shapes.flatten_row(cells, groups, unread, limits.list) for _, cells in block]
        for name in dict.fromkeys(chain.from_iterable(flat)):
            parts.setdefault(name, [pa.nulls(size)] if size else [])
        limits.check(origin, "columns", len(parts))
        limits.check(origin, "table_rows", len(stands))
        limits.check(origin, "table_cells", len(stands) * len(parts) + inside)
        for name, blocks in parts.items():
            try:
                blocks.append(_array([cells.get(name) for cells in flat], name, block, origin, unit))
            except UnicodeError:
                blocks.append(pa.nulls(len(block)))
                column_name = next((group for group, columns in groups.items() if name in columns), name)
                unread.setdefault(column_name, "half of a character")
        for name in unread:
            deep.setdefault(name, [pa.nulls(size)] if size else []).append(
                of_cells([_json(cells.get(name)) for _, cells in block])
            )
    cells = {name: compact(concatenate(parts.pop(name))) for name in list(parts)}
    if "" in order and UNNAMED not in order:  # pandas' numbering of the rows, under pandas' name for it
        cells = {name or UNNAMED: column for name, column in cells.items()}
        order = dict.fromkeys(name or UNNAMED for name in order)
    groups_of_parts = {name: tuple(columns) for name, columns in groups.items()}
    without_nested = Columns(origin, len(stands), cells, groups_of_parts)
    nested = {name: _fill_above(without_nested, name, concatenate(blocks)) for name, blocks in deep.items()}
    for name in unread:
        for part in (name, *groups_of_parts.pop(name, ())):
            cells.pop(part, None)
    numbers = np.arange(len(stands))
    absent = {name: np.isin(numbers, rows) for name, rows in unnamed.items()}
    empty_lists = {name: np.isin(numbers, rows) for name, rows in empty.items() if name in groups_of_parts}
    return Columns(
        origin,
        len(stands),
        cells,
        groups_of_parts,
        unread,
        nested=nested,
        order=tuple(order),
        stands=stands,
        unit=unit,
        limits=limits,
        absent=absent,
        empty_lists=empty_lists,
    )


def _fill_above(columns: Columns, name: str, texts: Any) -> Any:
    """Return (N,) a column of JSON, with the rows before the first one that had no single values."""
    if not texts.null_count or (name not in columns.cells and name not in columns.groups):
        return texts
    above = columns.values(name)
    return of_cells([_json(above[row]) if text is None else text for row, text in enumerate(texts.to_pylist())])


def _blocks(records: Iterable[Record], origin: str, unit: str, limits: Limits) -> Iterator[tuple[list[Record], int]]:
    """Yield rows that are in memory at once, and the number of values in their lists and objects."""
    block: list[Record] = []
    nested = 0
    for number, cells in records:
        if len(cells) > limits.columns:
            limits.check(f"{origin}, {unit} {number}", "columns", len(cells))
        block.append((number, cells))
        if not SINGLE.issuperset(map(type, cells.values())):
            nested += shapes.nested_in(cells)
        if len(block) == BLOCK or nested >= NESTED:
            yield block, nested
            block, nested = [], 0
    if block:
        yield block, nested


def _json(cell: Any) -> str | None:
    """Return a cell as JSON; None for an empty one."""
    return None if cell is None else json.dumps(cell, ensure_ascii=True, default=str)


def _array(values: Sequence[Any], name: str, block: Sequence[Record], origin: str, unit: str) -> Any:
    """Return (R,) the cells of one column in some rows; refuse one with a NUL."""
    none = SINGLE - {str}
    if not none.issuperset(map(type, values)) and any(isinstance(value, str) and "\0" in value for value in values):
        number = next(number for (number, _), value in zip(block, values, strict=True) if "\0" in str(value))
        raise DataError.of_column(name, "holds a NUL; is the file text, and UTF-8?", place=f"{origin}, {unit} {number}")
    return of_cells(values)
