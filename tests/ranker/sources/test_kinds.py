"""Every kind of source that is registered keeps its word: records that pin, say who they are, and answer in order."""

import json
import os
import pickle  # noqa: TID251  # as processes do
import shutil
from dataclasses import FrozenInstanceError, replace
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import TASK

from factors.types import Example
from ranker.errors import UnknownName, UsageError
from ranker.sources import kinds, suites
from ranker.sources.base import Machine, Shelf, SourceOptions
from ranker.sources.references import Reference
from ranker.tasks.classes import Classes

EXAMPLES = [Example(str(n), (f"The doctor saw {n} actors.", "An old judge danced."), n % 2) for n in range(7)]


@pytest.fixture
def made(checkpoint, tmp_path):
    """Kind -> a source of it, what lies at its place, and how to change that."""
    folder = tmp_path / "here" / "model"
    shutil.copytree(checkpoint("bert"), folder)

    def change():
        content = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**content, "note": "changed"}))

    (source,) = kinds.available()["hf"].sources(Reference(str(folder)), SourceOptions())
    return {"hf": (source, folder, change)}


KINDS = list(kinds.BUILTIN)


def test_every_kind_is_tested(made):
    """A new kind brings a source of it."""
    assert made.keys() == kinds.BUILTIN.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_is_a_frozen_record(made, kind):
    """It goes to other processes as it is, can be compared, and is renamed like any record."""
    source, *_ = made[kind]
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301  # our own
    assert hash(source) == hash(replace(source))
    renamed = replace(source, name="other")
    assert (renamed.name, renamed.place) == ("other", source.place)
    assert renamed != source
    with pytest.raises(FrozenInstanceError):
        source.name = "other"


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_that_was_looked_at_is_pinned(made, kind, tmp_path, monkeypatch):
    """However its place was written, it is found from any folder; to look again changes nothing."""
    _, folder, _ = made[kind]
    monkeypatch.chdir(folder.parent)
    (source,) = kinds.available()[kind].sources(Reference(folder.name), SourceOptions())
    stated = source.look(Shelf())
    assert stated.trouble == ""
    monkeypatch.chdir(tmp_path)
    again = stated.source.look(Shelf())
    assert again == stated
    assert stated.source.identity(TASK, Machine(), Shelf())
    assert stated.size == (folder / "model.safetensors").stat().st_size
    assert set(stated.labels) == {"contradiction", "entailment", "neutral"}
    assert stated.source.place == source.look(Shelf()).source.place or not os.path.isdir(source.place)


