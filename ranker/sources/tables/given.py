"""The labels that stand in a file, where no task is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ranker.datasets.readers import number_of
from ranker.errors import DataError
from ranker.sources.tables import names
from ranker.sources.tables.base import Columns, Said, some
from ranker.sources.tables.cells import NOTHING, SUM, distinct, numbers, written
from ranker.sources.tables.groups import listed
from ranker.sources.tables.keys import Keys, is_text
from ranker.tasks.classes import ClassTask, fold

MOST_LABELS = 200
"""Distinct values of a column, up to which they may be the labels of a task that nobody has named."""

OUTCOMES = ClassTask("given", ("wrong", "right"))
"""The task of outcomes, where no other is named."""


def task_of(columns: Columns, said: Said, keys: Keys) -> ClassTask:
    """The task of the labels that stand in a file: those of the truth, else of the answers, else of the columns' names.

    Raises:
        DataError: there are none, or too many.
    """
    rest = [name for name in columns.cells if name not in keys.columns]
    scores = listed(columns)  # numbers of a list are scores, even if they are whole
    whole = [
        name
        for name in rest
        if not (names.holds_numbers(columns, name) and (name in scores or names.has_fractions(columns, name)))
    ]
    coded = {name: _values(columns, name) for name in whole if str(columns.cells[name].type).startswith("dictionary")}
    few = {name: values for name, values in coded.items() if len(values) <= MOST_LABELS}
    true = [said.truth] if said.truth else [name for name in few if names.is_true(name)]
    answers = [name for name in few if name in said.prediction or names.is_prediction(name)]
    texts_of = [name for name in few if is_text(columns.cells[name])]
    after = _named_after(columns, rest)
    for where in (true, answers, texts_of, list(few)):
        stated = next((columns.names[name] for name in where if name in columns.names), ())
        found = stated or _in_order({value for name in where for value in few.get(name, ())})
        if len(found) > 1 and not (found[0] == "0" and len(after) == len(found)):
            return ClassTask("given", found, ordered=bool(stated) or found[0].isdecimal())
    if len(after) > 1:
        return ClassTask("given", after)
    raise DataError(
        f"{columns.origin}: no labels of a task are found (columns: {some(columns.cells, 10)}); name the "
        "task, or say with `truth` which column holds them"
    )


def _named_after(columns: Columns, rest: Sequence[str]) -> tuple[str, ...]:
    """The labels that columns of scores are named for: ``model/label`` of most models, or all columns, if no other."""
    scores = [name for name in rest if names.holds_numbers(columns, name)]
    parts: dict[str, list[str]] = {}
    for name in scores:
        before, sign, part = name.rpartition("/")
        if sign and part and not part.isdecimal():
            parts.setdefault(before, []).append(part)
    several = Counter(tuple(found) for found in parts.values() if len(found) > 1)
    if several:
        return several.most_common(1)[0][0]
    alike = len(scores) == len(rest) > 1 and not parts and not listed(columns)
    sums = sum(numbers(columns.cells[name])[0] for name in scores) if alike else np.zeros(1)
    return tuple(rest) if alike and bool((np.abs(sums - 1) <= SUM).all()) else ()


def _values(columns: Columns, name: str) -> list[str]:
    return [text for text in map(written, distinct(columns.cells[name])) if text.casefold() not in NOTHING]


def _in_order(values: set[str]) -> tuple[str, ...]:
    counted = [number_of(value) for value in values]
    whole = [n for n, value in zip(counted, values, strict=True) if n is not None and value[:1].isdigit()]
    if values and len(whole) == len(counted):
        return tuple(map(str, range(max(whole) + 1))) if max(whole) < MOST_LABELS else ()
    by_fold = {fold(value): value for value in sorted(values, reverse=True)}  # one label, however it is written
    return tuple(sorted(by_fold.values(), key=str.casefold))
