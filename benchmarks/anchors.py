"""Order of models from few outcomes and the likeness of their answers, beside that from the outcomes alone.

    python -m benchmarks.anchors texts/*.npz
    python -m benchmarks.anchors texts/*.npz --models 4
    python -m benchmarks.anchors texts/*.npz --best 10
    python -m benchmarks.anchors matrices/*.npz --replicates 20
    python -m benchmarks.anchors texts/*.npz --ends ends.jsonl && python -m benchmarks.sequential stopped ends.jsonl

A file holds `Y` (M, N) outcomes and `S` (M, M, N), at [m, k, n] the outcome of model m's answer to row n, were the
answer of model k the truth; or classes, as for `benchmarks.sequential`, whose likeness is agreement. For each replicate
a suite of models and a pool of rows are drawn, the same for every method; truth is `truth` (M,), else the mean outcome
on all rows of the file. `benchmarks.heads` and `benchmarks.summaries` write such files (`save`). Pairwise accuracy,
regret and the probabilities of pairs are those of `benchmarks.sequential`.

Intervals are 95 % bootstrap intervals: files are drawn, and within each file replicates. Of a single file they tell how
much other pools and labelled rows would change, and nothing of other files.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.special import ndtr

from benchmarks import sequential
from benchmarks.labels import table
from benchmarks.rivals import SelectLLM
from benchmarks.sequential import MethodEstimate, World, judge, kept_word, of_pairs, vote_by
from factors.types import Example, Floats, Ints
from ranker.commands.options import PATH
from ranker.numbers import interval as interval_text
from ranker.numbers import percent, points
from ranker.statistics import posterior
from ranker.statistics.draws import SAMPLES, Draws
from ranker.statistics.likeness import AnchorPosterior, Anchors, LikenessEvidence, choose_rows, draw, infer_differences
from ranker.statistics.stopping import MARGIN
from ranker.tasks.base import Predictions
from ranker.tasks.values import ValueTask

SIZES = (3, 5, 10, 20, 50)
"""Numbers of labelled rows."""

BINS = tuple(pairwise((0.5, 0.75, 0.9, 0.97, 1.01)))
"""Bins of the probability of the likelier model of a pair."""

DRAWS = 2_000
"""Of a bootstrap."""

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

    @cached_property
    def chosen(self) -> Ints:
        """Rows that ANCHORS chooses, in their order."""
        return choose_rows(self.anchors, max(SIZES))


@dataclass(frozen=True)
class LabelledRows:
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
            return AnswerWorld(Anchors(world.similarity), world.outcomes, world.truth, world.shuffled, world)
        outcomes, similarity = arrays["Y"].astype(np.float64), arrays["S"]
        truth = arrays["truth"] if "truth" in arrays else outcomes.mean(axis=1)
    rng = np.random.default_rng([zlib.crc32(file.stem.encode()), replicate])
    ordered = np.argsort(-truth, kind="stable")[:best]
    suite = rng.choice(ordered, min(models, len(ordered)), replace=False)
    pool = rng.choice(outcomes.shape[1], min(rows, outcomes.shape[1]), replace=False)
    anchors = Anchors(similarity[np.ix_(suite, suite, pool)])
    return AnswerWorld(anchors, outcomes[np.ix_(suite, pool)], truth[suite], rng.permutation(len(pool)))


def save(
    file: Path,
    task: ValueTask,
    examples: Sequence[Example],
    answers: Mapping[str, Predictions],
    marks: Floats | None = None,
) -> Floats:
    """Write and return the (M, N) outcomes of the models' answers, and write how alike these are.

    The truth is the mean of the (M, N) marks, if there are any.
    """
    outcomes = np.array([task.outcomes(of_model, examples) for of_model in answers.values()])
    similarity = [[task.similarity(answer, anchor) for anchor in answers.values()] for answer in answers.values()]
    truth = {} if marks is None else {"truth": marks.mean(axis=1)}
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(file, allow_pickle=False, Y=outcomes, S=similarity, models=list(answers), **truth)
    return outcomes


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


def posterior_of(choice: LabelledRows, world: AnswerWorld, size: int) -> AnchorPosterior:
    """Return the posterior by ANCHORS from the outcomes on the chosen rows."""
    rows = choice.rows(world, size)
    return infer_differences(world.anchors, world.outcomes[:, rows], rows, choice.domain)


def anchors_of(choice: LabelledRows) -> Callable[[AnswerWorld, int], MethodEstimate]:
    """Return the method of ANCHORS on a choice of rows."""

    def method(world: AnswerWorld, size: int) -> MethodEstimate:
        estimate = posterior_of(choice, world, size)
        return MethodEstimate(estimate.score, of_pairs(estimate.beats()), int(estimate.score.argmax()))

    return method


def coverage(choice: LabelledRows, world: AnswerWorld, size: int) -> float:
    """Return the share of models whose interval by ANCHORS holds their true difference from the mean model."""
    drawn = posterior_of(choice, world, size).drawn(np.random.default_rng(size), SAMPLES)
    low, high = Draws(drawn).interval()
    difference = world.truth - world.truth.mean()
    return float(((low <= difference) & (difference <= high)).mean())


def mean_agreement(world: AnswerWorld, _size: int) -> MethodEstimate:
    """Estimate without a label."""
    score = world.anchors.mean_agreement
    return MethodEstimate(score, unknown(len(score)), int(score.argmax()))


def select_llm(world: AnswerWorld, size: int) -> MethodEstimate:
    """Estimate by the mean outcome on the rows that Select-LLM asks for."""
    picker = SelectLLM(world.anchors.similarity)
    return next(sequential.ask(picker, lambda row: picker.tell(row, world.outcomes[:, row]), [size]))


def unknown(models: int) -> Floats:
    """Return (P,) probabilities of the pairs of a method that states none."""
    return np.full(models * (models - 1) // 2, 0.5)


CHOICES = {
    "ANCHORS, no label": LabelledRows(lambda _world, _size: np.zeros(0, dtype=np.int64)),
    "ANCHORS, random rows": LabelledRows(lambda world, size: world.shuffled[:size]),
    "ANCHORS, chosen rows": LabelledRows(lambda world, size: world.chosen[:size]),
}
CHOICES |= {f"{name}, domain": replace(choice, domain=True) for name, choice in CHOICES.items()}

METRIC, DECISION, AGREEMENT = "metric, normal", "metric, as in a decision", "mean agreement, no label"
SELECT_LLM = "Select-LLM"
UNCALIBRATED = (AGREEMENT, SELECT_LLM, "ANCHORS, no label", "ANCHORS, no label, domain")
"""Methods that state no probability, or always the same one."""

METHODS: Mapping[str, Callable[[AnswerWorld, int], MethodEstimate]] = {
    METRIC: metric(normal),
    DECISION: metric(posterior.more_accurate),
    AGREEMENT: mean_agreement,
    SELECT_LLM: select_llm,
    **{name: anchors_of(choice) for name, choice in CHOICES.items()},
}

VOTES = {"SURROGATE, random rows": vote_by("random"), "SURROGATE, asked for": vote_by("order")}
"""Methods for labels alone."""


def judged_methods(world: AnswerWorld, sizes: Sequence[int] = SIZES) -> Judged:
    """Judge every method on a suite and a pool."""
    judged = {
        name: [judge(world.truth, size, method(world, size)) for size in sizes] for name, method in METHODS.items()
    }
    for name, choice in CHOICES.items():
        for line, size in zip(judged[name], sizes, strict=True):
            line["coverage"] = coverage(choice, world, size)
    if world.classes is not None:
        for name, vote in VOTES.items():
            estimates = vote(world.classes, sizes)
            judged[name] = [judge(world.truth, size, estimate) for size, estimate in zip(sizes, estimates, strict=True)]
    return judged


Figures = Sequence[Floats]
"""For each set, a figure of each of its replicates."""


def figures_of(measured: Mapping[str, Sequence[Judged]], name: str, place: int, key: str = "pairs") -> Figures:
    """Return a method's figures at one of the numbers of rows."""
    return [np.array([judged[name][place][key] for judged in suites]) for suites in measured.values()]


