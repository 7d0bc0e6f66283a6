"""docs/tasks.md: each of its commands runs, on small files of the kinds that it names."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import make_checkpoint
from logmaking import lm_log, written_row

from ranker.sources.hf.files import content_hash
from ranker.tasks.named import BUILTIN, task_class

PAGES = Path(__file__).parents[2] / "docs"
PAGE = (PAGES / "tasks.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^rank-models (?!label|explain)(.*)$", PAGE)
TEXTS = [f"The {name} {verb} in the old town ." for name in ("dog", "cat", "cow") for verb in ("ran", "sat", "fell")]


@pytest.fixture
def folder(tmp_path, monkeypatch, checkpoint):
    """The files of the page: rows, pools, answers, logs, an encoder, and the function."""
    monkeypatch.chdir(tmp_path)
    Path("encoder").symlink_to(checkpoint("bert"))
    gold = [[(word, "B-LOC" if word == "town" else "O") for word in text.split()] for text in TEXTS]
    for name, wrong in (("gold", ""), ("system-a", "ran"), ("system-b", "in")):
        rows = [[(word, "B-LOC" if word == wrong else tag) for word, tag in row] for row in gold]
        Path(f"{name}.conll").write_text("\n\n".join("\n".join("\t".join(pair) for pair in row) for row in rows))
    answers = [[{"text": text.split()[1]}] for text in TEXTS]
    questions = [{"id": str(n), "question": "What was it?", "answers": answer} for n, answer in enumerate(answers)]
    paragraphs = [{"context": text, "qas": [question]} for text, question in zip(TEXTS, questions, strict=True)]
    Path("dev.conll").write_text(Path("gold.conll").read_text())
    for seed, name in enumerate(("ner-a", "ner-b")):
        labels = ("O", "B-LOC", "I-LOC")
        make_checkpoint(Path(name), "bert", labels, "TokenClassification", seed, initializer_range=0.5)
    for seed, name in enumerate(("qa-a", "qa-b")):
        make_checkpoint(Path(name), "bert", None, "QuestionAnswering", seed)
    Path("dev.json").write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    for name, answer in (("one", "dog"), ("two", "the cow")):
        Path(f"{name}.json").write_text(json.dumps({str(n): answer for n in range(len(TEXTS))}))
    Path("overlap.py").write_text(re.search(r"(?s)```python\n(.*?)```", PAGE)[1])
    for name, words in (("a", "The dog ran in the town"), ("b", "It fell")):
        rows = [written_row(n, {"text": text}, text, words, words) for n, text in enumerate(TEXTS)]
        lm_log(Path("logs") / f"model-{name}", rows)
    return tmp_path


def write_tables(number):
    """The tables of texts, or of numbers, as the command needs them."""
    ids = range(len(TEXTS))
    lines = [f"{n},document {n},{1 + n % 5 if number else TEXTS[n]}" for n in ids]
    name = "marks.csv" if number else "articles.csv"
    Path(name).write_text("\n".join(["id,text,label" if number else "id,text,reference", *lines]))
    Path("pool.csv").write_text("\n".join(["id,text", *(f"{n},document {n}" for n in range(20))]))
    Path("big.csv").write_text("\n".join(["id,reference", *(f"{n},The one {n % 3} town" for n in range(20))]))
    answers = {"one": (1, 2), "two": (5, 3), "three": (2, 2)}
    for model, (first, second) in answers.items():
        cells = [(first if n % 2 else second) if number else f"The {model} {n % 3} town" for n in range(20)]
        Path(f"{model}.csv").write_text("\n".join(["id,prediction", *(f"{n},{cell}" for n, cell in enumerate(cells))]))


@pytest.mark.few(1)
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_of_the_page_runs(folder, rank_models, command):
    """Each command ends well, and puts a model first by the metric that it names."""
    write_tables("marks" in command)
    arguments = shlex.split(command)
    report = json.loads(run([*arguments, "--format", "json", "--no-isolate"], rank_models))
    metric = report["header"]["metric"].casefold()
    typed_metric = dict(zip(arguments, arguments[1:], strict=False)).get("--metric", metric)
    encoder = f"bertscore:{content_hash(Path('encoder'))[:8]}"
    assert metric == typed_metric.removesuffix(".py").replace("bertscore:encoder", encoder)
    assert metric in {"span-f1", "exact-match", "rouge-2", "spearman", "rouge-l", "overlap", encoder}


@pytest.mark.more
def test_the_words_behind_tags_are_shown(folder, rank_models):
    """Each model's own answer has scores; of a run, the factors that the page names are in the table."""
    explained = re.findall(r"(?m)^rank-models (explain .*)$", PAGE)
    for command, models in zip(explained, (["ner-a", "ner-b"], ["ner-a"]), strict=True):
        content = json.loads(run([*shlex.split(command), "--format", "json"], rank_models))
        assert [model["name"] for model in content["models"]] == models
        assert content["toward"] == "the first predicted span (mean log-odds of its tags)"
    (command,) = (command for command in COMMANDS if "--factors" in command)
    decision = json.loads(run([*shlex.split(command), "--format", "json", "--no-isolate"], rank_models))["decision"]
    assert {*decision["models"][0]["scores"]} == {"span-f1", "ROW-F1", "STOP-SHARE", "CONCENTRATION"}


