"""Progress of the steps of a run whose time goes in factors, draws and comparisons, not in models."""

from contextlib import contextmanager

import pytest

from factors import Factor
from ranker import Evidence, decide, load_set, load_suite, rank
from ranker.progress import Activity
from ranker.runtime.runtime import Runtime
from ranker.scoring import decision, evaluation

CALM = Factor("CALM", lambda attributions, example: float(attributions.probs[0]), True, "predicted", "", "baseline")


class Recorder:
    """A progress that keeps each activity's texts, its total, and how many steps were done at each text."""

    def __init__(self):
        self.activities = []

    @contextmanager
    def __call__(self, label, total):
        """Open a stage."""
        texts, done = [], [0]
        if isinstance(label, Activity):
            self.activities.append((str(label), total, texts, done))

        def advance(count):
            done.append(done[-1] + count)
            texts.append(str(label))

        yield advance


@pytest.fixture
def runtime(tmp_path):
    """Keeps answers in a folder of its own."""
    return Runtime(store=tmp_path, progress=Recorder())


def models():
    """Three embedded models."""
    return load_suite(["hans-sub-mini"]).models[-3:]


def named(activities, text):
    """The one activity of a name."""
    (activity,) = [activity for activity in activities if activity[0] == text]
    return activity


def test_a_decision_tells_its_steps_in_order(runtime):
    """Each before it begins; at the last all others are done."""
    decide(models(), load_set("hans-sub", limit=6), evidence=Evidence("none"), runtime=runtime)
    _, total, texts, done = named(runtime.progress.activities, "comparing 3 models")
    assert texts == [f"comparing 3 models: {step}" for step in decision.STEPS]
    assert (total, done[-1]) == (len(decision.STEPS), len(decision.STEPS) - 1)


@pytest.mark.more
def test_an_evaluation_tells_its_steps_in_order(runtime):
    """Each before it begins; at the last all others are done."""
    rank(models(), load_set("hans-sub", limit=12), probe=2, evidence=Evidence("none"), runtime=runtime)
    _, total, texts, done = named(runtime.progress.activities, "methods on 3 models")
    assert texts == [f"methods on 3 models: {step}" for step in evaluation.STEPS]
    assert (total, done[-1]) == (len(evaluation.STEPS), len(evaluation.STEPS) - 1)


def test_factors_are_told_with_their_model(runtime):
    """Every factor on every model, before it is applied; a model counts once all of its factors were."""
    evidence = Evidence("none", factors=[CALM])
    ranking = decide(models(), load_set("hans-sub", limit=4), evidence=evidence, runtime=runtime)
    _, total, texts, done = named(runtime.progress.activities, "factors")
    assert {model.name for model in ranking.decision.models} == {
        text.removeprefix("factors: CALM on ") for text in texts if text.startswith("factors: CALM on ")
    }
    assert total == done[-1] == 3
    first, second = (texts.index(f"factors: CALM on {model.name}") for model in models()[:2])
    assert (done[first + 1], done[second + 1]) == (0, 1)
