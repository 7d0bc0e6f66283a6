"""NumPy's arrays as Arrow's, and back, through the memory that they share.

Arrow's own conversions import pandas wherever that is installed, which takes longer than reading a store.
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
    """(N,) numbers.

    Example:
        >>> of_numbers(np.array([1.5, 2.5])).to_pylist()
        [1.5, 2.5]
    """
    import pyarrow as pa

    flat = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), [None, pa.py_buffer(flat)])


def of_binary(values: Sequence[bytes], width: int) -> pa.Array:
    """(N,) bytes of one width.

    Raises:
        ValueError: they are not of that width.
    """
    import pyarrow as pa

    whole = b"".join(values)
    if len(whole) != width * len(values):
        raise ValueError(f"each must have {width} bytes")
    return pa.Array.from_buffers(pa.binary(width), len(values), [None, pa.py_buffer(whole)])


def of_texts(values: Sequence[str]) -> pa.Array:
    """(N,) texts.

    Example:
        >>> of_texts(["a", "", "é"]).to_pylist()
        ['a', '', 'é']
    """
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(encoded), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def of_lists(values: pa.Array, sizes: Sequence[int]) -> pa.Array:
    """(N,) lists, of the flat values that they hold one after the other, and their sizes.

    Example:
        >>> of_lists(of_texts(["a", "b", "c"]), [2, 0, 1]).to_pylist()
        [['a', 'b'], [], ['c']]
    """
    import pyarrow as pa

    ends = of_numbers(np.cumsum([0, *sizes], dtype=np.int32))
    return pa.ListArray.from_arrays(ends, values)


def numbers(column: Column) -> np.ndarray:
    """(N,) the numbers of a column without gaps, in memory of their own.

    Example:
        >>> numbers(of_numbers(np.arange(5))[1:3]).tolist()
        [1, 2]
    """
    array = whole(column)
    dtype = np.dtype(array.type.to_pandas_dtype())
    content = array.buffers()[1]
    if content is None:
        return np.empty(0, dtype)
    return np.frombuffer(content, dtype)[array.offset : array.offset + len(array)].copy()


def sizes(column: Column) -> Ints:
    """(N,) the sizes of the lists in a column."""
    from pyarrow import compute

    return numbers(compute.list_value_length(column)).astype(np.int64)


def whole(column: Column) -> Any:
    """A column as one array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    one = column.combine_chunks()
    return one if not isinstance(one, pa.ChunkedArray) else one.chunk(0) if one.num_chunks else pa.array([], one.type)
