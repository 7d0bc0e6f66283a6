"""Run any Hugging Face head of extractive question answering: a span of the passage, or that it has no answer."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from factors.types import Bools, Example, Floats
from ranker.errors import ModelError
from ranker.sources.hf import batching, loading
from ranker.sources.hf.batching import Batch, TokenRow
from ranker.sources.hf.heads import SPANS
from ranker.sources.hf.networks import ENCODED_AT_ONCE, LoadedNetwork, finite, load_network, overlap_in
from ranker.tasks.texts import TextAnswers

if TYPE_CHECKING:
    from tokenizers import Encoding

    from ranker.progress import Advance

log = logging.getLogger(__name__)

LONGEST_ANSWER = 30
"""Most tokens of an answer, as in transformers' example."""

QUESTION_SHARE = 4
"""Part of the model's limit, a quarter, that a question may take, so that a window has room for its passage."""


@dataclass(frozen=True, kw_only=True)
class SpanExtractor(LoadedNetwork):
    """A loaded question answering head: a `ranker.sources.base.Predictor` of texts.

    Rows are a question and its passage. A long passage is read in overlapping windows (`networks.OVERLAP`). The answer
    is the span with the highest sum of its start's and its end's logits in any window, in the passage's own characters.

    Attributes:
        null_answers: the answer is "" where the score of the classification token (of the first, if there is none), the
            lowest of all windows, is above that of every span.

    Source: Devlin et al. 2019, "BERT", sections 4.2 and 4.3, and transformers' example `run_qa`.
    """

    null_answers: bool = False

    @classmethod
    def load(cls, path: str | Path, *, null_answers: bool = False, **options: Any) -> SpanExtractor:
        """Load a question answering head, or a PEFT adapter of one.

        Args:
            path: a directory, or a hub id ``org/name@revision``.
            null_answers: see the class.
            options: see `load_network`.

        Raises:
            ModelError: the checkpoint is incomplete, damaged or has another head.
        """
        return cls(**vars(load_network(path, SPANS, **options)), null_answers=null_answers)

    def predict(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Iterator[TextAnswers]:
        """Yield the answers to examples, in blocks, in order: see `ranker.sources.base.Predictor`."""
        requests = self._requests(examples)
        answered = batching.forward_rows(self.network, requests, self.token_budget, self.device, advance)
        while block := list(islice(answered, ENCODED_AT_ONCE)):
            yield TextAnswers(tuple(self._answer(*state, logits) for state, logits in block))

    def network(self, batch: Batch) -> torch.Tensor:
        """Run a batch of R rows -> (R, T, 2) float32 logits: that an answer starts, and that it ends, at each token."""
        outputs = self.run(batch.type_ids, input_ids=batch.ids)
        return finite(torch.stack([outputs.start_logits, outputs.end_logits], dim=-1))

    def _requests(self, examples: Sequence[Example]) -> Iterator[tuple[tuple[str, list[Encoding]], list[TokenRow]]]:
        """Yield the passage, the encodings and the windows of each example."""
        special = self.tokenizer.num_special_tokens_to_add(pair=True)
        overlap = overlap_in(self.max_length - self.max_length // QUESTION_SHARE - special)
        stream, count, cut = iter(examples), 0, 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            if wrong := [len(example.segments) for example in block if len(example.segments) != 2]:
                predicate = f"needs a question and its passage, two texts a row (got {wrong[0]})"
                raise ModelError.of(self.name, predicate, value=wrong[0])
            questions = self._cut([example.segments[0] for example in block])
            passages = [example.segments[1] for example in block]
            if self._passage:
                encoded = self.windows(questions, passages, overlap=overlap, truncation="only_second")
            else:
                encoded = self.windows(passages, questions, overlap=overlap, truncation="only_first")
            for passage, windows in zip(passages, encoded, strict=True):
                yield (passage, [encoding for _, encoding in windows]), [row for row, _ in windows]
            count += len(block)
            cut += sum(question != example.segments[0] for question, example in zip(questions, block, strict=True))
        if cut:
            log.warning("%s: %d of %d questions are longer than a quarter of its %d tokens, and were cut",
                        *(self.name, cut, count, self.max_length))  # fmt: skip

    @property
    def _passage(self) -> int:
        """Segment that is the passage: the first, if the tokenizer pads on the left, as in transformers' example."""
        return int(self.tokenizer.padding_side == "right")

    def _cut(self, questions: Sequence[str]) -> list[str]:
        """Cut questions that are too long."""
        with loading.one_line_errors(self.name, "cannot be run"):
            batch = self.tokenizer(
                list(questions),
                truncation=True,
                max_length=self.max_length // QUESTION_SHARE,
                add_special_tokens=False,
            )
        return [
            question[: encoding.offsets[-1][1]] if encoding.overflowing else question
            for question, encoding in zip(questions, batch.encodings or (), strict=True)
        ]

    def _answer(self, passage: str, encodings: Sequence[Encoding], logits: Sequence[Floats]) -> str:
        """Return the answer from the passage, the tokens of its windows, and for each window (T, 2) logits."""
        best, answer, null = -np.inf, "", np.inf
        for encoding, scores in zip(encodings, logits, strict=True):
            inside = np.array(encoding.sequence_ids) == self._passage
            score, first, last = best_span(scores[:, 0], scores[:, 1], inside)
            if score > best:
                best, answer = score, passage[encoding.offsets[first][0] : encoding.offsets[last][1]].strip()
            token = self.tokenizer.cls_token_id
            null = min(null, scores[encoding.ids.index(token) if token in encoding.ids else 0].sum())
        return "" if self.null_answers and null > best else answer


def best_span(start: Floats, end: Floats, allowed: Bools) -> tuple[float, int, int]:
    """Find the span of at most `LONGEST_ANSWER` tokens with the highest sum of logits; of equals, the shortest.

    Args:
        start, end: (T,) logits that an answer starts, and that it ends, at each token.
        allowed: (T,) tokens at which it may.

    Returns:
        The sum, the first token and the last; -inf where no token is allowed.

    Example:
        >>> best_span(np.array([9.0, 1.0, 3.0]), np.array([9.0, 2.0, 1.0]), np.array([False, True, True]))
        (4.0, 2, 2)
    """
    start, end = (np.where(allowed, logits, -np.inf) for logits in (start, end))
    tokens = len(start)
    sums = np.full((min(LONGEST_ANSWER, tokens), tokens), -np.inf)
    for longer in range(len(sums)):
        sums[longer, : tokens - longer] = start[: tokens - longer] + end[longer:]
    longer, first = divmod(int(sums.argmax()), tokens)
    return float(sums[longer, first]), first, first + longer
