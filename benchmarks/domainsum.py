"""Write the rows and the copied summaries behind docs/results/domainsum.md; `performance` sums its runs up.

    python -m benchmarks.domainsum rows DATA WORK MODEL
    rank-models --data WORK/cnn.jsonl --task text --prompts benchmarks/prompts/summaries --shots 0 --shots 2 \\
        --demonstrations WORK/cnn-train.jsonl --models MODEL WORK/cnn-lead-3.jsonl WORK/cnn-textrank-3.jsonl \\
        --metric rouge-1 -o WORK/cnn-rouge-1.json
    python -m benchmarks.domainsum measures DATA

DATA is the folder of the real files (see docs/data.md), MODEL that of a language model, whose tokens are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np

from benchmarks.heads import write_lines
from benchmarks.labels import table
from benchmarks.shift_domains import Row, summaries
from benchmarks.summaries import EXTRACTS
from factors.types import Floats
from ranker.commands.options import PATH
from ranker.domains.words import tokens_of
from ranker.numbers import percent
from ranker.statistics.correlation import pearson
from ranker.statistics.summaries import MEASURES, measures
from ranker.tasks.texts import TextTask

ROWS, SPARE, TOKENS = 50, 20, 300
"""Documents of a set that are summarised, further ones for demonstrations, and the most tokens of one."""

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


@main.command()
@DATA
@click.argument("folder", metavar="WORK", type=PATH)
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
        numbers: dict[str, int] = {}
        pairs = [[tokens_of(row[part]) for part in ("text", "summary")] for row in of_set]
        measured[name] = np.array(
            [
                measures(*([numbers.setdefault(token, len(numbers)) for token in text] for text in pair))
                for pair in pairs
            ]
        )
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


def scores(answers: Sequence[str], of_set: Sequence[Row]) -> Floats:
    """Return (3, N) ROUGE-1, -2 and -L of summaries."""
    references = [(row["summary"],) for row in of_set]
    return np.array([TextTask("text").judged_by(name).judge(answers, references) for name in RECALLED])


if __name__ == "__main__":
    main()
