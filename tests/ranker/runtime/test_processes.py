"""Models as guests: the same numbers as in this process, and none that misbehaves does harm to the others."""

import json
import logging
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path

import numpy as np
import pytest
from conftest import make_checkpoint
from refusals import refuses
from toys import ROWS, TASK, Toy, truth

from ranker import rank
from ranker.datasets import sets
from ranker.errors import UsageError
from ranker.progress import silent
from ranker.runs.collect import run_models
from ranker.runs.inspected import inspect_models
from ranker.runs.label import label
from ranker.runtime.base import Job, Request
from ranker.runtime.executors import processes, worker_process
from ranker.runtime.executors.processes import Processes, group_by_sharing, processes_with, worker_count
from ranker.runtime.executors.serial import Serial
from ranker.runtime.executors.worker_process import WorkerTask
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.runtime.upkeep import contents, verify
from ranker.scoring.score import Evidence
from ranker.sources import suites
from ranker.sources.base import Machine, Needs

ROOT = Path(__file__).parents[3]
TWO = Processes(2)
QUICK = Evidence("none", methods=())
"""What takes no time, where it does not matter what is measured."""


@pytest.fixture(scope="module")
def suite():
    """Three embedded models."""
    folder = suites.bundled_suites()["hans-sub-mini"]
    return suites.load([str(folder / name) for name in ("untouched", "inoc-50", "inoc-4000")])


@pytest.fixture(scope="module")
def rows():
    """A few rows, of which four are explained."""
    loaded = sets.load("hans-sub")
    return replace(loaded, examples=loaded.examples[:12], population=4)


@pytest.fixture
def loads(monkeypatch):
    """The checkpoints that this process loads."""
    from ranker.sources.hf.classifiers import TextClassifier  # scripts import this module, and need no torch

    loaded = []
    load = TextClassifier.load
    monkeypatch.setattr(
        TextClassifier, "load", lambda path, *flags, **options: loaded.append(path) or load(path, *flags, **options)
    )
    return loaded


def numbers(ranking):
    """Every method's scores of every model."""
    return [[score for _, score in sorted(model.scores.items())] for model in ranking.found.models]


def asked(toys, executor, store=None, rows=ROWS, progress=silent):
    """Ask toys through an executor; return answers by name, and why some failed."""
    models = inspect_models(toys)
    runtime = Runtime(store=store, executor=executor, progress=progress)
    responses, failures = run_models(models, TASK, [[Request(rows)]] * len(toys), runtime)
    return {name: response.answers[0].predictions for name, response in responses.items()}, failures


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


def visitor(number, size=45_000_000, shares="", device="cpu", accelerator=False):
    """A model that is to be a guest."""
    job = Job(
        Toy(str(number), shares=shares), TASK, (), Machine(device), size=size, needs=Needs(accelerator=accelerator)
    )
    return WorkerTask(number, job, None, ())


@pytest.mark.parametrize(
    ("models", "cores", "free", "expected"),
    [(3, 8, None, 3), (3, 2, None, 2), (3, 8, 1_400_000_000, 2), (3, 8, 1_000, 1), (0, 8, None, 1)],
)
def test_auto_is_as_many_as_work_cores_and_memory_allow(monkeypatch, models, cores, free, expected):
    """The least of the three, and at least one."""
    monkeypatch.setattr(processes, "cores", lambda: cores)
    monkeypatch.setattr(processes, "free_memory", lambda: free)
    assert worker_count(group_by_sharing([visitor(n) for n in range(models)])) == expected


def test_auto_is_one_on_an_accelerator(monkeypatch):
    """Models that compute there share its memory, and gain nothing; others do not wait for it."""
    monkeypatch.setattr(processes, "cores", lambda: 8)
    on_device = [visitor(n, device="cuda", accelerator=True) for n in range(3)]
    assert worker_count(group_by_sharing(on_device)) == 1
    assert worker_count(group_by_sharing([visitor(n, device="cuda") for n in range(3)])) == 3


def test_models_that_share_something_are_one_group():
    """Models with a shared part count as one, and the order stays."""
    groups = group_by_sharing([visitor(0), visitor(1, shares="base"), visitor(2), visitor(3, shares="base")])
    assert [[member.number for member in group] for group in groups] == [[0], [1, 3], [2]]


