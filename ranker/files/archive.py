"""Zip archives within the budget: a list of parts, and one part at a time in memory; nothing is unpacked to a disk.

The standard library's reader makes an object of each part, however many there are, believes the sizes that an archive
states, and until Python 3.14 refuses method 93 (Zstandard), in which Inspect writes. Here the parts are counted before
any of them is looked at, sizes are checked before anything is unpacked, and checksums afterwards.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

from ranker.errors import DataError, first_line
from ranker.limits import LIMITS, Limits

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
        name: as it stands there; it is only ever compared.
        method: how it is packed.
        flags: of it, bit by bit.
        checksum: CRC-32 of its content.
        packed, size: bytes, packed and unpacked.
        at: where its header begins.
    """

    name: str
    method: int
    flags: int
    checksum: int
    packed: int
    size: int
    at: int


class Archive:
    """An archive that is read part by part.

    Args:
        stream: the archive, which stays open as long as it is read.
        place: what messages begin with.
        limits: how much of it is read.
        parts: the limit of the number of its parts, which is checked before any of them is looked at.
        size: the limit of the bytes of a part, packed and unpacked.
        whole: the limit of the bytes of all parts that are read.

    Attributes:
        parts: name -> the part; of several with one name the last counts.
        repeated: the names that stand there more than once.

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
        whole: str = "log",
    ) -> None:
        self._stream, self._place, self._limits = stream, place, limits
        self._length = stream.seek(0, 2)
        self._size, self._whole = size, whole
        self._left: int = getattr(limits, whole)
        self.parts: dict[str, ArchiveMember] = {}
        self.repeated: set[str] = set()
        for part in self._entries(parts):
            if part.name in self.parts:
                self.repeated.add(part.name)
            self.parts[part.name] = part

    def read(self, name: str) -> bytes:
        """The content of a part.

        Raises:
            DataError: it is too large, broken, or packed in an unknown way.
        """
        part = self.parts[name]
        place = f"{self._place}, part {name[:200]!r}"
        if part.flags & _ENCRYPTED:
            raise DataError(f"{place}: encrypted")
        self._limits.check(place, self._size, max(part.size, part.packed))
        self._limits.check_ratio(place, part.size, part.packed)
        self._left -= part.size
        if self._left < 0:
            raise self._limits.passed(self._place, self._whole)
        content = _unpacked(self._raw(part, place), part, place)
        if len(content) != part.size or zlib.crc32(content) != part.checksum:
            raise DataError(f"{place}: damaged (its size or its checksum is not what the archive states)")
        return content

    def _raw(self, part: ArchiveMember, place: str) -> bytes:
        """A part as it is packed."""
        header = self._read(part.at, _LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != b"PK\3\4":
            raise DataError(f"{place}: damaged (nothing begins where the archive states)")
        name, extra = _LOCAL.unpack(header)[-2:]
        return self._read(part.at + _LOCAL.size + name + extra, part.packed)

    def _read(self, at: int, size: int) -> bytes:
        """Bytes of the archive; fewer where it ends."""
        at = min(at, self._length)
        self._stream.seek(at)
        return self._stream.read(min(size, self._length - at))

    def _entries(self, most: str) -> Iterator[ArchiveMember]:
        """The parts in the order of the list."""
        count, size, at = self._end()
        self._limits.check(self._place, most, count)
        self._limits.check(f"{self._place}, its list of parts", "directory", size)
        content = self._read(at, size)
        place = 0
        for _ in range(count):
            if len(content) < place + _ENTRY.size or content[place : place + 4] != b"PK\1\2":
                raise DataError(f"{self._place}: damaged (its list of parts is not as long as it states)")
            found = _ENTRY.unpack_from(content, place)
            (flags, method), (checksum, packed, unpacked), lengths, start = (
                found[3:5],
                found[7:10],
                found[10:13],
                found[16],
            )
            begin = place + _ENTRY.size
            name = content[begin : begin + lengths[0]]
            extra = content[begin + lengths[0] : begin + lengths[0] + lengths[1]]
            unpacked, packed, start = _large(extra, (unpacked, packed, start))
            place = begin + sum(lengths)
            yield ArchiveMember(_name(name, flags), method, flags, checksum, packed, unpacked, start)
        if content[place : place + 4] == b"PK\1\2":
            raise DataError(f"{self._place}: damaged (its list of parts is longer than it states)")

    def _end(self) -> tuple[int, int, int]:
        """(how many parts, bytes of their list, where it begins), from the archive's end."""
        start = max(0, self._length - _END.size - _COMMENT)
        tail = self._read(start, _END.size + _COMMENT)
        at = tail.rfind(b"PK\5\6")
        while at >= 0 and at + _END.size + int.from_bytes(tail[at + _END.size - 2 : at + _END.size], "little") != len(
            tail
        ):
            at = tail.rfind(b"PK\5\6", 0, at)  # a comment may hold the same signs
        if at < 0:
            raise DataError(f"{self._place}: no zip archive, or cut off (it has no end)")
        count, size, begin = _END.unpack_from(tail, at)[4:7]
        if _LARGE in (size, begin) or count == 0xFFFF:
            count, size, begin = self._end_64(start + at) or (count, size, begin)
        return count, size, begin

    def _end_64(self, end: int) -> tuple[int, int, int] | None:
        """The same of an archive with more than 4 GiB or 65,535 parts."""
        found = self._read(max(0, end - _LOCATOR.size), _LOCATOR.size)
        if len(found) < _LOCATOR.size or found[:4] != b"PK\6\7":
            return None
        record = self._read(_LOCATOR.unpack(found)[2], _END_64.size)
        if len(record) < _END_64.size or record[:4] != b"PK\6\6":
            return None
        count, size, begin = _END_64.unpack(record)[7:]
        return count, size, begin


def _large(extra: bytes, sizes: tuple[int, int, int]) -> tuple[int, ...]:
    """(unpacked, packed, place) of a part, each taken from its extra field where it does not fit into 32 bits."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + min(length, 24)]
            values = [value for (value,) in struct.iter_unpack("<Q", field[: len(field) // 8 * 8])]
            return tuple(values.pop(0) if size == _LARGE and values else size for size in sizes)
        at += 4 + length
    return sizes


def _name(raw: bytes, flags: int) -> str:
    return raw.decode("utf-8" if flags & _UTF8 else "cp437", "replace")


def _unpacked(raw: bytes, part: ArchiveMember, place: str) -> bytes:
    """A part's content, of no more bytes than it states, and one."""
    if part.method == STORED:
        return raw
    try:
        if part.method == DEFLATED:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, part.size + 1)
        if part.method == ZSTANDARD:
            import pyarrow as pa

            return bytes(pa.decompress(raw, decompressed_size=part.size, codec="zstd", asbytes=True))
    except (zlib.error, OSError, ValueError) as error:  # Arrow's errors are of these kinds
        raise DataError(f"{place}: damaged ({first_line(error)})") from error
    raise DataError(f"{place}: packed by method {part.method}, which is not read")
