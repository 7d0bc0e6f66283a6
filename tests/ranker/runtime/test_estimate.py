from dataclasses import replace

import pytest
import torch
from asking import Subject

from factors import Example
from ranker.attribution.settings import LIMESettings, OcclusionSettings
from ranker.datasets import sets
from ranker.numbers import minutes
from ranker.progress import silent
from ranker.runtime.base import Request, TimeEstimate
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.runtime.worker import run_job
from ranker.sources import suites
from ranker.sources.base import Machine, ResourceCache
from ranker.sources.hf.classifiers import Classifier, TextClassifier

SOURCE = suites.load(["hans-sub-mini"]).models[0].source
NLI = sets.cards()["hans-sub"].task
LIME = LIMESettings(samples=10)
EXAMPLES = tuple(Example(who, (f"The {who} ran.", "It ran."), 1) for who in ("cat", "dog", "old dog"))


def estimated(subject, *requests):
    """What a dry job says; None where all is known."""
    with Runtime(store=subject.store).open_store() as store:
        done = run_job(replace(subject.job(*requests), dry=True), store, ResourceCache(), silent)
        for key in done.keys:
            store.close(key)
    assert not done.failure
    return done.estimate


def test_what_is_known_costs_nothing(tmp_path, monkeypatch):
    """Only what the store lacks is counted; where it lacks nothing, no model is loaded."""
    subject = Subject(SOURCE, NLI, store=Store(tmp_path))
    asked = [Request(EXAMPLES), Request(EXAMPLES[:2], LIME), Request(EXAMPLES[1:2], LIME)]
    first = estimated(subject, *asked)
    assert (first.predict, first.explain, first.passes) == (3, 2, 3 + 2 * 10)
    assert first.rate > 0
    assert first.seconds == pytest.approx(first.passes / first.rate)
    subject.predictions(EXAMPLES)
    subject.attributions(EXAMPLES[:1], LIME)
    assert estimated(subject, *asked).passes == 10
    subject.attributions(EXAMPLES[:2], LIME)
    monkeypatch.setattr(TextClassifier, "load", None)
    assert estimated(subject, *asked) is None


def test_all_that_is_asked_counts():
    """Of each backend its own passes, and each row once; what is explained is that of the backend that lacks most."""
    subject = Subject(SOURCE, NLI)
    words = OcclusionSettings()
    found = estimated(subject, Request(EXAMPLES[:1], words), Request(EXAMPLES, LIME))
    assert (found.predict, found.explain) == (0, 3)
    assert found.passes == 3 * 10 + (1 + 7)  # "The cat ran ." and "It ran ."


def test_a_batch_that_memory_has_no_room_for_is_halved(monkeypatch):
    """As the work itself halves it: an estimate is no reason to end a run."""
    subject, whole = Subject(SOURCE, NLI, Machine(token_budget=400)), Classifier.network

    def small(classifier, batch):
        if batch.ids.numel() > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(classifier, batch)

    monkeypatch.setattr(Classifier, "network", small)
    assert estimated(subject, Request(EXAMPLES, LIME)).rate > 0


def test_an_estimate_reads_as_a_line():
    """Passes, speed and time stand in one line; a speed that is not known does not."""
    assert str(TimeEstimate(600, 600, 93_000, 1550.0)) == (
        "rows: 600 to predict, 600 to explain; at least 1.0 min (93,000 forward passes, 1,550 a second)"
    )
    assert str(TimeEstimate(600, 0, 600, float("nan"))) == "rows: 600 to predict (600 forward passes)"


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0 s"), (59, "59 s"), (61, "1.0 min"), (3600, "1.0 h")])
def test_durations_have_the_unit_that_suits_them(seconds, text):
    """Seconds below a minute, minutes below an hour."""
    assert minutes(seconds) == text
