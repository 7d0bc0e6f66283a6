from dataclasses import replace

import numpy as np
import pytest
import torch
from asking import Subject

from factors import Example
from ranker.attribution.settings import LIMESettings, OcclusionSettings
from ranker.datasets import sets
from ranker.numbers import minutes
from ranker.progress import silent
from ranker.runtime.base import Request, TimeEstimate, Usage, WorkItem
from ranker.runtime.estimate import estimate
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.runtime.worker import run_job
from ranker.sources import suites
from ranker.sources.base import Machine, ResourceCache
from ranker.sources.hf.classifiers import Classifier, TextClassifier
from ranker.tasks.classes import ClassProbabilities

SOURCE = suites.load(["hans-sub-mini"]).models[0].source
NLI = sets.cards()["hans-sub"].task
LIME = LIMESettings(samples=10)
EXAMPLES = tuple(Example(text, (f"The {text} ran.", "It ran."), 1) for text in ("cat", "dog", "old dog"))


def estimated(subject, *requests):
    """Estimate a job dry; None if all is known."""
    with Runtime(store=subject.store).open_store() as store:
        done = run_job(replace(subject.job(*requests), dry=True), store, ResourceCache(), silent)
        for key in done.keys:
            store.close(key)
    assert not done.failure
    return done.estimate


def test_what_is_known_costs_nothing(tmp_path, monkeypatch):
    """Only what the store lacks is counted; where it lacks nothing, no model is loaded."""
    subject = Subject(SOURCE, NLI, store=Store(tmp_path))
    requests = [Request(EXAMPLES), Request(EXAMPLES[:2], LIME), Request(EXAMPLES[1:2], LIME)]
    first = estimated(subject, *requests)
    assert (first.predict, first.explain, first.passes) == (3, 2, 3 + 2 * 10)
    assert first.rate == pytest.approx(first.passes / (first.usage.seconds - first.load))
    assert first.usage.memory > 50_000_000
    assert first.usage.stored > 1_000
    subject.predictions(EXAMPLES)
    subject.attributions(EXAMPLES[:1], LIME)
    assert estimated(subject, *requests).passes == 10
    subject.attributions(EXAMPLES[:2], LIME)
    monkeypatch.setattr(TextClassifier, "load", None)
    assert estimated(subject, *requests) is None


def test_all_that_is_asked_counts():
    """Of each backend its own passes, and each row once; what is explained is that of the backend that lacks most."""
    subject = Subject(SOURCE, NLI)
    words = OcclusionSettings()
    estimate = estimated(subject, Request(EXAMPLES[:1], words), Request(EXAMPLES, LIME))
    assert (estimate.predict, estimate.explain) == (0, 3)
    assert estimate.passes == 3 * 10 + (1 + 7)  # "The cat ran ." and "It ran ."


def test_a_batch_that_memory_has_no_room_for_is_halved(monkeypatch):
    """As the work itself halves it: an estimate is no reason to end a run."""
    subject, network = Subject(SOURCE, NLI, Machine(token_budget=400)), Classifier.network

    def small(classifier, batch):
        if batch.ids.numel() > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return network(classifier, batch)

    monkeypatch.setattr(Classifier, "network", small)
    assert estimated(subject, Request(EXAMPLES, LIME)).rate > 0


def test_an_estimate_reads_as_a_line():
    """Passes, speed and time stand in one line; a speed that is not known does not."""
    assert str(TimeEstimate(600, 600, 93_000, 2.0, Usage(62.0, 400_000_000, 1_230_000))) == (
        "rows: 600 to predict, 600 to explain; 1.0 min of processor time, 400 MB of memory a worker, 1.23 MB to store "
        "(93,000 forward passes, 1,550 a second)"
    )
    assert str(TimeEstimate(600, 0, 600)) == "rows: 600 to predict (600 forward passes)"


class WorkClock:
    """A clock that a model moves: 3 s to load, some to begin with, and .01 s for each row."""

    def __init__(self, monkeypatch, once=0.0):
        self.now, self.once, self.asked = 0.0, once, []
        monkeypatch.setattr("ranker.runtime.estimate.time.process_time", lambda: self.now)

    def open(self, settings):
        """Load."""
        self.now += 3.0
        return self

    def ask(self, model, order):
        """Answer each row, in one block."""
        self.now += 0.01 * len(order.examples) + (0.0 if self.asked else self.once)
        self.asked.append(len(order.examples))
        return [ClassProbabilities(np.full((len(order.examples), 2), 0.5))]


def test_the_work_is_measured_on_a_part_of_it(monkeypatch):
    """After the first, on 1, 4, 16 and 64 rows, until they take half a second: 5,000 take 50 s, and loading 3 s."""
    clock, examples = WorkClock(monkeypatch), [Example(f"{n}", (f"Row {n}.",), 0) for n in range(5_000)]
    todo = estimate(clock.open, clock.ask, [WorkItem({}, None, examples, False)], Machine())
    assert clock.asked == [1, 1, 4, 16, 64]
    assert (todo.predict, todo.passes, todo.load) == (5_000, 5_000, 3.0)
    assert todo.usage.seconds == pytest.approx(53.0)
    assert todo.rate == pytest.approx(100.0)
    assert todo.usage.stored / 5_000 == pytest.approx(60, rel=0.5)  # 32 for the name, 16 and 8 before compression


def test_what_is_done_once_counts_once(monkeypatch):
    """A prefix of 5 s before the first of 101 rows is no part of the speed of the others."""
    clock, examples = WorkClock(monkeypatch, once=5.0), [Example(f"{n}", (f"Row {n}.",), 0) for n in range(101)]
    todo = estimate(clock.open, clock.ask, [WorkItem({}, None, examples, False)], Machine())
    assert todo.usage.seconds == pytest.approx(3.0 + 5.0 + 1.01)


@pytest.mark.parametrize(("rows", "expected"), [(1, [1]), (7, [1, 1]), (65, [1, 1, 4, 8])])
def test_no_more_than_an_eighth_is_measured(monkeypatch, rows, expected):
    """Work that is measured is done twice, so a part is measured if all rows take less than half a second."""
    clock, examples = WorkClock(monkeypatch), [Example(f"{n}", (f"Row {n}.",), 0) for n in range(rows)]
    todo = estimate(clock.open, clock.ask, [WorkItem({}, None, examples, False)], Machine())
    assert todo.usage.seconds == pytest.approx(3.0 + 0.01 * rows)
    assert clock.asked == expected


def test_finished_work_states_its_cost(tmp_path):
    """Time and memory of the work, none where all is known, and no estimate, since none was asked for."""
    subject = Subject(SOURCE, NLI, store=Store(tmp_path))
    with Runtime(store=subject.store).open_store() as store:
        done = run_job(subject.job(Request(EXAMPLES)), store, ResourceCache(), silent)
        assert done.used.seconds > 0
        assert done.used.memory > 50_000_000
        assert done.estimate is None
        assert sum(store.close(key) for key in done.keys) > 1_000
        assert run_job(subject.job(Request(EXAMPLES)), store, ResourceCache(), silent).used is None


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0 s"), (59, "59 s"), (61, "1.0 min"), (3600, "1.0 h")])
def test_durations_have_the_unit_that_suits_them(seconds, text):
    """Seconds below a minute, minutes below an hour."""
    assert minutes(seconds) == text
