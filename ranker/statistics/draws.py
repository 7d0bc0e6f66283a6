"""Belief in several models' values in a domain, as draws of all of them together, and what follows from it.

Each kind of evidence has a sampler, a function of the evidence, a generator and S (0 for as many as `sample_count`
says) that returns `Draws`: `rows` for labelled rows, `vote` for labels and a pool, `likeness` for outcomes and a pool
of answers. Whatever is asked of a belief is asked here, and nowhere else. Axis letters as in `engine`, and S draws.

- Two models whose values in a draw are within `TIE` are level in it: each counts half to P(better), and models that are
  level at the top share P(best).
- Models that no evidence tells apart (`kinds`) differ in the draws by chance alone. So each has the mean over them of
  what the draws say, and each is better than the other with a probability of 1/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from factors.rounding import TIE, level
from factors.types import Bools, Floats, Ints
from ranker.statistics.forecast import Forecast, Outlook, forecast_labels

SAMPLES = 20_000
"""Draws behind a belief in a few models: probabilities are off by less than 0.01."""

CELLS = 2**22
"""Most values of a belief, draws x models: 32 MB. Of many models there are fewer draws."""

WEIGHTS = 2**30
"""Most weights of rows behind a belief, draws x rows. Of more than 53,000 rows there are fewer draws."""

LEAST = 500
"""Least draws of a belief."""

NEAR = 0.01
"""Distance below the best value, a point, within which a model is as good a choice as the best."""

TAIL = 0.025
"""Share of the draws below the lower end of an interval, and above the upper one."""

DIGITS = 9
"""Digits of the values that models are ordered by, so that rounding does not separate equal ones."""


def sample_count(models: int, rows: int = 1) -> int:
    """Return the number of draws of so many models on so many rows.

    Example:
        >>> sample_count(8), sample_count(1_000), sample_count(8, 100_000)
        (20000, 4194, 10737)
    """
    return min(SAMPLES, max(min(CELLS // models, WEIGHTS // rows), LEAST))


class Alone(NamedTuple):
    """Values of models, each by itself: expected ones, and the ends of 95 % intervals, (M,) each."""

    expected: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Draws:
    """Belief in M models' values in a domain.

    Attributes:
        values: (S, M) drawn together, higher is better.
        seed: of the paths of a forecast.
        kinds: (M,) the kind of each model: those of one kind are told apart by no evidence. None if all differ.
        closed: (M, M) P(the row's model is better than the column's) in closed form; None where it is a share of draws.
        outlook: what further labels would add; None if that is unknown.
        bounded: False if unseen rows may change the values by any amount, so that nothing is near the best.
        alone: what is known of each model by itself, where that is more than the draws say; None if they say all.

    Raises:
        ValueError: no draw, or no model.

    Example:
        >>> belief = Draws(np.array([[0.5, 0.4, 0.5], [0.1, 0.4, 0.3]]))
        >>> belief.best().round(9).tolist(), belief.near(0.1).round(9).tolist()
        ([0.25, 0.5, 0.25], [0.5, 1.0, 1.0])
    """

    values: Floats
    seed: int = 0
    kinds: Ints | None = None
    closed: Floats | None = None
    outlook: Outlook | None = None
    bounded: bool = True
    alone: Alone | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or not self.values.size:
            raise ValueError(f"values must have the shape (S, M), with S and M above 0 (got {self.values.shape})")

    @cached_property
    def expected(self) -> Floats:
        """(M,) expected values: of each model by itself, or the means of the draws."""
        return self._shared(self.values.mean(axis=0)) if self.alone is None else self.alone.expected

    @cached_property
    def score(self) -> Floats:
        """(M,) the same to `DIGITS` digits, by which models are ordered."""
        return np.asarray(np.round(self.expected, DIGITS))

    @cached_property
    def order(self) -> Ints:
        """(M,) the models, the one with the highest expected value first; of equals, the first."""
        return np.argsort(-level(self.score), kind="stable")

    @property
    def leader(self) -> int:
        """The first of the order."""
        return int(self.order[0])

    def beats(self) -> Floats:
        """Return (M, M) P(the row's model is better than the column's); 1/2 on the diagonal.

        Shares of draws are at least 0.5/S and at most 1 - 0.5/S, since S draws cannot resolve more.
        """
        if self.closed is not None:
            return self.closed
        models = self.values.shape[1]
        columns, better = np.ascontiguousarray(self.values.T), np.full((models, models), 0.5)
        for first in range(models - 1):
            better[first, first + 1 :] = _share_ahead(columns[first] - columns[first + 1 :])
            better[first + 1 :, first] = 1 - better[first, first + 1 :]
        return better if self.kinds is None else np.round(self._shared(self._shared(better).T).T, 12)

    def better(self, first: int) -> Floats:
        """Return (M,) P(one model is better than each), as drawn; 1/2 for itself."""
        return _share_ahead((self.values[:, [first]] - self.values).T)

    def best(self) -> Floats:
        """Return (M,) P(no other model is better); they sum to 1."""
        first = self._within(0.0)
        return self._shared((first / first.sum(axis=1, keepdims=True)).mean(axis=0))

    def near(self, margin: float = NEAR) -> Floats:
        """Return (M,) P(no other model is better by more than a margin); nan if the values have no bound."""
        return self._shared(self._within(margin).mean(axis=0)) if self.bounded else np.full(len(self.score), np.nan)

    def frontier(self, costs: Floats) -> Floats:
        """Return (M,) P(no model that costs no more is better); nan for models of unknown cost.

        In a draw, another model keeps one off the frontier if it is level or better and cheaper, or as cheap and
        better. Models of one kind and cost share it.

        Args:
            costs: (M,) less is better; nan where unknown: such a model keeps no other off.

        Example:
            >>> belief = Draws(np.array([[0.5, 0.4, 0.3], [0.5, 0.6, 0.5]]))
            >>> belief.frontier(np.array([2.0, 1.0, 1.0])).tolist()
            [0.5, 1.0, 0.0]
        """
        shares = np.full(len(costs), np.nan)
        cheaper = np.full(len(self.values), -np.inf)
        for cost in np.unique(costs[~np.isnan(costs)]):
            as_cheap = np.flatnonzero(costs == cost)
            values = self.values[:, as_cheap]
            top = values.max(axis=1)
            first = (values > cheaper[:, None] + TIE) & (values >= top[:, None] - TIE)
            kinds = None if self.kinds is None else self.kinds[as_cheap]
            shares[as_cheap] = replace(self, values=values, kinds=kinds)._shared(first.mean(axis=0)).round(12)
            cheaper = np.maximum(cheaper, top)
        return shares

    def within(self, margin: float = NEAR) -> float:
        """Return P(no model is better than the leader by more than a margin)."""
        return float(self.near(margin)[self.leader])

    def equal(self, first: int, margin: float = NEAR) -> Floats:
        """Return (M,) P(its value and that of one model differ by no more than a margin); 0 if they have no bound."""
        apart = np.abs(self.values - self.values[:, [first]])
        return np.asarray((apart <= margin + TIE).mean(axis=0) * self.bounded)

    def interval(self) -> tuple[Floats, Floats]:
        """Return (M,) lower and (M,) upper ends of the 95 % interval of each value."""
        if self.alone is not None:
            return self.alone.low, self.alone.high
        low, high = np.quantile(self.values, [TAIL, 1 - TAIL], axis=0)
        return self._shared(low), self._shared(high)

    def difference(self, first: int, second: int) -> tuple[float, float, float]:
        """Return the expected value of one model less that of another, and the ends of its 95 % interval."""
        lead = self.values[:, first] - self.values[:, second]
        low, high = np.quantile(lead, [TAIL, 1 - TAIL])
        return float(lead.mean()), float(low), float(high)

    def as_shares(self) -> Draws:
        """Return the same belief, whose expected values and intervals lie between 0 and 1."""
        return replace(self, alone=Alone(*np.clip([self.expected, *self.interval()], 0.0, 1.0)))

    def groups(self, sure: float) -> list[list[int]]:
        """Return the sets of models of which no two are told apart. See `tied_groups`."""
        return tied_groups(self.beats(), sure)

    def shortfall(self) -> Floats:
        """Return (M,) what is expected to be lost by taking each model: the mean of the best value less that of its.

        All are nan if the values have no bound.

        Example:
            >>> Draws(np.array([[0.5, 0.4], [0.5, 0.7]])).shortfall().round(9).tolist()
            [0.1, 0.05]
        """
        lost = self.values.max(axis=1).mean() - self._shared(self.values.mean(axis=0))
        return np.asarray(np.round(np.maximum(lost, 0.0) if self.bounded else lost * np.nan, DIGITS))

    def forecast(self, goal: float, margin: float = NEAR) -> Forecast | None:
        """Forecast the labels until the leader is within a margin of the best with a probability; None if unknown."""
        now = self.within(margin)
        if self.outlook is None:
            return Forecast(0, 0, 0, goal) if now >= goal else None
        return forecast_labels(self.outlook, np.random.default_rng([self.seed, 2]), goal, margin, now)

    def _within(self, margin: float) -> Bools:
        """Return (S, M) whether models are at most a margin below the best of a draw."""
        return np.asarray(self.values >= self.values.max(axis=1, keepdims=True) - margin - TIE)

    def _shared(self, values: Floats) -> Floats:
        """Return (M, ...) values, each the mean over the models of its kind."""
        if self.kinds is None:
            return np.asarray(values)
        _, kinds, counts = np.unique(self.kinds, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), *values.shape[1:]))
        np.add.at(sums, kinds, values)
        return np.asarray((sums / counts.reshape(-1, *[1] * (values.ndim - 1)))[kinds])


def mean_of(beliefs: Sequence[Draws]) -> Draws:
    """Return the belief in the models' means over several sets, of beliefs that do not depend on each other.

    Example:
        >>> sets = [Draws(np.array([[0.9, 0.1], [0.5, 0.5]])), Draws(np.array([[0.5, 0.1], [0.1, 0.5]]))]
        >>> mean_of(sets).values.round(9).tolist()
        [[0.7, 0.1], [0.3, 0.5]]
    """
    samples = min(len(belief.values) for belief in beliefs)
    total = sum(belief.values[:samples] for belief in beliefs)
    return Draws(np.asarray(total / len(beliefs)))


def _share_ahead(lead: Floats) -> Floats:
    """Return the shares of (..., S) draws above 0, level ones counting half; never 0 nor 1."""
    least = 0.5 / lead.shape[-1]
    share = (lead > TIE).mean(axis=-1) + (np.abs(lead) <= TIE).mean(axis=-1) / 2
    return np.asarray(np.clip(share, least, 1 - least))


def kinds_of(evidence: Floats | Ints) -> Ints:
    """Return (M,) kinds of models: those with the same (M, ...) evidence to 12 digits are of one.

    Example:
        >>> kinds_of(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, -0.0]])).tolist()
        [1, 0, 1]
    """
    flat = np.round(evidence.reshape(len(evidence), -1), 12) + 0.0
    return np.asarray(np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.int64)


def tied_groups(beats: Floats | Sequence[Sequence[float]], sure: float) -> list[list[int]]:
    """Group models so that no two of a group are told apart, and each such pair is in a group.

    Greedy: a pair that is in no group yet starts one, which grows in the order of the models.

    Args:
        sure: probability at which two models count as told apart.

    Example:
        >>> tied_groups([[0.5, 0.7, 0.95], [0.3, 0.5, 0.8], [0.05, 0.2, 0.5]], 0.9)
        [[0, 1], [1, 2]]
    """
    above = np.triu(np.asarray(beats), 1)
    near = np.triu(np.maximum(above, 1 - above) < sure, 1)
    near |= near.T
    groups, uncovered = list[list[int]](), np.triu(near)
    for i in range(len(near)):
        while uncovered[i].any():
            members = [i, int(uncovered[i].argmax())]
            free = near[members].all(axis=0)
            while free.any():
                members.append(int(free.argmax()))
                free &= near[members[-1]]
            groups.append(sorted(members))
            uncovered[np.ix_(members, members)] = False
    inside = {m for members in groups for m in members}
    return sorted([*groups, *([m] for m in range(len(near)) if m not in inside)])
