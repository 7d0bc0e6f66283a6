"""The file of a session: at all times a plain labelled CSV, a line for each thing that was said of a row.

The columns of the pool come first, and then those of `COLUMNS`. Rows that have no answer have an empty label, so that
whoever reads labelled rows leaves them out. The lines stand in the order in which they were said: read back, they are
the events of the session. Rows that nothing was said of, as in a sheet that somebody is to fill in, come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from factors.types import Example
from ranker.datasets.readers import Sheet
from ranker.datasets.sheets import flat, table
from ranker.errors import DataError
from ranker.labelling.session import LabelEvent

CHANGED = "changed-after-reveal"
"""The status of an answer that was changed once it was shown what the models say; the first one counts."""

COLUMNS = ("changed_to", "annotator", "seconds", "when", "picked", "order", "status")
"""What stands beside a label."""


@dataclass(frozen=True)
class Line:
    """What was said of a row, and what is recorded beside it.

    Attributes:
        event: what was said.
        annotator: who said it.
        seconds: how long it took; None where that is not known.
        when: the time, as ISO 8601.
        picked: the rule that picked the row; "" where that is not known.
        changed_to: the answer that was given once it was shown what the models say; -1 where they were not shown. It is
            the first one again where that was confirmed.
        cells: the columns of the pool, or of the file that the line comes from.
    """

    event: LabelEvent
    annotator: str = ""
    seconds: float | None = None
    when: str = ""
    picked: str = ""
    changed_to: int = -1
    cells: Mapping[str, str] | None = None


def renamed(names: Iterable[str]) -> dict[str, str]:
    """What columns of a pool are called in the file of a session, which has columns of their names.

    Example:
        >>> renamed(["text", "status", "pool_status"])
        {'status': 'pool_pool_status'}
    """
    known = dict.fromkeys(names)
    found = {}
    for name in (one for one in known if one in COLUMNS):
        other = f"pool_{name}"
        while other in known:
            other = f"pool_{other}"
        found[name] = other
    return found


def cells_of(pool: Sheet, rows: Iterable[Example]) -> dict[tuple[str, ...], dict[str, str]]:
    """Texts -> the cells of the row of the pool that has them, without labels; of equal rows, those of the first.

    Columns are called as `renamed` says.
    """
    others = renamed(name for row in pool.rows for name in row.cells)
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for row, one in zip(pool.rows, rows, strict=True):
        if one.segments not in found:
            cells = flat(row.cells, one, pool.layout.text)
            found[one.segments] = {others.get(name, name): cell for name, cell in cells.items()
                                   if name != pool.layout.label}  # fmt: skip
    return found


def to_csv(
    lines: Sequence[Line], waiting: Sequence[Mapping[str, str]], labels: Sequence[str], column: str = "label"
) -> str:
    """A session as CSV.

    Args:
        lines: what was said.
        waiting: the cells of rows that are to be labelled, of which nothing was said.
        labels: the names of the labels.
        column: that the labels stand in.

    Example:
        >>> told = Line(LabelEvent(0, "answered", 1), "ann", 2.5, cells={"text": "Lovely."})
        >>> print(to_csv([told], [{"text": "Dull."}], ["bad", "good"]), end="")
        text,label,changed_to,annotator,seconds,when,picked,order,status
        Lovely.,good,,ann,2.5,,,0,answered
        Dull.,,,,,,,,
    """

    def name(label: int) -> str:
        return labels[label] if label >= 0 else ""

    rows = []
    for order, line in enumerate(lines):
        changed = line.changed_to >= 0 and line.changed_to != line.event.label
        beside = {
            column: name(line.event.label),
            "changed_to": name(line.changed_to),
            "annotator": line.annotator,
            "seconds": "" if line.seconds is None else f"{line.seconds:.1f}",
            "when": line.when,
            "picked": line.picked,
            "order": str(order),
            "status": CHANGED if changed else line.event.status,
        }
        rows.append({**(line.cells or {}), **beside})
    own = (column, *COLUMNS)
    names = dict.fromkeys(name for row in (*rows, *waiting) for name in row if name not in own)
    return table((*names, *own), (*rows, *waiting))


def lines_of(
    file: Sheet, rows: Sequence[Example], place: Callable[[Example], int], label: Callable[[Any], int]
) -> tuple[list[Line], list[tuple[int, Mapping[str, str]]]]:
    """The lines of a file, in the order in which they were said; and rows that nothing was said of, with their cells.

    A label without a status is an answer: a spreadsheet has none.

    Args:
        file: what `to_csv` wrote, or any file of rows with a column of labels.
        rows: its rows.
        place: the place of a row in the pool; it raises a ValueError where it has none.
        label: a label's index by its name; it raises a ValueError where it is none.

    Raises:
        DataError: a row, a label, a status or a number that is none.
    """
    column = file.layout.label
    own = {column, *COLUMNS}
    found: list[tuple[tuple[float, int], Line]] = []
    waiting: list[tuple[int, Mapping[str, str]]] = []
    for number, (row, one) in enumerate(zip(file.rows, rows, strict=True)):
        cells = row.cells
        kept = {name: cell for name, cell in flat(cells, one, file.layout.text).items() if name not in own}
        try:
            at = place(one)
            event = _event(at, str(cells.get("status") or ""), cells.get(column or ""), label)
            if event is None:
                waiting.append((at, kept))
                continue
            changed = cells.get("changed_to")
            seconds, order = _number(cells.get("seconds")), _number(cells.get("order"))
            later = -1 if changed is None else label(changed)
            annotator, when, picked = (str(cells.get(name) or "") for name in ("annotator", "when", "picked"))
            line = Line(event, annotator, seconds, when, picked, later, kept)
        except ValueError as error:
            raise DataError(f"{row.place}: {error}") from error
        found.append(((float("inf") if order is None else order, number), line))
    return [line for _, line in sorted(found, key=lambda one: one[0])], waiting


def _event(row: int, status: str, cell: Any, label: Callable[[Any], int]) -> LabelEvent | None:
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
    return LabelEvent(row, "answered", label(cell))


def _number(cell: Any) -> float | None:
    return None if cell is None else float(cell)
