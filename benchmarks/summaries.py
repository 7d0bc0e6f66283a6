"""Keep the outcomes and the likeness of summaries, by several metrics, for `benchmarks.anchors`.

    python -m benchmarks.summaries marks realsumm/abstractive.jsonl.gz marks
    python -m benchmarks.summaries extracts cnn_test.jsonl.gz cnn
    python -m benchmarks.anchors marks/*.npz --models 14 --pool 100 --replicates 200

`marks`: which metric finds the order that people give systems? Each line of the file holds a document: `reference`, and
`systems`, name -> `summary` and `scores`, of which one is a human mark. The true order is that of the mean marks on all
documents. `extracts`: summarisers that copy sentences are made here; the true order is that of the metric on all
documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks import anchors
from benchmarks.labels import pairwise_accuracy
from factors.types import Example, Floats
from ranker.commands.options import PATH
from ranker.files.reader import read_columns
from ranker.numbers import percent
from ranker.sources.hf.bertscore import NAME as BERTSCORE
from ranker.sources.hf.bertscore import BertScore
from ranker.tasks.texts import References, TextTask

HUMAN = "litepyramid_recall"
"""Name of the human marks in the file: the share of a reference's content units that a summary has."""

METRICS = ("rouge-1", "rouge-2", "rouge-l", "rouge-l:stem", "chrf", "token-f1", "sentence-bleu")


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


def save(
    file: Path,
    task: TextTask,
    texts: Mapping[str, Sequence[str]],
    references: Sequence[References],
    marks: Floats | None = None,
) -> Floats:
    """Write how systems' texts do by a task's metric, with marks if there are any; return (M, N) outcomes."""
    rows = [Example(str(n), ("",), each) for n, each in enumerate(references)]
    answers = {system: task.predictions(list(of_system)) for system, of_system in texts.items()}
    return anchors.save(file, task, rows, answers, marks)


def path_of(folder: Path, metric: str) -> Path:
    """Return the file of a metric."""
    return folder / f"{metric.replace(':', '-')}.npz"


@click.group()
def main() -> None:
    """Keep the outcomes and the likeness of summaries."""


@main.command()
@click.argument("file", type=PATH)
@click.argument("folder", type=PATH)
@click.option("--encoder", help="Checkpoint of an encoder; adds BERTScore by it.")
def marks(file: Path, folder: Path, encoder: str | None) -> None:
    """Keep systems with human marks."""
    corpus = read(file)
    truth, references = corpus.marks.mean(axis=1), [(text,) for text in corpus.references]
    tasks = {name: TextTask("text").judged_by(name) for name in METRICS}
    if encoder:
        tasks[BERTSCORE] = TextTask("text", BertScore.by(encoder))
    for name, task in tasks.items():
        outcomes = save(path_of(folder, name), task, corpus.summaries, references, corpus.marks)
        right = pairwise_accuracy(outcomes.mean(axis=1), truth)
        click.echo(f"{name}: {percent(right)} % of the pairs by all {len(references)} documents")
    with np.load(path_of(folder, "rouge-l")) as arrays:
        np.savez_compressed(folder / "human-marks.npz", allow_pickle=False, **{**arrays, "Y": corpus.marks})


@main.command()
@click.argument("file", type=PATH)
@click.argument("folder", type=PATH)
def extracts(file: Path, folder: Path) -> None:
    """Keep summarisers that copy sentences of the column `document`, and have `summary` as the reference."""
    rows = [row.cells for row in read_columns(file).rows()]
    references = [(_plain(row["summary"]),) for row in rows]
    documents = [[_plain(line) for line in row["document"].splitlines() if line.strip()] for row in rows]
    rng = np.random.default_rng(0)
    made = {
        name: [" ".join(document[place] for place in sorted(rule(document, rng))) for document in documents]
        for name, rule in EXTRACTS.items()
    }
    for name in METRICS[:5]:
        save(path_of(folder, name), TextTask("text").judged_by(name), made, references)


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