@pytest.mark.skipif(not os.path.exists("/proc/meminfo"), reason="only Linux says")
def test_free_memory_is_what_linux_says():
    """More than nothing, and less than there is."""
    assert 0 < processes.free_memory() < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_no_worker_is_a_wrong_number():
    """In the words of the option."""
    with refuses(UsageError, option="workers", value=0):
        Processes(0)


def test_one_worker_without_limits_is_this_process(suite, rows, loads):
    """No process is started for nothing."""
    rank(suite, rows, probe=2, evidence=QUICK, runtime=Runtime(executor=Processes(limits=False)))
    assert len(loads) == len(suite.models)


@pytest.mark.slow
def test_the_numbers_are_those_of_one_process(suite, rows, tmp_path, loads, caplog, capfd):
    """This process loads nothing; a model that fails is left out in one line, in the words of one process."""
    make_checkpoint(tmp_path / "odd", labels=("yes", "no"))
    odd = suites.load([str(tmp_path / "odd"), *(model.source.path for model in suite.models)])
    stages = []
    capfd.readouterr()
    beside = rank(
        *(odd, rows),
        probe=2,
        runtime=Runtime(
            store=tmp_path / "beside", executor=TWO, progress=lambda *stage: stages.append(Stage(*stage)) or stages[-1]
        ),
    )
    assert loads == []
    assert list(beside.header.failures) == ["odd"]
    assert "say what they mean, for example `label_map=" in beside.header.failures["odd"]
    assert caplog.text.count("odd is left out") == 1
    assert capfd.readouterr().err == ""
    assert (stages[0].label, stages[0].total, stages[0].done) == (
        "4 models, 2 at a time",
        4 * 24,
        3 * 24,
    )  # 12 rows of the set, 4 explained, twice 4 for [PAD] and [MASK]
    alone = rank(suite, rows, probe=2, runtime=Runtime(store=tmp_path / "alone"))
    assert [model.name for model in beside.found.models] == [model.name for model in alone.found.models]
    for with_others, without_others in zip(numbers(beside), numbers(alone), strict=True):
        assert with_others == pytest.approx(without_others, abs=1e-6, nan_ok=True)


@pytest.mark.more
@pytest.mark.usefixtures("bert_server")
def test_a_choice_of_rows_has_guests_too(suite, rows, tmp_path, loads):
    """Predictions of a big pool are what it spends its time on."""
    inputs = {"pool": rows.examples, "models": suite, "task": rows.task}
    alone = label(**inputs, runtime=Runtime(store=tmp_path / "alone"))
    beside = label(**inputs, runtime=Runtime(store=tmp_path / "beside", executor=TWO))
    assert beside.next_batch(3) == alone.next_batch(3)
    assert len(loads) == 3


@pytest.mark.more
@pytest.mark.usefixtures("bert_server")
def test_guests_say_no_more_than_the_run(caplog):
    """A quiet run is quiet in other processes, too, and this process says what is said."""
    long = make_long_rows()
    logging.getLogger("ranker").setLevel(logging.ERROR)
    folder = suites.bundled_suites()["hans-sub-mini"]
    models = suites.load([str(folder / name) for name in ("untouched", "inoc-50")])
    for level, lines in ((logging.ERROR, 0), (logging.WARNING, 2)):
        logging.getLogger("ranker").setLevel(level)
        caplog.clear()
        run_models(
            inspect_models(models), sets.load("hans-sub").task, [[Request(long)]] * 2, Runtime(store=None, executor=TWO)
        )
        assert sum("are longer than its" in record.getMessage() for record in caplog.records) == lines


@pytest.mark.more
@pytest.mark.usefixtures("bert_server")
@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
def test_a_tokenizer_that_never_ends_is_ended(tmp_path, suite):
    """A pattern like (a+)+$ takes twice as long with each letter; the library panics at a limit, or is ended."""
    make_checkpoint(tmp_path / "tiny")
    file = tmp_path / "tiny" / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    tokenizer["pre_tokenizer"] = {
        "type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False
    }  # fmt: skip
    file.write_text(json.dumps(tokenizer))
    rows = [replace(ROWS[0], segments=("a" * 60 + "!", "b"))]
    task, store = sets.load("hans-sub").task, str(tmp_path / "store")
    # known then, however slow this machine is
    run_models(inspect_models(suite), task, [[Request(rows)]] * 3, Runtime(store=store))
    models, runtime = (
        inspect_models([tmp_path / "tiny", *suite.models]),
        Runtime(store=store, executor=Processes(2, patience=15)),
    )
    responses, failures = run_models(models, task, [[Request(rows)]] * 4, runtime)
    assert list(failures) == ["tiny"]
    assert re.fullmatch(".*(retry-limit-in-match over|no sign of life for 15 s, and was ended)", failures["tiny"])
    assert len(responses) == 3


