"""One model's rows: what they are known by, when the model is loaded, and what is refused."""

import errno
from dataclasses import replace
from multiprocessing import Pipe

import huggingface_hub
import numpy as np
import pytest
import torch
from asking import Subject
from conftest import TASK, make_checkpoint

from factors.types import Example
from ranker.attribution import SETTINGS, ig
from ranker.attribution.settings import IGSettings, LIMESettings, SHAPSettings
from ranker.errors import ModelError
from ranker.progress import silent
from ranker.runtime import store as store_module
from ranker.runtime.base import Job, JobOutcome, Request
from ranker.runtime.executors import worker_process
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store, key_digest
from ranker.runtime.worker import NOT_FINITE, answer, find_work, run_job
from ranker.sources import suites
from ranker.sources.base import Machine, ResourceCache, SourceOptions
from ranker.sources.hf import batching, classifiers, files
from ranker.sources.hf.classifiers import Classifier, TextClassifier
from ranker.sources.hf.kind import Checkpoint

EXAMPLES = [
    Example("a", ("The doctor saw the actor.", "An old judge danced."), 1),
    Example("b", ("The actor waited.", ""), 0),
]
SAME_NUMBERS = [Machine("meta"), Machine(token_budget=7), SourceOptions(trust_remote_code=frozenset({"tiny"}))]
OTHER_NUMBERS = [Machine(dtype="bfloat16"), SourceOptions({"neutral": "entailment"})]


@pytest.fixture
def subject(checkpoint, tmp_path):
    """A tiny BERT with a store of its own."""
    return Subject(Checkpoint("tiny", str(checkpoint("bert"))), TASK, store=Store(tmp_path))


def key(subject, method="ig", changed_part=Machine()):
    """The key of a subject's rows, on another machine or under other options."""
    if isinstance(changed_part, SourceOptions):
        changed = replace(subject, source=replace(subject.source, options=changed_part))
    else:
        changed = replace(subject, machine=changed_part)
    return changed.key(None if method == "none" else SETTINGS[method]())


@pytest.mark.parametrize("value", SAME_NUMBERS)
def test_what_changes_no_number_is_not_in_the_key(subject, value):
    """A model's place and portions leave its rows as they are."""
    assert key(subject, changed_part=value) == key(subject)


@pytest.mark.parametrize("value", OTHER_NUMBERS)
def test_options_that_change_numbers_are_in_the_key(subject, value):
    """Number format and label map make other rows."""
    assert key(subject, changed_part=value) != key(subject)


def test_a_model_of_the_hub_is_asked_for_once(checkpoint, tmp_path, monkeypatch):
    """Rows read after a push of another revision are still of the one that the key names."""
    folders = [str(checkpoint("bert")), str(tmp_path / "pushed")]
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: folders.pop(0))
    pinned = Checkpoint("tiny", "org/tiny").inspect(ResourceCache()).source
    subject = Subject(pinned, TASK, store=Store(tmp_path / "store"))
    hub_subject = Subject(Checkpoint("tiny", str(checkpoint("bert"))), TASK)
    assert subject.predictions(EXAMPLES).probs.tolist() == hub_subject.predictions(EXAMPLES).probs.tolist()
    assert subject.key(None) == hub_subject.key(None)
    assert len(folders) == 1


def test_the_key_is_of_content(subject, checkpoint):
    """The key holds the weights' hash, the task's labels with their aliases, and versions; no path and no name."""
    found_key = key(subject, "ig")
    of_all = {"source", "labels", "revision"}
    assert set(found_key) == of_all | {"backend", "settings", "backend_revision", "libraries"}
    assert set(found_key["source"]) == {"content", "label_map", "own_code", "dtype", "alignment", "versions"}
    assert set(key(subject, "none")) == of_all | {"answers"}
    assert found_key["labels"] == [["non-entailment", ["contradiction", "neutral"]], ["entailment", []]]
    assert found_key["source"]["versions"].keys() == {"torch", "transformers", "tokenizers"}
    assert found_key["libraries"].keys() == {"captum"}
    assert str(checkpoint("bert")) not in str(found_key)
    renamed = Subject(replace(subject.source, name="other"), TASK)
    assert renamed.key(IGSettings()) == found_key


