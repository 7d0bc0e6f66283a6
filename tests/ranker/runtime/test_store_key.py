"""Every knob that can change a number changes the store's key, and no other: each stands in a table below."""

import json
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from importlib import metadata
from pathlib import Path

import pytest
from asking import Subject, attributions
from conftest import TASK

from factors.types import Example, Span
from ranker.attribution import SETTINGS, settings_of
from ranker.attribution.settings import Settings, settle
from ranker.datasets.identity import text_key
from ranker.limits import Limits
from ranker.runtime import shards, worker
from ranker.runtime.store import Store, key_digest
from ranker.sources.base import Machine, ResourceCache, SourceOptions, version
from ranker.sources.hf import align
from ranker.sources.hf.kind import Checkpoint
from ranker.sources.logs.options import LogOptions
from ranker.sources.tables.options import TableOptions
from ranker.tasks.classes import ClassificationTask
from ranker.tasks.tags import TagTask

EXAMPLE = Example("a", ("The doctor saw the actor.", "An old judge danced."), 1)

OTHER_VALUES = {
    "ig": {"target": 0, "output": "logit", "baseline": "pad", "rule": "riemann_middle", "steps": 6, "max_steps": 321,
           "tolerance": 0.02, "share": 0.3},
    "shap": {"target": 0, "output": "logit", "separators": True, "baseline": "mask", "tree": "flat",
             "max_evaluations": 999, "tolerance": 1e-5},
    "lime": {"target": 0, "output": "logit", "separators": True, "hide": "remove", "samples": 501,
             "kernel_width": 24.0, "ridge": 2.0, "seed": 1, "tolerance": 0.4},
    "occlusion": {"target": 0, "output": "logit", "separators": True, "hide": "remove"},
    "phrases": {"target": 0, "output": "logit", "hide": "remove", "window": 2, "reach": 0},
    "none": {},
}  # fmt: skip
"""Backend -> each of its settings with a value that is not the default."""

JUDGED = {("shap", "tolerance"), ("lime", "tolerance")}
"""The settings by which rows are only judged, once they are there; IG's tolerance says where it puts more points."""

MACHINE = {"device": ("meta", False), "dtype": ("bfloat16", True), "token_budget": (7, False), "threads": (3, False)}
"""How a model is run: field -> (another value, whether it changes a number)."""

OPTIONS = {
    "trust_remote_code": (frozenset({"tiny"}), False),
    "allow_pickle": (True, False),
    "label_map": ({"neutral": "entailment"}, True),
    "kinds": ((TableOptions(truth="gold"), LogOptions(metric="acc_norm")), False),  # of files, whose answers stay there
    "values": (True, False),  # of files, too
    "columns": ({"label": ("mood",)}, False),  # the demonstrations that they lead to are in the key
    "limits": (Limits(columns=7), False),
}
"""What is said of all models: option -> (another value, whether it changes a number)."""

CHECKPOINT = {
    "name": ("other", False),
    "path": (None, False),  # a copy of the folder
    "family": ("other", False),
    "label_map": ({"neutral": "entailment"}, True),
    "options": (SourceOptions(), False),  # each of them: see above
    "base": ("", False),
}
"""What a checkpoint is: field -> (another value, whether it changes a number)."""

TASKS = {
    "name": ("other", False),
    "labels": (("entailment", "non-entailment"), True),
    "aliases": ({"non-entailment": ("neutral",), "entailment": ("contradiction",)}, True),
    "shortcut": (1, False),
    "evidence": (0, False),
    "ordered": (False, False),  # of files of answers, too
}
"""What a task is: field -> (another value, whether it changes a number)."""

EXAMPLES = {
    "id": ("b", False),
    "segments": (("The doctor saw the actor.", "An old judge danced"), True),
    "target": (0, False),
    "marks": ({"subject": (Span(0, 0, 3),)}, False),
    "group": ("passage 1", False),
}
"""What an example is: field -> (another value, whether it changes what a model makes of it)."""

FILES = {
    "model.safetensors": True, "config.json": True, "tokenizer.json": True, "tokenizer_config.json": True,
    "vocab.txt": True, "modeling_own.py": True, "README.md": False, "training.json": False, "training_args.bin": False,
}  # fmt: skip
"""A file of a checkpoint -> whether it can change a number."""


@pytest.fixture(autouse=True)
def _versions_read_anew():
    """Read versions anew for each test."""
    version.cache_clear()
    yield
    version.cache_clear()


@pytest.fixture
def subject(checkpoint: Callable[[str], Path], tmp_path: Path) -> Subject:
    """A tiny BERT, in a folder of its own."""
    return Subject(Checkpoint("tiny", str(shutil.copytree(checkpoint("bert"), tmp_path / "tiny"))), TASK)


