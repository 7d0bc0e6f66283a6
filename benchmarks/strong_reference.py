"""Order of models where one more system's outputs are read as references: the best one's, or a weaker one's.

    python -m benchmarks.strong_reference texts/*.npz

Files are those of `benchmarks.anchors`. One system of each file, by its place in the true order, is not ranked. For
each replicate eight others and a pool of 300 rows are drawn, the same for each way of reading it: not at all, as a
reference that may be wrong, and as one that is trusted. Printed are pairs in their true order / regret.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np

from benchmarks.labels import pairwise_accuracy, table
from factors.types import Floats, Ints
from ranker.commands.options import PATH
from ranker.numbers import percent
from ranker.statistics.likeness import Anchors, choose_rows, infer_differences

SIZES = (0, 3, 5, 10)
"""Numbers of labelled rows."""

PLACES = {"best": 0.0, "a quarter down": 0.25, "middle": 0.5, "worst": 1.0}
"""Which system is the reference, by its place among all, from the best to the worst."""

READ = {"not read": None, "a reference": (False,), "trusted": (True,)}
"""How it is read."""


def drawn(file: Path, place: float, replicate: int) -> tuple[Floats, Floats, Floats, Ints]:
    """Return (M, M + 1, N) likeness, (M, N) outcomes, (M,) truth and (N,) rows in any order."""
    with np.load(file) as arrays:
        outcomes, similarity = arrays["Y"].astype(np.float64), arrays["S"]
    truth = outcomes.mean(axis=1)
    order = np.argsort(-truth, kind="stable")
    reference = order[int(place * (len(order) - 1))]
    rng = np.random.default_rng([zlib.crc32(file.stem.encode()), replicate])
    ranked = order[order != reference]
    suite = rng.choice(ranked, min(8, len(ranked)), replace=False)
    pool = rng.choice(outcomes.shape[1], min(300, outcomes.shape[1]), replace=False)
    alike = similarity[np.ix_(suite, np.append(suite, reference), pool)].astype(np.float64)
    return alike, outcomes[np.ix_(suite, pool)], truth[suite], rng.permutation(len(pool))


def judged(file: Path, place: float, replicates: int) -> Iterator[tuple[str, str, int, float, float]]:
    """Yield how it is read, how rows are drawn, their number, pairs and regret, for each replicate."""
    for replicate in range(replicates):
        alike, outcomes, truth, shuffled = drawn(file, place, replicate)
        models = Anchors(alike[:, :-1])
        for kind, rows in (("random", shuffled), ("chosen", choose_rows(models, max(SIZES)))):
            for name, trusted in READ.items():
                anchors = models if trusted is None else Anchors(alike, trusted=trusted)
                for size in SIZES:
                    posterior = infer_differences(anchors, outcomes[:, rows[:size]], rows[:size])
                    regret = float(truth.max() - truth[posterior.score.argmax()])
                    yield name, kind, size, pairwise_accuracy(posterior.score, truth), regret


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=40, show_default=True)
def main(files: Sequence[Path], replicates: int) -> None:
    """Measure, and print a table for each place of the reference."""
    for place, share in PLACES.items():
        measured = [line for file in files for line in judged(file, share, replicates)]
        lines = []
        for kind in ("random", "chosen"):
            for name in READ:
                cells = []
                for size in SIZES:
                    means = np.mean([line[3:] for line in measured if line[:3] == (name, kind, size)], axis=0)
                    cells.append(" / ".join(map(percent, means)))
                lines.append([f"{name}, {kind} rows", *cells])
        click.echo(f"The reference: {place}\n\n{table(['', *(f'K = {size}' for size in SIZES)], lines)}\n")


if __name__ == "__main__":
    main()
