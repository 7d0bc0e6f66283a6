"""docs/judges.md: its first command prints what it shows, on the two tables that it begins, and all others run."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from conftest import make_lm

from ranker.sources.lm.prompts import read

PAGE = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
NAMES = ("plain", "steps", "expert", "short")


def write_tables():
    """Marks from 1 to 5 of four prompts: people's of ten rows, and those of a judge that likes short answers."""
    rng = np.random.default_rng(11)
    quality = 3.2 + np.array([[0.1], [0.45], [0.3], [-0.5]]) + rng.normal(0, 0.9, (4, 200))
    people = np.clip(quality, 1, 5).round().astype(int)
    noise = rng.normal(0, 0.8, (4, 200)) + np.array([[0], [0], [0], [0.9]])
    judge = np.clip(quality + noise, 1, 5).round().astype(int)
    for name, marks, rows in (("people", people, 10), ("gpt", judge, 200)):
        with open(f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", *NAMES], *([f"q{n}", *marks[:, n].tolist()] for n in range(rows))])


def test_the_command_prints_what_is_shown(tmp_path, monkeypatch, rank_models):
    """Each line, and the beginnings of the tables."""
    monkeypatch.chdir(tmp_path)
    write_tables()
    for place, name in enumerate(("people.csv", "gpt.csv")):
        words = [
            line[34 * place :].split()[0] for line in re.search(r"(?s)```\n(people.csv .*?)```", PAGE)[1].splitlines()
        ]
        assert Path(name).read_text(encoding="utf-8").split()[:3] == words[1:]
    command, *lines = re.search(r"(?s)```console\n\$ (.*?)\n```", PAGE)[1].splitlines()
    status, out, err = rank_models(*shlex.split(command)[1:])
    assert (status, err) == (0, "")
    printed = [" ".join(line.split()) for line in out.splitlines()]
    assert [line for line in lines if " ".join(line.split()) not in printed] == []


OTHERS = [
    command.replace("lm.gguf", "lm").replace("`", "")
    for command in re.findall(r"(?m)(?:^|`)(?:rank-models )(--.*?)(?:`|$)", PAGE)
    if "URL" not in command
]
"""Other commands of the page; a folder stands for the file of the language model."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Answers of two prompts to six rows, people's marks of three, and labels of classifiers and of people."""
    monkeypatch.chdir(tmp_path)
    write_tables()
    rows, words = range(6), ("the man ran", "a dog slept in his house", "an actor danced")
    lines = {
        "rows": ["id,text", *(f"q{n},Say something {n}." for n in rows)],
        "marks": ["id,model,mark", *(f"q{n},{name},{1 + (n + len(name)) % 5}" for n in range(3) for name in NAMES[:2])],
        "plain": ["id,answer", *(f"q{n},{words[n % 3]}" for n in rows)],
        "steps": ["id,answer", *(f"q{n},{words[n % 2]} again" for n in rows)],
        "ten": ["id,label", *(f"r{n},{['yes', 'no'][n % 2]}" for n in range(10))],
    }
    for name, place in (("a", 7), ("b", 5), ("c", 3)):
        lines[name] = ["id,prediction", *(f"r{n},{['yes', 'no'][(n + (n % place == 0)) % 2]}" for n in range(40))]
    for name, content in lines.items():
        Path(f"{name}.csv").write_text("\n".join(content) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, marks=pytest.mark.models) if " lm" in command else command for command in OTHERS],
    ids=range(len(OTHERS)),
)
def test_each_other_command_runs(folder, rank_models, command):
    """One that asks a language model, one of labels, one of marks alone, one of judges alone."""
    if " lm" in command:
        make_lm(folder / "lm")
    if "ten.csv" in command:
        lines = ["id,label", *(f"r{n},{['yes', 'no'][n % 2]}" for n in range(40))]
        Path("gpt.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, out, _ = rank_models(*shlex.split(command), "--no-isolate")
    assert status == 0
    assert " first" in out


def test_the_prompt_of_the_page_is_one(tmp_path):
    """With a place for the row and for the answer."""
    file = tmp_path / "polite.toml"
    file.write_text(re.search(r"(?s)# file: polite.toml\n(.*?)```", PAGE)[1], encoding="utf-8")
    assert read(file).segments == ("input", "answer")
