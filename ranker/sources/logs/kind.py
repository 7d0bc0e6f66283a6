"""Logs of lm-evaluation-harness and Inspect as a kind of source: recorded answers and their judgements.

A log brings its own rows. The metric that it records is the outcome, since users of these programs quote it.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from factors.types import Example, Floats
from ranker.errors import Assumption, DataError, ModelError, UsageError, listed
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
from ranker.sources.logs.options import LogOptions, value_for_task
from ranker.sources.options import non_defaults
from ranker.sources.references import Reference
from ranker.tasks.base import failures_as_wrong
from ranker.tasks.classes import has_labels, require_labels
from ranker.tasks.metrics import is_metric
from ranker.tasks.precomputed import PrecomputedTask
from ranker.tasks.text_scores import is_text_metric
from ranker.tasks.texts import TextAnswers, TextTask

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.sources.logs.base import FoundLog, TaskLog
    from ranker.sources.logs.formats import LogFormat
    from ranker.sources.logs.reading import Listing
    from ranker.sources.usage import RowUsage
    from ranker.tasks.base import Predictions, Task

Options = LogOptions
"""Options of logs."""

_LOG, _LISTING = "log at", "logs in"
"""Cache keys of a parsed log, and of the list of a folder."""


@dataclass(frozen=True)
class LogModel:
    """One model on one task in a log: a `Source`.

    Attributes:
        name: as shown in reports.
        family: "" if unknown.
        extra_paths: files of other runs, to be averaged with this one.
        beside: notes on other files in its folder, in sentences.
    """

    name: str
    path: str
    options: SourceOptions = SourceOptions()
    family: str = ""
    extra_paths: tuple[str, ...] = ()
    beside: tuple[str, ...] = field(default=(), compare=False)

    shares = ""
    precomputed = True

    @property
    def place(self) -> str:
        """Path of the file."""
        return self.path

    @property
    def log_options(self) -> LogOptions:
        """Options of logs."""
        return self.options.of(LogOptions)

    @property
    def short(self) -> str:
        """Task: it distinguishes the file from others in its folder."""
        from ranker.sources.logs.results import task_and_time

        path = Path(self.path)
        return task_and_time(path)[0] or path.name.partition(".")[0]

    def inspect(self, cache: ResourceCache) -> ModelInfo:
        """Read its labels and rows. See `Source.inspect`."""
        extra_paths = tuple(map(os.path.abspath, self.extra_paths))
        pinned = replace(self, path=os.path.abspath(self.path), extra_paths=extra_paths)
        try:
            log = pinned.load_log(cache)
            judge = self.judge(log)
            if judge is None:
                scale_outcomes(log, self.log_options)
            rows = _bundle_rows(log, judge)
        except (DataError, UsageError) as error:
            return ModelInfo(pinned, trouble=str(error))
        of_other = _of_others(non_defaults(self.log_options), log.program)
        label_map = {"label_map"} if self.options.label_map else set()
        metric = value_for_task(self.log_options.metric, log.task)
        recorded = any(metric in name.split(".") for name in log.candidates)
        unused = self.options.of_others(LogOptions) | of_other | label_map
        scaled = _scale_notes(log, self.log_options) if judge is None else _text_notes(log, rows)
        notes = (*self.beside, *log.notes, *scaled)
        summary = f"{len(log):,} rows of the task {log.task}, by {log.program} {log.version}".rstrip()
        return ModelInfo(
            pinned,
            log.labels,
            unused=unused,
            rows=rows,
            notes=notes,
            contents=(summary,),
            metric=metric if judge is not None or (is_metric(metric) and not recorded) else "",
        )

    def identity(self, task: Task, machine: Machine, cache: ResourceCache) -> Mapping[str, Any]:
        """Return the hash of the file, and the metric that is read. See `Source.identity`."""
        digests = []
        for path in (self.path, *self.extra_paths):
            try:
                with open(path, "rb") as file:
                    digests.append(hashlib.file_digest(file, "sha256").hexdigest())
            except OSError as error:
                raise ModelError.unreadable(path, error) from error
        return {"content": "+".join(digests), "metric": task.metric}

    def open(self, task: Task, machine: Machine, cache: ResourceCache) -> Predictor:
        """Return the predictor that reads the answers. See `Source.open`."""
        return LogAnswers(self, task, cache)

    def usage(self, task: Task, examples: Sequence[Example], machine: Machine, cache: ResourceCache) -> RowUsage | None:
        """Return what the log states of the answers to examples. See `ranker.sources.usage.Metered`."""
        from ranker.sources.logs.answers import match_rows

        log = self.load_log(cache)
        return None if log.usage is None else log.usage.at(match_rows(log, examples))

    def judge(self, log: TaskLog) -> TextTask | None:
        """Return the task that judges the log's texts, if the run's metric is of texts and not recorded; else None."""
        metric = value_for_task(self.log_options.metric, log.task)
        if not is_text_metric(metric) or any(metric in name.split(".") for name in log.candidates):
            return None
        if self.extra_paths:
            raise DataError.at(
                log.task, "texts of several runs have no mean; `runs` names newest, or each", option="runs"
            )
        if not any(log.responses):
            raise DataError.at(
                log.task, f"the log holds no texts that {metric} could judge", option="metric", value=metric
            )
        return TextTask(log.task)

    def load_log(self, cache: ResourceCache) -> TaskLog:
        """Read the log, or the mean of several runs, once."""
        from ranker.sources.logs.reading import read_log
        from ranker.sources.logs.runs import average_runs

        key = _LOG, self.path, self.extra_paths, self.options
        paths = [Path(path) for path in (self.path, *self.extra_paths)]
        if key not in cache:
            logs = [read_log(path, self.log_options, self.options.limits) for path in paths]
            cache[key] = average_runs(logs, [path.name for path in paths]) if self.extra_paths else logs[0]
        return cast("TaskLog", cache[key])


@dataclass(frozen=True)
class LogAnswers:
    """Answers in a log: a `Predictor`."""

    source: LogModel
    task: Task
    cache: ResourceCache

    @property
    def name(self) -> str:
        """Name of the model in messages."""
        return self.source.name

    def predict(self, examples: Sequence[Example], advance: Advance) -> Iterator[Predictions]:
        """Yield the answers to examples, judged by the log or, if the rows have labels of their own, by these.

        See `Predictor.predict`.
        """
        from ranker.sources.logs import answers

        try:
            log = self.source.load_log(self.cache)
            rows = answers.match_rows(log, examples)
            if self.task.answers == TextAnswers.kind:
                predictions: Predictions = answers.read_texts(log, rows, self.task)
            elif not has_labels(self.task):
                outcomes = scale_outcomes(log, self.source.log_options)
                predictions = answers.read_scores(log, outcomes, rows, self.task)
            else:
                predictions = answers.read_labels(log, rows, require_labels(self.task, self.name))
        except (DataError, UsageError) as error:
            raise ModelError.at(self.name, error) from error
        if self.source.log_options.errors == "wrong":
            predictions, notes = failures_as_wrong(predictions)
            self.cache.noted[self.source.place] = len(examples), notes
        yield predictions
        advance(len(examples))


def scale_outcomes(log: TaskLog, options: LogOptions) -> Floats:
    """Return (N,) outcomes in [0, 1], more being better."""
    low, high = _scale(log, options)
    values = (log.outcomes - low) / (high - low)
    scored = values[~np.isnan(values)]
    if len(scored) and (scored.min() < -1e-9 or scored.max() > 1 + 1e-9):
        worst = log.outcomes[~np.isnan(values)]
        holds, hint = log.measure.holds, ""
        if holds and worst.max() <= 0:  # log-likelihoods are at most 0
            hint = f", such as {math.floor(worst.min())} 0: a row holds {holds}"
        raise DataError.at(
            log.task,
            f"{log.metric} is between {worst.min():g} and {worst.max():g}; say with `range` what "
            f"is worst and best{hint}",
            option="range",
        )
    values = np.clip(values, 0.0, 1.0)
    return values if _more_is_better(log, options) else 1 - values


def _scale(log: TaskLog, options: LogOptions) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a row."""
    return options.scale or log.measure.scale or (0.0, 1.0)


