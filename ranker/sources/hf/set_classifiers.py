"""Run Hugging Face sequence classifiers whose labels do not exclude each other: a set of labels for each text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from factors.types import Example
from ranker.errors import LabelError
from ranker.sources.hf import loading
from ranker.sources.hf.classifiers import TextClassifier
from ranker.sources.hf.heads import LABEL_SETS
from ranker.sources.hf.labels import meanings
from ranker.sources.hf.networks import ENCODED_AT_ONCE, load_network, padded
from ranker.sources.packing import in_blocks
from ranker.tasks.label_sets import LabelSetAnswers

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.tasks.label_sets import LabelSetTask


@dataclass(frozen=True, kw_only=True)
class SetClassifier(TextClassifier):
    """A loaded classifier of label sets: a `ranker.sources.base.Predictor`.

    Attributes:
        task: reads the probabilities of labels.
        names: (C,) labels of the outputs.
    """

    task: LabelSetTask
    names: tuple[str, ...]

    @classmethod
    def load(  # type: ignore[override]  # its task is another
        cls, path: str | Path, task: LabelSetTask, *, label_map: Mapping[str, str] | None = None, **options: Any
    ) -> SetClassifier:
        """Load a checkpoint; see `TextClassifier.load`.

        Raises:
            LabelError: an output has no label, or that of another one.
        """
        network = load_network(path, LABEL_SETS, label_map=label_map, **options)
        with loading.one_line_errors(network.name):
            names = tuple(meanings(loading.label_names(network.model, several=True), label_map).values())
        if not names:
            raise LabelError.of(network.name, "names an output LABEL_0 or so; `label_map` says what each means")
        if len({*names}) < len(names):
            raise LabelError.of(network.name, f"has several outputs for one label ({', '.join(sorted(names)[:10])})")
        groups = tuple((output,) for output in range(len(names)))
        loaded = cls(**vars(network), groups=groups, task=task, names=names)
        return padded(loaded, loaded.network, loaded._tried)

    def predict(  # type: ignore[override]  # its answers are others
        self, examples: Sequence[Example], advance: Advance = lambda done: None
    ) -> Iterator[LabelSetAnswers]:
        """Yield the label sets of examples, in blocks, in order: see `TextClassifier.predict`."""
        requests = ((None, [self.row(encoding)]) for encoding in self.encodings(examples))
        answered = self.outputs_of(self.network, requests, advance)
        for block in in_blocks((logits[0] for _, logits in answered), ENCODED_AT_ONCE):
            rows = expit(np.array(block, dtype=np.float64)).tolist()
            yield LabelSetAnswers(tuple(self.task.answer_of(dict(zip(self.names, row, strict=True))) for row in rows))
