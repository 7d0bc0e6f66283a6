"""`--voters`: models that vote on the rows of a pool, and stand in no table of ranks."""

import csv
import io
import json
import shlex
import sys

import numpy as np
import pytest

from ranker import UsageError, decide, label, load_suite
from ranker.results.ranking import Ranking
from ranker.sources.suites import Model, Suite

ROWS, TRUTH = 120, np.random.default_rng(3).integers(2, size=120)
SHARES = {"a": 0.7, "b": 0.75, "c": 0.8, "good": 0.95, "coin": 0.5}


def write_csv(name, columns, rows):
    """A table as a user has it."""
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Ten labelled rows, a pool, and answers of models and voters."""
    monkeypatch.chdir(tmp_path)
    names = np.array(["neg", "pos"])
    write_csv("pool.csv", ["id", "text"], [[n, f"row {n}"] for n in range(ROWS)])
    write_csv("ten.csv", ["id", "text", "label"], [[n, f"row {n}", names[TRUTH[n]]] for n in range(10)])
    for place, (name, share) in enumerate(SHARES.items()):
        wrong = np.random.default_rng(place).permutation(ROWS) >= share * ROWS
        answers = names[np.where(wrong, 1 - TRUTH, TRUTH)]
        write_csv(f"{name}.csv", ["id", "prediction"], [[n, answer] for n, answer in enumerate(answers)])
    return tmp_path


RUN = "--data ten.csv --pool pool.csv --models a.csv b.csv c.csv"


@pytest.mark.more
def test_voters_vote_and_are_not_ranked(folder, rank_models):
    """The order, P and the note on both with and without them; a voter by chance alone has no say."""
    status, out, err = rank_models(*shlex.split(f"{RUN} --voters good.csv coin.csv --format json --save run.json"))
    assert (status, err) == (0, "")
    report = json.loads(out)
    ranked = [model["name"] for model in report["decision"]["models"]]
    assert {*ranked} == {"a", "b", "c"}
    assert report["header"]["voters"] == {"good": 1.0, "coin": pytest.approx(0.0, abs=0.05)}
    assert set(report["header"]["provenance"]["models"]) == {"a", "b", "c", "good", "coin"}
    notes = " ".join((*report["header"]["notes"], *report["decision"]["notes"]))
    assert "not ranked: good (weight 1.0)" in notes
    _, alone, _ = rank_models(*shlex.split(f"{RUN} --format json"))
    without = json.loads(alone)["decision"]["models"][0]
    order = ", ".join(model["name"] for model in json.loads(alone)["decision"]["models"])
    same = "be the same" if order == ", ".join(ranked) else f"be {order}"
    assert f"Without them the order would {same}, and P(near best) of {without['name']}" in notes
    assert Ranking.load("run.json").header.voters == report["header"]["voters"]


def test_a_trusted_voter_weighs_twice_as_much(folder, rank_models):
    """And one that is not named is an error in a line."""
    _, out, _ = rank_models(*shlex.split(f"{RUN} --voters good.csv coin.csv --trusted good --format json"))
    assert json.loads(out)["header"]["voters"]["good"] == 2.0
    status, out, err = rank_models(*shlex.split(f"{RUN} --voters good.csv --trusted better"))
    assert (status, out) == (2, "")
    assert err == "rank-models: there is no voter 'better'; known: good\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--data ten.csv --models a.csv b.csv --voters good.csv", "`--voters` vote on the rows of `--pool`; name it"),
        ("--data ten.csv --pool pool.csv --models a.csv --voters b.csv c.csv", "at least two models (got 1)"),
        (f"{RUN} --voters a.csv", "is named twice"),
    ],
)
def test_what_cannot_vote_is_one_line(folder, rank_models, arguments, says):
    """Without a pool, in place of the models, twice, or on texts."""
    status, out, err = rank_models(*shlex.split(arguments))
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.more
def test_label_asks_with_voters_and_reports_with_them(folder, rank_models, monkeypatch):
    """A session names them once, and so does the command that it ends with."""
    line = "label --plain --pool pool.csv --models a.csv b.csv c.csv --voters good.csv coin.csv -o out.csv --budget 2"
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n2\n"))
    status, out, err = rank_models(*shlex.split(line))
    assert not status
    assert "not ranked: good (weight 1.0)" in out + err
    (report,) = [text for text in (out + err).splitlines() if text.startswith("report: ")]
    assert "--voters good.csv coin.csv" in report
    status, out, _ = rank_models(*shlex.split(report.removeprefix("report: rank-models ")))
    assert not status
    assert "good" not in [row.split()[1:2] for row in out.splitlines() if row[:1].isdigit()]


def test_a_suite_says_who_votes(folder):
    """`role` in a suite.json; two models at least are ranked."""
    entries = [{"name": name, "path": f"{name}.csv", "kind": "table"} for name in SHARES]
    entries[3]["role"], entries[4]["role"] = "trusted", "voter"
    content = {"schema_version": 1, "name": "mine", "models": entries}
    (folder / "suite.json").write_text(json.dumps(content))
    suite = load_suite(["suite.json"])
    assert [model.role for model in suite.models] == ["ranked"] * 3 + ["trusted", "voter"]
    ranking = decide(suite, "ten.csv", pool="pool.csv")
    assert ranking.decision.names == ("c", "b", "a")
    assert ranking.header.voters["good"] == 2.0
    with pytest.raises(UsageError, match="at least two models"):
        Suite("mine", suite.models[2:])
    entries[4]["role"] = "judge"
    (folder / "suite.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match="role"):
        load_suite(["suite.json"])


def test_python_takes_voters_too(folder):
    """References, sources, and models with a role."""
    trusted = Model(load_suite(["a.csv", "good.csv"]).models[1].source, role="trusted")
    by_role = decide(["a.csv", "b.csv", "c.csv"], "ten.csv", pool="pool.csv", voters=[trusted])
    assert by_role.header.voters == {"good": 2.0}
    rows = [{"id": str(n), "text": f"row {n}"} for n in range(ROWS)]
    alone, beside = (label(["a.csv", "b.csv", "c.csv"], rows, voters=voters) for voters in ((), ["good.csv"]))
    assert beside.models == alone.models == ("a", "b", "c")
    assert beside.ranking().p_beats != alone.ranking().p_beats
