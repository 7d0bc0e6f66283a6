"""File of a session: always a plain labelled CSV, with a line for each labelling event.

The columns of the pool come first, then those of `COLUMNS`. Rows without an answer have an empty label, so readers of
labelled rows skip them. The lines stand in the order of the events, and reading them restores the session. Rows without
an event, as in a sheet to fill in, come last.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from factors.types import Example
from ranker.datasets.identity import row_key
from ranker.datasets.readers import Sheet
from ranker.datasets.sheets import PICKED, csv_table, flat_cells
from ranker.errors import DataError
from ranker.labelling.session import LabelEvent

CHANGED = "changed-after-reveal"
"""Status of an answer that was changed after the models' predictions were revealed; the first answer counts."""

COLUMNS = ("changed_to", "annotator", "seconds", "when", PICKED, "order", "status")
"""Columns of a session file beside the label."""


@dataclass(frozen=True)
class Line:
    """A labelling event with its recorded context.

    Attributes:
        seconds: time taken; None if unknown.
        when: time of the event, as ISO 8601.
        picked: rule that picked the row; "" if unknown.
        changed_to: answer after the models' predictions were revealed, the first one if confirmed; None if they were
            not revealed.
        cells: the columns of the pool, or of the file that the line comes from.
    """

    event: LabelEvent
    annotator: str = ""
    seconds: float | None = None
    when: str = ""
    picked: str = ""
    changed_to: Any = None
    cells: Mapping[str, str] | None = None


def pool_column_names(names: Iterable[str]) -> dict[str, str]:
    """Map columns of a pool that collide with those of a session file to their names in that file.

    Example:
        >>> pool_column_names(["text", "status", "pool_status"])
        {'status': 'pool_pool_status'}
    """
    columns = dict.fromkeys(names)
    new_names = {}
    for name in (column for column in columns if column in COLUMNS):
        new_name = f"pool_{name}"
        while new_name in columns:
            new_name = f"pool_{new_name}"
        new_names[name] = new_name
    return new_names


def cells_by_row(pool: Sheet, rows: Iterable[Example]) -> dict[Hashable, dict[str, str]]:
    """Map keys of a pool's rows, the first of equal ones, to cells without labels: see `pool_column_names`."""
    new_names = pool_column_names(name for row in pool.rows for name in row.cells)
    cells_of: dict[Hashable, dict[str, str]] = {}
    for row, example in zip(pool.rows, rows, strict=True):
        if (key := row_key(example)) not in cells_of:
            cells = flat_cells(row.cells, example, pool.layout.text)
            cells_of[key] = {
                new_names.get(name, name): cell for name, cell in cells.items() if name != pool.layout.label
            }
    return cells_of


def to_csv(
    lines: Sequence[Line], waiting: Sequence[Mapping[str, str]], cell_of: Callable[[Any], str], column: str = "label"
) -> str:
    """Write a session as CSV.

    Args:
        waiting: cells of rows that are still to be labelled.
        cell_of: writes an answer: `Task.cell_of`.

    Example:
        >>> line = Line(LabelEvent(0, "answered", 1), "ann", 2.5, cells={"text": "Lovely."})
        >>> print(to_csv([line], [{"text": "Dull."}], ["bad", "good"].__getitem__), end="")
        text,label,changed_to,annotator,seconds,when,picked,order,status
        Lovely.,good,,ann,2.5,,,0,answered
        Dull.,,,,,,,,
    """

    def cell(label: Any) -> str:
        return "" if label is None else cell_of(label)

    rows = []
    for order, line in enumerate(lines):
        changed = line.changed_to not in (None, line.event.label)
        beside = {
            column: cell(line.event.label),
            "changed_to": cell(line.changed_to),
            "annotator": line.annotator,
            "seconds": "" if line.seconds is None else f"{line.seconds:.1f}",
            "when": line.when,
            "picked": line.picked,
            "order": str(order),
            "status": CHANGED if changed else line.event.status,
        }
        rows.append({**(line.cells or {}), **beside})
    reserved = (column, *COLUMNS)
    names = dict.fromkeys(name for row in (*rows, *waiting) for name in row if name not in reserved)
    return csv_table((*names, *reserved), (*rows, *waiting))


