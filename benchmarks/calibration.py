"""Does the decision mode keep its word? `python -m benchmarks.calibration RANKING.json ... > docs/results/decision.md`.

Each file is an evaluation written by `Ranking.save`: its score table, and the models' true accuracies. 1,000 times, 10
of its examples are drawn without replacement and treated as a user's ten labelled rows; what the decision says of them
is compared with the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ranker import combined, decision, engine
from ranker.engine import Floats
from ranker.evaluation import turned
from ranker.ranking import Ranking

TENTHS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Where the classes of probabilities begin; the first holds the exact halves only, which belong to neither model."""


@dataclass(frozen=True)
class Outcome:
    """What decisions on drawn rows said, and what is true.

    Attributes:
        given: probability of the likelier model of each pair with a true order, 1/2 or more; all draws in one.
        right: whether it is the better one; 1/2 where the probability is.
        best_given: (draws,) probability that the model most likely to be best is.
        best_right: (draws,) whether it is.
        ordered: method -> share of the pairs that its order has right, a tie counting one half.
        groups: mean number of groups of models that cannot be told apart.
    """

    given: Floats
    right: Floats
    best_given: Floats
    best_right: Floats
    ordered: dict[str, float]
    groups: float


def try_out(ranking: Ranking, probe: int, repeats: int, seed: int) -> Outcome:
    """Decide on drawn rows of an evaluation's table.

    Args:
        ranking: an evaluation with ACC.
        probe: K.
        repeats: how often.
        seed: of the draws.

    Raises:
        ValueError: the ranking is a decision, or has no ACC.
    """
    table, rng = ranking.table, np.random.default_rng(seed)
    names = [method.name for method in table.methods]
    if table.ood_accuracy is None or "ACC" not in names:
        raise ValueError("calibration needs an evaluation with ACC")
    truth = table.ood_accuracy
    first, second = engine.pairs(len(truth)).T
    known = truth[first] != truth[second]
    first, second = first[known], second[known]
    swap = truth[first] < truth[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    values = turned(table)
    hits = table.values[:, names.index("ACC")] > 0.5
    designed = next((method.name for method in ranking.methods if method.designed), None)
    breaker = combined.names(names, designed).get(combined.TIES)
    given, right, best_given, best_right, groups = [], [], [], [], []
    ordered: dict[str, list[float]] = {}
    for _ in range(repeats):
        rows = rng.choice(len(table.examples), size=probe, replace=False)
        drawn = hits[:, rows]
        better = decision.more_accurate(drawn)
        towards_truth = better[first, second]
        given.append(np.maximum(towards_truth, 1 - towards_truth))
        right.append((np.sign(towards_truth - 0.5) + 1) / 2)
        chances = decision.best(drawn, rng, samples=decision.CHUNK)
        best_given.append(chances.max())
        best_right.append(truth[chances.argmax()] == truth.max())
        order = np.argsort(-drawn.mean(axis=1), kind="stable")
        groups.append(len(decision.groups(better[np.ix_(order, order)])))
        means = engine.means(values, rows[None])
        scores = {"ACC": means[:, names.index("ACC")]}
        if breaker is not None:
            scores[combined.TIES] = combined.scores(combined.TIES, scores["ACC"], means[:, names.index(breaker)])
        for name, score in scores.items():
            apart = score[first, 0] - score[second, 0]
            halves = (apart > engine.TIE).astype(float) + (apart >= -engine.TIE)
            ordered.setdefault(name, []).append(float(halves.mean() / 2))
    return Outcome(
        given=np.concatenate(given),
        right=np.concatenate(right),
        best_given=np.array(best_given),
        best_right=np.array(best_right, dtype=np.float64),
        ordered={name: float(np.mean(shares)) for name, shares in ordered.items()},
        groups=float(np.mean(groups)),
    )


def report(rankings: Sequence[Ranking], probe: int, repeats: int, seed: int) -> Iterator[str]:
    """The page, line by line."""
    outcomes = [try_out(ranking, probe, repeats, seed) for ranking in rankings]
    yield "# Does the decision mode keep its word?"
    yield ""
    yield (
        f"{repeats} times, {probe} random examples of an evaluated set are treated as a user's labelled rows "
        f"(`python -m benchmarks.calibration`, seed {seed}). The probability model is described in "
        "[STATISTICS.md](../STATISTICS.md); nothing in it was fitted to these suites."
    )
    for ranking, outcome in zip(rankings, outcomes, strict=True):
        accuracies = ranking.table.ood_accuracy
        assert accuracies is not None  # `try_out` has looked
        yield ""
        yield f"## {ranking.suite} on {ranking.ood}"
        yield ""
        yield (
            f"{len(accuracies)} models, true accuracies "
            f"{', '.join(f'{100 * accuracy:.1f}' for accuracy in sorted(accuracies))} %."
        )
        yield ""
        yield from calibration(outcome)
        yield ""
        yield (
            f"P(best) of the model most likely to be best: {outcome.best_given.mean():.2f} on average; it was the best "
            f"in {outcome.best_right.mean():.0%} of the draws. Groups of models that cannot be told apart: "
            f"{outcome.groups:.1f} on average. Pairs in the right order: "
            f"{', '.join(f'{name} {share:.1%}' for name, share in outcome.ordered.items())}."
        )
    if len(outcomes) > 1:
        yield ""
        yield "## All of them"
        yield ""
        yield from calibration(
            Outcome(
                given=np.concatenate([outcome.given for outcome in outcomes]),
                right=np.concatenate([outcome.right for outcome in outcomes]),
                best_given=np.array([]),
                best_right=np.array([]),
                ordered={},
                groups=0.0,
            )
        )


def calibration(outcome: Outcome) -> Iterator[str]:
    """A table of how often the likelier model was the better one, by the probability that it was given."""
    yield "| P(A > B) | pairs | mean probability | right |"
    yield "|---|---|---|---|"
    halves = outcome.given == 0.5
    yield f"| 50 %, a tie | {halves.mean():.1%} | 50.0 % | |"
    for low, high in zip(TENTHS, (*TENTHS[1:], 1.01), strict=True):
        inside = (outcome.given >= low) & (outcome.given < high) & ~halves
        if inside.any():
            yield (
                f"| {100 * low:.0f} to {min(100 * high, 100):.0f} % | {inside.mean():.1%} | "
                f"{outcome.given[inside].mean():.1%} | {outcome.right[inside].mean():.1%} |"
            )


def main() -> None:
    """Read the rankings, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rankings", nargs="+", type=Path, help="files written by Ranking.save")
    parser.add_argument("--probe", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rankings = [Ranking.load(path) for path in given.rankings]
    print("\n".join(report(rankings, given.probe, given.repeats, given.seed)))


if __name__ == "__main__":
    main()
