"""Size limits for untrusted input files: one table, with a reason for each.

A reader takes the record, checks sizes before it decodes, and refuses more in one line that names the limit. The
command line reads the record from the table ``[limits]`` of ``--config``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ranker.errors import DataError

FREE = 1 << 24
"""Bytes that any file may unpack to, at any ratio: 16 MiB."""

READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags for opening files: a pipe in the place of a file does not block."""


POINTER = b"version https://git-lfs.github.com/spec/"
"""Beginning of what Git LFS leaves in the place of a file that was not fetched."""


def _most(most: int, unit: str, reason: str) -> Any:
    return field(default=most, metadata={"of": unit, "why": reason})


@dataclass(frozen=True)
class Limits:
    """Limits of untrusted input; their units and reasons are in the fields' metadata.

    Raises:
        ValueError: a limit is below 1.

    Example:
        >>> Limits(columns=3).check("a.csv", "columns", 4)
        Traceback (most recent call last):
        ranker.errors.DataError: a.csv: more than 3 columns, the most that is read (`limits.columns`)
    """

    file: int = _most(1 << 29, "bytes", "of a file of rows or a table, packed and unpacked; a million rows of HANS")
    pool: int = _most(1 << 36, "bytes", "of a pool, packed and unpacked, whose rows are drawn; a hundred million texts")
    ratio: int = _most(200, "times its size", "that a file unpacks to, beyond 16 MiB; tables pack to a twentieth")
    gzip_parts: int = _most(10_000, "parts", "of a gzip file; of one in blocks, as bgzip writes, each has 64 kB")
    line: int = _most(1 << 20, "bytes in a line", "of text; 60 models and a text have 10 kB")
    cell: int = _most(100_000, "characters in a cell", "a model of 512 tokens can read some 3,000")
    columns: int = _most(20_000, "columns", "1,000 models with the scores of up to 20 classes")
    rows: int = _most(1_000_000, "rows", "of a file of rows, each of which is an object in memory")
    values: int = _most(1 << 23, "cells", "of a file of rows, and values in lists; each may take 100 bytes in memory")
    blank: int = _most(1 << 20, "blank lines", "as many as a spreadsheet can have")
    memory: int = _most(1 << 31, "bytes of memory", "for a group of rows of a Parquet file, whatever it states")
    table_rows: int = _most(1 << 24, "rows", "of a table; 1,000 models on 10,000 rows, a line each, are 10 million")
    table_cells: int = _most(1 << 25, "cells", "of a table; 1,000 models on 10,000 rows with three classes")
    parquet_cells: int = _most(1 << 27, "cells", "of a table in Parquet, a byte each; 1,000 models on 100,000 rows")
    footer: int = _most(1 << 24, "bytes", "of what a Parquet file states of itself; 20,000 columns have some 4 MB")
    words: int = _most(1 << 24, "words", "of a set of texts that `shift` compares; 90 MB of English")
    distinct_words: int = _most(1 << 20, "different words", "of such a set; a million words of English have 60,000")
    list: int = _most(1_000, "values", "of a list in a cell of a table: scores of so many classes")
    members: int = _most(100, "parts", "of an .npz file, an array each")
    directory: int = _most(1 << 25, "bytes", "of the list of parts of any zip archive: 300,000 names")
    json: int = _most(1 << 26, "bytes", "of a table in JSON, which takes ten times as many in memory")
    objects: int = _most(1 << 22, "objects and lists", "of a JSON file, each of 64 bytes and more")
    text: int = _most(
        1 << 28,
        "characters",
        "of other JSON files, which take ten times as many bytes in memory; a saved run of 10,000 rows",
    )
    log: int = _most(1 << 30, "bytes", "of a log, unpacked; 12,000 rows with prompts of 30 kB are a third of that")
    log_whole: int = _most(1 << 28, "bytes", "of a log that is one JSON text")
    log_part: int = _most(1 << 27, "bytes", "of one sample of an Inspect log: a long transcript of an agent")
    log_line: int = _most(1 << 24, "bytes in a line", "of a log: four choices with a million tokens of context each")
    log_side: int = _most(1 << 26, "bytes", "of the results beside a log; those of a thousand tasks have 10 MB")
    log_values: int = _most(1 << 26, "values", "of a log: brackets, commas and colons, a microsecond each")
    log_values_at_once: int = _most(1 << 24, "values", "of one JSON text of a log, each of up to 64 bytes in memory")
    log_parts: int = _most(500_000, "parts", "of an archive that is a log: one for each sample, and a few more")
    log_rows: int = _most(500_000, "rows", "of a log; the largest benchmarks have some 100,000")
    log_files: int = _most(10_000, "files", "of a folder of logs")
    guidelines: int = _most(1 << 20, "characters", "of a text that a key of `label` shows: a long book")
    settings: int = _most(1 << 26, "bytes", "of a small file of a checkpoint; a tokenizer of 256,000 tokens has 35 MB")
    config: int = _most(1 << 23, "bytes", "of config.json or adapter_config.json")
    labels: int = _most(10_000, "labels", "of a checkpoint")
    layers: int = _most(1_000, "layers", "of a checkpoint")
    vocabulary: int = _most(1 << 22, "tokens", "of a checkpoint; multilingual ones have a million")
    growth: int = _most(1_000, "characters", "that a tokenizer may make of one, or put around a text")
    shard: int = _most(1 << 30, "bytes", "of a shard of the store, unpacked; one of 16,384 answers has 1 MB")
    reply: int = _most(1 << 24, "bytes", "of a server's reply; the 2,000 most probable tokens have 200 kB")

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) < 1:
                raise ValueError(f"`limits.{limit.name}` must be at least 1 (got {getattr(self, limit.name)})")

    def check(self, place: object, name: str, got: int) -> None:
        """Refuse a size above a limit.

        Args:
            place: what the message begins with.
            name: of the limit.
            got: the size.

        Raises:
            DataError: it is larger.
        """
        if got > getattr(self, name):
            raise self.excess_error(place, name)

    def check_ratio(self, place: object, size: int, packed: int) -> None:
        """Refuse content that unpacks to far more than its size, once that is large."""
        if size > FREE and size > self.ratio * packed:
            raise self.excess_error(place, "ratio")

    def check_objects(self, place: object, text: str) -> None:
        """Refuse JSON with objects and lists that would take far more memory than its text."""
        self.check(place, "objects", text.count("{") + text.count("["))

    def excess_error(self, place: object, name: str) -> DataError:
        """Return the error for a size above a limit."""
        unit, most = self.__dataclass_fields__[name].metadata["of"], getattr(self, name)
        reason = f"more than {most:,} {unit}, the most that is read (`limits.{name}`)"
        return DataError.at(place, reason, option=f"limits.{name}", allowed=(0, most))


