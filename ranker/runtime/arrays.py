"""Conversion of NumPy arrays to Arrow and back, through shared memory.

Arrow's own conversions import pandas if it is installed, which takes longer than reading a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

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


def of_texts(values: Sequence[str]) -> pa.Array:
    """Return (N,) texts as a column.

    Example:
        >>> of_texts(["a", "", "é"]).to_pylist()
        ['a', '', 'é']
    """
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def of_lists(values: pa.Array, sizes: Sequence[int]) -> pa.Array:
    """Return (N,) lists, from their joined flat values and their sizes.

    Example:
        >>> of_lists(of_texts(["a", "b", "c"]), [2, 0, 1]).to_pylist()
        [['a', 'b'], [], ['c']]
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
    from ranker.files import arrow

    return arrow.numbers(combine_chunks(column))


def sizes(column: Column) -> Ints:
    """Return (N,) sizes of the lists in a column."""
    from pyarrow import compute

    return numbers(compute.list_value_length(column)).astype(np.int64)


def combine_chunks(column: Column) -> Any:
    """Return a column as one array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    array = column.combine_chunks()
    return (
        array
        if not isinstance(array, pa.ChunkedArray)
        else array.chunk(0)
        if array.num_chunks
        else pa.array([], array.type)
    )
