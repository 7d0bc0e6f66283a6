"""Where models and rows meet: what models say of themselves, and whether the rows' labels are theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ranker.errors import ModelError, UsageError
from ranker.sources.base import Shelf, Source, Stated
from ranker.sources.suites import Model, Suite, named
from ranker.tasks.classes import Task, fold

if TYPE_CHECKING:
    from ranker.datasets.sets import OODSet

OWN = "own labels"
"""The name of a task that is made of the models' own labels."""


@dataclass(frozen=True)
class Looked:
    """Models, and what each says of itself.

    Attributes:
        models: with their sources pinned.
        stated: (M,) in the same order.
        name: of the suite.
    """

    models: tuple[Model, ...]
    stated: tuple[Stated, ...]
    name: str = "models"

    @property
    def suite(self) -> Suite:
        """The models as a suite.

        Raises:
            UsageError: they are fewer than two.
        """
        return Suite(self.name, self.models)


Models = Looked | Suite | str | Path | Sequence[str | Path | Source | Model]
"""Models as somebody names them: references, sources, a suite, or what was looked at before."""


def looked(models: Models) -> Looked:
    """What models say of themselves; each is asked once.

    Raises:
        UsageError: as `ranker.sources.suites.load`, but for fewer than two models.
    """
    if isinstance(models, Looked):
        return models
    if isinstance(models, Suite):
        return look(models.name, models.models)
    return look(*named([models] if isinstance(models, (str, Path)) else models))


def look(name: str, models: Sequence[Model]) -> Looked:
    """What models say of themselves, under the name of their suite: see `ranker.sources.suites.named`."""
    shelf = Shelf()
    stated = tuple(model.source.look(shelf) for model in models)
    pinned = tuple(replace(model, source=one.source) for model, one in zip(models, stated, strict=True))
    return Looked(pinned, stated, name)


def own_task(stated: Iterable[Stated]) -> Task | None:
    """The task that models do by their own account: its labels are those that they name.

    Args:
        stated: what the models say; one that names no labels, or cannot be read, has no say.

    Returns:
        The task, with the labels in the order of the first; None where none names any, or two name others.

    Example:
        >>> own_task(looked("paws-mini").stated).labels
        ('non-paraphrase', 'paraphrase')
    """
    named = [one.labels for one in stated if one.labels]
    if not named or any({*map(fold, labels)} != {*map(fold, named[0])} for labels in named):
        return None
    labels = {fold(name): name for name in named[0]}
    return Task(OWN, tuple(labels.values())) if len(labels) > 1 else None


def check_readable(stated: Iterable[Stated]) -> None:
    """Refuse models of which none can be read: what is wrong with them is not to be said of the rows' labels.

    Raises:
        ModelError: what is wrong with the first.
    """
    troubles = [one.trouble for one in stated]
    if troubles and all(troubles):
        raise ModelError(troubles[0])


def unused(stated: Sequence[Stated], option: str) -> bool:
    """Say whether an option says nothing of any model, as a label map does whose labels are misspelt.

    A model that cannot be read leaves that open.
    """
    return bool(stated) and all(option in one.unused for one in stated)


def check_numbers(sets: Iterable[OODSet], stated: Iterable[Stated]) -> None:
    """Refuse labels that are bare numbers where a model counts its labels otherwise than they were read.

    Raises:
        UsageError: it does; what the rows mean, nobody but their author knows.
    """
    counted = [rows for rows in sets if rows.numbers]
    for one in stated if counted else ():
        names = dict(enumerate(one.labels))
        for rows in counted:
            task, both = rows.task, {n: (label, names[n]) for n, label in rows.numbers.items() if n in names}
            if any(task.index(name) not in (None, label) for label, name in both.values()):
                here = ", ".join(f"{n} is {task.labels[label]}" for n, (label, _) in both.items())
                there = ", ".join(f"{n} is {name}" for n, (_, name) in both.items())
                raise UsageError(
                    f"the labels of {rows.origin} are numbers: in the task {task.name} {here}, and to "
                    f"{one.source.name} {there}; write names instead"
                )
