"""`--votes`: files of votes in the field's layouts, judges among them, and what is no vote."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from conftest import make_lm
from test_judge_asked import word_score
from test_voters_named import write_csv

from factors import Example
from ranker import Runtime, SourceOptions, rank_votes
from ranker.datasets.votes import read_votes
from ranker.runs.asked_judges import Answering, ask_verdicts, inspect_judge
from ranker.runs.inspected import inspect_references
from ranker.sources.base import ResourceCache

HEAD = ["id", "model_a", "model_b", "winner"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Votes of two people on thirty rows between three models, in both orders, and those of a judge on sixty."""
    monkeypatch.chdir(tmp_path)
    rng, strengths = np.random.default_rng(0), {"a": 1.2, "b": 0.2, "c": -0.8}
    lines = []
    for n in range(60):
        first, second = rng.choice([*strengths], 2, replace=False)
        chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
        for rater in ("ann", "bob", "gpt") if n < 30 else ("gpt",):
            winner = "tie" if rng.random() < 0.1 else "model_a" if rng.random() < chance else "model_b"
            lines.append([f"q{n}", first, second, winner, rater])
    write_csv("votes.csv", [*HEAD, "rater"], lines)
    return tmp_path


def found(out):
    """The content of a JSON report."""
    return json.loads(out)


def test_votes_rank_models(folder, rank_models):
    """The order, P, win rates against each, ties, the side, agreement, and what a judge is worth."""
    status, out, err = rank_models(*shlex.split("--votes votes.csv --judge gpt"))
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "3 models by 60 votes"
    assert lines[2] == "Take a"
    text = " ".join(out.split())
    assert "a is preferred to another model in " in text
    assert "% of 60 votes are ties. Krippendorff's alpha of 2 raters is " in text
    assert "Of two equal answers the one that stands first is preferred in " in text
    assert "row against column" in text
    content = found(rank_models(*shlex.split("--votes votes.csv --judge gpt --format json"))[1])
    assert [model["name"] for model in content["models"]] == ["a", "b", "c"]
    assert (content["votes"], content["rows"], content["raters"]) == (60, 30, 2)
    (judge,) = content["judges"]
    assert (judge["name"], judge["verdicts"]) == ("gpt", 60)
    assert judge["worth"] > 0
    pairs = {(pair["a"], pair["b"]): pair for pair in content["pairs"]}
    assert sum(pair["votes"] for pair in pairs.values()) == 60
    assert all(pair["low"] < pair["win_rate"] < pair["high"] for pair in pairs.values())
    assert rank_votes("votes.csv", judges=["gpt"]).names == ("a", "b", "c")


def test_judges_alone_are_not_confirmed(folder, rank_models):
    """Files of a judge's verdicts, or marks; people are in the votes, and a judge's file beside them."""
    write_csv("gpt.csv", ["id", "a", "b", "c"], [[f"q{n}", 5, 3, 1 + n % 3] for n in range(60)])
    lines = [[f"q{n}", "a", "b", "a"] for n in range(60)]
    write_csv("verdicts.csv", HEAD, lines)
    run = "--votes votes.csv --judge gpt --judge marks=gpt.csv --judge verdicts=verdicts.csv --format json"
    content = found(rank_models(*shlex.split(run))[1])
    assert [judge["name"] for judge in content["judges"]] == ["gpt", "marks", "verdicts"]
    assert content["judges"][2]["verdicts"] == 60
    write_csv("none.csv", [*HEAD, "rater"], [[f"q{n}", "a", "b", "ab"[n % 4 == 0], "gpt"] for n in range(8)])
    status, out, _ = rank_models(*shlex.split("--votes none.csv --judge gpt"))
    assert (status, out.splitlines()[0]) == (0, "2 models by 0 votes")
    assert out.splitlines()[2] == "Cannot say yet: no person has confirmed that a leads"


