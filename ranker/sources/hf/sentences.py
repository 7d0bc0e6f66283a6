"""Embed sentences with any Hugging Face encoder: pooled token vectors of one layer."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from factors.types import Floats
from ranker.errors import ModelError, choice_error, first_line, range_error
from ranker.limits import LIMITS, Limits
from ranker.sources import packing
from ranker.sources.base import Machine
from ranker.sources.devices import DTYPES, device_named, resolve
from ranker.sources.hf import batching, checkpoints, loading
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.classifiers import ENCODED_AT_ONCE, TOKENS_ELSEWHERE, TOKENS_ON_CPU
from ranker.sources.hf.files import open_checkpoint_files

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ranker.progress import Advance

log = logging.getLogger(__name__)

Pooling = Literal["mean", "cls"]
"""Mean over all tokens, special ones included, as in sentence-transformers; or the first token."""


@dataclass(frozen=True)
class Encoder:
    """A loaded encoder of sentences.

    Attributes:
        name: path or hub id.
        model: the network without a head, in evaluation mode.
        tokenizer: its tokenizer.
        layer: whose output is used: 0 for the embeddings; the last by default.
        pooling: of the token vectors into one.
        max_length: most tokens that it takes; longer texts are cut.
        device, dtype, token_budget: as those of a `Classifier`.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    layer: int
    pooling: Pooling
    max_length: int
    device: torch.device
    dtype: torch.dtype
    token_budget: int

    @classmethod
    def load(
        cls,
        path: str | Path,
        layer: int | None = None,
        pooling: str = "mean",
        machine: Machine = Machine(),
        limits: Limits = LIMITS,
    ) -> Encoder:
        """Load an encoder.

        Args:
            path: a directory, or a hub id ``org/name@revision``. Weights must be safetensors, and no code of its own
                is run.
            layer: whose output is used, from 0, the embeddings; None for the last.
            pooling: "mean" or "cls".
            machine: that runs it.
            limits: of its settings.

        Raises:
            UsageError: an unknown layer, pooling or device.
            ModelError: the checkpoint is incomplete, damaged, or would run code.
        """
        if pooling not in ("mean", "cls"):
            raise choice_error("pooling", pooling, ("mean", "cls"))
        target, products = device_named(machine.device), DTYPES[resolve(machine.dtype, machine.device)]
        with ExitStack() as held:
            folder = checkpoints.locate(path, parameter="encoder")
            files = held.enter_context(closing(open_checkpoint_files(folder, limits=limits)))
            held.enter_context(loading.one_line_errors(files.path, rephrase=files.rephrase))
            model, tokenizer = loading.load_encoder(files, loading.Options(False, False, products, limits))
            loading.check_ids(files.path, model, tokenizer)
            model.requires_grad_(False).to(target)  # type: ignore[arg-type]
            model.eval()  # type: ignore[no-untyped-call]
            loading.store_products(model, products)
            layers = int(model.config.num_hidden_layers)
            if layer is not None and not 0 <= layer <= layers:
                raise range_error("layer", layer, 0, layers, f"the layers of {files.path}")
            budget = machine.token_budget or (TOKENS_ON_CPU if target.type == "cpu" else TOKENS_ELSEWHERE)
            length = loading.max_length(model, tokenizer)
            chosen: Pooling = "mean" if pooling == "mean" else "cls"
            return cls(
                str(path),
                model,
                tokenizer,
                layers if layer is None else layer,
                chosen,
                length,
                target,
                products,
                budget,
            )

    @property
    def description(self) -> str:
        """Encoder, layer and pooling in words."""
        pooled = "mean of the tokens" if self.pooling == "mean" else "first token"
        return f"{Path(self.name).name}, layer {self.layer} of {self.model.config.num_hidden_layers}, {pooled}"

    def vectors(self, texts: Sequence[str], advance: Advance = lambda done: None) -> Floats:
        """Return (N, D) a vector of each text.

        Args:
            texts: those longer than the model's limit are cut, with a warning.
            advance: called with the number of newly finished texts.

        Raises:
            ModelError: the network cannot be run.
        """
        answered = batching.forward(self._network, self._rows(texts), self.token_budget, self.device, advance)
        return np.array([vectors[0] for _, vectors in answered])

    def _rows(self, texts: Sequence[str]) -> Iterator[tuple[None, list[TokenRow]]]:
        types = "token_type_ids" in inspect.signature(self.model.forward).parameters
        stream, cut = iter(texts), 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            with loading.one_line_errors(self.name, "cannot be run"):
                batch = self.tokenizer(block, truncation=True, max_length=self.max_length, return_attention_mask=False)
            for encoding in batch.encodings or ():
                cut += bool(encoding.overflowing)
                ids, kinds = (np.array(values, dtype=np.int64) for values in (encoding.ids, encoding.type_ids))
                yield None, [TokenRow(ids, kinds if types else None)]
        if cut:
            log.warning(
                "%s: %d of %d texts are longer than its %d tokens, and were cut",
                *(self.name, cut, len(texts), self.max_length),
            )

    def _network(self, batch: Batch) -> torch.Tensor:
        """Return (R, D) vectors of R rows of one length, without padding."""
        inputs = {"input_ids": batch.ids} | ({} if batch.type_ids is None else {"token_type_ids": batch.type_ids})
        last = self.layer == self.model.config.num_hidden_layers
        reduced = self.dtype != torch.float32
        with torch.autocast(self.device.type, self.dtype) if reduced else nullcontext():
            try:
                outputs = self.model(attention_mask=torch.ones_like(batch.ids), output_hidden_states=not last, **inputs)
            except Exception as error:  # a network may be foreign code
                if packing.is_out_of_memory(error):
                    raise
                raise ModelError.of(self.name, f"cannot be run: {first_line(error)}") from error
        hidden = outputs.last_hidden_state if last else outputs.hidden_states[self.layer]
        return (hidden.mean(dim=1) if self.pooling == "mean" else hidden[:, 0]).float()  # type: ignore[no-any-return]
