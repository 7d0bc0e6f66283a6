"""Order of models from few outcomes and the likeness of their answers, beside that from the outcomes alone.

    python -m benchmarks.anchors texts/*.npz --models 8
    python -m benchmarks.anchors matrices/*.npz --replicates 20

A file holds `Y` (M, N) outcomes and `S` (M, M, N), at [m, k, n] the outcome of model m's answer to row n, were the
answer of model k the truth; or classes, as for `benchmarks.sequential`, whose likeness is agreement. For each replicate
a suite of models and a pool of rows are drawn, the same for every method; truth is the mean outcome on all rows of the
file. Pairwise accuracy, regret and the probabilities of pairs are those of `benchmarks.sequential`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.special import ndtr

from benchmarks import sequential
from benchmarks.labels import table
from benchmarks.sequential import CLASSES, MethodEstimate, World, judge, kept_word, of_pairs, vote_by
from factors.types import Floats, Ints
from ranker.commands.options import PATH
from ranker.numbers import percent
from ranker.statistics import posterior
from ranker.statistics.anchors import Anchors, choose_rows, infer_differences

SIZES = (3, 5, 10, 20)
"""Numbers of labelled rows."""

TINY = 1e-12
"""Floor that avoids division by zero."""


@dataclass(frozen=True)
class AnswerWorld:
    """A suite and a pool.

    Attributes:
        anchors: the answers.
        outcomes: (M, N) of each model on each row.
        truth: (M,) mean outcomes on all rows of the file.
        shuffled: (N,) rows in any order.
        classes: the same, where answers are labels; else None.
    """

    anchors: Anchors
    outcomes: Floats
    truth: Floats
    shuffled: Ints
    classes: World | None = None


Judged = Mapping[str, Sequence[dict[str, Any]]]
"""Method -> a line of `benchmarks.sequential.judge` for each number of labels."""


def drawn(file: Path, replicate: int, models: int, rows: int) -> AnswerWorld:
    """Return a random suite on a random pool, always the same."""
    with np.load(file) as arrays:
        if "S" not in arrays:
            world = sequential.drawn(file, replicate, models, rows)
            alike = (world.predicted[:, None] == world.predicted) & (world.predicted >= 0)
            right = (world.predicted == world.labels).astype(np.float64)
            return AnswerWorld(Anchors(alike.astype(np.float64)), right, world.truth, world.shuffled, world)
        outcomes, similarity = arrays["Y"].astype(np.float64), arrays["S"]
    rng = np.random.default_rng([zlib.crc32(file.stem.encode()), replicate])
    suite = rng.choice(len(outcomes), min(models, len(outcomes)), replace=False)
    pool = rng.choice(outcomes.shape[1], min(rows, outcomes.shape[1]), replace=False)
    anchors = Anchors(similarity[np.ix_(suite, suite, pool)])
    return AnswerWorld(anchors, outcomes[np.ix_(suite, pool)], outcomes[suite].mean(axis=1), rng.permutation(len(pool)))


def normal(outcomes: Floats) -> Floats:
    """Return (M, M) P(the row's model is better than the column's) if the mean of (M, K) differences is normal."""
    apart = outcomes[:, None] - outcomes
    error = apart.std(axis=2, ddof=1) / np.sqrt(outcomes.shape[1])
    return np.asarray(ndtr(apart.mean(axis=2) / np.maximum(error, TINY)))


def metric(belief: Callable[[Floats], Floats]) -> Callable[[AnswerWorld, int], MethodEstimate]:
    """Return the method of the outcomes on random rows alone, with P(A > B) by `belief`."""

    def method(world: AnswerWorld, size: int) -> MethodEstimate:
        outcomes = world.outcomes[:, world.shuffled[:size]]
        score = outcomes.mean(axis=1)
        return MethodEstimate(score, of_pairs(belief(outcomes)), int(score.argmax()))

    return method


def anchored(world: AnswerWorld, rows: Ints) -> MethodEstimate:
    """Estimate by ANCHORS from the outcomes on some rows."""
    estimate = infer_differences(world.anchors, world.outcomes[:, rows], rows)
    return MethodEstimate(estimate.score, of_pairs(estimate.beats()), int(estimate.score.argmax()))


def mean_agreement(world: AnswerWorld, _size: int) -> MethodEstimate:
    """Estimate without a label."""
    score = world.anchors.mean_agreement
    return MethodEstimate(score, np.full(len(score) * (len(score) - 1) // 2, 0.5), int(score.argmax()))


METHODS: Mapping[str, Callable[[AnswerWorld, int], MethodEstimate]] = {
    "metric, normal": metric(normal),
    "metric, as in a decision": metric(posterior.more_accurate),
    "mean agreement, no label": mean_agreement,
    "ANCHORS, no label": lambda world, _size: anchored(world, np.zeros(0, dtype=np.int64)),
    "ANCHORS, random rows": lambda world, size: anchored(world, world.shuffled[:size]),
    "ANCHORS, chosen rows": lambda world, size: anchored(world, choose_rows(world.anchors, size)),
}

BASELINE, AGREEMENT = "metric, normal", "mean agreement, no label"

VOTES = {"SURROGATE, random rows": vote_by("random"), "SURROGATE, asked for": vote_by("order")}
"""Methods for labels alone."""


def replicate_of(file: Path, replicate: int, models: int, rows: int) -> Judged:
    """Judge every method on one suite and pool."""
    world = drawn(file, replicate, models, rows)
    judged = {
        name: [judge(world.truth, size, method(world, size)) for size in SIZES] for name, method in METHODS.items()
    }
    if world.classes is not None:
        for name, vote in VOTES.items():
            estimates = vote(world.classes, SIZES)
            judged[name] = [judge(world.truth, size, said) for size, said in zip(SIZES, estimates, strict=True)]
    return judged


def of_sets(measured: Mapping[str, Sequence[Judged]], name: str, place: int, key: str) -> Floats:
    """Return (sets,) means over replicates of a method's figure at one of `SIZES`."""
    return np.array([np.mean([judged[name][place][key] for judged in suites]) for suites in measured.values()])


