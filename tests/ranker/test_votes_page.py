"""docs/votes.md: its command prints what it shows, on votes whose first lines it has."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).parents[2] / "docs" / "votes.md").read_text(encoding="utf-8")
STRENGTHS = {"plain": -0.3, "steps": 0.7, "expert": -0.2}


def write_votes():
    """The lines of the page, then votes of two people on some rows, and of a judge on all, by true strengths."""
    rng = np.random.default_rng(3)
    lines = [line.split(",") for line in re.search(r"(?s)```csv votes.csv\n(.*?)```", PAGE)[1].splitlines()]
    for n in range(2, 120):
        first, second = rng.choice([*STRENGTHS], 2, replace=False)
        chance = 1 / (1 + np.exp(STRENGTHS[second] - STRENGTHS[first]))
        for rater in ("ann", "bob", "gpt") if n < 40 else ("gpt",):
            winner = "tie" if rng.random() < 0.1 else "model_a" if rng.random() < chance else "model_b"
            lines.append([f"q{n}", first, second, winner, rater])
    lines += [["q0", "plain", "steps", "model_b", "gpt"], ["q1", "steps", "expert", "model_a", "gpt"]]
    with open("votes.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)


def test_the_command_prints_what_is_shown(tmp_path, monkeypatch, rank_models):
    """Each line, whatever the blanks between cells."""
    monkeypatch.chdir(tmp_path)
    write_votes()
    command, *lines = re.search(r"(?s)```console\n\$ (.*?)\n```", PAGE)[1].splitlines()
    status, out, err = rank_models(*shlex.split(command)[1:])
    assert (status, err) == (0, "")
    text = " ".join(out.split())
    answer, tables = " ".join(lines[:-3]), lines[-3:]
    assert [line for line in (answer, *tables) if " ".join(line.split()) not in text] == []
