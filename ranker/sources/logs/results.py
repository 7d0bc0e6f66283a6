"""What lm-evaluation-harness writes beside a log: how files are named, and the results of the run that it is of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ranker.errors import DataError
from ranker.limits import LIMITS, Limits
from ranker.sources.logs import files
from ranker.sources.logs.base import canonical, name_of

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl?(?:\.gz)?")
_ANY_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<time>[^_]*)\.jsonl?(?:\.gz)?")
_RESULTS = re.compile(rf"_({_TIME})\.json(?:\.gz)?$")
_ENDING = re.compile(r"\.jsonl?(\.gz)?$")
_OLD = "results.json"


@dataclass(frozen=True)
class Results:
    """What the results of a run say of one task; empty where there are none.

    Attributes:
        task: its name, as far as the file's name and the results tell.
        model: its name; "" where the results do not say.
        version: of the program; "" where they do not say.
        higher: metric -> whether more of it is better, of the one number of all rows.
        aggregates: metric -> how that number is made, where the task says it: see `measures.AGGREGATES`.
        recorded: "metric,filter" -> that number.
        choices: the same on all rows; () where the results do not say.
        delimiter: what stands before a choice in a prompt; None where they do not say.
        filters: the names of its filters, in order; () where it has one only, or none are named.
        rows: how many were asked; None where they do not say.
        arguments: what the task was run with, by name, as JSON.
        notes: what is to be known of them.
    """

    task: str
    model: str = ""
    version: str = ""
    higher: Mapping[str, bool] = field(default_factory=dict)
    aggregates: Mapping[str, str] = field(default_factory=dict)
    recorded: Mapping[str, float] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    delimiter: str | None = None
    filters: tuple[str, ...] = ()
    rows: int | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def task_and_time(path: Path) -> tuple[str, str]:
    """The task and the time in the name of a log; both "" where it is not named like one of version 0.4.3 and later.

    Example:
        >>> task_and_time(Path("samples_my_task_2026-11-24T04-08-04.313208.jsonl.gz"))
        ('my_task', '2026-11-24T04-08-04.313208')
    """
    found = _SAMPLES.fullmatch(path.name) or _ANY_SAMPLES.fullmatch(path.name)
    return (found["task"], found["time"]) if found else ("", "")


class ResultsFiles:
    """The results that lie in a folder, each read once however many logs it is of.

    Args:
        folder: where they lie.
        limits: how much is read of each.
    """

    def __init__(self, folder: Path, limits: Limits = LIMITS) -> None:
        self._folder, self._limits = folder, limits
        self._read: dict[str, Any] = {}

    @cached_property
    def _files(self) -> dict[str, str]:
        """Time -> the file of that time; "" -> that of the versions before 0.4.3, which bears no time."""
        try:
            names = sorted(os.listdir(self._folder), key=lambda name: (name.startswith("results_"), name))
        except (OSError, ValueError):
            return {}
        timed = [(name, _RESULTS.search(name)) for name in names if not name.startswith("samples_")]
        return {match[1]: name for name, match in timed if match} | ({"": _OLD} if _OLD in names else {})

    def content(self, time: str) -> Any:
        """What the results of a time say; None where there are none, and the complaint where they are broken."""
        name = self._files.get(time)
        if name is not None and time not in self._read:
            file = self._folder / name
            try:
                files.strayed(self._folder, [name])
                self._read[time] = files.parse(
                    files.whole(file, self._limits, "log_side"), file, files.Budget(self._limits)
                )
            except DataError as error:
                self._read[time] = error
        return self._read.get(time)

    def groups(self, times: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Group -> the tasks in it, of the results of some times; a group in a group is its tasks."""
        found: dict[str, list[str]] = {}
        for time in sorted(times):
            for group, tasks in _table(self.content(time), "group_subtasks").items():
                found.setdefault(name_of(group), []).extend(map(name_of, tasks if isinstance(tasks, list) else ()))
        return {
            group: leaves for group in found if (leaves := tuple(dict.fromkeys(_leaves(group, found, frozenset()))))
        }


