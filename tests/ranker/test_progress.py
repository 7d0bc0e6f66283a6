"""How far long work is, as a log file gets it."""

import io

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
    assert log.getvalue() == "none: 0/20\nnone: 10/20, 0.2 examples/s, 40 s left\n"
