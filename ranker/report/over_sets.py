"""Models over many sets: the answer, its tables, figures and remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ranker.errors import listed
from ranker.numbers import counted, interval, p_value, percent, points, probability, signed
from ranker.report.document import Document
from ranker.report.tables import Table, letters, table
from ranker.results.over_sets import OnAverage, OverSets, Trend
from ranker.results.result import NAMES

if TYPE_CHECKING:
    from ranker.report.figures import Drawing

WIDEST = 12
"""Tasks, or sets, that have a column each; more are in the other formats."""

LONGEST = 40
"""Models that have a row of their own beside the first, or in a trend; more are in the other formats."""

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


def document(found: OverSets, drawn: Callable[[], Sequence[Drawing]] = tuple) -> Document:
    """What was found, before any format.

    Args:
        found: the result.
        drawn: draws its figures, where a format has room for them.
    """
    return Document(
        title=found.title,
        tables=list(tables(found)),
        remarks=list(remarks(found)),
        rows=found.to_rows(),
        content=found.to_dict(),
        lead=f"First: {found.models[0].model}",
        answer=answer(found),
        drawn=drawn,
    )


def answer(found: OverSets) -> list[str]:
    """How sure it is who leads, who is not told from the first, and what in-domain values say."""
    first = found.models[0]
    by = (
        f"highest mean, {percent(first.value)} %"
        if found.missing != "ranks"
        else f"best mean rank, {first.friedman:.2f}"
    )
    said = [f"{first.model} has the {by}"]
    if first.p_first is not None:
        said.append(f"and is first in {probability(first.p_first)} % of draws of {' and '.join(found.draws_of)}")
    lines = [f"{', '.join(said)}."]
    if found.test is not None:
        differ = "do not differ" if found.test.p_f >= 0.05 else "differ"
        lines[0] += f" By Friedman's test the models {differ} (p {_equals(found.test.p_f)})."
        others = [name for name in found.tied if name != first.model]
        lines[0] += f" Nemenyi's test does not tell {listed(others, NAMES)} from the first." if others else ""
    if found.on_average is not None:
        lines.append(_labels(found.on_average))
    told = [f"{one.set} {TYPES[one.type]}" for one in found.trends if one.type is not None]
    open_ = [one.set for one in found.trends if one.type is None]
    if found.trends:
        lines.append(
            f"Against in-domain values: {listed(told, NAMES) or 'nothing told'}"
            f"{f'; cannot be told: {listed(open_, NAMES)}' if open_ and told else ''}."
        )
    return lines


def _labels(known: OnAverage) -> str:
    """Who is best on average by a few labels, and which set needs more."""
    sure = f"{known.first} is the best on average with a probability of {probability(known.p_best[known.first])} %."
    if known.more_labels is None:
        return f"{sure} How many labels would tell it from {known.second} cannot be said."
    needed = [f"{count:,} of {name}" for name, count in sorted(known.more_labels.items(), key=lambda x: -x[1]) if count]
    if not needed:
        return f"{sure} It is told from {known.second}."
    return f"{sure} About these more labels would tell it from {known.second}: {listed(needed, NAMES)}."


def _equals(p: float) -> str:
    return p_value(p) if p_value(p).startswith("<") else f"= {p_value(p)}"


def tables(found: OverSets) -> Iterator[Table]:
    """The order, the tasks, the first against the others, trends, and what they say of each model."""
    yield order(found)
    yield by_rank(found)
    if found.on_average is not None:
        yield on_average(found, found.on_average)
    if 1 < len(found.tasks) <= WIDEST:
        yield by_task(found)
    if any(one.wilcoxon is not None or one.nemenyi is not None for one in found.differences):
        yield against_first(found)
    if found.trends:
        yield trends(found.trends)
    if any(one.points for one in found.trends) and len(found.trends) <= WIDEST:
        yield robustness(found)
        if any(point.y is None for one in found.trends for point in one.points):
            yield predicted(found.trends)


def order(found: OverSets) -> Table:
    """Each model's means and decay, and where it may stand."""
    known = any(one.in_domain is not None for one in found.models)
    drawn = any(one.low is not None for one in found.models)
    rows = (
        (
            *(str(one.rank), one.model, percent(one.value)),
            *((percent(one.in_domain), percent(one.decay)) if known else ()),
            *(("" if one.low is None else f"{one.low} to {one.high}", probability(one.p_first)) if drawn else ()),
        )
        for one in found.models
    )
    numbers = ["OOD", *(["in-domain", "decay"] if known else []), *(["rank, 95 %", "P(first)"] if drawn else [])]
    return table("Models", ["rank", "model"], numbers, rows)


