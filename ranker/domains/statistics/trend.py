"""Trends of values on another set by in-domain values: a line, two joined lines, or nothing, over models.

Each model is a point (x, y): its in-domain value, and that on another set. Axis letters: M models, B draws, and J
places where two lines may be joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from factors.rounding import TIE, level
from factors.types import Bools, Floats, Ints

Shape = Literal["flat", "line", "joined"]
"""A constant; a line; two lines that meet."""

SHAPES: tuple[Shape, ...] = ("flat", "line", "joined")

NUMBERS: Mapping[Shape, int] = {"flat": 2, "line": 3, "joined": 6}
"""Number of parameters of each shape: heights, slopes, the noise; and the place where lines meet, which counts twice.

That place is searched for, so it fits more noise than a slope. Counted once, 15 % of simulations took one line of 12
models for two; counted twice, 8 %.
"""

Type = Literal["flat", "I", "II", "III", "negative", "other"]
"""Types of BOSS: a rising line; two rising lines; a V; falling lines. Else flat, or rising lines that turn down."""

TYPES: tuple[Type, ...] = ("I", "II", "III", "negative", "flat", "other")

LEG = 3
"""Models with different x that each of two joined lines needs; or a tenth of the models, where that is more."""

MIN_MODELS = 6
"""Fewest models for a trend."""

DRAWS = 1_000
"""Resamples of the models: a share of 0.5 is off by 0.016."""

CHUNK = 2**21
"""Numbers in memory at once."""

FAR = 4.0
"""Robust standard deviations from a robust line beyond which a model is far off."""

LEVEL = 0.95
"""Confidence level of the interval of a joint."""

SURE = 0.5
"""Share of resamples below which a type is not reported."""

JOINTS = 200
"""Most places that are tried for a joint; of more, so many spread evenly among the models."""

LEAST = 1e-12
"""Least share of the squares of y that counts as a residual; below is rounding."""


@dataclass(frozen=True, eq=False)
class Fits:
    """Best fit of each shape, for each of B sets of weights.

    Attributes:
        squares: (B, 3) residual sums of squares of each of `SHAPES`; inf where it cannot be fitted.
        levels: (B, 3) y at `joints`.
        slopes: (B, 3, 2) before and after.
        joints: (B, 3) x where the lines meet; of the other shapes a place on them.
    """

    squares: Floats
    levels: Floats
    slopes: Floats
    joints: Floats

    def at(self, x: Floats) -> Floats:
        """Return (B, 3) predictions of each shape at (B,) or () x."""
        apart = np.broadcast_to(x, len(self.joints))[:, None] - self.joints
        return self.levels + np.where(apart < 0, self.slopes[..., 0], self.slopes[..., 1]) * apart

    def types(self, chosen: Ints) -> list[Type]:
        """Return the type of the chosen shape, for each of the B."""
        rows = np.arange(len(chosen))
        return [
            type_of(SHAPES[shape], *slopes) for shape, slopes in zip(chosen, self.slopes[rows, chosen], strict=True)
        ]


def type_of(shape: Shape, before: float, after: float) -> Type:
    """Return the type of a fit.

    Example:
        >>> type_of("line", 0.5, 0.5), type_of("joined", 0.1, 0.9), type_of("joined", -0.5, 0.9)
        ('I', 'II', 'III')

    Source: Yuan et al. 2023 (BOSS), section 3.
    """
    if shape == "flat":
        return "flat"
    if shape == "line":
        return "I" if before > 0 else "negative"
    if before < -TIE:
        return "III" if after > TIE else "negative"
    return "II" if after >= -TIE else "other"


def fit(x: Floats, y: Floats, weights: Floats) -> Fits:
    """Fit each shape by least squares, for many weights of the models at once.

    Two lines may meet at a model, or midway between two, where `leg` models with a weight, each with its own x, lie at
    that place or to either side of it.

    Args:
        x, y: (M,) the points.
        weights: (B, M) at least 0.

    Example:
        >>> x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        >>> fits = fit(x, np.abs(x - 3), np.ones((1, 7)))
        >>> float(fits.joints[0, 2]), fits.slopes[0, 2].round(9).tolist(), fits.squares[0].round(9).tolist()
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
    squares, levels, slopes, joints = _fit_joined(u, v, weights)
    return Fits(
        np.maximum(np.column_stack([flat, line, squares]), 0.0),
        np.column_stack([mean[:, 0], mean[:, 0], levels]) + height,
        np.stack([np.zeros((len(weights), 2)), np.column_stack([slope, slope]), slopes], axis=1) / width,
        np.column_stack([centre[:, 0], centre[:, 0], joints]) * width + middle,
    )


