"""Texts as counts of words, and as the vectors that these make."""

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
"""Dimensions of the vectors of texts."""

FITTED = 10_000
"""Texts of each set that vectors and classifiers are fitted on, at most, drawn at random."""


def words_of(text: str) -> list[str]:
    """The words of a text, as factors cut them: in lower case, without punctuation marks.

    A word is a run of letters, digits and underscores, with apostrophes and hyphens inside it. Scripts without blanks
    between words have one word where a sentence is: only an encoder of sentences can compare these.

    Example:
        >>> words_of("The doctor's co-worker ran!")
        ['the', "doctor's", 'co-worker', 'ran']
    """
    found = (text[start:end] for start, end in split_words(text))
    return [word.casefold() for word in found if word[0].isalnum() or word[0] == "_"]


def tokens_of(text: str) -> list[str]:
    """The words and the punctuation marks of a text, in lower case: what lengths of summaries are counted in.

    Example:
        >>> tokens_of("It ran!")
        ['it', 'ran', '!']
    """
    return [text[start:end].casefold() for start, end in split_words(text)]


@dataclass(frozen=True)
class WordCounts:
    """A set's texts as numbers of its own words.

    Attributes:
        vocabulary: word -> its number.
        texts: the words of all texts.
    """

    vocabulary: dict[str, int]
    texts: WordVectors

    @property
    def lengths(self) -> Ints:
        """(N,) words of each text."""
        return np.diff(self.texts.ends, prepend=0)


def counted(texts: Iterable[str], name: str = "", limits: Limits = LIMITS) -> WordCounts:
    """Count the words of texts.

    Args:
        texts: of a set.
        name: of the set.
        limits: how many words there may be, in all and different ones; no further text is looked at.

    Raises:
        DataError: there are more.

    Example:
        >>> found = counted(["The cat.", "the dog"])
        >>> found.vocabulary, found.texts.words.tolist(), found.lengths.tolist()
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
class Both:
    """Two sets, their words numbered alike.

    Attributes:
        words: (V,) the words of both, in alphabetical order.
        first, second: the texts.
    """

    words: tuple[str, ...]
    first: WordVectors
    second: WordVectors

    @cached_property
    def counts(self) -> tuple[Any, Any]:
        """(N, V) and (O, V) how often each word is in each text, sparse."""
        return self._matrix(self.first), self._matrix(self.second)

    def _matrix(self, texts: WordVectors) -> Any:
        from scipy.sparse import csr_array

        starts = np.concatenate([[0], texts.ends])
        shape = (len(texts.ends), len(self.words))
        found = csr_array((np.ones(len(texts.words)), texts.words.copy(), starts), shape=shape)
        found.sum_duplicates()  # which sorts the words in place
        return found

    @cached_property
    def content(self) -> Ints:
        """The numbers of the words that are no stop words (scikit-learn's English list)."""
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return np.array([n for n, word in enumerate(self.words) if word not in ENGLISH_STOP_WORDS], dtype=np.int64)


def both(first: WordCounts, second: WordCounts) -> Both:
    """Two sets with their words numbered alike.

    Example:
        >>> found = both(counted(["b a"]), counted(["c b"]))
        >>> found.words, found.first.words.tolist(), found.second.words.tolist()
        (('a', 'b', 'c'), [1, 0], [2, 1])
    """
    words = tuple(sorted({*first.vocabulary, *second.vocabulary}))
    number = {word: n for n, word in enumerate(words)}
    texts = []
    for one in (first, second):
        to = np.array([number[word] for word in one.vocabulary], dtype=np.int64)
        texts.append(WordVectors(to[one.texts.words] if len(to) else one.texts.words, one.texts.ends))
    return Both(words, *texts)


def vectors(of: Both, rng: np.random.Generator, components: int = COMPONENTS) -> tuple[Floats, Floats]:
    """(N, D) and (O, D) vectors of the texts: TF-IDF of words that two texts have, and its truncated SVD.

    Fitted on these two sets alone, as many texts of each, so that no other set changes what is said of them. A text
    without a known word is 0.

    Args:
        of: the two sets.
        rng: draws the texts that are fitted on, and starts the SVD.
        components: D, at most; fewer where there are fewer words.

    Source: Deerwester et al. 1990, "Indexing by latent semantic analysis".
    """
    from scipy.sparse import vstack
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    drawing, starting = rng.spawn(2)
    size = min(FITTED, *(counts.shape[0] for counts in of.counts))
    fitted = vstack([counts[np.sort(drawing.permutation(counts.shape[0])[:size])] for counts in of.counts], "csr")
    kept = np.flatnonzero(np.asarray((fitted > 0).sum(axis=0)).ravel() > 1)
    if len(kept) < 2:
        return np.zeros((of.counts[0].shape[0], 1)), np.zeros((of.counts[1].shape[0], 1))
    weights = TfidfTransformer(sublinear_tf=True).fit(fitted[:, kept])
    components = min(components, len(kept) - 1, 2 * size)
    svd = TruncatedSVD(components, random_state=int(starting.integers(2**31)))
    with np.errstate(invalid="ignore"):  # it divides by a variance, which equal texts have none of
        svd.fit(weights.transform(fitted[:, kept]))
    first, second = (np.asarray(svd.transform(weights.transform(counts[:, kept]))) for counts in of.counts)
    return first, second
