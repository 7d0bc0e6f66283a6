"""Models grouped by their parts: a table for each part, and in words which of two parts matters more."""

from __future__ import annotations

from collections.abc import Iterator

from ranker.numbers import counted, interval, percent, probability
from ranker.report.tables import Table, table
from ranker.report.words import MetricWords
from ranker.results.decision import SURE
from ranker.results.parts import ModelParts


def tables(parts: ModelParts, terms: MetricWords) -> Iterator[Table]:
    """Yield a table for each part: the models that share it, and the mean of their values."""
    for part in parts.parts:
        rows = [(level.name, f"{len(level.models):,}", terms.unit.value(level.outcome)) for level in part.levels]
        yield table(
            *(f"By {part.name}", [part.name], ["members", terms.what], rows),
            help=f"members: the number of models with this {part.name}. {terms.what}: the mean over them.",
        )


def comparison(parts: ModelParts) -> str:
    """Say in a sentence which of two parts matters more, and how sure that is."""
    names, components = [f"{part.name}s" for part in parts.parts], parts.components
    if components is None:
        return f"It cannot be told how much {' or '.join(names)} matter: {parts.reason}."
    by_part = [(components.p_first, names[0], components.first), (1 - components.p_first, names[1], components.second)]
    (p, name, ahead), (_, other, behind) = sorted(by_part, key=lambda part: -part[0])
    sizes = (
        f"the standard deviation between {name} is {percent(ahead.sd)} points ({interval(ahead.low, ahead.high)}), "
        f"between {other} {percent(behind.sd)} ({interval(behind.low, behind.high)})"
    )
    if p >= SURE:
        return f"{name.capitalize()} matter more than {other}, with a probability of {probability(p)} %: {sizes}."
    return (
        f"From {counted(components.rows, 'row')} it cannot be told whether {name} or {other} matter more: {sizes}; the "
        f"probability that {name} do is {probability(p)} %."
    )


def remark(parts: ModelParts) -> Iterator[str]:
    """Yield how to read the comparison of two parts."""
    if components := parts.components:
        names = [f"{part.name}s" for part in parts.parts]
        variances = zip(names, (components.first.variance, components.second.variance), strict=True)
        below = ", ".join(name for name, variance in variances if variance < 0)
        rest = components.rest
        zero = f", and an estimate below 0 is shown as 0 ({below})" if below else ""
        yield (
            f"Standard deviations between {' and '.join(names)} are of the values that endless rows would show: the "
            f"noise of the {counted(components.rows, 'row')} is subtracted{zero}. What neither explains alone has "
            f"{percent(rest.sd)} points ({interval(rest.low, rest.high)}). The 95 % intervals are over other rows of "
            f"the domain, for these {' and '.join(names)} alone."
        )
