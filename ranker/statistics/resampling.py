"""Intervals and tests for metrics that are no means over rows, by resampling rows that models share.

A metric here is a function `value` of the means of k statistics a row: (..., k) means -> (...) values, higher is better
(`ranker.tasks.metrics`; turn the sign of a metric where lower is better). Rows are resampled by weights: with g from
Gamma(1) for each row, a draw of the value is value(sum g_n s_n / sum g_n), the Bayesian bootstrap. Rows of one cluster
have one weight. No function here depends on k, or on the formula of `value`.

- `intervals` have 95 %, with one extra row, at its worst for the lower end and at its best for the upper end: of a
  difference one that only the second model has right, and only the first. So they have a width where all rows are
  answered alike. For a mean in [0, 1] this is Gaffke's bound; for an accuracy, the interval of Clopper and Pearson.
  Where no such row is known, the ends are further out, by the ratio of Student's t to the normal distribution: see
  `_expanded_tail`.
- `swap_test` tests whether two models may be equally good. On each row, or cluster, their answers are exchanged with
  probability 1/2. For accuracies it is McNemar's test, for other means `significance.sign_flip`.
- `derive` lets `engine.simulate` rank by such a metric, from the means of drawn probes.

Axis letters as in `engine`; k statistics, S draws of weights, G clusters (N, where every row is one), R kinds of rows
that may have been missed. Memory is at most 8 `CELLS` bytes for each of some five arrays, beside the statistics.

Sources: Rubin 1981, "The Bayesian bootstrap"; Gaffke 2005, "Three test statistics for a nonparametric one-sided
hypothesis on the mean of a nonnegative variable"; Clopper and Pearson 1934, "The use of confidence or fiducial limits
illustrated in the case of the binomial".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from factors.rounding import TIE
from factors.types import Floats, Ints
from ranker.statistics import engine
from ranker.statistics.draws import TAIL
from ranker.statistics.significance import DRAWS, Test

Value = Callable[[Floats], Floats]
"""(..., k) means of statistics -> (...) values, higher is better."""

CELLS = 2**22
"""Numbers in an array of draws: 32 MB."""

INTERVAL_DRAWS = 4_000
"""Draws behind an interval: 2.5 % beyond an end are off by 0.25 (one standard error)."""

LISTED = 2**16
"""Most ways to exchange answers that are all listed; of more, `significance.DRAWS` are drawn."""

APART = 20
"""Fewest rows, or clusters, that tell two models apart for an interval of their difference where a missed row may
change it by any amount."""


def derive(value: Value) -> engine.Derive:
    """Return the scores function of `engine.simulate` for a metric: (M, k, B) means, and the draws -> (M, 1, B) values.

    Give `engine.simulate` the statistics as (M, k, N), nan where there is nothing to judge.

    Example:
        >>> squared = derive(lambda means: means[..., 0] ** 2)
        >>> squared(np.array([[[0.5, 1.0]]]), np.array([[0], [1]])).tolist()
        [[[0.25, 1.0]]]
    """
    return lambda means, draws: value(np.moveaxis(means, 1, -1))[:, None]


def intervals(
    statistics: Floats,
    value: Value,
    unseen: Floats | None,
    quantities: Sequence[tuple[int, ...]],
    rng: np.random.Generator,
    clusters: Ints | None = None,
    samples: int = INTERVAL_DRAWS,
) -> list[tuple[float, float]]:
    """Return the ends of 95 % intervals of models' values and of differences, all from the same draws of weights.

    Where `unseen` is None nothing bounds a missed row: they are nan where all rows, or clusters, are alike, or fewer
    than `APART` tell the two models apart.

    Args:
        statistics: (M, N, k) of the rows that all models were judged on.
        unseen: (2, R, k) rows that may have been missed, answered rightly and wrongly; None where there are none.
        quantities: of each interval the model, or the two models whose difference it is of.

    Raises:
        ValueError: a statistic is nan, or shapes do not agree.

    Example:
        >>> right = np.array([[1.0] * 10, [1.0] * 10])[:, :, None]
        >>> unseen = np.array([[[1.0]], [[0.0]]])
        >>> ends = intervals(right, lambda means: means[..., 0], unseen, [(0,), (0, 1)], np.random.default_rng(0))
        >>> [tuple(round(end, 1) for end in pair) for pair in ends]
        [(0.7, 1.0), (-0.3, 0.3)]
    """
    units, most = units_of(statistics, clusters), max(CELLS // (2 * samples), 1)
    plans = [_quantity(units, list(models), value, unseen) for models in quantities]
    defined = [place for place, plan in enumerate(plans) if plan is not None]
    ends = [(math.nan, math.nan)] * len(plans)
    for start in range(0, len(defined), most):
        places = defined[start : start + most]
        drawn = _drawn_ends(units, [plan for place in places if (plan := plans[place])], rng, samples)
        for place, pair in zip(places, drawn, strict=True):
            ends[place] = pair
    return ends


def swap_test(
    statistics: Floats, value: Value, rng: np.random.Generator, clusters: Ints | None = None
) -> tuple[float, Test]:
    """Test whether two models may be equally good, by exchanging their answers; p is 1 where no row tells them apart.

    If they are, their answers on a row, or on the rows of a cluster, can be swapped. So

        p = P(|value of the first - value of the second| >= the observed difference),

    over all ways to exchange answers where there are at most `LISTED`, rows that change the two in the same way counted
    together. Else exchanges are drawn, and p = (b + 1) / (B + 1), with b of B at least as far from 0.

    Args:
        statistics: (2, N, k) of the rows that both models were judged on.

    Raises:
        ValueError: a statistic is nan, or shapes do not agree.

    Example:
        >>> right = np.array([[1.0] * 7 + [0.0], [1.0] + [0.0] * 7])[:, :, None]
        >>> p, test = swap_test(right, lambda means: means[..., 0], np.random.default_rng(0))
        >>> round(p, 12), test
        (0.03125, 'sign-flip')

    Source: Fisher 1935, "The design of experiments", section 21; of F1: Yeh 2000, "More accurate tests for the
    statistical significance of result differences"; drawn: Phipson and Smyth 2010, "Permutation p-values should never
    be zero".
    """
    units = units_of(statistics, clusters)
    rows = float(units.counts @ units.sizes)
    total = np.tensordot(units.counts, units.sums.sum(axis=1), 1) / rows
    lead, counts = _exchanges(units)
    if not len(lead):
        return 1.0, "sign-flip"
    lead = lead / rows

    def distances(flipped: Floats) -> Floats:
        """Return (S,) distances of the two values after (S, T) flips of each kind of rows."""
        moved = (counts - 2 * flipped) @ lead
        return np.asarray(np.abs(value((total + moved) / 2) - value((total - moved) / 2)))

    ways, fitting = math.prod(int(count) + 1 for count in counts), batch_size(len(counts) + 4 * lead.shape[1])
    observed = np.abs(np.subtract(*value(np.tensordot(units.counts, units.sums, 1) / rows)))
    if ways <= LISTED:
        from scipy.special import gammaln

        p = 0.0
        for start in range(0, ways, fitting):
            places = np.arange(start, min(start + fitting, ways))
            flipped = np.stack(np.unravel_index(places, counts.astype(np.int64) + 1), axis=1).astype(np.float64)
            logs = gammaln(counts + 1) - gammaln(flipped + 1) - gammaln(counts - flipped + 1) - counts * math.log(2)
            p += float(np.exp(logs.sum(axis=1)) @ (distances(flipped) >= observed - TIE))
        return min(p, 1.0), "sign-flip"
    farther = 0
    for count in batches(DRAWS, fitting):
        flipped = rng.binomial(counts.astype(np.int64), 0.5, (count, len(counts))).astype(np.float64)
        farther += int((distances(flipped) >= observed - TIE).sum())
    return (farther + 1) / (DRAWS + 1), "sign-flip-drawn"


@dataclass(frozen=True, eq=False)
class RowUnits:
    """Independent units, clusters or rows, with those of one kind counted together.

    Attributes:
        sums: (U, M, k) the statistics of a unit's rows, summed.
        sizes: (U,) rows of a unit.
        counts: (U,) units of this kind.
    """

    sums: Floats
    sizes: Floats
    counts: Floats


def units_of(statistics: Floats, clusters: Ints | None) -> RowUnits:
    """Sum statistics over clusters, and count those that are alike."""
    models, rows, size = statistics.shape
    if not rows or not np.isfinite(statistics).all():
        raise ValueError("statistics must be finite, of at least one row: leave out rows with nothing to judge")
    if clusters is not None and clusters.shape != (rows,):
        raise ValueError(f"clusters must have the shape ({rows},), a number a row (got {clusters.shape})")
    flat = np.concatenate([np.ones((rows, 1)), np.moveaxis(statistics, 0, 1).reshape(rows, -1)], axis=1)
    if clusters is not None:
        numbers = np.unique(clusters, return_inverse=True)[1]
        summed = np.zeros((numbers.max() + 1, flat.shape[1]))
        np.add.at(summed, numbers, flat)
        flat = summed
    flat, counts = np.unique(np.round(flat, 12) + 0.0, axis=0, return_counts=True)
    return RowUnits(flat[:, 1:].reshape(-1, models, size), flat[:, 0], counts.astype(np.float64))


def differing_shares(sums: Floats) -> Floats:
    """Return (U,) shares of the pairs of models that a unit tells apart."""
    models = sums.shape[1]
    apart = [(np.abs(sums[:, first] - sums[:, second]) > TIE).any(axis=1) for first, second in engine.pairs(models)]
    return np.asarray(np.mean(apart, axis=0)) if apart else np.zeros(len(sums))


def weighted_sums(weights: Floats, units: RowUnits) -> tuple[Floats, Floats]:
    """Return (S, M, k) weighted sums of the units, and (S,) of their sizes."""
    sums = weights @ units.sums.reshape(len(units.sums), -1)
    return sums.reshape(len(weights), *units.sums.shape[1:]), weights @ units.sizes


@dataclass(frozen=True, eq=False)
class _Quantity:
    """A model's value, or the difference of two."""

    models: list[int]
    value: Callable[[Floats], Floats]  # (..., M, k) means of these models -> (...)
    extra: list[tuple[Floats, float]]  # of either end, the (M, k) statistics of the row that is added, and its size
    tail: float  # share of the draws beyond an end


