"""What is read of a table that anybody may have written: one table of budgets, each with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ranker.datasets import rows
from ranker.errors import DataError


class Limit(NamedTuple):
    """The most of something.

    Attributes:
        most: how many are read.
        of: what is counted, for messages.
        why: the reason for the number.
    """

    most: int
    of: str
    why: str


LIMITS = {
    "file": Limit(rows.MAX_BYTES, "bytes", "of a file as it lies there: 1,000 models on 10,000 rows have 30 MB"),
    "unpacked": Limit(rows.MAX_BYTES, "bytes unpacked", "of a gzip, Parquet or .npz file: as of any file"),
    "ratio": Limit(rows.MAX_RATIO, "bytes a packed byte", "beyond 16 MiB unpacked: tables pack to a twentieth"),
    "line": Limit(rows.MAX_LINE, "bytes", "of a line of CSV, TSV or JSONL: 60 models and a text have 10 kB"),
    "json": Limit(1 << 26, "bytes", "of a JSON file, which is in memory as a whole, in 10 times as many bytes"),
    "objects": Limit(1 << 22, "objects and lists", "of a JSON file, each of 64 bytes and more: 4 million rows"),
    "cell": Limit(100_000, "characters", "of a cell, as of the texts of examples"),
    "columns": Limit(20_000, "columns", "1,000 models with the scores of up to 20 classes"),
    "rows": Limit(1 << 24, "rows", "1,000 models on 10,000 rows, one below the other, are 10 million"),
    "cells": Limit(1 << 25, "cells", "1,000 models on 10,000 rows with three classes are 30 million"),
    "list": Limit(1_000, "values", "of a list in a cell: scores of so many classes"),
    "members": Limit(100, "arrays", "of an .npz file"),
}
"""The budgets by name. What is nested deeper than a list of numbers, or names with numbers, is no cell that is read."""


def check(place: Path | str, name: str, got: int) -> None:
    """Refuse what is more than its budget.

    Raises:
        DataError: it is.

    Example:
        >>> check("a.csv", "columns", 30_000)
        Traceback (most recent call last):
        ranker.errors.DataError: a.csv has 30,000 columns; at most 20,000 are read
    """
    most, of, _ = LIMITS[name]
    if got > most:
        raise DataError(f"{place} has {got:,} {of}; at most {most:,} are read")