@pytest.mark.more
def test_a_language_model_marks_answers_that_people_compared(folder, rank_models):
    """Marks are verdicts, as differences; rows of the pool have the ids of the votes."""
    make_lm(folder / "lm")
    write_csv("rows.csv", ["id", "text"], [[f"q{n}", "the man ran"] for n in range(4)])
    for name in "abc":
        write_csv(
            f"{name}.csv", ["id", "answer"], [[f"q{n}", f"a dog {'slept ' * (n + ord(name) - 96)}"] for n in range(4)]
        )
    run = (
        "--votes votes.csv --judge gpt --judge lm --pool rows.csv --models a.csv b.csv c.csv --no-isolate --format json"
    )
    status, out, _ = rank_models(*shlex.split(run))
    assert status == 0
    assert [(judge["name"], judge["verdicts"]) for judge in found(out)["judges"]] == [("gpt", 60), ("lm", 12)]
    status, out, _ = rank_models(*shlex.split(f"{run} --judge-prompt judge/better"), "--no-isolate")
    assert status == 0
    assert [(judge["name"], judge["verdicts"]) for judge in found(out)["judges"]] == [("gpt", 60), ("lm", 12)]


def test_a_verdict_is_the_mean_of_both_orders(folder):
    """A judge that only looks at the side says nothing; one of words, the difference of their probabilities."""
    make_lm(folder / "lm")
    rows = (Example("q0", ("the man ran",)),)
    for name, text in (("a", "a dog slept"), ("b", "he moved")):
        write_csv(f"{name}.csv", ["id", "answer"], [["q0", text]])
    answering = Answering(inspect_references(["a.csv", "b.csv"]), rows)
    judge = inspect_judge("lm", "lm", SourceOptions(), ["judge/better"], ResourceCache())
    verdict = ask_verdicts(judge, answering, Runtime(store=None))["lm"][0]["q0", "a", "b"]
    chances = []
    for first, second in (("a dog slept", "he moved"), ("he moved", "a dog slept")):
        prompt = (
            f"Task: the man ran\n\nAnswer A: {first}\n\nAnswer B: {second}\n\nWhich answer is better, A or B? Answer"
        )
        scores = [word_score(folder / "lm", prompt, word) for word in ("A", "B")]
        chances.append(1 / (1 + np.exp(scores[1] - scores[0])))
    assert verdict == pytest.approx((2 * chances[0] - 1 - (2 * chances[1] - 1)) / 2, abs=1e-5)


