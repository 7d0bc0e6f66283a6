"""Logs of lm-evaluation-harness and Inspect as a kind of source: what was answered elsewhere, and how it was judged.

A log brings its own rows, and the metric that it records is the outcome: it is what users of these programs quote.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from factors.types import Example, Floats
from ranker.errors import DataError, ModelError, UsageError, listed
from ranker.limits import Limits
from ranker.sources.base import (
    BundledRows,
    Machine,
    ModelInfo,
    Predictor,
    ResourceCache,
    Source,
    SourceOptions,
    TasksOfPlace,
)
from ranker.sources.logs.options import LogOptions
from ranker.sources.options import non_defaults
from ranker.sources.references import Reference
from ranker.tasks.base import ERROR, NO_ANSWER
from ranker.tasks.classes import has_labels, require_labels
from ranker.tasks.metrics import is_metric
from ranker.tasks.precomputed import PrecomputedTask

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.sources.logs.base import LogSelection, TaskLog
    from ranker.sources.logs.folders import FoundLog, Listing
    from ranker.tasks.base import Predictions, Task

Options = LogOptions
"""What may be said of logs."""

PROGRAM = {"filter": "lm-eval", "scorer": "inspect", "reducer": "inspect"}
"""Option -> the program whose logs alone it concerns."""

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
        more: files of other runs, the mean of which and of this one is meant.
        beside: what is to be known of other files in its folder, in sentences.
    """

    name: str
    path: str
    options: SourceOptions = SourceOptions()
    family: str = ""
    more: tuple[str, ...] = ()
    beside: tuple[str, ...] = field(default=(), compare=False)

    @property
    def place(self) -> str:
        """The file."""
        return self.path

    @property
    def log_options(self) -> LogOptions:
        """What is said of logs."""
        return self.options.of(LogOptions)

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
    def precomputed(self) -> bool:
        """The answers lie in the file."""
        return True

    def inspect(self, shelf: ResourceCache) -> ModelInfo:
        """Its labels and rows. See `Source.inspect`."""
        pinned = replace(self, path=os.path.abspath(self.path), more=tuple(map(os.path.abspath, self.more)))
        try:
            found = pinned.logged(shelf)
            scaled(found, self.log_options)
            rows = _brought(found)
        except (DataError, UsageError) as error:
            return ModelInfo(pinned, trouble=str(error))
        of_other = {
            name for name in non_defaults(self.log_options) if PROGRAM.get(name, found.program) != found.program
        }
        label_map = {"label_map"} if self.options.label_map else set()
        asked = of_task(self.log_options.metric, found.task)
        recorded = any(asked in name.split(".") for name in found.candidates)
        unused = self.options.of_others(LogOptions) | of_other | label_map
        notes = (*self.beside, *found.notes, *_shown_as(found, self.log_options))
        written = f"{len(found):,} rows of the task {found.task}, by {found.program} {found.version}".rstrip()
        return ModelInfo(
            pinned,
            found.labels,
            unused=unused,
            rows=rows,
            notes=notes,
            contents=(written,),
            metric=asked if is_metric(asked) and not recorded else "",
        )

    def identity(self, task: Task, machine: Machine, shelf: ResourceCache) -> Mapping[str, Any]:
        """The hash of the file, and what of it is read. See `Source.identity`."""
        digests = []
        for path in (self.path, *self.more):
            try:
                with open(path, "rb") as file:
                    digests.append(hashlib.file_digest(file, "sha256").hexdigest())
            except OSError as error:
                raise ModelError(f"{path} cannot be read: {error.strerror}") from error
        return {"content": "+".join(digests), "metric": task.metric}

    def open(self, task: Task, machine: Machine, shelf: ResourceCache) -> Predictor:
        """What gives its answers. See `Source.open`."""
        return LogAnswers(self, task, shelf)

    def logged(self, shelf: ResourceCache) -> TaskLog:
        """What the log says, or several runs on average; it is read once."""
        from ranker.sources.logs.reading import read_log
        from ranker.sources.logs.runs import averaged

        key, paths = (_LOG, self.path, self.more, self.options), [Path(path) for path in (self.path, *self.more)]
        if key not in shelf:
            logs = [read_log(path, choice_of(self.options, path)) for path in paths]
            shelf[key] = averaged(logs, [path.name for path in paths]) if self.more else logs[0]
        return cast("TaskLog", shelf[key])


