"""Jobs, whoever does them: what is asked of a model, how often, and what of it is kept."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses
from toys import ROWS, TASK, Toy, truth

from ranker import rank
from ranker.attribution.settings import LIMESettings
from ranker.datasets import sets
from ranker.errors import StoreError
from ranker.progress import silent
from ranker.runs.collect import RawResponses, run_models
from ranker.runs.inspected import inspect_models
from ranker.runtime.base import Job, Request
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store, key_digest
from ranker.runtime.upkeep import contents
from ranker.runtime.worker import answer, find_work, key_of, run_job
from ranker.scoring.score import Evidence
from ranker.sources import suites
from ranker.sources.base import ModelInfo, ResourceCache
from ranker.sources.suites import Model, Suite

EXAMPLES = ROWS[:3]
LIME = LIMESettings(samples=5)


@pytest.fixture
def store(tmp_path):
    """A store of one's own."""
    return Store(tmp_path / "store")


@pytest.fixture
def marking(tmp_path):
    """A model that leaves a line in a file whenever it is opened."""
    return Toy("a", "marks", str(tmp_path / "marks"))


def opened(toy, tmp_path):
    """Count how often a marking model was opened."""
    file = tmp_path / "marks"
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_orders_name_what_is_not_known(store):
    """One for each kind of answer, with each text once; the keys are those of the requests."""
    twice = [*EXAMPLES, replace(EXAMPLES[0], id="twin")]
    requests = (Request(twice), Request(EXAMPLES, LIME), Request(EXAMPLES[:1]))
    done, answered = find_work(Job(Toy("toy"), TASK, requests), store, ResourceCache())
    assert [(order.label, [example.id for example in order.examples]) for order in answered] == [
        ("answers", ["0", "1", "2"]),
        ("lime", ["0", "1", "2"]),
    ]
    assert done.keys[0] == done.keys[2] != done.keys[1]
    assert [key_digest(order.key) for order in answered] == list(done.keys[:2])
    assert done.content == "toy"


def test_what_several_requests_share_is_asked_once(store):
    """Equal texts, in one request or in several; each request has its answers in its own order."""
    twin, messages = replace(EXAMPLES[0], id="twin"), []
    requests = (Request(EXAMPLES), Request([*EXAMPLES[::-1], twin]), Request([twin]))

    class Told:
        def __init__(self, label, total):
            messages.append((label, total))

        def __enter__(self):
            return messages.append

        def __exit__(self, *_):
            """Nothing is closed."""

    done = run_job(Job(Toy("toy"), TASK, requests), store, ResourceCache(), Told)
    assert messages == [("toy: answers", 3), 3]
    first, second, third = (answer(store, *pair) for pair in zip(done.keys, requests, strict=True))
    np.testing.assert_array_equal(first.predictions.probs, truth("toy", EXAMPLES))
    np.testing.assert_array_equal(second.predictions.probs, truth("toy", [*EXAMPLES[::-1], twin]))
    np.testing.assert_array_equal(third.predictions.probs, truth("toy", [twin]))


def test_what_cannot_be_had_and_need_not_is_no_failure(store):
    """Nor in the way of what can be had; a request that must be answered is."""
    two = (Request(EXAMPLES), Request(EXAMPLES, LIME, optional=True))
    done = run_job(Job(Toy("toy"), TASK, two), store, ResourceCache(), silent)
    assert not done.failure
    first, second = (answer(store, *pair) for pair in zip(done.keys, two, strict=True))
    assert (len(first.predictions), second) == (3, None)
    failed = run_job(Job(Toy("toy"), TASK, (*two, Request(EXAMPLES[:1], LIME))), store, ResourceCache(), silent)
    assert failed.failure == "toy answers to whole texts only; set `attribution` to `none`"


def test_a_dry_job_leaves_nothing_behind(store, marking, tmp_path):
    """A dry job says what is left and its cost, by the work on some rows; no model is opened if all is known."""
    job = Job(marking, TASK, (Request(EXAMPLES),))
    estimate = run_job(replace(job, dry=True), store, ResourceCache(), silent).estimate
    assert (estimate.predict, estimate.explain, estimate.passes) == (3, 0, 3)
    assert estimate.usage.seconds > 0
    assert list((store.root / "v2").iterdir()) == []
    run_job(job, store, ResourceCache(), silent)
    assert opened(marking, tmp_path) == 2
    assert run_job(replace(job, dry=True), store, ResourceCache(), silent).estimate is None
    assert opened(marking, tmp_path) == 2


