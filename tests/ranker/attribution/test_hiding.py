"""The token that hides words, and whether it says something itself."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from factors import Attributions, Example
from ranker import rank
from ranker.attribution import SETTINGS, hiding
from ranker.attribution.settings import IGSettings, LIMESettings, Settings, SHAPSettings
from ranker.datasets import sets
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.scoring.score import Evidence
from ranker.sources import suites

QUICK = LIMESettings(samples=8)
MASK = LIMESettings(samples=8, hide="mask")


@pytest.fixture(scope="module")
def dataset():
    """A few of the embedded HANS rows."""
    all_rows = sets.load("hans-sub")
    return dataclasses.replace(all_rows, examples=all_rows.examples[::30], population=20)


@pytest.fixture(scope="module")
def models():
    """Two of the embedded models: their [MASK] is a row of zeros, as their [PAD] is."""
    folder = suites.bundled_suites()["hans-sub-mini"]
    return [folder / name for name in ("untouched", "inoc-4000")]


@pytest.fixture
def loud(models, tmp_path):
    """Gives the function that copies the two, with a token that says more than any word."""

    def copies(token):
        for model in models:
            copy = shutil.copytree(model, tmp_path / token / model.name)
            vocabulary = json.loads((copy / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
            weights = load_file(copy / "model.safetensors")
            (name,) = (name for name in weights if name.endswith("word_embeddings.weight"))
            words = weights[name].astype(np.float32)
            words[vocabulary[token]] = 3 * words[vocabulary["not"]]
            weights[name] = words.astype(weights[name].dtype)
            save_file(weights, copy / "model.safetensors", {"format": "pt"})
        return [tmp_path / token / model.name for model in models]

    return copies


def notes(models, dataset, settings, **options):
    """List the notes of a ranking about the token that words are hidden behind."""
    ranking = rank(models, dataset, evidence=Evidence(settings, methods=()), draws=1, **options)
    return [note for note in ranking.notes if "means something to these models" in note]


@pytest.mark.more
@pytest.mark.parametrize(
    ("token", "settings", "other_settings"),
    [pytest.param("[MASK]", MASK, QUICK, marks=pytest.mark.slow), ("[PAD]", QUICK, MASK)],
)
def test_a_token_that_speaks_is_told_of(loud, models, dataset, token, settings, other_settings):
    """With the way out; one that is as quiet as the other is not, and neither is one that is not used."""
    speaking = loud(token)
    (note,) = notes(speaking, dataset, settings)
    assert note.startswith(f"{token} means something to these models: ")
    assert note.endswith(f"`attribution=lime:hide={other_settings.hide}`.")
    assert notes(models, dataset, settings) == []
    assert notes(speaking, dataset, other_settings) == []


@pytest.mark.more
def test_what_is_known_of_it_needs_no_model(loud, dataset, tmp_path, monkeypatch):
    """The rows are in the store like all others."""
    store, models = Store(tmp_path / "store"), loud("[MASK]")
    first = notes(models, dataset, MASK, runtime=Runtime(store=store))
    monkeypatch.setattr("ranker.sources.hf.classifiers.TextClassifier.load", None)
    assert notes(models, dataset, MASK, runtime=Runtime(store=store)) == first != []


@pytest.mark.more
@pytest.mark.parametrize(("settings", "lacks"), [(MASK, "pad_token"), (QUICK, "mask_token")])
def test_a_tokenizer_without_the_other_token_is_not_asked(loud, dataset, caplog, settings, lacks):
    """Such a model is ranked like any other; nothing is said of what its words are hidden behind."""
    models = loud(f"[{settings.hide.upper()}]")
    for model in models:
        path = model / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), lacks: None}))
    assert notes(models, dataset, settings) == []
    assert not caplog.records


@pytest.mark.parametrize(
    ("settings", "hides"),
    [(IGSettings(), ["mask", "pad"]), (SHAPSettings(), ["pad", "mask"]), (QUICK, ["pad", "mask"]),
     (SHAPSettings(baseline="mask"), ["mask", "pad"]), (IGSettings(baseline="zero"), []),
     (LIMESettings(hide="remove"), []), (Settings(), [])],
)  # fmt: skip
def test_who_is_asked(settings, hides):
    """Backends that hide words behind a token, of it and then of the other; of a population some sixteen rows."""
    population = [Example(str(n), ("The judge ran.",), 0) for n in range(100)]
    assert list(hiding.occlusion_settings(settings)) == [SETTINGS["occlusion"](hide=hide) for hide in hides]
    assert [example.id for example in hiding.sample_examples(population)] == [str(n) for n in range(0, 96, 6)]


def test_an_effect_is_a_mean_over_words():
    """Of all words of all rows, whatever their sign; 0 where there is no word."""

    def row(*scores):
        places = np.arange(len(scores))
        return Attributions(
            np.array([0.5, 0.5]), 1, ("w",) * len(scores), 0 * places, places, np.zeros((len(scores), 2), int),
            np.array(scores, float), "occlusion",
        )  # fmt: skip

    assert hiding.mean_effect([row(1.0, -3.0), row(2.0)]) == 2.0
    unseen = dataclasses.replace(row(1.0, 3.0), word=np.array([0, 2]))  # the second of three words has no token
    assert hiding.mean_effect([unseen]) == 2.0
    assert hiding.mean_effect([row()]) == 0.0


def test_a_token_speaks_from_a_quarter_more_on():
    """In the median of the models: one that is moved far does not outvote two that are not."""
    assert list(hiding.token_warnings({"a": (1.25, 1.0)}, SHAPSettings()))
    assert not list(hiding.token_warnings({"a": (1.24, 1.0)}, SHAPSettings()))
    assert not list(hiding.token_warnings({"a": (9.0, 1.0), "b": (1.0, 1.0), "c": (1.0, 2.0)}, SHAPSettings()))
    assert list(hiding.token_warnings({"a": (9.0, 1.0), "b": (1.3, 1.0), "c": (1.0, 2.0)}, SHAPSettings()))


def test_models_that_nothing_moves_say_nothing():
    """There is no ratio if words behind the other token have no effect at all."""
    assert list(hiding.token_warnings({"a": (1.0, 0.0)}, SHAPSettings())) == []
    assert list(hiding.token_warnings({}, SHAPSettings())) == []