@pytest.mark.parametrize(("method", "bfloat16"), [("none", True), ("shap", True), ("lime", True), ("ig", False)])
def test_auto_is_settled_before_it_is_a_key(subject, monkeypatch, method, bfloat16):
    """Rows computed under "auto" are those of the format that was used: bfloat16 where its rounding is no gap."""
    for units, dtype in ((True, "bfloat16" if bfloat16 else "float32"), (False, "float32")):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda units=units: {"amx_bf16": units})
        assert key(subject, method, Machine(dtype="auto")) == key(subject, method, Machine(dtype=dtype))


def test_under_auto_each_backend_gets_the_network_in_its_own_format(subject, monkeypatch):
    """One subject answers in both: predictions in bfloat16, IG in float32, each network loaded once."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True})
    loaded = []
    load = TextClassifier.load
    monkeypatch.setattr(
        TextClassifier, "load", lambda *args, **options: loaded.append(options["dtype"]) or load(*args, **options)
    )
    settings = IGSettings(steps=4, max_steps=4)
    auto, exact = (Subject(subject.source, TASK, Machine(dtype=dtype)) for dtype in ("auto", "float32"))
    job = auto.job(*(Request(EXAMPLES, setting) for setting in (settings, None, settings)))
    with Runtime().open_store() as store:
        done = run_job(job, store, ResourceCache(), silent)
        first, answers, again = (answer(store, *pair) for pair in zip(done.keys, job.requests, strict=True))
    first, answers, again = first.attributions[0], answers.predictions.probs[0], again.attributions[0]
    assert loaded == ["float32", "bfloat16"]
    expected = exact.attributions(EXAMPLES, settings)[0]
    np.testing.assert_array_equal(first.scores, expected.scores)
    np.testing.assert_array_equal(again.scores, expected.scores)
    assert not np.array_equal(answers, expected.probs)
    np.testing.assert_allclose(answers, expected.probs, atol=0.01)


def test_a_model_is_loaded_only_where_rows_are_missing(subject, monkeypatch):
    """Known rows need no weights; a second subject gets the first one's numbers."""
    messages = []
    first = subject.predictions(EXAMPLES, messages.append)
    assert sum(messages) == 2
    assert subject.missing([*EXAMPLES, replace(EXAMPLES[0], segments=("new",))]) == 1
    monkeypatch.setattr(TextClassifier, "load", None)
    again = replace(subject, machine=Machine(token_budget=9))
    np.testing.assert_array_equal(first.probs, again.predictions(EXAMPLES).probs)


def test_work_is_told_of_when_it_is_done(subject):
    """IG finishes many examples in a round, long before it gives the first row; what was known is no work."""
    messages = []
    subject.attributions(EXAMPLES[:1], IGSettings(steps=4, max_steps=4))
    examples = [replace(example, id=str(i), segments=(example.segments[0], f"{i} judges danced."))
            for i in range(5) for example in EXAMPLES[:1]]  # fmt: skip
    subject.attributions([*EXAMPLES[:1], *examples], IGSettings(steps=4, max_steps=4), messages.append)
    assert messages == [5]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "settings",
    [None, IGSettings(steps=4, max_steps=4), SHAPSettings(max_evaluations=30)],
    ids=["answers", "ig", "shap"],
)
def test_ctrl_c_costs_the_window_that_it_comes_in(tmp_path, monkeypatch, hans, settings):
    """Rows come when their whole window is done: those of earlier ones are kept, of this one even what was told of."""
    cut, sizes, messages = batching.windows, [], []

    def watched(*args):
        for window in cut(*args):
            sizes.append(len(window))
            yield window

    def advance(done):
        messages.append(done)
        if sum(messages) >= 50:
            raise KeyboardInterrupt

    monkeypatch.setattr(classifiers, "ENCODED_AT_ONCE", 1)
    for module, most in ((batching, "MAX_REQUESTS_AHEAD"), (ig, "MAX_WINDOW")):
        monkeypatch.setattr(module, most, 15)
        monkeypatch.setattr(module, "windows", watched)
    mini = suites.load(["hans-sub-mini"]).models[2]
    subject = Subject(mini.source, hans.task, Machine(token_budget=64), Store(tmp_path))
    rows = list({example.segments: example for example in hans.examples}.values())[:64]
    with pytest.raises(KeyboardInterrupt):
        subject.made_of(rows, settings, advance)
    assert len(sizes) > 1
    assert len(rows) - subject.missing(rows, settings) == sum(sizes[:-1])
    assert sum(messages) - sizes[-1] <= sum(sizes[:-1]) < sum(messages)


