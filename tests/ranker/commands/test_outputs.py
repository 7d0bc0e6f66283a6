"""Paths that a command writes to: looked at before any work."""

import os
import sys
from pathlib import Path

import pytest
from refusals import refuses

from ranker.commands import outputs
from ranker.errors import UsageError


def given(**paths):
    """Read arguments by click, without `--force`."""
    return {"output": None, "save": None, "plots": None, "force": False} | paths


@pytest.fixture
def existing(tmp_path, monkeypatch):
    """A folder with a file, a folder that is empty, and one that is not; the current one."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("old")
    Path("empty").mkdir()
    Path("full").mkdir()
    Path("full/file").write_text("old")
    return tmp_path


@pytest.mark.parametrize(
    "paths",
    [{}, {"output": "new"}, {"save": "full/new"}, {"plots": "new"}, {"plots": "empty"}, {"output": os.devnull},
     {"output": "a", "save": "b", "plots": "c"}],
)  # fmt: skip
def test_what_is_not_there_may_be_written(existing, paths):
    """New files and folders, empty folders, and devices, which hold nothing that could be lost."""
    outputs.check(given(**{name: Path(path) for name, path in paths.items()}))


@pytest.mark.parametrize(
    ("option", "path"),
    [
        ("output", "file"), ("save", "file"), ("plots", "full"), ("output", "full"), ("plots", "file"),
        ("output", "no/new"), ("output", "file/new"), ("output", "n" * 5000), ("output", "a\0b"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_or_is_there_is_refused(existing, option, path):
    """The error names the option and the path."""
    with refuses(UsageError, option=option, value=Path(path)):
        outputs.check(given(**{option: Path(path)}))


def test_two_options_name_two_paths(existing):
    """One file cannot hold both."""
    with refuses(UsageError, option="output", value=Path("a")):
        outputs.check(given(output=Path("a"), save=Path("a")))


def test_force_writes_over_what_is_there_and_over_nothing_else(existing):
    """A file and a folder may then be written over; a folder is no file for all that."""
    outputs.check(given(output=Path("file"), plots=Path("full"), force=True))
    with refuses(UsageError, option="output", value=Path("full")):
        outputs.check(given(output=Path("full"), force=True))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_path_without_permission_is_refused(existing):
    """Of the folder that a new file would stand in, and of a file that is there."""
    Path("empty").chmod(0o500)
    Path("file").chmod(0o400)
    for path in ("empty/new", "file"):
        with refuses(UsageError, option="output", value=Path(path)):
            outputs.check(given(output=Path(path), force=True))


def test_permission_is_what_the_system_says(existing, monkeypatch):
    """The same, for where the tests are run by root."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != Path("full"))
    outputs.check(given(output=Path("empty/new")))
    with refuses(UsageError, option="output", value=Path("full/new")):
        outputs.check(given(output=Path("full/new")))
