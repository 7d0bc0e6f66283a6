"""A function is known by its code and all that it reaches; one that reaches what nobody can name is not known."""

import functools
import importlib
import math
import platform
import re
import textwrap
import time

import numpy as np
import pytest

from factors import BUILTIN
from ranker.runs import functions
from ranker.runs.functions import identity

HELPER = "def helper(x):\n    return x + 1\n"


def made(source, name="score", **names):
    """A function of a module that consists of some lines."""
    module = {"__name__": "own", "np": np, "math": math, "re": re, "functools": functools, "time": time, **names}
    exec(compile(textwrap.dedent(source), "own.py", "exec"), module)  # noqa: S102  # as a user's file is run
    return module[name]


KNOWN = {
    "the code": ("def score(a, e): return a + 1", "def score(a, e): return a + 2"),
    "a name of the code": ("def score(a, e): return a.probs", "def score(a, e): return a.scores"),
    "a default": ("def score(a, e, k=1): return k", "def score(a, e, k=2): return k"),
    "a default by name": ("def score(a, e, *, k=1): return k", "def score(a, e, *, k=2): return k"),
    "a global": ("K = 1\ndef score(a, e): return K", "K = 2\ndef score(a, e): return K"),
    "the type of a global": ("K = 1\ndef score(a, e): return K", "K = True\ndef score(a, e): return K"),
    "a list": ("K = [1, 'x']\ndef score(a, e): return K", "K = [1, 'y']\ndef score(a, e): return K"),
    "a table": ("K = {'x': (1,)}\ndef score(a, e): return K['x']", "K = {'x': (2,)}\ndef score(a, e): return K['x']"),
    "a set": ("K = {'a', 'b'}\ndef score(a, e): return 'a' in K", "K = {'a', 'c'}\ndef score(a, e): return 'a' in K"),
    "an array": (
        "K = np.arange(3)\ndef score(a, e): return K[0]",
        "K = np.arange(3) + 1\ndef score(a, e): return K[0]",
    ),
    "the kind of an array": (
        "K = np.zeros(3)\ndef score(a, e): return K[0]",
        "K = np.zeros(3, 'f4')\ndef score(a, e): return K[0]",
    ),
    "a pattern": (
        "K = re.compile('a')\ndef score(a, e): return K.match(e)",
        "K = re.compile('a', re.I)\ndef score(a, e): return K.match(e)",
    ),
    "a helper": (
        HELPER + "def score(a, e): return helper(a)",
        HELPER.replace("1", "2") + "def score(a, e): return helper(a)",
    ),
    "a helper's helper": (
        HELPER + "def other(x): return helper(x)\ndef score(a, e): return other(a)",
        HELPER.replace("1", "2") + "def other(x): return helper(x)\ndef score(a, e): return other(a)",
    ),
    "what it closes over": (
        "def make(k):\n    def score(a, e): return k\n    return score\nscore = make(1)",
        "def make(k):\n    def score(a, e): return k\n    return score\nscore = make(2)",
    ),
    "a function that it closes over": (
        "def make(k):\n    def score(a, e): return k(a)\n    return score\nscore = make(lambda x: x)",
        "def make(k):\n    def score(a, e): return k(a)\n    return score\nscore = make(lambda x: -x)",
    ),
    "a partial": (
        "def of(k, a, e): return k\nscore = functools.partial(of, 1)",
        "def of(k, a, e): return k\nscore = functools.partial(of, 2)",
    ),
    "a function in it": ("def score(a, e): return [x + 1 for x in a]", "def score(a, e): return [x + 2 for x in a]"),
    "a function of a library": ("def score(a, e): return np.mean(a)", "def score(a, e): return np.sum(a)"),
    "a library's function as a global": (
        "K = np.mean\ndef score(a, e): return K(a)",
        "K = np.sum\ndef score(a, e): return K(a)",
    ),
    "where it catches": (
        "def score(a, e):\n    try: return a\n    except ValueError: return 1",
        "def score(a, e):\n    try: return a\n    except TypeError: return 1",
    ),
    "a remembered function": (
        "@functools.cache\ndef of(a): return 1\ndef score(a, e): return of(a)",
        "@functools.cache\ndef of(a): return 2\ndef score(a, e): return of(a)",
    ),
}
"""What is changed -> one source and the other."""


