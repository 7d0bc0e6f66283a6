"""Accuracy of model orders from rows chosen one after the other, beside random rows, and their stated certainty.

    python -m benchmarks.sequential export suites/ --case hans-sub hans-sub-mini hans-sub - --case ...
    python -m benchmarks.sequential beside hindi.npz german.npz -o hindi-from-german.npz
    python -m benchmarks.sequential run matrices/*.npz -o found.jsonl --replicates 100
    python -m benchmarks.sequential run matrices/*.npz -o found.jsonl --voters random --voters best --voters weak
    python -m benchmarks.sequential tables found.jsonl

A file holds `predictions` (M, N), below 0 where a model gave no label, and `labels` (N,); `accuracies` (M,), the truth,
if that is not to be found on the same rows; `probabilities` (M, N, C), if the vote is to look at these, too (`export
--probabilities`); `in_domain` (M,), accuracies at home (`export` and `beside` write them). For each replicate a suite
of models and a pool of rows are drawn, the same for every method; labels are shown one after the other. Found are
pairwise accuracy, the share of pairs in their true order, a tie counting one half; regret, how much less accurate than
the best the model is that is said to be best; and for each pair the probability that it is given. Each line of the
output is one replicate of one method: a run that is stopped goes on where it was, and several may be joined.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Literal, get_args

import click
import numpy as np

from benchmarks.labels import pairwise_accuracy, read_all, table
from benchmarks.rivals import CODA, LURE, LLMSelector, ModelPicker, Picker, SelectLLM
from benchmarks.voters import VOTERS, voters_of
from factors.types import Bools, Floats, Ints
from ranker.commands.options import PATH
from ranker.numbers import percent
from ranker.statistics import posterior, rows, stopping, vote
from ranker.statistics.acquisition import Goal, next_rows
from ranker.statistics.engine import pairs
from ranker.statistics.patterns import Patterns, fold
from ranker.statistics.pool import Pool
from ranker.statistics.rows import RowEvidence
from ranker.statistics.vote import Beliefs, VoteEvidence, believe

SIZES = (1, 2, 3, 5, 10, 12, 20, 50, 100)
"""Numbers of labels at which is said what was found."""

CLASSES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.01)
"""Where the classes of probabilities begin and end."""

LEVELS = (0.95, 0.96, 0.965, 0.97, 0.98, 0.99, 0.995)
"""Probabilities at which a run may stop."""

LOST = (0.002, 0.003, 0.005, 0.0075, 0.01)
"""What may be expected to be lost where a run may stop."""

LEAST = 5
"""Answers before which no run stops by what is lost."""

GAPS = (0.0, 0.01, 0.03, 0.06, 1.0)
"""Where the classes of the gap between the best two models begin and end."""

MARGIN = 0.01
"""How much worse than the best a winner may be."""

NEAR_DRAWS = 4_000
"""Draws behind the probability that a winner of random rows alone is within the margin."""


@dataclass(frozen=True)
class World:
    """A suite and a pool.

    Attributes:
        predicted: (M, N) labels.
        labels: (N,) the true ones.
        classes: C.
        truth: (M,) the true accuracies.
        shuffled: (N,) rows in any order.
        strength: (M, N) how sure the models are of their labels; None where only these are known.
        in_domain: (M,) in-domain accuracies; None where unknown.
        voters: (V, N) labels of models that only vote.
        trusted: whether these are known to be better.
    """

    predicted: Ints
    labels: Ints
    classes: int
    truth: Floats
    shuffled: Ints
    strength: Floats | None
    in_domain: Floats | None
    voters: Ints
    trusted: bool = False

    @property
    def patterns(self) -> Patterns:
        """The pool, for the vote."""
        everyone = np.concatenate([self.predicted, self.voters])
        unknown = np.full(len(self.voters), np.nan)
        return fold(
            everyone,
            self.classes,
            strength=None if self.strength is None else np.concatenate([self.strength, np.ones(self.voters.shape)]),
            in_domain=None if self.in_domain is None else np.concatenate([self.in_domain, unknown]),
            trusted=np.full(len(self.voters), self.trusted),
        )

    @property
    def outcomes(self) -> Floats:
        """(M, N) 1 where a model is right."""
        return np.asarray((self.predicted == self.labels).astype(np.float64))

    @property
    def similarity(self) -> Floats:
        """(M, M, N) 1 where two models predict the same label; silence is like nothing."""
        alike = (self.predicted[:, None] == self.predicted) & (self.predicted >= 0)
        return np.asarray(alike.astype(np.float64))


@dataclass(frozen=True)
class MethodEstimate:
    """Estimate of a method after some labels.

    Attributes:
        score: (M,) what it ranks by.
        given: (P,) probabilities that the first of a pair is better; 1/2 where it has none.
        best: the model that it says is best.
        within: how probable it is that this one is within the margin of the best; None where it does not say.
        minority: labels shown that are not the most frequent one; None where they are not looked at.
    """

    score: Floats
    given: Floats
    best: int
    within: float | None = None
    minority: int | None = None


Method = Callable[[World, Sequence[int]], Iterator[MethodEstimate]]
"""(world, numbers of labels) -> what it says after each."""


def drawn(file: Path, replicate: int, models: int, rows: int, kind: str = "none", trusted: bool = False) -> World:
    """Return a random suite on a random pool, always the same, with voters of a kind."""
    with np.load(file) as held:
        labels, predicted = held["labels"].astype(np.int64), held["predictions"].astype(np.int64)
        truth = held["accuracies"] if "accuracies" in held else (predicted == labels).mean(axis=1)
        probs, in_domain = held.get("probabilities"), held.get("in_domain")
    classes_present = np.unique(np.concatenate([labels, predicted[predicted >= 0]]))
    rng = np.random.default_rng([zlib.crc32(file.stem.encode()), replicate])
    suite = rng.choice(len(predicted), min(models, len(predicted)), replace=False)
    pool = rng.choice(len(labels), min(rows, len(labels)), replace=False)
    everyone = predicted[:, pool]
    everyone = np.where(everyone < 0, -1, np.searchsorted(classes_present, everyone))
    strength = None if probs is None else Pool(probs[suite][:, pool]).strength
    shuffled = rng.permutation(len(pool))
    labels_of_pool = np.searchsorted(classes_present, labels[pool])
    seed = [replicate, zlib.crc32(kind.encode())]
    return World(
        everyone[suite],
        labels_of_pool,
        len(classes_present),
        truth[suite],
        shuffled,
        strength,
        None if in_domain is None else in_domain[suite],
        voters_of(kind, everyone, labels_of_pool, len(classes_present), truth, suite, seed),
        trusted,
    )


def of_pairs(better: Floats) -> Floats:
    """Return (P,) values of pairs from (M, M)."""
    return np.asarray(better[tuple(pairs(len(better)).T)])


def accuracy(world: World, sizes: Sequence[int]) -> Iterator[MethodEstimate]:
    """ACC of random rows, and what these alone say of how sure it is."""
    outcomes = world.outcomes[:, world.shuffled]
    for size in sizes:
        score = outcomes[:, :size].mean(axis=1)
        leader, rng = int(score.argmax()), np.random.default_rng(size)
        near = rows.draw(RowEvidence.of_means(outcomes[:, :size]), rng, NEAR_DRAWS).near(MARGIN)
        better = of_pairs(posterior.more_accurate(outcomes[:, :size]))
        yield MethodEstimate(score, better, leader, float(near[leader]))


def vote_by(rule: Goal | Literal["random"]) -> Method:
    """Return the method of a vote by Monte Carlo, on random rows, or on rows chosen one by one."""

    def method(world: World, sizes: Sequence[int]) -> Iterator[MethodEstimate]:
        patterns = world.patterns
        rows = world.shuffled[: max(sizes)] if rule == "random" else np.zeros(0, dtype=np.int64)
        for size in range(max(sizes) + 1):
            if size in sizes or rule != "random":
                labels = world.labels[rows[:size]]
                beliefs = believe(patterns, rows[:size], labels)
                if size in sizes:
                    yield said_by(beliefs, labels)
                if rule != "random" and size < max(sizes):
                    rows = np.append(rows, next_rows(beliefs, goal=rule))

    return method


def vote_by_batch(rule: Goal) -> Method:
    """Return the method of a vote by Monte Carlo on rows chosen all at once, a batch for each number of labels."""

    def method(world: World, sizes: Sequence[int]) -> Iterator[MethodEstimate]:
        patterns, none = world.patterns, np.zeros(0, dtype=np.int64)
        for size in sizes:
            rows = next_rows(believe(patterns, none, none), size, rule)
            yield said_by(believe(patterns, rows, world.labels[rows]), world.labels[rows])

    return method


def said_by(beliefs: Beliefs, labels: Ints) -> MethodEstimate:
    """Scores, probabilities, how sure it is that the leader is near the best, and how unequal the labels are."""
    return MethodEstimate(
        beliefs.score,
        of_pairs(beliefs.better),
        int(beliefs.score.argmax()),
        vote.draw(VoteEvidence(beliefs), beliefs.rng(1)).within(MARGIN),
        len(labels) - int(np.bincount(labels).max(initial=0)),
    )


def by_labels(kind: type[ModelPicker] | type[CODA]) -> Method:
    """Return the method of a rival that sees predicted labels: silence is a label that no row has."""

    def method(world: World, sizes: Sequence[int]) -> Iterator[MethodEstimate]:
        classes = world.classes + bool((world.predicted < 0).any())
        picker = kind(np.where(world.predicted < 0, world.classes, world.predicted), classes)
        return ask(picker, lambda row: picker.tell(row, int(world.labels[row])), sizes)

    return method


def by_outcomes(start: Callable[[World], SelectLLM | LURE]) -> Method:
    """Return the method of a rival that sees the similarity of answers: for labels this is agreement."""

    def method(world: World, sizes: Sequence[int]) -> Iterator[MethodEstimate]:
        picker = start(world)
        return ask(picker, lambda row: picker.tell(row, world.outcomes[:, row]), sizes)

    return method


def ask(picker: Picker, label: Callable[[int], None], sizes: Sequence[int]) -> Iterator[MethodEstimate]:
    """Label the rows that a rival picks, and yield its estimates; it states no probability."""
    for size in range(1, max(sizes) + 1):
        label(picker.next())
        if size in sizes:
            yield MethodEstimate(picker.score, np.full(len(pairs(len(picker.score))), 0.5), picker.best())


METHODS: Mapping[str, Method] = {
    "ACC, random rows": accuracy,
    "vote, random rows": vote_by("random"),
    "vote, sequential": vote_by("order"),
    "vote, sequential, for the best": vote_by("best"),
    "vote, all at once": vote_by_batch("order"),
    "vote, all at once, for the best": vote_by_batch("best"),
    "ModelPicker": by_labels(ModelPicker),
    "CODA": by_labels(CODA),
    "LLM Selector": by_labels(LLMSelector),
    "Select-LLM": by_outcomes(lambda world: SelectLLM(world.similarity)),
    "LURE": by_outcomes(lambda world: LURE(world.similarity, np.random.default_rng(world.shuffled))),
}


@click.group()
def main() -> None:
    """Measure rows that are chosen one after the other."""


@main.command()
@click.argument("out", type=PATH)
@click.option("--case", "cases", type=(str, str, str, str), multiple=True, required=True)
@click.option("--store", type=PATH)
@click.option("--probabilities", is_flag=True, help="Write these, too.")
def export(out: Path, cases: Sequence[tuple[str, str, str, str]], store: Path | None, probabilities: bool) -> None:
    """Write what suites predict on OOD sets, a file each: a case is as in `benchmarks.labels`."""
    out.mkdir(parents=True, exist_ok=True)
    for case in read_all(cases, store):
        arrays = {"predictions": case.probs.argmax(axis=2), "labels": case.labels, "accuracies": case.accuracy}
        if not np.isnan(case.in_domain).any():
            arrays["in_domain"] = case.in_domain
        if probabilities:
            arrays["probabilities"] = case.probs
        with (out / f"{case.name}.npz").open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)


@main.command()
@click.argument("file", type=PATH)
@click.argument("home", type=PATH)
@click.option("-o", "--output", type=PATH, required=True)
def beside(file: Path, home: Path, output: Path) -> None:
    """Write the models of FILE that HOME has, too, with their accuracies there as in-domain ones."""
    with np.load(file) as target, np.load(home) as source:
        names, models, of_source = np.intersect1d(target["models"], source["models"], return_indices=True)
        accuracies = (source["predictions"][of_source] == source["labels"]).mean(axis=1)
        arrays = {"predictions": target["predictions"][models], "labels": target["labels"], "in_domain": accuracies}
    np.savez_compressed(output, allow_pickle=False, **arrays)
    click.echo(f"{len(names)} models are in both")


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("-o", "--output", type=PATH, required=True)
@click.option("--method", "names", type=click.Choice(list(METHODS)), multiple=True, help="[default: all]")
@click.option("--replicates", default=20, show_default=True)
@click.option("--labels", default=20, show_default=True, help="The most that are shown.")
@click.option("--models", default=8, show_default=True)
@click.option("--pool", "rows", default=300, show_default=True)
@click.option("--voters", "kinds", type=click.Choice(VOTERS), multiple=True, default=("none",), show_default=True)
@click.option("--trusted", is_flag=True, help="Voters are known to be better.")
def run(
    files: Sequence[Path],
    output: Path,
    names: Sequence[str],
    replicates: int,
    labels: int,
    models: int,
    rows: int,
    kinds: Sequence[str],
    trusted: bool,
) -> None:
    """Measure, and write a line for each replicate of each method and each kind of voters."""
    done = {(row["set"], row["replicate"], row["method"]) for row in lines([output])} if output.exists() else set()
    with output.open("a", encoding="utf-8") as to:
        for replicate in range(replicates):
            for file, kind in product(files, kinds):
                world = drawn(file, replicate, models, rows, kind, trusted)
                beside = "" if kind == "none" else f", voters: {kind}{', trusted' if trusted else ''}"
                sizes = [size for size in SIZES if size <= min(labels, len(world.labels))]
                for name in names or METHODS:
                    if (file.stem, replicate, name + beside) not in done:
                        estimates = METHODS[name](world, sizes)
                        judged = [
                            judge(world.truth, size, estimate) for size, estimate in zip(sizes, estimates, strict=True)
                        ]
                        line = {"set": file.stem, "replicate": replicate, "method": name + beside, "found": judged}
                        print(json.dumps(line), file=to, flush=True)


def judge(truth: Floats, size: int, estimate: MethodEstimate) -> dict[str, Any]:
    """Score an estimate by the (M,) true accuracies, or mean outcomes."""
    first, second = pairs(len(truth)).T
    lead = truth[first] - truth[second]
    apart = np.abs(lead) > 1e-12
    stated = np.where(lead > 0, estimate.given, 1 - estimate.given)[apart]  # what the better one was given
    summary = {
        "labels": size,
        "pairs": pairwise_accuracy(estimate.score, truth),
        "regret": float(truth.max() - truth[estimate.best]),
        "gap": float(np.diff(np.sort(truth)[-2:])[0]),
        "given": np.round(stated, 4).tolist(),
    }
    stated_too = {"within": estimate.within, "minority": estimate.minority}
    return summary | {name: value for name, value in stated_too.items() if value is not None}


def lines(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Yield the saved results, without a last line that was cut short."""
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.endswith("}"):
                yield json.loads(line)


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("-o", "--output", type=PATH, required=True)
@click.option("--replicates", default=10, show_default=True)
@click.option("--labels", default=100, show_default=True, help="The most that are asked.")
@click.option("--models", default=8, show_default=True)
@click.option("--pool", "rows", default=300, show_default=True)
@click.option("--rule", default="best", show_default=True, type=click.Choice(get_args(Goal)))
def stops(
    files: Sequence[Path], output: Path, replicates: int, labels: int, models: int, rows: int, rule: Goal
) -> None:
    """Ask until it is all but sure who is best; a line for each replicate says what was said after each answer."""
    done = {(row["set"], row["replicate"]) for row in lines([output])} if output.exists() else set()
    with output.open("a", encoding="utf-8") as to:
        for replicate in range(replicates):
            for file in files:
                if (file.stem, replicate) not in done:
                    result_row = asked(drawn(file, replicate, models, rows), labels, rule)
                    print(json.dumps({"set": file.stem, "replicate": replicate, **result_row}), file=to, flush=True)


