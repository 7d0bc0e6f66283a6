"""Sequential tests that a model is the best on a pool, valid however often they are checked.

Model a is accepted against b once it is shown that b has at most `margin` of the N rows more right than a. The
hypothesis is that, over the rows on which the two predict differently, d = (a is right) - (b is right) sums to T or
less, T = -(floor(margin N) + 1). Rows are drawn at random without replacement. With s the sum of d over the D - n rows
that are known and n the rows that are left, the next d is under the hypothesis at most m = (T - s) / n on average. A
bet of the share f of the wealth, f / (1 + m) on d > m, multiplies it by

    1 + f (d - m) / (1 + m)

so under the hypothesis wealth grows from 1 to 20 or more with probability 1/20 at most, over all checks together
(Ville). It is the mean over bets of the shares `SHARES`. Of M models the winner has to beat M - 1 others. A wrong one
is accepted against the best with probability `error` at most, where each needs a wealth of (M - 1) / error.

Rows are drawn from those on which the leader (the model with most rows right) and the models that it is not yet
accepted against do not all agree. A pair bets only while all of its rows are among these, so that each is a random one
of them; other rows count as known. Once the remaining rows can no longer make the hypothesis true, wealth is unlimited.

Source: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting", section 5; Ville 1939.
Axis letters as in `pool`, and A answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from factors.types import Bools, Ints

ERROR = 0.05
"""Largest probability that the winner is worse than the best by more than the margin."""

TINY = 1e-12
"""Floor that avoids division by zero where the hypothesis leaves one outcome only."""

SHARES = np.array([0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
"""Shares of the wealth that are bet, each by a sixth of it."""


@dataclass(frozen=True)
class BettingEvidence:
    """Evidence from answers to random rows.

    Attributes:
        accepted: (M, M) whether the row's model is accepted against the column's.
        leader: the model that is accepted against all others; while there is none, the one that has most rows right.
        frame: (N,) the rows that the next one is drawn from; none where the leader is accepted against all.
    """

    accepted: Bools
    leader: int
    frame: Bools

    @property
    def settled(self) -> bool:
        """True if the leader is accepted against all others."""
        return bool(self.accepted[self.leader].all())


def weigh(
    predicted: Ints, rows: Ints, labels: Ints, margin: float = 0.01, undrawn: int = 0, error: float = ERROR
) -> BettingEvidence:
    """Weigh answers to rows of a pool.

    Args:
        predicted: (M, N) the label that each model predicts on each row; below 0 where it predicts none.
        rows: (A,) the rows that were answered, in the order of the answers, each once.
        labels: (A,) the answers.
        margin: accuracy on the pool by which the winner may be below another model.
        undrawn: how many of the rows were not drawn from the `frame` of those before; they come first.
        error: the probability, at most, that a winner is wrong.

    Example:
        >>> predicted = np.array([[0] * 40, [1] * 40])  # they differ on all rows, and the first is right on 12
        >>> weigh(predicted, np.arange(12), np.zeros(12, dtype=int)).settled
        True
        >>> weigh(predicted, np.arange(3), np.zeros(3, dtype=int)).settled
        False
    """
    models, size = predicted.shape
    allowed = int(np.floor(margin * size + 1e-9))
    differ = predicted[:, None] != predicted
    left = differ.sum(axis=2)
    total = np.zeros((models, models), dtype=np.int64)
    wealth = np.ones((len(SHARES), models, models))
    accepted = left <= allowed
    open_ = np.ones(size, dtype=bool)
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        betting = differ[:, :, row]
        if place >= undrawn:
            _, frame = _frame(differ, open_, accepted, total, left, allowed)
            betting = betting & ~(differ & open_ & ~frame).any(axis=2)
        right = (predicted[:, row] == label).astype(np.int64)
        won = right[:, None] - right
        expected = (-allowed - 1 - total) / np.maximum(left, 1)
        gain = 1 + SHARES[:, None, None] * (won - expected) / np.maximum(1 + expected, TINY)
        wealth = np.where(betting & (place >= undrawn), wealth * np.maximum(gain, 0.0), wealth)
        total, left = total + won, left - differ[:, :, row]
        open_[row] = False
        accepted |= (wealth.mean(axis=0) >= max(models - 1, 1) / error) | (total - left >= -allowed)
    leader, frame = _frame(differ, open_, accepted, total, left, allowed)
    return BettingEvidence(accepted, leader, frame)


def _frame(differ: Bools, open_: Bools, accepted: Bools, total: Ints, left: Ints, allowed: int) -> tuple[int, Bools]:
    """Return the leader, and (N,) open rows on which it differs from a model that it is not accepted against."""
    beaten = (total + left < -allowed).any(axis=1)  # by more than the margin, whatever the rest is
    leader = int(np.lexsort((-accepted.sum(axis=1), -total.sum(axis=1), beaten, ~accepted.all(axis=1)))[0])
    return leader, open_ & differ[leader][~accepted[leader]].any(axis=0)


def rows_apart(predicted: Ints) -> Ints:
    """Count (M, M) rows on which two models predict differently, a bound of how far their accuracies differ.

    Example:
        >>> rows_apart(np.array([[0, 1, 1], [0, 0, 1]])).tolist()
        [[0, 1], [1, 0]]
    """
    return np.stack([(predicted != labels).sum(axis=1) for labels in predicted])
