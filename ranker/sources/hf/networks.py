"""Loaded networks with their tokenizers, and the way all of them are run: without padding, whatever their heads."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import torch

from factors.types import Floats
from ranker.errors import ModelError, first_line
from ranker.limits import LIMITS, Limits
from ranker.sources import packing
from ranker.sources.devices import DTYPES, device_named, resolve
from ranker.sources.hf import batching, checkpoints, loading
from ranker.sources.hf.align import TokenIds
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.files import Files, open_checkpoint_files
from ranker.sources.hf.heads import SPANS, TAGS, Head

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ranker.progress import Advance

S = TypeVar("S")
N = TypeVar("N", bound="LoadedNetwork")

log = logging.getLogger(__name__)

Windows: TypeAlias = "Sequence[tuple[TokenRow, Encoding]]"
"""Inputs of a network on one row, with the tokenizer's encodings; several where the row is long."""

TOKENS_ON_CPU, TOKENS_ELSEWHERE = 1024, 65_536
"""Default tokens a batch: fewer cost calls, more cost memory; on CPUs speed changes little from 1,024 on."""
WORK = 200_000_000_000
"""Operations on numbers of the predictions that are lost at most: four seconds of a thread of a processor of today."""

PADDING = 2048
"""Most tokens of a batch that may be padding on a GPU: few beside the cost of a pass. On a CPU it saves nothing."""
MASKED = 1e-5
"""Largest difference that padding may make, as a share of the largest output."""

TRIED_LENGTH = 1024
"""Most tokens of a row on which padding is tried."""

ENCODED_AT_ONCE = 256
"""Examples per call of the tokenizer."""
OVERLAP = 128
"""Most tokens that two windows on a long text share, as in transformers' example of question answering."""


