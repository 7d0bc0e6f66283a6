"""Logs as files: opened, unpacked and parsed within the budget; every fault is one line that names the file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ranker.errors import DataError
from ranker.files.shapes import once
from ranker.files.text import unpacking
from ranker.limits import LIMITS, Limits

_PIECE = 1 << 20


@contextmanager
def open_log(path: Path) -> Iterator[IO[bytes]]:
    """A file, unpacked if it is gzip, whatever its name.

    Raises:
        DataError: it cannot be read, or is none: a folder, a pipe, a device.
    """
    with unpacking(path) as stream:
        yield stream


def whole(path: Path, limits: Limits = LIMITS, name: str = "log_whole") -> bytes:
    """All of a file, unpacked.

    Args:
        path: the file.
        limits: how much is read.
        name: of the limit that holds for it.

    Raises:
        DataError: it cannot be read, or is too large.
    """
    pieces, size = [], 0
    with open_log(path) as stream:
        while piece := stream.read(_PIECE):  # asked for all at once, memory for the most there may be would be taken
            pieces.append(piece)
            size += len(piece)
            limits.check(path, name, size)
    return b"".join(pieces)


def lines(path: Path, limits: Limits = LIMITS) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that say something, with their numbers; no more of it is in memory than one.

    Raises:
        DataError: it cannot be read, or it, a line or their number is too large.
    """
    with open_log(path) as stream:
        size = 0
        for at in range(1, limits.log_rows + 2):
            line = stream.readline(limits.log_line + 1)
            if not line:
                return
            place = f"{path}, line {at}"
            limits.check(place, "log_line", len(line))
            size += len(line)
            limits.check(place, "log", size)
            if not line.isspace():
                yield at, line
    raise limits.passed(path, "log_rows")


class Budget:
    """How many more values of one log may be read: ``limits.log_values`` at first."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._left = limits, limits.log_values

    def spend(self, content: bytes, place: object) -> None:
        """Count the values of a JSON text.

        Raises:
            DataError: they are too many, for one text or with those before.
        """
        found = sum(map(content.count, _SIGNS))
        self._left -= found
        self._limits.check(place, "log_values_at_once", found)
        if self._left < 0:
            raise self._limits.passed(place, "log_values")


def parse(content: bytes, place: object, budget: Budget) -> Any:
    """What bytes say in JSON. NaN and Infinity may stand bare, as Python and Inspect write them.

    Args:
        content: the bytes.
        place: what messages begin with.
        budget: of the log that they are of.

    Raises:
        DataError: they are no JSON, hold too much, or name a key of an object twice.
    """
    budget.spend(content, place)
    try:
        return _DECODER.decode(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: not UTF-8 (byte 0x{error.object[error.start]:02x})") from error
    except RecursionError as error:
        raise DataError(f"{place}: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise DataError(f"{place}: no JSON, or cut off ({error.msg}, character {error.pos:,})") from error
    except ValueError as error:
        raise DataError(f"{place}: {_fault(error)}") from error


_DECODER = json.JSONDecoder(object_pairs_hook=once)
_SIGNS = (b"[", b"{", b",", b":")  # a value of a JSON text costs one of these at least


def _fault(error: ValueError) -> str:
    """What is wrong with JSON that is well formed: Python says the digits of a long number at length."""
    return "a number has too many digits" if "digits" in str(error) else str(error)


def strayed(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder's files that link to one outside of it; the hub's cache links to a folder beside it.

    A folder of logs is what somebody hands on: it must not have other files of this machine read.

    Raises:
        DataError: one does.
    """
    whole = Path(os.path.realpath(folder))
    limit = whole.parents[1] if whole.parent.name == "snapshots" and len(whole.parents) > 1 else whole
    for name in names:
        file = folder / name
        if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(limit):
            raise DataError(f"{file} links to a file outside of its folder; put a copy there")
