"""How far long work is, as a log file gets it."""

import io

import pytest
from rich.console import Console

from ranker import progress


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


class OutStream(io.StringIO):
    """What a notebook's kernel puts in the place of stderr."""


OutStream.__module__ = "ipykernel.iostream"


class Clock:
    """Time that goes on when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)


def shown_lines(text):
    """What a cell shows of a text at each of its states: a carriage return goes back to the start of the line."""
    assert "\n" not in text
    return [state.rstrip() for state in text.split("\r")]


def test_a_notebook_has_one_line(monkeypatch):
    """Many steps of several stages write one line over, at most once a second, and it is empty at the end."""
    clock, cell = Clock(monkeypatch), OutStream()
    monkeypatch.setattr("sys.stderr", cell)
    for label in ("m1: answers", "m2: answers"):
        with progress.shown(label, 1000) as advance:
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
    clock, cell = Clock(monkeypatch), OutStream()
    monkeypatch.setattr("sys.stderr", cell)
    with progress.shown("m1: shap", 36_000) as advance:
        for _ in range(36_000):
            clock.now += 0.1
            advance(1)
    assert 50 < len(shown_lines(cell.getvalue())) < 150


def test_a_notebook_is_told_nothing_of_what_ends_at_once(monkeypatch):
    """Where all is known, a cell stays empty."""
    Clock(monkeypatch)
    cell = OutStream()
    monkeypatch.setattr("sys.stderr", cell)
    with progress.shown("m1: answers", 3) as advance:
        advance(3)
    assert cell.getvalue() == ""


def test_an_interrupted_stage_leaves_no_line(monkeypatch):
    """What is printed next begins a line."""
    clock, cell = Clock(monkeypatch), OutStream()
    monkeypatch.setattr("sys.stderr", cell)

    def interrupted():
        with progress.shown("m1: answers", 3) as advance:
            clock.now += 2
            advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert shown_lines(cell.getvalue())[-2:] == ["", ""]


def test_a_library_call_says_nothing_to_a_file(monkeypatch):
    """A script whose stderr is a log is not written into unasked."""
    clock, log = Clock(monkeypatch), io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    with progress.shown("m1: answers", 30) as advance:
        clock.now += 60
        advance(1)
    assert log.getvalue() == ""


def test_a_terminal_has_a_bar(monkeypatch):
    """Which is gone when the stage ends."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress.shown("m1: answers", 30) as advance:
        advance(30)
    assert "m1: answers" in screen.getvalue()
    assert "30/30" in screen.getvalue()
