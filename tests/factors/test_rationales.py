"""Agreement with what people named: definitions of ERASER and GLUE-X by hand, and scikit-learn's area."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, f1_score, precision_recall_curve, precision_score, recall_score

from factors import BUILTIN, Attributions, Example, Span
from factors.check import words_as_tokens
from factors.rationales import top_words

NAMES = [name for name in BUILTIN if name.startswith("RATIONALE")]

TEXT = "the plot was so unbelievably bad that I left early"
"""Ten words, so that a fifth of them is two."""

BAD = Example("bad", (TEXT,), 1, {"rationale": (Span(0, 16, 32),)})
"""People named "unbelievably bad", words 4 and 5."""


def value(name, scores, example=BAD):
    """Score words by the named factor; special tokens score 100."""
    return BUILTIN[name].score(words_as_tokens(example, scores, special=100.0), example)


def words(text, *spans):
    """An example of blank-separated letters, with a span of words for each pair (first, last)."""
    return Example("letters", (text,), 1, {"rationale": tuple(Span(0, 2 * a, 2 * b + 1) for a, b in spans)})


def test_top_words_are_a_fifth_with_the_highest_scores():
    """Of ten words two, of eleven three; signs count, of equals the first is taken."""
    assert np.flatnonzero(top_words(words_as_tokens(BAD, [0, 3, 0, 0, 1, 3, -9, 0, 0, 3]), BAD)).tolist() == [1, 5]
    longer = Example("longer", (f"{TEXT} today",), 1)
    assert top_words(words_as_tokens(longer, np.arange(11.0)), longer).sum() == 3


def test_glue_x_precision_recall_and_f1_are_the_hand_worked_shares():
    """Top words "plot" and "bad" have one of two named, and two of a second annotator's four; the mean counts."""
    scores = [0, 3, 0, 0, 1, 2, 0, 0, 0, 0]
    assert [value(name, scores) for name in ("RATIONALE-P", "RATIONALE-R", "RATIONALE-F1")] == pytest.approx(
        [1 / 2] * 3
    )
    example = Example(
        "both", (TEXT,), 1, {**BAD.marks, "rationale-2": (Span(0, 4, 8), Span(0, 13, 32))}
    )  # plot so unbel. bad
    assert value("RATIONALE-P", scores, example) == pytest.approx((1 / 2 + 2 / 2) / 2)
    assert value("RATIONALE-R", scores, example) == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert value("RATIONALE-F1", scores, example) == pytest.approx((1 / 2 + 2 * 2 / (2 + 4)) / 2)


def test_erasers_measures_on_a_row_that_agrees_in_part():
    """Named 1 2 3 and 6; the four highest are 1 2 5 6, in two runs; "1 2" shares 2 of 3 words, "5 6" 1 of 2."""
    example = words("a b c d e f g h", (1, 3), (6, 6))
    scores = [0, 8, 7, 1, 0, 6, 5, 0]
    assert value("RATIONALE-TOKEN-F1", scores, example) == pytest.approx(3 / 4)
    assert value("RATIONALE-IOU-F1", scores, example) == pytest.approx(1)
    # hits at the ranks 1 2 4 5; recall steps by a quarter; precision 1 1 1 2/3 3/4 4/5 at ranks 0 to 5
    area = 1 / 4 * (1 + 1 + (2 / 3 + 3 / 4) / 2 + (3 / 4 + 4 / 5) / 2)
    assert value("RATIONALE-AUPRC", scores, example) == pytest.approx(area, abs=1e-12)


def test_erasers_measures_on_a_row_that_misses():
    """Named 0 and 1 as two spans; the highest are 6 and 7, one run; 0 and 1 come last of eight."""
    example = words("a b c d e f g h", (0, 0), (1, 1))
    scores = [-2, -1, 0, 0, 0, 0, 2, 3]
    assert value("RATIONALE-TOKEN-F1", scores, example) == value("RATIONALE-IOU-F1", scores, example) == 0
    # precision 0 up to rank 6, 1/7 at rank 7 and 2/8 at rank 8
    assert value("RATIONALE-AUPRC", scores, example) == pytest.approx(1 / 2 * (1 / 7 / 2 + (1 / 7 + 1 / 4) / 2))


