"""Folders of logs: find the logs, their models and tasks, and choose among several runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ranker.errors import Assumption, DataError, listed
from ranker.files.text import read_start
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files, inspect_ai, inspect_samples, lm_eval, lm_eval_rows
from ranker.sources.logs.results import ResultsFiles, results_of, task_and_time

_LOOK = 1 << 16
_ROW = re.compile(rb'\{\s*"doc_id"\s*:')
_ENDINGS = (".jsonl", ".json", ".eval")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d")
_LISTS = frozenset({"logs.json", "eval-set.json", "listing.json"})
"""Lists of logs that Inspect writes beside the logs of an eval-set or a bundle."""


@dataclass(frozen=True)
class FoundLog:
    """A log in a folder.

    Attributes:
        path: its file.
        program: that wrote it: "lm-eval" or "inspect".
        model: its name; "" if neither the log nor the results beside it state it.
        task: its name.
        time: of the run, as far as its name tells: later times are greater.
        arguments: of the run, by name, as JSON.
        trouble: why the log is incomplete; "" if it is complete, or the only one of its model and task.
    """

    path: Path
    program: str
    model: str
    task: str
    time: str
    arguments: Mapping[str, str] = field(default_factory=dict, compare=False)
    trouble: str = field(default="", compare=False)

    @property
    def run_key(self) -> tuple[str, str, str]:
        """Program, model and task, which several runs share."""
        return self.program, self.model, self.task


@dataclass(frozen=True)
class Listing:
    """Logs of a folder.

    Attributes:
        logs: newest complete log of each model and task, sorted by these.
        older: the other logs.
        groups: group of tasks -> its tasks, as lm-evaluation-harness has them.
        notes: files that cannot be read, in sentences.
    """

    logs: tuple[FoundLog, ...]
    older: tuple[FoundLog, ...]
    groups: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def runs(self, log: FoundLog) -> tuple[FoundLog, ...]:
        """Return all runs of a log's model and task, the oldest first."""
        runs = (run for run in (*self.logs, *self.older) if run.run_key == log.run_key)
        return tuple(sorted(runs, key=lambda run: (run.time, run.path.name)))


def program_of(path: Path, limits: Limits = LIMITS) -> str | None:
    """Detect the program that wrote a file from its content: "lm-eval", "inspect", or None."""
    try:
        start = read_start(path, _LOOK)
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
        line = read_start(path, limits.log_line).split(b"\n", 1)[0]
        if _is_row(line, path, limits):
            return lm_eval.PROGRAM
    except DataError:
        return None
    return inspect_ai.PROGRAM if b'"eval"' in start and (b'"status"' in start or b'"plan"' in start) else None


def task_of(path: Path, limits: Limits = LIMITS) -> str:
    """Return the name of a log's task; "" if it cannot be read."""
    if program_of(path, limits) == lm_eval.PROGRAM:
        return results_of(path, limits=limits).task
    try:
        return inspect_samples.header_of(path, limits).task
    except DataError:
        return ""


def _is_row(line: bytes, path: Path, limits: Limits) -> bool:
    """Return True if a line is a row of lm-evaluation-harness whose keys are in another order than the program's."""
    if b'"doc"' not in line or b'resps"' not in line:
        return False
    try:
        content = files.parse(line, path, files.Budget(limits))
    except DataError:
        return False
    return isinstance(content, dict) and "doc" in content


def holds_logs(folder: Path, limits: Limits = LIMITS) -> bool:
    """Return True if a folder, or a readable one below it, holds a log.

    Raises:
        DataError: the folder cannot be read, or one of them holds too many files.
    """
    places = [folder, *(below for below in _folders(folder, limits) if os.access(below, os.R_OK | os.X_OK))]
    return any(program_of(place / name, limits) is not None for place in places for name in _candidates(place, limits))


