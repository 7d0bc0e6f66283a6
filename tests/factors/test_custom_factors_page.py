"""docs/custom-factors.md is a tutorial: its files are written, its code is run, its commands are given."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "custom-factors.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```", PAGE)


def given(command, rank_models):
    """Print what a command of the page prints."""
    status, out, err = rank_models(*shlex.split(command)[1:])
    assert not status, err
    return out


@pytest.mark.more
def test_the_tutorial_runs(tmp_path, monkeypatch, rank_models):
    """From top to bottom, in one folder: what is said to be printed is printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names: dict[str, object] = {}
    printed, files = "", []
    for language, text in BLOCKS:
        if file := re.match(r"# file: (\S+\.py)\n", text):
            (tmp_path / file[1]).write_text(text)
            files.append(file[1].removesuffix(".py"))
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(text, names)
            printed = output.getvalue()
        elif language == "output":
            assert printed.startswith(text.rstrip("\n"))
        elif language == "console":
            command, *expected = text.splitlines()
            first_words = [
                line.split()[0] for line in given(command.removeprefix("$ "), rank_models).splitlines() if line
            ]
            assert set(expected) <= set(first_words)
        else:
            assert language == "toml"
    for name in files:
        sys.modules.pop(name, None)


def test_every_selector_and_reducer_is_on_the_page():
    """The tables are complete."""
    from factors import compose

    own_names = {name for name, value in vars(compose).items() if getattr(value, "__module__", "") == compose.__name__}
    assert not [name for name in own_names - {"shared_words", "_of_defined"} if f"`{name}" not in PAGE]
