"""Write rows as a CSV table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from factors.types import Example
from ranker.tasks.empty import is_blank

COLUMNS = {1: ("text",), 2: ("text1", "text2")}
"""Number of texts in a list -> their columns in a table, whose names `datasets.readers` knows."""

PICKED = "picked"
"""Column of a session's file: the rule that picked a row."""

PICKING = ("best", "order")
"""Rules by which a session picks rows that are no random sample."""

SESSION_COLUMNS = frozenset({PICKED, "annotator", "status"})
"""Columns by which a session's file is known."""


def csv_table(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    """Write rows as CSV. Cells are not escaped: one that begins with "=" is a formula to a spreadsheet (SECURITY.md).

    Args:
        rows: column -> cell; missing cells are empty.

    Example:
        >>> print(csv_table(["text", "label"], [{"text": "A dog ran, then sat."}]), end="")
        text,label
        "A dog ran, then sat.",
    """
    file = io.StringIO()
    # a bare return is quoted with everything, or not at all
    bare = any("\r" in text for row in rows for pair in row.items() for text in pair)
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows([row.get(column, "") for column in columns] for row in rows)
    return file.getvalue()


def flat_cells(cells: Mapping[str, Any], row: Example, texts: Sequence[str]) -> dict[str, str]:
    """Return a row's cells as text; texts in a list become columns of their own.

    Example:
        >>> flat_cells({"text": "A dog ran.", "seen": 3}, Example("1", ("A dog ran.",), None), ["text"])
        {'text': 'A dog ran.', 'seen': '3'}
    """
    cells_as_text: dict[str, str] = {}
    for column, cell in cells.items():
        if column in texts and isinstance(cell, list):
            cells_as_text.update(zip(COLUMNS[len(row.segments)], row.segments, strict=True))
        else:
            cells_as_text[column] = _cell_text(cell).encode(errors="replace").decode()  # JSON can say half a character
    return cells_as_text


def _cell_text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return "" if is_blank(cell) else json.dumps(cell, ensure_ascii=False, default=str)
