import numpy as np
import pytest

from factors import BUILTIN, Example, Span
from factors.check import words_as_tokens

SINGLE = Example("msgs", ("The tall boys drew a map.",), 1, {"feature": (Span(0, 14, 18),)})
"""Words: The tall boys drew a map . with the irregular past "drew" marked."""


def spans(segments, *texts):
    """The spans of texts: (segment, text), each at its first place."""
    return tuple(Span(s, segments[s].index(text), segments[s].index(text) + len(text)) for s, text in texts)


def pair(first, second, mark, *texts):
    """A pair with a mark."""
    return Example("pair", (first, second), 0, {mark: spans((first, second), *texts)})


UNLESS = pair("Unless the nurse slept, the clerk sang.", "The nurse slept.", "control", (0, "Unless"))
"""Words: Unless the nurse slept , the clerk sang . | The nurse slept ."""

SWAP = pair(
    "How do trains from Oslo reach Bergen?", "How do trains from Bergen reach Oslo?", "swapped",
    (0, "Oslo"), (0, "Bergen"), (1, "Bergen"), (1, "Oslo"),
)  # fmt: skip
"""Words: How do trains from Oslo reach Bergen ? | How do trains from Bergen reach Oslo ?"""


def value(name, example, by_word):
    """Score words by the named factor; special tokens score 100."""
    return BUILTIN[name].score(words_as_tokens(example, by_word, special=100.0), example)


def test_const_is_the_sum_over_the_control_words_of_the_premise():
    """ "Unless" has .9; the other words and the separators do not count."""
    assert value("CONST", UNLESS, [0.9, *[5.0] * 12]) == pytest.approx(0.9)


def test_const_adds_up_control_words_of_several_words():
    """ "without a doubt" is three words of .5, .25 and 1; the same words of the hypothesis are not its premise's."""
    example = pair("Without a doubt the vet ran.", "Without a vet.", "control", (0, "Without a doubt"), (1, "Without"))
    assert value("CONST", example, [0.5, 0.25, 1.0, *[7.0] * 8]) == 1.75


def test_swap_avg_is_the_mean_over_the_swapped_words_of_both_segments():
    """Oslo .4 and .8, Bergen -.2 and .6: their mean is .4."""
    first, second = [9, 9, 9, 9, 0.4, 9, -0.2, 9], [9, 9, 9, 9, 0.6, 9, 0.8, 9]
    assert value("SWAP-AVG", SWAP, [*first, *second]) == pytest.approx((0.4 - 0.2 + 0.6 + 0.8) / 4, abs=1e-12)


def test_swap_max_diff_takes_the_largest_magnitude_with_its_sign():
    """In segment 1 Bergen's -.7 is stronger than Oslo's .4; in segment 2 Oslo's .8 than Bergen's .6: -1.5."""
    first, second = [9, 9, 9, 9, 0.4, 9, -0.7, 9], [9, 9, 9, 9, 0.6, 9, 0.8, 9]
    assert value("SWAP-MAX-DIFF", SWAP, [*first, *second]) == pytest.approx(-0.7 - 0.8, abs=1e-12)


def test_swap_max_diff_needs_a_swapped_word_in_both_segments():
    """With swapped words in one segment only there is no difference; their mean is still defined."""
    one_sided = pair(*SWAP.segments, "swapped", (0, "Oslo"))
    assert np.isnan(value("SWAP-MAX-DIFF", one_sided, [1.0] * 16))
    assert value("SWAP-AVG", one_sided, [1.0] * 16) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["IRREG", "VERB", "ADJ"])
def test_a_feature_is_read_with_the_words_next_to_it(name):
    """Around "drew" stand "boys" and "a": .3 + .5 - .1."""
    assert value(name, SINGLE, [9, 9, 0.3, 0.5, -0.1, 9, 9]) == pytest.approx(0.7, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "spans", "scores", "total"),
    [
        ("Drew ran away.", [(0, 4)], [0.25, 0.5, 9, 9], 0.75),  # the first word has no word before it
        ("Now she sang and drew well.", [(8, 12), (17, 21)], [9, 1, 1, 1, 1, 1, 9], 5),  # one word between them
    ],
)
def test_windows_end_with_their_text_and_count_a_word_once(text, spans, scores, total):
    """Marked words and their neighbours, each once."""
    example = Example("window", (text,), 1, {"feature": tuple(Span(0, *span) for span in spans)})
    assert value("IRREG", example, scores) == total


def test_shared_avg_is_the_mean_over_every_shared_occurrence():
    """Shared in UNLESS: the (twice | once), nurse, slept; the comma and the full stop are no words."""
    first, second = [9, 0.1, 0.2, 0.3, 9, 0.4, 9, 9, 9], [0.5, 0.6, 0.7, 9]
    expected = (0.1 + 0.2 + 0.3 + 0.4 + 0.5 + 0.6 + 0.7) / 7
    assert value("SHARED-AVG", UNLESS, [*first, *second]) == pytest.approx(expected, abs=1e-12)


def test_abs_sum_diff_is_a_share_of_all_attribution():
    """Magnitudes of 3 in segment 1 and 1 in segment 2: (3 - 1) / 4, whatever the unit."""
    example = Example("abs", ("It ran", "It sat"), 0)
    assert value("ABS-SUM-DIFF", example, [1.0, -2.0, -0.5, 0.5]) == 0.5
    assert value("ABS-SUM-DIFF", example, [10.0, -20.0, -5.0, 5.0]) == 0.5


def test_abs_sum_diff_of_a_model_that_saw_nothing_is_undefined():
    """All scores 0: there is nothing to share out."""
    assert np.isnan(value("ABS-SUM-DIFF", Example("zero", ("It ran", "It sat"), 0), [0.0] * 4))


@pytest.mark.parametrize("name", ["CONST", "SWAP-AVG", "SWAP-MAX-DIFF", "IRREG", "VERB", "ADJ"])
def test_an_example_without_the_mark_is_undefined(name):
    """No marked word is nan, not zero."""
    bare = Example("bare", UNLESS.segments, 0)
    assert np.isnan(value(name, bare, [1.0] * 13))
