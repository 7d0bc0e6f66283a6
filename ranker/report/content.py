"""What a written report shows, before any format: the terminal's own tables, as plain text.

Every format takes its numbers from here, so that they agree to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from ranker.ranking import Ranking
from ranker.report import terminal


@dataclass(frozen=True)
class Grid:
    """A table as plain text.

    Attributes:
        caption: what it shows, a few words.
        head: (columns,) names of the columns.
        numeric: (columns,) the column holds numbers.
        rows: a cell for each column.
    """

    caption: str
    head: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


def grid(caption: str, table: Table) -> Grid:
    """The text in a table of the terminal's.

    Example:
        >>> shown = terminal.table("method", "accuracy")
        >>> shown.add_row(Text("ACC"), "90.0")
        >>> grid("methods", shown)
        Grid(caption='methods', head=('method', 'accuracy'), numeric=(False, True), rows=(('ACC', '90.0'),))
    """
    columns = [[cell.plain if isinstance(cell, Text) else str(cell) for cell in c.cells] for c in table.columns]
    return Grid(
        caption,
        head=tuple(str(column.header) for column in table.columns),
        numeric=tuple(column.justify == "right" for column in table.columns),
        rows=tuple(zip(*columns, strict=True)),
    )


def tables(ranking: Ranking) -> list[Grid]:
    """Models and methods; in a decision, the order of the models and how sure it is."""
    if ranking.decision is None:
        return [grid("Models", terminal.models(ranking)), grid("Methods", terminal.methods(ranking, over_models=True))]
    return [
        grid("Order", terminal.order(ranking, ranking.decision)),
        grid("How sure is the order of two models?", terminal.matrix(ranking.decision)),
    ]