def key(subject: Subject, method: str = "ig", settings: Settings | None = None) -> str:
    """The name of the folder that a subject's rows are kept in, in a run that begins now."""
    return key_digest(subject.key(None if method == "none" else settings or SETTINGS[method]()))


@pytest.mark.parametrize(
    ("record", "table"),
    [
        *((kind, OTHER_VALUES[name]) for name, kind in SETTINGS.items()), (Machine, MACHINE), (SourceOptions, OPTIONS),
        (Checkpoint, CHECKPOINT), (ClassificationTask, TASKS), (Example, EXAMPLES),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_every_field_stands_in_the_table(record, table):
    """Nobody adds a parameter without saying here whether it changes a number."""
    assert {field.name for field in fields(record) if field.compare} == table.keys()


def test_every_backend_stands_in_the_table():
    """A new backend brings its row."""
    assert SETTINGS.keys() == OTHER_VALUES.keys()


@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method, values in OTHER_VALUES.items() for name in values]
)
def test_settings_of_a_backend_change_the_key_where_they_change_a_number(subject, method, name):
    """Each of its fields, by itself, but for what rows are only judged by."""
    default = SETTINGS[method]()
    value = OTHER_VALUES[method][name]
    assert value != getattr(default, name)
    changed = key(subject, method, replace(default, **{name: value})) != key(subject, method, default)
    assert changed == ((method, name) not in JUDGED)


@pytest.mark.parametrize(
    ("owner", "name", "changed"),
    [
        (SETTINGS["ig"], "revision", {"ig"}),
        (Settings, "revision", {*SETTINGS} - {"none"}),  # answers keep their keys
        (worker, "REVISION", {*SETTINGS}),  # attributions hang on answers
        (align, "REVISION", {*SETTINGS}),  # and answers on what a text is made into
    ],
)
def test_a_revision_changes_the_keys_of_what_it_computes(subject, monkeypatch, owner, name, changed):
    """Rows that another revision of the code computed are not taken for this one's."""
    before = {method: key(subject, method) for method in SETTINGS}
    monkeypatch.setattr(owner, name, 1000)
    assert {method for method in SETTINGS if key(subject, method) != before[method]} == changed


def test_the_method_changes_the_key(subject):
    """Every backend has a key of its own, in whatever letters it is named."""
    assert len({key(subject, method) for method in SETTINGS}) == len(SETTINGS)
    assert key(subject, "SHAP", SETTINGS["shap"]()) == key(subject, "shap")


@pytest.mark.parametrize("name", [*MACHINE, *OPTIONS])
def test_options_change_the_key_where_they_change_a_number(subject, name):
    """Number format and label map do; where, in what portions and with how much trust a model is run does not."""
    value, changes = (MACHINE | OPTIONS)[name]
    if name in MACHINE:
        turned = replace(subject, machine=replace(subject.machine, **{name: value}))
    else:
        options = replace(subject.source.options, **{name: value})
        turned = replace(subject, source=replace(subject.source, options=options))
    assert (key(turned) != key(subject)) == changes


def test_code_that_is_run_changes_the_key(subject):
    """A checkpoint with a network of its own is one thing under the flag that lets it run, and another without."""
    config = Path(subject.source.path) / "config.json"
    trust = SourceOptions(trust_remote_code=frozenset({"tiny"}))
    trusting = replace(subject, source=replace(subject.source, options=trust))
    assert key(trusting) == key(subject)
    config.write_text(json.dumps({**json.loads(config.read_text()), "auto_map": {"AutoModel": "own.Own"}}))
    assert key(trusting) != key(subject)


def test_the_same_device_in_other_words_is_the_same_key(subject):
    """A device that is said is no other than the one that is taken where nothing is."""
    assert key(replace(subject, machine=Machine(device="cpu"))) == key(subject)


@pytest.mark.parametrize("name", CHECKPOINT)
def test_what_a_suite_says_changes_the_key_where_it_changes_a_number(subject, name, tmp_path):
    """A model is its content: under another name, in another folder, it is the same; its label map is its own."""
    value, changes = CHECKPOINT[name]
    if name == "path":
        value = str(shutil.copytree(subject.source.path, tmp_path / "moved"))
    turned = replace(subject, source=replace(subject.source, **{name: value}))
    assert (key(turned) != key(subject)) == changes


@pytest.mark.parametrize("name", TASKS)
def test_the_task_changes_the_key_where_it_changes_a_number(subject, name):
    """The order of the labels is that of the probabilities, and aliases say which outputs make up a label."""
    value, changes = TASKS[name]
    turned = replace(subject, task=replace(subject.task, **{name: value}))
    assert (key(turned) != key(subject)) == changes


