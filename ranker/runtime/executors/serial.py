"""Models asked one after the other: one that fails is left out, with its reason, and the others are asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ranker.errors import ModelError
from ranker.progress import Progress
from ranker.runtime.base import Job
from ranker.runtime.executors.processes import ahead, lacks
from ranker.runtime.guest import Subject
from ranker.sources.base import ModelOptions
from ranker.tasks.classes import Task

if TYPE_CHECKING:
    from ranker.runtime.store import Store
    from ranker.sources.hf.loading import Bases
    from ranker.sources.suites import Model

log = logging.getLogger(__name__)

T = TypeVar("T")


def survey(
    jobs: Sequence[Job],
    ask: Callable[[Subject], T],
    task: Task,
    options: ModelOptions,
    store: Store | None,
    progress: Progress,
) -> tuple[dict[str, T], dict[str, str]]:
    """Ask every model; what several workers can find out ahead, they do.

    Args:
        jobs: the models, and what each will be asked.
        ask: asks a model.
        task: what the models do.
        options: how they are loaded and run.
        store: where their answers are kept.
        progress: opens a stage of the work.

    Returns:
        What came of each model that could be asked, and why the others could not.

    Raises:
        UsageError: several workers and no store.
        StoreError: the store cannot be read or written.
    """
    bases: Bases = {}

    def subject_of(model: Model) -> Subject:
        return Subject(model, task, options, store, bases)

    subjects = {model.name: subject_of(model) for model, _ in jobs}
    if options.workers != 1:
        left = [(model, asked) for model, asked in jobs if lacks(subjects[model.name], asked)]
        ahead(left, task, options, store, progress)
        subjects |= {model.name: subject_of(model) for model, _ in left}  # what others have kept is read anew
    found: dict[str, T] = {}
    failures: dict[str, str] = {}
    for model, _ in jobs:
        try:
            found[model.name] = ask(subjects[model.name])
            subjects.pop(model.name).close()
        except ModelError as error:
            failures[model.name] = str(error)
            log.error("%s is left out: %s", model.name, error)
    return found, failures
