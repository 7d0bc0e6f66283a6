"""Sizes of columns that a Parquet file's footer states, read before anything is decoded.

Arrow's own reader of them ends the whole process where a file contradicts itself: its exception passes a function that
may raise none. Its decoder raises errors as it should.

Source: Apache Parquet's ``parquet.thrift``, and Thrift's compact protocol.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

from ranker.errors import DataError
from ranker.limits import LIMITS, Limits

MAGIC = b"PAR1"

_TRUE, _FALSE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 8, 9, 10, 11, 12
_NUMBERS = (4, 5, 6)
_BYTES = {3: 1, 7: 8, 13: 16}  # of a byte, a float, and a UUID


_GROUPS, _COLUMNS, _META_DATA, _VALUES, _SIZE = 4, 1, 3, 5, 6
_WANTED: Mapping[int, Any] = {_GROUPS: {_COLUMNS: {_META_DATA: {_VALUES: {}, _SIZE: {}}}}}
"""Fields that are read of the structs of a footer; lists have the fields of their items."""


class ColumnChunkInfo(NamedTuple):
    """Sizes of one column in one group of rows, as the file states them.

    Attributes:
        values: their number, each of those in lists included.
        size: bytes, unpacked.
    """

    values: int
    size: int


def read_footer(stream: IO[bytes], place: object, limits: Limits = LIMITS) -> list[list[ColumnChunkInfo]]:
    """Read the sizes of each column of single values, for each group of rows, in the order of the schema.

    Raises:
        DataError: it is no Parquet file, its footer is broken, or larger than ``limits.footer``.
    """
    end = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, end - 8))
    size, mark = int.from_bytes(stream.read(4), "little"), stream.read(4)
    if mark != MAGIC or size + 8 > end:
        raise DataError.of(place, "cannot be read: no Parquet file, or cut off")
    limits.check(place, "footer", size)
    stream.seek(end - 8 - size)
    try:
        footer, _ = _value(stream.read(size), 0, _STRUCT, _WANTED)
        return [[_sizes(column[_META_DATA]) for column in group[_COLUMNS]] for group in footer.get(_GROUPS, [])]
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError.of(place, "cannot be read: its footer is broken") from error


def _sizes(meta_data: Mapping[int, int]) -> ColumnChunkInfo:
    sizes = ColumnChunkInfo(meta_data[_VALUES], meta_data[_SIZE])
    if min(sizes) < 0:
        raise ValueError("a column with fewer than no values or bytes")
    return sizes


def _value(
    content: bytes, offset: int, kind: int, wanted: Mapping[int, Any] | None = None, *, in_list: bool = False
) -> tuple[Any, int]:
    """Read a value of Thrift's compact protocol; return its wanted fields, None for other types, and where it ends."""
    value: Any = None
    if kind in _NUMBERS:
        coded, offset = _number(content, offset)
        value = (coded >> 1) ^ -(coded & 1)
    elif kind == _STRUCT:
        field, value = 0, {}
        while head := content[offset]:
            offset += 1
            if head >> 4:
                field += head >> 4
            else:
                coded, offset = _number(content, offset)
                field = (coded >> 1) ^ -(coded & 1)
            if wanted and field in wanted:
                value[field], offset = _value(content, offset, head & 15, wanted[field])
            elif head & 15 in _NUMBERS:  # most fields are numbers, and each call takes time
                while content[offset] & 0x80:
                    offset += 1
                offset += 1
            else:
                _, offset = _value(content, offset, head & 15)
        offset += 1
    elif kind in (_LIST, _SET):
        head, value = content[offset], []
        count, offset = _number(content, offset + 1) if head >> 4 == 15 else (head >> 4, offset + 1)
        for _ in range(count):
            element, offset = _value(content, offset, head & 15, wanted, in_list=True)
            if wanted is not None:
                value.append(element)
    elif kind == _MAP:
        count, offset = _number(content, offset)
        kinds = content[offset] if count else 0
        offset += bool(count)
        for _ in range(count):
            for part in (kinds >> 4, kinds & 15):
                _, offset = _value(content, offset, part, in_list=True)
    elif kind == _BINARY:
        size, offset = _number(content, offset)
        offset += size
    elif kind in (_TRUE, _FALSE):
        offset += in_list
    elif kind in _BYTES:
        offset += _BYTES[kind]
    else:
        raise ValueError(f"no type {kind}")
    if offset > len(content):
        raise IndexError("cut off")
    return value, offset


def _number(content: bytes, offset: int) -> tuple[int, int]:
    """Read a number without a sign, of at most 64 bits; return it, and where it ends."""
    value = shift = 0
    while (byte := content[offset]) & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        offset += 1
        if shift > 63:
            raise ValueError("a number of too many bytes")
    return value | byte << shift, offset + 1
