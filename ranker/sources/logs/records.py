"""Logs of other programs, as records that a package's format yields; see docs/extending.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ranker.errors import DataError, UsageError
from ranker.limits import Limits
from ranker.sources.logs.base import FoundLog, TaskLog, each_log, hashed, number, number_repeats
from ranker.sources.logs.labels import no_labels
from ranker.sources.logs.measures import MetricInfo
from ranker.sources.logs.options import LogOptions
from ranker.tasks.base import ANSWERED, ERROR, NO_ANSWER


@dataclass(frozen=True)
class LogRecord:
    """Row of a log.

    Attributes:
        id: of the row, the same in all logs of the task.
        outcome: value of the metric; None if the answer was not scored.
        text: of the row, such as the question; "" if unknown.
        response: text that the model wrote; "" for none.
        reference: right answer, a text or a list; None if unknown.
        answered: False if the model was asked, and gave no answer.

    Example:
        >>> from ranker import LogRecord
        >>> LogRecord("q1", 0.5, text="What is 2 + 2?", response="Four").answered
        True
    """

    id: str
    outcome: float | None
    text: str = ""
    response: str = ""
    reference: Any = None
    answered: bool = True


@dataclass(frozen=True)
class LogRecords:
    """Log of one model on one task.

    Attributes:
        task, model: their names.
        metric: name of the outcomes' metric.
        records: the rows.
        higher_is_better: False if a lower outcome is better.
        time: of the run: later times are greater.
        complete: False if the run did not end.

    Example:
        >>> from ranker import LogRecord, LogRecords
        >>> log = LogRecords("sums", "model-a", "points", [LogRecord("q1", 1.0), LogRecord("q2", None)])
        >>> [record.id for record in log.records if record.outcome is None]
        ['q2']
    """

    task: str
    model: str
    metric: str
    records: Iterable[LogRecord]
    higher_is_better: bool = True
    time: str = ""
    complete: bool = True


class RecordModule(Protocol):
    """Module, or object, that an entry point of `ranker.sources.logs.formats.GROUP` names."""

    about: str

    def claims(self, path: Path, start: bytes) -> bool:
        """Return True if a file, of which the first 65,536 bytes are given, is a log of the program."""

    def read(self, path: Path) -> LogRecords:
        """Read a log, or raise a ValueError that says what is wrong with it."""


class RecordFormat:
    """Format of logs that a package brings; a `ranker.sources.logs.formats.LogFormat`."""

    file_pattern = ""
    endings: tuple[str, ...] = ()
    options = frozenset[str]()
    by_text = names_models = True

    def __init__(self, name: str, module: RecordModule) -> None:
        self.name = self.program = name
        self.about, self._module = module.about, module

    def claims(self, path: Path, start: bytes, limits: Limits) -> bool:
        """Return True if a file is a log of the program."""
        return bool(self._module.claims(path, start))

    def find(self, folder: Path, names: Sequence[str], limits: Limits) -> tuple[list[FoundLog], list[str]]:
        """List logs, and errors of those that cannot be read."""

        def of_file(path: Path) -> FoundLog:
            log = self._read(path, limits)
            return FoundLog(path, self.name, log.model, log.task, log.time)

        return each_log(folder, names, of_file)

    def groups(self, folder: Path, logs: Sequence[FoundLog], limits: Limits) -> Mapping[str, tuple[str, ...]]:
        """Return {}: tasks are in no group."""
        return {}

    def trouble(self, log: FoundLog, limits: Limits) -> str:
        """Return why a log is incomplete."""
        return "" if self._read(log.path, limits).complete else "its run did not end well"

    def read(self, path: Path, choice: LogOptions, limits: Limits) -> TaskLog:
        """Read a log.

        Raises:
            DataError: it is malformed, holds no row or too much, or another metric is asked for.
        """
        log = self._read(path, limits)
        metric = choice.for_task(log.task).metric
        rows = []
        for count, row in enumerate(log.records, 1):
            limits.check(path, "log_rows", count)
            rows.append(row)
        if not rows:
            raise DataError.of(path, "holds no row")
        if metric not in ("", log.metric):
            raise DataError.of(path, f"has no metric {metric!r}; it has {log.metric}", option="metric")
        values = [None if row.outcome is None else number(row.outcome) for row in rows]
        outcomes = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        if np.isinf(outcomes).any():
            raise DataError.of(
                path, f"has an outcome that is infinite (row {rows[int(np.isinf(outcomes).argmax())].id!r})"
            )
        answered = [ANSWERED if row.answered else NO_ANSWER for row in rows]
        references = ["" if row.reference is None else json.dumps(row.reference, default=str) for row in rows]
        return TaskLog(
            program=self.name,
            task=log.task,
            model=log.model,
            metric=log.metric,
            candidates=(log.metric,),
            measure=MetricInfo(log.metric, log.higher_is_better, certain=True, aggregate="mean"),
            keys=number_repeats(str(row.id) for row in rows),
            responses=tuple(row.response for row in rows),
            references=tuple(row.reference for row in rows),
            texts=tuple(row.text for row in rows),
            target_hashes=tuple(hashed(text) if text else "" for text in references),
            prompt_hashes=("",) * len(rows),
            outcomes=outcomes,
            state=np.where(np.isnan(outcomes), ERROR, answered),
            **no_labels(len(rows))._asdict(),
        )

    def _read(self, path: Path, limits: Limits) -> LogRecords:
        """Return a log as the package reads it, whose faults are the file's."""
        limits.check(path, "log_whole", path.stat().st_size)
        try:
            log = self._module.read(path)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DataError.at(path, f"{type(error).__name__}: {error}") from error
        if not isinstance(log, LogRecords):
            raise UsageError(f"the format {self.name} must read a log as `LogRecords` (got {type(log).__name__})")
        return log
