"""The rows of the CSV as Parquet, with a list for each model of the numbers that it has with every other one."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import parquet

from ranker.report.document import Document


def write(document: Document) -> bytes:
    """Write the rows of a result, each column of one type, and the lists beside them."""
    names = document.rows[0] if document.rows else ()
    columns = {name: pa.array([row[name] for row in document.rows]) for name in names}
    columns |= {name: pa.array(lists) for name, lists in document.lists().items()}
    file = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), file, compression="zstd")
    return bytes(file.getvalue().to_pybytes())
