"""Strengths and win rates of models from votes between their answers, and judges' verdicts.

People look at the answers a and b of two models to a row n, and say which is better. A tie counts one half for each:

    logit P(a is better on n) = d_a - d_b + s side_n + l z_n + sum over judges j of c_j v_jn + k u_n,

with strengths d ~ Normal(0, t^2), the effect s ~ Normal(0, `SIDE_SD`^2) of standing first (side is 1 if a does, -1 if b
does), on request the effect l ~ Normal(0, `LENGTH_SD`^2) of being longer (z_n is tanh of the difference of lengths by
their standard deviation), and v_jn a judge's verdict, from -1 for b to 1 for a, with c_j ~ Normal(`VERDICT` / J,
`VERDICT_SD`^2 / J). Where all models' answers are known, u_n is how much more like those of the other models a's answer
is than b's, in units of its root mean square, and k ~ Normal(0, `LIKENESS_SD`^2): votes may switch it off. Values of t
are weighed by their marginal likelihood, by Laplace's approximation. Without side, length and verdicts this is the
model of Bradley and Terry (1952). Several votes on one row and pair are not as many rows: n of them count as
n / (1 + (n - 1) r), r their intraclass correlation.

A model's value is its mean win rate against the others, over the rows that judges compared both on, and by strength
where none did; nobody stands first, and answers are equally long. Models that never met are compared through others.

Source: ours; the prior of strengths as in Caron and Doucet 2012, "Efficient Bayesian inference for generalized
Bradley-Terry models", section 2, with a normal one; the length as in Dubois et al. 2024, "Length-controlled
AlpacaEval", section 3. Axis letters as in `engine`; U units (a row and two models, in one
order), J judges, A = J + 1 with likeness, D coefficients: A, one of the side, one of the length, M strengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.draws import Draws, sample_count

STRENGTH_SDS = (0.1, 0.3, 0.6, 1.0, 1.8)
"""Values of t."""

SIDE_SD = 0.5
"""Prior standard deviation of the effect of standing first."""

LENGTH_SD = 1.0
"""Prior standard deviation of the effect of being longer."""

VERDICT, VERDICT_SD = 1.2, 0.8
"""Prior mean of the sum of the coefficients of verdicts, and its standard deviation."""

LIKENESS_SD = 0.3
"""Prior standard deviation of the coefficient of likeness; its mean is 0."""

STEPS, CLOSE = 50, 1e-10
"""Most Newton steps to the mode, and the step at which they end."""

CORRELATION, UNITS = 0.5, 10.0
"""Prior value of the correlation of votes on one unit, and the units that it counts as."""

USUAL_SHARED, MOST_RELIABLE = 10.0, 2.0
"""Votes that others cast, too, that a rater's usual reliability counts as, and the most that one vote counts as."""

CHUNK = 2_000_000
"""Logits computed at a time."""

Unit: TypeAlias = tuple[int, int, int]
"""Row and two models, the lower number first."""


