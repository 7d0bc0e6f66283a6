"""Choice of the next rows to label: those whose answers are expected to leave the least loss.

The loss is the sum over pairs of models of p (1 - p), p the probability that the first is better: over all pairs for
the order (`order`), over the pairs of the leader with each other model for the best one (`best`). An answer y to a row
weighs each world i by the probability P_i(y) that it gave. So the expected loss after a row is

    sum over y of p(y) L(weights P_i(y) / p(y)),    p(y) = mean over i of P_i(y),    L that sum,

and it needs no new worlds. A batch is chosen row by row; for each row, answers to the rows before it are imagined. Each
of these answers weighs the worlds, in branches that count by their probability. Of more than `BRANCHES` branches, so
many are drawn.

Labels that are all alike measure the recall of that label alone. So a second label is sought where it may be missing.
If all rows so far have one label with a probability above `ALIKE`, a row is chosen among those that most probably have
another one. Of rows that are asked one by one, this is one in `SAME`; of a batch, the last `LAST` rows.

Source: expected loss after one more answer, Raiffa and Schlaifer 1961, "Applied statistical decision theory"; for
models, Kay et al. 2025 and Okanovic et al. 2025 by other losses. Axis letters as in `vote`, and D branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.engine import pairs
from ranker.statistics.vote import Beliefs

Goal = Literal["order", "best"]
"""Purpose of the answers: the order of all models, or the best one."""

BRANCHES = 16
"""Most branches of imagined answers to the rows of a batch."""

SHORTLIST = 2_000
"""Most labels of patterns, V * C, behind rows of a batch after the first: the best candidates for the first."""

PAIRS = 256
"""Most pairs of models behind the loss; of more, so many are drawn."""

SAME = 5
"""Rows with one label after which one is spent on a second label; the others go on telling models apart."""

ALIKE = 0.1
"""Probability that all rows have one label, above which a second one is sought; for a batch of more than ten rows, one
by their number. It also is the distance from the most probable second label within which rows are equally likely to
bring one."""

LAST = 2
"""Rows of a batch spent on a second label: one for each of two labels that all others may have."""

TINY = 1e-12
"""Floor that avoids division by zero."""

TIE = 1e-6
"""Relative difference below which two rows are equally good; the first is taken."""

CLOSE = 1e-3
"""Relative distance from the best row within which rows are computed again in double precision, which decides."""


def next_rows(beliefs: Beliefs, count: int = 1, goal: Goal = "order", closed: Sequence[int] = ()) -> Ints:
    """Choose rows to label, the most useful first; fewer where fewer are left.

    Args:
        closed: rows to leave out, beside those that were answered.

    Example:
        >>> from ranker.statistics.vote import believe
        >>> from ranker.statistics.patterns import fold
        >>> none = np.zeros(0, dtype=np.int64)
        >>> predicted = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
        >>> next_rows(believe(fold(predicted, 2), none, none)).tolist()  # the first row on which they differ
        [2]
    """
    open_ = beliefs.patterns.pattern_of_row >= 0
    open_[[*beliefs.readings.rows.tolist(), *closed]] = False
    left = np.bincount(beliefs.patterns.pattern_of_row[open_], minlength=len(beliefs.patterns.counts))[
        beliefs.candidates
    ]
    shortlist = np.flatnonzero(left)
    leads = beliefs.p_first_better(*_goal_pairs(beliefs, goal).T)
    branches = np.ones((1, len(beliefs.accuracies)))
    alike = _alike(beliefs)
    chosen: list[int] = []
    while len(candidates := shortlist[left[shortlist] > 0]) and len(chosen) < count:
        size = len(beliefs.readings.rows) + len(chosen)
        seeks = size >= SAME and (count - len(chosen) <= LAST if count > 1 else size % SAME == 0)
        if seeks and alike.sum(axis=0).mean() > min(ALIKE, 1 / count):
            candidates = _likely_second_label(alike, beliefs.answers, np.flatnonzero(left))
        all_left = len(candidates) == len(left)
        gained = _row_gains(leads, branches, beliefs.answers if all_left else beliefs.answers[:, :, candidates])
        if count > LAST and not chosen:
            first = np.sort(np.argsort(-gained, kind="stable")[: max(SHORTLIST // beliefs.patterns.classes, 1)])
            shortlist = candidates = candidates[first]
            gained = gained[first]
        best = candidates[_first(gained)]
        chosen.append(int(np.argmax(open_ & (beliefs.patterns.pattern_of_row == beliefs.candidates[best]))))
        open_[chosen[-1]] = False
        left[best] -= 1
        if len(chosen) < count:
            answers = beliefs.answers[:, :, best]
            alike = alike * answers
            branches = _split_branches(branches, answers, np.random.default_rng([beliefs.seed, len(chosen)]))
    return np.array(chosen, dtype=np.int64)


def one_label_probability(beliefs: Beliefs, rows: Ints) -> float:
    """Return P(all answers so far, and those to some more rows, are one label)."""
    alike = _alike(beliefs)
    for row in rows.tolist():
        labels = beliefs.worlds.labels(*beliefs.patterns.ballots(beliefs.patterns.pattern_of_row[[row]]))[:, :, 0]
        alike *= labels * (1 - beliefs.label_noise) + beliefs.label_noise / beliefs.patterns.classes
    return float(alike.sum(axis=0).mean())


def _alike(beliefs: Beliefs) -> Floats:
    """Return (C, S) whether all answers so far are one label."""
    labels = beliefs.readings.likelihood.argmax(axis=1)
    alike = (labels == np.arange(beliefs.patterns.classes)[:, None]).all(axis=1)
    return np.repeat(alike[:, None].astype(np.float64), len(beliefs.accuracies), axis=1)


def _likely_second_label(alike: Floats, answers: Floats, open_: Ints) -> Ints:
    """Return the open candidates that most probably end the possibility that all rows have one label."""
    p_alike = np.einsum("cs,csv->v", alike.astype(answers.dtype), answers, optimize=True)[open_] / alike.sum()
    return np.asarray(open_[p_alike <= p_alike.min() + ALIKE])


def _first(gained: Floats) -> int:
    """Return the first of the greatest, up to rounding."""
    return int(np.argmax(gained >= gained.max() - TIE * abs(gained.max())))


def _goal_pairs(beliefs: Beliefs, goal: Goal) -> Ints:
    """Return (p, 2) pairs that answers are to tell apart, or `PAIRS` of them."""
    wanted = pairs(beliefs.patterns.models)
    if goal == "best":
        wanted = wanted[(wanted == beliefs.score.argmax()).any(axis=1)]
    if len(wanted) <= PAIRS:
        return wanted
    return wanted[np.random.default_rng([beliefs.seed, 0]).choice(len(wanted), PAIRS, replace=False)]


def _row_gains(leads: Floats, branches: Floats, answers: Floats) -> Floats:
    """Return (V,) gains of `_loss_reductions`, in the precision of the answers; of the best, in double precision."""
    gains = _loss_reductions(leads, branches, answers)
    best = np.flatnonzero(gains >= (1 - CLOSE) * gains.max())
    gains[best] = _loss_reductions(leads, branches, answers[:, :, best].astype(np.float64))
    return gains


def _loss_reductions(leads: Floats, branches: Floats, answers: Floats) -> Floats:
    """Return (V,) expected reductions of the pairwise loss, the sum over pairs of p (1 - p), by one answer."""
    # leads: (S, P) p in each world; branches: (D, S) weights of the worlds, which sum to S; answers: (C, S, V)
    # probabilities, whose precision is used
    gains = np.zeros(answers.shape[2])
    for weights in branches:
        centred = (leads - weights @ leads / weights.sum()) * weights[:, None]
        total = np.maximum(weights.astype(answers.dtype) @ answers, TINY)  # (C, V)
        moved = centred.T.astype(answers.dtype) @ answers[:-1]  # (C - 1, P, V); over all answers they sum to 0
        last = moved.sum(axis=0)
        gains += (np.einsum("cpv,cpv->cv", moved, moved) / total[:-1]).sum(axis=0)
        gains += np.einsum("pv,pv->v", last, last) / total[-1]
    return gains


def _split_branches(branches: Floats, answers: Floats, rng: np.random.Generator) -> Floats:
    """Return (D, S) weights after each answer to one more row, whose (C, S) probabilities the worlds give."""
    weights = (branches[:, None] * answers).reshape(-1, branches.shape[1])
    if len(weights) <= BRANCHES:
        return weights
    reach = np.cumsum(weights.sum(axis=1))
    ticks = (rng.random() + np.arange(BRANCHES)) / BRANCHES * reach[-1]
    drawn = weights[np.searchsorted(reach, ticks)]
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True) * (reach[-1] / BRANCHES))
