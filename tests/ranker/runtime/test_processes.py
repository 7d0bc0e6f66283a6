"""Models run side by side: the same numbers, whatever happens to a process."""

import logging
import multiprocessing
import os
import signal
import time
from dataclasses import replace

import pytest
from conftest import make_checkpoint

from ranker import rank
from ranker.datasets import sets
from ranker.errors import UsageError
from ranker.runs.choose import choose
from ranker.runtime.executors import processes as workers
from ranker.runtime.store import Store
from ranker.runtime.upkeep import contents, verify
from ranker.sources import suites
from ranker.sources.base import ModelOptions
from ranker.sources.hf.classifiers import Classifier

TWO = ModelOptions(workers=2)


def killed(jobs, *rest):
    """A process that the system kills after the first model."""
    workers.work(jobs[:1], *rest)
    os.kill(os.getpid(), signal.SIGKILL)


def levelled(jobs, task, options, store, *rest):
    """A process without work, which leaves in the store's folder from which level on it logs."""
    workers.work([], task, options, store, *rest)
    (store.root / "level").write_text(logging.getLevelName(logging.getLogger("ranker").level))


def noted(jobs, task, options, store, *rest):
    """A process that has a file in the store's folder, named by its id, while it works."""
    note = store.root / f"{os.getpid()}.pid"
    note.touch()
    try:
        workers.work(jobs, task, options, store, *rest)
    finally:
        note.unlink()


def run_for_minutes(suite, rows, root):
    """A run with two workers."""
    workers.work = noted
    rank(suite, rows, attribution="lime", store=Store(root), options=TWO)


@pytest.fixture(scope="module")
def suite():
    """Three embedded models."""
    folder = suites.embedded()["hans-sub-mini"]
    return suites.load([str(folder / name) for name in ("untouched", "inoc-50", "inoc-4000")])


@pytest.fixture(scope="module")
def rows():
    """A few rows, of which four are explained."""
    loaded = sets.load("hans-sub")
    return replace(loaded, examples=loaded.examples[:12], population=4)


@pytest.fixture
def loads(monkeypatch):
    """The checkpoints that this process loads."""
    found = []
    load = Classifier.load
    monkeypatch.setattr(Classifier, "load", lambda path, *rest, **more: found.append(path) or load(path, *rest, **more))
    return found


def numbers(ranking):
    """Every method's scores of every model."""
    return [[score for _, score in sorted(model.scores.items())] for model in ranking.models]


class Stage:
    """A stage of the work, and what it was told."""

    def __init__(self, label, total):
        self.label, self.total, self.done = label, total, 0

    def __enter__(self):
        return self.advance

    def __exit__(self, *_):
        """Nothing is closed."""

    def advance(self, count):
        """More rows are done."""
        self.done += count


@pytest.mark.parametrize(
    ("models", "cores", "free", "expected"),
    [(3, 8, None, 3), (3, 2, None, 2), (3, 8, 1_300_000_000, 2), (3, 8, 1_000, 1), (0, 8, None, 1)],
)
def test_auto_is_as_many_as_work_cores_and_memory_allow(suite, monkeypatch, models, cores, free, expected):
    """The least of the three, and at least one; a process with an embedded model needs some 600 MB."""
    monkeypatch.setattr(workers, "cores", lambda: cores)
    monkeypatch.setattr(workers, "free_memory", lambda: free)
    assert 0.5e9 < workers.needs(suite.models[0], TWO) < 0.65e9
    assert workers.fair([(model, ()) for model in suite.models[:models]], ModelOptions(workers="auto")) == expected


def test_auto_is_one_on_an_accelerator(suite, monkeypatch):
    """Models beside each other share its memory, and gain nothing."""
    monkeypatch.setattr(workers, "cores", lambda: 8)
    jobs = [(model, ()) for model in suite.models]
    assert workers.fair(jobs, ModelOptions(device="cuda", workers="auto")) == 1


def test_a_model_that_cannot_be_read_needs_what_a_process_does(suite):
    """It is refused when it comes to it, and not here."""
    gone = replace(suite.models[0], path="no/such/folder")
    assert workers.needs(gone, TWO) == workers.PROCESS


@pytest.mark.skipif(not os.path.exists("/proc/meminfo"), reason="only Linux says")
def test_free_memory_is_what_linux_says():
    """More than nothing, and less than there is."""
    assert 0 < workers.free_memory() < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_auto_without_a_store_is_this_process(suite, rows, loads):
    """There is nowhere that others could leave what they find, and nothing to complain of."""
    rank(suite, rows, probe=2, attribution="none", options=ModelOptions(workers="auto"))
    assert len(loads) == len(suite.models)


