"""Which columns of a table say what a row is: its id, its texts, what it belongs to, the model that was asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from factors.types import Ints
from ranker.datasets.readers import USUAL, layout_of
from ranker.errors import DataError, UnknownName
from ranker.files.cells import cell_text
from ranker.sources.tables.base import Columns, RequestedRows, TableHints, some
from ranker.sources.tables.cells import dictionary_codes, distinct, texts

INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")
"""How pandas' own numbering of the rows is called, in CSV and in Parquet."""

IDS = (
    *(name for names in USUAL["id"] for name in names),
    "example_id",
    "sample_id",
    "row_id",
    "doc_id",
    "uid",
    "uuid",
    "question_id",
    "key",
    "hash",
)
"""The names that columns of ids usually have, the likelier first."""

MODELS = frozenset({"model", "model_name", "model_id", "system"})
"""The names that a column may have that says which model was asked."""

RUNS = frozenset({"seed", "run", "run_id", "trial", "repeat", "repetition", "epoch"})
"""The names that a column may have that says in which of several runs a row was answered."""

MOST = 0.9
"""The part of a column's cells that are ids of rows, where its name does not say that it holds ids."""


@dataclass(frozen=True)
class Keys:
    """The columns that say what a row is.

    Attributes:
        id: of its id; "" where there is none.
        texts: segment -> the column of its text.
        cluster: of what it belongs to; "" where that is not said.
        model: of the model that was asked; "" where the table is not that long.
        index: that carry no more than the order of the rows.
        run: of the run in which a row was answered, where rows repeat for each; "" where they do not.
    """

    id: str
    texts: dict[int, str]
    cluster: str
    model: str
    index: tuple[str, ...]
    run: str = ""

    @property
    def columns(self) -> set[str]:
        """All of them."""
        return {self.id, *self.texts.values(), self.cluster, self.model, self.run, *self.index} - {""}


def find(columns: Columns, said: TableHints, rows: RequestedRows | None) -> Keys:
    """The columns that say what a row is, told by what they hold where rows are given, else by their names.

    Raises:
        UnknownName: a column that was named is not there.
    """
    for name in (said.id, said.cluster, said.truth, *said.text):
        there(columns, name)
    index = tuple(name for name in columns.cells if INDEX.fullmatch(name) and name != said.id)
    known = [
        name for name in columns.cells if name not in {*index, said.cluster, said.truth, *said.prediction, *said.text}
    ]
    identity = said.id or _id(columns, known, rows)
    ordered = tuple(name for name in index if _in_order(columns, name))
    if not identity and set(index) - set(ordered):
        identity = next(name for name in index if name not in ordered)
    free = [name for name in known if name != identity]
    found = dict(enumerate(said.text)) or _texts(columns, free, rows)
    model = next((name for name in free if name not in found.values() and _is_model(columns, name, identity)), "")
    free = [name for name in free if name not in {*found.values(), model}]
    rows_of = [identity] if identity else list(found.values())
    run = next((name for name in free if rows_of and _is_run(columns, name, rows_of, model)), "")
    return Keys(identity, found, said.cluster, model, tuple(name for name in index if name != identity), run)


def there(columns: Columns, name: str) -> None:
    """Refuse the name of a column that is not there.

    Raises:
        UnknownName: it is not.
        DataError: it holds what cannot be read.
    """
    if name in columns.unread:
        raise DataError(f"{columns.origin}: the column {name!r} holds {columns.unread[name]}, which are not read")
    if name and name not in columns.cells:
        raise UnknownName(f"column in {columns.origin}", name, list(columns.cells))


def is_text(array: object) -> bool:
    """Whether a column holds texts."""
    kind = array.type  # type: ignore[attr-defined]  # pyarrow has no types
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _in_order(columns: Columns, name: str) -> bool:
    said = texts(columns.cells[name])
    return said == [str(i) for i in range(columns.size)] or said == [str(i + 1) for i in range(columns.size)]


