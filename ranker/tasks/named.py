"""Tasks by name whose answers are no labels. Tasks of labels have cards: see `ranker.datasets.sets`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, metadata
from typing import Any, cast

from ranker.errors import UsageError
from ranker.tasks.base import Task
from ranker.tasks.values import ValueTask

BUILTIN = {
    "tags": "ranker.tasks.tags:TagTask",
    "spans": "ranker.tasks.texts:SpanTask",
    "text": "ranker.tasks.texts:TextTask",
    "number": "ranker.tasks.numbers:NumberTask",
    "ranking": "ranker.tasks.rankings:RankingTask",
    "label-sets": "ranker.tasks.label_sets:LabelSetTask",
}
"""Built-in tasks: name -> class, a `ranker.tasks.values.ValueTask`."""

GROUP = "rank_models.tasks"
"""Entry point group of packages with tasks: the name of an entry point is the task's."""


def known_tasks() -> Mapping[str, str]:
    """Return the tasks whose answers are values, those of packages too: name -> class."""
    return {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)} | BUILTIN


def value_task(name: str, **stated: Any) -> Task | None:
    """Make the task of a name; None where no such task has it.

    Args:
        name: of the task; case does not matter.
        stated: options that the user states, see `ValueTask.options`; None where one is not stated. `scale`, which
            other answers have, too, may stand beside any task.

    Raises:
        UsageError: the task needs an option, or does not read one.

    Example:
        >>> value_task("Text").metric, value_task("nli") is None, value_task("number", scale=(0, 5)).high
        ('ROUGE-L', True, 5)
    """
    task = task_class(name)
    options = {option: value for option, value in stated.items() if value is not None}
    if unread := next((option for option in options if option not in ("scale", *(task.options if task else ()))), ""):
        raise UsageError.about(unread, f"is not for the task {name}", options[unread])
    if task is None:
        return None
    return cast(
        "Task", task.named(name.casefold(), **{name: options[name] for name in task.options if name in options})
    )


def task_class(name: str) -> type[ValueTask] | None:
    """Return the class of a task's name, whose case does not matter; None where no such task has it.

    Example:
        >>> task_class("Ranking").label_metric, task_class("nli")
        ('ndcg@10:judged', None)
    """
    place = known_tasks().get(name.casefold())
    if place is None:
        return None
    module, _, task = place.partition(":")
    return cast("type[ValueTask]", getattr(import_module(module), task))