def asked(world: World, most: int, rule: Goal) -> dict[str, Any]:
    """Run one session: after 0, 1, 2 ... answers return its certainty, what it expects to lose, and the regret."""
    patterns = world.patterns
    rows, chances = np.zeros(0, dtype=np.int64), np.zeros(0)
    within, shortfall, regret = [], [], []
    while True:
        beliefs = believe(patterns, rows, world.labels[rows])
        belief = vote.draw(VoteEvidence(beliefs), beliefs.rng(1))
        within.append(round(belief.within(MARGIN), 4))
        shortfall.append(round(float(belief.shortfall()[belief.leader]), 5))
        regret.append(round(float(world.truth.max() - world.truth[beliefs.score.argmax()]), 5))
        following = next_rows(beliefs, 1, rule)
        if not len(following) or len(rows) == most or (within[-1] >= max(LEVELS) and shortfall[-1] <= min(LOST)):
            fell = stopping.evidence_against_vote(chances, world.labels[rows], world.classes)
            gap = float(np.diff(np.sort(world.truth)[-2:])[0])
            return {
                "within": within,
                "shortfall": shortfall,
                "regret": regret,
                "gap": gap,
                "behind": np.round(fell, 3).tolist(),
            }
        label = int(world.labels[following[0]])
        chances = np.append(chances, stopping.answer_probability(beliefs, int(following[0]), label))
        rows = np.append(rows, following)


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
def stopped(files: Sequence[Path]) -> None:
    """Print how often a run stops, and how often it is then right, by the probability that is asked for."""
    runs = list(lines(files))
    click.echo(f"{len(runs)} runs; stopped at the first answer after which P(within the margin) is as said\n")
    rows = []
    for level in LEVELS:
        ends = [next((k for k, sure in enumerate(run["within"]) if sure >= level), None) for run in runs]
        right = [run["regret"][k] <= MARGIN + 1e-9 for run, k in zip(runs, ends, strict=True) if k is not None]
        cells = [f"{np.mean(right):.1%} ({np.std(right) / np.sqrt(max(len(right), 1)):.1%})" if right else ""]
        for low, high in pairwise(GAPS):
            near = [
                run["regret"][k] <= MARGIN + 1e-9
                for run, k in zip(runs, ends, strict=True)
                if k is not None and low <= run["gap"] < high
            ]
            cells.append(f"{np.mean(near):.0%} of {len(near)}" if near else "")
        cells += [f"{np.mean([k is not None and k <= size for k in ends]):.0%}" for size in (20, 50, 100)]
        led = [k is not None and k <= 50 for run, k in zip(runs, ends, strict=True) if run["gap"] >= 0.05]
        cells.append(f"{np.mean(led):.0%}" if led else "")
        numbers = [k for k in ends if k is not None]
        rows.append([f"{level:.3f}", *cells, f"{np.median(numbers):.0f}" if numbers else ""])
    head = ["P", "right", *(f"gap {100 * a:.0f} to {100 * b:.0f}" for a, b in pairwise(GAPS))]
    click.echo(table([*head, *(f"by {size}" for size in (20, 50, 100)), "gap 5 or more, by 50", "median"], rows))
    alarms = np.mean([max(run["behind"], default=0.0) >= stopping.BEHIND for run in runs])
    click.echo(f"\nAlarms: {alarms:.1%} of the runs.\n")
    rules = {f"P {level:g}": [first_place(run, "within", level) for run in runs] for level in LEVELS}
    rules |= {f"{100 * most:g} lost": [first_place(run, "shortfall", -most) for run in runs] for most in LOST}
    click.echo(table(STOPPED, [stopped_by(name, runs, ends) for name, ends in rules.items()]))


