"""What one model makes of examples: from the store where it is known, from the model itself where it is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factors.types import Attributions, Example
from ranker.attribution import attribute
from ranker.attribution.settings import BARE, Attributing, Settings
from ranker.errors import ModelError
from ranker.runtime.base import Request
from ranker.sources.base import ModelOptions, version

if TYPE_CHECKING:
    from ranker.progress import Advance, Progress
    from ranker.runtime.store import Store
    from ranker.sources.hf.classifiers import Classifier
    from ranker.sources.hf.loading import Bases
    from ranker.sources.suites import Model
    from ranker.tasks.classes import Task


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

    def classifier(self, settings: Settings) -> Classifier:
        """The loaded checkpoint, in the number format of a backend's rows; it is loaded once in each format.

        Raises:
            ModelError: it cannot be loaded; LabelError: its labels are not the task's.
        """
        from ranker.sources.hf.classifiers import Classifier

        dtype = self.options.dtype_of(settings.bfloat16)
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
        """What identifies the checkpoint, wherever it lies, as it was first seen: `checkpoints.content_hash`.

        Raises:
            ModelError: the checkpoint is not there, or cannot be read.
        """
        from ranker.sources.hf.checkpoints import content_hash

        return content_hash(self.folder, allow_pickle=self.options.allow_pickle)

    def key(self, settings: Settings) -> dict[str, Any]:
        """Everything but the example that can change a number, by name."""
        from ranker.sources.hf.align import REVISION
        from ranker.sources.hf.checkpoints import ADAPTERS, brings_code, is_adapter

        code = self.trusted and brings_code(self.folder, allow_pickle=self.options.allow_pickle)
        adapter = is_adapter(self.folder)
        libraries = ("torch", "transformers", "tokenizers", *(("peft",) if adapter else ()), *settings.libraries)
        return {
            "model": self.content,
            # a list: the order of the labels is that of the probabilities
            "labels": [[label, sorted(self.task.aliases.get(label, ()))] for label in self.task.labels],
            "label_map": self.label_map,
            "own_code": code,
            **({"adapters": ADAPTERS} if adapter else {}),
            "method": settings.name,
            "settings": {name: value for name, value in asdict(settings).items() if name != settings.judges},
            "revision": [Settings.revision, settings.revision],
            "alignment": REVISION if isinstance(settings, Attributing) else None,
            "dtype": self.options.dtype_of(settings.bfloat16),
            "versions": {name: version(name) for name in libraries},
        }

    def rows(
        self, examples: Sequence[Example], settings: Settings = BARE, advance: Advance = lambda done: None
    ) -> list[Attributions]:
        """Attributions of the examples, in order; bare probabilities where no backend is named.

        Raises:
            ModelError: the model cannot be loaded or run, or gives a number that is none.
            StoreError: the store cannot be read or written.
        """

        settings = settings.settled(self.task.labels, self.task.shortcut)

        def compute(missing: Sequence[Example]) -> Iterable[Attributions]:
            advance(len(examples) - len(missing))
            for row in attribute(self.classifier(settings), missing, settings, advance):
                if not (np.isfinite(row.probs).all() and np.isfinite(row.scores).all()):
                    raise ModelError(f"{self.model.name}: the model gives numbers that are not finite")
                yield row

        if self.store is None:
            return list(compute(list(examples)))
        return self.store.rows(self.key(settings), examples, compute, self.model.name)

    def answer(self, question: Request, progress: Progress) -> list[Attributions]:
        """The rows of a question's examples, as a stage of the work.

        Raises:
            ModelError, StoreError: as in `rows`.
        """
        with progress(f"{self.model.name}: {question.label}", len(question.examples)) as advance:
            return self.rows(question.examples, question.settings, advance)

    def missing(self, examples: Sequence[Example], settings: Settings = BARE) -> int:
        """How many of the examples' texts the store does not know yet.

        Raises:
            ModelError: the checkpoint is not there; StoreError: the store cannot be read.
        """
        if self.store is None:
            return len(examples)
        settings = settings.settled(self.task.labels, self.task.shortcut)
        return self.store.missing(self.key(settings), examples)
