"""Conversion of NumPy arrays to Arrow and back, through shared memory.

Arrow's own conversions import pandas if it is installed, which takes longer than reading a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from factors.types import Ints

if TYPE_CHECKING:
    import pyarrow as pa

    Column: TypeAlias = pa.Array | pa.ChunkedArray


def of_numbers(values: np.ndarray) -> pa.Array:
    """Return (N,) numbers as a column.

    Example:
        >>> of_numbers(np.array([1.5, 2.5])).to_pylist()
        [1.5, 2.5]
    """
    import pyarrow as pa

    flat = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), [None, pa.py_buffer(flat)])


def of_binary(values: Sequence[bytes], width: int) -> pa.Array:
    """Return (N,) bytes of one width as a column; a ValueError for bytes of another."""
    import pyarrow as pa

    content = b"".join(values)
    if len(content) != width * len(values):
        raise ValueError(f"each must have {width} bytes")
    return pa.Array.from_buffers(pa.binary(width), len(values), [None, pa.py_buffer(content)])


def of_lists(values: pa.Array, sizes: Sequence[int]) -> pa.Array:
    """Return (N,) lists, from their joined flat values and their sizes.

    Example:
        >>> of_lists(of_numbers(np.arange(3)), [2, 0, 1]).to_pylist()
        [[0, 1], [], [2]]
    """
    import pyarrow as pa

    ends = of_numbers(np.cumsum([0, *sizes], dtype=np.int32))
    return pa.ListArray.from_arrays(ends, values)


def numbers(column: Column) -> np.ndarray:
    """Return (N,) numbers of a column without gaps, copied.

    Example:
        >>> numbers(of_numbers(np.arange(5))[1:3]).tolist()
        [1, 2]
    """
    import pyarrow as pa

    from ranker.files import arrow

    return arrow.numbers(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def sizes(column: Column) -> Ints:
    """Return (N,) sizes of the lists in a column."""
    from pyarrow import compute

    return numbers(compute.list_value_length(column)).astype(np.int64)
