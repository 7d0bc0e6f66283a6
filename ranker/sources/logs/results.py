"""Results that lm-evaluation-harness writes beside a log, and the names of its files."""

from __future__ import annotations

import math
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
from ranker.sources.logs.base import canonical, list_in, name_of, number, table_in, text_in

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<time>[^_]*)\.jsonl?(?:\.gz)?")
_RESULTS = re.compile(r"_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.json(?:\.gz)?$")
_ENDING = re.compile(r"\.jsonl?(\.gz)?$")
_OLD = "results.json"


@dataclass(frozen=True)
class Results:
    """Results of a run on one task; empty if there are none.

    Attributes:
        task: its name, as far as the file's name and the results tell.
        model, version: "" if not stated.
        higher: metric -> whether more of its aggregate is better.
        aggregates: metric -> name of its aggregate, if the task states it: see `measures.AGGREGATES`.
        recorded: "metric,filter" -> the aggregate's value.
        choices: the same on all rows; () if not stated.
        delimiter: text before a choice in a prompt; None if not stated.
        filters: names of its filters, in order; () for a single one, or none named.
        rows: number of requested rows; None if not stated.
        arguments: of the task, by name, as JSON.
        seconds: time of the whole run, of all its tasks; None if not stated.
        run_rows: number of rows of all its tasks.
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
    seconds: float | None = None
    run_rows: int = 0


def task_and_time(path: Path) -> tuple[str, str]:
    """Return the task and the time in the name of a log; both "" unless it is named as since version 0.4.3.

    Example:
        >>> task_and_time(Path("samples_my_task_2026-11-24T04-08-04.313208.jsonl.gz"))
        ('my_task', '2026-11-24T04-08-04.313208')
    """
    match = _SAMPLES.fullmatch(path.name)
    return (match["task"], match["time"]) if match else ("", "")


class ResultsFiles:
    """Results files of a folder; each is read once, however many logs it belongs to."""

    def __init__(self, folder: Path, limits: Limits = LIMITS) -> None:
        self._folder, self._limits = folder, limits
        self._read: dict[str, Any] = {}

    @cached_property
    def _files(self) -> dict[str, str]:
        """Time -> the file of that time; "" -> that of versions before 0.4.3, which has no time."""
        try:
            names = sorted(os.listdir(self._folder), key=lambda name: (name.startswith("results_"), name))
        except (OSError, ValueError):
            return {}
        timed = [(name, _RESULTS.search(name)) for name in names if not name.startswith("samples_")]
        return {match[1]: name for name, match in timed if match} | ({"": _OLD} if _OLD in names else {})

    def content(self, time: str) -> Any:
        """Return the results of a time; None if there are none, or the error if they are broken."""
        name = self._files.get(time)
        if name is not None and time not in self._read:
            file = self._folder / name
            try:
                files.refuse_outside_links(self._folder, [name])
                self._read[time] = files.parse(
                    files.read_whole(file, self._limits, "log_side"), file, files.Budget(self._limits)
                )
            except DataError as error:
                self._read[time] = error
        return self._read.get(time)

    def groups(self, times: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Map each group in the results of some times to its tasks, with those of nested groups."""
        subtasks: dict[str, list[str]] = {}
        for time in sorted(times):
            by_group = table_in(self.content(time), "group_subtasks")
            for group in by_group:
                subtasks.setdefault(name_of(group), []).extend(map(name_of, list_in(by_group, group)))
        return {group: leaves for group in subtasks if (leaves := tuple(dict.fromkeys(_leaves(group, subtasks))))}


def results_of(path: Path, beside: ResultsFiles | None = None, limits: Limits = LIMITS) -> Results:
    """Read the results of a log from the files beside it. Unreadable ones are noted and ignored.

    Args:
        beside: results files of its folder, if already listed.
    """
    task, time = task_and_time(path)
    content = (beside or ResultsFiles(path.parent, limits)).content(time)
    stem = _ENDING.sub("", path.name)
    if isinstance(content, DataError):
        return Results(task or stem, notes=(f"The results beside the log are not used: {content}.",))
    if not task:  # versions before 0.4.3: {model}_{task}.jsonl
        tasks = table_in(content, "configs") or table_in(content, "results")
        task = max((name for name in tasks if stem == name or stem.endswith(f"_{name}")), key=len, default=stem)
    return _parse_results(content, task)


def _leaves(group: str, tasks: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the tasks of a group and its nested groups, each of which is entered once."""
    left, entered = tasks[group][::-1], {group}
    while left:
        name = left.pop()
        if not tasks.get(name):
            yield name
        elif name not in entered:
            entered.add(name)
            left += tasks[name][::-1]


def _parse_results(content: Any, task: str) -> Results:
    config = table_in(table_in(content, "configs"), task)
    delimiter = config.get("target_delimiter")
    higher = table_in(table_in(content, "higher_is_better"), task)
    seconds = number(content.get("total_evaluation_time_seconds")) if isinstance(content, dict) else None
    stated = table_in(content, "n-samples")
    effective = {name: table_in(stated, name).get("effective") for name in stated}
    sizes = {name: size if type(size) is int else None for name, size in effective.items()}
    aggregates = [entry for entry in list_in(config, "metric_list") if text_in(entry, "aggregation")]
    recorded = table_in(table_in(content, "results"), task)
    return Results(
        task=task,
        model=text_in(content, "model_name") or text_in(table_in(content, "config"), "model_args"),
        version=text_in(content, "lm_eval_version"),
        higher={name_of(metric): up for metric, up in higher.items() if isinstance(up, bool)},
        aggregates={name_of(entry.get("metric")): text_in(entry, "aggregation") for entry in aggregates},
        recorded={name_of(name): value for name, value in recorded.items() if type(value) in (int, float)},
        choices=tuple(map(name_of, list_in(config, "doc_to_choice"))),
        delimiter=delimiter if isinstance(delimiter, str) else None,
        filters=tuple(
            name_of(entry.get("name")) for entry in list_in(config, "filter_list") if isinstance(entry, dict)
        ),
        rows=sizes.get(task),
        arguments=_arguments(content, config),
        seconds=seconds if seconds is not None and 0 < seconds < math.inf else None,
        run_rows=sum(count for count in sizes.values() if count and count > 0),
    )


_OF_RUN = ("model_args", "limit", "gen_kwargs", "random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
_OF_TASK = (
    *("num_fewshot", "generation_kwargs", "repeats", "description", "doc_to_text", "doc_to_target", "doc_to_choice"),
    *("filter_list", "fewshot_config", "target_delimiter", "fewshot_delimiter", "dataset_path", "dataset_name"),
)
_OF_PROMPT = ("system_instruction", "chat_template_sha", "fewshot_as_multiturn")


def _arguments(content: Any, config: Mapping[str, Any]) -> dict[str, str]:
    """Collect the arguments that make two runs different ones."""
    of_run, top = table_in(content, "config"), content if isinstance(content, dict) else {}
    fields = [*((of_run, name) for name in _OF_RUN), *((config, name) for name in _OF_TASK)]
    fields += [(top, name) for name in _OF_PROMPT]
    return {name: canonical(place[name]) for place, name in fields if place.get(name) not in (None, {}, "")}
