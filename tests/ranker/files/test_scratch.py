"""Temporary folders: gone with their process, however it ends, and never taken from one that lives."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ranker.files import scratch
from ranker.files.scratch import Scratch

ROOT = Path(__file__).resolve().parents[3]

HOLDING = """
import sys
from ranker.files.scratch import Scratch
made = Scratch()
(made.path / "a").write_text("a")
print(made.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def holding(folder):
    """A process that has one, and its path."""
    with subprocess.Popen([sys.executable, "-c", HOLDING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:  # fmt: skip
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_it_is_removed_with_all_that_is_in_it(folder):
    """By `close`, or when nobody has it any more."""
    first = Scratch()
    (first.path / "a").mkdir()
    assert os.listdir(folder) == [first.path.name]
    first.close()
    first.close()
    assert os.listdir(folder) == []
    Scratch()
    assert os.listdir(folder) == []


def test_one_of_a_process_that_lives_is_left(folder, holding):
    """Whoever makes another one."""
    _, path = holding
    Scratch()
    assert (path / "a").exists()


def test_one_of_a_process_that_was_killed_is_removed_by_the_next(folder, holding):
    """By SIGKILL it can remove nothing itself."""
    process, path = holding
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=600)
    assert (path / "a").exists()
    second = Scratch()
    assert os.listdir(folder) == [second.path.name]


@pytest.mark.parametrize("name", ["rank-models-output", "rank-models-tmp-mine", "rank-models-tmp-123456789", "other"])
def test_what_is_called_otherwise_is_left(folder, name):
    """A folder that somebody has made by hand."""
    (folder / name).mkdir()
    Scratch()
    assert os.listdir(folder) == [name]


def test_links_and_files_are_left(folder, tmp_path_factory):
    """Only folders are removed, and nothing that a link leads to."""
    far = tmp_path_factory.mktemp("far")
    (far / "a").write_text("a")
    (folder / "rank-models-tmp-aaaaaaaa").symlink_to(far)
    (folder / "rank-models-tmp-bbbbbbbb").write_text("b")
    Scratch()
    assert sorted(os.listdir(folder)) == ["rank-models-tmp-aaaaaaaa", "rank-models-tmp-bbbbbbbb"]
    assert (far / "a").exists()


def test_one_that_was_not_named_yet_is_removed_after_a_minute(folder):
    """A process may be killed between making and locking it; until then it may be about to."""
    for name, age in (("aaaaaaaa", 0), ("bbbbbbbb", 61)):
        (folder / f".rank-models-tmp-{name}").mkdir()
        os.utime(folder / f".rank-models-tmp-{name}", (time.time() - age,) * 2)
    with Scratch():
        assert ".rank-models-tmp-aaaaaaaa" in os.listdir(folder)
    assert os.listdir(folder) == [".rank-models-tmp-aaaaaaaa"]
