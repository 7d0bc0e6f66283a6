"""Encode examples as a model's tokens, and align tokens with words; no other module does so.

The pair encoding is always the tokenizer's own. A pair joined by hand may suit one model and be out of distribution
for another: RoBERTa, for one, separates its segments by two separators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from factors.types import SPECIAL, Example, Ints, Span
from ranker.sources.base import Encoding

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerBase

REVISION = 2
"""Version of splitting words (`factors.types.split_words`), encoding and alignment; part of the store's key, so raise
it when these change.
"""

LONG = 32
"""Characters per token of the model's limit beyond which a text is cut before it is tokenized."""
MARGIN = 1000
"""Characters after the last token in which a blank is looked for, to cut a text at."""

Cells: TypeAlias = tuple[tuple[int, int], ...]
"""Places in the (T, G) outputs of a head: a token and an output each."""

_SPACE = re.compile(r"\s")


@dataclass(frozen=True, kw_only=True)
class TokenIds(Encoding):
    """One example in T tokens. Special tokens belong to no text and are not fixed.

    Attributes:
        ids: (T,) token ids.
        type_ids: (T,) segment ids, for models that take them.
        cells: for heads over tokens, places of the model's own answer in its outputs; () where the answer has nothing
            to attribute.
    """

    ids: Ints
    type_ids: Ints | None
    cells: Cells = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for array in (self.ids, self.type_ids):
            if array is not None:
                array.flags.writeable = False


def encode(tokenizer: PreTrainedTokenizerBase, examples: Sequence[Example], max_length: int) -> list[TokenIds]:
    """Encode examples, in order; one that is too long loses tokens from the end of its longer segment first.

    Args:
        tokenizer: a fast one, since only those know the characters of a token.
        examples: of one or two segments.
        max_length: most tokens that the model takes, special ones included.
    """
    encodings: dict[int, TokenIds] = {}
    for number in {len(example.segments) for example in examples}:
        alike = [i for i, example in enumerate(examples) if len(example.segments) == number]
        texts = zip(*([_cut_text(tokenizer, s, max_length) for s in examples[i].segments] for i in alike), strict=True)
        batch = tokenizer(
            *(list(segment) for segment in texts),
            truncation="longest_first",
            max_length=max_length,
            return_offsets_mapping=True,
            return_attention_mask=False,
        )
        encodings.update(zip(alike, _encodings(batch, [examples[i] for i in alike]), strict=True))
    return [encodings[i] for i in range(len(examples))]


def _cut_text(tokenizer: PreTrainedTokenizerBase, text: str, max_length: int) -> str:
    """Cut a long text behind all tokens that the model takes: the tokenizer would store all that it cuts off itself."""
    if len(text) <= LONG * max_length:
        return text
    # of a pair it stores each piece of one with each of the other: tens of gigabytes for 100,000 characters each
    cut = tokenizer(text, truncation=True, max_length=max_length, return_offsets_mapping=True, add_special_tokens=False)
    end: int = max((stop for _, stop in cut["offset_mapping"]), default=len(text))
    space = _SPACE.search(text, end, end + MARGIN)
    return text[: space.start() if space else end + MARGIN]


def _encodings(batch: BatchEncoding, examples: Sequence[Example]) -> Iterator[TokenIds]:
    """Align the rows of a tokenizer's batch."""
    type_ids = batch.get("token_type_ids")
    for row, example in enumerate(examples):
        segment = np.array([SPECIAL if s is None else s for s in batch.sequence_ids(row)], np.int64)
        offsets = np.array(batch["offset_mapping"][row], np.int64).reshape(-1, 2)
        offsets = trim(offsets, segment, example.segments)
        yield TokenIds(
            ids=np.array(batch["input_ids"][row], np.int64),
            type_ids=None if type_ids is None else np.array(type_ids[row], np.int64),
            segment=segment,
            word=words_of(offsets, segment, example.words),
            offsets=offsets,
            fixed=np.zeros(len(segment), bool),
            tokens=tuple(batch.tokens(row)),
            truncated=bool(batch.encodings[row].overflowing) if batch.encodings else False,
        )


def trim(offsets: Ints, segment: Ints, texts: Sequence[str]) -> Ints:
    """Exclude white space around tokens from their offsets: byte-BPE and SentencePiece count the space before a word.

    Args:
        offsets: (T, 2) of the tokenizer.
        segment: (T,) -1 for special tokens, whose offsets become (0, 0).
        texts: the segments.

    Returns:
        (T, 2); a token of white space only keeps an empty range behind it, where its word begins.

    Example:
        >>> trim(np.array([[0, 3], [3, 9]]), np.array([0, 0]), ["The actor"]).tolist()
        [[0, 3], [4, 9]]
    """
    trimmed = np.zeros_like(offsets)
    for token, ((start, end), s) in enumerate(zip(offsets.tolist(), segment.tolist(), strict=True)):
        if s != SPECIAL:
            covered = texts[s][start:end]
            start += len(covered) - len(covered.lstrip())
            trimmed[token] = start, max(start, start + len(covered.strip()))
    return trimmed


def words_of(offsets: Ints, segment: Ints, words: Sequence[Span]) -> Ints:
    """Assign each token to the word that it shares most characters with, the first of ties.

    A token without characters of its own (SentencePiece's mark before a word that it splits) belongs to the word after
    it.

    Args:
        offsets: (T, 2) trimmed.
        segment: (T,) -1 for special tokens.
        words: (W,) in reading order.

    Returns:
        (T,) indices into ``words``, -1 for none.

    Example:
        >>> words = (Span(0, 0, 3), Span(0, 4, 9))
        >>> words_of(np.array([[0, 0], [0, 3], [4, 6], [6, 9]]), np.array([-1, 0, 0, 0]), words).tolist()
        [-1, 0, 1, 1]
    """
    if not len(words) or not len(offsets):
        return np.full(len(offsets), SPECIAL, np.int64)
    spans = np.array([(word.segment, word.start, word.end) for word in words], np.int64)  # (W, 3)
    near = _near(spans, offsets.max())
    spans = spans[near]
    start, end = offsets[:, :1], offsets[:, 1:]  # (T, 1)
    same = segment[:, None] == spans[:, 0]  # (T, W)
    shared = np.where(same, np.minimum(end, spans[:, 2]) - np.maximum(start, spans[:, 1]), 0).clip(0)
    ahead = same & (start == end) & (start <= spans[:, 1])
    score = np.where(shared.any(axis=1, keepdims=True), shared, ahead)
    return np.where(score.any(axis=1), near[score.argmax(axis=1)], SPECIAL)


def _near(spans: Ints, reach: int) -> Ints:
    """Return the words that the tokens of a long text can reach: those begun where the last one ends, and the next."""
    behind = [spans[(spans[:, 0] == s) & (spans[:, 1] >= reach), 1] for s in (0, 1)]
    return np.flatnonzero(spans[:, 1] <= max([reach, *(starts.min() for starts in behind if len(starts))]))
