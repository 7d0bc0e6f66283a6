"""Rows as a language model reads them: tokens of a prompt, aligned with words of the row, and of the answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from factors.types import SPECIAL, Example, Ints
from ranker.errors import ModelError
from ranker.sources.hf import align
from ranker.sources.hf.align import TokenIds
from ranker.sources.lm.answers import check_apart
from ranker.sources.lm.network import SHORTEST_PREFIX, LanguageModel, Prefix
from ranker.sources.lm.prompts import Frame

log = logging.getLogger(__name__)

Continuation = tuple[int, ...]
"""Tokens of an answer after a prompt."""

ENCODED_AT_ONCE = 64
"""Examples per call of the tokenizer."""

SAMPLE = "A text."
"""Text of rows in which the tokens of the beginning of a prompt are read."""


@dataclass(frozen=True, kw_only=True)
class PromptIds(TokenIds):
    """One example in a prompt, in T tokens; those of the prompt are fixed.

    Attributes:
        continuations: the tokens of each possible answer after them.
        prefix: tokens that all examples begin with; () if this one does not.
    """

    texts: int
    continuations: tuple[Continuation, ...]
    prefix: Prefix


@dataclass(frozen=True)
class PromptEncoder:
    """Encoder of examples in a prompt.

    Attributes:
        frame_of: number of texts of an example -> the prompt around them.
        words: possible answers; () where the model writes.
        chat: the prompt is a chat, whose template brings its special tokens.
        cut: cut the longest text of a row that is too long, at its end, until it fits; else refuse the row.
    """

    network: LanguageModel
    frame_of: Callable[[int], Frame]
    words: tuple[str, ...]
    chat: bool
    cut: bool
    room: int = 0
    prefixes: dict[int, Prefix] = field(default_factory=dict, repr=False, compare=False)

    def encodings(self, examples: Iterable[Example]) -> Iterator[PromptIds]:
        """Encode examples lazily, in order; those that are cut are counted in one warning.

        Raises:
            ModelError: an example is too long with its prompt, or has another number of texts than the prompt;
                LabelError: the tokens of one answer begin those of another.
        """
        stream, count, cut = iter(examples), 0, 0
        while block := list(islice(stream, ENCODED_AT_ONCE)):
            for encoding in self._encode(block):
                cut += encoding.truncated
                yield encoding
            count += len(block)
        if cut:
            log.warning("%s: %d of %d examples are too long with their prompt, and were cut", self.network.name, cut,
                        count)  # fmt: skip

    def _encode(self, examples: Sequence[Example]) -> Iterator[PromptIds]:
        """Encode some examples; a block is one call of the tokenizer, unless rows are cut."""
        segments = [example.segments for example in examples]
        tokens_of_rows = self._tokens(segments)
        for example, tokens in zip(examples, tokens_of_rows, strict=True):
            texts, truncated = example.segments, False
            while (size := tokens.size + self.room) > self.network.max_length:
                if not self.cut:
                    text = (
                        f"takes {self.network.max_length:,} tokens, and the row {example.id[:50]!r} has {size:,} with "
                        "its prompt; `too_long=cut` cuts its texts"
                    )
                    raise ModelError.of(self.network.name, text, option="too_long", value=size)
                texts, truncated = self._shorter(texts, tokens, size - self.network.max_length), True
                (tokens,) = self._tokens([texts])
            yield self._aligned(example, texts, tokens, truncated)

    def _shorter(self, texts: Sequence[str], tokens: _RowTokens, excess: int) -> tuple[str, ...]:
        """Return the texts of a row without the last tokens of the longest."""
        counts = [int((tokens.segment == number).sum()) for number in range(len(texts))]
        longest = int(np.argmax(counts))
        if not texts[longest]:
            text = f"takes {self.network.max_length:,} tokens, and the prompt alone has more"
            raise ModelError.of(self.network.name, text, option="prompts", value=tokens.size)
        ends = tokens.offsets[tokens.segment == longest, 1]
        left = max(counts[longest] - excess, 0)
        end = int(ends[left - 1]) if left and ends[left - 1] < len(texts[longest]) else 0
        return tuple(text[:end] if number == longest else text for number, text in enumerate(texts))

    def _tokens(self, rows: Sequence[Sequence[str]]) -> list[_RowTokens]:
        """Return the tokens of rows in their prompt, and of each answer after them."""
        framed = [self.frame_of(len(segments)).text(segments) for segments in rows]
        contexts, answers = zip(*(self._parts(text) for text, _ in framed), strict=True)
        if self.network.encodes:
            encoded = iter(self.network.tokens(contexts, not self.chat))
            words = self.network.tokens([word.strip() for word in self.words], special=False) if self.words else []
            after_all = tuple(tuple(ids.tolist()) for ids, _ in words)
            parts = [(ids, offsets, after_all) for ids, offsets in encoded]
        else:
            texts = [text for context, after in zip(contexts, answers, strict=True)
                     for text in (context, *(context + answer for answer in after))]  # fmt: skip
            encoded = iter(self.network.tokens(texts, not self.chat))
            parts = [split(*next(encoded), [ids for ids, _ in islice(encoded, len(after))]) for after in answers]
        return [
            _RowTokens(ids, *_place(offsets, places, segments), after)
            for (ids, offsets, after), (_, places), segments in zip(parts, framed, rows, strict=True)
        ]

    def _parts(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return a prompt and the answers after it; white space at the end of one that is no chat belongs to these."""
        if self.chat or self.network.encodes:
            return text, self.words
        context = text.rstrip()
        return context, tuple(text[len(context) :] + word for word in self.words)

    def _aligned(self, example: Example, texts: Sequence[str], tokens: _RowTokens, truncated: bool) -> PromptIds:
        """Return one example in its tokens."""
        prefix = self.prefix(len(texts))
        shared = len(prefix) < len(tokens.ids) and tuple(tokens.ids[: len(prefix)].tolist()) == prefix
        offsets = align.trim(tokens.offsets, tokens.segment, texts)
        word = align.words_of(offsets, tokens.segment, example.words)
        names = self.network.tokenizer.convert_ids_to_tokens(tokens.ids.tolist())
        check_apart(self.words, tokens.continuations, self.network.name)
        return PromptIds(
            tokens=tuple(names),
            segment=tokens.segment,
            word=word,
            offsets=offsets,
            fixed=tokens.segment == SPECIAL,
            truncated=truncated,
            ids=tokens.ids,
            type_ids=None,
            texts=len(texts),
            continuations=tokens.continuations,
            prefix=prefix if shared else (),
        )

    def prefix(self, count: int) -> Prefix:
        """Return the tokens that rows of some texts begin with; () where an encoder reads them, or they are few."""
        if self.network.encodes:
            return ()
        if count not in self.prefixes:
            frame = self.frame_of(count)
            texts = [frame.literals[0], frame.text([SAMPLE] * count)[0]]
            (first, _), (row, _) = self.network.tokens(texts, not self.chat)
            shared = common_start(first, row)
            self.prefixes[count] = tuple(first[:shared].tolist()) if shared >= SHORTEST_PREFIX else ()
        return self.prefixes[count]