STOPPED = ("ends", "within 50", "median", "90 %", "points lost", "95 % lose at most", "within a point")


def first_place(run: Mapping[str, Any], quantity: str, enough: float) -> int | None:
    """Return the number of answers after which a run stops, at least `LEAST` and without an alarm; None for never.

    A value is enough if it is at least `enough`; of what is lost, at most minus that.
    """
    sign = -1 if enough < 0 else 1
    silent = next((k for k, fell in enumerate(run["behind"], 1) if fell >= stopping.BEHIND), len(run[quantity]))
    return next((k for k in range(LEAST, min(silent, len(run[quantity]))) if sign * run[quantity][k] >= enough), None)


def stopped_by(name: str, runs: Sequence[Mapping[str, Any]], ends: Sequence[int | None]) -> list[str]:
    """Return a row of a table: how many runs end, after how many answers, and what is truly lost then."""
    numbers = [k for k in ends if k is not None]
    lost = np.array([100 * run["regret"][k] for run, k in zip(runs, ends, strict=True) if k is not None])
    if not numbers:
        return [name, "0%", *[""] * 5]
    return [
        name,
        f"{np.mean([k is not None and k <= 50 for k in ends]):.0%}",
        f"{np.median(numbers):.0f}",
        f"{np.quantile(numbers, 0.9):.0f}",
        f"{lost.mean():.2f}",
        f"{np.quantile(lost, 0.95):.1f}",
        f"{np.mean(lost <= 100 * MARGIN + 1e-9):.0%}",
    ]


