"""Folders of logs: which logs lie there, of which models and tasks, and which is the newest of several."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ranker.errors import DataError, listed
from ranker.files.text import beginning
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files, inspect_ai, inspect_samples, lm_eval
from ranker.sources.logs.results import Beside, results_of, task_and_time

_LOOK = 1 << 16
_ROW = re.compile(rb'\{\s*"doc_id"\s*:')
_ENDINGS = (".jsonl", ".json", ".eval")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d")


@dataclass(frozen=True)
class Found:
    """A log that lies in a folder.

    Attributes:
        path: where.
        program: what wrote it: "lm-eval" or "inspect".
        model: its name; "" where neither the log nor the results beside it say.
        task: its name.
        time: when it was run, as far as its name tells: later times are greater.
    """

    path: Path
    program: str
    model: str
    task: str
    time: str


@dataclass(frozen=True)
class Listing:
    """The logs of a folder.

    Attributes:
        logs: of each model and task the newest, by model and task.
        older: the others.
        groups: group of tasks -> the tasks in it, as lm-evaluation-harness has them.
        notes: what is to be known, in sentences.
    """

    logs: tuple[Found, ...]
    older: tuple[Found, ...]
    groups: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


def program_of(path: Path, limits: Limits = LIMITS) -> str | None:
    """What wrote a file, by what is in it: "lm-eval", "inspect", or None where it is no log of either."""
    try:
        start = beginning(path, _LOOK)
        if start.startswith(inspect_samples.ZIP):
            return inspect_ai.PROGRAM if path.name.removesuffix(".gz").endswith(".eval") else None
        start = start.removeprefix(b"\xef\xbb\xbf")
        if _ROW.match(start.lstrip().removeprefix(b"[").lstrip()):
            return lm_eval.PROGRAM
        bare = start.lstrip()
        if bare.startswith(b"["):
            return lm_eval.PROGRAM if b'"doc"' in bare and b'resps"' in bare else None
        if not bare.startswith(b"{"):
            return None
        line = beginning(path, limits.log_line).split(b"\n", 1)[0]
        if _is_row(line, path, limits):
            return lm_eval.PROGRAM
    except DataError:
        return None
    return inspect_ai.PROGRAM if b'"eval"' in start and (b'"status"' in start or b'"plan"' in start) else None


def _is_row(line: bytes, path: Path, limits: Limits) -> bool:
    """Whether a line is a row of lm-evaluation-harness whose keys stand in another order than the program's."""
    if b'"doc"' not in line or b'resps"' not in line:
        return False
    try:
        content = files.parse(line, path, files.Budget(limits))
    except DataError:
        return False
    return isinstance(content, dict) and "doc" in content


def holds_logs(folder: Path, limits: Limits = LIMITS) -> bool:
    """Whether a log lies in a folder, or in one below it that may be read.

    Raises:
        DataError: the folder cannot be read, or one of them holds too many files.
    """
    places = [folder, *(below for below in _folders(folder, limits) if os.access(below, os.R_OK | os.X_OK))]
    return any(program_of(place / name, limits) is not None for place in places for name in _candidates(place, limits))


def listing(folder: Path, limits: Limits = LIMITS) -> Listing:
    """The logs in a folder, or in the one folder below it that holds some.

    Args:
        folder: the folder.
        limits: how much is read.

    Raises:
        DataError: the folder cannot be read, holds no log or too many files, several folders below it hold logs, a file
            links to one outside of it, or a log of Inspect is broken.
    """
    found = _logs(folder, limits)
    if not found:
        below = [place for place in _folders(folder, limits) if any(True for _ in _candidates(place, limits))]
        inside = [(place, lying) for place in below if (lying := _logs(place, limits))]
        if len(inside) > 1:
            names = listed([place.name for place, _ in inside])
            raise DataError(f"{folder} holds logs of several models, one folder each: {names}; name these folders")
        if not inside:
            raise DataError(f"{folder} holds no log of lm-evaluation-harness or Inspect")
        folder, found = inside[0]
    newest: dict[tuple[str, str, str], Found] = {}
    older = []
    for log in sorted(found, key=lambda log: (log.time, log.path.name)):
        before = newest.pop((log.program, log.model, log.task), None)
        older.extend([before] if before else [])
        newest[log.program, log.model, log.task] = log
    notes = tuple(
        f"{log.task or log.path.name}: {1 + again} logs of {log.model or 'one model'} lie in {folder}; "
        f"the newest is read, {log.path.name}."
        for key, log in newest.items()
        if (again := sum((old.program, old.model, old.task) == key for old in older))
    )
    logs = tuple(sorted(newest.values(), key=lambda log: (log.model, log.task)))
    groups = Beside(folder, limits).groups({log.time for log in logs if log.program == lm_eval.PROGRAM})
    return Listing(logs, tuple(older), groups, notes)


def _names(folder: Path, limits: Limits) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    limits.check(folder, "log_files", len(names))
    return names


def _folders(folder: Path, limits: Limits) -> Iterable[Path]:
    return [
        folder / name
        for name in _names(folder, limits)
        if (folder / name).is_dir() and not (folder / name).is_symlink()
    ]


def _candidates(folder: Path, limits: Limits) -> Iterable[str]:
    """The names that logs may have; results are none."""
    return [
        name
        for name in _names(folder, limits)
        if name.removesuffix(".gz").endswith(_ENDINGS) and not name.startswith("results") and (folder / name).is_file()
    ]


def _logs(folder: Path, limits: Limits) -> list[Found]:
    names = list(_candidates(folder, limits))
    files.strayed(folder, names)
    logs, beside = [], Beside(folder, limits)
    for name in names:
        path = folder / name
        program = program_of(path, limits)
        if program == lm_eval.PROGRAM:
            results = results_of(path, beside)
            logs.append(Found(path, program, results.model, results.task, task_and_time(path)[1]))
        elif program == inspect_ai.PROGRAM:
            header = inspect_samples.header_of(path, limits)
            stamp = _STAMP.match(name)
            logs.append(Found(path, program, header.model, header.task, header.created or (stamp[0] if stamp else "")))
    return logs
