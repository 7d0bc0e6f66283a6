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
from fixed_source import FixedSource
from logmaking import choice_row, lm_log
from refusals import refuses

from factors.types import Example
from ranker.errors import UnknownName, UsageError
from ranker.sources import kinds, suites
from ranker.sources.base import Machine, Needs, ResourceCache, Source, SourceOptions
from ranker.sources.logs import formats as logs
from ranker.sources.references import Reference
from ranker.tasks.base import Task
from ranker.tasks.precomputed import PrecomputedTask

EXAMPLES = [Example(str(n), (f"The doctor saw {n} actors.", "An old judge danced."), n % 2) for n in range(7)]


@dataclass(frozen=True)
class Made:
    """A source of some kind, with what a test knows of it."""

    source: Source
    place: Path  # the file or folder that it lies in
    change: Callable[[], None]  # changes its content
    labels: set[str]
    size: int  # bytes that it loads
    task: Task  # a task whose rows it answers
    trouble: str  # the message if it is not there
    works: bool = False  # answers are computed, and signs of life given meanwhile; else they lie in a file


def source_of(kind, place):
    """The source of a kind that lies in a place."""
    (source,) = kinds.available_kinds()[kind].sources(Reference(str(place)), SourceOptions(), ResourceCache())
    return source


def checkpoint_made(kind, folder, labels):
    """A checkpoint that is there already."""

    def change():
        content = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**content, "note": "changed"}))

    size = (folder / "model.safetensors").stat().st_size
    return Made(source_of(kind, folder), folder, change, labels, size, TASK, "there is no directory", works=True)


def table_made(folder):
    """A table of one model, with ids, texts and the truth."""
    file = folder / "answers.csv"
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["id", "premise", "hypothesis", "label", "prediction"])
        for number, row in enumerate(EXAMPLES):
            answer = TASK.labels[number % 3 == 0]
            writer.writerow([row.id, *row.segments, TASK.labels[row.target], answer])

    def change():
        file.write_text(file.read_text().replace("entailment\n", "non-entailment\n", 1))

    return Made(source_of("table", file), file, change, set(TASK.labels), 0, TASK, "cannot be read")


def log_made(folder):
    """A log of lm-evaluation-harness, whose rows are known by their own ids."""
    rows = []
    for number, row in enumerate(EXAMPLES):
        right, chosen = number % 2, int(number % 3 == 0)
        cells = {"acc": float(chosen == right), "doc_hash": row.id}
        rows.append(choice_row(number, {"text": row.id}, right, [-1.0, -0.5 if chosen else -2.0], **cells))
    file = lm_log(folder / "model", rows)

    def change():
        file.write_text(file.read_text().replace("Is it?", "Was it?"))

    task = PrecomputedTask("small", "acc", ("no", "yes"))
    return Made(source_of("log", file), file, change, {"no", "yes"}, 0, task, "cannot be read")


@pytest.fixture
def cases(checkpoint, lm, tmp_path):
    """Kind -> a source of it, and what is known of that."""
    root = tmp_path / "here"
    shutil.copytree(checkpoint("bert"), root / "model")
    shutil.copytree(lm(), root / "lm")
    for name in ("table", "log"):
        (root / name).mkdir()
    return {
        "hf": checkpoint_made("hf", root / "model", {"contradiction", "entailment", "neutral"}),
        "lm": checkpoint_made("lm", root / "lm", set()),
        "table": table_made(root / "table"),
        "log": log_made(root / "log"),
    }


SERVED = {"openai"}
"""Kinds of models behind a server, which have no file: see the tests of `endpoint`."""

KINDS = [kind for kind in kinds.BUILTIN if kind not in SERVED]


def test_every_kind_is_tested(cases):
    """A new kind brings a source of it, and is told by what lies there."""
    assert cases.keys() | SERVED == kinds.BUILTIN.keys()
    for name, case in cases.items():
        reference, available = Reference(str(case.place)), kinds.available_kinds()
        assert next(key for key, kind in available.items() if kind.claims(reference, SourceOptions())) == name


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_is_a_frozen_record(cases, kind):
    """A source goes to other processes as it is, can be compared, and is renamed like any record."""
    source = cases[kind].source
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301  # our own
    assert hash(source) == hash(replace(source))
    renamed = replace(source, name="other")
    assert (renamed.name, renamed.place) == ("other", source.place)
    assert renamed != source
    with pytest.raises(FrozenInstanceError):
        source.name = "other"


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_that_was_looked_at_is_pinned(cases, kind, tmp_path, monkeypatch):
    """However its place was written, it is found from any folder; to look again says the same."""
    case = cases[kind]
    monkeypatch.chdir(case.place.parent)
    stated = source_of(kind, case.place.name).inspect(ResourceCache())
    assert stated.trouble == ""
    monkeypatch.chdir(tmp_path)
    again = stated.source.inspect(ResourceCache())
    assert again == stated
    assert stated.source.identity(case.task, Machine(), ResourceCache())
    assert stated.size == case.size
    assert set(stated.labels) == case.labels
    assert stated.source.precomputed == (not case.works) == (stated.rows is not None)
    assert stated.source.place == case.source.inspect(ResourceCache()).source.place


