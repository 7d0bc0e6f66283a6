import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.domains.statistics import summaries
from ranker.domains.statistics.summaries import MEASURES, measures

TOKENS = st.lists(st.integers(0, 4), min_size=1, max_size=12)


def sentence(text):
    """Numbers of words: the same word, the same number."""
    return [hash(word) for word in text.split()]


def of(document, summary):
    """The measures by name."""
    return dict(zip(MEASURES, measures(sentence(document), sentence(summary)), strict=True))


def test_a_summary_by_hand():
    """A text of seven words with one of six."""
    measures = of("the cat sat on the mat .", "the cat sat . it purred")
    assert (measures["document_length"], measures["summary_length"]) == (7, 6)
    assert measures["compression"] == pytest.approx(7 / 6)
    assert measures["density"] == pytest.approx((3**2 + 1**2) / 6)  # "the cat sat", "."
    assert measures["document_diversity"] == pytest.approx((6 / 7 + 6 / 6 + 5 / 5) / 3)
    assert measures["summary_diversity"] == pytest.approx(1)
    assert measures["coverage"] == pytest.approx((4 / 6 + 2 / 5 + 1 / 4) / 3)
    assert measures["abstractiveness"] == pytest.approx((2 / 6 + 3 / 5 + 3 / 4) / 3)


def test_what_is_repeated_counts_as_often_as_it_stands_there():
    """A word three times in the summary, and once in the document."""
    measures = of("the dog", "the the the")
    assert measures["coverage"] == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert measures["abstractiveness"] == pytest.approx((0 + 1 + 1) / 3)
    assert measures["summary_diversity"] == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)


def test_a_copy_is_all_extraction():
    """One fragment: the density is the length."""
    measures = of("a b c d", "a b c d")
    assert [measures[name] for name in ("density", "coverage", "abstractiveness")] == pytest.approx([4, 1, 0])


def test_short_texts_leave_sizes_out():
    """A summary of one word has no bigrams; one without a word has no measures."""
    of_short = of("a b c", "b")
    names = "coverage", "abstractiveness", "summary_diversity"
    assert [of_short[name] for name in names] == pytest.approx([1, 0, 1])
    assert np.isnan(measures([1], [])).all()
    assert np.isnan(measures([], [1])).all()


def longest_first(document, summary):
    """At each place the longest stretch, by trying every one."""
    matched, i = [], 0
    while i < len(summary):
        lengths = [
            n
            for n in range(1, len(summary) - i + 1)
            if any(document[j : j + n] == summary[i : i + n] for j in range(len(document)))
        ]
        matched += lengths[-1:]
        i += max([1, *lengths])
    return matched


@given(TOKENS, TOKENS)
def test_fragments_are_the_longest_at_each_place(document, summary):
    """By trying every stretch."""
    assert summaries.fragments(document, summary) == longest_first(document, summary)


def test_means_are_over_pairs():
    """And an empty summary is left out."""
    pairs = [(sentence("a b c d"), sentence("a b")), (sentence("a b"), sentence("c d")), (sentence("a"), [])]
    means = {mean.name: mean for mean in summaries.means(pairs, np.random.default_rng(0))}
    assert means["compression"].value == pytest.approx((2 + 1) / 2)
    assert means["density"].value == pytest.approx((2 + 0) / 2)
    assert means["coverage"].low == 0.0
    assert summaries.means([([1], [])], np.random.default_rng(0)) == ()
