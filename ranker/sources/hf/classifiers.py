"""Run any Hugging Face sequence classifier: probabilities in the task's own label order."""

from __future__ import annotations

import hashlib
import inspect
import logging
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from factors.types import Bools, Example, Floats
from ranker.errors import ModelError, first_line
from ranker.sources import packing
from ranker.sources.base import Baseline, Embedded, Hide
from ranker.sources.hf import align, batching, hidden, labels, loading
from ranker.sources.hf.align import TokenIds
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.heads import LABELS
from ranker.sources.hf.last_layer import read_first_token
from ranker.sources.hf.networks import ENCODED_AT_ONCE, LoadedNetwork, load_network
from ranker.tasks.classes import ClassProbabilities, softmax

if TYPE_CHECKING:
    from ranker.progress import Advance
    from ranker.tasks.classes import ClassificationTask

log = logging.getLogger(__name__)

S = TypeVar("S")
SHORT = Example("short", ("One short text.",))
"""Example that tries out a loaded network."""


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
            task: the labels to map the checkpoint's to.
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
            return Classifier(**vars(network), groups=groups)._prepare()

    @property
    def rounding(self) -> float:
        """Step from 1 to the next number in the format of its matrix products."""
        return torch.finfo(self.dtype).eps

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
        if cut:
            log.warning("%s: %d of %d examples are longer than its %d tokens, and were cut", self.name, cut, count,
                        self.max_length)  # fmt: skip

    def row(self, encoding: TokenIds) -> TokenRow:
        """Return the network's input for an encoding."""
        return TokenRow(encoding.ids, encoding.type_ids if self.takes_type_ids else None)

    def probabilities(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Floats:
        """Return (N, C) class probabilities of examples, all at once: see `predict`."""
        return ClassProbabilities.joined(list(self.predict(examples, advance))).probs

    def predict(
        self, examples: Sequence[Example], advance: Advance = lambda done: None
    ) -> Iterator[ClassProbabilities]:
        """Yield the answers to examples, in blocks, in order.

        Args:
            examples: any number of them.
            advance: called with the number of newly finished examples.

        Raises:
            ModelError: the network cannot be run.
            ValueError: it gives numbers that are not finite.
        """
        requests = ((None, [self.row(encoding)]) for encoding in self.encodings(examples))
        answered = self._forward(requests, advance)
        while block := [logits[0] for _, logits in islice(answered, ENCODED_AT_ONCE)]:
            yield ClassProbabilities(softmax(np.array(block)))

    def _forward(
        self, requests: Iterable[tuple[S, Sequence[TokenRow]]], advance: Advance
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests for rows, see `batching.forward`."""
        return batching.forward(self.network, requests, self.token_budget, self.device, advance)

    def network(self, batch: Batch) -> torch.Tensor:
        """Run a batch of R rows -> (R, C) float32 logits of the task's classes."""
        return self._run(batch.type_ids, input_ids=batch.ids)

    def _batch(self, encodings: Sequence[TokenIds]) -> Batch:
        """Stack examples of one length into a batch."""
        return batching.stack([self.row(encoding) for encoding in encodings], self.device)

    def _run(self, type_ids: torch.Tensor | None, **rows: torch.Tensor) -> torch.Tensor:
        """Run R rows of T tokens, as ids or as embeddings -> (R, C) float32 logits of the task's classes."""
        return collapse(self.run(type_ids, **rows).logits.float(), self.groups)


@dataclass(frozen=True, kw_only=True)
class Classifier(TextClassifier):
    """A loaded sequence classifier with C classes, in the order of the task's labels: a `ranker.sources.base.Embedded`.

    It also answers with tokens hidden, and to points between embeddings.
    """

    @classmethod
    def load(cls, *args: Any, **options: Any) -> Classifier:
        """Load a checkpoint whose network can be run from embeddings; see `TextClassifier.load`.

        Raises:
            ModelError: also if it cannot.
        """
        loaded = super().load(*args, **options)
        if not isinstance(loaded, Classifier):
            raise ModelError(f"{loaded.trouble}: it is of a kind that cannot be attributed", place=loaded.name)
        return loaded

    def _prepare(self) -> TextClassifier:
        """Run the network from embeddings, and its last layer in part, if its answers stay the same; else from ids."""
        short = self.encode([SHORT])
        batch = self._batch(short)
        configs = [self.model.config, self.model.config.get_text_config()]
        unpadded = [config for config in configs if getattr(config, "pad_token_id", None) is None]
        with torch.no_grad():
            expected = self._run(batch.type_ids, input_ids=batch.ids)
            read_first_token(self.model)
            for config in unpadded:
                config.pad_token_id = 0  # batches are never padded, but some networks refuse to run without one
            try:
                off = self._difference(self.from_embeddings(self.embed(short), short), expected)
                trouble = off and f"answers otherwise to embeddings than to the tokens that they are of ({off})"
            except ModelError as error:
                trouble = f"cannot be run from embeddings ({first_line(error.__cause__ or error)})"
            if not trouble:
                return self
            for config in unpadded:
                config.pad_token_id = -1  # networks look for it among the ids, where 0 may be a real token
            values = {field.name: getattr(self, field.name) for field in fields(self)}
            from_ids = TextClassifier(**{**values, "trouble": f"{self.name} {trouble}"})
            if off := self._difference(from_ids.network(batch), expected):
                raise ModelError.of(self.name, f"answers otherwise where its last layer is computed in part ({off})")
        return from_ids

    def _difference(self, logits: torch.Tensor, expected: torch.Tensor) -> str:
        """Describe the difference of logits from those of the network by itself; "" if it is rounding."""
        off = (logits - expected).abs().max().item()
        # half of the digits: far above rounding, and too small to matter
        return f"logits off by {off:.2g}" if off > self.rounding**0.5 * max(1.0, expected.abs().max().item()) else ""

    @property
    def classes(self) -> int:
        """C."""
        return len(self.groups)

    @property
    def hides(self) -> tuple[Hide, ...]:
        """Ways to hide tokens: behind those that its tokenizer has, and by removal."""
        return (*hidden.substitute_tokens(self.tokenizer), "remove")

    def answers(
        self, requests: Iterable[tuple[S, TokenIds, Bools]], hide: Hide, advance: Advance = lambda done: None
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests in order, each with the (R, C) logits of one example with tokens hidden.

        See `batching.forward`: requests are read ahead, and duplicates among their rows are computed once.

        Args:
            requests: any object that is returned with the answer, an example, and (R, T) True for visible tokens.
            hide: one of `hides`.
            advance: called with the number of newly finished requests.

        Raises:
            ModelError: the network cannot be run.
        """
        token = None if hide == "remove" else hidden.substitute_tokens(self.tokenizer)[hide]
        rows = ((state, hidden.hide_tokens(self.row(tokens), visible, token)) for state, tokens, visible in requests)
        return self._forward(rows, advance)

    @property
    def seed(self) -> str:
        """Digest of the loaded network's weights in bfloat16, whatever its dtype: the seed of random samples."""
        digest = hashlib.sha256(repr(self.groups).encode())
        for name, weight in self.model.named_parameters():
            rounded = weight.detach().to("cpu", torch.bfloat16).contiguous().reshape(-1)
            digest.update(name.encode())
            digest.update(rounded.view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def speed(self, encoding: TokenIds) -> float:
        """Measure the rows like this one a second, in a full batch or the largest that fits into memory."""
        count = max(self.token_budget // max(len(encoding), 1), 1)
        seconds = []

        def run(rows: list[int]) -> None:
            batch = self._batch([encoding] * len(rows))
            with torch.inference_mode():
                self.network(batch).cpu()  # the first pass includes setup
                began = time.perf_counter()
                self.network(batch).cpu()
            seconds.append(time.perf_counter() - began)

        packing.run_in_batches([len(encoding)] * count, self.token_budget, run)
        return count / sum(seconds)

    def network(self, batch: Batch) -> torch.Tensor:
        """Run a batch of R rows -> (R, C) float32 logits of the task's classes.

        Token ids go in as embeddings, too: RoBERTa's kind counts positions from the padding ids that it sees, so a row
        with tokens hidden behind padding would shift; from embeddings positions only count up.
        """
        return self._run_embedded(batch.type_ids, self._embed_ids(batch.ids))

    def embed(self, encodings: Sequence[TokenIds]) -> torch.Tensor:
        """Return (R, T, D) word embeddings of R examples of one length, without positions and segments."""
        return self._embed_ids(self._batch(encodings).ids)

    def start(self, baseline: Baseline) -> torch.Tensor:
        """Return (D,) the word embedding of the mask or padding token, or zero."""
        token = 0 if baseline == "zero" else hidden.substitute_tokens(self.tokenizer)[baseline]
        embedding = self._embed_ids(torch.tensor([[token]], device=self.device))[0, 0]
        return torch.zeros_like(embedding) if baseline == "zero" else embedding

    def frame(self, encoding: TokenIds) -> Hashable:
        """Return the input beside the embeddings that can be moved: the length, segment ids, and fixed tokens."""
        types = self.row(encoding).type_ids
        fixed = encoding.fixed.tobytes(), encoding.ids[encoding.fixed].tobytes()
        return len(encoding), b"" if types is None else types.tobytes(), fixed

    def from_embeddings(self, embeddings: torch.Tensor, encodings: Sequence[TokenIds]) -> torch.Tensor:
        """Run (R, T, D) word embeddings in place of those of R examples -> (R, C) float32 logits of the task's classes.

        Raises:
            ModelError: the network refuses them, as BART's kind does.
        """
        type_ids = self._batch(encodings).type_ids if self.takes_type_ids else None
        with self._kernels(embeddings):
            return self._run_embedded(type_ids, embeddings)

    def _run_embedded(self, type_ids: torch.Tensor | None, embeddings: torch.Tensor) -> torch.Tensor:
        """Run R rows of T embeddings -> (R, C) float32 logits of the task's classes."""
        if "global_attention_mask" not in inspect.signature(self.model.forward).parameters:
            return self._run(type_ids, inputs_embeds=embeddings)
        # Longformer's kind lets the first token attend to all others; by itself it decides so from token ids only
        first = torch.zeros(embeddings.shape[:2], dtype=torch.long, device=self.device)
        first[:, 0] = 1
        return self._run(type_ids, inputs_embeds=embeddings, global_attention_mask=first)

    def _kernels(self, embeddings: torch.Tensor) -> AbstractContextManager[None]:
        """Avoid torch's fused attention in bfloat16 on CPU: its backward pass takes twelve times as long there."""
        fused_is_slow = self.device.type == "cpu" and self.dtype == torch.bfloat16
        return sdpa_kernel(SDPBackend.MATH) if fused_is_slow and embeddings.requires_grad else nullcontext()

    def _embed_ids(self, ids: torch.Tensor) -> torch.Tensor:
        """Embed (R, T) token ids -> (R, T, D)."""
        return self.model.get_input_embeddings()(ids)  # type: ignore[no-any-return]


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
