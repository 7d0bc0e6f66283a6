"""Whole runs that are killed, interrupted, or do the same work in another order: the answer is the same JSON."""

import json
import logging
import multiprocessing
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from ranker.attribution import attribute
from ranker.cli import main
from ranker.runtime import store as store_module
from ranker.runtime.upkeep import prune, verify
from ranker.sources.base import Machine
from ranker.sources.hf.classifiers import Classifier
from ranker.sources.suites import bundled_suites

LIMIT = 12
BLOCK = 4
MODELS = [str(bundled_suites()["hans-sub-mini"] / name) for name in ("untouched", "inoc-50", "inoc-4000")]
PRELOADED = [
    "torch", "transformers.models.bert.modeling_bert", "pyarrow.parquet", "ranker.runs.rank",
    "ranker.sources.hf.classifiers", "ranker.scoring.evaluation", "ranker.attribution.shap", "ranker.report.json",
]  # fmt: skip
"""What a process that is forked has in memory already, so that it is killed at its work and not at its imports."""


def command(root: Path, output: Path, models=MODELS, *flags: str, attribution="shap:max_evaluations=60") -> list[str]:
    """A small run, with every kind of row: probabilities, and attributions."""
    return ["--ood", "hans-sub", "--limit", str(LIMIT), "--probe", "3", "--attribution", attribution,
            "--methods", "AVG-CONF",
            "--format", "json", "-q", "--store", str(root), "-o", str(output), *flags, "--models", *models]  # fmt: skip


def worker(arguments: list[str]) -> None:
    """A process of a run; its blocks are small, so that there are many to lose."""
    store_module.BLOCK = BLOCK
    main(arguments)


