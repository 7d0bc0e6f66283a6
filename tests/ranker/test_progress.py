"""Progress of long work, as a log file gets it."""

import io
import time
from functools import partial

import pytest
from rich.console import Console

from ranker import progress
from ranker.commands.program import escape_text


def test_a_log_has_a_line_now_and_then(monkeypatch):
    """A rate, and what is left, as soon as something is done; before that how much there is to do."""
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    log = io.StringIO()
    with progress.bar(Console(file=log), "none", 20) as advance:
        now += 20
        advance(0)
        advance(5)
        now += 20
        advance(5)
    assert log.getvalue() == "none: 0/20\nnone: 10/20, 0.2 rows/s, 40 s left\n"


def test_what_is_left_does_not_count_how_long_loading_took(monkeypatch):
    """From the tenth row on it is right within a factor of two: 100 rows, two seconds each, after a minute."""
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    log = io.StringIO()
    with progress.bar(Console(file=log), "m", 100) as advance:
        now += 60
        for _ in range(100):
            now += 2
            advance(1)
    left = [(int(line.split("/")[0].split()[-1]), line) for line in log.getvalue().splitlines()]
    estimates = [(100 - done, float(line.split(", ")[-1].split(" s left")[0])) for done, line in left if done >= 10]
    assert len(estimates) > 5
    assert all(rows <= seconds <= 4 * rows for rows, seconds in estimates)


class OutStream(io.StringIO):
    """Stand-in for a notebook kernel's stderr."""


OutStream.__module__ = "ipykernel.iostream"


class SetClock:
    """Time that goes on when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)


def shown_lines(text):
    """List what a cell shows of a text at each of its states: a carriage return goes back to the start of the line."""
    assert "\n" not in text
    return [state.rstrip() for state in text.split("\r")]


def test_a_notebook_has_one_line(monkeypatch):
    """Many steps of several stages write one line over, at most once a second, and it is empty at the end."""
    clock, cell = SetClock(monkeypatch), OutStream()
    monkeypatch.setattr("sys.stderr", cell)
    for label in ("m1: answers", "m2: answers"):
        with progress.show_progress(label, 1000) as advance:
            for _ in range(1000):
                clock.now += 0.01
                advance(1)
    states = shown_lines(cell.getvalue())
    assert len(states) <= 2 * (10 + 3)
    assert states[1] == "m1: answers: 100/1000, 100.0 rows/s, 9 s left"
    assert states[-1] == states[-2] == ""
    assert {len(state) for state in cell.getvalue().split("\r") if state} == {progress.WIDTH}


def test_an_hour_in_a_notebook_is_told_in_a_few_states(monkeypatch):
    """A kernel's client that keeps each of them keeps about a hundred, not thousands."""
    clock, cell = SetClock(monkeypatch), OutStream()
    monkeypatch.setattr("sys.stderr", cell)
    with progress.show_progress("m1: shap", 36_000) as advance:
        for _ in range(36_000):
            clock.now += 0.1
            advance(1)
    assert 50 < len(shown_lines(cell.getvalue())) < 150


def test_a_notebook_is_told_nothing_of_what_ends_at_once(monkeypatch):
    """A cell stays empty if all is known."""
    SetClock(monkeypatch)
    cell = OutStream()
    monkeypatch.setattr("sys.stderr", cell)
    with progress.show_progress("m1: answers", 3) as advance:
        advance(3)
    assert cell.getvalue() == ""


def test_an_interrupted_stage_leaves_no_line(monkeypatch):
    """The next print begins a line."""
    clock, cell = SetClock(monkeypatch), OutStream()
    monkeypatch.setattr("sys.stderr", cell)

    def interrupted():
        with progress.show_progress("m1: answers", 3) as advance:
            clock.now += 2
            advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert shown_lines(cell.getvalue())[-2:] == ["", ""]


