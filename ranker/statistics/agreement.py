"""How often each ranking method puts two models in their true order: exactly where it can be had, else from draws.

Axis letters as in `engine`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from factors.registry import Factor
from factors.types import Bools, Floats, Ints
from ranker.statistics import combined, engine, exact, intervals, surrogate
from ranker.statistics.methods import SURROGATE, Kind
from ranker.statistics.pool import Pool

MANY = 20_000
"""Draws behind whatever cannot be had exactly; their own noise is then below a tenth of what the examples add."""

ROUGHLY = 2**20
"""Grid points that a point of the learning curve is worth, to `exact`; what needs more is drawn."""

Draws: TypeAlias = "int | Literal['exact']"


@dataclass(frozen=True)
class Plan:
    """Which methods rank: those of the table, those that combine two of them, and SURROGATE, which sees a pool.

    Attributes:
        names: (F,) the table's methods.
        kinds: (F,) their kinds.
        mixed: combined method -> the column of what ACC is combined with.
        pool: what the models make of the N examples; None leaves SURROGATE out.
        labels: (N,) their labels, of which a draw shows K.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    mixed: Mapping[str, int]
    pool: Pool | None = None
    labels: Ints | None = None

    @classmethod
    def of(
        cls, methods: Sequence[Factor], designed: str | None, pool: Pool | None = None, labels: Ints | None = None
    ) -> Plan:
        """The plan for a table's methods; combined methods use the factor designed for the set.

        What is derived from a draw is measured by its difference to ACC, so that nothing is where ACC is not.
        """
        names = tuple(method.name for method in methods)
        mixed = {name: names.index(other) for name, other in combined.names(names, designed).items()}
        return cls(names, tuple(method.kind for method in methods), mixed, pool if "ACC" in names else None, labels)

    @property
    def derived(self) -> dict[str, Kind]:
        """The methods that are no columns of the table: name -> kind."""
        kinds: dict[str, Kind] = dict.fromkeys(self.mixed, "combined")
        return kinds if self.pool is None else {**kinds, SURROGATE: "pool"}

    @property
    def acc(self) -> int | None:
        """The column of ACC; there is one wherever something is derived."""
        return self.names.index("ACC") if "ACC" in self.names else None


