"""`rank-models label` for answers that are no labels: typed on a terminal and on the page."""

import contextlib
import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from test_label import kept, plain
from test_label_web import served_in, texts, timeless

from ranker import LabelSettings, Runtime, decide, label, load_suite
from ranker.cli import main
from ranker.results.choice import LOST_IN_SESSION
from ranker.runs.pool import MAX_COMPARED_ROWS
from ranker.runs.rows import RowsFile
from ranker.tasks.texts import TextTask

ROWS = 30
WORDS = ["dog", "cat", "cow", "town", "hill", "sea", "ran", "sat", "fell", "old", "new", "red"]
MODELS = ("one.csv", "two.csv", "three.csv")
TEXT = ("--task", "text")


def write_texts(folder, rows=ROWS):
    """Write a pool of documents, and three systems' texts for them: the first is nearest to the truth."""
    rng = np.random.default_rng(0)
    truth = [rng.choice(WORDS, 6).tolist() for _ in range(rows)]
    (folder / "pool.csv").write_text("id,text\n" + "".join(f"{n},Document {n}\n" for n in range(rows)))
    for name, wrong in zip(MODELS, (0.1, 0.4, 0.8), strict=True):
        answers = [" ".join(str(rng.choice(WORDS)) if rng.random() < wrong else w for w in words) for words in truth]
        (folder / name).write_text("id,prediction\n" + "".join(f"{n},{text}\n" for n, text in enumerate(answers)))
    (folder / "truth.json").write_text(json.dumps({f"Document {n}": " ".join(w) for n, w in enumerate(truth)}))
    return folder


@pytest.fixture(name="folder")
def text_folder(tmp_path):
    """The pool of documents, and three systems' texts for them."""
    return write_texts(tmp_path)


def typed(folder, answers, *flags, **options):
    """A session on a terminal in which each answer is typed: exit status, stdout, stderr."""
    keys = [key for answer in answers for key in (("t", answer) if len(answer) > 1 else (answer,))]
    return plain(folder, keys, *TEXT, *flags, models=MODELS, **options)


def batch(folder, count, *flags, output="batch.csv"):
    """Texts of the rows that `--batch` writes."""
    status, _, err = plain(folder, "", *TEXT, "--batch", str(count), *flags, models=MODELS, output=output)
    assert status == 0, err
    return [row["text"] for row in kept(folder, output)]