def mean_of(figures: Figures) -> float:
    """Return the mean over sets, each of which counts alike."""
    return float(np.mean([of_set.mean() for of_set in figures]))


def interval(figures: Figures) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of `mean_of`: sets are drawn, and within each set replicates.

    Example:
        >>> interval([np.array([0.2, 0.2]), np.array([0.2])])
        (0.2, 0.2)
    """
    rng = np.random.default_rng(0)
    means = np.array([rng.choice(of_set, (DRAWS, len(of_set))).mean(axis=1) for of_set in figures])
    drawn_sets = rng.integers(len(means), size=(len(means), DRAWS))
    low, high = np.quantile(means[drawn_sets, np.arange(DRAWS)].mean(axis=0), [0.025, 0.975])
    return float(low), float(high)


def share(figures: Figures) -> str:
    """Return the mean and its interval, in per cent."""
    return f"{percent(mean_of(figures))} ({'-'.join(map(percent, interval(figures)))})"


def paired(figures: Figures, baseline: Figures) -> Figures:
    """Return the differences on the same suites and pools."""
    return [of_set - alone for of_set, alone in zip(figures, baseline, strict=True)]


def calibration(suites: Sequence[Judged], name: str, place: int) -> list[str]:
    """Return the shares of pairs that are right by what they were given, and the log loss."""
    return kept_word(np.concatenate([judged[name][place]["given"] for judged in suites]), BINS)


def tables(measured: Mapping[str, Sequence[Judged]]) -> Iterator[str]:
    """Yield the page's tables."""
    every_suite = [judged for suites in measured.values() for judged in suites]
    names, sizes = list(every_suite[0]), [f"K = {line['labels']}" for line in every_suite[0][METRIC]]
    places = range(len(sizes))

    def by_size(names: Sequence[str], cell: Callable[[str, int], str]) -> str:
        return table(["", *sizes], [[name, *(cell(name, place) for place in places)] for name in names])

    def overview(name: str, place: int) -> str:
        regret, loss = mean_of(figures_of(measured, name, place, "regret")), calibration(every_suite, name, place)[-1]
        return f"{share(figures_of(measured, name, place))} / {percent(regret)} / {loss}"

    def gain(name: str, place: int) -> str:
        differences = paired(figures_of(measured, name, place), figures_of(measured, METRIC, place))
        return f"{points(mean_of(differences))} ({interval_text(*interval(differences), points)})"

    def fewer(name: str, place: int) -> str:
        return percent(np.mean([j[name][place]["pairs"] < j[METRIC][place]["pairs"] - TINY for j in every_suite]))

    pool_names = [name for name in names if name not in (METRIC, DECISION) and not name.endswith("domain")]
    yield "Pairs in their true order (interval) / regret / log loss\n"
    yield by_size(names, overview)
    yield "\nMore pairs than by the metric, in points (interval)\n"
    yield by_size(pool_names, gain)
    yield "\nSuites in which fewer pairs are right than by the metric\n"
    yield by_size(pool_names, fewer)
    yield "\n95 % intervals that hold the true difference from the mean model\n"
    yield by_size(list(CHOICES), lambda name, place: percent(mean_of(figures_of(measured, name, place, "coverage"))))
    yield "\nGiven: right (share of the pairs), and log loss\n"
    stated = [
        [f"{name}, {sizes[place]}", *calibration(every_suite, name, place)]
        for name in names
        if name not in UNCALIBRATED
        for place in places
    ]
    yield table(["", *(f"{100 * low:.0f} to {100 * min(high, 1):.0f}" for low, high in BINS), "log loss"], stated)
    yield "\nPairs in their true order, by set, and by the pairs that mean agreement has right in a suite:"
    yield "by the metric (interval), and by others (interval of what they add, in points)\n"
    yield table(
        ["", *sizes], [line for part in parts(measured).items() for line in part_lines(*part, pool_names, places)]
    )


