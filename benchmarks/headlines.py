"""How often a report names a better one of two models that are equally good.

Two models have the same accuracy, and on a share of the rows one alone is right, each as often. The report says
"Better: X" where X is better with a probability of 95 % and the interval of the difference leaves out 0, "Probably
better: X" from 90 % on, and else that the two are not told apart. What it says depends on the two counts of rows that
one alone has right, so that each pair of counts is looked up once.

    python -m benchmarks.headlines [--draws 2000] [--seed 0]
"""

from __future__ import annotations

import argparse
from functools import cache

import numpy as np

from factors import BUILTIN
from ranker.results.table import ScoreTable
from ranker.scoring.by_metric import MeanRows
from ranker.scoring.decision import decide

ROWS = (10, 30, 100, 300, 1_000)
DISCORDANT = (0.1, 0.3)
"""Rows, and the share of them on which one model alone is right."""


@cache
def headline(better: int, worse: int, rows: int) -> str:
    """Return the headline about two models: "better", "probably", or "" where they are not told apart."""
    parts = [better, worse, rows - better - worse]
    first, second = np.repeat([1.0, 0.0, 1.0], parts), np.repeat([0.0, 1.0, 1.0], parts)
    table = ScoreTable(("a", "b"), (BUILTIN["ACC"],), tuple(map(str, range(rows))), np.stack([first, second])[:, None])
    decision = decide(table, MeanRows.of(table))
    return "better" if decision.better(0, 1) else "probably" if decision.apart(0, 1) else ""


def rates(rows: int, discordant: float, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """Shares of draws in which one of two equal models is called better, and probably better."""
    counts = rng.multinomial(rows, [discordant / 2, discordant / 2, 1 - discordant], size=draws)
    headlines = [headline(max(a, b), min(a, b), rows) for a, b, _ in counts.tolist()]
    return headlines.count("better") / draws, headlines.count("probably") / draws


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(f"{'rows':>5}  {'differ on':>9}  {'better':>6}  {'probably better':>15}")
    for rows in ROWS:
        for discordant in DISCORDANT:
            better, probably = rates(rows, discordant, options.draws, rng)
            print(f"{rows:>5,}  {discordant:>9.0%}  {better:>6.1%}  {probably:>15.1%}")


if __name__ == "__main__":
    main()
