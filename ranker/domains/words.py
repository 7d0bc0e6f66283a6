"""Texts as counts of words, and as vectors made of these counts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from factors.types import Floats, Ints, split_words
from ranker.limits import LIMITS, Limits

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
    """Texts of a set as counts of its own words.

    Attributes:
        vocabulary: word -> its column.
        counts: (N, V) sparse.
    """

    vocabulary: dict[str, int]
    counts: Any

    @property
    def lengths(self) -> Floats:
        """(N,) number of words of each text."""
        return np.asarray(self.counts.sum(axis=1))


def count_words(texts: Iterable[str], name: str = "", limits: Limits = LIMITS) -> WordCounts:
    """Count the words of texts.

    Args:
        limits: most words allowed, in all and distinct; counting stops at the first excess.

    Example:
        >>> counts = count_words(["The cat.", "the dog"])
        >>> counts.vocabulary, counts.counts.toarray().tolist(), counts.lengths.tolist()
        ({'the': 0, 'cat': 1, 'dog': 2}, [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [2.0, 2.0])
    """
    from scipy.sparse import csr_array

    vocabulary: dict[str, int] = {}
    numbers, ends = array("i"), array("q", [0])
    for text in texts:
        numbers.extend(vocabulary.setdefault(word, len(vocabulary)) for word in words_of(text))
        ends.append(len(numbers))
        limits.check(name, "words", len(numbers))
        limits.check(name, "distinct_words", len(vocabulary))
    counts = csr_array((np.ones(len(numbers)), numbers, ends), shape=(len(ends) - 1, len(vocabulary)))
    counts.sum_duplicates()
    return WordCounts(vocabulary, counts)


@dataclass(frozen=True)
class AlignedWords:
    """Two sets with the same columns.

    Attributes:
        words: (V,) the words of both, in alphabetical order.
        counts: (N, V) and (O, V) sparse counts of each word in each text.
    """

    words: tuple[str, ...]
    counts: tuple[Any, Any]

    @cached_property
    def content(self) -> Ints:
        """Numbers of the words that are no stop words (scikit-learn's English list)."""
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return np.array([n for n, word in enumerate(self.words) if word not in ENGLISH_STOP_WORDS], dtype=np.int64)


def align_words(first: WordCounts, second: WordCounts) -> AlignedWords:
    """Give two sets the same columns.

    Example:
        >>> pair = align_words(count_words(["b a"]), count_words(["c b"]))
        >>> pair.words, [counts.toarray().tolist() for counts in pair.counts]
        (('a', 'b', 'c'), [[[1.0, 1.0, 0.0]], [[0.0, 1.0, 1.0]]])
    """
    words = tuple(sorted({*first.vocabulary, *second.vocabulary}))
    column = {word: n for n, word in enumerate(words)}
    return AlignedWords(words, (_with_columns(first, column), _with_columns(second, column)))


def _with_columns(words: WordCounts, column: Mapping[str, int]) -> Any:
    """Return (N, V) counts of a set by the columns of two."""
    from scipy.sparse import csr_array

    columns = np.array([column[word] for word in words.vocabulary], dtype=np.int64)
    counts = words.counts.copy()  # sorting moves its numbers
    aligned = csr_array((counts.data, columns[counts.indices], counts.indptr), shape=(counts.shape[0], len(column)))
    aligned.sort_indices()
    return aligned


def vectors(word_pair: AlignedWords, rng: np.random.Generator, components: int = COMPONENTS) -> tuple[Floats, Floats]:
    """Compute (N, D) and (O, D) text vectors: TF-IDF of words of two texts or more, then truncated SVD.

    The fit uses these two sets alone, equally many texts of each, so that no other set changes it. A text without a
    word of the vocabulary is 0.

    Args:
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
