"""Logs of evaluation programs: read one as a record of arrays, and list those of a folder; no program is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ranker.errors import Assumption, DataError, listed
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files
from ranker.sources.logs.base import FoundLog, TaskLog
from ranker.sources.logs.formats import LogFormat, format_named, formats, is_named, program_of
from ranker.sources.logs.options import LogOptions

_ENDINGS = (".jsonl", ".json", ".eval")
_LISTS = frozenset({"logs.json", "eval-set.json", "listing.json"})
"""Lists of logs that Inspect writes beside the logs of an eval-set or a bundle."""


def read_log(path: Path, choice: LogOptions = LogOptions(), limits: Limits = LIMITS) -> TaskLog:
    """Read a log of any program that is known."""
    program = program_of(path, limits)
    return (_guessed(path) if program is None else format_named(program)).read(path, choice, limits)


def _guessed(path: Path) -> LogFormat:
    """Guess the format from a file's name, so that its reader reports the fault."""
    bare, by_order = path.name.removesuffix(".gz"), formats().values()
    of_name = [form for form in by_order if is_named(form, bare)]
    for form in (*of_name, *(form for form in by_order if bare.endswith(form.endings))):
        return form
    raise DataError.of(path, f"is no log ({'; '.join(form.about for form in by_order)}; these may be gzipped)")


@dataclass(frozen=True)
class Listing:
    """Logs of a folder.

    Attributes:
        logs: newest complete log of each model and task, sorted by these.
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


def holds_logs(folder: Path, limits: Limits = LIMITS) -> bool:
    """Return True if a folder, or a readable one below it, holds a log."""
    places = [folder, *(below for below in _folders(folder, limits) if os.access(below, os.R_OK | os.X_OK))]
    paths, known_formats = (place / name for place in places for name in _candidates(place, limits)), formats().values()
    return any(program_of(path, limits, known_formats) is not None for path in paths)


def list_logs(folder: Path, limits: Limits = LIMITS) -> Listing:
    """List the logs in a folder, or in the one folder below it that holds some.

    Raises:
        DataError: the folder cannot be read, holds no log or too many files, several folders below it hold logs, or a
            file links to one outside of it.
    """
    by_name = formats()
    direct, broken = _logs(folder, limits, by_name)
    if not direct:
        below = [place for place in _folders(folder, limits) if any(True for _ in _candidates(place, limits))]
        inside = [(place, lying) for place in below if (lying := _logs(place, limits, by_name))[0]]
        if len(inside) > 1:
            names = listed([place.name for place, _ in inside])
            raise DataError.of(
                folder, f"holds logs of several models, one folder each: {names}; name these folders", option="models"
            )
        if not inside:
            reason = f": {broken[0]}" if broken else ""
            programs = " or ".join(form.program for form in by_name.values())
            raise DataError.of(folder, f"holds no log of {programs}{reason}")
        folder, (direct, broken) = inside[0]
    runs: dict[tuple[str, str, str], list[FoundLog]] = {}
    for log in sorted(direct, key=lambda log: (log.time, log.path.name)):
        runs.setdefault(log.run_key, []).append(log)
    checked = [
        [replace(log, trouble=_trouble(by_name[log.program], log, limits)) for log in logs] if logs[1:] else logs
        for logs in runs.values()
    ]
    newest = [next((log for log in reversed(same_task) if not log.trouble), same_task[-1]) for same_task in checked]
    older = tuple(log for runs, last in zip(checked, newest, strict=True) for log in runs if log is not last)
    logs = tuple(sorted(newest, key=lambda log: (log.model, log.task)))
    groups = {
        group: tasks
        for form in by_name.values()
        for group, tasks in form.groups(folder, [log for log in logs if log.program == form.name], limits).items()
    }
    notes = tuple(Assumption(f"Unreadable: {reason}.") for reason in broken)
    return Listing(logs, older, groups, notes)


def _trouble(form: LogFormat, log: FoundLog, limits: Limits) -> str:
    try:
        return form.trouble(log, limits)
    except DataError as error:
        return str(error).removeprefix(str(log.path)).lstrip(",: ")


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


def _logs(folder: Path, limits: Limits, by_name: Mapping[str, LogFormat]) -> tuple[list[FoundLog], list[str]]:
    """List the logs of a folder, and errors of files that look like logs but cannot be read."""
    names = list(_candidates(folder, limits))
    files.refuse_outside_links(folder, names)
    by_program: dict[str, list[str]] = {program: [] for program in by_name}
    broken = []
    for name in names:
        program = program_of(folder / name, limits, by_name.values())
        if program is not None:
            by_program[program].append(name)
        elif any(is_named(form, name) for form in by_name.values()):
            broken.append(f"{folder / name} is empty, or no log")
    logs = []
    for program, of_program in by_program.items():
        found_logs, faults = by_name[program].find(folder, of_program, limits)
        logs += found_logs
        broken += faults
    return logs, sorted(broken)