def _id(columns: Columns, known: Sequence[str], rows: RequestedRows | None) -> str:
    by_name = {name.strip().casefold(): name for name in reversed(known)}
    usual = [by_name[name.casefold()] for name in IDS if name.casefold() in by_name]
    if rows is None or not rows.ids:
        return next(iter(usual), "")
    ids = {*rows.ids} - {""}
    shared = {name: len(ids & set(map(cell_text, distinct(columns.cells[name])))) for name in usual}
    best = max(usual, key=lambda name: shared[name], default="")
    if best and shared[best]:
        return best
    for name in known:
        array = columns.cells[name]
        if name in usual or pa.types.is_floating(array.type):
            continue
        values = set(map(cell_text, distinct(array))) if _many(array, columns.size) else set()
        if len(values) == columns.size and len(ids & values) >= MOST * columns.size:
            return name
    return best


def _many(array: object, size: int) -> bool:
    """Whether a column may hold as many values as rows; of one that keeps each once, that is known at once."""
    kind = array.type  # type: ignore[attr-defined]
    return not pa.types.is_dictionary(kind) or len(array.dictionary) == size  # type: ignore[attr-defined]


def _texts(columns: Columns, free: Sequence[str], rows: RequestedRows | None) -> dict[int, str]:
    found: dict[int, str] = {}
    if rows is not None and rows.segments:
        left = {
            name: set(map(tidy, map(cell_text, distinct(columns.cells[name])))) - {""}
            for name in free
            if is_text(columns.cells[name])
        }
        for at in range(rows.segments):
            wanted = {tidy(row[at]) for row in rows.texts}
            best = max(left, key=lambda name: len(left[name] & wanted), default="")
            if best and left[best] & wanted:
                found[at] = best
                left.pop(best)
        if found:
            return found
    parts = columns.groups.get("segments", ())
    usual = parts or layout_of(free, {}, required=()).text
    usual = tuple(name for name in usual if name in columns.cells and is_text(columns.cells[name]))
    return dict(enumerate(usual)) if rows is None or len(usual) == rows.segments else {}


def tidy(text: str) -> str:
    """A text without the differences that do not matter: how much white space is where.

    Example:
        >>> tidy(" A dog\\r\\nran. ")
        'A dog ran.'
    """
    return " ".join(text.split())


def _is_model(columns: Columns, name: str, identity: str) -> bool:
    """Whether a column says which model was asked: named so, and rows repeat for each of its values."""
    if name.strip().casefold() not in MODELS or not is_text(columns.cells[name]):
        return False
    values, codes = dictionary_codes(columns.cells[name])
    counts = [count for count in np.bincount(codes[codes >= 0], minlength=len(values)).tolist() if count]
    if len(counts) <= 1 or (codes < 0).any() or len(counts) > columns.limits.columns:
        return len(counts) == 1 and not (codes < 0).any()
    if identity:
        return len(distinct(columns.cells[identity])) < columns.size
    return len(set(counts)) == 1 and counts[0] > 1


def _is_run(columns: Columns, name: str, rows_of: Sequence[str], model: str) -> bool:
    """Whether a column says in which run a row was answered: named so, and only with it the rows of a model differ."""
    if name.strip().casefold() not in RUNS:
        return False
    parts = [dictionary_codes(columns.cells[one])[1] for one in (*rows_of, model, name) if one]
    if any((codes < 0).any() for codes in parts):
        return False
    return _count(parts[:-1]) < columns.size == _count(parts)


def _count(parts: Sequence[Ints]) -> int:
    """How many different rows codes make."""
    return len(np.unique(np.column_stack(parts), axis=0))


def describe_keys(keys: Keys) -> list[str]:
    """What was understood, in sentences."""
    said = [f"{keys.id!r} holds the ids"] if keys.id else []
    if keys.texts:
        said.append(
            f"{some(keys.texts[at] for at in sorted(keys.texts))} hold{'' if keys.texts.keys() - {0} else 's'} "
            "the texts"
        )
    if keys.model:
        said.append(f"{keys.model!r} says which model was asked")
    if keys.run:
        said.append(f"{keys.run!r} says in which run")
    return said