def leg(models: int) -> int:
    """Return how many models each of two joined lines needs.

    Example:
        >>> leg(12), leg(104)
        (3, 11)
    """
    return max(LEG, -(-models // 10))


def _possible_joints(places: Floats, least: int) -> Floats:
    """Return (J,) models, and places midway between two, with `least` of the sorted `places` at or to either side."""
    joints = np.sort(np.r_[places, (places[1:] + places[:-1]) / 2])[2 * least - 2 : 2 * len(places) - 2 * least + 1]
    return joints[np.unique(np.linspace(0, len(joints) - 1, min(len(joints), JOINTS)).round().astype(np.int64))]


def _design(u: Floats, joints: Floats) -> Floats:
    """Return (J, M, 3) factors of the level at each joint, and of the slopes before and after it."""
    apart = u[None, :] - joints[:, None]
    return np.stack([np.ones_like(apart), np.minimum(apart, 0), np.maximum(apart, 0)], axis=2)


def _fit_joined(u: Floats, v: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Fit two lines that meet: (B,) squares, levels, (B, 2) slopes, and (B,) joints."""
    places, between = np.unique(level(u), return_inverse=True)
    least = leg(len(u))
    joints = _possible_joints(places, least)
    draws = len(weights)
    squares, levels, best_joints = np.full(draws, np.inf), np.zeros(draws), np.zeros(draws)
    slopes = np.zeros((draws, 2))
    if not len(joints):
        return squares, levels, slopes, best_joints
    design = _design(u, joints)
    products = (design[..., :, None] * design[..., None, :]).transpose(1, 0, 2, 3).reshape(len(u), -1)
    answers = (design * v[None, :, None]).transpose(1, 0, 2).reshape(len(u), -1)
    at_place = np.zeros((len(places), len(u)))
    at_place[between, np.arange(len(u))] = 1.0
    below = (places[None, :] <= joints[:, None] + LEAST).astype(np.float64)
    above = (places[None, :] >= joints[:, None] - LEAST).astype(np.float64)
    for start in range(0, draws, step := max(CHUNK // products.shape[1], 1)):
        chunk = slice(start, start + step)
        chunk_weights = weights[chunk]
        present = (chunk_weights @ at_place.T > 0).astype(np.float64)
        possible = (present @ below.T >= least) & (present @ above.T >= least)  # (B, J)
        gram = (chunk_weights @ products).reshape(len(chunk_weights), len(joints), 3, 3)
        right = (chunk_weights @ answers).reshape(len(chunk_weights), len(joints), 3)
        solved = np.linalg.solve(np.where(possible[..., None, None], gram, np.eye(3)), right[..., None])[..., 0]
        left = (chunk_weights @ v**2)[:, None] - (solved * right).sum(axis=2)
        left = np.where(possible, left, np.inf)
        best = left.argmin(axis=1)
        rows = np.arange(len(chunk_weights))
        squares[chunk], best_joints[chunk] = left[rows, best], joints[best]
        levels[chunk], slopes[chunk] = solved[rows, best, 0], solved[rows, best, 1:]
    return squares, levels, slopes, best_joints


def joint_interval(x: Floats, y: Floats, joint: float) -> tuple[float, float] | None:
    """Return the places for the joint that an F test does not tell from the best one.

    With S(j) the residual squares of two lines that meet at j, a place j is accepted where

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
        The low and the high end; None where joints at the first and at the last models are both accepted.

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
    places = np.unique(np.r_[_possible_joints(np.unique(level(x)), 2), joint])
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
    """Return (B, 3) M log(squares / M) + numbers log M of each shape; lower is better.

    Source: Schwarz 1978, with normal noise of unknown size.
    """
    n = np.broadcast_to(np.asarray(count, dtype=np.float64), len(squares))[:, None]
    numbers = np.array([NUMBERS[shape] for shape in SHAPES])
    floor = np.maximum(squares[:, :1] * LEAST, np.finfo(np.float64).tiny)
    with np.errstate(divide="ignore"):
        return np.asarray(n * np.log(np.maximum(squares, floor) / n) + numbers * np.log(n))


@dataclass(frozen=True, eq=False)
class TrendFit:
    """Trend of the points of a set, to predict new ones by.

    Attributes:
        x, y: (M,) the points.
        shape: by BIC; two lines only where they predict left-out models better than one.
        type: the type of the shape.
        shares: type -> share of resamples of the models in which BIC chooses it.
        level, slopes, joint: y at the joint, slopes before and after it, and its x.
        joint_low, joint_high: the 95 % interval of the joint; None where lines do not meet, or it has no bounds.
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
    def is_sure(self) -> bool:
        """True if half of the resamples agree on the type."""
        return self.shares[self.type] >= SURE

    def at(self, x: Floats) -> Floats:
        """Return the trend's value at each x."""
        apart = x - self.joint
        return self.level + np.where(apart < 0, self.slopes[0], self.slopes[1]) * apart

    def predict(self, x: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of prediction intervals for new models.

        y = f(x) -+ t s sqrt(1 + g(x)' (G'G)^-1 g(x)), with g the derivatives of f by its numbers, G those at the
        models, s^2 the squares left over the degrees of freedom. Exact for a line with normal noise; for joined lines
        f is taken for linear in the place of the joint.

        Args:
            x: (N,) in-domain values.
            level: the share of new models in the interval.
        """
        from scipy.special import stdtrit

        at_models, new = self._derivatives(self.x), self._derivatives(x)
        df = len(self.x) - at_models.shape[1]
        error = ((self.y - self.at(self.x)) ** 2).sum() / df
        spread = np.einsum("ni,ij,nj->n", new, np.linalg.pinv(at_models.T @ at_models), new)
        reach = stdtrit(df, (1 + level) / 2) * np.sqrt(error * (1 + spread))
        return self.at(x) - reach, self.at(x) + reach

    def _derivatives(self, x: Floats) -> Floats:
        """Return (N, numbers) derivatives of the trend by its level, slopes and joint."""
        apart = x - self.joint
        if self.shape == "flat":
            return np.ones((len(x), 1))
        if self.shape == "line":
            return np.column_stack([np.ones(len(x)), apart])
        before = apart < 0
        moved = -np.where(before, self.slopes[0], self.slopes[1])
        return np.column_stack([np.ones(len(x)), np.where(before, apart, 0), np.where(before, 0, apart), moved])


def fit_trend(x: Floats, y: Floats, rng: np.random.Generator, draws: int = DRAWS) -> TrendFit:
    """Fit the shape of the points, and how sure it is.

    Args:
        x, y: (M,) in-domain values, and those on a set; at least `MIN_MODELS` models, and x not all the same.

    Raises:
        ValueError: fewer models, or one x.

    Example:
        >>> x = np.linspace(0.5, 0.9, 20)
        >>> y = 0.3 + 1.2 * np.abs(x - 0.7) + np.random.default_rng(1).normal(0, 0.01, 20)
        >>> trend = fit_trend(x, y, np.random.default_rng(0))
        >>> trend.type, trend.is_sure, round(trend.joint, 2)
        ('III', True, 0.7)

    Source: shapes as in BOSS (Yuan et al. 2023, section 3); joined lines as in Hudson 1966.
    """
    size = len(x)
    if size < MIN_MODELS or np.ptp(x) <= LEAST:
        raise ValueError(f"at least {MIN_MODELS} models with different x are needed (got {size})")
    full, without = fit(x, y, np.ones((1, size))), fit(x, y, 1 - np.eye(size))
    errors = np.where(np.isfinite(without.squares), without.at(x) - y[:, None], np.nan)
    loo = np.sqrt((errors**2).mean(axis=0))
    scores = bic(full.squares, size)[0]
    best = int(scores.argmin())
    if SHAPES[best] == "joined" and not loo[2] < loo[:2].min():
        best = int(scores[:2].argmin())
    weights = rng.multinomial(size, np.full(size, 1 / size), size=draws).astype(np.float64)
    drawn = fit(x, y, weights)
    types = drawn.types(bic(drawn.squares, size).argmin(axis=1))
    joint = float(full.joints[0, best])
    low, high = (joint_interval(x, y, joint) if SHAPES[best] == "joined" else None) or (None, None)
    before, after = map(float, full.slopes[0, best])
    return TrendFit(
        x=x,
        y=y,
        shape=SHAPES[best],
        type=type_of(SHAPES[best], before, after),
        shares={type_name: types.count(type_name) / draws for type_name in TYPES},
        level=float(full.levels[0, best]),
        slopes=(before, after),
        joint=joint,
        joint_low=low,
        joint_high=high,
        bic=scores,
        loo=loo,
    )


def far_off(x: Floats, y: Floats) -> Bools:
    """Find (M,) models that lie more than `FAR` robust standard deviations off a robust line.

    The line has the median of the slopes between any two models, and the deviation is 1.4826 times the median distance
    from it. At most a tenth of the models are returned: with more, the line is no trend.

    Example:
        >>> x = np.linspace(0, 1, 20)
        >>> far_off(x, x + 0.01 * np.cos(9 * x) + (x == 0)).nonzero()[0].tolist()
        [0]

    Source: Theil 1950; Sen 1968.
    """
    first, second = np.triu_indices(len(x), 1)
    apart = x[second] - x[first]
    usable = np.abs(apart) > LEAST
    residuals = y - np.median((y[second] - y[first])[usable] / apart[usable]) * x
    residuals = np.abs(residuals - np.median(residuals))
    off = residuals > FAR * 1.4826 * np.median(residuals) + LEAST
    return np.asarray(off if off.sum() <= len(x) // 10 else np.zeros(len(x), dtype=bool))
