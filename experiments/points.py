"""Stated accuracies of suites' members, as a file that `rank-models compare` reads, too."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from ranker.files.columns import Row

COLUMNS, RUN = ("model", "set", "value", "n", "group", "kind"), "run"


def written(rows: Iterable[Row]) -> str:
    """Return the rows as CSV, with a column for the training runs where some are checkpoints of one."""
    cells = [dict(row.cells) for row in rows]
    file = io.StringIO()
    columns = (*COLUMNS, RUN) if any(RUN in row for row in cells) else COLUMNS
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells)
    return file.getvalue()
