"""Models ordered by people's marks of a few rows and judges' marks of all, beside each alone.

    python -m benchmarks.judges order judges/*.npz
    python -m benchmarks.judges order judges/set_hanna_CX.npz --without-best
    python -m benchmarks.judges classes matrices/technology.npz
    python -m benchmarks.judges likeness texts/*.npz
    python -m benchmarks.judges scale

A file holds `H` (M, N), people's marks, whose means are the truth, and `J_NAME` (M, N), the marks of each judge. For
each replicate a suite of models and an order of the rows are drawn; people marked the first K rows. Found are the share
of pairs in their true order, a tie counting one half, and the regret, in standard deviations of people's marks.
PPI++ and truescore are by their authors' packages (`pip install ppi-python truescore`), one judge at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from benchmarks import anchors, sequential
from benchmarks.anchors import BINS
from benchmarks.labels import pairwise_accuracy, table
from factors.types import Floats, Ints
from ranker.commands.options import PATH
from ranker.statistics.judges import JudgedMarks, draw, infer

SIZES = (0, 3, 5, 10, 20, 50)

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


def worlds(
    file: Path, replicates: int, models: int, without_best: bool = False
) -> Iterator[tuple[Floats, Floats, np.random.Generator]]:
    """Yield (M, N) people's marks from 0 to 1, (J, M, N) judges' marks, rows in random order, and a generator."""
    with np.load(file) as held:
        people, judges = held["H"], np.array([held[name] for name in held.files if name.startswith("J_")])
    people = (people - people.min()) / np.ptp(people)
    if without_best:
        best = people.mean(axis=1).argmax()
        people, judges = np.delete(people, best, axis=0), np.delete(judges, best, axis=1)
    for replicate in range(replicates):
        rng = np.random.default_rng([replicate, len(people)])
        suite = rng.choice(len(people), min(models, len(people)), replace=False)
        rows = rng.permutation(people.shape[1])
        yield people[suite][:, rows], judges[:, suite][:, :, rows], rng


def ppi(people: Floats, marks: Floats, size: int) -> Floats:
    """Return (M,) means by PPI++ (Angelopoulos, Duchi and Zrnic 2023), people's marks of the first rows given."""
    from ppi_py import ppi_mean_pointestimate

    pairs = zip(people[:, :size], marks[:, :size], marks[:, size:], strict=True)
    return np.array([float(np.squeeze(ppi_mean_pointestimate(*arrays))) for arrays in pairs])


def truescore(people: Floats, marks: Floats, size: int) -> Floats:
    """Return (M,) means by truescore, people's marks of the first rows given."""
    from truescore.correct import ppi_estimate

    pairs = zip(people[:, :size], marks, strict=True)
    return np.array([ppi_estimate(of_judge, gold, np.arange(size)).point for gold, of_judge in pairs])


RIVALS = {"PPI++, mean over judges": ppi, "truescore, mean over judges": truescore}
"""Name -> (people's marks, one judge's, K) -> scores."""


