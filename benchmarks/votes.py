"""Models ordered by K votes between two answers, beside a judge's verdicts, and against Bradley and Terry's model.

    python -m benchmarks.votes order pandalm-votes.csv.gz
    python -m benchmarks.votes order pandalm-votes.csv.gz --asked
    python -m benchmarks.votes strengths pandalm-votes.csv.gz
    python -m benchmarks.votes likeness texts/*.npz

A file holds the votes of people and of judges: columns item, model_a, model_b, winner, rater. For each replicate K rows
are drawn, or asked as `label --votes` asks them, and one person's vote on each. The truth is the order of strengths by
all people's votes. `strengths` needs `pip install choix`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import click
import numpy as np

from benchmarks import anchors
from benchmarks.anchors import BINS
from benchmarks.judges import kept_word
from benchmarks.labels import pairwise_accuracy, table
from factors.types import Floats, Ints
from ranker.commands.options import PATH
from ranker.datasets.votes import Votes, read_votes
from ranker.statistics.preferences import Preferences, draw, gains, infer
from ranker.statistics.questions import of_pairs

SIZES = (10, 20, 50)

PEOPLE = "person"
"""Beginning of the names of people."""

FLAT = (100.0,)
"""Prior standard deviation of strengths under which they are those of the likelihood."""


@click.group()
def main() -> None:
    """Measure orders from votes."""


def read(file: Path) -> tuple[Votes, Floats, dict[str, Preferences]]:
    """Return the votes, (people, U) people's, and a unit for each row with their mean: alone, and with each judge's."""
    votes = read_votes(file)
    people = [place for place, name in enumerate(votes.raters) if name.startswith(PEOPLE)]
    firsts = {row: n for n, row in reversed(list(enumerate(votes.row.tolist())))}
    first, second = (np.array([array[firsts[row]] for row in sorted(firsts)]) for array in (votes.first, votes.second))
    by = np.full((len(votes.raters), len(firsts)), np.nan)
    by[votes.rater, votes.row] = votes.value
    alone = replace(
        Preferences.of(len(votes.models), first, second, by[people].mean(axis=0)),
        votes=np.full(len(first), float(len(people))),
    )
    judges = {name: place for place, name in enumerate(votes.raters) if place not in people}
    with_judges = {name: replace(alone, verdicts=2 * by[[place]] - 1) for name, place in judges.items()}
    return votes, by[people], {"": alone} | with_judges


def sampled(units: Preferences, votes: Floats, size: int, rng: np.random.Generator, as_asked: bool) -> Preferences:
    """Return the units with one person's vote on K of them, of (people, U) votes; without verdicts these alone."""
    value, counts = np.full(len(units.first), np.nan), np.zeros(len(units.first))
    part = replace(units, value=value, votes=counts)
    for row in chosen_rows(part, size, rng) if as_asked else rng.permutation(len(units.first))[:size].tolist():
        value[row], counts[row] = votes[rng.integers(len(votes)), row], 1.0
    return part if len(units.verdicts) else part.without_judges()


def in_pool(units: Preferences, rows: Ints) -> Preferences:
    """Return the units of some rows."""
    arrays = {name: getattr(units, name)[rows] for name in ("row", "first", "second", "value", "votes", "side")}
    return replace(units, **arrays, verdicts=units.verdicts[:, rows])


