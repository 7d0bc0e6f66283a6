"""Columns of a table that say what a row took, beside the answers: those of promptfoo's results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ranker.files.programs import USAGE
from ranker.sources.tables.base import Columns
from ranker.sources.tables.cells import numbers_of
from ranker.sources.usage import QUANTITIES, RowUsage


def split_usage(columns: Columns) -> tuple[Columns, RowUsage | None]:
    """Return the columns without those of usage, and what these say; None if there are none.

    Example:
        >>> from ranker.files.reader import of_rows
        >>> columns, usage = split_usage(of_rows([{"id": "a", "usage of seconds": 0.5}]))
        >>> [*columns.cells], usage.amounts[2].tolist()
        (['id'], [0.5])
    """
    names = {quantity: f"{USAGE}{quantity}" for quantity in QUANTITIES}
    stated = {quantity: name for quantity, name in names.items() if name in columns.cells}
    if not stated:
        return columns, None
    amounts = np.full((len(QUANTITIES), columns.size), np.nan)
    for quantity, name in stated.items():
        values, _ = numbers_of(columns, name)
        amounts[QUANTITIES.index(quantity)] = np.where(np.isfinite(values) & (values >= 0), values, np.nan)
    without = {name: cells for name, cells in columns.cells.items() if name not in stated.values()}
    return replace(columns, cells=without), RowUsage(amounts, currency="USD")