def by_rank(found: OverSets) -> Table:
    """Each model's mean ranks over the tasks, and its rank by decay."""
    known = any(one.friedman_in_domain is not None for one in found.models)
    rows = (
        (
            *(one.model, f"{one.friedman:.2f}"),
            *(("" if one.friedman_in_domain is None else f"{one.friedman_in_domain:.2f}",) if known else ()),
            *(("" if one.rank_by_decay is None else str(one.rank_by_decay),) if known else ()),
        )
        for one in found.models
    )
    return table("Ranks", ["model"], ["mean rank", *(["in-domain", "by decay"] if known else [])], rows)


def on_average(found: OverSets, known: OnAverage) -> Table:
    """How probable each model is the best on average, and which others are not told from it."""
    rows = []
    for i, name in enumerate(found.names):
        beats = ("" if i == j else probability(p) for j, p in enumerate(known.p_beats[i][:WIDEST]))
        rows.append(
            (
                name,
                letters(name, known.groups),
                probability(known.p_best[name]),
                probability(known.p_near_best[name]),
                *beats,
            )
        )
    others = [f"> {i + 1}" for i in range(min(len(found.names), WIDEST))]
    return table("Best on average", ["model", "tied"], ["P(best)", "P(near best)", *others], rows)


def by_task(found: OverSets) -> Table:
    """Each model's value on each task."""
    rows = ((one.model, *(percent(one.tasks[task]) for task in found.tasks)) for one in found.models)
    return table("Values by task", ["model"], list(found.tasks), rows)


def against_first(found: OverSets) -> Table:
    """How far the first model is from each other, and whether that is told from nothing."""
    first = found.models[0].model
    rows = [
        (
            one.b,
            points(one.difference),
            p_value(one.nemenyi),
            p_value(one.wilcoxon),
            p_value(one.holm),
            *(probability(p) for p in (one.p_better, one.p_same, one.p_worse)),
        )
        for one in found.differences
        if one.a == first
    ]
    numbers = ["points", "p Nemenyi", "p Wilcoxon", "p Holm", "P(better)", "P(same)", "P(worse)"]
    return table(f"{first} against", ["model"], numbers, rows[:LONGEST])


def trends(found: Sequence[Trend]) -> Table:
    """What in-domain values say of each set."""
    rows = (
        (
            *(named(one), one.type or "?", str(one.models)),
            "" if one.correlation is None else f"{one.correlation:.2f}",
            _slopes(one),
            *(percent(one.joint), joint_interval(one)),
            "" if one.type is None else probability(one.p_types[one.type], 0),
        )
        for one in found
    )
    numbers = ["models", "r", "slope", "joint", "95 %", "share"]
    return table("Trends: OOD against in-domain", ["set", "type"], numbers, rows)


def named(one: Trend) -> str:
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


def remarks(found: OverSets) -> Iterator[str]:
    """What a reader of the tables has to know, a sentence each."""
    yield from found.notes
    if found.test is not None:
        yield (
            f"Mean ranks that are less than {found.test.critical_difference:.2f} apart are not told from each other "
            "(Nemenyi, 5 %)."
        )
    if any(one.p_same is not None for one in found.differences):
        yield f"P(same): no more than {found.rope:g} apart, by the Bayesian signed-rank test over tasks."
    if len(found.models) > LONGEST + 1:
        yield f"{counted(len(found.models) - LONGEST - 1, 'model')} more against the first: in the JSON."
    if len(found.tasks) > WIDEST:
        yield f"Values on {counted(len(found.tasks), 'task')}: in the CSV."
    for one in found.trends:
        if one.type is None:
            yield f"{one.set}: the type cannot be told: {one.why}."
        if remark := _joint_remark(one):
            yield f"{one.set}: {remark}."
        if one.far:
            without = f"; without them the type is {one.type_without}" if one.type_without else ""
            yield f"{one.set}: far off lie {listed(one.far, NAMES)}{without}."
        if one.slopes is not None and one.loo and _other_by_loo(one):
            yield f"{one.set}: BIC prefers joined lines, which predict models left out no better than one line."
    if beyond := list(dict.fromkeys(name for one in found.trends for name in _beyond(one))):
        yield f"Beyond the in-domain values of the others, where the trends may not hold: {listed(beyond, NAMES)}."
    if any(one.points for one in found.trends):
        yield "Share: of resamples of the models in which the type is chosen, in percent; joint: where two lines meet."
        yield "Effective robustness is the distance from the trend of all these models, the model itself among them."


def _beyond(one: Trend) -> list[str]:
    """The predicted models whose in-domain values are above or below those that the trend is of."""
    known = [point.x for point in one.points if point.y is not None]
    return [p.model for p in one.points if p.y is None and not min(known) <= p.x <= max(known)]


def _other_by_loo(one: Trend) -> bool:
    """Whether BIC alone would have joined two lines."""
    bic = {shape: value for shape, value in one.bic.items() if value is not None}
    return min(bic, key=lambda shape: bic[shape]) == "joined" and one.shape != "joined"
