"""Read logs of evaluation programs into one record of arrays; no such program is needed.

`program_of` detects the program, `read_log` reads a file, and `list_logs` lists a folder.
"""

from __future__ import annotations

from pathlib import Path

from ranker.errors import DataError
from ranker.sources.logs import inspect_ai, lm_eval
from ranker.sources.logs.base import LogSelection, TaskLog
from ranker.sources.logs.folders import Listing, list_logs
from ranker.sources.logs.formats import formats, program_of

__all__ = ["Listing", "LogSelection", "TaskLog", "list_logs", "program_of", "read_log"]


def read_log(path: Path, choice: LogSelection = LogSelection()) -> TaskLog:
    """Read a log of any program that is by_name.

    Raises:
        DataError: it is no log, or cannot be read: see the readers.
    """
    by_name = formats()
    return by_name[program_of(path, choice.limits, by_name) or _by_name(path)].read(path, choice)


def _by_name(path: Path) -> str:
    """Guess the program from a file's name, so that its reader reports the fault."""
    bare = path.name.removesuffix(".gz")
    if bare.endswith(".eval"):
        return inspect_ai.PROGRAM
    if bare.endswith(".jsonl") or bare.startswith("samples_"):
        return lm_eval.PROGRAM
    if bare.endswith(".json"):
        return inspect_ai.PROGRAM
    raise DataError.of(
        path, "is no log: of lm-evaluation-harness *.jsonl, of Inspect *.eval or *.json; or these and .gz"
    )