@pytest.mark.parametrize("kind", KINDS)
def test_identity_is_of_content(cases, kind, tmp_path):
    """Plain JSON with a text; the same under another name and in another place, another once the content is."""
    case = cases[kind]
    before = case.source.identity(case.task, Machine(), ResourceCache())
    assert json.loads(json.dumps(before)) == dict(before)
    assert isinstance(before["content"], str)
    moved = (shutil.copytree if case.place.is_dir() else shutil.copy)(case.place, tmp_path / f"moved-{case.place.name}")
    assert source_of(kind, moved).identity(case.task, Machine(), ResourceCache()) == before
    assert replace(case.source, name="other").identity(case.task, Machine(), ResourceCache()) == before
    assert case.source.identity(case.task, Machine("meta", token_budget=7, threads=3), ResourceCache()) == before
    case.change()
    assert case.source.identity(case.task, Machine(), ResourceCache())["content"] != before["content"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_opened_source_answers_in_order(cases, kind):
    """In blocks of answers that depend on no other example; each is told of, and signs of life given meanwhile."""
    case = cases[kind]
    counts, beats = [], []
    cache = ResourceCache(lambda: beats.append(1))
    case.source.identity(case.task, Machine(), cache)
    model = case.source.open(case.task, Machine(), cache)
    blocks = list(model.predict(EXAMPLES, counts.append))
    answers = type(blocks[0]).joined(blocks)
    assert answers.probs.shape == (len(EXAMPLES), 2)
    assert sum(counts) == len(EXAMPLES)
    assert bool(beats) == case.works
    for n, example in enumerate(EXAMPLES):
        (alone,) = model.predict([example], lambda done: None)
        for name, column in alone.columns().items():
            np.testing.assert_allclose(column[0], answers.columns()[name][n], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_trouble_is_stated_and_not_raised(cases, kind):
    """A model that cannot be read is left out with a line, and the others are ranked."""
    case = cases[kind]
    shutil.rmtree(case.place) if case.place.is_dir() else case.place.unlink()
    source = source_of(kind, case.place)
    stated = source.inspect(ResourceCache())
    assert stated.source == source
    assert case.trouble in stated.trouble
    assert "\n" not in stated.trouble


def installed(monkeypatch, name, load):
    """Have a package with a kind of sources be installed."""
    point = SimpleNamespace(name=name, value="mine:kind", dist=SimpleNamespace(name="mine"), load=load)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == kinds.GROUP else [])


def test_kinds_are_looked_up_once_a_run(monkeypatch, cases):
    """However many references there are: installed packages are gone through for the first."""
    groups, find = [], metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda group: (groups.append(group), find(group=group))[1])
    places = [str(cases[kind].place) for kind in ("hf", "table")]
    suites.name_models(places, SourceOptions(), ResourceCache())
    assert groups == [kinds.GROUP, logs.GROUP]


def test_a_built_in_log_is_read_without_a_look_at_packages(monkeypatch, cases):
    """A look takes longer than a small log, and a folder may hold hundreds."""
    groups, find = [], metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda group: (groups.append(group), find(group=group))[1])
    assert cases["log"].source.inspect(ResourceCache()).trouble == ""
    assert logs.GROUP not in groups


def test_a_package_adds_a_kind(monkeypatch, cases):
    """The kind claims references of its own, before or behind ours, and is named by its entry point."""
    source = cases["hf"].source
    kind = SimpleNamespace(
        claims=lambda reference, options: reference.place.startswith("moon"),
        sources=lambda reference, options, cache: [replace(source, name=reference.place)],
    )
    installed(monkeypatch, "mine", lambda: kind)
    assert [model.name for model in suites.load(["moon-a", "mine:b"]).models] == ["moon-a", "b"]
    assert [model.name for model in suites.name_models(["x=mine:c"], SourceOptions(), ResourceCache())[1]] == ["x"]


class NeedyBox(FixedSource):
    """A black box with needs of its own."""

    needs = Needs(secrets=("MOON_KEY",), network=True, at_once=2)


def test_a_suite_may_hold_black_boxes_of_a_package(monkeypatch, tmp_path):
    """Black boxes take the suite's names and families, and say what they need."""
    kind = SimpleNamespace(claims=bool, sources=lambda reference, options, cache: [NeedyBox(reference.place)])
    installed(monkeypatch, "mine", lambda: kind)
    models = [{"name": name, "path": f"moon/{name}", "kind": "mine", "family": "moon"} for name in "ab"]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "mine", "models": models}))
    sources = [model.source for model in suites.load([str(tmp_path)]).models]
    assert [(source.name, source.family) for source in sources] == [("a", "moon"), ("b", "moon")]
    assert sources[0].inspect(ResourceCache()).needs == NeedyBox.needs


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
    ("entry", "message"),
    [
        ({"kind": "hg"}, "suite.json is no suite: there is no kind of source 'hg'"),
        ({"kind": "mine", "label_map": {"0": "a"}}, "a is of the kind 'mine', which has no `label_map`"),
    ],
)
def test_a_suite_whose_kinds_do_not_fit_is_one_line(monkeypatch, tmp_path, entry, message):
    """The line names the file, and a map of labels is not dropped without a word."""
    kind = SimpleNamespace(claims=bool, sources=lambda reference, options, cache: [SimpleNamespace(name="x")])
    installed(monkeypatch, "mine", lambda: kind)
    models = [{"name": name, "path": name, **entry} for name in "ab"]
    content = {"schema_version": 1, "name": "mine", "models": models}
    (tmp_path / "suite.json").write_text(json.dumps(content))
    with refuses(UsageError, place=tmp_path / "suite.json") as caught:
        suites.load([str(tmp_path)])
    assert message in str(caught.value)
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
    stated = source_of("hf", adapter).inspect(ResourceCache())
    assert stated.source.base == f"bert-tiny@{commit}"
    assert stated.source.identity(TASK, Machine(), ResourceCache())["content"]
