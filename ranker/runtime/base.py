"""What models are asked, and what becomes of it: the words that whoever asks and whoever has it done share."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from factors.types import Attributions, Example
from ranker.attribution.settings import Settings
from ranker.numbers import minutes
from ranker.sources.base import Machine, Needs, Source
from ranker.tasks.base import Predictions, Task

if TYPE_CHECKING:
    from ranker.progress import Progress
    from ranker.runtime.store import Store


@dataclass(frozen=True)
class Request:
    """What a model is asked about some examples.

    Attributes:
        examples: the examples.
        settings: of an attribution backend; None where answers alone are wanted.
        optional: a model that cannot be asked this does not fail for it.
    """

    examples: Sequence[Example]
    settings: Settings | None = None
    optional: bool = False


@dataclass(frozen=True)
class Answer:
    """What a model makes of N examples.

    Attributes:
        predictions: its answers.
        attributions: (N,) what it looked at; empty where that was not asked.
        key: what the store keeps it under, see `Store.kept`; "" where it is kept nowhere.
    """

    predictions: Predictions
    attributions: Sequence[Attributions] = ()
    key: str = ""

    def seen(self, at: int) -> Attributions:
        """What a factor sees of one example; without tokens where nothing was attributed."""
        if self.attributions:
            return self.attributions[at]
        every = self.predictions.probabilities()
        if every is None:
            raise ValueError(f"answers of the kind {self.predictions.kind!r} have no probabilities of labels")
        probs = every[at]
        return Attributions(probs, target=len(probs) - 1)


@dataclass(frozen=True)
class Job:
    """One model's work: all that is asked of it. It goes to other processes as it is.

    Attributes:
        source: pinned, see `ranker.sources.base.ModelInfo`.
        task: the labels, in the order of the probabilities.
        requests: what is asked.
        machine: where and how it is run.
        dry: only count what is not known yet, and measure how long it would take.
        size: bytes that the source loads, as it states.
        preload: modules that it states are worth importing before.
        needs: what it states that it needs of the machine.
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
    """What is not known yet of what a job asks under one key.

    Attributes:
        key: of the store.
        settings: of an attribution backend; None where answers alone are wanted.
        examples: those that are not known, each text once.
        optional: a model that cannot be asked this does not fail for it.
    """

    key: Mapping[str, Any]
    settings: Settings | None
    examples: Sequence[Example]
    optional: bool

    @property
    def label(self) -> str:
        """As progress calls it."""
        return "answers" if self.settings is None else self.settings.name


@dataclass(frozen=True)
class TimeEstimate:
    """What one model has still to do.

    Attributes:
        predict: examples whose probabilities are not known.
        explain: examples whose attributions are not known; of several backends the one that lacks most.
        passes: forward passes for all of that; on the way back one counts as two.
        rate: passes a second, measured; nan where that cannot be.
    """

    predict: int
    explain: int
    passes: int
    rate: float

    @property
    def seconds(self) -> float:
        """How long the passes alone will take; 0 where that is not known. Small models spend as much between them."""
        return self.passes / self.rate if self.rate > 0 else 0.0

    def __str__(self) -> str:
        """The estimate in a line."""
        parts = [
            f"{count:,} {what}" for count, what in ((self.predict, "to predict"), (self.explain, "to explain")) if count
        ]
        rows, passes = f"rows: {', '.join(parts)}", f"{self.passes:,} forward passes"
        if not self.rate > 0:
            return f"{rows} ({passes})"
        return f"{rows}; at least {minutes(self.seconds)} ({passes}, {self.rate:,.0f} a second)"


@dataclass(frozen=True)
class JobOutcome:
    """What became of a job: a few words and numbers, never answers. These are in the store.

    Attributes:
        keys: one for each request: what the store keeps its answers under.
        content: what identifies the model, wherever it lies.
        estimate: of a dry job: what is left to do; None where all is known.
        failure: why the job could not be done, in a line; "" where it was.
    """

    keys: tuple[str, ...] = ()
    content: str = ""
    estimate: TimeEstimate | None = None
    failure: str = ""


Known: TypeAlias = Mapping[Hashable, Any]
"""What lies on a shelf."""

NOTHING: Known = MappingProxyType({})


class Executor(Protocol):
    """Who has jobs done: this process, others, or another machine."""

    def run(
        self, jobs: Sequence[Job], store: Store, progress: Progress, known: Known = NOTHING
    ) -> Generator[tuple[int, JobOutcome], None, None]:
        """Have jobs done; what they find is in the store afterwards.

        A model that fails fails its own job alone. What was found before an interruption stays in the store.

        Args:
            jobs: one for each model.
            store: where their answers are kept.
            progress: opens a stage of the work.
            known: what is on the shelf of this process already, such as where models lie; it is not changed.

        Yields:
            The number of a job that has ended, and what became of it; in any order.

        Raises:
            StoreError: the store cannot be read or written.
        """
