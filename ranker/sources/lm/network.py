"""Loaded language models: tokens after a prompt whose keys and values are computed once."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from factors.types import Ints
from ranker.errors import ModelError, first_line
from ranker.sources import packing
from ranker.sources.hf import loading
from ranker.sources.hf.files import Files
from ranker.sources.hf.heads import CAUSAL, Head
from ranker.sources.hf.networks import PADDING, LoadedNetwork, differ, load_network
from ranker.sources.lm.prompts import DATE

if TYPE_CHECKING:
    from transformers.cache_utils import Cache

SHORTEST_PREFIX = 16
"""Tokens of a prefix that are worth to be computed once: a copy of a shorter one costs as much."""

PREFIX_SHARE = 8
"""Tokens of a shared prefix that cost as much memory as a token of a row, whose activations are far larger."""

TOKENS_A_WRITTEN_ONE = 10
"""Tokens that are read in the time of one that is written, for which all weights are read."""

LOCAL = ("sliding_window", "attention_chunk_size", "window_size", "local_attention", "attention_window")
"""Settings of networks whose tokens see those near them: in places, which padding fills, too."""

Prefix = tuple[int, ...]
"""Token ids that rows begin with; () for none."""


@dataclass(frozen=True, kw_only=True)
class LanguageModel(LoadedNetwork):
    """A loaded language model: a decoder, or an encoder with a decoder.

    Attributes:
        prefixes: keys and values of the last prefix, by its ids.
    """

    digest: str
    prefixes: dict[Prefix, Cache] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, path: str | Path, files: Files, head: Head, **options: Any) -> LanguageModel:
        """Load a language model from its open files.

        Args:
            path: for messages.
            head: `CAUSAL` or `SEQ2SEQ`.
            options: see `load_network`.

        Raises:
            ModelError: the checkpoint is incomplete, damaged or no language model, its tokens see those after them
                though no encoder reads them, or an adapter has another tokenizer than its base.
        """
        network = load_network(path, head, files=files, **options)
        if files.under is not None:
            with loading.one_line_errors(files.path, rephrase=files.rephrase):
                _check_same_tokenizer(network, files)
        if _needs_eager_attention(network.model.config, network.device):
            network.model.set_attn_implementation("eager")
        limit = min(network.max_length, _positions(network.model.config) if head is CAUSAL else sys.maxsize)
        changes = {"max_length": limit, "padding": _padding(head, network.device)}
        model = cls(**{**vars(network), **changes}, digest=files.digest)
        if not model.encodes:
            _check_order(model)
        return model

    @property
    def encodes(self) -> bool:
        """True if an encoder reads the prompt, and a decoder writes the answer."""
        return bool(self.model.config.is_encoder_decoder)

    @property
    def bos(self) -> int:
        """Token that a decoder with an encoder begins with."""
        config: Any = self.model.config
        return int(config.decoder_start_token_id)

    def chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Return a chat as one text, up to where the answer begins; raises a ModelError without a fitting template."""
        if not self.tokenizer.chat_template:
            predicate = "has no chat template; take prompts without `chat`"
            raise ModelError.of(self.name, predicate, option="prompts")
        with loading.one_line_errors(self.name, "cannot be asked by its chat template"):
            return str(
                self.tokenizer.apply_chat_template(
                    [*map(dict, messages)], tokenize=False, add_generation_prompt=True, date_string=DATE
                )
            )

    def tokens(self, texts: Sequence[str], special: bool) -> list[tuple[Ints, Ints]]:
        """Return the tokens of texts without special tokens at their end: (T,) ids and (T, 2) offsets.

        Args:
            special: add the tokenizer's special tokens; an encoder keeps those at the end, too.

        Raises:
            ModelError: the tokenizer fails, or gives a token that the network does not know.
        """
        with loading.one_line_errors(self.name, "cannot be run"):
            batch = self.tokenizer(
                list(texts), add_special_tokens=special, return_offsets_mapping=True, return_attention_mask=False,
                return_special_tokens_mask=True,
            )  # fmt: skip
        self.beat()
        tokens = []
        for encoding in batch.encodings or ():
            end = len(encoding.ids)
            while special and not self.encodes and end > 1 and encoding.special_tokens_mask[end - 1]:
                end -= 1
            offsets = np.array(encoding.offsets[:end], np.int64).reshape(-1, 2)
            ids = np.array(encoding.ids[:end], np.int64)
            if (unknown := ids[ids >= len(self.model.get_input_embeddings().weight)]).size:  # type: ignore[arg-type]
                token = self.tokenizer.convert_ids_to_tokens(int(unknown[0]))
                raise ModelError.of(self.name, f"has no embedding for the token {token!r}", value=token)
            tokens.append((ids, offsets))
        return tokens

    def cache(self, prefix: Prefix, rows: int) -> dict[str, Any]:
        """Return the argument with the keys and values of a prefix for some rows; none without a prefix."""
        if not prefix:
            return {}
        if prefix not in self.prefixes:
            self.prefixes.clear()
            ids = torch.tensor([prefix], device=self.device)
            with torch.inference_mode(False), torch.no_grad():  # gradients of rows go through their keys and values
                outputs = self.run(None, input_ids=ids, attention_mask=None, use_cache=True, **self._keeping(1))
            self.prefixes[prefix] = outputs.past_key_values
        cache = copy.deepcopy(self.prefixes[prefix])
        cache.batch_repeat_interleave(rows)
        # transformers 5.40 renames it
        name = next(name for name in ("past_key_values", "cache") if name in self._arguments)
        return {name: cache, "use_cache": True}

    def logits(
        self, context: torch.Tensor, keep: int, prefix: Prefix = (), decoder_ids: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return (R, keep, V) float32 logits of the tokens behind the last `keep` ones.

        Args:
            context: (R, T) ids after the prefix, or their (R, T, D) embeddings; all that an encoder reads.
            keep: number of places.
            prefix: ids that all rows begin with.
            decoder_ids: (R, L) ids that a decoder with an encoder has written.
        """
        name = "input_ids" if context.dim() == 2 else "inputs_embeds"
        if self.encodes:
            outputs = self.run(None, **{name: context}, decoder_input_ids=decoder_ids)
            return outputs.logits[:, -keep:].float()  # type: ignore[no-any-return]
        arguments = {"attention_mask": None, "use_cache": False, **self._keeping(keep)}
        outputs = self.run(None, **{name: context}, **{**arguments, **self.cache(prefix, len(context))})
        return outputs.logits[:, -keep:].float()  # type: ignore[no-any-return]

    def write(self, rows: Sequence[Ints], prefix: Prefix, most: int, stop: Sequence[str]) -> torch.Tensor:
        """Return (R, L) tokens that the model writes after R rows, the most probable ones.

        Args:
            rows: (R,) tokens of the rows, those of the prefix included; of one length, or see `padding_written`.
            prefix: that all rows begin with.
            stop: texts that end an answer that has begun with something else than blanks.
        """
        return self._generate(rows, prefix, most, stop)[:, self._first(rows) :]  # type: ignore[no-any-return]

    def padding_written(self, most: int) -> int:
        """Return the most tokens of padding in a batch of rows after which some tokens are written.

        One pass reads all weights, on a processor too; so it takes more padding than a pass of a prompt. There is none
        if a row beside a longer one has other logits than alone; and none, untried, where a window holds one row.
        """
        alone = self.window() < 2 * most
        return 0 if alone or not self.masks else max(self.padding, TOKENS_A_WRITTEN_ONE * most)

    @cached_property
    def masks(self) -> bool:
        """True if a row beside a longer one has the logits that it has alone, with and without a prefix."""
        (long, _), (short, _) = self.tokens(["One text that is longer than the other one.", "One text."], True)
        for shared in {0} if self.encodes else {0, 1}:
            try:
                alone, beside = (
                    [row[0] for row in self._generate(rows, tuple(short[:shared]), 2, (), output_logits=True).logits]
                    for rows in ([short], [short, np.r_[short[:shared], long[shared:]]])
                )
            except Exception:  # out of memory, or foreign code: what is asked shows whether it can be run
                return False
            if any(differ(*logits) for logits in zip(alone, beside, strict=False)):
                return False
        return True

    @property
    def reach(self) -> int:
        """Places, padding among them, of which each token sees all before it."""
        text: Any = self.model.config.get_text_config()
        return min((int(width) for name in LOCAL if (width := getattr(text, name, None))), default=sys.maxsize)

    def _generate(
        self, rows: Sequence[Ints], prefix: Prefix, most: int, stop: Sequence[str], output_logits: bool = False
    ) -> Any:
        """Return what transformers' `generate` does; see `write`."""
        from transformers import GenerationConfig, StoppingCriteriaList

        first = self._first(rows)

        def stopped(ids: torch.Tensor, scores: object) -> torch.Tensor:
            texts = self.tokenizer.batch_decode(ids[:, first:], skip_special_tokens=True)
            return torch.tensor([any(end in text.lstrip() for end in stop) for text in texts], device=ids.device)

        stated = getattr(self.model, "generation_config", None)
        ends = getattr(stated, "eos_token_id", None) or self.tokenizer.eos_token_id
        pad = self.tokenizer.pad_token_id
        first_end = ends[0] if isinstance(ends, (list, tuple)) else ends
        settings = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False,
            max_new_tokens=most,
            eos_token_id=ends,
            pad_token_id=first_end if pad is None else pad,
            decoder_start_token_id=self.bos if self.encodes else None,
            output_logits=output_logits,
            return_dict_in_generate=output_logits,
        )
        ids, mask = (torch.from_numpy(values).to(self.device) for values in self._padded(rows, len(prefix)))
        cached = self.cache(prefix, len(ids))
        arguments = {"attention_mask": mask, "generation_config": settings, **cached}
        with loading.silent(), self.autocast():
            try:
                generated = self.model.generate(  # type: ignore[operator]
                    ids, stopping_criteria=StoppingCriteriaList([stopped]), **arguments
                )
            except Exception as error:
                if packing.is_out_of_memory(error):
                    raise
                raise ModelError.of(self.name, f"cannot be run: {first_line(error)}") from error
        self.beat()
        return generated

    def _first(self, rows: Sequence[Ints]) -> int:
        """Return the place of the first written token."""
        return 1 if self.encodes else max(map(len, rows))

    def _padded(self, rows: Sequence[Ints], shared: int) -> tuple[Ints, Ints]:
        """Return (R, T) ids and mask of rows: what is written follows them, so decoders' padding follows the prefix."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for of_row, of_mask, row in zip(ids, mask, rows, strict=True):
            begin = 0 if self.encodes else len(of_row) - len(row)
            places = np.arange(len(row))
            places[shared:] += begin
            of_row[places], of_mask[places] = row, 1
        return ids, mask

    def _keeping(self, keep: int) -> dict[str, int]:
        """Return the argument that computes few logits only, if the network has it."""
        return {"logits_to_keep": keep} if "logits_to_keep" in self._arguments else {}

    @property
    def _arguments(self) -> Mapping[str, Any]:
        return inspect.signature(self.model.forward).parameters


def _needs_eager_attention(config: Any, device: torch.device) -> bool:
    """Return True if torch's fused attention would be wrong: on CUDA, for queries that share one head of keys."""
    # its memory-efficient kernel (torch 2.11) reads keys that are expanded, not copied, wrongly for some lengths
    heads = getattr(config.get_text_config(), "num_key_value_heads", None)
    return device.type == "cuda" and heads == 1


