"""`Result`: what every result has: its answer in a line or two, and its numbers as a table."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ranker.errors import UsageError
from ranker.numbers import counted

if TYPE_CHECKING:
    import pandas as pd

ROWS = 60
"""Rows that a notebook shows of a table, at most; a frame has all of them."""

NAMES = 5
"""Names that an answer lists, at most."""

Mode = Literal["evaluation", "decision"]
"""Whether the truth about the models is known."""


class Result(ABC):
    """A result that shows itself wherever Python is: in a shell, in a notebook, as rows for other programs.

    Attributes:
        index: the columns of `to_rows` that tell its rows apart; none where they are told by their order.
    """

    index: ClassVar[tuple[str, ...]] = ("name",)

    @property
    @abstractmethod
    def answer(self) -> str:
        """What was found, in one line or two."""

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """The numbers, a row for each thing that was measured: column -> plain value; fractions, None where unknown."""

    @abstractmethod
    def in_words(self) -> list[dict[str, str]]:
        """The same as a person reads it, in the few columns that matter: column -> text."""

    def to_frame(self) -> pd.DataFrame:
        """The rows of `to_rows` as a data frame, by `index` where there is one.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError("`to_frame` needs pandas: `pip install pandas`; `to_rows` does without") from error
        frame = pd.DataFrame(self.to_rows())
        return frame.set_index(list(self.index)) if self.index else frame

    def __repr__(self) -> str:
        return self.answer

    def _repr_html_(self) -> str:
        """The answer and a small table, for notebooks; every text is escaped."""
        rows = self.in_words()
        shown = [list(row.values()) for row in rows[:ROWS]]
        left = len(rows) - len(shown)
        more = [f"<p>{counted(left, 'more row')}: <code>to_frame()</code></p>"] if left else []
        caption = "<br>".join(map(html.escape, self.answer.splitlines()))
        body = "".join(_row("td", cells) for cells in shown)
        head = _row("th", list(rows[0])) if rows else ""
        return "".join([f"<table><caption>{caption}</caption>{head}{body}</table>", *more])


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def plain(value: Any) -> Any:
    """A record as JSON knows it: by the names of its fields; mappings as objects, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inside) for key, inside in value.items()}
    return [plain(inside) for inside in value] if isinstance(value, (tuple, list)) else value
