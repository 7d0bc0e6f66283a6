"""Text files: unpacked, decoded, and as lines, one in memory at a time."""

from __future__ import annotations

import codecs
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ranker.errors import DataError
from ranker.files import encodings
from ranker.limits import LIMITS, Limits, open_regular

BLOCK = 1 << 16
"""Bytes read at once."""

GZIP = b"\x1f\x8b"
"""Start of a gzip file."""

NEAR_FILE = 0.8
"""Least likeness of the names, without endings, of a missing file and one that is there, as `difflib` measures it."""


class _Unpacked(io.RawIOBase):
    """Stream of the parts of a gzip file; `gzip` itself has no bound on their number."""

    def __init__(self, packed: io.BufferedReader, path: Path, limits: Limits) -> None:
        self._packed, self._path, self._limits = packed, path, limits
        self._part, self._parts, self._held = zlib.decompressobj(31), 1, b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer by one step of unpacking; return 0 at the end."""
        while True:
            packed, self._held = self._held or self._packed.read(BLOCK), b""
            if self._part.eof:
                packed = packed.lstrip(b"\0")  # with which some programs fill up the last block
                if not packed and not self._packed.peek(1):
                    return 0
                if not packed:
                    continue
                self._part, self._parts = zlib.decompressobj(31), self._parts + 1
                self._limits.check(self._path, "gzip_parts", self._parts)
            unpacked = self._part.decompress(packed, len(buffer))
            self._held = self._part.unused_data if self._part.eof else self._part.unconsumed_tail
            if unpacked:
                buffer[: len(unpacked)] = unpacked
                return len(unpacked)
            if not packed and not self._part.eof:
                raise EOFError("it ends in the middle of a part")


@contextmanager
def open_unpacked(path: Path, limits: Limits = LIMITS) -> Iterator[io.BufferedReader]:
    """Open a file's bytes as a stream, unpacked if it is gzip, whatever its name.

    Raises:
        DataError: it cannot be read, is no file (a folder, a pipe, a device), or has too many parts.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as raw:
            packed = raw.peek(len(GZIP))[: len(GZIP)] == GZIP
            yield io.BufferedReader(_Unpacked(raw, path, limits), BLOCK) if packed else raw
    except UnicodeDecodeError as error:
        raise DataError.at(path, encodings.unreadable(error), option="encoding") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:  # ValueError: a name that no file can have
        raise unreadable_file(path, error) from error


def unreadable_file(path: Path, cause: BaseException) -> DataError:
    """Return the error of a file that cannot be read; the near name in its folder is offered if it is missing."""
    error = DataError.unreadable(path, cause)
    near = near_file(path) if isinstance(cause, FileNotFoundError) else ""
    return DataError(f"{error}; did you mean {near}?", place=path) if near else error


def near_file(path: object) -> str:
    """Return the path of a file, or a folder, with nearly the same name in the same folder; "" if there is none.

    Example:
        >>> near_file("no-such-folder/a.csv")
        ''
    """
    import difflib  # only needed for errors

    folder, name = os.path.split(str(path))
    try:
        names = os.listdir(folder or ".")
    except (OSError, ValueError):
        return ""
    ending = os.path.splitext(name)[1]
    by_stem = {_stem(entry): entry for entry in sorted(names, key=lambda entry: (entry.endswith(ending), entry))}
    near = difflib.get_close_matches(_stem(name), by_stem, n=1, cutoff=NEAR_FILE)
    return os.path.join(folder, by_stem[near[0]]) if near else ""


def _stem(name: str) -> str:
    return name.partition(".")[0]


def check_file(path: Path, limits: Limits = LIMITS) -> None:
    """Refuse a path that is no file, too large, or a link out of its folder, as in the folder of a checkpoint.

    Raises:
        DataError: it is one of these.
    """
    try:
        about = path.stat()
        if leads_outside(path):
            raise DataError.of(path, f"links to {os.readlink(path)}, outside of its folder; put a copy there")
    except (OSError, ValueError) as error:
        raise unreadable_file(path, error) from error
    if not stat.S_ISREG(about.st_mode):
        raise DataError.of(path, "is no file" + (", but a folder" if stat.S_ISDIR(about.st_mode) else ""))
    limits.check(path, "file", about.st_size)


def leads_outside(path: Path) -> bool:
    """Return whether a path is a link out of its folder; one within the hub's cache, to its own blobs, is none."""
    if not path.is_symlink():
        return False
    folder = path.parent.resolve()
    hub = next((up.parent for up in (folder, *folder.parents) if up.name == "snapshots"), folder)
    return not Path(os.path.realpath(path)).is_relative_to(hub)