@pytest.mark.more
@pytest.mark.parametrize("rule", ["order", "random"])
def test_typed_texts_make_the_file_that_a_filled_batch_is(folder, rule):
    """The same rows in the same order with the same texts: `--data` ranks by both alike; one tells what picked them."""
    truth = json.loads((folder / "truth.json").read_text())
    chosen_rows = batch(folder, 5, "--rule", rule)
    status, out, err = typed(folder, [*(truth[text] for text in chosen_rows), "q"], "--rule", rule)
    assert (status, err) == (0, "")
    assert "your answer: " + truth[chosen_rows[0]] in out
    rows = kept(folder)
    assert [row["text"] for row in rows] == chosen_rows
    assert [row["picked"] for row in rows] == [rule] * 5
    with (folder / "filled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "text", "label"])
        writer.writeheader()
        writer.writerows({**row, "label": truth[row["text"]]} for row in kept(folder, "batch.csv"))
    same = [{name: row[name] for name in ("id", "text", "label")} for row in rows]
    assert same == kept(folder, "filled.csv")
    with contextlib.chdir(folder):
        rankings = [
            decide(load_suite(list(MODELS)), RowsFile(Path(name), task=TextTask("text")), pool="pool.csv",
                   runtime=Runtime(store=None))
            for name in ("labels.csv", "filled.csv")
        ]  # fmt: skip
    typed_in, filled = (ranking.decision for ranking in rankings)
    assert (typed_in.names[0], typed_in.names, typed_in.p_beats) == ("one", filled.names, filled.p_beats)
    assert (typed_in.picked, filled.picked) == ((0, 0) if rule == "random" else (5, 0))
    assert [model.expected is None for model in typed_in.models] == [rule != "random"] * 3


@pytest.mark.more
@pytest.mark.parametrize("rows", [ROWS, MAX_COMPARED_ROWS + 200])
def test_a_session_says_what_a_decision_by_its_answers_says(folder, rows):
    """The order and P(best) are those of ANCHORS on the same rows and pool; of a large pool the same ones are read."""
    write_texts(folder, rows)
    truth = json.loads((folder / "truth.json").read_text())
    with contextlib.chdir(folder):
        runtime, task = Runtime(store=None), TextTask("text")
        session = label(list(MODELS), "pool.csv", task=task, settings=LabelSettings("order"), runtime=runtime)
        answered = []
        for _ in range(4):
            row = session.next()
            session.tell(row, truth[row.segments[0]])
            answered.append(row)
        (Path("four.csv")).write_text(
            "id,text,label\n" + "".join(f"{row.id},{row.segments[0]},{truth[row.segments[0]]}\n" for row in answered)
        )
        ranking = decide(list(MODELS), RowsFile(Path("four.csv"), task=task), pool="pool.csv", runtime=runtime)
    by_name = {model.name: model.p_best for model in ranking.decision.models}
    new_ranking = session.ranking()
    assert [model.name for model in new_ranking.models] == [model.name for model in ranking.decision.models]
    assert [model.p_best for model in new_ranking.models] == [by_name[model.name] for model in new_ranking.models]
    assert new_ranking.labels == {}
    assert session.predictions_for(answered[0]).keys() == {"one", "two", "three"}
    assert session.undo() == answered[-1]
    assert session.next() == answered[-1]


@pytest.mark.more
def test_a_session_of_texts_ends_once_little_is_lost(folder):
    """By default at a point, after five answers or more; with none allowed it goes on until it is certain."""
    truth = json.loads((folder / "truth.json").read_text())
    answers = [truth[text] for text in batch(folder, ROWS)]
    status, out, err = typed(folder, answers)
    assert (status, err) == (0, "")
    assert len(kept(folder)) == (first := 5)
    assert re.search(r"enough: [\d.]+ points are expected to be lost by taking the leader\nTake one\n", out)
    assert "to go on, lower --shortfall in the same command" in out
    _, out, _ = typed(folder, answers[first:], "--shortfall", "0", "--until", "1")
    assert "enough: P(the leader is within 1 point of the best) has reached 1.0" in out
    assert len(kept(folder)) > first


def test_the_page_ends_with_what_to_take(folder, monkeypatch):
    """In its title, as the terminal says it; before that there is none, and no option is named."""
    truth = json.loads((folder / "truth.json").read_text())

    def visit(client):
        state = client.state()
        while state["row"]:
            assert state["verdict"] == ""
            text = "".join(piece["text"] for piece in state["row"]["segments"][0]["pieces"])
            state = client.change("answer", truth[text])
        assert state["verdict"] == "Done: take one"
        assert "points are expected to be lost by taking the leader" in state["ending"]
        assert state["kept"] == "saved in labels.csv"

    assert served_in(folder, monkeypatch, visit)(*TEXT, models=MODELS) == 0
    assert len(kept(folder)) == 5


def test_what_is_no_answer_is_said_and_the_row_waits(folder):
    """An empty text, one that no file gives back, and one that is too long change nothing; so does another number."""
    (folder / "limits.toml").write_text("[limits]\ncell = 40\n")
    status, out, err = plain(folder, ["t", "", "t", "a\0b", "t", "x" * 41, "t", "fine", "q"], *TEXT, "--config",
                             "limits.toml", models=MODELS)  # fmt: skip
    assert (status, err) == (0, "")
    for text in ("a row needs a reference", "cannot hold '\\x00'", "at most 40 characters", "your answer: fine"):
        assert text in out
    assert [row["label"] for row in kept(folder)] == ["fine"]
    for name in MODELS:
        (folder / name).write_text("id,prediction\n" + "".join(f"{n},{1 + n % 5}\n" for n in range(ROWS)))
    (folder / "two.csv").write_text("id,prediction\n" + "".join(f"{n},{1 + n % 3}\n" for n in range(ROWS)))
    status, out, err = plain(folder, ["t", "7", "t", "3.0", "t", "2.5", "q"], "--task", "number", "--range", "1", "5",
                             models=MODELS, output="n.csv")  # fmt: skip
    assert (status, err) == (0, "")
    assert "A number from 1 to 5:" in out
    assert "a number from 1 to 5 is needed (got '7')" in out
    assert [row["label"] for row in kept(folder, "n.csv")] == ["3", "2.5"]


def test_tags_are_typed_on_a_terminal_and_marked_on_the_page(folder, monkeypatch):
    """A row takes a tag for each token and refuses another number; the page has tokens, and types of answers."""
    (folder / "pool.csv").write_text("id,text\n" + "".join(f"{n},Ann saw town {n}\n" for n in range(ROWS)))
    tags = ["O O B-LOC O", "B-PER O O O"]
    for index, name in enumerate(MODELS[:2]):
        lines = (f"{n},{tags[(n + index) % 2]}\n" for n in range(ROWS))
        (folder / name).write_text("id,prediction\n" + "".join(lines))
    status, out, err = plain(
        folder, ["t", "B-PER O", "t", "[" * 50_000, "t", "B-PER O B-LOC O", "q"], "--task", "tags", models=MODELS[:2]
    )
    assert (status, err) == (0, "")
    assert "each token needs a tag (got 2 tags for 4 tokens)" in out
    assert "recursion" in out
    assert [row["label"] for row in kept(folder)] == ["B-PER O B-LOC O"]

    def visit(client):
        state = client.state()
        assert state["row"]["tokens"] == state["row"]["segments"][0]["pieces"][0]["text"].split(" ")
        assert [(span_type["label"], span_type["key"]) for span_type in state["types"]] == [("LOC", "1"), ("PER", "2")]
        client.change("answer", '["O", "O", "O", "O"]')

    assert served_in(folder, monkeypatch, visit)("--task", "tags", models=MODELS[:2], output="page.csv") == 0
    assert [row["label"] for row in kept(folder, "page.csv")] == ["O O O O"]


@pytest.mark.more
def test_the_page_keeps_what_the_terminal_keeps(folder, monkeypatch):
    """The same texts, skips, undos and second thoughts make the same file but for times."""

    def visit(client):
        first = client.state()
        assert (first["labels"], first["hint"], first["quotes"]) == ([], "A correct text", False)
        assert client.change("answer", " \n", status=409)["message"] == "a row needs a reference"
        half = client.http.post("/change", content=rb'{"step": 0, "action": "answer", "label": "a\ud800"}')
        assert (half.status_code, "cannot hold" in half.json()["message"]) == (409, True)
        assert texts(client.state()) == texts(first)
        assert client.change("answer", "the dog ran\n")["last"]["label"] == "the dog ran"
        last = client.change("reveal")["last"]
        assert [name for name, _ in last["predictions"]] == ["one", "two", "three"]
        assert client.change("reveal", "the cat sat")["last"]["changed_to"] == "the cat sat"
        for action in ("skip", "cannot-tell", "undo"):
            client.change(action)
        client.change("answer", "a hill")
        client.change("cannot-tell")

    assert served_in(folder, monkeypatch, visit)(*TEXT, models=MODELS, output="page.csv") == 0
    keys = ["t", "the dog ran", "v", "t", "the cat sat", "s", "0", "u", "t", "a hill", "0", "q"]
    status, _, err = plain(folder, keys, *TEXT, models=MODELS)
    assert (status, err) == (0, "")
    assert timeless(folder, "page.csv") == timeless(folder)


@pytest.mark.more
@pytest.mark.parametrize("flags", [(), ("--metric", "rouge-1")])
def test_the_page_ends_with_the_report(folder, monkeypatch, capsys, flags):
    """By ANCHORS and the metric that rows were chosen by; the command that is printed makes it, too."""
    truth = json.loads((folder / "truth.json").read_text())
    reports = []

    def visit(client):
        state = client.state()
        while state["row"]:
            state = client.change("answer", truth[texts(state)[0]])
        assert state["order"][0].startswith("one: the best with a probability of ")
        form = {"content-type": "application/x-www-form-urlencoded"}
        reply = client.http.post("/report", data={"token": client.server.token}, headers=form)
        assert reply.status_code == 200, reply.text
        reports.append((reply.text, client.server.session.request.report_command))

    assert served_in(folder, monkeypatch, visit)(*TEXT, "--budget", "4", *flags, models=MODELS) == 0
    ((page, command),) = reports
    metric = flags[-1].upper() if flags else "ROUGE-L"
    assert "ANCHORS puts one first" in page
    assert metric in page
    assert shlex.split(command)[:2] == ["rank-models", "--data"]
    with contextlib.chdir(folder), pytest.raises(SystemExit) as stop:
        main([*shlex.split(command)[1:], "--no-isolate"])
    out = capsys.readouterr().out
    assert (stop.value.code or 0, "ANCHORS puts one first" in out, metric in out) == (0, True, True)


def test_several_lines_come_back_as_they_were_typed(folder, monkeypatch):
    """From the file, in the next session, however the browser ends its lines; a list is several references."""
    answers = ["one\r\ntwo\n\nthree", "[sic] a town", '["a hill", "the hill"]', 'say "so", then']
    texts = []

    def visit(client):
        client.state()
        for answer in answers:
            client.change("answer", answer)

    def visit_again(client):
        session = client.server.session
        texts.extend(line.event.label for line in session.labelling.lines)
        client.state()
        client.change("answer", "last")

    serve = served_in(folder, monkeypatch, visit)
    assert serve(*TEXT, models=MODELS) == 0
    content = (folder / "labels.csv").read_bytes()
    assert served_in(folder, monkeypatch, visit_again)(*TEXT, models=MODELS) == 0
    assert texts == [("one\ntwo\n\nthree",), ("[sic] a town",), ("a hill", "the hill"), ('say "so", then',)]
    assert (folder / "labels.csv").read_bytes().startswith(content)


@pytest.mark.more
def test_answers_are_compared_on_some_rows_of_a_large_pool(folder):
    """Always the same, and those that have an answer; a larger batch compares as many as it writes."""
    rows = range(MAX_COMPARED_ROWS + 20)
    (folder / "pool.csv").write_text("id,text\n" + "".join(f"{n},Document {n}\n" for n in rows))
    for name in MODELS:
        (folder / name).write_text("id,prediction\n" + "".join(f"{n},{name} {n % 7}\n" for n in rows))
    text = f"answers are compared on {len(rows) - 20} of the {len(rows)} rows of the pool, among which rows are chosen"
    status, out, err = typed(folder, ["a dog", "q"])
    assert (status, err.strip()) == (0, text)
    again, second_output, err = typed(folder, ["q"])
    assert (again, err.strip()) == (0, text)
    assert second_output.split("Document")[-1] == out.split("Document")[-1]
    status, _, err = plain(
        folder, "", *TEXT, "--batch", f"{len(rows) - 10}", "--rule", "random", models=MODELS, output="b.csv"
    )
    assert (status, len({row["id"] for row in kept(folder, "b.csv")})) == (0, len(rows) - 10)


def test_the_report_of_numbers_names_both_ends_of_their_range(folder, rank_models, monkeypatch):
    """The printed command runs as it stands: an option of two values is two words."""
    for name, shift in {"a.csv": 0, "b.csv": 1}.items():
        marks = "".join(f"{n},{1 + (n + shift) % 5}\n" for n in range(ROWS))
        (folder / name).write_text(f"id,prediction\n{marks}")
    flags = ("--task", "number", "--range", "1", "5")
    status, out, err = plain(folder, ["t", "3", "t", "2", "q"], *flags, models=("a.csv", "b.csv"))
    assert (status, err) == (0, "")
    (command,) = (line.removeprefix("report: ") for line in out.splitlines() if line.startswith("report: "))
    assert " --range 1.0 5.0 " in command
    monkeypatch.chdir(folder)
    status, out, _ = rank_models(*shlex.split(command)[1:])
    assert not status
    assert out.startswith("models on labels: 2 models, K = 2\n")


def test_rows_that_share_one_text_are_asked_one_by_one(folder):
    """Ids tell the rows apart, on the terminal and in the file that goes on."""
    pool = folder / "pool.csv"
    pool.write_text("id,text\n" + "".join(f"{n},Describe the picture.\n" for n in range(ROWS)))
    status, _, err = typed(folder, ["dog cat", "cow town", "q"])
    assert status == 0, err
    typed(folder, ["hill sea", "q"])
    rows = kept(folder)
    assert [row["label"] for row in rows] == ["dog cat", "cow town", "hill sea"]
    assert len({row["id"] for row in rows}) == 3


def write_systems(folder, seed, rows=150):
    """A pool, and what five systems of random ability say of it: the truth of each row, and each system's texts."""
    rng = np.random.default_rng([94, seed])
    truth = [rng.choice(WORDS, 8).tolist() for _ in range(rows)]
    (folder / "pool.csv").write_text("id,text\n" + "".join(f"{n},Document {n}\n" for n in range(rows)))
    answers = {}
    for system, wrong in enumerate(rng.uniform(0.1, 0.6, 5).tolist()):
        texts = [" ".join(str(rng.choice(WORDS)) if rng.random() < wrong else w for w in words) for words in truth]
        answers[f"system-{system}"] = texts
        (folder / f"system-{system}.csv").write_text(
            "id,prediction\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts))
        )
    return [" ".join(words) for words in truth], answers


@pytest.mark.more
@pytest.mark.parametrize("count", [2, pytest.param(60, marks=pytest.mark.soak)])
def test_sessions_of_texts_end_in_time(tmp_path, monkeypatch, count):
    """By what is lost, within 50 references; little is lost in truth, and the report has the session's order."""
    monkeypatch.chdir(tmp_path)
    task, lost, lengths = TextTask("text"), [], []
    for seed in range(count):
        truth, answers = write_systems(tmp_path, seed)
        models = load_suite([f"{name}.csv" for name in answers])
        settings = LabelSettings(rule="order", shortfall=LOST_IN_SESSION)
        session = label(models, RowsFile(Path("pool.csv")), task=task, settings=settings, runtime=Runtime(store=None))
        while not session.ranking().loses_little and len(session.lines) < 50:
            row = session.next()
            session.tell(row, truth[int(row.id)])
        ranking, ids = session.ranking(), [int(session.rows[line.event.row].id) for line in session.lines]
        rows = "".join(f"{n},Document {n},{truth[n]}\n" for n in ids)
        Path("labels.csv").write_text(f"id,text,reference\n{rows}")
        decision = decide(models, RowsFile(Path("labels.csv"), task=task), pool="pool.csv",
                          runtime=Runtime(store=None)).decision  # fmt: skip
        assert [model.name for model in ranking.models] == list(decision.names)
        values = {name: task.judge(texts, [(text,) for text in truth]).mean() for name, texts in answers.items()}
        lost.append(max(values.values()) - values[ranking.models[0].name])
        lengths.append(len(ids))
    assert min(lengths) >= 5
    assert np.mean(lost) <= 2 * LOST_IN_SESSION
    assert np.mean(np.array(lengths) < 50) >= 0.8
