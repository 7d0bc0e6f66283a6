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
from ranker.report.escapes import inert, visible
from ranker.report.tables import Table

WIDTH = 80

WIDE = Console(width=10_000, force_terminal=False, force_jupyter=False).options
"""Options of a console with room for any table."""

MIN_NAME_WIDTH, PIECE_NAME_WIDTH, GAP = 8, 24, 2
"""Characters of a column of names in a wide table, and in a table that is split, and between two columns."""


def write(document: Document, columns: int = WIDTH) -> str:
    """Write the document as plain text: sentences wrap at `columns`, tables are made for a terminal of 80."""
    return plain_text(blocks(document), columns=columns)


def blocks(document: Document) -> Iterator[Table | Text]:
    """Yield the document's pieces, from top to bottom."""
    if document.verdict:
        yield Text(document.verdict, style="bold")
    yield Text(document.title, style="bold")
    if document.paragraphs:
        yield Text("\n".join(document.paragraphs))
    yield from document.tables_for("table")
    if document.remarks:
        yield Text("\n".join(f"- {remark}" for remark in document.remarks))


def plain_text(blocks: Iterable[Table | Text], width: int = WIDTH, columns: int | None = None) -> str:
    """Render blocks without colours, whatever the environment says, and without blanks at the ends of lines.

    Args:
        blocks: from top to bottom. In a table that is too wide, names are folded and numbers are not: see `in_pieces`.
        columns: width at which sentences wrap, if smaller.
    """
    console = Console(
        file=io.StringIO(), width=width, force_terminal=False, force_jupyter=False, no_color=True, highlight=False
    )
    show(blocks, console, columns)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO from above
    return "\n".join(printable_text(line).rstrip() for line in text.split("\n"))


def show(blocks: Iterable[Table | Text], console: Console, columns: int | None = None) -> None:
    """Print blocks on a console of any width, a blank line between two; sentences wrap at `columns`."""
    pieces = (piece for b in blocks for piece in ([b] if isinstance(b, Text) else in_pieces(b, console.width)))
    for number, piece in enumerate(pieces):
        if number:
            console.print()
        if isinstance(piece, Text):
            console.print(piece, width=columns)
        else:
            table = rich_table(piece)
            if Measurement.get(console, WIDE, table).maximum > console.width:
                _squeeze(table)
            console.print(table)


def in_pieces(table: Table, width: int) -> Iterator[Table]:
    """Split a table whose numbers leave no room for its names into pieces, each with the names of the rows."""
    cells = [[head, *column] for head, *column in zip(table.head, *table.rows, strict=True)]
    names = [n for n, numeric in enumerate(table.numeric) if not numeric]
    narrow = {
        n: max(map(len, [*head.split(), *column])) + GAP for n, (head, *column) in enumerate(cells) if n not in names
    }
    wide = [max(map(len, cells[n])) for n in names]
    if sum(narrow.values()) + sum(min(width_of_names, MIN_NAME_WIDTH) + GAP for width_of_names in wide) - GAP <= width:
        yield table
        return
    room = width + GAP - sum(min(width_of_names, PIECE_NAME_WIDTH) + GAP for width_of_names in wide)
    groups: list[list[int]] = [[]]
    for n, size in narrow.items():
        if groups[-1] and sum(narrow[column] for column in groups[-1]) + size > room:
            groups.append([])
        groups[-1].append(n)
    for group in groups:
        yield table.select_columns(sorted([*names, *group]))


def _squeeze(table: RichTable) -> None:
    """Narrow the columns of numbers to their numbers, with wrapped heads; names get the rest."""
    for column in table.columns:
        if column.justify == "right":
            words = [*str(column.header).split(), *map(str, column.cells)]
            column.width = max(map(len, words))


def printable_text(line: str) -> str:
    r"""Replace what a terminal or a CI log would obey: controls, turned directions, commands.

    Example:
        >>> print(printable_text("a\x1b[31mb"))
        a\u001b[31mb
    """
    escaped = inert(visible(line))
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in escaped)


def rich_table(table: Table) -> RichTable:
    """Build a rich table without lines, texts left, numbers right; what looks like rich's markup is shown."""
    rendered = RichTable(box=None, pad_edge=False, header_style="bold")
    for name, numeric in zip(table.head, table.numeric, strict=True):
        rendered.add_column(Text(printable_text(name)), justify="right" if numeric else "left", overflow="fold")
    ends = set(accumulate(table.sections))
    for number, row in enumerate(table.rows, 1):
        rendered.add_row(*(Text(printable_text(cell)) for cell in row), end_section=number in ends)
    return rendered