@pytest.mark.parametrize("what", KNOWN)
def test_what_changes_a_number_changes_the_identity(what):
    """Each of them is known, and the two are told apart."""
    one, other = (identity(made(source)) for source in KNOWN[what])
    assert one is not None
    assert other is not None
    assert one != other


@pytest.mark.parametrize("what", KNOWN)
def test_what_changes_no_number_does_not(what):
    """A second copy of the same lines, further down in a file, and other names and functions beside it."""
    source = KNOWN[what][0]
    assert identity(made(f"\n\n# a comment\nUNUSED = open\n{source}")) == identity(made(source))


@pytest.mark.parametrize(
    "source",
    [
        "def score(a, e): return open('x').read()",
        "def score(a, e): return np.random.random()",
        "def score(a, e): return np.load('x')",
        "def score(a, e): return time.time()",
        "def score(a, e):\n    import os\n    return os.getpid()",
        "def score(a, e):\n    from time import time\n    return time()",
        "def score(a, e): return hash(e)",
        "def score(a, e): return eval(e)",
        "def score(a, e): return globals()['K']",
        "def score(a, e): return getattr(a, e)",
        "def score(a, e): return missing",
        "def score(a, e):\n    global K\n    K = 1\n    return K",
        "class K: pass\nk = K()\ndef score(a, e): return k.x",
        "class K: pass\ndef score(a, e): return K().x",
        "rng = np.random.default_rng(0)\ndef score(a, e): return rng.random()",
        "K = iter([1, 2])\ndef score(a, e): return next(K)",
        "K = [1].pop\ndef score(a, e): return K()",
        "def score(a, e):\n    class K:\n        x = 1\n    return K.x",
        "from random import random\ndef score(a, e): return random()",
        "K = np.array([object()])\ndef score(a, e): return K",
        "class K:\n    def __call__(self, a, e): return 1\nscore = K()",
        "def helper(x): return open(x)\ndef score(a, e): return helper(a)",
        "K = {'x': open}\ndef score(a, e): return K['x'](a)",
    ],
)
def test_what_reaches_further_is_not_known(source):
    """Files, the clock, chance, other processes' numbers, objects of classes of one's own."""
    assert identity(made(source)) is None


def test_functions_that_name_each_other_have_an_end():
    """They are told once, and still told apart."""
    source = """
        def even(n): return n == 0 or odd(n - {0})
        def odd(n): return n != 0 and even(n - 1)
        def score(a, e): return even(a)
    """
    one, other = (identity(made(source.format(step))) for step in (1, 2))
    assert one is not None
    assert one != other


@pytest.mark.parametrize("name", BUILTIN)
def test_all_factors_of_ours_are_known(name):
    """Each by itself, so that its scores can be kept."""
    assert identity(BUILTIN[name].score) is not None
    assert len({identity(factor.score) for factor in BUILTIN.values()}) == len(BUILTIN)


@pytest.mark.parametrize("package", functions.OURS)
def test_our_own_sources_are_a_part_of_every_identity(package, monkeypatch, tmp_path):
    """A byte more in any module of theirs, and nothing that was kept is taken again."""
    before = identity(made("def score(a, e): return 1"))
    (tmp_path / "more.py").write_text("x = 1\n")
    path = [*importlib.import_module(package).__path__, str(tmp_path)]
    monkeypatch.setattr(importlib.import_module(package), "__path__", path)
    functions.computation_versions.cache_clear()
    try:
        assert identity(made("def score(a, e): return 1")) != before
    finally:
        functions.computation_versions.cache_clear()


@pytest.mark.parametrize("what", ["python", *functions.LIBRARIES])
def test_versions_are_a_part_of_every_identity(what, monkeypatch):
    """Of Python, and of each library that a known function may use."""
    before = identity(made("def score(a, e): return 1"))
    python = "9.9" if what == "python" else platform.python_version()
    monkeypatch.setattr(functions.platform, "python_version", lambda: python)
    known = functions.version
    monkeypatch.setattr(functions, "version", lambda name: "9.9" if name == what else known(name))
    functions.computation_versions.cache_clear()
    try:
        assert identity(made("def score(a, e): return 1")) != before
    finally:
        functions.computation_versions.cache_clear()
