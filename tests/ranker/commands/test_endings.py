"""Ends of the program: stopped at any moment, nobody listening, streams closed, a long temporary folder."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from ranker.runtime.upkeep import verify
from ranker.sources.suites import bundled_suites

BEGIN = "import sys; from ranker.cli import main; print('main', file=sys.stderr, flush=True); main()"
AMID = """
import os, signal
from multiprocessing import forkserver
connect = forkserver.connect_to_new_process
def stopped_amid(*arguments):
    connection = connect(*arguments)
    os.killpg(0, signal.SIGINT)
    return connection
forkserver.connect_to_new_process = stopped_amid
"""
FEW = ("--ood", "hans-sub", "--limit", "12", "--probe", "2", "--factors", "ACC,NLL", "-q")
THREE = ("--models", *(str(bundled_suites()["hans-sub-mini"] / name) for name in ("untouched", "inoc-50", "inoc-4000")))
STOPPED = "rank-models: stopped; results so far are cached, and the same command resumes\n"


def environment(folder, **options):
    """Build the environment of a process of the program, with a store of its own."""
    return {**os.environ, "RANK_MODELS_STORE": str(folder / "store"), "OMP_NUM_THREADS": "1", **options}


def started(folder, *arguments, first=""):
    """The program in a group of processes of its own, once `main` has begun; `first` is code that it runs before."""
    process = subprocess.Popen(
        [sys.executable, "-c", first + BEGIN, *arguments], env=environment(folder), cwd=folder, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr.readline() == "main\n"
    return process


def ended(process, seconds=600):
    """(status, stderr); nothing of its group is left."""
    message = process.communicate(timeout=seconds)[1]
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return process.returncode, message.lstrip("\n")
        time.sleep(0.1)
    return "something of it is left", message


@pytest.fixture
def answer(monkeypatch, rank_models):
    """Read what the program finds in this process, to the last digit: its folder and arguments -> JSON."""
    import torch

    torch.set_num_threads(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def call(folder, arguments):
        monkeypatch.setenv("RANK_MODELS_STORE", str(folder / "store"))
        status, out, _ = rank_models(*arguments, "--format", "json")
        assert not status
        return out

    return call


def children(number):
    """The processes that a process has started."""
    return Path(f"/proc/{number}/task/{number}/children").read_text().split()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_while_processes_begin_is_one_line(tmp_path):
    """The terminal sends it to each of them: the keeper of shared memory, and the server that imports torch."""
    process = started(tmp_path, *FEW, "--workers", "2", "--isolate")
    deadline = time.monotonic() + 600
    while len(children(process.pid)) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    for _ in range(2):  # some press it twice
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.3)
    assert ended(process) == (130, STOPPED)


@pytest.mark.more
def test_ctrl_c_amid_the_start_of_a_process_is_one_line(tmp_path):
    """The server has forked it, and it waits for its work: a start that is broken off would leave its traceback."""
    process = started(tmp_path, *FEW, "--workers", "2", "--isolate", first=AMID)
    assert ended(process) == (130, STOPPED)


@pytest.mark.parametrize("count", [pytest.param(3, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.soak)])
@pytest.mark.parametrize("isolated", [True, False])
def test_ctrl_c_at_random_moments_is_one_line(tmp_path, answer, isolated, count):
    """From `main` on, with guests and without; then the same on the same store gives the numbers of a whole run."""
    arguments = [*FEW, *(("--workers", "2", "--isolate") if isolated else ("--workers", "1", "--no-isolate"))]
    outcome = answer(tmp_path / "whole", arguments)
    generator = random.Random(count)
    began = time.monotonic()
    process = started(tmp_path, *arguments)
    status, message = ended(process)
    assert (status, message) == (0, "")
    full_time = time.monotonic() - began
    stopped = 0
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = started(folder, *arguments)
        time.sleep(generator.uniform(0, full_time))
        for _ in range(generator.choice([1, 1, 2])):  # some press it twice
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                time.sleep(0.05)
        status, message = ended(process)
        assert (status, message) in ((130, STOPPED), (0, ""))
        stopped += status == 130
        assert answer(folder, arguments) == outcome
        assert verify(folder / "store")[1] == []
        shutil.rmtree(folder)
    assert stopped >= count // 4, "most runs were over before they were stopped"


@pytest.mark.few(1)
@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_nothing_to_speak_of(tmp_path, streams):
    """The program works without the stream, and none of its files takes the stream's place."""
    command = f'"{sys.executable}" -m ranker ls backends {streams}; echo $? > status'
    ran = subprocess.run(
        ["bash", "-c", command], env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True
    )
    assert (tmp_path / "status").read_text() == "0\n"
    assert ran.stderr == ""
    assert ran.stdout == "" or ">&-" not in streams.replace("2>&-", "")


