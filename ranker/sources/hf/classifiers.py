"""Run any Hugging Face sequence classifier: probabilities in the task's own label order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from factors.types import Example, Floats
from ranker.errors import ModelError
from ranker.sources.base import Embedded
from ranker.sources.hf import align, labels, loading
from ranker.sources.hf.align import TokenIds
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.embedded import EmbeddedNetwork
from ranker.sources.hf.heads import LABELS
from ranker.sources.hf.last_layer import read_first_token
from ranker.sources.hf.networks import ENCODED_AT_ONCE, LoadedNetwork, load_network, padded
from ranker.sources.packing import in_blocks
from ranker.tasks.classes import ClassProbabilities, softmax

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.tasks.classes import ClassificationTask

SHORT = Example("short", ("One short text.",))
LONG = Example("long", ("One text that is longer than the short one.",))
"""Examples that try out a loaded network."""


@dataclass(frozen=True, kw_only=True)
class TextClassifier(LoadedNetwork):
    """A loaded sequence classifier that takes token ids: a `ranker.sources.base.Predictor`.

    A network that gives the same answers when run from embeddings is a `Classifier`.

    Attributes:
        groups: (C,) outputs of the network that make up each class.
        trouble: why the network cannot be run from embeddings, in a line; "" if it can.
    """

    groups: tuple[tuple[int, ...], ...]
    trouble: str = ""

    @classmethod
    def load(
        cls,
        path: str | Path,
        task: ClassificationTask,
        *,
        label_map: Mapping[str, str] | None = None,
        **options: Any,
    ) -> TextClassifier:
        """Load a checkpoint; as a `Classifier` if its network can be run from embeddings.

        Args:
            path: a directory with a sequence classifier or a PEFT adapter of one, or a hub id ``org/name@revision``.
            label_map: the checkpoint's label index or name -> the task's label, if the configuration does not say.
            options: see `load_network`.

        Raises:
            UsageError: an unknown device or dtype.
            ModelError: the checkpoint is incomplete, damaged, no sequence classifier, or cannot be run.
            LabelError: its labels cannot be mapped.
        """
        network = load_network(path, LABELS, label_map=label_map, **options)
        with loading.one_line_errors(network.name):
            groups = labels.reconcile(loading.label_names(network.model), task, label_map, model=network.name)
            loaded = Classifier(**vars(network), groups=groups)._prepare()
            return padded(loaded, loaded.network, loaded._tried)

    def _tried(self) -> list[list[TokenRow]]:
        """Return rows of two lengths, in each form in which they are run."""
        return [[self.row(encoding) for encoding in self.encode([SHORT, LONG])]]

    def encode(self, examples: Sequence[Example]) -> list[TokenIds]:
        """Encode examples, in order; those past the model's limit are cut, and counted in one warning."""
        return list(self.encodings(examples))

    def encodings(self, examples: Iterable[Example]) -> Iterator[TokenIds]:
        """Encode examples lazily, in order."""
        stream, count, cut = iter(examples), 0, 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            with loading.one_line_errors(self.name, "cannot be run"):
                encodings = list(align.encode(self.tokenizer, block, self.max_length))
            self.beat()
            for encoding in encodings:
                cut += encoding.truncated
                yield encoding
            count += len(block)
        self.warn_of_cuts(cut, count)

    def probabilities(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Floats:
        """Return (N, C) class probabilities of examples, all at once: see `predict`."""
        return ClassProbabilities.joined(list(self.predict(examples, advance))).probs

    def predict(
        self, examples: Sequence[Example], advance: Advance = lambda done: None
    ) -> Iterator[ClassProbabilities]:
        """Yield the answers to examples, in blocks, in order."""
        requests = ((None, [self.row(encoding)]) for encoding in self.encodings(examples))
        answered = self.outputs_of(self.network, requests, advance)
        for block in in_blocks((logits[0] for _, logits in answered), ENCODED_AT_ONCE):
            yield ClassProbabilities(softmax(np.array(block)))

    def network(self, batch: Batch) -> torch.Tensor:
        """Run a batch of R rows -> (R, C) float32 logits of the task's classes.

        Heads of BART's kind read the last end of text, and refuse rows with different numbers of it together.
        """
        end = self.model.config.eos_token_id if self.model.config.is_encoder_decoder else None
        if not isinstance(end, int):
            return super().network(batch)
        ends = batch.ids.eq(end).sum(dim=1)
        alike = [torch.nonzero(ends == number)[:, 0] for number in sorted(set(ends.tolist()))]
        logits = [super(TextClassifier, self).network(batch.part(rows)) for rows in alike]
        return torch.cat(logits)[torch.cat(alike).argsort()]

    def run_head(self, type_ids: torch.Tensor | None, **rows: torch.Tensor) -> torch.Tensor:
        """Run R rows of T tokens, as ids or as embeddings -> (R, C) float32 logits of the task's classes."""
        return collapse(self.run(type_ids, **rows).logits.float(), self.groups)


@dataclass(frozen=True, kw_only=True)
class Classifier(TextClassifier, EmbeddedNetwork):
    """A loaded sequence classifier with C classes, in the order of the task's labels: a `ranker.sources.base.Embedded`.

    It also answers with tokens hidden, and to points between embeddings.
    """

    @classmethod
    def load(cls, *args: Any, **options: Any) -> Classifier:
        """Load a checkpoint as `TextClassifier.load`; raises a ModelError if it cannot be run from embeddings."""
        loaded = super().load(*args, **options)
        if not isinstance(loaded, Classifier):
            raise ModelError(f"{loaded.trouble}: it is of a kind that cannot be attributed", place=loaded.name)
        return loaded

    def _tried(self) -> list[list[TokenRow]]:
        return [*super()._tried(), [self.framed(encoding) for encoding in self.encode([SHORT, LONG])]]

    def _prepare(self) -> TextClassifier:
        """Run the network from embeddings, and its last layer in part, if its answers stay the same; else from ids."""
        batch = self.batch(self.encode([SHORT]))
        configs = [self.model.config, self.model.config.get_text_config()]
        unpadded = [config for config in configs if getattr(config, "pad_token_id", None) is None]
        with torch.no_grad():
            expected = self.run_head(batch.type_ids, input_ids=batch.ids)
            read_first_token(self.model)
            for config in unpadded:
                config.pad_token_id = -1  # no token: batches are never padded, but some networks refuse to run without
            trouble = self.embedding_trouble(batch, expected)
            if not trouble:
                return self
            values = {field.name: getattr(self, field.name) for field in fields(self)}
            from_ids = TextClassifier(**{**values, "trouble": f"{self.name} {trouble}"})
            if off := self.difference(from_ids.network(batch._replace(frame=None)), expected):
                raise ModelError.of(self.name, f"answers otherwise where its last layer is computed in part ({off})")
        return from_ids

    @property
    def classes(self) -> int:
        """C."""
        return len(self.groups)


if TYPE_CHECKING:
    _can: type[Embedded[TokenIds]] = Classifier  # checked by mypy; to inherit would make fields of its properties


def collapse(logits: torch.Tensor, groups: Sequence[Sequence[int]]) -> torch.Tensor:
    """Collapse the logits of outputs o to those of classes c: z_c = log sum_{o in c} exp(z_o).

    So a class's probability is the sum of its outputs' probabilities, and the margin of two classes their log-odds.

    Args:
        logits: (..., O).
        groups: (C,) outputs of each class.

    Returns:
        (..., C).

    Example:
        >>> three = torch.tensor([[0.2, 0.5, 0.3]]).log()
        >>> [round(p, 4) for p in collapse(three, [(1, 2), (0,)]).exp()[0].tolist()]
        [0.8, 0.2]
    """
    if all(len(group) == 1 for group in groups):
        return logits[..., [group[0] for group in groups]]
    return torch.stack([logits[..., list(group)].logsumexp(dim=-1) for group in groups], dim=-1)
