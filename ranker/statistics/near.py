"""Near repeats of texts of another set: shingles of three words, MinHash for candidates, and an exact check.

A text is the set of its shingles, three words in a row (the whole text, where it has fewer). Two texts nearly repeat
each other where their sets have a Jaccard similarity |A and B| / |A or B| of 0.8 or more. MinHash with 16 bands of 4
finds candidates: it misses one in 5,000 pairs with a similarity of 0.8, one in 10^7 with 0.9. Candidates are compared
exactly, so no unlike texts count as repeats.

Axis letters here: N texts, W words of all of them, S shingles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from factors.types import Bools, Ints

Hashes = npt.NDArray[np.uint64]

SHINGLE = 3
"""Words of a shingle."""

BANDS, ROWS = 16, 4
"""Bands, and hashes in each. Texts are compared where a band is equal: with probability 1 - (1 - J^4)^16."""

ALIKE = 0.8
"""Least Jaccard similarity of near repeats."""

CANDIDATES = 50
"""Most texts of a band that one text is compared with: the first of many that begin alike."""


class WordVectors(NamedTuple):
    """Texts as numbers of words.

    Attributes:
        words: (W,) of all texts, one after the other; equal words have equal numbers.
        ends: (N,) where each text ends.
    """

    words: Ints
    ends: Ints


def find_near_repeats(reference: WordVectors, queries: WordVectors, rng: np.random.Generator) -> Bools:
    """Return (N,) whether each query text nearly repeats a reference text; a text without a word repeats none.

    Args:
        reference, queries: texts with the same numbers of words.

    Example:
        >>> reference = WordVectors(np.arange(20), np.array([10, 20]))
        >>> queries = WordVectors(np.array([*range(10), 7, 7, 7, 7]), np.array([10, 14]))
        >>> find_near_repeats(reference, queries, np.random.default_rng(0)).tolist()
        [True, False]

    Source: Broder 1997, "On the resemblance and containment of documents"; Leskovec, Rajaraman, Ullman 2020, "Mining of
    massive datasets", chapter 3.
    """
    salts = rng.integers(np.iinfo(np.uint64).max, size=BANDS * ROWS, dtype=np.uint64)
    sets = [_shingles(texts) for texts in (reference, queries)]
    repeats = np.zeros(len(queries.ends), dtype=bool)
    for band in range(BANDS):
        keys = [_keys(shingles, salts[band * ROWS : (band + 1) * ROWS]) for shingles in sets]
        nonempty = np.flatnonzero(sets[0].sizes)
        nonempty = nonempty[np.argsort(keys[0][nonempty], kind="stable")]
        left = np.flatnonzero(~repeats & (sets[1].sizes > 0))
        low, high = (np.searchsorted(keys[0][nonempty], keys[1][left], side=side) for side in ("left", "right"))
        for text, first, last in zip(left[high > low], low[high > low], high[high > low], strict=True):
            query = sets[1].of(text)
            candidates = (sets[0].of(candidate) for candidate in nonempty[first : min(last, first + CANDIDATES)])
            repeats[text] = any(len(query & shingles) / len(query | shingles) >= ALIKE for shingles in candidates)
    return repeats


class _Sets(NamedTuple):
    """(S,) shingles of all texts, the start of each text among them, and its number of shingles."""

    shingles: Hashes
    starts: Ints
    sizes: Ints

    def of(self, text: int) -> set[int]:
        return {*self.shingles[self.starts[text] : self.starts[text] + self.sizes[text]].tolist()}


def _shingles(texts: WordVectors) -> _Sets:
    lengths = np.diff(texts.ends, prepend=0)
    sizes = np.where(lengths > 0, np.maximum(lengths - SHINGLE + 1, 1), 0)
    starts = np.cumsum(sizes) - sizes
    texts_of_shingles = np.repeat(np.arange(len(sizes)), sizes)
    place = (texts.ends - lengths)[texts_of_shingles] + np.arange(len(texts_of_shingles)) - starts[texts_of_shingles]
    hashes = np.zeros(len(texts_of_shingles), dtype=np.uint64)
    for step in range(SHINGLE):
        inside = place + step < texts.ends[texts_of_shingles]
        word = np.where(inside, texts.words[np.minimum(place + step, max(len(texts.words) - 1, 0))] + 1, 0)
        hashes = mix_bits(hashes + word.astype(np.uint64))
    return _Sets(hashes, starts, sizes)


def _keys(sets: _Sets, salts: Hashes) -> Hashes:
    """Return (N,) keys of the least hashes of a text's shingles under several hash functions; 0 without a shingle."""
    key = np.zeros(len(sets.sizes), dtype=np.uint64)
    nonempty = sets.sizes > 0
    for salt in salts if nonempty.any() else ():
        key[nonempty] = mix_bits(
            key[nonempty] + np.minimum.reduceat(mix_bits(sets.shingles ^ salt), sets.starts[nonempty])
        )
    return key


def mix_bits(numbers: Hashes) -> Hashes:
    """Return each number with its bits mixed, as a hash of it; products wrap around.

    Example:
        >>> int(mix_bits(np.array([1], dtype=np.uint64))[0])
        10451216379200822465

    Source: the finalizer of splitmix64, Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
    """
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
