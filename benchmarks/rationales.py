"""The numbers that docs/results/rationales.md asks for: `python -m benchmarks.rationales DATA ENCODER WORK`.

DATA is the folder of the real files, ENCODER that of MiniLM, WORK one for models and the store. What is there already
is not made again. More arguments name attribution backends.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from benchmarks.shift_domains import Row, objects, sentiment, train
from benchmarks.single_texts import members, shuffled
from factors import BUILTIN
from factors.compose import marked
from ranker.datasets.sets import LabelledDataset
from ranker.runs.rank import rank
from ranker.runs.rows import labelled
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.tasks.classes import ClassificationTask

TASK = ClassificationTask("sentiment", ("negative", "positive"))
ANNOTATORS = ("rationale_1", "rationale_2")
MEMBERS = {
    "few": (600, 0), "base": (600, 1), "many": (600, 3), "noise": (200, 3), "cue-the": (200, 4), "cue-word": (200, 5)
}  # fmt: skip
"""Models of `single_texts.members`, trained on SST-2: the base of their numbers of rows, and the seed."""

WORDS, ROWS, PROBE = (4, 60), 60, 10
FACTORS = ("NLL", "CONTENT-TRUE", "COMPREHENSIVENESS", "SUFFICIENCY")
"""Methods beside those of rationales."""


def sentences(folder: Path) -> Iterator[Row]:
    """Yield the sentences of the reviews in which somebody named a word, with the label of their review."""
    for review in objects(folder / "rationales" / "imdb.jsonl.gz"):
        for number, match in enumerate(re.finditer(r"[^.!?\s][^.!?]*[.!?]*", review["text"])):
            start, end = match.span()
            reasons = {
                name: [[max(a, start) - start, min(b, end) - start] for a, b in spans if a < end and b > start]
                for name in ANNOTATORS
                for spans in [sorted({(a, b) for a, b in review[name]})]  # two spans stand there twice
            }
            if any(reasons.values()) and WORDS[0] <= len(match[0].split()) <= WORDS[1]:
                yield {"id": f"{review['id']}-{number}", "text": match[0], "label": review["label"], **reasons}


def suite(folder: Path, encoder: Path, work: Path) -> list[str]:
    """Train the models that are missing; return all."""
    home = shuffled(sentiment(folder)["sst2-train"])
    for member, (base, seed) in MEMBERS.items():
        rows = members(home, home[-base:], base)[member]
        if not (work / member / "config.json").exists():
            train(shuffled(rows, seed) + shuffled(rows, seed + 100), encoder, work / member, seed)
    return [str(work / member) for member in MEMBERS]


def describe(rows: LabelledDataset) -> str:
    """Return the number of rows, the share of words that were named, and the agreement of the two annotators."""
    masks = np.concatenate(
        [np.stack([marked(row, mark) for mark in ("rationale", "rationale-2")]) for row in rows.examples], axis=1
    )
    agreement = 2 * masks.all(axis=0).sum() / masks.sum()
    counts = f"{len(rows.examples)} sentences, {masks.shape[1]} words, {masks.mean():.1%} of them named"
    return f"{counts}, F1 of annotators {agreement:.3f}"


def measure(models: Sequence[str], rows: LabelledDataset, attribution: str, work: Path) -> None:
    """Rank the models by each factor, and print pairwise accuracies and each model's means."""
    factors = tuple(f for name, f in BUILTIN.items() if name in FACTORS or f.mark == "rationale")
    evidence = Evidence(attribution, factors=factors, methods=())
    ranking = rank(models, rows, probe=PROBE, evidence=evidence, runtime=Runtime(store=work / "store"))
    print(attribution, ranking, sep="\n")
    table = ranking.table
    truth = np.array([table.truth]).ravel()
    print("truth", dict(zip(table.models, np.round(100 * truth, 1).tolist(), strict=True)))
    for column, method in enumerate(table.methods):
        means = np.nanmean(table.values[:, column], axis=1)
        tau = kendalltau(means if method.higher_is_better else -means, truth).statistic
        row = ranking.method(method.name)
        cells = [row.pairwise_accuracy, row.difference, row.difference_low, row.difference_high]
        points = " ".join("" if cell is None else f"{100 * cell:.1f}" for cell in cells)
        print(f"{method.name} {points}, tau {tau:.2f}", np.round(means, 3).tolist(), flush=True)


def main(arguments: Sequence[str]) -> None:
    """Train, describe the rows, and measure by each backend."""
    folder, encoder, work = map(Path, arguments[:3])
    rows = labelled(list(sentences(folder)), TASK, {"rationale": list(ANNOTATORS)})
    rows = replace(rows, name="imdb-sentences", population=min(ROWS, len(rows.examples)))
    print(describe(rows), flush=True)
    models = suite(folder, encoder, work)
    for attribution in arguments[3:] or ("phrases", "occlusion"):
        measure(models, rows, attribution, work)


if __name__ == "__main__":
    main(sys.argv[1:])