LIMITS = Limits()
"""Default limits."""


@contextmanager
def within(limits: Limits, place: object) -> Iterator[None]:
    """Bound the memory that this process takes while it decodes something by ``limits.memory``.

    A file's own statements may be false, and the libraries that decode it have no budget. Only Linux has this limit;
    elsewhere this does nothing. It holds for the whole process, so nothing else should run meanwhile.

    Args:
        limits: with the memory.
        place: start of the message.

    Raises:
        DataError: it was not enough.
    """
    before = _linux_bytes("/proc/self/status", "VmData:")
    if before is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = before + limits.memory
    lowest = min(most, *(limit for limit in (soft, hard, most) if limit != resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_DATA, (lowest, hard))
    try:
        yield
    except MemoryError as error:  # Arrow's own is one
        raise limits.excess_error(place, "memory") from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def free_memory() -> int | None:
    """Return the bytes that processes may take without swapping; None where the system does not tell (Linux does)."""
    return _linux_bytes("/proc/meminfo", "MemAvailable:")


def _linux_bytes(file: str, name: str) -> int | None:
    """Return a number of bytes that Linux states."""
    try:
        lines = Path(file).read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    except (OSError, StopIteration):
        return None


def open_regular(path: Path) -> int:
    """Open a regular file for reading; a pipe, a device or a folder never blocks and is not read.

    Returns:
        The descriptor, which belongs to the caller.

    Raises:
        OSError: it cannot be opened, is no regular file, or is a pointer of Git LFS.
    """
    descriptor = os.open(path, READING)
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            number = errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL
            reason = os.strerror(number) if number == errno.EISDIR else "it is no regular file"
            raise OSError(number, reason, str(path))
        if os.read(descriptor, len(POINTER)) == POINTER:
            raise OSError(errno.EINVAL, "it is a pointer of Git LFS; `git lfs pull` fetches the file", str(path))
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
