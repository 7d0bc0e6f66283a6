"""A task of single texts of one's own has factors that read attributions: ranked, decided and explained."""

import json

import pytest
from conftest import make_checkpoint

from ranker import ClassificationTask, Evidence, labelled, rank

SINGLE = ("STOP-SHARE", "CONCENTRATION", "CONTENT-TRUE")
CARD = """
description = "Reviews."
source = "written for this test"
licence = "CC0"
population = 4
[task]
name = "mood"
labels = ["negative", "positive"]
"""
ROWS = [
    {"segments": ["The old doctor danced."], "label": "positive"},
    {"segments": ["An actor waited near the judge."], "label": "negative"},
    {"segments": ["The judge waited!"], "label": "negative"},
    {"segments": ["Because the actor believed an old judge."], "label": "positive"},
]


@pytest.fixture
def run(tmp_path, monkeypatch, rank_models):
    """`rank-models` in a folder with a set of single texts, the same rows as a file, and two models `a` and `b`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moods").mkdir()
    (tmp_path / "moods" / "card.toml").write_text(CARD)
    (tmp_path / "moods" / "examples.jsonl").write_text(
        "".join(json.dumps({"id": str(n), **row}) + "\n" for n, row in enumerate(ROWS))
    )
    rows = [{"text": row["segments"][0], "label": row["label"]} for row in ROWS]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, kind in (("a", "bert"), ("b", "roberta")):
        make_checkpoint(tmp_path / name, kind, ("negative", "positive"))

    return lambda *arguments: rank_models(*arguments, "--models", "a", "b")


@pytest.mark.more
def test_a_set_of_single_texts_is_ranked_by_its_factors(run):
    """Factors of one text stand in the table unasked; those that compare two texts do not."""
    status, out, _ = run("--ood", "moods", "--include", ".", "--probe", "2")
    assert status == 0
    rows = [line.split()[:2] for line in out.splitlines()]
    assert [row[0] for row in rows if row[1:] == ["factor"]] == list(SINGLE)


@pytest.mark.more
def test_a_card_names_the_factor_that_breaks_ties(run, tmp_path):
    """Else NLL does, which needs no attribution: such a set has no sum of ACC and a factor."""
    command = ("--ood", "moods", "--include", ".", "--probe", "2", "--format", "json")
    methods = [method["name"] for method in json.loads(run(*command)[1])["evaluation"]["methods"]]
    assert ("ACC+TIES" in methods, "ACC+FACTOR" in methods) == (True, False)
    (tmp_path / "moods" / "card.toml").write_text('designed = "CONCENTRATION"' + CARD)
    by_name = {method["name"]: method for method in json.loads(run(*command)[1])["evaluation"]["methods"]}
    assert by_name["CONCENTRATION"]["designed"]
    assert "ACC+FACTOR" in by_name


@pytest.mark.more
def test_rows_of_ones_own_are_ordered_by_a_factor_that_is_named(run):
    """Unasked, a decision attributes nothing; asked, the factor orders the models."""
    plain = json.loads(run("--data", "mine.jsonl", "--format", "json")[1])
    assert plain["header"]["attribution"] == "none"
    status, out, _ = run("--data", "mine.jsonl", "--method", "stop-share", "--format", "json")
    assert (status, json.loads(out)["decision"]["method"]) == (0, "STOP-SHARE")
    assert all(model["scores"]["STOP-SHARE"] > 0 for model in json.loads(out)["decision"]["models"])


@pytest.mark.more
def test_answers_in_a_file_are_ranked_beside_them_unasked(run, tmp_path):
    """Nothing is attributed then, since a file cannot be; whoever names a backend has the factors, and not the file."""
    (tmp_path / "x.csv").write_text("id,prediction\n0,positive\n1,negative\n2,negative\n3,negative\n")
    command = ("--ood", "moods", "--include", ".", "--probe", "2", "--methods", "AVG-CONF", "--format", "json",
               "--models", "x.csv")  # fmt: skip
    outcome = run(*command)
    assert outcome[0] == 0
    answer = json.loads(outcome[1])
    assert {model["name"] for model in answer["evaluation"]["models"]} == {"a", "b", "x"}
    assert {answer["header"]["left_out"][name] for name in SINGLE} == {"reads attributions, and there are none"}
    status, out, _ = run(*command, "--attribution", "occlusion")
    assert status == 1
    assert {model["name"] for model in json.loads(out)["evaluation"]["models"]} == {"a", "b"}


def test_a_text_is_explained_with_them(run):
    """Each model's numbers on one text."""
    status, out, _ = run("explain", "--text", "The old doctor danced.")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines() if line.startswith(SINGLE)] == list(SINGLE)


@pytest.mark.more
def test_with_three_labels_they_are_left_out_and_why(tmp_path):
    """One label is attributed, and these factors are about the predicted or the true one."""
    labels = ("negative", "neutral", "positive")
    models = [str(make_checkpoint(tmp_path / kind, kind, labels)) for kind in ("bert", "roberta")]
    rows = [{"text": row["segments"][0], "label": row["label"]} for row in ROWS]
    ranking = rank(
        models, labelled(rows, ClassificationTask("mood", labels)), probe=2, evidence=Evidence("occlusion"), draws=5
    )
    reason = "is about another label on each row, and what is attributed is positive"
    assert {name: ranking.header.left_out[name] for name in SINGLE} == dict.fromkeys(SINGLE, reason)
