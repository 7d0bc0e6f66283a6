"""One model at work: what of a job is not known yet, and the model's answers to that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from factors.types import Floats
from ranker.attribution import attribute
from ranker.attribution.settings import Settings, settle
from ranker.errors import ModelError
from ranker.runtime.base import Answer, Job, JobOutcome, Request, WorkItem
from ranker.runtime.estimate import estimate
from ranker.runtime.store import Block, Keep, filling
from ranker.sources.base import Machine, Predictor, ResourceCache, is_perturbed, version
from ranker.tasks.answers import answer_class
from ranker.tasks.base import ANSWERED, Predictions

if TYPE_CHECKING:
    from ranker.progress import Advance, Progress
    from ranker.runtime.store import Store

log = logging.getLogger(__name__)

REVISION = 1
"""Of answers: raised when the same model comes to give other numbers; part of the store's key."""

NOT_FINITE = "the model gives numbers that are not finite"

WORTH_SAYING = 2.0
"""Seconds of work from which on an estimate is shown."""


def key_of(job: Job, settings: Settings | None, shelf: ResourceCache) -> dict[str, Any]:
    """Everything but the example that can change a number, by name.

    Args:
        job: the model, and what it does.
        settings: of an attribution backend, settled; None for the model's answers.
        shelf: of this process.

    Raises:
        ModelError: the model cannot be read.
    """
    machine = job.machine.settled(settings is None or settings.bfloat16)
    key = {
        "source": dict(job.source.identity(job.task, machine, shelf)),
        **job.task.identity(),
        "revision": REVISION,
    }
    return {**key, "answers": job.task.answers} if settings is None else {**key, **of_backend(settings)}


def content_of(job: Job, shelf: ResourceCache) -> str:
    """What a job's model is known by, whatever its name and wherever it lies.

    Raises:
        ModelError: the model cannot be read.
    """
    return str(job.source.identity(job.task, job.machine.settled(bfloat16=True), shelf)["content"])


def of_backend(settings: Settings) -> dict[str, Any]:
    """A backend's part of the store's key."""
    return {
        "backend": settings.name,
        "settings": {name: value for name, value in asdict(settings).items() if name != settings.judges},
        "backend_revision": [Settings.revision, settings.revision],
        "libraries": {name: version(name) for name in settings.libraries},
    }


def find_work(job: Job, store: Store, shelf: ResourceCache) -> tuple[JobOutcome, list[WorkItem]]:
    """What of a job is not known yet, and what its answers are kept under; no model is loaded.

    Requests for one kind of answer are one order.

    Raises:
        ModelError: the model cannot be read; StoreError: the store cannot.
    """
    settled = [one.settings and settle(one.settings, job.task) for one in job.requests]
    asked: dict[Settings | None, list[Request]] = {}
    for settings, request in zip(settled, job.requests, strict=True):
        asked.setdefault(settings, []).append(request)
    keys: dict[Settings | None, str] = {}
    found, content = [], ""
    for settings, requests in asked.items():
        key = key_of(job, settings, shelf)
        entry = store.entry(key, job.source.name)
        keys[settings], content = entry.digest, str(key["source"]["content"])
        every = requests[0].examples if len(requests) == 1 else [one for part in requests for one in part.examples]
        missing = entry.missing(every)
        if missing:
            found.append(WorkItem(key, settings, missing, all(one.optional for one in requests)))
    return JobOutcome(tuple(keys[settings] for settings in settled), content), found


def run_job(job: Job, store: Store, shelf: ResourceCache, progress: Progress) -> JobOutcome:
    """Do a job in this process: what is not known is asked of the model, and kept.

    Raises:
        StoreError: the store cannot be read or written.
    """
    try:
        done, missing = find_work(job, store, shelf)
        if not missing:
            return done
        opened = opening(job, shelf)
        if job.dry:
            return replace(done, estimate=estimate(opened, missing))
        for order in missing:
            store.entry(order.key).prepare()

        def noted(settings: Settings | None) -> Predictor:
            model = opened(settings)
            for order in missing:
                store.entry(order.key).note(notes_of(job, shelf))
            return model

        carry_out(
            job.source.name,
            noted,
            missing,
            lambda order: filling(order.examples, store.entry(order.key).add),
            progress,
        )
        return done
    except ModelError as error:
        return JobOutcome(failure=str(error))


