"""The store of library calls: the user's, as on the command line, unless another is named or none is wanted."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from ranker import USER_STORE, Evidence, Runtime, TextSource, load_set, rank
from ranker.commands.arguments import store_folder
from ranker.errors import StoreError

ROOT = Path(__file__).parents[3]
ROWS = load_set("hans-sub", limit=12)
ASKED: list[str] = []


@dataclass(frozen=True)
class RateGuess(TextSource):
    """A black box that notes whenever it is asked."""

    share: float

    def labels(self):
        """Labels of the rows."""
        return ROWS.task.labels

    def content(self):
        """The name and its only parameter."""
        return f"{self.name} {self.share}"

    def probabilities(self, texts):
        """Sure of one label or the other, by the length of the first text."""
        ASKED.append(self.name)
        sure = np.array([self.share if len(first) % 2 else 1 - self.share for first, *_ in texts])
        return np.stack([sure, 1 - sure], axis=1)


def asked(**options):
    """The models that a call asks."""
    ASKED.clear()
    rank([RateGuess("a", 0.8), RateGuess("b", 0.3)], ROWS, probe=4, evidence=Evidence("none", methods=()), **options)
    return ASKED


def test_a_second_call_asks_no_model(tmp_path, monkeypatch):
    """The first call's numbers are in the user's store, whose place is looked up when the call begins."""
    assert set(asked()) == {"a", "b"}
    assert asked() == []
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "other"))
    assert set(asked()) == {"a", "b"}
    assert list((tmp_path / "other").rglob("key.json"))


def test_none_keeps_nothing(tmp_path, monkeypatch):
    """Each call asks anew, and the user's store is neither read nor made."""
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "mine"))
    for _ in range(2):
        assert set(asked(runtime=Runtime(store=None))) == {"a", "b"}
    assert not (tmp_path / "mine").exists()


def test_a_store_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    """The line says what to do."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("RANK_MODELS_STORE", str(tmp_path / "file"))
    with refuses(StoreError, option="store", value=tmp_path / "file"):
        asked()


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"RANK_MODELS_STORE": "/a/b", "XDG_CACHE_HOME": "/c"}, "/a/b"),
        ({"RANK_MODELS_STORE": "", "XDG_CACHE_HOME": "/c"}, "/c/rank-models"),
        ({"RANK_MODELS_STORE": "", "XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/rank-models"),
    ],
)
def test_it_is_that_of_the_command_line(options, place, monkeypatch):
    """The variable, else a folder in the user's cache."""
    for name, value in options.items():
        monkeypatch.setenv(name, value)
    assert USER_STORE.place() == store_folder({"store_folder": None}) == Path(place)
    assert store_folder({"store_folder": "/x"}) == Path("/x")


SEEN: set[str] = set()


@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_has_a_store_of_its_own(turn):
    """A new folder for each."""
    folder = os.environ["RANK_MODELS_STORE"]
    assert Path(folder).is_relative_to(tempfile.gettempdir())
    assert folder not in SEEN
    assert not Path(folder).exists()
    SEEN.add(folder)


@pytest.mark.slow
def test_no_test_writes_into_the_store_of_who_runs_it(tmp_path):
    """Nor does a docstring's example that ranks models."""
    home = {name: str(tmp_path / name) for name in ("HOME", "XDG_CACHE_HOME", "RANK_MODELS_STORE")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "ranker/runs/label.py"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **home}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert not [path for path in tmp_path.rglob("*") if "rank-models" in path.name or path.name == "key.json"]
    assert not (tmp_path / "RANK_MODELS_STORE").exists()
