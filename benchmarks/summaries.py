"""Find the metric of texts that orders summarisers as people do, from a few documents.

    python -m benchmarks.summaries realsumm/abstractive.jsonl.gz

Each line of the file holds a document: `reference`, and `systems`, name -> `summary` and `scores`, of which one is a
human mark. The order of the models is that of their mean human marks on all documents. For each metric, and for the
human marks themselves, K documents are drawn, and the pairs of models are counted that the mean of the K outcomes
orders as people do: the metric alone, and ANCHORS with all summaries as a pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from benchmarks.labels import table
from factors.types import Example, Floats
from ranker.commands.options import PATH
from ranker.files.reader import read_columns
from ranker.statistics.anchors import Anchors, infer_differences
from ranker.tasks.texts import TextTask

HUMAN = "litepyramid_recall"
"""Name of the human marks in the file: the share of a reference's content units that a summary has."""

METRICS = ("rouge-1", "rouge-2", "rouge-l", "rouge-l:stem", "chrf", "token-f1", "sentence-bleu")

SIZES = (3, 5, 10, 20)
"""Numbers of documents, K."""


class Corpus(NamedTuple):
    """Summaries of M systems of N documents.

    Attributes:
        references: (N,) the human summaries.
        summaries: system -> (N,) its own.
        marks: (M, N) human marks.
    """

    references: list[str]
    summaries: Mapping[str, list[str]]
    marks: Floats


def read(file: Path) -> Corpus:
    """Read the file; marks of sentences (``<t>``) are left out."""
    rows = [row.cells for row in read_columns(file, nested=("systems",)).rows()]
    names = list(rows[0]["systems"])
    summaries = {name: [_plain(row["systems"][name]["summary"]) for row in rows] for name in names}
    marks = np.array([[row["systems"][name]["scores"][HUMAN] for row in rows] for name in names])
    return Corpus([_plain(row["reference"]) for row in rows], summaries, marks)


def _plain(text: str) -> str:
    return " ".join(text.replace("<t>", " ").replace("</t>", " ").split())


def pairs_right(scores: Floats, truth: Floats) -> float:
    """Return the percentage of pairs of (M,) models that scores order as the truth does; a tie is half."""
    places = [(a, b) for a, b in combinations(range(len(truth)), 2) if truth[a] != truth[b]]
    agree = [np.sign(scores[a] - scores[b]) * np.sign(truth[a] - truth[b]) for a, b in places]
    return 50 + 50 * float(np.mean(agree))


@click.command()
@click.argument("file", type=PATH)
@click.option("--replicates", default=500, show_default=True, help="Draws of documents for each K.")
def main(file: Path, replicates: int) -> None:
    """Measure the metrics on a file of summaries and human marks."""
    corpus = read(file)
    size, truth = len(corpus.references), corpus.marks.mean(axis=1)
    rows = [Example(str(n), ("",), (text,)) for n, text in enumerate(corpus.references)]
    lines = []
    for name in ("human marks", *METRICS):
        task = TextTask("text").judged_by(name if name in METRICS else "rouge-l")
        answers = [task.predictions(texts) for texts in corpus.summaries.values()]
        outcomes = corpus.marks
        if name in METRICS:
            outcomes = np.array([task.outcomes(of_model, rows) for of_model in answers])
        anchors = Anchors(np.array([[task.similarity(one, two) for two in answers] for one in answers]))
        rng, line = np.random.default_rng(0), [name, f"{pairs_right(outcomes.mean(axis=1), truth):.1f}"]
        for count in SIZES:
            drawn = [rng.choice(size, count, replace=False) for _ in range(replicates)]
            alone = [pairs_right(outcomes[:, places].mean(axis=1), truth) for places in drawn]
            beside = [
                pairs_right(infer_differences(anchors, outcomes[:, places], places).score, truth) for places in drawn
            ]
            line.append(f"{np.mean(alone):.1f}, {np.mean(beside):.1f}")
        lines.append(line)
    click.echo(table(["metric", f"all {size}", *(f"K = {count}" for count in SIZES)], lines))


if __name__ == "__main__":
    main()