def _more_is_better(log: TaskLog, options: LogOptions) -> bool:
    """Return True if more of a row's value is better; refuse an option that contradicts a certain direction."""
    higher = log.measure.higher_is_better
    if options.lower_is_better and higher and log.measure.certain:
        holds = f" (a row holds {log.measure.holds})" if log.measure.holds else ""
        raise DataError.at(
            log.task, f"more of {log.metric} is better{holds}; leave `lower_is_better` out", option="lower_is_better"
        )
    return not options.lower_is_better and higher is not False


def _scale_notes(log: TaskLog, options: LogOptions) -> Iterator[str]:
    """Describe outcomes that are rescaled, and an option that overrides the direction."""
    worst, best = _scale(log, options) if _more_is_better(log, options) else _scale(log, options)[::-1]
    if (worst, best) != (0.0, 1.0):
        yield f"{log.metric} is scaled from {worst:g}, the worst, to {best:g}, the best."
    if options.lower_is_better and log.measure.higher_is_better:
        yield f"The log says that more of {log.metric} is better, but `lower_is_better` overrides it."


def _text_notes(log: TaskLog, rows: BundledRows) -> Iterator[str]:
    """Tell which of several epochs is judged, and how many rows have no reference."""
    if log.epochs > 1:
        yield Assumption(f"Of {log.epochs} epochs the text of the first is judged.")
    if unknown := sum(not example.labelled for example in rows.examples):
        yield Assumption(f"{unknown:,} of {len(log):,} rows have no reference, and are left out.")