@dataclass(frozen=True, eq=False)
class Preferences:
    """Votes and verdicts on units.

    Attributes:
        row: (U,) the row of each unit.
        first, second: (U,) its two models.
        value: (U,) mean vote for the first, from 0 to 1; nan where nobody voted.
        votes: (U,) number of votes.
        side: (U,) 1 where the first stood first, -1 where the second did, 0 where that is unknown.
        verdicts: (A, U) of judges, from -1 for the second to 1 for the first; nan where there is none. The last one is
            likeness, if `alike`.
        length: (U,) how much longer the first one's answer is, from -1 to 1, 0 where that is unknown; None if lengths
            are not taken out.
        alike: whether the last verdicts are likeness of answers, of which no judge says that it is good.
        trust: (U,) votes that one on the unit counts as on average, see `reliability`; None for one.

    Raises:
        ValueError: arrays of other shapes, fewer than two models, or a model against itself.

    Example:
        >>> votes = Preferences.of(2, [0, 0, 0, 1], [1, 1, 1, 0], [1.0, 1.0, 0.5, 0.0])  # the first wins or ties
        >>> draw(votes, np.random.default_rng(0)).score.argmax()
        np.int64(0)
    """

    models: int
    row: Ints
    first: Ints
    second: Ints
    value: Floats
    votes: Floats
    side: Floats
    verdicts: Floats
    length: Floats | None = None
    alike: bool = False
    trust: Floats | None = None

    def __post_init__(self) -> None:
        size = len(self.first)
        arrays = (self.row, self.second, self.value, self.votes, self.side, self.lengths)
        shapes = {array.shape for array in arrays}
        if shapes != {(size,)} or self.verdicts.ndim != 2 or self.verdicts.shape[1] != size or self.models < 2:
            raise ValueError("preferences need two models or more, and arrays of the shapes (U,) and (J, U)")
        if (self.first == self.second).any():
            raise ValueError("a model cannot be compared with itself")

    @classmethod
    def of(
        cls, models: int, first: Sequence[int] | Ints, second: Sequence[int] | Ints, value: Sequence[float] | Floats
    ) -> Preferences:
        """Return units with a vote each, on rows of their own, and no verdicts; sides are unknown."""
        size = len(first)
        pair = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
        return cls(
            models,
            np.arange(size),
            *pair,
            np.asarray(value, dtype=float),
            np.ones(size),
            np.zeros(size),
            np.zeros((0, size)),
        )

    @classmethod
    def joined(
        cls,
        models: int,
        row: Sequence[int] | Ints,
        first: Sequence[int] | Ints,
        second: Sequence[int] | Ints,
        value: Sequence[float] | Floats,
        verdicts: Sequence[Mapping[Unit, float]] = (),
        length: Sequence[float] | Floats | None = None,
        likeness: Mapping[Unit, float] | None = None,
        weight: Sequence[float] | Floats | None = None,
    ) -> Preferences:
        """Join votes and verdicts on each row and two models, in each order that people saw.

        Args:
            row, first, second, value: (V,) of each vote; value is 1 for the first, 0 for the second, 1/2 for a tie.
            verdicts: of each judge, from -1 for the second model of a unit to 1 for the first.
            length: (V,) how much longer the first answer is, see `Preferences`; None if lengths are not taken out.
            likeness: u of each unit; None where answers are not known.
            weight: (V,) votes that each counts as, see `reliability`; None for one each.
        """
        tables = [*verdicts, *([] if likeness is None else [likeness])]
        votes: dict[tuple[Unit, float], list[tuple[float, float]]] = {}
        lengths: dict[tuple[Unit, float], float] = {}
        longer = np.zeros(len(value)) if length is None else length
        weights = np.ones(len(value)) if weight is None else weight
        arrays = (row, first, second, value, longer, weights)
        for *vote, of_vote, counts_as in zip(*(np.asarray(array).tolist() for array in arrays), strict=True):
            unit, for_first = unit_of(*vote)
            side = 1.0 if unit[1] == vote[1] else -1.0
            votes.setdefault((unit, side), []).append((for_first, counts_as))
            lengths[unit, side] = side * of_vote
        voted = {unit for unit, _ in votes}
        judged = dict.fromkeys(unit for of_judge in tables for unit in of_judge if unit not in voted)
        units = [*votes, *((unit, 0.0) for unit in judged)]
        rows, lower, higher = np.array([unit for unit, _ in units], dtype=np.int64).reshape(-1, 3).T
        of_units = [[of_judge.get(unit, np.nan) for unit, _ in units] for of_judge in tables]
        return cls(
            models,
            rows,
            lower,
            higher,
            np.array([_mean_vote(votes.get(key, [])) for key in units]),
            np.array([float(len(votes.get(key, []))) for key in units]),
            np.array([side for _, side in units]),
            np.array(of_units).reshape(len(tables), len(units)),
            None if length is None else np.array([lengths.get(key, 0.0) for key in units]),
            likeness is not None,
            None if weight is None else np.array([np.mean([w for _, w in votes.get(key, [(0, 1)])]) for key in units]),
        )

    @property
    def lengths(self) -> Floats:
        """(U,) how much longer the first one's answer is; 0 where that is unknown or not taken out."""
        return np.zeros(len(self.first)) if self.length is None else self.length

    @property
    def voted(self) -> Ints:
        """Units with a vote."""
        return np.flatnonzero(self.votes > 0)

    @property
    def sides_vary(self) -> bool:
        """True if some two models were seen in both orders, so that the effect of the side can be told from theirs."""
        left = np.where(self.first < self.second, self.side, -self.side)[self.voted]
        sides = [{*self.pair_codes[self.voted][left == side].tolist()} for side in (-1, 1)]
        return bool(sides[0] & sides[1])

    @property
    def pair_codes(self) -> Ints:
        """(U,) a number for each two models, whichever stands first."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        return np.asarray(low * self.models + high)

    @property
    def together(self) -> Ints:
        """(U,) a number for each row and two models, whichever stands first."""
        return np.asarray(np.unique(self.row * self.models**2 + self.pair_codes, return_inverse=True)[1])

    @property
    def correlation(self) -> float:
        """r: how alike several votes on one unit are, drawn to a prior value."""
        several = self.votes > 1
        counts, means = self.votes[several], self.value[several]
        if not len(counts):
            return CORRELATION
        # of ties as well: the variance of a vote is at most that of one that is 0 or 1
        total = np.maximum(means * (1 - means), 0).sum() + ((means - 0.5) ** 2).sum()
        between = ((means - 0.5) ** 2).sum() - (means * (1 - means) / np.maximum(counts - 1, 1)).sum()
        share = np.clip(between / total, 0, 1) if total > 0 else CORRELATION
        return float((share * len(counts) + CORRELATION * UNITS) / (len(counts) + UNITS))

    @property
    def weights(self) -> Floats:
        """(U,) votes that those on a unit count as."""
        totals = np.bincount(self.together, self.votes)[self.together]
        votes = self.votes if self.trust is None else self.votes * self.trust
        return np.asarray(votes / (1 + np.maximum(totals - 1, 0) * self.correlation))

    @property
    def verdict_priors(self) -> tuple[Floats, Floats]:
        """(A,) prior means and (A,) variances of the coefficients of verdicts and of likeness."""
        judges = len(self.verdicts) - self.alike
        of_likeness = [LIKENESS_SD**2] * self.alike
        means = np.append(np.full(judges, VERDICT / max(judges, 1)), [0.0] * self.alike)
        return means, np.append(np.full(judges, VERDICT_SD**2 / max(judges, 1)), of_likeness)

    @property
    def inputs(self) -> Floats:
        """(U, D) verdicts, side, length, and the two models."""
        design = np.zeros((len(self.first), self.models))
        places = np.arange(len(self.first))
        design[places, self.first], design[places, self.second] = 1.0, -1.0
        side = self.side * self.sides_vary
        return np.concatenate([np.nan_to_num(self.verdicts).T, side[:, None], self.lengths[:, None], design], axis=1)

    def without_judges(self) -> Preferences:
        """Return the votes alone."""
        voted = self._units(self.voted)
        return replace(voted, verdicts=voted.verdicts[:0], alike=False)

    def among(self, models: Sequence[int]) -> Preferences:
        """Return what is said of some of the models, which are then numbered in this ascending order."""
        chosen = self._units(np.flatnonzero(np.isin(self.first, models)))
        first, second = (np.searchsorted(models, of_units) for of_units in (chosen.first, chosen.second))
        return replace(chosen, models=len(models), first=first, second=second)

    def _units(self, chosen: Ints) -> Preferences:
        """Return what is said of some of the units."""
        names = ("row", "first", "second", "value", "votes", "side", "length", "trust")
        parts = {name: part[chosen] for name in names if (part := getattr(self, name)) is not None}
        return replace(self, verdicts=self.verdicts[:, chosen], **parts)

    def by(self, judge: int) -> Preferences:
        """Return the votes, and the verdicts of one judge."""
        return replace(self, verdicts=self.verdicts[[judge]], alike=False)


def unit_of(row: int, first: int, second: int, value: float) -> tuple[Unit, float]:
    """Return the unit of a vote, and the value for its first model.

    Example:
        >>> unit_of(7, 2, 1, 1.0)
        ((7, 1, 2), 0.0)
    """
    return ((row, first, second), value) if first < second else ((row, second, first), 1 - value)


def _mean_vote(votes: Sequence[tuple[float, float]]) -> float:
    """Return the weighted mean of votes; 1/2 without weight, nan without votes."""
    total = sum(weight for _, weight in votes)
    return sum(value * weight for value, weight in votes) / total if total > 0 else 0.5 if votes else np.nan


def reliability(by_raters: Floats) -> Floats:
    """Return (R,) votes that one of each rater counts as; 1 for all where no two voted on the same.

    A rater agrees with the others by s_r, the mean of (2 v - 1) (2 m - 1) over what others voted on, too, with v the
    rater's vote and m the others' mean. One vote counts as s_r / s, s the mean of all, where s_r is drawn to s as by
    `USUAL_SHARED` votes; at least 0, and at most `MOST_RELIABLE`.

    Args:
        by_raters: (R, U) votes for the first of each unit's models, nan where there is none.

    Example:
        >>> votes = np.tile([1.0, 0.0, 1.0, 1.0, 0.0] * 8, (3, 1))
        >>> votes[2, ::2] = 1 - votes[2, ::2]  # half of them are wrong
        >>> reliability(votes).round(2).tolist()
        [1.4, 1.4, 0.2]
    """
    votes = 2 * np.nan_to_num(by_raters, nan=0.5) - 1
    present = ~np.isnan(by_raters)
    beside = present.sum(axis=0) - present
    shared = present & (beside > 0)
    agrees = (votes * (votes.sum(axis=0) - votes) / np.maximum(beside, 1) * shared).sum(axis=1)
    counts = shared.sum(axis=1)
    mean = agrees.sum() / max(counts.sum(), 1)
    if mean <= 0:
        return np.ones(len(by_raters))
    return np.asarray(np.clip((agrees + USUAL_SHARED * mean) / (counts + USUAL_SHARED) / mean, 0, MOST_RELIABLE))


@dataclass(frozen=True, eq=False)
class PreferencePosterior:
    """Belief in the coefficients: a mixture of normals.

    Attributes:
        weights: (T,) of the normals; they sum to 1.
        means: (T, D).
        covariances: (T, D, D).
    """

    weights: Floats
    means: Floats
    covariances: Floats

    @property
    def expected(self) -> Floats:
        """(D,) expected coefficients."""
        return np.asarray(self.weights @ self.means)

    @property
    def covariance(self) -> Floats:
        """(D, D) covariance of the coefficients, of all normals together."""
        around = self.means - self.expected
        within = np.einsum("t,tij->ij", self.weights, self.covariances)
        return np.asarray(within + np.einsum("t,ti,tj->ij", self.weights, around, around))

    def drawn(self, rng: np.random.Generator, samples: int) -> Floats:
        """Draw (S, D) coefficients."""
        counts = rng.multinomial(samples, self.weights)
        parts = zip(counts, self.means, self.covariances, strict=True)
        return np.concatenate([rng.multivariate_normal(mean, spread, count) for count, mean, spread in parts if count])


def infer(preferences: Preferences, sds: Sequence[float] = STRENGTH_SDS) -> PreferencePosterior:
    """Compute the posterior of verdicts' coefficients, the side's effect, and the models' strengths.

    Args:
        sds: values of t.

    Example:
        >>> votes = Preferences.of(3, [0, 1, 0, 1], [1, 2, 2, 0], [1.0, 1.0, 1.0, 0.0])
        >>> infer(votes).expected[-3:].argsort()[::-1].tolist()
        [0, 1, 2]
    """
    voted, means, variances_of_verdicts = preferences.voted, *preferences.verdict_priors
    x, y, w = preferences.inputs[voted], preferences.value[voted], preferences.weights[voted]
    mean = np.concatenate([means, np.zeros(2 + preferences.models)])
    logs, modes, spreads = [], [], []
    for sd in sds:
        variances = np.concatenate(
            [variances_of_verdicts, [SIDE_SD**2, LENGTH_SD**2], np.full(preferences.models, sd**2)]
        )
        prior, mode = 1 / variances, mean.copy()
        for _ in range(STEPS):
            chance = _logistic(x @ mode)
            gradient = x.T @ (w * (y - chance)) - prior * (mode - mean)
            precision = (x.T * (w * chance * (1 - chance))) @ x + np.diag(prior)
            step = np.linalg.solve(precision, gradient)
            mode = mode + step
            if np.abs(step).max() < CLOSE:
                break
        eta = x @ mode
        fit = (w * (y * eta - np.logaddexp(0, eta))).sum() - (prior * (mode - mean) ** 2).sum() / 2
        logs.append(fit + np.log(prior).sum() / 2 - np.linalg.slogdet(precision)[1] / 2)
        modes.append(mode)
        spreads.append(np.linalg.inv(precision))
    weights = np.exp(np.array(logs) - max(logs))
    return PreferencePosterior(weights / weights.sum(), np.array(modes), np.array(spreads))


@dataclass(frozen=True, eq=False)
class WinRates:
    """Draws of win rates.

    Attributes:
        belief: in each model's mean win rate against the others.
        pairs: (M, M) expected win rate of the row's model against the column's; 1/2 on the diagonal.
        low, high: (M, M) ends of the 95 % intervals.
        side: (3,) chance that the answer that stands first is preferred to an equal one, and the ends of its interval;
            nan if the side is unknown.
        length: (3,) the same of an answer that is longer by a standard deviation; nan if lengths are not taken out.
        verdicts: (J,) expected coefficients of the judges' verdicts.
    """

    belief: Draws
    pairs: Floats
    low: Floats
    high: Floats
    side: Floats
    length: Floats
    verdicts: Floats


def win_rates(preferences: Preferences, rng: np.random.Generator, samples: int = 0) -> WinRates:
    """Draw the models' win rates."""
    samples, models = samples or sample_count(preferences.models), preferences.models
    judges = len(preferences.verdicts)
    posterior = infer(preferences)
    coefficients = posterior.drawn(rng, samples)
    rates = _rates(preferences, coefficients)
    values = rates.sum(axis=2) / (models - 1)
    low, high = np.quantile(rates, [0.025, 0.975], axis=0)
    mean = rates.mean(axis=0)
    np.fill_diagonal(mean, 0.5)
    side = _effect(coefficients[:, judges], preferences.sides_vary)
    length = _effect(np.tanh(1.0) * coefficients[:, judges + 1], preferences.length is not None)
    belief = Draws(values, int(rng.integers(2**32))).as_shares()
    return WinRates(belief, mean, low, high, side, length, posterior.expected[: judges - preferences.alike])