def test_the_table_names_each_task_and_metric():
    """None is left out of the table, or of a task's own page; `LABEL` and cutoffs stand for any."""
    assert set(re.findall(r"(?m)^\| `([a-z][\w-]*)` \|", PAGE)) == set(BUILTIN)
    text = "".join((PAGES / f"{name}.md").read_text(encoding="utf-8") for name in ("tasks", "rankings", "label-sets"))
    names = {name for task in BUILTIN for name in task_class(task).metrics}
    metrics = {name for name in names if ":stem" not in name}
    assert {
        name for name in metrics if not re.search(rf"`{re.escape(name.partition('@')[0].removesuffix(':LABEL'))}", text)
    } == set()


@pytest.mark.more
def test_a_batch_of_rows_to_fill_in_is_read_once_it_is_filled(folder, rank_models):
    """The rows are those that tell models apart; filled in, the table is one for --data, beside the same pool."""
    write_tables(number=False)
    command = re.search(r"(?m)^rank-models (label .*)$", PAGE)[1]
    run(shlex.split(command), rank_models)
    with Path("to-write.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [["id", "text", "label"]] * 5
    assert {row["label"] for row in rows} == {""}
    filled = ["id,text,label", *(f"{row['id']},{row['text']},The one {int(row['id']) % 3} town" for row in rows)]
    Path("to-write.csv").write_text("\n".join(filled))
    arguments = ["--data", "to-write.csv", "--pool", "pool.csv", "--task", "text", "--models", "one.csv", "two.csv"]
    decision = json.loads(run([*arguments, "three.csv", "--format", "json", "--no-isolate"], rank_models))["decision"]
    assert (decision["method"], decision["models"][0]["name"]) == ("ANCHORS", "one")
    row_ids = {row["id"] for row in rows}
    with Path("pool.csv").open() as file:
        pool = [{**row, "label": "known" if row["id"] in row_ids else ""} for row in csv.DictReader(file)]
    Path("pool.csv").write_text("\n".join(["id,text,label", *(",".join(row.values()) for row in pool)]))
    run([*shlex.split(command.replace("to-write", "more")), "--rule", "random"], rank_models)
    with Path("more.csv").open() as file:
        assert row_ids.isdisjoint(row["id"] for row in csv.DictReader(file))


def test_a_batch_is_chosen_by_the_metric_that_is_named(folder, rank_models):
    """A function of one's own compares the answers of all pairs of models; the metric of a row by name, too."""
    write_tables(number=False)
    calls = (
        "from pathlib import Path\ndef own(a, b):\n    Path('calls').open('a').write('.')\n    return float(a == b)\n"
    )
    Path("own.py").write_text(calls)
    batch = [
        "label", "--pool", "pool.csv", "--task", "text", "--batch", "2", "--models", "one.csv", "two.csv", "three.csv",
    ]  # fmt: skip
    run([*batch, "-o", "out.csv", "--metric", "own.py:own"], rank_models)
    assert len(Path("calls").read_text()) >= 20
    run([*batch, "-o", "other.csv", "--metric", "rouge-1"], rank_models)


def run(arguments, rank_models):
    """Run a command and return what it prints."""
    status, out, err = rank_models(*arguments, "--quiet")
    assert not status, err
    return out


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("def one(a, b): return 2", "it must give a number from 0 to 1 (got 2"),
        ("def one(a, b): return float('nan')", "it must give a number from 0 to 1 (got nan"),
        ("def one(a, b): raise KeyError('x')", "it raised KeyError: 'x'"),
        ("def one(a): return 1.0", "one reads how labels are confused, and answers to text are none"),
        ("def one(a, b, c): return 1.0", "it raised TypeError"),
        ("x = 1", "name one of its functions, as in FILE.py:NAME (functions: none)"),
        ("def one(a, b): return 1\ndef two(a, b): return 1", "name one of its functions, as in FILE.py:NAME"),
        ("def one(a, b) return 1", "rank-models: `--metric`: "),
        ("def one(a, b) return 1", "line 1: expected ':'"),
    ],
)
def test_a_metric_of_ones_own_that_is_none_is_one_line(folder, rank_models, code, part):
    """A metric that raises, leaves its range, or is not there exits with status 2."""
    write_tables(number=False)
    Path("own.py").write_text(code)
    arguments = ["--data", "articles.csv", "--task", "text", "--models", "one.csv", "two.csv", "--metric", "own.py"]
    status, _, err = rank_models(*arguments, "--no-isolate", "--quiet")
    assert (status, err.count("\n"), part in err) == (2, 1, True), err


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--data", "gold.conll", "--task", "tags", "--metric", "own.py"], "is for `--task text`"),
        (["--data", "gold.conll", "--task", "tags", "--metric", "bertscore:encoder"], "is for `--task text`"),
        (["--data", "articles.csv", "--task", "text", "--metric", "bertscore"], "must be bertscore:FOLDER"),
        (["--data", "gold.conll", "--task", "tags", "--metric", "rouge-l"], "there is no metric of tags 'rouge-l'"),
        (["--data", "articles.csv", "--task", "number"], "needs `--range`"),
        (["label", "--pool", "pool.csv", "--task", "text", "--batch", "2", "--rule", "best"], "`--rule` best is for"),
        (["label", "--pool", "pool.csv", "--task", "text", "--batch", "2", "--metric", "bleu"], "bleu is of all rows"),
        (["--data", "articles.csv", "--task", "txt"], "there is no task 'txt'; did you mean text?"),
    ],
)
def test_what_does_not_go_together_is_one_line(folder, rank_models, arguments, part):
    """A metric of another task, a task without its scale, a task that is none: exit status 2."""
    write_tables(number=False)
    Path("own.py").write_text("def one(a, b): return 1.0")
    status, _, err = rank_models(*arguments, "--models", "system-a.conll", "system-b.conll", "--no-isolate", "--quiet")
    assert (status, err.count("\n"), part in err) == (2, 1, True), err
