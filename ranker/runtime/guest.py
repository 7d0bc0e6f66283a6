"""What one model makes of examples: from the store where it is known, from the model itself where it is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factors.types import Attributions, Example
from ranker.attribution import attribute
from ranker.attribution.settings import Settings
from ranker.errors import ModelError, StoreError
from ranker.runtime.base import Answer, Request
from ranker.sources.base import ModelOptions, version
from ranker.tasks.classes import Classes

if TYPE_CHECKING:
    from ranker.progress import Advance, Progress
    from ranker.runtime.store import Entry, Store
    from ranker.sources.hf.classifiers import Classifier
    from ranker.sources.hf.loading import Bases
    from ranker.sources.suites import Model
    from ranker.tasks.classes import Task


REVISION = 1
"""Of answers: raised when the same model comes to give other numbers; part of the store's key."""

NOT_FINITE = "the model gives numbers that are not finite"


class Subject:
    """One model under study. Its weights are read only when something about it is not in the store yet.

    Args:
        model: the checkpoint.
        task: the labels, in the order of the probabilities.
        options: how it is loaded and run.
        store: where rows are remembered; None computes everything anew.
        bases: adapters whose subjects are given the same dict share the weights of their base in memory.
    """

    def __init__(
        self, model: Model, task: Task, options: ModelOptions, store: Store | None = None, bases: Bases | None = None
    ) -> None:
        self.model, self.task, self.options, self.store, self.bases = model, task, options, store, bases
        self._loaded: dict[str, Classifier] = {}
        self._entries: dict[Settings | None, Entry] = {}

    def classifier(self, settings: Settings | None) -> Classifier:
        """The loaded checkpoint, in the number format of a backend, or of answers; it is loaded once in each format.

        Raises:
            ModelError: it cannot be loaded; LabelError: its labels are not the task's.
        """
        from ranker.sources.hf.classifiers import Classifier

        dtype = self.dtype(settings)
        if dtype not in self._loaded:
            self._loaded[dtype] = Classifier.load(
                self.folder,
                self.task,
                device=self.options.device,
                dtype=dtype,
                label_map=self.label_map,
                trust_remote_code=self.trusted,
                allow_pickle=self.options.allow_pickle,
                token_budget=self.options.token_budget,
                bases=self.bases,
            )
        return self._loaded[dtype]

    @property
    def trusted(self) -> bool:
        """The user has named this model as one that may run code of its own; no suite can."""
        return self.model.name in self.options.trust_remote_code

    @property
    def label_map(self) -> dict[str, str] | None:
        """The checkpoint's own map from its labels to the task's, or the run's."""
        return dict(self.model.label_map) if self.model.label_map else self.options.label_map

    @cached_property
    def folder(self) -> Path:
        """Where the checkpoint's files are; a hub id is asked for once, so that all that is read is of one revision.

        Raises:
            ModelError: the checkpoint is not there.
        """
        from ranker.sources.hf.checkpoints import locate

        return locate(self.model.path, allow_pickle=self.options.allow_pickle)

    @cached_property
    def content(self) -> str:
        """What identifies the checkpoint, wherever it lies, as it was first seen: `files.content_hash`.

        Raises:
            ModelError: the checkpoint is not there, or cannot be read.
        """
        from ranker.sources.hf.files import content_hash

        return content_hash(self.folder, allow_pickle=self.options.allow_pickle)

    def key(self, settings: Settings | None) -> dict[str, Any]:
        """Everything but the example that can change a number, by name.

        Args:
            settings: of an attribution backend; None for the model's answers.
        """
        from ranker.sources.hf.checkpoints import ADAPTERS, brings_code, is_adapter

        code = self.trusted and brings_code(self.folder, allow_pickle=self.options.allow_pickle)
        adapter = is_adapter(self.folder)
        libraries = ("torch", "transformers", "tokenizers", *(("peft",) if adapter else ()))
        key = {
            "model": self.content,
            # a list: the order of the labels is that of the probabilities
            "labels": [[label, sorted(self.task.aliases.get(label, ()))] for label in self.task.labels],
            "label_map": self.label_map,
            "own_code": code,
            **({"adapters": ADAPTERS} if adapter else {}),
            "dtype": self.dtype(settings),
            "revision": REVISION,
            "versions": {name: version(name) for name in libraries},
        }
        return {**key, "answers": Classes.kind} if settings is None else {**key, **of_backend(settings)}

    def dtype(self, settings: Settings | None) -> str:
        """The number format of a backend's attributions, or of the model's answers."""
        return self.options.dtype_of(settings is None or settings.bfloat16)

    def entry(self, settings: Settings | None = None) -> Entry | None:
        """What the store keeps of the model's answers, or of a backend's attributions; it is read once.

        Raises:
            ModelError: the checkpoint is not there.
        """
        settled = None if settings is None else settings.settled(self.task.labels, self.task.shortcut)
        if self.store is not None and settled not in self._entries:
            self._entries[settled] = self.store.entry(self.key(settled), self.model.name)
        return self._entries.get(settled)

    def predictions(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Classes:
        """The answers to examples, in order.

        Raises:
            ModelError: the model cannot be loaded or run, or gives a number that is none.
            StoreError: the store cannot be read or written.
        """

        def predict(missing: Sequence[Example]) -> Iterable[Classes]:
            advance(len(examples) - len(missing))
            classifier = self.classifier(None)
            with self.finite():
                yield from classifier.predict(missing, advance)

        entry = self.entry()
        return Classes.joined(list(predict(examples))) if entry is None else entry.predictions(examples, predict)

    def attributions(
        self, examples: Sequence[Example], settings: Settings, advance: Advance = lambda done: None
    ) -> list[Attributions]:
        """A backend's attributions of examples, in order.

        Raises:
            ModelError: the model cannot be loaded or run, or gives a number that is none.
            StoreError: the store cannot be read or written.
        """
        settled = settings.settled(self.task.labels, self.task.shortcut)

        def compute(missing: Sequence[Example]) -> Iterable[Attributions]:
            advance(len(examples) - len(missing))
            for row in attribute(self.classifier(settled), missing, settled, advance):
                if not (np.isfinite(row.probs).all() and np.isfinite(row.scores).all()):
                    raise ModelError(f"{self.model.name}: {NOT_FINITE}")
                yield row

        entry = self.entry(settled)
        return list(compute(examples)) if entry is None else entry.attributions(examples, compute)

    @contextmanager
    def finite(self) -> Iterator[None]:
        """An answer that is no number is the model's failure."""
        try:
            yield
        except ValueError as error:
            raise ModelError(f"{self.model.name}: {error}") from error

    def answer(self, request: Request, progress: Progress) -> Answer:
        """What the model makes of a request's examples, as a stage of the work.

        Raises:
            ModelError, StoreError: as in `attributions`.
        """
        with progress(f"{self.model.name}: {request.label}", len(request.examples)) as advance:
            return self.made_of(request, advance)

    def made_of(self, request: Request, advance: Advance = lambda done: None) -> Answer:
        """The same, told as it goes."""
        if request.settings is None:
            return Answer(self.predictions(request.examples, advance))
        found = self.attributions(request.examples, request.settings, advance)
        return Answer(Classes(np.array([row.probs for row in found])), found)

    def missing(self, examples: Sequence[Example], settings: Settings | None = None) -> int:
        """How many of the examples' texts the store does not know yet.

        Raises:
            ModelError: the checkpoint is not there; StoreError: the store cannot be read.
        """
        entry = self.entry(settings)
        return len(examples) if entry is None else len(entry.missing(examples))

    def close(self) -> None:
        """Tidy up what the store keeps of the model, now that nothing more is asked of it.

        A disk that is too full for one shard beside several leaves these as they are: nothing is lost.
        """
        for entry in self._entries.values():
            with suppress(StoreError):
                entry.compact()


def of_backend(settings: Settings) -> dict[str, Any]:
    """A backend's part of the store's key."""
    from ranker.sources.hf.align import REVISION as ALIGNMENT

    return {
        "backend": settings.name,
        "settings": {name: value for name, value in asdict(settings).items() if name != settings.judges},
        "backend_revision": [Settings.revision, settings.revision],
        "alignment": ALIGNMENT,
        "libraries": {name: version(name) for name in settings.libraries},
    }
