import pytest
import torch

from factors import Example
from ranker.attribution.settings import LIMESettings, OcclusionSettings
from ranker.datasets import sets
from ranker.runtime.base import Request
from ranker.runtime.estimate import Estimate, estimate, minutes
from ranker.runtime.guest import Subject
from ranker.runtime.store import Store
from ranker.sources import suites
from ranker.sources.base import ModelOptions
from ranker.sources.hf.classifiers import Classifier

MODEL = suites.load(["hans-sub-mini"]).models[0]
NLI = sets.cards()["hans-sub"].task
LIME = LIMESettings(samples=10)
EXAMPLES = tuple(Example(who, (f"The {who} ran.", "It ran."), 1) for who in ("cat", "dog", "old dog"))


def test_what_is_known_costs_nothing(tmp_path):
    """Only what the store lacks is counted; where it lacks nothing, no model is loaded."""
    store = Store(tmp_path)
    subject = Subject(MODEL, NLI, ModelOptions(), store)
    asked = [Request("all", EXAMPLES), Request("two", EXAMPLES[:2], LIME), Request("one again", EXAMPLES[1:2], LIME)]
    first = estimate(subject, asked)
    assert (first.predict, first.explain, first.passes) == (3, 2, 3 + 2 * 10)
    assert first.rate > 0
    assert first.seconds == pytest.approx(first.passes / first.rate)
    subject.predictions(EXAMPLES)
    subject.attributions(EXAMPLES[:1], LIME)
    assert estimate(subject, asked).passes == 10
    subject.attributions(EXAMPLES[:2], LIME)
    fresh = Subject(MODEL, NLI, ModelOptions(), store)
    assert estimate(fresh, asked).passes == 0
    assert not fresh._loaded


def test_all_that_is_asked_counts():
    """Of each backend its own passes, and each row once; what is explained is that of the backend that lacks most."""
    subject = Subject(MODEL, NLI, ModelOptions())
    words = OcclusionSettings()
    found = estimate(subject, [Request("words", EXAMPLES[:1], words), Request("all", EXAMPLES, LIME)])
    assert (found.predict, found.explain) == (0, 3)
    assert found.passes == 3 * 10 + (1 + 7)  # "The cat ran ." and "It ran ."


def test_a_batch_that_memory_has_no_room_for_is_halved(monkeypatch):
    """As the work itself halves it: an estimate is no reason to end a run."""
    subject, whole = Subject(MODEL, NLI, ModelOptions(token_budget=400)), Classifier.network

    def small(classifier, batch):
        if batch.ids.numel() > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(classifier, batch)

    monkeypatch.setattr(Classifier, "network", small)
    assert estimate(subject, [Request("all", EXAMPLES, LIME)]).rate > 0


def test_an_estimate_reads_as_a_line():
    """Passes, speed and time stand in one line; nothing to do is said."""
    assert str(Estimate(600, 600, 93_000, 1550.0)) == (
        "600 rows to predict, 600 to explain: 93,000 forward passes at 1,550 a second, at least 1.0 min"
    )
    assert str(Estimate(0, 0, 0, float("nan"))) == "all is known"


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0 s"), (59, "59 s"), (61, "1.0 min"), (3600, "1.0 h")])
def test_durations_have_the_unit_that_suits_them(seconds, text):
    """Seconds below a minute, minutes below an hour."""
    assert minutes(seconds) == text