def test_what_is_known_starts_no_process(suite, rows, tmp_path, monkeypatch):
    """A second run reads the store, and is as fast as ever."""
    rank(suite, rows, probe=2, evidence=QUICK, runtime=Runtime(store=tmp_path))
    monkeypatch.setattr(processes.multiprocessing, "get_context", None)
    rank(suite, rows, probe=2, evidence=QUICK, runtime=Runtime(store=tmp_path, executor=TWO))


@pytest.mark.more
def test_what_is_known_needs_no_torch(suite, rows, tmp_path):
    """Nor does what is not known, in the process that supervises."""
    script = textwrap.dedent(
        f"""
        import sys
        from dataclasses import replace
        from multiprocessing import forkserver
        from pathlib import Path
        from ranker import rank
        from ranker.datasets import sets
        from ranker.runtime.executors.processes import Processes
        from ranker.runtime.runtime import Runtime
        from ranker.scoring.score import Evidence

        if __name__ == "__main__":
            loaded = sets.load("hans-sub")
            rows = replace(loaded, examples=loaded.examples[:12], population=4)
            for server in (True, False):
                forkserver._forkserver._stop()
                rank({[model.source.path for model in suite.models]!r}, rows, probe=2,
                     evidence=Evidence("none", methods=()),
                     runtime=Runtime(store={str(tmp_path)!r}, executor=Processes(2)))
                assert (forkserver._forkserver._forkserver_pid is not None) == server, server
            assert "torch" not in sys.modules
        """
    )
    file = tmp_path / "script.py"
    file.write_text(script)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, env=with_root())
    assert done.returncode == 0, done.stderr


