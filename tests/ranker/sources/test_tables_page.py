"""docs/tables.md, table-layouts.md and logs.md are tutorials: their files, code and commands are tried in order."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from logmaking import choice_row, eval_log, header, lm_log, sample

from ranker import LogOptions, TableOptions
from ranker.commands import options
from ranker.commands.run import run as command
from ranker.datasets import sets
from ranker.sources.tables.kind import ENDINGS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("tables", "table-layouts", "logs"))
BLOCKS = re.findall(r"(?ms)^```(\w+)(?: (\S+))?\n(.*?)^```", PAGE)
ROWS = ("r1", "r2", "r3", "r4")
LABELS = ("pos", "neg", "pos", "neg")


def write_logs(folder):
    """Logs of lm-evaluation-harness, two of one task and two of several; the first is right more often."""
    right = {"a": range(34), "b": range(20, 40)}
    for name in right:
        write_log(folder / f"run-{name}", right[name])
        write_log(folder / f"suite-{name}", right[name], "mnli")
        write_log(folder / f"suite-{name}", range(4, 38) if name == "a" else range(10, 40), "rte")
    write_log(folder / "suite-b", range(3), "sst2")


def write_log(folder, right, task="small"):
    """One log, of 40 rows."""
    rows = []
    for n in range(40):
        chosen = n % 2 if n in right else 1 - n % 2
        rows.append(choice_row(n, {"q": n}, n % 2, [-1.0 - chosen, -2.0 + chosen], acc=float(n in right)))
    lm_log(folder, rows, task)


def write_others(folder):
    """Write what the other programs write, in small."""
    for place, name in enumerate(("a", "b")):
        (folder / f"helm-{name}").mkdir()
        stats = [
            {
                "instance_id": f"id{n}",
                "train_trial_index": trial,
                "perturbation": {"name": "robustness"} if twice else None,
                "stats": [
                    {"name": {"name": "exact_match", "split": "test"}, "mean": float(n % 3 >= place), "count": 1}
                ],
            }
            for n in range(9)
            for twice in (False, True)
            for trial in (0, 1)
        ]
        (folder / f"helm-{name}" / "per_instance_stats.json").write_text(json.dumps(stats))
        batch = [
            {
                "custom_id": key,
                "response": {"body": {"choices": [{"message": {"content": f" {label.title()}.\n"}}]}},
                "error": None,
            }
            for key, label in zip(ROWS, LABELS[place:] + LABELS[:place], strict=True)
        ]
        (folder / f"batch-{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in batch))
        edge = "__" if place else ""
        details = {
            f"{edge}doc{edge}": [{"query": f"Question {n}?"} for n in range(18)],
            f"{edge}metric{edge}": [{"acc": float(n % 3 >= place)} for n in range(18)],
        }
        pq.write_table(pa.table(details), folder / f"lighteval-{name}.parquet")
    results = [
        {
            "testIdx": n,
            "promptIdx": 0,
            "provider": {"id": f"openai:{name}"},
            "success": n > place,
            "score": float(n > place),
        }
        for n in range(9)
        for place, name in enumerate(("gpt-a", "gpt-b"))
    ]
    (folder / "promptfoo.json").write_text(json.dumps({"results": {"results": results}}))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the tutorial, with what other programs left there."""
    monkeypatch.chdir(tmp_path)
    write_logs(tmp_path)
    write_others(tmp_path)
    for name, right in (("a", 34), ("b", 20)):
        samples = [
            sample(f"s{n}", "I" if n >= right else "C", epoch, metadata={"topic": f"{n // 2}"})
            for n in range(40)
            for epoch in (1, 2)
        ]
        eval_log(tmp_path / f"{name}.eval", samples, header(epochs=2, model=f"org/{name}"))
    return tmp_path


def flat(text):
    """Text without its line ends."""
    return " ".join(text.split())


def give(lines, rank_models):
    """Give the commands of a block, and hold what each says to the lines below it."""
    commands = re.split(r"(?m)^\$ ", lines)[1:]
    for place, (typed, _, expected) in enumerate(text.partition("\n") for text in commands):
        if typed == "echo $?":
            continue
        after = commands[place + 1].split("\n")[:2] if place + 1 < len(commands) else [""]
        status, out, err = rank_models(*shlex.split(typed)[1:])
        assert status == (int(after[1]) if after[0] == "echo $?" else 0), (typed, err)
        for line in expected.splitlines():
            assert flat(line) in flat(out + err), typed


@pytest.mark.models
@pytest.mark.more
def test_the_page_runs(folder, rank_models):
    """From top to bottom, in one folder: what is said to be printed is printed."""
    names: dict[str, object] = {}
    printed = ""
    for language, file, text in BLOCKS:
        if file:
            (folder / file).write_text(text)
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stdout:
                exec(text, names)
            printed = stdout.getvalue()
        elif language == "output":
            assert printed == text
        else:
            assert language == "console"
            give(text, rank_models)


def test_the_page_names_what_there_is():
    """Every ending that is read, and every option of tables and logs."""
    assert {f"`{ending}`" for ending in ENDINGS} <= set(re.findall(r"`\.\w+`", PAGE))
    flags = set(re.findall(r"--[a-z][a-z-]+", PAGE))
    options_of_run = {name for option in command.params for name in option.opts}
    assert flags - {"--output", "--save-details"} <= options_of_run
    of_files = options.flags_from(TableOptions, LogOptions)(lambda: None).__click_params__
    assert {option.opts[0] for option in of_files} <= flags


def test_labels_of_the_page_are_of_no_known_task():
    """So the page shows what holds of labels of one's own."""
    assert all(task.index("pos") is None for task in sets.tasks().values())
