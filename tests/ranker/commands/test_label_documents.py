"""`rank-models label --task ranking`: people grade the documents that models found for a query."""

import csv
import json
import re
import shlex

import pytest
from test_label import kept, plain
from test_label_web import served_in

QUERIES, FOUND = 15, 12
NAMES = ("good", "fair", "poor")
MODELS = tuple(f"{name}.run" for name in NAMES)
DOCUMENTS = [f"d{n}" for n in range(60)]


def grade(query, document):
    """Grade a document as a person would: of the same topic or not."""
    return 3 * (int(document[1:]) % 7 == query % 7)


def write_search(folder):
    """Queries, of which models answer the first ones; their runs; and documents, as BEIR has them, all but d0."""
    with (folder / "corpus.jsonl").open("w") as file:
        for name in DOCUMENTS[1:]:
            topic = int(name[1:]) % 7
            file.write(
                json.dumps({"_id": name, "title": f"On {name}", "text": f"Topic {topic}.", "metadata": {}}) + "\n"
            )
    with (folder / "queries.jsonl").open("w") as file:
        for query in range(QUERIES):
            file.write(json.dumps({"_id": f"q{query}", "text": f"What of topic {query % 7}?"}) + "\n")
    for system, wrong in zip(NAMES, (1, 4, 8), strict=True):
        lines = []
        for query in range(FOUND):
            right = [name for name in DOCUMENTS if grade(query, name)]
            ungraded = [name for name in DOCUMENTS if not grade(query, name)]
            ranked = [*ungraded[query : query + wrong], *right, *ungraded[20:]][:15]
            lines += [f"q{query} Q0 {name} {n + 1} {20 - n} {system}\n" for n, name in enumerate(ranked)]
        (folder / f"{system}.run").write_text("".join(lines))


@pytest.fixture
def folder(tmp_path):
    """A folder with these."""
    write_search(tmp_path)
    return tmp_path


FILES = {"pool": "queries.jsonl", "models": MODELS, "output": "grades.csv"}


def graded(folder, keys, *flags):
    """A session of grades: exit status, stdout, stderr."""
    return plain(folder, keys, "--task", "ranking", "--documents", "corpus.jsonl", *flags, **FILES)


DOCUMENT = re.compile(r"(What of topic (\d)\?)\n\nDocument (\d+) of (\d+): (?:On )?(d\d+)\n")


def asked(out):
    """The documents that were shown, in order: (topic of the query, number, count, name)."""
    return [(int(topic), int(number), int(count), name) for _, topic, number, count, name in DOCUMENT.findall(out)]


@pytest.mark.more
def test_each_grade_is_kept(folder):
    """A session for each grade: the next document of the same query waits, and the last one makes its label."""
    waiting = asked(graded(folder, ["q"])[1])[0]
    topic, _, count, _ = waiting
    for number in range(1, count + 1):
        assert waiting[:3] == (topic, number, count)
        out = graded(folder, [str(grade(topic, waiting[3])), "q"])[1]
        question, following = asked(out)
        assert question == waiting != following
        waiting = following
        (row,) = [row for row in kept(folder, "grades.csv") if row["label"]] or [None]
        assert (row is None) == (number < count)
    assert row["status"] == "answered"
    assert "grades_so_far" not in row
    labels = json.loads(row["label"])
    assert labels == {name: grade(int(row["_id"][1:]), name) for name in labels}
    assert len(labels) == count <= 20


def answers(folder, queries):
    """Grade the documents of some queries as they should be, a session for each query."""
    for _ in range(queries):
        topic, _, count, _ = asked(graded(folder, ["q"])[1])[0]
        names = [name for *_, name in asked(graded(folder, ["0"] * (count - 1) + ["q"])[1])]
        graded(folder, ["u"] * (count - 1) + [str(grade(topic, name)) for name in names] + ["q"])


@pytest.mark.more
def test_documents_are_the_first_of_all_models(folder):
    """Place by place, at most twenty and no deeper than the metric reads, each once, in an order that a seed gives."""
    runs = {}
    for system in NAMES:
        for line in (folder / f"{system}.run").read_text().splitlines():
            query, _, name, *_ = line.split()
            runs.setdefault(query, {}).setdefault(system, []).append(name)
    for metric, depth in (("ndcg@10", 10), ("ndcg@2", 2), ("recall@5", 5)):
        (folder / "grades.csv").unlink(missing_ok=True)
        keys = ["0"] * (len(asked(graded(folder, ["q"], "--metric", metric)[1])) and 25)
        out = graded(folder, [*keys, "q"], "--metric", metric)[1]
        first = asked(out)[0][0]
        names = [name for topic, _, _, name in asked(out) if topic == first][: asked(out)[0][2]]
        (row,) = kept(folder, "grades.csv")[:1]
        of_models = runs[row["_id"]].values()
        assert {*names} <= {name for of_model in of_models for name in of_model[:depth]}
        assert {of_model[0] for of_model in of_models} <= {*names}
        assert len(names) == len({*names}) == min(20, len({name for run in of_models for name in run[:depth]}))
        ranked = [name for of_model in of_models for name in of_model if name in names]
        assert names != [*dict.fromkeys(ranked)]


