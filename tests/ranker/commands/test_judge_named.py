"""`--judge`: a language model's marks of all answers beside people's marks of a few."""

import json
import shlex

import numpy as np
import pytest
from logmaking import choice_row, lm_log
from test_voters_named import write_csv

from ranker import UsageError, decide
from ranker.results.ranking import Ranking

NAMES = ("A", "B", "C")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """People's marks from 1 to 5 of eight rows, and two judges' marks of a hundred, on scales of their own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = np.clip(3 + np.array([[0.5], [0.2], [-0.7]]) + rng.normal(0, 0.8, (3, 100)), 1, 5).round()
    write_csv("people.csv", ["id", *NAMES], [[f"r{n}", *truth[:, n].astype(int)] for n in range(8)])
    gpt = (truth + rng.normal(0, 0.6, truth.shape) + np.array([[0], [0], [0.8]])).round(2)
    write_csv("gpt.csv", ["id", *NAMES], [[f"r{n}", *gpt[:, n]] for n in range(100)])
    long = [[f"r{n}", name, 10 * value] for n in range(100) for name, value in zip(NAMES, truth[:, n], strict=True)]
    write_csv("mine.csv", ["id", "model", "score"], [row for row in long if rng.random() < 0.7])
    return tmp_path


RUN = "--models people.csv --range 1 5 --judge gpt=gpt.csv --judge mine.csv"


@pytest.mark.more
def test_a_judge_stands_beside_people(folder, rank_models):
    """The order by both, what each judge is worth, whom it flatters, and the order by people alone."""
    status, out, err = rank_models(*shlex.split(f"{RUN} --format json --save run.json"))
    assert (status, err) == (0, "")
    decision = json.loads(out)["decision"]
    assert (decision["method"], [model["name"] for model in decision["models"]][2]) == ("JUDGED", "C")
    gpt, mine = decision["judges"]
    assert (gpt["name"], gpt["rows"], mine["name"]) == ("gpt", 100, "mine")
    assert gpt["share"] + mine["share"] == pytest.approx(1)
    assert mine["agreement"] > gpt["agreement"] > 0
    assert mine["worth"] > 0
    assert {bias["model"] for bias in gpt["biases"]} == {*NAMES}
    assert max(gpt["biases"], key=lambda bias: bias["value"])["model"] == "C"
    notes = " ".join(decision["notes"])
    assert "2 judges marked 92 rows that people did not." in notes
    assert "By judges alone the order would be " in notes
    assert "JUDGED reads more than people's marks, and these can overrule the rest. Without them the order" in notes
    assert Ranking.load("run.json").decision.judges[0].name == "gpt"
    _, text, _ = rank_models(*shlex.split(RUN))
    assert [line.split()[0] for line in text.splitlines() if line.startswith(("judge ", "gpt ", "mine "))] == [
        "judge",
        "gpt",
        "mine",
    ]


@pytest.mark.more
def test_a_judge_that_says_nothing_is_named_and_left_out(folder, rank_models):
    """All marks alike: no worth, no bias, and the numbers of people alone."""
    write_csv("dull.csv", ["id", *NAMES], [[f"r{n}", 3, 3, 3] for n in range(100)])
    _, out, _ = rank_models(*shlex.split(f"{RUN} --judge dull.csv --format json"))
    _, without, _ = rank_models(*shlex.split(f"{RUN} --format json"))
    decision, alone = (json.loads(text)["decision"] for text in (out, without))
    assert (decision["judges"][2]["share"], decision["judges"][2]["worth"], decision["judges"][2]["biases"]) == (
        0,
        None,
        [],
    )
    assert np.array(decision["p_beats"]) == pytest.approx(np.array(alone["p_beats"]), abs=1e-9)
    assert "dull is left out: it tells no two models apart, or repeats another judge." in decision["notes"]
    assert not any("is a judge and is ranked" in note for note in decision["notes"])


def test_what_a_judge_left_out_is_said(folder, rank_models):
    """Counted, and how people marked these rows if they are harder; a judge that is ranked itself is pointed out."""
    rows = (folder / "people.csv").read_text(encoding="utf-8").splitlines()[1:]
    means = {row.split(",")[0]: sum(map(int, row.split(",")[1:])) for row in rows}
    hard = sorted(means, key=lambda row: means[row])[:4]
    gpt = (folder / "gpt.csv").read_text(encoding="utf-8").splitlines()
    (folder / "easy.csv").write_text("\n".join(line for line in gpt if line.split(",")[0] not in hard) + "\n")
    _, out, _ = rank_models(*shlex.split("--models people.csv --range 1 5 --judge A=easy.csv --format json"))
    notes = " ".join(json.loads(out)["decision"]["notes"])
    assert "A left out answers to 4 of the 8 rows of people's marks; people marked these -" in notes
    assert "A is a judge and is ranked: it may think better of itself." in notes


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (f"{RUN} --judge gpt=people.csv", "`--judge` is given twice as gpt"),
        (f"{RUN} --judge none.csv", "none.csv"),
        (f"{RUN} --judge others.csv", "others marked no answer of A, B, C; it marked those of x, y"),
        (f"{RUN} --judge part.csv", "part marked no answer of C; it marked those of A, B"),
        (f"{RUN} --judge later.csv", "later marked no row that people marked"),
        (f"{RUN} --pool gpt.csv", "`--range` is of people's marks"),
        ("--data people.csv --within id --models gpt.csv --judge mine.csv", "`--within` is not read beside `--judge`"),
        ("--models model-a model-b --judge gpt.csv", "`--judge` is for one task at a time"),
        ("--models people.csv --judge gpt.csv", "must be the scale of people's marks, the worst and the best, such as"),
        ("--models people.csv --range 1 2 --judge gpt.csv", "people.csv: `--range` must be the scale of people's"),
        ("--models halves.csv --judge gpt.csv", "such as `--range 1 5`"),
        ("--models words.csv --judge gpt.csv", "`--data` or `--ood`, or `--truth COLUMN`, is needed"),
    ],
)
def test_what_is_no_judge_is_one_line(folder, rank_models, arguments, says):
    """A name twice, no file, other models or rows, beside a pool or a column, of two tasks, marks without a scale."""
    write_csv("halves.csv", ["id", *NAMES], [[f"r{n}", 1.5, 2, 4.5] for n in range(20)])
    write_csv("words.csv", ["id", *NAMES], [[f"r{n}", "good", "bad", "good"] for n in range(20)])
    write_csv("others.csv", ["id", "x", "y"], [[f"r{n}", 1, 2] for n in range(20)])
    for task in ("sst2", "rte"):
        for model in ("model-a", "model-b"):
            rows = [choice_row(n, {"text": f"{task} {n}"}, n % 2, (-1.0, -2.0), acc=float(n % 2)) for n in range(4)]
            lm_log(folder / model, rows, task=task)
    write_csv("part.csv", ["id", "A", "B"], [[f"r{n}", 1, 2] for n in range(20)])
    write_csv("later.csv", ["id", *NAMES], [[f"s{n}", 1, 2, 3] for n in range(20)])
    status, out, err = rank_models(*shlex.split(arguments))
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_python_takes_judges_too(folder):
    """By name; marks of models by people are their outcomes."""
    from ranker import SourceOptions, TableOptions, load_suite

    models = load_suite(["people.csv"], SourceOptions(kinds=[TableOptions(scale=(1, 5))]))
    ranking = decide(models, judges={"gpt": "gpt.csv"})
    assert [judge.name for judge in ranking.decision.judges] == ["gpt"]
    write_csv("others.csv", ["id", "x", "y"], [[f"r{n}", 1, 2] for n in range(20)])
    with pytest.raises(UsageError, match="marked no answer of A, B, C"):
        decide(models, judges={"gpt": "others.csv"})