@dataclass(frozen=True)
class _RowTokens:
    """Tokens of a row: (T,) ids, (T, 2) offsets in their segments, (T,) segments, and those of the answers."""

    ids: Ints
    offsets: Ints
    segment: Ints
    continuations: tuple[Continuation, ...]

    @property
    def size(self) -> int:
        return len(self.ids) + max(map(len, self.continuations), default=0)


def split(context: Ints, offsets: Ints, texts: Sequence[Ints]) -> tuple[Ints, Ints, tuple[Continuation, ...]]:
    """Split prompts with their answers into the tokens that all begin with, and those of each answer.

    A tokenizer may merge the last token of a prompt with the first of an answer. So each text is encoded as a whole,
    and cut where the first differs from the prompt; then all answers are scored from there on.

    Args:
        context: (T,) ids of the prompt.
        offsets: (T, 2) of its tokens.
        texts: ids of the prompt with each answer.

    Returns:
        The ids and offsets of the prompt up to the cut, and the ids behind it for each answer.

    Example:
        >>> ids = [np.array(row) for row in ([5, 6], [5, 6, 7], [5, 68])]
        >>> split(ids[0], np.array([[0, 1], [1, 2]]), ids[1:])[2]
        ((6, 7), (68,))
    """
    cut = min([len(context), *(common_start(context, ids) for ids in texts)])
    cut = min([cut, *(len(ids) - 1 for ids in texts)])
    return context[:cut], offsets[:cut], tuple(tuple(ids[cut:].tolist()) for ids in texts)


def common_start(first: Ints, second: Ints) -> int:
    """Return the number of equal ids at the start of two rows.

    Example:
        >>> common_start(np.array([1, 2, 3]), np.array([1, 2, 4, 3]))
        2
    """
    size = min(len(first), len(second))
    differing = np.flatnonzero(first[:size] != second[:size])
    return int(differing[0]) if len(differing) else size


def _place(offsets: Ints, places: Ints, segments: Sequence[str]) -> tuple[Ints, Ints]:
    """Return (T, 2) offsets of tokens in their segments, and (T,) the segments, those that a token shares most with."""
    start, end = offsets[:, :1], offsets[:, 1:]
    shared = (np.minimum(end, places[:, 1]) - np.maximum(start, places[:, 0])).clip(0)  # (T, S)
    inside = np.asarray(shared.any(axis=1))
    segment = np.where(inside, shared.argmax(axis=1), SPECIAL)
    begins = places[segment, 0][:, None]
    lengths = np.array([len(text) for text in segments])[segment][:, None]
    return np.where(inside[:, None], (offsets - begins).clip(0, lengths), 0), segment
