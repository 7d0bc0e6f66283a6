"""Logs of lm-evaluation-harness and Inspect as a kind of source: what was answered elsewhere, and how it was judged.

A log brings its own rows, and the metric that it records is the outcome: it is what users of these programs quote.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from factors.types import Example, Floats
from ranker.errors import DataError, ModelError, UsageError, listed
from ranker.limits import Limits
from ranker.sources.base import Brought, Machine, Predictor, Shelf, Source, SourceOptions, Stated, Tasks
from ranker.sources.references import Reference
from ranker.tasks.base import ERROR, NO_ANSWER
from ranker.tasks.classes import Classes, of_classes
from ranker.tasks.given import GivenTask, Scores

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.sources.logs.base import Choice, Logged
    from ranker.sources.logs.folders import Found, Listing
    from ranker.tasks.base import Task

OF_TABLES = ("label_map", "prediction", "truth", "answers")
"""The fields of `SourceOptions` that say nothing of a log."""

_LOG, _LISTING = "log at", "logs in"
"""Where on a shelf a log is that was read, and what lies in a folder."""


@dataclass(frozen=True)
class LogModel:
    """What one log says of one model on one task: a `Source`.

    Attributes:
        name: as it stands in tables.
        path: the file.
        options: what is said of the run's references.
        family: "" where it is not known.
    """

    name: str
    path: str
    options: SourceOptions = SourceOptions()
    family: str = ""

    @property
    def place(self) -> str:
        """The file."""
        return self.path

    @property
    def short(self) -> str:
        """What tells its file from the others in its folder: the task."""
        from ranker.sources.logs.results import task_and_time

        path = Path(self.path)
        return task_and_time(path)[0] or path.name.partition(".")[0]

    @property
    def shares(self) -> str:
        """Logs share nothing."""
        return ""

    @property
    def at_hand(self) -> bool:
        """The answers lie in the file."""
        return True

    def look(self, shelf: Shelf) -> Stated:
        """Its labels and rows. See `Source.look`."""
        pinned = replace(self, path=os.path.abspath(self.path))
        try:
            found = pinned.logged(shelf)
            scaled(found, self.options)
            rows = _brought(found)
        except (DataError, UsageError) as error:
            return Stated(pinned, trouble=str(error))
        of_others = ("scorer", "reducer") if found.program == "lm-eval" else ("filter",)
        idle = self.options.given((*OF_TABLES, *of_others))
        return Stated(
            pinned, found.labels, unused=idle, rows=rows, notes=(*found.notes, *_shown_as(found, self.options))
        )

    def identity(self, task: Task, machine: Machine, shelf: Shelf) -> Mapping[str, Any]:
        """The hash of the file, and what of it is read. See `Source.identity`."""
        try:
            with open(self.path, "rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(f"{self.path} cannot be read: {error.strerror}") from error
        return {"content": content, "metric": task.metric}

    def open(self, task: Task, machine: Machine, shelf: Shelf) -> Predictor:
        """What gives its answers. See `Source.open`."""
        return LogAnswers(self, task, shelf)

    def logged(self, shelf: Shelf) -> Logged:
        """What the log says; it is read once."""
        from ranker.sources.logs import read

        key = (_LOG, self.path, self.options)
        if key not in shelf:
            shelf[key] = read(Path(self.path), choice_of(self.options))
        return cast("Logged", shelf[key])


@dataclass(frozen=True)
class LogAnswers:
    """The answers that a log holds: a `Predictor`."""

    source: LogModel
    task: Task
    shelf: Shelf

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[Classes | Scores]:
        """Its answers to examples, judged by the log or, where rows have labels of their own, by these.

        See `Predictor.predict`.
        """
        from ranker.sources.logs import answers

        try:
            found = self.source.logged(self.shelf)
            at = answers.places(found, examples)
            if isinstance(self.task, GivenTask):
                said: Classes | Scores = answers.judged(found, scaled(found, self.source.options), at, self.task)
            else:
                said = answers.labelled(found, at, of_classes(self.task, self.name))
        except (DataError, UsageError) as error:
            raise ModelError(f"{self.name}: {error}") from error
        if self.source.options.errors_are_wrong:
            said = replace(said, state=np.where(said.state == ERROR, NO_ANSWER, said.state))
        yield said
        advance(len(examples))


def scaled(found: Logged, options: SourceOptions) -> Floats:
    """(N,) outcomes in [0, 1], more being better.

    Raises:
        DataError: they are not in [0, 1], and nothing says how to scale them.
    """
    low, high = _scale(found, options)
    values = (found.outcomes - low) / (high - low)
    known = values[~np.isnan(values)]
    if len(known) and (known.min() < -1e-9 or known.max() > 1 + 1e-9):
        worst = found.outcomes[~np.isnan(values)]
        raise DataError(
            f"{found.task}: {found.metric} is between {worst.min():g} and {worst.max():g}; say with `range` what "
            "is worst and best"
        )
    values = np.clip(values, 0.0, 1.0)
    return values if _more_is_better(found, options) else 1 - values


def _scale(found: Logged, options: SourceOptions) -> tuple[float, float]:
    """The lowest and the highest that a row can hold."""
    return options.scale or found.measure.scale or (0.0, 1.0)


def _more_is_better(found: Logged, options: SourceOptions) -> bool:
    """Whether more of what a row holds is better.

    Raises:
        DataError: it is, by what the metric is, and somebody says that it is not.
    """
    more = found.measure.higher_is_better
    if options.lower_is_better and more and found.measure.certain:
        holds = f" (a row holds {found.measure.holds})" if found.measure.holds else ""
        raise DataError(f"{found.task}: more of {found.metric} is better{holds}; leave `lower_is_better` out")
    return not options.lower_is_better and more is not False


def _shown_as(found: Logged, options: SourceOptions) -> Iterator[str]:
    """What an outcome is, where it is not the recorded value itself; and whose word counts for the direction."""
    worst, best = _scale(found, options) if _more_is_better(found, options) else _scale(found, options)[::-1]
    if (worst, best) != (0.0, 1.0):
        yield f"{found.metric} is shown as the part of the way from {worst:g}, the worst, to {best:g}, the best."
    if options.lower_is_better and found.measure.higher_is_better:
        yield f"The log says that more of {found.metric} is better, and `lower_is_better` that less is: less is."


def _brought(found: Logged) -> Brought:
    """The rows of a log."""
    groups = found.clusters or ("",) * len(found)
    rows = zip(found.keys, found.texts, found.truth.tolist(), groups, strict=True)
    examples = tuple(Example(key, (text,), label, group=group) for key, text, label, group in rows)
    texts = found.texts if found.numbered else ("",) * len(found)
    checks = tuple(f"{target}{text}" for target, text in zip(found.target_hashes, texts, strict=True))
    word = "_".join(found.metric.replace(",", " ").split())  # it names a column
    return Brought(GivenTask(found.task, word, found.labels), examples, checks, found.prompt_hashes)


def choice_of(options: SourceOptions) -> Choice:
    """What options say of logs."""
    from ranker.sources.logs.base import Choice

    return Choice(
        metric=options.metric or None,
        filter=options.filter or None,
        scorer=options.scorer or None,
        reducer=options.reducer or None,
        cluster=options.cluster or None,
        limits=options.limits,
    )


def claims(reference: Reference, options: SourceOptions) -> bool:
    """Whether a reference is a log by what is in it, or a folder that holds some and no model.

    Raises:
        DataError: the folder holds more files than are read.
    """
    from ranker.sources.logs.folders import holds_logs, program_of

    path = Path(reference.place)
    if os.path.isfile(path):
        return program_of(path, options.limits) is not None
    return os.path.isdir(path) and not os.path.exists(path / "config.json") and holds_logs(path, options.limits)


def tasks(reference: Reference, options: SourceOptions, shelf: Shelf) -> Tasks:
    """The tasks of a folder of logs: see `ranker.sources.kinds.Kind`."""
    path = Path(reference.place)
    if not path.is_dir():
        return Tasks()
    try:
        found = _listing(path, shelf, options.limits)
    except DataError:
        return Tasks()
    of: dict[str, tuple[str, ...]] = {}
    for log in found.logs:
        of[_name_in_folder(log)] = (*of.get(_name_in_folder(log), ()), log.task)
    return Tasks(of, found.groups)


def sources(reference: Reference, options: SourceOptions, shelf: Shelf) -> list[LogModel]:
    """The log that a reference names; of a folder that of the task `#PART`, or of its only task.

    Raises:
        UsageError: the folder holds logs of several tasks, or none of that name.
    """
    path = Path(reference.place)
    if not path.is_dir():
        return [LogModel(_name(path), str(path), options)]
    found = _listing(path, shelf, options.limits).logs
    named = [log for log in found if reference.part in ("", log.task)]
    tasks = dict.fromkeys(log.task for log in found)
    if len({log.task for log in named}) != 1:
        raise UsageError(f"{path} holds logs of several tasks: {listed(tasks)}; name one, {path}#{next(iter(tasks))}")
    return [LogModel(_name_in_folder(log), str(log.path), options) for log in named]


def _listing(folder: Path, shelf: Shelf, limits: Limits) -> Listing:
    """What lies in a folder; it is gone through once."""
    from ranker.sources.logs.folders import listing

    key = (_LISTING, os.path.abspath(folder), limits)
    if key not in shelf:
        shelf[key] = listing(folder, limits)
    return cast("Listing", shelf[key])


def _name_in_folder(log: Found) -> str:
    """What a log of a folder is called: Inspect keeps the logs of several models there.

    Before 0.4.3 lm-evaluation-harness called a log after the model and the task.
    """
    return log.model if log.program == "inspect" and log.model else _name(log.path).removesuffix(f"_{log.task}")


def _name(path: Path) -> str:
    """What a log is called: by the folder that it lies in, which lm-evaluation-harness names after the model."""
    bare = path.name.removesuffix(".gz")
    return path.resolve().parent.name if bare.startswith("samples_") else Path(bare).stem


if TYPE_CHECKING:
    _can: type[Source] = LogModel  # checked by mypy
