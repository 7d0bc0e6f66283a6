"""The rows of the CSV as Parquet, with a list for each model of the numbers that it has with every other one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ranker.report.document import Document


def write(document: Document) -> bytes:
    """Write the rows of a result, each column of one type, and the lists beside them."""
    names = document.rows[0] if document.rows else ()
    columns = {name: _column([row[name] for row in document.rows]) for name in names}
    columns |= {name: pa.array(lists) for name, lists in document.lists().items()}
    file = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), file, compression="zstd")
    return bytes(file.getvalue().to_pybytes())


def _column(values: list[Any]) -> pa.Array:
    """Return values of one type as they are, and of several types as text."""
    kinds = {float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)
             for value in values if value is not None}  # fmt: skip
    return pa.array(values if len(kinds) <= 1 else [None if value is None else str(value) for value in values])
