"""Every model asked: jobs go to the executor, and answers come from the store; one that fails is left out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TypeVar

from ranker.errors import ModelError
from ranker.runs.gather import Looked
from ranker.runtime.base import Answer, Done, Job, Request
from ranker.runtime.guest import answer, content_of, read
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.sources.base import Shelf
from ranker.sources.suites import Model
from ranker.tasks.classes import Task

log = logging.getLogger(__name__)

T = TypeVar("T")

Asked = Sequence[Sequence[Request]]
"""(M,) what each model is asked."""


def survey(
    looked: Looked,
    task: Task,
    asked: Asked,
    runtime: Runtime,
    use: Callable[[Model, str, Sequence[Answer | None]], T],
) -> tuple[dict[str, T], dict[str, str]]:
    """Ask every model, and make something of what it answers.

    Args:
        looked: the models.
        task: what they do.
        asked: what each is asked.
        runtime: how they are run, and where their answers are kept.
        use: takes a model, what identifies it, and its answers in the order of its requests, None for one that could
            not be had and need not.

    Returns:
        What came of each model that could be asked, and why the others could not, by name in their order.

    Raises:
        StoreError: the store cannot be read or written.
    """
    found: dict[int, T] = {}
    failures: dict[int, str] = {}
    with runtime.kept() as store, closing(carried_out(looked, task, asked, runtime, store)) as ended:
        for number, done in ended:
            model = looked.models[number]
            try:
                if done.failure:
                    raise ModelError(done.failure)
                content = done.content
                if model.source.at_hand:
                    job, shelf = _job(looked, task, asked, runtime, number), Shelf()
                    content, answers = content_of(job, shelf), read(job, shelf)
                else:
                    answers = [answer(store, *pair) for pair in zip(done.keys, asked[number], strict=True)]
                found[number] = use(model, content, answers)
            except ModelError as error:
                failures[number] = str(error)
                log.error("%s is left out: %s", model.name, error)
            for key in dict.fromkeys(done.keys):
                store.close(key)
    names = [model.name for model in looked.models]
    return {names[n]: found[n] for n in sorted(found)}, {names[n]: failures[n] for n in sorted(failures)}


def carried_out(
    looked: Looked, task: Task, asked: Asked, runtime: Runtime, store: Store, *, dry: bool = False
) -> Generator[tuple[int, Done], None, None]:
    """The number of each model, and what became of its work, in any order.

    Models that cannot be read have no job, nor do those whose answers are at hand.
    """
    at: list[int] = []
    for number, one in enumerate(looked.stated):
        if one.trouble or one.source.at_hand:
            yield number, Done(failure=one.trouble)
        else:
            at.append(number)
    jobs = [_job(looked, task, asked, runtime, number, dry) for number in at]
    with closing(runtime.executor.run(jobs, store, runtime.progress)) as ended:  # whatever interrupts it
        for job, done in ended:
            yield at[job], done


def _job(looked: Looked, task: Task, asked: Asked, runtime: Runtime, number: int, dry: bool = False) -> Job:
    stated = looked.stated[number]
    return Job(stated.source, task, tuple(asked[number]), runtime.machine, dry, stated.size, stated.preload)
