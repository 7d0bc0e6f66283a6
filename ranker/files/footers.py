"""Sizes of columns that a Parquet file's footer states, read before anything is decoded.

Arrow's own reader of them ends the whole process where a file contradicts itself: its exception passes a function that
may raise none. Its decoder raises errors as it should.

Source: Apache Parquet's ``parquet.thrift``, and Thrift's compact protocol.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, NamedTuple

from ranker.errors import DataError
from ranker.limits import LIMITS, Limits

MAGIC = b"PAR1"

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 1, 2, 3, 7, 8, 9, 10, 11, 12, 13
_NUMBERS = (4, 5, 6)


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
    footer = _Compact(stream.read(size))
    try:
        for field, kind in footer.fields():
            if (field, kind) == (4, _LIST):
                return [_group(footer) for _ in footer.items()]
            footer.skip(kind)
    except (IndexError, ValueError, RecursionError) as error:
        raise DataError.of(place, "cannot be read: its footer is broken") from error
    return []


def _group(footer: _Compact) -> list[ColumnChunkInfo]:
    """Return the columns of one group of rows."""
    columns: list[ColumnChunkInfo] = []
    for field, kind in footer.fields():
        if (field, kind) == (1, _LIST):
            columns = [_column(footer) for _ in footer.items()]
        else:
            footer.skip(kind)
    return columns


def _column(footer: _Compact) -> ColumnChunkInfo:
    """One column of a group; ``meta_data`` is its third field."""
    stated = ColumnChunkInfo(-1, -1)
    for field, kind in footer.fields():
        if (field, kind) == (3, _STRUCT):
            stated = footer.meta_data(*stated)
        else:
            footer.skip(kind)
    if min(stated) < 0:
        raise ValueError("a column without its number of values, or its size")
    return stated


class _Compact:
    """Reader of Thrift's compact protocol, value by value; the caller reads or skips each field."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield (number, type) of each field of a struct."""
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self.number()
            yield number, head & 15

    def items(self) -> Iterator[int]:
        """Yield the type of each item of a list."""
        head = self._byte()
        for _ in range(self._varint() if head >> 4 == 15 else head >> 4):
            yield head & 15

    def meta_data(self, values: int, size: int) -> ColumnChunkInfo:
        """Read the numbers in a column's struct, over those of another field. Most of the time is spent here."""
        content, offset, field = self._content, self._at, 0
        while head := content[offset]:
            offset += 1
            kind = head & 15
            if head >> 4:
                field += head >> 4
            else:
                coded, offset = _number(content, offset)
                field = (coded >> 1) ^ -(coded & 1)
            if field in (5, 6) and kind in _NUMBERS:
                coded, offset = _number(content, offset)
                number = (coded >> 1) ^ -(coded & 1)
                values, size = (number, size) if field == 5 else (values, number)
            else:
                offset = _end(content, offset, kind)
        self._at = offset + 1
        return ColumnChunkInfo(values, size)

    def number(self) -> int:
        """Return a whole number."""
        encoded = self._varint()
        return (encoded >> 1) ^ -(encoded & 1)

    def skip(self, kind: int) -> None:
        """Pass over the value of a field.

        Raises:
            ValueError: there is no such type.
            IndexError: it is cut off.
        """
        self._at = _end(self._content, self._at, kind)

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _varint(self) -> int:
        value, self._at = _number(self._content, self._at)
        return value


def _end(content: bytes, offset: int, kind: int, *, in_list: bool = False) -> int:
    """Find where a value of a type ends, in a list or a field. There may be millions: no object is made for any."""
    if kind == _STRUCT:
        while head := content[offset]:
            offset = offset + 1 if head >> 4 else _number_end(content, offset + 1)
            kind = head & 15
            if kind in _NUMBERS:
                while content[offset] & 0x80:
                    offset += 1
                offset += 1
            else:
                offset = _end(content, offset, kind)
        offset += 1
    elif kind == _BINARY:
        size, offset = _number(content, offset)
        offset += size
    elif kind in _NUMBERS:
        offset = _number_end(content, offset)
    elif kind in (_LIST, _SET):
        head = content[offset]
        count, offset = _number(content, offset + 1) if head >> 4 == 15 else (head >> 4, offset + 1)
        for _ in range(count):
            offset = _end(content, offset, head & 15, in_list=True)
    elif kind in (_TRUE, _FALSE):
        offset += in_list
    elif kind == _BYTE:
        offset += 1
    elif kind == _DOUBLE:
        offset += 8
    elif kind == _UUID:
        offset += 16
    elif kind == _MAP:
        count, offset = _number(content, offset)
        kinds = content[offset] if count else 0
        offset += bool(count)
        for _ in range(count):
            offset = _end(content, _end(content, offset, kinds >> 4, in_list=True), kinds & 15, in_list=True)
    else:
        raise ValueError(f"no type {kind}")
    if offset > len(content):
        raise IndexError("cut off")
    return offset


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


def _number_end(content: bytes, offset: int) -> int:
    """Find where a number ends."""
    while content[offset] & 0x80:
        offset += 1
    return offset + 1
