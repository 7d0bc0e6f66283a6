import numpy as np

from ranker.statistics import near
from ranker.statistics.near import WordVectors


def texts(rows):
    """Lists of numbers as texts."""
    flat = [word for row in rows for word in row]
    return WordVectors(np.array(flat, dtype=np.int64), np.cumsum([len(row) for row in rows]))


def similarity(first, second):
    """Jaccard of three words in a row, as it is written."""
    sets = [{tuple(row[i : i + 3]) for i in range(max(len(row) - 2, 1))} for row in (first, second)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def changed(rng, row, words):
    """A row with some of its words replaced."""
    new = list(row)
    for place in rng.choice(len(row), size=words, replace=False):
        new[place] = int(rng.integers(10_000))
    return new


def test_what_is_found_is_what_a_plain_loop_finds():
    """Of 120 texts of 40 words, each repeated with 0 to 5 words replaced: a similarity from 1 down to 0.4."""
    rng = np.random.default_rng(0)
    known = [rng.integers(10_000, size=40).tolist() for _ in range(120)]
    asked = [changed(rng, row, n % 6) for n, row in enumerate(known)]
    expected = [any(similarity(row, other) >= 0.8 for other in known) for row in asked]
    found = near.find_near_repeats(texts(known), texts(asked), rng)
    assert 0 < sum(expected) < 120
    assert found.tolist() == expected


def test_short_texts_are_compared_whole():
    """One or two words are one shingle; the first two of three words are another text."""
    found = near.find_near_repeats(
        texts([[1], [2, 3]]), texts([[1], [2, 3], [3, 2], [1, 2, 3], []]), np.random.default_rng(0)
    )
    assert found.tolist() == [True, True, False, False, False]


def test_texts_without_a_word_repeat_nothing():
    """Neither set has one, or the known set alone has none."""
    rng = np.random.default_rng(0)
    assert near.find_near_repeats(texts([[]]), texts([[], []]), rng).tolist() == [False, False]
    assert near.find_near_repeats(texts([[], [1, 2]]), texts([[1, 2]]), rng).tolist() == [True]
    assert near.find_near_repeats(texts([[]]), texts([[1, 2]]), rng).tolist() == [False]
