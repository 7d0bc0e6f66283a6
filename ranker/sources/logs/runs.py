"""Several runs of one model on one task: choose among them, or average them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ranker.errors import Absence, Assumption, DataError, UsageError, listed
from ranker.sources.logs.base import FoundLog, TaskLog
from ranker.sources.logs.labels import no_labels
from ranker.sources.usage import mean_over
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER

SHOWN = 40
"""Most characters of an argument that are shown; longer ones are elided."""


def find_run(runs: Sequence[FoundLog], run: str, place: Path) -> FoundLog:
    """Find the run that ``@RUN`` names: by its number, from 1, the oldest, by an argument, `seed=2`, or by its time.

    Raises:
        UsageError: none has that name, or several.
    """
    if run.isdecimal() and 0 < int(run[:9]) <= len(runs):
        return runs[int(run) - 1]
    matches = [log for n, log in enumerate(runs, 1) if run in _differing(runs)[n - 1] or _time(log).startswith(run)]
    if run and len(matches) == 1:
        return matches[0]
    problem = "several runs are" if matches else "no run is"
    raise UsageError.at(place, f"{problem} called @{run}; there are {'; '.join(describe_runs(runs))}", value=run)


def describe_runs(runs: Sequence[FoundLog]) -> Iterator[str]:
    """Describe each run by its number, its time, and the arguments in which runs differ."""
    for n, (log, arguments) in enumerate(zip(runs, _differing(runs), strict=True), 1):
        yield f"@{n} {', '.join([_time(log) or log.path.name, *arguments])}"


def have_same_arguments(runs: Sequence[FoundLog]) -> bool:
    """Return True if runs have the same arguments, as far as stated."""
    return not any(_differing(runs))


def newest_run_notes(runs: Sequence[FoundLog], newest: FoundLog) -> Iterator[str]:
    """Report the run that is read, and those that are not, with the reason."""
    unread = [log for log in runs if log is not newest]
    cut = {log.path.name: log.trouble for log in unread if log.trouble}
    if unread:
        subject = f"{newest.task or newest.path.name}: of {len(runs)} runs of {newest.model or 'the model'}"
        not_read = listed(
            [f"{log.path.name} ({cut[log.path.name]})" if log.trouble else log.path.name for log in unread]
        )
        yield Assumption(f"{subject} the newest complete one, {newest.path.name}, is read, not {not_read}.")


def partial_run_notes(runs: Sequence[FoundLog]) -> Iterator[str]:
    """Report the runs that are left out as incomplete."""
    for log in runs:
        if log.trouble:
            yield Assumption(f"{log.task or log.path.name}: {log.path.name} is not read: {log.trouble}.")


def average_runs(logs: Sequence[TaskLog], names: Sequence[str]) -> TaskLog:
    """Average several runs: each row has the mean of the runs that score it, and no label.

    Args:
        logs: of one model and task, the newest last.

    Raises:
        DataError: their metrics differ, or their right answers to a row.
    """
    first = logs[0]
    for log, name in zip(logs, names, strict=True):
        if log.metric != first.metric:
            raise DataError(
                f"{names[0]} is judged by {first.metric} and {name} by {log.metric}: no mean is made of these",
                option="runs",
                value=log.metric,
                allowed=[first.metric],
            )
    keys = tuple(dict.fromkeys(key for log in logs for key in log.keys))
    positions = [{key: n for n, key in enumerate(log.keys)} for log in logs]
    of_keys = [np.array([place.get(key, -1) for key in keys]) for place in positions]
    rows = [[(log, place[key]) for log, place in zip(logs, positions, strict=True) if key in place] for key in keys]
    for key, entries in zip(keys, rows, strict=True):
        if len({log.target_hashes[n] for log, n in entries} - {""}) > 1:
            raise DataError(f"{listed(names)} differ on the right answer to the row {key[:50]!r}", value=key)
    values = [np.array([log.outcomes[n] for log, n in entries]) for entries in rows]
    outcomes = np.array([np.nanmean(scores) if not np.isnan(scores).all() else math.nan for scores in values])
    silent = [all(log.state[n] in (NO_ANSWER, ERROR) for log, n in entries) for entries in rows]
    state = np.where(np.isnan(outcomes), ERROR, np.where(silent, NO_ANSWER, ANSWERED))
    prompts = [{log.prompt_hashes[n] for log, n in entries} for entries in rows]
    groups = [next((log.clusters[n] for log, n in entries if log.clusters is not None), "") for entries in rows]
    fewer = sum(len(entries) < len(logs) for entries in rows)
    failed = sum(any(log.state[n] == ERROR for log, n in entries) for entries in rows) - int((state == ERROR).sum())
    of_failed = [Absence(f"{failed} of {len(rows)} rows failed in some runs; the others count.")] if failed else []
    notes = dict.fromkeys(note for log in logs for note in log.notes if not note.startswith("Answers have"))
    partial = [f"{fewer} of {len(rows)} rows are not in all of the {len(logs)} runs."] if fewer else []
    return replace(
        first,
        keys=keys,
        numbered=any(log.numbered for log in logs),
        responses=tuple(entries[0][0].responses[entries[0][1]] for entries in rows),
        references=tuple(entries[0][0].references[entries[0][1]] for entries in rows),
        texts=tuple(entries[0][0].texts[entries[0][1]] for entries in rows),
        target_hashes=tuple(entries[0][0].target_hashes[entries[0][1]] for entries in rows),
        prompt_hashes=tuple(min(hashes) if len(hashes) == 1 else "" for hashes in prompts),
        outcomes=outcomes,
        epochs=sum(log.epochs for log in logs),
        state=state.astype(np.int64),
        measure=replace(first.measure, recorded=None, recomputed=None),
        **no_labels(len(rows))._asdict(),
        clusters=tuple(groups) if all(groups) else None,
        usage=mean_over([log.usage and log.usage.at(stands) for log, stands in zip(logs, of_keys, strict=True)]),
        notes=(f"Each row is the mean of {len(logs)} runs: {listed(names)}.", *partial, *of_failed, *notes),
    )


def _differing(runs: Sequence[FoundLog]) -> list[list[str]]:
    """Return the arguments of each run in which runs differ, as ``name=value``."""
    names = dict.fromkeys(name for log in runs for name in log.arguments)
    differ = [name for name in names if len({log.arguments.get(name) for log in runs}) > 1]
    return [[f"{name}={_value(log.arguments, name)}" for name in differ] for log in runs]


def _value(arguments: Mapping[str, str], name: str) -> str:
    value = arguments.get(name, "").strip('"')
    return value if len(value) <= SHOWN else "..."


def _time(log: FoundLog) -> str:
    return log.time[:19]
