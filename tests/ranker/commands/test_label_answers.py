"""`rank-models label --votes` and `--marks`: people judge models' answers, without their names."""

import csv
import json
import re
import shlex

import numpy as np
import pytest
from test_label import kept, plain
from test_label_web import served_in

from ranker.report.prose import differences, nodes

ROWS = 24
MODELS = ("alpha.csv", "beta.csv", "gamma.csv")
NAMES = ("alpha", "beta", "gamma")
EQUAL = range(0, ROWS, 6)


def write_answers(folder, rows=ROWS):
    """A pool of questions, and what three models answer: alike to every sixth row."""
    with (folder / "pool.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "question"), *((f"q{n}", f"What is {n} and 1?") for n in range(rows))])
    for name, wrong in zip(NAMES, (0, 1, 2), strict=True):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            answers = (f"It is {n + 1}." + " So." * wrong * (n % 6 > 0) for n in range(rows))
            csv.writer(file).writerows([("id", "answer"), *((f"q{n}", text) for n, text in enumerate(answers))])


@pytest.fixture
def folder(tmp_path):
    """A folder with these."""
    write_answers(tmp_path)
    return tmp_path


def votes(folder, keys, *flags, **options):
    """A session of votes: exit status, stdout, stderr."""
    return plain(folder, keys, "--votes", *flags, **{"models": MODELS, "output": "votes.csv", **options})


def marks(folder, keys, *flags, **options):
    """A session of marks: exit status, stdout, stderr."""
    return plain(folder, keys, "--marks", *flags, **{"models": MODELS, "output": "marks.csv", **options})


@pytest.fixture
def report(folder, monkeypatch, rank_models):
    """The content of the JSON report of the command that the end of a session names, and that command."""

    def run(out):
        (command,) = [line.removeprefix("report: ") for line in out.splitlines() if line.startswith("report: ")]
        monkeypatch.chdir(folder)
        status, output, err = rank_models(*shlex.split(command)[1:], "--format", "json")
        assert status == 0, err
        content = json.loads(output)
        return content.get("decision", content), command

    return run


RULES = {votes: "informative", marks: "balanced"}
"""Rule by which a session beside a judge picks what it asks."""


def people(folder, name):
    """The lines of a file that a person answered."""
    return [row for row in kept(folder, name) if row["picked"] != "known"]


def by_length(row):
    """The key of the shorter answer, which has no idle words."""
    return {-1: "1", 0: "0", 1: "2"}[int(np.sign(len(row["answer_a"]) - len(row["answer_b"])))]


@pytest.mark.more
def test_votes_are_kept_as_a_file_of_votes(folder, report):
    """A winner by side, a tie, a row skipped and one taken back; the same command resumes; `--votes FILE` reads it."""
    status, out, err = votes(folder, ["1", "2", "0", "s", "1", "u", "2", "q"], "--seed", "3")
    assert (status, err) == (0, "")
    rows = [row for row in kept(folder, "votes.csv") if row["picked"] != "known"]
    assert [row["winner"] for row in rows] == ["model_a", "model_b", "tie", "", "model_b"]
    assert [row["status"] for row in rows][3] == "skipped"
    assert {row["annotator"] for row in rows} == {"ann"}
    for row in rows:
        for side in ("a", "b"):
            with (folder / f"{row[f'model_{side}']}.csv").open(newline="") as file:
                assert row[f"answer_{side}"] == {line["id"]: line["answer"] for line in csv.DictReader(file)}[row["id"]]
    before = (folder / "votes.csv").read_text().splitlines()
    status, out, err = votes(folder, ["1", "q"])  # another seed
    assert (status, err) == (0, "")
    assert (folder / "votes.csv").read_text().splitlines()[: len(before)] == before
    ranking, command = report(out)
    assert (
        command == "rank-models --votes votes.csv --pool pool.csv --models alpha.csv beta.csv gamma.csv --store store"
    )
    assert ranking["votes"] == len([row for row in kept(folder, "votes.csv") if row["winner"]])


@pytest.mark.parametrize("kind", [votes, marks])
def test_no_name_is_shown_before_the_end(folder, kind):
    """Not by the keys that reveal it in other sessions; the end names the models in order."""
    _, out, _ = kind(folder, ["1", "v", "n", "g", "x", "2", "1", "3", "q"])
    question, _, end = out.rpartition("P(best)")
    before = question[: question.rindex("Cannot say yet: ")]
    assert not [name for name in NAMES if name in before]
    assert all(name in out for name in NAMES)
    assert "which model leads" not in out


@pytest.mark.more
def test_sides_are_drawn_and_pairs_are_balanced(folder):
    """Each two models meet equally often, each row comes once before one comes again, and sides vary."""
    votes(folder, ["1"] * 18 + ["q"])
    rows = kept(folder, "votes.csv")[:ROWS]
    assert len({row["id"] for row in rows}) == len(rows) >= 18
    met = [frozenset((row["model_a"], row["model_b"])) for row in rows]
    counts = [met.count(pair) for pair in {*met}]
    assert len(counts) == 3
    assert max(counts) - min(counts) <= 1
    assert {first for row in rows for first in [row["model_a"] < row["model_b"]]} == {True, False}


@pytest.mark.more
def test_equal_answers_are_ties_unasked(folder):
    """Ties are kept and never shown; undo goes back to the last vote of a person."""
    status, out, _ = votes(folder, ["1"] * 20 + ["u", "2", "q"])
    assert status == 0
    rows = kept(folder, "votes.csv")
    of_known = [row for row in rows if row["picked"] == "known"]
    assert of_known
    assert all(row["winner"] == "tie" and int(row["id"][1:]) in EQUAL for row in of_known)
    assert all(int(row["id"][1:]) not in EQUAL for row in rows if row["picked"] != "known")
    assert not [n for n in EQUAL if f"What is {n} and 1?" in out]
    assert "taken back" in out
    assert [row["winner"] for row in rows if row["picked"] != "known"] == ["model_a"] * 19 + ["model_b"]


@pytest.mark.more
def test_a_session_and_its_report_say_the_same(folder, report):
    """P of the same votes, and of the same marks of whole rows, are equal."""
    votes(folder, ["1", "2", "2", "1", "0", "1", "q"])
    out = votes(folder, ["q"])[1]
    ranking, _ = report(out)
    assert sure(out) == pytest.approx(ranking["models"][0]["p_near_best"], abs=0.03)  # of other draws
    marks(folder, ["1", "3", "5", "2", "2", "4", "q"])
    out = marks(folder, ["q"])[1]
    ranking, command = report(out)
    assert command == "rank-models --data marks.csv --range 1 5 --models alpha.csv beta.csv gamma.csv --store store"
    assert sure(out) == pytest.approx(ranking["models"][0]["p_near_best"], abs=0.005)


@pytest.mark.more
def test_votes_end_by_shortfall(folder):
    """Once little is lost by taking the leader; never before five votes."""
    keys = [by_length(row) for row in asked_rows(folder)]
    status, out, err = votes(folder, keys, "--shortfall", "8")
    assert (status, err) == (0, "")
    rows = kept(folder, "votes.csv")
    assert 5 <= len(rows) < 60
    assert "points are expected to be lost by taking the leader\nTake alpha\n" in out


def sure(out):
    """P(the leader is near the best) that the last line of a session states."""
    return int(re.findall(r"of the best\) (\d+) %", out)[-1]) / 100


def asked_rows(folder):
    """The rows that a session asks about, in order, those of known answers left out."""
    votes(folder, ["0"] * 70, output="all.csv")
    return [row for row in kept(folder, "all.csv") if row["picked"] != "known"]


@pytest.mark.more
def test_marks_are_kept_as_a_table_of_marks(folder):
    """All answers of a row one after the other, an answer that cannot be told, undo, and a scale of one's own."""
    status, out, err = marks(folder, ["1", "2", "u", "3", "5", "0", "4", "4", "q"])
    assert (status, err) == (0, "")
    rows = kept(folder, "marks.csv")
    assert [row["mark"] for row in rows] == ["1", "3", "5", "", "4", "4"]
    assert rows[3]["status"] == "cannot-tell"
    assert [len({row["id"] for row in rows[n : n + 3]}) for n in (0, 3)] == [1, 1]
    assert {row["model"] for row in rows[:3]} == {*NAMES}
    assert out.count("Answer 3: ") >= 6
    status, _, err = marks(folder, ["0", "1", "2", "q"], "--range", "0", "1", output="two.csv")
    assert (status, err) == (0, "")
    assert [row["mark"] for row in kept(folder, "two.csv")] == ["0", "1"]


def test_one_row_of_marks_is_no_certainty(folder):
    """Three marks of one row tell little of a domain; without a judge the same prior holds as in a report."""
    _, out, _ = marks(folder, ["1", "2", "3", "q"])
    assert "within 0.04 of a mark of the best) >99 %" not in out


@pytest.mark.more
def test_a_judge_stands_beside_votes_and_marks(folder, report):
    """A file of its votes or marks counts, and the command of the report names it."""
    with (folder / "gpt.csv").open("w", newline="") as file:
        rows = ((f"q{n}", *(5 - wrong * (n % 6 > 0) for wrong in range(3))) for n in range(ROWS))
        csv.writer(file).writerows([("id", *NAMES), *rows])
    for kind, keys in ((votes, ["0", "0", "q"]), (marks, ["3", "3", "3", "q"])):
        out = kind(folder, keys, "--judge", "gpt.csv")[1]
        assert out.splitlines()[-4].startswith("alpha (P(best)")
        ranking, command = report(out)
        assert "--pool pool.csv" in command
        assert {row["picked"] for row in people(folder, f"{kind.__name__}.csv")} == {RULES[kind]}
        assert ranking["models"][0]["name"] == "alpha"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--votes", "--marks"], "`--votes` and `--marks` ask for two things; choose one"),
        (["--votes", "--batch", "3"], "`--batch` is not read beside `--votes`"),
        (["--marks", "--rule", "best"], "`--rule` is not read beside `--marks`"),
        (["--votes", "--range", "1", "5"], "`--range` is for `--marks`"),
        (["--marks", "--range", "1", "50"], "`--range` must be two digits, the worst mark and the best (got 1 50)"),
        (["--marks", "--range", "1", "2.5"], "`--range` must be two digits, the worst mark and the best (got 1 2.5)"),
    ],
)
def test_what_says_nothing_of_answers_is_refused(folder, flags, message):
    """In one line, before any model is asked."""
    status, _, err = plain(folder, [], *flags, models=MODELS, output="votes.csv")
    assert (status, err.strip()) == (2, f"rank-models: {message}")


