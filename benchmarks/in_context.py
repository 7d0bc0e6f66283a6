"""BOSS's Table 6 on small models: trained classifiers beside a prompted model that is shown rows.

    python -m benchmarks.robustness rows DATA WORK --vader hutto_ICWSM_2014
    python -m benchmarks.robustness train WORK toxicity --way vanilla
    python -m benchmarks.robustness predict WORK toxicity
    python -m benchmarks.in_context prompts WORK
    rank-models --data WORK/in-context/hsol.jsonl --models MODEL --prompts WORK/in-context/hsol \\
        --save WORK/in-context/hsol.run
    python -m benchmarks.in_context tables WORK
    python -m benchmarks.in_context short DATA WORK/sets/short

See docs/results/llms.md. `short` writes a set whose attributions are affordable. DATA is the folder of the real files
(see docs/data.md), MODEL that of a language model. What is stored is not computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
import numpy as np

from benchmarks.heads import write_lines
from benchmarks.labels import table
from benchmarks.robustness import FOLDER, SETS
from benchmarks.shift_domains import sentiment
from benchmarks.single_texts import shuffled
from factors.types import Floats
from ranker.commands.options import PATH
from ranker.numbers import percent, points
from ranker.results.ranking import Ranking
from ranker.results.table import ScoreTable
from ranker.statistics.paired import estimate_difference, estimate_mean

ROWS, SHOTS = 150, 8
"""Rows of a set that are answered, at most, and demonstrations of a prompt."""

PROMPTS = Path(__file__).parent / "prompts"

PROMPTED = {
    "prompt alone": "/zero-shot",
    "in-domain rows shown": "/in-domain/",
    "rows of the new domain shown": "/new-domain/",
}
"""Row of a table -> part of the names of its prompted models."""


def prompts_of(prompt: str, in_domain: Path, of_set: Path) -> Mapping[str, str]:
    """Return name -> .toml file of a prompt without demonstrations, and with rows of other files.

    Args:
        prompt: the file of the prompt.
        in_domain: rows of the training domain.
        of_set: rows of the set itself; the file above in the training domain. No prompt is made of an empty file.
    """
    files = {"in-domain": in_domain} | ({"new-domain": of_set} if of_set != in_domain and of_set.stat().st_size else {})
    return {"zero-shot": f"shots = 0\n{prompt}"} | {
        name: f"shots = {SHOTS}\ndemonstrations = '{file.resolve()}'\n{prompt}" for name, file in files.items()
    }


def outcomes_of(held: ScoreTable, trained: Floats) -> Mapping[str, Floats]:
    """Return way -> (N,) mean outcomes of its models, for ways that have one.

    Args:
        held: outcomes of the prompted models on N rows.
        trained: (S, T) outcomes of the trained ones, of which the first N are on the same rows.
    """
    models = {way: [part in name for name in held.models] for way, part in PROMPTED.items()}
    prompted = {way: held.values[chosen, 0].mean(axis=0) for way, chosen in models.items() if any(chosen)}
    return {"trained": trained[:, : len(held.examples)].mean(axis=0), **prompted}


def cells(outcomes: Mapping[str, Floats]) -> Mapping[str, str]:
    """Return way -> accuracy with its interval, and after the first way the difference from it with its interval."""
    first, *prompted = outcomes
    mean = estimate_mean(outcomes[first])
    texts = {first: f"{percent(mean.value)} [{percent(mean.low)}, {percent(mean.high)}]"}
    for way in prompted:
        gain = estimate_difference(np.array([outcomes[way], outcomes[first]]))
        bold = "**" if gain.low * gain.high > 0 else ""
        ends = f"[{points(gain.low)}, {points(gain.high)}]"
        texts[way] = f"{percent(outcomes[way].mean())}, {bold}{points(gain.value)}{bold} {ends}"
    return texts


UP_TO, SHORT_ROWS = range(4, 11), 300
"""Numbers of words of short rows, and how many there are."""

CARD = """description = "Sentences of at most ten words."
source = "SST-2, test"
licence = "unknown"
population = 40

[task]
name = "sentiment"
labels = ["negative", "positive"]
"""
"""Card of their set, as docs/own-set.md describes it."""


@click.group()
def main() -> None:
    """Compare trained and prompted models."""


@main.command()
@FOLDER
@click.option("--rows", "count", default=ROWS, show_default=True)
def prompts(folder: Path, count: int) -> None:
    """Write the rows and prompts of each set."""
    for task, names in SETS.items():
        prompt = (PROMPTS / f"{task}.toml").read_text("utf-8")
        for name in names:
            folder_of_set = folder / "in-context" / name
            folder_of_set.mkdir(parents=True, exist_ok=True)
            tests = (folder / "tests" / f"{name}.jsonl").read_text("utf-8").splitlines(keepends=True)
            folder_of_set.with_suffix(".jsonl").write_text("".join(tests[:count]), "utf-8")
            files = [folder / "rows" / f"{source}.jsonl" for source in (names[0], name)]
            for end, text in prompts_of(prompt, *files).items():
                (folder_of_set / f"{end}.toml").write_text(text, "utf-8")


@main.command()
@FOLDER
def tables(folder: Path) -> None:
    """Accuracies of each task's sets, and what they are above those of trained models."""
    for task, names in SETS.items():
        saved = {name: folder / "in-context" / f"{name}.run" for name in names}
        runs = {name: Ranking.load(file).table for name, file in saved.items() if file.exists()}
        files = [np.load(file) for file in sorted((folder / "answers" / task).glob("vanilla-*.npz"))]
        trained = {name: np.array([file[name] for file in files], float) for name in runs}
        columns = {name: cells(outcomes_of(held, trained[name])) for name, held in runs.items() if held is not None}
        rows = [[way, *(column.get(way, "") for column in columns.values())] for way in ("trained", *PROMPTED)]
        click.echo(f"\n{task}\n\n" + table(["", *columns], rows))


@main.command()
@click.argument("real_files", metavar="DATA", type=PATH)
@click.argument("folder", metavar="SET", type=PATH)
def short(real_files: Path, folder: Path) -> None:
    """Write short rows of SST-2 as a set."""
    rows = [row for row in shuffled(sentiment(real_files)["sst2-test"]) if len(row["text"].split()) in UP_TO]
    lines = [{"id": str(n), "segments": [row["text"]], "label": row["label"]} for n, row in enumerate(rows)]
    write_lines(folder / "examples.jsonl", lines[:SHORT_ROWS])
    (folder / "card.toml").write_text(CARD, "utf-8")


if __name__ == "__main__":
    main()
