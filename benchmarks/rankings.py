"""Systems of retrieval ordered by K judged queries, with a pool of queries and judges' grades; and how long it takes.

    python -m benchmarks.rankings order dl19
    python -m benchmarks.rankings graded dl19
    python -m benchmarks.rankings speed

A folder holds `people.qrels.gz`, the grades of judges in other files, and `runs`. The truth is the mean nDCG@10 of all
queries that people judged, which are also the pool. In each replicate eight systems and an order of queries are drawn.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import ir_measures
import numpy as np

from benchmarks.labels import judged, pairwise_accuracy, table
from factors.types import Example, Floats, Ints
from ranker.commands.options import PATH
from ranker.files.trec import by_queries
from ranker.statistics import judges, likeness, rows
from ranker.statistics.draws import Draws
from ranker.statistics.judges import JudgedMarks
from ranker.statistics.likeness import Anchors, LikenessEvidence
from ranker.statistics.rows import RowEvidence
from ranker.tasks.rankings import RankingTask

SIZES, SYSTEMS = (3, 5, 10), 8

BIASED = 0.9
"""Weight by which rank-biased overlap falls from place to place."""

DEEP = 20
"""Places that it reads."""


@click.group()
def main() -> None:
    """Measure rankings."""


def overlap(ranking: tuple[str, ...], anchor: tuple[str, ...]) -> float:
    """Return the rank-biased overlap of two rankings (Webber, Moffat, Zobel 2010), of the first places alone."""
    shared = [len({*ranking[:depth]} & {*anchor[:depth]}) / depth for depth in range(1, DEEP + 1)]
    return float(np.average(shared, weights=BIASED ** np.arange(DEEP)))


@main.command()
@click.argument("folder", type=PATH)
@click.option("--replicates", default=200, show_default=True)
def order(folder: Path, replicates: int) -> None:
    """Print pairs of systems in true order, the regret in points, and the log loss of the probabilities of pairs."""
    task = RankingTask("retrieval")

    people = _grades(folder / "people.qrels.gz")
    of_judges = [_grades(file) for file in sorted(folder.glob("*.qrels.gz")) if not file.name.startswith("people")]
    rankings = _rankings(folder, people)

    def outcomes(judged: dict[str, object]) -> Floats:
        return np.array([task.judge(of_run, [judged.get(query) for query in people]) for of_run in rankings])

    marks, by_judges = outcomes(people), np.array([outcomes(judged) for judged in of_judges])
    targets = [[task.as_target(ranking) for ranking in of_run] for of_run in rankings]
    alike = np.nan_to_num([[task.judge(of_run, of_other) for of_other in targets] for of_run in rankings])
    overlaps = np.array(
        [
            [
                [overlap(one_run or (), other_run or ()) for one_run, other_run in zip(a, b, strict=True)]
                for b in rankings
            ]
            for a in rankings
        ]
    )
    cells: dict[str, list[str]] = {}
    for size in SIZES:
        results: dict[str, list[Floats]] = {}
        for replicate in range(replicates):
            rng = np.random.default_rng([replicate, size])
            suite = rng.choice(len(rankings), SYSTEMS, replace=False)
            queries, people_of = rng.permutation(len(people))[:size], marks[suite]
            marked = np.full(people_of.shape, np.nan)
            marked[:, queries] = people_of[:, queries]
            references = np.concatenate([alike[np.ix_(suite, suite)], by_judges[:, suite].transpose(1, 0, 2)], axis=1)
            beliefs = {
                "the metric alone": rows.draw(RowEvidence.of_means(people_of[:, queries]), rng, 500),
                "with a pool": _by_likeness(alike[np.ix_(suite, suite)], people_of, queries, rng),
                "with a pool, by rank-biased overlap": _by_likeness(
                    overlaps[np.ix_(suite, suite)], people_of, queries, rng
                ),
                "with a pool and judges' grades": _by_likeness(references, people_of, queries, rng),
                "judges' grades as marks": judges.draw(JudgedMarks(marked, by_judges[:, suite]), rng, 500),
            }
            truth = people_of.mean(axis=1)
            for name, belief in beliefs.items():
                results.setdefault(name, []).append(judged(belief, truth))
        for name, of_replicates in results.items():
            right, regret, loss = np.mean(of_replicates, axis=0)
            error = np.std(of_replicates, axis=0)[0] / np.sqrt(replicates)
            cells.setdefault(name, []).append(f"{right:.1f} ({error:.1f}), {regret:.2f}, {loss:.2f}")
    click.echo(table(["", *(f"K = {size}" for size in SIZES)], [[name, *of_sizes] for name, of_sizes in cells.items()]))
    for file, of_judge in zip(sorted(folder.glob("[!p]*.qrels.gz")), by_judges, strict=True):
        right = 100 * pairwise_accuracy(of_judge.mean(axis=1), marks.mean(axis=1))
        click.echo(f"{file.name} alone: {right:.1f} % of all pairs")


def _grades(file: Path) -> dict[str, Any]:
    task = RankingTask("retrieval")
    return {cells["id"]: task.target_of(cells["reference"]) for _, cells in by_queries(file)}


def _rankings(folder: Path, queries: Iterable[str]) -> list[list[tuple[str, ...] | None]]:
    """Return the rankings of each run."""
    task = RankingTask("retrieval")
    runs = (
        {cells["id"]: task.answer_of(cells["prediction"]) for _, cells in by_queries(file)}
        for file in sorted((folder / "runs").iterdir())
    )
    return [[run.get(query) for query in queries] for run in runs]


@main.command()
@click.argument("folder", type=PATH)
@click.option("--replicates", default=200, show_default=True)
def graded(folder: Path, replicates: int) -> None:
    """Print pairs in true order by the documents that `label` asks a person to grade, with a pool and without."""
    people = [*_grades(folder / "people.qrels.gz").items()]
    rankings = _rankings(folder, dict(people))
    task = RankingTask("retrieval")
    left_out = task.judged_by("ndcg@10:judged")
    truth = np.array([task.judge(of_run, [grades for _, grades in people]).mean() for of_run in rankings])
    answers = [task.predictions(of_run) for of_run in rankings]
    alike = np.array([[task.similarity(of_model, anchor) for anchor in answers] for of_model in answers])
    results: dict[str, list[list[float]]] = {}
    for replicate in range(replicates):
        rng = np.random.default_rng(replicate)
        suite = rng.choice(len(rankings), SYSTEMS, replace=False).tolist()
        queries = rng.permutation(len(people))[: max(SIZES)]
        of_suite = [[rankings[m][query] for query in queries.tolist()] for m in suite]
        all_grades = [people[query][1] for query in queries.tolist()]
        pooled = [task.parts(of_query, replicate) for of_query in zip(*of_suite, strict=True)]
        grades = [
            tuple(sorted((name, dict(by_people).get(name, 0)) for name in names))
            for by_people, names in zip(all_grades, pooled, strict=True)
        ]
        judgements = {
            "all grades": (task, all_grades),
            "the graded documents, others not relevant": (task, grades),
            "the graded documents alone (`:judged`)": (left_out, grades),
        }
        for name, (judging, targets) in judgements.items():
            outcomes = np.array([judging.judge(of_run, targets) for of_run in of_suite])
            for beside, orders in {"": False, ", with a pool": True}.items():
                right = []
                for size in SIZES:
                    score = outcomes[:, :size].mean(axis=1)
                    if orders:
                        evidence = LikenessEvidence(
                            Anchors(alike[np.ix_(suite, suite)]), outcomes[:, :size], queries[:size], random=True
                        )
                        score = likeness.draw(evidence, rng, 500).score
                    right.append(100 * pairwise_accuracy(score, truth[suite]))
                results.setdefault(name + beside, []).append(right)
    cells = []
    for name, of_replicates in results.items():
        errors = np.std(of_replicates, axis=0) / np.sqrt(replicates)
        means = zip(np.mean(of_replicates, axis=0), errors, strict=True)
        cells.append([name, *(f"{mean:.1f} ({error:.1f})" for mean, error in means)])
    click.echo(table(["", *(f"K = {size}" for size in SIZES)], cells))


def _by_likeness(alike: Floats, outcomes: Floats, queries: Ints, rng: np.random.Generator) -> Draws:
    evidence = LikenessEvidence(Anchors(alike), outcomes[:, queries], queries, random=True)
    return likeness.draw(evidence, rng, 500)


@main.command()
@click.option("--runs", default=100, show_default=True)
@click.option("--queries", default=1000, show_default=True)
@click.option("--documents", default=1000, show_default=True)
def speed(runs: int, queries: int, documents: int) -> None:
    """Print the seconds to judge runs, beside ir-measures alone, and the memory."""
    rng, task = np.random.default_rng(0), RankingTask("retrieval")
    names = [f"document-{n}" for n in range(10 * documents)]
    qrels = {
        f"q{n}": {name: int(rng.integers(4)) for name in rng.choice(names, 50, replace=False)} for n in range(queries)
    }
    rows_of = [Example(query, ("",), task.target_of(grades)) for query, grades in qrels.items()]
    measure, ours, theirs = ir_measures.nDCG @ 10, 0.0, 0.0
    for _ in range(runs):
        run = {
            query: {
                names[place]: float(-n)
                for n, place in enumerate(rng.choice(len(names), documents, replace=False).tolist())
            }
            for query in qrels
        }
        cells = [json.dumps(run[query]) for query in qrels]
        start = time.perf_counter()
        outcomes = task.outcomes(task.predictions([task.answer_of(cell) for cell in cells]), rows_of)
        ours += time.perf_counter() - start
        start = time.perf_counter()
        expected = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        theirs += time.perf_counter() - start
        if abs(outcomes.mean() - expected) > 1e-9:
            raise AssertionError(f"{outcomes.mean()} is not {expected}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(
        f"{runs} runs: ours, from JSON, {ours:.1f} s; ir-measures alone, from objects, {theirs:.1f} s; {memory:.0f} MB"
    )


if __name__ == "__main__":
    main()