@pytest.mark.more
def test_what_has_changed_since_is_refused(folder):
    """A model that is missing, an answer that is another one, a row with another text, and another kind of file."""
    votes(folder, ["1", "1", "1", "1", "q"])
    (row, *_) = [row for row in kept(folder, "votes.csv") if row["picked"] != "known"]
    other_files = [f"{name}.csv" for name in NAMES if name != row["model_a"]]
    status, _, err = votes(folder, [], models=other_files)
    assert status == 2
    assert "no answer of " in err
    answers = folder / f"{row['model_a']}.csv"
    before = answers.read_text()
    answers.write_text(before.replace(f"{row['id']},", f"{row['id']},No. "))
    status, _, err = votes(folder, [])
    assert status == 2
    assert f"an answer to the row '{row['id']}' is another one now" in err
    answers.write_text(before)
    pool = (folder / "pool.csv").read_text()
    (folder / "pool.csv").write_text(pool.replace(f"{row['id']},What", f"{row['id']},Whatever"))
    status, _, err = votes(folder, [])
    assert status == 2
    assert f"the row '{row['id']}' has another text" in err
    (folder / "pool.csv").write_text(pool)
    (folder / "labels.csv").write_text("question,label\nWhat is 0 and 1?,good\n")
    status, _, err = votes(folder, [], output="labels.csv")
    assert status == 2
    assert "a vote needs the column 'id'" in err


