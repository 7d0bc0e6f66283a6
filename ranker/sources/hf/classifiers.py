"""A checkpoint -> probabilities in the task's own label order: any Hugging Face sequence classifier."""

from __future__ import annotations

import hashlib
import inspect
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from factors.types import UNLABELLED, Example, Floats
from ranker.errors import ModelError, first_line
from ranker.sources import packing
from ranker.sources.hf import align, batching, checkpoints, labels, loading
from ranker.sources.hf.align import Encoding
from ranker.sources.hf.batching import Batch, Row
from ranker.sources.hf.devices import DTYPES, device_named, resolve
from ranker.sources.hf.last_layer import read_first_token
from ranker.tasks.classes import softmax

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ranker.progress import Advance
    from ranker.tasks.classes import Task

log = logging.getLogger(__name__)

S = TypeVar("S")
TOKENS_ON_CPU, TOKENS_ELSEWHERE = 1024, 65_536
"""Tokens a batch: a smaller one costs calls, a larger one memory; on CPUs speed changes little from 1,024 on."""
SHORT = Example("short", ("One short text.",), UNLABELLED)
"""What a network is tried with once it is loaded."""
ENCODED_AT_ONCE = 256
"""Examples a call of the tokenizer."""


@dataclass(frozen=True)
class Classifier:
    """A loaded sequence classifier, ready to be asked: C classes, in the order of the task's labels.

    Attributes:
        name: where it came from.
        model: the network, in evaluation mode; no weight takes a gradient.
        tokenizer: its tokenizer, a fast one.
        groups: (C,) the network's outputs that make up each class.
        max_length: the most tokens that it takes.
        takes_type_ids: the network wants to be told which segment a token belongs to.
        device: where it is.
        token_budget: the most tokens a batch; it changes speed and memory, no number.
        dtype: what matrix products are computed in: float32, or bfloat16 with all else in float32.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    groups: tuple[tuple[int, ...], ...]
    max_length: int
    takes_type_ids: bool
    device: torch.device
    token_budget: int
    dtype: torch.dtype = torch.float32

    @classmethod
    def load(
        cls,
        path: str | Path,
        task: Task,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        label_map: Mapping[str, str] | None = None,
        trust_remote_code: bool = False,
        allow_pickle: bool = False,
        token_budget: int | None = None,
        bases: loading.Bases | None = None,
    ) -> Classifier:
        """Load a checkpoint.

        Args:
            path: a directory with a sequence classifier or a PEFT adapter of one, or a hub id ``org/name@revision``.
            task: the labels to map the checkpoint's to.
            device: a torch device.
            dtype: "float32", "bfloat16", or "auto" (see `devices.resolve`).
            label_map: the checkpoint's label index or name -> the task's label, where the configuration does not say.
            trust_remote_code: run code that comes with the checkpoint.
            allow_pickle: load weights that are not safetensors.
            token_budget: the most tokens a batch; None takes what is fast on the device.
            bases: adapters that are loaded with the same dict, one after the other, share the weights of their base in
                memory, but for those that change them. It holds the base of the last one.

        Raises:
            UsageError: a device or a dtype that is none.
            ModelError: the checkpoint is incomplete, damaged, no sequence classifier, or cannot be run from embeddings.
            LabelError: its labels cannot be mapped.
        """
        where = device_named(device)
        products = DTYPES[resolve(dtype, device)]
        folder = checkpoints.locate(path, allow_pickle=allow_pickle)
        options = loading.Options(trust_remote_code, allow_pickle, products)
        with loading.one_line(folder):
            model, tokenizer = loading.load(folder, options, label_map, bases)
            groups = labels.reconcile(loading.label_names(model), task, label_map, model=str(folder))
            loading.check_ids(folder, model, tokenizer)
            model.requires_grad_(False).to(where)  # type: ignore[arg-type]
            model.eval()  # type: ignore[no-untyped-call]
            loading.store_products(model, products)
            takes_types = "token_type_ids" in inspect.signature(model.forward).parameters
            budget = token_budget or (TOKENS_ON_CPU if where.type == "cpu" else TOKENS_ELSEWHERE)
            length = loading.max_length(model, tokenizer)
            loaded = cls(str(path), model, tokenizer, groups, length, takes_types, where, budget, products)
            loaded._prepare()
        return loaded

    def _prepare(self) -> None:
        """Have the network run as it is here: from embeddings, in batches, and no more of its last layer than is read.

        Raises:
            ModelError: it then answers otherwise than it does of itself.
        """
        batch = batching.stack([self.row(encoding) for encoding in self.encode([SHORT])], self.device)
        with torch.no_grad():
            whole = self._run(batch.type_ids, input_ids=batch.ids)
            read_first_token(self.model)
            for config in (self.model.config, self.model.config.get_text_config()):
                if getattr(config, "pad_token_id", None) is None:
                    config.pad_token_id = 0  # batches are never padded, and some are refused without one
            off = (self.from_embeddings(self.embed(batch.ids), batch.type_ids) - whole).abs().max().item()
        # half of the digits: far beyond rounding, and below what makes a difference
        if off > torch.finfo(self.dtype).eps ** 0.5 * max(1.0, whole.abs().max().item()):
            raise ModelError(
                f"{self.name} answers otherwise to embeddings than to the tokens that they are of (logits off by "
                f"{off:.2g}): it is of a kind that cannot be attributed"
            )

    def encode(self, examples: Sequence[Example]) -> list[Encoding]:
        """Encode examples, in order; those past the model's limit are cut, and counted in one warning."""
        return list(self.encodings(examples))

    def encodings(self, examples: Iterable[Example]) -> Iterator[Encoding]:
        """Encode examples one after the other, as they are asked for."""
        stream, count, cut = iter(examples), 0, 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            for encoding in align.encode(self.tokenizer, block, self.max_length):
                cut += encoding.truncated
                yield encoding
            count += len(block)
        if cut:
            log.warning("%s: %d of %d examples are longer than its %d tokens, and were cut", self.name, cut, count,
                        self.max_length)  # fmt: skip

    def row(self, encoding: Encoding) -> Row:
        """What the network is fed of an encoding."""
        return Row(encoding.ids, encoding.type_ids if self.takes_type_ids else None)

    def probabilities(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Floats:
        """The class probabilities of examples: (N, C), each row adds up to 1.

        Args:
            examples: N of them.
            advance: told how many more examples are done.

        Raises:
            ModelError: the network cannot be run.
        """
        requests = ((None, [self.row(encoding)]) for encoding in self.encodings(examples))
        rows = np.empty((len(examples), len(self.groups)))
        for i, (_, logits) in enumerate(self.logits(requests, advance)):
            rows[i] = softmax(logits)[0]
        return rows

    def logits(
        self, requests: Iterable[tuple[S, Sequence[Row]]], advance: Advance = lambda done: None
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests for rows of token ids, in order, each with its rows' (R, C) logits of the task's classes.

        See `batching.forward`: requests are read ahead, and duplicates among their rows are computed once.
        """
        return batching.forward(self.network, requests, self.token_budget, self.device, advance)

    @property
    def seed(self) -> str:
        """What identifies the loaded network, for samples: a digest of its weights in bfloat16, whatever its dtype."""
        digest = hashlib.sha256(repr(self.groups).encode())
        for name, weight in self.model.named_parameters():
            rounded = weight.detach().to("cpu", torch.bfloat16).contiguous().reshape(-1)
            digest.update(name.encode())
            digest.update(rounded.view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def speed(self, encoding: Encoding) -> float:
        """Rows like this one a second, in a full batch or the largest that memory has room for."""
        count = max(self.token_budget // max(len(encoding), 1), 1)
        seconds = []

        def run(rows: list[int]) -> None:
            batch = batching.stack([self.row(encoding)] * len(rows), self.device)
            with torch.inference_mode():
                self.network(batch).cpu()  # the first pass sets things up
                began = time.perf_counter()
                self.network(batch).cpu()
            seconds.append(time.perf_counter() - began)

        packing.in_batches([len(encoding)] * count, self.token_budget, run)
        return count / sum(seconds)

    def network(self, batch: Batch) -> torch.Tensor:
        """A batch of R rows -> (R, C) float32 logits of the task's classes."""
        return self.from_embeddings(self.embed(batch.ids), batch.type_ids)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """(R, T) token ids -> (R, T, D) the network's word embeddings, without positions and segments."""
        return self.model.get_input_embeddings()(ids)  # type: ignore[no-any-return]

    def from_embeddings(self, embeddings: torch.Tensor, type_ids: torch.Tensor | None) -> torch.Tensor:
        """(R, T, D) word embeddings -> (R, C) float32 logits of the task's classes.

        Everything goes in by this door, token ids too: RoBERTa's kind counts positions from the padding ids that it
        sees, so a row that a backend has masked with padding would shift; from embeddings positions only count up.

        Raises:
            ModelError: the network refuses them, as BART's kind does.
        """
        return self._run(type_ids, inputs_embeds=embeddings)

    def _run(self, type_ids: torch.Tensor | None, **rows: torch.Tensor) -> torch.Tensor:
        """R rows of T tokens, as ids or as embeddings -> (R, C) float32 logits of the task's classes."""
        inputs = rows if type_ids is None else {**rows, "token_type_ids": type_ids}
        mask = torch.ones(next(iter(rows.values())).shape[:2], dtype=torch.long, device=self.device)
        reduced = self.dtype != torch.float32  # not every device knows what autocast is
        with torch.autocast(self.device.type, self.dtype) if reduced else nullcontext():
            try:
                outputs = self.model(attention_mask=mask, **inputs)
            except Exception as error:  # a network may be anybody's code
                if packing.is_out_of_memory(error):
                    raise
                raise ModelError(f"{self.name} cannot be run: {first_line(error)}") from error
        return collapse(outputs.logits.float(), self.groups)


def collapse(logits: torch.Tensor, groups: Sequence[Sequence[int]]) -> torch.Tensor:
    """The logits of classes from those of the outputs that make them up: z_c = log sum_{o in c} exp(z_o).

    So a class's probability is the sum of its outputs' probabilities, and the margin of two classes their log-odds.

    Args:
        logits: (R, O).
        groups: (C,) the outputs of each class.

    Returns:
        (R, C).

    Example:
        >>> three = torch.tensor([[0.2, 0.5, 0.3]]).log()
        >>> [round(p, 4) for p in collapse(three, [(1, 2), (0,)]).exp()[0].tolist()]
        [0.8, 0.2]
    """
    if all(len(group) == 1 for group in groups):
        return logits[:, [group[0] for group in groups]]
    return torch.stack([logits[:, list(group)].logsumexp(dim=1) for group in groups], dim=1)
