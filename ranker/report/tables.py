"""A table as plain text, before any format.

Every format takes its cells from it, so that they agree to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters
from typing import Any, Literal

Place = Literal["main", "end", "folded"]
"""Where a page has a table: beside the figures, below the examples, or at the end, on demand."""

READ = ("table", "markdown", "latex", "html")
"""The formats that a table stands in unless it says otherwise: all that are read."""


@dataclass(frozen=True)
class Table:
    """A table as plain text.

    Attributes:
        caption: what it shows, a few words.
        head: (columns,) names of the columns.
        numeric: (columns,) the column holds numbers.
        rows: a cell for each column.
        sections: how many rows belong together, and how many of the next, where they are set apart.
        help: what its numbers are, a sentence or two, where a format has room for it.
        formats: those that have it.
        place: where a page has it.
        heat: a page colours the cells from this column on, which are fractions; None: none are.
    """

    caption: str
    head: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    sections: tuple[int, ...] = ()
    help: str = ""
    formats: tuple[str, ...] = READ
    place: Place = "main"
    heat: int | None = None

    def of(self, columns: Sequence[int]) -> Table:
        """Some of its columns."""
        head, *rows = (tuple(row[n] for n in columns) for row in (self.head, *self.rows))
        return replace(self, head=head, numeric=tuple(self.numeric[n] for n in columns), rows=tuple(rows))


def table(
    caption: str,
    texts: Sequence[str],
    numbers: Sequence[str],
    rows: Iterable[Iterable[str]],
    last: Sequence[str] = (),
    sections: Iterable[int] = (),
    **more: Any,
) -> Table:
    """A table whose columns of texts stand before its columns of numbers, or last.

    Args:
        caption: what it shows, a few words.
        texts, numbers, last: names of the columns, in this order.
        rows: a cell for each column.
        sections, more: see `Table`.

    Example:
        >>> table("methods", ["method"], ["accuracy"], [("ACC", "90.0")]).numeric
        (False, True)
    """
    numeric = (*(False for _ in texts), *(True for _ in numbers), *(False for _ in last))
    return Table(caption, (*texts, *numbers, *last), numeric, tuple(map(tuple, rows)), tuple(sections), **more)


def letters(name: str, groups: Iterable[Sequence[str]]) -> str:
    """The letters of the groups that a name is in: two models that share one cannot be told apart.

    Example:
        >>> letters("b", [["a", "b"], ["b", "c"], ["d"]])
        'ab'
    """
    return "".join(letter for letter, group in zip(ascii_letters, groups, strict=False) if name in group)
