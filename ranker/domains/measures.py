"""Measures of sets beside models' scores on them, and their correlations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ranker.domains.results.shift import Correlation, Outcome
from ranker.domains.rows import is_number, number, optional, read_rows, require, required
from ranker.domains.values import Values
from ranker.errors import Assumption, DataError, UsageError, listed
from ranker.files.columns import Row
from ranker.limits import LIMITS, Limits
from ranker.statistics import correlation

MIN_SETS_FOR_CORRELATION = 8
"""Sets below which a correlation says almost nothing, so the report warns."""

BESIDE = ("set", "level", "model", "group", "kind", "measure", "value")
"""Columns of a table of measures that are no measure."""


@dataclass(frozen=True)
class Measures:
    """Measures of sets.

    Attributes:
        values: measure -> set, or task -> number.
        levels: set, or task -> level in a hierarchy.
        notes: how the table was read, a sentence each.
    """

    values: Mapping[str, Mapping[str, float]]
    levels: Mapping[str, str]
    notes: tuple[str, ...] = ()


def read_measures(table: Any, limits: Limits = LIMITS) -> Measures:
    """Read a table of measures: a row for each set and a column for each measure, or `set`, `measure` and `value`.

    Args:
        table: a file, a data frame, or a list of rows; also the rows of a `Shift`, as its CSV has them.

    Example:
        >>> found = read_measures([{"Set": "a", "level": "genre", "length": 7}, {"Set": "b", "length": 9}])
        >>> found.values, found.levels
        ({'length': {'a': 7.0, 'b': 9.0}}, {'a': 'genre'})
    """
    table_rows, notes = read_rows(table, limits)
    rows = list(require(_of_shift(list(table_rows)), ("set",)))
    values: dict[str, dict[str, float]] = {}
    levels: dict[str, str] = {}
    unread = _texts(rows)
    for row in rows:
        name, level = required(row, "set"), optional(row, "level")
        if level and levels.setdefault(name, level) != level:
            raise DataError.at(row.place, f"{name} is {level} here, and {levels[name]} before", value=level)
        for measure, value in _measured(row, unread):
            if name in values.setdefault(measure, {}):
                raise DataError.at(row.place, f"{measure} of {name} a second time", value=measure)
            values[measure][name] = value
    if not values:
        text = "the table has no measures: a column of numbers for each, or the columns measure and value"
        raise DataError(text, option="measures")
    if unread:
        notes = [*notes, Assumption(f"Unread columns: {listed(unread)}.")]
    return Measures(values, levels, tuple(notes))


def _of_shift(rows: Sequence[Row]) -> Sequence[Row]:
    """Give the rows of a `Shift` their set: the new one beside the in-domain one, or the one with summaries."""
    if not rows or not {"a", "b", "measure"} <= rows[0].cells.keys():
        return rows
    first = rows[0].cells["a"]
    return [
        row._replace(cells={**row.cells, "set": row.cells["b"]})
        for row in rows
        if row.cells["a"] in (first, row.cells["b"])
    ]


def _texts(rows: Sequence[Row]) -> list[str]:
    """Return the columns without a number, which are no measures."""
    names = dict.fromkeys(name for row in rows for name in row.cells if name not in BESIDE)
    return [name for name in names if not any(is_number(row.cells.get(name)) for row in rows)]


def _measured(row: Row, unread: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Yield the measures of a row and their values."""
    if "measure" in row.cells:
        pairs = [(required(row, "measure"), number(row, "value"))]
    else:
        pairs = [(str(name), number(row, name)) for name in row.cells if name not in (*BESIDE, *unread)]
    yield from ((name, value) for name, value in pairs if not np.isnan(value))


def with_levels(values: Values, levels: Mapping[str, str]) -> Values:
    """Give the sets the levels that a table of measures states of them, or of their tasks.

    Raises:
        UsageError: the table of scores states another.
    """
    sets = []
    for scored in values.sets:
        level = levels.get(scored.group) or levels.get(scored.name) or scored.level
        if scored.level not in ("", level):
            raise UsageError.of(scored, f"is {level} in the measures, and {scored.level} in the scores", value=level)
        sets.append(replace(scored, level=level))
    outcomes, beats = (
        {new: of_sets[old] for old, new in zip(values.sets, sets, strict=True) if old in of_sets}
        for of_sets in (values.outcomes, values.beats)
    )
    return replace(values, sets=tuple(sets), outcomes=outcomes, beats=beats)


def relate(values: Values, measures: Measures) -> Iterator[Correlation]:
    """Correlate measures with the models' mean values, and with their mean drops, at each level and over all.

    Args:
        values: the part of a table that counts.
        measures: of its sets, or of its tasks.

    Raises:
        UsageError: no set of the measures has values.
    """
    names = values.places_by_name()
    if not names.keys() & {name for numbers in measures.values.values() for name in numbers}:
        measured = listed(next(iter(measures.values.values())))
        text = f"no set of the measures has values ({measured}); the sets are {listed(names)}"
        raise UsageError(text, option="measures", allowed=names)
    levels = values.levels if len(values.levels) == 1 else ("", *values.levels)
    for level in levels:
        for outcome, numbers in _outcomes(values.at_level(level) if level else values).items():
            yield from correlate(measures.values, numbers, outcome, level)


def _outcomes(values: Values) -> dict[Outcome, dict[str, float]]:
    """Return the models' mean value, and their mean drop from in-domain, on each set and each task."""
    means, drops = {}, {}
    for name, (task, places) in values.places_by_name().items():
        in_domain, mean = values.places(task, "in-domain"), values.values[:, places].mean()
        before = values.values[:, in_domain].mean() if in_domain else np.nan
        means[name], drops[name] = float(-mean if values.lower_is_better else mean), float(before - mean)
    return {"value": means, "drop": drops}


def correlate(
    measures: Mapping[str, Mapping[str, float]], outcomes: Mapping[str, float], outcome: Outcome, level: str = ""
) -> Iterator[Correlation]:
    """Correlate each measure that differs between sets with an outcome, over the sets that have both.

    Args:
        measures: measure -> set -> number.
        outcomes: set -> number; nan is none.
        level: the level of the sets; "" for all.
    """
    for measure, numbers in measures.items():
        names = [name for name in numbers if not np.isnan(outcomes.get(name, np.nan))]
        first, second = (np.array([column[name] for name in names]) for column in (numbers, outcomes))
        r, rho = (measured(first, second) for measured in (correlation.pearson, correlation.spearman))
        if r.value is not None:  # a measure that is the same for all goes with nothing
            p = correlation.pearson_p(r.value, len(names))
            fisher = (r.value, r.low, r.high, p, rho.value, rho.low, rho.high)
            yield Correlation(measure, len(names), *fisher, outcome, level)


def warnings_of(correlations: Sequence[Correlation]) -> list[str]:
    """Warn of correlations over few sets, of which the highest is the highest of many."""
    few = min((fit.sets for fit in correlations), default=MIN_SETS_FOR_CORRELATION)
    if few >= MIN_SETS_FOR_CORRELATION:
        return []
    count = len({fit.measure for fit in correlations})
    return [
        f"The correlations are over {few} sets. Below {MIN_SETS_FOR_CORRELATION} sets they say almost nothing, and the "
        f"highest of {count} measures is too optimistic."
    ]
