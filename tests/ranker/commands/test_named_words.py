"""Rows with words that people named: ranked, decided by and explained on the command line."""

import json
import re

import pytest
from conftest import make_checkpoint

AGREEMENT = [f"RATIONALE-{name}" for name in ("P", "R", "F1", "TOKEN-F1", "IOU-F1", "AUPRC")]
COLUMNS = ("--columns", "rationale=why,rationale=too", "--attribution", "phrases")
CARD = """
description = "Reviews."
source = "written for this test"
licence = "CC0"
population = 4
[task]
name = "mood"
labels = ["negative", "positive"]
[[layouts]]
text = ["text"]
label = "label"
rationale = ["why", "too"]
"""
ROWS = [
    {"text": "The old doctor danced.", "label": "positive", "why": [[4, 7]], "too": ["danced"]},
    {"text": "An actor waited near the judge.", "label": "negative", "why": [[9, 15]], "too": None},
    {"text": "The judge waited!", "label": "negative", "why": [], "too": ["waited"]},
    {"text": "Because the actor believed an old judge.", "label": "positive", "why": None, "too": None},
]


@pytest.fixture
def run(tmp_path, monkeypatch, rank_models):
    """`rank-models` in a folder with the rows as a file and as a set, and two models `a` and `b`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moods").mkdir()
    (tmp_path / "moods" / "card.toml").write_text(CARD)
    for file in ("mine.jsonl", "moods/examples.jsonl"):
        (tmp_path / file).write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for name, kind in (("a", "bert"), ("b", "roberta")):
        make_checkpoint(tmp_path / name, kind, ("negative", "positive"))

    return lambda *arguments: rank_models(*arguments, "--models", "a", "b")


@pytest.mark.more
def test_a_decision_has_them_unasked_where_rows_have_such_words(run):
    """And counts the row where nobody named one; without the columns they are neither there nor left out."""
    status, out, _ = run("--data", "mine.jsonl", *COLUMNS, "--method", "RATIONALE-F1", "--format", "json")
    content = json.loads(out)
    assert status == 0
    assert content["decision"]["method"] == "RATIONALE-F1"
    for model in content["decision"]["models"]:
        assert {*AGREEMENT} <= model["scores"].keys()
        assert all(0 <= model["scores"][name] <= 1 for name in AGREEMENT)
    assert "CONCENTRATION" not in model["scores"]
    plain = run("--data", "mine.jsonl")[1]
    assert not [name for name in AGREEMENT if name in plain]


@pytest.mark.more
def test_a_card_names_the_columns(run):
    """A set then ranks by them like by any factor."""
    status, out, _ = run("--ood", "moods", "--include", ".", "--probe", "2", "--attribution", "phrases")
    assert status == 0
    rows = [line.split()[:2] for line in out.splitlines()]
    assert [row[0] for row in rows if row[1:] == ["factor"] and row[0] in AGREEMENT] == AGREEMENT


def test_explain_underlines_the_words(run):
    """On the page with the annotators as titles, and in text beside the scores; values are there, too."""
    page = run("explain", "--data", "mine.jsonl", "--id", "1", *COLUMNS, "--format", "html")[1]
    marked = re.findall(r'class="word mark[^"]*"[^>]*title="([^"]*)"[^>]*>([^<]*)<', page)
    assert [(title.partition(", ")[2], word) for title, word in marked] == [
        ("rationale", "old"),
        ("rationale-2", "danced"),
    ] * 2
    status, out, _ = run("explain", "--data", "mine.jsonl", "--id", "1", *COLUMNS)
    assert status == 0
    assert len(re.findall(r"\bold\([+-]?[\d.]+, rationale\)", out)) == 2
    assert [line.split()[0] for line in out.splitlines() if line.startswith("RATIONALE")] == AGREEMENT


def test_wrong_words_are_one_line(run, tmp_path):
    """With the file, the line and the column; a role that shift cannot use is refused there."""
    (tmp_path / "mine.jsonl").write_text(json.dumps({**ROWS[0], "why": [[0, 7], [4, 9]]}) + "\n")
    status, _, error = run("--data", "mine.jsonl", *COLUMNS)
    assert status == 2
    assert "mine.jsonl, line 1: the column 'why' has spans that overlap" in " ".join(error.split())
    assert run("--data", "mine.jsonl", "--columns", "rationale=wyh")[0] == 2
    assert run("shift", "mine.jsonl", "mine.jsonl", "--columns", "rationale=why")[0] == 2