def test_what_cannot_be_written_is_told_before_a_model_is_opened(store, marking, tmp_path):
    """A file stands where the folder of the key should be: it would be told after hours of work."""
    job = Job(marking, TASK, (Request(EXAMPLES),))
    folder = store.root / "v2" / key_digest(key_of(job, None, ResourceCache()))[:32]
    folder.write_text("")
    with refuses(StoreError, place=folder):
        run_job(job, store, ResourceCache(), silent)
    assert opened(marking, tmp_path) == 0


def test_a_run_without_a_store_leaves_nothing_behind(tmp_path, monkeypatch):
    """Answers are kept for as long as the run lasts."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    responses, failures = run_models(inspect_models([Toy("a")]), TASK, [[Request(EXAMPLES)]], Runtime())
    assert (failures, len(responses["a"].answers[0].predictions)) == ({}, 3)
    assert list(tmp_path.iterdir()) == []


def test_answers_at_hand_are_read_and_not_kept(store):
    """Nor is an attribution made of them; what they are known by is told all the same."""
    models = inspect_models([Toy("a", precomputed=True), Toy("b")])
    requests = [[Request(EXAMPLES), Request(EXAMPLES, LIME, optional=True)]] * 2
    responses, failures = run_models(models, TASK, requests, Runtime(store=store))
    assert failures == {}
    for name in "ab":
        predicted, attributed = responses[name].answers
        assert (responses[name].content, attributed) == (name, None)
        np.testing.assert_array_equal(predicted.predictions.probs, truth(name, EXAMPLES))
    assert [entry.called for entry in contents(store.root) if entry.rows] == ["b"]
    needed = [[Request(EXAMPLES, LIME)]] * 2
    assert list(run_models(models, TASK, needed, Runtime(store=store))[1]) == ["a", "b"]


class Troubled(Toy):
    """A model that cannot be read, and says so."""

    def inspect(self, cache):
        """Raise the source's trouble."""
        return ModelInfo(self, trouble=f"{self.name} is not there")


def test_a_model_with_trouble_is_left_out_and_not_asked(store, caplog):
    """In one line; what it would be asked is asked of the others."""
    models = inspect_models([Troubled("a"), Toy("b")])
    responses, failures = run_models(models, TASK, [[Request(EXAMPLES)]] * 2, Runtime(store=store))
    assert isinstance(responses["b"], RawResponses)
    assert (list(responses), responses["b"].content, failures) == (["b"], "b", {"a": "a is not there"})
    assert caplog.messages == ["a is left out: a is not there"]


def test_sources_of_ones_own_are_ranked_beside_checkpoints(tmp_path):
    """Sources of one's own are named like any model, wherever one is named."""
    rows = sets.load("hans-sub", limit=12)
    folder = suites.bundled_suites()["hans-sub-mini"] / "untouched"
    ranking = rank([Toy("mine"), str(folder), Toy("yours")], rows, probe=2, evidence=Evidence("none", methods=()),
                   runtime=Runtime(store=tmp_path))  # fmt: skip
    assert {model.name for model in ranking.evaluation.models} == {"mine", "untouched", "yours"}
    assert ranking.header.provenance.models["mine"] == "mine"
    good = truth("mine", rows.examples).argmax(axis=1) == [example.target for example in rows.examples]
    outcomes = {model.name: model.outcome for model in ranking.evaluation.models}
    assert outcomes["mine"] == pytest.approx(good.mean())


def test_models_are_looked_at_once():
    """Models that were looked at before are taken as they are."""
    looks = []

    class Counting(Toy):
        def inspect(self, cache):
            looks.append(self.name)
            return super().inspect(cache)

    first = inspect_models(Suite("two", (Model(Counting("a")), Model(Counting("b")))))
    assert inspect_models(first) is first
    assert [model.name for model in first.models] == looks == ["a", "b"]
    assert first.name == "two"


def test_a_failure_is_a_models_own(store):
    """The failure has no keys, and the store is asked for nothing of it."""
    job = Job(Toy("bad", "fails"), TASK, (Request(EXAMPLES),))
    assert run_job(job, store, ResourceCache(), silent).failure == "bad cannot be run"
