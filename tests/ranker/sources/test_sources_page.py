"""docs/sources.md and source-kinds.md are a tutorial: files are written, code is run, a command is given."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
PAGE = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("sources", "source-kinds"))
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```", PAGE)
FILES = dict(re.findall(r"(?ms)^```\w+\n# file: (\S+)\n(.*?)^```", PAGE))
POINT = re.compile(r'\[project\.entry-points\."(\S+)"\]\n(\w+) = "(\w+)"\n')


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the tutorial, which is on the path; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def install(folder, text):
    """Files that pip would leave of a package with the page's entry point."""
    group, name, module = POINT.fullmatch(text).groups()
    info = folder / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")


@pytest.mark.slow
def test_the_tutorial_runs(folder, rank_models):
    """From top to bottom, in one folder: what is said to be printed is printed."""
    names: dict[str, object] = {}
    printed = ""
    for language, text in BLOCKS:
        if file := re.match(r"# file: (\S+)\n", text):
            (folder / file[1]).write_text(FILES[file[1]])
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stdout:
                exec(text, names)
            printed = stdout.getvalue()
        elif language == "output":
            assert printed == text
        elif language == "toml":
            install(folder, text)
        else:
            assert language == "console"
            command, *expected = text.splitlines()
            status, out, err = rank_models(*shlex.split(command.removeprefix("$ "))[1:])
            assert not status, err
            assert set(expected) <= {word for line in out.splitlines() for word in line.split()[:2]}


def test_a_source_takes_30_lines():
    """As the page promises, the lines of its imports and the empty ones counted."""
    assert "## A source in 30 lines" in PAGE
    assert len(FILES["tfidf.py"].splitlines()) <= 30


def test_what_is_imported_is_there_for_tests():
    """scikit-learn is asked for by name, not only brought along by another package."""
    root = Path(__file__).parents[3]
    assert re.search(r"(?m)^    scikit-learn", (root / "setup.cfg").read_text())
    assert re.search(r"(?m)^scikit-learn==", (root / "constraints.txt").read_text())
