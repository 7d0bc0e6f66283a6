r"""The tables as LaTeX to paste into a paper: booktabs, no preamble; notes stand in comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ranker.report.document import Document
from ranker.report.escapes import visible
from ranker.report.tables import Table

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after a line's end, it would begin an option
    "*": "{*}",  # the same
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
"""Character -> its replacement in text."""


def write(document: Document) -> str:
    r"""Write a `tabular` for each table, for a paper with `\usepackage{booktabs}`; all other text is comments."""
    texts = [*filter(None, [document.verdict]), document.title, *document.paragraphs]
    lines = [*(f"% {_one_line(text)}" for text in texts), r"% needs \usepackage{booktabs}"]
    for table in document.tables_for("latex"):
        lines += ["", f"% {_one_line(table.caption)}", *_tabular(table)]
    return "\n".join([*lines, "", *(f"% - {_one_line(remark)}" for remark in document.remarks)]) + "\n"


def escape(text: str) -> str:
    r"""Escape text so that LaTeX sets it as it is.

    Example:
        >>> print(escape("50 % of a_b"))
        50 \% of a\_b
    """
    escaped = "".join(SPECIAL.get(character, character) for character in _one_line(text))
    return re.sub("-(?=-)", "-{}", escaped)  # two would join into a dash


def number(text: str) -> str:
    """Write numbers with mathematical signs.

    Example:
        >>> print(number("-3.1 to +0.2"), number(">99.9"))
        $-$3.1 to $+$0.2 $>$99.9
    """
    return re.sub(r"([-+<>])(?=\d)", r"$\1$", text)


def _one_line(text: str) -> str:
    """Remove control characters and line ends, so that a comment cannot end early."""
    return " ".join("".join(c if c.isprintable() else " " for c in visible(text)).split())


def _tabular(table: Table) -> Iterator[str]:
    yield rf"\begin{{tabular}}{{{''.join('r' if numeric else 'l' for numeric in table.numeric)}}}"
    yield r"\toprule"
    yield _line([escape(name) for name in table.head])
    yield r"\midrule"
    for row in table.rows:
        yield _line([number(cell) if n else escape(cell) for cell, n in zip(row, table.numeric, strict=True)])
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _line(cells: list[str]) -> str:
    return rf"{' & '.join(cells)} \\"