def test_the_fields_layouts_say_the_same(folder):
    """By side, by name, by number, one column for each side, and AlpacaEval's preferences."""
    people = [line.split(",") for line in Path("votes.csv").read_text(encoding="utf-8").splitlines()[1:]]
    people = [line for line in people if line[4] == "ann"]
    number = {"model_a": "1", "model_b": "0", "tie": "0.5"}
    preference = {"model_a": 1, "model_b": 2, "tie": 1.5}
    by_model = [[*line[:3], {"model_a": line[1], "model_b": line[2]}.get(line[3], "Tie (bothbad)")] for line in people]
    write_csv("side.csv", HEAD, [line[:4] for line in people])
    write_csv("name.csv", HEAD, by_model)
    write_csv("number.csv", HEAD, [[*line[:3], number[line[3]]] for line in people])
    hot = [[*line[:3], *(int(line[3] == side) for side in number)] for line in people]
    write_csv("hot.csv", [*HEAD[:3], "winner_model_a", "winner_model_b", "winner_tie"], hot)
    alpaca = [
        {"instruction": line[0], "generator_1": line[1], "generator_2": line[2], "preference": preference[line[3]]}
        for line in people
    ]
    Path("alpaca.json").write_text(json.dumps(alpaca), encoding="utf-8")
    lines = [{"question_id": line[0], "judge": "ann", "turn": 1, **dict(zip(HEAD[1:], line[1:4], strict=True))}
             for line in people]  # fmt: skip
    Path("mtbench.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    files = ("side.csv", "name.csv", "number.csv", "hot.csv", "alpaca.json", "mtbench.jsonl")
    results = [rank_votes(file) for file in files]
    assert {len(ranking.models) for ranking in results} == {3}
    assert {(ranking.models, ranking.pairs, ranking.rows) for ranking in results} == {
        (results[0].models, results[0].pairs, 30)
    }


def test_models_that_nothing_connects_are_named(folder, rank_models):
    """The largest part is ranked; the others are listed, and not ranked against it."""
    lines = [[f"q{n}", "a", "b", "ab"[n % 3 == 0]] for n in range(9)] + [["z", "x", "y", "x"]]
    write_csv("apart.csv", HEAD, [*lines, ["w", "b", "c", "tie"]])
    content = found(rank_models(*shlex.split("--votes apart.csv --format json"))[1])
    assert {model["name"] for model in content["models"]} == {"a", "b", "c"}
    assert set(content["left_out"]) == {"x", "y"}
    assert "Not ranked, since no vote connects them to the others: x, y." in content["notes"]


def test_a_cycle_is_no_error(folder):
    """A before b before c before a: all are level."""
    rows = [
        {"id": n, "model_a": a, "model_b": b, "winner": a}
        for n, (a, b) in enumerate([("a", "b"), ("b", "c"), ("c", "a")] * 4)
    ]
    ranking = rank_votes(rows)
    assert [model.win_rate for model in ranking.models] == pytest.approx([0.5] * 3, abs=0.01)
    assert len(ranking.groups) == 1


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([["q0", "a", "b", "maybe"]], "line 2: a winner must be model_a, model_b, tie, or the name of a or b"),
        ([["q0", "a", "a", "tie"]], "line 2: 'a' stands against itself"),
        ([["q0", "a", "", "model_a"]], "line 2: a model is missing"),
        ([["q0", "a", "b", ""]], "no vote: the winner of every row is empty"),
    ],
)
def test_what_is_no_vote_is_one_line(folder, rank_models, lines, says):
    """A winner that is no side, a model against itself, none, and an empty column."""
    write_csv("bad.csv", HEAD, lines)
    status, out, err = rank_models("--votes", "bad.csv")
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--votes table.csv", "no votes: 'model_a', 'model_b' and 'winner' are needed"),
        ("--votes texts.csv", "line 3: the id 'q0' has another text above"),
        ("--votes votes.csv --data table.csv", "`--data` is not read beside `--votes`"),
        ("--votes votes.csv --models a.csv b.csv", "name both `--models` and `--pool`"),
        ("--votes votes.csv --judge other=others.csv", "says nothing of these rows and models"),
        ("--votes votes.csv --judge nobody", "those who voted in votes.csv are ann, bob, gpt"),
        ("--votes votes.csv --factors ACC", "`--factors` is not read beside `--votes`"),
    ],
)
def test_what_cannot_be_ranked_is_one_line(folder, rank_models, arguments, says):
    """Another table, one id with two texts, options of models, no people, a judge of other rows, an unknown judge."""
    write_csv("table.csv", ["id", "label"], [["q0", "x"]])
    write_csv("texts.csv", [*HEAD, "question"], [["q0", "a", "b", "a", "One?"], ["q0", "a", "c", "a", "Two?"]])
    write_csv("others.csv", HEAD, [["z0", "a", "b", "a"]])
    status, out, err = rank_models(*shlex.split(arguments))
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_a_column_that_is_not_read_is_named(folder, rank_models):
    """The note names the column that would say who voted, an error if strict; a session's own columns are known."""
    write_csv("voters.csv", [*HEAD, "Voter"], [[f"q{n}", "a", "b", "a", "ann"] for n in range(9)])
    _, out, _ = rank_models("--votes", "voters.csv")
    assert "- Unread columns: Voter. A column 'rater' would say who voted." in " ".join(out.split())
    status, out, err = rank_models("--votes", "voters.csv", "--strict")
    assert (status, out) == (2, "")
    assert "Unread columns: Voter." in err
    assert rank_models("--votes", "votes.csv", "--strict")[0] == 0
    columns = ["text", "answer_a", "answer_b", "annotator", "picked", "order", "status"]
    write_csv(
        "own.csv", [*HEAD, *columns], [[f"q{n}", "a", "b", "a", n, "x", "y", "me", "", n, "answered"] for n in range(9)]
    )
    assert rank_models("--votes", "own.csv", "--strict")[0] == 0