def parts(measured: Mapping[str, Sequence[Judged]]) -> Mapping[str, Sequence[Judged]]:
    """Return the suites of each set, and those in which agreement is about as good."""
    every_suite = [judged for suites in measured.values() for judged in suites]
    by_agreement = {
        f"agreement {100 * low:.0f} to {100 * min(high, 1):.0f} %": [
            judged for judged in every_suite if low <= judged[AGREEMENT][0]["pairs"] < high
        ]
        for low, high in pairwise((0.0, 0.5, 0.7, 0.9, 1.01))
    }
    return {**measured, **{f"{name} ({len(suites)} suites)": suites for name, suites in by_agreement.items() if suites}}


def part_lines(part: str, suites: Sequence[Judged], names: Sequence[str], places: Sequence[int]) -> Iterator[list[str]]:
    """Yield a line for the metric and each method, with a cell for each number of rows."""
    alone = [figures_of({part: suites}, METRIC, place) for place in places]
    yield [f"{part}, {METRIC}", *map(share, alone)]
    for name in names:
        beside = [figures_of({part: suites}, name, place) for place in places]
        gains = [interval_text(*interval(paired(*pair)), points) for pair in zip(beside, alone, strict=True)]
        cells = [f"{percent(mean_of(figures))} ({gain})" for figures, gain in zip(beside, gains, strict=True)]
        yield [f"{part}, {name}", *cells]


