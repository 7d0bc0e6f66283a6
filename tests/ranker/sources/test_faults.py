"""Sources that raise: whatever it is, and whenever, their model is left out in a line, and the others go on."""

import logging
from dataclasses import dataclass

import pytest

from factors.types import Example
from ranker.errors import DataError, FetchError, ModelError, StoreError, UsageError
from ranker.runs.collect import run_models
from ranker.runs.inspected import InspectedModels
from ranker.runtime.base import Request
from ranker.runtime.executors.processes import Processes
from ranker.runtime.executors.serial import Serial
from ranker.runtime.runtime import Runtime
from ranker.sources.faults import model_errors
from ranker.sources.suites import Model
from ranker.sources.texts import TextSource
from ranker.tasks.classes import ClassificationTask

MOOD = ClassificationTask("mood", ("negative", "positive"))
REQUESTS = (Request([Example(f"{n}", (f"row {n}",), n % 2) for n in range(3)]),)


class Panic(BaseException):
    """An error of native libraries."""


FAULTS = {
    "a bug": (KeyError("logits"), "KeyError: 'logits'"),
    "many lines": (RuntimeError("one\ntwo"), "RuntimeError: one"),
    "no words": (AssertionError(), "AssertionError"),
    "a deep one": (RecursionError("too deep"), "RecursionError: too deep"),
    "the system": (OSError(5, "Input/output error"), "OSError: [Errno 5] Input/output error"),
    "the memory": (MemoryError(), "MemoryError"),
    "a panic": (Panic("index out of bounds"), "Panic: index out of bounds"),
    "a model's": (ModelError("m cannot be run"), "m cannot be run"),
    "the hub's": (FetchError("m cannot be had"), "m cannot be had"),
    "a journal's": (StoreError("the journal cannot be read"), "the journal cannot be read"),
}  # fmt: skip
"""What a source raises -> the line."""


@dataclass(frozen=True)
class Faulty(TextSource):
    """A source that raises at one moment."""

    name: str
    moment: str = ""
    fault: str = "a bug"

    def reach(self, moment):
        """Raise, if the moment has come."""
        if moment == self.moment:
            raise FAULTS[self.fault][0]

    def inspect(self, cache):
        """State what the model is."""
        self.reach("inspect")
        return super().inspect(cache)

    def labels(self):
        """Labels of the model."""
        return MOOD.labels

    def identity(self, *arguments):
        """Part of the store's key."""
        self.reach("identity")
        return super().identity(*arguments)

    def open(self, *arguments):
        """The model."""
        self.reach("open")
        return FaultyModel(self) if self.moment == "predict" else super().open(*arguments)

    def content(self):
        """Version of the model."""
        return "1"

    def probabilities(self, texts):
        """Answers of the model."""
        return [[0.2, 0.8] for _ in texts]


@dataclass(frozen=True)
class FaultyModel:
    """A model that raises when it is asked."""

    source: Faulty

    def predict(self, examples, advance):
        """Raise, or answer nothing."""
        self.source.reach("predict")
        yield


SERIAL = Serial()


def asked(sources, executor=SERIAL):
    """Answers of models, and the reasons why others were left out."""
    models = InspectedModels(tuple(map(Model, sources)))
    return run_models(models, MOOD, [REQUESTS] * len(sources), Runtime(executor=executor))


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_a_source_raises_leaves_out_its_model_in_a_line(fault):
    """At each moment: while it is inspected, identified, opened or asked."""
    moments = ("inspect", "identity", "open", "predict")
    answers, failures = asked([*(Faulty(moment, moment, fault) for moment in moments), Faulty("well")])
    assert list(answers) == ["well"]
    assert failures == dict.fromkeys(moments, FAULTS[fault][1])


@pytest.mark.more
def test_a_worker_says_the_same():
    """As in this process."""
    sources = [Faulty("open", "open"), Faulty("predict", "predict"), Faulty("identity", "identity"), Faulty("well")]
    answers, failures = asked(sources, Processes(1))
    assert list(answers) == ["well"]
    assert failures == dict.fromkeys(("open", "predict", "identity"), "KeyError: 'logits'")


def test_the_traceback_is_in_the_log_at_level_debug(caplog):
    """A line each, and none above that level."""
    with caplog.at_level(logging.DEBUG, "ranker"):
        asked([Faulty("m", "predict")])
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert "Traceback (most recent call last):" in lines
    assert "KeyError: 'logits'" in lines
    assert any("in reach" in line for line in lines)
    assert not any("Traceback" in record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG)


@pytest.mark.parametrize(
    "error", [UsageError("no"), DataError("no"), KeyboardInterrupt(), SystemExit(), GeneratorExit()]
)
def test_errors_of_arguments_and_stops_pass(error):
    """Such errors are of the run, and not of one model."""
    with pytest.raises(type(error)) as passed, model_errors():
        raise error
    assert passed.value is error
