"""Pairwise accuracy of each ranking method: exact where possible, else from draws.

Axis letters as in `engine`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from factors.registry import Factor
from factors.types import Bools, Floats, Ints
from ranker.statistics import combined, engine, exact, intervals
from ranker.statistics.pool import MANY, Kind

ROUGHLY = 2**20
"""Most grid points of `exact` for a point of the learning curve; probabilities that need more are drawn."""

Draws: TypeAlias = "int | Literal['exact']"


@dataclass(frozen=True)
class Ranked:
    """Methods that rank: those of the table, and those that combine two of them.

    Attributes:
        names: (F,) the table's methods, the metric first.
        kinds: (F,) their kinds.
        mixed: combined method -> the column of what the metric is combined with.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    mixed: Mapping[str, int]

    @classmethod
    def of(cls, columns: Sequence[Factor], designed: str | None) -> Ranked:
        """Return the methods over a table's columns; combined ones use the factor designed for the set."""
        names = tuple(column.name for column in columns)
        mixed = {name: names.index(combined_with) for name, combined_with in combined.names(names, designed).items()}
        return cls(names, tuple(column.kind for column in columns), mixed)

    @property
    def derived(self) -> dict[str, Kind]:
        """Methods that are no columns of the table: name -> kind."""
        return dict.fromkeys(self.mixed, "combined")


@dataclass(frozen=True)
class MethodAgreement:
    """Results of each method (F of them, those of no column last).

    Attributes:
        names, kinds: (F,) of the methods.
        beats: (P, F) probability that the first model of a pair is put above the second, a tie counting one half.
        influence: (F, N) derivative of each pairwise accuracy with respect to the examples' weights; 0 where it varies
            by more than these.
        noise: (F,) variance of the pairwise accuracy to be added, or subtracted: see `intervals.variance`.
        noise_of_difference: (F,) the same for its difference to the metric, the first method.
        sampled: method -> its few draws, or pools, and the standard error that they leave; the others were measured
            exactly, or by so many draws that these do not matter.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    beats: Floats
    influence: Floats
    noise: Floats
    noise_of_difference: Floats
    sampled: Mapping[str, tuple[int, float]] = field(default_factory=dict)

    def joined(self, added: MethodAgreement) -> MethodAgreement:
        """Add the results of other methods on the same pairs."""
        return MethodAgreement(
            names=(*self.names, *added.names),
            kinds=(*self.kinds, *added.kinds),
            beats=np.concatenate([self.beats, added.beats], axis=1),
            influence=np.concatenate([self.influence, added.influence]),
            noise=np.concatenate([self.noise, added.noise]),
            noise_of_difference=np.concatenate([self.noise_of_difference, added.noise_of_difference]),
            sampled={**self.sampled, **added.sampled},
        )

    def beside(self, metric: MethodAgreement) -> MethodAgreement:
        """Return these results, measured on other draws than another's metric, whose noise adds to the difference."""
        return replace(self, noise_of_difference=self.noise_of_difference + metric.noise[0])

    def with_coins(self, names: Sequence[str]) -> MethodAgreement:
        """Add methods that are right half of the time by construction, after those of the table."""
        places = [sum(kind in ("baseline", "factor") for kind in self.kinds)] * len(names)
        coins: list[Kind] = ["baseline"] * len(names)
        return replace(
            self,
            names=(*self.names[: places[0]], *names, *self.names[places[0] :]),
            kinds=(*self.kinds[: places[0]], *coins, *self.kinds[places[0] :]),
            beats=np.insert(self.beats, places, 0.5, axis=1),
            influence=np.insert(self.influence, places, 0.0, axis=0),
            noise=np.insert(self.noise, places, 0.0),
            noise_of_difference=np.insert(self.noise_of_difference, places, self.noise[0]),
        )


