"""Types of a factor's arguments: one example, and one model's attributions on it.

Axis letters in all modules: M models, F methods, N examples, K examples a draw, B draws, P pairs, T tokens, W words,
C classes. Segments are numbered from 0: segment 0 is the premise (or the only sentence), segment 1 the hypothesis.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Output = Literal["margin", "logit", "probability"]
"""Attributed number of a network's answer: the log-odds of a class, its logit, or its probability."""

Norm = Literal["raw", "l1"]
"""Divisor of an example's scores: nothing, or the sum of their magnitudes."""

SPECIAL = -1
"""Segment and word of a token that belongs to no text: separators, [CLS], padding."""

K = TypeVar("K")
V = TypeVar("V")

_LETTER = re.compile(r"\w")
_HALF = re.compile("[\ud800-\udfff]")
_JOINERS = "\u200c\u200d"
# stores hold the numbers of words: a change of the cuts must raise the revision in their keys
_WORD = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")


class Frozen(Mapping[K, V]):
    """Immutable mapping. It hashes where its values do, and can be sent to another process like any record.

    Example:
        >>> ages = Frozen({"Ann": 3})
        >>> ages["Ann"], ages == {"Ann": 3}, hash(ages) == hash(Frozen({"Ann": 3}))
        (3, True, True)
    """

    __slots__ = ("_content",)

    def __init__(self, content: Mapping[K, V]) -> None:
        self._content = dict(content)

    def __getitem__(self, key: K) -> V:
        return self._content[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __hash__(self) -> int:
        return hash(frozenset(self._content.items()))

    def __repr__(self) -> str:
        return f"Frozen({self._content!r})"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Range of characters of one segment; it survives a change of tokenizer.

    Attributes:
        segment: of the example, from 0.
        start, end: character offsets into that segment; ``end`` is exclusive.

    Raises:
        ValueError: the span is empty, negative or reversed.
    """

    segment: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.segment < 0 or not 0 <= self.start < self.end:
            raise ValueError(f"a span needs segment >= 0 and 0 <= start < end (got {self})")

    def overlaps(self, span: Span) -> bool:
        """Return whether the two spans share a character."""
        return self.segment == span.segment and self.start < span.end and span.start < self.end


def split_words(text: str) -> list[tuple[int, int]]:
    """Split a text into words and punctuation marks, as character offsets, the same for every tokenizer.

    A word is a run of letters, digits and underscores, with the accents and vowel signs after letters, and with
    apostrophes and hyphens inside it; any other character that is not white space is a word of its own. In scripts
    without blanks between words, a sentence is one word.

    Example:
        >>> text = "The doctor's co-worker ran."
        >>> [text[a:b] for a, b in split_words(text)]
        ['The', "doctor's", 'co-worker', 'ran', '.']
    """
    return [match.span() for match in _WORD.finditer(text if text.isascii() else _letters(text))]


def _letters(text: str) -> str:
    """Return the text with a letter for each combining mark or joiner after one, since `\\w` matches none of these."""
    letters: list[str] = []
    for sign in text:
        joins = unicodedata.category(sign).startswith("M") or sign in _JOINERS
        letters.append("_" if joins and letters and _LETTER.match(letters[-1]) else sign)
    return "".join(letters)


@dataclass(frozen=True)
class Example:
    """Text, or pair of texts, of the new domain.

    Attributes:
        id: unique in its data set.
        segments: one or two strings, exactly as the model sees them.
        target: the correct answer, in the task's form: for classes an index into its labels. It hashes; None if
            unknown.
        marks: name -> spans, for factors ("control", "swapped", "feature").
        group: of rows that belong together; "" where rows are independent.
        numbered_in: the file whose row number replaces an id, where no column holds one; "" where the id was given.
            Rows of other files are never found by such a number.
        stands: its number among the rows of its file, from 1, and their number; (0, 0) without a file.
        id_columns: its cells in the columns of usual names for ids, that of ``id`` first; empty if there is one alone,
            or the user named it.

    Raises:
        ValueError: not one or two segments, half a character in one, or a mark outside its segment.

    Example:
        >>> example = Example("a", ("The actor ran.", "The actor"), 1)
        >>> [example.text(word) for word in example.words if word.segment == 1]
        ['The', 'actor']
    """

    id: str
    segments: tuple[str, ...]
    target: Any = None
    marks: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    group: str = ""
    numbered_in: str = field(default="", compare=False)
    stands: tuple[int, int] = field(default=(0, 0), compare=False)
    id_columns: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if len(self.segments) not in (1, 2):
            raise ValueError(f"example {self.id}: one or two segments are needed (got {len(self.segments)})")
        for text in self.segments:
            if half := _HALF.search(text):
                raise ValueError(f"example {self.id}: {half[0]!r} is half of a character, and no text")
        for name, spans in self.marks.items():
            for span in spans:
                if span.segment >= len(self.segments) or span.end > len(self.segments[span.segment]):
                    raise ValueError(f"example {self.id}: mark {name!r} lies outside its text ({span})")
        object.__setattr__(self, "marks", Frozen(self.marks))
        object.__setattr__(self, "id_columns", Frozen(self.id_columns))

    @cached_property
    def words(self) -> tuple[Span, ...]:
        """Words of all segments in reading order (W of them): see `split_words`."""
        return tuple(Span(s, a, b) for s, text in enumerate(self.segments) for a, b in split_words(text))

    @property
    def labelled(self) -> bool:
        """True if the correct answer is known."""
        return self.target is not None

    def text(self, span: Span) -> str:
        """Return the characters of a span."""
        return self.segments[span.segment][span.start : span.end]


@dataclass(frozen=True)
class Attributions:
    """Probabilities of one model on one example, and the contribution of each token to ``target``.

    In a binary task ``scores`` explain the margin, the log-odds of ``target`` against the other label, so one stored
    attribution serves both labels: see `toward`.

    Attributes:
        probs: (C,) probabilities in the task's own label order. Where answers are no labels, (1,): 1, or nan where the
            answer has nothing to attribute.
        target: the label that positive scores support; 0 for a model's own answer that is no label.
        tokens: (T,) the tokenizer's own strings; empty where only probabilities were computed.
        segment: (T,) the segment of each token, -1 for special tokens.
        word: (T,) index into ``Example.words``, -1 for special tokens.
        offsets: (T, 2) characters of its segment that the token covers, (0, 0) for special tokens.
        scores: (T,) signed attributions, in log-odds unless the run says otherwise.
        backend: the backend's name ("ig", "shap", "lime"; "none" where only probabilities were computed).
        residual: the backend's own measure of error on this example, never negative (IG, SHAP: the size of the
            completeness gap, in the unit of the backend's scores; LIME: 1 - R2); nan where there is none. It does not
            change where scores are turned or scaled.
        effort: of the backend (IG: steps, SHAP: evaluations, LIME: samples).
        erased: (2, C) probabilities without the top words of the predicted label, and of these words alone; (0, C)
            where the model was not asked. It is not stored with the others.

    Raises:
        ValueError: the arrays' lengths do not agree, or ``target`` is no class.
    """

    probs: Floats
    target: int
    tokens: tuple[str, ...] = ()
    segment: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    word: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    offsets: Ints = field(default_factory=lambda: np.empty((0, 2), np.int64))
    scores: Floats = field(default_factory=lambda: np.empty(0))
    backend: str = "none"
    residual: float = float("nan")
    effort: int = 0
    erased: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        length = len(self.tokens)
        shapes = {"segment": (length,), "word": (length,), "offsets": (length, 2), "scores": (length,)}
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape:
                raise ValueError(f"{name} must have the shape {shape} of {length} tokens (got {array.shape})")
            array.flags.writeable = False
        if not 0 <= self.target < len(self.probs):
            raise ValueError(f"target must be one of {len(self.probs)} classes (got {self.target})")
        self.probs.flags.writeable = False
        self.erased.flags.writeable = False

    @property
    def undefined(self) -> bool:
        """True if the model's answer has nothing to attribute, such as tags without a span; then all scores are nan."""
        return bool(np.isnan(self.probs).any())

    @property
    def predicted(self) -> int:
        """Label of the highest probability; of equals, the first."""
        return int(np.argmax(self.probs))

    def toward(self, label: int) -> Attributions:
        """Return the same attributions, signed so that positive scores support ``label``.

        Raises:
            ValueError: another label of a task with more than two classes; there the margin of one label says
                nothing about a third.

        Example:
            >>> a = Attributions(np.array([0.2, 0.8]), 1, ("x",), *(np.zeros(1, int),) * 2, np.zeros((1, 2), int),
            ...                  np.array([1.5]))
            >>> a.toward(0).scores
            array([-1.5])
        """
        if label == self.target:
            return self
        if len(self.tokens) and len(self.probs) != 2:
            raise ValueError(f"attributions of label {self.target} cannot be turned toward label {label}: not binary")
        return replace(self, target=label, scores=-self.scores)

    def normalised(self, norm: Norm) -> Attributions:
        """Return the attributions on another scale: "raw" unchanged, "l1" divided by the sum of their magnitudes.

        Scores that are all zero stay so.

        Example:
            >>> a = Attributions(np.array([0.2, 0.8]), 1, ("x", "y"), *(np.zeros(2, int),) * 2, np.zeros((2, 2), int),
            ...                  np.array([1.0, -3.0]))
            >>> a.normalised("l1").scores
            array([ 0.25, -0.75])
        """
        if norm == "raw" or not self.scores.any():
            return self
        return replace(self, scores=self.scores / np.abs(self.scores).sum())

    @cached_property
    def word_scores(self) -> Floats:
        """(W',) sums of each word's token scores, W' = last word seen + 1; nan for a word without a token."""
        inside = self.word >= 0
        words, scores = self.word[inside], self.scores[inside]
        sums: Floats = np.bincount(words, weights=scores).astype(np.float64)
        sums[np.bincount(words) == 0] = np.nan
        return sums
