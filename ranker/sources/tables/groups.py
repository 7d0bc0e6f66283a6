"""Groups of columns with a score for each class: ``model/class``, ``p_class``, ``class``, or a list in a cell."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ranker.errors import DataError, Question
from ranker.sources.tables.base import NONE, Columns, Kind, TableHints, some
from ranker.sources.tables.cells import Labels, add_up
from ranker.sources.tables.names import (
    DECISION,
    GENERIC,
    has_fractions,
    holds_numbers,
    in_unit,
    is_empty,
    is_prediction,
    is_right,
    other_numbers,
    plain,
)
from ranker.tasks.names import is_number


@dataclass(frozen=True)
class ModelColumns:
    """Columns of one model.

    Attributes:
        name: of the model; "" if it has the file's.
        columns: one column of labels, outcomes or a score; or a column of scores for each class.
        classes: class of each column of scores.
        kind: of the cells; "" for scores whose kind is inferred later.
        beside: column of the labels that belong to the scores; "" if there is none.
    """

    name: str
    columns: tuple[str, ...]
    classes: tuple[int, ...] = ()
    kind: Kind | str = ""
    beside: str = ""


class ClassColumn(NamedTuple):
    """Column that is named for a class.

    Attributes:
        before: part of the name before the class.
        numbered: the name gives the class as a number.
    """

    column: str
    before: str
    class_index: int
    numbered: bool


SIGN = re.compile(r"[_.\-: |/]")
"""Signs that may separate the name of a class from its prefix."""

SIGNS = 50
"""Most signs, counted from the end of a column's name, at which a class name is looked for; bounds the work."""


def find(columns: Columns, hints: TableHints, labels: Labels, free: Sequence[str]) -> dict[str, ModelColumns]:
    """Group the columns that are named for classes by the prefix of their names; each group has all classes.

    Raises:
        DataError: a model has no column for a class, or one for an unknown class; or numbers have another form.
    """
    if hints.answers in ("labels", "outcomes"):
        return {}
    groups: dict[str, list[ClassColumn]] = {}
    for name in free:
        part = split(columns, labels, name)
        for problem in other_numbers(columns, [name] if part else ()):
            raise DataError.at(columns.origin, problem)
        if part is not None and (holds_numbers(columns, name) or is_empty(columns, name)):
            groups.setdefault(part.before, []).append(part)
    _check_lists(columns, hints, labels, free, groups)
    loose = _loose_columns(columns, free, {part.column for parts in groups.values() for part in parts})
    return {
        before: model
        for before, parts in groups.items()
        for model in _to_model(columns, hints, labels, before, parts, loose.get(before, ()))
    }


def split(columns: Columns, labels: Labels, name: str) -> ClassColumn | None:
    """Split a column name into a prefix and a class at a sign."""
    for before, after in cuts(columns, name):
        label = labels.index(after) if after else NONE
        if label >= 0:
            return ClassColumn(name, before, label, is_number(after) or labels.by_number([after]))
    return None


def cuts(columns: Columns, name: str) -> Iterator[tuple[str, str]]:
    """Yield each prefix that a column name may have, and its rest; a model's name may contain signs other than "/"."""
    if name not in nested_columns(columns):
        yield "", name
    if "/" in name:
        before, _, after = name.rpartition("/")
        yield before, after
    else:
        for sign in [*SIGN.finditer(name)][-SIGNS:]:
            yield name[: sign.start()], name[sign.end() :]


def nested_columns(columns: Columns) -> set[str]:
    """Return the columns that come from a list or an object in a cell."""
    return {part for parts in columns.groups.values() for part in parts}


def _to_model(
    columns: Columns,
    hints: TableHints,
    labels: Labels,
    before: str,
    parts: Sequence[ClassColumn],
    loose: Sequence[tuple[str, str]],
) -> Iterator[ModelColumns]:
    """Yield the model of some columns, or none if they are named like classes by chance."""
    names = tuple(part.column for part in parts)
    by_number = [part.numbered for part in parts]
    classes = {part.class_index for part in parts}
    missing = [label for index, label in enumerate(labels.task.labels) if index not in classes]
    # two models may be called seed-0 and seed-1, and answer with 0 and 1
    scored = not all(by_number) or names[0] in nested_columns(columns)
    scored = scored or any(has_fractions(columns, name) for name in names)
    complete = not missing and len(set(by_number)) == 1 and scored
    alone = len(parts) == 1 and len(labels.task.labels) == 2 and not by_number[0]
    alone = alone and in_unit(columns, names[0]) and has_fractions(columns, names[0])
    partial = missing and before and any("/" in name for name in names) and not all(by_number)
    if complete or alone or partial:
        _check_strangers(columns, labels, before, names, loose)
    if complete:
        yield ModelColumns(before, names, tuple(part.class_index for part in parts), hints.answers)
    elif alone:
        yield ModelColumns(before, names, (parts[0].class_index,), hints.answers or "probabilities")
    elif partial:
        problem = f"{some(names)} are scores of {before!r}, which has no column for {some(missing)}"
        raise DataError.at(columns.origin, problem)


def _check_lists(
    columns: Columns,
    hints: TableHints,
    labels: Labels,
    free: Sequence[str],
    groups: Mapping[str, Sequence[ClassColumn]],
) -> None:
    """Refuse lists with more or other scores than the task has labels."""
    for name, parts in columns.groups.items():
        scores = [part for part in parts if part in free and holds_numbers(columns, part)]
        named_scores = plain(name.rpartition("/")[2]) in GENERIC
        wanted = name in groups or named_scores or name in hints.prediction
        if wanted and len(scores) > 1 and len(scores) > len(groups.get(name, ())):
            problem = f"{name!r} holds {len(parts)} scores a row, for {len(labels.task.labels)} labels"
            raise DataError.at(
                columns.origin,
                f"{problem}; `label_map` says which label each stands for (0 = ...; 1 = ...)",
                option="label_map",
            )


def _loose_columns(columns: Columns, free: Sequence[str], inside: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Map each prefix to the columns of numbers in no group, and the rest of their names; without one, of fractions."""
    loose: dict[str, list[tuple[str, str]]] = {}
    inside = {*inside, *nested_columns(columns)}
    for name in (name for name in free if name not in inside and holds_numbers(columns, name)):
        for before, after in cuts(columns, name):
            if before or has_fractions(columns, name):
                loose.setdefault(before, []).append((name, after))
    return loose


def _check_strangers(
    columns: Columns, labels: Labels, before: str, group: Sequence[str], loose: Sequence[tuple[str, str]]
) -> None:
    """Refuse a score among those of a model that belongs to no label: without it the others would be too high."""
    strangers = [
        (name, after)
        for name, after in loose
        if plain(after) not in DECISION and not is_prediction(after) and not is_right(after)
        if len(group) > 1 or in_unit(columns, name)  # a single score is a probability
    ]
    if strangers and not add_up(columns, group):
        name, after = strangers[0]
        of_group = f"the scores of {before!r}" if before else f"scores such as {group[0]!r}"
        raise Question.at(
            columns.origin,
            f"{name!r} stands among {of_group}, and {after!r} is no label of the task ({labels.listed}); `label_map` "
            f"says what it stands for, `{after} = {after}` if it is a label too; leave it out if it is no score",
            option="label_map",
            value=name,
            allowed=labels.task.labels,
        )
