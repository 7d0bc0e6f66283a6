"""docs/coverage.md: every table and figure has a row, and what it names is there and runs."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from experiments.__main__ import cli as experiments
from ranker.cli import cli, known_commands

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
GRADES = ("published", "rebuilt", "measured", "disagrees", "by command", "not yet", "cannot")
EXHIBITS = {"Few examples": (9, 6), "BOSS": (21, 3), "GLUE-X": (9, 6), "DomainSum": (6, 5)}
"""Paper -> its tables and its figures."""

TABLES = {
    title: [[cell.strip() for cell in line.split("|")] for line in re.findall(r"(?m)^\| (.*) \|$", text)][1:]
    for title, text in re.findall(r"(?ms)^## ([\w -]+?) \(.*?$(.*?)(?=^## |\Z)", PAGE)
}
ROWS = [row for rows in TABLES.values() for row in rows]


def commands(row):
    """The commands of a row."""
    return re.findall(r"`((?:rank-models|python -m experiments) [^`]*)`", row[2])


@pytest.mark.parametrize("paper", EXHIBITS)
def test_every_table_and_figure_has_its_row(paper):
    """Each once, in a table of its paper."""
    tables, figures = EXHIBITS[paper]
    wanted = [f"Table {n}" for n in range(1, tables + 1)] + [f"Figure {n}" for n in range(1, figures + 1)]
    assert sorted(row[0] for row in TABLES[paper] if re.match("(Table|Figure) ", row[0])) == sorted(wanted)


def test_every_row_has_a_grade_and_says_why():
    """Of those that the page explains; what cannot be had has a reason, and what a command gives has the command."""
    assert [name for name, _ in re.findall(r"(?m)^\| ([\w ]+) \| (\w.*) \|$", PAGE.split("## ")[0])][1:] == [*GRADES]
    for row, grade, command, evidence in ROWS:
        assert set(grade.split(", ")) <= set(GRADES), row
        assert evidence, row
        assert ("by command" not in grade) or command, row
        assert ("checkout only" in command) == ("python -m experiments" in command), row


def test_what_shows_a_row_is_there():
    """Pages, their sections, and tests."""
    for path in set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE)):
        assert (ROOT / path).is_file(), path
    for page, section in set(re.findall(r"\]\(([\w/-]+\.md)(?:#([\w-]+))?\)", PAGE)):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        titles = [
            re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"(?m)^#+ (.*)", text)
        ]
        assert not section or section in titles, (page, section)


def test_every_command_has_its_options():
    """None has been renamed."""
    for words in (shlex.split(command) for row in ROWS for command in commands(row)):
        if words[0] == "python":
            command = experiments.commands[words[3]]
        else:
            name = words[1] if words[1] in known_commands() else "run"
            command = cli.get_command(click.Context(cli), name)
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words[2:] if re.match("--?[a-z]", word)} <= options, words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the page's commands name: the tables of published numbers, and small ones."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "results").mkdir(parents=True)
    (tmp_path / "docs" / "results" / "tables").symlink_to(ROOT / "docs" / "results" / "tables")
    tasks = (("x", "in-domain"), ("y", "ood"), ("z", "ood"))
    values = [f"m{m},{task},{40 + 5 * m + 3 * n},{kind}" for m in range(8) for n, (task, kind) in enumerate(tasks)]
    (tmp_path / "results.csv").write_text("\n".join(["model,set,value,kind", *values]) + "\n", encoding="utf-8")
    (tmp_path / "measures.csv").write_text("set,level,length,overlap\ny,genre,8,3\nz,style,9,5\n", encoding="utf-8")
    words = ("rain", "sun", "wind", "snow", "fog", "hail", "frost", "heat")
    for name, word in (("news", "court"), ("talks", "match")):
        texts = [f"The {word} of {words[n % 8]} and {words[n % 7]} saw {words[n % 5]}." for n in range(24)]
        rows = [json.dumps({"document": text, "summary": f"A {word}."}) + "\n" for text in texts]
        (tmp_path / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")


RUN = sorted({
    command for row in ROWS for command in commands(row)
    if command.startswith("rank-models") and not re.search(r"--models|--ood|\b[A-Z]{2,}\b", command)
})  # fmt: skip


def test_every_command_that_is_not_run_here_was_run_elsewhere():
    """For a page that the row links, or by a test that it names."""
    for row in ROWS:
        if any(command not in RUN for command in commands(row)):
            assert re.search(r"`tests/|\]\(", row[3]), row[0]


def printed(row):
    """Return what a row says that its command prints."""
    (printed,) = re.findall(r"prints ((?:`[^`]+`(?: and )?)+)", row[3])
    return re.findall(r"`([^`]+)`", printed)


@pytest.mark.few(1)
@pytest.mark.parametrize("command", RUN)
def test_a_command_that_needs_no_model_runs(folder, rank_models, command):
    """Each command ends well, and prints what each row that is rebuilt by it says, whatever the white space between."""
    status, out, err = rank_models(*shlex.split(command)[1:])
    assert not status, err
    assert out.strip()
    rebuilt = [row for row in ROWS if "rebuilt" in row[1] and command in commands(row)]
    words = " ".join(out.split())
    assert [text for row in rebuilt for text in printed(row) if text not in words] == []


def test_every_rebuilt_row_says_what_its_command_prints():
    """By a command that is run here, on a table of published numbers that is in the checkout."""
    for row in (row for row in ROWS if "rebuilt" in row[1]):
        assert printed(row), row[0]
        assert set(commands(row)) <= set(RUN), row[0]
        assert all("docs/results/tables/" in command for command in commands(row)), row[0]


def test_measured_tables_are_on_the_page_of_their_tier():
    """`--tier mini` is shown by the page of the small models."""
    for row in (row for row in ROWS if "--tier mini" in row[2]):
        assert "results/tables-mini.md" in row[3], row[0]


def test_what_needs_no_model_of_others_is_not_out_of_reach():
    """Whatever has a command is no row that cannot be had."""
    assert [row[0] for row in ROWS if "cannot" in row[1] and commands(row)] == []