Found = Mapping[tuple[str, int, str], Sequence[dict[str, Any]]]
"""Set, replicate and method -> a line of `judge` for each number of labels."""


def complete_replicates(files: Iterable[Path]) -> tuple[Found, list[str], list[tuple[str, int]]]:
    """Return what was found, the methods, and the replicates of sets that every method has."""
    results = {(row["set"], row["replicate"], row["method"]): row["found"] for row in lines(files)}
    methods = list(dict.fromkeys(method for _, _, method in results))
    replicates = dict.fromkeys(key[:2] for key in results)
    return results, methods, [key for key in replicates if all((*key, method) in results for method in methods)]


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--by-set", is_flag=True)
def tables(files: Sequence[Path], by_set: bool) -> None:
    """Print what was found: only replicates that every method has, so that differences are paired."""
    results, methods, complete = complete_replicates(files)
    sets = sorted({name for name, _ in complete})
    sizes = [row["labels"] for row in results[*complete[0], methods[0]]]
    click.echo(f"{len(sets)} sets, {len(complete)} replicates in all; pairwise accuracy (standard error) / regret\n")
    rows = [[method, *(mean_of(results, complete, method, size) for size in sizes)] for method in methods]
    click.echo(table(["", *(f"K = {size}" for size in sizes)], rows))
    if by_set:
        for size in (3, 10):
            rows = [
                [
                    name,
                    *(
                        mean_of(results, [key for key in complete if key[0] == name], method, size)
                        for method in methods
                    ),
                ]
                for name in sets
            ]
            click.echo("\n" + table([f"K = {size}", *methods], rows))
    click.echo("\nGiven: **right** (share of the pairs), and log loss\n")
    rows = []
    for method in methods:
        for size in sizes:
            stated = np.concatenate([at(results[*key, method], size)["given"] for key in complete])
            rows.append([f"{method}, K = {size}", *kept_word(stated)])
    ends = [f"{100 * a:.0f} to {100 * min(b, 1):.0f}" for a, b in pairwise(CLASSES)]
    click.echo(table(["", *ends, "80 or more", "log loss"], rows))


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--size", "sizes", type=int, multiple=True, default=(10, 12, 20), show_default=True)
def winners(files: Sequence[Path], sizes: Sequence[int]) -> None:
    """Print how good the model said to be best is, for methods that state P(within the margin); sets count alike."""
    results, methods, complete = complete_replicates(files)
    rows = []
    for method in methods:
        for size in sizes:
            by_set = defaultdict(list)
            for key in complete:
                row = at(results[*key, method], size)
                right, few = row["regret"] <= MARGIN + 1e-9, row["minority"] <= size / 10
                by_set[key[0]].append((row["pairs"], row["regret"], right, row["within"], not row["minority"], few))
            means = np.array([np.mean(values, axis=0) for values in by_set.values()]).mean(axis=0)
            errors = np.array([np.var(values, axis=0) / len(values) for values in by_set.values()]).sum(axis=0)
            pairs_, regret, *shares = (
                f"{percent(mean)} ({percent(error)})"
                for mean, error in zip(means, np.sqrt(errors) / len(by_set), strict=True)
            )
            rows.append([method, str(size), pairs_, regret, *shares])
    click.echo(f"{len({name for name, _ in complete})} sets, {len(complete)} replicates in all; standard errors\n")
    head = ["", "K", "pairs", "regret", "within a point", "stated", "labels alike", "a tenth differ at most"]
    click.echo(table(head, rows))


