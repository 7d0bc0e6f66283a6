"""One tidy CSV table, with numbers as raw fractions."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from ranker.report.document import Document


def write(document: Document) -> str:
    """Write the rows of a result."""
    return to_csv(document.rows)


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows with the same columns, below a header; nothing if there are none."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    writer.writerows([cell(value) for value in row.values()] for row in rows)
    return file.getvalue()


def cell(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula: text that could be one gets a leading apostrophe.

    Example:
        >>> cell("=1+1"), cell("ACC"), cell(-0.5), cell(None)
        ("'=1+1", 'ACC', -0.5, None)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else value
