import numpy as np
import pytest
from refusals import refuses
from sklearn.feature_extraction.text import TfidfVectorizer

from ranker.domains import words
from ranker.domains.words import align_words, count_words
from ranker.errors import DataError
from ranker.limits import Limits


def test_a_word_is_what_factors_take_for_one():
    """In lower case, without punctuation; apostrophes, hyphens, accents and digits are parts of words."""
    word_list = words.words_of("L'été 2024: the co-worker's _x_ … 日本語 don’t!")
    assert word_list == ["l'été", "2024", "the", "co-worker's", "_x_", "日本語", "don’t"]


def test_counts_are_those_of_each_text():
    """By the words of both sets, in alphabetical order; a text without a word is an empty row."""
    counts = align_words(count_words(["b a b", ""]), count_words(["c a"]))
    assert counts.words == ("a", "b", "c")
    first, second = (counts.toarray().tolist() for counts in counts.counts)
    assert (first, second) == ([[1, 2, 0], [0, 0, 0]], [[1, 0, 1]])


def test_stop_words_are_no_content():
    """The stop words are those of scikit-learn's list."""
    counts = align_words(count_words(["the cat"]), count_words(["a dog of the cat"]))
    assert [counts.words[n] for n in counts.content] == ["cat", "dog"]


def texts(rng, size, vocabulary):
    """Texts of eight words."""
    return [" ".join(rng.choice(vocabulary, size=8)) for _ in range(size)]


def test_vectors_keep_the_distances_of_tfidf():
    """With as many dimensions as there are words, nothing is lost: the products are those of scikit-learn's TF-IDF."""
    rng = np.random.default_rng(0)
    vocabulary = [f"w{n}" for n in range(12)]
    first, second = texts(rng, 30, vocabulary), texts(rng, 20, vocabulary)
    vectors = np.concatenate(words.vectors(align_words(count_words(first), count_words(second)), rng, components=11))
    fitted = TfidfVectorizer(sublinear_tf=True, min_df=2).fit([*first[:20], *second])  # of equal texts any 20 would do
    assert vectors.shape == (50, 11)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=0.1)
    dense = fitted.transform([*first, *second]).toarray()
    assert np.corrcoef((vectors @ vectors.T).ravel(), (dense @ dense.T).ravel())[0, 1] > 0.98


def test_sets_without_a_common_word_have_vectors():
    """And sets without any word have those of length 0."""
    rng = np.random.default_rng(0)
    first, second = words.vectors(
        align_words(count_words(["a b", "a b", "b a"]), count_words(["x y", "y x", "y"])), rng
    )
    assert np.abs(first @ second.T).max() == pytest.approx(0, abs=1e-8)
    none = words.vectors(align_words(count_words(["", "."]), count_words(["!", "?"])), rng)
    assert not any(vector.any() for vector in none)


def test_no_text_is_looked_at_once_there_are_too_many_words():
    """So that a file of millions of words costs no more memory than the limit."""
    texts = iter([f"word{n}" for n in range(100)])
    with refuses(DataError, option="limits.distinct_words", place="a"):
        count_words(texts, "a", Limits(distinct_words=10))
    assert next(texts) == "word11"
