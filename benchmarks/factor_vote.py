"""The vote with and without a designed factor, whose mean over the pool needs no label.

    rank-models --ood paws --population 200 --attribution shap --save paws.json
    python -m benchmarks.factor_vote run paws.json ... -o found.jsonl
    python -m benchmarks.factor_vote table found.jsonl

For each replicate a pool is drawn from the rows of a saved ranking, and ten of its rows are labelled, the same with
and without the factor. Found are the share of pairs in their true order, a tie counting one half, and regret, how much
less accurate than the best the first model is. A run that is stopped goes on where it was.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from benchmarks.labels import pairwise_accuracy
from ranker.commands.options import PATH
from ranker.datasets import sets
from ranker.results.ranking import Ranking
from ranker.statistics.patterns import fold
from ranker.statistics.vote import believe

SIZES = (0, 1, 3, 5, 10)
"""K: labels at which is said what was found."""

POOL = 300
"""Most rows of a pool."""


@click.group()
def main() -> None:
    """Measure the vote with a designed factor."""


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("-o", "--output", type=PATH, required=True)
@click.option("--replicates", default=20, show_default=True)
@click.option("--data-dir", type=PATH, help="Of rankings on official data.")
def run(files: Sequence[Path], output: Path, replicates: int, data_dir: Path | None) -> None:
    """Measure saved rankings, a line for each replicate, number of labels, and vote."""
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    done = {(line["file"], line["replicate"]) for line in map(json.loads, lines)}
    for file in files:
        ranking = Ranking.load(file)
        official = getattr(ranking.header.provenance.data, "origin", "").startswith("DATA")
        labels_of = {
            row.id: row.target for row in sets.load(ranking.header.ood, data_dir if official else None).examples
        }
        labels = np.array([labels_of[row] for row in ranking.table.examples])
        predicted = np.where(ranking.table.outcomes > 0.5, labels, 1 - labels)  # there are two labels
        means, truth = factor_means(ranking), np.asarray(ranking.table.truth)
        for replicate in range(replicates):
            if (file.stem, replicate) in done:
                continue
            rng = np.random.default_rng([zlib.crc32(file.stem.encode()), replicate])
            pool = rng.permutation(len(labels))[:POOL]  # its first rows are labelled
            measured = []
            for with_factor in (False, True):
                patterns = fold(predicted[:, pool], 2, factor=means if with_factor else None)
                for size in SIZES:
                    score = believe(patterns, np.arange(size), labels[pool[:size]]).score
                    measured.append({
                        "file": file.stem, "set": ranking.header.ood, "replicate": replicate, "factor": with_factor,
                        "labels": size, "pairs": pairwise_accuracy(score, truth),
                        "regret": float(truth.max() - truth[score.argmax()]),
                    })  # fmt: skip
            with output.open("a", encoding="utf-8") as lines_out:
                lines_out.writelines(json.dumps(line) + "\n" for line in measured)


def factor_means(ranking: Ranking) -> np.ndarray:
    """Return (M,) means of the designed factor over the rows where all models have it, the better the higher."""
    name = next((method.name for method in ranking.evaluation.methods if method.designed), None)
    if name is None:
        raise click.UsageError(f"{ranking.header.ood} has no designed factor")
    place = [method.name for method in ranking.table.methods].index(name)
    values = ranking.table.values[:, place]
    means = values[:, np.isfinite(values).all(axis=0)].mean(axis=1)
    return np.asarray(means if ranking.table.methods[place].higher_is_better else -means)


@main.command()
@click.argument("file", type=PATH)
def table(file: Path) -> None:
    """Print pairs and regret without the factor, and what it brings (standard error over suites)."""
    results: dict[tuple[str, int, int, bool], tuple[float, float]] = {}
    for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        key = line["file"], line["replicate"], line["labels"], line["factor"]
        results[key] = 100 * line["pairs"], 100 * line["regret"]
    without: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    brought: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for (name, replicate, size, with_factor), (pairs, regret) in results.items():
        if with_factor:
            before = results[name, replicate, size, False]
            without[name, size].append(before)
            brought[name, size].append((pairs - before[0], regret - before[1]))
    names = list(dict.fromkeys(name for name, _ in without))
    click.echo(f"| suite | {' | '.join(f'K = {size}' for size in SIZES)} |")
    click.echo(f"|---|{'---:|' * len(SIZES)}")
    for name in names:
        cells = []
        for size in SIZES:
            (pairs, regret), (pairs_gained, regret_gained) = (
                np.mean(cases[name, size], axis=0) for cases in (without, brought)
            )
            cells.append(f"{pairs:.1f}, {regret:.1f}: {pairs_gained:+.1f}, {regret_gained:+.1f}")
        click.echo(f"| {name} | {' | '.join(cells)} |")
    cells = []
    for size in SIZES:
        of_suites = np.array([np.mean(brought[name, size], axis=0) for name in names])
        (pairs, regret), errors = of_suites.mean(axis=0), of_suites.std(axis=0, ddof=1) / np.sqrt(len(names))
        cells.append(f"{pairs:+.1f} ({errors[0]:.1f}), {regret:+.1f} ({errors[1]:.1f})")
    click.echo(f"| all {len(names)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
