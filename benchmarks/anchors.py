"""Order of models from few outcomes and the likeness of their answers, beside that from the outcomes alone.

    python -m benchmarks.anchors texts/*.npz
    python -m benchmarks.anchors texts/*.npz --models 4
    python -m benchmarks.anchors texts/*.npz --best 10
    python -m benchmarks.anchors matrices/*.npz --replicates 20

A file holds `Y` (M, N) outcomes and `S` (M, M, N), at [m, k, n] the outcome of model m's answer to row n, were the
answer of model k the truth; or classes, as for `benchmarks.sequential`, whose likeness is agreement. For each replicate
a suite of models and a pool of rows are drawn, the same for every method; truth is the mean outcome on all rows of the
file. Pairwise accuracy, regret and the probabilities of pairs are those of `benchmarks.sequential`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from ranker.statistics.anchors import AnchorPosterior, Anchors, choose_rows, infer_differences

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


@dataclass(frozen=True)
class Choice:
    """Labelled rows of ANCHORS, and the question.

    Attributes:
        rows: (world, number of rows) -> the rows.
        domain: whether the differences are those in the domain, and not on the pool.
    """

    rows: Callable[[AnswerWorld, int], Ints]
    domain: bool = False


Judged = Mapping[str, Sequence[dict[str, Any]]]
"""Method -> a line of `benchmarks.sequential.judge` for each number of labels."""


def drawn(file: Path, replicate: int, models: int, rows: int, best: int | None = None) -> AnswerWorld:
    """Return a random suite, of the best models if not of all, on a random pool, always the same."""
    with np.load(file) as arrays:
        if "S" not in arrays:
            world = sequential.drawn(file, replicate, models, rows)
            alike = (world.predicted[:, None] == world.predicted) & (world.predicted >= 0)
            right = (world.predicted == world.labels).astype(np.float64)
            return AnswerWorld(Anchors(alike.astype(np.float64)), right, world.truth, world.shuffled, world)
        outcomes, similarity = arrays["Y"].astype(np.float64), arrays["S"]
    rng = np.random.default_rng([zlib.crc32(file.stem.encode()), replicate])
    ordered = np.argsort(-outcomes.mean(axis=1), kind="stable")[:best]
    suite = rng.choice(ordered, min(models, len(ordered)), replace=False)
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


def posterior_of(choice: Choice, world: AnswerWorld, size: int) -> AnchorPosterior:
    """Return the posterior by ANCHORS from the outcomes on the chosen rows."""
    rows = choice.rows(world, size)
    return infer_differences(world.anchors, world.outcomes[:, rows], rows, choice.domain)


def anchors_of(choice: Choice) -> Callable[[AnswerWorld, int], MethodEstimate]:
    """Return the method of ANCHORS on a choice of rows."""

    def method(world: AnswerWorld, size: int) -> MethodEstimate:
        estimate = posterior_of(choice, world, size)
        return MethodEstimate(estimate.score, of_pairs(estimate.beats()), int(estimate.score.argmax()))

    return method


def coverage(choice: Choice, world: AnswerWorld, size: int) -> float:
    """Return the share of models whose interval by ANCHORS holds their true difference from the mean model."""
    low, high = posterior_of(choice, world, size).interval()
    difference = world.truth - world.truth.mean()
    return float(((low <= difference) & (difference <= high)).mean())


def mean_agreement(world: AnswerWorld, _size: int) -> MethodEstimate:
    """Estimate without a label."""
    score = world.anchors.mean_agreement
    return MethodEstimate(score, np.full(len(score) * (len(score) - 1) // 2, 0.5), int(score.argmax()))


CHOICES = {
    "ANCHORS, no label": Choice(lambda _world, _size: np.zeros(0, dtype=np.int64)),
    "ANCHORS, random rows": Choice(lambda world, size: world.shuffled[:size]),
    "ANCHORS, chosen rows": Choice(lambda world, size: choose_rows(world.anchors, size)),
}
CHOICES |= {f"{name}, domain": replace(choice, domain=True) for name, choice in CHOICES.items()}

METRIC, DECISION, AGREEMENT = "metric, normal", "metric, as in a decision", "mean agreement, no label"
NO_LABEL = (AGREEMENT, "ANCHORS, no label", "ANCHORS, no label, domain")

METHODS: Mapping[str, Callable[[AnswerWorld, int], MethodEstimate]] = {
    METRIC: metric(normal),
    DECISION: metric(posterior.more_accurate),
    AGREEMENT: mean_agreement,
    **{name: anchors_of(choice) for name, choice in CHOICES.items()},
}

VOTES = {"SURROGATE, random rows": vote_by("random"), "SURROGATE, asked for": vote_by("order")}
"""Methods for labels alone."""


def judged_methods(world: AnswerWorld) -> Judged:
    """Judge every method on a suite and a pool."""
    judged = {
        name: [judge(world.truth, size, method(world, size)) for size in SIZES] for name, method in METHODS.items()
    }
    for name, choice in CHOICES.items():
        for line, size in zip(judged[name], SIZES, strict=True):
            line["coverage"] = coverage(choice, world, size)
    if world.classes is not None:
        for name, vote in VOTES.items():
            estimates = vote(world.classes, SIZES)
            judged[name] = [judge(world.truth, size, estimate) for size, estimate in zip(SIZES, estimates, strict=True)]
    return judged


def mean_of(suites: Sequence[Judged], name: str, place: int, key: str = "pairs") -> float:
    """Return the mean over suites of a method's figure at one of `SIZES`."""
    return float(np.mean([judged[name][place][key] for judged in suites]))


