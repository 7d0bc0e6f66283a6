"""Every kind of source that is registered keeps its word: records that pin, say who they are, and answer in order."""

import csv
import json
import pickle  # noqa: TID251  # as processes do
import shutil
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import TASK
from logmaking import choice_row, lm_log
from refusals import refuses

from factors.types import Example
from ranker.errors import UnknownName, UsageError
from ranker.sources import kinds, suites
from ranker.sources.base import Machine, Needs, ResourceCache, Source, SourceOptions
from ranker.sources.logs import formats as logs
from ranker.sources.references import Reference
from ranker.sources.texts import TextSource
from ranker.tasks.base import Task
from ranker.tasks.precomputed import PrecomputedTask

EXAMPLES = [Example(str(n), (f"The doctor saw {n} actors.", "An old judge danced."), n % 2) for n in range(7)]


@dataclass(frozen=True)
class Made:
    """What a test knows of a source of some kind.

    Attributes:
        source: the source.
        place: the file or folder that it lies in.
        change: changes what is in there.
        labels: those that it names.
        size: bytes that it loads.
        task: one whose rows it answers.
        trouble: what is said where it is not there.
        works: answers are computed, and signs of life given meanwhile; else they lie in a file.
    """

    source: Source
    place: Path
    change: Callable[[], None]
    labels: set[str]
    size: int
    task: Task
    trouble: str
    works: bool = False


def checkpoint_made(folder):
    """A checkpoint that is there already."""

    def change():
        content = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**content, "note": "changed"}))

    (source,) = kinds.available_kinds()["hf"].sources(Reference(str(folder)), SourceOptions(), ResourceCache())
    labels = {"contradiction", "entailment", "neutral"}
    size = (folder / "model.safetensors").stat().st_size
    return Made(source, folder, change, labels, size, TASK, "there is no directory", works=True)


def language_model_made(folder):
    """A language model with the prompt of the task, and how its content changes."""

    def change():
        content = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**content, "note": "changed"}))

    (source,) = kinds.available_kinds()["lm"].sources(Reference(str(folder)), SourceOptions(), ResourceCache())
    size = (folder / "model.safetensors").stat().st_size
    return Made(source, folder, change, set(), size, TASK, "there is no directory", works=True)


def table_made(folder):
    """A table of one model, with ids, texts and the truth."""
    file = folder / "answers.csv"
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["id", "premise", "hypothesis", "label", "prediction"])
        for at, row in enumerate(EXAMPLES):
            answer = TASK.labels[at % 3 == 0]
            writer.writerow([row.id, *row.segments, TASK.labels[row.target], answer])

    def change():
        file.write_text(file.read_text().replace("entailment\n", "non-entailment\n", 1))

    (source,) = kinds.available_kinds()["table"].sources(Reference(str(file)), SourceOptions(), ResourceCache())
    return Made(source, file, change, set(TASK.labels), 0, TASK, "cannot be read")


def log_made(folder):
    """A log of lm-evaluation-harness, whose rows are known by their own ids."""
    rows = []
    for at, row in enumerate(EXAMPLES):
        right, chosen = at % 2, int(at % 3 == 0)
        likelihoods = [-1.0, -0.5 if chosen else -2.0]
        rows.append(choice_row(at, {"text": row.id}, right, likelihoods, acc=float(chosen == right), doc_hash=row.id))
    file = lm_log(folder / "model", rows)

    def change():
        file.write_text(file.read_text().replace("Is it?", "Was it?"))

    (source,) = kinds.available_kinds()["log"].sources(Reference(str(file)), SourceOptions(), ResourceCache())
    task = PrecomputedTask("small", "acc", ("no", "yes"))
    return Made(source, file, change, {"no", "yes"}, 0, task, "cannot be read")


@pytest.fixture
def made(checkpoint, lm, tmp_path):
    """Kind -> a source of it, and what is known of that."""
    here = tmp_path / "here"
    folder = here / "model"
    shutil.copytree(checkpoint("bert"), folder)
    shutil.copytree(lm(), here / "lm")
    for name in ("table", "log"):
        (here / name).mkdir()
    return {
        "hf": checkpoint_made(folder),
        "lm": language_model_made(here / "lm"),
        "table": table_made(here / "table"),
        "log": log_made(here / "log"),
    }


SERVED = {"openai"}
"""Kinds of models behind a server, which have no file: see the tests of `endpoint`."""

KINDS = [kind for kind in kinds.BUILTIN if kind not in SERVED]