def stated(measured: Mapping[str, Sequence[Judged]], name: str, place: int) -> Floats:
    """Return the probabilities that were given to the better model, of all pairs of all suites."""
    return np.concatenate([judged[name][place]["given"] for suites in measured.values() for judged in suites])


def tables(measured: Mapping[str, Sequence[Judged]]) -> Iterator[str]:
    """Yield the page's tables."""
    names = list(next(iter(measured.values()))[0])
    sizes = [f"K = {size}" for size in SIZES]
    places = range(len(SIZES))

    def over_sets(name: str, place: int) -> str:
        low, high = np.quantile(of_sets(measured, name, place, "pairs"), [0.25, 0.75])
        mean, regret = (of_sets(measured, name, place, key).mean() for key in ("pairs", "regret"))
        loss = kept_word(stated(measured, name, place))[-1]
        return f"{percent(mean)} ({percent(low)}-{percent(high)}) / {percent(regret)} / {loss}"

    yield "Pairs in their true order, mean over sets (quartiles) / regret / log loss\n"
    yield table(["", *sizes], [[name, *(over_sets(name, place) for place in places)] for name in names])
    yield "\nPairs in their true order, by set\n"
    by_set = {name: [of_sets(measured, name, place, "pairs") for place in places] for name in names}
    rows = [
        [f"{file}, {size}", *(percent(by_set[name][place][n]) for name in names)]
        for n, file in enumerate(measured)
        for place, size in enumerate(sizes)
        if place % 2 == 0
    ]
    yield table(["", *names], rows)
    yield "\nGiven: right (share of the pairs)\n"
    ends = [f"{100 * a:.0f} to {100 * min(b, 1):.0f}" for a, b in zip(CLASSES, CLASSES[1:], strict=False)]
    rows = [
        [f"{name}, {size}", *kept_word(stated(measured, name, place))]
        for name in names
        for place, size in enumerate(sizes)
    ]
    yield table(["", *ends, "80 or more", "log loss"], rows)
    yield "\nSuites by the pairs that mean agreement has right: pairs right\n"
    judged_suites = [judged for suites in measured.values() for judged in suites]
    free = np.array([judged[AGREEMENT][0]["pairs"] for judged in judged_suites])
    rows = []
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        inside = [judged for judged, share in zip(judged_suites, free, strict=True) if low <= share < high]
        for place in (0, 2) if inside else ():
            means = [np.mean([judged[name][place]["pairs"] for judged in inside]) for name in names]
            label = f"{100 * low:.0f} to {100 * min(high, 1):.0f} ({len(inside)} suites), {sizes[place]}"
            rows.append([label, *map(percent, means)])
    yield table(["", *names], rows)


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=40, show_default=True)
@click.option("--models", default=8, show_default=True)
@click.option("--pool", "rows", default=300, show_default=True)
def main(files: Sequence[Path], replicates: int, models: int, rows: int) -> None:
    """Measure, and print the tables."""
    measured = {file.stem: [replicate_of(file, n, models, rows) for n in range(replicates)] for file in files}
    for text in tables(measured):
        click.echo(text)


if __name__ == "__main__":
    main()
