"""docs/extending.md: its package is installed as pip leaves it, and each command prints what is shown."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```[a-z]+\n# file: (\S+)\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.findall(r"^\$ (.*)\n((?:(?!\$|```).*\n)*)", PAGE, re.MULTILINE)
MOST_LINES = 80

EVENTS = ["2026-01-03", "2026-02-11", "2026-03-30", "2026-05-01"]
SAID = {
    "good": ["2026-01-03", "2026-02-12", "2026-03-30", "2026-05-01"],
    "poor": ["soon", "2025-02-11", "2026-03-01", ""],
}
MOODS = ["yes", "no", "yes", "no", "yes", "no", "yes", "no", "yes", "no"]
WRONG = {"bert": {3}, "gpt": {1, 3, 4, 5}}
POINTS = {"one": [1, 1, 0.5], "two": [0, 0.5, 0.5]}


def write_rows(folder):
    """Rows and answers for each part of the page."""
    events = [f"e{n},When was it?,{day}" for n, day in enumerate(EVENTS)]
    (folder / "events.csv").write_text("\n".join(["id,text,label", *events]))
    for name, days in SAID.items():
        (folder / f"{name}.csv").write_text(
            "\n".join(["id,prediction", *(f"e{n},{day}" for n, day in enumerate(days))])
        )
    (folder / "moods.csv").write_text(
        "\n".join(["id,text,label", *(f"m{n},Row {n}.,{m}" for n, m in enumerate(MOODS))])
    )
    for name, wrong in WRONG.items():
        answers = [{"yes": "no", "no": "yes"}[m] if n in wrong else m for n, m in enumerate(MOODS)]
        lines = ["id,prediction", *(f"m{n},{answer}" for n, answer in enumerate(answers))]
        (folder / f"{name}.csv").write_text("\n".join(lines))
    for name, points in POINTS.items():
        rows = [
            {"id": f"q{n}", "points": p, "question": f"What is {n}?", "said": "It is."} for n, p in enumerate(points)
        ]
        lines = [{"tally": 1, "task": "sums", "model": name}, *rows]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The package as pip leaves it on disk, and files."""
    folder = tmp_path_factory.mktemp("theirs")
    for name, content in FILES.items():
        if name.endswith(".py"):
            (folder / name).write_text(content)
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [line for group, points in groups for line in (f"[{group}]", *(f"{n} = {v}" for n, v in points.items()))]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    write_rows(folder)
    return folder


@pytest.fixture(scope="module")
def program(folder):
    """Runs `rank-models` in a process that has the package installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[2])]),
                   "OMP_NUM_THREADS": "1", "RANK_MODELS_STORE": str(folder / "store"), "COLUMNS": "200"}  # fmt: skip

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "ranker", *arguments], cwd=folder, env=environment, capture_output=True, text=True
        )

    return run


@pytest.mark.more
@pytest.mark.parametrize(("command", "page_output"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_each_command_prints_what_is_shown(program, command, page_output):
    """Line by line, whatever the blanks between cells."""
    done = program(*shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    out = " ".join(done.stdout.split())
    assert [line for line in page_output.splitlines() if " ".join(line.split()) not in out] == [], done.stdout


def test_each_is_short_and_in_a_file_of_its_own():
    """A page's example that grows shows that the door has."""
    code = {name: content.splitlines() for name, content in FILES.items() if name.endswith(".py")}
    assert {*code} == {"dates.py", "worst.py", "tally.py", "alone.py"}
    assert max(map(len, code.values())) < MOST_LINES


@pytest.mark.more
@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("one.jsonl", '{"tally": 1}\n', "one.jsonl: KeyError: 'task'"),
        ("one.jsonl", '{"tally": 1, "task": "sums", "model": "one"}\n', "one.jsonl holds no row"),
        ("one.jsonl", '{"tally": 1,\n', "one.jsonl: JSONDecodeError"),
    ],
)
def test_a_broken_log_is_named(folder, program, name, content, text):
    """In one line, with what the package says."""
    before = (folder / name).read_text()
    (folder / name).write_text(content)
    try:
        done = program("--models", "one.jsonl", "two.jsonl")
    finally:
        (folder / name).write_text(before)
    assert done.returncode != 0
    assert text in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
