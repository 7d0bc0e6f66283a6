"""The tables and the remarks as Markdown, for an issue, a wiki or a README."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ranker.report.document import Document
from ranker.report.tables import Table


def write(document: Document) -> str:
    """Write a page of GitHub-flavoured Markdown: verdict, title, answer, tables and remarks."""
    verdict = [escape(document.verdict)] if document.verdict else []
    parts = [*verdict, f"# {escape(document.title)}", *map(escape, document.paragraphs)]
    for table in document.tables_for("markdown"):
        parts += [f"## {escape(table.caption)}", "\n".join(lines(table))]
    parts += ["## Remarks", "\n".join(f"- {escape(remark)}" for remark in document.remarks)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    r"""Escape text so that Markdown shows it as it is, in one line.

    Example:
        >>> print(escape("a|b *c*"), escape("- no item"))
        a\|b \*c\* \- no item
    """
    text = re.sub(r"([\\`*_{}\[\]<>#|&~$])", r"\\\1", " ".join(text.split()))
    return re.sub(r"^(\d*)([-+.)=:])(?!\d)", r"\1\\\2", text)  # no list, no line across, no command


def lines(table: Table) -> Iterator[str]:
    """Yield the lines of a table, without its caption."""
    yield _line([escape(name) for name in table.head])
    yield _line(["---:" if number else ":---" for number in table.numeric])
    for row in table.rows:
        yield _line([escape(cell) for cell in row])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
