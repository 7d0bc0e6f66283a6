"""Models grouped by their parts: a table for each part, and in words which of two parts matters more."""

from __future__ import annotations

from collections.abc import Iterator

from ranker.numbers import counted, interval, percent, probability
from ranker.report.tables import Table, table
from ranker.report.words import MetricWords
from ranker.results.decision import SURE
from ranker.results.parts import ModelParts


def tables(parts: ModelParts, terms: MetricWords) -> Iterator[Table]:
    """Yield a table for each part, with the models that share it, and the standard deviations due to two parts."""
    for part in parts.parts:
        rows = [(level.name, f"{len(level.models):,}", terms.unit.value(level.outcome)) for level in part.levels]
        yield table(
            *(f"By {part.name}", [part.name], ["members", terms.what], rows),
            help=f"members: how many of those ranked have this {part.name}. {terms.what}: the mean over them.",
        )
    if components := parts.components:
        names = (*_plurals(parts), "neither alone")
        sizes = (components.first, components.second, components.residual)
        yield table(
            *("What matters more", ["between"], ["standard deviation", "95 % interval"]),
            [(name, percent(s.sd), interval(s.low, s.high)) for name, s in zip(names, sizes, strict=True)],
            help=f"Standard deviations of {terms.what}, in points. neither alone: a {parts.parts[0].name} does better "
            f"or worse with one {parts.parts[1].name} than both suggest, or members of the same two differ.",
        )


def _plurals(parts: ModelParts) -> list[str]:
    return [f"{part.name}s" for part in parts.parts]


def comparison(parts: ModelParts) -> str:
    """Say in a sentence which of two parts matters more, and how sure that is; "" if only one part differs."""
    names, components = _plurals(parts), parts.components
    if any(len(part.levels) < 2 for part in parts.parts):
        return ""
    if components is None:
        return f"It cannot be told how much {' or '.join(names)} matter: {parts.reason}."
    by_part = [(components.p_first, names[0], components.first), (1 - components.p_first, names[1], components.second)]
    (p, name, ahead), (_, name_behind, behind) = sorted(by_part, key=lambda part: -part[0])
    sizes = (
        f"the standard deviation between {name} is {percent(ahead.sd)} points ({interval(ahead.low, ahead.high)}), "
        f"between {name_behind} {percent(behind.sd)} ({interval(behind.low, behind.high)})"
    )
    if p >= SURE:
        return f"{name.capitalize()} matter more than {name_behind}, with a probability of {probability(p)} %: {sizes}."
    return (
        f"From {counted(components.rows, 'row')} it cannot be told whether {name} or {name_behind} matter more: "
        f"{sizes}; the probability that {name} do is {probability(p)} %."
    )


def remarks(parts: ModelParts) -> Iterator[str]:
    """Yield how to read the comparison of two parts."""
    if components := parts.components:
        names = _plurals(parts)
        variances = zip(names, (components.first.variance, components.second.variance), strict=True)
        below = ", ".join(name for name, variance in variances if variance < 0)
        zero = f", and an estimate below 0 is shown as 0 ({below})" if below else ""
        yield (
            f"Standard deviations between {' and '.join(names)} are of the values that endless rows would show: the "
            f"noise of the {counted(components.rows, 'row')} is subtracted{zero}. Their intervals are over other rows "
            f"of the domain, for these {' and '.join(names)} alone."
        )