def test_the_numbers_are_those_of_one_process(suite, rows, tmp_path, loads, caplog, capfd):
    """This process loads what fails, and reports it as ever; all else is in the store when it comes to it."""
    make_checkpoint(tmp_path / "odd", labels=("yes", "no"))
    odd = suites.load([str(tmp_path / "odd"), *(model.path for model in suite.models)])
    stages = []
    capfd.readouterr()
    beside = rank(
        *(odd, rows),
        probe=2,
        store=Store(tmp_path / "beside"),
        options=TWO,
        progress=lambda *stage: stages.append(Stage(*stage)) or stages[-1],
    )
    assert loads == [tmp_path / "odd"]
    assert list(beside.failures) == ["odd"]
    assert caplog.text.count("odd is left out") == 1
    assert capfd.readouterr().err == ""
    assert (stages[0].label, stages[0].total, stages[0].done) == (
        "4 models, 2 at a time",
        4 * 24,
        3 * 24,
    )  # 12 rows of the set, 4 explained, twice 4 for [PAD] and [MASK]
    alone = rank(suite, rows, probe=2, store=Store(tmp_path / "alone"))
    assert [model.name for model in beside.models] == [model.name for model in alone.models]
    for one, other in zip(numbers(beside), numbers(alone), strict=True):
        assert one == pytest.approx(other, abs=1e-6, nan_ok=True)


def test_what_is_known_starts_no_process(suite, rows, tmp_path, monkeypatch):
    """A second run reads the store, and is as fast as ever."""
    store = Store(tmp_path)
    rank(suite, rows, probe=2, store=store)
    monkeypatch.setattr(workers.multiprocessing, "get_context", None)
    rank(suite, rows, probe=2, store=store, options=TWO)


def test_a_killed_process_costs_time_and_nothing_else(suite, rows, tmp_path, monkeypatch, loads, caplog):
    """What it left undone is done by the run itself, which says so."""
    monkeypatch.setattr(workers, "work", killed)
    ranking = rank(suite, rows, probe=2, store=Store(tmp_path), options=TWO)
    assert len(ranking.models) == 3
    assert "a worker ended with status -9; what it left undone is done now" in caplog.text
    assert len(loads) == 2


def test_ctrl_c_ends_the_processes_and_keeps_what_they_have(suite, rows, tmp_path):
    """A process that is told to end keeps what it was asked before, and leaves nothing half written."""

    class Interrupted(Stage):
        def advance(self, count):
            super().advance(count)
            if self.done > 2 * len(rows.examples):  # then one of the two has answered its first question
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank(suite, rows, probe=2, store=Store(tmp_path), options=TWO, progress=Interrupted)
    assert multiprocessing.active_children() == []
    assert sum(one.rows for one in contents(tmp_path)) > 0
    assert verify(tmp_path)[1] == []
    assert not list(tmp_path.rglob("*.tmp"))


def test_workers_end_where_the_run_is_gone(suite, hans, tmp_path):
    """A run that is killed cannot tell its workers; they notice, and write what they have."""
    run = workers.processes_with(workers.PRELOADED).Process(target=run_for_minutes, args=(suite, hans, tmp_path))
    run.start()

    def working(count):
        deadline = time.monotonic() + 60
        while len(notes := list(tmp_path.glob("*.pid"))) != count and time.monotonic() < deadline:
            time.sleep(0.05)
        return notes

    assert len(working(2)) == 2
    run.kill()
    run.join()
    left = working(0)
    for note in left:
        os.kill(int(note.stem), signal.SIGKILL)
    assert left == []
    assert verify(tmp_path)[1] == []


def test_workers_say_no_more_than_the_run(suite, rows, tmp_path, monkeypatch):
    """What `-q` silences is silent in other processes, too."""
    monkeypatch.setattr(workers, "work", levelled)
    logging.getLogger("ranker").setLevel(logging.ERROR)
    rank(suite, rows, probe=2, store=Store(tmp_path), options=TWO)
    assert (tmp_path / "level").read_text() == "ERROR"


def test_a_choice_of_rows_takes_workers_too(suite, rows, tmp_path, loads):
    """Predictions of a big pool are what it spends its time on."""
    alone = choose(suite, rows.task, rows.examples, 3, store=Store(tmp_path / "alone"))
    beside = choose(suite, rows.task, rows.examples, 3, store=Store(tmp_path / "beside"), options=TWO)
    assert beside == alone
    assert len(loads) == 3


def test_without_a_store_there_is_nowhere_to_leave_anything(suite, rows):
    """Said at once."""
    with pytest.raises(UsageError, match="several workers need a store"):
        rank(suite, rows, probe=2, options=TWO)


def test_no_worker_is_a_wrong_number():
    """In the words of the option."""
    with pytest.raises(UsageError, match=r"`--workers` must be at least 1 \(got 0\)"):
        ModelOptions(workers=0)
