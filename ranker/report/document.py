"""What is no ranking, in every format that a report has but that of pairs: sentences, tables and remarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ranker.errors import look_up
from ranker.report import csv, json, latex, markdown, terminal
from ranker.report.escapes import visible
from ranker.report.pages import page
from ranker.report.tables import Table

if TYPE_CHECKING:
    from ranker.report.figures import Drawing


@dataclass(frozen=True)
class Document:
    """A title, an answer, tables and remarks, before any format.

    Attributes:
        title: in a line.
        tables: from top to bottom.
        remarks: what a reader of the tables has to know, a sentence each.
        rows: of the one tidy table that CSV is, all with the same columns; numbers as raw fractions.
        content: all of it, as JSON knows it.
        answer: paragraphs that stand before the tables.
        drawn: draws the figures that a page has room for.
    """

    title: str
    tables: Sequence[Table]
    remarks: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    content: Mapping[str, Any]
    answer: Sequence[str] = ()
    drawn: Callable[[], Sequence[Drawing]] = tuple


def render(document: Document, name: str) -> str:
    """It in the named format.

    Raises:
        UnknownName: there is no such format here.
    """
    return visible(look_up("format of comparisons", name, FORMATS)(document))


def as_text(document: Document) -> str:
    """Plain text, for a terminal of 80 columns or more."""
    answer = [Text("\n".join(document.answer) + "\n")] if document.answer else []
    return terminal.written(
        [
            Text(document.title + "\n"),
            *answer,
            *(part for one in document.tables for part in (one, Text())),
            *(Text(f"- {remark}") for remark in document.remarks),
        ]
    )


def as_page(document: Document) -> str:
    """A page of its own, with its figures."""
    figures = []
    for one in document.drawn():
        from ranker.report.figures import inline  # it needs matplotlib, which tables alone do not

        figures.append((one, inline(one)))
    return page("document.html", document=document, figures=figures)


FORMATS: Mapping[str, Callable[[Document], str]] = {
    "table": as_text,
    "json": lambda document: json.written(document.content),
    "markdown": lambda document: markdown.page(document.title, document.tables, document.remarks, document.answer),
    "csv": lambda document: csv.written(document.rows),
    "latex": lambda document: latex.document(document.title, document.tables, document.remarks),
    "html": as_page,
}
"""Format -> what writes it."""
