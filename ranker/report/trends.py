"""What in-domain values say of other sets: sentences, tables and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ranker.errors import listed
from ranker.numbers import interval, percent, points, probability, signed
from ranker.report.tables import Table, table
from ranker.results.over_sets import OverSets, Trend
from ranker.results.result import NAMES

WIDEST = 12
"""Sets, or tasks, that have a column each; more are in the other formats."""

LONGEST = 40
"""Models that have a row of their own; more are in the other formats."""

TYPES = {
    "I": "a rising line",
    "II": "two rising lines",
    "III": "a V",
    "negative": "falling",
    "flat": "flat",
    "other": "rising, then falling",
}
"""BOSS's types, in words."""


TIE = 1e-9
"""In-domain values this near to each other are the same: on probit axes they are turned there and back."""


def answer(found: Sequence[Trend]) -> str:
    """The types that are told, and the sets of which none is."""
    told = [f"{one.set} {TYPES[one.type]}" for one in found if one.type is not None]
    open_ = [one.set for one in found if one.type is None]
    without = f"; cannot be told: {listed(open_, NAMES)}" if open_ and told else ""
    return f"Against in-domain values: {listed(told, NAMES) or 'nothing told'}{without}."


def tables(found: OverSets) -> Iterator[Table]:
    """The trend of each set, and what it says of each model."""
    yield trends(found.trends)
    if any(one.points for one in found.trends) and len(found.trends) <= WIDEST:
        yield robustness(found)
        if any(point.y is None for one in found.trends for point in one.points):
            yield predicted(found.trends)


def trends(found: Sequence[Trend]) -> Table:
    """What in-domain values say of each set."""
    rows = (
        (
            *(set_name(one), one.type or "?", str(one.models)),
            "" if one.correlation is None else f"{one.correlation:.2f}",
            _slopes(one),
            *(percent(one.joint), joint_interval(one)),
            "" if one.type is None else probability(one.p_types[one.type], 0),
        )
        for one in found
    )
    numbers = ["models", "r", "slope", "joint", "95 %", "share"]
    return table("Trends: OOD against in-domain", ["set", "type"], numbers, rows)


def set_name(one: Trend) -> str:
    """A set, with its task where that has another name."""
    return one.set if one.task == one.set else f"{one.task}: {one.set}"


def _slopes(one: Trend) -> str:
    if one.slopes is None:
        return ""
    before, after = (signed(slope, 2) for slope in one.slopes)
    return f"{before} then {after}" if one.shape == "joined" else before


def joint_interval(one: Trend) -> str:
    """Write the interval of a joint, "cannot be told" where there is none; nothing without a joint.

    Example:
        >>> trend = Trend("task", "set", 12, "plain", "II", "", joint=0.75, joint_low=0.71, joint_high=0.82)
        >>> joint_interval(trend)
        '71.0 to 82.0'
        >>> from dataclasses import replace
        >>> joint_interval(replace(trend, joint_low=None, joint_high=None))
        'cannot be told'
    """
    return "" if one.joint is None else interval(one.joint_low, one.joint_high) or "cannot be told"


def _joint_remark(one: Trend) -> str:
    """Say that the interval of a joint ends with the models, or that there is none; empty where neither holds."""
    if one.joint is None:
        return ""
    if one.joint_low is None or one.joint_high is None:
        return (
            "where the lines meet cannot be told: a joint at the first models fits about as well, and one at the last"
        )
    known = [point.x for point in one.points if point.y is not None]
    if one.joint_low <= min(known) + TIE:
        return "the lines may meet as early as at the first model, so the interval of the joint begins there"
    if one.joint_high >= max(known) - TIE:
        return "the lines may meet as late as at the last model, so the interval of the joint ends there"
    return ""


def robustness(found: OverSets) -> Table:
    """How far each model is above the trend of each set."""
    told = [one for one in found.trends if one.points]
    of_set = [{point.model: point.robustness for point in one.points} for one in told]
    names = [name for name in found.names if any(values.get(name) is not None for values in of_set)]
    rows = ((name, *(points(values.get(name)) for values in of_set)) for name in names[:LONGEST])
    return table("Effective robustness: points above the trend", ["model"], [one.set for one in told], rows)


def predicted(found: Sequence[Trend]) -> Table:
    """Models with an in-domain value alone."""
    rows = (
        (point.model, one.set, percent(point.x), percent(point.expected), interval(point.low, point.high))
        for one in found
        for point in one.points
        if point.y is None
    )
    return table("Predicted from in-domain values", ["model", "set"], ["in-domain", "OOD", "95 % interval"], rows)


def _beyond(one: Trend) -> list[str]:
    """The predicted models whose in-domain values are above or below those that the trend is of."""
    known = [point.x for point in one.points if point.y is not None]
    return [p.model for p in one.points if p.y is None and not min(known) <= p.x <= max(known)]


def _other_by_loo(one: Trend) -> bool:
    """Whether BIC alone would have joined two lines."""
    bic = {shape: value for shape, value in one.bic.items() if value is not None}
    return min(bic, key=lambda shape: bic[shape]) == "joined" and one.shape != "joined"


def remarks(found: Sequence[Trend]) -> Iterator[str]:
    """What a reader of the trends has to know, a sentence each."""
    for one in found:
        if one.type is None:
            yield f"{one.set}: the type cannot be told: {one.why}."
        if remark := _joint_remark(one):
            yield f"{one.set}: {remark}."
        if one.far:
            without = f"; without them the type is {one.type_without}" if one.type_without else ""
            yield f"{one.set}: far off lie {listed(one.far, NAMES)}{without}."
        if one.slopes is not None and one.loo and _other_by_loo(one):
            yield f"{one.set}: BIC prefers joined lines, which predict models left out no better than one line."
    if beyond := list(dict.fromkeys(name for one in found for name in _beyond(one))):
        yield f"Beyond the in-domain values of the others, where the trends may not hold: {listed(beyond, NAMES)}."
    if any(one.points for one in found):
        yield "Share: of resamples of the models in which the type is chosen, in percent; joint: where two lines meet."
        yield "Effective robustness is the distance from the trend of all these models, the model itself among them."
