"""The rows of a file: their ids; and those that are repeated for each model, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from factors.types import Ints
from ranker.errors import DataError
from ranker.files.cells import cell_text
from ranker.sources.tables.base import Columns, RequestedRows
from ranker.sources.tables.cells import dictionary_codes, texts
from ranker.sources.tables.keys import Keys
from ranker.tasks.empty import says_nothing


@dataclass(frozen=True, eq=False)
class Entries:
    """The R rows of a file.

    Attributes:
        first: (R,) where in the file a row stands first.
        ids: (R,) of the rows; None where no column holds them.
        places: (model, run) -> (R,) where in the file its answer stands, -1 where it has none; "" where no column says
            which model was asked, or in which run.
    """

    first: Ints
    ids: tuple[str, ...] | None
    places: Mapping[tuple[str, str], Ints]


def find(columns: Columns, keys: Keys, rows: RequestedRows | None, empty_words: Sequence[str] | None = None) -> Entries:
    """The rows of a file; of one that repeats them for each model, every row once.

    Args:
        columns: the file's.
        keys: which of them say what a row is.
        rows: what is asked about; an id of theirs is one, whatever it is called.
        empty_words: see `TableHints`.

    Raises:
        DataError: a row has no id, or two answers of one model; or without ids the models' rows differ.
    """
    values, codes = _ids(columns, keys.id, rows, empty_words) if keys.id else ([], np.arange(columns.size))
    if not keys.model and not keys.run:
        if keys.id and len(values) < columns.size:
            _refuse_twice(columns, values, codes)
        ids = tuple(values[code] for code in codes.tolist()) if keys.id else None
        return Entries(np.arange(columns.size), ids, {("", ""): np.arange(columns.size)})
    models = _models(columns, keys.model, keys.run)
    if not keys.id:
        every = list(models.values())
        _check_texts(columns, keys, every)
        return Entries(every[0], None, models)
    columns.limits.check(columns.origin, "table_cells", len(models) * len(values))
    first = np.full(len(values), -1)
    first[codes[::-1]] = np.arange(columns.size)[::-1]
    order = np.argsort(first, kind="stable")
    places = {}
    for name, mine in models.items():
        at = np.full(len(values), -1)
        at[codes[mine]] = mine
        if (at >= 0).sum() < len(mine):
            _refuse_twice(columns, values, codes, mine)
        places[name] = at[order]
    return Entries(first[order], tuple(values[code] for code in order.tolist()), places)


def _models(columns: Columns, model: str, run: str) -> dict[tuple[str, str], Ints]:
    """(model, run) -> the places of its rows in the file, in order of their first."""
    names, of_model = dictionary_codes(columns.cells[model]) if model else ([""], np.zeros(columns.size, np.int64))
    runs, of_run = dictionary_codes(columns.cells[run]) if run else ([""], np.zeros(columns.size, np.int64))
    of = of_model * len(runs) + of_run
    order = np.argsort(of, kind="stable")
    starts = np.flatnonzero(np.diff(of[order], prepend=-1))
    parts = sorted(np.split(order, starts[1:]), key=lambda part: int(part[0]))
    return {(cell_text(names[of_model[part[0]]]), cell_text(runs[of_run[part[0]]])): part for part in parts}


def _check_texts(columns: Columns, keys: Keys, every: Sequence[Ints]) -> None:
    """Without ids, the rows of each model must be the same, in the same order."""
    for column in keys.texts.values():
        _, codes = dictionary_codes(columns.cells[column])
        for places in every:
            if len(places) != len(every[0]) or (codes[places] != codes[every[0]]).any():
                raise DataError(
                    f"{columns.origin}: the texts of the models stand in different orders; a column of ids "
                    "is needed (`id`)"
                )


def check_same(columns: Columns, column: str, table: Entries) -> None:
    """A row that is repeated for each model has one truth.

    Raises:
        DataError: one has two.
    """
    said = np.array(texts(columns.cells[column]), dtype=object)
    for places in table.places.values():
        wrong = (places >= 0) & (said[places] != said[table.first])
        if wrong.any():
            place = int(wrong.argmax())
            which = table.ids[place] if table.ids else place + 1
            raise DataError(f"{columns.origin}: the row {which!r} has two truths in {column!r}")


def _ids(
    columns: Columns, column: str, rows: RequestedRows | None, empty_words: Sequence[str] | None
) -> tuple[list[str], Ints]:
    """The distinct ids, as text, and (n,) which of them each row has.

    Ids are texts: "07" is not "7". A column of numbers, and one in which all end in ".0", is of whole numbers, as data
    frames write them once an id is missing.

    Raises:
        DataError: a row has none.
    """
    values, codes = dictionary_codes(columns.cells[column])
    wanted = set(rows.ids or ()) if rows is not None else set()
    named = [cell_text(value) if value is not None and value == value else "" for value in values]
    named = whole(named)
    empty = [place for place, text in enumerate(named) if says_nothing(text, empty_words) and text not in wanted]
    without = (codes < 0) | np.isin(codes, empty)
    if without.any():
        many = int(without.sum())
        raise DataError(
            f"{columns.origin}, row {int(without.argmax()) + 1:,}: the column {column!r} holds no id"
            + (f", as in {many - 1:,} more rows" if many > 1 else "")
        )
    if len(set(named)) < len(named):  # of values that differ as they stand and not as text
        order = {text: place for place, text in enumerate(dict.fromkeys(named))}
        return list(order), np.array([order[text] for text in named])[codes]
    return named, codes


def whole(ids: Sequence[str]) -> list[str]:
    """Ids as text, without the ".0" that all of them end in.

    Example:
        >>> whole(["7.0", "8.0"]), whole(["7.0", "7.1"])
        (['7', '8'], ['7.0', '7.1'])
    """
    every = bool(ids) and all(text.endswith(".0") and text[:-2].lstrip("-").isdecimal() for text in ids if text)
    return [text.removesuffix(".0") for text in ids] if every else list(ids)


def _refuse_twice(columns: Columns, values: Sequence[str], codes: Ints, among: Ints | None = None) -> None:
    """Say which row has two answers."""
    at = np.arange(len(codes)) if among is None else among
    counts = np.bincount(codes[at], minlength=len(values))
    which = int(codes[at][(counts[codes[at]] > 1).argmax()])
    one, two = (int(place) + 1 for place in at[codes[at] == which][:2])
    many = int((counts > 1).sum())
    more = f", and to {many - 1:,} more" if many > 1 else ""
    raise DataError(
        f"{columns.origin}, rows {one:,} and {two:,}: two answers are given to the row {values[which][:50]!r}{more}"
    )


def cells_at(columns: Columns, column: str, at: Ints) -> list[str]:
    """Some cells of a column, as text; "" where one is empty."""
    values, codes = dictionary_codes(columns.cells[column])
    names = ["" if value is None or value != value else str(value) for value in values]
    return [names[code] if code >= 0 else "" for code in codes[at].tolist()]