def test_numbers_that_are_none_are_refused_and_not_kept(subject, monkeypatch):
    """A model that answers nan is an error of that model, and nothing of it is stored."""
    network = Classifier.network
    monkeypatch.setattr(Classifier, "network", lambda self, batch: network(self, batch) * float("nan"))
    with pytest.raises(ModelError, match=NOT_FINITE):
        subject.predictions(EXAMPLES)
    with pytest.raises(ModelError, match=NOT_FINITE):
        subject.attributions(EXAMPLES, LIMESettings(samples=5))
    assert subject.missing(EXAMPLES) == subject.missing(EXAMPLES, LIMESettings(samples=5)) == 2


def test_a_models_own_label_map_goes_before_the_runs(subject):
    """A suite may know what a checkpoint's labels mean; the run's map is for those that do not."""
    with_map = replace(subject.source, options=SourceOptions({"1": "entailment"}))
    assert replace(with_map, label_map={"0": "entailment"}).mapped == {"0": "entailment"}
    assert with_map.mapped == {"1": "entailment"}


@pytest.mark.parametrize(
    ("settings", "at_first"), [(IGSettings(), 45), (IGSettings(steps=50, max_steps=50), 102), (LIMESettings(), 500)]
)
def test_passes_are_counted_before_the_work(settings, at_first):
    """The estimate knows what an example costs: points on the path and back, or samples."""
    assert settings.passes(np.zeros(3, int), np.arange(3)) == at_first


def test_passes_of_shap_are_its_rows(subject):
    """An example's tree says exactly how many rows SHAP will ask for."""
    settings = SHAPSettings()
    encoded = subject.source.open(TASK, Machine(), ResourceCache()).encode(EXAMPLES)
    for encoding, row in zip(encoded, subject.attributions(EXAMPLES, settings), strict=True):
        assert settings.passes(encoding.segment, encoding.word) == row.effort


def test_a_disk_too_full_to_tidy_up_ends_no_run(subject, monkeypatch):
    """Several shards that cannot become one stay several; all that was computed is there."""
    with monkeypatch.context() as patched:
        patched.setattr(store_module.Entry, "compact", lambda entry: None)
        for example in EXAMPLES:
            subject.predictions([example])
    key, held = key_digest(subject.key(None)), subject.store
    with monkeypatch.context() as patched:
        patched.setattr(store_module, "put", full)
        held.entry(subject.key(None)).missing(EXAMPLES)
        held.close(key)
    assert subject.missing(EXAMPLES) == 0  # which closes it, with room
    assert len(list(held.root.rglob("*.parquet"))) == 1


def full(target, content):
    """A disk without room."""
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_guest_reads_weights_once(tmp_path, monkeypatch):
    """Weights are hashed while they are read to be loaded; each part that is read is a sign of life."""
    source = Checkpoint("tiny", str(make_checkpoint(tmp_path / "tiny", hidden_size=64, intermediate_size=5_000)))
    job = Job(source, TASK, (Request(EXAMPLES),))
    store = Store(tmp_path / "store")
    _, missing = find_work(job, store, ResourceCache())
    beats, before = [], []
    predict = TextClassifier.predict
    monkeypatch.setattr(TextClassifier, "predict", lambda *flags: before.append(len(beats)) or predict(*flags))
    _, sending = Pipe(duplex=False)
    worker_process.run_task(
        worker_process.WorkerTask(0, job, JobOutcome(), missing),
        ResourceCache(lambda: beats.append("part")),
        worker_process.Outbox(sending.send_bytes),
    )
    parts = -(-(tmp_path / "tiny" / "model.safetensors").stat().st_size // files.CHUNK)
    assert parts <= before[0] < 2 * parts  # a tokenizer gives signs, too
