"""Share of sessions in which the labels until the best model is probably known lie in the range that was forecast.

    python -m benchmarks.forecast run matrices/*.npz suites/*.npz -o sessions.jsonl --replicates 12
    python -m benchmarks.forecast tables sessions.jsonl

Files are those of `benchmarks.sequential`. A session labels rows one after the other: random ones with a pool, random
ones without, or those that are picked to find the best model. After 3, 5, 10, 20 and 40 labels a forecast is made.
What came is the number of labels at which P(no other model is better than the leader by more than a point) first was
90 %, or the whole pool. A range that ends beyond the pool is right where the pool did not do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.labels import table
from benchmarks.sequential import World, drawn, lines
from ranker.commands.options import PATH
from ranker.statistics.acquisition import next_rows
from ranker.statistics.draws import NEAR
from ranker.statistics.forecast import Forecast
from ranker.statistics.posterior import LEVEL
from ranker.statistics.rows import RowEvidence
from ranker.statistics.rows import draw as draw_rows
from ranker.statistics.vote import VoteEvidence, believe, draw

AFTER = (3, 5, 10, 20, 40)
"""Numbers of labels after which a forecast is made."""

RULES = ("random rows", "random rows, no pool", "rows for the best")

SAMPLES = 4_000
"""Draws behind P(near best) without a pool."""


@click.group()
def main() -> None:
    """Measure forecasts of labels."""


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@click.option("-o", "--output", type=PATH, required=True)
@click.option("--replicates", default=4, show_default=True)
@click.option("--rule", "rules", type=click.Choice(RULES), multiple=True, default=RULES)
def run(files: Sequence[Path], output: Path, replicates: int, rules: Sequence[str]) -> None:
    """Label, forecast, and write a line for each session."""
    done = {(row["set"], row["replicate"], row["rule"]) for row in lines([output])} if output.exists() else set()
    with output.open("a", encoding="utf-8") as to:
        for replicate in range(replicates):
            for file in files:
                for rule in rules:
                    if (file.stem, replicate, rule) not in done:
                        line = {"set": file.stem, "replicate": replicate, "rule": rule}
                        world = drawn(file, replicate, 8, 300)
                        print(json.dumps(line | session(world, rule)), file=to, flush=True)


def session(world: World, rule: str) -> dict[str, object]:
    """Label until the goal is reached or no row is left; the forecasts, and the labels at which it was reached."""
    forecasts: dict[int, tuple[int | None, int | None]] = {}
    reached: dict[int, int] = {}
    for size, near, forecast in steps(world, rule):
        if forecast is not None and near < LEVEL:
            forecasts[size] = (forecast.low, forecast.high)
        if near >= LEVEL:
            reached |= {start: size - start for start in forecasts if start < size and start not in reached}
        if size >= max(AFTER) and len(reached) == len(forecasts):
            break
    return {"forecasts": forecasts, "reached": reached, "pool": len(world.labels)}


def steps(world: World, rule: str) -> Iterator[tuple[int, float, Forecast | None]]:
    """Yield the number of labels, P(near best) of the leader, and the forecast where one is made."""
    patterns, total = world.patterns, len(world.labels)
    rows, size = world.shuffled if rule != RULES[2] else np.zeros(0, dtype=np.int64), 1
    while size <= total:
        if rule == RULES[1]:
            outcomes, rng = world.outcomes[:, rows[:size]], np.random.default_rng(size)
            belief = draw_rows(RowEvidence.of_means(outcomes), rng, SAMPLES)
            assert belief.outlook is not None
            outlook = replace(belief.outlook, most=total - size)
            forecast = replace(belief, outlook=outlook).forecast(LEVEL, NEAR) if size in AFTER else None
            yield size, belief.within(NEAR), forecast
            size += step(size)
            continue
        if rule == RULES[2] and len(rows) < size:
            rows = np.append(rows, next_rows(believe(patterns, rows, world.labels[rows]), size - len(rows), "best"))
            if len(rows) < size:
                return
        beliefs = believe(patterns, rows[:size], world.labels[rows[:size]])
        often = None
        if rule == RULES[2]:
            often = beliefs.candidates == patterns.pattern_of_row[next_rows(beliefs, 1, "best")[0]]
        belief = draw(VoteEvidence(beliefs, often=often), beliefs.rng(1))
        yield size, belief.within(NEAR), belief.forecast(LEVEL, NEAR) if size in AFTER else None
        size += step(size)


def step(size: int) -> int:
    """Return how many labels are given before the next look: one at first, later a twentieth of those given."""
    return max(1, size // 20) if size >= max(AFTER) else 1


@main.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
def tables(files: Sequence[Path]) -> None:
    """Print how often the range was right, by rule and number of labels, and its median ends."""
    sessions, rows = [*lines(files)], []
    for rule in RULES:
        for after in AFTER:
            of_rule = [line for line in sessions if line["rule"] == rule and str(after) in line["forecasts"]]
            if of_rule:
                rows.append([rule, str(after), *judged(of_rule, str(after))])
    click.echo(table(["rows", "labels", "sessions", "in the range", "before", "after", "low", "came", "high"], rows))


def judged(sessions: Sequence[Mapping[str, Any]], after: str) -> list[str]:
    """Return the cells of some sessions' forecasts after one number of labels."""
    ends = [[np.inf if end is None else end for end in line["forecasts"][after]] for line in sessions]
    low, high = np.array(ends).T
    came = np.array([line["reached"].get(after, np.inf) for line in sessions])
    shares = [((low <= came) & (came <= high)).mean(), (came < low).mean(), (came > high).mean()]
    medians = (np.median(numbers) for numbers in (low, came, high))
    return [
        f"{len(sessions)}",
        *(f"{100 * share:.0f}" for share in shares),
        *("beyond" if np.isinf(median) else f"{median:.0f}" for median in medians),
    ]


if __name__ == "__main__":
    main()
