"""What in-domain values say of other sets: a table of values -> the trend of each set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from factors.types import Floats
from ranker.domains.values import Set, Values
from ranker.errors import UsageError, look_up
from ranker.numbers import counted
from ranker.results.over_sets import Axes, Point, Trend
from ranker.statistics import trend

AXES: dict[str, Axes] = {"plain": "plain", "probit": "probit"}


def trends(values: Values, axes: str, rng: np.random.Generator) -> Iterator[Trend]:
    """The trend of each set of the kind "ood" whose task has in-domain values.

    A model's in-domain value is the mean over the in-domain sets of the task. A model that has one, and no value on the
    set, is predicted.

    Args:
        values: what models scored.
        axes: "plain", or "probit" for normal quantiles of the values.
        rng: the only source of randomness.

    Raises:
        UsageError: there are no such axes, or a value has no normal quantile.
    """
    scale = look_up("kind of axes", axes, AXES)
    for task in values.tasks:
        known = values.places(task, "in-domain")
        if not known:
            continue
        x = values.values[:, known].mean(axis=1)
        for at in values.places(task, "ood"):
            yield _trend(values.models, values.sets[at], x, values.values[:, at], scale, rng.spawn(1)[0])


def _trend(models: Sequence[str], one: Set, x: Floats, y: Floats, axes: Axes, rng: np.random.Generator) -> Trend:
    """The trend of one set."""
    both = ~np.isnan(x) & ~np.isnan(y)
    found = Trend(one.group, one.name, int(both.sum()), axes, None, "")
    if both.sum() < trend.FEW:
        return replace(
            found, why=f"{counted(int(both.sum()), 'model has', 'models have')} both values, and 6 are needed"
        )
    if np.ptp(x[both]) <= trend.LEAST:
        return replace(found, why="all models have the same in-domain value")
    across, up = _turned(x, axes, one), _turned(y, axes, one)
    fitted = trend.tell(across[both], up[both], rng)
    far = np.flatnonzero(both)[trend.far_off(across[both], up[both])]
    others = np.setdiff1d(np.flatnonzero(both), far)
    apart = len(far) and len(others) >= trend.FEW and np.ptp(x[others]) > trend.LEAST
    joint, joint_low, joint_high = (
        float(_back(at, axes)) if fitted.shape == "joined" and at is not None else None
        for at in (fitted.joint, fitted.joint_low, fitted.joint_high)
    )
    return replace(
        found,
        type=fitted.type if fitted.told else None,
        why="" if fitted.told else _open(fitted),
        shape=fitted.shape,
        correlation=_correlation(across[both], up[both]),
        slopes=fitted.slopes,
        joint=joint,
        joint_low=joint_low,
        joint_high=joint_high,
        p_types=dict(fitted.shares),
        bic=dict(zip(trend.SHAPES, map(_finite, fitted.bic), strict=True)),
        loo=dict(zip(trend.SHAPES, map(_finite, fitted.loo), strict=True)),
        far=tuple(models[at] for at in far),
        type_without=trend.tell(across[others], up[others], rng).type if apart else None,
        points=tuple(_points(models, x, y, fitted, across, axes)),
    )


def _points(
    models: Sequence[str], x: Floats, y: Floats, fitted: trend.TrendFit, across: Floats, axes: Axes
) -> Iterator[Point]:
    """The models that have an in-domain value, by that; those without a value on the set are predicted."""
    shown = [at for at in np.argsort(x, kind="stable") if not np.isnan(x[at])]
    expected = _back(fitted.at(across[shown]), axes)
    low, high = (_back(end, axes) for end in fitted.predict(across[shown]))
    for place, at in enumerate(shown):
        own, said = _finite(y[at]), float(expected[place])
        yield Point(
            model=models[at],
            x=float(x[at]),
            y=own,
            expected=said,
            low=float(low[place]),
            high=float(high[place]),
            robustness=None if own is None else own - said,
        )


def _open(fitted: trend.TrendFit) -> str:
    """Why a type is not told: which share of the resamples has which."""
    shares = sorted(fitted.shares.items(), key=lambda item: -item[1])[:2]
    said = ", ".join(f"{name} in {100 * share:.0f} %" for name, share in shares)
    return f"resamples of the models disagree with {fitted.type}, which fits best: {said}"


def _turned(values: Floats, axes: Axes, one: Set) -> Floats:
    """Values on the axes."""
    if axes == "plain":
        return values
    known = values[~np.isnan(values)]
    if known.min() <= 0 or known.max() >= 1:
        wrong = known.min() if known.min() <= 0 else known.max()
        raise UsageError(f"{one}: probit `axes` need values between 0 and 1, and neither of these (got {wrong:g})")
    from scipy.special import ndtri

    return np.asarray(ndtri(values))


def _back(values: Floats | float, axes: Axes) -> Floats:
    """Values on the axes as fractions."""
    if axes == "plain":
        return np.asarray(values)
    from scipy.special import ndtr

    return np.asarray(ndtr(values))


def _correlation(x: Floats, y: Floats) -> float | None:
    return None if np.ptp(y) <= trend.LEAST else float(np.corrcoef(x, y)[0, 1])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
