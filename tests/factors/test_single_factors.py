"""Factors for single texts: hand-worked values, and where they are undefined."""

import numpy as np
import pytest

from factors import BUILTIN, Attributions, Example
from factors.check import words_as_tokens
from factors.single import STOP_WORDS, stop_words

GOOD = Example("good", ("This film is not good!",), 1)
"""Words: This film is not good ! of which "This" and "is" are stop words."""

NAMES = ("STOP-SHARE", "CONCENTRATION", "CONTENT-TRUE")

SCORES = [-0.25, 0.5, 0.125, -1.0, 2.0, 0.125]


def value(name, scores, example=GOOD):
    """Score words by the named factor; special tokens score 100."""
    return BUILTIN[name].score(words_as_tokens(example, scores, special=100.0), example)


def test_stop_share_is_the_hand_worked_share():
    """Words 0.25, 0.125 and 0.125 have 0.5 of 4, whatever their signs; special tokens do not count."""
    assert value("STOP-SHARE", SCORES) == pytest.approx(0.5 / 4)
    assert value("STOP-SHARE", np.abs(SCORES)) == pytest.approx(0.5 / 4)


def test_concentration_is_the_hand_worked_sum():
    """Shares of 2, 4, 1, 8, 16 and 1 of 32; special tokens do not count."""
    assert value("CONCENTRATION", SCORES) == pytest.approx((2**2 + 4**2 + 1 + 8**2 + 16**2 + 1) / 32**2)


def test_content_true_is_the_hand_worked_share():
    """The words film .5, not -1 and good 2 have 1.5 of 4 toward their label; special tokens do not count."""
    assert value("CONTENT-TRUE", SCORES) == pytest.approx(1.5 / 4)
    assert BUILTIN["CONTENT-TRUE"].score(words_as_tokens(GOOD, SCORES).toward(0), GOOD) == pytest.approx(-1.5 / 4)


def test_content_true_lies_between_all_against_and_all_for():
    """-1 and 1 where stop words have nothing; 0 where they have all, or where the text has no other word."""
    assert value("CONTENT-TRUE", [0, 1, 0, 1, 1, 0]) == pytest.approx(1)
    assert value("CONTENT-TRUE", [0, -1, 0, -1, -1, 0]) == pytest.approx(-1)
    assert value("CONTENT-TRUE", [1, 0, 1, 0, 0, -1]) == 0
    assert value("CONTENT-TRUE", [1.0, 2.0], Example("bare", ("this is",), 1)) == 0


def test_concentration_lies_between_equal_words_and_one_word():
    """1 / W where all W words have the same, 1 where one has all."""
    assert value("CONCENTRATION", [3.0, -3.0, 3.0, 3.0, -3.0, 3.0]) == pytest.approx(1 / 6, abs=1e-12)
    assert value("CONCENTRATION", [0, 0, 0, 0, -0.1, 0]) == pytest.approx(1)


def test_stop_share_lies_between_none_and_all():
    """0 where no stop word has a score, or where the text has none; 1 where no other has."""
    assert value("STOP-SHARE", [0, 1, 0, 1, 1, 0]) == 0
    assert value("STOP-SHARE", [1, 0, 1, 0, 0, 1]) == 1
    assert value("STOP-SHARE", [1.0, -2.0], Example("bare", ("great phone",), 1)) == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_factor_is_undefined_where_nothing_has_a_score(name):
    """All scores 0, or no word seen: a share of nothing is nan, not zero."""
    assert np.isnan(value(name, np.zeros(6)))
    nothing = Attributions(np.array([0.5, 0.5]), 1)
    assert np.isnan(BUILTIN[name].score(nothing, GOOD))


@pytest.mark.parametrize("name", NAMES)
def test_the_smallest_scores_have_a_value(name):
    """Shares are taken before they are squared, so that scores too small to square are no zeros."""
    assert value(name, 1e-200 * np.array(SCORES)) == pytest.approx(value(name, SCORES))


def test_words_that_were_not_seen_are_left_out():
    """Of the first three words, two have .375 of .875 and one .5, with a gap in between, too."""
    row = words_as_tokens(GOOD, SCORES, special=100.0)
    for words, stop, content, squares, whole_of_these in (
        ([1, 2, 3], 0.25 + 0.125, 0.5, 0.25**2 + 0.5**2 + 0.125**2, 0.875),
        ([2, 5, 6], 0.125, 0.5 + 2.0, 0.5**2 + 2.0**2 + 0.125**2, 2.625),
    ):
        parts = {part: getattr(row, part)[words] for part in ("segment", "word", "offsets", "scores")}
        cut = Attributions(row.probs, 1, tuple(row.tokens[t] for t in words), **parts)
        expected = (stop / whole_of_these, squares / whole_of_these**2, content / whole_of_these)
        assert [BUILTIN[name].score(cut, GOOD) for name in NAMES] == pytest.approx(expected, abs=1e-12)


def test_stop_words_are_words_of_any_case_and_punctuation():
    """A word that merely contains one is none, nor is a negation or a contraction."""
    example = Example("words", ("THE then-new Then don't never no, it's 7",), 0)
    texts = [example.text(word) for word, stop in zip(example.words, stop_words(example), strict=True) if stop]
    assert texts == ["THE", "Then", ","]
    assert not STOP_WORDS & {"not", "no", "nor", "never", "none", "nothing", "nobody", "without"}
