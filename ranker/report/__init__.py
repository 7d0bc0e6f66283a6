"""Reports: a result becomes a `Document`, and each format is one module with one function `write(document)`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from ranker.errors import look_up
from ranker.report.escapes import visible

if TYPE_CHECKING:
    from ranker.report.document import Document
    from ranker.results.ranking import Ranking


@dataclass(frozen=True)
class Format:
    """A report format: its module, and the ending of its files.

    Attributes:
        module: module that writes it.
        ending: ending of its file names, without the dot. If two formats share it, it means the first.
    """

    module: str
    ending: str


TEXTS = {
    "table": Format("ranker.report.terminal", "txt"),
    "pairs": Format("ranker.report.pairs", "txt"),
    "json": Format("ranker.report.json", "json"),
    "markdown": Format("ranker.report.markdown", "md"),
    "csv": Format("ranker.report.csv", "csv"),
    "latex": Format("ranker.report.latex", "tex"),
    "html": Format("ranker.report.html", "html"),
}
"""The formats that are text, by name."""

IN_CI = {"junit": Format("ranker.report.junit", "xml"), "github": Format("ranker.report.github", "txt")}
"""Formats that programs of CI read, by name."""

FORMATS = {**TEXTS, **IN_CI, "parquet": Format("ranker.report.parquet", "parquet")}
"""All formats by name."""

GENERAL = {name: form for name, form in FORMATS.items() if name != "pairs"}
"""Formats of results that are no ranking; only a ranking has tables by pairs."""


def write(document: Document, name: str) -> str | bytes:
    """Write the document in the named format; bytes are of a format that is no text."""
    content: str | bytes = import_module(look_up("format", name, FORMATS).module).write(document)
    return content if isinstance(content, bytes) else visible(content)


def render(ranking: Ranking, name: str) -> str | bytes:
    """Write the ranking in the named format."""
    from ranker.report.ranking import document

    return write(document(ranking), name)
