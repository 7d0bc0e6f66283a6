"""Order summarisers from a few documents, by a metric of texts alone and by ANCHORS.

    python -m benchmarks.summaries marks realsumm/abstractive.jsonl.gz
    python -m benchmarks.summaries extracts cnn_test.jsonl.gz --text document --reference summary

`marks`: which metric finds the order that people give systems? Each line of the file holds a document: `reference`, and
`systems`, name -> `summary` and `scores`, of which one is a human mark. The true order is that of the mean marks on all
documents. `extracts`: summarisers that copy sentences are made here; the true order is that of the metric on all
documents.

K documents are drawn, and the pairs of models are counted that the mean of the K outcomes orders truly: the metric
alone, and ANCHORS with all summaries as a pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.labels import table
from factors.types import Example, Floats
from ranker.commands.options import PATH
from ranker.files.reader import read_columns
from ranker.sources.hf.bertscore import NAME as BERTSCORE
from ranker.sources.hf.bertscore import BertScore
from ranker.statistics.anchors import Anchors, infer_differences
from ranker.tasks.texts import References, TextTask

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


def measure(name: str, outcomes: Floats, anchors: Anchors, truth: Floats, replicates: int) -> list[str]:
    """Return a line of the table: percent of pairs by all rows, and by K rows alone and with ANCHORS."""
    size = outcomes.shape[1]
    rng, line = np.random.default_rng(0), [name, f"{pairs_right(outcomes.mean(axis=1), truth):.1f}"]
    for count in SIZES:
        drawn = [rng.choice(size, count, replace=False) for _ in range(replicates)]
        alone = [pairs_right(outcomes[:, places].mean(axis=1), truth) for places in drawn]
        beside = [pairs_right(infer_differences(anchors, outcomes[:, rows], rows).score, truth) for rows in drawn]
        line.append(f"{np.mean(alone):.1f}, {np.mean(beside):.1f}")
    return line


def judged(
    task: TextTask, texts: Mapping[str, Sequence[str]], references: Sequence[References]
) -> tuple[Floats, Anchors]:
    """Return (M, N) outcomes of the systems' texts, and how alike they are."""
    rows = [Example(str(n), ("",), each) for n, each in enumerate(references)]
    answers = [task.predictions(list(of_system)) for of_system in texts.values()]
    outcomes = np.array([task.outcomes(of_model, rows) for of_model in answers])
    return outcomes, Anchors(np.array([[task.similarity(one, two) for two in answers] for one in answers]))


@click.group()
def main() -> None:
    """Order summarisers from a few documents."""


@main.command()
@click.argument("file", type=PATH)
@click.option("--replicates", default=500, show_default=True, help="Draws of documents for each K.")
@click.option("--encoder", help="Checkpoint of an encoder; adds BERTScore by it.")
def marks(file: Path, replicates: int, encoder: str | None) -> None:
    """Measure metrics against human marks."""
    corpus = read(file)
    truth, references = corpus.marks.mean(axis=1), [(text,) for text in corpus.references]
    tasks = {name: TextTask("text", name) for name in METRICS}
    if encoder:
        tasks[BERTSCORE] = TextTask("text", BertScore.by(encoder))
    _, anchors = judged(tasks["rouge-l"], corpus.summaries, references)
    lines = [measure("human marks", corpus.marks, anchors, truth, replicates)]
    for name, task in tasks.items():
        lines.append(measure(name, *judged(task, corpus.summaries, references), truth, replicates))
    click.echo(table(["metric", f"all {len(references)}", *(f"K = {count}" for count in SIZES)], lines))


@main.command()
@click.argument("file", type=PATH)
@click.option("--text", default="document", show_default=True, help="Column of the documents.")
@click.option(
    "--reference", "columns", multiple=True, default=("summary",), show_default=True, help="Column, or several."
)
@click.option("--replicates", default=200, show_default=True, help="Draws of documents for each K.")
def extracts(file: Path, text: str, columns: Sequence[str], replicates: int) -> None:
    """Measure the order of summarisers that copy sentences."""
    rows = [row.cells for row in read_columns(file).rows()]
    references = [tuple(_plain(row[column]) for column in columns) for row in rows]
    documents = [[_plain(line) for line in row[text].splitlines() if line.strip()] for row in rows]
    rng = np.random.default_rng(0)
    made = {
        name: [" ".join(document[place] for place in sorted(rule(document, rng))) for document in documents]
        for name, rule in EXTRACTS.items()
    }
    lines = []
    for name in METRICS[:5]:
        outcomes, anchors = judged(TextTask("text").judged_by(name), made, references)
        lines.append(measure(name, outcomes, anchors, outcomes.mean(axis=1), replicates))
    click.echo(table(["metric", f"all {len(rows)}", *(f"K = {count}" for count in SIZES)], lines))


Sentences = Sequence[str]


def central(document: Sentences, count: int) -> list[int]:
    """Return the places of the sentences that most others are like, by TextRank on TF-IDF."""
    if len(document) <= count:
        return list(range(len(document)))
    vectors = TfidfVectorizer(token_pattern=r"\w+").fit_transform(document)
    alike = (vectors @ vectors.T).toarray()
    np.fill_diagonal(alike, 0.0)
    flow = alike / np.maximum(alike.sum(axis=1, keepdims=True), 1e-12)
    rank = np.full(len(document), 1 / len(document))
    for _ in range(STEPS):
        rank = (1 - DAMPING) / len(document) + DAMPING * flow.T @ rank
    return list(np.argsort(-rank, kind="stable")[:count])


DAMPING, STEPS = 0.85, 50
"""Of TextRank. Source: Mihalcea and Tarau 2004, "TextRank: bringing order into texts"."""


def longest(document: Sentences, count: int) -> list[int]:
    """Return the places of the longest sentences."""
    return sorted(range(len(document)), key=lambda place: -len(document[place]))[:count]


EXTRACTS: Mapping[str, Callable[[Sentences, np.random.Generator], Sequence[int]]] = {
    "lead-1": lambda document, rng: range(min(1, len(document))),
    "lead-2": lambda document, rng: range(min(2, len(document))),
    "lead-3": lambda document, rng: range(min(3, len(document))),
    "lead-5": lambda document, rng: range(min(5, len(document))),
    "last-3": lambda document, rng: range(max(0, len(document) - 3), len(document)),
    "longest-3": lambda document, rng: longest(document, 3),
    "textrank-3": lambda document, rng: central(document, 3),
    "random-3": lambda document, rng: rng.permutation(len(document))[:3].tolist(),
}
"""Summarisers: (sentences of a document, generator) -> the places of those that they copy."""


if __name__ == "__main__":
    main()
