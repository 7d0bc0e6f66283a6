"""What is no ranking, in every format that a report has but that of pairs: sentences, tables and remarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from ranker.errors import look_up
from ranker.report import csv, json, latex, markdown, terminal
from ranker.report.pages import page
from ranker.report.tables import Table


@dataclass(frozen=True)
class Shown:
    """What is to be shown, before any format.

    Attributes:
        title: in a line.
        tables: from top to bottom.
        remarks: what a reader of the tables has to know, a sentence each.
        rows: of the one tidy table that CSV is, all with the same columns; numbers as raw fractions.
        content: all of it, as JSON knows it.
        answer: paragraphs that stand before the tables.
    """

    title: str
    tables: Sequence[Table]
    remarks: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    content: Mapping[str, Any]
    answer: Sequence[str] = ()


def render(shown: Shown, name: str) -> str:
    """It in the named format.

    Raises:
        UnknownName: there is no such format here.
    """
    return look_up("format of comparisons", name, FORMATS)(shown)


def as_text(shown: Shown) -> str:
    """Plain text, for a terminal of 80 columns or more."""
    answer = [Text("\n".join(shown.answer) + "\n")] if shown.answer else []
    return terminal.written(
        [
            Text(shown.title + "\n"),
            *answer,
            *(part for one in shown.tables for part in (one, Text())),
            *(Text(f"- {remark}") for remark in shown.remarks),
        ]
    )


FORMATS: Mapping[str, Callable[[Shown], str]] = {
    "table": as_text,
    "json": lambda shown: json.written(shown.content),
    "markdown": lambda shown: markdown.page(shown.title, shown.tables, shown.remarks, shown.answer),
    "csv": lambda shown: csv.written(shown.rows),
    "latex": lambda shown: latex.document(shown.title, shown.tables, shown.remarks),
    "html": lambda shown: page("shown.html", shown=shown),
}
"""Format -> what writes it."""
