"""Accuracy of model orders from few labels and a pool, by estimator, choice of the rows and number of labels.

    python -m benchmarks.labels accuracies --case hans-sub hans-sub-mini hans-sub - --case own SUITE.json rows.jsonl -
    python -m benchmarks.labels files rows.csv gpt.csv llama.csv ...

A case is a name, a suite, an OOD set (or a file of labelled rows), and its data directory ("-" for the embedded
sample). For each replicate a pool of rows is drawn from the population; a rule picks K of them, whose labels are shown;
an estimator scores the models; and what is measured is pairwise accuracy: the share of pairs that are put in their true
order, a tie counting one half. Truth is accuracy on all rows of the set. Printed are means over replicates, in per
cent, as Markdown. `files` takes files of answers: the pool is all of their rows, and only random labels are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import click
import numpy as np

from factors.types import Floats, Ints
from ranker.commands.options import PATH
from ranker.datasets import sets
from ranker.numbers import percent, points
from ranker.runs.inspected import inspect_models
from ranker.runs.label_predictions import predictions
from ranker.runs.rows import RowsFile, labelled
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store
from ranker.sources import suites
from ranker.statistics import engine
from ranker.statistics.draws import Draws
from ranker.statistics.methods import BUILTIN
from ranker.statistics.pool import Pool, Targets, possible

Estimator: TypeAlias = Callable[[Pool, Ints, Ints], Floats]
"""(pool, its labels, the places in it of the K rows whose labels are shown) -> (M,) scores, higher is better."""

SIZES = (1, 3, 5, 10, 20, 50)

VOTE, ASKING = BUILTIN[:2]
"""SURROGATE, which is shown any rows, and SURROGATE+LABEL, which asks for them."""


@dataclass(frozen=True)
class DomainCase:
    """One suite on one set: probs (M, N, C), labels (N,), accuracy and in_domain (M,); the best model first."""

    name: str
    probs: Floats
    labels: Ints
    accuracy: Floats
    in_domain: Floats


def targets_of(pool: Pool, labels: Ints) -> Targets:
    """Inputs of a method about a pool."""
    return Targets((pool.predicted == labels).astype(np.float64), labels)


def accuracy(pool: Pool, labels: Ints, places: Ints) -> Floats:
    """ACC: the share of the labelled rows that a model is right on."""
    return np.asarray((pool.predicted[:, places] == labels[places]).mean(axis=1))


def vote_of_models(pool: Pool, labels: Ints, places: Ints) -> Floats:
    """SURROGATE, as the product has it."""
    return VOTE.estimate(pool, targets_of(pool, labels), places[None])[:, 0]


ESTIMATORS: Mapping[str, Estimator] = {
    "ACC": accuracy,
    "SURROGATE": vote_of_models,
}


def read(name: str, reference: str, ood: str, data_dir: str, store: Store | None) -> DomainCase:
    """Read a suite's predictions on a population, and the truth."""
    folder = None if data_dir == "-" else Path(data_dir)
    ood_set = labelled(Path(ood), "nli") if Path(ood).is_file() else sets.load(ood, folder)
    suite = suites.load([reference])
    population = sets.sample(ood_set, ood_set.population)
    probs = predictions(inspect_models(suite), ood_set.task, population, Runtime(store=store))[0].probs
    labels = np.array([example.target for example in population])
    stated = [model.ood_accuracy.get(ood_set.fingerprint) for model in suite.models]
    if None in stated:
        complete = len(population) == len(ood_set.examples)
        full_run = (
            probs
            if complete
            else predictions(inspect_models(suite), ood_set.task, ood_set.examples, Runtime(store=store))[0].probs
        )
        truth = (full_run.argmax(axis=2) == [example.target for example in ood_set.examples]).mean(axis=1)
    else:
        truth = np.array(stated, dtype=np.float64)
    order = np.argsort(-truth, kind="stable")
    in_domain = np.array([model.in_domain_accuracy for model in suite.models], dtype=np.float64)
    return DomainCase(name, probs[order], labels, truth[order], in_domain[order])


def pairwise_accuracy(scores: Floats, truth: Floats) -> float:
    """Return the share of pairs in their true order, for any order of models; pairs of equal truth do not count."""
    first, second = engine.pairs(len(truth)).T
    points = engine.compare_pairs(scores[:, None, None])[:, 0, 0] / 2
    gap = truth[first] - truth[second]
    return float(np.where(gap > 0, points, 1 - points)[np.abs(gap) > 1e-12].mean())


def replicate(case: DomainCase, rng: np.random.Generator, size: int) -> dict[tuple[str, str, int], float]:
    """Return (rule, estimator, K) -> pairwise accuracy, on one pool; label-free methods have rule "none" and K = 0."""
    truth = case.accuracy
    if truth[0] - truth[-1] <= 1e-12:
        return {}
    rows = rng.choice(len(case.labels), min(size, len(case.labels)), replace=False)
    pool, labels = Pool(case.probs[:, rows]), case.labels[rows]
    results = {}
    targets = targets_of(pool, labels)
    picked_rows = ASKING.pick(pool, targets, max(SIZES)) if ASKING.pick else np.zeros(0, dtype=np.int64)
    for rule, picked in {"random": rng.permutation(len(labels)), "asked for": picked_rows}.items():
        for k in SIZES:
            for name, estimator in ESTIMATORS.items():
                results[rule, name, k] = pairwise_accuracy(estimator(pool, labels, picked[:k]), truth)
    none = np.zeros((1, 0), dtype=np.int64)
    for method in possible([method for method in BUILTIN if method.kind == "label-free"], pool, labels):
        results["none", method.name, 0] = pairwise_accuracy(method.estimate(pool, targets, none)[:, 0], truth)
    return results


