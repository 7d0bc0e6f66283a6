"""Requests to models and their outcomes, as shared by callers and executors."""

from __future__ import annotations

import math
from collections.abc import Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np

from factors.types import Attributions, Example
from ranker.attribution.settings import Settings
from ranker.numbers import minutes
from ranker.progress import Progress
from ranker.runtime.store import Store
from ranker.sources.base import Bill, Machine, Needs, Source
from ranker.tasks.base import Predictions, Task


@dataclass(frozen=True)
class Request:
    """Request to a model about some examples.

    Attributes:
        settings: of an attribution backend; None for answers alone.
        optional: whether a model that cannot do this goes on without it.
    """

    examples: Sequence[Example]
    settings: Settings | None = None
    optional: bool = False


@dataclass(frozen=True)
class Answer:
    """Answers and attributions of a model on N examples.

    Attributes:
        predictions: its answers; of attributions alone, which outputs they are of.
        attributions: (N,) of its answers; empty where none were asked.
        key: the digest of the store's key, see `Store.entry_of`; "" where it is not stored.
    """

    predictions: Predictions
    attributions: Sequence[Attributions] = ()
    key: str = ""

    def at(self, index: int) -> tuple[Any, Attributions]:
        """Return the answer to one example, and its attributions, without tokens where nothing was attributed."""
        (answer,) = self.predictions.part([index]).answers() or (None,)
        if self.attributions:
            return answer, self.attributions[index]
        probabilities = self.predictions.probabilities()
        probs = np.ones(1) if probabilities is None else probabilities[index]
        return answer, Attributions(probs, target=len(probs) - 1)


@dataclass(frozen=True)
class Job:
    """One model's work: all requests to it. It is sent to other processes as it is.

    Attributes:
        source: pinned, see `ranker.sources.base.ModelInfo`.
        task: the labels, in the order of the probabilities.
        dry: only count the missing examples, and estimate the time for them.
        size: bytes that the source loads, by its own statement.
        preload: modules worth importing before, by its own statement.
        needs: requirements on the machine, by its own statement.
    """

    source: Source
    task: Task
    requests: tuple[Request, ...]
    machine: Machine = Machine()
    dry: bool = False
    size: int = 0
    preload: tuple[str, ...] = ()
    needs: Needs = Needs()


@dataclass(frozen=True)
class WorkItem:
    """Missing examples of a job under one key.

    Attributes:
        settings: of an attribution backend; None for answers alone.
        examples: those missing, each text once.
        optional: whether a model that cannot do this goes on without it.
    """

    key: Mapping[str, Any]
    settings: Settings | None
    examples: Sequence[Example]
    optional: bool

    @property
    def label(self) -> str:
        """Label of the work in progress bars."""
        return "answers" if self.settings is None else self.settings.name


@dataclass(frozen=True)
class Usage:
    """Cost of some work on a machine.

    Attributes:
        seconds: of processor time; on an accelerator, seconds on the clock.
        memory: bytes of the largest process.
        stored: bytes written to the store.
        accelerated: whether an accelerator worked.

    Example:
        >>> print(Usage(90.0, 480_000_000, 2_000_000) + Usage(30.0, 500_000_000, 1_000_000))
        2.0 min of processor time, 500 MB of memory a worker, 3 MB to store
    """

    seconds: float = 0.0
    memory: int = 0
    stored: int = 0
    accelerated: bool = False

    def __add__(self, usage: Usage) -> Usage:
        seconds, memory = self.seconds + usage.seconds, max(self.memory, usage.memory)
        return Usage(seconds, memory, self.stored + usage.stored, self.accelerated or usage.accelerated)

    def __str__(self) -> str:
        """Return the cost in a line."""
        kind = "GPU" if self.accelerated else "processor"
        memory = f"{self.memory / 1e6:,.0f} MB of memory a worker"
        return f"{minutes(self.seconds)} of {kind} time, {memory}, {self.stored / 1e6:,.3g} MB to store"


@dataclass(frozen=True)
class TimeEstimate:
    """Work left for one model.

    Attributes:
        predict: examples whose probabilities are missing.
        explain: examples whose attributions are missing; the most over several backends.
        passes: forward passes for all of that; a backward pass counts as two.
        load: seconds to load the model, measured.
        usage: of all that, loading included, as measured on some rows; None behind a server, which is not asked.
        bill: requests to a server, if the model is behind one.
    """

    predict: int
    explain: int
    passes: int
    load: float = 0.0
    usage: Usage | None = None
    bill: Bill | None = None

    @property
    def rate(self) -> float:
        """Forward passes a second; nan where unknown."""
        seconds = 0.0 if self.usage is None else self.usage.seconds - self.load
        return self.passes / seconds if seconds > 0 else math.nan

    def __str__(self) -> str:
        """Return the estimate in a line."""
        parts = [
            f"{count:,} {noun}" for count, noun in ((self.predict, "to predict"), (self.explain, "to explain")) if count
        ]
        if self.bill is not None:
            return f"rows: {', '.join(parts)}; {self.bill}"
        rows, passes = f"rows: {', '.join(parts)}", f"{self.passes:,} forward passes"
        if self.usage is None:
            return f"{rows} ({passes})"
        return f"{rows}; {self.usage} ({passes}, {self.rate:,.0f} a second)"


@dataclass(frozen=True)
class JobOutcome:
    """Outcome of a job: a few words and numbers, but no answers, which are in the store.

    Attributes:
        keys: one for each request: the store's digest of its answers.
        content: the identity of the model, wherever it lies.
        estimate: of the work, before it began; None where nothing was missing, or no estimate was asked for.
        used: cost of the work; None where nothing was missing, and in a dry job.
        failure: the reason why the job failed, in a line; "" if it succeeded.
    """

    keys: tuple[str, ...] = ()
    content: str = ""
    estimate: TimeEstimate | None = None
    used: Usage | None = None
    failure: str = ""


Known: TypeAlias = Mapping[Hashable, Any]
"""Content of a `ResourceCache`."""

NOTHING: Known = MappingProxyType({})


class Executor(Protocol):
    """Runs jobs in this process, in workers, or remotely."""

    def run(
        self, jobs: Sequence[Job], store: Store, progress: Progress, known: Known = NOTHING
    ) -> Generator[tuple[int, JobOutcome], None, None]:
        """Run jobs; their answers are in the store afterwards.

        A model that fails fails its own job alone. Answers from before an interruption stay in the store.

        Args:
            known: the content of this process's cache, such as where models lie; it is not changed.

        Yields:
            The number of a job that has ended, and its outcome; in any order.

        Raises:
            StoreError: the store cannot be read or written.
        """