def copied(place, target):
    """A file or a folder in another place."""
    return (shutil.copytree if place.is_dir() else shutil.copy)(place, target)


def test_every_kind_is_tested(made):
    """A new kind brings a source of it, and is told by what lies there."""
    assert made.keys() | SERVED == kinds.BUILTIN.keys()
    for kind, one in made.items():
        claiming = (
            name
            for name, each in kinds.available_kinds().items()
            if each.claims(Reference(str(one.place)), SourceOptions())
        )
        assert next(claiming) == kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_is_a_frozen_record(made, kind):
    """It goes to other processes as it is, can be compared, and is renamed like any record."""
    source = made[kind].source
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301  # our own
    assert hash(source) == hash(replace(source))
    renamed = replace(source, name="other")
    assert (renamed.name, renamed.place) == ("other", source.place)
    assert renamed != source
    with pytest.raises(FrozenInstanceError):
        source.name = "other"


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_that_was_looked_at_is_pinned(made, kind, tmp_path, monkeypatch):
    """However its place was written, it is found from any folder; to look again says the same."""
    one = made[kind]
    monkeypatch.chdir(one.place.parent)
    (source,) = kinds.available_kinds()[kind].sources(Reference(one.place.name), SourceOptions(), ResourceCache())
    stated = source.inspect(ResourceCache())
    assert stated.trouble == ""
    monkeypatch.chdir(tmp_path)
    again = stated.source.inspect(ResourceCache())
    assert again == stated
    assert stated.source.identity(one.task, Machine(), ResourceCache())
    assert stated.size == one.size
    assert set(stated.labels) == one.labels
    assert stated.source.precomputed == (not one.works) == (stated.rows is not None)
    assert stated.source.place == one.source.inspect(ResourceCache()).source.place


@pytest.mark.parametrize("kind", KINDS)
def test_identity_is_of_content(made, kind, tmp_path):
    """Plain JSON with a text; the same under another name and in another place, another once the content is."""
    one = made[kind]
    before = one.source.identity(one.task, Machine(), ResourceCache())
    assert json.loads(json.dumps(before)) == dict(before)
    assert isinstance(before["content"], str)
    moved = copied(one.place, tmp_path / f"moved-{one.place.name}")
    (there,) = kinds.available_kinds()[kind].sources(Reference(str(moved)), SourceOptions(), ResourceCache())
    assert there.identity(one.task, Machine(), ResourceCache()) == before
    assert replace(one.source, name="other").identity(one.task, Machine(), ResourceCache()) == before
    assert one.source.identity(one.task, Machine("meta", token_budget=7, threads=3), ResourceCache()) == before
    one.change()
    assert one.source.identity(one.task, Machine(), ResourceCache())["content"] != before["content"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_opened_source_answers_in_order(made, kind):
    """In blocks that add up to an answer for each example; it is told of each, and gives signs of life while it works.

    An answer does not depend on what else is asked.
    """
    one = made[kind]
    told, beats = [], []
    cache = ResourceCache(lambda: beats.append(1))
    one.source.identity(one.task, Machine(), cache)
    model = one.source.open(one.task, Machine(), cache)
    blocks = list(model.predict(EXAMPLES, told.append))
    found = type(blocks[0]).joined(blocks)
    assert found.probs.shape == (len(EXAMPLES), 2)
    assert sum(told) == len(EXAMPLES)
    assert bool(beats) == one.works
    for n, example in enumerate(EXAMPLES):
        (alone,) = model.predict([example], lambda done: None)
        for name, column in alone.columns().items():
            np.testing.assert_allclose(column[0], found.columns()[name][n], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_trouble_is_stated_and_not_raised(made, kind):
    """A model that cannot be read is left out with a line, and the others are ranked."""
    one = made[kind]
    shutil.rmtree(one.place) if one.place.is_dir() else one.place.unlink()
    (source,) = kinds.available_kinds()[kind].sources(Reference(str(one.place)), SourceOptions(), ResourceCache())
    stated = source.inspect(ResourceCache())
    assert stated.source == source
    assert one.trouble in stated.trouble
    assert "\n" not in stated.trouble


def installed(monkeypatch, name, load):
    """Have a package with a kind of sources be installed."""
    point = SimpleNamespace(name=name, value="mine:kind", dist=SimpleNamespace(name="mine"), load=load)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == kinds.GROUP else [])


def test_kinds_are_looked_up_once_a_run(monkeypatch, made):
    """However many references there are: installed packages are gone through for the first."""
    asked, find = [], metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda group: (asked.append(group), find(group=group))[1])
    places = [str(made[kind].place) for kind in ("hf", "table")]
    suites.name_models(places, SourceOptions(), ResourceCache())
    assert asked == [kinds.GROUP, logs.GROUP]


