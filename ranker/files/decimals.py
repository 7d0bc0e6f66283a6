"""Decimal commas, which programs of many countries write where semicolons are between the cells."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ranker.errors import Assumption
from ranker.files.columns import Columns

log = logging.getLogger(__name__)

_CELL = r"^\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*%?\s*$"
_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"


def with_points(columns: Columns) -> Columns:
    """Return columns whose numbers have points instead of commas; a note names the columns that had commas.

    Only columns of nothing but numbers are changed. If all commas may separate thousands (1,234), the column stays.
    """
    changed = {name: _with_points(array) for name, array in columns.cells.items() if _has_decimal_commas(array)}
    if not changed:
        return columns
    first = next(iter(changed))
    suffix = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    note = f"{columns.origin}: the commas in the numbers of {first!r}{suffix} are read as decimal points"
    log.warning(Assumption(note))
    return replace(columns, cells={**columns.cells, **changed})


def _has_decimal_commas(array: Any) -> bool:
    values = array.dictionary if pa.types.is_dictionary(array.type) else array
    if not pa.types.is_string(values.type):
        return False
    with_comma = pc.filter(values, pc.fill_null(pc.match_substring(values, ","), False))
    if not len(with_comma) or pc.all(pc.match_substring_regex(with_comma, _THOUSANDS)).as_py():
        return False
    return bool(pc.all(pc.match_substring_regex(values, _CELL)).as_py())


def _with_points(array: Any) -> Any:
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _with_points(array.dictionary))
    return pc.replace_substring(array, ",", ".")
