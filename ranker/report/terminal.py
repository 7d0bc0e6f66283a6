"""The answer on one screen: the models, the methods, and what was left out."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import accumulate

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from ranker.report.answer import answer
from ranker.report.escapes import visible
from ranker.report.remarks import remarks
from ranker.report.tables import Table, matrix, methods, models, order
from ranker.results.evaluation import Evaluation
from ranker.results.ranking import Ranking

WIDTH = 80

WIDE = Console(width=10_000, force_terminal=False, force_jupyter=False).options
"""Room for any table as wide as it would like to be."""

LEAST, ENOUGH, GAP = 8, 24, 2
"""Characters: what a column of names keeps in a table of many columns, what it gets where one is in pieces, and what
stands between two columns."""

MATRIX = 10
"""The most models whose pairs are shown."""


def render(ranking: Ranking, columns: int = WIDTH) -> str:
    """The ranking as plain text: sentences are wrapped at so many columns, tables are made for a terminal of 80."""
    return written(parts(ranking), columns=columns)


def written(parts: Iterable[Table | Text], width: int = WIDTH, columns: int | None = None) -> str:
    """Plain text, whatever the environment says of colours; blanks at the ends of lines are cut.

    Args:
        parts: from top to bottom. Names are folded where a table is too wide, numbers are not: see `pieces`.
        width: of tables, in characters.
        columns: where sentences are wrapped, if that is before the width.
    """
    console = Console(
        file=io.StringIO(), width=width, force_terminal=False, force_jupyter=False, no_color=True, highlight=False
    )
    show(parts, console, columns)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO from above
    return "\n".join(plain(line).rstrip() for line in text.split("\n"))


def show(parts: Iterable[Table | Text], console: Console, columns: int | None = None) -> None:
    """Print the parts, from top to bottom, on a console of any width; sentences are wrapped at so many columns."""
    for part in parts:
        if isinstance(part, Text):
            console.print(part, width=columns)
            continue
        for number, piece in enumerate(pieces(part, console.width)):
            if number:
                console.print()
            made = drawn(piece)
            if Measurement.get(console, WIDE, made).maximum > console.width:
                _squeeze(made)
            console.print(made)


def pieces(shown: Table, width: int) -> Iterator[Table]:
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


def parts(ranking: Ranking) -> Iterator[Table | Text]:
    """The report's pieces, from top to bottom."""
    found, metric = ranking.found, ranking.header.metric
    yield Text(ranking.title + "\n", style="bold")
    lead, sentences = answer(ranking)
    *said, to_do = sentences or [""]
    yield Text("\n".join([lead, " ".join(said), to_do]) + "\n")
    if isinstance(found, Evaluation):
        yield models(found, metric)
        yield Text()
        yield methods(found, metric)
    else:
        yield order(found, metric)
        if len(found.models) <= MATRIX:
            yield Text()
            yield matrix(found)
    yield Text()
    for remark in remarks(ranking):
        yield Text(f"- {remark}")


def drawn(shown: Table) -> RichTable:
    """A table without lines: texts to the left, numbers to the right. What looks like rich's markup is shown."""
    made = RichTable(box=None, pad_edge=False, header_style="bold")
    for name, numeric in zip(shown.head, shown.numeric, strict=True):
        made.add_column(Text(plain(name)), justify="right" if numeric else "left", overflow="fold")
    ends = set(accumulate(shown.sections))
    for number, row in enumerate(shown.rows, 1):
        made.add_row(*(Text(plain(cell)) for cell in row), end_section=number in ends)
    return made