def measure(
    values: Floats, ranked: Ranked, probe: int, count: Draws, decided: Bools, rng: np.random.Generator
) -> tuple[MethodAgreement, dict[str, int]]:
    """Measure every method on all probes, or on B drawn ones.

    Derived methods are no means and are always drawn. They are measured by their difference to the metric on the same
    draws, which has little noise; it is added to the metric's result over all probes.

    Args:
        values: (M, F, N) scores, higher is better; the models in their true order.
        count: B, or "exact" for all probes.

    Returns:
        The results; and method -> number of pairs whose probability was drawn, since no exact one was available.
    """
    examples = values.shape[2]
    draws = engine.draw_probes(rng, examples, probe, MANY if count == "exact" else max(count, MANY))
    influence, mixed = influences(values, ranked, probe, decided, draws)
    excess = np.zeros(len(ranked.names))  # variance that the noise of draws adds to the influences
    if mixed is not None:
        excess = np.concatenate([excess, probe * mixed.pairwise_accuracy.var(axis=1) / len(draws)])
    if count == "exact":
        beats, drawn = _exact(values, ranked, probe, decided, draws)
        noise = noise_of_difference = np.zeros(len(ranked.names))
        if mixed is not None:
            beats = _add(beats, mixed.beats)
            noise = noise_of_difference = np.concatenate([noise, mixed.pairwise_accuracy.var(axis=1) / len(draws)])
    else:
        simulation, drawn = engine.simulate(values, draws[:count], decided, _deriver(ranked.mixed)), {}
        pairwise_accuracy = simulation.pairwise_accuracy
        beats, noise = simulation.beats, intervals.of_draws(pairwise_accuracy)
        noise_of_difference = intervals.of_draws(pairwise_accuracy - pairwise_accuracy[0])
        noise_of_difference[0] = 0.0  # also where one draw shows nothing of the others
    agreement = MethodAgreement(
        names=(*ranked.names, *ranked.derived),
        kinds=(*ranked.kinds, *ranked.derived.values()),
        beats=beats,
        influence=influence,
        noise=noise - excess,
        noise_of_difference=noise_of_difference - excess,
    )
    return agreement, drawn


def influences(
    values: Floats, ranked: Ranked, probe: int, decided: Bools, draws: Ints
) -> tuple[Floats, engine.Simulation | None]:
    """Return (F, N) influences of each example on each pairwise accuracy, over all probes; from draws if derived.

    They are derivatives with respect to the examples' weights, those of the derived methods last; with them are the
    draws' results of these minus the metric, None where there are none. The arguments are those of `measure`.
    """
    influence = exact.influence(values, probe, decided, draws)
    mixed = _differences(values, ranked, draws, decided)
    if mixed is not None:
        added = influence[0] + intervals.drawn_influence(mixed.pairwise_accuracy, draws, values.shape[2])
        influence = np.concatenate([influence, added])
    return influence, mixed


def pairwise_accuracies(
    values: Floats, ranked: Ranked, size: int, decided: Bools, rng: np.random.Generator
) -> dict[str, float]:
    """Return each method's pairwise accuracy with probes of another size, for a learning curve. See `measure`."""
    draws = engine.draw_probes(rng, values.shape[2], size, MANY // 4)
    beats, _ = _exact(values, ranked, size, decided, draws, ROUGHLY)
    mixed = _differences(values, ranked, draws, decided)
    if mixed is not None:
        beats = _add(beats, mixed.beats)
    return dict(zip((*ranked.names, *ranked.derived), beats[decided].mean(axis=0).tolist(), strict=True))


def _exact(
    values: Floats, ranked: Ranked, size: int, decided: Bools, draws: Ints, max_points: int = exact.MAX_TOTAL_POINTS
) -> tuple[Floats, dict[str, int]]:
    """Return (P, F) exact probabilities, from draws where they need too fine a grid, and counts of the latter."""
    beats = exact.probabilities(values, size, max_points)
    unknown = np.isnan(beats)
    columns = np.flatnonzero(unknown.any(axis=0))
    if len(columns):
        drawn = engine.simulate(values[:, columns], draws, decided).beats
        beats[:, columns] = np.where(unknown[:, columns], drawn, beats[:, columns])
    return beats, {ranked.names[f]: int(unknown[:, f].sum()) for f in columns}


def _deriver(mixed: Mapping[str, int]) -> engine.Derive:
    """Return a function that appends the derived methods' scores to (M, F, b) means of draws."""

    def derive(means: Floats, draws: Ints) -> Floats:
        extra = [combined.scores(name, means[:, 0], means[:, column]) for name, column in mixed.items()]
        return np.concatenate([means, np.stack(extra, axis=1)], axis=1) if extra else means

    return derive


def _differences(values: Floats, ranked: Ranked, draws: Ints, decided: Bools) -> engine.Simulation | None:
    """Simulate the derived methods minus the metric on draws; None where there are none."""
    if not ranked.derived:
        return None
    columns = sorted({0, *ranked.mixed.values()})
    mixed = {name: columns.index(column) for name, column in ranked.mixed.items()}
    simulation = engine.simulate(values[:, columns], draws, decided, _deriver(mixed))
    beats, pairwise_accuracy = simulation.beats, simulation.pairwise_accuracy
    last = len(columns)
    lead = pairwise_accuracy[last:] - pairwise_accuracy[0]
    return engine.Simulation(beats[:, last:] - beats[:, :1], lead)


def _add(beats: Floats, differences: Floats) -> Floats:
    """Append the derived methods: the metric's results, and their difference to it."""
    return np.concatenate([beats, np.clip(beats[:, :1] + differences, 0.0, 1.0)], axis=1)