@pytest.mark.parametrize(("name", "ending"), [("votes", "csv"), ("arena", "jsonl")])
def test_votes_are_written_in_another_layout(folder, rank_models, name, ending):
    """A file in another layout, AlpacaEval's too, is read as the same votes."""
    write_csv("alpaca.csv", ["instruction", "generator_1", "generator_2", "preference"], [["Say.", "a", "b", "2"]])
    for file in ("votes.csv", "alpaca.csv"):
        status, out, err = rank_models("--votes", file, "--format", name)
        assert (status, err) == (0, "")
        Path(f"written.{ending}").write_text(out)
        before, after = read_votes(Path(file)), read_votes(Path(f"written.{ending}"))
        for field in ("models", "rows", "raters"):
            assert getattr(before, field) == getattr(after, field)
        for field in ("first", "second", "row", "rater", "value"):
            assert getattr(before, field).tolist() == getattr(after, field).tolist()
    assert json.loads(rank_models("--votes", "alpaca.csv", "--format", "arena")[1]) == {
        "question_id": "Say.", "model_a": "a", "model_b": "b", "winner": "model_b"
    }  # fmt: skip


def test_lengths_are_taken_out_on_request(folder, rank_models):
    """Of answers in the file, or of those that the models gave; without either that is refused."""
    rng, size = np.random.default_rng(1), {"a": 20, "b": 60, "c": 40}
    lines = [line.split(",") for line in Path("votes.csv").read_text().splitlines()[1:]]
    answers = {(line[0], name): "x" * int(rng.poisson(size[name])) for line in lines for name in size}
    write_csv(
        "answered.csv", [*HEAD, "rater", "answer_a", "answer_b"],
        [[*line, answers[line[0], line[1]], answers[line[0], line[2]]] for line in lines],
    )  # fmt: skip
    rows = list(dict.fromkeys(line[0] for line in lines))
    write_csv("pool.csv", ["id", "text"], [[row, f"Say {row}."] for row in rows])
    for name in size:
        write_csv(f"{name}.csv", ["id", "answer"], [[row, answers[row, name]] for row in rows])
    plain = found(rank_models("--votes", "answered.csv", "--format", "json")[1])
    inside = found(rank_models("--votes", "answered.csv", "--length-controlled", "--format", "json")[1])
    arguments = ("--pool", "pool.csv", "--models", "a.csv", "b.csv", "c.csv")
    outside = found(rank_models("--votes", "votes.csv", "--length-controlled", *arguments, "--format", "json")[1])
    assert plain["length"] is None
    assert inside["length"]["chance"] == pytest.approx(outside["length"]["chance"], abs=0.05)  # likeness tells, too
    assert "Answers to 60 rows are compared with each other." in outside["notes"]
    assert inside["models"] != plain["models"]
    assert 0 < inside["length"]["low"] < inside["length"]["chance"] < inside["length"]["high"] < 1
    out = rank_models("--votes", "answered.csv", "--length-controlled")[1]
    assert "One that is longer by a standard deviation is preferred in " in " ".join(out.split())
    status, _, err = rank_models("--votes", "votes.csv", "--length-controlled")
    text = "needs answers of different lengths: columns answer_a and answer_b of the votes, or `--models` and `--pool`"
    assert (status, err.strip()) == (2, f"rank-models: `--length-controlled` {text}")
    assert rank_models("--data", "votes.csv", "--length-controlled")[0] == 2


