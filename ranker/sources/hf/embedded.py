"""Networks that can be run from embeddings, whatever their heads: with tokens hidden, and between embeddings."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from math import nan
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from factors.types import Bools, Example, Floats, Ints
from ranker.errors import first_line
from ranker.sources.base import Baseline, Hide
from ranker.sources.hf import align, batching
from ranker.sources.hf.align import Cells, TokenIds
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.networks import ENCODED_AT_ONCE, LoadedNetwork, Windows, padded

if TYPE_CHECKING:
    from tokenizers import Encoding

    from ranker.progress import Advance

S = TypeVar("S")
L = TypeVar("L", bound=LoadedNetwork)


@dataclass(frozen=True, kw_only=True)
class EmbeddedNetwork(LoadedNetwork):
    """A loaded network that gives the same outputs when run from embeddings.

    With `run_head`, `encodings` and `classes` it is a `ranker.sources.base.Embedded`.

    Networks read more from token ids than embeddings: RoBERTa's kind counts positions by the padding among them, a
    decoder's head reads the last token that is no padding, Longformer finds its questions by separators. So embeddings
    go in under ids (`frame_ids`): those of the row before anything was hidden, where each word has the same id. Then
    the row as it is has the answer that it has from its ids, and nothing moves when a token is hidden behind padding.
    """

    def answers_of(self, outputs: torch.Tensor, encodings: Sequence[TokenIds]) -> torch.Tensor:
        """Return (R, C) answers from the outputs of versions of R examples."""
        return outputs

    @property
    def rounding(self) -> float:
        """Step from 1 to the next number in the format of its matrix products."""
        return torch.finfo(self.dtype).eps

    @property
    def hides(self) -> tuple[Hide, ...]:
        """Ways to hide tokens: behind those that its tokenizer has, and by removal."""
        return (*self.substitutes, "remove")

    @property
    def substitutes(self) -> dict[Hide, int]:
        """Tokens that others can be hidden behind, with their ids, as far as the tokenizer has them."""
        names: tuple[Hide, ...] = ("pad", "mask")
        ids = {name: getattr(self.tokenizer, f"{name}_token_id", None) for name in names}
        return {name: int(token) for name, token in ids.items() if token is not None}

    @property
    def seed(self) -> str:
        """Digest of the loaded network's weights in bfloat16, whatever its dtype: the seed of random samples."""
        digest = hashlib.sha256(repr(getattr(self, "groups", ())).encode())
        for name, weight in self.model.named_parameters():
            rounded = weight.detach().to("cpu", torch.bfloat16).contiguous().reshape(-1)
            digest.update(name.encode())
            digest.update(rounded.view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def answers(
        self, requests: Iterable[tuple[S, TokenIds, Bools]], hide: Hide, advance: Advance = lambda done: None
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests in order, each with the (R, C) answers to one example with tokens hidden; see `Perturbed`."""
        token = None if hide == "remove" else self.substitutes[hide]
        rows = (
            ((state, encoding), self.framed(encoding).hidden(visible, token)) for state, encoding, visible in requests
        )
        for (state, encoding), outputs in self.outputs_of(self.network, rows, advance):
            stacked = torch.from_numpy(np.stack(outputs))
            yield state, self.answers_of(stacked, [encoding] * len(stacked)).numpy()

    def network(self, batch: Batch) -> torch.Tensor:
        """Run a batch of R rows -> (R, ...) float32 outputs of the head; those with a frame from their embeddings."""
        if batch.frame is None:
            return super().network(batch)
        return self._run_embedded(batch, self._embed_ids(batch.ids))

    def framed(self, encoding: TokenIds) -> TokenRow:
        """Return the input for an encoding that is run from embeddings."""
        return self.row(encoding)._replace(frame=self.frame_ids(encoding.ids))

    def frame_ids(self, ids: Ints) -> Ints:
        """Return ids in which all words are alike, and special tokens are what they are."""
        size = len(self.model.get_input_embeddings().weight)  # type: ignore[arg-type]
        word = next(number for number in reversed(range(size)) if number not in self.special_ids)
        return np.where(np.isin(ids, self.special_ids), ids, word)

    def embed(self, encodings: Sequence[TokenIds]) -> torch.Tensor:
        """Return (R, T, D) word embeddings of R examples, without positions and segments; of padding after them."""
        return self._embed_ids(self.batch(encodings).ids)

    def start(self, baseline: Baseline) -> torch.Tensor:
        """Return (D,) the word embedding of the mask or padding token, or zero."""
        token = 0 if baseline == "zero" else self.substitutes[baseline]
        embedding = self._embed_ids(torch.tensor([[token]], device=self.device))[0, 0]
        return torch.zeros_like(embedding) if baseline == "zero" else embedding

    def frame(self, encoding: TokenIds) -> Hashable:
        """Return all beside the embeddings that can be moved: segment ids, special and fixed tokens, and the answer."""
        fixed = encoding.fixed.tobytes(), encoding.ids[encoding.fixed].tobytes()
        return self.framed(encoding).content[1:], fixed, encoding.cells

    def from_embeddings(self, embeddings: torch.Tensor, encodings: Sequence[TokenIds]) -> torch.Tensor:
        """Run (R, T, D) word embeddings in place of those of R examples -> (R, C) float32 answers."""
        batch = self.batch(encodings)
        with self._kernels(embeddings):
            return self.answers_of(self._run_embedded(batch, embeddings), encodings)

    def batch(self, encodings: Sequence[TokenIds]) -> Batch:
        """Stack examples into a batch that is run from embeddings."""
        distinct = {id(encoding): encoding for encoding in encodings}  # a path has many points
        framed = {key: self.framed(encoding) for key, encoding in distinct.items()}
        return batching.stack([framed[id(encoding)] for encoding in encodings], self.device, self.pad)

    def embedding_trouble(self, batch: Batch, expected: torch.Tensor) -> str:
        """Return why the network cannot be run from embeddings, in a line; "" if it can.

        Args:
            batch: rows with frames.
            expected: outputs of the head for their ids.
        """
        try:
            answers = self._run_embedded(batch, self._embed_ids(batch.ids))
            off = self.difference(answers, expected)
        except Exception as error:  # a network may be foreign code
            return f"cannot be run from embeddings ({first_line(error.__cause__ or error)})"
        return off and f"answers otherwise to embeddings than to the tokens that they are of ({off})"

    def difference(self, logits: torch.Tensor, expected: torch.Tensor) -> str:
        """Describe the difference of logits from those of the network by itself; "" if it is rounding."""
        off = (logits - expected).abs().max().item()
        # half of the digits: far above rounding, and too small to matter
        return f"logits off by {off:.2g}" if off > self.rounding**0.5 * max(1.0, expected.abs().max().item()) else ""

    def _run_embedded(self, batch: Batch, embeddings: torch.Tensor) -> torch.Tensor:
        """Run (R, T, D) embeddings in place of those of a batch's frames -> (R, ...) float32 outputs."""
        frame = batch.frame
        assert frame is not None

        def replace(module: object, inputs: tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
            (ids,) = inputs
            if _same(ids[:, : frame.shape[1]], frame):
                return torch.cat([embeddings, output[:, frame.shape[1] :]], dim=1)  # Longformer's kind pads its rows
            if _same(ids.T, frame):
                return embeddings.transpose(0, 1)  # XLNet reads tokens first
            return output  # GPT-2 looks segments up, too

        with self.model.get_input_embeddings().register_forward_hook(replace):
            return self.run_head(batch.type_ids, input_ids=frame, **batch.masked)

    def _kernels(self, embeddings: torch.Tensor) -> AbstractContextManager[None]:
        """Avoid torch's fused attention in bfloat16 on CPU: its backward pass takes twelve times as long there."""
        fused_is_slow = self.device.type == "cpu" and self.dtype == torch.bfloat16
        return sdpa_kernel(SDPBackend.MATH) if fused_is_slow and embeddings.requires_grad else nullcontext()

    def _embed_ids(self, ids: torch.Tensor) -> torch.Tensor:
        """Embed (R, T) token ids -> (R, T, D)."""
        return self.model.get_input_embeddings()(ids)  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class EmbeddedHead(EmbeddedNetwork):
    """A head over tokens, as a `ranker.sources.base.Embedded` of one output: a number of its own answer to an example.

    A head adds `run_head`, (R, T, G) outputs, and the methods that raise here.
    """

    def windows_of(self, examples: Sequence[Example]) -> list[Windows]:
        """Return the windows of each example; the first one is attributed."""
        raise NotImplementedError

    def locate(self, example: Example, encoding: Encoding) -> tuple[Ints, Ints]:
        """Return (T,) segments of the tokens, -1 for special ones, and (T, 2) the characters that they cover there."""
        raise NotImplementedError

    def cells(self, example: Example, encoding: Encoding, outputs: Floats) -> Cells:
        """Return the places of the answer in the (T, G) outputs, see `TokenIds.cells`."""
        raise NotImplementedError

    def value(self, outputs: torch.Tensor, tokens: Sequence[int], kinds: Sequence[int]) -> torch.Tensor:
        """Return (R,) numbers of one answer from (R, T, G) outputs for versions of its example.

        Args:
            tokens: (S,) tokens of the answer, see `TokenIds.cells`.
            kinds: (S,) the output of each of them.
        """
        raise NotImplementedError

    @property
    def classes(self) -> int:
        """1, the model's own answer."""
        return 1

    @property
    def hides(self) -> tuple[Hide, ...]:
        """Ways to hide tokens: behind those that its tokenizer has. A removed token could be no part of an answer."""
        return tuple(self.substitutes)

    def or_plain(self, plain: type[L], *examples: Example) -> L:
        """Return itself if it can be run from embeddings, else as another class; tried with examples of two lengths."""
        chosen: Any = plain(**vars(self))
        tried = [windows[0][0] for windows in self.windows_of(examples)]
        framed = [row._replace(frame=self.frame_ids(row.ids)) for row in tried]
        with torch.no_grad(), suppress(ValueError):  # numbers that are not finite: each answer reports them
            expected = chosen.network(batching.stack(tried[:1], self.device))
            if self.embedding_trouble(batching.stack(framed[:1], self.device), expected):
                framed = tried
            else:
                chosen = self
            return padded(chosen, chosen.network, lambda: (tried, framed))  # type: ignore[no-any-return]
        return self  # type: ignore[return-value]  # a subclass of it

    def encodings(self, examples: Iterable[Example]) -> Iterator[TokenIds]:
        """Encode examples lazily, in order, with the answers to them; those past the model's limit are cut."""
        stream, count, cut = iter(examples), 0, 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            rows = [(windows[0][1], len(windows) > 1, windows[0][0]) for windows in self.windows_of(block)]
            requests = (((encoding, truncated, row), [row]) for encoding, truncated, row in rows)
            answered = self.outputs_of(self.network, requests)
            for example, ((encoding, truncated, row), (outputs,)) in zip(block, answered, strict=True):
                segment, offsets = self.locate(example, encoding)
                offsets = align.trim(offsets, segment, example.segments)
                yield TokenIds(
                    ids=row.ids,
                    type_ids=row.type_ids,
                    segment=segment,
                    word=align.words_of(offsets, segment, example.words),
                    offsets=offsets,
                    fixed=np.zeros(len(segment), bool),
                    tokens=tuple(encoding.tokens),
                    truncated=truncated,
                    cells=self.cells(example, encoding, outputs),
                )
                cut += truncated
            count += len(block)
        self.warn_of_cuts(cut, count)

    def answers(
        self, requests: Iterable[tuple[S, TokenIds, Bools]], hide: Hide, advance: Advance = lambda done: None
    ) -> Iterator[tuple[S, Floats]]:
        """Answer requests in order, see `EmbeddedNetwork.answers`; without anything to attribute, one row is run."""
        shortened = (
            ((state, len(visible)), encoding, visible if encoding.cells else visible[:1])
            for state, encoding, visible in requests
        )
        for (state, rows), values in super().answers(shortened, hide, advance):
            yield state, values if len(values) == rows else np.repeat(values, rows, axis=0)

    def answers_of(self, outputs: torch.Tensor, encodings: Sequence[TokenIds]) -> torch.Tensor:
        """Return (R, 1) numbers of the answers to R examples; nan for answers with nothing to attribute."""
        places: dict[tuple[Cells, int], list[int]] = defaultdict(list)
        for place, encoding in enumerate(encodings):
            places[encoding.cells, len(encoding)].append(place)
        values = [
            self.value(outputs[rows, :size], *zip(*cells, strict=True))
            if cells
            else nan * outputs[rows].sum(dim=(1, 2))
            for (cells, size), rows in places.items()
        ]
        order = np.argsort([row for rows in places.values() for row in rows])
        return torch.cat(values)[torch.from_numpy(order)][:, None]


def _same(ids: torch.Tensor, frame: torch.Tensor) -> bool:
    """Return whether token ids are those of a frame; tensors without content need the same shape alone."""
    return ids.shape == frame.shape and (ids.is_meta or torch.equal(ids, frame))