def answer(arguments: list[str], output: Path) -> str:
    """Run the program in this process, and return its answer without the command and the folder that it notes."""
    output.unlink(missing_ok=True)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert not stop.value.code
    noted = json.dumps(shlex.join(["rank-models", *arguments]))
    return output.read_text().replace(noted, '""')


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Answer of a run that nobody disturbs, and its seconds."""
    folder = tmp_path_factory.mktemp("whole")
    for name in PRELOADED:
        import_module(name)
    began = time.perf_counter()
    answer_alone = answer(command(folder / "store", folder / "a.json"), folder / "a.json")
    return answer_alone, time.perf_counter() - began


@pytest.mark.more
@pytest.mark.parametrize("rounds", [1, pytest.param(67, marks=pytest.mark.soak)])
def test_a_run_that_is_killed_goes_on_to_the_same_answer(tmp_path, uninterrupted, rounds):
    """SIGKILL at random moments of three processes that do one run on one store; then the same command once more."""
    answer_alone, seconds = uninterrupted
    forked = multiprocessing.get_context("forkserver")
    forked.set_forkserver_preload(PRELOADED)
    rng = np.random.default_rng(0)
    for number in range(rounds):
        root, output = tmp_path / f"store-{number}", tmp_path / f"{number}.json"
        orders = [[*MODELS[shift:], *MODELS[:shift]] for shift in range(3)]
        outcomes = [
            forked.Process(target=worker, args=(command(root, tmp_path / f"{shift}", order),))
            for shift, order in enumerate(orders)
        ]
        for process in outcomes:
            process.start()
        for process, pause in zip(outcomes, np.diff(np.sort(rng.uniform(0, 3 * seconds, 3)), prepend=0.0), strict=True):
            process.join(pause)
            process.kill()
            process.join()
        assert answer(command(root, output), output) == answer_alone
        for _ in prune(root, abandoned=0):
            pass
        assert not list(root.rglob("*.tmp"))
        assert verify(root)[1] == []


def isolated_worker(arguments: list[str], temporary: str) -> None:
    """A process of a run with guests, whose temporary folders lie where they are looked for."""
    os.environ["TMPDIR"], tempfile.tempdir = temporary, None
    store_module.BLOCK = BLOCK
    main(arguments)


def rows_in(root: Path) -> int:
    """Count the rows of a store that lie in whole blocks."""
    return sum(parquet.read_metadata(file).num_rows for file in root.rglob("*.parquet"))


@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="the folders of other systems have longer names")
@pytest.mark.parametrize(
    "kills", [1, pytest.param(3, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.soak)]
)
def test_a_run_with_guests_that_is_killed_loses_nothing(tmp_path, monkeypatch, record_property, uninterrupted, kills):
    """SIGKILL at random moments leaves the same bytes for the same command, a store that verifies, and no folder."""
    answer_alone, _ = uninterrupted
    forked = multiprocessing.get_context("forkserver")
    forked.set_forkserver_preload(PRELOADED)
    rng = np.random.default_rng(kills)
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setenv("TMPDIR", short)
        monkeypatch.setattr(tempfile, "tempdir", None)

        def begin(name: str):
            arguments = command(tmp_path / name, tmp_path / f"{name}.json", MODELS, "--isolate", "--workers", "2")
            process = forked.Process(target=isolated_worker, args=(arguments, short))
            process.start()
            return process, arguments

        def wait_for_rows(process, root: Path) -> None:
            """Wait until something lies in a store, or its run is over."""
            while process.is_alive() and not list(root.rglob("*.parquet")):
                time.sleep(0.005)

        began = time.monotonic()
        process, _ = begin("whole")
        wait_for_rows(process, tmp_path / "whole")
        first = time.monotonic() - began
        process.join()
        full_time, rows = time.monotonic() - began, rows_in(tmp_path / "whole")
        assert (process.exitcode, os.listdir(short)) == (0, [])
        moments: Counter[str] = Counter()
        number = killed = 0
        while killed < kills:
            number += 1
            assert number <= 3 * kills + 6, f"most runs were over before they were killed: {dict(moments)}"
            root, output = tmp_path / f"{number}", tmp_path / f"{number}.json"
            began = time.monotonic()
            process, arguments = begin(f"{number}")
            if number % 2:
                wait_for_rows(process, root)
            process.join(rng.uniform(0, full_time - first if number % 2 else full_time))
            process.kill()
            process.join()
            if process.exitcode == 0:  # the machine has become faster
                moments["over"] += 1
                first, full_time = first * (time.monotonic() - began) / full_time, time.monotonic() - began
                continue
            assert process.exitcode == -signal.SIGKILL
            killed += 1
            stored_rows = rows_in(root)
            moments["before" if not stored_rows else "during" if stored_rows < rows else "after"] += 1
            assert answer(arguments, output) == answer_alone
            assert verify(root)[1] == []
            assert rows_in(root) == rows
            assert os.listdir(short) == []
            shutil.rmtree(root)
    record_property("moments", f"{dict(moments)}; {first:.1f} s until the first row, {full_time:.1f} s in all")
    assert moments["during"] + moments["after"] >= kills // 4, moments


@pytest.mark.more
@pytest.mark.parametrize("tokens", [64, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_batch_size_changes_no_answer(tmp_path, uninterrupted, monkeypatch, tokens):
    """Scores within 1e-6, as float32 sums allow; the same ranking, and the same accuracies of the methods."""
    evaluation = json.loads(uninterrupted[0])["evaluation"]
    monkeypatch.setattr("ranker.commands.arguments.machine", lambda values: Machine(token_budget=tokens))
    batched = command(tmp_path / "store", tmp_path / "a.json", MODELS)
    evaluation_batched = json.loads(answer(batched, tmp_path / "a.json"))["evaluation"]
    assert [model["name"] for model in evaluation_batched["models"]] == [
        model["name"] for model in evaluation["models"]
    ]
    for a, b in zip(evaluation["models"], evaluation_batched["models"], strict=True):
        assert b["scores"] == {name: pytest.approx(score, abs=1e-6) for name, score in a["scores"].items()}
        assert b["rank"] == a["rank"]
    pairwise = [{m["name"]: m["pairwise_accuracy"] for m in run["methods"]} for run in (evaluation, evaluation_batched)]
    assert pairwise[1] == pytest.approx(pairwise[0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "count"), [("none", 60), ("shap", 6), ("lime", 2), ("occlusion", 20), ("ig", 20)])
def test_the_batch_size_changes_the_last_digits_of_scores(hans, method, count):
    """Of float32 sums in another order, and of nothing else: a millionth of an example's absolute scores together."""
    loaded = Classifier.load(MODELS[1], hans.task)
    sizes = [replace(loaded, token_budget=size) for size in (64, 1024)]
    if method == "none":
        few_answers, some_answers = (size.probabilities(hans.examples[:count]) for size in sizes)
        assert abs(few_answers - some_answers).max() < 1e-6
        return
    few, many_scores = (attribute(size, hans.examples[:count], method) for size in sizes)
    for few_scores, many_scores_of_row in zip(few, many_scores, strict=True):
        assert abs(few_scores.probs - many_scores_of_row.probs).max() < 1e-6
        assert (abs(few_scores.scores - many_scores_of_row.scores) <= 1e-6 * abs(few_scores.scores).sum()).all()


@pytest.mark.more
def test_the_order_of_the_models_changes_no_number(tmp_path, uninterrupted):
    """Models in another order have the same bits, but for expected ranks, which are sums over the others in order."""
    report = json.loads(uninterrupted[0])
    turned = command(tmp_path / "store", tmp_path / "a.json", MODELS[::-1])
    turned_report = json.loads(answer(turned, tmp_path / "a.json"))
    for part in ("models", "methods", "pairs"):
        for run in (report, turned_report):
            run["evaluation"][part].sort(
                key=lambda row: json.dumps([row.get(key) for key in ("name", "a", "b", "method")])
            )
    for a, b in zip(report["evaluation"]["models"], turned_report["evaluation"]["models"], strict=True):
        assert b.pop("expected_rank") == pytest.approx(a.pop("expected_rank"), abs=1e-12)
    assert turned_report == report


