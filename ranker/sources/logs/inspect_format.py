"""Logs of Inspect in files and folders; a `ranker.sources.logs.formats.LogFormat`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ranker.errors import DataError
from ranker.limits import Limits
from ranker.sources.logs import inspect_ai, inspect_samples
from ranker.sources.logs.base import FoundLog, LogSelection, TaskLog

name, program = inspect_ai.PROGRAM, "Inspect"
about = "Inspect: NAME.eval, or NAME.json if its log format is json"
endings: tuple[str, ...] = (".eval", ".json")
options = frozenset({"scorer", "reducer"})
by_text = names_models = True

_STAMP = re.compile(r"\A\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d")


def claims(path: Path, start: bytes, limits: Limits) -> bool:
    """Return True for an archive that ends in .eval, and for JSON with the parts of a log."""
    if start.startswith(inspect_samples.ZIP):
        return path.name.removesuffix(".gz").endswith(".eval")
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    return bare.startswith(b"{") and b'"eval"' in bare and (b'"status"' in bare or b'"plan"' in bare)


def is_named(file: str) -> bool:
    """Return True for the names of its archives."""
    return file.removesuffix(".gz").endswith(".eval")


def task_of(path: Path, limits: Limits) -> str:
    """Return the name of a log's task; "" if it cannot be read."""
    try:
        return inspect_samples.header_of(path, limits).task
    except DataError:
        return ""


def find(folder: Path, names: Sequence[str], limits: Limits) -> tuple[list[FoundLog], list[str]]:
    """List logs, and errors of those that cannot be read."""
    logs, broken = [], []
    for file in names:
        try:
            header = inspect_samples.header_of(folder / file, limits)
        except DataError as error:
            broken.append(str(error))
            continue
        stamp = _STAMP.match(file)
        time = header.created or (stamp[0] if stamp else "")
        logs.append(FoundLog(folder / file, name, header.model, header.task, time, header.arguments))
    return logs, broken


def groups(folder: Path, logs: Sequence[FoundLog], limits: Limits) -> Mapping[str, tuple[str, ...]]:
    """Return {}: tasks are in no group."""
    return {}


def trouble(log: FoundLog, limits: Limits) -> str:
    """Return why a log is incomplete: cut off, or of a run that did not end."""
    try:
        header, samples = inspect_samples.samples_of(log.path, None, limits)
    except DataError as error:
        return str(error).removeprefix(str(log.path)).lstrip(",: ")
    rows = len({sample.key for sample in samples})
    if header.planned is not None and header.planned > rows:
        return f"it holds {rows} of {header.planned} samples"
    return "" if header.complete else "its run did not end well"


def read(path: Path, choice: LogSelection) -> TaskLog:
    """Read a log: see `inspect_ai.read_inspect_log`."""
    return inspect_ai.read_inspect_log(path, choice)
