"""Rows of a file as a sheet: a CSV table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from factors.types import Example
from ranker.tasks.empty import is_blank

COLUMNS = {1: ("text",), 2: ("text1", "text2")}
"""The columns of texts that stood in a list, by their number; `datasets.readers` knows these names."""


def table(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    """Rows as CSV. Cells stand there as they are: one that begins with "=" is a formula to a spreadsheet (SECURITY.md).

    Args:
        columns: their order.
        rows: column -> cell; a cell that is not there is empty.

    Example:
        >>> print(table(["text", "label"], [{"text": "A dog ran, then sat."}]), end="")
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


def flat(cells: Mapping[str, Any], row: Example, texts: Sequence[str]) -> dict[str, str]:
    """A row's cells as text; those that hold its texts as a list become columns of their own.

    Example:
        >>> flat({"text": "A dog ran.", "seen": 3}, Example("1", ("A dog ran.",), None), ["text"])
        {'text': 'A dog ran.', 'seen': '3'}
    """
    found: dict[str, str] = {}
    for column, cell in cells.items():
        if column in texts and isinstance(cell, list):
            found.update(zip(COLUMNS[len(row.segments)], row.segments, strict=True))
        else:
            found[column] = _written(cell).encode(errors="replace").decode()  # JSON can say half a character
    return found


def _written(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return "" if is_blank(cell) else json.dumps(cell, ensure_ascii=False, default=str)
