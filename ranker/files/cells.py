"""Text form of a cell, the same for every kind of file."""

from __future__ import annotations

from typing import Any

EXACT = 1 << 53
"""Largest whole number up to which a float holds all of them."""


def cell_text(cell: Any) -> str:
    """Return a cell as text: whole numbers without a point, truth values as 0 and 1.

    Example:
        >>> cell_text(1.0), cell_text(True), cell_text(" a ")
        ('1', '1', 'a')
    """
    if isinstance(cell, bool):
        return str(int(cell))
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()