def results_of(path: Path, beside: ResultsFiles | None = None, limits: Limits = LIMITS) -> Results:
    """What lies beside a log, of its own time, says of it. What cannot be read is noted, and not used.

    Args:
        path: the log.
        beside: what lies in its folder, if that was looked at already.
        limits: how much is read of that, if it was not.
    """
    task, time = task_and_time(path)
    content = (beside or ResultsFiles(path.parent, limits)).content(time)
    stem = _ENDING.sub("", path.name)
    if isinstance(content, DataError):
        return Results(task or stem, notes=(f"The results beside the log are not used: {content}.",))
    if not task:  # versions before 0.4.3: {model}_{task}.jsonl
        known = _table(content, "configs") or _table(content, "results")
        task = max((name for name in known if stem == name or stem.endswith(f"_{name}")), key=len, default=stem)
    return _said(content, task)


def _leaves(group: str, tasks: Mapping[str, list[str]], above: frozenset[str]) -> Iterator[str]:
    """The tasks of a group, and of the groups in it; a group that is in itself adds nothing."""
    for name in tasks[group]:
        if not tasks.get(name):
            yield name
        elif name not in above and len(above) < 50:
            yield from _leaves(name, tasks, above | {group})


def _said(content: Any, task: str) -> Results:
    config = _table(_table(content, "configs"), task)
    choices, delimiter = config.get("doc_to_choice"), config.get("target_delimiter")
    higher = _table(_table(content, "higher_is_better"), task)
    rows = _table(_table(content, "n-samples"), task).get("effective")
    aggregates = [one for one in _list(config, "metric_list") if isinstance(one, dict)]
    recorded = _table(_table(content, "results"), task)
    listed = config.get("filter_list")
    filters = [entry.get("name") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return Results(
        task=task,
        model=_text(content, "model_name") or _text(_table(content, "config"), "model_args"),
        version=_text(content, "lm_eval_version"),
        higher={name_of(metric): up for metric, up in higher.items() if isinstance(up, bool)},
        aggregates={name_of(one.get("metric")): one["aggregation"] for one in aggregates if _is_named(one)},
        recorded={name_of(name): value for name, value in recorded.items() if type(value) in (int, float)},
        choices=tuple(map(name_of, choices)) if isinstance(choices, list) else (),
        delimiter=delimiter if isinstance(delimiter, str) else None,
        filters=tuple(map(name_of, filters)),
        rows=rows if type(rows) is int else None,
        arguments=_arguments(content, config),
    )


def _table(content: Any, key: str) -> dict[str, Any]:
    found = content.get(key) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}


_OF_RUN = ("model_args", "limit", "gen_kwargs", "random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
_OF_TASK = (
    *("num_fewshot", "generation_kwargs", "repeats", "description", "doc_to_text", "doc_to_target", "doc_to_choice"),
    *("filter_list", "fewshot_config", "target_delimiter", "fewshot_delimiter", "dataset_path", "dataset_name"),
)
_OF_PROMPT = ("system_instruction", "chat_template_sha", "fewshot_as_multiturn")


def _arguments(content: Any, config: Mapping[str, Any]) -> dict[str, str]:
    """What the task was run with: that of two runs which differs makes them two things."""
    of_run, whole = _table(content, "config"), content if isinstance(content, dict) else {}
    every = [*((of_run, name) for name in _OF_RUN), *((config, name) for name in _OF_TASK)]
    every += [(whole, name) for name in _OF_PROMPT]
    return {name: canonical(place[name]) for place, name in every if place.get(name) not in (None, {}, "")}


def _list(content: Mapping[str, Any], key: str) -> list[Any]:
    found = content.get(key)
    return found if isinstance(found, list) else []


def _is_named(metric: Mapping[str, Any]) -> bool:
    return isinstance(metric.get("aggregation"), str)


def _text(content: Any, key: str) -> str:
    found = content.get(key) if isinstance(content, dict) else None
    return name_of(found) if isinstance(found, str) else ""
