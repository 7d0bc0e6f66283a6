"""Tables of every pair of models, and of a decision's rows, as wide plain text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from ranker.report.document import Document
from ranker.report.tables import Table
from ranker.report.terminal import plain_text


def write(document: Document) -> str:
    """Write the pairs as plain text; a line is as long as it needs to be."""
    return plain_text(_blocks(document), width=10_000)


def _blocks(document: Document) -> Iterator[Table | Text]:
    if document.verdict:
        yield Text(document.verdict)
    yield Text(document.title)
    for table in document.tables_for("pairs"):
        if table.help:
            yield Text(table.help)
        yield table
