"""Measure the calibration of decisions: `python -m benchmarks.calibration [RANKING.json ...]` prints a page on it.

Two kinds of worlds in which the truth is known, and the decision is not told it:

- *simulated*: the models' accuracies are drawn, and their outcomes on 10 rows;
- *evaluated suites*: each file was written by `Ranking.save`; it holds a score table and the models' true accuracies.
  10 of its examples, drawn without replacement, are a user's labelled rows.

Each is repeated 1,000 times, and what the decision says of the rows is compared with the truth. About a minute a suite.
Every suite begins with the seed, so that one can be measured again without the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from factors.rounding import TIE
from factors.types import Bools, Floats, Ints
from ranker.results.ranking import Ranking
from ranker.scoring.score import signed_scores
from ranker.statistics import combined, engine, posterior, rows
from ranker.statistics.draws import tied_groups
from ranker.statistics.rows import RowEvidence

MODELS = 8

World = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
"""(generator, K) -> (M,) true accuracies and (M, K) outcomes."""

TENTHS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
"""The ends of the classes of probabilities; the exact halves belong to neither model, and are counted apart."""


def graded(low: float, high: float, shared: float, tries: int = 1, models: int = MODELS) -> World:
    """Return a world of rows that are more or less hard for all models.

    Args:
        low, high: the accuracies are drawn evenly from between.
        shared: how much of a row's hardness is the same for all models; 1 makes them nested.
        tries: an outcome is the share of so many tries that are right; what is not shared differs between them.
        models: how many.
    """
    from scipy.special import ndtri

    def make(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        accuracy = rng.uniform(low, high, models)
        specific, common = rng.normal(size=(tries, models, size)), rng.normal(size=size)
        right = np.sqrt(shared) * common + np.sqrt(1 - shared) * specific < ndtri(accuracy)[:, None]
        return accuracy, right.mean(axis=0)

    return make


def marked(low: float, high: float, shared: float) -> World:
    """Return the world with marks between 0 and 1: Beta(2 a, 2 - 2 a) for a model with accuracy a, here a mean."""
    from scipy.special import betaincinv, ndtr

    def make(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        mean = rng.uniform(low, high, MODELS)
        hardness = np.sqrt(shared) * rng.normal(size=size) + np.sqrt(1 - shared) * rng.normal(size=(MODELS, size))
        return mean, np.asarray(betaincinv(2 * mean[:, None], 2 - 2 * mean[:, None], ndtr(hardness)))

    return make


def assumed(rng: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    """Return the world that `statistics.posterior` assumes: c evenly from its priors, a mix of row types from the
    process.
    """
    mass = 4 * rng.choice(posterior.PRIORS)
    broken = rng.beta(1.0, mass, 2_000)
    share = broken * np.cumprod(np.append(1.0, 1 - broken[:-1]))
    share /= share.sum()
    types = rng.random((MODELS, len(share))) < 0.5
    return types @ share, types[:, rng.choice(len(share), size=size, p=share)].astype(np.float64)


WORLDS: dict[str, World] = {
    "as the model assumes": assumed,
    "50 to 99 %": graded(0.5, 0.99, 0.5),
    "50 to 99 %, nearly nested": graded(0.5, 0.99, 0.95),
    "70 to 90 %": graded(0.7, 0.9, 0.5),
    "50 to 99 %, the mean of 3 tries": graded(0.5, 0.99, 0.5, tries=3),
    "50 to 99 %, marks": marked(0.5, 0.99, 0.5),
    "70 to 90 %, marks": marked(0.7, 0.9, 0.5),
}
"""Accuracies of the models -> what makes such a world."""


SPREADS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
"""Ranges of accuracies, around 75 %."""

SIZES = (3, 5, 8, 20)
"""Numbers of models."""

SURE = (0.8, 0.95)
"""Probabilities of the pairs that are counted by range and number of models."""

SEEN = 0.002
"""A class with a smaller share of the pairs is left out; it holds too few to say anything."""


@dataclass(frozen=True)
class Judgement:
    """Statements of decisions on drawn rows, and the truth.

    Attributes:
        given: probability of the likelier model of each pair with a true order, 1/2 or more; all worlds in one.
        right: whether it is the better one; 1/2 where the probability is.
        best_given: (worlds,) probability that the model most likely to be best is.
        best_right: (worlds,) whether it is.
    """

    given: Floats
    right: Floats
    best_given: Floats
    best_right: Floats

    def inside(self, low: float, high: float) -> Bools:
        """Return whether each pair has a probability from low to below high, without the exact halves."""
        return np.asarray((self.given >= low) & (self.given < high) & (self.given > 0.5))


def judged(worlds: Sequence[tuple[Floats, Floats]], rng: np.random.Generator) -> Judgement:
    """Decide on each world's rows, and look up the truth.

    Args:
        worlds: of each, (M,) the true accuracies and (M, K) the outcomes.
        rng: the only source of randomness.
    """
    given, right, best_given, best_right = [], [], [], []
    for truth, outcomes in worlds:
        better = p_better(truth, outcomes)
        given.append(np.maximum(better, 1 - better))
        right.append((np.sign(better - 0.5) + 1) / 2)
        chances = rows.draw(RowEvidence.of_means(outcomes), rng, rows.CHUNK).best()
        best_given.append(chances.max())
        best_right.append(truth[chances.argmax()] == truth.max())
    return Judgement(
        np.concatenate(given), np.concatenate(right), np.array(best_given), np.array(best_right, dtype=float)
    )


def p_better(truth: Floats, outcomes: Floats) -> Floats:
    """Return (P,) probabilities that the decision gives the better model of each pair."""
    first, second = np.nonzero(truth[:, None] > truth)
    return np.asarray(posterior.more_accurate(outcomes)[first, second])


def draw_examples(ranking: Ranking, probe: int, repeats: int, rng: np.random.Generator) -> list[Ints]:
    """Draws of K of an evaluation's examples, without replacement."""
    return [rng.choice(len(ranking.table.examples), size=probe, replace=False) for _ in range(repeats)]