def at(rows: Sequence[dict[str, Any]], size: int) -> dict[str, Any]:
    """Return the results after so many labels."""
    return next(row for row in rows if row["labels"] == size)


def mean_of(results: Found, keys: Sequence[tuple[str, int]], method: str, size: int) -> str:
    """Means over sets, each of which counts alike, with the standard error over replicates; and the regret."""
    by_set = defaultdict(list)
    for key in keys:
        row = at(results[*key, method], size)
        by_set[key[0]].append((row["pairs"], row["regret"]))
    means = np.array([np.mean(values, axis=0) for values in by_set.values()]).mean(axis=0)
    error = np.sqrt(sum(np.var([v[0] for v in values]) / len(values) for values in by_set.values())) / len(by_set)
    return f"{percent(means[0])} ({percent(error)}) / {percent(means[1])}"


def kept_word(stated: Floats, bins: Sequence[tuple[float, float]] = (*pairwise(CLASSES), (0.8, 1.01))) -> list[str]:
    """Return the share of right pairs by the probability of the likelier model, in bins, and the log loss."""
    likelier, right = np.maximum(stated, 1 - stated), stated > 0.5
    decided: Bools = stated != 0.5
    cells = []
    for low, high in bins:
        inside = decided & (likelier >= low) & (likelier < high)
        cells.append(f"**{percent(right[inside].mean())}** ({inside.mean():.0%})" if inside.sum() >= 30 else "")
    return [*cells, f"{-np.log(np.clip(stated, 1e-4, 1)).mean():.3f}"]


