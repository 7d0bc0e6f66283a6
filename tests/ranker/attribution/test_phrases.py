"""Phrase removal as GLUE-X has it, worked by hand on a model of few words."""

import numpy as np
import pytest
from refusals import refuses
from test_contracts import HidBag

from factors.types import Example, split_words
from ranker.attribution import attribute, settings_of
from ranker.attribution.phrases import removals_of
from ranker.attribution.settings import PhraseSettings
from ranker.errors import UsageError


class Moods(HidBag):
    """A bag whose margin is that of a mood: 2 for "bad" or "awful", 3 for "not" before "good", -1 for "good" alone."""

    def answers(self, requests, hide, advance):
        """The mood of the words that are seen."""
        for state, encoding, masks in requests:
            rows = []
            for mask in masks:
                tokens = {encoding.tokens[t] for t in np.flatnonzero(mask & (encoding.word >= 0))}
                good = 3 if {"not", "good"} <= tokens else -1 if "good" in tokens else 0
                rows.append(2 * bool(tokens & {"bad", "awfu"}) + good)
            advance(1)
            yield state, np.stack([np.zeros(len(rows)), np.array(rows, dtype=float)], axis=1)


def scores(text, line="phrases"):
    """Scores of the words of a text."""
    (row,) = attribute(Moods(), [Example("a", (text,), 1)], line)
    return dict(zip(text.split(), row.word_scores.tolist(), strict=True)), row.effort


def test_phrases_are_words_and_negations_with_what_follows():
    """Up to three words from a negation on, within its text."""
    text = "It didn't move me , not once"
    example = Example("a", (text, "no"), 1)
    words = [example.text(word) for word in example.words]
    phrases = [" ".join(words[w] for w in phrase) for phrase in removals_of(example.words, words, PhraseSettings())]
    assert phrases == [*words, "didn't move", "not once", "didn't move me"]


def test_a_negated_phrase_is_worth_more_than_its_words():
    """The example worked by hand: "plot not good" with one neighbour on either side.

    Alone: "plot" 3 - 3 without "not" (-1 - -1) = 0. "not": without "plot" 3 - -1, without "good" 0 - 0, mean 2. "good":
    without "not" -1 - 0 = -1. "not good": without "plot" 3 - 0, half of it each. So "not" keeps 2, and "good" has 1.5.
    """
    assert scores("plot not good")[0] == pytest.approx({"plot": 0, "not": 2, "good": 1.5})
    assert scores("plot not good", "phrases:window=1")[0] == pytest.approx({"plot": 0, "not": 2, "good": -1})
    assert scores("plot not good", "phrases:reach=0")[0] == pytest.approx({"plot": 0, "not": 4, "good": 3})
    assert scores("plot not good", "occlusion")[0] == pytest.approx({"plot": 0, "not": 4, "good": 3})


def test_evidence_that_a_neighbour_repeats_is_seen():
    """Of "bad awful" either alone is enough, so each hidden alone changes nothing; beside the other it counts."""
    assert scores("so bad awful", "occlusion")[0] == pytest.approx({"so": 0, "bad": 0, "awful": 0})
    assert scores("so bad awful")[0] == pytest.approx({"so": 0, "bad": 1, "awful": 2})


@pytest.mark.parametrize(("text", "passes"), [("bad", 2), ("so bad", 4), ("so bad awful plot", 8), ("", 1)])
def test_no_pass_is_made_twice(text, passes):
    """The text, each word, and each pair of neighbours; a lone word has no neighbour."""
    assert scores(text)[1] == passes
    words = np.arange(len(split_words(text)))
    assert abs(settings_of("phrases").passes(np.zeros(len(words)), words) - passes) <= 1


@pytest.mark.parametrize("setting", ["window=0", "reach=-1"])
def test_settings_are_checked(setting):
    """A phrase has a word at least; none is fewer than no words away."""
    with refuses(UsageError, option="attribution", value=f"phrases:{setting}"):
        settings_of(f"phrases:{setting}")
