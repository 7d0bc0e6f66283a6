"""Columns -> what each model answers, in the order of the file's own rows, and those rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from factors.types import Ints
from ranker.errors import Assumption, DataError, UnknownName, repeated
from ranker.sources.tables import entries, names, roles
from ranker.sources.tables import keys as keys_of
from ranker.sources.tables.base import (
    NONE,
    BundledTableRows,
    Columns,
    RequestedRows,
    TableAnswerColumn,
    TableHints,
    some,
)
from ranker.sources.tables.cells import (
    Labels,
    codes_of,
    emptied,
    labels_of,
    of_labels,
    of_outcomes,
    of_scores,
    silent_notes,
)
from ranker.sources.tables.entries import Entries, cells_at, check_same
from ranker.sources.tables.given import OUTCOMES, check_words, file_labels
from ranker.sources.tables.groups import ModelColumns
from ranker.sources.tables.keys import Keys
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER
from ranker.tasks.classes import ClassificationTask

SWAPPED = 0.5
"""The part of the rows on which a column of labels has to agree with the scores beside it."""


@dataclass(frozen=True, eq=False)
class ParsedTable:
    """What a table says.

    Attributes:
        origin: the file, for messages.
        models: their answers, to the R rows of the file.
        ids: (R,) of the rows; None where no column holds them.
        texts: segment -> (R,) its texts; empty where no column holds them.
        own: the rows themselves, where the file has the truth, or outcomes.
        task: whose labels were read; None where the answers are none.
        notes: what was understood, in sentences.
    """

    origin: str
    models: tuple[TableAnswerColumn, ...]
    ids: tuple[str, ...] | None
    texts: Mapping[int, tuple[str, ...]]
    own: BundledTableRows | None
    task: ClassificationTask | None
    notes: tuple[str, ...]

    @cached_property
    def by_name(self) -> Mapping[str, TableAnswerColumn]:
        """The models by their names; there may be thousands, and each is looked up."""
        return {model.name: model for model in self.models}

    @property
    def size(self) -> int:
        """R, how many rows it has."""
        return len(self.models[0])


def parse_predictions(
    columns: Columns,
    task: ClassificationTask | None = None,
    said: TableHints | None = None,
    rows: RequestedRows | None = None,
    name: str = "",
) -> ParsedTable:
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
    said = said or TableHints()
    roles.check_program(columns)
    keys = keys_of.find(columns, said, rows)
    rest = {name: emptied(cells, said.empty_words) for name, cells in columns.cells.items() if name not in keys.columns}
    columns = replace(columns, cells={**columns.cells, **rest})
    declared = task is not None and (task.ordered or bool(said.label_map))
    if task is None and _holds_outcomes_alone(columns, said, keys):
        said = replace(said, answers="outcomes")
    if task is None and said.answers == "outcomes" and not said.truth:
        task, declared = OUTCOMES, True
    elif task is None:
        labels_there, ordered, declared = file_labels(columns, said, keys)
        task = ClassificationTask("given", labels_there, ordered=ordered)
    labels = Labels(task, said.label_map, words=said.empty_words is None)
    layout = roles.find(columns, said, keys, labels)
    if columns.absent and len(layout.models) == 1:
        columns = replace(columns, absent={})  # a row of a file of one model is one that it was asked
    if not declared:
        of_answers = [model.columns[0] for model in layout.models if not model.classes and model.kind != "outcomes"]
        check_words(columns, filter(None, (layout.truth, *of_answers)), said)
    table = entries.find(columns, keys, rows, said.empty_words)
    models = _models(columns, layout, labels, said, name, table)
    if keys.run:
        models = _of_runs(columns, keys, layout, labels, said, table, models)
    if (twice := repeated(model.name for model in models)) is not None:
        raise DataError(f"{columns.origin}: two models are named {twice!r}")
    segments = {at: tuple(cells_at(columns, column, table.first)) for at, column in keys.texts.items()}
    own = _own(columns, keys, layout, labels, table, segments) if layout.truth or _all_outcomes(models) else None
    notes = [*keys_of.describe_keys(keys), *layout.notes]
    if layout.truth:
        in_order = labels.with_order(columns.names.get(layout.truth, ()))
        says = silent_notes(columns, layout.truth, in_order, "no label")
        notes += [note for note in says if isinstance(note, Assumption)]  # empty cells are counted with the rows
        if keys.model or keys.run:
            check_same(columns, layout.truth, table)
    return ParsedTable(columns.origin, tuple(models), table.ids, segments, own, task, tuple(notes))


def _models(
    columns: Columns, layout: roles.ColumnRoles, labels: Labels, said: TableHints, name: str, table: Entries
) -> list[TableAnswerColumn]:
    """The answers of each model, in each run of it, to the rows of the file."""
    models = []
    for model in layout.models:
        found = _answers(columns, model, model.name or name or "model", labels, said)
        found = _asked(found, columns, model)
        for (other, run), places in table.places.items():
            of_rows = named_rows(found.name, other, len(layout.models))
            models.append(placed(found, places, f"{of_rows}@{run}" if run else of_rows))
    return models


def _of_runs(
    columns: Columns,
    keys: Keys,
    layout: roles.ColumnRoles,
    labels: Labels,
    said: TableHints,
    table: Entries,
    runs: list[TableAnswerColumn],
) -> list[TableAnswerColumn]:
    """Runs as models of their own, or the mean of those of each model.

    Raises:
        DataError: nobody says which is meant.
    """
    if said.runs == "each":
        return runs
    if said.runs != "mean":
        names_of = list(dict.fromkeys(run for _, run in table.places))
        what = f"each row is answered in {len(names_of)} runs, which {keys.run!r} tells apart ({some(names_of)})"
        raise DataError(f"{columns.origin}: {what}; `runs` says what is meant: mean, or each run as a model")
    truth = None
    if layout.truth:
        in_order = labels.with_order(columns.names.get(layout.truth, ()))
        truth = labels_of(columns, layout.truth, in_order)[table.first]
    of: dict[str, list[TableAnswerColumn]] = {}
    for run, name in zip(runs, [name for _ in layout.models for _, name in table.places], strict=True):
        of.setdefault(run.name.removesuffix(f"@{name}"), []).append(run)
    return [mean_of_runs(columns, each, name, keys.run, truth) for name, each in of.items()]


def _holds_outcomes_alone(columns: Columns, said: TableHints, keys: Keys) -> bool:
    """Whether a file has no columns but those named for what was right, with fractions: then it has no labels."""
    rest = [name for name in columns.cells if name not in keys.columns]
    right = all(names.is_right(name) and names.holds_outcomes(columns, name, said.scale) for name in rest)
    return right and not (said.answers or said.truth) and any(names.has_fractions(columns, name) for name in rest)


def mean_of_runs(
    columns: Columns, runs: Sequence[TableAnswerColumn], name: str, column: str, truth: Ints | None
) -> TableAnswerColumn:
    """How right the answers of several runs are on average, over the runs that have one.

    Args:
        columns: the file, for messages.
        runs: the answers of each run, to the same R rows.
        name: of the model.
        column: that says which run it was.
        truth: (R,) the true labels; None where the file has none.

    Raises:
        DataError: labels were given, and the file does not say which are true.
    """
    if truth is None and runs[0].kind != "outcomes":
        what = f"the mean of the runs in {column!r} needs the true labels in the same file, in a column such as 'label'"
        raise DataError(f"{columns.origin}: {what}")
    right = np.array([run.correct(np.zeros(len(run), int) if truth is None else truth) for run in runs])
    if truth is not None and runs[0].kind != "outcomes":
        right[:, truth == NONE] = np.nan
    known = ~np.isnan(right)
    mean = np.where(known, right, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    state = np.array([run.state for run in runs])
    of_rows = np.where((state == MISSING).all(axis=0), MISSING, ERROR)
    of_rows[known.any(axis=0)] = ANSWERED
    of_rows[known.any(axis=0) & ((state == NO_ANSWER) | ~known).all(axis=0)] = NO_ANSWER
    note = f"each row is the mean of {len(runs)} runs, by {column!r}"
    found = np.where(known.any(axis=0), mean, np.nan)
    return TableAnswerColumn(name, "outcomes", 0, found, of_rows.astype(np.int8), notes=(*runs[0].notes, note))


def _all_outcomes(models: Sequence[TableAnswerColumn]) -> bool:
    return all(model.kind == "outcomes" for model in models)


def named_rows(of_columns: str, of_rows: str, columns: int) -> str:
    """A model's name: its value in the column of models; its column's, where there is no such, or several."""
    if not of_rows:
        return of_columns
    return of_rows if columns == 1 else f"{of_rows}/{of_columns}"


def _answers(columns: Columns, model: ModelColumns, name: str, labels: Labels, said: TableHints) -> TableAnswerColumn:
    """The answers of one model, in the order of the file."""
    first = model.columns[0]
    if model.kind == "outcomes":
        return of_outcomes(columns, first, name, said.scale, said.lower_is_better)
    if not model.classes:
        return of_labels(columns, first, name, labels.with_order(columns.names.get(first, ())))
    found = of_scores(columns, model.columns, model.classes, name, labels.task, model.kind)
    if not model.beside:
        return found
    beside = codes_of(columns, model.beside, labels.with_order(columns.names.get(model.beside, ())))
    both = (found.state == ANSWERED) & (beside >= 0)
    differ = int((both & (found.predicted != beside)).sum())
    what = f"{model.beside!r} and the highest of {some(model.columns)} differ on {differ:,} of {int(both.sum()):,} rows"
    if differ > SWAPPED * both.sum():
        raise DataError(f"{columns.origin}: {what}; are columns swapped? `prediction` says which are to be read")
    return replace(found, notes=(*found.notes, f"{what}; the scores are read")) if differ else found


def _asked(answers: TableAnswerColumn, columns: Columns, model: ModelColumns) -> TableAnswerColumn:
    """The same, with a row missing that names no column of the model, as rows of JSON may: it was not asked that."""
    of_list = {part: name for name, parts in columns.groups.items() for part in parts}
    names = {of_list.get(column, column) for column in model.columns}
    if not names <= columns.absent.keys():
        return answers
    absent = np.all([columns.absent[name] for name in names], axis=0)
    return replace(answers, state=np.where(absent, MISSING, answers.state).astype(np.int8))


def placed(found: TableAnswerColumn, places: Ints, name: str) -> TableAnswerColumn:
    """The answers that stand at places of a file, -1 for none, under the name of one model."""
    same = len(places) == len(found) and (places == np.arange(len(found))).all()
    return replace(found, name=name) if same else replace(found.part(places), name=name)


def _own(
    columns: Columns,
    keys: Keys,
    layout: roles.ColumnRoles,
    labels: Labels,
    table: Entries,
    segments: Mapping[int, tuple[str, ...]],
) -> BundledTableRows:
    """The rows that a file brings itself."""
    size = len(table.first)
    truth: Ints = np.full(size, NONE)
    if layout.truth:
        in_order = labels.with_order(columns.names.get(layout.truth, ()))
        truth = labels_of(columns, layout.truth, in_order)[table.first]
    rows: Any = zip(*(segments[at] for at in sorted(segments)), strict=True) if segments else ((),) * size
    clusters = tuple(cells_at(columns, keys.cluster, table.first)) if keys.cluster else None
    if clusters is not None and "" in clusters:
        raise DataError(f"{columns.origin}, row {clusters.index('') + 1:,}: the column {keys.cluster!r} is empty")
    truth.flags.writeable = False
    return BundledTableRows(table.ids, tuple(rows), truth, clusters, labels.task.labels)


def model_named(reading: ParsedTable, name: str) -> TableAnswerColumn:
    """One model of a table.

    Raises:
        UnknownName: it has none of that name.
    """
    found = next((model for model in reading.models if model.name == name), None)
    if found is None:
        raise UnknownName(f"model in {reading.origin}", name, [model.name for model in reading.models])
    return found
