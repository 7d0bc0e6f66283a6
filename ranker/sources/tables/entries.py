"""Rows of a file and their ids; rows that repeat for each model are collected once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from factors.types import Ints
from ranker.errors import DataError, FileReading, Question
from ranker.files.cells import cell_text
from ranker.sources.options import RUNS
from ranker.sources.tables import keys as keys_of
from ranker.sources.tables.base import JOINT, Columns, RequestedRows
from ranker.sources.tables.cells import dictionary_codes, texts
from ranker.sources.tables.keys import Keys, strip_point_zero
from ranker.tasks.empty import says_nothing


@dataclass(frozen=True, eq=False)
class Entries:
    """The R distinct rows of a file.

    Attributes:
        first: (R,) position of a row's first line in the file.
        ids: (R,) ids; None if no column holds them.
        places: (model, run) -> (R,) position of its answer in the file, -1 for none; "" if no column names the model,
            or the run.
    """

    first: Ints
    ids: tuple[str, ...] | None
    places: Mapping[tuple[str, str], Ints]


def with_ids(columns: Columns, rows: RequestedRows) -> RequestedRows:
    """Return rows with the ids that a file is about, if several columns of the rows may hold them.

    Raises:
        Question: the ids of the file may be those of two columns, or two columns tell different rows.
    """
    by_name = {name.strip().casefold(): name for name in reversed(list(columns.cells))}
    row_cells = {name: strip_point_zero(cells) for name, cells in rows.id_columns.items()}
    shared = {name: by_name[name.strip().casefold()] for name in row_cells if name.strip().casefold() in by_name}
    file_cells = {name: strip_point_zero(texts(columns.cells[column])) for name, column in shared.items()}
    chosen = next(iter(row_cells), "")
    answer = "`columns id=NAME` says which column of the rows holds the ids"
    readings = [FileReading(f"`columns id={name}`", {"columns": name}) for name in row_cells]
    doubtful = [name for name in file_cells if row_cells[name] != row_cells[chosen]]
    for name in sorted(doubtful, key=lambda name: keys_of.in_order(columns, shared[name])):  # mere positions come last
        if {*file_cells.get(chosen, ())} & {*row_cells[chosen]}:
            pairs = dict(zip(file_cells[chosen], file_cells[name], strict=True))
            of_rows = zip(row_cells[chosen], row_cells[name], strict=True)
            row = next((row for row, cell in of_rows if pairs.get(row, cell) != cell), None)
            if row is not None and not keys_of.in_order(columns, shared[name]):
                problem = f"{chosen!r} and {name!r} tell different rows, the first at {chosen} {row[:50]!r}"
                raise Question.at(
                    columns.origin, f"{problem}; {answer}", option="columns", value=row, readings=readings
                )
        elif {*file_cells[name]} & {*row_cells[name]} & {*row_cells[chosen]}:
            problem = f"{shared[name]!r} may hold the ids in {chosen!r} of the rows, or those in {name!r}"
            raise Question.at(
                columns.origin, f"{problem}; {answer}", option="columns", value=shared[name], readings=readings
            )
        elif {*file_cells[name]} <= {*row_cells[name]} and len({*row_cells[name]}) == len(rows):
            return replace(rows, ids=tuple(row_cells[name]))
    return rows


def find(
    columns: Columns,
    keys: Keys,
    rows: RequestedRows | None,
    empty_words: Sequence[str] | None = None,
    answers: Collection[str] = (),
) -> Entries:
    """Collect the distinct rows of a file.

    Args:
        rows: the requested rows; an id of theirs is an id even if it reads like an empty word.
        answers: columns of the answers and the truth, which hardly tell rows apart.
    """
    values, codes = _ids(columns, keys.id, rows, empty_words) if keys.id else ([], np.arange(columns.size))
    if not keys.model and not keys.run:
        if keys.id and len(values) < columns.size:
            _refuse_twice(columns, keys, answers, values, codes)
        ids = tuple(values[code] for code in codes.tolist()) if keys.id else None
        return Entries(np.arange(columns.size), ids, {("", ""): np.arange(columns.size)})
    models = _group_models(columns, keys.model, keys.run)
    if not keys.id:
        places_of_models = list(models.values())
        _check_texts(columns, keys, places_of_models)
        return Entries(places_of_models[0], None, models)
    columns.limits.check(columns.origin, "table_cells", len(models) * len(values))
    first = np.full(len(values), -1)
    first[codes[::-1]] = np.arange(columns.size)[::-1]
    order = np.argsort(first, kind="stable")
    places = {}
    for name, mine in models.items():
        places_of_model = np.full(len(values), -1)
        places_of_model[codes[mine]] = mine
        if (places_of_model >= 0).sum() < len(mine):
            _refuse_twice(columns, keys, answers, values, codes, mine)
        places[name] = places_of_model[order]
    return Entries(first[order], tuple(values[code] for code in order.tolist()), places)


def _group_models(columns: Columns, model: str, run: str) -> dict[tuple[str, str], Ints]:
    """Map (model, run) to the positions of its rows in the file, in order of first appearance."""
    names, of_model = dictionary_codes(columns.cells[model]) if model else ([""], np.zeros(columns.size, np.int64))
    runs, of_run = dictionary_codes(columns.cells[run]) if run else ([""], np.zeros(columns.size, np.int64))
    answer_codes = of_model * len(runs) + of_run
    order = np.argsort(answer_codes, kind="stable")
    starts = np.flatnonzero(np.diff(answer_codes[order], prepend=-1))
    parts = sorted(np.split(order, starts[1:]), key=lambda part: int(part[0]))
    return {(cell_text(names[of_model[part[0]]]), cell_text(runs[of_run[part[0]]])): part for part in parts}


def _check_texts(columns: Columns, keys: Keys, places_of_models: Sequence[Ints]) -> None:
    """Require the same rows in the same order for each model, if there are no ids."""
    for column in keys.texts.values():
        _, codes = dictionary_codes(columns.cells[column])
        for places in places_of_models:
            if len(places) != len(places_of_models[0]) or (codes[places] != codes[places_of_models[0]]).any():
                raise DataError.at(
                    columns.origin,
                    "the texts of the models stand in different orders; a column of ids is needed (`id_column`)",
                    option="id_column",
                )


def check_same(columns: Columns, column: str, table: Entries) -> None:
    """Require one truth for a row that repeats for each model.

    Raises:
        DataError: a row has two.
    """
    values = np.array(texts(columns.cells[column]), dtype=object)
    for places in table.places.values():
        wrong = (places >= 0) & (values[places] != values[table.first])
        if wrong.any():
            place = int(wrong.argmax())
            row = table.ids[place] if table.ids else place + 1
            raise DataError.at(
                columns.origin, f"the row {row!r} has two truths in {column!r}", option=column, value=row
            )


def _ids(
    columns: Columns, column: str, rows: RequestedRows | None, empty_words: Sequence[str] | None
) -> tuple[list[str], Ints]:
    """Return the distinct ids as text, and (n,) the index of each row's id."""
    values, codes = dictionary_codes(columns.cells[column])
    wanted = set(rows.ids or ()) if rows is not None else set()
    ids = [cell_text(value) if value is not None and value == value else "" for value in values]
    ids = strip_point_zero(ids)
    empty = [place for place, text in enumerate(ids) if says_nothing(text, empty_words) and text not in wanted]
    without = (codes < 0) | np.isin(codes, empty)
    if without.any():
        many = int(without.sum())
        note = f", as in {many - 1:,} more rows" if many > 1 else ""
        place = f"{columns.origin}, row {int(without.argmax()) + 1:,}"
        raise DataError.of_column(column, f"holds no id{note}", place=place)
    if len(set(ids)) < len(ids):  # values of different types may have one text
        order = {text: place for place, text in enumerate(dict.fromkeys(ids))}
        return list(order), np.array([order[text] for text in ids])[codes]
    return ids, codes


