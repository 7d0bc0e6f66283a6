"""Supervision of models that work elsewhere, independent of the transport of messages."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import replace

from ranker.errors import ModelError
from ranker.progress import Advance
from ranker.runtime.base import NOTHING, Job, JobOutcome, Known
from ranker.runtime.executors.worker_process import Message, WorkerTask, estimate_of, printable, usage_of
from ranker.runtime.store import Store
from ranker.runtime.worker import find_work
from ranker.sources.base import ResourceCache

log = logging.getLogger(__name__)


def missing_work(
    jobs: Sequence[Job], store: Store, known: Known = NOTHING
) -> Generator[tuple[int, JobOutcome], None, list[WorkerTask]]:
    """Yield the outcomes of jobs that are complete, or cannot be read, and return the others; no model is loaded."""
    tasks, cache = list[WorkerTask](), ResourceCache(initial=known)
    for number, job in enumerate(jobs):
        try:
            done, missing = find_work(job, store, cache)
        except ModelError as error:
            yield number, JobOutcome(failure=str(error))
            continue
        for order in () if job.dry else missing:
            store.entry(order.key).prepare()
        if missing:
            tasks.append(WorkerTask(number, job, done, missing, cache.folder))
        else:
            yield number, done
    cache.clear()  # which closes files
    return tasks


def handle_message(message: Message, task: WorkerTask, store: Store, advance: Advance) -> JobOutcome | None:
    """Store the content of a worker's message, its shards checked as untrusted; return the outcome of an ended task.

    Raises:
        ValueError, TypeError, LookupError, OverflowError, RecursionError: no message of a worker.
    """
    match message.head["what"]:
        case "beat":
            advance(max(int(message.head["rows"]), 0))
        case "log":
            log.log(int(message.head["level"]), "%s", printable(str(message.head["text"])))
        case "rows":
            order = task.missing[int(message.head["order"])]
            store.entry(order.key).accept_shard(message.body, order.examples)
        case "notes":
            for order in task.missing:
                store.entry(order.key).note(message.head["notes"])
        case "ended":
            failure = printable(str(message.head["failure"]))
            if failure:
                return JobOutcome(failure=failure)
            numbers = message.head["estimate"], message.head["used"]
            return replace(task.done, estimate=estimate_of(numbers[0]), used=usage_of(numbers[1]))
        case what:
            raise ValueError(f"{what!r} is no message")
    return None