def session(world: AnswerWorld, most: int) -> dict[str, Any]:
    """Run one session: after 0, 1, 2 ... references return its certainty, what it expects to lose, and the regret."""
    course: dict[str, Any] = {"within": [], "shortfall": [], "regret": [], "behind": []}
    for size in range(most + 1):
        rows = world.chosen[:size]
        evidence = LikenessEvidence(world.anchors, world.outcomes[:, rows], rows, random=False)
        belief = draw(evidence, np.random.default_rng(0))
        course["within"].append(round(belief.within(MARGIN), 4))
        course["shortfall"].append(round(float(belief.shortfall()[belief.order[0]]), 5))
        course["regret"].append(round(float(world.truth.max() - world.truth[belief.order[0]]), 5))
    return {**course, "gap": float(np.diff(np.sort(world.truth)[-2:])[0])}


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=40, show_default=True)
@click.option("--models", default=8, show_default=True)
@click.option("--pool", "rows", default=300, show_default=True)
@click.option("--labels", default=max(SIZES), show_default=True, help="Most labelled rows.")
@click.option("--best", type=int, help="Draw suites from so many of the best models, of texts.  [default: all]")
@click.option("--ends", type=PATH, help="Write how sure sessions are after each reference here, and no tables.")
def main(
    files: Sequence[Path], replicates: int, models: int, rows: int, labels: int, best: int | None, ends: Path | None
) -> None:
    """Measure, and print the tables."""
    if ends is not None:
        worlds = (drawn(file, replicate, models, rows, best) for file in files for replicate in range(replicates))
        ends.write_text("".join(f"{json.dumps(session(world, labels))}\n" for world in worlds), encoding="utf-8")
        return
    sizes = [size for size in SIZES if size <= labels]
    measured = {
        file.stem: [
            judged_methods(drawn(file, replicate, models, rows, best), sizes) for replicate in range(replicates)
        ]
        for file in files
    }
    for text in tables(measured):
        click.echo(text)


if __name__ == "__main__":
    main()
