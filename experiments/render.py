"""An exhibit's cells as text: Markdown to read, CSV to go on with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from experiments.published import PAPER, Exhibit
from experiments.tables import Cell, Rankings
from ranker import Ranking
from ranker.report import csv
from ranker.report.markdown import escape, lines
from ranker.report.remarks import attribution_text
from ranker.report.tables import Table

APART = (
    "Each of our numbers is followed by the published one and the difference (ours minus published). The paper has "
    "other models, in another number, and other rows, so even a large difference need not come from the method: "
    "compare the order of the methods in each column."
)
"""Reason for differences to published numbers."""


def markdown(name: str, exhibit: Exhibit, ranked: Rankings, cells: Sequence[Cell]) -> str:
    """Return the exhibit as GitHub-flavoured Markdown.

    Args:
        name: "Table 2".
        exhibit: what it is.
        found: the rankings that its cells were made of.
        cells: the numbers.
    """
    made_of = [
        f"{ranking.header.suite} on {ranking.header.ood}: {len(ranking.found.models)} models, "
        + (
            f"measured on all {ranking.header.provenance.data.rows} rows"
            if exhibit.kind == "accuracies" and ranking.header.provenance.data
            else f"{ranking.header.provenance.population} rows, {attribution_text(ranking)}{_target_text(ranking)}"
        )
        for ranking in ranked.values()
    ]
    apart = [APART] if ranked and any(cell.difference is not None for cell in cells) else []
    remarks = [*apart, f"{PAPER}, section {exhibit.section}. {_units(exhibit, ranked)}", *exhibit.notes, *made_of]
    grid = _grid(exhibit, cells)
    parts = [f"## {name}. {escape(grid.caption)}", "\n".join(lines(grid))]
    return "\n\n".join([*parts, "\n".join(f"- {escape(remark)}" for remark in remarks)]) + "\n"


def _units(exhibit: Exhibit, ranked: Rankings) -> str:
    """Return what the numbers are, and what they were drawn from."""
    if not ranked:
        return "All numbers are rows."
    first = next(iter(ranked.values()))
    draws = first.evaluation.draws
    drawn = "all draws (exact)" if draws == "exact" else f"{draws} draws, seed {first.header.seed}"
    about = "" if exhibit.kind == "accuracies" else f"; K = {first.header.probe}, {drawn}"
    about += ", 95 % intervals over samples of rows" if exhibit.kind == "methods" else ""
    return f"All numbers are percent{about}."


def comma_separated(cells: Sequence[Cell]) -> str:
    """Return a line a cell, with its fields and the difference as columns; numbers in percent, or of rows."""
    rows = [{**asdict(cell), "difference": cell.difference} for cell in cells]
    return csv.to_csv([{name: _rounded(value) for name, value in row.items()} for row in rows])


def _target_text(ranking: Ranking) -> str:
    """Return the target rule, if it is not what each factor declares."""
    rule = ranking.header.provenance.target
    return "" if rule in (None, "declared") else f", target {rule}"


def _grid(exhibit: Exhibit, cells: Sequence[Cell]) -> Table:
    """Return the grid of a table: ours, the published number and the difference for a column, or one for pairs."""
    first = {"accuracies": "model", "pairs": "pair", "sizes": "number of"}.get(exhibit.kind, "method")
    cell_of = {(cell.row, cell.column): cell for cell in cells}
    grid = [
        (head, column, show)
        for column in dict.fromkeys(cell.column for cell in cells)
        for head, show in _parts(exhibit, column, [cell for cell in cells if cell.column == column])
    ]
    return Table(
        exhibit.title,
        head=(first, *(head for head, _, _ in grid)),
        numeric=(False, *(True for _ in grid)),
        rows=tuple(
            (row, *(show(cell_of.get((row, column), Cell(row, column))) for _, column, show in grid))
            for row in dict.fromkeys(cell.row for cell in cells)
        ),
    )


def _parts(exhibit: Exhibit, column: str, cells: Sequence[Cell]) -> Iterator[tuple[str, Callable[[Cell], str]]]:
    """Return the parts of a table's column: each part's head, and its text in a row."""
    if exhibit.kind == "pairs":
        yield column, lambda cell: _here(cell) or _number(cell.published)
        return
    if exhibit.kind == "sizes":
        yield column, lambda cell: "" if cell.here is None else f"{cell.here:,.0f}"
        yield "published", lambda cell: "" if cell.published is None else f"{cell.published:,.0f}"
        return
    ours = any(cell.here is not None for cell in cells)
    if ours:
        yield column, _here
    if any(cell.published is not None for cell in cells):
        yield ("published" if ours else f"{column}, published"), lambda cell: _number(cell.published)
    if any(cell.difference is not None for cell in cells):
        yield "difference", lambda cell: "" if cell.difference is None else f"{round(cell.difference, 1) + 0.0:+.1f}"


def _here(cell: Cell) -> str:
    interval = "" if cell.low is None else f" ({_number(cell.low)} to {_number(cell.high)})"
    return _number(cell.here) + interval


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _rounded(value: str | float | None) -> str | float | None:
    return round(value, 4) if isinstance(value, float) else value
