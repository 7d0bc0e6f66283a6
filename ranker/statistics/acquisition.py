"""Which row to label next: the one whose answer is expected to leave least open.

What is open is the sum over pairs of models of p (1 - p), p the probability that the first is better: over all pairs
for the order (`order`), over those of the leader with each other model for the best one (`best`). An answer y to a row
weighs each world i by the probability P_i(y) that it gave. So what a row is expected to leave open is

    sum over y of p(y) L(weights P_i(y) / p(y)),    p(y) = mean over i of P_i(y),    L that sum,

and it costs no new worlds. A batch is chosen one row after the other, each with the answers to those before it
imagined: the worlds are weighed by each of these answers, in branches that count by how probable they are. Where there
are more than `BRANCHES` of them, so many are drawn.

Source: expected loss after one more answer, Raiffa and Schlaifer 1961, "Applied statistical decision theory"; for
models, Kay et al. 2025 and Okanovic et al. 2025 by other losses. Axis letters as in `beliefs`, and D branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.beliefs import Beliefs
from ranker.statistics.engine import pairs

Goal = Literal["order", "best"]
"""What the answers are for: the order of all models, or which is the best."""

BRANCHES = 16
"""Imagined answers to the rows of a batch that are told apart."""

SHORTLIST = 2_000
"""Labels of patterns, V * C at most, that rows of a batch after the first are chosen from: the best as the first."""

PAIRS = 256
"""Pairs of models that a row is judged by; of more, so many are drawn, for each row anew."""

TINY = 1e-12
"""Of nothing, no share is taken."""

TIE = 1e-6
"""Two rows that leave open the same, but for this share, are equally good; the first is taken."""

CLOSE = 1e-3
"""Rows within this share of the best are judged again in double precision, which decides."""


def next_rows(beliefs: Beliefs, count: int = 1, goal: Goal = "order", closed: Sequence[int] = ()) -> Ints:
    """Choose rows to label.

    Args:
        beliefs: what is known so far.
        count: how many rows.
        goal: what the answers are for.
        closed: rows that are not to be asked, as are those that were answered.

    Returns:
        (count,) rows, the most useful first: fewer, where fewer are left.

    Raises:
        ValueError: a goal that is none.

    Example:
        >>> from ranker.statistics.beliefs import believe
        >>> from ranker.statistics.patterns import fold
        >>> none = np.zeros(0, dtype=np.int64)
        >>> predicted = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
        >>> next_rows(believe(fold(predicted, 2), none, none)).tolist()  # the first row on which they differ
        [2]
    """
    if goal not in get_args(Goal):
        raise ValueError(f"goal must be one of {', '.join(get_args(Goal))} (got {goal!r})")
    open_ = beliefs.patterns.of >= 0
    open_[[*beliefs.readings.rows.tolist(), *closed]] = False
    left = np.bincount(beliefs.patterns.of[open_], minlength=len(beliefs.patterns.counts))[beliefs.candidates]
    candidates = np.flatnonzero(left)
    leads = beliefs.leads_of(_judging(beliefs, goal))
    branches = np.ones((1, len(beliefs.accuracies)))
    chosen: list[int] = []
    while len(candidates) and len(chosen) < count:
        whole = len(candidates) == len(left)
        gained = _gained(leads, branches, beliefs.answers if whole else beliefs.answers[:, :, candidates])
        if not chosen and count > 1:
            shortlist = np.sort(np.argsort(-gained, kind="stable")[: max(SHORTLIST // beliefs.patterns.classes, 1)])
            candidates, gained = candidates[shortlist], gained[shortlist]
        at = candidates[_first(gained)]
        chosen.append(int(np.argmax(open_ & (beliefs.patterns.of == beliefs.candidates[at]))))
        open_[chosen[-1]] = False
        left[at] -= 1
        candidates = candidates[left[candidates] > 0]
        if len(chosen) < count:
            branches = _branched(
                branches, beliefs.answers[:, :, at], np.random.default_rng([beliefs.seed, len(chosen)])
            )
    return np.array(chosen, dtype=np.int64)


def _first(gained: Floats) -> int:
    """The first of the greatest, where rounding alone makes no difference."""
    return int(np.argmax(gained >= gained.max() - TIE * abs(gained.max())))


def _judging(beliefs: Beliefs, goal: Goal) -> Ints:
    """(p, 2) the pairs that answers are to tell apart, or `PAIRS` of them."""
    these = pairs(beliefs.patterns.models)
    if goal == "best":
        these = these[(these == beliefs.score.argmax()).any(axis=1)]
    if len(these) <= PAIRS:
        return these
    return these[np.random.default_rng([beliefs.seed, 0]).choice(len(these), PAIRS, replace=False)]


def _gained(leads: Floats, branches: Floats, answers: Floats) -> Floats:
    """(V,) what `_certainty` finds, in the precision of the answers; of the best, in double precision."""
    found = _certainty(leads, branches, answers)
    best = np.flatnonzero(found >= (1 - CLOSE) * found.max())
    found[best] = _certainty(leads, branches, answers[:, :, best].astype(np.float64))
    return found


def _certainty(leads: Floats, branches: Floats, answers: Floats) -> Floats:
    """(V,) by how much an answer lowers the sum over pairs of p (1 - p): the sum of the variances of p over answers.

    Args:
        leads: (S, P) p in each world.
        branches: (D, S) weights of the worlds after imagined answers; they sum to S over all.
        answers: (C, S, V) their probabilities; what is computed is in their precision.
    """
    found = np.zeros(answers.shape[2])
    for weights in branches:
        centred = (leads - weights @ leads / weights.sum()) * weights[:, None]
        total = np.maximum(weights.astype(answers.dtype) @ answers, TINY)  # (C, V)
        moved = centred.T.astype(answers.dtype) @ answers[:-1]  # (C - 1, P, V); over all answers they sum to 0
        last = moved.sum(axis=0)
        found += (np.einsum("cpv,cpv->cv", moved, moved) / total[:-1]).sum(axis=0)
        found += np.einsum("pv,pv->v", last, last) / total[-1]
    return found


def _branched(branches: Floats, answers: Floats, rng: np.random.Generator) -> Floats:
    """(D, S) the weights after each answer to one more row, of which the worlds give (C, S) probabilities."""
    weights = (branches[:, None] * answers).reshape(-1, branches.shape[1])
    if len(weights) <= BRANCHES:
        return weights
    reach = np.cumsum(weights.sum(axis=1))
    ticks = (rng.random() + np.arange(BRANCHES)) / BRANCHES * reach[-1]
    drawn = weights[np.minimum(np.searchsorted(reach, ticks), len(weights) - 1)]
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True) * (reach[-1] / BRANCHES))
