"""Read logs of evaluation programs into one record of arrays; no such program is needed.

`program_of` detects the program, `read_log` reads a file, and `list_logs` lists a folder.
"""

from __future__ import annotations

from pathlib import Path

from ranker.errors import DataError
from ranker.sources.logs.base import LogSelection, TaskLog
from ranker.sources.logs.folders import Listing, list_logs
from ranker.sources.logs.formats import LogFormat, format_named, formats, program_of

__all__ = ["Listing", "LogSelection", "TaskLog", "list_logs", "program_of", "read_log"]


def read_log(path: Path, choice: LogSelection = LogSelection()) -> TaskLog:
    """Read a log of any program that is known.

    Raises:
        DataError: it is no log, or cannot be read: see the readers.
    """
    program = program_of(path, choice.limits)
    return (_guessed(path) if program is None else format_named(program)).read(path, choice)


def _guessed(path: Path) -> LogFormat:
    """Guess the format from a file's name, so that its reader reports the fault."""
    bare, by_order = path.name.removesuffix(".gz"), formats().values()
    of_name = [form for form in by_order if form.is_named(bare)]
    for form in (*of_name, *(form for form in by_order if bare.endswith(form.endings))):
        return form
    raise DataError.of(path, f"is no log ({'; '.join(form.about for form in by_order)}; these may be gzipped)")
