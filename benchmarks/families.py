"""Order of models of which some are one family, beside ANCHORS where each model counts once, on the same rows.

    python -m benchmarks.families texts/*.npz
    python -m benchmarks.families --simulated 150

Files and suites are those of `benchmarks.anchors`. A simulation has ten models, of which six are one family: their
errors are correlated 0.7. Three kinds, a third of the replicates each: answers are right or one of six wrong ones, and
the family's abilities are as spread as others' (*alike*); the same, and the family is worse (*worse*); or answers are
points in eight dimensions, and likeness falls with distance (*points*).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from scipy.special import ndtri

from benchmarks.anchors import BINS, AnswerWorld, drawn
from benchmarks.labels import pairwise_accuracy, table
from factors.types import Floats
from ranker.commands.options import PATH
from ranker.numbers import points
from ranker.statistics.likeness import Anchors, infer_differences

SIZES = (3, 5, 10, 20)
"""Numbers of labelled rows."""

MODELS, FAMILY, ROWS, CORRELATION = 10, 6, 300, 0.7
"""Of a simulation: models, those of the family, rows, and the correlation of the family's errors."""

WRONG, SAME_WRONG = 6, 0.9
"""Number of wrong answers to a row, and the share of a family's wrong answers that are its usual one."""


@dataclass(frozen=True)
class Judged:
    """Pairs of one suite: the share in their true order, and the probability of each true order."""

    pairs: float
    chances: Floats


def labels(rng: np.random.Generator, ability: Floats) -> tuple[Floats, Floats]:
    """Return (M, M, N) likeness and (M, N) outcomes of answers that are right or one of a few wrong ones."""
    errors, usual = rng.normal(size=(MODELS, ROWS)), rng.integers(1, WRONG + 1, ROWS)
    errors[:FAMILY] = np.sqrt(CORRELATION) * rng.normal(size=ROWS) + np.sqrt(1 - CORRELATION) * errors[:FAMILY]
    right = errors < ndtri(np.clip(ability, 0.1, 0.95))[:, None]
    wrong = rng.integers(1, WRONG + 1, (MODELS, ROWS))
    wrong[:FAMILY] = np.where(rng.random((FAMILY, ROWS)) < SAME_WRONG, usual, wrong[:FAMILY])
    answers = np.where(right, 0, wrong)
    return (answers[:, None] == answers).astype(np.float64), right.astype(np.float64)


def vectors(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return likeness and outcomes of answers that are points; the truth is the origin."""
    errors = rng.normal(size=(MODELS, ROWS, 8))
    errors[:FAMILY] = np.sqrt(CORRELATION) * rng.normal(size=(ROWS, 8)) + np.sqrt(1 - CORRELATION) * errors[:FAMILY]
    size = rng.uniform(0.5, 1.1, (MODELS, 1)) * rng.lognormal(0, 0.5, ROWS) / np.sqrt(8)
    answers = errors * size[:, :, None]
    apart = np.linalg.norm(answers[:, None] - answers, axis=3)
    return np.exp(-apart), np.exp(-np.linalg.norm(answers, axis=2))


def simulated(replicates: int) -> Iterator[tuple[str, AnswerWorld]]:
    """Yield the kind and a suite, always the same."""
    for replicate in range(replicates):
        rng = np.random.default_rng([94, replicate])
        kind = ("alike", "worse", "points")[replicate % 3]
        ability = rng.uniform(0.35, 0.75, MODELS)
        if kind == "worse":
            ability[:FAMILY] = rng.uniform(0.3, 0.6) + rng.normal(0, 0.06, FAMILY)
        similarity, outcomes = vectors(rng) if kind == "points" else labels(rng, ability)
        yield kind, AnswerWorld(Anchors(similarity), outcomes, outcomes.mean(axis=1), rng.permutation(ROWS))


def judge(world: AnswerWorld, anchors: Anchors, size: int, chosen: bool) -> Judged:
    """Return how ANCHORS does on one suite."""
    rows = (world.chosen if chosen else world.shuffled)[:size]
    posterior = infer_differences(anchors, world.outcomes[:, rows], rows)
    first, second = np.nonzero(world.truth[:, None] > world.truth)
    return Judged(pairwise_accuracy(posterior.score, world.truth), posterior.beats()[first, second])


def chances_of(judged: Sequence[Judged]) -> Floats:
    """Return the probabilities of the true orders of all pairs."""
    return np.concatenate([suite.chances for suite in judged])


def log_loss(judged: Sequence[Judged]) -> float:
    """Return the mean log loss of all pairs."""
    return float(-np.log(np.maximum(chances_of(judged), 1e-9)).mean())


def kept_word(chances: Floats) -> str:
    """Return the shares of pairs that are right, in per cent, by the probability of the likelier model."""
    stated = np.maximum(chances, 1 - chances)
    right = [chances[(stated >= low) & (stated < high)] > 0.5 for low, high in BINS]
    return ", ".join(f"{100 * pairs.mean():.0f}" if len(pairs) else "" for pairs in right)


def compare(worlds: Mapping[str, Sequence[AnswerWorld]], chosen: bool) -> str:
    """Return a table: for each set and all, pairs more with families than without, and both log losses."""
    judged = {
        (name, size, has_families): [judge(world, anchors_of(world, has_families), size, chosen) for world in of_set]
        for name, of_set in worlds.items()
        for size in SIZES
        for has_families in (False, True)
    }
    with_each_prior = {
        size: [[suite for name in worlds for suite in judged[name, size, has]] for has in (False, True)]
        for size in SIZES
    }
    lines = [[name, *(cell(judged[name, size, False], judged[name, size, True]) for size in SIZES)] for name in worlds]
    lines.append(["all", *(cell(*with_each_prior[size]) for size in SIZES)])
    lines.append(
        [
            "given 50 to 75, to 90, to 97, more: right",
            *(" -> ".join(kept_word(chances_of(judged)) for judged in with_each_prior[s]) for s in SIZES),
        ]
    )
    return table(["", *(f"K = {size}" for size in SIZES)], lines)


def anchors_of(world: AnswerWorld, has_families: bool) -> Anchors:
    """Return a suite's answers, with families that are found or each model by itself."""
    return world.anchors if has_families else replace(world.anchors, declared=tuple(map(str, range(len(world.truth)))))


def cell(without: Sequence[Judged], having: Sequence[Judged]) -> str:
    """Return the gain in points of the pairs, its standard error, and both log losses."""
    gains = np.array([new.pairs - old.pairs for old, new in zip(without, having, strict=True)])
    error = 100 * gains.std() / np.sqrt(len(gains))
    return f"{points(float(gains.mean()))} ({error:.1f}) / {log_loss(without):.3f} -> {log_loss(having):.3f}"


@click.command()
@click.argument("files", type=PATH, nargs=-1)
@click.option("--replicates", default=40, show_default=True, help="Suites of each file.")
@click.option("--simulated", "simulations", default=0, help="Number of simulated suites.")
def main(files: Sequence[Path], replicates: int, simulations: int) -> None:
    """Measure, and print the tables, for random rows and for chosen ones."""
    worlds: dict[str, list[AnswerWorld]] = {
        file.stem: [drawn(file, number, 8, 300) for number in range(replicates)] for file in files
    }
    for kind, world in simulated(simulations):
        worlds.setdefault(kind, []).append(world)
    for chosen in (False, True):
        click.echo(f"{'Chosen' if chosen else 'Random'} rows\n\n{compare(worlds, chosen)}\n")


if __name__ == "__main__":
    main()
