"""What in-domain values say of others: a line, two joined lines, or nothing, over models.

Each model is a point (x, y): its in-domain value, and that on another set. Axis letters: M models, B draws, and J
places where two lines may be joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from factors.types import Bools, Floats, Ints

Shape = Literal["flat", "line", "joined"]
"""A constant; a line; two lines that meet."""

SHAPES: tuple[Shape, ...] = ("flat", "line", "joined")

NUMBERS: Mapping[Shape, int] = {"flat": 2, "line": 3, "joined": 6}
"""How many numbers each is made of: heights, slopes, the noise; and the place where lines meet, which counts twice.

That place is searched for, so noise is followed further than by a slope. Where it counted once, 15 % of simulations
took one line of 12 models for two; where it counts twice, 8 %.
"""

Type = Literal["flat", "I", "II", "III", "negative", "other"]
"""BOSS's: a rising line; two rising lines; a V; falling lines. Else flat, or rising lines that turn down."""

TYPES: tuple[Type, ...] = ("I", "II", "III", "negative", "flat", "other")

LEG = 3
"""Models with different x that each of two joined lines needs; or a tenth of the models, where that is more."""

FEW = 6
"""With fewer models nothing is told."""

DRAWS = 1_000
"""Resamples of the models: a share of 0.5 is off by 0.016."""

CHUNK = 2**21
"""Numbers in hand at once."""

FAR = 4.0
"""Robust standard deviations from a robust line beyond which a model lies far off."""

LEVEL = 0.95
"""Confidence of the interval of a joint."""

SURE = 0.5
"""The share of resamples below which a type is not told."""

JOINTS = 200
"""Places that are tried for a joint, at most; of more, these lie evenly among the models."""

LEAST = 1e-12
"""The least share of the squares of y that is taken for left over: below is rounding."""


@dataclass(frozen=True, eq=False)
class Fits:
    """The best of each shape, for each of B sets of weights.

    Attributes:
        squares: (B, 3) sums of squares that each of `SHAPES` leaves; inf where it cannot be fitted.
        levels: (B, 3) y at `joints`.
        slopes: (B, 3, 2) before and after.
        joints: (B, 3) x where the lines meet; of the other shapes a place on them.
    """

    squares: Floats
    levels: Floats
    slopes: Floats
    joints: Floats

    def at(self, x: Floats) -> Floats:
        """(B, 3) what each says at (B,) or () x."""
        apart = np.broadcast_to(x, len(self.joints))[:, None] - self.joints
        return self.levels + np.where(apart < 0, self.slopes[..., 0], self.slopes[..., 1]) * apart

    def types(self, chosen: Ints) -> list[Type]:
        """The type of the chosen shape, for each of the B."""
        rows = np.arange(len(chosen))
        return [type_of(SHAPES[at], *slopes) for at, slopes in zip(chosen, self.slopes[rows, chosen], strict=True)]


def type_of(shape: Shape, before: float, after: float) -> Type:
    """What a fit is called.

    Example:
        >>> type_of("line", 0.5, 0.5), type_of("joined", 0.1, 0.9), type_of("joined", -0.5, 0.9)
        ('I', 'II', 'III')

    Source: Yuan et al. 2023 (BOSS), section 3.
    """
    if shape == "flat":
        return "flat"
    if shape == "line":
        return "I" if before > 0 else "negative"
    if before < 0:
        return "III" if after > 0 else "negative"
    return "II" if after >= 0 else "other"


