"""Fit the trend of each OOD set over in-domain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from factors.rounding import level
from factors.types import Floats
from ranker.domains.results.over_sets import Axes, Point, Trend
from ranker.domains.statistics import trend
from ranker.domains.values import Set, Values
from ranker.errors import UsageError, look_up
from ranker.numbers import counted

AXES: dict[str, Axes] = {"plain": "plain", "probit": "probit"}


def fit_trends(values: Values, axes: str, rng: np.random.Generator) -> Iterator[Trend]:
    """Fit the trend of each set of the kind "ood" whose task has in-domain values.

    A model's in-domain value is the mean over the in-domain sets of the task. A model with such a value but none on the
    set is predicted.

    Args:
        axes: "plain", or "probit" for normal quantiles of the values.

    Raises:
        UsageError: there are no such axes, or a value has no normal quantile.
    """
    scale = look_up("kind of axes", axes, AXES)
    if values.lower_is_better and scale != "plain":
        raise UsageError.about("axes", f"must be plain where lower values are better (got {scale})", scale)
    for task in values.tasks:
        in_domain = values.places(task, "in-domain")
        if not in_domain:
            continue
        x = values.values[:, in_domain].mean(axis=1)
        for column in values.places(task, "ood"):
            yield _trend(values.models, values.sets[column], x, values.values[:, column], scale, rng.spawn(1)[0])


def _trend(models: Sequence[str], ood_set: Set, x: Floats, y: Floats, axes: Axes, rng: np.random.Generator) -> Trend:
    """Fit the trend of one set."""
    complete = ~np.isnan(x) & ~np.isnan(y)
    template = Trend(ood_set.group, ood_set.name, int(complete.sum()), axes, None, "")
    if complete.sum() < trend.MIN_MODELS:
        return replace(
            template, why=f"{counted(int(complete.sum()), 'model has', 'models have')} both values, and 6 are needed"
        )
    if np.ptp(x[complete]) <= trend.LEAST:
        return replace(template, why="all models have the same in-domain value")
    across, up = _turned(x, axes, ood_set), _turned(y, axes, ood_set)
    fitted = trend.fit_trend(across[complete], up[complete], rng)
    far = np.flatnonzero(complete)[trend.far_off(across[complete], up[complete])]
    near = np.setdiff1d(np.flatnonzero(complete), far)
    apart = len(far) and len(near) >= trend.MIN_MODELS and np.ptp(x[near]) > trend.LEAST
    joint, joint_low, joint_high = (
        float(_back(end, axes)) if fitted.shape == "joined" and end is not None else None
        for end in (fitted.joint, fitted.joint_low, fitted.joint_high)
    )
    return replace(
        template,
        type=fitted.type if fitted.is_sure else None,
        why="" if fitted.is_sure else _open(fitted),
        shape=fitted.shape,
        correlation=_correlation(across[complete], up[complete]),
        slopes=fitted.slopes,
        joint=joint,
        joint_low=joint_low,
        joint_high=joint_high,
        p_types=dict(fitted.shares),
        bic=dict(zip(trend.SHAPES, map(_finite, fitted.bic), strict=True)),
        loo=dict(zip(trend.SHAPES, map(_finite, fitted.loo), strict=True)),
        far=tuple(models[index] for index in far),
        type_without=trend.fit_trend(across[near], up[near], rng).type if apart else None,
        points=tuple(_points(models, x, y, fitted, across, axes)),
    )


def _points(
    models: Sequence[str], x: Floats, y: Floats, fitted: trend.TrendFit, across: Floats, axes: Axes
) -> Iterator[Point]:
    """Yield the models with an in-domain value, sorted by it; those without a value on the set are predicted."""
    order = [index for index in np.argsort(level(x), kind="stable") if not np.isnan(x[index])]
    expected = _back(fitted.at(across[order]), axes)
    low, high = (_back(end, axes) for end in fitted.predict(across[order]))
    for place, index in enumerate(order):
        value, fit = _finite(y[index]), float(expected[place])
        yield Point(
            model=models[index],
            x=float(x[index]),
            y=value,
            expected=fit,
            low=float(low[place]),
            high=float(high[place]),
            robustness=None if value is None else value - fit,
        )


def _open(fitted: trend.TrendFit) -> str:
    """Explain why no type is certain: the two most frequent types of the resamples."""
    shares = sorted(fitted.shares.items(), key=lambda share: -share[1])[:2]
    text = ", ".join(f"{name} in {100 * share:.0f} %" for name, share in shares)
    return f"resamples of the models disagree with {fitted.type}, which fits best: {text}"


def _turned(values: Floats, axes: Axes, ood_set: Set) -> Floats:
    """Transform fractions to the axes."""
    if axes == "plain":
        return values
    finite = values[~np.isnan(values)]
    if finite.min() <= 0 or finite.max() >= 1:
        wrong = finite.min() if finite.min() <= 0 else finite.max()
        raise UsageError.at(
            ood_set,
            f"probit `axes` need values between 0 and 1, and neither of these (got {wrong:g})",
            option="axes",
            value=float(wrong),
            allowed=(0, 1),
        )
    from scipy.special import ndtri

    return np.asarray(ndtri(values))


def _back(values: Floats | float, axes: Axes) -> Floats:
    """Transform values on the axes back to fractions."""
    if axes == "plain":
        return np.asarray(values)
    from scipy.special import ndtr

    return np.asarray(ndtr(values))


def _correlation(x: Floats, y: Floats) -> float | None:
    return None if np.ptp(y) <= trend.LEAST else float(np.corrcoef(x, y)[0, 1])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
