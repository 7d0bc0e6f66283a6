"""Selectors and reducers: most factors reduce the scores of some words to one number, in one line.

    mean(scores(attributions, marked(example, "swapped")))
    highest(scores(attributions, in_segment(example, 1)))

A *selector* selects words of an example by a mask, (W,) booleans. Masks combine with ``&``, ``|`` and ``~``. `scores`
returns the chosen words' scores, each the sum of its tokens, so that tokenizers can be compared. A *reducer* reduces
them to one number, and no scores to nan: an undefined value is never zero.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from factors.rounding import TIE
from factors.types import Attributions, Bools, Example, Floats, Frozen

# ---- selectors: which words


def in_segment(example: Example, segment: int) -> Bools:
    """Return (W,) the words of one segment, punctuation included.

    Example:
        >>> in_segment(Example("a", ("It ran.", "It sat"), 0), 1).tolist()
        [False, False, False, True, True]
    """
    return np.array([word.segment == segment for word in example.words], dtype=bool)


def marked(example: Example, mark: str) -> Bools:
    """Return (W,) the words that share a character with a span of the mark.

    Example:
        >>> from factors import Span
        >>> marked(Example("a", ("It ran far",), 0, {"feature": (Span(0, 3, 6),)}), "feature").tolist()
        [False, True, False]
    """
    spans = example.marks.get(mark, ())
    return np.array([any(word.overlaps(span) for span in spans) for word in example.words], dtype=bool)


def shared(example: Example) -> Bools:
    """Return (W,) the words of either segment that both segments have, in any case; punctuation is no word.

    Example:
        >>> shared(Example("a", ("The cat ran.", "A cat sat."), 0)).tolist()
        [False, True, False, False, False, True, False, False]
    """
    in_both = np.zeros(len(example.words), dtype=bool)
    for occurrences in shared_words(example).values():
        in_both |= occurrences
    return in_both


@lru_cache(maxsize=4096)
def shared_words(example: Example) -> Mapping[str, Bools]:
    """Return each word of both segments, in lower case -> (W,) its occurrences, in the order of the first segment.

    It is the same for every model and factor, and cached for the last examples: read-only.
    """
    texts = [unicodedata.normalize("NFC", example.text(word)).casefold() for word in example.words]
    words_of: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for word, text in zip(example.words, texts, strict=True):
        if text[0].isalnum():
            words_of[word.segment][text] = None
    occurrences_of = {
        text: np.array([text == word for word in texts], bool) for text in words_of[0] if text in words_of[1]
    }
    for occurrences in occurrences_of.values():
        occurrences.flags.writeable = False
    return Frozen(occurrences_of)


def around(example: Example, chosen: Bools, reach: int = 1) -> Bools:
    """Return (W,) the chosen words and those up to ``reach`` words before and after them, in the same segment.

    Windows that overlap are one: no word counts twice.

    Example:
        >>> example = Example("a", ("one two three four", "five"), 0)
        >>> around(example, np.array([False, False, False, True, False])).tolist()
        [False, False, True, True, False]
    """
    place = np.arange(len(example.words))
    segment = np.array([word.segment for word in example.words], dtype=np.int64)
    near = (abs(place[:, None] - place) <= reach) & (segment[:, None] == segment)
    return np.asarray((near & chosen).any(axis=1), dtype=bool)


# ---- from words to their scores


def scores(attributions: Attributions, chosen: Bools) -> Floats:
    """Return the chosen words' scores in reading order, each the sum of its tokens; nan for an unseen word."""
    word_scores = attributions.word_scores  # words past the model's limit are not in it
    return word_scores[chosen[: len(word_scores)]]


# ---- reducers: one number, nan of nothing. A score that is nan is left out.


def mean(values: Floats) -> float:
    """Return the arithmetic mean.

    Example:
        >>> mean(np.array([1.0, np.nan, 3.0])), mean(np.array([]))
        (2.0, nan)
    """
    return _of_defined(np.mean, values)


def total(values: Floats) -> float:
    """Return the sum.

    Example:
        >>> total(np.array([1.0, -3.0])), total(np.array([]))
        (-2.0, nan)
    """
    return _of_defined(np.sum, values)


def highest(values: Floats) -> float:
    """Return the maximum.

    Example:
        >>> highest(np.array([1.0, -3.0]))
        1.0
    """
    return _of_defined(np.max, values)


def strongest(values: Floats) -> float:
    """Return the value of the largest magnitude, with its sign; of equals, the first.

    Example:
        >>> strongest(np.array([1.0, -3.0]))
        -3.0
    """
    return _of_defined(lambda defined: defined[(abs(defined) >= abs(defined).max() * (1 - TIE)).argmax()], values)


def _of_defined(reduce: Callable[[Floats], float], values: Floats) -> float:
    """Reduce the values that are not nan; nan where there is none."""
    defined = values[~np.isnan(values)]
    return float(reduce(defined)) if len(defined) else float("nan")