def test_choices_of_labelling_tools_are_votes(folder, rank_models):
    """Label Studio's pairwise choice, with models in the task's columns; Prodigy's two options, named by their ids."""
    sides = ["left", "right", "left", None]
    tasks = [
        {
            "id": n,
            "data": {"id": f"q{n}", "text1": "A.", "text2": "B.", "model_a": "old", "model_b": "new"},
            "annotations": [
                {
                    "id": n,
                    "completed_by": {"email": "ann@example.org"},
                    "was_cancelled": side is None,
                    "result": [{"type": "pairwise", "value": {"selected": side or "left"}}],
                }
            ],
        }
        for n, side in enumerate(sides)
    ]
    Path("studio.json").write_text(json.dumps(tasks))
    options = [{"id": "old", "text": "A."}, {"id": "new", "text": "B."}]
    answers = [["old"], ["new"], ["old"], [], ["new"]]
    lines = [
        {"text": f"q{n}", "options": options, "accept": accept, "answer": "ignore" if n == 4 else "accept",
         "_annotator_id": "ann"}
        for n, accept in enumerate(answers)
    ]  # fmt: skip
    Path("prodigy.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for file, values in (("studio.json", [1, 0, 1]), ("prodigy.jsonl", [1, 0, 1, 0.5])):
        votes = read_votes(Path(file))
        assert (votes.models, votes.value.tolist()) == (("old", "new"), values)
        assert [rater.partition("@")[0] for rater in votes.raters] == ["ann"]
        assert "for want of a winner: 1 row." in " ".join(votes.notes)
        assert found(rank_models("--votes", file, "--format", "json")[1])["votes"] == len(values)
    numbered = [{**line, "options": [{"id": 0, "text": "A."}, {"id": 1, "text": "B."}]} for line in lines]
    Path("numbered.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in numbered))
    assert rank_models("--votes", "numbered.jsonl")[0] == 2  # which of them is which model is not known


def test_responses_of_argilla_are_votes(folder, rank_models):
    """Records as `rg.Record.to_dict` writes them: a field, a ranking of fields, a word; two people on one record."""

    def record(n, *values):
        people = [
            {"value": value, "user_id": f"00000000-0000-0000-0000-00000000000{k}"} for k, value in enumerate(values)
        ]
        return {
            "id": f"q{n}", "fields": {"prompt": f"Say {n}.", "response1": "A", "response2": "B"},
            "metadata": {"model_a": "old", "model_b": "new"}, "suggestions": {}, "responses": {"better": people},
            "vectors": {}, "status": "completed", "_server_id": None,
        }  # fmt: skip

    records = [record(0, "response1", "response2"), record(1, ["response2", "response1"]), record(2, "tie"), record(3)]
    Path("argilla.json").write_text(json.dumps(records))
    votes = read_votes(Path("argilla.json"))
    assert (votes.models, votes.rows) == (("old", "new"), ("q0", "q1", "q2"))
    assert votes.value.tolist() == [1, 0, 0, 0.5]
    assert len(votes.raters) == 2
    assert found(rank_models("--votes", "argilla.json", "--format", "json")[1])["ties"] == 0.25
    records[1]["responses"]["faithful"] = []
    Path("argilla.json").write_text(json.dumps(records))
    status, _, err = rank_models("--votes", "argilla.json")
    assert status == 2
    assert "record 2: responses to several questions: better, faithful; export one alone" in err


def test_a_rater_of_noise_counts_as_less(folder, rank_models):
    """And copies of a vote change no weight; one rater alone has none."""
    rng, lines = np.random.default_rng(3), []
    for n in range(40):
        first, second = rng.choice(["a", "b", "c"], 2, replace=False)
        better = "model_a" if first < second else "model_b"
        by = {"ann": better, "bob": better if n % 8 else "tie", "eve": rng.choice(["model_a", "model_b"])}
        lines += [[f"q{n}", first, second, winner, rater] for rater, winner in by.items()]
    write_csv("noisy.csv", [*HEAD, "rater"], lines)
    content = found(rank_models("--votes", "noisy.csv", "--format", "json")[1])
    weights = content["reliability"]
    assert {*weights} == {"ann", "bob", "eve"}
    beside = found(rank_models("--votes", "noisy.csv", "--judge", "eve", "--format", "json")[1])
    assert {*beside["reliability"]} == {"ann", "bob"}
    assert weights["eve"] < 0.8 < min(weights["ann"], weights["bob"])
    assert "a vote counts as" in rank_models("--votes", "noisy.csv")[1]
    write_csv("ann.csv", [*HEAD, "rater"], [line for line in lines if line[4] == "ann"])
    assert found(rank_models("--votes", "ann.csv", "--format", "json")[1])["reliability"] == {}
