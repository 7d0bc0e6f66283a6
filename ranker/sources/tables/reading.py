"""Columns -> what each model answers, in the order of the file's own rows, and those rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from factors.types import Ints
from ranker.errors import DataError, UnknownName, repeated
from ranker.sources.tables import entries, roles
from ranker.sources.tables import keys as keys_of
from ranker.sources.tables.base import NONE, Answers, Columns, Own, Rows, Said, some
from ranker.sources.tables.cells import Labels, labels_of, of_labels, of_outcomes, of_scores
from ranker.sources.tables.entries import Entries, check_same, taken
from ranker.sources.tables.given import OUTCOMES, task_of
from ranker.sources.tables.groups import Model
from ranker.sources.tables.keys import Keys
from ranker.tasks.base import ANSWERED
from ranker.tasks.classes import ClassTask

SWAPPED = 0.5
"""The part of the rows on which a column of labels has to agree with the scores beside it."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What a table says.

    Attributes:
        origin: the file, for messages.
        models: their answers, to the R rows of the file.
        ids: (R,) of the rows; None where no column holds them.
        texts: segment -> (R,) its texts; empty where no column holds them.
        own: the rows themselves, where the file has the truth, or outcomes.
        task: whose labels were read.
        notes: what was understood, in sentences.
    """

    origin: str
    models: tuple[Answers, ...]
    ids: tuple[str, ...] | None
    texts: Mapping[int, tuple[str, ...]]
    own: Own | None
    task: ClassTask
    notes: tuple[str, ...]

    @property
    def size(self) -> int:
        """R, how many rows it has."""
        return len(self.models[0])


def understand(
    columns: Columns, task: ClassTask | None = None, said: Said | None = None, rows: Rows | None = None, name: str = ""
) -> Reading:
    """What a table says of each model.

    Args:
        columns: the file's.
        task: the labels; None takes those that stand in the file.
        said: what is said of the file.
        rows: what is asked about: columns of ids and texts are told by it; None goes by their names.
        name: of the model, where the file is of one.

    Raises:
        UnknownName: a column that is said is not there.
        DataError: the cells are not what they must be, or it cannot be known what they are.
    """
    said = said or Said()
    keys = keys_of.find(columns, said, rows)
    outcomes = said.answers == "outcomes" and not said.truth
    task = task or (OUTCOMES if outcomes else task_of(columns, said, keys))
    labels = Labels(task, said.label_map)
    layout = roles.find(columns, said, keys, labels)
    table = entries.find(columns, keys, rows)
    models: list[Answers] = []
    for model in layout.models:
        found = _answers(columns, model, model.name or name or "model", labels, said)
        for other, places in table.places.items():
            models.append(_placed(found, places, _name(found.name, other, len(layout.models))))
    if (twice := repeated(model.name for model in models)) is not None:
        raise DataError(f"{columns.origin}: two models are named {twice!r}")
    segments = {at: tuple(taken(columns, column, table.first)) for at, column in keys.texts.items()}
    own = _own(columns, keys, layout, labels, table, segments) if layout.truth or _all_outcomes(models) else None
    if keys.model and layout.truth and own is not None:
        check_same(columns, layout.truth, table)
    notes = (*keys_of.described(keys), *layout.notes)
    return Reading(columns.origin, tuple(models), table.ids, segments, own, task, tuple(notes))


def _all_outcomes(models: Sequence[Answers]) -> bool:
    return all(model.kind == "outcomes" for model in models)


def _name(of_columns: str, of_rows: str, columns: int) -> str:
    """A model's name: its value in the column of models; its column's, where there is no such, or several."""
    if not of_rows:
        return of_columns
    return of_rows if columns == 1 else f"{of_rows}/{of_columns}"


def _answers(columns: Columns, model: Model, name: str, labels: Labels, said: Said) -> Answers:
    """The answers of one model, in the order of the file."""
    first = model.columns[0]
    if model.kind == "outcomes":
        return of_outcomes(columns, first, name, said.scale, said.lower_is_better)
    if not model.classes:
        return of_labels(columns, first, name, _ordered(columns, first, labels, said))
    found = of_scores(columns, model.columns, model.classes, name, labels.task, model.kind)
    if not model.beside:
        return found
    beside = labels_of(columns, model.beside, _ordered(columns, model.beside, labels, said))
    both = (found.state == ANSWERED) & (beside != NONE)
    differ = int((both & (found.predicted != beside)).sum())
    what = f"{model.beside!r} and the highest of {some(model.columns)} differ on {differ:,} of {int(both.sum()):,} rows"
    if differ > SWAPPED * both.sum():
        raise DataError(f"{columns.origin}: {what}; are columns swapped? `prediction` says which are to be read")
    return replace(found, notes=(*found.notes, f"{what}; the scores are read")) if differ else found


def _ordered(columns: Columns, column: str, labels: Labels, said: Said) -> Labels:
    """The labels, with numbers read as the file explains them, if it does."""
    order = columns.names.get(column, ())
    return Labels(labels.task, said.label_map, order) if order else labels


def _placed(found: Answers, places: Ints, name: str) -> Answers:
    same = len(places) == len(found) and (places == np.arange(len(found))).all()
    return replace(found, name=name) if same else replace(found.part(places), name=name)


def _own(
    columns: Columns,
    keys: Keys,
    layout: roles.Layout,
    labels: Labels,
    table: Entries,
    segments: Mapping[int, tuple[str, ...]],
) -> Own:
    """The rows that a file brings itself."""
    size = len(table.first)
    truth: Ints = np.full(size, NONE)
    if layout.truth:
        said = Said(label_map=labels.given)
        truth = labels_of(columns, layout.truth, _ordered(columns, layout.truth, labels, said))[table.first]
    ids = table.ids or tuple(str(i + 1) for i in range(size))
    rows: Any = zip(*(segments[at] for at in sorted(segments)), strict=True) if segments else ((),) * size
    clusters = tuple(taken(columns, keys.cluster, table.first)) if keys.cluster else None
    if clusters is not None and "" in clusters:
        raise DataError(f"{columns.origin}, row {clusters.index('') + 1:,}: the column {keys.cluster!r} is empty")
    truth.flags.writeable = False
    return Own(ids, tuple(rows), truth, clusters, labels.task.labels)


def model_named(reading: Reading, name: str) -> Answers:
    """One model of a table.

    Raises:
        UnknownName: it has none of that name.
    """
    found = next((model for model in reading.models if model.name == name), None)
    if found is None:
        raise UnknownName(f"model in {reading.origin}", name, [model.name for model in reading.models])
    return found