@dataclass(frozen=True)
class Agreement:
    """What was found of each method (F of them, those of no column last).

    Attributes:
        names, kinds: (F,) of the methods.
        beats: (P, F) probability that the first model of a pair is put above the second, a tie counting one half.
        influence: (F, N) derivative of each pairwise accuracy with respect to the examples' weights; 0 where these are
            not all that it varies by.
        noise: (F,) what else there is to the variance of the pairwise accuracy, or to be taken off: see
            `intervals.variance`.
        noise_vs_acc: (F,) the same for its difference to ACC; nan without ACC.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    beats: Floats
    influence: Floats
    noise: Floats
    noise_vs_acc: Floats

    @property
    def acc(self) -> int | None:
        """The column of ACC."""
        return self.names.index("ACC") if "ACC" in self.names else None

    def joined(self, other: Agreement) -> Agreement:
        """Add what was found of other methods on the same pairs, by no draws or by others than ACC's.

        What draws change in ACC comes on top of what varies in their difference to it.
        """
        of_acc = 0.0 if self.acc is None else self.noise[self.acc]
        return Agreement(
            names=(*self.names, *other.names),
            kinds=(*self.kinds, *other.kinds),
            beats=np.concatenate([self.beats, other.beats], axis=1),
            influence=np.concatenate([self.influence, other.influence]),
            noise=np.concatenate([self.noise, other.noise]),
            noise_vs_acc=np.concatenate([self.noise_vs_acc, other.noise_vs_acc + of_acc]),
        )

    def varying(self, name: str, variance: float, variance_vs_acc: float) -> Agreement:
        """Give a method without influences its variance over populations, and that of its difference to ACC."""
        at = np.array(self.names) == name
        of_acc = 0.0 if self.acc is None else intervals.variance(self.influence[[self.acc]], np.zeros(1))[0]
        return replace(
            self,
            noise=self.noise + at * variance,
            noise_vs_acc=self.noise_vs_acc + at * (variance_vs_acc - of_acc),
        )

    def with_coins(self, names: Sequence[str]) -> Agreement:
        """Add methods that are right half of the time by construction, behind those of the table."""
        at = [sum(kind in ("baseline", "factor") for kind in self.kinds)] * len(names)
        coins: list[Kind] = ["baseline"] * len(names)
        return Agreement(
            names=(*self.names[: at[0]], *names, *self.names[at[0] :]),
            kinds=(*self.kinds[: at[0]], *coins, *self.kinds[at[0] :]),
            beats=np.insert(self.beats, at, 0.5, axis=1),
            influence=np.insert(self.influence, at, 0.0, axis=0),
            noise=np.insert(self.noise, at, 0.0),
            noise_vs_acc=np.insert(self.noise_vs_acc, at, np.nan if self.acc is None else self.noise[self.acc]),
        )


def measure(
    values: Floats, plan: Plan, probe: int, count: Draws, decided: Bools, rng: np.random.Generator
) -> tuple[Agreement, dict[str, int]]:
    """Rank by every method from every probe there is, or from B drawn ones.

    Derived methods are no means and are always drawn. They are measured by their difference to ACC on the same draws,
    which has little noise; it is added to what ACC has over all probes.

    Args:
        values: (M, F, N) scores, higher is better; the models in their true order.
        plan: the methods.
        probe: K.
        count: how many draws, B, or "exact": all that there are.
        decided: (P,) pairs that have a true order.
        rng: the only source of randomness.

    Returns:
        What was found; and method -> number of pairs whose exact probability could not be had and was drawn.
    """
    examples = values.shape[2]
    draws = engine.draw_probes(rng, examples, probe, MANY if count == "exact" else max(count, MANY))
    influence, mixed = influences(values, plan, probe, decided, draws)
    excess = np.zeros(len(plan.names))  # what the noise of draws adds to the influences
    if mixed is not None:
        excess = np.concatenate([excess, probe * mixed.pairwise_accuracy.var(axis=1) / len(draws)])
        if plan.pool is not None:
            excess[-1] = 0.0  # SURROGATE has no influences
    if count == "exact":
        beats, drawn = _exact(values, plan, probe, decided, draws)
        noise = noise_vs_acc = np.zeros(len(plan.names))
        if mixed is not None:
            beats = _add(beats, plan, mixed.beats)
            noise = noise_vs_acc = np.concatenate([noise, mixed.pairwise_accuracy.var(axis=1) / len(draws)])
    else:
        found, drawn = engine.simulate(values, draws[:count], decided, _deriver(plan)), {}
        pairwise_accuracy = found.pairwise_accuracy
        beats, noise = found.beats, intervals.of_draws(pairwise_accuracy)
        noise_vs_acc = np.full_like(noise, np.nan)
        if plan.acc is not None:
            noise_vs_acc = intervals.of_draws(pairwise_accuracy - pairwise_accuracy[plan.acc])
            noise_vs_acc[plan.acc] = 0.0  # also where one draw shows nothing of the others
    found_of_all = Agreement(
        names=(*plan.names, *plan.derived),
        kinds=(*plan.kinds, *plan.derived.values()),
        beats=beats,
        influence=influence,
        noise=noise - excess,
        noise_vs_acc=noise_vs_acc - excess,
    )
    return found_of_all, drawn


def influences(
    values: Floats, plan: Plan, probe: int, decided: Bools, draws: Ints
) -> tuple[Floats, engine.Simulation | None]:
    """How much each example weighs in each pairwise accuracy, over all probes; of derived methods from draws.

    Args:
        values, plan, probe, decided: as for `measure`.
        draws: (B, K) the examples that each draw shows.

    Returns:
        (F, N) derivatives with respect to the examples' weights, those of the derived methods last; and what the draws
        show of these minus ACC, None where there are none.
    """
    influence = exact.influence(values, probe, decided, draws)
    mixed = _differences(values, plan, draws, decided)
    if mixed is not None:
        added = influence[plan.acc] + intervals.drawn_influence(mixed.pairwise_accuracy, draws, values.shape[2])
        if plan.pool is not None:
            added[-1] = 0.0  # the pool varies with the examples, too: `pooled.variances`
        influence = np.concatenate([influence, added])
    return influence, mixed


def pairwise_accuracies(
    values: Floats, plan: Plan, size: int, decided: Bools, rng: np.random.Generator
) -> dict[str, float]:
    """Each method's pairwise accuracy with probes of another size, a point of the learning curve.

    Args:
        values, plan, decided, rng: as for `measure`.
        size: K.
    """
    draws = engine.draw_probes(rng, values.shape[2], size, MANY // 4)
    beats, _ = _exact(values, plan, size, decided, draws, ROUGHLY)
    mixed = _differences(values, plan, draws, decided)
    if mixed is not None:
        beats = _add(beats, plan, mixed.beats)
    return dict(zip((*plan.names, *plan.derived), beats[decided].mean(axis=0).tolist(), strict=True))


def _exact(
    values: Floats, plan: Plan, size: int, decided: Bools, draws: Ints, worth: int = exact.WORTH
) -> tuple[Floats, dict[str, int]]:
    """(P, F) exact probabilities; those that no grid is fine enough for are taken from the draws, and counted."""
    beats = exact.probabilities(values, size, worth)
    unknown = np.isnan(beats)
    columns = np.flatnonzero(unknown.any(axis=0))
    if len(columns):
        drawn = engine.simulate(values[:, columns], draws, decided).beats
        beats[:, columns] = np.where(unknown[:, columns], drawn, beats[:, columns])
    return beats, {plan.names[f]: int(unknown[:, f].sum()) for f in columns}


def _deriver(plan: Plan) -> engine.Derive:
    """Of (M, F, b) means of draws, and these, the same with the derived methods' scores appended to the F."""

    def derive(means: Floats, draws: Ints) -> Floats:
        extra = [combined.scores(name, means[:, plan.acc], means[:, column]) for name, column in plan.mixed.items()]
        if plan.pool is not None and plan.labels is not None:
            extra.append(surrogate.estimates(plan.pool, plan.labels, draws))
        return np.concatenate([means, np.stack(extra, axis=1)], axis=1) if extra else means

    return derive


def _differences(values: Floats, plan: Plan, draws: Ints, decided: Bools) -> engine.Simulation | None:
    """What draws show of the derived methods minus ACC; None where there are none."""
    if not plan.derived:
        return None
    columns = sorted({plan.names.index("ACC"), *plan.mixed.values()})
    part = Plan(
        names=tuple(plan.names[column] for column in columns),
        kinds=tuple(plan.kinds[column] for column in columns),
        mixed={name: columns.index(column) for name, column in plan.mixed.items()},
        pool=plan.pool,
        labels=plan.labels,
    )
    found = engine.simulate(values[:, columns], draws, decided, _deriver(part))
    beats, pairwise_accuracy = found.beats, found.pairwise_accuracy
    acc, last = part.names.index("ACC"), len(columns)
    lead = pairwise_accuracy[last:] - pairwise_accuracy[acc]
    return engine.Simulation(beats[:, last:] - beats[:, acc, None], lead)


def _add(beats: Floats, plan: Plan, differences: Floats) -> Floats:
    """Append the derived methods: what ACC has, and their difference to it."""
    acc = plan.names.index("ACC")
    return np.concatenate([beats, np.clip(beats[:, acc, None] + differences, 0.0, 1.0)], axis=1)
