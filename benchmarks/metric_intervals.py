"""How often 95 % intervals hold the truth, of metrics that are no means over rows.

    python -m benchmarks.metric_intervals --repeats 2000 --seed 63

Rows are drawn from worlds whose truth is known: shares of the labels, and how often a model takes one for another. Two
models answer the same rows; the second answers as the first does on some of them, and by itself on the others. *Plain*
is without the row that may have been missed. Also: how often the swap test has p <= 0.05 where
the two models are equally good.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.resampling import intervals, swap_test
from ranker.tasks.metrics import Metric, metric_named

SEED = 63
"""Of what is reported; anything that was tried before was tried with others."""

SIZES = (30, 100, 1_000)
"""Rows."""

NUMBERS = (10, 30, 100)
"""Rows with numbers, which take longer: no two are alike."""

METRICS = ("macro-f1", "mcc")


@dataclass(frozen=True)
class LabelWorld:
    """A domain, and how a model answers in it.

    Attributes:
        shares: (C,) of the labels.
        taken: (C, C) how often a row of the one label is answered by the other.
        alike: how often the second model answers as the first; else it draws an answer of its own from `taken`, so that
            the two are equally good.
    """

    shares: Floats
    taken: Floats
    alike: float = 0.8

    @property
    def labels(self) -> tuple[str, ...]:
        """(C,) names."""
        return tuple(f"label {n}" for n in range(len(self.shares)))

    def truth(self, metric: Metric) -> float:
        """Return the metric in the domain."""
        label, answer = (indices.ravel() for indices in np.indices(self.taken.shape))
        mass = (self.shares[:, None] * self.taken).ravel()
        return float(metric.value(mass @ metric.statistics(answer, label)))

    def drawn(self, rows: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return (2, N) answers and (N,) labels."""
        labels = rng.choice(len(self.shares), rows, p=self.shares)
        ends = self.taken.cumsum(axis=1)[labels]
        first, second = ((rng.random((rows, 1)) > ends[:, :-1]).sum(axis=1) for _ in range(2))
        return np.stack([first, np.where(rng.random(rows) < self.alike, first, second)]), labels


WORLDS = {
    "2 labels": LabelWorld(np.array([0.7, 0.3]), np.array([[0.85, 0.15], [0.35, 0.65]])),
    "3 labels": LabelWorld(
        np.array([0.5, 0.3, 0.2]), np.array([[0.8, 0.15, 0.05], [0.15, 0.7, 0.15], [0.1, 0.3, 0.6]])
    ),
    "nearly all right": LabelWorld(np.array([0.8, 0.2]), np.array([[0.97, 0.03], [0.1, 0.9]])),
    "a rare label": LabelWorld(np.array([0.4, 0.25, 0.2, 0.1, 0.05]), 0.7 * np.eye(5) + 0.06),
}
"""Of the first two it was said beforehand how often intervals are to hold the truth."""


@dataclass(frozen=True)
class Held:
    """Coverage of intervals: shares of the repeats.

    Attributes:
        inside: it did.
        above: the interval lies above the truth.
        below: it lies below.
        none: there was no interval.
        width: the mean.
    """

    inside: float
    above: float
    below: float
    none: float
    width: float

    @classmethod
    def of(cls, ends: Floats, truth: float) -> Held:
        """Summarize (R, 2) lower and upper ends."""
        low, high = ends.T
        inside, none = (low <= truth) & (truth <= high), np.isnan(low)
        width = float((high - low)[~none].mean()) if not none.all() else np.nan
        shares = [float(share.mean()) for share in (inside, low > truth, high < truth, none)]
        return cls(shares[0], shares[1], shares[2], shares[3], width)

    def __str__(self) -> str:
        missed = f", no interval {self.none:.1%}" if self.none else ""
        if self.none == 1:
            return "none"
        return f"**{self.inside:.1%}** ({self.above:.1%} above, {self.below:.1%} below{missed}; {self.width:.3f})"


@dataclass(frozen=True)
class WorldResult:
    """Results of one world.

    Attributes:
        plain, value, difference: intervals of one model without the row that may have been missed, and with it; and of
            the difference of two.
        rejected: how often the swap test has p <= 0.05 of two equally good models.
    """

    plain: Held
    value: Held
    difference: Held
    rejected: float


def of_labels(world: LabelWorld, name: str, rows: int, repeats: int, rng: np.random.Generator) -> WorldResult:
    """Draw rows again and again, and look up the truth."""
    metric = metric_named(name, world.labels)
    plain, value, difference, p = [], [], [], []
    for _ in range(repeats):
        answers, labels = world.drawn(rows, rng)
        statistics = np.stack([metric.statistics(predicted, labels) for predicted in answers])
        unseen = metric.unseen(labels)
        plain.extend(intervals(statistics[:1], metric.value, None, [(0,)], rng))
        value.extend(intervals(statistics[:1], metric.value, unseen, [(0,)], rng))
        difference.extend(intervals(statistics, metric.value, unseen, [(0, 1)], rng))
        p.append(swap_test(statistics, metric.value, rng)[0])
    truth = world.truth(metric)
    return WorldResult(
        Held.of(np.array(plain), truth),
        Held.of(np.array(value), truth),
        Held.of(np.array(difference), 0.0),
        float(np.mean(np.array(p) <= 0.05)),
    )


CORRELATION = 0.8

TRUTHS: dict[str, Callable[[float], float]] = {
    "pearson": lambda r: r,
    "spearman": lambda r: float(6 / np.pi * np.arcsin(r / 2)),
}
"""Of two normal variables with that correlation."""


def of_numbers(name: str, rows: int, repeats: int, rng: np.random.Generator) -> tuple[Held, Held]:
    """Return the same of normal numbers: of one model, and of two equally good ones."""
    metric, noise = metric_named(name), np.sqrt(1 / CORRELATION**2 - 1)
    value, difference = [], []
    for _ in range(repeats):
        targets = rng.normal(size=rows)
        statistics = np.stack([metric.statistics(targets + noise * rng.normal(size=rows), targets) for _ in range(2)])
        value.extend(intervals(statistics[:1], metric.value, None, [(0,)], rng))
        difference.extend(intervals(statistics, metric.value, None, [(0, 1)], rng))
    return Held.of(np.array(value), TRUTHS[name](CORRELATION)), Held.of(np.array(difference), 0.0)


def report(repeats: int, seed: int) -> Iterator[str]:
    """Yield the tables, line by line."""
    yield f"{repeats:,} times each, seed {seed}: held the truth (interval above it, below it; mean width)."
    yield ""
    yield "| world | metric | rows | plain, one model | one model | difference of two | p <= 0.05 |"
    yield "|---" * 7 + "|"
    for place, (title, world) in enumerate(WORLDS.items()):
        for name in METRICS:
            for rows in SIZES:
                rng = np.random.default_rng([seed, place, METRICS.index(name), rows])
                measured = of_labels(world, name, rows, repeats, rng)
                cells = (
                    title,
                    name,
                    rows,
                    measured.plain,
                    measured.value,
                    measured.difference,
                    f"{measured.rejected:.1%}",
                )
                yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    yield f"| normal numbers, correlation {CORRELATION} | rows | one model | difference of two |"
    yield "|---" * 4 + "|"
    for name in TRUTHS:
        for rows in NUMBERS:
            rng = np.random.default_rng([seed, [*TRUTHS].index(name), rows])
            yield f"| {name} | {rows} | {' | '.join(map(str, of_numbers(name, rows, repeats, rng)))} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    for line in report(options.repeats, options.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