@pytest.mark.more
def test_a_second_run_gives_the_same_bytes(tmp_path, uninterrupted):
    """From the store, and from nothing: byte by byte."""
    output = tmp_path / "a.json"
    assert answer(command(tmp_path / "store", output), output) == uninterrupted[0]
    assert answer(command(tmp_path / "store", output), output) == uninterrupted[0]


@pytest.mark.slow
def test_global_generators_are_neither_read_nor_touched(tmp_path, uninterrupted):
    """Whatever state they are in, the answer is the same; and they are left in it."""
    import random

    import torch

    output = tmp_path / "a.json"
    random.seed(17)
    np.random.seed(17)  # noqa: NPY002  # the global generator is what is tested
    torch.manual_seed(17)
    before = (random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().numpy().tobytes())  # noqa: NPY002
    for backend in ("shap:max_evaluations=60", "lime:samples=20", "ig:steps=2,max_steps=2"):
        arguments = command(tmp_path / "store", output, MODELS, "--draws", "50", attribution=backend)
        first = answer(arguments, output)
        after = (random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().numpy().tobytes())  # noqa: NPY002
        assert after == before
    random.seed(18)
    np.random.seed(18)  # noqa: NPY002
    torch.manual_seed(18)
    again = command(tmp_path / "other", output, MODELS, "--draws", "50", attribution=backend)
    assert answer(again, output) == first


@pytest.fixture
def interruptible():
    """Ctrl-C is heard, as it is not in a job that a shell has begun in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.more
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, capsys, uninterrupted, number, status):
    """And so does SIGTERM: one line, an exit status, no temporary file; the same command goes on to the same answer."""
    from ranker.runtime import worker

    answered, calls = worker.answer_blocks, []

    def interrupted(*flags):
        calls.append(flags)
        if len(calls) == 4:
            signal.raise_signal(number)
        return answered(*flags)

    root, output = tmp_path / "store", tmp_path / "a.json"
    with monkeypatch.context() as patched:
        patched.setattr(worker, "answer_blocks", interrupted)
        with pytest.raises(SystemExit) as stop:
            main(command(root, output))
    assert stop.value.code == status
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    message = capsys.readouterr().err.lstrip("\n")  # which ends the line with the terminal's ^C
    assert message == "rank-models: stopped; results so far are cached, and the same command resumes\n"
    assert not list(root.rglob("*.tmp"))
    assert list(root.rglob("*.parquet"))
    assert answer(command(root, output), output) == uninterrupted[0]


@pytest.mark.more
@pytest.mark.parametrize("fault", ["memory", "nan", "gone", "no token"])
def test_a_model_that_fails_is_listed_and_the_others_are_ranked(tmp_path, monkeypatch, uninterrupted, fault):
    """Out of memory, numbers that are none, or not there: exit status 1, its reason, the others' ranks."""
    import torch

    from ranker.sources.hf.classifiers import Classifier

    network = Classifier.network

    def failing(self, batch):
        answered = network(self, batch)
        if "inoc-50" in self.name and fault == "memory":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB\nand a long story")
        return answered * np.nan if "inoc-50" in self.name and fault == "nan" else answered

    monkeypatch.setattr(Classifier, "network", failing)
    logging.getLogger("ranker").setLevel(logging.CRITICAL)
    attribution = {"no token": "lime:hide=remove,samples=20"}.get(fault, "shap:max_evaluations=60")
    models = [MODELS[0], str(tmp_path / "inoc-50") if fault == "gone" else MODELS[1], MODELS[2]]
    if fault == "gone":
        (tmp_path / "inoc-50").mkdir()
    if fault == "no token":  # a tokenizer that adds no special ones, and a way of hiding that leaves none
        models[1] = str(tmp_path / "inoc-50")
        shutil.copytree(MODELS[1], models[1])
        tokenizer = json.loads((tmp_path / "inoc-50" / "tokenizer.json").read_text())
        (tmp_path / "inoc-50" / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": None}))
    with pytest.raises(SystemExit) as stop:
        main(command(tmp_path / "store", tmp_path / "a.json", models, attribution=attribution))
    report = json.loads((tmp_path / "a.json").read_text())
    assert stop.value.code == 1
    assert {model["name"] for model in report["evaluation"]["models"]} == {"untouched", "inoc-4000"}
    [reason] = report["header"]["failures"].values()
    assert {"memory": "memory is too small", "nan": "not finite", "gone": "has no", "no token": "has no token"}[
        fault
    ] in reason
    assert "\n" not in reason
