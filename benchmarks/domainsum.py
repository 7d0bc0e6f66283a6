"""Write the rows and the copied summaries behind docs/results/domainsum.md, and sum up runs on them.

    python -m benchmarks.domainsum rows DATA WORK MODEL
    rank-models --data WORK/cnn.jsonl --task text --prompts benchmarks/prompts/summaries --shots 0 --shots 2 \\
        --demonstrations WORK/cnn-train.jsonl --models MODEL WORK/cnn-lead-3.jsonl WORK/cnn-textrank-3.jsonl \\
        --metric rouge-1 --save WORK/cnn-rouge-1.run
    python -m benchmarks.domainsum performance WORK
    python -m benchmarks.domainsum measures DATA

DATA is the folder of the real files (see docs/data.md), MODEL that of a language model, whose tokens are counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from benchmarks.heads import write_lines
from benchmarks.labels import table
from benchmarks.shift_domains import Row, summaries
from benchmarks.summaries import EXTRACTS
from factors.types import Floats
from ranker.commands.options import PATH
from ranker.domains.statistics.summaries import MEASURES, measures
from ranker.domains.words import tokens_of
from ranker.numbers import percent, points
from ranker.results.ranking import Ranking
from ranker.sources.hf.bertscore import NAME as BERTSCORE
from ranker.statistics.correlation import pearson
from ranker.statistics.paired import estimate_difference
from ranker.tasks.texts import TextTask

ROWS, SPARE, TOKENS = 50, 20, 300
"""Documents of a set that are summarised, further ones for demonstrations, and the most tokens of one."""

SETS = ("cnndm", "cnn", "dialogsum")
"""Names of the sets."""

COPIED = ("lead-3", "textrank-3")
"""Summarisers that copy sentences."""

RECALLED = ("rouge-1", "rouge-2", "rouge-l")
"""Metrics whose geometric mean is DomainSum's ROUGE."""


def shuffled(real_files: Path) -> Mapping[str, Sequence[Row]]:
    """Return the rows of each set, in a random order."""
    rng = np.random.default_rng(0)
    return {name: [rows[n] for n in rng.permutation(len(rows))] for name, rows in summaries(real_files).items()}


def sentences(text: str) -> list[str]:
    """Return the lines of a document, or its sentences where it has one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines if len(lines) > 1 else [f"{sentence.strip('. ')}." for sentence in text.split(". ")]


def copied(name: str, documents: Sequence[str]) -> list[str]:
    """Return the summaries of a summariser that copies sentences, in the order of the document."""
    rng = np.random.default_rng(0)
    split = [sentences(document) for document in documents]
    return [" ".join(text[place] for place in sorted(EXTRACTS[name](text, rng))) for text in split]


@click.group()
def main() -> None:
    """Prepare and sum up runs of summarisers."""


DATA = click.argument("real_files", metavar="DATA", type=PATH)
FOLDER = click.argument("folder", metavar="WORK", type=PATH)


@main.command()
@DATA
@FOLDER
@click.argument("model", type=PATH)
@click.option("--rows", "count", default=ROWS, show_default=True)
def rows(real_files: Path, folder: Path, model: Path, count: int) -> None:
    """Write documents, cut to so many tokens, with their summaries, and summaries that copy sentences."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    for name, of_set in shuffled(real_files).items():
        cut = [str(tokenizer.decode(tokenizer(row["text"])["input_ids"][:TOKENS])) for row in of_set[: ROWS + SPARE]]
        lines = [
            {"id": str(n), "document": text, "reference": row["summary"]}
            for n, (text, row) in enumerate(zip(cut, of_set, strict=False))
        ]
        write_lines(folder / f"{name}.jsonl", lines[:count])
        write_lines(folder / f"{name}-train.jsonl", lines[ROWS:])
        for system in COPIED:
            answers = [{"id": str(n), "answer": text} for n, text in enumerate(copied(system, cut[:count]))]
            write_lines(folder / f"{name}-{system}.jsonl", answers)


@main.command("measures")
@DATA
def correlate(real_files: Path) -> None:
    """Correlate the eight measures of sets and of rows with what copied summaries of whole documents score."""
    measured, scored, columns = {}, {}, []
    for name, of_set in shuffled(real_files).items():
        measured[name] = measures_of([(row["text"], row["summary"]) for row in of_set])
        texts = [row["text"] for row in of_set]
        rouge = np.array([scores(copied(system, texts), of_set) for system in COPIED])
        scored[name] = np.prod(rouge.mean(axis=2), axis=1) ** (1 / len(RECALLED))
        columns.append([pearson(column, rouge.mean(axis=(0, 1))).value for column in measured[name].T])
    means = np.array([rows.mean(axis=0) for rows in measured.values()])
    drops = next(iter(scored.values())) - np.array(list(scored.values()))
    over_sets = [[pearson(column, drop).value for drop in drops.T] for column in means.T]
    click.echo(table(["ROUGE", *scored], [
        [system, *(percent(values[n]) for values in scored.values())] for n, system in enumerate(COPIED)
    ]))  # fmt: skip
    head = ["", *(f"{name}, mean" for name in scored), *(f"drop of {system}" for system in COPIED), *scored]
    cells = zip(MEASURES, means.T, over_sets, zip(*columns, strict=True), strict=True)
    click.echo("\n" + table(head, [
        [name, *(f"{value:.3g}" for value in of_sets), *(f"{r:+.2f}" for r in (*sets, *rows))]
        for name, of_sets, sets, rows in cells
    ]))  # fmt: skip


