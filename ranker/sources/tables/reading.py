"""Parse columns into the answers of each model, in the file's order, and the rows that the file brings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from factors.types import Ints
from ranker.errors import Absence, Assumption, DataError, Question, check_distinct
from ranker.sources.options import RUNS
from ranker.sources.tables import entries, failures, names, raters, roles
from ranker.sources.tables import keys as keys_of
from ranker.sources.tables.base import (
    NONE,
    UNIT,
    Columns,
    RequestedRows,
    TableAnswerColumn,
    TableHints,
    count,
    some,
)
from ranker.sources.tables.cells import (
    Labels,
    blanks_to_null,
    distinct,
    label_codes,
    read_label_column,
    read_outcome_column,
    read_score_columns,
    silent_notes,
    true_label_codes,
)
from ranker.sources.tables.entries import Entries, cells_at, check_same
from ranker.sources.tables.given import OUTCOMES, check_truth, check_words, file_labels, truth_in_words_of
from ranker.sources.tables.groups import ModelColumns
from ranker.sources.tables.keys import Keys
from ranker.sources.tables.metering import split_usage
from ranker.sources.tables.ranked import name_scores
from ranker.sources.usage import RowUsage, mean_over
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER
from ranker.tasks.classes import ClassificationTask

SWAPPED = 0.5
"""Least share of rows on which a label column must agree with the scores beside it; below it columns seem swapped."""


@dataclass(frozen=True, eq=False)
class ParsedTable:
    """Answers and rows of a table.

    Attributes:
        origin: the file, for messages.
        models: answers of each model to the R rows of the file.
        ids: (R,) ids; None if no column holds them.
        texts: segment -> (R,) its texts; empty if no column holds them.
        notes: how the file was read, in sentences.
        truth: (R,) true labels, `NONE` for a row without one; None unless the file has some, or outcomes, so that it
            brings its rows.
        clusters: (R,) groups of dependent rows, if it brings them; None if not stated.
        task: whose labels were read; None if the answers are no labels.
        doubt: why other columns may hold the answers; "" if the choice is plain.
    """

    origin: str
    models: tuple[TableAnswerColumn, ...]
    ids: tuple[str, ...] | None
    texts: Mapping[int, tuple[str, ...]]
    notes: tuple[str, ...]
    truth: Ints | None = None
    clusters: tuple[str, ...] | None = None
    task: ClassificationTask | None = None
    doubt: str = ""

    @cached_property
    def by_name(self) -> Mapping[str, TableAnswerColumn]:
        """The models by their names; there may be thousands, and each is looked up."""
        return {model.name: model for model in self.models}

    @property
    def size(self) -> int:
        """R, the number of rows."""
        return len(self.models[0])


def parse_predictions(
    columns: Columns,
    task: ClassificationTask | None = None,
    hints: TableHints | None = None,
    rows: RequestedRows | None = None,
    name: str = "",
) -> ParsedTable:
    """Parse the answers of each model in a table.

    Args:
        task: the labels; None infers them from the file.
        rows: the requested rows, by which columns of ids and texts are recognised; None goes by names.
        name: of the model, if the file holds one.
    """
    hints = hints or TableHints()
    roles.check_program(columns)
    columns, usage = split_usage(columns)
    columns = name_scores(columns, (*hints.prediction, hints.truth, hints.id, hints.cluster))
    keys = keys_of.find(columns, hints, rows)
    free = {name: cells for name, cells in columns.cells.items() if name not in keys.columns}
    cleaned = {name: blanks_to_null(cells, hints.empty_words) for name, cells in free.items()}
    columns = replace(columns, cells={**columns.cells, **cleaned})
    inferred, declared = task is None, task is not None and (task.ordered or bool(task.numbers or hints.label_map))
    if task is None and _holds_outcomes_alone(columns, hints, keys):
        hints = replace(hints, answers="outcomes")
    if task is None and hints.answers == "outcomes" and not hints.truth:
        task, declared = OUTCOMES, True
    elif task is None:
        hints = replace(hints, truth=truth_in_words_of(columns, hints))
        task, declared = file_labels(columns, hints, keys)
    labels = Labels(task, hints.label_map, words=hints.empty_words is None)
    layout = roles.find(columns, hints, keys, labels)
    if columns.absent and len(layout.models) == 1:
        columns = replace(columns, absent={})  # a single model was asked all rows of its file
    of_answers = [model.columns[0] for model in layout.models if not model.classes and model.kind != "outcomes"]
    if layout.truth and inferred:
        check_truth(columns, layout.truth, of_answers, hints, declared)
    if not declared:
        check_words(columns, filter(None, (layout.truth, *of_answers)), hints)
    held = {column for model in layout.models for column in (*model.columns, model.beside)} | {layout.truth}
    table = entries.find(columns, keys, rows, hints.empty_words, held)
    models = _models(columns, layout, labels, hints, name, table, keys, usage)
    if keys.run:
        models = _combine_runs(columns, keys, layout, labels, hints, table, models)
    check_distinct(columns.origin, "models", (model.name for model in models))
    segments = {segment: tuple(cells_at(columns, column, table.first)) for segment, column in keys.texts.items()}
    judged = layout.truth or all(model.kind == "outcomes" for model in models)
    truth = _truth(columns, layout, labels, table) if judged else None
    clusters = _clusters(columns, keys.cluster, table) if judged and keys.cluster else None
    notes = [*keys_of.describe_keys(keys), *layout.notes]
    if (hints.scale != UNIT or hints.lower_is_better) and any(model.kind == "outcomes" for model in models):
        low, high = hints.scale
        shares = f"Outcomes are shown on a scale from 0 % (the worst, {high:g} in the file) to 100 % ({low:g})."
        notes.append(shares if hints.lower_is_better else f"Marks run from {low:g}, the worst, to {high:g}, the best.")
    if layout.truth:
        says = silent_notes(columns, layout.truth, labels, "no label")
        notes += [note for note in says if isinstance(note, Assumption)]  # empty cells are reported with the rows
        if keys.model or keys.run:
            check_same(columns, layout.truth, table)
    return ParsedTable(
        columns.origin, tuple(models), table.ids, segments, tuple(notes), truth, clusters, task, layout.doubt
    )


def _models(
    columns: Columns,
    layout: roles.ColumnRoles,
    labels: Labels,
    hints: TableHints,
    name: str,
    table: Entries,
    keys: Keys,
    usage: RowUsage | None,
) -> list[TableAnswerColumn]:
    """Read the answers of each model, in each of its runs, to the rows of the file."""
    models: list[TableAnswerColumn] = []
    for model in layout.models:
        alone = len(layout.models) == 1
        failed, note = failures.rows_of(columns, keys.failures, (model.name, *model.columns), alone)
        left = failures.without(columns, (*model.columns, model.beside), failed)
        answers = _answers(left, model, model.name or name or "model", labels, hints)
        answers = replace(_mark_unasked(answers, columns, model).failed(failed, note), usage=usage)
        models += place_answers(answers, table, len(layout.models))
    return models


def _combine_runs(
    columns: Columns,
    keys: Keys,
    layout: roles.ColumnRoles,
    labels: Labels,
    hints: TableHints,
    table: Entries,
    runs: list[TableAnswerColumn],
) -> list[TableAnswerColumn]:
    """Return runs as models of their own, or the mean or the newest of the runs of each model, or raters as one."""
    if hints.runs == "each":
        return runs
    by_raters = keys.by_raters and runs[0].kind == "outcomes"
    if not (hints.runs or by_raters):
        raise runs_question(columns, keys, table)
    by_model = group_runs(runs, table, len(layout.models))
    if by_raters and not hints.runs:
        return joined_raters(by_model, hints.scale)
    if hints.runs == "newest":
        return newest_runs(by_model, keys.run)
    truth = _truth(columns, layout, labels, table) if layout.truth else None
    return [
        mean_of_runs(columns, list(of_model.values()), name, keys.run, truth) for name, of_model in by_model.items()
    ]


def runs_question(columns: Columns, keys: Keys, table: Entries) -> Question:
    """Return the question whether answers to one row are of several runs."""
    names_of = list(dict.fromkeys(run for _, run in table.places))
    problem = f"each row is answered {len(names_of)} times, which {keys.run!r} tells apart ({some(names_of)})"
    text, readings = entries.rows_or_runs(keys, keys.run)
    return Question.at(columns.origin, f"{problem}; {text}", option="runs", allowed=RUNS, readings=readings)


def group_runs(
    runs: Sequence[TableAnswerColumn], table: Entries, columns: int
) -> dict[str, dict[str, TableAnswerColumn]]:
    """Group the answers of all runs, of each of some columns, and each of `table.places`: model -> run -> answers."""
    by_model: dict[str, dict[str, TableAnswerColumn]] = {}
    names_of = [name for _ in range(columns) for _, name in table.places]
    for run, name in zip(runs, names_of, strict=True):
        by_model.setdefault(run.name.removesuffix(f"@{name}"), {})[name] = run
    return by_model


def joined_raters(
    by_model: Mapping[str, Mapping[str, TableAnswerColumn]], scale: tuple[float, float]
) -> list[TableAnswerColumn]:
    """Return models by the marks of all their raters together: see `raters`."""
    names = list(dict.fromkeys(name for of_model in by_model.values() for name in of_model))
    size = len(next(iter(next(iter(by_model.values())).values())))
    nothing = np.full(size, np.nan)
    marks = np.array(
        [
            [of_model[name].correct(nothing) if name in of_model else nothing for of_model in by_model.values()]
            for name in names
        ]
    ).reshape(len(names), -1)
    joint, levels = raters.joint_marks(marks)
    note = raters.describe(names, marks, levels, scale)
    joined = []
    for (name, of_model), values in zip(by_model.items(), joint.reshape(len(by_model), size), strict=True):
        state = np.where(np.isnan(values), MISSING, ANSWERED).astype(np.int8)
        notes = (*next(iter(of_model.values())).notes, note)
        joined.append(TableAnswerColumn(name, "outcomes", 0, values, state, notes=notes))
    return joined


def newest_runs(by_model: Mapping[str, Mapping[str, TableAnswerColumn]], column: str) -> list[TableAnswerColumn]:
    """Return the last run of each model: that of the highest number, else the last in the file."""
    models = []
    for name, runs in by_model.items():
        newest = max(runs, key=float) if all(map(_is_number, runs)) else [*runs][-1]
        note = f"of {count(len(runs), 'run')}, by {column!r}, the last is read: {newest}"
        models.append(replace(runs[newest], name=name, notes=(*runs[newest].notes, note)))
    return models


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdecimal()


def _holds_outcomes_alone(columns: Columns, hints: TableHints, keys: Keys) -> bool:
    """Return True if all columns hold outcomes, and are named so, or for no truth if the user states a scale."""
    free = [name for name in columns.cells if name not in keys.columns]
    if hints.answers or hints.truth or not all(names.holds_outcomes(columns, name, hints.scale) for name in free):
        return False
    if hints.scale != UNIT:
        return not any(names.is_true(name) for name in free)
    alone = any(names.has_fractions(columns, name) or len(distinct(columns.cells[name])) == 1 for name in free)
    return alone and all(map(names.is_right, free))


def mean_of_runs(
    columns: Columns, runs: Sequence[TableAnswerColumn], name: str, column: str, truth: Ints | None
) -> TableAnswerColumn:
    """Average how right the answers of several runs to R rows are, by (R,) true labels, over the runs that have one."""
    if truth is None and runs[0].kind != "outcomes":
        need = f"the mean of the runs in {column!r} needs the true labels in the same file, in a column such as 'label'"
        raise DataError.at(columns.origin, need)
    right = np.array([run.correct(np.zeros(len(run), int) if truth is None else truth) for run in runs])
    if truth is not None and runs[0].kind != "outcomes":
        right[:, truth == NONE] = np.nan
    judged = ~np.isnan(right)
    mean = np.where(judged, right, 0.0).sum(axis=0) / np.maximum(judged.sum(axis=0), 1)
    state = np.array([run.state for run in runs])
    of_rows = np.where((state == MISSING).all(axis=0), MISSING, ERROR)
    of_rows[judged.any(axis=0)] = ANSWERED
    of_rows[judged.any(axis=0) & ((state == NO_ANSWER) | ~judged).all(axis=0)] = NO_ANSWER
    of_judged = judged.sum(axis=0)[judged.any(axis=0)]
    fewer = int((of_judged < len(runs)).sum())
    failed = int((judged.any(axis=0) & (state == ERROR).any(axis=0)).sum())
    of_failed = (Absence(f"{count(failed, 'row')} failed in some runs; the others count"),) if failed else ()
    note = f"each row is the mean of {len(runs)} runs, by {column!r}"
    note += f" ({fewer:,} of {len(of_judged):,} rows of fewer, down to {of_judged.min()})" if fewer else ""
    means = np.where(judged.any(axis=0), mean, np.nan)
    notes = (*runs[0].notes, note, *of_failed)
    usage = mean_over([run.usage for run in runs])
    return TableAnswerColumn(name, "outcomes", 0, means, of_rows.astype(np.int8), notes=notes, usage=usage)


def _answers(columns: Columns, model: ModelColumns, name: str, labels: Labels, hints: TableHints) -> TableAnswerColumn:
    """Read the answers of one model, in the file's order."""
    first = model.columns[0]
    if model.kind == "outcomes":
        return read_outcome_column(columns, first, name, hints.scale, hints.lower_is_better)
    if not model.classes:
        return read_label_column(columns, first, name, labels)
    answers = read_score_columns(columns, model.columns, model.classes, name, labels.task, model.kind)
    if not model.beside:
        return answers
    beside = label_codes(columns, model.beside, labels)
    shared = (answers.state == ANSWERED) & (beside >= 0)
    differ = int((shared & (answers.predicted != beside)).sum())
    note = (
        f"{model.beside!r} and the highest of {some(model.columns)} differ on {differ:,} of {int(shared.sum()):,} rows"
    )
    if differ > SWAPPED * shared.sum():
        raise DataError.at(
            columns.origin, f"{note}; are columns swapped? `prediction` says which are to be read", option="prediction"
        )
    return replace(answers, notes=(*answers.notes, f"{note}; the scores are read")) if differ else answers


