"""Find the columns that identify a row: its id, texts, cluster, model and run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from factors.types import Ints
from ranker.datasets.readers import IDS, layout_of
from ranker.errors import Assumption, DataError, UnknownName
from ranker.files.arrow import of_cells
from ranker.files.cells import cell_text
from ranker.sources.tables import failures
from ranker.sources.tables.base import JOINT, Columns, RequestedRows, TableHints, some
from ranker.sources.tables.cells import dictionary_codes, distinct, is_text, texts
from ranker.sources.tables.names import holds_numbers, is_prediction, is_right, is_true
from ranker.sources.tables.raters import RATERS

INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")
"""Names that pandas gives its row index, in CSV and in Parquet."""

FIRST = ("Unnamed: 0", "__index_level_0__")
"""Such names of the first column."""

MODELS = frozenset({"model", "model_name", "model_id", "system"})
"""Usual names of a column that states the model."""

RUNS = frozenset({"seed", "run", "run_id", "trial", "train_trial_index", "repeat", "repetition", "epoch", "attempt"})
"""Usual names of a column that states which of several runs an answer comes from."""

MIN_SHARED_IDS = 0.9
"""Least share of a column's cells that must be ids of the requested rows, if its name does not suggest ids."""

MIN_SHARED_TEXTS = 0.5
"""Least share of texts that a column has in common with the rows, beside an id: an answer may copy a whole text."""


@dataclass(frozen=True)
class Keys:
    """Columns that identify a row.

    Attributes:
        id: column of ids; "" if there is none.
        texts: segment -> column of its text.
        model: column that states the model; "" unless the table is that long.
        index: columns that carry only the order of the rows, or further ids.
        run: column that states the run, or the rater, if rows repeat for each; else "".
        failures: column that says that an answer failed -> the model that it is about: see `failures.find`.
    """

    id: str
    texts: dict[int, str]
    cluster: str
    model: str
    index: tuple[str, ...]
    run: str = ""
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_raters(self) -> bool:
        """True if runs are raters, who marked the same answers."""
        return self.run.strip().casefold() in RATERS

    @property
    def columns(self) -> set[str]:
        """All of these columns."""
        keys = {self.id, *self.texts.values(), self.cluster, self.model, self.run, *self.index, *self.failures}
        return keys - {""}


def find(columns: Columns, hints: TableHints, rows: RequestedRows | None) -> Keys:
    """Find the columns that identify a row, by their content if rows are requested, else by their names."""
    for name in (hints.id, hints.cluster, hints.truth):
        check_column(columns, name)
    index = tuple(name for name in columns.cells if _is_index(columns, name) and name != hints.id)
    claimed = {*index, hints.cluster, hints.truth, *hints.prediction}
    unclaimed = [name for name in columns.cells if name not in claimed]
    identity = hints.id or _id(columns, unclaimed, rows)
    ordered = tuple(name for name in index if in_order(columns, name))
    if not identity and set(index) - set(ordered):
        identity = next(name for name in index if name not in ordered)
    more_ids = tuple(name for name in unclaimed if name != identity and _is_id(columns, name))
    free = [name for name in unclaimed if name not in (identity, *more_ids)]
    segments = _texts(columns, free, rows, MIN_SHARED_TEXTS if identity else 0.0)
    model = next((name for name in free if name not in segments.values() and _is_model(columns, name, identity)), "")
    free = [name for name in free if name not in {*segments.values(), model}]
    rows_of = [identity] if identity else list(segments.values())
    of_runs = [name for name in free if name.strip().casefold() in RUNS | RATERS]
    keys = [*rows_of, *filter(None, [model])] if rows_of else []
    run = next(telling_columns(columns, keys, of_runs), "")
    run = run or (next(telling_columns(columns, keys, free), "") if hints.runs else "")
    single = [name for name in of_runs if len(distinct(columns.cells[name])) == 1]  # all rows are of one run
    beside = (*(name for name in index if name != identity), *more_ids, *single)
    failed = failures.find(columns, [name for name in free if name != run])
    return Keys(identity, segments, hints.cluster, model, beside, run, failed)