@dataclass(frozen=True, kw_only=True)
class LoadedNetwork:
    """A loaded network with its tokenizer.

    Attributes:
        model: the network, in evaluation mode; no weight takes a gradient.
        max_length: most tokens that it takes.
        takes_type_ids: the network takes the segment of each token.
        special_ids: tokens that the network may look for, see `loading.special_ids`.
        token_budget: most tokens a batch; it changes speed and memory, no number.
        dtype: of matrix products: float32, or bfloat16 with all else in float32.
        beat: called after each batch and each call of the tokenizer, as a sign of life.
        notes: on its weights, a sentence each.
        padding: most tokens of padding in a batch; it changes speed and memory, no number: see `padded`.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    max_length: int
    takes_type_ids: bool
    special_ids: tuple[int, ...]
    device: torch.device
    token_budget: int
    dtype: torch.dtype = torch.float32
    beat: Callable[[], None] = lambda: None
    notes: loading.Notes = ()
    padding: int = 0

    @property
    def pad(self) -> int:
        """Token id of padding."""
        stated = getattr(self.model.config, "pad_token_id", None)
        return stated if isinstance(stated, int) and stated >= 0 else 0

    def window(self, passes: int = 1) -> int:
        """Return the most tokens that are read ahead: on a processor some seconds of work, so that few are lost.

        It depends on the network alone, not on the time that anything takes: the last bits of a row are those of its
        batch.

        Args:
            passes: that a token takes, forward and back.
        """
        ahead = packing.WINDOW * self.token_budget
        weights = sum(weight.numel() for weight in self.model.parameters())
        return ahead if self.device.type != "cpu" else min(ahead, WORK // (2 * passes * weights) + 1)

    def run(self, type_ids: torch.Tensor | None, **inputs: Any) -> Any:
        """Run R rows of T tokens -> the outputs of the network.

        Args:
            type_ids: (R, T) segments of the tokens, for networks that take them.
            inputs: of the network; the first holds the rows, as ids or as embeddings. Without an `attention_mask` each
                token of a row sees all others.

        Raises:
            ModelError: the network cannot be run.
        """
        types = {} if type_ids is None else {"token_type_ids": type_ids}
        mask = torch.ones(next(iter(inputs.values())).shape[:2], dtype=torch.long, device=self.device)
        with self.autocast():
            try:
                outputs = self.model(**{"attention_mask": mask, **inputs, **types})
            except Exception as error:  # a network may be foreign code
                if packing.is_out_of_memory(error):
                    raise
                raise ModelError.of(self.name, f"cannot be run: {first_line(error)}") from error
        self.beat()
        return outputs

    def run_head(self, type_ids: torch.Tensor | None, **rows: torch.Tensor) -> torch.Tensor:
        """Run R rows of T tokens, as ids or as embeddings -> (R, ...) float32 outputs of the head, which adds this."""
        raise NotImplementedError

    def network(self, batch: Batch) -> torch.Tensor:
        """Run a batch of R rows -> (R, ...) float32 outputs of the head."""
        return self.run_head(batch.type_ids, input_ids=batch.ids, **batch.masked)

    def outputs_of(
        self,
        run: Callable[[Batch], torch.Tensor],
        requests: Iterable[tuple[S, Sequence[TokenRow]]],
        advance: Advance = lambda done: None,
    ) -> Iterator[tuple[S, list[Floats]]]:
        """Answer requests in order, each with the float64 outputs of its rows: see `batching.run_rows`.

        Args:
            run: a batch of R rows of T tokens -> (R, C) outputs, or (R, T, G) outputs for each token. Those of padding
                are left out.
        """

        def run_batch(rows: Sequence[TokenRow]) -> Iterable[Floats]:
            outputs = run(batching.stack(rows, self.device, self.pad)).double().cpu().numpy()
            if outputs.ndim < 3:
                return outputs
            return [values[: row.size] for values, row in zip(outputs, rows, strict=True)]

        return batching.run_rows(run_batch, requests, self.token_budget, advance, self.padding, self.window())

    def row(self, encoding: TokenIds) -> TokenRow:
        """Return the network's input for an encoding."""
        return TokenRow(encoding.ids, encoding.type_ids if self.takes_type_ids else None)

    def warn_of_cuts(self, cut: int, count: int) -> None:
        """Warn of examples that are longer than the model's limit."""
        if cut:
            log.warning("%s: %d of %d examples are longer than its %d tokens, and were cut", self.name, cut, count,
                        self.max_length)  # fmt: skip

    def autocast(self) -> AbstractContextManager[Any]:
        """Return a context in which products are computed in the network's format."""
        reduced = self.dtype != torch.float32  # not every device supports autocast
        return torch.autocast(self.device.type, self.dtype) if reduced else nullcontext()

    def windows(self, *texts: Sequence[Any], overlap: int, **options: Any) -> list[Windows]:
        """Encode N rows, the long ones in overlapping windows, in order.

        Args:
            texts: (N,) segments of the rows, once or twice.
            overlap: tokens that two windows share.
        """
        with loading.one_line_errors(self.name, "cannot be run"):
            batch = self.tokenizer(
                *map(list, texts),
                max_length=self.max_length,
                stride=overlap,
                return_overflowing_tokens=True,
                return_attention_mask=False,
                **options,
            )
        self.beat()
        windows: list[list[tuple[TokenRow, Encoding]]] = [[] for _ in texts[0]]
        types = self.takes_type_ids and "token_type_ids" in batch
        for row, encoding in zip(batch["overflow_to_sample_mapping"], batch.encodings or (), strict=True):
            ids, type_ids = (np.array(values, dtype=np.int64) for values in (encoding.ids, encoding.type_ids))
            windows[row].append((TokenRow(ids, type_ids if types else None), encoding))
        return list(windows)


