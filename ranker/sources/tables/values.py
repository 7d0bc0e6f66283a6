"""Answers that are no labels: raw cells of each model, which the task parses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from factors.types import Example, Ints
from ranker.errors import Assumption, DataError, FileReading, Question, UnknownName
from ranker.files.conll import TAGS
from ranker.sources.tables import entries, failures, names, roles
from ranker.sources.tables import keys as keys_of
from ranker.sources.tables.base import Columns, RequestedRows, TableAnswerColumn, TableHints, count, some, states
from ranker.sources.tables.cells import READABLE
from ranker.sources.tables.entries import cells_at
from ranker.sources.tables.keys import Keys
from ranker.sources.tables.metering import split_usage
from ranker.sources.tables.reading import ParsedTable, group_runs, newest_runs, place_answers, runs_question
from ranker.sources.tables.roles import prediction_reading
from ranker.tasks.base import ANSWERED, NO_ANSWER, Predictions, Task
from ranker.tasks.values import has_values

OUTCOMES_APART = (
    "`prediction` names columns of answers; a table of outcomes is read by `answers=outcomes`, without rows"
)
"""Advice where outcomes may stand where answers are wanted."""

SHOWN = 50
"""Most characters of a cell in a message."""


def collect_values(
    columns: Columns, hints: TableHints | None = None, rows: RequestedRows | None = None, name: str = ""
) -> ParsedTable:
    """Collect the raw cells of each model of a file. For the arguments see `reading.parse_predictions`.

    Raises:
        Question: the user says that the answers are labels or numbers of labels, or wants the mean of runs.
    """
    hints = hints or TableHints()
    if hints.answers not in ("", "values", "outcomes"):
        problem = f"answers to this task are no labels, so they cannot be read as {hints.answers}"
        raise Question.at(columns.origin, f"{problem}; leave out `answers`, or name labels by `task`", option="answers")
    roles.check_program(columns)
    columns, usage = split_usage(columns)
    keys = keys_of.find(columns, hints, rows)
    if keys.run and hints.runs == "mean":
        problem = f"{keys.run!r} tells runs apart, and such answers have no mean; `runs` is newest or each"
        allowed = ("newest", "each")
        readings = [FileReading.by("runs", treatment) for treatment in allowed]
        raise Question.at(columns.origin, problem, option="runs", value="mean", allowed=allowed, readings=readings)
    held = _columns_of_answers(columns, hints, keys)
    table = entries.find(
        columns, keys, rows, hints.empty_words, [part for name in held for part in held[name] or [name]]
    )
    if keys.run and not hints.runs:
        raise runs_question(columns, keys, table)
    models: list[TableAnswerColumn] = []
    for column, parts in held.items():
        failed, note = failures.rows_of(columns, keys.failures, parts or (column,), len(held) == 1)
        cells = np.fromiter(_cells(columns, column, parts), dtype=object, count=columns.size)
        cells[failed] = None
        if hints.empty_words:
            cells[[isinstance(cell, str) and cell.strip() in hints.empty_words for cell in cells]] = None
        filled = np.array([cell is not None for cell in cells], dtype=bool)
        of_column = name or "model" if len(held) == 1 and not hints.prediction else column
        answers = TableAnswerColumn(of_column, "values", 0, cells, states(filled, NO_ANSWER), usage=usage)
        models += place_answers(answers.failed(failed, note), table, len(held))
    if keys.run and hints.runs == "newest":
        models = newest_runs(group_runs(models, table, len(held)), keys.run)
    texts = {segment: tuple(cells_at(columns, column, table.first)) for segment, column in keys.texts.items()}
    in_columns = [part for parts in held.values() for part in parts] or [*held]
    notes = (*keys_of.describe_keys(keys), f"{some(in_columns)} hold{'' if in_columns[1:] else 's'} the answers")
    return ParsedTable(columns.origin, tuple(models), table.ids, texts, notes)


def _cells(columns: Columns, name: str, parts: Sequence[str]) -> Sequence[Any]:
    """Return the cells of a column; of several the objects of their names and numbers, None without any."""
    if not parts:
        return columns.values(name)
    names = [part.removeprefix(f"{name}/") for part in parts]
    rows = zip(*(columns.values(part) for part in parts), strict=True)
    return [dict(zip(names, map(float, row), strict=True)) if None not in row else None for row in rows]


def _columns_of_answers(columns: Columns, hints: TableHints, keys: Keys) -> dict[str, tuple[str, ...]]:
    """Return column, or model -> its columns, () for one of that name: those that are named, or seem to be answers."""
    # numbers from 0 to 1 in several columns are one answer, an object of these, or one of each `model/part`
    readable = [name for name in columns.order if name not in columns.unread or name in columns.nested]
    if missing := next((name for name in hints.prediction if name not in readable), ""):
        raise UnknownName("column", missing, readable, place=columns.origin)
    used = {*keys.columns, hints.truth}
    free = [name for name in readable if name not in used and not {*columns.groups.get(name, ())} & used]
    by_name = [name for name in free if names.is_prediction(name)]
    left = [name for name in free if not names.is_true(name)]
    held = list(hints.prediction) or by_name or (left if len(left) == 1 else [name for name in left if name == TAGS])
    right = [name for name in held if names.is_right(name) and names.holds_outcomes(columns, name, hints.scale)]
    if hints.answers == "outcomes" or (right and not hints.prediction):
        problem = f"{some(right or free, 5)} may say how right answers are, and this task judges the answers themselves"
        raise DataError.at(columns.origin, f"{problem}; {OUTCOMES_APART}", option="prediction")
    if not held and len(left) > 1 and all(map(partial(_holds_units, columns), left)):
        before = {name.rpartition("/")[0] for name in left}
        models = before if "" not in before else {""}
        return {
            model: tuple(name for name in left if not model or name.startswith(f"{model}/")) for model in sorted(models)
        }
    if not held:
        several = f"which columns hold answers is not known (columns: {some(free, 5)})"
        readings = map(prediction_reading, ([name] for name in free))
        raise Question.at(columns.origin, f"{several}; `prediction` names them", option="prediction", readings=readings)
    return dict.fromkeys(held, ())


def _holds_units(columns: Columns, name: str) -> bool:
    """Return whether the cells of a column are numbers from 0 to 1."""
    cells = [cell for cell in columns.values(name) if cell is not None]
    return bool(cells) and all(map(_in_unit, cells))


def read_values(
    task: Task, column: TableAnswerColumn, state: Ints, examples: Sequence[Example]
) -> tuple[Predictions, tuple[str, ...]]:
    """Parse the (N,) cells of a model as answers to a task; an unparsable cell is no answer, and counted in a note.

    Raises:
        DataError: most filled cells are unparsable, or all are numbers from 0 to 1 and no target is.
    """
    _check_no_outcomes(task, column, examples)
    answers, state, wrong = [], state.copy(), {}
    if not (has_values(task) and task.empty_lists):
        state[[cell == [] for cell in column.answers]] = NO_ANSWER
    for row, (cell, of_row, example) in enumerate(zip(column.answers, state.tolist(), examples, strict=True)):
        segments = example.segments if any(example.segments) else ()
        try:
            answers.append(task.answer_of(cell, segments) if of_row == ANSWERED else None)
        except ValueError as reason:
            answers.append(None)
            state[row] = NO_ANSWER
            wrong[row] = f"{str(cell)[:SHOWN]!r}: {reason}"
    filled, notes = int((column.state == ANSWERED).sum()), task.notes(answers)
    if not wrong:
        return task.predictions(answers, state), notes
    many = count(len(wrong), "cell", "is no answer", "are no answers")
    note = f"{many} to {task.name} (of {filled:,}; the first {next(iter(wrong.values()))})"
    if len(wrong) > READABLE * filled:
        raise DataError(note)
    return task.predictions(answers, state), (Assumption(note), *notes)


def _check_no_outcomes(task: Task, column: TableAnswerColumn, examples: Sequence[Example]) -> None:
    """Refuse a column of nothing but numbers from 0 to 1 beside targets that hold none: it says what was right."""
    filled = [cell for cell, state in zip(column.answers, column.state.tolist(), strict=True) if state == ANSWERED]
    targets = [task.cell_of(example.target) for example in examples if example.target is not None]
    if filled and targets and all(map(_in_unit, filled)) and not any(map(_in_unit, targets)):
        problem = f"{column.name!r} holds only numbers from 0 to 1, and no true answer is one: outcomes, not answers"
        raise DataError(f"{problem}; {OUTCOMES_APART}", option="prediction")


def _in_unit(cell: object) -> bool:
    """Return True for a number from 0 to 1, and for a truth value."""
    try:
        return 0 <= float(cell if isinstance(cell, bool) else str(cell)) <= 1
    except ValueError:
        return False