def check_unpacked(path: Path, limits: Limits = LIMITS) -> None:
    """Refuse a gzip file that unpacks to too much, before its content is used."""
    packed, size = path.stat().st_size, 0
    with open_unpacked(path, limits) as stream:
        while isinstance(stream.raw, _Unpacked) and (block := stream.read(BLOCK)):
            size += len(block)
            limits.check(path, "file", size)
            limits.check_ratio(path, size, packed)


def lines(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[str]:
    """Yield the lines of a file with their ends: see `pieces`."""
    for piece in pieces(path, encoding, limits):
        yield from io.StringIO(piece, newline="\n")


def pieces(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[str]:
    """Yield the text of a file in pieces of whole lines, unpacked and decoded.

    Args:
        encoding: of a file that is not UTF-8 and has no mark, as UTF-16 has.

    Raises:
        DataError: it cannot be read, is of another encoding, or it or a line of it is too large.
    """
    size = number = 0
    with open_unpacked(path, limits) as stream:
        next_bytes, begun = encodings.reader(stream, _encoding(path, stream, encoding, limits)), b""
        at_end = False
        while not at_end:
            block = next_bytes(BLOCK)
            at_end, block = not block, begun + block
            end = len(block) if at_end else block.rfind(b"\n") + 1
            begun = block[end:]
            yield from _decoded(path, block[:end], number, size, limits)
            size, number = size + end, number + block.count(b"\n", 0, end)
            if len(begun) > limits.line:
                raise limits.excess_error(f"{path}, line {number + 1}", "line")


def _decoded(path: Path, block: bytes, number: int, size: int, limits: Limits) -> Iterator[str]:
    """Yield whole lines as one text, if nothing is wrong with them; else line by line, up to the wrong one."""
    if not block:
        return
    if len(block) <= limits.line and size + len(block) <= limits.file and b"\0" not in block:
        with suppress(UnicodeDecodeError):
            yield block.decode("utf-8" if number else "utf-8-sig")
            return
    for line in io.BytesIO(block):
        number += 1
        place = f"{path}, line {number}"
        size += len(line)
        if len(line) > limits.line:
            raise limits.excess_error(place, "line")
        if size > limits.file:
            raise limits.excess_error(place, "file")
        if number == 1 and b"\0" in line:
            nul = UnicodeDecodeError("utf-8", line, 0, 1, "")
            raise DataError.at(place, encodings.unreadable(nul, nul=True), option="encoding")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError.at(place, encodings.unreadable(error), option="encoding") from error


def nonblank_lines(path: Path, encoding: str = "", limits: Limits = LIMITS) -> Iterator[tuple[int, str]]:
    """Yield the numbers of the lines that are not blank, and the lines without their ends."""
    blank = 0
    for number, line in enumerate(lines(path, encoding, limits), 1):
        if line.isspace():
            blank += 1
            limits.check(path, "blank", blank)
        else:
            yield number, line.rstrip("\r\n")


def content(path: Path, encoding: str = "", limits: Limits = LIMITS) -> str:
    """Return a JSON file as one text, unpacked and decoded.

    Raises:
        DataError: it cannot be read, is of another encoding, or has more bytes than ``limits.json``.
    """
    with open_unpacked(path, limits) as stream:
        encoding_used = _encoding(path, stream, encoding, limits)
        return read_all(stream, path, "json", limits).decode(encoding_used or "utf-8-sig")


def read_all(stream: IO[bytes], path: Path, name: str, limits: Limits = LIMITS) -> bytearray:
    """Return the bytes of a stream, up to the limit of a name; reading all at once would allocate the limit."""
    content = bytearray()
    while piece := stream.read(1 << 20):
        content += piece
        limits.check(path, name, len(content))
    return content


def read_start(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked."""
    with open_unpacked(path) as stream:
        return stream.read(size)


def _encoding(path: Path, stream: io.BufferedReader, encoding: str, limits: Limits) -> str:
    """Return the encoding of the file's mark, else the given one unless the file is UTF-8; "" for UTF-8."""
    return encodings.marked_encoding(stream) or (encoding if encoding and not _is_utf8(path, limits) else "")


def _is_utf8(path: Path, limits: Limits) -> bool:
    """Return whether a whole file is text in UTF-8."""
    decoder, size = codecs.getincrementaldecoder("utf-8")(), 0
    with open_unpacked(path, limits) as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            limits.check(path, "file", size)
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return False
            if b"\0" in block:
                return False
    return True