def _format(program: str) -> LogFormat:
    from ranker.sources.logs.formats import format_named

    return format_named(program)


def _of_others(options: Collection[str], program: str) -> set[str]:
    """Return those of some options that only logs of other programs read."""
    from ranker.sources.logs.formats import formats

    if not options:
        return set()
    return {*options} & {name for form in formats().values() for name in form.options if form.name != program}


def _reference(log: TaskLog, row: int, task: TextTask) -> Any:
    """Return the references of a row; None if the log has none."""
    try:
        return None if log.references[row] is None else task.target_of(log.references[row])
    except ValueError:
        return None


def _bundle_rows(log: TaskLog, judge: TextTask | None) -> BundledRows:
    """Convert the rows of a log; `judge` is the task of its texts, if they are judged again."""
    groups = log.clusters or ("",) * len(log)
    targets = [None if label < 0 else label for label in log.truth.tolist()]
    if judge is not None:
        targets = [_reference(log, row, judge) for row in range(len(log))]
    rows = zip(log.keys, log.texts, targets, groups, strict=True)
    examples = tuple(Example(key, (text,), target, group=group) for key, text, target, group in rows)
    questions = log.texts if _format(log.program).by_text else ()
    word = "_".join(log.metric.replace(",", " ").split())  # a column name
    task: Task = judge or PrecomputedTask(log.task, word, log.labels)
    return BundledRows(task, examples, log.target_hashes, questions, log.numbered, log.prompt_hashes)


def claims(reference: Reference, options: SourceOptions) -> bool:
    """Return True if a reference is a log by its content, or a folder that holds some and no model."""
    from ranker.sources.logs.formats import program_of
    from ranker.sources.logs.reading import holds_logs

    path = Path(reference.place)
    if os.path.isfile(path):
        return program_of(path, options.limits) is not None
    return os.path.isdir(path) and not os.path.exists(path / "config.json") and holds_logs(path, options.limits)


def tasks(reference: Reference, options: SourceOptions, cache: ResourceCache) -> TasksOfPlace:
    """List the tasks of a folder of logs: see `ranker.sources.kinds.Kind`."""
    path = Path(reference.place)
    if not path.is_dir():
        return TasksOfPlace()
    try:
        listing = _listing(path, cache, options.limits)
    except DataError:
        return TasksOfPlace()
    by_model: dict[str, tuple[str, ...]] = {}
    for log in listing.logs:
        by_model[_name_in_folder(log)] = (*by_model.get(_name_in_folder(log), ()), log.task)
    return TasksOfPlace(by_model, listing.groups)