def chosen_rows(part: Preferences, size: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield units as `label --votes` asks them, by the votes that `part` has then: with verdicts what tells most."""
    if len(part.verdicts):
        for _ in range(size):
            yield int(np.where(part.votes > 0, -np.inf, gains(part, part)).argmax())
        return
    present = np.zeros((part.models, len(part.first)), dtype=bool)
    present[part.first, np.arange(len(part.first))] = present[part.second, np.arange(len(part.first))] = True
    yield from (question.row for question in of_pairs(present, int(rng.integers(2**32)), most=size))


@main.command()
@click.argument("file", type=PATH)
@click.option("--replicates", default=1000, show_default=True)
@click.option("--asked", "as_asked", is_flag=True, help="Choose rows as `label --votes` does.")
@click.option("--pool", type=int, help="Rows of a replicate, drawn at random.  [default: all]")
def order(file: Path, replicates: int, as_asked: bool, pool: int | None) -> None:
    """Print how many pairs random votes put in true order, and whether probabilities keep their word."""
    votes, of_people, all_units = read(file)
    truth = infer(all_units[""], FLAT).expected[-len(votes.models) :]
    pool = pool or len(votes.rows)
    rows, words = [], []
    for name, units in all_units.items():
        cells = []
        for size in SIZES:
            results = _results(of_people, units, size, replicates, pool, truth, as_asked)
            right, stated = map(np.array, zip(*results, strict=True))
            cells.append(f"{100 * right.mean():.1f} ({100 * right.std() / np.sqrt(replicates):.1f})")
            words.append([f"{name or 'votes alone'}, K = {size}", *kept_word(stated.ravel())])
        rows.append([f"votes and {name}" if name else "votes alone", *cells])
    click.echo(table(["", *(f"K = {size}" for size in SIZES)], rows))
    click.echo("\nGiven on average: **right** (pairs)\n")
    click.echo(table(["", *(f"{100 * low:.0f} to {100 * min(high, 1):.0f}" for low, high in BINS)], words))


def _results(
    votes: Floats, units: Preferences, size: int, replicates: int, pool: int, truth: Floats, as_asked: bool
) -> Iterator[tuple[float, Floats]]:
    """Yield the share of pairs in true order, and the probabilities stated for the true order of each pair."""
    ordered = np.argsort(-truth)
    for replicate in range(replicates):
        rng = np.random.default_rng([replicate, size])
        rows = np.sort(rng.choice(len(units.first), pool, replace=False))
        belief = draw(sampled(in_pool(units, rows), votes[:, rows], size, rng, as_asked), rng, 500)
        stated = belief.beats()[np.ix_(ordered, ordered)][np.triu_indices(len(ordered), 1)]
        yield pairwise_accuracy(belief.score, truth), stated


@main.command()
@click.argument("file", type=PATH)
def strengths(file: Path) -> None:
    """Print strengths by this program, with a flat prior, and by choix: of each person's votes that are no ties."""
    import choix

    votes, _, _ = read(file)
    people = [place for place, name in enumerate(votes.raters) if name.startswith(PEOPLE)]
    chosen = np.isin(votes.rater, people) & (votes.value != 0.5)
    first, second = votes.first[chosen], votes.second[chosen]
    wins = [(a, b) if value else (b, a) for a, b, value in zip(first, second, votes.value[chosen], strict=True)]
    theirs = choix.opt_pairwise(len(votes.models), wins)
    ours = infer(Preferences.of(len(votes.models), first, second, votes.value[chosen]), FLAT).expected[
        -len(votes.models) :
    ]
    rows = [
        [name, f"{mine - ours.mean():.5f}", f"{theirs_of_model - theirs.mean():.5f}"]
        for name, mine, theirs_of_model in zip(votes.models, ours, theirs, strict=True)
    ]
    click.echo(table(["", "ours", "choix"], rows))


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("--replicates", default=40, show_default=True)
def likeness(files: Sequence[Path], replicates: int) -> None:
    """Print what likeness of answers adds to votes without a judge: files as for `benchmarks.anchors`.

    The answer with the higher outcome gets the vote. In the last column likeness is that of other models.
    """
    cells = []
    for file in files:
        results: dict[tuple[str, int], list[float]] = {}
        for replicate in range(replicates):
            world = anchors.drawn(file, replicate, 8, 100)
            alike = np.where(world.anchors.own[:, :, None], 0.0, world.anchors.similarity).sum(axis=1)
            shuffled = alike[np.random.default_rng(replicate).permutation(len(alike))]
            for name, values in (("votes", None), ("and likeness", alike), ("and that of others", shuffled)):
                for size in SIZES:
                    part = compared(world.outcomes, values, size, replicate)
                    score = draw(part, np.random.default_rng(replicate), 500).score
                    results.setdefault((name, size), []).append(pairwise_accuracy(score, world.truth))
        cells.append([file.stem, *(f"{100 * np.mean(right):.1f}" for right in results.values())])
    click.echo(table(["", *(f"{name}, K = {size}" for name, size in results)], cells))


def compared(outcomes: Floats, alike: Floats | None, size: int, seed: int) -> Preferences:
    """Return K votes by (M, N) outcomes, and the likeness of answers on all rows."""
    questions = of_pairs(np.ones(outcomes.shape, dtype=bool), seed, most=size)
    row, first, second = np.array([(question.row, *question.models) for question in questions]).T
    value = (1 + np.sign(np.round(outcomes[first, row] - outcomes[second, row], 9))) / 2
    units = None
    if alike is not None:
        pairs = [*combinations(range(len(alike)), 2)]
        leads = np.array([alike[a] - alike[b] for a, b in pairs]) / np.sqrt(
            np.mean([(alike[a] - alike[b]) ** 2 for a, b in pairs])
        )
        units = {
            (n, a, b): float(lead[n]) for (a, b), lead in zip(pairs, leads, strict=True) for n in range(alike.shape[1])
        }
    return Preferences.joined(len(outcomes), row, first, second, value, likeness=units)


if __name__ == "__main__":
    main()