def _refuse_twice(
    columns: Columns,
    keys: Keys,
    answers: Collection[str],
    values: Sequence[str],
    codes: Ints,
    among: Ints | None = None,
) -> NoReturn:
    """Raise an error that names the row with two answers, and the column that tells these apart."""
    places = np.arange(len(codes)) if among is None else among
    counts = np.bincount(codes[places], minlength=len(values))
    code = int(codes[places][(counts[codes[places]] > 1).argmax()])
    first, second = (int(place) + 1 for place in places[codes[places] == code][:2])
    many = int((counts > 1).sum())
    note = f", and to {many - 1:,} more" if many > 1 else ""
    place = f"{columns.origin}, rows {first:,} and {second:,}"
    problem = f"two answers are given to the row {values[code][:50]!r}{note}"
    free = [
        name
        for name in columns.cells
        if name not in keys.columns and (name not in answers or keys_of.is_even(columns, name))
    ]
    key_columns = [*filter(None, (keys.id, keys.model, keys.run))]
    column = next(keys_of.telling_columns(columns, key_columns, free), "")
    if not column:
        raise DataError.at(place, problem, value=values[code])
    text, readings = rows_or_runs(keys, column)
    raise Question.at(
        place,
        f"{problem}, which {column!r} tells apart; {text}",
        option="id_column",
        value=values[code],
        readings=readings,
    )


def rows_or_runs(keys: Keys, column: str) -> tuple[str, list[FileReading]]:
    """Return the answers to the question about several answers to one row, in words and as readings."""
    ids = (*(keys.id.split(JOINT) if keys.id else keys.texts.values()), column)
    other_rows = FileReading(" ".join(f"`id_column={name}`" for name in ids), {"id_column": ids})
    text = f"{other_rows.answer} if these are other rows, `runs` (newest, mean, each) if they are runs of one"
    return text, [other_rows, *(FileReading.by("runs", treatment) for treatment in RUNS)]


def cells_at(columns: Columns, column: str, places: Ints) -> list[str]:
    """Return some cells of a column as text; "" if empty."""
    values, codes = dictionary_codes(columns.cells[column])
    names = ["" if value is None or value != value else str(value) for value in values]
    return [names[code] if code >= 0 else "" for code in codes[places].tolist()]
