"""Work of one model: the missing examples of a job, and the model's answers to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from factors.types import Floats
from ranker.attribution import attribute
from ranker.attribution.settings import Settings, settle
from ranker.errors import ModelError
from ranker.progress import Advance, Progress
from ranker.runtime.base import Answer, Job, JobOutcome, Request, TimeEstimate, Usage, WorkItem
from ranker.runtime.estimate import Meter, estimate
from ranker.runtime.store import Block, Keep, Store, collect_blocks
from ranker.sources.base import Machine, Predictor, ResourceCache, is_perturbed, version
from ranker.sources.faults import model_errors
from ranker.tasks.base import ANSWERED, NO_ANSWER, Predictions, answer_class

log = logging.getLogger(__name__)

REVISION = 1
"""Version of answers, raised when the same model gives other numbers; part of the store's key."""

NOT_FINITE = "the model gives numbers that are not finite"

WORTH_MEASURING = 2_000
"""Forward passes from which on a run measures some of its work beforehand."""


def key_of(job: Job, settings: Settings | None, cache: ResourceCache) -> dict[str, Any]:
    """Return the store key, of a backend or of answers: every input except the example that affects a number."""
    machine = job.machine.settled(settings is None or settings.bfloat16)
    with model_errors():
        source = dict(job.source.identity(job.task, machine, cache))
    key = {
        "source": source,
        **job.task.identity(),
        "revision": REVISION,
    }
    if settings is None:
        return {**key, "answers": job.task.answers}
    outputs = job.task.outputs
    return {**key, **of_backend(settings), **({"output": outputs[0]} if len(outputs) == 1 else {})}


def content_of(job: Job, cache: ResourceCache) -> str:
    """Return the identity of a job's model, independent of its name and place."""
    with model_errors():
        return str(job.source.identity(job.task, job.machine.settled(bfloat16=True), cache)["content"])


def of_backend(settings: Settings) -> dict[str, Any]:
    """Return a backend's part of the store's key."""
    return {
        "backend": settings.name,
        "settings": {name: value for name, value in asdict(settings).items() if name != settings.judges},
        "backend_revision": [Settings.revision, settings.revision],
        "libraries": {name: version(name) for name in settings.libraries},
    }


def find_work(job: Job, store: Store, cache: ResourceCache) -> tuple[JobOutcome, list[WorkItem]]:
    """List the examples of a job that are missing from the store, with their keys; no model is loaded.

    Requests for one kind of answer are one item.
    """
    cache.folder, cache.offline = store.folder, job.dry
    settled = [request.settings and settle(request.settings, job.task) for request in job.requests]
    by_settings: dict[Settings | None, list[Request]] = {}
    for settings, request in zip(settled, job.requests, strict=True):
        by_settings.setdefault(settings, []).append(request)
    keys: dict[Settings | None, str] = {}
    work, content = [], ""
    for settings, requests in by_settings.items():
        key = key_of(job, settings, cache)
        entry = store.entry(key, job.source.name)
        keys[settings], content = entry.digest, str(key["source"]["content"])
        examples = (
            requests[0].examples
            if len(requests) == 1
            else [example for request in requests for example in request.examples]
        )
        missing = entry.missing(examples)
        if missing:
            work.append(WorkItem(key, settings, missing, all(request.optional for request in requests)))
    return JobOutcome(tuple(keys[settings] for settings in settled), content), work


def run_job(job: Job, store: Store, cache: ResourceCache, progress: Progress) -> JobOutcome:
    """Run a job in this process: ask the model for missing answers, and store them."""
    try:
        done, missing = find_work(job, store, cache)
        if not missing:
            return done
        opened = model_opener(job, cache)
        if job.dry:
            return replace(done, estimate=estimate_job(job, opened, missing))
        for order in missing:
            store.entry(order.key).prepare()

        def open_and_note(settings: Settings | None) -> Predictor:
            model = opened(settings)
            for order in missing:
                store.entry(order.key).note(notes_of(job, cache))
            return model

        todo, used = carry_out(
            job,
            open_and_note,
            missing,
            lambda order: collect_blocks(order.examples, store.entry(order.key).add),
            progress,
        )
        for order in missing:
            store.entry(order.key).note(notes_of(job, cache))
        return replace(done, estimate=todo, used=used)
    except ModelError as error:
        return JobOutcome(failure=str(error))