@pytest.mark.parametrize("kind", KINDS)
def test_identity_is_of_content(made, kind, tmp_path):
    """Plain JSON with a text; the same under another name and in another place, another once the content is."""
    source, folder, change = made[kind]
    before = source.identity(TASK, Machine(), Shelf())
    assert json.loads(json.dumps(before)) == dict(before)
    assert isinstance(before["content"], str)
    (moved,) = kinds.available()[kind].sources(
        Reference(str(shutil.copytree(folder, tmp_path / "moved"))), SourceOptions()
    )
    assert moved.identity(TASK, Machine(), Shelf()) == before
    assert replace(source, name="other").identity(TASK, Machine(), Shelf()) == before
    assert source.identity(TASK, Machine("meta", token_budget=7, threads=3), Shelf()) == before
    change()
    assert source.identity(TASK, Machine(), Shelf())["content"] != before["content"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_opened_source_answers_in_order(made, kind):
    """In blocks that add up to an answer for each example; it is told of each, and gives signs of life."""
    source, *_ = made[kind]
    told, beats = [], []
    shelf = Shelf(lambda: beats.append(1))
    source.identity(TASK, Machine(), shelf)
    model = source.open(TASK, Machine(), shelf)
    found = Classes.joined(list(model.predict(EXAMPLES, told.append)))
    assert found.probs.shape == (len(EXAMPLES), 2)
    assert sum(told) == len(EXAMPLES)
    assert beats
    for n, example in enumerate(EXAMPLES):
        (alone,) = model.predict([example], lambda done: None)
        np.testing.assert_allclose(alone.probs[0], found.probs[n], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_trouble_is_stated_and_not_raised(made, kind):
    """A model that cannot be read is left out with a line, and the others are ranked."""
    _, folder, _ = made[kind]
    shutil.rmtree(folder)
    (source,) = kinds.available()[kind].sources(Reference(str(folder)), SourceOptions())
    stated = source.look(Shelf())
    assert stated.source == source
    assert "there is no directory" in stated.trouble
    assert "\n" not in stated.trouble


def installed(monkeypatch, name, load):
    """Have a package with a kind of sources be installed."""
    point = SimpleNamespace(name=name, value="mine:kind", dist=SimpleNamespace(name="mine"), load=load)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == kinds.GROUP else [])


def test_a_package_adds_a_kind(monkeypatch, made):
    """It claims references of its own, before or behind ours, and is named by its entry point."""
    source, *_ = made["hf"]
    kind = SimpleNamespace(
        claims=lambda reference: reference.place.startswith("moon"),
        sources=lambda reference, options: [replace(source, name=reference.place)],
    )
    installed(monkeypatch, "mine", lambda: kind)
    assert [model.name for model in suites.load(["moon-a", "mine:b"]).models] == ["moon-a", "b"]
    assert [model.name for model in suites.named(["x=mine:c"])[1]] == ["x"]


def failing():
    """A package that cannot be imported."""
    raise ImportError("no module of that name")


@pytest.mark.parametrize(
    ("name", "load", "said"),
    [
        ("hf", lambda: SimpleNamespace(claims=bool, sources=list), "that there is already: 'hf'"),
        (
            "mine",
            failing,
            "'mine', entry point 'mine' of 'rank_models.sources': mine:kind cannot be loaded: ImportError",
        ),
        ("mine", lambda: 3, "must have the functions `claims` and `sources` .got mine:kind."),
    ],
)
def test_a_package_that_is_no_kind_is_told_of(monkeypatch, name, load, said):
    """In one line, with its name."""
    installed(monkeypatch, name, load)
    with pytest.raises(UsageError, match=said) as caught:
        suites.named(["org/a"])
    assert "\n" not in str(caught.value)


def test_a_kind_that_is_not_there_is_told_of():
    """With those that there are."""
    with pytest.raises(UnknownName, match="there is no kind of source 'hg'; known: hf"):
        kinds.sources(Reference("a", kind="hg"), SourceOptions())


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"kind": "hg"}, "suite.json is no suite: there is no kind of source 'hg'"),
        ({"kind": "mine", "label_map": {"0": "a"}}, "a is of the kind 'mine', which has no `label_map`"),
    ],
)
def test_a_suite_whose_kinds_do_not_fit_is_one_line(monkeypatch, tmp_path, entry, said):
    """It names the file, and a map of labels is not dropped without a word."""
    kind = SimpleNamespace(claims=bool, sources=lambda reference, options: [SimpleNamespace(name="x")])
    installed(monkeypatch, "mine", lambda: kind)
    models = [{"name": name, "path": name, **entry} for name in "ab"]
    content = {"schema_version": 1, "name": "mine", "models": models}
    (tmp_path / "suite.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=said) as caught:
        suites.load([str(tmp_path)])
    assert "\n" not in str(caught.value)


def test_a_base_without_an_organisation_is_found_again(monkeypatch, checkpoint, tmp_path):
    """An adapter names its base as the oldest models are called; another process finds it by its commit."""
    commit = "c" * 40
    folder = tmp_path / "cache" / "snapshots" / commit
    shutil.copytree(checkpoint("bert"), folder)
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_bytes(b"")
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "bert-tiny"}))
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(folder))
    (source,) = kinds.available()["hf"].sources(Reference(str(adapter)), SourceOptions())
    stated = source.look(Shelf())
    assert stated.source.base == f"bert-tiny@{commit}"
    assert stated.source.identity(TASK, Machine(), Shelf())["content"]