def check_column(columns: Columns, name: str) -> None:
    """Refuse the name of a column that does not exist.

    Raises:
        UnknownName: it does not exist.
        DataError: it holds cells that cannot be read.
    """
    if name in columns.unread:
        raise DataError.of_column(name, f"holds {columns.unread[name]}, which are not read", place=columns.origin)
    if name and name not in columns.cells:
        raise UnknownName("column", name, columns.cells, place=columns.origin)


def _is_index(columns: Columns, name: str) -> bool:
    """Return True if pandas named a column, which may be one of answers, and it is the first, or never repeats."""
    if not INDEX.fullmatch(name):
        return False
    filled = columns.size - columns.cells[name].null_count
    numbered = name in FIRST and not is_text(columns.cells[name])
    return numbered or filled == 0 or len(distinct(columns.cells[name])) == filled


def in_order(columns: Columns, name: str) -> bool:
    """Return True if a column numbers the rows from 0 or 1, in their order."""
    cells = texts(columns.cells[name])
    return cells == [str(i) for i in range(columns.size)] or cells == [str(i + 1) for i in range(columns.size)]


def _id(columns: Columns, free: Sequence[str], rows: RequestedRows | None) -> str:
    by_name = {name.strip().casefold(): name for name in reversed(free)}
    usual = [by_name[name.casefold()] for name in IDS if name.casefold() in by_name]
    if rows is None or not rows.ids:
        return next(iter(usual), "")
    ids = {*rows.ids} - {""}
    shared = {name: len(ids & set(map(cell_text, distinct(columns.cells[name])))) for name in usual}
    best = max(usual, key=lambda name: shared[name], default="")
    if best and shared[best]:
        return best
    for name in free:
        array = columns.cells[name]
        if name in usual or pa.types.is_floating(array.type):
            continue
        values = set(map(cell_text, distinct(array)))
        if len(values) == columns.size and len(ids & values) >= MIN_SHARED_IDS * columns.size:
            return name
    return best


def _is_id(columns: Columns, name: str) -> bool:
    """Return True if a column has a usual name for ids, and another cell in each row."""
    has_usual_name = name.strip().casefold() in map(str.casefold, IDS)
    return has_usual_name and columns.size > 1 and len(distinct(columns.cells[name])) == columns.size


def _texts(columns: Columns, free: Sequence[str], rows: RequestedRows | None, share: float) -> dict[int, str]:
    by_segment: dict[int, str] = {}
    if rows is not None and rows.segments:
        left = {
            name: set(map(tidy, map(cell_text, distinct(columns.cells[name])))) - {""}
            for name in free
            if is_text(columns.cells[name])
        }
        for segment in range(rows.segments):
            wanted = {tidy(row[segment]) for row in rows.texts}
            best = max(left, key=lambda name: len(left[name] & wanted), default="")
            common = len(left[best] & wanted) if best else 0
            if common and common >= share * min(len(left[best]), len(wanted)):
                by_segment[segment] = best
                left.pop(best)
        if by_segment:
            return by_segment
    parts = columns.groups.get("segments", ())
    usual = parts or layout_of(free, {}, required=()).text
    usual = tuple(name for name in usual if name in columns.cells and is_text(columns.cells[name]))
    return dict(enumerate(usual)) if rows is None or len(usual) == rows.segments else {}


def tidy(text: str) -> str:
    """Collapse white space, which does not matter when texts are compared.

    Example:
        >>> tidy(" A dog\\r\\nran. ")
        'A dog ran.'
    """
    if text.isprintable() and "  " not in text and text == text.strip(" "):
        return text  # most are: no other white space is printable
    return " ".join(text.split())


def _is_model(columns: Columns, name: str, identity: str) -> bool:
    """Return True if a column states the model: its name says so, and rows repeat for each value."""
    if name.strip().casefold() not in MODELS or not is_text(columns.cells[name]):
        return False
    values, codes = dictionary_codes(columns.cells[name])
    counts = [count for count in np.bincount(codes[codes >= 0], minlength=len(values)).tolist() if count]
    if len(counts) <= 1 or (codes < 0).any() or len(counts) > columns.limits.columns:
        return len(counts) == 1 and not (codes < 0).any()
    if identity:
        return len(distinct(columns.cells[identity])) < columns.size
    return len(set(counts)) == 1 and counts[0] > 1


