from dataclasses import replace

import numpy as np
import pytest
from conftest import LIMIT

from factors import Attributions, Example
from ranker.attribution.settings import IGSettings, LIMESettings, Settings, SHAPSettings
from ranker.results.evaluation import FOLLOWS
from ranker.results.header import Quality
from ranker.scoring.diagnostics import (
    below_chance,
    chance_notes,
    constant_models,
    cut,
    judge_attributions,
    misled_share,
    quality_of,
    shortcut_avoided,
)
from ranker.tasks.classes import ClassificationTask, ClassProbabilities

PAIR = Example("a", ("A dog ran.", "It ran."), 1)


def row(predicted=1, residual=np.nan, words=7, scores=1.0):
    """What a model of two labels made of the pair, of which it saw so many words: "A dog ran . It ran ."."""
    tokens = PAIR.words[:words]
    return Attributions(
        np.eye(2)[predicted],
        1,
        tuple(PAIR.text(word) for word in tokens),
        np.array([word.segment for word in tokens], np.int64),
        np.arange(len(tokens)),
        np.array([[word.start, word.end] for word in tokens], np.int64).reshape(-1, 2),
        np.full(len(tokens), scores),
        residual=residual,
    )


def answers(*predicted):
    """What a model of two labels answers."""
    return ClassProbabilities(np.eye(2)[list(predicted)])


def test_a_model_is_misled_where_the_shortcut_is_wrong_and_followed():
    """Rows on which the shortcut is right do not count; without such rows, or a shortcut, nothing is known."""
    task = ClassificationTask("nli", ("no", "yes"), shortcut=1)
    examples = [Example(str(n), ("x",), label) for n, label in enumerate([1, 0, 0, 0])]
    assert misled_share(answers(0, 1, 0, 0), examples, task) == pytest.approx(1 / 3)
    assert misled_share(answers(1), examples[:1], task) is None
    assert misled_share(answers(1, 1, 1, 1), examples, ClassificationTask("nli", ("no", "yes"))) is None


def test_errors_are_summed_up_in_the_backends_own_measure():
    """LIME's is 1 - R2, and what is over the tolerance is counted; IG's is a part of the sum of the scores."""
    errors = [0.1, 0.5, 0.2, 0.3, 0.4]
    quality = quality_of(
        judge_attributions([row(residual=error) for error in errors], [PAIR] * 5, LIMESettings(tolerance=0.3))
    )
    assert quality == Quality(0.3, pytest.approx(0.48), over_tolerance=2, truncated=0)
    rows = [row(residual=0.3, scores=2.0), row(residual=0.3, scores=-0.5), row(residual=0.3, scores=0.0)]
    quality = quality_of(judge_attributions(rows, [PAIR] * 3, IGSettings(tolerance=0.05)))
    sums = [2.0 * len(PAIR.words), 0.5 * len(PAIR.words), 1.0]
    assert quality.error_median == pytest.approx(np.median([0.3 / total for total in sums]))
    assert quality.over_tolerance == 2


def test_where_there_is_no_measure_nothing_is_over_it():
    """Bare probabilities have no error, so no median of it."""
    quality = quality_of(judge_attributions([], [PAIR], Settings()))
    assert quality == Quality(None, None, over_tolerance=0, truncated=0)


def test_where_nothing_is_attributed_no_tolerance_is_broken():
    """An answer without a span has no error; that of the other row is over it, and the only one in the median."""
    bare = replace(row(residual=9.0), probs=np.ones(1), target=0)
    rows = [bare, replace(bare, probs=np.full(1, np.nan), scores=bare.scores * np.nan, residual=np.nan)]
    for settings in (LIMESettings(), SHAPSettings(), IGSettings()):
        quality = quality_of(judge_attributions(rows, [PAIR, PAIR], settings))
        assert (quality.over_tolerance, quality.error_median) == (1, settings.error(bare))


@pytest.mark.parametrize(("words", "is_cut"), [(len(PAIR.words), False), (len(PAIR.words) - 1, True), (1, True)])
def test_what_lacks_its_last_word_was_cut(words, is_cut):
    """However little is missing at the end."""
    assert cut(row(words=words), PAIR) == is_cut
    assert quality_of(judge_attributions([row(words=words, residual=0.0)], [PAIR], LIMESettings())).truncated == is_cut


@pytest.mark.parametrize(
    "text", ["\N{GRINNING FACE}\N{PARTY POPPER}", "Fine \N{PARTY POPPER}\N{PARTY POPPER}!?", "=)=)"]
)
def test_nothing_is_cut_where_a_token_covers_several_words(text, classifier):
    """WordPiece makes one [UNK] of neighbouring emoji, which are words of their own; only a longer text is cut."""
    model = classifier("bert")
    for words, is_cut in ((text, False), (" the" * LIMIT + text, True)):
        example = Example("a", (words,), 1)
        (encoding,) = model.encode([example])
        scores = np.zeros(len(encoding.ids))
        columns = (encoding.tokens, encoding.segment, encoding.word, encoding.offsets, scores)
        assert encoding.truncated == is_cut
        assert cut(Attributions(np.array([0.3, 0.7]), 1, *columns), example) == is_cut


def test_what_is_just_at_chance_or_just_follows_is_not_warned_of():
    """The bounds themselves are no fault: as good as guessing, and misled as often as a model that follows."""
    assert [text.split()[0] for text in below_chance({"low": 0.249, "even": 0.25, "good": 0.9}, 4)] == ["low"]
    assert not list(shortcut_avoided({"a": FOLLOWS, "b": 0.1}))
    assert list(shortcut_avoided({"a": FOLLOWS - 0.01}))
    assert not list(shortcut_avoided({}))


def test_one_model_that_does_better_than_guessing_is_enough():
    """Then nothing is said of the others, unless they do worse than it."""
    assert not list(chance_notes({"a": 8, "b": 4}, {"a": 10, "b": 10}, 2))


def test_a_model_that_predicts_one_label_is_told_whichever_it_is():
    """The first one, too; a model without a label predicts none."""
    predicted = np.array([[0, 0], [-1, -1], [0, 1]])
    notes = list(constant_models(["a", "b", "c"], predicted, ["no", "yes"]))
    assert notes == ["a predicts no on each of the 2 rows of the pool."]
