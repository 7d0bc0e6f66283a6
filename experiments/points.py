"""What suites state of their members, as a file that `rank-models compare` reads, too."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from ranker.datasets.rows import Row

COLUMNS = ("model", "set", "value", "n", "group", "kind")


def written(rows: Iterable[Row]) -> str:
    """The rows as CSV."""
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(dict(row.cells) for row in rows)
    return file.getvalue()
