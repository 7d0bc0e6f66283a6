"""Every pair of models, and of a decision every row: the tables of this format as wide plain text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from ranker.report.document import Document
from ranker.report.tables import Table
from ranker.report.terminal import plain_text


def write(document: Document) -> str:
    """The pairs as plain text; a line is as long as it needs to be."""
    return plain_text(_blocks(document), width=10_000)


def _blocks(document: Document) -> Iterator[Table | Text]:
    yield Text(document.title)
    for one in document.shown("pairs"):
        if one.help:
            yield Text(one.help)
        yield one