def load_network(
    path: str | Path,
    head: Head,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    label_map: Mapping[str, str] | None = None,
    trust_remote_code: bool = False,
    allow_pickle: bool = False,
    token_budget: int | None = None,
    bases: loading.Bases | None = None,
    files: Files | None = None,
    beat: Callable[[], None] = lambda: None,
    limits: Limits = LIMITS,
) -> LoadedNetwork:
    """Load the network of a checkpoint with its head.

    Args:
        path: a directory with a checkpoint or a PEFT adapter, or a hub id ``org/name@revision``.
        dtype: "float32", "bfloat16", or "auto" (see `devices.resolve`).
        label_map: the checkpoint's label index or name -> its meaning; for an adapter it sets the number of outputs.
        trust_remote_code: run code that comes with the checkpoint.
        allow_pickle: load weights that are not safetensors.
        token_budget: most tokens a batch; None takes what is fast on the device.
        bases: cache of the last base. Adapters loaded with the same dict share the weights of their base in memory,
            except those that they change.
        files: of the checkpoint, if already open; None opens and closes those at the path. What is loaded has their
            digest. They are not needed afterwards.
        beat: called with each part of the files that is read here, and see `LoadedNetwork.beat`.
    """
    target = device_named(device)
    products = DTYPES[resolve(dtype, device)]
    options = loading.Options(trust_remote_code, allow_pickle, products, limits)
    with ExitStack() as held:
        if files is None:
            folder = checkpoints.locate(path, allow_pickle=allow_pickle)
            files = held.enter_context(
                closing(open_checkpoint_files(folder, allow_pickle=allow_pickle, beat=beat, limits=limits))
            )
        held.enter_context(loading.one_line_errors(files.path, rephrase=files.rephrase))
        model, tokenizer, notes = loading.load(files, options, head, label_map, bases)
        if not files.gguf:  # transformers adds a token to some of their tokenizers
            loading.check_ids(files.path, model, tokenizer)
        model.requires_grad_(False).to(target)  # type: ignore[arg-type]
        model.eval()  # type: ignore[no-untyped-call]
        loading.store_products(model, products)
        takes_type_ids = "token_type_ids" in inspect.signature(model.forward).parameters
        if files.under and head is SPANS:
            takes_type_ids = False  # PEFT's wrapper drops them, so that such adapters are trained without
        if head in (TAGS, SPANS):
            tokenizer.truncation_side = "right"  # nothing is lost: windows hold all of a row, from its beginning on
        return LoadedNetwork(
            name=str(path),
            model=model,
            tokenizer=tokenizer,
            max_length=loading.max_length(model, tokenizer),
            takes_type_ids=takes_type_ids,
            special_ids=loading.special_ids(model, tokenizer),
            device=target,
            token_budget=token_budget or (TOKENS_ON_CPU if target.type == "cpu" else TOKENS_ELSEWHERE),
            dtype=products,
            beat=beat,
            notes=notes,
        )


def padded(network: N, run: Callable[[Batch], torch.Tensor], tried: Callable[[], Sequence[Sequence[TokenRow]]]) -> N:
    """Return a network that pads its batches, on a GPU, if the outputs for rows of two lengths stay what they are."""
    gains = network.device.type != "cpu" and all(masks(network, run, rows) for rows in tried())
    return replace(network, padding=PADDING) if gains else network


def masks(network: LoadedNetwork, run: Callable[[Batch], torch.Tensor], rows: Sequence[TokenRow]) -> bool:
    """Return whether the outputs for rows are the same beside longer ones, behind a mask, as alone.

    Some networks change their attention where texts are long, so that the rows are also tried at such lengths. What
    cannot be run so is not the same: each row by itself shows whether it can be run.
    """
    longest = min(network.max_length, TRIED_LENGTH)
    rows = [*rows, *(_resized(rows[-1], size) for size in (longest - longest // 8, longest))]
    try:
        with torch.no_grad():
            together = run(batching.stack(rows, network.device, network.pad))
            alone = [run(batching.stack([row], network.device))[0] for row in rows]
    except Exception as error:  # a network may be foreign code
        log.info("%s is run without padding: %s", network.name, first_line(error))
        return False
    values = [
        output[: len(single)] if single.dim() > 1 else output for output, single in zip(together, alone, strict=True)
    ]
    return not any(differ(output, single) for output, single in zip(values, alone, strict=True))


def _resized(row: TokenRow, size: int) -> TokenRow:
    """Return a row of another size, whose tokens between the first and the last are repeated."""
    return row.part(np.r_[0, np.resize(np.arange(1, row.size - 1), size - 2), row.size - 1])


def differ(outputs: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return True if outputs differ by more than rounding."""
    allowed = max(MASKED, 4 * torch.finfo(outputs.dtype).eps) * max(1.0, expected.abs().max().item())
    return not (outputs - expected).abs().max().item() <= allowed


def overlap_in(room: int) -> int:
    """Return the tokens that two windows share, of those that differ between windows: at most half.

    Example:
        >>> overlap_in(510), overlap_in(38)
        (128, 19)
    """
    return min(OVERLAP, room // 2)


def finite(outputs: torch.Tensor) -> torch.Tensor:
    """Return outputs of a network in float32; raises a ValueError if one is not finite."""
    if not torch.isfinite(outputs).all():
        raise ValueError("the model gives numbers that are not finite")
    return outputs.float()