def test_who_stops_reading_ends_it_quietly(tmp_path):
    """As `| head` does: nothing is said, and the status is that of what failed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ranker", "ls", "factors"], env=environment(tmp_path), cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.close()
    message = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), message) == (1, "")


BRIEF = """
from ranker.runtime.executors.processes import processes_with

if __name__ == "__main__":
    process = processes_with(["json"]).Process(target=print)
    process.start()
    process.join()
    print(process.exitcode)
"""


def long_folder(folder):
    """A folder whose path is longer than the name of a socket may be: 107 bytes."""
    long = folder / ("a" * 100) / ("b" * 100)
    long.mkdir(parents=True)
    return long


@pytest.mark.more
def test_a_long_temporary_folder_does_for_the_server_of_processes(tmp_path):
    """The server's socket lies elsewhere, and nothing of it is left."""
    (tmp_path / "brief.py").write_text(BRIEF)
    long = long_folder(tmp_path)
    ran = subprocess.run(
        [sys.executable, "brief.py"], env=environment(tmp_path, TMPDIR=str(long)), cwd=tmp_path, capture_output=True,
        text=True,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout.split(), ran.stderr) == (0, ["0"], "")
    assert list(long.iterdir()) == []


@pytest.mark.slow
def test_a_long_temporary_folder_does_for_processes(tmp_path):
    """The whole program works with it."""
    long = long_folder(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-m", "ranker", *FEW, "--workers", "2", "--isolate", "--format", "csv"],
        env=environment(tmp_path, TMPDIR=str(long)), cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert not [file.name for file in long.iterdir() if not file.name.startswith("torch")]


@pytest.fixture
def short():
    """A temporary folder in which there is room for the name of the server's socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="the folders of other systems have longer names")
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGHUP,
        *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_no_folder_is_left_whatever_ends_it(tmp_path, short, number):
    """Folders of guests, of the server, and of copies are removed, after SIGKILL by the next run."""
    command = [sys.executable, "-c", BEGIN, *FEW, "--workers", "2", "--isolate", *THREE]
    place = {"cwd": tmp_path, "env": environment(tmp_path, TMPDIR=str(short))}
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **place
    )
    while len(list(short.glob("rank-models-tmp-*"))) < 2:
        assert process.poll() is None, "it was over before it was stopped"
        time.sleep(0.002)
    process.send_signal(number)
    status, message = ended(process)
    if number == signal.SIGKILL:
        assert status == -signal.SIGKILL
        assert os.listdir(short)
        subprocess.run(command, check=True, capture_output=True, timeout=600, **place)
    else:
        assert (status, message.removeprefix("main\n").lstrip("\n")) == (128 + number, STOPPED)
    assert os.listdir(short) == []


def test_nohup_is_not_ended_by_its_terminal(tmp_path):
    """A process that has SIGHUP ignored goes on."""
    command = f"trap '' HUP; {sys.executable} -c \"{BEGIN}\" ls factors & sleep 0.2; kill -HUP $!; wait $!"
    ran = subprocess.run(["bash", "-c", command], env=environment(tmp_path), cwd=tmp_path, capture_output=True)
    assert ran.returncode == 0, ran.stderr