def _effect(logits: Floats, is_known: bool) -> Floats:
    """Return (3,) the chance of (S,) drawn logits, and the ends of its interval; nan if it is unknown."""
    chances = _logistic(logits)
    return np.array([chances.mean(), *np.quantile(chances, [0.025, 0.975])]) if is_known else np.full(3, np.nan)


def draw(evidence: Preferences, rng: np.random.Generator, samples: int = 0) -> Draws:
    """Draw the models' mean win rates against the others; see `win_rates`."""
    return win_rates(evidence, rng, samples).belief


def _rates(preferences: Preferences, coefficients: Floats) -> Floats:
    """Return (S, M, M) win rates of the row's model against the column's, over rows that judges compared; 0 alone."""
    models, judges = preferences.models, len(preferences.verdicts)
    strengths = coefficients[:, judges + 2 :]
    rates = _logistic(strengths[:, :, None] - strengths[:, None])
    rates[:, np.arange(models), np.arange(models)] = 0.0
    judged = np.flatnonzero(~np.isnan(preferences.verdicts).all(axis=0)) if judges else np.zeros(0, dtype=np.int64)
    judged = judged[np.unique(preferences.together[judged], return_index=True)[1]]  # each row once, in whatever order
    if not len(judged):
        return rates
    first, second = preferences.first[judged], preferences.second[judged]
    verdicts = np.nan_to_num(preferences.verdicts[:, judged])
    codes, places = np.unique(preferences.pair_codes[judged], return_inverse=True)
    turned = first > second
    counts = np.bincount(places)
    size = max(CHUNK // len(first), 1)
    for begin in range(0, len(coefficients), size):
        part = slice(begin, begin + size)
        eta = coefficients[part, :judges] @ verdicts + strengths[part][:, first] - strengths[part][:, second]
        chance = _logistic(np.where(turned, -eta, eta))
        means = np.zeros((len(chance), len(codes)))
        np.add.at(means.T, places, chance.T)
        means /= counts
        low, high = np.divmod(codes, models)
        rates[part, low, high], rates[part, high, low] = means, 1 - means
    return rates


def gains(preferences: Preferences, units: Preferences) -> Floats:
    """Return (Q,) how much one more vote on each unit tells of the order of models that is still open.

    A vote on a unit with inputs x lowers the variance of a difference a'c of two models' values, both in logits, by
    w (a'Vx)^2 / (1 + w x'Vx), with V the covariance of the coefficients c and w = p (1 - p), p the chance of the vote.
    The gain is the sum over pairs of models of this fall, by the variance, times exp(-z^2 / 2), z the expected
    difference in standard deviations: pairs that are decided count little.

    Args:
        units: that may be voted on; their votes are not read.

    Example:
        >>> votes = Preferences.of(3, [0] * 9, [1] * 9, [1.0] * 9)
        >>> gains(votes, Preferences.of(3, [0, 1], [1, 2], [0.5, 0.5])).argmax()  # the first two are told apart
        np.int64(1)

    Source: ours; the fall as in Chaloner and Verdinelli 1995, "Bayesian experimental design", section 4.
    """
    posterior, models = infer(preferences), preferences.models
    expected, verdicts, covariance = posterior.expected, len(preferences.verdicts), posterior.covariance
    verdicts_of_units = np.nan_to_num(preferences.verdicts)
    for_models = np.zeros((models, verdicts))  # mean verdict for each model
    counts = np.bincount(preferences.first, minlength=models) + np.bincount(preferences.second, minlength=models)
    np.add.at(for_models, preferences.first, verdicts_of_units.T)
    np.add.at(for_models, preferences.second, -verdicts_of_units.T)
    values = np.zeros((models, len(expected)))
    values[:, :verdicts] = for_models / np.maximum(counts, 1)[:, None]
    values[:, -models:] = np.eye(models) * models / (models - 1)
    upper, lower = np.triu_indices(models, 1)
    differences = values[upper] - values[lower]
    leads, variances = differences @ expected, np.einsum("pi,ij,pj->p", differences, covariance, differences)
    x = units.inputs
    x[:, verdicts : verdicts + 2] = 0.0  # neither side nor length is known before
    chance = _logistic(x @ expected)
    w = chance * (1 - chance)
    falls = w[:, None] * (x @ covariance @ differences.T) ** 2
    falls /= (1 + w * np.einsum("qi,ij,qj->q", x, covariance, x))[:, None]
    return np.asarray(falls @ (np.exp(-(leads**2) / (2 * variances)) / variances))


def worth(preferences: Preferences, judge: int) -> float:
    """Return how many more votes would tell as much as a judge: K (v / v' - 1), v and v' the mean variances of the
    difference of two models' win rates by the votes alone, and with the judge, to the first order.
    """
    before, after = map(_mean_variance, (preferences.without_judges(), preferences.by(judge)))
    return max(float(preferences.votes.sum() * (before / max(after, CLOSE) - 1)), 0.0)


def parts(preferences: Preferences) -> list[list[int]]:
    """Return the sets of models that votes or verdicts connect, the largest first.

    Example:
        >>> parts(Preferences.of(5, [0, 1, 3], [1, 2, 4], [1.0, 0.0, 0.5]))
        [[0, 1, 2], [3, 4]]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    is_told = (preferences.votes > 0) | ~np.isnan(preferences.verdicts).all(axis=0)
    edges = np.ones(is_told.sum()), (preferences.first[is_told], preferences.second[is_told])
    graph = coo_array(edges, shape=(preferences.models, preferences.models))
    _, of_models = connected_components(graph, directed=False)
    members = [np.flatnonzero(of_models == part).tolist() for part in np.unique(of_models)]
    return sorted(members, key=lambda part: (-len(part), part[0]))


def _mean_variance(preferences: Preferences) -> float:
    """Return the mean variance of the difference of two models' win rates, by their slopes at the expected values."""
    posterior, models = infer(preferences), preferences.models
    upper, lower = np.triu_indices(models, 1)
    x = np.zeros((len(upper), len(posterior.expected)))  # of two models by strength
    x[np.arange(len(upper)), upper - models], x[np.arange(len(upper)), lower - models] = 1.0, -1.0
    slopes = _slopes(x, posterior.expected)
    judged = np.flatnonzero(~np.isnan(preferences.verdicts).all(axis=0))
    if len(judged):
        inputs = preferences.inputs[judged]
        inputs[:, len(preferences.verdicts)] = inputs[:, len(preferences.verdicts) + 1] = 0.0  # side and length
        inputs *= np.where(preferences.first < preferences.second, 1.0, -1.0)[judged, None]
        of_units, codes = _slopes(inputs, posterior.expected), preferences.pair_codes[judged]
        for place, code in enumerate(upper * models + lower):
            if (codes == code).any():
                slopes[place] = of_units[codes == code].mean(axis=0)
    values = np.zeros((models, x.shape[1]))
    np.add.at(values, upper, slopes / (models - 1))
    np.add.at(values, lower, -slopes / (models - 1))
    differences = values[upper] - values[lower]
    return float(np.einsum("pi,ij,pj->p", differences, posterior.covariance, differences).mean())


def _slopes(inputs: Floats, coefficients: Floats) -> Floats:
    """Return (..., D) by how much chances rise with each coefficient."""
    chance = _logistic(inputs @ coefficients)
    return np.asarray((chance * (1 - chance))[:, None] * inputs)


def _logistic(logits: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(logits))
