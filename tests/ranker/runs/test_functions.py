"""What our own functions compute is known by their names and our sources; that of others is not known."""

import importlib
import platform
from functools import partial

import pytest

from factors import BUILTIN
from factors.general import index_diff
from ranker.runs import functions
from ranker.runs.functions import identity
from ranker.statistics import label_free, methods
from ranker.tasks.numbers import NumberTask
from ranker.tasks.texts import TextTask


def own_metric(answer, reference):
    """A metric of one's own."""
    return 1.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (NumberTask("marks", 0, 5), NumberTask("marks", 0, 4)),
        (TextTask("texts", score="rouge-l"), TextTask("texts", score="chrf")),
        (partial(index_diff, 1), partial(index_diff, 2)),
        *(
            [methods._free("A", score, "", "").estimate for score in pair]
            for pair in [(label_free.pool_factor, label_free.average_confidence)]
        ),
    ],
    ids=["a number", "a name", "an argument", "what it closes over"],
)
def test_what_changes_a_number_changes_the_identity(first, second):
    """Each has an identity of its own, and the same one another time."""
    assert identity(first) == identity(first) is not None
    assert identity(second) not in (None, identity(first))


@pytest.mark.parametrize(
    "value",
    [
        *(lambda attributions, example: 1.0, own_metric, BUILTIN["CONF"].of, int.from_bytes),
        *([1], partial(own_metric, "a"), TextTask("texts", score=own_metric)),
    ],
)
def test_values_that_are_not_ours_have_no_identity(value):
    """They may read a file, the clock or chance, or be changed."""
    assert identity(value) is None


def test_factors_of_ours_have_one_each():
    """Their scores can be stored."""
    assert None not in (identities := {identity(factor.score) for factor in BUILTIN.values()})
    assert len(identities) == len(BUILTIN)


@pytest.mark.parametrize("package", functions.OURS)
def test_our_own_sources_are_a_part_of_every_identity(package, monkeypatch, tmp_path):
    """A byte more in any module of theirs, and nothing that was stored is taken again."""
    before = identity(index_diff)
    (tmp_path / "more.py").write_text("x = 1\n")
    path = [*importlib.import_module(package).__path__, str(tmp_path)]
    monkeypatch.setattr(importlib.import_module(package), "__path__", path)
    functions.computation_versions.cache_clear()
    try:
        assert identity(index_diff) != before
    finally:
        functions.computation_versions.cache_clear()


@pytest.mark.parametrize("part", ["python", *functions.LIBRARIES])
def test_versions_are_a_part_of_every_identity(part, monkeypatch):
    """Versions are those of Python, and of each library that our measures use."""
    before, version = identity(index_diff), functions.version
    python = "9.9" if part == "python" else platform.python_version()
    monkeypatch.setattr(functions.platform, "python_version", lambda: python)
    monkeypatch.setattr(functions, "version", lambda name: "9.9" if name == part else version(name))
    functions.computation_versions.cache_clear()
    try:
        assert identity(index_diff) != before
    finally:
        functions.computation_versions.cache_clear()