def accuracies_and_outcomes(ranking: Ranking) -> tuple[Floats, Floats]:
    """Return (M,) the true accuracies of an evaluation's models and (M, N) their outcomes.

    Raises:
        ValueError: the ranking is a decision.
    """
    if ranking.table.truth is None:
        raise ValueError("calibration needs an evaluation")
    return ranking.table.truth, ranking.table.outcomes


def pairwise_accuracies(ranking: Ranking, draws: Sequence[Ints]) -> dict[str, float]:
    """Method -> its pairwise accuracy, the share of pairs that it puts right on these draws; a tie counts one half."""
    truth, _ = accuracies_and_outcomes(ranking)
    first, second = np.nonzero(truth[:, None] > truth)
    names = [method.name for method in ranking.table.methods]
    designed = next((method.name for method in ranking.evaluation.methods if method.designed), None)
    means = engine.means(signed_scores(ranking.table), np.stack(draws))
    scores = {names[0]: means[:, 0]}
    for name, combined_with in combined.names(names, designed).items():
        scores[name] = combined.scores(name, means[:, 0], means[:, names.index(combined_with)])
    apart = {name: score[first] - score[second] for name, score in scores.items()}
    return {name: float(((np.sign(lead) * (abs(lead) > TIE) + 1) / 2).mean()) for name, lead in apart.items()}


def calibration(judgements: dict[str, Judgement]) -> Iterator[str]:
    """Yield a table of the share in which the likelier model was better, by its stated probability."""
    yield "| P(A > B) | " + " | ".join(judgements) + " |"
    yield "|---" * (1 + len(judgements)) + "|"
    for low, high in zip(TENTHS, TENTHS[1:], strict=False):
        cells = [cell(judgement, judgement.inside(low, high)) for judgement in judgements.values()]
        if any(cells):
            yield f"| {100 * low:.0f} to {min(100 * high, 100):.0f} % | " + " | ".join(cells) + " |"
    halves = [f"{(judgement.given == 0.5).mean():.1%} of pairs" for judgement in judgements.values()]
    yield "| 1/2: a tie | " + " | ".join(halves) + " |"


