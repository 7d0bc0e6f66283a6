"""Coverage of the intervals of a decision by labelled rows, and whether P(near best) keeps its word.

`graded` simulates outcomes between 0 and 1: those of two models on a row are drawn from one beta distribution, so that
its mean is the truth of both. `sets` draws labelled rows of real outcomes, files as `benchmarks.sequential` reads them
or with an array of scores, whose means over all rows are the truth.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np

from benchmarks.labels import table
from factors.types import Bools, Floats
from ranker.commands.options import PATH
from ranker.numbers import percent
from ranker.statistics.draws import NEAR
from ranker.statistics.rows import RowEvidence, draw, mean_belief

ROWS = (3, 4, 5, 10, 30, 100, 300)
MEANS = (0.05, 0.2, 0.5, 0.8, 0.95)
SPREADS = (0.3, 0.6, 0.9)
"""Standard deviations, in parts of the largest, sqrt(m (1 - m)); and these in outcomes:"""
SMALL = (0.01, 0.05)


@click.group()
def main() -> None:
    """Measure beliefs from labelled rows."""


def outside(truth: Floats, outcomes: Floats) -> tuple[Bools, Bools]:
    """Return (M,) whether intervals lie above the truth, and (M,) whether they lie below it."""
    _, low, high = mean_belief(outcomes)
    return low > truth, high < truth


@main.command()
@click.option("--replicates", default=500, show_default=True)
@click.option("--seed", default=88, show_default=True)
def graded(replicates: int, seed: int) -> None:
    """Print the coverage of graded outcomes by their mean and spread, for numbers of rows."""
    lines: list[list[str]] = []
    for mean in MEANS:
        most = np.sqrt(mean * (1 - mean))
        for sd in (*(sd for sd in SMALL if sd < 0.3 * most), *(most * np.array(SPREADS)).tolist()):
            phi = mean * (1 - mean) / sd**2 - 1
            cells = []
            for rows in ROWS:
                rng = np.random.default_rng([seed, rows, round(1000 * mean), round(1000 * sd)])
                sides = [
                    outside(np.full(2, mean), rng.beta(mean * phi, (1 - mean) * phi, (2, rows)))
                    for _ in range(replicates)
                ]
                above, below = np.mean(sides, axis=(0, 2))
                cells.append(f"{percent(1 - above - below)} ({percent(above)}, {percent(below)})")
            lines.append([f"{mean:g}", f"{sd:.3f}", *cells])
            click.echo(f"{mean:g} {sd:.3f}", err=True)
    click.echo(table(["mean", "sd", *(f"{rows} rows" for rows in ROWS)], lines))


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--models", default=8, show_default=True)
@click.option("--labels", default=10, show_default=True)
@click.option("--replicates", default=60, show_default=True)
def sets(files: Sequence[Path], models: int, labels: int, replicates: int) -> None:
    """Print the coverage, and P(near best) as stated, as it is true, and as corrected by the other sets."""
    stated: dict[str, Floats] = {}
    true: dict[str, Floats] = {}
    lines = []
    for file in files:
        sides, near = [], []
        for truth, outcomes, rng in suites(file, models, labels, replicates):
            belief = draw(RowEvidence.of_means(outcomes), rng)
            low, high = belief.interval()
            sides.append((low > truth, high < truth))
            leader = belief.leader
            near.append((belief.within(), truth[leader] >= truth.max() - NEAR - 1e-9))
        above, below = np.mean([[side.mean() for side in of_both] for of_both in sides], axis=0)
        stated[file.stem], true[file.stem] = np.array(near, dtype=np.float64).T
        lines.append([file.stem, percent(1 - above - below), percent(above), percent(below)])
    for line in lines:
        name = line[0]
        beside = [key for key in stated if key != name]
        power = fitted(np.concatenate([stated[key] for key in beside]), np.concatenate([true[key] for key in beside]))
        before, after, right = stated[name], powered(stated[name], power), true[name]
        line += [percent(before.mean()), percent(after.mean()), percent(right.mean())]
        line += [f"{log_loss(chances, right):.3f}" for chances in (before, after)]
    head = ["set", "holds", "above", "below", "near, stated", "corrected", "true", "log loss", "corrected"]
    means = ["mean", *(percent(float(np.mean([float(line[place]) for line in lines])) / 100) for place in range(1, 7))]
    means += [f"{np.mean([float(line[place]) for line in lines]):.3f}" for place in (7, 8)]
    click.echo(table(head, [*lines, means]))


def suites(
    file: Path, models: int, labels: int, replicates: int
) -> Iterator[tuple[Floats, Floats, np.random.Generator]]:
    """Yield (M,) true means of random suites, (M, K) outcomes of random rows, and a generator."""
    with np.load(file) as held:
        outcomes = held["scores"] if "scores" in held else (held["predictions"] == held["labels"]).astype(float)
    outcomes = outcomes[:, ~np.isnan(outcomes).any(axis=0)]
    for replicate in range(replicates):
        rng = np.random.default_rng([zlib.crc32(file.stem.encode()), replicate])
        suite = rng.choice(len(outcomes), min(models, len(outcomes)), replace=False)
        rows = rng.choice(outcomes.shape[1], min(labels, outcomes.shape[1]), replace=False)
        yield outcomes[suite].mean(axis=1), outcomes[suite][:, rows], rng


def powered(chances: Floats, power: float) -> Floats:
    """Return probabilities whose odds are multiplied by exp(power)."""
    clipped = np.clip(chances, 0.005, 0.995)
    return np.asarray(1 / (1 + (1 - clipped) / clipped * np.exp(-power)))


def fitted(chances: Floats, right: Floats) -> float:
    """Return the power with the least log loss."""
    powers = np.linspace(-2, 4, 121)
    return float(powers[np.argmin([log_loss(powered(chances, power), right) for power in powers])])


def log_loss(chances: Floats, right: Floats) -> float:
    """Return the mean log loss."""
    clipped = np.clip(chances, 0.005, 0.995)
    return float(-np.mean(np.where(right > 0, np.log(clipped), np.log(1 - clipped))))


if __name__ == "__main__":
    main()
