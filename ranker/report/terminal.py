"""The answer on one screen, as plain text: sentences, tables and remarks."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import accumulate

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from ranker.report.document import Document
from ranker.report.escapes import visible
from ranker.report.tables import Table

WIDTH = 80

WIDE = Console(width=10_000, force_terminal=False, force_jupyter=False).options
"""Room for any table as wide as it would like to be."""

LEAST, ENOUGH, GAP = 8, 24, 2
"""Characters: what a column of names keeps in a table of many columns, what it gets where one is in pieces, and what
stands between two columns."""


def write(document: Document, columns: int = WIDTH) -> str:
    """The document as plain text: sentences are wrapped at so many columns, tables are made for a terminal of 80."""
    return plain_text(blocks(document), columns=columns)


def blocks(document: Document) -> Iterator[Table | Text]:
    """The document's pieces, from top to bottom."""
    yield Text(document.title, style="bold")
    if document.paragraphs:
        yield Text("\n".join(document.paragraphs))
    yield from document.shown("table")
    if document.remarks:
        yield Text("\n".join(f"- {remark}" for remark in document.remarks))


def plain_text(blocks: Iterable[Table | Text], width: int = WIDTH, columns: int | None = None) -> str:
    """Plain text, whatever the environment says of colours; blanks at the ends of lines are cut.

    Args:
        blocks: from top to bottom. Names are folded where a table is too wide, numbers are not: see `in_pieces`.
        width: of tables, in characters.
        columns: where sentences are wrapped, if that is before the width.
    """
    console = Console(
        file=io.StringIO(), width=width, force_terminal=False, force_jupyter=False, no_color=True, highlight=False
    )
    show(blocks, console, columns)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO from above
    return "\n".join(plain(line).rstrip() for line in text.split("\n"))


def show(blocks: Iterable[Table | Text], console: Console, columns: int | None = None) -> None:
    """Print blocks on a console of any width, a line between two; sentences are wrapped at so many columns."""
    pieces = (piece for one in blocks for piece in ([one] if isinstance(one, Text) else in_pieces(one, console.width)))
    for number, piece in enumerate(pieces):
        if number:
            console.print()
        if isinstance(piece, Text):
            console.print(piece, width=columns)
        else:
            made = drawn(piece)
            if Measurement.get(console, WIDE, made).maximum > console.width:
                _squeeze(made)
            console.print(made)


def in_pieces(shown: Table, width: int) -> Iterator[Table]:
    """A table as it is, or, where its numbers leave no room for its names, in pieces, each with the names of the rows.

    Args:
        shown: the table.
        width: in characters.
    """
    cells = [[head, *column] for head, *column in zip(shown.head, *shown.rows, strict=True)]
    names = [n for n, numeric in enumerate(shown.numeric) if not numeric]
    narrow = {
        n: max(len(word) for cell in column for word in cell.split() or [""]) + GAP
        for n, column in enumerate(cells)
        if n not in names
    }
    wide = [max(map(len, cells[n])) for n in names]
    if sum(narrow.values()) + sum(min(one, LEAST) + GAP for one in wide) - GAP <= width:
        yield shown
        return
    room = width + GAP - sum(min(one, ENOUGH) + GAP for one in wide)
    kept: list[list[int]] = [[]]
    for n, size in narrow.items():
        if kept[-1] and sum(narrow[one] for one in kept[-1]) + size > room:
            kept.append([])
        kept[-1].append(n)
    for some in kept:
        yield shown.of(sorted([*names, *some]))


def _squeeze(shown: RichTable) -> None:
    """Make columns of numbers as narrow as their numbers, with their names on several lines; names get what is left."""
    for column in shown.columns:
        if column.justify == "right":
            words = [*str(column.header).split(), *map(str, column.cells)]
            column.width = max(map(len, words))


def plain(line: str) -> str:
    r"""The line without what a terminal would obey instead of showing it: controls, turned directions.

    Example:
        >>> print(plain("a\x1b[31mb"))
        a\u001b[31mb
    """
    shown = visible(line)
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in shown)


def drawn(shown: Table) -> RichTable:
    """A table without lines: texts to the left, numbers to the right. What looks like rich's markup is shown."""
    made = RichTable(box=None, pad_edge=False, header_style="bold")
    for name, numeric in zip(shown.head, shown.numeric, strict=True):
        made.add_column(Text(plain(name)), justify="right" if numeric else "left", overflow="fold")
    ends = set(accumulate(shown.sections))
    for number, row in enumerate(shown.rows, 1):
        made.add_row(*(Text(plain(cell)) for cell in row), end_section=number in ends)
    return made