def _padding(head: Head, device: torch.device) -> int:
    """Return the most tokens of padding in a batch: on GPUs, of decoders, whose tokens see none of those after them."""
    return PADDING if head is CAUSAL and device.type != "cpu" else 0


def _positions(config: Any) -> int:
    """Return the most tokens that a decoder takes by its configuration."""
    text = config.get_text_config()
    return int(getattr(text, "max_position_embeddings", None) or getattr(text, "n_positions", None) or sys.maxsize)


def _check_order(model: LanguageModel) -> None:
    """Refuse a decoder whose tokens see those after them: it was trained to fill gaps, not to go on."""
    with torch.inference_mode():
        first, second = model.logits(torch.tensor([[0, 0], [0, 1]], device=model.device), 2)[:, 0]
    if abs(first - second).max() > 1e-3 * first.std():
        text = "is no language model: its tokens see those after them (bidirectional attention)"
        raise ModelError.of(model.name, text)


def _check_same_tokenizer(network: LoadedNetwork, files: Files) -> None:
    """Refuse an adapter with a tokenizer that numbers the tokens of its base otherwise."""
    from transformers import AutoTokenizer

    assert files.under is not None
    base = AutoTokenizer.from_pretrained(files.under.folder, local_files_only=True)
    ids = network.tokenizer.get_vocab()
    wrong = next((token for token, number in base.get_vocab().items() if ids.get(token) != number), None)
    if wrong is not None:
        text = f"has another tokenizer than its base {files.under.path}: {wrong!r} has another number in it"
        raise ModelError.of(files.path, f"{text}; save it with the tokenizer of its base", value=wrong)
