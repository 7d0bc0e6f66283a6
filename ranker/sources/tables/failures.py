"""Columns that say that an answer failed: `error`, `gpt_error`, `status`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from factors.types import Bools
from ranker.errors import Question
from ranker.files.cells import cell_text
from ranker.sources.tables.base import Columns, count, some
from ranker.sources.tables.cells import dictionary_codes
from ranker.sources.tables.names import PREDICTED, holds_numbers, plain
from ranker.tasks.empty import WORDS

ERRORS = frozenset({"error", "errors", "exception"})
"""Words in the name of a column that holds the reason of a failure, and is empty elsewhere."""

BESIDE = frozenset({"message", "msg", "code", "type", "text", "reason"})
"""Words that may stand beside these in the name of a column of all models."""

STATUS = frozenset({"status", "state", "status code", "http status", "request status", "response status"})
"""Names of columns that say how each request ended."""

FINE = frozenset({"", "0", "no", "false", "ok", *WORDS, "success", "succeeded", "successful"}) | frozenset(
    {"complete", "completed", "done", "finished", "stop", "end turn", "ended"}
)
"""Words that say that nothing failed, in lower case and without signs."""

FAILED = frozenset(
    {"error", "errored", "failed", "failure", "exception", "timeout", "timed out", "expired"}
) | frozenset({"cancelled", "canceled", "aborted", "rate limited", "rate limit"})
"""Words of a status that say that a request failed."""


def find(columns: Columns, free: Sequence[str]) -> dict[str, str]:
    """Map each column that says what failed to the name of the model that it is about; "" if it is about all.

    A column of numbers is none, since it may hold counts; unless it is called a status, and holds codes of HTTP.

    Example:
        >>> from ranker.files.reader import of_rows
        >>> row = {"id": 1, "gpt": "yes", "gpt_error": None, "bert": "no", "status": "ok"}
        >>> find(of_rows([row]), list(row))
        {'gpt_error': 'gpt', 'status': ''}
    """
    in_object = {part: group for group, parts in columns.groups.items() for part in parts}
    owners: dict[str, str] = {}
    for name in (*free, *columns.nested):
        words = plain(in_object.get(name, name)).split()
        if " ".join(words) in STATUS:
            if name in columns.cells and None not in map(_status, dictionary_codes(columns.cells[name])[0]):
                owners[name] = ""
        elif ERRORS & {*words} and (name not in columns.cells or name in in_object or not holds_numbers(columns, name)):
            owner = " ".join(word for word in words if word not in ERRORS)
            if {*words} <= ERRORS | BESIDE:
                owners[name] = ""
            elif any(owner in model_names(column) for column in columns.order if column != name):
                owners[name] = owner
    return owners


def model_names(column: str) -> set[str]:
    """Return the names of models that the name of a column of answers may state, in lower case.

    Example:
        >>> sorted(model_names("pred_GPT-4/yes"))
        ['gpt 4', 'gpt 4 yes', 'pred gpt 4', 'pred gpt 4 yes']
    """
    names = {plain(column), plain(column.rpartition("/")[0])}
    bare = {" ".join(word for word in name.split() if word not in PREDICTED) for name in names}
    return (names | bare) - {""}


def rows_of(columns: Columns, owners: Mapping[str, str], answers: Iterable[str], alone: bool) -> tuple[Bools, str]:
    """Return (n,) True where a model's answer failed, and a note that counts these rows; "" if there are none.

    Args:
        owners: see `find`.
        answers: names of the model, and of its columns.
        alone: no other column of the file holds answers.

    Raises:
        Question: something failed, and whose answer that was is not known.
    """
    names = {name for column in answers for name in model_names(column)}
    failed, notes = np.zeros(columns.size, bool), []
    for name, owner in owners.items():
        of_column, reasons = _failed(columns, name)
        if owner in names or (not owner and of_column.any() and alone):
            failed |= of_column
            notes += [f"{name!r} says ({some(reasons, 1)})"] if reasons else []
        elif not owner and of_column.any():
            problem = f"{name!r} says in {count(int(of_column.sum()), 'row')} that an answer failed, and not whose"
            advice = "call the column MODEL_error, or keep one file for each model"
            raise Question.at(columns.origin, f"{problem}; {advice}", option="prediction", value=name)
    many = count(int(failed.sum()), "answer")
    return failed, f"{many} failed, as {' and '.join(notes)}" if notes else ""


def without(columns: Columns, names: Iterable[str], failed: Bools) -> Columns:
    """Return columns whose cells in some rows are empty, and counted as cells that the row does not name."""
    if not failed.any():
        return columns
    cells, absent = dict(columns.cells), dict(columns.absent)
    for name in names:
        if name in cells:
            cells[name] = _blank(cells[name], failed)
            absent[name] = absent.get(name, np.zeros(columns.size, bool)) | failed
    return replace(columns, cells=cells, absent=absent)


def _blank(array: pa.Array, rows: Bools) -> pa.Array:
    if pa.types.is_null(array.type):
        return array
    coded = pa.types.is_dictionary(array.type)
    flat = array.dictionary_decode() if coded else array
    blanked = pc.if_else(pa.array(rows), pa.scalar(None, flat.type), flat)
    return blanked.dictionary_encode() if coded else blanked


def _failed(columns: Columns, name: str) -> tuple[Bools, list[str]]:
    """Return (n,) True where a column says that an answer failed, and what it says there."""
    values, codes = dictionary_codes((columns.nested if name in columns.nested else columns.cells)[name])
    status = plain(name) in STATUS
    bad = np.array([*(_status(value) is False if status else _is_reason(value) for value in values), False])
    failed = bad[codes]
    return failed, [cell_text(values[code]) for code in dict.fromkeys(codes[failed].tolist())]


def _is_reason(value: object) -> bool:
    """Return True if the cell of a column of errors says that there was one."""
    return value is not None and plain(cell_text(value)) not in FINE and cell_text(value) not in ("{}", "[]")


def _status(value: object) -> bool | None:
    """Return True for a status that says that all is well, False for a failure, None for something else."""
    text = plain("" if value is None or value != value else cell_text(value))
    code = int(text.removesuffix(" 0")) if text.removesuffix(" 0").isdecimal() and len(text) < 9 else 0
    if text in FINE or 200 <= code < 300:
        return True
    return False if text in FAILED or 400 <= code < 600 else None
