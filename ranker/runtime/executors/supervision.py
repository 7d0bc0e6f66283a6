"""What a supervisor knows of models that work elsewhere, whatever carries messages between them and it."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ranker.errors import ModelError
from ranker.runtime.base import NOTHING, Job, JobOutcome, Known, WorkItem
from ranker.runtime.executors.worker_process import Message, WorkerSession, estimate_of, printable
from ranker.runtime.worker import find_work
from ranker.sources.base import Machine, ResourceCache

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.runtime.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkerTask:
    """One model that is to work elsewhere.

    Attributes:
        number: of its job.
        job: itself.
        done: what is known of it beforehand.
        missing: what it is to be asked.
    """

    number: int
    job: Job
    done: JobOutcome
    missing: Sequence[WorkItem]

    def visit(self, machine: Machine) -> WorkerSession:
        """What is sent to the worker."""
        return WorkerSession(replace(self.job, requests=(), machine=machine), self.missing)


def missing_work(
    jobs: Sequence[Job], store: Store, known: Known = NOTHING
) -> Generator[tuple[int, JobOutcome], None, list[WorkerTask]]:
    """Find the jobs of which something is missing in a store; no model is loaded.

    Yields:
        The number of each job of which nothing is, or whose model cannot be read, and what became of it.

    Returns:
        The others.

    Raises:
        StoreError: the store cannot be read or written.
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
            tasks.append(WorkerTask(number, job, done, missing))
        else:
            yield number, done
    shelf.clear()  # which closes files
    return tasks


def handle_message(message: Message, task: WorkerTask, store: Store, advance: Advance) -> JobOutcome | None:
    """Keep what a worker's message brings.

    Args:
        message: of the worker.
        task: that it is at.
        store: where its answers are kept, each shard looked at as one that comes from anywhere.
        advance: told how many more examples are done.

    Returns:
        How the task has ended, if the message says so.

    Raises:
        ValueError, TypeError, LookupError, OverflowError, RecursionError: the message is none of a worker's.
        StoreError: the store cannot be written.
    """
    match message.head["what"]:
        case "beat":
            advance(max(int(message.head["rows"]), 0))
        case "log":
            log.log(int(message.head["level"]), "%s", printable(str(message.head["text"])))
        case "rows":
            order = task.missing[int(message.head["order"])]
            store.entry(order.key).receive(message.body, order.examples)
        case "notes":
            for order in task.missing:
                store.entry(order.key).note(message.head["notes"])
        case "ended":
            failure = printable(str(message.head["failure"]))
            estimate = estimate_of(message.head["estimate"])
            return JobOutcome(failure=failure) if failure else replace(task.done, estimate=estimate)
        case what:
            raise ValueError(f"{what!r} is no message")
    return None
