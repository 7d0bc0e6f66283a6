"""Which texts nearly repeat one of another set: sets of three words in a row, MinHash to find candidates, and a check.

A text is the set of its shingles, three words in a row (all of it, where it has fewer). Two texts nearly repeat each
other where their sets have a Jaccard similarity |A and B| / |A or B| of 0.8 or more. MinHash with 16 bands of 4 finds
those to compare: of a pair with a similarity of 0.8 it misses one in 5,000, with 0.9 one in 10^7. What it finds is
compared exactly, so that no two texts are taken for alike that are not.

Axis letters here: N texts, W words of all of them, S shingles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from factors.types import Bools, Ints

Hashes = npt.NDArray[np.uint64]

SHINGLE = 3
"""Words in a row."""

BANDS, ROWS = 16, 4
"""Two texts are compared where all hashes of a band are equal: with probability 1 - (1 - J^4)^16."""

ALIKE = 0.8
"""The least Jaccard similarity of two texts that nearly repeat each other."""

CANDIDATES = 50
"""Texts of a band that one text is compared with, at most: of many that begin alike, the first."""


class WordVectors(NamedTuple):
    """Texts as numbers of words.

    Attributes:
        words: (W,) of all texts, one after the other; equal words have equal numbers.
        ends: (N,) where each text ends.
    """

    words: Ints
    ends: Ints


def repeated(known: WordVectors, asked: WordVectors, rng: np.random.Generator) -> Bools:
    """(N,) whether each text that is asked about nearly repeats a known one; a text without a word repeats none.

    Args:
        known, asked: both number words alike.
        rng: of the hash functions.

    Example:
        >>> known = WordVectors(np.arange(20), np.array([10, 20]))
        >>> asked = WordVectors(np.array([*range(10), 7, 7, 7, 7]), np.array([10, 14]))
        >>> repeated(known, asked, np.random.default_rng(0)).tolist()
        [True, False]

    Source: Broder 1997, "On the resemblance and containment of documents"; Leskovec, Rajaraman, Ullman 2020, "Mining of
    massive datasets", chapter 3.
    """
    salts = rng.integers(np.iinfo(np.uint64).max, size=BANDS * ROWS, dtype=np.uint64)
    sets = [_shingles(texts) for texts in (known, asked)]
    found = np.zeros(len(asked.ends), dtype=bool)
    for band in range(BANDS):
        keys = [_keys(one, salts[band * ROWS : (band + 1) * ROWS]) for one in sets]
        there = np.flatnonzero(sets[0].sizes)
        there = there[np.argsort(keys[0][there], kind="stable")]
        left = np.flatnonzero(~found & (sets[1].sizes > 0))
        low, high = (np.searchsorted(keys[0][there], keys[1][left], side=side) for side in ("left", "right"))
        for text, first, last in zip(left[high > low], low[high > low], high[high > low], strict=True):
            own = sets[1].of(text)
            found[text] = any(
                _jaccard(own, sets[0].of(other)) >= ALIKE for other in there[first : min(last, first + CANDIDATES)]
            )
    return found


class _Sets(NamedTuple):
    """(S,) shingles of all texts, where each text starts among them, and how many it has."""

    shingles: Hashes
    starts: Ints
    sizes: Ints

    def of(self, text: int) -> set[int]:
        return {*self.shingles[self.starts[text] : self.starts[text] + self.sizes[text]].tolist()}


def _shingles(texts: WordVectors) -> _Sets:
    lengths = np.diff(texts.ends, prepend=0)
    sizes = np.where(lengths > 0, np.maximum(lengths - SHINGLE + 1, 1), 0)
    starts = np.cumsum(sizes) - sizes
    of = np.repeat(np.arange(len(sizes)), sizes)
    place = (texts.ends - lengths)[of] + np.arange(len(of)) - starts[of]
    found = np.zeros(len(of), dtype=np.uint64)
    for step in range(SHINGLE):
        inside = place + step < texts.ends[of]
        word = np.where(inside, texts.words[np.minimum(place + step, max(len(texts.words) - 1, 0))] + 1, 0)
        found = _mixed(found + word.astype(np.uint64))
    return _Sets(found, starts, sizes)


def _keys(of: _Sets, salts: Hashes) -> Hashes:
    """(N,) one number for the least hash of each text's shingles under several hash functions; 0 without a shingle."""
    key = np.zeros(len(of.sizes), dtype=np.uint64)
    there = of.sizes > 0
    for salt in salts if there.any() else ():
        key[there] = _mixed(key[there] + np.minimum.reduceat(_mixed(of.shingles ^ salt), of.starts[there]))
    return key


def _mixed(numbers: Hashes) -> Hashes:
    """Each number with its bits mixed (the finalizer of splitmix64); products wrap around."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _jaccard(first: set[int], second: set[int]) -> float:
    return len(first & second) / len(first | second)
