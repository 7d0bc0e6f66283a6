"""Reports: a result becomes a `Document`, and each format is one module with one function `write(document)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ranker.errors import look_up
from ranker.report.escapes import visible

if TYPE_CHECKING:
    from ranker.report.document import Document
    from ranker.results.ranking import Ranking


TEXTS = {
    "table": "txt",
    "pairs": "txt",
    "json": "json",
    "markdown": "md",
    "csv": "csv",
    "latex": "tex",
    "html": "html",
}
"""Format that is text -> ending of its files. An ending that two formats share means the first."""

FORMATS = {**TEXTS, "junit": "xml", "github": "txt", "parquet": "parquet"}
"""Format -> ending of its files; each is a module of its name here, but for the table, which is `terminal`."""

GENERAL = {name: ending for name, ending in FORMATS.items() if name != "pairs"}
"""Formats of results that are no ranking; only a ranking has tables by pairs."""


def write(document: Document, name: str) -> str | bytes:
    """Write the document in the named format; bytes are of a format that is no text."""
    module = look_up("format", name, {form: form for form in FORMATS} | {"table": "terminal"})
    content: str | bytes = import_module(f"ranker.report.{module}").write(document)
    return content if isinstance(content, bytes) else visible(content)


def render(ranking: Ranking, name: str) -> str | bytes:
    """Write the ranking in the named format."""
    from ranker.report.ranking import document

    return write(document(ranking), name)