@pytest.mark.more
def test_one_model_and_missing_answers(folder):
    """Answers are compared where there are two; a model that answered nothing else is never shown there."""
    assert votes(folder, [], models=MODELS[:1])[2].strip() == (
        "rank-models: `--models` must be two or more, whose answers are judged (got 1)"
    )
    (folder / "beta.csv").write_text("id,answer\nq1,It is two.\n")
    votes(folder, ["1"] * 30)
    rows = kept(folder, "votes.csv")
    assert {row["id"] for row in rows if "beta" in (row["model_a"], row["model_b"])} == {"q1"}
    assert len(rows) == ROWS + 2


def texts(state):
    """All that the page was sent, as text."""
    return json.dumps(state, ensure_ascii=False)


@pytest.mark.more
def test_the_page_names_no_model_before_the_end(folder, monkeypatch):
    """Not in any reply, whatever is asked; the file is that of the terminal; at the end names and report are there."""

    def visit(client):
        sent = [texts(client.state()), client.http.get("/").text]
        state = client.state()
        assert [(label["text"], label["key"]) for label in state["labels"]] == [
            ("The first", "1"), ("The second", "2"), ("Tie", "0")
        ]  # fmt: skip
        assert state["title"] == "Which answer is better?"
        assert len(state["row"]["answers"]) == 2
        for action, label in (
            ("answer", "model_a"),
            ("answer", "tie"),
            ("skip", ""),
            ("undo", ""),
            ("answer", "model_b"),
        ):
            sent.append(texts(client.change(action, label)))
            sent.append(client.http.get("/differences").text)
        assert client.http.get("/models").status_code == 403
        refused = client.change("reveal", status=409)
        assert refused["message"] == "which answer is whose is told at the end"
        assert not [name for name in NAMES for text in sent if name in text]
        assert "spent" in client.change("answer", "model_a")["ending"]
        assert [line.split(":")[0] for line in client.state()["order"]] != []
        reply = client.http.post("/report", content=f"token={client.server.token}")
        assert all(name in reply.text for name in NAMES)

    arguments = {"models": MODELS, "output": "page.csv"}
    assert served_in(folder, monkeypatch, visit)("--votes", "--budget", "4", **arguments) == 0
    votes(folder, ["1", "0", "s", "u", "2", "1"], "--budget", "4")
    timeless = [
        [{**row, "seconds": "", "when": ""} for row in kept(folder, name)] for name in ("page.csv", "votes.csv")
    ]
    assert timeless[0] == timeless[1]