def carry_out(
    name: str,
    opened: Callable[[Settings | None], Predictor],
    missing: Sequence[WorkItem],
    keeping: Callable[[WorkItem], AbstractContextManager[Keep]],
    progress: Progress,
) -> None:
    """Ask a model what is not known of it.

    Args:
        name: the model's.
        opened: opens it, see `opening`.
        missing: what to ask.
        keeping: opens what takes the answers to an order, block by block.
        progress: opens a stage of the work.

    Raises:
        ModelError: the model cannot be loaded or run, or gives a number that is none.
    """
    if log.isEnabledFor(logging.INFO):
        todo = estimate(opened, missing)
        level = logging.INFO if todo.seconds >= WORTH_SAYING else logging.DEBUG
        log.log(level, "%s: %s", name, todo)
    for order in missing:
        try:
            with (
                progress(f"{name}: {order.label}", len(order.examples)) as advance,
                keeping(order) as keep,
            ):
                for block in answer_blocks(opened(order.settings), name, order, advance):
                    keep(block)
        except ModelError:
            if not order.optional:
                raise


def opening(job: Job, shelf: ResourceCache) -> Callable[[Settings | None], Predictor]:
    """What opens a job's model in the number format of a backend, or of answers; once in each format."""
    opened: dict[Machine, Predictor] = {}

    def predictor(settings: Settings | None) -> Predictor:
        machine = job.machine.settled(settings is None or settings.bfloat16)
        if machine not in opened:
            opened[machine] = job.source.open(job.task, machine, shelf)
        return opened[machine]

    return predictor


def notes_of(job: Job, shelf: ResourceCache) -> tuple[str, ...]:
    """What a job's source has noted of the model while it was opened, a sentence each."""
    return shelf.noted.get(job.source.place, (0, ()))[1]


def answer_blocks(model: Predictor, name: str, order: WorkItem, advance: Advance) -> Iterator[Block]:
    """A model's answers to an order, or what it looked at, block by block.

    Raises:
        ModelError: the model cannot be run, lacks what a backend asks of it, or gives a number that is none.
    """
    if order.settings is None:
        try:
            yield from model.predict(order.examples, advance)
        except ValueError as error:
            raise ModelError(f"{name}: {error}") from error
        return
    if not is_perturbed(model):
        raise ModelError(f"{name} answers to whole texts only; set `attribution` to `none`")
    for row in attribute(model, order.examples, order.settings, advance):
        if not (np.isfinite(row.probs).all() and np.isfinite(row.scores).all()):
            raise ModelError(f"{name}: {NOT_FINITE}")
        yield [row]


def read_precomputed(job: Job, shelf: ResourceCache) -> list[Answer | None]:
    """The answers of a model that has them at hand, in the order of its requests; nothing is kept.

    Raises:
        ModelError: they cannot be read, or what is asked is not among them.
    """
    opened = opening(job, shelf)
    found: list[Answer | None] = []
    for request in job.requests:
        order = WorkItem({}, request.settings, request.examples, request.optional)
        try:
            blocks = list(answer_blocks(opened(request.settings), job.source.name, order, lambda done: None))
        except ModelError:
            if not request.optional:
                raise
            found.append(None)
            continue
        found.append(together(blocks))
    return found


def together(blocks: Sequence[Block]) -> Answer:
    """The blocks of one request as one answer: of answers of one kind, or of attributions."""
    answers = [block for block in blocks if not isinstance(block, Sequence)]
    if answers:
        return Answer(type(answers[0]).joined(answers))
    rows = [row for block in blocks if isinstance(block, Sequence) for row in block]
    return Answer(_of_probabilities(np.array([row.probs for row in rows])), rows)


def _of_probabilities(probs: Floats) -> Predictions:
    """The answers that (N, C) probabilities are, of a model that was asked what it looked at."""
    return answer_class("classes").of_columns({"probs": probs, "state": np.full(len(probs), ANSWERED)})


def answer(store: Store, key: str, request: Request) -> Answer | None:
    """What the store keeps of a request that was asked; None where it could not be had, and need not.

    Raises:
        StoreError: the store cannot be read.
    """
    entry = store.kept(key)
    if request.optional and entry.missing(request.examples):
        return None
    if request.settings is None:
        return Answer(entry.predictions(request.examples), key=key)
    found = entry.attributions(request.examples)
    return Answer(_of_probabilities(found.probs), found, key)