def list_logs(folder: Path, limits: Limits = LIMITS) -> Listing:
    """List the logs in a folder, or in the one folder below it that holds some.

    Raises:
        DataError: the folder cannot be read, holds no log or too many files, several folders below it hold logs, or a
            file links to one outside of it.
    """
    direct, broken = _logs(folder, limits)
    if not direct:
        below = [place for place in _folders(folder, limits) if any(True for _ in _candidates(place, limits))]
        inside = [(place, lying) for place in below if (lying := _logs(place, limits))[0]]
        if len(inside) > 1:
            names = listed([place.name for place, _ in inside])
            raise DataError.of(
                folder, f"holds logs of several models, one folder each: {names}; name these folders", option="models"
            )
        if not inside:
            reason = f": {broken[0]}" if broken else ""
            raise DataError.of(folder, f"holds no log of lm-evaluation-harness or Inspect{reason}")
        folder, (direct, broken) = inside[0]
    runs: dict[tuple[str, str, str], list[FoundLog]] = {}
    for log in sorted(direct, key=lambda log: (log.time, log.path.name)):
        runs.setdefault(log.run_key, []).append(log)
    checked = [
        [replace(log, trouble=_trouble(log, limits)) for log in same_task] if len(same_task) > 1 else same_task
        for same_task in runs.values()
    ]
    newest = [next((log for log in reversed(same_task) if not log.trouble), same_task[-1]) for same_task in checked]
    older = tuple(log for runs, last in zip(checked, newest, strict=True) for log in runs if log is not last)
    logs = tuple(sorted(newest, key=lambda log: (log.model, log.task)))
    groups = ResultsFiles(folder, limits).groups({log.time for log in logs if log.program == lm_eval.PROGRAM})
    notes = tuple(Assumption(f"Unreadable: {reason}.") for reason in broken)
    return Listing(logs, older, groups, notes)


def _trouble(log: FoundLog, limits: Limits) -> str:
    """Describe why a log is incomplete: cut off, empty, or of a run that did not end."""
    try:
        if log.program == lm_eval.PROGRAM:
            docs = {row.doc for row in lm_eval_rows.rows_of(log.path, None, limits)}
            rows = results_of(log.path, limits=limits).rows
            return f"it holds {len(docs)} of {rows} rows" if rows is not None and rows > len(docs) else ""
        header, samples = inspect_samples.samples_of(log.path, None, limits)
    except DataError as error:
        return str(error).removeprefix(str(log.path)).lstrip(",: ")
    rows = len({sample.key for sample in samples})
    if header.planned is not None and header.planned > rows:
        return f"it holds {rows} of {header.planned} samples"
    return "" if header.complete else "its run did not end well"


def _names(folder: Path, limits: Limits) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError) as error:
        raise DataError.unreadable(folder, error) from error
    limits.check(folder, "log_files", len(names))
    return names


def _folders(folder: Path, limits: Limits) -> Iterable[Path]:
    return [
        folder / name
        for name in _names(folder, limits)
        if (folder / name).is_dir() and not (folder / name).is_symlink()
    ]


def _candidates(folder: Path, limits: Limits) -> Iterable[str]:
    """List the names that logs may have; results files are excluded."""
    return [
        name
        for name in _names(folder, limits)
        if name.removesuffix(".gz").endswith(_ENDINGS)
        and not name.startswith("results")
        and name not in _LISTS
        and (folder / name).is_file()
    ]


def _logs(folder: Path, limits: Limits) -> tuple[list[FoundLog], list[str]]:
    """List the logs of a folder, and errors of files that look like logs but cannot be read."""
    names = list(_candidates(folder, limits))
    files.refuse_outside_links(folder, names)
    logs, broken, beside = [], [], ResultsFiles(folder, limits)
    for name in names:
        path = folder / name
        program = program_of(path, limits)
        if program == lm_eval.PROGRAM:
            results = results_of(path, beside)
            time = task_and_time(path)[1]
            logs.append(FoundLog(path, program, results.model, results.task, time, results.arguments))
        elif program == inspect_ai.PROGRAM:
            try:
                header = inspect_samples.header_of(path, limits)
            except DataError as error:
                broken.append(str(error))
                continue
            stamp = _STAMP.match(name)
            time = header.created or (stamp[0] if stamp else "")
            logs.append(FoundLog(path, program, header.model, header.task, time, header.arguments))
        elif name.startswith("samples_") or name.removesuffix(".gz").endswith(".eval"):
            broken.append(f"{path} is empty, or no log")
    models = {log.model for log in logs if log.program == lm_eval.PROGRAM} - {""}
    if len(models) == 1:  # a log without results beside it, in a folder of one model
        unnamed = [log.program == lm_eval.PROGRAM and not log.model for log in logs]
        logs = [replace(log, model=min(models)) if no else log for log, no in zip(logs, unnamed, strict=True)]
    return logs, broken
