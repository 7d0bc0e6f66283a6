"""Orders by a metric that is no mean, from ten random labels: the metric on these rows, and SURROGATE beside a pool.

    python -m benchmarks.pool_metrics matrices/*.npz --metric macro-f1 --replicates 20

Files, suites and pools are those of `benchmarks.sequential`. The true value of a model is that on all rows of its
file. Printed are the shares of pairs in their true order, a tie counting one half: of the metric on the labelled rows,
of SURROGATE's accuracies, and of SURROGATE's values of the metric; and, where SURROGATE gives a pair 80 to 95 %, how
often it is right.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from benchmarks.labels import pairwise_accuracy, table
from benchmarks.sequential import World, drawn
from factors.types import Floats, Ints
from ranker.commands.options import PATH
from ranker.numbers import percent
from ranker.statistics import vote
from ranker.statistics.engine import pairs
from ranker.statistics.vote import MetricByLabel, VoteEvidence, believe
from ranker.tasks.metrics import Metric, metric_named

NAMES = ("the metric", "accuracy, pool", "the metric, pool")


def true_values(file: Path, replicate: int, models: int, name: str) -> tuple[Floats, Metric]:
    """Return (M,) values of the drawn suite on all rows, and the metric."""
    with np.load(file) as held:
        labels, predicted = held["labels"].astype(np.int64), held["predictions"].astype(np.int64)
    classes = np.unique(np.concatenate([labels, predicted[predicted >= 0]]))
    metric = metric_named(name, tuple(map(str, classes)))
    rng = np.random.default_rng([zlib.crc32(file.stem.encode()), replicate])
    suite = rng.choice(len(predicted), min(models, len(predicted)), replace=False)
    return values(metric, np.searchsorted(classes, labels), coded(predicted[suite], classes)), metric


def coded(predicted: Ints, classes: Ints) -> Ints:
    """Return (M, N) places among the classes; -1 for no answer."""
    return np.where(predicted < 0, -1, np.searchsorted(classes, predicted))


def values(metric: Metric, labels: Ints, predicted: Ints) -> Floats:
    """Return (M,) values of the metric."""
    return np.array([metric.value(metric.statistics(of_model, labels).mean(axis=0)) for of_model in predicted])


def measure(world: World, metric: Metric, truth: Floats, labels: int) -> tuple[list[float], list[tuple[float, bool]]]:
    """Return the shares of pairs in order, and for each pair its larger probability, and whether that is right."""
    rows = world.shuffled[:labels]
    beliefs = believe(world.patterns, rows, world.labels[rows])
    statistics = metric.by_label()
    assert statistics is not None
    judged = vote.draw(VoteEvidence(beliefs, MetricByLabel(statistics, metric.value)), beliefs.rng(1))
    scores = (values(metric, world.labels[rows], world.predicted[:, rows]), beliefs.score, judged.score)
    in_order = [pairwise_accuracy(score, truth) for score in scores]
    first, second = pairs(len(truth)).T
    above, apart = judged.beats()[first, second], truth[first] != truth[second]
    right = (above > 0.5) == (truth[first] > truth[second])
    larger = np.maximum(above, 1 - above)
    return in_order, list(zip(larger[apart].tolist(), right[apart].tolist(), strict=True))


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--metric", "name", default="macro-f1", show_default=True)
@click.option("--labels", default=10, show_default=True)
@click.option("--replicates", default=20, show_default=True)
@click.option("--models", default=8, show_default=True)
@click.option("--pool", "rows", default=300, show_default=True)
def main(files: Sequence[Path], name: str, labels: int, replicates: int, models: int, rows: int) -> None:
    """Measure, and print a table."""
    lines, of_files, stated = [], [], []
    for file in files:
        of_file = []
        for replicate in range(replicates):
            truth, metric = true_values(file, replicate, models, name)
            shares, of_pairs = measure(drawn(file, replicate, models, rows), metric, truth, labels)
            of_file.append(shares)
            stated += of_pairs
        of_files.append(np.array(of_file))
        lines.append([file.stem, *map(percent, of_files[-1].mean(axis=0).tolist())])
    means = np.array([one_file.mean(axis=0) for one_file in of_files])
    click.echo(table(["set", *NAMES], [*lines, ["mean", *map(percent, means.mean(axis=0).tolist())]]))
    lead = np.concatenate(of_files)[:, 2:] - np.concatenate(of_files)[:, :2]
    errors = lead.std(axis=0, ddof=1) / np.sqrt(len(lead))
    for rival, gain, error in zip(NAMES, (100 * lead.mean(axis=0)).tolist(), (100 * errors).tolist(), strict=False):
        click.echo(f"{NAMES[2]} less {rival}: {gain:+.1f} points (standard error {error:.1f})")
    bold = [(p, right) for p, right in stated if 0.8 <= p < 0.95]
    click.echo(
        f"{len(bold):,} pairs were given 80 to 95 %, {percent(float(np.mean([p for p, _ in bold])))} on average; "
        f"{percent(float(np.mean([right for _, right in bold])))} are right"
    )


if __name__ == "__main__":
    main()