@main.command()
@click.option("--models", default=50, show_default=True)
@click.option("--rows", default=10_000, show_default=True)
@click.option("--classes", default=4, show_default=True)
@click.option("--labels", default=10, show_default=True)
@click.option("--batch", default=10, show_default=True)
def scale(models: int, rows: int, classes: int, labels: int, batch: int) -> None:
    """Seconds of one processor, and peak memory, to choose the next row of a large pool once predictions are there."""
    import resource
    import time

    rng = np.random.default_rng(0)
    truth = rng.integers(classes, size=rows)
    share = rng.uniform(0.6, 0.9, size=(models, 1))
    predicted = np.where(rng.random((models, rows)) < share, truth, rng.integers(classes, size=(models, rows)))
    began = time.process_time()
    labelled = rng.choice(rows, labels, replace=False)
    patterns = fold(predicted, classes, labelled)
    folded = time.process_time()
    beliefs = believe(patterns, labelled, truth[labelled])
    next_rows(beliefs)
    chosen = time.process_time()
    belief = vote.draw(VoteEvidence(beliefs), beliefs.rng(1))
    belief.beats(), belief.best(), belief.interval()
    finished = time.process_time()
    next_rows(beliefs, batch)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(
        f"{models} models, {rows} rows, {classes} classes, {labels} labels: {folded - began:.2f} s to fold the pool, "
        f"{chosen - folded:.2f} s for the next row, {finished - chosen:.2f} s for all that is said of the models, "
        f"{time.process_time() - finished:.2f} s for a batch of {batch}; peak {memory:.0f} MiB"
    )


if __name__ == "__main__":
    main()