@pytest.mark.more
def test_the_page_shows_all_answers_of_a_row_to_mark(folder, monkeypatch):
    """And which of them is meant; the report is that of marks."""

    def visit(client):
        state = client.state()
        first = state["row"]["answers"]
        assert [state["row"]["current"], len(first)] == [0, 3]
        state = client.change("answer", "4")
        assert [state["row"]["current"], state["row"]["answers"]] == [1, first]
        client.change("answer", "2")
        state = client.change("answer", "5")
        assert state["row"]["current"] == 0
        for mark in ("1", "2", "3"):
            state = client.change("answer", mark)
        reply = client.http.post("/report", content=f"token={client.server.token}")
        assert "of 5" in reply.text
        assert all(name in reply.text for name in NAMES)

    assert served_in(folder, monkeypatch, visit)("--marks", models=MODELS, output="marks.csv") == 0


def test_markdown_is_a_tree_without_markup():
    """Elements are of a short list; scripts, links and images of a text are texts."""
    hostile = "<script>alert(1)</script> [go](javascript:alert(1)) ![x](https://a.example/p.png)"
    hostile += "\n\n# Title\n\n```py\na <b>\n```"
    tree = nodes(hostile)
    tags = {node[0] for node in tree}
    assert tags == {"p", "strong", "pre"}
    assert tree[0][1].startswith("<script>alert(1)</script> ")
    assert "[image: x]" in tree[0]
    assert nodes("a\u202eb\x1b") == [["p", "a\\u202eb\\u001b"]]
    assert nodes("x" * 200_000) == [["pre", "x" * 200_000]]
    assert nodes("| a | b |\n|---|---|\n| 1 | 2 |")[0][0] == "table"


def test_differences_join_to_the_texts():
    """Whatever the texts; those that are too long have none."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        pair = [" ".join(rng.choice(["a", "b", "c\n", " d"], rng.integers(1, 9))) for _ in range(2)]
        for text, side in zip(pair, differences(*pair), strict=True):
            assert "".join(piece for piece, _ in side) == text
    assert differences("a " * 2_000, "b " * 2_000) is None