def _mark_unasked(answers: TableAnswerColumn, columns: Columns, model: ModelColumns) -> TableAnswerColumn:
    """Mark rows of JSON that have no column of the model as missing: it was not asked."""
    of_list = {part: name for name, parts in columns.groups.items() for part in parts}
    names = {of_list.get(column, column) for column in model.columns}
    if not names <= columns.absent.keys():
        return answers
    absent = np.all([columns.absent[name] for name in names], axis=0)
    return replace(answers, state=np.where(absent, MISSING, answers.state).astype(np.int8))


def place_answers(answers: TableAnswerColumn, table: Entries, columns: int) -> Iterator[TableAnswerColumn]:
    """Yield the answers in one of some columns for each model and run that rows state, in the order of the rows."""
    for (model, run), places in table.places.items():
        name = answers.name if not model else model if columns == 1 else f"{model}/{answers.name}"
        same = len(places) == len(answers) and (places == np.arange(len(answers))).all()
        yield replace(answers if same else answers.part(places), name=f"{name}@{run}" if run else name)


def _truth(columns: Columns, layout: roles.ColumnRoles, labels: Labels, table: Entries) -> Ints:
    """Return (R,) the true labels of the rows that the file brings, `NONE` for none."""
    if not layout.truth:
        return np.full(len(table.first), NONE)
    return true_label_codes(columns, layout.truth, labels)[table.first]


def _clusters(columns: Columns, column: str, table: Entries) -> tuple[str, ...]:
    """Return (R,) the groups of these rows; refuse a row without one."""
    clusters = tuple(cells_at(columns, column, table.first))
    if "" in clusters:
        raise DataError.of_column(column, "is empty", place=f"{columns.origin}, row {clusters.index('') + 1:,}")
    return clusters
