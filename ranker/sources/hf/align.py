"""Encode examples as a model's tokens, and align tokens with words; no other module does so.

The pair encoding is always the tokenizer's own. A pair joined by hand may suit one model and be out of distribution
for another: RoBERTa, for one, separates its segments by two separators.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from factors.types import SPECIAL, Example, Ints, Span
from ranker.sources.base import Encoding

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerBase

REVISION = 3
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
    """Encode examples, in order; one that is too long loses tokens of its longer segment first.

    They are lost where the tokenizer would lose them (its `truncation_side`), and as many of each segment.

    Args:
        tokenizer: a fast one, since only those know the characters of a token.
        examples: of one or two segments.
        max_length: most tokens that the model takes, special ones included.
    """
    encodings: dict[int, TokenIds] = {}
    for number in {len(example.segments) for example in examples}:
        alike = [i for i, example in enumerate(examples) if len(example.segments) == number]
        parts = [[_part(tokenizer, text, max_length) for text in examples[i].segments] for i in alike]
        texts = zip(*([part.text for part in row] for row in parts), strict=True)
        # not truncated here: of a pair, tokenizers store each piece of one that they cut off with each of the other
        batch = tokenizer(
            *(list(segment) for segment in texts), return_offsets_mapping=True, return_attention_mask=False
        )
        for row, (i, row_parts) in enumerate(zip(alike, parts, strict=True)):
            encodings[i] = _encoding(batch, row, examples[i], row_parts, max_length, tokenizer.truncation_side)
    return [encodings[i] for i in range(len(examples))]


class _ReadableText(NamedTuple):
    """Part of a text that holds all tokens that a model takes, where it starts, and the tokens of the whole text."""

    text: str
    start: int = 0
    tokens: int = 0


def _part(tokenizer: PreTrainedTokenizerBase, text: str, max_length: int) -> _ReadableText:
    """Return the part of a text that a model can read, and a blank or some more; all of a text that is not long."""
    if len(text) <= LONG * max_length:
        return _ReadableText(text)
    offsets = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"]
    if tokenizer.truncation_side == "left":
        start = max(min((first for first, _ in offsets[-max_length:]), default=0) - MARGIN, 0)
        space = _SPACE.search(text, start, start + MARGIN)
        start = space.start() if start and space else start
        return _ReadableText(text[start:], start, len(offsets))
    end = max((stop for _, stop in offsets[:max_length]), default=len(text))
    space = _SPACE.search(text, end, end + MARGIN)
    return _ReadableText(text[: space.start() if space else end + MARGIN], 0, len(offsets))


def _encoding(
    batch: BatchEncoding, row: int, example: Example, parts: Sequence[_ReadableText], max_length: int, side: str
) -> TokenIds:
    """Align a row of a tokenizer's batch, which has read parts of the example's texts, and cut it to its length."""
    segment = np.array([SPECIAL if s is None else s for s in batch.sequence_ids(row)], np.int64)
    inside = [np.flatnonzero(segment == number) for number in range(len(parts))]
    lengths = [max(len(places), part.tokens) for places, part in zip(inside, parts, strict=True)]
    room = max(max_length - int((segment == SPECIAL).sum()), 0)
    left = np.full(len(segment), True)
    for places, most in zip(inside, longest_first(lengths, room), strict=True):
        left[places[most:] if side == "right" else places[: len(places) - most]] = False
    starts = np.array([part.start for part in parts])[segment]  # special tokens get (0, 0) by `trim`
    offsets = np.array(batch["offset_mapping"][row], np.int64).reshape(-1, 2) + starts[:, None]
    segment, offsets = segment[left], trim(offsets[left], segment[left], example.segments)
    type_ids = batch.get("token_type_ids")
    return TokenIds(
        ids=np.array(batch["input_ids"][row], np.int64)[left],
        type_ids=None if type_ids is None else np.array(type_ids[row], np.int64)[left],
        segment=segment,
        word=words_of(offsets, segment, example.words),
        offsets=offsets,
        fixed=np.zeros(len(segment), bool),
        tokens=tuple(compress(batch.tokens(row), left)),
        truncated=sum(lengths) > room,
    )


def longest_first(lengths: Sequence[int], room: int) -> list[int]:
    """Return how many tokens of one or two texts are left where there is room for some.

    The longer one loses tokens until both are of one length, then both do; of an odd room, it has one more. The rule is
    that of tokenizers ("longest_first").

    Example:
        >>> longest_first([9, 2], 7), longest_first([9, 8], 7), longest_first([8, 8], 7), longest_first([9], 7)
        ([5, 2], [4, 3], [3, 4], [7])
    """
    if sum(lengths) <= room:
        return list(lengths)
    longer = 0 if lengths[0] > lengths[-1] else len(lengths) - 1
    shares = [min(length, room // 2) for length in lengths]
    shares[longer] = room - sum(shares) + shares[longer]
    return shares


def trim(offsets: Ints, segment: Ints, texts: Sequence[str]) -> Ints:
    """Exclude white space around tokens from their offsets: byte-BPE and SentencePiece count the space before a word.

    Args:
        offsets: (T, 2) of the tokenizer.
        segment: (T,) -1 for special tokens, whose offsets become (0, 0).

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
