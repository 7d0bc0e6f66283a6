"""Texts as counts of words, and as vectors made of these counts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from factors.types import Floats, Ints, split_words
from ranker.limits import LIMITS, Limits
from ranker.statistics.near import WordVectors

COMPONENTS = 100
"""Dimensions of the text vectors."""

MAX_FITTED_TEXTS = 10_000
"""Texts of each set on which vectors and topics are fitted, at most; drawn at random."""


def words_of(text: str) -> list[str]:
    """Split a text into words as factors do: lower case, without punctuation.

    A word is a run of letters, digits and underscores, with apostrophes and hyphens inside it. In scripts without
    blanks a whole sentence is one word; only a sentence encoder can compare such texts.

    Example:
        >>> words_of("The doctor's co-worker ran!")
        ['the', "doctor's", 'co-worker', 'ran']
    """
    pieces = (text[start:end] for start, end in split_words(text))
    return [word.casefold() for word in pieces if word[0].isalnum() or word[0] == "_"]


def tokens_of(text: str) -> list[str]:
    """Split a text into lower-case words and punctuation marks, the units in which summaries are measured.

    Example:
        >>> tokens_of("It ran!")
        ['it', 'ran', '!']
    """
    return [text[start:end].casefold() for start, end in split_words(text)]


@dataclass(frozen=True)
class WordCounts:
    """Texts of a set as numbers of its own words.

    Attributes:
        vocabulary: word -> its number.
        texts: the words of all texts.
    """

    vocabulary: dict[str, int]
    texts: WordVectors

    @property
    def lengths(self) -> Ints:
        """(N,) number of words of each text."""
        return np.diff(self.texts.ends, prepend=0)


def count_words(texts: Iterable[str], name: str = "", limits: Limits = LIMITS) -> WordCounts:
    """Count the words of texts.

    Args:
        texts: of a set.
        name: of the set.
        limits: most words allowed, in all and distinct; counting stops at the first excess.

    Example:
        >>> counts = count_words(["The cat.", "the dog"])
        >>> counts.vocabulary, counts.texts.words.tolist(), counts.lengths.tolist()
        ({'the': 0, 'cat': 1, 'dog': 2}, [0, 1, 0, 2], [2, 2])
    """
    vocabulary: dict[str, int] = {}
    numbers, ends = array("i"), array("q")
    for text in texts:
        numbers.extend(vocabulary.setdefault(word, len(vocabulary)) for word in words_of(text))
        ends.append(len(numbers))
        limits.check(name, "words", len(numbers))
        limits.check(name, "distinct_words", len(vocabulary))
    return WordCounts(vocabulary, WordVectors(np.array(numbers, dtype=np.int64), np.array(ends, dtype=np.int64)))


@dataclass(frozen=True)
class AlignedWords:
    """Two sets with a common numbering of words.

    Attributes:
        words: (V,) the words of both, in alphabetical order.
        first, second: the texts.
    """

    words: tuple[str, ...]
    first: WordVectors
    second: WordVectors

    @cached_property
    def counts(self) -> tuple[Any, Any]:
        """(N, V) and (O, V) sparse counts of each word in each text."""
        return self._matrix(self.first), self._matrix(self.second)

    def _matrix(self, texts: WordVectors) -> Any:
        from scipy.sparse import csr_array

        starts = np.concatenate([[0], texts.ends])
        shape = (len(texts.ends), len(self.words))
        matrix = csr_array((np.ones(len(texts.words)), texts.words.copy(), starts), shape=shape)
        matrix.sum_duplicates()  # which sorts the words in place
        return matrix

    @cached_property
    def content(self) -> Ints:
        """Numbers of the words that are no stop words (scikit-learn's English list)."""
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return np.array([n for n, word in enumerate(self.words) if word not in ENGLISH_STOP_WORDS], dtype=np.int64)


def align_words(first: WordCounts, second: WordCounts) -> AlignedWords:
    """Number the words of two sets alike.

    Example:
        >>> pair = align_words(count_words(["b a"]), count_words(["c b"]))
        >>> pair.words, pair.first.words.tolist(), pair.second.words.tolist()
        (('a', 'b', 'c'), [1, 0], [2, 1])
    """
    words = tuple(sorted({*first.vocabulary, *second.vocabulary}))
    number = {word: n for n, word in enumerate(words)}
    texts = []
    for counts in (first, second):
        new_numbers = np.array([number[word] for word in counts.vocabulary], dtype=np.int64)
        renumbered = new_numbers[counts.texts.words] if len(new_numbers) else counts.texts.words
        texts.append(WordVectors(renumbered, counts.texts.ends))
    return AlignedWords(words, *texts)


def vectors(word_pair: AlignedWords, rng: np.random.Generator, components: int = COMPONENTS) -> tuple[Floats, Floats]:
    """Compute (N, D) and (O, D) text vectors: TF-IDF of words of two texts or more, then truncated SVD.

    The fit uses these two sets alone, equally many texts of each, so that no other set changes it. A text without a
    word of the vocabulary is 0.

    Args:
        word_pair: the two sets.
        rng: draws the texts for the fit, and starts the SVD.
        components: D, at most; fewer if there are fewer words.

    Source: Deerwester et al. 1990, "Indexing by latent semantic analysis".
    """
    from scipy.sparse import vstack
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    drawing, starting = rng.spawn(2)
    size = min(MAX_FITTED_TEXTS, *(counts.shape[0] for counts in word_pair.counts))
    samples = [counts[np.sort(drawing.permutation(counts.shape[0])[:size])] for counts in word_pair.counts]
    fitted = vstack(samples, "csr")
    frequent = np.flatnonzero(np.asarray((fitted > 0).sum(axis=0)).ravel() > 1)
    if len(frequent) < 2:
        return np.zeros((word_pair.counts[0].shape[0], 1)), np.zeros((word_pair.counts[1].shape[0], 1))
    weights = TfidfTransformer(sublinear_tf=True).fit(fitted[:, frequent])
    components = min(components, len(frequent) - 1, 2 * size)
    svd = TruncatedSVD(components, random_state=int(starting.integers(2**31)))
    with np.errstate(invalid="ignore"):  # it divides by a variance, which equal texts have none of
        svd.fit(weights.transform(fitted[:, frequent]))
    first, second = (np.asarray(svd.transform(weights.transform(counts[:, frequent]))) for counts in word_pair.counts)
    return first, second