def carry_out(
    job: Job,
    opened: Callable[[Settings | None], Predictor],
    missing: Sequence[WorkItem],
    keeping: Callable[[WorkItem], AbstractContextManager[Keep]],
    progress: Progress,
) -> tuple[TimeEstimate | None, Usage]:
    """Ask a model for its missing answers; return an estimate from before, where it is logged, and the cost.

    Args:
        opened: opens it, see `model_opener`.
        keeping: opens a function that takes the answers of an item, block by block.

    Raises:
        ModelError: the model cannot be loaded or run, or gives no finite number.
    """
    name, todo = job.source.name, None
    if log.isEnabledFor(logging.INFO):
        todo = estimate_job(job, opened, missing, WORTH_MEASURING)
        log.log(logging.DEBUG if todo.usage is None else logging.INFO, "%s: %s", name, todo)
    meter = Meter(job.machine)
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
    return todo, meter.usage + Usage(0.0 if todo is None else todo.load)


def estimate_job(
    job: Job, opened: Callable[[Settings | None], Predictor], missing: Sequence[WorkItem], measured_from: int = 0
) -> TimeEstimate:
    """Estimate the missing work of a job. See `estimate`."""

    def ask(model: Predictor, order: WorkItem) -> Iterator[Block]:
        return answer_blocks(model, job.source.name, order, lambda done: None)

    return estimate(opened, ask, missing, job.machine, measured_from)


def model_opener(job: Job, cache: ResourceCache) -> Callable[[Settings | None], Predictor]:
    """Return a function that opens a job's model in the number format of a backend, or of answers, once in each."""
    opened: dict[Machine, Predictor] = {}

    def predictor(settings: Settings | None) -> Predictor:
        machine = job.machine.settled(settings is None or settings.bfloat16)
        if machine not in opened:
            with model_errors():
                opened[machine] = job.source.open(job.task, machine, cache)
        return opened[machine]

    return predictor


def notes_of(job: Job, cache: ResourceCache) -> tuple[str, ...]:
    """Return the notes of a job's source on the model from opening it, a sentence each."""
    return cache.noted.get(job.source.place, (0, ()))[1]


def answer_blocks(model: Predictor, name: str, order: WorkItem, advance: Advance) -> Iterator[Block]:
    """Yield a model's answers to an item, or attributions; a ModelError if it cannot be run, or gives nan or inf."""
    with model_errors():
        if order.settings is None:
            try:
                yield from model.predict(order.examples, advance)
            except ValueError as error:
                raise ModelError.at(name, error) from error
            return
        if not is_perturbed(model):
            predicate = "answers to whole texts only; set `attribution` to `none`"
            raise ModelError.of(name, predicate, option="attribution", value=order.settings.name, allowed=("none",))
        for row in attribute(model, order.examples, order.settings, advance):
            undefined = row.undefined and model.classes == 1
            if not (undefined or (np.isfinite(row.probs).all() and np.isfinite(row.scores).all())):
                raise ModelError.at(name, NOT_FINITE)
            yield [row]


def read_precomputed(job: Job, cache: ResourceCache) -> list[Answer | None]:
    """Return a model's precomputed answers, in the order of its requests; a ModelError if one is missing."""
    opened = model_opener(job, cache)
    answers: list[Answer | None] = []
    for request in job.requests:
        order = WorkItem({}, request.settings, request.examples, request.optional)
        try:
            blocks = list(answer_blocks(opened(request.settings), job.source.name, order, lambda done: None))
        except ModelError:
            if not request.optional:
                raise
            answers.append(None)
            continue
        answers.append(join_blocks(blocks))
    return answers


def join_blocks(blocks: Sequence[Block]) -> Answer:
    """Join the blocks of one request into one answer: answers of one kind, or attributions."""
    answers = [block for block in blocks if not isinstance(block, Sequence)]
    if answers:
        return Answer(type(answers[0]).joined(answers))
    rows = [row for block in blocks if isinstance(block, Sequence) for row in block]
    return Answer(_of_probabilities(np.array([row.probs for row in rows])), rows)


def _of_probabilities(probs: Floats) -> Predictions:
    """Return (N, C) probabilities of a model with attributions as answers; none where there is nothing to attribute."""
    state = np.where(np.isnan(probs).any(axis=1), NO_ANSWER, ANSWERED)
    return answer_class("classes").of_columns({"probs": probs, "state": state})


def answer(store: Store, key: str, request: Request) -> Answer | None:
    """Return the stored answers of a request; None where they are incomplete and optional."""
    entry = store.entry_of(key)
    if request.optional and entry.missing(request.examples):
        return None
    if request.settings is None:
        return Answer(entry.predictions(request.examples), key=key)
    attributions = entry.attributions(request.examples)
    return Answer(_of_probabilities(attributions.probs), attributions, key)
