"""Units that a backend hides: the words of a text, and on request the separators behind its segments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from factors.types import SPECIAL, Bools, Ints


class Units(NamedTuple):
    """Tokens of an example, by what they are hidden with.

    Attributes:
        segment: (T,) of each token; -1 for those that are never hidden.
        word: (T,) number of each token's word, which is unlike all others; -1 for none.
    """

    segment: Ints
    word: Ints

    @property
    def words(self) -> int:
        """Number of words that have tokens; 0 is possible if the example was cut."""
        return len(np.unique(self.word[self.word != SPECIAL]))


def with_separators(segment: Ints, word: Ints, fixed: Bools | None = None) -> Units:
    """Make a word of each separator, the last of the segment that it ends: a special token behind some text.

    Args:
        segment, word: (T,) of each token; -1 for special ones.
        fixed: (T,) True for tokens that no backend may hide; None if there are none.

    Example:
        >>> units = with_separators(np.array([-1, 0, 0, -1, 1, -1]), np.array([-1, 0, 0, -1, 1, -1]))
        >>> units.segment.tolist(), units.word.tolist(), units.words
        ([-1, 0, 0, 0, 1, 1], [-1, 0, 0, 2, 1, 3], 4)
    """
    places = np.maximum.accumulate(np.where(segment != SPECIAL, np.arange(len(segment)), -1))
    separators = (segment == SPECIAL) & (places >= 0)
    if fixed is not None:
        separators &= ~fixed
    numbers = word.max(initial=-1) + np.cumsum(separators)
    return Units(np.where(separators, segment[places], segment), np.where(separators, numbers, word))
