"""Groups of columns with the scores of each class: ``model/class``, ``p_class``, ``class``, or a list in a cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ranker.errors import DataError
from ranker.sources.tables.base import NONE, Columns, Kind, TableHints, some
from ranker.sources.tables.cells import Labels
from ranker.sources.tables.names import (
    DECISION,
    GENERIC,
    decimal_commas,
    has_fractions,
    holds_numbers,
    in_unit,
    is_empty,
    is_prediction,
    is_right,
    plain,
)
from ranker.tasks.names import with_numbers


@dataclass(frozen=True)
class ModelColumns:
    """The columns of one model.

    Attributes:
        name: of the model; "" where it is the file's.
        columns: one of labels, of outcomes or of a score; or the scores of each class.
        classes: of scores, the class of each column.
        kind: of the cells; "" for scores of which it is found out later.
        beside: a column of labels that says the same as the scores; "" where there is none.
    """

    name: str
    columns: tuple[str, ...]
    classes: tuple[int, ...] = ()
    kind: Kind | str = ""
    beside: str = ""


class ClassColumn(NamedTuple):
    """A column that is named for a class.

    Attributes:
        column: its name.
        before: what stands before the class in it.
        at: which class.
        numbered: the class is named by its number.
    """

    column: str
    before: str
    at: int
    numbered: bool


SIGN = re.compile(r"[_.\-: |/]")
"""Signs that stand before the name of a class in that of a column."""

SIGNS = 50
"""Signs at the end of a column's name that the name of a class may have before or in it."""


def find(columns: Columns, said: TableHints, labels: Labels, rest: Sequence[str]) -> dict[str, ModelColumns]:
    """What stands before the names of the classes -> the columns, where no class is missing.

    Raises:
        DataError: a model has no column for a class, or one for what is no class; or numbers have decimal commas.
    """
    if said.answers in ("labels", "outcomes"):
        return {}
    found: dict[str, list[ClassColumn]] = {}
    for name in rest:
        part = split(columns, labels, name)
        for comma in decimal_commas(columns, [name] if part else ()):
            raise DataError(f"{columns.origin}: {comma}")
        if part is not None and (holds_numbers(columns, name) or is_empty(columns, name)):
            found.setdefault(part.before, []).append(part)
    _check_lists(columns, said, labels, rest, found)
    _check_strangers(columns, labels, rest, found)
    return {before: model for before, parts in found.items() for model in _whole(columns, said, labels, before, parts)}


def split(columns: Columns, labels: Labels, name: str) -> ClassColumn | None:
    """The class that a column is named for, at its end, behind a sign; a model's name may have other signs than "/"."""
    cuts = [] if name in listed(columns) else [("", name)]
    if "/" in name:
        before, _, after = name.rpartition("/")
        cuts.append((before, after))
    else:
        signs = [*SIGN.finditer(name)][-SIGNS:]
        cuts += [(name[: sign.start()], name[sign.end() :]) for sign in signs]
    for before, after in cuts:
        at = labels.index(after) if after else NONE
        if at >= 0:
            return ClassColumn(name, before, at, after.isdigit() or labels.by_number([after]))
    return None


def listed(columns: Columns) -> set[str]:
    """The columns that were parts of a list or an object in a cell."""
    return {part for parts in columns.groups.values() for part in parts}


def _whole(
    columns: Columns, said: TableHints, labels: Labels, before: str, parts: Sequence[ClassColumn]
) -> Iterator[ModelColumns]:
    """The model of some columns; none, where they are named like classes by chance."""
    names = tuple(part.column for part in parts)
    by_number = [part.numbered for part in parts]
    missing = [label for at, label in enumerate(labels.task.labels) if at not in {part.at for part in parts}]
    # two models may be called seed-0 and seed-1, and answer with 0 and 1
    scored = not all(by_number) or names[0] in listed(columns) or any(has_fractions(columns, name) for name in names)
    alone = len(parts) == 1 and len(labels.task.labels) == 2 and not by_number[0]
    if not missing and len(set(by_number)) == 1 and scored:
        yield ModelColumns(before, names, tuple(part.at for part in parts), said.answers)
    elif alone and in_unit(columns, names[0]) and has_fractions(columns, names[0]):
        yield ModelColumns(before, names, (parts[0].at,), said.answers or "probabilities")
    elif missing and before and any("/" in name for name in names) and not all(by_number):
        what = f"{some(names)} are scores of {before!r}, which has no column for {some(missing)}"
        raise DataError(f"{columns.origin}: {what}")


def _check_lists(
    columns: Columns, said: TableHints, labels: Labels, rest: Sequence[str], found: Mapping[str, Sequence[ClassColumn]]
) -> None:
    """Refuse lists of more or other scores than there are labels."""
    for name, parts in columns.groups.items():
        scores = [part for part in parts if part in rest and holds_numbers(columns, part)]
        wanted = name in found or plain(name) in GENERIC or name in said.prediction
        if wanted and len(scores) > 1 and len(scores) > len(found.get(name, ())):
            what = f"{name!r} holds {len(parts)} scores a row, for {len(labels.task.labels)} labels"
            raise DataError(
                f"{columns.origin}: {what}; `label_map` says which label each stands for (0 = ...; 1 = ...)"
            )


def _check_strangers(
    columns: Columns, labels: Labels, rest: Sequence[str], found: Mapping[str, Sequence[ClassColumn]]
) -> None:
    """Refuse scores that stand among those of a model and are of no label: without them the others are too high."""
    inside = {part.column for parts in found.values() for part in parts} | listed(columns)
    for name in rest:
        before, sign, after = name.rpartition("/")
        if not sign or before not in found or name in inside or not holds_numbers(columns, name):
            continue
        if plain(after) not in DECISION and not is_prediction(after) and not is_right(after):
            what = f"{name!r} stands among the scores of {before!r}, and {after!r} is no label of the task"
            raise DataError(
                f"{columns.origin}: {what} ({with_numbers(labels.task.labels)}); `label_map` says what it stands for"
            )
