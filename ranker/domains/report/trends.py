"""Report of trends over in-domain values: sentences, tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ranker.domains.results.over_sets import OverSets, Trend
from ranker.errors import listed
from ranker.numbers import interval, percent, points, probability, signed
from ranker.report.tables import Table, table
from ranker.results.result import NAMES

MAX_SET_COLUMNS = 12
"""Sets, or tasks, that get a column each; other formats have more."""

MAX_MODEL_ROWS = 40
"""Models that get a row each; other formats have more."""

TYPES = {
    "I": "a rising line",
    "II": "two rising lines",
    "III": "a V",
    "negative": "falling",
    "flat": "flat",
    "other": "rising, then falling",
}
"""Types of BOSS, in words."""

TIE = 1e-9
"""Distance up to which in-domain values are equal; probit axes change them slightly."""


def answer(fits: Sequence[Trend]) -> str:
    """Return the types that are certain, and the sets without one."""
    certain = [f"{trend.set} {TYPES[trend.type]}" for trend in fits if trend.type is not None]
    open_ = [trend.set for trend in fits if trend.type is None]
    without = f"; cannot be told: {listed(open_, NAMES)}" if open_ and certain else ""
    return f"Against in-domain values: {listed(certain, NAMES) or 'no trend is certain'}{without}."


def tables(board: OverSets) -> Iterator[Table]:
    """Yield the trend of each set, and the models' distances from it."""
    yield trends(board.trends)
    if any(trend.points for trend in board.trends) and len(board.trends) <= MAX_SET_COLUMNS:
        yield robustness(board)
        if any(point.y is None for trend in board.trends for point in trend.points):
            yield prediction_table(board.trends)


def trends(fits: Sequence[Trend]) -> Table:
    """Tabulate the trend of each set."""
    rows = (
        (
            *(set_name(trend), trend.type or "?", str(trend.models)),
            "" if trend.correlation is None else f"{trend.correlation:.2f}",
            _slopes(trend),
            *(percent(trend.joint), joint_interval(trend)),
            "" if trend.type is None else probability(trend.p_types[trend.type], 0),
        )
        for trend in fits
    )
    numbers = ["models", "r", "slope", "joint", "95 %", "share"]
    return table("Trends: OOD against in-domain", ["set", "type"], numbers, rows)


def set_name(trend: Trend) -> str:
    """Return a set's name, with its task if that has another name."""
    return trend.set if trend.task == trend.set else f"{trend.task}: {trend.set}"


def _slopes(trend: Trend) -> str:
    if trend.slopes is None:
        return ""
    before, after = (signed(slope, 2) for slope in trend.slopes)
    return f"{before} then {after}" if trend.shape == "joined" else before


def joint_interval(trend: Trend) -> str:
    """Return the interval of a joint, "cannot be told" if there is none; nothing without a joint.

    Example:
        >>> trend = Trend("task", "set", 12, "plain", "II", "", joint=0.75, joint_low=0.71, joint_high=0.82)
        >>> joint_interval(trend)
        '71.0 to 82.0'
        >>> from dataclasses import replace
        >>> joint_interval(replace(trend, joint_low=None, joint_high=None))
        'cannot be told'
    """
    return "" if trend.joint is None else interval(trend.joint_low, trend.joint_high) or "cannot be told"


def _joint_remark(trend: Trend) -> str:
    """Remark that the interval of a joint ends with the models, or is missing; empty if neither holds."""
    if trend.joint is None:
        return ""
    if trend.joint_low is None or trend.joint_high is None:
        return (
            "where the lines meet cannot be told: a joint at the first models fits about as well, and one at the last"
        )
    in_domain = [point.x for point in trend.points if point.y is not None]
    if trend.joint_low <= min(in_domain) + TIE:
        return "the lines may meet as early as at the first model, so the interval of the joint begins there"
    if trend.joint_high >= max(in_domain) - TIE:
        return "the lines may meet as late as at the last model, so the interval of the joint ends there"
    return ""


def robustness(board: OverSets) -> Table:
    """Tabulate each model's distance above the trend of each set."""
    fitted = [trend for trend in board.trends if trend.points]
    of_set = [{point.model: point.robustness for point in trend.points} for trend in fitted]
    names = [name for name in board.names if any(values.get(name) is not None for values in of_set)]
    rows = ((name, *(points(values.get(name)) for values in of_set)) for name in names[:MAX_MODEL_ROWS])
    return table("Effective robustness: points above the trend", ["model"], [trend.set for trend in fitted], rows)


def prediction_table(fits: Sequence[Trend]) -> Table:
    """Tabulate the predictions of models with an in-domain value alone."""
    rows = (
        (point.model, trend.set, percent(point.x), percent(point.expected), interval(point.low, point.high))
        for trend in fits
        for point in trend.points
        if point.y is None
    )
    return table("Predicted from in-domain values", ["model", "set"], ["in-domain", "OOD", "95 % interval"], rows)


def _beyond(trend: Trend) -> list[str]:
    """Return the predicted models whose in-domain values lie outside those of the trend."""
    in_domain = [point.x for point in trend.points if point.y is not None]
    return [p.model for p in trend.points if p.y is None and not min(in_domain) <= p.x <= max(in_domain)]


def _other_by_loo(trend: Trend) -> bool:
    """Tell whether BIC alone would have joined two lines."""
    bic = {shape: value for shape, value in trend.bic.items() if value is not None}
    return min(bic, key=lambda shape: bic[shape]) == "joined" and trend.shape != "joined"


def remarks(fits: Sequence[Trend]) -> Iterator[str]:
    """Yield the remarks for a reader of the trends, a sentence each."""
    for trend in fits:
        if trend.type is None:
            yield f"{trend.set}: the type cannot be told: {trend.why}."
        if remark := _joint_remark(trend):
            yield f"{trend.set}: {remark}."
        if trend.far:
            without = f"; without them the type is {trend.type_without}" if trend.type_without else ""
            yield f"{trend.set}: outliers: {listed(trend.far, NAMES)}{without}."
        if trend.slopes is not None and trend.loo and _other_by_loo(trend):
            yield f"{trend.set}: BIC prefers joined lines, which predict left-out models no better than one line."
    if beyond := list(dict.fromkeys(name for trend in fits for name in _beyond(trend))):
        yield f"Beyond the in-domain values of the other models, so the trends may not hold: {listed(beyond, NAMES)}."
    if any(trend.points for trend in fits):
        yield "Share: percent of resamples of the models with this type; joint: the point where two lines meet."
        yield "Effective robustness is the distance from the trend of all these models, including the model itself."