def _quantity(units: RowUnits, models: list[int], value: Value, unseen: Floats | None) -> _Quantity | None:
    """Return what an interval is of, with the extra row of each end; None where it has no interval."""

    def of_means(means: Floats) -> Floats:
        first = value(means[..., 0, :])
        return first - value(means[..., 1, :]) if len(models) > 1 else first

    sums, rows, groups = units.sums[:, models], float(units.counts @ units.sizes), float(units.counts.sum())
    if unseen is None:
        alike = bool((np.ptp(sums, axis=0) <= TIE).all() and (units.sizes == units.sizes[0]).all())
        few = len(models) > 1 and units.counts[differing_shares(sums) > 0].sum() < APART
        nothing = np.zeros(sums[0].shape), 0.0
        return None if alike or few else _Quantity(models, of_means, [nothing] * 2, _expanded_tail(groups))
    total, typical = np.tensordot(units.counts, sums, 1), rows / groups
    worst, best = unseen[::-1][: len(models)].swapaxes(0, 1), unseen[: len(models)].swapaxes(0, 1)
    low, high = (of_means((total + typical * added) / (rows + typical)) for added in (worst, best))
    extra = [(typical * worst[low.argmin()], typical), (typical * best[high.argmax()], typical)]
    return _Quantity(models, of_means, extra, TAIL)


