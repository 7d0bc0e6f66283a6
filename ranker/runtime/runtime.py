"""Settings of a run: machine, executor, store and progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ranker.files.scratch import Scratch
from ranker.progress import Progress, Watch, show_progress, steps
from ranker.runtime.base import Executor
from ranker.runtime.executors.serial import Serial
from ranker.runtime.storage import USER_STORE, UserStore
from ranker.runtime.store import Store, store_of
from ranker.sources.base import Machine


@dataclass(frozen=True)
class Runtime:
    """Settings of a run.

    Attributes:
        machine: device and number format of the models.
        store: of answers, so that a second run asks no model: a `Store`, or its folder or URL. By default the user's,
            which is that of the command line. None keeps nothing beyond the run.
        executor: runs the models; by default this process, one model after the other, without other processes.
        progress: opens a stage of the work; by default it is shown on a terminal and in a notebook.

    Example:
        >>> Runtime().store, Runtime().executor
        (USER_STORE, Serial())
        >>> Runtime(store=None).store is None
        True
    """

    machine: Machine = Machine()
    store: Store | str | Path | UserStore | None = USER_STORE
    executor: Executor = field(default_factory=Serial)
    progress: Progress = field(default=show_progress, repr=False)

    def steps(self, text: str, total: int) -> AbstractContextManager[Watch]:
        """Open an activity whose steps have names; it is shown if it takes long. See `ranker.progress.steps`."""
        return steps(self.progress, text, total)

    @contextmanager
    def open_store(self) -> Iterator[Store]:
        """Open the store, which the next run reads anew; without one, a folder that lasts as long as the run."""
        store = store_of(self.store)
        if store is not None:
            try:
                yield store
            finally:
                store.forget()
            return
        with Scratch() as scratch:
            yield Store(scratch.path)
