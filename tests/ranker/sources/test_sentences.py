import shutil

import numpy as np
import pytest
import torch
from refusals import refuses
from transformers import AutoModel, AutoTokenizer

from ranker import shift
from ranker.errors import ModelError, UsageError
from ranker.sources.base import Machine
from ranker.sources.hf.sentences import Encoder

TEXTS = ["the actor ran", "a dog", "the actor ran", "the poets near the actor saw a dog and the cook"]


def one_by_one(folder, texts, layer, pooling):
    """The vectors of transformers itself, a text at a time."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    vectors = []
    for text in texts:
        encoded = tokenizer(text, truncation=True, max_length=40, return_tensors="pt")
        with torch.no_grad():
            hidden = model(**encoded, output_hidden_states=True).hidden_states[layer][0]
        vectors.append((hidden.mean(dim=0) if pooling == "mean" else hidden[0]).numpy())
    return np.array(vectors)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "mpnet"])
@pytest.mark.parametrize(("layer", "pooling"), [(None, "mean"), (2, "cls"), (1, "mean"), (0, "mean")])
def test_vectors_are_those_of_transformers(checkpoint, name, layer, pooling):
    """Of any layer, pooled either way; whatever stands beside a text in a batch changes nothing."""
    encoder = Encoder.load(checkpoint(name), layer, pooling, Machine(token_budget=64))
    expected = one_by_one(checkpoint(name), TEXTS, 2 if layer is None else layer, pooling)
    assert encoder.vectors(TEXTS) == pytest.approx(expected, abs=1e-5)
    assert encoder.layer == (2 if layer is None else layer)


def test_it_says_what_its_vectors_are(checkpoint):
    """The description names checkpoint, layer and pooling."""
    description = Encoder.load(checkpoint("bert"), 1, "cls").description
    assert description == f"{checkpoint('bert').name}, layer 1 of 2, first token"


def test_long_texts_are_cut_and_that_is_said(checkpoint, caplog):
    """To what the model takes."""
    encoder = Encoder.load(checkpoint("bert"))
    long = "the actor " * 100
    vectors = encoder.vectors([long, "a dog", long + "ran"])
    assert vectors[0] == pytest.approx(vectors[2])
    assert "2 of 3 texts are longer than its 40 tokens, and were cut" in caplog.text


def test_progress_is_told(checkpoint):
    """Once of each text."""
    counts = []
    Encoder.load(checkpoint("bert")).vectors(TEXTS, counts.append)
    assert sum(counts) == len(TEXTS)


def test_what_is_no_encoder_is_refused(checkpoint, tmp_path):
    """In one line: no directory, a layer or pooling that there is not, no weights."""
    with refuses(ModelError, option="encoder", value="/nowhere"):
        Encoder.load("/nowhere")
    with refuses(UsageError, option="layer", value=3):
        Encoder.load(checkpoint("bert"), 3)
    with refuses(UsageError, option="pooling", value="max", allowed=("mean", "cls")):
        Encoder.load(checkpoint("bert"), pooling="max")
    shutil.copytree(checkpoint("bert"), tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").unlink()
    with refuses(ModelError, place=tmp_path / "bare"):
        Encoder.load(tmp_path / "bare")


def test_no_code_of_a_checkpoint_is_run(checkpoint, tmp_path):
    """A checkpoint may bring some: the network is that of transformers all the same."""
    shutil.copytree(checkpoint("bert"), tmp_path / "code")
    config = tmp_path / "code" / "config.json"
    config.write_text(config.read_text().replace("{", '{"auto_map": {"AutoModel": "own.Model"},', 1))
    (tmp_path / "code" / "own.py").write_text("raise SystemExit('it ran')")
    vectors = Encoder.load(tmp_path / "code").vectors(TEXTS)
    assert vectors == pytest.approx(Encoder.load(checkpoint("bert")).vectors(TEXTS))


@pytest.mark.more
def test_shift_measures_by_its_vectors_too(checkpoint):
    """Beside words, whose numbers stay; and the map and the choice of sets go by it."""
    words = shift("hans-sub", "hans-con")
    encoded = shift("hans-sub", "hans-con", encoder=checkpoint("bert"), layer=1)
    assert encoded.encoder.endswith("layer 1 of 2, mean of the tokens")
    assert [measure.name for measure in encoded.pairs[0].measures[:4]] == [
        "cosine",
        "mmd",
        "encoder_cosine",
        "encoder_mmd",
    ]
    assert encoded.pairs[0].measure("cosine") == words.pairs[0].measure("cosine")
    assert encoded.pairs[0].measure("auc") == words.pairs[0].measure("auc")
    assert encoded.pairs[0].measure("encoder_cosine").value != encoded.pairs[0].measure("cosine").value
    assert (encoded.closeness, words.closeness) == ("encoder_cosine", "cosine")
