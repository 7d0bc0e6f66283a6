"""docs/endpoints.md: each of its commands runs, with a small server."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from ranker.sources.endpoint.options import EndpointOptions
from ranker.sources.options import flags_of

sys.path.append(str(Path(__file__).parent / "sources" / "endpoint"))
from servers import serving

PAGE = (Path(__file__).parents[2] / "docs" / "endpoints.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^rank-models (.*)$", PAGE)


@pytest.mark.more
@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_each_command_of_the_page_runs(command, tmp_path, monkeypatch, rank_models):
    """Each command ends well, within its budget; a dry run sends nothing, and says what it would cost."""
    monkeypatch.chdir(tmp_path)
    rows = [{"text": f"Row {n}", "label": ("positive", "negative")[n % 2]} for n in range(8)]
    Path("reviews.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("prices.toml").write_text(re.search(r"(?s)# file: prices.toml\n(.*?)```", PAGE)[1])
    with serving() as server:
        words = shlex.split(command.replace("http://127.0.0.1:8080/v1", server.url))
        status, out, err = rank_models(*words, "--store", "store", "--no-isolate")
    assert not status, err
    assert ("USD; nothing was sent" in out) == ("--dry-run" in command) == (not server.requests)
    assert len(server.requests) <= 200


def test_the_page_names_every_option():
    """The options are those that models behind servers have beside those of language models."""
    own_names = [name for name in flags_of(EndpointOptions) if name not in flags_of(EndpointOptions.__base__)]
    flags = [f"--{flags_of(EndpointOptions)[name].name or name.replace('_', '-')}" for name in own_names]
    assert [flag for flag in flags if flag not in PAGE] == []
