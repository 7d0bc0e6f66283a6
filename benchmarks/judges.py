"""Models ordered by people's marks of a few rows and judges' marks of all, beside each alone.

    python -m benchmarks.judges order judges/*.npz
    python -m benchmarks.judges scale

A file holds `H` (M, N), people's marks, whose means are the truth, and `J_NAME` (M, N), the marks of each judge. For
each replicate a suite of models and an order of the rows are drawn; people marked the first K rows. Found are the share
of pairs in their true order, a tie counting one half, and the regret, in standard deviations of people's marks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click
import numpy as np

from benchmarks.labels import pairwise_accuracy, table
from factors.types import Floats
from ranker.commands.options import PATH
from ranker.statistics.judges import JudgedMarks, draw, infer

SIZES = (0, 3, 5, 10, 20, 50)

CLASSES = (0.5, 0.75, 0.9, 0.97, 1.01)
"""Where the classes of probabilities begin and end."""

Change = Callable[[Floats, Floats, np.random.Generator], Floats]
"""(judges (J, M, N), true means (M,), generator) -> the judges as they are to be read."""


def _half(judges: Floats, truth: Floats, rng: np.random.Generator) -> Floats:
    return np.where(rng.random(judges.shape) < 0.5, np.nan, judges)


def _noise(count: int) -> Change:
    def change(judges: Floats, truth: Floats, rng: np.random.Generator) -> Floats:
        return np.concatenate([judges, rng.standard_normal((count, *judges.shape[1:]))])

    return change


def _flattery(place: int, count: int | None) -> Change:
    """Return a change by which the first judges, or all, lift the model at a place of the true order."""

    def change(judges: Floats, truth: Floats, rng: np.random.Generator) -> Floats:
        lifted = judges.copy()
        lifted[:count, np.argsort(-truth)[place]] += judges[:count].std(axis=(1, 2))[:, None]
        return lifted

    return change


CHANGES: Mapping[str, Change] = {
    "people and all judges": lambda judges, truth, rng: judges,
    "half of the judges' marks missing": _half,
    "one judge of noise more": _noise(1),
    "six judges of noise more": _noise(6),
    "one judge flatters the second": _flattery(1, 1),
    "one judge flatters the third": _flattery(2, 1),
    "all judges flatter the second": _flattery(1, None),
    "all judges flatter the third": _flattery(2, None),
}


@click.group()
def main() -> None:
    """Measure judges beside people."""


def worlds(file: Path, replicates: int, models: int) -> Iterator[tuple[Floats, Floats, np.random.Generator]]:
    """Yield (M, N) people's marks from 0 to 1, (J, M, N) judges' marks, rows in random order, and a generator."""
    with np.load(file) as held:
        people, judges = held["H"], np.array([held[name] for name in held.files if name.startswith("J_")])
    people = (people - people.min()) / np.ptp(people)
    for replicate in range(replicates):
        rng = np.random.default_rng([replicate, len(people)])
        suite = rng.choice(len(people), min(models, len(people)), replace=False)
        rows = rng.permutation(people.shape[1])
        yield people[suite][:, rows], judges[:, suite][:, :, rows], rng


def judge(people: Floats, score: Floats) -> tuple[float, float]:
    """Return the share of pairs in their true order, and the regret in standard deviations."""
    truth = people.mean(axis=1)
    right = pairwise_accuracy(score[None].T[np.argsort(-truth)][:, 0], np.sort(truth)[::-1])
    return right, float((truth.max() - truth[score.argmax()]) / people.std())


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=200, show_default=True)
@click.option("--models", default=8, show_default=True)
def order(files: Sequence[Path], replicates: int, models: int) -> None:
    """Print how well people, judges and both order models, and whether probabilities keep their word."""
    for file in files:
        results: dict[tuple[str, int], list[tuple[float, float]]] = {}
        stated: dict[int, list[Floats]] = {size: [] for size in SIZES}
        for people, judges, rng in worlds(file, replicates, models):
            truth = people.mean(axis=1)
            changed = {name: change(judges, truth, rng) for name, change in CHANGES.items()}
            alone = [judge(people, marks.mean(axis=1)) for marks in judges]
            for size in SIZES:
                masked = np.where(np.arange(people.shape[1]) < size, people, np.nan)
                results.setdefault(("people alone", size), []).append(judge(people, people[:, :size].mean(axis=1)))
                results.setdefault(("a judge alone, mean", size), []).append(tuple(np.mean(alone, axis=0)))
                for name, marks in changed.items():
                    posterior = infer(JudgedMarks(masked, marks), domain=False).differences
                    results.setdefault((name, size), []).append(judge(people, posterior.score))
                    if marks is judges:
                        first, second = np.triu_indices(len(truth), 1)
                        lead = truth[first] - truth[second]
                        chances = posterior.beats()[first, second]
                        stated[size].append(np.where(lead > 0, chances, 1 - chances)[lead != 0])
        rows = [
            [name, *(_cell(results[name, size]) for size in SIZES)] for name in dict.fromkeys(n for n, _ in results)
        ]
        click.echo(f"\n{file.stem}: pairs (standard error), regret\n")
        click.echo(table(["", *(f"K = {size}" for size in SIZES)], rows))
        ends = list(zip(CLASSES, CLASSES[1:], strict=False))
        rows = [[f"K = {size}", *_kept_word(np.concatenate(stated[size]), ends)] for size in SIZES]
        click.echo("\nGiven on average: **right** (pairs)\n")
        click.echo(table(["", *(f"{100 * a:.0f} to {100 * min(b, 1):.0f}" for a, b in ends)], rows))


def _cell(results: Sequence[tuple[float, float]]) -> str:
    right, regret = np.array(results).T
    return f"{100 * right.mean():.1f} ({100 * right.std() / np.sqrt(len(right)):.1f}), {regret.mean():.3f}"


def _kept_word(stated: Floats, ends: Sequence[tuple[float, float]]) -> list[str]:
    larger = np.maximum(stated, 1 - stated)
    inside = [(larger >= low) & (larger < high) for low, high in ends]
    return [
        f"{100 * larger[part].mean():.0f}: **{100 * (stated[part] > 0.5).mean():.0f}** ({part.sum():,})"
        if part.any()
        else ""
        for part in inside
    ]


@main.command()
@click.option("--rows", default=100_000, show_default=True)
@click.option("--models", default=20, show_default=True)
@click.option("--judges", default=3, show_default=True)
def scale(rows: int, models: int, judges: int) -> None:
    """Print the seconds that a belief takes."""
    rng = np.random.default_rng(0)
    truth = rng.random((models, rows))
    marks = truth + rng.normal(0, 0.5, (judges, models, rows))
    people = np.where(np.arange(rows) < 10, truth, np.nan)
    for name, judged in (("all marks", marks), ("half of them missing", _half(marks, truth, rng))):
        start = time.perf_counter()
        draw(JudgedMarks(people, judged), rng)
        click.echo(f"{rows:,} rows, {models} models, {judges} judges, {name}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
