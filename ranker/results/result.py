"""`Result`: the interface of every result: its answer in a line or two, and its numbers as a table."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ranker.errors import check_installed
from ranker.numbers import counted

if TYPE_CHECKING:
    import pandas as pd

MAX_NOTEBOOK_ROWS = 60
"""Rows of a table that a notebook shows, at most; a frame has all of them."""

NAMES = 5
"""Names that an answer lists, at most."""

Mode = Literal["evaluation", "decision"]
"""Mode of a run: the truth about the models is known ("evaluation"), or not ("decision")."""


class Result(ABC):
    """A result that shows itself in a shell, in a notebook, and as rows for other programs.

    Attributes:
        index: the columns of `to_rows` that identify its rows; empty if only their order does.
        figures: module whose `drawings` draws its figures; empty if it has none, or if reports have them.
    """

    index: ClassVar[tuple[str, ...]] = ("name",)
    figures: ClassVar[str] = ""

    @property
    @abstractmethod
    def answer(self) -> str:
        """The answer in a line or two."""

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each measured thing: column -> plain value; fractions, None where unknown."""

    @abstractmethod
    def in_words(self) -> list[dict[str, str]]:
        """Return the same as text for people, in the few columns that matter: column -> text."""

    def to_frame(self) -> pd.DataFrame:
        """Return the rows of `to_rows` as a data frame, indexed by `index` if there is one.

        A mapping becomes a column for each of its keys: "scores: ACC".

        Raises:
            UsageError: pandas is not installed.
        """
        check_installed("`to_frame`", "notebook", "pandas")
        import pandas as pd

        frame = pd.DataFrame([dict(_flat(row)) for row in self.to_rows()])
        return frame.set_index(list(self.index)) if self.index else frame

    def __repr__(self) -> str:
        return self.answer

    def _repr_html_(self) -> str:
        """Return the answer and a small table for notebooks; every text is escaped."""
        rows = self.in_words()
        cells_by_row = [list(row.values()) for row in rows[:MAX_NOTEBOOK_ROWS]]
        left = len(rows) - len(cells_by_row)
        rest_note = [f"<p>{counted(left, 'more row')}: <code>to_frame()</code></p>"] if left else []
        caption = "<br>".join(map(html.escape, self.answer.splitlines()))
        body = "".join(_row("td", cells) for cells in cells_by_row)
        head = _row("th", list(rows[0])) if rows else ""
        return "".join([f"<table><caption>{caption}</caption>{head}{body}</table>", *rest_note])


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}: {key}", inside) for key, inside in _flat(value))
        else:
            yield name, value


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def to_plain(value: Any) -> Any:
    """Convert a record to JSON values: its fields by name, mappings as objects, tuples as lists."""
    if type(value) in (float, int, str):  # most values, and the tests below take longer
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(inside) for key, inside in value.items()}
    return [to_plain(inside) for inside in value] if isinstance(value, (tuple, list)) else value