def with_root():
    """The environment of this process, in which others find the packages under test."""
    places = [str(ROOT / "tests"), str(ROOT), str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


DEATHS = {
    "is killed": "its process was ended by SIGKILL, perhaps for want of memory",
    "aborts": "its process was ended by SIGABRT",
    "crashes": "its process was ended by SIGSEGV",
    "panics": r"PanicException: called `Option::unwrap\(\)` on a `None` value",
    "leaves": r"its process ended before its work was done \(status 0\)",
    "raises": "ZeroDivisionError: division by zero",
    "hangs": "its process gave no sign of life for 3 s, and was ended",
    "hoards": r"its process may take 1.1 GB of memory",
    "forges": "its process sent what is no answer",
    "claims": "its process sent what is no answer",
    "nests": "its process sent what is no answer",
    "overflows": "its process sent what is no answer",
    "counts up": r"its process sent what is no answer \(a message is too long\)",
    "fails": "bad cannot be run",
}


@pytest.mark.few(1)
@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
@pytest.mark.parametrize("does", DEATHS)
def test_a_model_that_misbehaves_is_left_out_and_the_others_are_ranked(does, tmp_path, caplog, capfd):
    """In one line that says how it ended; what it had answered before is kept, and nothing is printed."""
    executor = Processes(2, memory=1 << 30, patience=3)
    toys = [Toy("a"), Toy("bad", does), Toy("b")]
    predictions, failures = asked(toys, executor, tmp_path)
    assert list(predictions) == ["a", "b"]
    for name, answers in predictions.items():
        np.testing.assert_array_equal(answers.probs, truth(name, ROWS))
    assert list(failures) == ["bad"]
    assert re.search(DEATHS[does], failures["bad"])
    assert "\n" not in failures["bad"]
    assert [record.getMessage() for record in caplog.records] == [f"bad is left out: {failures['bad']}"]
    assert capfd.readouterr().err == ""
    assert verify(tmp_path)[1] == []
    assert not list(tmp_path.rglob("*.tmp"))


def test_one_of_a_group_that_dies_leaves_the_rest_to_another_process(tmp_path):
    """A shared part works in one process, in order, and the death of one is no reason against the others."""
    file = str(tmp_path / "marks")
    toys = [Toy("a", "marks", file, shares="x"), Toy("b", "aborts", shares="x"), Toy("c", "marks", file, shares="x"),
            Toy("d", "marks", file, shares="x"), Toy("e", "marks", file)]  # fmt: skip
    predictions, failures = asked(toys, Processes(1))
    assert (list(predictions), list(failures)) == (["a", "c", "d", "e"], ["b"])
    marks = {name: (process, first) for name, process, first in map(str.split, Path(file).read_text().splitlines())}
    assert marks["c"][0] == marks["d"][0] != marks["a"][0]
    assert marks["d"][1] == "c"  # one cache
    assert marks["e"] == (marks["e"][0], "e")
    assert marks["e"][0] not in (marks["a"][0], marks["c"][0])  # never reused for another group


def test_two_names_of_one_model_are_both_answered(tmp_path):
    """Answers of both are kept under one key, which is closed after the first, and asked for again."""
    toys = [Toy("a", content="same"), Toy("b", content="same"), Toy("c")]
    predictions, failures = asked(toys, TWO, tmp_path)
    assert failures == {}
    assert list(predictions) == ["a", "b", "c"]
    np.testing.assert_array_equal(predictions["a"].probs, predictions["b"].probs)


@pytest.mark.slow
def test_a_slow_model_is_not_a_hung_one(tmp_path):
    """A batch a second is a sign of life, however long all of them take."""
    predictions, failures = asked([Toy("a", "is slow"), Toy("b")], Processes(2, patience=3), rows=ROWS[:16],
                            progress=lambda *_: Impatient())  # fmt: skip
    assert failures == {}
    assert list(predictions) == ["a", "b"]


class Impatient(Stage):
    """A stage that is left alone."""

    def __init__(self):
        super().__init__("", 0)


@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="guests see other things elsewhere")
def test_a_guest_sees_no_secret_and_works_in_an_empty_folder(tmp_path, monkeypatch):
    """Nor do the server and what is forked from it; the folder is gone afterwards."""
    forkserver._forkserver._stop()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setenv("HF_TOKEN", "hush")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "seen.json"
    predictions, failures = asked([Toy("a", "tells", str(file)), Toy("b")], TWO)
    assert failures == {}
    text = file.read_text()
    assert "hush" not in text
    assert '"HF_HUB_OFFLINE": "1"' in text
    assert '"PYTHONSAFEPATH": "1"' in text
    assert '"folder": []' in text
    cwd = re.search(r'"cwd": "([^"]*)"', text)[1]
    assert "rank-models-tmp-" in cwd
    assert not os.path.exists(cwd)
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == "hush"
    assert len(predictions) == 2


def test_a_guest_prints_nothing(tmp_path, capfd):
    """Nothing else may go to the stream of answers."""
    predictions, _ = asked([Toy("a", "prints"), Toy("b")], TWO)
    assert len(predictions) == 2
    assert capfd.readouterr() == ("", "")


def test_a_model_that_changes_meanwhile_is_left_out(tmp_path):
    """The key under which its answers would be kept is not that of what was loaded."""
    file = tmp_path / "content"
    file.write_text("one")
    models = inspect_models([Toy("a", "reads", str(file)), Toy("b")])

    class Changing(Stage):
        def __enter__(self):
            file.write_text("two")
            return super().__enter__()

    runtime = Runtime(store=tmp_path / "store", executor=TWO, progress=Changing)
    responses, failures = run_models(models, TASK, [[Request(ROWS)]] * 2, runtime)
    assert failures == {"a": "its files were changed while the run was on; run it again"}
    assert list(responses) == ["b"]
    assert [entry.called for entry in contents(tmp_path / "store") if entry.rows] == ["b"]


def make_long_rows():
    """A row that no model reads whole, and one that all do."""
    return [
        replace(ROWS[0], segments=("the doctor saw the actor " * 200, "he did")),
        replace(ROWS[1], segments=("a", "b")),
    ]