@dataclass(frozen=True)
class LogAnswers:
    """The answers that a log holds: a `Predictor`."""

    source: LogModel
    task: Task
    shelf: ResourceCache

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[Predictions]:
        """Its answers to examples, judged by the log or, where rows have labels of their own, by these.

        See `Predictor.predict`.
        """
        from ranker.sources.logs import answers

        try:
            found = self.source.logged(self.shelf)
            at = answers.places(found, examples)
            if not has_labels(self.task):
                said: Predictions = answers.read_scores(found, scaled(found, self.source.log_options), at, self.task)
            else:
                said = answers.read_labels(found, at, require_labels(self.task, self.name))
        except (DataError, UsageError) as error:
            raise ModelError(f"{self.name}: {error}") from error
        if self.source.log_options.errors == "wrong":
            state = np.where(said.state == ERROR, NO_ANSWER, said.state)
            said = type(said).of_columns({**said.columns(), "state": state})
        yield said
        advance(len(examples))


def scaled(found: TaskLog, options: LogOptions) -> Floats:
    """(N,) outcomes in [0, 1], more being better.

    Raises:
        DataError: they are not in [0, 1], and nothing says how to scale them.
    """
    low, high = _scale(found, options)
    values = (found.outcomes - low) / (high - low)
    known = values[~np.isnan(values)]
    if len(known) and (known.min() < -1e-9 or known.max() > 1 + 1e-9):
        worst = found.outcomes[~np.isnan(values)]
        holds, hint = found.measure.holds, ""
        if holds and worst.max() <= 0:  # of a log-likelihood nothing is above 0
            hint = f", such as {math.floor(worst.min())} 0: a row holds {holds}"
        raise DataError(
            f"{found.task}: {found.metric} is between {worst.min():g} and {worst.max():g}; say with `range` what "
            f"is worst and best{hint}"
        )
    values = np.clip(values, 0.0, 1.0)
    return values if _more_is_better(found, options) else 1 - values


def _scale(found: TaskLog, options: LogOptions) -> tuple[float, float]:
    """The lowest and the highest that a row can hold."""
    return options.scale or found.measure.scale or (0.0, 1.0)


def _more_is_better(found: TaskLog, options: LogOptions) -> bool:
    """Whether more of what a row holds is better.

    Raises:
        DataError: it is, by what the metric is, and somebody says that it is not.
    """
    more = found.measure.higher_is_better
    if options.lower_is_better and more and found.measure.certain:
        holds = f" (a row holds {found.measure.holds})" if found.measure.holds else ""
        raise DataError(f"{found.task}: more of {found.metric} is better{holds}; leave `lower_is_better` out")
    return not options.lower_is_better and more is not False


def _shown_as(found: TaskLog, options: LogOptions) -> Iterator[str]:
    """What an outcome is, where it is not the recorded value itself; and whose word counts for the direction."""
    worst, best = _scale(found, options) if _more_is_better(found, options) else _scale(found, options)[::-1]
    if (worst, best) != (0.0, 1.0):
        yield f"{found.metric} is shown as the part of the way from {worst:g}, the worst, to {best:g}, the best."
    if options.lower_is_better and found.measure.higher_is_better:
        yield f"The log says that more of {found.metric} is better, and `lower_is_better` that less is: less is."


def _brought(found: TaskLog) -> BundledRows:
    """The rows of a log."""
    groups = found.clusters or ("",) * len(found)
    targets = (None if label < 0 else label for label in found.truth.tolist())
    rows = zip(found.keys, found.texts, targets, groups, strict=True)
    examples = tuple(Example(key, (text,), target, group=group) for key, text, target, group in rows)
    questions = found.texts if found.program == "inspect" else ()
    word = "_".join(found.metric.replace(",", " ").split())  # it names a column
    task = PrecomputedTask(found.task, word, found.labels)
    return BundledRows(task, examples, found.target_hashes, questions, found.numbered, found.prompt_hashes)


def of_task(said: str, task: str) -> str:
    """What is said of one task: "" where that is nothing.

    Example:
        >>> [of_task("acc,sst2=f1", "sst2"), of_task("acc,sst2=f1", "rte"), of_task("sst2=f1", "rte")]
        ['f1', 'acc', '']
    """
    if "=" not in said:
        return said
    parts = [part.strip().rpartition("=") for part in said.split(",")]
    return {name: value for name, _, value in parts}.get(task) or next(
        (value for name, _, value in parts if not name), ""
    )