@pytest.mark.more
def test_undo_goes_back_document_by_document(folder):
    """To the last one of the query before, too; a skipped query keeps its grades."""
    count = asked(graded(folder, ["q"])[1])[0][2]
    out = graded(folder, ["1", "u", "2", *["0"] * (count - 1), "u", "u", "3", "3", "1", "s", "q"])[1]
    assert out.count("taken back") == 3
    rows = kept(folder, "grades.csv")
    assert [row["status"] for row in rows] == ["answered", "skipped"]
    assert [*json.loads(rows[0]["label"]).values()].count(3) == 2
    assert [*json.loads(rows[1]["grades_so_far"]).values()] == [1]
    assert rows[1]["label"] == ""
    before = asked(out)
    out = graded(folder, ["u", "u", "u", "q"])[1]  # the skip, its grade, and a grade of the first query
    assert kept(folder, "grades.csv")[0]["_id"] == rows[0]["_id"]
    assert kept(folder, "grades.csv")[0]["status"] == ""
    assert len(json.loads(kept(folder, "grades.csv")[0]["grades_so_far"])) == count - 1
    assert asked(out)[-1][0] == before[0][0]


@pytest.mark.more
def test_a_session_and_its_report_say_the_same(folder, monkeypatch, rank_models):
    """The command at the end reads the grades; the session counts queries, and grades beside them."""
    answers(folder, 1)
    assert re.search(r"1 answer; .*\(\d\d grades of 1 query\)", graded(folder, ["s", "u", "q"])[1])
    answers(folder, 1)
    _, out, err = graded(folder, ["q"])
    (command,) = [line.removeprefix("report: ") for line in out.splitlines() if line.startswith("report: ")]
    assert "left out: 3 rows that no model answers" in err
    assert "1 of 60 documents are shown by their names: corpus.jsonl lacks them" in err
    monkeypatch.chdir(folder)
    status, output, _ = rank_models(*shlex.split(command)[1:], "--format", "json")
    assert status == 0
    assert "--metric ndcg@10:judged" in command
    decision = json.loads(output)["decision"]
    assert len(decision["rows"]) == 2
    assert [model["name"] for model in decision["models"]] == ["good", "fair", "poor"]
    assert "good (P(best)" in out.splitlines()[-4]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("names.csv", "name,text\nd1,A.\n", "names.csv: documents need a column '_id' (columns: name, text)"),
        ("texts.csv", "id,words\nd1,A.\n", "texts.csv: documents need a column 'text' (columns: id, words)"),
        ("twice.csv", "docno,text\nd1,A.\nd1,B.\n", "twice.csv, line 3: the document 'd1' has another text before"),
        ("none.csv", None, "none.csv"),
    ],
)
def test_a_bad_file_of_documents_is_named(folder, name, content, text):
    """In one line."""
    if content is not None:
        (folder / name).write_text(content)
    status, _, err = plain(folder, ["q"], "--task", "ranking", "--documents", name, **FILES)
    assert status == 2
    assert text in err
    assert len(err.strip().splitlines()) <= 2


def test_documents_are_for_rankings(folder):
    """Labels have none; and a cell of grades that is broken is named."""
    (folder / "labels.csv").write_text("id,prediction\n" + "".join(f"q{n},{'ab'[n % 2]}\n" for n in range(QUERIES)))
    (folder / "others.csv").write_text("id,prediction\n" + "".join(f"q{n},a\n" for n in range(QUERIES)))
    options = {**FILES, "models": ("labels.csv", "others.csv")}
    status, _, err = plain(folder, ["q"], "--documents", "corpus.jsonl", **options)
    assert (status, "`--documents` is for rankings" in err) == (2, True)
    graded(folder, ["1", "q"])
    (row,) = kept(folder, "grades.csv")
    with (folder / "grades.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow({**row, "grades_so_far": '{"d1": 9}'})
    status, _, err = graded(folder, ["q"])
    assert status == 2
    assert "grades.csv: 'grades_so_far' must be documents with 0, 1, 2, 3 (got '{\"d1\": 9}')" in err


@pytest.mark.more
def test_the_page_grades_as_the_terminal_does(folder, monkeypatch):
    """The same documents in the same order, without a model's name; undo, a grade that is none, and the end."""
    count = asked(graded(folder, ["q"])[1])[0][2]
    names = [name for *_, name in asked(graded(folder, ["1"] * (count - 1) + ["q"])[1])]
    (folder / "grades.csv").unlink()
    pages = []

    def visit(page):
        state = page.state()
        assert [label["key"] for label in state["labels"]] == [*"0123"]
        assert (state["title"], state["noun"], state["hint"]) == ("How relevant is each document?", "Query", "")
        for _ in range(count - 1):
            (answer,) = state["row"]["answers"]
            assert not [name for name in NAMES if name in json.dumps(state["row"])]
            assert answer["title"] == f"Document {len(pages) + 1} of {count}"
            pages.append(answer["text"].split("\n")[0].removeprefix("On "))
            state = page.change("answer", "1")
        assert page.change("answer", "7", status=409)["message"].startswith("`label` must be one of")
        last = page.change("undo")["row"]["answers"][0]
        assert last["text"].split("\n")[0].removeprefix("On ") == names[count - 2]

    assert served_in(folder, monkeypatch, visit)("--task", "ranking", "--documents", "corpus.jsonl", **FILES) == 0
    assert pages == names[: count - 1]
