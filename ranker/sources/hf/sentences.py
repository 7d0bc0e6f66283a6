"""Embed sentences with any Hugging Face encoder: pooled token vectors of one layer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from factors.types import Floats
from ranker.errors import choice_error, range_error
from ranker.limits import LIMITS, Limits
from ranker.sources.base import Machine
from ranker.sources.hf import checkpoints
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.heads import ENCODER
from ranker.sources.hf.networks import ENCODED_AT_ONCE, LoadedNetwork, load_network, padded

if TYPE_CHECKING:
    from tokenizers import Encoding

    from ranker.progress import Advance

log = logging.getLogger(__name__)

TRIED = ("One short text.", "One text that is longer than the short one.")
"""Texts that try out a loaded encoder."""


@dataclass(frozen=True, kw_only=True)
class Encoder(LoadedNetwork):
    """A loaded encoder of sentences, a network without a head.

    Attributes:
        layer: whose output is used: 0 for the embeddings; the last by default.
        pooling: "mean" over all tokens, special ones included, as in sentence-transformers; or "cls", the first token.
    """

    layer: int
    pooling: str

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

        Raises:
            UsageError: an unknown layer, pooling or device.
            ModelError: the checkpoint is incomplete, damaged, or would run code.
        """
        if pooling not in ("mean", "cls"):
            raise choice_error("pooling", pooling, ("mean", "cls"))
        folder = checkpoints.locate(path, parameter="encoder")
        network = load_network(
            folder,
            ENCODER,
            device=machine.device,
            dtype=machine.dtype,
            token_budget=machine.token_budget,
            limits=limits,
        )
        layers = int(network.model.config.num_hidden_layers)
        if layer is not None and not 0 <= layer <= layers:
            raise range_error("layer", layer, 0, layers, f"the layers of {folder}")
        layer = layers if layer is None else layer
        encoder = cls(**{**vars(network), "name": str(path)}, layer=layer, pooling=pooling)
        return padded(encoder, encoder._states, lambda: [[row for _, (row,) in encoder._rows(TRIED)]])

    @property
    def description(self) -> str:
        """Encoder, layer and pooling in words."""
        pooled = "mean of the tokens" if self.pooling == "mean" else "first token"
        return f"{Path(self.name).name}, layer {self.layer} of {self.model.config.num_hidden_layers}, {pooled}"

    def vectors(self, texts: Sequence[str], advance: Advance = lambda done: None) -> Floats:
        """Return (N, D) a vector of each text.

        Args:
            texts: those longer than the model's limit are cut, with a warning.
        """
        vectors, cut = [], 0
        rows = self._rows(texts)
        for encoding, pooled in self.outputs_of(self._pooled, rows, advance):
            vectors.append(pooled[0])
            cut += bool(encoding.overflowing)
        if cut:
            log.warning(
                "%s: %d of %d texts are longer than its %d tokens, and were cut",
                *(self.name, cut, len(texts), self.max_length),
            )
        return np.array(vectors)

    def token_vectors(self, texts: Sequence[str]) -> Iterator[tuple[Floats, bool]]:
        """Yield (T, D) vectors of each text's tokens, special ones left out, and whether the text was cut."""
        for encoding, states in self.outputs_of(self._states, self._rows(texts)):
            yield states[0][np.array(encoding.special_tokens_mask) == 0], bool(encoding.overflowing)

    def _rows(self, texts: Sequence[str]) -> Iterator[tuple[Encoding, list[TokenRow]]]:
        stream = iter(texts)
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            for (row, encoding), *_ in self.windows(block, overlap=0, truncation=True):
                yield encoding, [row]

    def _pooled(self, batch: Batch) -> torch.Tensor:
        """Return (R, D) vectors of R rows."""
        states = self._states(batch)
        if self.pooling == "cls":
            return states[:, 0]
        if batch.mask is None:
            return states.mean(dim=1)
        mask = batch.mask[..., None].to(states.dtype)
        return (states * mask).sum(dim=1) / mask.sum(dim=1)

    def _states(self, batch: Batch) -> torch.Tensor:
        """Return (R, T, D) outputs of the layer."""
        last = self.layer == self.model.config.num_hidden_layers
        outputs = self.run(batch.type_ids, input_ids=batch.ids, output_hidden_states=not last, **batch.masked)
        states: torch.Tensor = outputs.last_hidden_state if last else outputs.hidden_states[self.layer]
        return states.float()
