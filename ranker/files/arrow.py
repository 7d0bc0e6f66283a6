"""Arrow arrays of cells: made from Python values, masked where empty, and converted back without pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranker.files.cells import EXACT, cell_text

MAX_DICTIONARY = 1_000
"""Most distinct values of a column that is dictionary-encoded."""


def of_texts(values: Sequence[str | None]) -> Any:
    """Return (N,) texts, None where there is none, as a column; `pyarrow.array` would import pandas if installed.

    Example:
        >>> of_texts(["a", None, ""]).to_pylist()
        ['a', None, '']
    """
    builder = pa.lib.StringBuilder()
    builder.append_values(values)
    return builder.finish()


def of_cells(values: Sequence[Any]) -> Any:
    """Return (N,) cells as texts, numbers or truth values, null where one is empty; of several types, as texts.

    Example:
        >>> of_cells([1, None, 2.5]).to_pylist(), of_cells([True, "maybe", " "]).to_pylist()
        ([1.0, None, 2.5], ['1', 'maybe', None])
    """
    types = {*map(type, values)} - {type(None)}
    if str in types or float in types:
        values = [  # nan and blank texts are empty
            None if value != value or (isinstance(value, str) and not value.strip()) else value for value in values
        ]
        types = {*map(type, values)} - {type(None)}
    try:
        if not types:
            return pa.nulls(len(values))
        if types == {str}:
            return of_texts(values)
        if types == {int, float} and any(isinstance(v, int) and abs(v) > EXACT for v in values):
            types = {str}  # no type of numbers holds all of them
        if types <= {bool} or types <= {int, float}:
            return pa.array(values, pa.float64() if float in types else None)
    except (pa.ArrowException, OverflowError):
        pass  # a number is too large for any type
    return of_texts([value if value is None or isinstance(value, str) else cell_text(value) for value in values])


def concatenate(parts: Sequence[Any]) -> Any:
    """Arrays of one column as one, of the type that holds all cells as they are; of several types, as texts.

    Example:
        >>> concatenate([pa.array([True, False]), pa.array([1]), pa.array(["no"])]).to_pylist()
        ['1', '0', '1', 'no']
    """
    types = {part.type for part in parts} - {pa.null()}
    if types == {pa.int64(), pa.float64()} and not any(map(_beyond_floats, parts)):
        types = {pa.float64()}
    if len(types) > 1:
        return of_texts([None if cell is None else cell_text(cell) for part in parts for cell in part.to_pylist()])
    kind = next(iter(types), pa.null())
    return pa.concat_arrays([part.cast(kind) for part in parts])


def _beyond_floats(array: Any) -> bool:
    """Return whether whole numbers are too large for floats."""
    if not pa.types.is_integer(array.type) or array.null_count == len(array):
        return False
    ends = pc.min_max(array).as_py()
    return max(-int(ends["min"]), int(ends["max"])) > EXACT


def mask_empty(array: Any) -> Any:
    """Return an array without its empty cells: blank texts and nan become null.

    Example:
        >>> mask_empty(pa.array(["a", " "]).dictionary_encode()).to_pylist()
        ['a', None]
        >>> mask_empty(pa.array([1.5, float("nan")])).to_pylist()
        [1.5, None]
    """
    if pa.types.is_dictionary(array.type):
        values = mask_empty(array.dictionary)
        if not values.null_count or array.dictionary.null_count:
            return array
        codes = pc.if_else(pc.is_valid(values).take(array.indices), array.indices, pa.scalar(None, array.indices.type))
        return pa.DictionaryArray.from_arrays(codes, array.dictionary)
    if pa.types.is_floating(array.type):
        return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    if not is_text(array.type):
        return array
    blank = pc.equal(pc.binary_length(pc.utf8_trim_whitespace(array)), 0)
    return pc.if_else(blank, pa.scalar(None, array.type), array) if pc.any(blank).as_py() else array


def is_text(kind: Any) -> bool:
    """Return whether a type holds each text in the array itself."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def fill_nulls(array: Any, value: float) -> np.ndarray:
    """Return (N,) numbers, or truths, of a column, with a value where there is none.

    Example:
        >>> fill_nulls(pa.array([1.5, None]), 0.0).tolist(), fill_nulls(pa.array([True, None]), False).tolist()
        ([1.5, 0.0], [True, False])
    """
    if not array.null_count:
        return numbers(array)
    present, valid = numbers(array.drop_null()), numbers(pc.is_valid(array))
    filled = np.full(len(valid), value, present.dtype)
    filled[valid] = present
    return filled


def numbers(array: Any) -> np.ndarray:
    """Return (N,) numbers, or truths, of a column without gaps, by DLPack: Arrow's conversion imports pandas.

    Example:
        >>> numbers(pa.array([1, 2, 3])[1:]).tolist(), numbers(pa.array([True, False])).tolist()
        ([2, 3], [True, False])
    """
    if pa.types.is_boolean(array.type):
        return np.asarray(numbers(array.cast(pa.uint8())).astype(bool))
    return np.from_dlpack(array).copy()


def python_values(array: Any) -> list[Any]:
    """Return (N,) cells as Python values; equal values of a dictionary are one object.

    Example:
        >>> python_values(pa.array(["a", None, "a"]).dictionary_encode())
        ['a', None, 'a']
    """
    if not pa.types.is_dictionary(array.type):
        return list(array.to_pylist())
    values = array.dictionary.to_pylist()
    return [None if index is None else values[index] for index in array.indices.to_pylist()]


def characters(array: Any) -> int:
    """Count the bytes of a column with each of its texts written out."""
    if pa.types.is_dictionary(array.type) and is_text(array.type.value_type):
        sizes = pc.binary_length(array.dictionary).cast(pa.int64())
        return pc.sum(sizes.take(array.indices)).as_py() or 0
    return int(array.nbytes)


def values_inside(array: Any) -> int:
    """Estimate the number of values, lists and objects in a column of JSON.

    Example:
        >>> values_inside(pa.array(["[[1, 2], [3]]", None]))
        5
    """
    signs = (",", "[", "{") if is_text(array.type) else ()
    return sum(int(pc.sum(pc.count_substring(array, sign)).as_py() or 0) for sign in signs)


def compact(array: Any) -> Any:
    """Return the same array, dictionary-encoded if it has few values."""
    if pa.types.is_null(array.type) or (pa.types.is_floating(array.type) and pc.count_distinct(array).as_py() > 127):
        return array
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if len(coded.dictionary) > MAX_DICTIONARY:
        return coded.dictionary_decode() if array is coded else array
    return pa.DictionaryArray.from_arrays(
        coded.indices.cast(pa.int8() if len(coded.dictionary) <= 127 else pa.int16()), coded.dictionary
    )