def fit(x: Floats, y: Floats, weights: Floats) -> Fits:
    """Fit each shape by least squares, for many weights of the models at once.

    Two lines may meet at a model, or midway between two, where `LEG` models that weigh something lie to either side of
    that place, or at it: `leg` of these, each with an x of its own.

    Args:
        x, y: (M,) the points.
        weights: (B, M) at least 0.

    Example:
        >>> x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        >>> found = fit(x, np.abs(x - 3), np.ones((1, 7)))
        >>> float(found.joints[0, 2]), found.slopes[0, 2].round(9).tolist(), found.squares[0].round(9).tolist()
        (3.0, [-1.0, 1.0], [7.428571429, 7.428571429, 0.0])
    """
    middle, width = x.mean(), max(float(np.ptp(x)), LEAST)
    u = (x - middle) / width
    height = y.mean()
    total, v = weights.sum(axis=1), y - height
    zero = np.zeros((len(weights), 1))
    mean = (weights @ v / total)[:, None]
    centre = (weights @ u / total)[:, None]
    flat = (weights * (v - mean) ** 2).sum(axis=1)
    spread = (weights * (u - centre) ** 2).sum(axis=1)
    slope = np.divide(
        (weights * (u - centre) * (v - mean)).sum(axis=1), spread, out=zero[:, 0].copy(), where=spread > 0
    )
    line = np.where(spread > 0, flat - slope**2 * spread, np.inf)
    squares, levels, slopes, joints = _joined(u, v, weights)
    return Fits(
        np.maximum(np.column_stack([flat, line, squares]), 0.0),
        np.column_stack([mean[:, 0], mean[:, 0], levels]) + height,
        np.stack([np.zeros((len(weights), 2)), np.column_stack([slope, slope]), slopes], axis=1) / width,
        np.column_stack([centre[:, 0], centre[:, 0], joints]) * width + middle,
    )


