"""Marks of several raters, made one: what a rater adds to all marks is taken out, and how far he spreads them.

Rater r's mark of an answer i is y_ri = m + a_r + b_r (t_i - m) + noise, with t_i the mark of all raters and m their
mean. Level a_r and spread b_r are estimated in turn with t, by least squares, each drawn to 0 and 1 as by `PRIOR_MARKS`
further marks: a rater of few answers changes little. Where all raters mark all answers, levels change no difference.

Source: ours, in the manner of Paun et al. 2018, "Comparing Bayesian models of annotation", section 3, for numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.types import Floats

RATERS = frozenset({"rater", "rater_id", "annotator", "annotator_id", "worker", "worker_id"})
"""Usual names of a column that states who gave a mark."""

PRIOR_MARKS = 4.0
"""Marks that the priors of a rater's level and spread count as."""

ROUNDS = 50
"""Rounds of estimation."""

LEAST_SPREAD = 0.25
"""Least b of a rater."""


def joint_marks(marks: Floats) -> tuple[Floats, Floats]:
    """Return (N,) marks of answers, nan where no rater gave one, and (R,) levels of the raters.

    Args:
        marks: (R, N) from 0 to 1, nan where there is none.

    Example:
        >>> strict = np.array([[0.1, 0.2, 0.3, np.nan], [0.5, 0.6, 0.7, 0.8]])
        >>> joint, levels = joint_marks(strict)
        >>> joint.round(2).tolist(), levels.round(2).tolist()
        ([0.26, 0.36, 0.46, 0.77], [-0.06, 0.09])
    """
    present = ~np.isnan(marks)
    counts, values = present.sum(axis=1), np.where(present, marks, 0.0)
    mean = values.sum() / max(present.sum(), 1)
    levels, spreads = np.zeros(len(marks)), np.ones(len(marks))
    joint = np.zeros(marks.shape[1])
    for _ in range(ROUNDS):
        adjusted = np.where(present, (values - mean - levels[:, None]) * spreads[:, None], 0.0)
        weights = (present * spreads[:, None] ** 2).sum(axis=0)
        joint = adjusted.sum(axis=0) / np.where(weights > 0, weights, 1.0)
        left = np.where(present, values - mean - spreads[:, None] * joint, 0.0)
        levels = left.sum(axis=1) / (counts + PRIOR_MARKS)
        around = np.where(present, values - mean - levels[:, None], 0.0)
        squares, prior = (present * joint**2).sum(axis=1), PRIOR_MARKS * np.mean(joint**2)
        spreads = np.maximum(((around * joint).sum(axis=1) + prior) / np.maximum(squares + prior, 1e-12), LEAST_SPREAD)
    return np.where(present.any(axis=0), np.clip(mean + joint, 0.0, 1.0), np.nan), levels


def alpha(marks: Floats) -> float:
    """Return Krippendorff's alpha of marks as intervals, of the answers that two raters or more marked; nan if unknown.

    Args:
        marks: (R, N), nan where there is none.

    Source: Krippendorff 2019, "Content Analysis", chapter 12: 1 - observed over expected disagreement.

    Example:
        >>> round(alpha(np.array([[1.0, 2.0, 3.0, np.nan], [1.0, 2.0, 4.0, 5.0]])), 3)
        0.878
    """
    present = ~np.isnan(marks)
    paired = marks[:, present.sum(axis=0) > 1]
    counts = (~np.isnan(paired)).sum(axis=0)
    if not paired.size:
        return float("nan")
    around = np.nan_to_num(paired - np.nanmean(paired, axis=0))
    observed = (2 * counts * (around**2).sum(axis=0) / (counts - 1)).sum() / counts.sum()
    pooled = paired[~np.isnan(paired)]
    expected = 2 * len(pooled) * pooled.var() / (len(pooled) - 1)
    return float(1 - observed / expected) if expected > 0 else float("nan")


def describe(names: Sequence[str], marks: Floats, levels: Floats, scale: tuple[float, float]) -> str:
    """Return a clause on R raters: how many, how far (R, N) marks agree, and (R,) levels, in shares of the scale."""
    agreement, pairs = alpha(marks), int(((~np.isnan(marks)).sum(axis=0) > 1).sum())
    says = f"Krippendorff's alpha {agreement:.2f}, on {pairs:,} answers" if agreement == agreement else "none is shared"
    adds = ", ".join(f"{name} {(scale[1] - scale[0]) * level:+.2f}" for name, level in zip(names, levels, strict=True))
    return f"marks of {len(names)} raters ({says}) are joined, without what each adds to all marks: {adds}"
