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

from factors.types import SPECIAL, Bools, Example, Floats, Ints
from ranker.errors import ModelError
from ranker.sources.base import Embedded
from ranker.sources.hf import loading
from ranker.sources.hf.align import Cells, TokenIds
from ranker.sources.hf.batching import TokenRow
from ranker.sources.hf.embedded import EmbeddedHead
from ranker.sources.hf.heads import SPANS
from ranker.sources.hf.networks import ENCODED_AT_ONCE, LoadedNetwork, Windows, finite, load_network, overlap_in
from ranker.sources.packing import in_blocks
from ranker.tasks.texts import TextAnswers

if TYPE_CHECKING:
    from tokenizers import Encoding

    from ranker.progress import Advance

log = logging.getLogger(__name__)

SHORT = Example("short", ("Short?", "One short text."))
LONG = Example("long", ("Short?", "One text that is longer than the short one."))
"""Example that tries out a loaded network."""

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
        """Load a question answering head, as an `EmbeddedExtractor` if it can be one; see `load_network`."""
        network = load_network(path, SPANS, **options)
        return EmbeddedExtractor(**vars(network), null_answers=null_answers).or_plain(SpanExtractor, SHORT, LONG)

    def predict(self, examples: Sequence[Example], advance: Advance = lambda done: None) -> Iterator[TextAnswers]:
        """Yield the answers to examples, in blocks, in order: see `ranker.sources.base.Predictor`."""
        requests = self._requests(examples)
        answered = self.outputs_of(self.network, requests, advance)
        for block in in_blocks(answered, ENCODED_AT_ONCE):
            yield TextAnswers(tuple(self._answer(*state, logits) for state, logits in block))

    def run_head(self, type_ids: torch.Tensor | None, **rows: torch.Tensor) -> torch.Tensor:
        """Run R rows of T tokens -> (R, T, 2) float32 logits: that an answer starts, and that it ends, at each one."""
        outputs = self.run(type_ids, **rows)
        return finite(torch.stack([outputs.start_logits, outputs.end_logits], dim=-1))

    def _requests(self, examples: Sequence[Example]) -> Iterator[tuple[tuple[str, list[Encoding]], list[TokenRow]]]:
        """Yield the passage, the encodings and the windows of each example."""
        stream, count, cut = iter(examples), 0, 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            questions = self._questions(block)
            for example, windows in zip(block, self._windows(questions, block), strict=True):
                yield (example.segments[1], [encoding for _, encoding in windows]), [row for row, _ in windows]
            count += len(block)
            cut += sum(question != example.segments[0] for question, example in zip(questions, block, strict=True))
        if cut:
            log.warning("%s: %d of %d questions are longer than a quarter of its %d tokens, and were cut",
                        *(self.name, cut, count, self.max_length))  # fmt: skip

    def windows_of(self, examples: Sequence[Example]) -> list[Windows]:
        """Return the windows of each example; raises a ModelError for one that is no question with its passage."""
        return self._windows(self._questions(examples), examples)

    def _windows(self, questions: Sequence[str], examples: Sequence[Example]) -> list[Windows]:
        """Return the windows of questions and the passages of examples."""
        special = self.tokenizer.num_special_tokens_to_add(pair=True)
        overlap = overlap_in(self.max_length - self.max_length // QUESTION_SHARE - special)
        passages = [example.segments[1] for example in examples]
        if self._passage:
            return self.windows(questions, passages, overlap=overlap, truncation="only_second")
        return self.windows(passages, questions, overlap=overlap, truncation="only_first")

    @property
    def _passage(self) -> int:
        """Segment that is the passage: the first, if the tokenizer pads on the left, as in transformers' example."""
        return int(self.tokenizer.padding_side == "right")

    def _questions(self, examples: Sequence[Example]) -> list[str]:
        """Return the questions of examples; those that are too long are cut."""
        if wrong := [len(example.segments) for example in examples if len(example.segments) != 2]:
            predicate = f"needs a question and its passage, two texts a row (got {wrong[0]})"
            raise ModelError.of(self.name, predicate, value=wrong[0])
        questions = [example.segments[0] for example in examples]
        with loading.one_line_errors(self.name, "cannot be run"):
            batch = self.tokenizer(
                questions,
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
        best, answer, lowest = -np.inf, "", np.inf
        for encoding, scores in zip(encodings, logits, strict=True):
            score, null, first, last = self._span(encoding, scores)
            if score > best:
                best, answer = score, passage[encoding.offsets[first][0] : encoding.offsets[last][1]].strip()
            lowest = min(lowest, null)
        return "" if self.null_answers and lowest > best else answer

    def _span(self, encoding: Encoding, logits: Floats) -> tuple[float, float, int, int]:
        """Return the scores of the best span and of no answer in a window, and the span's first and last token."""
        inside = np.array(encoding.sequence_ids) == self._passage
        score, first, last = best_span(logits[:, 0], logits[:, 1], inside)
        token = self.tokenizer.cls_token_id
        null = float(logits[encoding.ids.index(token) if token in encoding.ids else 0].sum())
        return score, null, first, last


@dataclass(frozen=True, kw_only=True)
class EmbeddedExtractor(SpanExtractor, EmbeddedHead):
    """An extractor whose words can be hidden: a `ranker.sources.base.Embedded` of the span that it predicts.

    The number is the log-probability of the span: that it starts at its first token, and ends at its last, among all
    tokens. A passage is cut at the model's limit.
    """

    def locate(self, example: Example, encoding: Encoding) -> tuple[Ints, Ints]:
        """Return (T,) segments of the tokens, and (T, 2) their characters: see `EmbeddedHead`."""
        segments = [SPECIAL if s is None else int(s == self._passage) for s in encoding.sequence_ids]
        return np.array(segments, np.int64), np.array(encoding.offsets, np.int64).reshape(-1, 2)

    def cells(self, example: Example, encoding: Encoding, outputs: Floats) -> Cells:
        """Return the first token of the predicted span, and its last; () for no answer."""
        score, null, first, last = self._span(encoding, outputs)
        return ((first, 0), (last, 1)) if np.isfinite(score) and not (self.null_answers and null > score) else ()

    def value(self, outputs: torch.Tensor, tokens: Sequence[int], kinds: Sequence[int]) -> torch.Tensor:
        """Return (R,) log-probabilities of the span."""
        return outputs.log_softmax(dim=1)[:, list(tokens), list(kinds)].sum(dim=1)


if TYPE_CHECKING:
    _can: type[Embedded[TokenIds]] = EmbeddedExtractor  # checked by mypy


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
