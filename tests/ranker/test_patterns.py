"""No regular expression of ours takes a time that grows faster than the text it reads."""

import importlib
import pkgutil
import re
import time
from contextlib import nullcontext

import pytest

import experiments
import factors
import ranker

LENGTH = 10_000
"""A pattern that goes back over what it has read takes four times as long for twice as long a text."""

SHORT = 0.01
"""Seconds that say nothing of growth: at twice the length, a pattern that goes back takes at least ten times these."""

PIECES = ["a", " ", "1", "-", "'", "a-", "a'", "(", ")", "(a ", "S ", "VP SBAR ", "ROOT ", "VP ", "label", "_", "\n",
          "\t", " =", "=>", " => ", "a1 ", "this", "é", "走", "\u0301", "\x00", "0"]  # fmt: skip
TEXTS = [(piece, end) for piece in PIECES for end in ("", "!", "\x00")]


def patterns():
    """Every compiled pattern that is a module's own: (module.name, pattern)."""
    for package in (factors, ranker, experiments):
        for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module_info.name.endswith("__main__") or module_info.name.startswith("experiments.generate"):
                continue  # the generators read tables of our own only
            module = importlib.import_module(module_info.name)
            for name, value in vars(module).items():
                if isinstance(value, re.Pattern):
                    yield f"{module_info.name}.{name}", value


PATTERNS = dict(patterns())


def test_there_are_patterns():
    """Patterns of words, of marks, and of labels are among them."""
    assert {
        "factors.types._WORD",
        "ranker.datasets.marks._CLAUSES",
        "ranker.sources.hf.labels._UNNAMED",
    } <= PATTERNS.keys()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", PATTERNS)
def test_the_time_of_a_pattern_grows_no_faster_than_the_text(name):
    """Whichever piece the text repeats, and however it ends: twice the text, at most 2.5 times the time."""
    for piece, end in TEXTS:
        pattern, length = PATTERNS[name], LENGTH // 64
        while length < LENGTH and taken(pattern, piece * (length // len(piece)) + end) < SHORT:
            length *= 2  # a pattern that goes back twice would take hours at the whole length
        growth = 0.0
        for _ in range(5):
            once, twice = (taken(pattern, piece * (size // len(piece)) + end) for size in (length, 2 * length))
            growth = twice / max(once, SHORT)
            if growth <= 2.5:
                break
        assert growth <= 2.5, repr(piece)


def taken(pattern, text):
    """Seconds of the processor to search a text and to match it, the least of three times."""
    typed = text if isinstance(pattern.pattern, str) else text.encode()
    least = float("inf")
    for _ in range(3):
        began = time.process_time()
        sum(1 for _ in pattern.finditer(typed))
        pattern.fullmatch(typed)
        pattern.match(typed)
        least = min(least, time.process_time() - began)
        if least < SHORT:
            break
    return least


@pytest.mark.more
@pytest.mark.parametrize(("pattern", "linear"), [(r"a+a+b", False), (r"a{1,30}b", True)])
def test_a_pattern_that_goes_back_is_seen(monkeypatch, pattern, linear):
    """Twice from each place to the end takes eight times as long for twice the text, on a busy machine too."""
    monkeypatch.setitem(PATTERNS, "it", re.compile(pattern))
    monkeypatch.setattr("test_patterns.TEXTS", [("a", "!")])
    monkeypatch.setattr("test_patterns.LENGTH", 300)
    with nullcontext() if linear else pytest.raises(AssertionError):
        test_the_time_of_a_pattern_grows_no_faster_than_the_text("it")