def test_a_built_in_log_is_read_without_a_look_at_packages(monkeypatch, made):
    """Which takes longer than a small log: a folder may hold hundreds."""
    asked, find = [], metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda group: (asked.append(group), find(group=group))[1])
    assert made["log"].source.inspect(ResourceCache()).trouble == ""
    assert logs.GROUP not in asked


def test_a_package_adds_a_kind(monkeypatch, made):
    """It claims references of its own, before or behind ours, and is named by its entry point."""
    source = made["hf"].source
    kind = SimpleNamespace(
        claims=lambda reference, options: reference.place.startswith("moon"),
        sources=lambda reference, options, cache: [replace(source, name=reference.place)],
    )
    installed(monkeypatch, "mine", lambda: kind)
    assert [model.name for model in suites.load(["moon-a", "mine:b"]).models] == ["moon-a", "b"]
    assert [model.name for model in suites.name_models(["x=mine:c"], SourceOptions(), ResourceCache())[1]] == ["x"]


class Polite(TextSource):
    """A black box with needs of its own."""

    needs = Needs(secrets=("MOON_KEY",), network=True, at_once=2)

    def labels(self):
        """Two."""
        return ("non-entailment", "entailment")

    def content(self):
        """Its name."""
        return self.name

    def probabilities(self, texts):
        """Even."""
        return np.full((len(texts), 2), 0.5)


def test_a_suite_may_hold_black_boxes_of_a_package(monkeypatch, tmp_path):
    """They take the suite's names and families, and say what they need."""
    kind = SimpleNamespace(claims=bool, sources=lambda reference, options, cache: [Polite(reference.place)])
    installed(monkeypatch, "mine", lambda: kind)
    models = [{"name": name, "path": f"moon/{name}", "kind": "mine", "family": "moon"} for name in "ab"]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "mine", "models": models}))
    sources = [model.source for model in suites.load([str(tmp_path)]).models]
    assert [(source.name, source.family) for source in sources] == [("a", "moon"), ("b", "moon")]
    assert sources[0].inspect(ResourceCache()).needs == Polite.needs


def failing():
    """A package that cannot be imported."""
    raise ImportError("no module of that name")


@pytest.mark.parametrize(
    ("name", "load", "value"),
    [
        ("hf", lambda: SimpleNamespace(claims=bool, sources=list), "hf"),
        ("mine", failing, "mine:kind"),
        ("mine", lambda: 3, "mine:kind"),
    ],
)
def test_a_package_that_is_no_kind_is_told_of(monkeypatch, name, load, value):
    """In one line, with its name."""
    installed(monkeypatch, name, load)
    with refuses(UsageError, value=value) as caught:
        suites.name_models(["org/a"], SourceOptions(), ResourceCache())
    assert "\n" not in str(caught.value)


def test_a_kind_that_is_not_there_is_told_of():
    """With those that there are."""
    with refuses(UnknownName, value="hg"):
        kinds.kind_of(Reference("a", kind="hg"), SourceOptions(), ResourceCache())


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"kind": "hg"}, "suite.json is no suite: there is no kind of source 'hg'"),
        ({"kind": "mine", "label_map": {"0": "a"}}, "a is of the kind 'mine', which has no `label_map`"),
    ],
)
def test_a_suite_whose_kinds_do_not_fit_is_one_line(monkeypatch, tmp_path, entry, said):
    """It names the file, and a map of labels is not dropped without a word."""
    kind = SimpleNamespace(claims=bool, sources=lambda reference, options, cache: [SimpleNamespace(name="x")])
    installed(monkeypatch, "mine", lambda: kind)
    models = [{"name": name, "path": name, **entry} for name in "ab"]
    content = {"schema_version": 1, "name": "mine", "models": models}
    (tmp_path / "suite.json").write_text(json.dumps(content))
    with refuses(UsageError, place=tmp_path / "suite.json") as caught:
        suites.load([str(tmp_path)])
    assert said in str(caught.value)
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
    (source,) = kinds.available_kinds()["hf"].sources(Reference(str(adapter)), SourceOptions(), ResourceCache())
    stated = source.inspect(ResourceCache())
    assert stated.source.base == f"bert-tiny@{commit}"
    assert stated.source.identity(TASK, Machine(), ResourceCache())["content"]
