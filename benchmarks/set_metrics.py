"""Order of models by a metric of all rows together, from few references and the likeness of their answers.

    python -m benchmarks.set_metrics bleu realsumm/abstractive.jsonl.gz
    python -m benchmarks.set_metrics span-f1 wnut17/test.conll.gz wnut17/submissions/*

Truth is the metric on all rows. Compared are the orders by the metric on K labelled rows, by the mean of rows on these,
by ANCHORS from the mean of rows, and by matches (`ranker.statistics.matches`): each statistic that answers and
references give together is read by ANCHORS. Printed are also the log loss of the pairs by matches, and how many are
right by what they are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import summaries
from benchmarks.families import kept_word
from benchmarks.labels import pairwise_accuracy, table
from factors.types import Floats, Ints
from ranker.commands.options import PATH
from ranker.files.conll import TAGS, by_tokens
from ranker.numbers import percent
from ranker.statistics.draws import Draws
from ranker.statistics.likeness import Anchors, infer_differences
from ranker.statistics.matches import Matches, draw
from ranker.tasks.metrics import Metric
from ranker.tasks.tags import SPAN_F1, TagTask
from ranker.tasks.text_scores import BLEU
from ranker.tasks.texts import TextTask
from ranker.tasks.values import ValueTask

SIZES = (3, 5, 10, 20, 50)
"""Numbers of labelled rows."""

SAMPLES = 2_000
"""Draws of a belief."""

NAMES = ("the metric", "mean of rows", "ANCHORS, mean of rows", "matches")


@dataclass(frozen=True)
class Judgements:
    """Answers of M models to N rows, judged by their references and by each other.

    Attributes:
        metric: of all rows together.
        matched: places of the statistics that answers and references give together.
        of_references: places of those that references alone give.
        statistics: (M, N, k) by the references.
        alike: (M, M, N, k) by the answers of another model.
        outcomes: (M, N) of each row alone.
        outcomes_alike: (M, M, N) by the answers of another model.
    """

    metric: Metric
    matched: Sequence[int]
    of_references: Sequence[int]
    statistics: Floats
    alike: Floats
    outcomes: Floats
    outcomes_alike: Floats


def judge(name: str, files: Sequence[Path]) -> Judgements:
    """Read answers and references, and judge them."""
    answers: list[Any]
    references: Sequence[Any]
    if name == BLEU:
        corpus = summaries.read(files[0])
        answers, references = [*corpus.summaries.values()], [(text,) for text in corpus.references]
        task: ValueTask = TextTask("text", "sentence-bleu")
        matched, of_references = [2, 3, 4, 5], [1]
    else:
        references, *answers = [[tuple(str(row[TAGS]).split()) for _, row in by_tokens(file)] for file in files]
        task, matched, of_references = TagTask("tags"), [0], [2]
    metric = task.metric_named(name)
    assert metric is not None
    targets = [references, *([task.as_target(answer) for answer in of_model] for of_model in answers)]
    by_targets = [[metric.statistics(of_model, of_target) for of_target in targets] for of_model in answers]
    outcomes = [[np.nan_to_num(task.judge(of_model, of_target)) for of_target in targets] for of_model in answers]
    statistics, rows = np.array(by_targets), np.array(outcomes)
    return Judgements(metric, matched, of_references, statistics[:, 0], statistics[:, 1:], rows[:, 0], rows[:, 1:])


def scores(judged: Judgements, pool: Ints, rows: Ints) -> tuple[list[Floats], Draws]:
    """Return (M,) scores of the models by each of `NAMES`, and the belief by matches; `rows` are places in the pool."""
    labelled, outcomes = judged.statistics[:, pool][:, rows], judged.outcomes[:, pool]
    places = (tuple(judged.matched), tuple(judged.of_references))
    anchors = Anchors(judged.outcomes_alike[:, :, pool])
    families = tuple(map(str, anchors.families.tolist()))
    evidence = Matches(judged.alike[:, :, pool], labelled, rows, *places, judged.metric.value, families)
    belief = draw(evidence, np.random.default_rng(0), SAMPLES)
    means = infer_differences(anchors, outcomes[:, rows], rows).score
    on_rows = judged.metric.value(labelled.mean(axis=1))
    return [on_rows, outcomes[:, rows].mean(axis=1), means, belief.score], belief


@click.command()
@click.argument("name", metavar="METRIC", type=click.Choice([BLEU, SPAN_F1]))
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=100, show_default=True)
@click.option("--pool", "size", default=100, show_default=True)
def main(name: str, files: Sequence[Path], replicates: int, size: int) -> None:
    """Measure, and print the shares of pairs in true order."""
    judged, lines = judge(name, files), []
    truth = judged.metric.value(judged.statistics.mean(axis=1))
    first, second = np.nonzero(truth[:, None] > truth)
    for count in SIZES:
        shares, chances = [], []
        for replicate in range(replicates):
            rng = np.random.default_rng([count, replicate])
            pool = rng.choice(judged.statistics.shape[1], min(size, judged.statistics.shape[1]), replace=False)
            by_each, belief = scores(judged, pool, rng.choice(len(pool), count, replace=False))
            shares.append([pairwise_accuracy(score, truth) for score in by_each])
            chances.append(np.clip(belief.beats()[first, second], 1 / SAMPLES, 1 - 1 / SAMPLES))
        errors = np.std(np.array(shares)[:, 3] - np.array(shares)[:, 0]) / np.sqrt(replicates)
        of_truth = np.concatenate(chances)
        means = map(percent, np.mean(shares, axis=0).tolist())
        lines.append(
            [str(count), *means, f"{100 * errors:.1f}", f"{-np.log(of_truth).mean():.3f}", kept_word(of_truth)]
        )
    head = ["K", *NAMES, "error of the last less the first", "log loss", "right, by what is given"]
    click.echo(table(head, lines))


if __name__ == "__main__":
    main()
