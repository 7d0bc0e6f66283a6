"""No regular expression of ours takes a time that grows faster than the text it reads."""

import importlib
import pkgutil
import re
import time

import pytest

import experiments
import factors
import ranker

LENGTH = 20_000
SECONDS = 1.0
"""A pattern that goes back over what it has read takes hours at this length."""

PIECES = ["a", " ", "1", "-", "'", "a-", "a'", "(", ")", "(a ", "S ", "VP SBAR ", "ROOT ", "VP ", "label", "_", "\n",
          "\t", " =", "=>", " => ", "a1 ", "this", "é", "走", "\u0301", "\x00", "0"]  # fmt: skip
TEXTS = [piece * (LENGTH // len(piece)) + end for piece in PIECES for end in ("", "!", "\x00")]


def patterns():
    """Every compiled pattern that is a module's own: (module.name, pattern)."""
    for package in (factors, ranker, experiments):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.endswith("__main__") or found.name.startswith("experiments.generate"):
                continue  # the generators read tables of our own only
            module = importlib.import_module(found.name)
            for name, value in vars(module).items():
                if isinstance(value, re.Pattern):
                    yield f"{found.name}.{name}", value


PATTERNS = dict(patterns())


def test_there_are_patterns():
    """Those of words, of marks, and of labels are among them."""
    assert {
        "factors.types._WORD",
        "ranker.datasets.marks._CLAUSES",
        "ranker.sources.hf.labels._UNNAMED",
    } <= PATTERNS.keys()


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_is_done_with_a_long_text_at_once(name):
    """Whichever piece the text repeats, and however it ends: searched, matched and split in far less than a second."""
    pattern = PATTERNS[name]
    for text in TEXTS if isinstance(pattern.pattern, str) else [text.encode() for text in TEXTS]:
        began = time.process_time()
        sum(1 for _ in pattern.finditer(text))
        pattern.fullmatch(text)
        pattern.match(text)
        assert time.process_time() - began < SECONDS, repr(text[:10])
