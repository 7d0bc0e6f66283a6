"""How often each ranking method puts two models in their true order: exactly where it can be had, else from draws.

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
"""Grid points that a point of the learning curve is worth, to `exact`; what needs more is drawn."""

Draws: TypeAlias = "int | Literal['exact']"


@dataclass(frozen=True)
class Ranked:
    """Which methods rank: those of the table, and those that combine two of them.

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
        """The methods over a table's columns; combined ones use the factor designed for the set."""
        names = tuple(column.name for column in columns)
        mixed = {name: names.index(other) for name, other in combined.names(names, designed).items()}
        return cls(names, tuple(column.kind for column in columns), mixed)

    @property
    def derived(self) -> dict[str, Kind]:
        """The methods that are no columns of the table: name -> kind."""
        return dict.fromkeys(self.mixed, "combined")


@dataclass(frozen=True)
class MethodAgreement:
    """What was found of each method (F of them, those of no column last).

    Attributes:
        names, kinds: (F,) of the methods.
        beats: (P, F) probability that the first model of a pair is put above the second, a tie counting one half.
        influence: (F, N) derivative of each pairwise accuracy with respect to the examples' weights; 0 where these are
            not all that it varies by.
        noise: (F,) what else there is to the variance of the pairwise accuracy, or to be taken off: see
            `intervals.variance`.
        noise_of_difference: (F,) the same for its difference to the metric, the first method.
        sampled: method -> how few draws, or pools, it was measured by, and the standard error that they leave; the
            others were measured exactly, or by so many draws that these do not matter.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    beats: Floats
    influence: Floats
    noise: Floats
    noise_of_difference: Floats
    sampled: Mapping[str, tuple[int, float]] = field(default_factory=dict)

    def joined(self, other: MethodAgreement) -> MethodAgreement:
        """Add what was found of other methods on the same pairs."""
        return MethodAgreement(
            names=(*self.names, *other.names),
            kinds=(*self.kinds, *other.kinds),
            beats=np.concatenate([self.beats, other.beats], axis=1),
            influence=np.concatenate([self.influence, other.influence]),
            noise=np.concatenate([self.noise, other.noise]),
            noise_of_difference=np.concatenate([self.noise_of_difference, other.noise_of_difference]),
            sampled={**self.sampled, **other.sampled},
        )

    def beside(self, other: MethodAgreement) -> MethodAgreement:
        """The same, by no draws or by others than those behind another's metric.

        What draws change in that metric comes on top of what varies in their difference to it.
        """
        return replace(self, noise_of_difference=self.noise_of_difference + other.noise[0])

    def with_coins(self, names: Sequence[str]) -> MethodAgreement:
        """Add methods that are right half of the time by construction, behind those of the table."""
        at = [sum(kind in ("baseline", "factor") for kind in self.kinds)] * len(names)
        coins: list[Kind] = ["baseline"] * len(names)
        return replace(
            self,
            names=(*self.names[: at[0]], *names, *self.names[at[0] :]),
            kinds=(*self.kinds[: at[0]], *coins, *self.kinds[at[0] :]),
            beats=np.insert(self.beats, at, 0.5, axis=1),
            influence=np.insert(self.influence, at, 0.0, axis=0),
            noise=np.insert(self.noise, at, 0.0),
            noise_of_difference=np.insert(self.noise_of_difference, at, self.noise[0]),
        )


def measure(
    values: Floats, ranked: Ranked, probe: int, count: Draws, decided: Bools, rng: np.random.Generator
) -> tuple[MethodAgreement, dict[str, int]]:
    """Rank by every method from every probe there is, or from B drawn ones.

    Derived methods are no means and are always drawn. They are measured by their difference to the metric on the same
    draws, which has little noise; it is added to what the metric has over all probes.

    Args:
        values: (M, F, N) scores, higher is better; the models in their true order.
        ranked: the methods.
        probe: K.
        count: how many draws, B, or "exact": all that there are.
        decided: (P,) pairs that have a true order.
        rng: the only source of randomness.

    Returns:
        What was found; and method -> number of pairs whose exact probability could not be had and was drawn.
    """
    examples = values.shape[2]
    draws = engine.draw_probes(rng, examples, probe, MANY if count == "exact" else max(count, MANY))
    influence, mixed = influences(values, ranked, probe, decided, draws)
    excess = np.zeros(len(ranked.names))  # what the noise of draws adds to the influences
    if mixed is not None:
        excess = np.concatenate([excess, probe * mixed.pairwise_accuracy.var(axis=1) / len(draws)])
    if count == "exact":
        beats, drawn = _exact(values, ranked, probe, decided, draws)
        noise = noise_of_difference = np.zeros(len(ranked.names))
        if mixed is not None:
            beats = _add(beats, mixed.beats)
            noise = noise_of_difference = np.concatenate([noise, mixed.pairwise_accuracy.var(axis=1) / len(draws)])
    else:
        found, drawn = engine.simulate(values, draws[:count], decided, _deriver(ranked)), {}
        pairwise_accuracy = found.pairwise_accuracy
        beats, noise = found.beats, intervals.of_draws(pairwise_accuracy)
        noise_of_difference = intervals.of_draws(pairwise_accuracy - pairwise_accuracy[0])
        noise_of_difference[0] = 0.0  # also where one draw shows nothing of the others
    found_of_all = MethodAgreement(
        names=(*ranked.names, *ranked.derived),
        kinds=(*ranked.kinds, *ranked.derived.values()),
        beats=beats,
        influence=influence,
        noise=noise - excess,
        noise_of_difference=noise_of_difference - excess,
    )
    return found_of_all, drawn


def influences(
    values: Floats, ranked: Ranked, probe: int, decided: Bools, draws: Ints
) -> tuple[Floats, engine.Simulation | None]:
    """How much each example weighs in each pairwise accuracy, over all probes; of derived methods from draws.

    Args:
        values, ranked, probe, decided: as for `measure`.
        draws: (B, K) the examples that each draw shows.

    Returns:
        (F, N) derivatives with respect to the examples' weights, those of the derived methods last; and what the draws
        show of these minus the metric, None where there are none.
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
    """Each method's pairwise accuracy with probes of another size, a point of the learning curve.

    Args:
        values, ranked, decided, rng: as for `measure`.
        size: K.
    """
    draws = engine.draw_probes(rng, values.shape[2], size, MANY // 4)
    beats, _ = _exact(values, ranked, size, decided, draws, ROUGHLY)
    mixed = _differences(values, ranked, draws, decided)
    if mixed is not None:
        beats = _add(beats, mixed.beats)
    return dict(zip((*ranked.names, *ranked.derived), beats[decided].mean(axis=0).tolist(), strict=True))


def _exact(
    values: Floats, ranked: Ranked, size: int, decided: Bools, draws: Ints, worth: int = exact.WORTH
) -> tuple[Floats, dict[str, int]]:
    """(P, F) exact probabilities; those that no grid is fine enough for are taken from the draws, and counted."""
    beats = exact.probabilities(values, size, worth)
    unknown = np.isnan(beats)
    columns = np.flatnonzero(unknown.any(axis=0))
    if len(columns):
        drawn = engine.simulate(values[:, columns], draws, decided).beats
        beats[:, columns] = np.where(unknown[:, columns], drawn, beats[:, columns])
    return beats, {ranked.names[f]: int(unknown[:, f].sum()) for f in columns}


def _deriver(ranked: Ranked) -> engine.Derive:
    """Of (M, F, b) means of draws, and these, the same with the derived methods' scores appended to the F."""

    def derive(means: Floats, draws: Ints) -> Floats:
        extra = [combined.scores(name, means[:, 0], means[:, column]) for name, column in ranked.mixed.items()]
        return np.concatenate([means, np.stack(extra, axis=1)], axis=1) if extra else means

    return derive


def _differences(values: Floats, ranked: Ranked, draws: Ints, decided: Bools) -> engine.Simulation | None:
    """What draws show of the derived methods minus the metric; None where there are none."""
    if not ranked.derived:
        return None
    columns = sorted({0, *ranked.mixed.values()})
    part = replace(
        ranked,
        names=tuple(ranked.names[column] for column in columns),
        kinds=tuple(ranked.kinds[column] for column in columns),
        mixed={name: columns.index(column) for name, column in ranked.mixed.items()},
    )
    found = engine.simulate(values[:, columns], draws, decided, _deriver(part))
    beats, pairwise_accuracy = found.beats, found.pairwise_accuracy
    last = len(columns)
    lead = pairwise_accuracy[last:] - pairwise_accuracy[0]
    return engine.Simulation(beats[:, last:] - beats[:, :1], lead)


def _add(beats: Floats, differences: Floats) -> Floats:
    """Append the derived methods: what the metric has, and their difference to it."""
    return np.concatenate([beats, np.clip(beats[:, :1] + differences, 0.0, 1.0)], axis=1)
