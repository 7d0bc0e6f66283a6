"""Several runs of one model on one task: which of them is meant, and what they come to on average."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ranker.errors import Assumption, DataError, UsageError, listed
from ranker.sources.logs.base import TaskLog
from ranker.sources.logs.folders import FoundLog
from ranker.sources.logs.labels import unlabelled
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER

SHOWN = 40
"""Characters of an argument that is shown; of a longer one its name alone is."""


def numbered_run(runs: Sequence[FoundLog], run: str, place: Path) -> FoundLog:
    """The run that ``@RUN`` names: by its number, from 1, the oldest, by an argument, `seed=2`, or by its time.

    Raises:
        UsageError: none is named so, or several.
    """
    if run.isdecimal() and 0 < int(run[:9]) <= len(runs):
        return runs[int(run) - 1]
    found = [log for n, log in enumerate(runs, 1) if run in _differing(runs)[n - 1] or _time(log).startswith(run)]
    if run and len(found) == 1:
        return found[0]
    what = "several runs are" if found else "no run is"
    raise UsageError(f"{place}: {what} called @{run}; there are {'; '.join(describe_runs(runs))}")


def describe_runs(runs: Sequence[FoundLog]) -> Iterator[str]:
    """Each run by its number, its time, and those of its arguments that another run has otherwise."""
    for n, (log, arguments) in enumerate(zip(runs, _differing(runs), strict=True), 1):
        yield f"@{n} {', '.join([_time(log) or log.path.name, *arguments])}"


def alike(runs: Sequence[FoundLog]) -> bool:
    """Whether runs were made with the same arguments, as far as they say."""
    return not any(_differing(runs))


def read_of(runs: Sequence[FoundLog], newest: FoundLog) -> Iterator[str]:
    """Which of several runs is read, and which are not, and why."""
    others = [log for log in runs if log is not newest]
    cut = {log.path.name: log.trouble for log in others if log.trouble}
    if others:
        of = f"{newest.task or newest.path.name}: of {len(runs)} runs of {newest.model or 'the model'}"
        not_read = listed(
            [f"{log.path.name} ({cut[log.path.name]})" if log.trouble else log.path.name for log in others]
        )
        yield Assumption(f"{of} {newest.path.name} is read, the newest that is whole, and not {not_read}.")


def not_whole(runs: Sequence[FoundLog]) -> Iterator[str]:
    """Which runs are left out, since they are not whole."""
    for log in runs:
        if log.trouble:
            yield Assumption(f"{log.task or log.path.name}: {log.path.name} is not read: {log.trouble}.")


def averaged(logs: Sequence[TaskLog], names: Sequence[str]) -> TaskLog:
    """What several runs come to: of each row the mean of the runs that have a score of it; no labels.

    Args:
        logs: of one model and task, the newest last.
        names: what they are called, for messages.

    Raises:
        DataError: they are judged by different metrics, or differ on the right answer to a row.
    """
    first = logs[0]
    for log, name in zip(logs, names, strict=True):
        if log.metric != first.metric:
            raise DataError(
                f"{names[0]} is judged by {first.metric} and {name} by {log.metric}: no mean is made of these"
            )
    keys = tuple(dict.fromkeys(key for log in logs for key in log.keys))
    at = [{key: n for n, key in enumerate(log.keys)} for log in logs]
    rows = [[(log, place[key]) for log, place in zip(logs, at, strict=True) if key in place] for key in keys]
    for key, of in zip(keys, rows, strict=True):
        if len({log.target_hashes[n] for log, n in of} - {""}) > 1:
            raise DataError(f"{listed(names)} differ on the right answer to the row {key[:50]!r}")
    values = [np.array([log.outcomes[n] for log, n in of]) for of in rows]
    outcomes = np.array([np.nanmean(found) if not np.isnan(found).all() else math.nan for found in values])
    silent = [all(log.state[n] in (NO_ANSWER, ERROR) for log, n in of) for of in rows]
    state = np.where(np.isnan(outcomes), ERROR, np.where(silent, NO_ANSWER, ANSWERED))
    groups = [next((log.clusters[n] for log, n in of if log.clusters is not None), "") for of in rows]
    fewer = sum(len(of) < len(logs) for of in rows)
    notes = dict.fromkeys(note for log in logs for note in log.notes if not note.startswith("Answers have"))
    some = [f"{fewer} of {len(rows)} rows are not in all of the {len(logs)} runs."] if fewer else []
    return replace(
        first,
        keys=keys,
        numbered=any(log.numbered for log in logs),
        texts=tuple(of[0][0].texts[of[0][1]] for of in rows),
        target_hashes=tuple(of[0][0].target_hashes[of[0][1]] for of in rows),
        prompt_hashes=tuple(_common({log.prompt_hashes[n] for log, n in of}) for of in rows),
        outcomes=outcomes,
        counts=np.array([sum(int(log.counts[n]) for log, n in of) for of in rows], dtype=np.int64),
        epochs=sum(log.epochs for log in logs),
        state=state.astype(np.int64),
        measure=replace(first.measure, recorded=None, recomputed=None),
        **unlabelled(len(rows))._asdict(),
        clusters=tuple(groups) if all(groups) else None,
        notes=(f"Each row is the mean of {len(logs)} runs: {listed(names)}.", *some, *notes),
    )


def _common(hashes: set[str]) -> str:
    return next(iter(hashes)) if len(hashes) == 1 else ""


def _differing(runs: Sequence[FoundLog]) -> list[list[str]]:
    """Of each run the arguments that another one has otherwise, as ``name=value``."""
    names = dict.fromkeys(name for log in runs for name in log.arguments)
    differ = [name for name in names if len({log.arguments.get(name) for log in runs}) > 1]
    return [[f"{name}={_value(log.arguments, name)}" for name in differ] for log in runs]


def _value(arguments: Mapping[str, str], name: str) -> str:
    value = arguments.get(name, "").strip('"')
    return value if len(value) <= SHOWN else "..."


def _time(log: FoundLog) -> str:
    return log.time[:19]
