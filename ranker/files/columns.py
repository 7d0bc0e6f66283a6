"""Content of a file: named columns, in which an empty cell is null; and the same row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, NamedTuple

from factors.types import Ints
from ranker.limits import LIMITS, Limits

Record = tuple[int, Mapping[str, Any]]
"""Number of a row, or of its line, and its cells."""

MEMORY = "rows in memory"
"""Origin of rows that no file holds."""


class Row(NamedTuple):
    """One row of a file, or of any other table.

    Attributes:
        place: for messages: "dev.tsv, line 17".
        number: its place among the rows, from 1.
        cells: column -> value; None where the cell is empty.
    """

    place: str
    number: int
    cells: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Columns:
    """Content of a file. The type of a column is that of all its cells.

    Attributes:
        size: n, the number of rows.
        cells: column -> (n,) a pyarrow array of texts, numbers or truth values, which may be dictionary-encoded; null
            where a cell is empty: it is blank, null or nan.
        groups: column of lists or objects -> the columns in `cells` that its parts became, ``column/part``.
        unread: column -> its type, where it has no single values.
        names: column -> the labels of its numbers, where the file has them.
        nested: column of deeper lists or objects -> (n,) a pyarrow array of JSON texts.
        order: the columns in the order of the file.
        stands: (n,) number of each row's line or row; None for rows from 1.
        unit: unit of these numbers.
        absent: column of the file -> (n,) the rows that do not name it, as rows of JSON may; none where all do.
        empty_lists: column of lists in `groups` -> (n,) the rows whose list is there, and empty.
        numbers: (n,) number of each row among all rows of the file, from 1; None where all rows are here.
        total: number of rows of the file, of which these were drawn; 0 where all rows are here.
        files: (file, number of rows before its first) for each file of a table in several; () for one file.
        worked_out: cache of the columns' readers, by a name of their own.
    """

    origin: str
    size: int
    cells: Mapping[str, Any]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    nested: Mapping[str, Any] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    stands: Sequence[int] | None = None
    unit: str = "row"
    limits: Limits = LIMITS
    absent: Mapping[str, Any] = field(default_factory=dict)
    empty_lists: Mapping[str, Any] = field(default_factory=dict)
    numbers: Ints | None = None
    total: int = 0
    files: tuple[tuple[str, int], ...] = ()
    worked_out: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

    def place(self, row: int) -> str:
        """Return the place of a row, for messages.

        Example:
            >>> Columns("a.csv", 2, {}, stands=[2, 5], unit="line").place(1)
            'a.csv, line 5'
        """
        number = self.number(row)
        file, before = next((part for part in reversed(self.files) if part[1] < number), (self.origin, 0))
        stands = f"{self.unit} {self.stands[row] if self.stands is not None else number - before}"
        return stands if self.origin == MEMORY else f"{file}, {stands}"

    def number(self, row: int) -> int:
        """Return the number of a row among all rows of the file, from 1."""
        return row + 1 if self.numbers is None else int(self.numbers[row])

    @property
    def file_size(self) -> int:
        """Number of rows of the file."""
        return self.total or self.size

    def drawn(self, places: Ints, numbers: Ints, total: int) -> Columns:
        """Return some rows, with their numbers among the `total` rows of the file; itself if these are all.

        Example:
            >>> import numpy as np, pyarrow as pa
            >>> columns = Columns("a.csv", 3, {"a": pa.array([1, 2, 3])}, stands=[2, 3, 5], unit="line")
            >>> part = columns.drawn(np.array([2]), np.array([700]), 1_000)
            >>> part.cells["a"].to_pylist(), part.place(0), part.number(0)
            ([3], 'a.csv, line 5', 700)
        """
        if len(places) == self.size == total:
            return self
        arrays = ({name: array.take(places) for name, array in part.items()} for part in (self.cells, self.nested))
        cells, nested = arrays
        stands = None if self.stands is None else [self.stands[place] for place in places.tolist()]
        absent = {name: rows[places] for name, rows in self.absent.items()}
        return replace(
            self,
            size=len(places),
            cells=cells,
            nested=nested,
            stands=stands,
            absent={name: rows for name, rows in absent.items() if rows.any()},
            empty_lists={name: rows[places] for name, rows in self.empty_lists.items()},
            numbers=numbers,
            total=total,
        )

    def rows(self) -> Iterator[Row]:
        """Yield the rows; parts of a list or object are joined again."""
        from ranker.files.arrow import characters, values_inside

        self.limits.check(self.origin, "rows", self.size)
        self.limits.check(self.origin, "file", sum(map(characters, self.cells.values())))
        inside = sum(map(values_inside, self.nested.values()))
        self.limits.check(self.origin, "values", self.size * (len(self.cells) + len(self.nested)) + inside)
        names = [name for name in self.order if name in self.cells or name in self.nested or name in self.groups]
        values = [self.values(name) for name in names]
        for row, cells in enumerate(zip(*values, strict=True) if values else ((),) * self.size):
            yield Row(self.place(row), self.number(row), dict(zip(names, cells, strict=True)))

    def values(self, name: str) -> list[Any]:
        """Return (n,) cells of one column of the file, as Python values; None where one is empty, but for a list."""
        from ranker.files.arrow import python_values

        if name in self.nested:
            return [None if text is None else json.loads(text) for text in python_values(self.nested[name])]
        single = python_values(self.cells[name]) if name in self.cells else [None] * self.size
        if name not in self.groups:
            return single
        parts = [part[len(name) + 1 :] for part in self.groups[name]]
        rows = zip(*(python_values(self.cells[part]) for part in self.groups[name]), strict=True)
        several: list[Any] = [_trim(row) for row in rows]
        if not all(part.isdecimal() for part in parts):
            several = [row and dict(zip_longest(parts, row)) for row in several]
        cells = [cell if row is None else row for cell, row in zip(single, several, strict=True)]
        for row in self.empty_lists[name].nonzero()[0].tolist() if name in self.empty_lists else ():
            cells[row] = []
        return cells


def _trim(row: Sequence[Any]) -> list[Any] | None:
    """Return a list without the places beyond its own end; None where nothing is left."""
    size = max((index + 1 for index, value in enumerate(row) if value is not None), default=0)
    return list(row[:size]) or None
