"""Open, unpack and parse log files within size limits; each fault is one line that names the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ranker.errors import DataError, reject_repeated_keys
from ranker.files.text import leads_outside, open_unpacked, read_all
from ranker.limits import LIMITS, Limits


def read_whole(path: Path, limits: Limits = LIMITS, name: str = "log_whole") -> bytes:
    """Read and unpack a file."""
    with open_unpacked(path) as stream:
        return bytes(read_all(stream, path, name, limits))


def iter_lines(path: Path, limits: Limits = LIMITS) -> Iterator[tuple[int, bytes]]:
    """Yield the non-blank lines of a file with their numbers; only one is in memory at a time.

    Raises:
        DataError: it cannot be read; or it, a line or the number of lines is too large.
    """
    with open_unpacked(path) as stream:
        size = 0
        for number in range(1, limits.log_rows + 2):
            line = stream.readline(limits.log_line + 1)
            if not line:
                return
            place = f"{path}, line {number}"
            limits.check(place, "log_line", len(line))
            size += len(line)
            limits.check(place, "log", size)
            if not line.isspace():
                yield number, line
    raise limits.excess_error(path, "log_rows")


class Budget:
    """Number of values of one log that may still be read, from ``limits.log_values``."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._left = limits, limits.log_values

    def spend(self, content: bytes, place: object) -> None:
        """Count the values of a JSON text.

        Raises:
            DataError: they are too many, for one text or in total.
        """
        values = sum(map(content.count, _SIGNS))
        self._left -= values
        self._limits.check(place, "log_values_at_once", values)
        if self._left < 0:
            raise self._limits.excess_error(place, "log_values")


def parse(content: bytes, place: object, budget: Budget) -> Any:
    """Parse JSON bytes. NaN and Infinity may stand bare, as Python and Inspect write them.

    Raises:
        DataError: they are no JSON, hold too much, or repeat a key in an object.
    """
    budget.spend(content, place)
    try:
        return _DECODER.decode(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError.at(place, f"not UTF-8 (byte 0x{error.object[error.start]:02x})") from error
    except RecursionError as error:
        raise DataError.at(place, "nested too deeply") from error
    except json.JSONDecodeError as error:
        raise DataError.at(place, f"no JSON, or cut off ({error.msg}, character {error.pos:,})") from error
    except ValueError as error:  # Python's message repeats all digits of a long number
        reason = "a number has too many digits" if "digits" in str(error) else str(error)
        raise DataError.at(place, reason) from error


_DECODER = json.JSONDecoder(object_pairs_hook=reject_repeated_keys)
_SIGNS = (b"[", b"{", b",", b":")  # each JSON value needs at least one of these


def refuse_outside_links(folder: Path, names: Iterable[str]) -> None:
    """Refuse files of a folder that link out of it.

    A folder of logs may come from a stranger: it must not make this machine read its other files.
    """
    for name in names:
        if leads_outside(folder / name):
            raise DataError.of(folder / name, "links to a file outside of its folder; put a copy there")
