import numpy as np
import pytest

from factors import Attributions, Example, Span
from factors import compose as c

PAIR = Example("pair", ("A cat, a CAT!", "The cat sat."), 0, {"seen": (Span(0, 3, 6), Span(1, 8, 9))})
"""Words: A cat , a CAT ! | The cat sat ."""


def test_marks_choose_the_words_that_they_touch():
    """A span over half a word and the comma chooses both; one letter chooses its word."""
    assert np.flatnonzero(c.marked(PAIR, "seen")).tolist() == [1, 2, 8]
    assert not c.marked(PAIR, "unknown").any()


def test_shared_words_are_found_however_their_accents_are_written():
    """As one character, or as a letter and a mark behind it."""
    assert c.shared(Example("x", ("A caf\u00e9.", "The cafe\u0301."), 0)).tolist() == [False, True, False] * 2


def test_shared_words_are_found_whatever_their_case():
    """ "cat" is in both segments, in three spellings' places; "a" and punctuation are not shared."""
    assert list(c.shared_words(PAIR)) == ["cat"]
    assert np.flatnonzero(c.shared(PAIR)).tolist() == [1, 4, 7]
    assert not c.shared(Example("one", ("a a a",), 0)).any()


def test_masks_combine():
    """Shared words of segment 2 that are not marked."""
    chosen = c.shared(PAIR) & c.in_segment(PAIR, 1) & ~c.marked(PAIR, "seen")
    assert np.flatnonzero(chosen).tolist() == [7]


def test_a_window_does_not_reach_into_the_other_segment():
    """The last word of segment 1 has a neighbour before it only."""
    last = np.arange(10) == 5
    assert np.flatnonzero(c.around(PAIR, last)).tolist() == [4, 5]
    assert np.flatnonzero(c.around(PAIR, last, reach=2)).tolist() == [3, 4, 5]
    assert not c.around(PAIR, np.zeros(10, bool)).any()


def test_scores_of_words_past_the_models_limit_are_not_there():
    """Of ten words the model saw four: those and no others are looked up."""
    attributions = Attributions(
        np.array([0.5, 0.5]), 1, tuple("abcd"), np.zeros(4, int), np.arange(4), np.zeros((4, 2), int), np.arange(4.0)
    )
    assert c.scores(attributions, np.ones(10, bool)).tolist() == [0, 1, 2, 3]
    assert c.scores(attributions, c.in_segment(PAIR, 1)).tolist() == []


@pytest.mark.parametrize(
    ("reducer", "expected"), [(c.mean, -0.5), (c.total, -1.0), (c.highest, 2.0), (c.strongest, -3.0)]
)
def test_reducers_leave_unseen_words_out_and_give_nan_of_nothing(reducer, expected):
    """2 and -3 with an unseen word between them."""
    assert reducer(np.array([2.0, np.nan, -3.0])) == expected
    assert np.isnan(reducer(np.array([])))
    assert np.isnan(reducer(np.array([np.nan])))


def test_an_example_without_words_has_empty_masks():
    """A text of white space: every selector answers, with nothing."""
    empty = Example("empty", (" ", " "), 0)
    for mask in (c.in_segment(empty, 0), c.marked(empty, "x"), c.shared(empty), c.around(empty, np.zeros(0, bool))):
        assert mask.shape == (0,)
        assert mask.dtype == bool
