"""docs/judges.md: its command prints what it shows, on the two tables that it begins."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np

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
        shown = [
            line[34 * place :].split()[0] for line in re.search(r"(?s)```\n(people.csv .*?)```", PAGE)[1].splitlines()
        ]
        assert Path(name).read_text(encoding="utf-8").split()[:3] == shown[1:]
    command, *lines = re.search(r"(?s)```console\n\$ (.*?)\n```", PAGE)[1].splitlines()
    status, out, err = rank_models(*shlex.split(command)[1:])
    assert (status, err) == (0, "")
    printed = [" ".join(line.split()) for line in out.splitlines()]
    assert [line for line in lines if " ".join(line.split()) not in printed] == []
