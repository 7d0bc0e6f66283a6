"""The token that hides words, and whether it says something itself."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from factors import Attributions, Example
from ranker import hiding, ood, rank, suites
from ranker.backends import SETTINGS, IGSettings, LIMESettings, Settings, SHAPSettings
from ranker.store import Store

QUICK = LIMESettings(samples=8)


@pytest.fixture(scope="module")
def data():
    """A few of the embedded HANS rows."""
    whole = ood.load("hans-sub")
    return dataclasses.replace(whole, examples=whole.examples[::30], population=20)


@pytest.fixture(scope="module")
def models():
    """Two of the embedded models: their [MASK] is a row of zeros, as their [PAD] is."""
    folder = suites.embedded()["hans-sub-mini"]
    return [folder / name for name in ("untouched", "inoc-4000")]


@pytest.fixture
def loud(models, tmp_path):
    """The same two with a [MASK] that says more than any word."""
    for model in models:
        copy = shutil.copytree(model, tmp_path / model.name)
        vocabulary = json.loads((copy / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
        weights = load_file(copy / "model.safetensors")
        (name,) = (name for name in weights if name.endswith("word_embeddings.weight"))
        words = weights[name].astype(np.float32)
        words[vocabulary["[MASK]"]] = 3 * words[vocabulary["not"]]
        save_file({**weights, name: words.astype(weights[name].dtype)}, copy / "model.safetensors", {"format": "pt"})
    return [tmp_path / model.name for model in models]


def notes(models, data, settings=QUICK, **named):
    """What a ranking says of its [MASK]."""
    found = rank(models, data, attribution="lime", settings=settings, draws=1, **named)
    return [note for note in found.notes if "[MASK]" in note]


def test_a_mask_that_speaks_is_told_of(loud, models, data):
    """With the way out; a [MASK] that is as quiet as [PAD] is not, and neither is one that is not used."""
    (note,) = notes(loud, data)
    assert note.startswith("[MASK] speaks for itself: ")
    assert note.endswith("`--attribution lime:hide=pad`.")
    assert notes(models, data) == []
    assert notes(loud, data, dataclasses.replace(QUICK, hide="pad")) == []


def test_what_is_known_of_it_needs_no_model(loud, data, tmp_path, monkeypatch):
    """The rows are in the store like all others."""
    store = Store(tmp_path / "store")
    first = notes(loud, data, store=store)
    monkeypatch.setattr("ranker.classifiers.Classifier.load", None)
    assert notes(loud, data, store=store) == first != []


def test_a_tokenizer_without_padding_is_not_asked(loud, data, caplog):
    """Such a model is ranked like any other; nothing is said of its [MASK]."""
    for model in loud:
        path = model / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "pad_token": None}))
    assert notes(loud, data) == []
    assert not caplog.records


@pytest.mark.parametrize(
    ("settings", "asked"),
    [(SHAPSettings(), 2), (IGSettings(), 2), (QUICK, 2), (SHAPSettings(baseline="pad"), 0),
     (IGSettings(baseline="zero"), 0), (LIMESettings(hide="remove"), 0), (Settings(), 0)],
)  # fmt: skip
def test_who_is_asked(settings, asked):
    """Backends that hide words behind [MASK], and no others; of a population some sixteen, from all of it."""
    population = [Example(str(n), ("The judge ran.",), 0) for n in range(100)]
    questions = hiding.questions(settings, population)
    assert len(questions) == asked
    for question in questions:
        assert [row.id for row in question.examples] == [str(n) for n in range(0, 96, 6)]
        assert question.settings == SETTINGS["occlusion"](hide=question.settings.hide)


def test_an_effect_is_a_mean_over_words():
    """Of all words of all rows, whatever their sign; 0 where there is no word."""

    def row(*scores):
        where = np.arange(len(scores))
        return Attributions(
            np.array([0.5, 0.5]), 1, ("w",) * len(scores), 0 * where, where, np.zeros((len(scores), 2), int),
            np.array(scores, float), "occlusion",
        )  # fmt: skip

    assert hiding.effect([row(1.0, -3.0), row(2.0)]) == 2.0
    assert hiding.effect([row()]) == 0.0


def test_models_that_nothing_moves_say_nothing():
    """Where [PAD] has no effect at all there is no ratio."""
    assert list(hiding.speaks({"a": (1.0, 0.0)}, "shap", SHAPSettings())) == []
    assert list(hiding.speaks({}, "shap", SHAPSettings())) == []