def measures_of(pairs: Sequence[tuple[str, str]]) -> Floats:
    """Return (N, 8) measures of documents with their summaries."""
    numbers: dict[str, int] = {}
    return np.array([
        measures(*([numbers.setdefault(token, len(numbers)) for token in tokens_of(text)] for text in pair))
        for pair in pairs
    ])  # fmt: skip


@main.command()
@FOLDER
def performance(folder: Path) -> None:
    """Scores of all summarisers, differences from the first sentences, and correlations over rows with the measures."""
    runs = {name: runs_of(folder, name) for name in SETS if (folder / f"{name}-{BERTSCORE}.run").exists()}
    models = [model for model in next(iter(runs.values())).models if all(model in run.models for run in runs.values())]
    outcomes = {name: run.outcomes[:, [run.models.index(model) for model in models]] for name, run in runs.items()}
    rouge = {name: of_set[: len(RECALLED)] for name, of_set in outcomes.items()}  # (3, M, N)
    means = {name: np.prod(of_set.mean(axis=2), axis=0) ** (1 / len(RECALLED)) for name, of_set in rouge.items()}
    click.echo(table(["ROUGE, BERTScore", *runs], [
        [model, *(f"{percent(means[name][n])}, {percent(of_set[-1, n].mean())}" for name, of_set in outcomes.items())]
        for n, model in enumerate(models)
    ]))  # fmt: skip
    first = models.index(next(model for model in models if model.endswith(COPIED[0])))
    of_rows = {name: of_set.mean(axis=0) for name, of_set in rouge.items()}  # (M, N)
    gains = [[estimate_difference(rows[[n, first]]) for rows in of_rows.values()] for n in range(len(models))]
    click.echo("\n" + table([f"above {models[first]}", *runs], [
        [model, *(f"{points(gain.value)} [{points(gain.low)}, {points(gain.high)}]" for gain in of_model)]
        for model, of_model in zip(models, gains, strict=True)
    ]))  # fmt: skip
    measured = np.concatenate([centred(run.measures) for run in runs.values()])
    scored = np.concatenate([centred(rows.T) for rows in of_rows.values()]).T
    click.echo("\n" + table(["over rows", *models], [
        [name, *(f"{pearson(column, of_model).value:+.2f}" for of_model in scored)]
        for name, column in zip(MEASURES, measured.T, strict=True)
    ]))  # fmt: skip


class SetRuns(NamedTuple):
    """Runs of all metrics on one set.

    Attributes:
        models: (M,) names, without that of the set.
        outcomes: (4, M, N) ROUGE-1, -2 and -L and BERTScore.
        measures: (N, 8) measures of documents with their references.
    """

    models: tuple[str, ...]
    outcomes: Floats
    measures: Floats


def runs_of(folder: Path, name: str) -> SetRuns:
    """Read the runs on a set."""
    tables = [Ranking.load(folder / f"{name}-{metric}.run").table for metric in (*RECALLED, BERTSCORE)]
    held = [of_metric for of_metric in tables if of_metric is not None]
    names = [[model.removeprefix(f"{name}-") for model in of_metric.models] for of_metric in held]
    models = sorted(names[0])
    outcomes = np.array([
        of_metric.values[[places.index(model) for model in models], 0]
        for of_metric, places in zip(held, names, strict=True)
    ])  # fmt: skip
    rows = {row["id"]: row for row in map(json.loads, (folder / f"{name}.jsonl").read_text("utf-8").splitlines())}
    pairs = [(rows[row]["document"], rows[row]["reference"]) for row in held[0].examples]
    return SetRuns(tuple(models), outcomes, measures_of(pairs))


def centred(columns: Floats) -> Floats:
    """Return columns less their means."""
    return np.asarray(columns - columns.mean(axis=0))


def scores(answers: Sequence[str], of_set: Sequence[Row]) -> Floats:
    """Return (3, N) ROUGE-1, -2 and -L of summaries."""
    references = [(row["summary"],) for row in of_set]
    return np.array([TextTask("text").judged_by(name).judge(answers, references) for name in RECALLED])


if __name__ == "__main__":
    main()