def by_spread(probe: int, repeats: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield a table of the same by the range of accuracies and the number of models, of pairs given 80 to 95 %."""
    yield "| models | " + " | ".join(f"{100 * spread:.0f} points" for spread in SPREADS) + " |"
    yield "|---" * (1 + len(SPREADS)) + "|"
    for models in SIZES:
        cells = []
        for spread in SPREADS:
            make = graded(0.75 - spread / 2, 0.75 + spread / 2, 0.5, models=models)
            better = np.concatenate([p_better(*make(rng, probe)) for _ in range(6 * repeats // models)])
            judgement = Judgement(
                np.maximum(better, 1 - better), np.sign(better - 0.5) / 2 + 0.5, np.zeros(0), np.zeros(0)
            )
            cells.append(cell(judgement, judgement.inside(*SURE)))
        yield f"| {models} | " + " | ".join(cells) + " |"


def cell(judgement: Judgement, inside: Bools) -> str:
    """Return the stated and the true share of some pairs; empty where there are next to none."""
    if inside.mean() < SEEN:
        return ""
    return (
        f"{judgement.given[inside].mean():.1%}: **{judgement.right[inside].mean():.1%}** ({inside.mean():.1%} of pairs)"
    )


def first_places(judgement: Judgement) -> str:
    """Summarize P(best)."""
    return (
        f"P(best) of the model most likely to be best: {judgement.best_given.mean():.0%} on average; it was the best "
        f"in {judgement.best_right.mean():.0%} of the draws."
    )


def of_suite(ranking: Ranking, probe: int, repeats: int, rng: np.random.Generator) -> Iterator[str]:
    """Summarize one evaluated suite."""
    truth, outcomes = accuracies_and_outcomes(ranking)
    draws = draw_examples(ranking, probe, repeats, rng)
    judgement = judged([(truth, outcomes[:, draw]) for draw in draws], rng)
    first, second = np.nonzero(truth[:, None] > truth)
    gained = posterior.gains(outcomes)
    lost = gained[second, first].sum() / (gained[first, second] + gained[second, first]).sum()
    tied = []
    for draw in draws:
        order = np.argsort(-outcomes[:, draw].mean(axis=1), kind="stable")
        tied.append(len(tied_groups(posterior.more_accurate(outcomes[order][:, draw]).tolist(), posterior.LEVEL)))
    yield f"## {ranking.header.suite} on {ranking.header.ood}"
    yield ""
    accuracies = ", ".join(f"{100 * accuracy:.1f}" for accuracy in sorted(truth))
    yield (
        f"{len(truth)} models, factors by {ranking.header.attribution}, true accuracies {accuracies} %. Where two of "
        f"them disagree, the worse one is right in {lost:.0%} of cases."
    )
    yield ""
    yield from calibration({"given: right": judgement})
    yield ""
    shares = ", ".join(f"{name} {share:.1%}" for name, share in pairwise_accuracies(ranking, draws).items())
    yield (
        f"{first_places(judgement)} Groups of models that cannot be told apart: {np.mean(tied):.1f} on average. Pairs "
        f"in the right order: {shares}."
    )
    yield ""


def report(rankings: Sequence[Ranking], probe: int, repeats: int, seed: int) -> Iterator[str]:
    """Yield the page, line by line."""
    rng = np.random.default_rng(seed)
    yield "# Calibration of decisions"
    yield ""
    yield (
        f"{repeats:,} times {probe} labelled rows each (`python -m benchmarks.calibration`, seed {seed}). "
        "[STATISTICS.md](../STATISTICS.md) defines the probabilities. Nothing in them was fitted to these suites. A "
        "cell holds the mean probability, and **how often the likelier model is the better one**. The two are equal if "
        "the decision is calibrated."
    )
    yield ""
    yield "## Simulated worlds"
    yield ""
    yield f"{MODELS} models, with new true accuracies each time. Marks are outcomes between 0 and 1."
    yield ""
    judgements = {}
    for name, make in WORLDS.items():
        judgements[name] = judged([make(rng, probe) for _ in range(repeats)], rng)
    yield from calibration(judgements)
    yield ""
    for name, judgement in judgements.items():
        yield f"- {name}: {first_places(judgement)}"
    yield ""
    yield "Pairs given 80 to 95 %, by the number of models and the range of their accuracies, around 75 %:"
    yield ""
    yield from by_spread(probe, repeats, np.random.default_rng(seed))
    yield ""
    for ranking in rankings:
        yield from of_suite(ranking, probe, repeats, np.random.default_rng(seed))


def main() -> None:
    """Read the rankings, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rankings", nargs="*", type=Path, help="files written by Ranking.save")
    parser.add_argument("--probe", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rankings = [Ranking.load(path) for path in options.rankings]
    print("\n".join(report(rankings, options.probe, options.repeats, options.seed)).rstrip())


if __name__ == "__main__":
    main()