def calibration(suites: Sequence[Judged], name: str, place: int) -> list[str]:
    """Return the shares of pairs that are right by what they were given, and the log loss."""
    return kept_word(np.concatenate([judged[name][place]["given"] for judged in suites]))


def overview(measured: Mapping[str, Sequence[Judged]], name: str, place: int) -> str:
    """Return a method's pairs, their quartiles over sets, regret and log loss."""
    pairs, regret = (np.array([mean_of(s, name, place, key) for s in measured.values()]) for key in ("pairs", "regret"))
    low, high = np.quantile(pairs, [0.25, 0.75])
    loss = calibration([judged for suites in measured.values() for judged in suites], name, place)[-1]
    return f"{percent(pairs.mean())} ({percent(low)}-{percent(high)}) / {percent(regret.mean())} / {loss}"


def pair_rows(label: str, suites: Sequence[Judged], names: Sequence[str]) -> list[list[str]]:
    """Return a line for K = 3 and K = 10 with the pairs of each method."""
    return [[f"{label}, K = {SIZES[n]}", *(percent(mean_of(suites, name, n)) for name in names)] for n in (0, 2)]


def tables(measured: Mapping[str, Sequence[Judged]]) -> Iterator[str]:
    """Yield the page's tables."""
    every_suite = [judged for suites in measured.values() for judged in suites]
    names, sizes, places = list(every_suite[0]), [f"K = {size}" for size in SIZES], range(len(SIZES))
    yield "Pairs in their true order, mean over sets (quartiles) / regret / log loss\n"
    yield table(["", *sizes], [[name, *(overview(measured, name, place) for place in places)] for name in names])
    yield "\nGiven: right (share of the pairs), and log loss\n"
    ends = [f"{100 * a:.0f} to {100 * min(b, 1):.0f}" for a, b in zip(CLASSES, CLASSES[1:], strict=False)]
    rows = [
        [f"{name}, {sizes[place]}", *calibration(every_suite, name, place)]
        for name in names
        if name not in NO_LABEL
        for place in places
    ]
    yield table(["", *ends, "80 or more", "log loss"], rows)
    yield "\n95 % intervals that hold the true difference from the mean model\n"
    rows = [[name, *(percent(mean_of(every_suite, name, n, "coverage")) for n in places)] for name in CHOICES]
    yield table(["", *sizes], rows)
    yield "\nSuites in which fewer pairs are right than by the metric\n"
    rows = [
        [
            name,
            *(
                percent(np.mean([j[name][n]["pairs"] < j[METRIC][n]["pairs"] - TINY for j in every_suite]))
                for n in places
            ),
        ]
        for name in CHOICES
    ]
    yield table(["", *sizes], rows)
    names = [name for name in names if name != DECISION and not name.endswith("domain")]
    yield "\nPairs in their true order, by set, and by the pairs that mean agreement has right in a suite\n"
    rows = [row for file, suites in measured.items() for row in pair_rows(file, suites, names)]
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        if inside := [judged for judged in every_suite if low <= judged[AGREEMENT][0]["pairs"] < high]:
            rows += pair_rows(f"{100 * low:.0f} to {100 * min(high, 1):.0f} % ({len(inside)})", inside, names)
    yield table(["", *names], rows)


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=40, show_default=True)
@click.option("--models", default=8, show_default=True)
@click.option("--pool", "rows", default=300, show_default=True)
@click.option("--best", type=int, help="Draw suites from so many of the best models, of texts.  [default: all]")
def main(files: Sequence[Path], replicates: int, models: int, rows: int, best: int | None) -> None:
    """Measure, and print the tables."""
    measured = {
        file.stem: [judged_methods(drawn(file, replicate, models, rows, best)) for replicate in range(replicates)]
        for file in files
    }
    for text in tables(measured):
        click.echo(text)


if __name__ == "__main__":
    main()
