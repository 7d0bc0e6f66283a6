"""What checkpoints say of their labels, before any is loaded: the task that they do, and how they count its labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ranker.errors import ModelError, UsageError
from ranker.sources.base import ModelOptions
from ranker.sources.hf import checkpoints
from ranker.sources.hf.labels import meanings, said_by
from ranker.tasks.classes import Task, fold

if TYPE_CHECKING:
    from ranker.datasets.sets import OODSet
    from ranker.sources.suites import Model

OWN = "own labels"
"""The name of a task that is made of the models' own labels."""

UNNAMED = {"0": "LABEL_0", "1": "LABEL_1"}
"""The labels of a configuration that says nothing of them."""


def own_task(models: Iterable[Model], options: ModelOptions = ModelOptions()) -> Task | None:
    """The task that models do by their own account: its labels are those that their configurations name.

    Args:
        models: the checkpoints; one that names no labels, or cannot be read, has no say.
        options: how they are loaded; a label map of theirs names labels, too.

    Returns:
        The task, with the labels in the order of the first; None where none names any, or two name others.

    Example:
        >>> from ranker.sources.suites import load
        >>> own_task(load(["paws-mini"]).models).labels
        ('non-paraphrase', 'paraphrase')
    """
    stated = [names for model in models if (names := stated_by(model, options))]
    if not stated or any({*map(fold, names.values())} != {*map(fold, stated[0].values())} for names in stated):
        return None
    labels = {fold(name): name for name in stated[0].values()}
    return Task(OWN, tuple(labels.values())) if len(labels) > 1 else None


def check_readable(models: Iterable[Model], options: ModelOptions) -> None:
    """Refuse models of which none can be read: what is wrong with them is not to be said of the rows' labels.

    Raises:
        ModelError: what is wrong with the first.
    """
    errors = []
    for model in models:
        try:
            _names(model, options)
        except ModelError as error:
            errors.append(error)
        else:
            return
    if errors:
        raise errors[0]


def stated_by(model: Model, options: ModelOptions) -> dict[int, str]:
    """What a checkpoint's outputs mean by its configuration and its label map, in order.

    Nothing, where an output has no name, or the configuration cannot be read: loading the model will say why.
    """
    try:
        return meanings(_names(model, options), model.label_map or options.label_map)
    except ModelError:
        return {}


def fits_none(models: Iterable[Model], options: ModelOptions) -> bool:
    """Say whether a run's label map says nothing of any model, as one does whose labels are misspelt.

    One model that has a map of its own, or that cannot be read, is enough to leave that open.
    """
    try:
        return bool(options.label_map) and not any(
            model.label_map or said_by(options.label_map or {}, _names(model, options), model.name) for model in models
        )
    except ModelError:
        return False


def _names(model: Model, options: ModelOptions) -> dict[int, str]:
    """The labels in a checkpoint's configuration, or that of an adapter's base.

    Raises:
        ModelError: it cannot be read.
    """
    folder = checkpoints.locate(model.path, allow_pickle=options.allow_pickle)
    folder = checkpoints.locate_base(folder, allow_pickle=options.allow_pickle) or folder
    written = checkpoints.read_json(folder / checkpoints.CONFIG).get("id2label", UNNAMED)
    try:
        return {int(output): str(name) for output, name in written.items()}
    except (AttributeError, ValueError) as error:
        raise ModelError(f"{folder}: `id2label` in config.json must be number -> label") from error


def check_numbers(sets: Iterable[OODSet], models: Iterable[Model], options: ModelOptions) -> None:
    """Refuse labels that are bare numbers where a checkpoint counts its labels otherwise than they were read.

    Raises:
        UsageError: it does; what the rows mean, nobody but their author knows.
    """
    counted = [rows for rows in sets if rows.numbers]
    for model in models if counted else ():
        stated = stated_by(model, options)
        for rows in counted:
            task, both = rows.task, {n: (label, stated[n]) for n, label in rows.numbers.items() if n in stated}
            if any(task.index(name) not in (None, label) for label, name in both.values()):
                here = ", ".join(f"{n} is {task.labels[label]}" for n, (label, _) in both.items())
                there = ", ".join(f"{n} is {name}" for n, (_, name) in both.items())
                raise UsageError(
                    f"the labels of {rows.origin} are numbers: in the task {task.name} {here}, and to {model.name} "
                    f"{there}; write names instead"
                )
