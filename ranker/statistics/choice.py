"""Which rows of a pool to label: those that will say most about how the models differ.

- ``variance-reduction``: one after the other, the row whose label is expected to narrow the differences between the
  models' accuracies most, under the model of `surrogate`. What is labelled already counts. The default.
- ``facility``: rows that stand for many others on which the models disagree (facility location).
- ``disagreement``: the rows on which the models' probabilities vary most.
- ``random``: the reference, and the only rule after which accuracy on the labelled rows estimates accuracy.

Every rule looks at predictions only, never at a text or a label. Sources: Cohn, Ghahramani, Jordan 1996, "Active
learning with statistical models" (variance reduction); Wei, Iyer, Bilmes 2015 (facility location); Seung, Opper,
Sompolinsky 1992, "Query by committee" (disagreement). Axis letters as in `pool`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics import surrogate
from ranker.statistics.engine import TIE
from ranker.statistics.pool import Pool

Rule = Callable[[Pool, int, Sequence[int], np.random.Generator], Ints]
"""(pool, how many, its rows that are labelled already, randomness) -> the rows to label, the most useful first."""

DEFAULT = "variance-reduction"

LANDMARKS = 1_000
"""Facility location lets so many rows, spread evenly over the pool, stand for all of it: no N x N matrix is made."""

WIDTH = 0.3
"""The width of its kernel, as a share of the mean squared distance of two rows."""


def choose(pool: Pool, count: int, labelled: Sequence[int] = (), rule: str = DEFAULT, seed: int = 0) -> Ints:
    """Choose rows to label.

    Args:
        pool: what the models make of all rows.
        count: how many.
        labelled: the rows that are labelled already; none of them is chosen.
        rule: a name in `RULES`.
        seed: of the random rule.

    Returns:
        (count,) rows, the most useful first: of the same pool always the same.

    Raises:
        ValueError: more rows than there are without a label.

    Example:
        >>> sure = np.array([[0.9, 0.9, 0.1, 0.1], [0.9, 0.2, 0.9, 0.1]])  # they disagree on rows 1 and 2, more on 2
        >>> choose(Pool(np.stack([sure, 1 - sure], axis=2)), 2).tolist()
        [2, 1]
    """
    left = pool.probs.shape[1] - len(set(labelled))
    if not 0 < count <= left:
        raise ValueError(f"between 1 and {left} rows can be chosen (got {count})")
    return RULES[rule](pool, count, labelled, np.random.default_rng(seed))


def variance_reduction(pool: Pool, count: int, labelled: Sequence[int], rng: np.random.Generator) -> Ints:
    """Greedily, the row after whose label the sum of the variances of all differences of accuracies is least.

    With S the weights' covariance, G what weights do to accuracies and v the votes on a row, its label takes
    tr(Q^-1 W) off that sum, Q = v S v' + noise and W = v S G'G S v'. A row that is labelled changes S by a matrix of
    rank C - 1, and with it Q and W of all others.
    """
    seen = pool.votes  # (N, C - 1, M)
    gain = pool.gains
    gain = gain - gain.mean(axis=0)  # the sum over pairs is M times the spread around the mean
    size, parts, models = seen.shape
    flat, noise = seen.reshape(-1, models), surrogate.NOISE * np.eye(parts)
    known = seen[list(labelled)].reshape(-1, models)
    spread = np.linalg.inv(np.eye(models) + known.T @ known / surrogate.NOISE)
    worth = spread @ (gain.T @ gain) @ spread
    told = (flat @ spread).reshape(seen.shape) @ seen.transpose(0, 2, 1) + noise  # (N, C - 1, C - 1) the Q
    gained = (flat @ worth).reshape(seen.shape) @ seen.transpose(0, 2, 1)  # the W
    free = np.ones(size, dtype=bool)
    free[list(labelled)] = False
    chosen: list[int] = []
    while True:
        chosen.append(_first(np.where(free, _trace_of_ratio(gained, told), -np.inf)))
        if len(chosen) == count:
            return np.array(chosen)
        row = seen[chosen[-1]]
        free[chosen[-1]] = False
        inverse = np.linalg.inv(told[chosen[-1]])
        near, far = spread @ row.T, worth @ row.T  # (M, C - 1)
        to = flat @ np.concatenate([near @ inverse, near, far @ inverse], axis=1)
        near_less, near_too, far_less = to.reshape(size, parts, 3, parts).transpose(2, 0, 1, 3)
        both = _times(far_less, near_too)
        told = told - _times(near_less, near_too)
        gained = (
            gained
            - both
            - both.transpose(0, 2, 1)
            + _times((near_less.reshape(-1, parts) @ (row @ far)).reshape(told.shape), near_less)
        )
        low = near @ inverse
        spread = spread - low @ near.T
        worth = worth - far @ low.T - low @ far.T + low @ (row @ far) @ low.T


def _times(left: Floats, right: Floats) -> Floats:
    """(N, C - 1, C - 1) the products of each two matrices, the second turned over; of numbers, where C is 2."""
    return left * right if left.shape[2] == 1 else left @ right.transpose(0, 2, 1)


def _trace_of_ratio(above: Floats, below: Floats) -> Floats:
    """(N,) tr(Q^-1 W) of each W and Q."""
    if above.shape[1] == 1:
        return np.asarray((above / below)[:, 0, 0])
    return np.asarray(np.trace(np.linalg.solve(below, above), axis1=1, axis2=2))


def facility(pool: Pool, count: int, labelled: Sequence[int], rng: np.random.Generator) -> Ints:
    """Greedily, the row that adds most to sum over x of disagreement(x) max over chosen rows r of k(x, r)."""
    points = pool.votes.reshape(pool.probs.shape[1], -1)
    every = points[np.linspace(0, len(points) - 1, min(LANDMARKS, len(points)), dtype=np.int64)]
    weight = _disagreement(pool)[np.linspace(0, len(points) - 1, len(every), dtype=np.int64)]
    distance = (points**2).sum(axis=1)[:, None] + (every**2).sum(axis=1) - 2 * points @ every.T
    width = WIDTH * distance.mean() or 1.0
    near = np.exp(-np.maximum(distance, 0.0) / width)  # (N, landmarks)
    covered = near[list(labelled)].max(axis=0, initial=0.0)
    free = np.ones(len(points), dtype=bool)
    free[list(labelled)] = False
    chosen = []
    for _ in range(count):
        added = np.maximum(near - covered, 0.0) @ weight
        chosen.append(_first(np.where(free, added, -np.inf)))
        free[chosen[-1]] = False
        covered = np.maximum(covered, near[chosen[-1]])
    return np.array(chosen)


def disagreement(pool: Pool, count: int, labelled: Sequence[int], rng: np.random.Generator) -> Ints:
    """The rows on which the models' probabilities vary most."""
    value = _disagreement(pool)
    value[list(labelled)] = -np.inf
    return np.asarray(np.argsort(-np.round(value, 12), kind="stable")[:count])


def at_random(pool: Pool, count: int, labelled: Sequence[int], rng: np.random.Generator) -> Ints:
    """Any rows."""
    free = np.setdiff1d(np.arange(pool.probs.shape[1]), labelled)
    return np.asarray(rng.choice(free, count, replace=False))


RULES: dict[str, Rule] = {
    DEFAULT: variance_reduction,
    "facility": facility,
    "disagreement": disagreement,
    "random": at_random,
}
"""The rules by name."""


def _disagreement(pool: Pool) -> Floats:
    """(N,) the variance of the probabilities over the models, summed over the classes."""
    return np.asarray(pool.probs.var(axis=0).sum(axis=1))


def _first(value: Floats) -> int:
    """The first of the greatest, where rounding alone makes no difference."""
    return int(np.argmax(value >= value.max() - TIE))