@pytest.mark.parametrize("name", FILES)
def test_files_of_a_checkpoint_change_the_key_where_they_change_a_number(subject, name):
    """Weights, configuration, tokenizer and code do, by one byte; notes and a trainer's state do not."""
    before = key(subject)
    with (Path(subject.source.path) / name).open("ab") as file:
        file.write(b" ")
    assert (key(subject) != before) == FILES[name]


def test_an_adapters_base_changes_the_key(subject, tmp_path):
    """An adapter's own files stay the same, but not the weights that they are added to."""
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_bytes(b"")
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": subject.source.path}))
    adapted = Subject(Checkpoint("adapted", str(adapter)), TASK)
    before = key(adapted)
    assert "peft" in adapted.key(Settings())["source"]["versions"]
    with (Path(subject.source.path) / "model.safetensors").open("ab") as file:
        file.write(b" ")
    assert key(adapted) != before


@pytest.mark.parametrize(
    ("library", "methods"),
    [
        ("torch", set(SETTINGS)), ("transformers", set(SETTINGS)), ("tokenizers", set(SETTINGS)), ("captum", {"ig"}),
        ("numpy", {"lime"}), ("peft", set()),
    ],
)  # fmt: skip
def test_library_versions_change_the_keys_of_what_they_compute(subject, monkeypatch, library, methods):
    """Another captum is another IG, and the same LIME; another torch is another everything."""
    before = {method: key(subject, method) for method in SETTINGS}
    installed = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "9.9" if name == library else installed(name))
    version.cache_clear()
    assert {method for method in SETTINGS if key(subject, method) != before[method]} == methods


def test_what_a_library_was_built_for_is_not_in_the_key(subject, monkeypatch):
    """As little as the device: rows of one are taken on another."""
    keys = set()
    for build in ("+cpu", "+cu128", ""):
        monkeypatch.setattr(metadata, "version", lambda name, build=build: f"2.13.0{build}")
        version.cache_clear()
        keys.add(key(subject))
    assert len(keys) == 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_its_text(name):
    """Id, label and marks of an example are nothing that a model sees."""
    value, changes = EXAMPLES[name]
    assert (text_key(replace(EXAMPLE, **{name: value})) != text_key(EXAMPLE)) == changes


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("ab", "c"), ("a", "bc")), (("a", "b"), ("b", "a")), (("a",), ("a", "")), (("é",), ("e\u0301",)),
        (("a",), ("a ",)),
    ],
)  # fmt: skip
def test_texts_that_are_alike_are_told_apart(first, second):
    """Keys see segments' ends and order, accents in one character or two, and a space at the end."""
    assert text_key(replace(EXAMPLE, segments=first)) != text_key(replace(EXAMPLE, segments=second))


def test_the_order_of_examples_and_fields_is_not_in_the_key(tmp_path):
    """Rows are found by their text, and a key by its names, in whatever order they come."""
    store = Store(tmp_path)
    examples = [replace(EXAMPLE, segments=(text,)) for text in ("one", "two", "three")]
    fields_of_key = {"model": "abc", "backend": "ig"}

    def compute(missing):
        from test_store import row_of

        return (row_of(replace(EXAMPLE, segments=(str(len(example.segments[0])),))) for example in missing)

    attributions(store.entry(fields_of_key), examples, compute)
    assert len(store.entry(dict(reversed(fields_of_key.items()))).missing(examples[::-1])) == 0


def test_another_schema_is_another_store(monkeypatch):
    """Rows of a version that wrote them in another way are never read."""
    before = key_digest({"model": "abc"})
    monkeypatch.setattr(shards, "FORMAT", shards.FORMAT + 1)
    assert key_digest({"model": "abc"}) != before


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), b"bytes", Path()])
def test_what_has_no_name_is_an_error(value):
    """Never an address, never chance: a key that cannot be said is not made."""
    with pytest.raises((TypeError, ValueError)):
        key_digest({"model": value})


def test_the_rule_of_an_own_answer_changes_the_keys_of_attributions_alone(subject, monkeypatch):
    """Tags are the same whichever number of them is explained; labels stand in the key as ever."""
    task, labels = TagTask("tags"), key(subject, "shap")
    job = replace(subject.job(), task=task)

    def keys():
        return [worker.key_of(job, settings, ResourceCache()) for settings in (None, settle(settings_of("shap"), task))]

    answers, attributed = keys()
    assert (answers["answers"], "answers" in attributed) == ("tags", False)
    monkeypatch.setattr(TagTask, "outputs", ("the last span",))
    assert keys()[0] == answers
    assert keys()[1] == {**attributed, "output": "the last span"} != attributed
    assert key(subject, "shap") == labels