def leg(models: int) -> int:
    """How many models each of two joined lines needs.

    Example:
        >>> leg(12), leg(104)
        (3, 11)
    """
    return max(LEG, -(-models // 10))


def _possible_joints(places: Floats, least: int) -> Floats:
    """(J,) models, and places midway between two, with `least` of the different x to either side, or at them.

    Args:
        places: (P,) the different x, sorted.
        least: how many of these each side needs.
    """
    joints = np.sort(np.r_[places, (places[1:] + places[:-1]) / 2])[2 * least - 2 : 2 * len(places) - 2 * least + 1]
    return joints[np.unique(np.linspace(0, len(joints) - 1, min(len(joints), JOINTS)).round().astype(np.int64))]


def _design(u: Floats, joints: Floats) -> Floats:
    """(J, M, 3) what the level at each joint, and the slopes before and after it, are multiplied by."""
    apart = u[None, :] - joints[:, None]
    return np.stack([np.ones_like(apart), np.minimum(apart, 0), np.maximum(apart, 0)], axis=2)


def _joined(u: Floats, v: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Two lines that meet: (B,) squares, levels, (B, 2) slopes, and (B,) joints."""
    places, between = np.unique(u, return_inverse=True)
    least = leg(len(u))
    joints = _possible_joints(places, least)
    draws = len(weights)
    squares, levels, where = np.full(draws, np.inf), np.zeros(draws), np.zeros(draws)
    slopes = np.zeros((draws, 2))
    if not len(joints):
        return squares, levels, slopes, where
    design = _design(u, joints)
    products = (design[..., :, None] * design[..., None, :]).transpose(1, 0, 2, 3).reshape(len(u), -1)
    answers = (design * v[None, :, None]).transpose(1, 0, 2).reshape(len(u), -1)
    here = np.zeros((len(places), len(u)))
    here[between, np.arange(len(u))] = 1.0
    below = (places[None, :] <= joints[:, None] + LEAST).astype(np.float64)
    above = (places[None, :] >= joints[:, None] - LEAST).astype(np.float64)
    for start in range(0, draws, step := max(CHUNK // products.shape[1], 1)):
        some = slice(start, start + step)
        known = weights[some]
        seen = (known @ here.T > 0).astype(np.float64)
        possible = (seen @ below.T >= least) & (seen @ above.T >= least)  # (B, J)
        gram = (known @ products).reshape(len(known), len(joints), 3, 3)
        right = (known @ answers).reshape(len(known), len(joints), 3)
        solved = np.linalg.solve(np.where(possible[..., None, None], gram, np.eye(3)), right[..., None])[..., 0]
        left = (known @ v**2)[:, None] - (solved * right).sum(axis=2)
        left = np.where(possible, left, np.inf)
        best = left.argmin(axis=1)
        rows = np.arange(len(known))
        squares[some], where[some] = left[rows, best], joints[best]
        levels[some], slopes[some] = solved[rows, best, 0], solved[rows, best, 1:]
    return squares, levels, slopes, where


def joint_interval(x: Floats, y: Floats, joint: float) -> tuple[float, float] | None:
    """Accept each place for the joint that an F test does not tell from the best one.

    With S(j) the squares that two lines leave that meet at j, a place j is accepted where

        S(j) <= S(joint) (1 + 2 F / (M - 5)),

    F the quantile at `LEVEL` of Fisher's F with 2 and M - 5 degrees of freedom. The joint counts as two numbers, as in
    `bic`: it was searched for, and it has an interval only where two lines were preferred to one.

    The interval ends at the nearest place on either side that is not accepted, so it contains the joint. The outermost
    places are the second x from either end: a joint further out leaves the same squares, since one x alone bends no
    line. Where such a place is accepted, the interval ends with the models.

    Args:
        x, y: (M,) the points.
        joint: the x where `fit` lets the lines meet.

    Returns:
        The low and the high end; None where it cannot be told: a joint at the first models is accepted, and one at the
        last.

    Example:
        >>> x = np.linspace(0.0, 1.0, 21)
        >>> low, high = joint_interval(x, np.abs(x - 0.5) + 0.08 * np.cos(40 * x), 0.5)
        >>> round(low, 3), round(high, 3)
        (0.375, 0.6)
        >>> joint_interval(x, np.abs(x - 0.5) + np.cos(40 * x), 0.5) is None
        True

    Source: Hinkley 1971, "Inference in two-phase regression"; Feder 1975.
    """
    from scipy.special import fdtri

    df = len(x) - 5
    places = np.unique(np.r_[_possible_joints(np.unique(x), 2), joint])
    height = y - y.mean()
    basis = np.linalg.qr(_design(x, places))[0]  # (J, M, 3)
    fitted = np.einsum("jmk,jk->jm", basis, np.einsum("jmk,m->jk", basis, height))
    squares = ((height - fitted) ** 2).sum(axis=1)
    at_joint = max(float(squares[places == joint][0]), LEAST * float((height**2).sum()))
    accepted = np.flatnonzero(squares <= at_joint * (1 + 2 * fdtri(2, df, LEVEL) / df))
    ends = np.r_[x.min(), places, x.max()]  # accepted places are one further on in it
    if accepted[0] == 0 and accepted[-1] == len(places) - 1:
        return None
    return float(ends[accepted[0]]), float(ends[accepted[-1] + 2])


def bic(squares: Floats, count: Floats | float) -> Floats:
    """(B, 3) M log(squares / M) + numbers log M of each shape; lower is better.

    Source: Schwarz 1978, with normal noise of unknown size.
    """
    n = np.broadcast_to(np.asarray(count, dtype=np.float64), len(squares))[:, None]
    numbers = np.array([NUMBERS[shape] for shape in SHAPES])
    floor = np.maximum(squares[:, :1] * LEAST, np.finfo(np.float64).tiny)
    with np.errstate(divide="ignore"):
        return np.asarray(n * np.log(np.maximum(squares, floor) / n) + numbers * np.log(n))


@dataclass(frozen=True, eq=False)
class TrendFit:
    """The trend of the points of a set, to predict new ones by.

    Attributes:
        x, y: (M,) the points.
        shape: by BIC, and two lines only where they predict a model that was left out better than one.
        type: what that is called.
        shares: type -> share of resamples of the models in which BIC chooses it.
        level, slopes, joint: y at the joint, slopes before and after it, and its x.
        joint_low, joint_high: the 95 % interval of the joint; None where lines do not meet, or it cannot be told.
        bic: (3,) of `SHAPES`.
        loo: (3,) root mean squared error on models left out; nan where a shape cannot be fitted.
    """

    x: Floats
    y: Floats
    shape: Shape
    type: Type
    shares: Mapping[Type, float]
    level: float
    slopes: tuple[float, float]
    joint: float
    joint_low: float | None
    joint_high: float | None
    bic: Floats
    loo: Floats

    @property
    def told(self) -> bool:
        """Whether half of the resamples agree."""
        return self.shares[self.type] >= SURE

    def at(self, x: Floats) -> Floats:
        """What the trend says at each x."""
        apart = x - self.joint
        return self.level + np.where(apart < 0, self.slopes[0], self.slopes[1]) * apart

    def predict(self, x: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of prediction intervals for new models.

        y = f(x) -+ t s sqrt(1 + g(x)' (G'G)^-1 g(x)), with g the derivatives of f by its numbers, G those at the
        models, s^2 the squares left over the degrees of freedom. Exact for a line with normal noise; for joined lines
        f is taken for linear in the place of the joint.

        Args:
            x: (N,) in-domain values.
            level: how many new models it holds.
        """
        from scipy.special import stdtrit

        known, new = self._derivatives(self.x), self._derivatives(x)
        df = len(self.x) - known.shape[1]
        error = ((self.y - self.at(self.x)) ** 2).sum() / df
        spread = np.einsum("ni,ij,nj->n", new, np.linalg.pinv(known.T @ known), new)
        reach = stdtrit(df, (1 + level) / 2) * np.sqrt(error * (1 + spread))
        return self.at(x) - reach, self.at(x) + reach

    def _derivatives(self, x: Floats) -> Floats:
        """(N, numbers) of the trend by its level, its slopes and its joint."""
        apart = x - self.joint
        if self.shape == "flat":
            return np.ones((len(x), 1))
        if self.shape == "line":
            return np.column_stack([np.ones(len(x)), apart])
        before = apart < 0
        moved = -np.where(before, self.slopes[0], self.slopes[1])
        return np.column_stack([np.ones(len(x)), np.where(before, apart, 0), np.where(before, 0, apart), moved])


def tell(x: Floats, y: Floats, rng: np.random.Generator, draws: int = DRAWS) -> TrendFit:
    """Say which shape the points have, and how sure that is.

    Args:
        x, y: (M,) in-domain values, and those on a set; at least `FEW` models, and x not all the same.
        rng: the only source of randomness.
        draws: resamples of the models.

    Raises:
        ValueError: fewer models, or one x.

    Example:
        >>> x = np.linspace(0.5, 0.9, 20)
        >>> y = 0.3 + 1.2 * np.abs(x - 0.7) + np.random.default_rng(1).normal(0, 0.01, 20)
        >>> found = tell(x, y, np.random.default_rng(0))
        >>> found.type, found.told, round(found.joint, 2)
        ('III', True, 0.7)

    Source: shapes as in BOSS (Yuan et al. 2023, section 3); joined lines as in Hudson 1966.
    """
    size = len(x)
    if size < FEW or np.ptp(x) <= LEAST:
        raise ValueError(f"at least {FEW} models with different x are needed (got {size})")
    whole, without = fit(x, y, np.ones((1, size))), fit(x, y, 1 - np.eye(size))
    errors = np.where(np.isfinite(without.squares), without.at(x) - y[:, None], np.nan)
    loo = np.sqrt((errors**2).mean(axis=0))
    scores = bic(whole.squares, size)[0]
    best = int(scores.argmin())
    if SHAPES[best] == "joined" and not loo[2] < loo[:2].min():
        best = int(scores[:2].argmin())
    weights = rng.multinomial(size, np.full(size, 1 / size), size=draws).astype(np.float64)
    drawn = fit(x, y, weights)
    types = drawn.types(bic(drawn.squares, size).argmin(axis=1))
    joint = float(whole.joints[0, best])
    low, high = (joint_interval(x, y, joint) if SHAPES[best] == "joined" else None) or (None, None)
    before, after = map(float, whole.slopes[0, best])
    return TrendFit(
        x=x,
        y=y,
        shape=SHAPES[best],
        type=type_of(SHAPES[best], before, after),
        shares={one: types.count(one) / draws for one in TYPES},
        level=float(whole.levels[0, best]),
        slopes=(before, after),
        joint=joint,
        joint_low=low,
        joint_high=high,
        bic=scores,
        loo=loo,
    )


def far_off(x: Floats, y: Floats) -> Bools:
    """(M,) the models that lie far off a robust line: more than `FAR` robust standard deviations.

    The line has the median of the slopes between any two models, and the deviation is 1.4826 times the median distance
    from it. At most a tenth of the models are named: of more, the line is no trend.

    Example:
        >>> x = np.linspace(0, 1, 20)
        >>> far_off(x, x + 0.01 * np.cos(9 * x) + (x == 0)).nonzero()[0].tolist()
        [0]

    Source: Theil 1950; Sen 1968.
    """
    first, second = np.triu_indices(len(x), 1)
    apart = x[second] - x[first]
    usable = np.abs(apart) > LEAST
    rest = y - np.median((y[second] - y[first])[usable] / apart[usable]) * x
    rest = np.abs(rest - np.median(rest))
    off = rest > FAR * 1.4826 * np.median(rest) + LEAST
    return np.asarray(off if off.sum() <= len(x) // 10 else np.zeros(len(x), dtype=bool))
