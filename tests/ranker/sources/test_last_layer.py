"""The last layer computed for the first token only: the same logits, with less work."""

import numpy as np
import pytest
import torch
from conftest import ENCODERS, TASK, make_checkpoint
from torch.utils.flop_counter import FlopCounterMode

from factors.types import Example
from ranker.sources.hf import classifiers
from ranker.sources.hf.classifiers import Classifier
from ranker.sources.hf.last_layer import BERTS_KIND

EXAMPLES = [
    Example("a", ("The doctor saw the actor.", "An old judge danced."), 1),
    Example("b", ("The actor waited.", ""), 0),
]


def loaded(folder, patch):
    """A checkpoint with what is read of its last layer, and with all of it."""
    part = Classifier.load(folder, TASK)
    with patch.context() as context:
        context.setattr(classifiers, "read_first_token", lambda model: None)
        return part, Classifier.load(folder, TASK)


def operations(classifier):
    """Floating-point operations of the examples' probabilities."""
    with FlopCounterMode(display=False) as counter:
        classifier.probabilities(EXAMPLES)
    return counter.get_total_flops()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ENCODERS)
def test_logits_and_gradients_stay_and_work_is_saved(checkpoint, monkeypatch, name):
    """Every encoder answers as it did, and so do its gradients; BERT's kind does it with less work."""
    part, full = loaded(checkpoint(name), monkeypatch)
    np.testing.assert_allclose(part.probabilities(EXAMPLES), full.probabilities(EXAMPLES), atol=1e-6)
    gradients = []
    for model in (part, full):
        encodings = model.encode(EXAMPLES[:1])
        x = model.embed(encodings).requires_grad_()
        gradients += torch.autograd.grad(model.from_embeddings(x, encodings)[0, 1], x)
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-4)
    saved = operations(part) < operations(full)
    assert saved == (part.model.config.model_type in BERTS_KIND)


def test_a_decoder_is_left_alone(tmp_path, monkeypatch):
    """A decoder's first token sees no other, and the classifier reads it all the same."""
    folder = make_checkpoint(tmp_path, is_decoder=True)
    part, full = loaded(folder, monkeypatch)
    np.testing.assert_array_equal(part.probabilities(EXAMPLES), full.probabilities(EXAMPLES))
    assert "forward" not in vars(part.model.base_model.encoder.layer[-1].attention)


def test_code_that_comes_with_a_checkpoint_is_left_alone(tmp_path, monkeypatch):
    """A network that only says it is a BERT may read more than the first token."""
    from transformers import BertForSequenceClassification

    monkeypatch.setattr(BertForSequenceClassification, "__module__", "somebody.elses")
    loaded = Classifier.load(make_checkpoint(tmp_path), TASK)
    assert "forward" not in vars(loaded.model.base_model.encoder.layer[-1].attention)
