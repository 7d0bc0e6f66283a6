"""An executor of one's own: threads, which carry the same messages as processes do; and what sources need."""

import os
import queue
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refuses
from toys import ROWS, TASK, Toy, truth

from ranker.errors import UnknownName, UsageError
from ranker.progress import silent
from ranker.runs.collect import run_models
from ranker.runs.inspected import inspect_models
from ranker.runtime.base import NOTHING, Request
from ranker.runtime.executors import named
from ranker.runtime.executors.named import ExecutorOptions, executor_named
from ranker.runtime.executors.processes import Processes
from ranker.runtime.executors.serial import Serial
from ranker.runtime.executors.supervision import handle_message, missing_work
from ranker.runtime.executors.worker_process import Inbox, Outbox, report_task
from ranker.runtime.runtime import Runtime
from ranker.runtime.upkeep import verify
from ranker.sources.base import ModelInfo, Needs, ResourceCache
from ranker.tasks.classes import ClassProbabilities


class Threads:
    """Models at work in threads, two at a time."""

    def run(self, jobs, store, progress, resources=NOTHING):
        """Each thread's messages come through one queue."""
        tasks = yield from missing_work(jobs, store, resources)
        came, inboxes = queue.Queue(), [Inbox() for _ in tasks]
        with ThreadPoolExecutor(2) as pool:
            for place, task in enumerate(tasks):
                write = lambda content, place=place: came.put((place, content))  # noqa: E731
                pool.submit(report_task, task, ResourceCache(), Outbox(write))
            left = len(tasks)
            while left:
                place, content = came.get(timeout=60)
                inboxes[place].take(content)
                for message in inboxes[place].messages():
                    done = handle_message(message, tasks[place], store, lambda rows: None)
                    if done is not None:
                        left -= 1
                        yield tasks[place].number, done


@pytest.mark.parametrize("bad", ["panics", "nothing"])
def test_another_transport_is_one_file(tmp_path, bad):
    """Threads give what processes do: answers in the store, and one line for a model that fails."""
    toys = [Toy("a"), Toy("bad", bad), Toy("c")]
    runtime = Runtime(store=tmp_path, executor=Threads(), progress=silent)
    responses, failures = run_models(inspect_models(toys), TASK, [[Request(ROWS)]] * 3, runtime)
    assert (list(failures), len(responses)) == (["bad"] * (bad == "panics"), 3 - (bad == "panics"))
    for name, response in responses.items():
        assert np.array_equal(response.answers[0].predictions.probs, truth(name, ROWS))
    assert not verify(tmp_path)[1]


@dataclass(frozen=True)
class Asking(Toy):
    """A model behind an endpoint: it needs a key, and says which variables it sees."""

    def inspect(self, cache):
        """Of four such models and more, four are asked at a time."""
        return ModelInfo(self, needs=Needs(secrets=("MOON_API_KEY",), network=True, at_once=4, silence=30))

    def open(self, task, machine, cache):
        """Mark the beginning and the end, and what is seen then."""
        return SimpleNamespace(name=self.name, predict=self.predict)

    def predict(self, examples, advance):
        """The truth of its name."""
        names = sorted(name for name in os.environ if name.endswith(("_KEY", "_proxy")))
        with open(self.file, "a", encoding="utf-8") as file:
            file.write(f"+ {' '.join(names)}\n")
        deadline = time.monotonic() + 20
        while Path(self.file).read_text().count("+") < int(self.does) and time.monotonic() < deadline:
            time.sleep(0.05)  # until so many have begun
        time.sleep(0.2)
        with open(self.file, "a", encoding="utf-8") as file:
            file.write("-\n")
        yield ClassProbabilities(truth(self.name, examples))


@pytest.mark.more
def test_what_a_source_needs_is_had_and_no_more(tmp_path, monkeypatch):
    """The worker sees its source's secret, proxies and no other secret; so many workers ask at a time."""
    for name in ("MOON_API_KEY", "SUN_API_KEY", "https_proxy"):
        monkeypatch.setenv(name, "x")
    toys = [Asking(str(n), "4", file=str(tmp_path / "log")) for n in range(7)]
    runtime = Runtime(store=tmp_path / "store", executor=Processes(), progress=silent)
    responses, failures = run_models(inspect_models(toys), TASK, [[Request(ROWS)]] * 7, runtime)
    assert (len(responses), failures) == (7, {})
    lines = (tmp_path / "log").read_text().splitlines()
    assert {line for line in lines if line.startswith("+")} == {"+ MOON_API_KEY https_proxy"}
    at_once = [sum(1 if line[0] == "+" else -1 for line in lines[: end + 1]) for end in range(len(lines))]
    assert max(at_once) == 4
    mark = tmp_path / "other"
    monkeypatch.setattr(Asking, "inspect", lambda self, cache: ModelInfo(self))
    run_models(
        inspect_models([Asking("n", "1", file=str(mark))]), TASK, [[Request(ROWS)]], replace(runtime, store=None)
    )
    assert mark.read_text().startswith("+ \n")


def test_needs_are_numbers_above_zero():
    """One line, otherwise."""
    with refuses(UsageError, option="needs.at_once", value=0):
        Needs(at_once=0)


def test_an_executor_is_named(monkeypatch):
    """The executor is one of ours, or of a package, and gets the options of the run."""
    point = SimpleNamespace(name="threads", value="mine:threads", dist=None, load=lambda: lambda options: Threads())
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == named.GROUP else [])
    assert executor_named("serial") == Serial()
    assert executor_named("auto", ExecutorOptions(3, memory=10**9)) == Processes(3, memory=10**9)
    assert executor_named("auto", ExecutorOptions(1, limits=False)) == Serial()
    assert isinstance(executor_named("threads"), Threads)
    with refuses(UnknownName, value="thread"):
        executor_named("thread")
    point.load = lambda: lambda options: 3
    with refuses(UsageError, value="int", place="a package, entry point 'threads' of 'rank_models.executors'"):
        executor_named("threads")