def sources(reference: Reference, options: SourceOptions, cache: ResourceCache) -> list[LogModel]:
    """List the log that a reference names; of a folder that of the task `#TASK`, or of its only task, of run `@RUN`.

    Raises:
        UsageError: the folder holds logs of several tasks, or none of that name; or several runs with other arguments
            and none is named.
    """
    path = Path(reference.place)
    if not path.is_dir():
        return [LogModel(_name(path), str(path), options)]
    listing = _listing(path, cache, options.limits)
    tasks = dict.fromkeys(log.task for log in listing.logs)
    task, _, run = (reference.part, "", "") if reference.part in tasks else reference.part.rpartition("@")
    if not task and not reference.part.startswith("@"):
        task, run = reference.part, ""
    logs = [log for log in listing.logs if task in ("", log.task)]
    if len({log.task for log in logs}) != 1:
        raise UsageError.of(
            path,
            f"holds logs of several tasks: {listed(tasks)}; name one, {path}#{next(iter(tasks))}",
            option="models",
            allowed=tasks,
        )
    return [model for log in logs for model in _models_of_runs(log, listing, path, run, options)]


def _models_of_runs(log: FoundLog, listing: Listing, path: Path, run: str, options: SourceOptions) -> list[LogModel]:
    """Return the models for the runs of one model and task: the newest, each, or their mean."""
    from ranker.sources.logs.runs import (
        describe_runs,
        find_run,
        have_same_arguments,
        newest_run_notes,
        partial_run_notes,
    )

    runs, name, meant = listing.runs(log), _name_in_folder(log), options.of(LogOptions).runs
    model = LogModel(name, str(log.path), options, beside=listing.notes)
    if run:
        return [replace(model, name=f"{name}@{run}", path=str(find_run(runs, run, path).path))]
    complete = [log for log in runs if not log.trouble] or list(runs)
    cut = (*newest_run_notes(runs, log), *listing.notes)
    if len(complete) == 1 or meant == "newest":
        return [replace(model, beside=cut)]
    model = replace(model, beside=(*partial_run_notes(runs), *listing.notes))
    if meant == "mean":
        first, *extra = [str(log.path) for log in complete]
        return [replace(model, path=first, extra_paths=tuple(extra))]
    if meant == "each":
        numbers = {log.path: n for n, log in enumerate(runs, 1)}
        return [replace(model, name=f"{name}@{numbers[log.path]}", path=str(log.path)) for log in complete]
    if not have_same_arguments(complete):
        names = f"{path}#{log.task}@{len(runs)}"
        raise UsageError.at(
            path,
            f"{log.task} was run {len(complete)} times with other arguments: {'; '.join(describe_runs(runs))}; "
            f"name one, {names}, or say with `runs` what is meant: newest, mean or each",
            option="runs",
            allowed=("newest", "mean", "each"),
        )
    return [replace(model, beside=cut)]


def _listing(folder: Path, cache: ResourceCache, limits: Limits) -> Listing:
    """List the logs of a folder, once."""
    from ranker.sources.logs.reading import list_logs

    key = (_LISTING, os.path.abspath(folder), limits)
    if key not in cache:
        cache[key] = list_logs(folder, limits)
    return cast("Listing", cache[key])


def _name_in_folder(log: FoundLog) -> str:
    """Name a log of a folder: by its model if it states one, since a folder may mix models, else by the folder."""
    # before 0.4.3 lm-evaluation-harness named a log after the model and the task
    states_model = _format(log.program).names_models and log.model
    return log.model if states_model else _name(log.path).removesuffix(f"_{log.task}")


def _name(path: Path) -> str:
    """Name a log by its folder, which lm-evaluation-harness names after the model, else by its file."""
    bare = path.name.removesuffix(".gz")
    return path.resolve().parent.name if bare.startswith("samples_") else Path(bare).stem


if TYPE_CHECKING:
    _can: type[Source] = LogModel  # checked by mypy
