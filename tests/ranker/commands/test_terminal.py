"""The terminal is given back as it was found, whenever the program is stopped or interrupted."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from ranker.sources.suites import bundled_suites

WORK = """
import time
import click
from ranker import progress
from ranker.commands import program

@click.command()
def work():
    with progress.bar(progress.stderr(), "work", 10):
        {what}

program.run_program(work, "work", None, "more")
"""
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


class Pseudo:
    """A program in a pseudo-terminal, in a group of processes of its own, as a shell starts it."""

    def __init__(self, arguments, cwd=None):
        self.inside, self.outside = pty.openpty()
        self.found = termios.tcgetattr(self.outside)
        self.process = subprocess.Popen(
            [sys.executable, *arguments], cwd=cwd, stdin=self.outside, stdout=self.outside, stderr=self.outside,
            env={**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1"}, process_group=0,
        )  # fmt: skip
        self.seen = ""

    def read(self, seconds=0.2):
        """Take in what is there."""
        if select.select([self.inside], [], [], seconds)[0]:
            self.seen += os.read(self.inside, 65536).decode(errors="replace")

    def until(self, text):
        """Wait until something was shown."""
        deadline = time.monotonic() + 120
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            self.read()

    def stops(self):
        """Wait until it is stopped."""
        deadline = time.monotonic() + 60
        while not os.WIFSTOPPED(os.waitpid(self.process.pid, os.WUNTRACED | os.WNOHANG)[1]):
            assert time.monotonic() < deadline, self.seen
            self.read()
        self.read(0.1)

    def press(self, key):
        """Press a key once the program waits for one: it drops what was pressed before."""
        deadline = time.monotonic() + 60
        while termios.tcgetattr(self.outside) == self.found:
            assert time.monotonic() < deadline, self.seen
            self.read(0.02)
        time.sleep(0.2)
        self.seen = ""
        os.write(self.inside, key)

    def as_found(self):
        """Tell whether keys do what they did, and the cursor is there."""
        same = termios.tcgetattr(self.outside) == self.found
        return same and self.seen.rfind(SHOW) >= self.seen.rfind(HIDE)

    def ended(self):
        """The exit status."""
        deadline = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.seen
            self.read()
        self.read(0.1)
        return self.process.returncode


@pytest.fixture
def begun():
    """Begin programs; none outlives the test."""
    processes = []

    def begin(*arguments, **options):
        processes.append(Pseudo(*arguments, **options))
        return processes[-1]

    yield begin
    for process in processes:
        process.process.kill()
        process.process.wait()
        os.close(process.inside)
        os.close(process.outside)


@pytest.fixture
def label(pool, begun):
    """A session of `label` that waits for a key."""
    terminal = begun(["-m", "ranker", *LABEL], cwd=pool)
    terminal.until("of the pool.")
    while termios.tcgetattr(terminal.outside) == terminal.found:  # it has not come to wait for a key
        time.sleep(0.02)
    return terminal


LABEL = ["label", "--pool", "pool.csv", "--models", "alpha.csv", "beta.csv", "-o", "labels.csv", "--store", "store",
         "--until", "1"]  # fmt: skip


@pytest.fixture
def pool(tmp_path):
    """A folder with rows, and what two models say of them."""
    (tmp_path / "pool.csv").write_text("id,text\n" + "".join(f"r{n},Row {n} of the pool.\n" for n in range(20)))
    for name, step in (("alpha", 2), ("beta", 3)):
        text = "".join(f"r{n},{'good' if n % step else 'bad'}\n" for n in range(20))
        (tmp_path / f"{name}.csv").write_text(f"id,prediction\n{text}")
    return tmp_path


FOREVER = """
from factors import factor

@factor("FOREVER", higher_is_better=True, explains="predicted", kind="baseline")
def forever(attributions, example):
    \"\"\"Never end on what the second model says.\"\"\"
    while attributions.probs[0] < 0.5:
        pass
    return 0.0