def telling_columns(columns: Columns, keys: Sequence[str], free: Sequence[str]) -> Iterator[str]:
    """Yield the columns that tell apart all rows of one key; none if the keys do.

    First come those of whose values each has as many rows, as runs and turns have; then those with the fewest values.
    Those that are named as answers or truth tell nothing.
    """
    inside = {part for group in columns.groups.values() for part in group}
    open_names = (name for name in free if not (is_prediction(name) or is_true(name) or is_right(name)))
    coded = {name: dictionary_codes(columns.cells[name]) for name in open_names if name not in inside} if keys else {}
    parts = [dictionary_codes(columns.cells[name])[1] for name in keys] if coded else []
    if not coded or any((codes < 0).any() for codes in parts) or _count(parts) == columns.size:
        return
    usable = {name: codes for name, (_, codes) in coded.items() if (codes >= 0).all()}
    counts = {name: np.bincount(codes)[np.unique(codes)] for name, codes in usable.items()}
    for name in sorted(usable, key=lambda name: (len({*counts[name].tolist()}) > 1, len(counts[name]))):
        if len(counts[name]) < columns.size and _count([*parts, usable[name]]) == columns.size:
            yield name


def is_even(columns: Columns, name: str) -> bool:
    """Return True if a column holds numbers, of which each has as many rows: several."""
    _, codes = dictionary_codes(columns.cells[name])
    counts = np.unique(codes, return_counts=True)[1]
    return holds_numbers(columns, name) and counts.min() == counts.max() > 1


def _count(parts: Sequence[Ints]) -> int:
    """Count the distinct rows that codes form."""
    return len(np.unique(np.column_stack(parts), axis=0))


def join_ids(columns: Columns, names: Sequence[str]) -> Columns:
    """Return columns with one in place of several that tell a row together.

    Example:
        >>> from ranker.files.reader import of_rows
        >>> columns = join_ids(of_rows([{"id": 7, "turn": 1}, {"id": 7, "turn": 2}]), ["id", "turn"])
        >>> {name: cells.to_pylist() for name, cells in columns.cells.items()}
        {'id + turn': ['7/1', '7/2']}
    """
    if len(names) < 2:
        return columns
    for name in names:
        check_column(columns, name)
    rows = zip(*(strip_point_zero(texts(columns.cells[name])) for name in names), strict=True)
    joined = of_cells(["/".join(row) if all(row) else None for row in rows])
    cells = {name: cells for name, cells in columns.cells.items() if name not in names}
    order = tuple(name for name in columns.order if name not in names)
    joint = JOINT.join(names)
    return replace(columns, cells={joint: joined, **cells}, order=(joint, *order))


def strip_point_zero(ids: Sequence[str]) -> list[str]:
    """Drop ".0" from ids if all end in it: data frames write whole numbers so once an id is missing. "07" is not "7".

    Example:
        >>> strip_point_zero(["7.0", "8.0"]), strip_point_zero(["7.0", "7.1"])
        (['7', '8'], ['7.0', '7.1'])
    """
    all_end_so = bool(ids) and all(text.endswith(".0") and text[:-2].lstrip("-").isdecimal() for text in ids if text)
    return [text.removesuffix(".0") for text in ids] if all_end_so else list(ids)


def describe_keys(keys: Keys) -> list[str]:
    """Describe the columns in sentences."""
    notes = [f"{keys.id!r} holds the ids"] if keys.id else []
    if keys.texts:
        columns = some(keys.texts[segment] for segment in sorted(keys.texts))
        notes.append(f"{columns} hold{'' if keys.texts.keys() - {0} else 's'} the texts")
    if keys.model:
        notes.append(f"{keys.model!r} names the model")
    if keys.run:
        note = f"{keys.run!r} says in which run"
        notes.append(note if keys.run.strip().casefold() in RUNS else Assumption(note))
    return notes
