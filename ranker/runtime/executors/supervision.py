"""Supervision of models that work elsewhere, independent of the transport of messages."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ranker.errors import ModelError
from ranker.runtime.base import NOTHING, Job, JobOutcome, Known, WorkItem
from ranker.runtime.executors.worker_process import Message, WorkerSession, estimate_of, printable, usage_of
from ranker.runtime.worker import find_work
from ranker.sources.base import Machine, ResourceCache

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.runtime.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkerTask:
    """Work of one model elsewhere.

    Attributes:
        number: of its job.
        job: itself.
        done: its outcome as far as the store knows it.
        missing: the missing examples.
        folder: see `ResourceCache`.
    """

    number: int
    job: Job
    done: JobOutcome
    missing: Sequence[WorkItem]
    folder: Path | None = None

    def session(self, machine: Machine) -> WorkerSession:
        """Return the session that is sent to the worker."""
        return WorkerSession(replace(self.job, requests=(), machine=machine), self.missing, self.folder)


def missing_work(
    jobs: Sequence[Job], store: Store, known: Known = NOTHING
) -> Generator[tuple[int, JobOutcome], None, list[WorkerTask]]:
    """Find the jobs with examples missing from a store; no model is loaded.

    Yields:
        The number and the outcome of each job that is complete, or whose model cannot be read.

    Returns:
        The others.
    """
    tasks, shelf = list[WorkerTask](), ResourceCache(initial=known)
    for number, job in enumerate(jobs):
        try:
            done, missing = find_work(job, store, shelf)
        except ModelError as error:
            yield number, JobOutcome(failure=str(error))
            continue
        for order in () if job.dry else missing:
            store.entry(order.key).prepare()
        if missing:
            tasks.append(WorkerTask(number, job, done, missing, shelf.folder))
        else:
            yield number, done
    shelf.clear()  # which closes files
    return tasks


def handle_message(message: Message, task: WorkerTask, store: Store, advance: Advance) -> JobOutcome | None:
    """Store the content of a worker's message.

    Args:
        message: of the worker.
        task: its current one.
        store: of its answers; each shard is checked as untrusted.
        advance: called with the number of further examples done.

    Returns:
        The outcome of the task, if it has ended.

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
