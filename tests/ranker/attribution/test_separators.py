"""Separators that are hidden, too: each as a word of its own, under SHAP, LIME and occlusion."""

import numpy as np
import pytest
import torch

from factors import BUILTIN, Example
from ranker.attribution import attribute
from ranker.attribution.settings import LIMESettings, OcclusionSettings, SHAPSettings
from ranker.sources.hf.batching import Batch

PAIR = Example("a", ("the poets near the bridge ran", "the bridge ran"), 0)
BACKENDS = [OcclusionSettings(separators=True), LIMESettings(separators=True), SHAPSettings(separators=True)]


@pytest.fixture
def margin(trained):
    """The margin of the second label with the tokens at some places hidden behind [PAD]."""
    (encoding,) = trained.encode([PAIR])

    def margin(*places):
        ids = np.array(encoding.ids)
        ids[list(places)] = trained.tokenizer.pad_token_id
        with torch.inference_mode():
            logits = trained.network(Batch(torch.tensor(ids)[None], torch.tensor(encoding.type_ids)[None]))[0]
        return float(logits[1] - logits[0])

    return margin


def separators(row):
    """Places of the special tokens behind the text."""
    return np.flatnonzero(row.segment < 0)[1:]


def test_occlusion_scores_a_separator_as_the_model_says(trained, margin):
    """A separator scores what the margin loses when it alone is hidden; words keep their scores."""
    (row,) = attribute(trained, [PAIR], BACKENDS[0])
    assert len(separators(row)) == 2
    for place in separators(row):
        assert row.scores[place] == pytest.approx(margin() - margin(place), abs=1e-5)
    (words,) = attribute(trained, [PAIR], OcclusionSettings())
    np.testing.assert_allclose(row.word_scores, words.word_scores, atol=1e-6)


def test_shap_adds_up_to_the_margin_less_that_of_nothing(trained, margin):
    """With separators hidden there, too; the gap is that of rounding, and the walk went to its leaves."""
    (row,) = attribute(trained, [PAIR], BACKENDS[2])
    hidden = np.flatnonzero((row.segment >= 0) | np.isin(np.arange(len(row.scores)), separators(row)))
    assert row.scores.sum() == pytest.approx(margin() - margin(*hidden), abs=1e-5)
    assert (row.scores[separators(row)] != 0).all()
    assert BACKENDS[2].accepts(row)
    assert SHAPSettings(separators=True, max_evaluations=20).truncated(
        next(attribute(trained, [PAIR], SHAPSettings(separators=True, max_evaluations=20)))
    )


@pytest.mark.parametrize("settings", BACKENDS, ids=lambda settings: settings.name)
def test_a_separator_has_a_score_only_where_it_is_hidden(trained, settings):
    """FIRST-TOK reads the first separator's score, 0 by default for every model, and [CLS] is never hidden."""
    first = BUILTIN["FIRST-TOK"]
    (row,), (without,) = attribute(trained, [PAIR], settings), attribute(trained, [PAIR], type(settings)())
    assert first.of(row, PAIR) == row.scores[separators(row)[0]] != 0
    assert first.of(without, PAIR) == 0
    assert row.scores[0] == 0
