"""Rows of a file as a sheet to fill in: a CSV table with a column for their labels."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from factors.types import Example
from ranker.datasets.readers import Sheet, blank, unlabelled, written

COLUMNS = {1: ("text",), 2: ("text1", "text2")}
"""The columns of texts that stood in a list, by their number; `datasets.readers` knows these names."""


def to_fill_in(pool: Sheet, chosen: Sequence[Example], label: str = "label") -> str:
    """A CSV table of rows of a file, with all of its columns, and one for their labels, if it has none.

    Filled in, it is read as the pool is. Cells stand there as they are: one that begins with "=" is a formula to a
    spreadsheet (see SECURITY.md).

    Args:
        pool: the file.
        chosen: rows of it.
        label: the column of labels to add.

    Example:
        >>> from ranker.datasets.readers import sheet
        >>> pool = sheet([{"text": "A dog ran.", "seen": 3}], required=["text"])
        >>> print(to_fill_in(pool, unlabelled(pool)), end="")
        text,seen,label
        A dog ran.,3,
    """
    cells = dict(zip((row.id for row in unlabelled(pool)), (row.cells for row in pool.rows), strict=True))
    label = pool.layout.label or label
    labels = dict(zip(cells, written(pool), strict=True))
    rows = [_flat(cells[row.id], row, pool.layout.text) for row in chosen]
    columns = dict.fromkeys([*(column for row in rows for column in row), label])
    rows = [{**flat, label: labels[row.id] or ""} for flat, row in zip(rows, chosen, strict=True)]
    file = io.StringIO()
    # a bare return is quoted with everything, or not at all
    bare = any("\r" in text for row in rows for pair in row.items() for text in pair)
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows([row.get(column, "") for column in columns] for row in rows)
    return file.getvalue()


def _flat(cells: Mapping[str, Any], row: Example, texts: Sequence[str]) -> dict[str, str]:
    """A row's cells as text; those that hold its texts as a list become columns of their own."""
    flat: dict[str, str] = {}
    for column, cell in cells.items():
        if column in texts and isinstance(cell, list):
            flat.update(zip(COLUMNS[len(row.segments)], row.segments, strict=True))
        else:
            flat[column] = _written(cell).encode(errors="replace").decode()  # JSON can say half a character
    return flat


def _written(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return "" if blank(cell) else json.dumps(cell, ensure_ascii=False, default=str)