def test_ctrl_c_ends_the_processes_and_keeps_what_they_have(tmp_path):
    """A process that is told to end sends what it was asked before, and leaves nothing half written."""

    class Interrupted(Stage):
        def advance(self, count):
            super().advance(count)
            if self.done >= 8:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked([Toy("a", "is slow"), Toy("b", "is slow")], TWO, tmp_path, progress=Interrupted)
    assert multiprocessing.active_children() == []
    assert sum(entry.rows for entry in contents(tmp_path)) >= 8
    assert verify(tmp_path)[1] == []
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_guest_whose_folder_is_gone_ends_without_a_word(tmp_path, capfd):
    """A run that was stopped has removed it before the guest began."""
    context = processes_with(())
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(
        target=worker_process.worker_main, args=(sending, [], worker_process.Rules(str(tmp_path / "gone"), None, 20))
    )
    process.start()
    process.join()
    receiving.close()
    sending.close()
    assert process.exitcode == 1
    assert capfd.readouterr().err == ""


@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_guests_end_where_the_run_is_gone(tmp_path):
    """A run that is killed cannot tell its guests; they notice, and the store is sound."""
    file = tmp_path / "script.py"
    file.write_text(
        textwrap.dedent(
            f"""
            from toys import Toy
            from test_processes import TWO, asked

            if __name__ == "__main__":
                asked([Toy("a", "is slow"), Toy("b", "is slow")], TWO, {str(tmp_path / "store")!r})
            """
        )
    )
    run = subprocess.Popen([sys.executable, file], env=with_root(), cwd=tmp_path)
    wait_until(lambda: len(guests_of(run.pid)) == 2)
    guests = guests_of(run.pid)
    run.kill()
    run.wait()
    wait_until(lambda: not any(alive(guest) for guest in guests))
    assert verify(tmp_path / "store")[1] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_run_that_was_stopped_for_long_goes_on(tmp_path):
    """As by Ctrl-Z and `fg`: guests that were stopped with the run, or that nobody heard meanwhile, are not hung."""
    file = tmp_path / "script.py"
    file.write_text(
        textwrap.dedent(
            """
            if __name__ == "__main__":  # a guest imports nothing of it
                from ranker.runtime.executors.processes import Processes
                from toys import Toy
                from test_processes import Stage, asked

                class Told(Stage):
                    def advance(self, count):
                        print("more", flush=True)

                toys = [Toy("a", "dawdles"), Toy("b", "dawdles")]
                print(asked(toys, Processes(2, patience=8), progress=Told)[1])
            """
        )
    )
    run = subprocess.Popen(
        [sys.executable, file], env=with_root(), cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    for _ in range(2):
        assert run.stdout.readline() == "more\n"
    os.killpg(run.pid, signal.SIGSTOP)
    time.sleep(10)
    os.killpg(run.pid, signal.SIGCONT)
    assert run.communicate(timeout=600)[0].splitlines()[-1] == "{}"


def wait_until(true, seconds=600):
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def parents():
    """Process -> its parent, of all that are alive."""
    parent_of = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            after = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if after[0] != "Z":
            parent_of[int(entry.name)] = int(after[1])
    return parent_of


def alive(process):
    """Tell whether a process is there, and no zombie."""
    return process in parents()


def guests_of(run):
    """The processes that were forked from the server that a run has started."""
    parent_of = parents()
    return [name for name, parent in parent_of.items() if parent_of.get(parent) == run]


@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("dying", [0.0, 0.5], ids=["at once", "slowly"])
def test_the_death_of_the_server_costs_nothing(dying, tmp_path, monkeypatch):
    """Guests at work go on, later ones have another server, and a slow death reads as one."""
    forkserver._forkserver._stop()
    wait, ends = os.waitpid, {}

    def waited(pid, options):
        return (0, 0) if time.monotonic() < ends.get(pid, 0) else wait(pid, options)

    monkeypatch.setattr(os, "waitpid", waited)

    class Ending(Stage):
        def advance(self, count):
            super().advance(count)
            pid = forkserver._forkserver._forkserver_pid
            if self.done >= 8 and pid is not None and not killed:
                killed.append(pid)
                ends[pid] = time.monotonic() + dying
                os.kill(pid, signal.SIGKILL)

    killed = []
    predictions, failures = asked([Toy(name) for name in "abcdef"], TWO, tmp_path, progress=Ending)
    assert killed
    assert failures == {}
    assert list(predictions) == list("abcdef")


def test_a_run_that_starts_no_guest_removes_what_a_killed_one_left(tmp_path, monkeypatch):
    """All is known, so that no folder is made; those of a run that was killed after its last row are removed."""
    toys = [Toy("a"), Toy("b")]
    asked(toys, TWO, tmp_path / "store")
    temporary = tmp_path / "temporary"
    (temporary / "rank-models-tmp-aaaaaaaa").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    predictions, _ = asked(toys, TWO, tmp_path / "store")
    assert list(predictions) == ["a", "b"]
    assert os.listdir(temporary) == []


EXECUTORS = {"serial": Serial(), "one guest": Processes(1), "two guests": TWO, "no limits": Processes(2, limits=False)}


@pytest.mark.more
@pytest.mark.parametrize(
    "name",
    ["two guests", *(pytest.param(name, marks=pytest.mark.slow) for name in ("serial", "one guest", "no limits"))],
)
def test_every_executor_works_from_another_folder_in_a_fresh_interpreter(name, tmp_path):
    """A job carries all that it needs: no path and no global that one process alone knows."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "temporary").mkdir()
    make_checkpoint(tmp_path / "tiny")
    file = tmp_path / "elsewhere" / "script.py"
    file.write_text(
        textwrap.dedent(
            f"""
            import numpy as np
            from conftest import TASK
            from test_processes import EXECUTORS, make_long_rows
            from toys import Toy, truth
            from ranker.runs.collect import run_models
            from ranker.runs.inspected import inspect_models
            from ranker.runtime.base import Request
            from ranker.runtime.runtime import Runtime

            if __name__ == "__main__":
                rows = make_long_rows()
                models = inspect_models(["../tiny", Toy("a"), Toy("b")])
                asked = [[Request(rows), Request(rows[1:])]] * 3
                runtime = Runtime(executor=EXECUTORS[{name!r}])
                found, failures = run_models(models, TASK, asked, runtime)
                assert failures == {{}}, failures
                for toy in "ab":
                    np.testing.assert_array_equal(found[toy].answers[0].predictions.probs, truth(toy, rows))
                    np.testing.assert_array_equal(found[toy].answers[1].predictions.probs, truth(toy, rows[1:]))
                assert found["tiny"].answers[0].predictions.probs.shape == (2, 2)
            """
        )
    )
    environment = with_root() | {"TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run([sys.executable, file], cwd=file.parent, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "temporary").glob("rank-models*")) == []


@pytest.mark.parametrize("name", EXECUTORS)
def test_an_executor_that_is_closed_early_leaves_nothing_behind(name, tmp_path):
    """Whoever needs no more than the first answer says so by closing it."""
    store = Store(tmp_path)
    jobs = [Job(Toy(toy), TASK, (Request(ROWS),)) for toy in "abcd"]
    with closing(EXECUTORS[name].run(jobs, store, silent)) as ended:
        number, done = next(ended)
    assert not done.failure
    assert len(store.entry_of(done.keys[0]).missing(ROWS)) == 0
    assert multiprocessing.active_children() == []
    assert number in range(4)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_kills_at_random_moments(seed, tmp_path):
    """Guests, server and supervisor, ten times for each seed; what is kept is right, and the last run has it all."""
    rng = random.Random(seed)
    toys = [Toy(name) for name in "abcdef"]
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            from toys import Toy
            from test_processes import TWO, asked

            if __name__ == "__main__":
                asked([Toy(name) for name in "abcdef"], TWO, {str(tmp_path / "store")!r})
            """
        )
    )
    for _ in range(10):
        run = subprocess.Popen([sys.executable, script], env=with_root(), cwd=tmp_path, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 3.0))
        parent_of = parents()
        server = [process for process, parent in parent_of.items() if parent == run.pid]
        victims = {"guest": guests_of(run.pid), "server": server, "supervisor": [run.pid]}
        chosen = victims[rng.choice(list(victims))] or [run.pid]
        with suppress(ProcessLookupError):
            os.kill(rng.choice(chosen), signal.SIGKILL)
        run.wait(timeout=600)
        if (tmp_path / "store").exists():
            assert verify(tmp_path / "store")[1] == []
    predictions, failures = asked(toys, TWO, tmp_path / "store")
    assert failures == {}
    for name, answers in predictions.items():
        np.testing.assert_array_equal(answers.probs, truth(name, ROWS))
