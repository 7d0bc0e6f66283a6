"""A table as plain text, before any format; every format takes its cells from it, so that they agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters
from typing import Any, Literal

Place = Literal["main", "end", "folded"]
"""Place of a table on a page: beside the figures, below the examples, or folded at the end."""

MANY_MODELS = 50
"""Models that all formats list, at most; of more, a page and formats for programs list all."""

MAX_LETTERS = len(ascii_letters)
"""Most groups that letters name."""

READ = ("table", "markdown", "latex", "html")
"""Default formats of a table: all that people read."""


MAX_PAIRED_MODELS = 25
"""Models that are compared in pairs in a table, or drawn, at most: the first of the order."""


@dataclass(frozen=True)
class Table:
    """A table as plain text.

    Attributes:
        head: (columns,) names of the columns.
        numeric: (columns,) whether the column holds numbers.
        sections: sizes of successive groups of rows that are set apart.
        help: explanation of its numbers, a sentence or two, for formats with room for it.
        formats: formats that show it.
        place: its place on a page.
        heat: first column whose cells, percentages, a page colours; None for no colours.
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

    def select_columns(self, columns: Sequence[int]) -> Table:
        """Return some of its columns."""
        head, *rows = (tuple(row[n] for n in columns) for row in (self.head, *self.rows))
        return replace(self, head=head, numeric=tuple(self.numeric[n] for n in columns), rows=tuple(rows))

    def without_empty(self, *heads: str) -> Table:
        """Return the table without those of the named columns that are empty in all rows."""
        used = [n for n, head in enumerate(self.head) if head not in heads or any(row[n] for row in self.rows)]
        return self.select_columns(used)


def table(
    caption: str,
    texts: Sequence[str],
    numbers: Sequence[str],
    rows: Iterable[Iterable[str]],
    last: Sequence[str] = (),
    sections: Iterable[int] = (),
    **options: Any,
) -> Table:
    """Build a table whose text columns stand before its number columns, or last.

    Args:
        texts, numbers, last: names of the columns, in this order.

    Example:
        >>> table("methods", ["method"], ["accuracy"], [("ACC", "90.0")]).numeric
        (False, True)
    """
    numeric = (*(False for _ in texts), *(True for _ in numbers), *(False for _ in last))
    return Table(caption, (*texts, *numbers, *last), numeric, tuple(map(tuple, rows)), tuple(sections), **options)


def cut(text: str, most: int = 200) -> str:
    """Return the beginning of a text, with an ellipsis if there is more."""
    return text if len(text) <= most else f"{text[:most]}…"


def group_numbers(groups: Iterable[Sequence[str]]) -> Mapping[str, Sequence[int]]:
    """Return name -> the numbers of the groups that it is in, from 1: two models that share one cannot be told apart.

    Example:
        >>> dict(group_numbers([["a", "b"], ["b", "c"], ["d"]]))
        {'a': [1], 'b': [1, 2], 'c': [2], 'd': [3]}
    """
    numbers: dict[str, list[int]] = {}
    for number, group in enumerate(groups, 1):
        for name in group:
            numbers.setdefault(name, []).append(number)
    return numbers


def letters(groups: Sequence[Sequence[str]]) -> Mapping[str, str]:
    """Return name -> the letters of its groups, of which there are no more than `MAX_LETTERS`.

    Example:
        >>> letters([["a", "b"], ["b", "c"], ["d"]])
        {'a': 'a', 'b': 'ab', 'c': 'b', 'd': 'c'}
    """
    return {
        name: "".join(ascii_letters[number - 1] for number in numbers)
        for name, numbers in group_numbers(groups).items()
    }
