"""Executor that runs jobs in this process, one after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from ranker.progress import Progress
from ranker.runtime.base import NOTHING, Job, JobOutcome, Known
from ranker.runtime.store import Store
from ranker.runtime.worker import run_job
from ranker.sources.base import ResourceCache


@dataclass(frozen=True)
class Serial:
    """Executor that does all the work in this process, without isolation. See `ranker.runtime.base.Executor`.

    Example:
        >>> list(Serial().run([], None, None))
        []
    """

    def run(
        self, jobs: Sequence[Job], store: Store, progress: Progress, known: Known = NOTHING
    ) -> Generator[tuple[int, JobOutcome], None, None]:
        """Do jobs in order; those that share something find it in one cache."""
        cache = ResourceCache(initial=known)
        for number, job in enumerate(jobs):
            yield number, run_job(job, store, cache, progress)
