"""Zip archives within limits: a list of parts, and one part at a time in memory; nothing is unpacked to a disk.

The standard library's reader makes an object of each part, however many there are, trusts the sizes that an archive
states, and until Python 3.14 refuses method 93 (Zstandard), which Inspect uses. Here the parts are counted before any
of them is read, sizes are checked before anything is unpacked, and checksums afterwards.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

from ranker.errors import DataError, first_line
from ranker.limits import LIMITS, Limits

ZIP = (b"PK\3\4", b"PK\5\6")
"""First bytes of an archive; one without parts begins with its end."""

STORED, DEFLATED, ZSTANDARD = 0, 8, 93

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_COMMENT = 1 << 16
_LARGE, _ENCRYPTED, _UTF8 = 0xFFFFFFFF, 0x1, 0x800


class ArchiveMember(NamedTuple):
    """One file of an archive, as the archive's list states it.

    Attributes:
        name: as the list has it; it is only compared.
        checksum: CRC-32 of its content.
        packed, size: bytes, packed and unpacked.
        start: offset of its header.
    """

    name: str
    method: int
    flags: int
    checksum: int
    packed: int
    size: int
    start: int


class Archive:
    """Archive that is read part by part.

    Args:
        parts: name of the limit on the number of its parts, which is checked before any of them is read.
        size: name of the limit on the bytes of a part, packed and unpacked.
        total: name of the limit on the bytes of all parts that are read.

    Attributes:
        parts: name -> the part; of several with one name the last one.
        repeated: names that occur more than once.

    Raises:
        DataError: it is no archive, or its list is broken or too long.
    """

    def __init__(
        self,
        stream: IO[bytes],
        place: object,
        limits: Limits = LIMITS,
        *,
        parts: str = "log_parts",
        size: str = "log_part",
        total: str = "log",
    ) -> None:
        self._stream, self._place, self._limits = stream, place, limits
        self._length = stream.seek(0, 2)
        self._size, self._total = size, total
        self._left: int = getattr(limits, total)
        limits.check(place, total, self._length)  # so that 32 bits hold every size and offset
        self.parts: dict[str, ArchiveMember] = {}
        self.repeated: set[str] = set()
        for part in self._entries(parts):
            if part.name in self.parts:
                self.repeated.add(part.name)
            self.parts[part.name] = part

    def read(self, name: str) -> bytes:
        """Return the content of a part.

        Raises:
            DataError: it is too large, broken, or packed in an unknown way.
        """
        part = self.parts[name]
        place = f"{self._place}, part {name[:200]!r}"
        if part.flags & _ENCRYPTED:
            raise DataError.at(place, "encrypted")
        self._limits.check(place, self._size, max(part.size, part.packed))
        self._limits.check_ratio(place, part.size, part.packed)
        self._left -= part.size
        if self._left < 0:
            raise self._limits.excess_error(self._place, self._total)
        content = _unpack(self._raw(part, place), part, place)
        if len(content) != part.size or zlib.crc32(content) != part.checksum:
            raise DataError.at(place, "damaged (its size or its checksum is not what the archive states)")
        return content

    def _raw(self, part: ArchiveMember, place: str) -> bytes:
        """Return a part's packed bytes."""
        header = self._read(part.start, _LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != b"PK\3\4":
            raise DataError.at(place, "damaged (nothing begins where the archive states)")
        name, extra = _LOCAL.unpack(header)[-2:]
        return self._read(part.start + _LOCAL.size + name + extra, part.packed)

    def _read(self, start: int, size: int) -> bytes:
        """Return bytes of the archive; fewer where it ends."""
        start = min(start, self._length)
        self._stream.seek(start)
        return self._stream.read(min(size, self._length - start))

    def _entries(self, most: str) -> Iterator[ArchiveMember]:
        """Yield the parts in the order of the list."""
        count, size, start_of_list = self._end()
        self._limits.check(self._place, most, count)
        self._limits.check(f"{self._place}, its list of parts", "directory", size)
        content = self._read(start_of_list, size)
        place = 0
        for _ in range(count):
            if len(content) < place + _ENTRY.size or content[place : place + 4] != b"PK\1\2":
                raise DataError.at(self._place, "damaged (its list of parts is not as long as it states)")
            fields = _ENTRY.unpack_from(content, place)
            (flags, method), (checksum, packed, unpacked), lengths, start = (
                fields[3:5],
                fields[7:10],
                fields[10:13],
                fields[16],
            )
            begin = place + _ENTRY.size
            name = content[begin : begin + lengths[0]].decode("utf-8" if flags & _UTF8 else "cp437", "replace")
            place = begin + sum(lengths)
            yield ArchiveMember(name, method, flags, checksum, packed, unpacked, start)
        if content[place : place + 4] == b"PK\1\2":
            raise DataError.at(self._place, "damaged (its list of parts is longer than it states)")

    def _end(self) -> tuple[int, int, int]:
        """Return the number of parts, the bytes of their list, and its offset, from the archive's end."""
        start = max(0, self._length - _END.size - _COMMENT)
        tail = self._read(start, _END.size + _COMMENT)
        mark = tail.rfind(b"PK\5\6")
        while mark >= 0 and mark + _END.size + int.from_bytes(
            tail[mark + _END.size - 2 : mark + _END.size], "little"
        ) != len(tail):
            mark = tail.rfind(b"PK\5\6", 0, mark)  # a comment may hold the same signs
        if mark < 0:
            raise DataError.at(self._place, "no zip archive, or cut off (it has no end)")
        count, size, begin = _END.unpack_from(tail, mark)[4:7]
        if _LARGE in (size, begin) or count == 0xFFFF:
            count, size, begin = self._end_64(start + mark) or (count, size, begin)
        return count, size, begin

    def _end_64(self, end: int) -> tuple[int, int, int] | None:
        """Return the same for an archive with more than 65,535 parts."""
        locator = self._read(max(0, end - _LOCATOR.size), _LOCATOR.size)
        if len(locator) < _LOCATOR.size or locator[:4] != b"PK\6\7":
            return None
        record = self._read(_LOCATOR.unpack(locator)[2], _END_64.size)
        if len(record) < _END_64.size or record[:4] != b"PK\6\6":
            return None
        count, size, begin = _END_64.unpack(record)[7:]
        return count, size, begin


def _unpack(raw: bytes, part: ArchiveMember, place: str) -> bytes:
    """Return a part's content, at most one byte more than it states."""
    if part.method == STORED:
        return raw
    try:
        if part.method == DEFLATED:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, part.size + 1)
        if part.method == ZSTANDARD:
            import pyarrow as pa

            return bytes(pa.decompress(raw, decompressed_size=part.size, codec="zstd", asbytes=True))
    except (zlib.error, OSError, ValueError) as error:  # Arrow's errors are of these kinds
        raise DataError.at(place, f"damaged ({first_line(error)})") from error
    raise DataError.at(place, f"packed by method {part.method}, which is not read", value=part.method)
