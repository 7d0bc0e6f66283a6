"""BERTScore: F1 of the tokens of two texts, matched by the vectors that an encoder gives them in context."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factors.types import Floats
from ranker.errors import UsageError
from ranker.sources.base import Machine
from ranker.sources.hf import checkpoints

if TYPE_CHECKING:
    from ranker.sources.hf.sentences import Encoder

log = logging.getLogger(__name__)

NAME = "bertscore"

MAX_CACHED = 1 << 28
"""Most numbers of token vectors that are kept between calls: 1 GB."""


@dataclass(frozen=True)
class BertScore:
    """BERTScore by one encoder; a `ranker.tasks.text_scores.EmbeddingScore`.

    With unit vectors a_i of the answer's tokens and r_j of the reference's, P is the mean over i of max_j a_i r_j, R
    the mean over j of max_i a_i r_j, and the score is F1 = 2 P R / (P + R); 0 where P or R is not positive, or a text
    has no token. Tokens have equal weights, and nothing is rescaled by a baseline. Special tokens such as [CLS] are
    left out; in the authors' program they have no weight either, but other tokens may be matched with them.

    The network is loaded when it is first needed. Two scores are equal if their encoders' files and layers are.

    Attributes:
        layer: whose output is used; None for the last.

    Source: Zhang et al. 2020, "BERTScore: evaluating text generation with BERT", section 3.
    """

    folder: Path = field(compare=False)
    digest: str
    layer: int | None = None
    machine: Machine = field(default=Machine(), compare=False)

    @classmethod
    def by(cls, place: str, machine: Machine = Machine()) -> BertScore:
        """Make the score of an encoder.

        Args:
            place: of the encoder, a folder or a hub id, as "PLACE" or "PLACE#LAYER".

        Raises:
            UsageError: no place, or a layer that is no number.
        """
        from ranker.sources.hf.files import content_hash  # `--help` does not wait for it

        name, _, layer = place.partition("#")
        if not name or (layer and not layer.isdecimal()):
            predicate = f"must be {NAME}:FOLDER, of an encoder, or {NAME}:FOLDER#LAYER (got {f'{NAME}:{place}'!r})"
            raise UsageError.about("metric", predicate, place)
        folder = checkpoints.locate(name, parameter="metric")
        return cls(folder, content_hash(folder), int(layer) if layer else None, machine)

    @property
    def __name__(self) -> str:
        """Name of the metric, which tells encoders apart."""
        return f"{NAME}:{self.digest[:8]}" + ("" if self.layer is None else f"#{self.layer}")

    def embed(self, texts: Sequence[str]) -> None:
        """Compute the token vectors of texts that are not yet known, together. Raises a ModelError if it cannot."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if not unknown:
            return
        if sum(vectors.size for vectors in self._vectors.values()) > MAX_CACHED:
            self._vectors.clear()
            unknown = list(dict.fromkeys(texts))
        cut = 0
        for text, (vectors, was_cut) in zip(unknown, self._encoder.token_vectors(unknown), strict=True):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            self._vectors[text] = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
            cut += was_cut
        if cut:
            limit = self._encoder.max_length
            log.warning(
                "%s: %d of %d texts are longer than its %d tokens, and were cut", self.folder, cut, len(unknown), limit
            )

    def __call__(self, answer: str, reference: str) -> float:
        """Return the F1 of two texts, in [0, 1]."""
        self.embed((answer, reference))
        alike = self._vectors[answer] @ self._vectors[reference].T
        if not alike.size:
            return 0.0
        precision, recall = float(alike.max(axis=1).mean()), float(alike.max(axis=0).mean())
        return min(2 * precision * recall / (precision + recall), 1.0) if min(precision, recall) > 0 else 0.0

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the network and the vectors."""
        return {name.name: getattr(self, name.name) for name in fields(self)}

    @cached_property
    def _encoder(self) -> Encoder:
        from ranker.sources.hf.sentences import Encoder  # imports torch

        return Encoder.load(self.folder, self.layer, machine=replace(self.machine, dtype="float32"))

    @cached_property
    def _vectors(self) -> dict[str, Floats]:
        return {}
