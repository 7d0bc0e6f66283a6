"""Calls from a notebook: no process beside it, cells that stay short, answers that show themselves."""

import importlib.util
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

KERNEL = """
import io, sys, types


class OutStream(io.StringIO):
    "What a kernel puts in the place of stdout and stderr."


OutStream.__module__ = "ipykernel.iostream"
screen, sys.stderr = sys.stderr, OutStream()
"""

CALL = """
from ranker import Evidence, Machine, Processes, Runtime, load_set, load_suite, progress, rank

progress.LINE_EVERY = 0.0  # every step is told, so that something is, however fast the machine
models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=40)
ranking = rank(models, rows, evidence=Evidence("occlusion"), runtime=Runtime(Machine(threads=1)))
"""

BESIDE = """
import os
from multiprocessing import active_children, forkserver
from pathlib import Path

beside = [pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]
print(forkserver._forkserver._forkserver_pid, active_children(), beside)
"""
"""Says which processes this one has started."""


def done(script, folder):
    """Run a script and return what it prints; one that fails says why."""
    ran = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the processes of a process are read from /proc")
def test_a_call_starts_no_process(tmp_path, monkeypatch):
    """Neither a server of processes nor a worker; the same call starts them where an executor asks for it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert done(KERNEL + CALL + BESIDE, tmp_path) == "None [] []\n"
    source = CALL.replace("Runtime(Machine(threads=1))", "Runtime(store=None, executor=Processes(2))")
    assert not done(KERNEL + source + BESIDE, tmp_path).startswith("None")


@pytest.mark.slow
def test_a_cell_has_one_line_of_progress(tmp_path, monkeypatch):
    """However many models, stages and steps there are; nothing is left of it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    progress = json.loads(done(f"{KERNEL}{CALL}\nimport json; print(json.dumps(sys.stderr.getvalue()))", tmp_path))
    states = [state.strip() for state in progress.split("\r")]
    assert "\n" not in progress
    assert len({state.partition(":")[0] for state in states if state}) >= 3  # a model each
    assert states[-1] == states[-2] == ""


CELLS = (
    CALL,
    "ranking",
    "ranking.decision if ranking.mode == 'decision' else ranking.evaluation",
    "ranking.table",
    "from ranker import plot; plot(ranking)",
    BESIDE,
)


@pytest.mark.slow
@pytest.mark.skipif(not all(map(importlib.util.find_spec, ("nbclient", "ipykernel"))), reason="installed by hand")
def test_a_real_notebook(tmp_path, monkeypatch):
    """A kernel of Jupyter's runs the cells; what they show is short, tables are HTML, the figure is SVG."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    script = f"""
        import json, nbclient, nbformat
        cells = [nbformat.v4.new_code_cell(cell) for cell in {CELLS!r}]
        book = nbclient.execute(nbformat.v4.new_notebook(cells=cells), timeout=300)
        print(json.dumps([cell.outputs for cell in book.cells]))
    """
    outputs = json.loads(done(textwrap.dedent(script), tmp_path))
    streams = [
        stream for stream in outputs[0] if "TqdmWarning: IProgress not found" not in stream["text"]
    ]  # transformers' import
    assert {stream["name"] for stream in streams} == {"stderr"}
    assert "\n" not in "".join(stream["text"] for stream in streams)
    for output in outputs[1:4]:
        (output_item,) = output
        assert output_item["data"]["text/html"].startswith("<table>")
        assert output_item["data"]["text/plain"].count("\n") <= 2
        assert len(output_item["data"]["text/html"]) < 10_000
    (figure,) = outputs[4]
    assert "<svg" in figure["data"]["image/svg+xml"]
    assert figure["data"]["text/plain"].startswith("<figure ")
    assert outputs[5][0]["text"] == "None [] []\n"