def read_lines(
    file: Sheet,
    rows: Sequence[Example],
    place: Callable[[Example, Mapping[str, Any]], int],
    target_of: Callable[..., Any],
) -> tuple[list[Line], list[tuple[int, Mapping[str, str]]]]:
    """Read the lines of a file in the order of the events, and the rows without an event, with their cells.

    A label without a status counts as an answer, since spreadsheets have no status.

    Args:
        file: output of `to_csv`, or any file of rows with a column of labels.
        place: returns the index in the pool of a row with its cells, or raises a ValueError.
        target_of: returns the answer in a cell, beside the texts of its row, or raises a ValueError: `Task.target_of`.

    Raises:
        DataError: an invalid row, label, status or number.
    """
    column = file.layout.label
    reserved = {column, *COLUMNS}
    ordered_lines: list[tuple[tuple[float, int], Line]] = []
    waiting: list[tuple[int, Mapping[str, str]]] = []
    for number, (row, example) in enumerate(zip(file.rows, rows, strict=True)):
        cells = row.cells
        texts = flat_cells(cells, example, file.layout.text)
        pool_cells = {name: cell for name, cell in texts.items() if name not in reserved}
        target = partial(target_of, segments=example.segments)
        try:
            index = place(example, cells)
            event = _event(index, str(cells.get("status") or ""), cells.get(column or ""), target)
            if event is None:
                waiting.append((index, pool_cells))
                continue
            changed = cells.get("changed_to")
            seconds, order = _number(cells.get("seconds")), _number(cells.get("order"))
            later = None if changed is None else target(changed)
            annotator, when, picked = (str(cells.get(name) or "") for name in ("annotator", "when", "picked"))
            line = Line(event, annotator, seconds, when, picked, later, pool_cells)
        except ValueError as error:
            raise DataError.at(row.place, error) from error
        ordered_lines.append(((float("inf") if order is None else order, number), line))
    return [line for _, line in sorted(ordered_lines, key=lambda entry: entry[0])], waiting


def _event(row: int, status: str, cell: Any, target: Callable[[Any], Any]) -> LabelEvent | None:
    if status in ("skipped", "cannot-tell"):
        if cell is not None:
            raise ValueError(f"a row that is {status} has no label (got {str(cell)[:50]!r})")
        return LabelEvent(row, "skipped" if status == "skipped" else "cannot-tell")
    if status not in ("", "answered", CHANGED):
        raise ValueError(f"a status must be answered, cannot-tell, skipped or {CHANGED} (got {status[:50]!r})")
    if cell is None:
        if status:
            raise ValueError(f"a row that is {status} must have a label")
        return None
    return LabelEvent(row, "answered", target(cell))


def _number(cell: Any) -> float | None:
    return None if cell is None else float(cell)


MIN_ROWS_FOR_SHARE = 10
"""Rows with two answers or more that are needed before a share of agreement is reported."""


@dataclass(frozen=True)
class AnnotatorAgreement:
    """Agreement between answers to the same rows.

    Attributes:
        rows: number of rows with two answers or more.
        disputed: the rows whose answers differ, in the order of their first answers.
        share: P(two answers to one row are equal), each row counting once; None if fewer than `MIN_ROWS_FOR_SHARE` rows
            have two answers. It is not corrected for agreement by chance.
    """

    rows: int
    disputed: tuple[Hashable, ...]
    share: float | None


def agreement(answers: Iterable[tuple[Hashable, Hashable]]) -> AnnotatorAgreement:
    """Measure how often answers to the same rows agree.

    Args:
        answers: pairs (row, label).

    Example:
        >>> agreement([("a", 1), ("b", 0), ("a", 0), ("b", 0), ("c", 1)])
        AnnotatorAgreement(rows=2, disputed=('a',), share=None)
    """
    labels_of_row: dict[Hashable, list[Hashable]] = {}
    for row, label in answers:
        labels_of_row.setdefault(row, []).append(label)
    several = {row: labels for row, labels in labels_of_row.items() if len(labels) > 1}
    disputed = tuple(row for row, labels in several.items() if len(set(labels)) > 1)
    if len(several) < MIN_ROWS_FOR_SHARE:
        return AnnotatorAgreement(len(several), disputed, None)
    pairs = [[a == b for a, b in combinations(labels, 2)] for labels in several.values()]
    return AnnotatorAgreement(len(several), disputed, sum(sum(equal) / len(equal) for equal in pairs) / len(pairs))