def _drawn_ends(
    units: RowUnits, quantities: Sequence[_Quantity], rng: np.random.Generator, samples: int
) -> list[tuple[float, float]]:
    """Return the ends of intervals, by draws that all quantities share."""
    drawn: list[tuple[list[Floats], list[Floats]]] = [([], []) for _ in quantities]
    for count in batches(samples, batch_size(len(units.counts) + 4 * units.sums[0].size)):
        sums, sizes = weighted_sums(rng.standard_gamma(units.counts, (count, len(units.counts))), units)
        weight = rng.standard_exponential(count)
        for quantity, sides in zip(quantities, drawn, strict=True):
            for values, (added, size) in zip(sides, quantity.extra, strict=True):
                total = sizes + weight * size
                means = (sums[:, quantity.models] + np.multiply.outer(weight, added)) / total[:, None, None]
                values.append(quantity.value(means))
    return [
        (float(np.quantile(low, quantity.tail)), float(np.quantile(high, 1 - quantity.tail)))
        for quantity, (low, high) in zip(quantities, (map(np.concatenate, sides) for sides in drawn), strict=True)
    ]


def _expanded_tail(groups: float) -> float:
    """Return the tail of draws that matches a t-interval, since draws vary less than means of few units."""
    # Source: Hesterberg 2015, "What teachers should know about the bootstrap", section 3.2 (expanded percentiles)
    from scipy.special import ndtr, stdtrit

    return float(ndtr(np.sqrt(groups / (groups - 1)) * stdtrit(groups - 1, TAIL)))


def _exchanges(units: RowUnits) -> tuple[Floats, Floats]:
    """Return (T, k) leads of units for the first model, up to the sign, and (T,) counts of units with each."""
    lead = units.sums[:, 0] - units.sums[:, 1]
    apart = (np.abs(lead) > TIE).any(axis=1)
    lead = np.round(lead[apart], 12)
    first = np.take_along_axis(lead, (lead != 0).argmax(axis=1)[:, None], axis=1)
    lead, kinds = np.unique(lead * np.sign(first) + 0.0, axis=0, return_inverse=True)
    return lead, np.asarray(np.bincount(kinds.reshape(-1), weights=units.counts[apart]), dtype=np.float64)


def batch_size(numbers: int) -> int:
    """Return the number of draws of so many numbers that fit into `CELLS`."""
    return max(CELLS // max(numbers, 1), 1)


def batches(samples: int, most: int) -> Iterator[int]:
    """Yield the sizes of blocks of draws."""
    for start in range(0, samples, most):
        yield min(most, samples - start)