def test_erasers_measures_on_a_row_with_one_run_over_two_spans():
    """Named 2 3 and 4 5 6; the five highest are 2 to 6, one run, of which 3 of 5 words match one span alone."""
    example = words("a b c d e f g h", (2, 3), (4, 6))
    scores = [0, 0, 4, 5, 6, 7, 8, 0]
    assert [value(f"RATIONALE-{name}", scores, example) for name in ("TOKEN-F1", "AUPRC")] == pytest.approx([1, 1])
    assert value("RATIONALE-IOU-F1", scores, example) == pytest.approx(2 * 1 * (1 / 2) / (1 + 1 / 2))


def test_no_span_counts_twice():
    """Two runs with half of a span each match it, and recall is 1, where ERASER's own program counts two of one."""
    example = words("a b c d e", (0, 3))
    marks = {"rationale": (Span(0, 0, 7),)}  # four words; the highest four are 0 1 3 and 4
    assert value("RATIONALE-IOU-F1", [5, 5, 0, 5, 5], Example("e", example.segments, 1, marks)) == pytest.approx(2 / 3)


def test_runs_end_with_their_segment():
    """The last word of a text and the first of the next are no run."""
    example = Example("pair", ("a b", "c d"), 1, {"rationale": (Span(0, 2, 3), Span(1, 0, 1))})
    assert value("RATIONALE-IOU-F1", [0, 2, 2, 0], example) == pytest.approx(1)


@pytest.mark.more
@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=30))
def test_measures_agree_with_scikit_learn(rows):
    """The area as ERASER's program has it from scikit-learn, ties included, and precision, recall, F1 of top words."""
    scores, marks = (np.array(column) for column in zip(*rows, strict=True))
    if not scores.any() or not marks.any():
        return
    spans = tuple(Span(0, 2 * w, 2 * w + 1) for w in np.flatnonzero(marks).tolist())
    example = Example("letters", (" ".join("a" * len(rows)),), 1, {"rationale": spans})
    precision, recall, _ = precision_recall_curve(marks, scores)
    assert value("RATIONALE-AUPRC", scores, example) == pytest.approx(auc(recall, precision), abs=1e-12)
    top = top_words(words_as_tokens(example, scores), example)
    for name, oracle in (("P", precision_score), ("R", recall_score), ("F1", f1_score)):
        assert value(f"RATIONALE-{name}", scores, example) == pytest.approx(oracle(marks, top))


def test_unseen_words_come_last_and_are_missed():
    """Of two named words one is behind the model's limit: it is never a top word, so recall is a half at most."""
    full_row = words_as_tokens(BAD, [1, 0, 0, 0, 0.5, 9, 9, 9, 9, 9])
    parts = {name: getattr(full_row, name)[:6] for name in ("segment", "word", "offsets", "scores")}
    cut = Attributions(full_row.probs, 1, full_row.tokens[:6], **parts)  # [CLS] and five words
    assert np.flatnonzero(top_words(cut, BAD)).tolist() == [0, 4]
    assert BUILTIN["RATIONALE-R"].score(cut, BAD) == pytest.approx(1 / 2)
    # one hit at rank 2 of 10, then five unseen words at once, with the other hit
    area = 1 / 2 * (0 + 1 / 2) / 2 + 1 / 2 * (1 / 5 + 2 / 10) / 2
    assert BUILTIN["RATIONALE-AUPRC"].score(cut, BAD) == pytest.approx(area)


@pytest.mark.parametrize("name", NAMES)
def test_a_measure_is_undefined_where_there_is_nothing_to_compare(name):
    """No word has a score, nobody named one, or what was named is a blank."""
    assert np.isnan(value(name, np.zeros(10)))
    scores = np.arange(10.0)
    for marks in ({}, {"rationale": ()}, {"rationale": (Span(0, 3, 4),)}, {"feature": (Span(0, 0, 3),)}):
        assert np.isnan(value(name, scores, Example("none", (TEXT,), 1, marks)))


@pytest.mark.parametrize("name", NAMES)
def test_an_annotator_without_a_word_is_no_annotator(name):
    """The mean is over those who named a word."""
    scores = np.arange(10.0) % 6
    alone = Example("alone", (TEXT,), 1, {"rationale": (), "rationale-2": BAD.marks["rationale"]})
    assert value(name, scores, alone) == value(name, scores)
