import numpy as np
import pytest

from factors import BUILTIN
from factors.types import Attributions, Example

PAIR = Example("pair", ("The doctor near the actor ran.", "The actor ran."), 0)
"""Words: The doctor near the actor ran . | The actor ran ."""


def explained(*, scores=None, probs=(0.3, 0.7), target=1):
    """The pair as a tokenizer without subwords would cut it: [CLS] 7 words [SEP] 4 words [SEP]."""
    words = np.array([-1, *range(7), -1, *range(7, 11), -1])
    segment = np.array([-1, *[0] * 7, -1, *[1] * 4, -1])
    scores = np.arange(14.0) if scores is None else np.array(scores, float)
    return Attributions(np.array(probs), target, tuple("x" * 14), segment, words, np.zeros((14, 2), int), scores, "ig")


def value(name, attributions, example=PAIR):
    """Score the example by the named factor."""
    return BUILTIN[name].score(attributions, example)


def test_index_diff_is_the_hand_worked_mean():
    """Shared: the (1, 4 | 9), actor (5 | 10), ran (6 | 11); the full stop does not count."""
    expected = ((1 + 4) / 2 - 9 + 5 - 10 + 6 - 11) / 3
    assert value("INDEX-DIFF", explained()) == pytest.approx(expected, rel=1e-12)


def test_max_diff_and_sum_diff_are_the_hand_worked_values():
    """Segment 1 holds 1..7, segment 2 holds 9..12; special tokens do not count."""
    assert value("MAX-DIFF", explained()) == 7 - 12
    assert value("SUM-DIFF", explained()) == (1 + 2 + 3 + 4 + 5 + 6 + 7) - (9 + 10 + 11 + 12)


def test_first_tok_is_the_first_separator():
    """The separator stands behind segment 1, at position 8; the [CLS] before it is none."""
    assert value("FIRST-TOK", explained()) == 8


def test_a_separator_behind_one_token_is_the_first():
    """However short the first segment is; without one there is nothing to read."""
    ends = (np.array([-1, 0, -1, 1, -1]), np.array([-1, 0, -1, 1, -1]), np.zeros((5, 2), int))
    row = Attributions(np.array([0.5, 0.5]), 1, tuple("x" * 5), *ends, np.arange(5.0))
    assert value("FIRST-TOK", row, Example("short", ("one", "two"), 1)) == 2
    bare = Attributions(np.array([0.5, 0.5]), 1, ("x", "x"), *(end[[1, 3]] for end in ends), np.arange(2.0))
    assert np.isnan(value("FIRST-TOK", bare, Example("short", ("one", "two"), 1)))


def test_shared_avg_is_the_hand_worked_mean():
    """The, the, actor, ran in segment 1 at 1, 4, 5 and 6; The, actor, ran in segment 2 at 9, 10 and 11."""
    assert value("SHARED-AVG", explained()) == pytest.approx((1 + 4 + 5 + 6 + 9 + 10 + 11) / 7)


def test_abs_sum_diff_is_the_hand_worked_share():
    """28 of 70 in segment 1 and 42 in segment 2, whatever their signs; special tokens do not count."""
    signs = np.resize([1.0, -1.0], 14)
    for sign in (signs, -signs, 1):
        assert value("ABS-SUM-DIFF", explained(scores=sign * np.arange(14.0))) == pytest.approx((28 - 42) / 70)
    level = np.array([9, *[4] * 7, 9, *[7] * 4, 9])
    assert value("ABS-SUM-DIFF", explained(scores=level)) == 0
    assert np.isnan(value("ABS-SUM-DIFF", explained(scores=9.0 * (level == 9))))


def test_subwords_are_summed_before_words_are_compared():
    """A word cut in two, of 3 and 4, has the attribution 7, larger than any of its tokens."""
    example = Example("cut", ("unlikely", "so"), 1)
    attributions = Attributions(
        np.array([0.5, 0.5]), 1, ("un", "likely", "so"), np.array([0, 0, 1]), np.array([0, 0, 1]),
        np.zeros((3, 2), int), np.array([3.0, 4.0, 5.0]),
    )  # fmt: skip
    assert value("MAX-DIFF", attributions, example) == 2


def test_index_diff_without_a_shared_word_is_undefined():
    """Nothing to compare is nan, not zero."""
    example = Example("apart", ("one", "two"), 1)
    attributions = Attributions(
        np.array([0.5, 0.5]), 1, ("one", "two"), np.array([0, 1]), np.array([0, 1]), np.zeros((2, 2), int), np.ones(2)
    )
    assert np.isnan(value("INDEX-DIFF", attributions, example))


def test_words_beyond_the_models_limit_are_left_out():
    """Only the first 6 words were seen: no word of segment 2, so nothing to compare with: undefined."""
    attributions = Attributions(
        np.array([0.5, 0.5]), 1, tuple("abcdef"), np.zeros(6, int), np.arange(6), np.zeros((6, 2), int), np.ones(6)
    )
    assert np.isnan(value("INDEX-DIFF", attributions))
    assert np.isnan(value("MAX-DIFF", attributions))
    assert np.isnan(value("SUM-DIFF", attributions))


@pytest.mark.parametrize(
    ("name", "label", "target", "expected"),
    [
        ("ACC", 1, 1, 1.0), ("ACC", 0, 1, 0.0), ("CONF", 0, 1, 0.7), ("CONF-GT", 0, 0, 0.3), ("CONF-H", 0, 1, 0.7),
        ("NLL", 0, 0, -np.log(0.3)),
    ],
)  # fmt: skip
def test_baselines_are_the_hand_worked_values(name, label, target, expected):
    """Probabilities .3 and .7, turned toward the label that the baseline declares."""
    row = explained(target=target)
    assert value(name, row, Example("x", PAIR.segments, label)) == pytest.approx(expected, rel=1e-12)


def test_nll_of_a_zero_probability_is_finite():
    """A model that is certain and wrong gets a large number, not an infinite one."""
    assert 700 < value("NLL", explained(probs=(0.0, 1.0), target=0)) < 710


def test_turning_to_the_other_label_changes_signs_only():
    """The margin's attribution serves both labels of a binary task."""
    row = explained()
    assert np.array_equal(row.toward(0).scores, -row.scores)
    assert row.toward(0).toward(1).scores.tolist() == row.scores.tolist()


def test_three_classes_are_not_turned():
    """With three classes the margin of one label says nothing about another."""
    row = explained(probs=(0.2, 0.3, 0.5))
    with pytest.raises(ValueError, match="not binary"):
        row.toward(2)
