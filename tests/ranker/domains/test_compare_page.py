"""docs/compare.md and compare-tables.md are a tutorial: files are written, code is run, commands are given."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from test_tables_page import give

from ranker.domains.commands.compare import compare as command
from ranker.domains.statistics.trend import TYPES
from ranker.domains.values import COLUMNS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("compare", "compare-tables"))
BLOCKS = re.findall(r"(?ms)^```(\w+)(?: (\S+))?\n(.*?)^```", PAGE)


@pytest.mark.models
@pytest.mark.more
def test_the_page_runs(tmp_path, monkeypatch, rank_models):
    """From top to bottom, in one folder: what is said to be printed is printed."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    for language, file, text in BLOCKS:
        if file:
            (tmp_path / file).write_text(text)
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(text, names)
            printed = output.getvalue()
        elif language == "output":
            assert printed == text
        else:
            assert language == "console"
            give(text, rank_models)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("<svg") == 5
    assert (tmp_path / "figures" / "trend-tweets.pdf").is_file()


def test_the_page_names_what_there_is():
    """Every column, every option of the command, and every type of a trend."""
    assert {f"`{column}`" for column in COLUMNS} <= set(re.findall(r"`\w+`", PAGE))
    flags = set(re.findall(r"--[a-z][a-z-]+", PAGE))
    names = {name for option in command.params for name in option.opts}
    shared = {"--seed", "--force", "--config"}
    assert {name for name in names if name.startswith("--")} - shared <= flags | {"--output"}
    assert flags - {"--save", "--models", "--output"} <= names
    assert all(re.search(rf"[*]{type_name}[*]", PAGE) for type_name in TYPES)


@pytest.mark.parametrize("number", ["results/sets.md", "json-schema.md", "STATISTICS.md"])
def test_the_pages_that_it_names_are_there(number):
    """Beside it."""
    assert (DOCS / number).is_file()