"""


@pytest.fixture
def endless(tmp_path):
    """Arguments of a run whose factor never ends on the second of three models."""
    (tmp_path / "forever.py").write_text(FOREVER)
    (tmp_path / "rows.csv").write_text("id,text,label\nr1,One.,a\nr2,Two.,b\n")
    for name, a in (("alpha", 0.8), ("beta", 0.2), ("gamma", 0.8)):
        (tmp_path / f"{name}.csv").write_text(f"id,a,b\nr1,{a},{1 - a:.1f}\nr2,{a},{1 - a:.1f}\n")
    return ["-m", "ranker", "--models", "alpha.csv", "beta.csv", "gamma.csv", "--data", "rows.csv", "--factors",
            "forever.py", "--store", "store"]  # fmt: skip


@pytest.mark.more
def test_a_factor_that_never_ends_is_named_on_a_terminal(begun, endless, tmp_path):
    """With the model that it is applied to; Ctrl-C ends it in one line, and the terminal is as it was."""
    terminal = begun(endless, cwd=tmp_path)
    terminal.until("factors: FOREVER on beta")
    terminal.until("1/3")
    os.kill(terminal.process.pid, signal.SIGINT)
    assert terminal.ended() == 130
    last = "rank-models: stopped; results so far are cached, and the same command resumes\r\n"
    assert terminal.seen.removesuffix(SHOW).endswith(f"\r\n{last}")
    assert "Traceback" not in terminal.seen
    assert terminal.as_found()


@pytest.mark.more
def test_a_factor_that_never_ends_is_named_in_a_log(endless, tmp_path):
    """A line names it, and Ctrl-C adds one."""
    process = subprocess.Popen(
        [sys.executable, *endless], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"}, process_group=0,
    )  # fmt: skip
    with process:
        try:
            assert process.stderr.readline() == "factors: FOREVER on beta: 1/3, 2 s so far\n"
            process.send_signal(signal.SIGINT)
            message = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert process.returncode == 130
    assert message == "\nrank-models: stopped; results so far are cached, and the same command resumes\n"


def children(number):
    """The processes that a process has started, and not yet waited for."""
    try:
        return [int(child) for child in Path(f"/proc/{number}/task/{number}/children").read_text().split()]
    except OSError:
        return []


@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_that_is_killed_leaves_the_terminal_as_it_was(begun, tmp_path):
    """The model is left out with one line, the others are ranked, and keys and cursor are those of before."""
    models = [str(bundled_suites()["hans-sub-mini"] / name) for name in ("untouched", "inoc-50", "inoc-4000")]
    terminal = begun(
        ["-m", "ranker", "--ood", "hans-sub", "--limit", "12", "--probe", "2", "--attribution",
         "shap:max_evaluations=60", "--methods", "AVG-CONF", "--workers", "1", "--isolate", "--store", "store",
         "--format", "json", "-o", "out.json", "--models", *models], cwd=tmp_path
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (guests := [guest for child in children(terminal.process.pid) for guest in children(child)]):
        assert terminal.process.poll() is None, terminal.seen
        assert time.monotonic() < deadline, terminal.seen
        terminal.read(0.005)
    os.kill(guests[0], signal.SIGKILL)
    assert terminal.ended() == 1
    assert terminal.seen.count("its process was ended by SIGKILL, perhaps for want of memory") == 1, terminal.seen
    assert "Traceback" not in terminal.seen
    assert terminal.as_found()
    report = json.loads((tmp_path / "out.json").read_text())
    (failed,) = report["header"]["failures"]
    ranked = {model["name"] for model in report["evaluation"]["models"]}
    assert {failed, *ranked} == {"untouched", "inoc-50", "inoc-4000"}
    assert len(ranked) == 2


def bar(begun, work):
    """A program that shows a bar, and does something meanwhile."""
    terminal = begun(["-c", WORK.format(what=work)])
    terminal.until(HIDE)
    return terminal


@pytest.mark.more
@pytest.mark.parametrize("by_key", [True, False])
def test_a_session_that_is_stopped_goes_on(label, by_key):
    """By Ctrl-Z, or by a signal: meanwhile the shell has its terminal; afterwards keys answer rows."""
    if by_key:
        label.press(b"\x1a")
    else:
        os.kill(label.process.pid, signal.SIGTSTP)
    label.stops()
    assert label.as_found()
    os.kill(label.process.pid, signal.SIGCONT)
    label.press(b"1")
    label.until("of the pool.")
    label.press(b"q")
    assert label.ended() == 0
    assert label.as_found()


@pytest.mark.more
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_session_that_is_ended_gives_the_terminal_back(label, number):
    """Whatever ends it."""
    os.kill(label.process.pid, number)
    assert label.ended() == 128 + number
    assert label.as_found()


@pytest.mark.more
def test_a_bar_that_is_stopped_shows_the_cursor(begun):
    """The bar goes on afterwards."""
    terminal = bar(begun, "time.sleep(2)")
    os.kill(terminal.process.pid, signal.SIGTSTP)
    terminal.stops()
    assert terminal.as_found()
    os.kill(terminal.process.pid, signal.SIGCONT)
    assert terminal.ended() == 0
    assert terminal.as_found()


@pytest.mark.parametrize(
    ("status", "lines"),
    [
        (129, ["bars = progress.Bars.stop",
               "progress.Bars.stop = lambda self: (program.os.kill(program.os.getpid(), 15), bars(self))",
               "program.os.kill(program.os.getpid(), 1)"]),
        (143, ["progress.Bars.stop = lambda self: program.os.kill(program.os.getpid(), 15)", "time.sleep(0)"]),
    ],
)  # fmt: skip
def test_a_signal_while_a_bar_ends_leaves_the_cursor(begun, status, lines):
    """A second signal, as a terminal that goes or a scheduler sends, or one that breaks the end itself off."""
    terminal = bar(begun, "\n        ".join(lines))
    assert terminal.ended() == status
    assert terminal.as_found()


def test_signals_that_come_where_nothing_can_be_raised_end_it(begun):
    """The first comes in a destructor, the second while the first is noted for later: it ends all the same."""
    terminal = bar(
        begun,
        "\n        ".join(
            [
                "class Late:",
                "    def __del__(self): program.os.kill(program.os.getpid(), 15)",
                "timer = program.threading.Timer",
                "program.threading.Timer = lambda *a: (program.os.kill(program.os.getpid(), 15), timer(*a))[1]",
                "Late()",
                "time.sleep(20)",
            ]
        ),
    )
    assert terminal.ended() == 143
    assert "Exception ignored" not in terminal.seen
    assert terminal.as_found()


MODELS = [str(bundled_suites()["hans-sub-mini"] / name) for name in ("untouched", "inoc-4000")]
COLOURED = {
    "run": ["--ood", "hans-sub", "--limit", "40", "--probe", "2", "--attribution", "none", "--methods", "AVG-CONF",
            "--store", "store", "--models", *MODELS],
    "label": LABEL,
    "explain": ["explain", "--text", "A poet ran.", "--text", "A poet sat.", "--attribution", "occlusion", "--task",
                "nli", "--store", "store", "--models", *MODELS],
}  # fmt: skip
"""Commands that write in colours on a terminal."""

COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3|4|9|10)[0-8][0-9;]*m")
"""A colour of the text or of its ground; bold and dim are none."""


@pytest.mark.more
@pytest.mark.parametrize(
    ("command", "value"), [*((name, "1") for name in COLOURED), ("label", None), ("explain", None), ("compare", None)]
)
def test_no_color_takes_the_colours_away(begun, pool, monkeypatch, command, value):
    """`explain` then writes its scores out; `compare` has no colour at all."""
    (pool / "results.csv").write_text("model,set,value\na,x,50\na,y,60\nb,x,55\nb,y,70\n")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    if value:
        monkeypatch.setenv("NO_COLOR", value)
    terminal = begun(["-m", "ranker", *COLOURED.get(command, ["compare", "results.csv"])], cwd=pool)
    screen = ""
    if command == "label":
        terminal.until("of the pool.")
        terminal.press(b"1")
        terminal.until("of the pool.")
        screen = terminal.seen
        terminal.press(b"q")
    assert terminal.ended() == 0, terminal.seen
    assert ("poet(" in terminal.seen) == (command == "explain" and value is not None)
    assert bool(COLOUR.search(screen + terminal.seen)) == (command in COLOURED and not value), screen + terminal.seen
