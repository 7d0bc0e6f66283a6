"""Draws of rows from files of any size: a seeded sample, uniform over all rows, taken while the file is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from factors.types import Ints
from ranker.files import shapes
from ranker.files.cells import EXACT
from ranker.files.columns import Record
from ranker.limits import LIMITS, Limits

STEP = 1 << 16
"""Random numbers drawn at once, one for each row."""


@dataclass(frozen=True)
class Draw:
    """Rows that are read of a file with many.

    Each row has a random number, and the rows with the smallest are drawn. So the draw depends on the number of rows
    and the seed alone, and rows that are added to a file change little of it.

    Attributes:
        most: number of rows that are drawn; a file without more is read whole.
        texts: texts of rows that are read in any case, the first row of each.
        filled: names of columns, lower case; rows with a cell in the first of these that they have are read in any
            case, unless more than `most` have.
    """

    most: int
    texts: frozenset[tuple[str, ...]] = frozenset()
    filled: tuple[str, ...] = ()
    seed: int = 0

    @cached_property
    def firsts(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """First text -> the rows' texts that begin with it."""
        by_first: dict[str, list[tuple[str, ...]]] = {}
        for texts in sorted(self.texts):
            by_first.setdefault(texts[0], []).append(texts)
        return {text: tuple(rows) for text, rows in by_first.items()}

    def texts_in(self, cells: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the known texts that a row's cells hold; () if none do.

        Example:
            >>> Draw(5, frozenset({("It ran.", "It sat.")})).texts_in({"id": 1, "a": "It ran.", "b": "It sat."})
            ('It ran.', 'It sat.')
        """
        if not self.texts:
            return ()
        values = [text for cell in cells.values() for text in (cell if isinstance(cell, list) else (cell,))]
        rows = (row for text in values if isinstance(text, str) for row in self.firsts.get(text, ()))
        return next((row for row in rows if all(text in values for text in row)), ())

    def is_filled(self, cells: Mapping[str, Any]) -> bool:
        """Return whether a row has a cell in the first of the columns that must not be missed."""
        column = filled_column(tuple(cells), self.filled) if self.filled else None
        return column is not None and not is_empty(cells[column])


@lru_cache(maxsize=64)
def filled_column(header: tuple[str, ...], filled: tuple[str, ...]) -> str | None:
    """Return the first of some columns, in lower case, that a header has in any case."""
    by_name = {name.strip().casefold(): name for name in reversed(header)}
    return next((by_name[name] for name in filled if name in by_name), None)


def is_empty(cell: Any) -> bool:
    """Return whether a cell is blank, null, nan or an empty list.

    Example:
        >>> [is_empty(cell) for cell in (" ", None, float("nan"), [], 0, False)]
        [True, True, True, True, False, False]
    """
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or cell != cell or cell == []


def sample_rows(size: int, most: int, seed: int = 0) -> Ints:
    """Return the drawn rows of `size`, in order: all, or those with the `most` smallest random numbers.

    Example:
        >>> sample_rows(3, 5).tolist(), len(sample_rows(1_000_000, 20))
        ([0, 1, 2], 20)
    """
    if size <= most:
        return np.arange(size)
    generator = np.random.default_rng(seed)
    rows, chances = np.zeros(0, dtype=np.int64), np.zeros(0)
    for start in range(0, size, STEP):
        chances = np.concatenate([chances, generator.random(min(STEP, size - start))])
        rows = np.concatenate([rows, np.arange(start, min(start + STEP, size))])
        if len(rows) > most:
            smallest = np.argpartition(chances, most - 1)[:most] if most else np.zeros(0, dtype=np.int64)
            rows, chances = rows[smallest], chances[smallest]
    return np.sort(rows)


class DrawnRecords(NamedTuple):
    """Rows that were drawn while a file was read.

    Attributes:
        records: the drawn rows, in order, and among them rows that show a type of cell that no drawn row has.
        places: (n,) positions of the drawn rows in `records`.
        numbers: (n,) their numbers among all rows of the file, from 1.
    """

    records: list[Record]
    places: Ints
    numbers: Ints
    size: int


@dataclass
class _HeldRow:
    """A row in memory: its random number, its size in characters and values, and whether it is read in any case."""

    record: Record
    chance: float
    characters: int
    values: int
    pinned: bool


@dataclass
class _Reservoir:
    """Rows in memory by number: those with the smallest random numbers, and those that are read in any case."""

    most: int
    origin: str
    limits: Limits
    rows: dict[int, _HeldRow] = field(default_factory=dict)
    bound: float = 1.0
    characters: int = 0
    values: int = 0

    def hold(self, row: int, record: Record, chance: float, pinned: bool) -> None:
        """Keep a row, and drop those that are no longer drawn once there are twice as many, or too large."""
        cells = record[1].values()
        characters = sum(
            len(cell) if isinstance(cell, str) else 8 if not isinstance(cell, (list, dict)) else len(str(cell))
            for cell in cells
        )
        values = len(record[1]) + shapes.nested_in(record[1])
        self.rows[row] = _HeldRow(record, chance, characters, values, pinned)
        self.characters += characters
        self.values += values
        is_large = self.characters > self.limits.file or self.values > self.limits.values
        if len(self.rows) > 2 * self.most + 1_000 or is_large:
            self.drop()
            self.limits.check(self.origin, "file", self.characters)
            self.limits.check(self.origin, "values", self.values)

    def drop(self) -> None:
        """Drop the rows that are no longer drawn, and are not read in any case."""
        if len(self.rows) <= self.most:
            return
        self.bound = sorted(held.chance for held in self.rows.values())[self.most]
        self.rows = {row: held for row, held in self.rows.items() if held.chance < self.bound or held.pinned}
        self.characters = sum(held.characters for held in self.rows.values())
        self.values = sum(held.values for held in self.rows.values())


def draw_records(records: Iterable[Record], draw: Draw, origin: str, limits: Limits = LIMITS) -> DrawnRecords:
    """Draw rows while they are read; at most twice as many as are drawn are in memory.

    A column's type is that of all its cells in the file. So rows that show another type of cell than those before are
    in the result, too, but not among `places`.

    Example:
        >>> rows = [(n + 1, {"text": f"Row {n}."}) for n in range(100)]
        >>> draw_records(rows, Draw(3), "rows").numbers.tolist() == (sample_rows(100, 3) + 1).tolist()
        True
    """
    reservoir, kinds, pins = _Reservoir(draw.most, origin, limits), _Kinds(origin, limits), PinnedRows(draw)
    size = 0
    for row, record, chance in zip(count(), records, _chances(draw.seed), strict=False):
        size = row + 1
        pinned = kinds.is_new(record[1]) | pins.add(row, record[1])
        if pinned or chance < reservoir.bound:
            reservoir.hold(row, record, chance, pinned)
    drawn = {*range(size)} if size <= draw.most else {*pins.rows, *sample_rows(size, draw.most, draw.seed).tolist()}
    rows = sorted(reservoir.rows)
    places = np.array([place for place, row in enumerate(rows) if row in drawn], dtype=np.int64)
    return DrawnRecords(
        [reservoir.rows[row].record for row in rows], places, np.array(rows, dtype=np.int64)[places] + 1, size
    )


def _chances(seed: int) -> Iterator[float]:
    """Yield the random numbers of rows."""
    generator = np.random.default_rng(seed)
    while True:
        yield from generator.random(STEP).tolist()


class PinnedRows:
    """Rows that are read in any case: the first of each known text, and those with a label."""

    def __init__(self, draw: Draw) -> None:
        self._draw, self._texts, self._filled = draw, set[tuple[str, ...]](), set[int]()
        self._by_text: set[int] = set()

    def add(self, row: int, cells: Mapping[str, Any]) -> bool:
        """Return whether a row is read in any case, and remember it."""
        texts = self._draw.texts_in(cells)
        if texts and texts not in self._texts:
            self._texts.add(texts)
            self._by_text.add(row)
        if len(self._filled) <= self._draw.most and self._draw.is_filled(cells):
            self._filled.add(row)
        return row in self._by_text or row in self._filled

    @property
    def rows(self) -> set[int]:
        """Their positions in the file."""
        return self._by_text | (self._filled if len(self._filled) <= self._draw.most else set())


class _Kinds:
    """Types of cells that the columns of a file have had so far."""

    def __init__(self, origin: str, limits: Limits) -> None:
        self._origin, self._limits = origin, limits
        self._seen: set[tuple[str, object]] = set()
        self._groups: dict[str, dict[str, None]] = {}
        self._unread: dict[str, str] = {}

    def is_new(self, cells: Mapping[str, Any]) -> bool:
        """Return whether a row has a cell of a type that its column has not had; remember it."""
        flat = shapes.flatten_row(cells, self._groups, self._unread, self._limits.list)
        familiar = flat is cells and self._seen.issuperset((name, type(cell)) for name, cell in cells.items())
        if familiar and all(type(cell) is not int or -EXACT <= cell <= EXACT for cell in cells.values()):
            return False
        new = {(name, _kind(cell)) for name, cell in (*flat.items(), *cells.items())}
        new |= {(name, kind) for name, kind in self._unread.items() if name in cells}
        new -= self._seen
        self._seen |= new
        if new:
            self._limits.check(self._origin, "columns", len({name for name, _ in self._seen}))
        return bool(new)


def _kind(cell: Any) -> object:
    """Return what decides the type of a column; whole numbers beyond those that floats hold are another kind."""
    if is_empty(cell):
        return type(None)
    return ("large", abs(cell) >= 1 << 63) if type(cell) is int and abs(cell) > EXACT else type(cell)
