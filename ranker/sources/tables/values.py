"""Answers that are no labels: each model's cells as they stand in the file, and what a task reads in them."""

from __future__ import annotations

import numpy as np

from factors.types import Ints
from ranker.errors import Assumption, DataError, UnknownName
from ranker.sources.tables import entries, names, roles
from ranker.sources.tables import keys as keys_of
from ranker.sources.tables.base import Columns, RequestedRows, TableAnswerColumn, TableHints, count, some, states
from ranker.sources.tables.cells import READABLE
from ranker.sources.tables.entries import cells_at
from ranker.sources.tables.keys import Keys
from ranker.sources.tables.reading import ParsedTable, named_rows, placed
from ranker.tasks.base import ANSWERED, NO_ANSWER, Predictions, Task

SHOWN = 50
"""Characters of a cell that a message shows."""


def collect_values(
    columns: Columns, said: TableHints | None = None, rows: RequestedRows | None = None, name: str = ""
) -> ParsedTable:
    """Collect the cells of each model of a file.

    Args:
        columns: the file's.
        said: what is said of the file.
        rows: what is asked about: columns of ids and texts are told by it; None goes by their names.
        name: of the model, where the file is of one.

    Raises:
        UnknownName: a column that is said is not there.
        DataError: it cannot be known which columns hold answers.
    """
    said = said or TableHints()
    roles.check_program(columns)
    keys = keys_of.find(columns, said, rows)
    if keys.run and said.runs != "each":
        raise DataError(f"{columns.origin}: {keys.run!r} tells runs apart, and such answers have no mean; `runs=each`")
    held = _columns_of_answers(columns, said, keys)
    table = entries.find(columns, keys, rows, said.empty_words)
    models = []
    for column in held:
        cells = np.fromiter(columns.values(column), dtype=object, count=columns.size)
        given = np.array([cell is not None for cell in cells], dtype=bool)
        of_column = name or "model" if len(held) == 1 and not said.prediction else column
        found = TableAnswerColumn(of_column, "values", 0, cells, states(given, NO_ANSWER))
        for (model, run), places in table.places.items():
            of_rows = named_rows(of_column, model, len(held))
            models.append(placed(found, places, f"{of_rows}@{run}" if run else of_rows))
    texts = {at: tuple(cells_at(columns, column, table.first)) for at, column in keys.texts.items()}
    notes = (*keys_of.describe_keys(keys), f"{some(held)} hold{'s' if len(held) == 1 else ''} the answers")
    return ParsedTable(columns.origin, tuple(models), table.ids, texts, None, None, notes)


def _columns_of_answers(columns: Columns, said: TableHints, keys: Keys) -> list[str]:
    """The columns that hold answers: those named, else those whose names say so, else the only one that is left."""
    there = [name for name in columns.order if name not in columns.unread]
    if missing := next((name for name in said.prediction if name not in there), ""):
        raise UnknownName(f"column in {columns.origin}", missing, there)
    used = {*keys.columns, said.truth}
    rest = [name for name in there if name not in used and not {*columns.groups.get(name, ())} & used]
    by_name = [name for name in rest if names.is_prediction(name)]
    left = [name for name in rest if not names.is_true(name)]
    held = list(said.prediction) or by_name or (left if len(left) == 1 else [])
    if not held:
        several = f"which columns hold answers is not known (columns: {some(rest, 5)})"
        raise DataError(f"{columns.origin}: {several}; `prediction` names them")
    return held


def read_values(task: Task, found: TableAnswerColumn, state: Ints) -> tuple[Predictions, tuple[str, ...]]:
    """Read the cells of a model as answers to a task; a cell that is none of its answers is no answer.

    Args:
        task: whose answers they are.
        found: the (N,) cells.
        state: (N,) their states.

    Returns:
        The answers, and notes: how many cells could not be read.

    Raises:
        DataError: less than half of the filled cells could.
    """
    answers, state, wrong = [], state.copy(), {}
    for row, (cell, of_row) in enumerate(zip(found.given, state.tolist(), strict=True)):
        try:
            answers.append(task.answer_of(cell) if of_row == ANSWERED else None)
        except ValueError as reason:
            answers.append(None)
            state[row] = NO_ANSWER
            wrong[row] = f"{str(cell)[:SHOWN]!r}: {reason}"
    filled = int((found.state == ANSWERED).sum())
    if not wrong:
        return task.predictions(answers, state), ()
    many = count(len(wrong), "cell", "is no answer", "are no answers")
    what = f"{many} to {task.name} (of {filled:,}; the first {next(iter(wrong.values()))})"
    if len(wrong) > READABLE * filled:
        raise DataError(what)
    return task.predictions(answers, state), (Assumption(what),)
