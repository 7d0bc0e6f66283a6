"""Every common encoder, offline: the same numbers alone and in company, from every backend."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import ENCODERS, OTHERS, TASK
from transformers import AutoModelForSequenceClassification

from factors.types import Example
from ranker.attribution import attribute
from ranker.attribution.settings import IGSettings, LIMESettings, OcclusionSettings, SHAPSettings
from ranker.sources.hf import batching, networks
from ranker.sources.hf.classifiers import Classifier, TextClassifier
from ranker.sources.hf.networks import PADDING, masks, padded

EXAMPLES = [
    Example("plain", ("The doctor saw the actor.", "An old judge danced."), 1),
    Example("empty", ("The actor waited.", ""), 0),
    Example("repeated", ("the the  the", "the the"), 0),
    Example("others", ("A naïve café 👍 near 走路", "naïve 👍"), 1),
    Example("one", ("the old actor",), 0),
]
QUICK = {"shap": SHAPSettings(max_evaluations=60), "lime": LIMESettings(samples=20), "occlusion": OcclusionSettings()}


@pytest.mark.parametrize("name", ENCODERS)
def test_probabilities_are_those_of_a_padded_batch(classifier, checkpoint, name):
    """Our batches without padding give what transformers gives with padding and a mask, and each example alone."""
    ours = classifier(name)
    theirs = AutoModelForSequenceClassification.from_pretrained(checkpoint(name)).eval()
    pairs = [example for example in EXAMPLES if len(example.segments) == 2]
    texts = ([example.segments[s] for example in pairs] for s in (0, 1))
    limits = {"truncation": "longest_first", "max_length": ours.max_length}
    inputs = ours.tokenizer(*texts, padding=True, return_tensors="pt", **limits)
    with torch.no_grad():
        padded = theirs(**inputs).logits.softmax(dim=1).numpy()
    probs = ours.probabilities(pairs)
    np.testing.assert_allclose(probs[:, 1], padded[:, ours.groups[1][0]], atol=1e-5)
    np.testing.assert_allclose(probs, [ours.probabilities([example])[0] for example in pairs], atol=1e-5)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("method", QUICK)
def test_scores_do_not_depend_on_company(classifier, name, method):
    """An example's scores and probabilities are the same alone as among examples of other lengths."""
    together = list(attribute(classifier(name), EXAMPLES, QUICK[method]))
    for example, row in zip(EXAMPLES, together, strict=True):
        (alone,) = attribute(classifier(name), [example], QUICK[method])
        np.testing.assert_allclose(row.scores, alone.scores, atol=1e-5)
        np.testing.assert_allclose(row.probs, alone.probs, atol=1e-5)
        assert (row.scores[row.word >= 0] != 0).any()
        assert len(row.word_scores) == len(example.words)


READS_ITS_END = "xlnet"
"""Encoder whose head reads the last token of a row, padding or not."""


@pytest.mark.more
@pytest.mark.parametrize("name", sorted({*ENCODERS, *OTHERS}))
def test_rows_of_many_lengths_are_as_alone_behind_a_mask(checkpoint, name):
    """Padding is for networks alone that give each row, from ids and from embeddings, what they give it by itself."""
    ours = TextClassifier.load(checkpoint(name), TASK)
    assert all(masks(ours, ours.network, rows) for rows in ours._tried()) == (name != READS_ITS_END)
    if name != READS_ITS_END:
        padded = replace(ours, padding=1024)
        np.testing.assert_allclose(padded.probabilities(EXAMPLES), ours.probabilities(EXAMPLES), atol=1e-5)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", [name for name in ENCODERS if name != READS_ITS_END])
@pytest.mark.parametrize("method", [*QUICK, "ig"])
def test_scores_of_rows_of_many_lengths_are_as_alone(classifier, monkeypatch, name, method):
    """Attributions with padding, of which there is some, are those without."""
    settings, ours, batches = {**QUICK, "ig": IGSettings()}[method], classifier(name), []
    alone = list(attribute(ours, EXAMPLES, settings))
    stack = batching.stack
    monkeypatch.setattr(batching, "stack", lambda *rows: batches.append(stack(*rows)) or batches[-1])
    together = attribute(replace(ours, padding=1024), EXAMPLES, settings)
    for row, expected in zip(together, alone, strict=True):
        np.testing.assert_allclose(row.scores, expected.scores, atol=1e-5)
        np.testing.assert_allclose(row.probs, expected.probs, atol=1e-5)
    assert any(batch.mask is not None for batch in batches)


def test_a_network_that_cannot_be_run_with_padding_gets_none(classifier):
    """Out of memory on the rows that try it, or a mask that its code refuses."""
    ours = classifier()

    def refusing(batch):
        if batch.mask is not None:
            raise torch.OutOfMemoryError("no more")
        return ours.network(batch)

    assert masks(ours, ours.network, ours._tried()[0])
    assert not masks(ours, refusing, ours._tried()[0])


@pytest.mark.parametrize(
    ("device", "exact", "padding"), [("cpu", True, 0), ("cuda", False, 0), ("cuda", True, PADDING)]
)
def test_only_gpus_pad(classifier, monkeypatch, device, exact, padding):
    """On a processor a pass costs what its tokens cost; elsewhere batches are padded if that changes no number."""
    monkeypatch.setattr(networks, "masks", lambda *_: exact)
    ours = replace(classifier(), device=torch.device(device))
    assert padded(ours, ours.network, lambda: [[]]).padding == padding


@pytest.mark.parametrize("name", ENCODERS)
def test_padding_that_hides_a_token_is_a_token_like_any_other(checkpoint, name):
    """RoBERTa's kind counts positions from padding ids; hidden behind [PAD], a token must move no other's position."""
    ours = Classifier.load(checkpoint(name), TASK)
    (encoding,) = ours.encode(EXAMPLES[:1])
    middle = len(encoding) // 2
    pad, hidden = ours.tokenizer.pad_token_id, int(encoding.ids[middle])
    words = ours.model.get_input_embeddings().weight
    words[pad] = words[hidden]  # so that whatever still differs is not what the token says
    visible = np.array([np.full(len(encoding), True), np.arange(len(encoding)) != middle])
    ((_, logits),) = ours.answers([(None, encoding, visible)], "pad")
    np.testing.assert_allclose(logits[1], logits[0], atol=1e-6)
    words[pad] = 0
    ((_, logits),) = ours.answers([(None, encoding, visible)], "pad")
    assert not np.allclose(logits[1], logits[0], atol=1e-4)