def choice_of(options: SourceOptions, path: Path) -> LogSelection:
    """What options say of a log."""
    from ranker.sources.logs.base import LogSelection
    from ranker.sources.logs.folders import task_of

    of = options.of(LogOptions)
    task = task_of(path, options.limits) if "=" in of.metric + of.filter else ""
    return LogSelection(
        metric=of_task(of.metric, task) or None,
        filter=of_task(of.filter, task) or None,
        scorer=of.scorer or None,
        reducer=of.reducer or None,
        cluster=of.cluster or None,
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


def tasks(reference: Reference, options: SourceOptions, shelf: ResourceCache) -> TasksOfPlace:
    """The tasks of a folder of logs: see `ranker.sources.kinds.Kind`."""
    path = Path(reference.place)
    if not path.is_dir():
        return TasksOfPlace()
    try:
        found = _listing(path, shelf, options.limits)
    except DataError:
        return TasksOfPlace()
    of: dict[str, tuple[str, ...]] = {}
    for log in found.logs:
        of[_name_in_folder(log)] = (*of.get(_name_in_folder(log), ()), log.task)
    return TasksOfPlace(of, found.groups)


def sources(reference: Reference, options: SourceOptions, shelf: ResourceCache) -> list[LogModel]:
    """The log that a reference names; of a folder that of the task `#TASK`, or of its only task, of the run `@RUN`.

    Raises:
        UsageError: the folder holds logs of several tasks, or none of that name; or several runs with other arguments,
            of which none is named.
    """
    path = Path(reference.place)
    if not path.is_dir():
        return [LogModel(_name(path), str(path), options)]
    found = _listing(path, shelf, options.limits)
    tasks = dict.fromkeys(log.task for log in found.logs)
    task, _, run = (reference.part, "", "") if reference.part in tasks else reference.part.rpartition("@")
    if not task and not reference.part.startswith("@"):
        task, run = reference.part, ""
    named = [log for log in found.logs if task in ("", log.task)]
    if len({log.task for log in named}) != 1:
        raise UsageError(f"{path} holds logs of several tasks: {listed(tasks)}; name one, {path}#{next(iter(tasks))}")
    return [model for log in named for model in _of_runs(log, found, path, run, options)]


def _of_runs(log: FoundLog, found: Listing, path: Path, run: str, options: SourceOptions) -> list[LogModel]:
    """The models that the runs of one model and task are: the newest, each, or their mean.

    Raises:
        UsageError: they were made with other arguments, and nobody says what is meant.
    """
    from ranker.sources.logs.runs import alike, describe_runs, not_whole, numbered_run, read_of

    runs, name, meant = found.runs(log), _name_in_folder(log), options.of(LogOptions).runs
    one = LogModel(name, str(log.path), options, beside=found.notes)
    if run:
        return [replace(one, name=f"{name}@{run}", path=str(numbered_run(runs, run, path).path))]
    whole = [each for each in runs if not each.trouble] or list(runs)
    cut = (*read_of(runs, log), *found.notes)
    if len(whole) == 1 or meant == "newest":
        return [replace(one, beside=cut)]
    one = replace(one, beside=(*not_whole(runs), *found.notes))
    if meant == "mean":
        first, *more = [str(each.path) for each in whole]
        return [replace(one, path=first, more=tuple(more))]
    if meant == "each":
        at = {each.path: n for n, each in enumerate(runs, 1)}
        return [replace(one, name=f"{name}@{at[each.path]}", path=str(each.path)) for each in whole]
    if not alike(whole):
        names = f"{path}#{log.task}@{len(runs)}"
        raise UsageError(
            f"{path}: {log.task} was run {len(whole)} times with other arguments: {'; '.join(describe_runs(runs))}; "
            f"name one, {names}, or say with `runs` what is meant: newest, mean or each"
        )
    return [replace(one, beside=cut)]


def _listing(folder: Path, shelf: ResourceCache, limits: Limits) -> Listing:
    """What lies in a folder; it is gone through once."""
    from ranker.sources.logs.folders import listing

    key = (_LISTING, os.path.abspath(folder), limits)
    if key not in shelf:
        shelf[key] = listing(folder, limits)
    return cast("Listing", shelf[key])


def _name_in_folder(log: FoundLog) -> str:
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
