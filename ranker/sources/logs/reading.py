"""Logs of lm-evaluation-harness and Inspect as data: a file -> one record of arrays; neither program is needed.

`program_of` says what a file is, `read_inspect_log` reads it, and `listing` says what lies in a folder.
"""

from __future__ import annotations

from pathlib import Path

from ranker.errors import DataError
from ranker.sources.logs import inspect_ai, lm_eval
from ranker.sources.logs.base import LogSelection, TaskLog
from ranker.sources.logs.folders import Listing, listing, program_of

__all__ = ["Listing", "LogSelection", "TaskLog", "listing", "program_of", "read_log"]

_READERS = {lm_eval.PROGRAM: lm_eval.read_lm_eval_log, inspect_ai.PROGRAM: inspect_ai.read_inspect_log}


def read_log(path: Path, choice: LogSelection = LogSelection()) -> TaskLog:
    """A log, of either program.

    Args:
        path: the file.
        choice: what is read of it, where it holds several things.

    Raises:
        DataError: it is no log, or it cannot be read as one: see the readers.
    """
    program = program_of(path, choice.limits) or _by_name(path)
    return _READERS[program](path, choice)


def _by_name(path: Path) -> str:
    """What a file should be by its name, so that its reader says what is wrong with it."""
    bare = path.name.removesuffix(".gz")
    if bare.endswith(".eval"):
        return inspect_ai.PROGRAM
    if bare.endswith(".jsonl") or bare.startswith("samples_"):
        return lm_eval.PROGRAM
    if bare.endswith(".json"):
        return inspect_ai.PROGRAM
    raise DataError(
        f"{path} is no log: of lm-evaluation-harness *.jsonl, of Inspect *.eval or *.json; or these and .gz"
    )
