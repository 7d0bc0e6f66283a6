"""docs/costs.md: its commands print what it shows, on two logs."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "sources" / "logs"))
from logmaking import eval_log, header, sample

PAGE = (Path(__file__).parents[2] / "docs" / "costs.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?s)```console\n\$ (.*?)\n```", PAGE)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The logs of two models that are right on the same rows, but for 52 of 2,000, and the prices of the page."""
    monkeypatch.chdir(tmp_path)
    for name, alone, tokens in (("large", range(30), 400), ("small", range(30, 52), 100)):
        right = [n in alone or n >= 230 for n in range(2000)]
        counts = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
        used = {"model_usage": {f"openai/{name}": counts}, "total_time": tokens / 100, "working_time": tokens / 120}
        samples = [sample(f"q{n}", "C" if hit else "I", **used) for n, hit in enumerate(right)]
        head = header()
        head["eval"]["model"] = f"openai/{name}"
        eval_log(tmp_path / f"{name}.eval", samples, head)
    Path("prices.toml").write_text(re.search(r"(?s)```toml\n(.*?)```", PAGE)[1])


@pytest.mark.more
@pytest.mark.parametrize("text", COMMANDS, ids=range(len(COMMANDS)))
def test_each_command_prints_what_is_shown(text, rank_models):
    """Each line, whatever the blanks between cells and where lines are broken."""
    command, *lines = text.splitlines()
    status, out, err = rank_models(*shlex.split(command)[1:], "--format", "markdown")
    assert (status, err) == (0, "")
    flat = " ".join(out.replace("|", " ").replace("\\", "").split())
    assert [line for line in lines if " ".join(line.split()) not in flat] == []


@pytest.mark.more
def test_the_code_prints_what_is_shown():
    """From Python as from the command line."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(re.search(r"(?s)```python\n(.*?)```", PAGE)[1], {})
    assert printed.getvalue() == re.search(r"(?s)```output\n(.*?)```", PAGE)[1]


def test_each_kind_of_answers_of_the_page_states_its_usage():
    """And no other does."""
    from ranker.sources.endpoint.kind import EndpointModel
    from ranker.sources.hf.kind import Checkpoint
    from ranker.sources.logs.kind import LogModel
    from ranker.sources.tables.kind import TableModel

    assert [hasattr(kind, "usage") for kind in (LogModel, TableModel, EndpointModel, Checkpoint)] == [True] * 3 + [
        False
    ]
