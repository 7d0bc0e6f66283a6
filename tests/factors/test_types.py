import dataclasses
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

from factors.types import Attributions, Example, Span


def test_words_are_spans_of_both_segments():
    """Words are found by characters, so no tokenizer has a say in them."""
    example = Example("x", ("Naïve café-goers don't 走.", "👍 ok"), 0)
    assert [example.text(word) for word in example.words] == ["Naïve", "café-goers", "don't", "走", ".", "👍", "ok"]
    assert [word.segment for word in example.words] == [0] * 5 + [1] * 2


def test_a_letter_keeps_its_marks():
    """Accents behind their letter, vowel signs and joiners are parts of a word; alone, a mark is one of its own."""
    text = "Cafe\u0301 e\u0301le\u0301gant, \u0939\u093f\u0928\u094d\u0926\u0940 \u0915\u094d\u200d\u0937"
    example = Example("x", (f"{text} co-ope\u0301ra \u0301x",), 0)
    words = [example.text(word) for word in example.words]
    assert words == [
        *("Cafe\u0301", "e\u0301le\u0301gant", ",", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        *("\u0915\u094d\u200d\u0937", "co-ope\u0301ra", "\u0301", "x"),
    ]


@pytest.mark.parametrize("span", [(0, 3, 3), (0, 4, 3), (-1, 0, 1), (0, -1, 1)])
def test_an_impossible_span_is_refused(span):
    """Empty, reversed and negative spans are mistakes of whoever made them."""
    with pytest.raises(ValueError, match="a span needs"):
        Span(*span)


@pytest.mark.parametrize(
    ("other_span", "shared"),
    [((0, 4, 6), True), ((0, 3, 5), True), ((0, 5, 9), True), ((0, 0, 9), True), ((0, 2, 4), False), ((0, 6, 8), False),
     ((1, 4, 6), False), ((1, 0, 9), False)],
)  # fmt: skip
def test_spans_overlap_where_they_share_a_character(other_span, shared):
    """Of one segment; one that ends where the other begins shares none."""
    span, other_span = Span(0, 4, 6), Span(*other_span)
    assert span.overlaps(other_span) == other_span.overlaps(span) == shared


def test_an_example_without_a_label_says_so():
    """The label of none is no class."""
    assert Example("x", ("a",), 0).labelled
    assert not Example("x", ("a",), None).labelled


@pytest.mark.parametrize("span", [Span(1, 0, 1), Span(0, 2, 9)])
def test_a_mark_outside_its_text_is_refused(span):
    """A mark in a missing segment, or past the end of one."""
    with pytest.raises(ValueError, match="example x: mark 'control' lies outside its text"):
        Example("x", ("short",), 0, {"control": (span,)})


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        (("a", "b", "c"), "one or two segments are needed"),
        (("good", "bad \ud83d"), r"^example x: '\\ud83d' is half of a character, and no text$"),
    ],
)
def test_texts_that_no_tokenizer_reads_are_refused(segments, message):
    """Encoders take one or two texts; JSON and file names can say half of a surrogate pair."""
    with pytest.raises(ValueError, match=message):
        Example("x", segments, 0)


def test_records_cannot_be_changed():
    """Fields, arrays and marks are read-only: a factor cannot alter what the next one sees."""
    row = Attributions(np.array([0.5, 0.5]), 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.target = 1
    with pytest.raises(ValueError, match="read-only"):
        row.probs[0] = 1
    with pytest.raises(TypeError):
        Example("x", ("a",), 0).marks["new"] = ()


def test_arrays_of_unequal_length_are_refused():
    """Each token has one score, one segment, one word."""
    with pytest.raises(ValueError, match="segment must have the shape"):
        Attributions(np.array([0.5, 0.5]), 0, tokens=("a", "b"))


def test_a_word_that_the_model_did_not_see_has_no_score():
    """Between seen words it is nan; after the last one it is not there."""
    word, scores = np.array([0, 2]), np.array([1.0, 2.0])
    row = Attributions(np.array([0.5, 0.5]), 0, ("a", "b"), np.zeros(2, int), word, np.zeros((2, 2), int), scores)
    assert np.array_equal(row.word_scores, [1.0, np.nan, 2.0], equal_nan=True)


@pytest.mark.parametrize(("norm", "scores"), [("raw", [1.0, -3.0]), ("l1", [0.25, -0.75])])
def test_scores_are_divided_by_a_norm(norm, scores):
    """Signs stay, and scores that are all zero stay as they are."""
    spread = (np.zeros(2, int), np.zeros(2, int), np.zeros((2, 2), int))
    row = Attributions(np.array([0.5, 0.5]), 0, ("a", "b"), *spread, np.array([1.0, -3.0]))
    assert row.normalised(norm).scores.tolist() == pytest.approx(scores)
    nothing = dataclasses.replace(row, scores=np.zeros(2))
    assert nothing.normalised(norm).scores.tolist() == [0.0, 0.0]


def test_an_example_hashes_and_goes_to_another_process():
    """Marks of an example stay as they are, and nothing has to be registered for that."""
    example = Example("a", ("A dog ran.",), 1, {"control": (Span(0, 2, 5),)})
    report = ForkingPickler.loads(ForkingPickler.dumps(example))
    assert report == example
    assert hash(report) == hash(example)
    with pytest.raises(TypeError):
        report.marks["control"] = ()
