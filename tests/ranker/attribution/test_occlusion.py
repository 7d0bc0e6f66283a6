"""Occlusion: against captum's ablation of the same words, and word by word."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from captum.attr import FeatureAblation
from refusals import refuses

from factors import Example
from ranker.attribution import attribute
from ranker.attribution.settings import OcclusionSettings
from ranker.errors import ModelError
from ranker.sources.hf.batching import Batch


@pytest.mark.parametrize("hide", ["mask", "pad"])
def test_scores_are_those_of_captums_ablation(trained, hans, hide):
    """The library, given the words as features and the token as the baseline, finds the same."""
    example = hans.examples[0]
    (encoding,) = trained.encode([example])
    types = torch.tensor(encoding.type_ids)[None]

    def margin(ids, types):
        logits = trained.network(Batch(ids, types))
        return logits[:, 1] - logits[:, 0]

    ids = torch.tensor(encoding.ids)[None]
    words = torch.tensor(encoding.word)[None] + 1  # feature 0 are the special tokens, which stay
    hidden = torch.full_like(ids, getattr(trained.tokenizer, f"{hide}_token_id"))
    baseline = torch.where(words == 0, ids, hidden)
    with torch.inference_mode():
        ablated = FeatureAblation(margin).attribute(
            ids, baselines=baseline, additional_forward_args=(types,), feature_mask=words
        )
    (row,) = attribute(trained, [example], OcclusionSettings(hide=hide))
    effect = ablated[0].numpy()
    expected = [effect[encoding.word == word][0] for word in range(encoding.words)]
    assert row.word_scores == pytest.approx(expected, abs=1e-6)
    assert np.abs(row.word_scores).max() > 0.1


def test_a_word_may_be_left_out(trained):
    """With `remove` a score is what the margin loses when the model is given the text without that word."""
    words = ["the", "poets", "near", "the", "bridge", "ran"]
    example = Example("a", (" ".join(words), "the bridge ran"), 0)
    without = [Example("b", (" ".join(words[:n] + words[n + 1 :]), "the bridge ran"), 0) for n in range(len(words))]
    margins = np.diff(np.log(trained.probabilities([example, *without])), axis=1)[:, 0]
    (row,) = attribute(trained, [example], OcclusionSettings(hide="remove"))
    assert row.word_scores[: len(words)] == pytest.approx(margins[0] - margins[1:], abs=1e-5)


def test_a_pass_for_each_word_and_one_more(trained, hans):
    """The pieces of a word are hidden together and share its score; special tokens have none."""
    example = Example("a", ("The blimpization of doctors ran.", "Doctors ran."), 0)
    (row,) = attribute(trained, [example], "occlusion")
    (encoding,) = trained.encode([example])
    assert row.effort == len(example.words) + 1 == OcclusionSettings().passes(encoding.segment, encoding.word)
    assert np.isnan(row.residual)  # it has no measure of its own error
    pieces = [row.scores[row.word == word] for word in range(len(example.words))]
    assert max(map(len, pieces)) > 2
    assert all(np.ptp(scores) == 0 for scores in pieces)
    assert (row.scores[row.word < 0] == 0).all()


def test_targets_are_each_others_opposites(trained, hans):
    """The margin of one of two classes is that of the other with its sign changed."""
    first, second = (
        next(attribute(trained, hans.examples[:1], OcclusionSettings(target=target))).scores for target in (0, 1)
    )
    np.testing.assert_allclose(first, -second, atol=1e-12)


def test_rows_have_no_measure_of_error(trained, hans):
    """Nothing is approximated: every row is accepted, and no error is told of."""
    (row,) = attribute(trained, hans.examples[:1], "occlusion")
    assert OcclusionSettings().accepts(row)
    assert np.isnan(OcclusionSettings().error(row))


@pytest.mark.parametrize("segments", [("", ""), ("Ran", ""), ("", "Ran"), ("Ran",)])
def test_empty_segments_have_scores_too(trained, segments):
    """A pair may have an empty half, or be empty."""
    (row,) = attribute(trained, [Example("a", segments, 0)], "occlusion")
    assert (row.scores != 0).any() == any(segments)


def test_a_model_without_the_token_is_refused(trained):
    """There is nothing to hide words behind."""
    with refuses(ModelError, option="attribution", value="occlusion"):
        list(attribute(replace(trained, tokenizer=SimpleNamespace(pad_token_id=None)), [], "occlusion"))