def judge(people: Floats, score: Floats) -> tuple[float, float]:
    """Return the share of pairs in their true order, and the regret in standard deviations."""
    truth = people.mean(axis=1)
    return pairwise_accuracy(score, truth), float((truth.max() - truth[score.argmax()]) / people.std())


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=200, show_default=True)
@click.option("--models", default=8, show_default=True)
@click.option("--without-best", is_flag=True, help="Leave the truly best model out of all suites.")
def order(files: Sequence[Path], replicates: int, models: int, without_best: bool) -> None:
    """Print how well people, judges and both order models, and whether probabilities keep their word."""
    for file in files:
        results: dict[tuple[str, int], list[tuple[float, float]]] = {}
        stated: dict[int, list[Floats]] = {size: [] for size in SIZES}
        for people, judges, rng in worlds(file, replicates, models, without_best):
            truth = people.mean(axis=1)
            changed = {name: change(judges, truth, rng) for name, change in CHANGES.items()}
            alone = [judge(people, marks.mean(axis=1)) for marks in judges]
            for size in (size for size in SIZES if size < people.shape[1] - 1):
                masked = np.where(np.arange(people.shape[1]) < size, people, np.nan)
                counted = people[:, :size].mean(axis=1) if size else np.zeros(len(truth))
                results.setdefault(("people alone", size), []).append(judge(people, counted))
                for name, rival in RIVALS.items():
                    of_each = [judge(people, rival(people, marks, size) if size > 1 else counted) for marks in judges]
                    results.setdefault((name, size), []).append(tuple(np.mean(of_each, axis=0)))
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
            [name, *(_cell(results[name, size]) for size in SIZES if (name, size) in results)]
            for name in dict.fromkeys(name for name, _ in results)
        ]
        click.echo(f"\n{file.stem}: pairs (standard error), regret\n")
        click.echo(table(["", *(f"K = {size}" for size in SIZES if stated[size])], rows))
        rows = [[f"K = {size}", *kept_word(np.concatenate(stated[size]))] for size in SIZES if stated[size]]
        click.echo("\nGiven on average: **right** (pairs)\n")
        click.echo(table(["", *(f"{100 * a:.0f} to {100 * min(b, 1):.0f}" for a, b in BINS)], rows))


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=200, show_default=True)
@click.option("--models", default=8, show_default=True)
@click.option("--rows", default=300, show_default=True)
def classes(files: Sequence[Path], replicates: int, models: int, rows: int) -> None:
    """Print how well labels, a judge's labels and both order classifiers: files as for `benchmarks.sequential`."""
    for file in files:
        results: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for replicate in range(replicates):
            world = sequential.drawn(file, replicate, models, rows)
            alone = {name: _agreement(world, labels) for name, labels in _judges(file, world, replicate, rows).items()}
            for size in SIZES:
                right = world.outcomes[:, world.shuffled[:size]]
                scores = {"labels alone": right.mean(axis=1) if size else np.zeros(len(world.truth))}
                scores |= {f"{name}: alone": score for name, score in alone.items()}
                for name, score in scores.items():
                    results.setdefault((name, size), []).append(_of_classes(world, score))
            voting = {"SURROGATE without a judge": world.voters} | {
                f"SURROGATE and {name}": labels[None] for name, labels in _judges(file, world, replicate, rows).items()
            }
            for name, voters in voting.items():
                estimates = sequential.vote_by("random")(replace(world, voters=voters), SIZES)
                for size, estimate in zip(SIZES, estimates, strict=True):
                    results.setdefault((name, size), []).append(_of_classes(world, estimate.score))
        names = dict.fromkeys(name for name, _ in results)
        click.echo(f"\n{file.stem}: pairs (standard error), regret in points\n")
        click.echo(
            table(
                ["", *(f"K = {size}" for size in SIZES)],
                [[name, *(_cell(results[name, size]) for size in SIZES)] for name in names],
            )
        )


def _judges(file: Path, world: sequential.World, replicate: int, rows: int) -> dict[str, Ints]:
    """Return the labels of the strongest and of the weakest model outside the suite, and of chance."""
    rng = np.random.default_rng(replicate)
    kinds = {"the strongest": "strongest", "the weakest": "weakest"}
    labels_by_judge = {
        name: sequential.drawn(file, replicate, len(world.truth), rows, kind).voters[0] for name, kind in kinds.items()
    }
    return labels_by_judge | {"noise": rng.integers(0, world.classes, len(world.labels))}


def _agreement(world: sequential.World, labels: Ints) -> Floats:
    return np.asarray((world.predicted == labels).mean(axis=1))


def _of_classes(world: sequential.World, score: Floats) -> tuple[float, float]:
    regret = 100 * (world.truth.max() - world.truth[score.argmax()])
    return pairwise_accuracy(score, world.truth), float(regret)


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=40, show_default=True)
@click.option("--models", default=10, show_default=True)
def likeness(files: Sequence[Path], replicates: int, models: int) -> None:
    """Print what likeness of answers adds to marks without a judge: files as for `benchmarks.anchors`.

    The outcomes stand for people's marks. In the last column likeness is that of other models than the marked ones.
    """
    sizes, cells = (3, 10), []
    for file in files:
        results: dict[tuple[str, int], list[float]] = {}
        for replicate in range(replicates):
            world = anchors.drawn(file, replicate, models, 100)
            alike = np.where(world.anchors.own[:, :, None], 0.0, world.anchors.similarity).sum(axis=1)
            shuffled = alike[np.random.default_rng(replicate).permutation(len(alike))]
            for size in sizes:
                marked = np.full(world.outcomes.shape, np.nan)
                marked[:, world.shuffled[:size]] = world.outcomes[:, world.shuffled[:size]]
                for name, values in (("marks", None), ("and likeness", alike), ("and that of others", shuffled)):
                    score = infer(JudgedMarks(marked, np.zeros((0, *marked.shape)), likeness=values)).differences.score
                    results.setdefault((name, size), []).append(pairwise_accuracy(score, world.truth))
        cells.append([file.stem, *(f"{100 * np.mean(right):.1f}" for right in results.values())])
    heads = [f"{name}, K = {size}" for size in sizes for name in ("marks", "and likeness", "and that of others")]
    click.echo(table(["", *heads], cells))


def _cell(results: Sequence[tuple[float, float]]) -> str:
    right, regret = np.array(results).T
    return f"{100 * right.mean():.1f} ({100 * right.std() / np.sqrt(len(right)):.1f}), {regret.mean():.3f}"


def kept_word(stated: Floats) -> list[str]:
    """Return for each class of probabilities: given on average, right, and how many; "" for none."""
    larger = np.maximum(stated, 1 - stated)
    inside = [(larger >= low) & (larger < high) for low, high in BINS]
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
