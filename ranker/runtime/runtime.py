"""How a run works: on what machine, through which executor, and where it keeps what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ranker.files.scratch import Scratch
from ranker.progress import Progress, Watch, shown, steps
from ranker.runtime.base import Executor
from ranker.runtime.executors.serial import Serial
from ranker.runtime.storage import USER_STORE, UserStore
from ranker.runtime.store import Store, store_of
from ranker.sources.base import Machine


@dataclass(frozen=True)
class Runtime:
    """How a run works.

    Attributes:
        machine: where and how models are run.
        store: where answers are kept, so that a second run asks no model: a `Store`, or its folder or URL. By default
            the user's, which is that of the command line. None is none: nothing is kept beyond the run.
        executor: who does the work; by default this process, a model after the other, and no other process is started.
        progress: opens a stage of the work; by default it is shown where a person looks on (a terminal, a notebook).

    Example:
        >>> Runtime().store, Runtime().executor
        (USER_STORE, Serial())
        >>> Runtime(store=None).store is None
        True
    """

    machine: Machine = Machine()
    store: Store | str | Path | UserStore | None = USER_STORE
    executor: Executor = field(default_factory=Serial)
    progress: Progress = field(default=shown, repr=False)

    def steps(self, text: str, total: int) -> AbstractContextManager[Watch]:
        """Open an activity whose steps have names; it is shown if it takes long. See `ranker.progress.steps`."""
        return steps(self.progress, text, total)

    @contextmanager
    def kept(self) -> Iterator[Store]:
        """The store, which the next run reads anew; without one, a folder that lasts as long as the run."""
        found = store_of(self.store)
        if found is not None:
            try:
                yield found
            finally:
                found.forget()
            return
        with Scratch() as scratch:
            yield Store(scratch.path)
