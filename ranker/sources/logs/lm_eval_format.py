"""Logs of lm-evaluation-harness in files and folders; a `ranker.sources.logs.formats.LogFormat`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ranker.errors import DataError
from ranker.files.text import read_start
from ranker.limits import Limits
from ranker.sources.logs import files, inspect_samples, lm_eval, lm_eval_rows
from ranker.sources.logs.base import FoundLog, LogSelection, TaskLog
from ranker.sources.logs.results import ResultsFiles, results_of, task_and_time

name, program = lm_eval.PROGRAM, "lm-evaluation-harness"
about = "lm-evaluation-harness with log_samples: samples_TASK_TIME.jsonl, beside results_TIME.json"
endings: tuple[str, ...] = (".jsonl",)
options = frozenset({"filter"})
by_text = names_models = False

_ROW = re.compile(rb'\{\s*"doc_id"\s*:')


def claims(path: Path, start: bytes, limits: Limits) -> bool:
    """Return True if the first row is one of the program's, in whatever order its keys are."""
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(inspect_samples.ZIP):
        return False
    if _ROW.match(bare.removeprefix(b"[").lstrip()):
        return True
    if bare.startswith(b"["):
        return b'"doc"' in bare and b'resps"' in bare
    return bare.startswith(b"{") and _is_row(read_start(path, limits.log_line).split(b"\n", 1)[0], path, limits)


def _is_row(line: bytes, path: Path, limits: Limits) -> bool:
    if b'"doc"' not in line or b'resps"' not in line:
        return False
    try:
        content = files.parse(line, path, files.Budget(limits))
    except DataError:
        return False
    return isinstance(content, dict) and "doc" in content


def is_named(file: str) -> bool:
    """Return True for the names of its files."""
    return file.startswith("samples_")


def task_of(path: Path, limits: Limits) -> str:
    """Return the name of a log's task."""
    return results_of(path, limits=limits).task


def find(folder: Path, names: Sequence[str], limits: Limits) -> tuple[list[FoundLog], list[str]]:
    """List logs; one without results beside it, in a folder of one model, is of that model."""
    logs, beside = [], ResultsFiles(folder, limits)
    for file in names:
        path = folder / file
        results = results_of(path, beside)
        logs.append(FoundLog(path, name, results.model, results.task, task_and_time(path)[1], results.arguments))
    models = {log.model for log in logs} - {""}
    return [replace(log, model=log.model or min(models)) if len(models) == 1 else log for log in logs], []


def groups(folder: Path, logs: Sequence[FoundLog], limits: Limits) -> Mapping[str, tuple[str, ...]]:
    """Return group of tasks -> its tasks."""
    return ResultsFiles(folder, limits).groups({log.time for log in logs})


def trouble(log: FoundLog, limits: Limits) -> str:
    """Return why a log is incomplete: it has fewer rows than the results state."""
    try:
        docs = {row.doc for row in lm_eval_rows.rows_of(log.path, None, limits)}
    except DataError as error:
        return str(error).removeprefix(str(log.path)).lstrip(",: ")
    rows = results_of(log.path, limits=limits).rows
    return f"it holds {len(docs)} of {rows} rows" if rows is not None and rows > len(docs) else ""


def read(path: Path, choice: LogSelection) -> TaskLog:
    """Read a log: see `lm_eval.read_lm_eval_log`."""
    return lm_eval.read_lm_eval_log(path, choice)
