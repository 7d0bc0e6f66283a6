"""docs/prompts.md: each of its commands runs, with a tiny language model."""

import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import make_lm

from ranker.sources.lm.prompts import Prompt, read

PAGE = (Path(__file__).parents[2] / "docs" / "prompts.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^rank-models (.*)$", PAGE)
TEXTS = ("The old actor danced", "An old judge waited", "The doctor saw the actor", "A judge believed the doctor")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files of the page: rows, demonstrations, two models, and the prompt."""
    monkeypatch.chdir(tmp_path)
    for name, mark in (("reviews", "."), ("train", "!")):
        rows = [{"text": text + mark, "label": ("positive", "negative")[n % 2]} for n, text in enumerate(TEXTS)]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for seed, name in enumerate(("writer", "other")):
        make_lm(tmp_path / "models" / name, seed=seed, max_position_embeddings=512)
    Path("prompts").mkdir()
    Path("prompts/verdict.toml").write_text(re.search(r"(?s)# file: prompts/verdict.toml\n(.*?)```", PAGE)[1])
    return tmp_path


@pytest.mark.more
@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_each_command_of_the_page_runs(folder, rank_models, command):
    """Each command ends well, and each model is a prompt."""
    arguments = [*shlex.split(command), "--format", "json"]
    status, out, err = rank_models(*arguments if arguments[0] == "explain" else [*arguments, "--no-isolate"])
    assert not status, err
    content = json.loads(out)
    models = content["models"] if arguments[0] == "explain" else content["decision"]["models"]
    prompts = {model["name"].split("/")[1] for model in models}
    assert prompts <= {"verdict", "review", "like", "question", "all-in-all"}
    assert len(models) >= 1


def test_the_page_names_every_key_of_a_prompt():
    """None is left out, but the name and the description of the class."""
    keys_on_page = set(re.findall(r"`(\w+)`", "".join(line for line in PAGE.splitlines() if line.startswith("| `"))))
    assert set(Prompt.__dataclass_fields__) - keys_on_page == {"name"}


def test_the_prompt_of_the_page_is_one(folder):
    """The prompt's words are those of the labels in the rows."""
    assert set(read(Path("prompts/verdict.toml")).verbalizers) == {"positive", "negative"}