def test_a_library_call_says_nothing_to_a_file(monkeypatch):
    """A script whose stderr is a log is not written into unasked."""
    clock, log = SetClock(monkeypatch), io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    with progress.show_progress("m1: answers", 30) as advance:
        clock.now += 60
        advance(1)
    assert log.getvalue() == ""


def test_a_terminal_has_a_bar(monkeypatch):
    """The bar is gone when the stage ends."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress.show_progress("m1: answers", 30) as advance:
        advance(30)
    assert "m1: answers" in screen.getvalue()
    assert "30/30" in screen.getvalue()


def wait_for(text, output):
    """Wait until a text was written."""
    deadline = time.monotonic() + 60
    while text not in output.getvalue():
        assert time.monotonic() < deadline, output.getvalue()
        time.sleep(0.01)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_short_activity_is_not_told(terminal):
    """Of what is over within the patience nothing is written, on a terminal neither."""
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal)
    with progress.steps(partial(progress.bar, console), "3 models", 2) as watch:
        watch("the order", 0)
        watch("pairs", 1)
    assert output.getvalue() == ""


def test_a_log_names_a_step_that_never_ends(monkeypatch):
    """A line once patience ends, and further lines, though no step is done meanwhile; then the next step."""
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "LOG_EVERY", 0.05)
    log = io.StringIO()
    with progress.steps(partial(progress.bar, Console(file=log)), "factors", 2) as watch:
        watch("SLOW on m1", 0)
        wait_for("factors: SLOW on m1: 0/2, 0 s so far\nfactors: SLOW on m1: 0/2, 0 s so far\n", log)
        watch("SLOW on m2", 1)
        wait_for("factors: SLOW on m2: 1/2, 0 s so far\n", log)
    output = log.getvalue()
    time.sleep(0.2)
    assert log.getvalue() == output  # nothing is told once it is over


def test_a_terminal_names_a_step_that_never_ends(monkeypatch):
    """The bar is gone when the activity ends, also by an exception, and the cursor is there."""
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)

    def interrupted():
        with progress.steps(partial(progress.bar, console), "factors", 2) as watch:
            watch("SLOW on m1", 0)
            wait_for("factors: SLOW on m1", screen)
            watch("SLOW on m2", 1)
            wait_for("factors: SLOW on m2", screen)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "1/2" in screen.getvalue()
    assert screen.getvalue().rfind("\x1b[?25h") > screen.getvalue().rfind("\x1b[?25l") >= 0


def test_who_wants_quiet_is_told_nothing(monkeypatch):
    """A console that is quiet takes no line, however long an activity lasts."""
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    log = io.StringIO()
    with progress.bar(Console(file=log, quiet=True), progress.Activity("factors"), 1) as advance:
        time.sleep(0.1)
        advance(1)
    assert log.getvalue() == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_names_in_labels_are_no_markup(monkeypatch, terminal):
    """A model may be named like a tag of rich, which would raise or be dropped; and controls are shown as escapes."""
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "LOG_EVERY", 0.0)  # a line each time
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=120)
    for label in ("[/b]m1\x07: answers", progress.Activity("[/b]m1\x07: answers")):
        with progress.bar(console, label, 2, escape_text) as advance:
            advance(1)
            wait_for("[/b]m1\\u0007: answers", output)
        output.truncate(0)


def test_stderr_that_is_gone_ends_nothing(monkeypatch):
    """The work goes on if a line cannot be written, and no traceback is shown."""
    monkeypatch.setattr(progress, "PATIENCE", 0.01)

    class Gone(io.StringIO):
        def write(self, text):
            raised.append(text)
            raise BrokenPipeError

    raised, failed = [], []
    monkeypatch.setattr("threading.excepthook", failed.append)
    with progress.bar(Console(file=Gone()), progress.Activity("factors"), 1) as advance:
        deadline = time.monotonic() + 60
        while not raised and time.monotonic() < deadline:
            time.sleep(0.01)
        advance(1)
    assert raised
    assert failed == []