def measure(case: DomainCase, replicates: int, size: int) -> dict[tuple[str, str, int], float]:
    """Return the means over replicates."""
    rng = np.random.default_rng(0)
    runs = [run for _ in range(replicates) if (run := replicate(case, rng, size))]
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    return "\n".join(map(line, [head, ["---", *["---:"] * (len(head) - 1)], *rows]))


def line(cells: Sequence[str]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def judged(belief: Draws, truth: Floats) -> Floats:
    """Return the share of pairs in true order and the regret, in per cent, and the log loss of the pairs."""
    ordered, pairs = np.argsort(-truth), np.triu_indices(len(truth), 1)
    stated = np.clip(belief.beats()[np.ix_(ordered, ordered)][pairs], 0.01, 1)
    regret = 100 * (truth.max() - truth[belief.score.argmax()])
    return np.array([100 * pairwise_accuracy(belief.score, truth), regret, -np.log(stated).mean()])


@click.group()
def main() -> None:
    """Measure what few labels and a pool tell."""


def read_all(cases: Sequence[tuple[str, str, str, str]], store: Path | None) -> list[DomainCase]:
    """Read the cases of the command line; their accuracies are printed on stderr."""
    shared_store = None if store is None else Store(store)
    cases_read = [read(*arguments, store=shared_store) for arguments in cases]
    for case in cases_read:
        click.echo(f"{case.name}: true accuracies {', '.join(map(percent, case.accuracy))} %", err=True)
    return cases_read


@main.command()
@click.option("--case", "cases", type=(str, str, str, str), multiple=True, required=True)
@click.option("--replicates", default=200, show_default=True)
@click.option("--pool", "size", default=300, show_default=True, help="Rows of a pool.")
@click.option("--store", type=PATH)
def accuracies(cases: Sequence[tuple[str, str, str, str]], replicates: int, size: int, store: Path | None) -> None:
    """The share of pairs in their true order, by estimator, rule and K."""
    measured = {case.name: measure(case, replicates, size) for case in read_all(cases, store)}
    keys = next(iter(measured.values()))
    if len(measured) > 1:
        measured["mean"] = {key: float(np.mean([by_key[key] for by_key in measured.values()])) for key in keys}
    for name, by_key in measured.items():
        click.echo(f"\n### {name}\n")
        labelled = dict.fromkeys((estimator, rule) for rule, estimator, k in by_key if k)
        rows = [[f"{e}, {rule}", *(percent(by_key[rule, e, k]) for k in SIZES)] for e, rule in sorted(labelled)]
        click.echo(table(["estimator, rows", *(f"K = {k}" for k in SIZES)], rows))
        free = ", ".join(f"{e} {percent(value)}" for (_, e, k), value in by_key.items() if not k)
        click.echo(f"\nWithout a label: {free}.")


@main.command()
@click.argument("data", type=PATH)
@click.argument("models", nargs=-1, required=True)
@click.option("--draws", default=2_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def files(data: Path, models: Sequence[str], draws: int, seed: int) -> None:
    """Pairwise accuracy of ACC and SURROGATE from random labels, with all rows of DATA as the pool."""
    inspected = inspect_models(models)
    rows = RowsFile(data).labelled(inspected.infos)
    pool, _, collected = predictions(inspected, rows.task, rows.examples)
    if collected.failures:
        raise click.ClickException(f"some models have no answers: {collected.failures}")
    labels = np.array([example.target for example in rows.examples])
    right = (pool.predicted == labels).astype(np.float64)
    truth = right.mean(axis=1)
    click.echo(f"{len(labels)} rows; true accuracies {', '.join(map(percent, np.sort(truth)[::-1]))} %", err=True)
    rng = np.random.default_rng(seed)
    cells_of_row: dict[str, list[str]] = {"ACC, random rows": [], "SURROGATE, random rows": [], "difference": []}
    for k in SIZES:
        picked = rng.permuted(np.tile(np.arange(len(labels)), (draws, 1)), axis=1)[:, :k]
        scores_of_draws = (right[:, picked].mean(axis=2), VOTE.estimate(pool, Targets(right, labels), picked))
        alone, with_pool = (
            np.array([pairwise_accuracy(draw_scores, truth) for draw_scores in scores.T]) for scores in scores_of_draws
        )
        gain = with_pool - alone
        error = gain.std(ddof=1) / np.sqrt(draws)
        for name, value in zip(cells_of_row, (percent(alone.mean()), percent(with_pool.mean())), strict=False):
            cells_of_row[name].append(value)
        cells_of_row["difference"].append(f"{points(gain.mean())} (se {percent(error)})")
    click.echo(table(["", *(f"K = {k}" for k in SIZES)], [[name, *cells] for name, cells in cells_of_row.items()]))


if __name__ == "__main__":
    main()
