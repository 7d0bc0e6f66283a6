"""A table of what models scored on sets: read from files or rows, with every cell checked.

Columns: `model`, `set`, `value`; and, where they are known, `se` (standard error), `n` (rows), `group` (the task that a
set belongs to), `kind` ("in-domain", or "ood", which is what a set is where nothing is said) and `run` (the training
run that a model is a checkpoint of).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from factors.types import Floats
from ranker.datasets.stated import is_suite, points
from ranker.errors import Assumption, DataError, UsageError, listed, look_up
from ranker.files import reader
from ranker.files.cells import cell_text
from ranker.files.columns import Row
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted
from ranker.tasks.empty import is_empty_word

NEEDED = ("model", "set", "value")
COLUMNS = (*NEEDED, "se", "n", "group", "kind", "run")

Kind = Literal["in-domain", "ood"]
KINDS: Mapping[str, Kind] = {"ood": "ood", "in-domain": "in-domain"}

MOST = 2_000
"""Models, and sets, of a table: what is worked out of them takes memory and time that grow with their squares."""

DASHES = ("-", "\N{EN DASH}")
"""Cells without a number, as published tables have them, beside the usual words for nothing."""


@dataclass(frozen=True)
class Set:
    """A set that models were measured on.

    Attributes:
        name: of the set.
        group: the task that it belongs to; of an in-domain set "" where it belongs to all of them.
        kind: "in-domain" or "ood".
    """

    name: str
    group: str
    kind: Kind

    def __str__(self) -> str:
        return self.name if self.group in ("", self.name) else f"{self.group}: {self.name}"


@dataclass(frozen=True, eq=False)
class Values:
    """What models scored on sets. Axis letters: M models, S sets, N rows of a set.

    Attributes:
        models: (M,) names, in the order of the table.
        sets: (S,) in the same.
        values: (M, S) fractions, higher is better; nan where there is none.
        errors: (M, S) their standard errors; nan where these are not known.
        outcomes: set -> (M, N) the outcomes that its values are the means of, where the rows are known.
        notes: what was made of the table, a sentence each.

    Raises:
        UsageError: fewer than two models, or no set that is not in-domain.
    """

    models: tuple[str, ...]
    sets: tuple[Set, ...]
    values: Floats
    errors: Floats
    outcomes: Mapping[Set, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.models) < 2:
            raise UsageError(f"at least two models are needed (got {len(self.models)})")
        if not any(one.kind == "ood" for one in self.sets):
            raise UsageError(f"at least one set must be of the kind ood (got {len(self.sets)} in-domain)")
        for array in (self.values, self.errors):
            array.flags.writeable = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """The groups that have sets of the kind "ood", in the order of the table."""
        return tuple(dict.fromkeys(one.group for one in self.sets if one.kind == "ood"))

    def places(self, task: str, kind: Kind) -> list[int]:
        """Where the sets of a task stand; its in-domain sets are those of all tasks, where it has none of its own."""
        own = [at for at, one in enumerate(self.sets) if one.kind == kind and one.group == task]
        return own or [at for at, one in enumerate(self.sets) if one.kind == kind and one.group == ""]


def read_values(
    paths: Sequence[str | Path], *, percent: bool | None = None, encoding: str = "", limits: Limits = LIMITS
) -> Values:
    """The table that one or several files hold.

    Args:
        paths: .csv, .tsv, .txt, .jsonl or .parquet, a line for each model and set; or suites, and what these state.
        percent: the values are percentages; None takes them for such where all are above 1, or 0.
        encoding: of files that are not UTF-8.
        limits: how much of them is read.

    Raises:
        DataError: a file cannot be read, or a cell cannot be right; file and line are named.
        UsageError: fewer than two models, or no set that is not in-domain.
    """
    files = [Path(path) for path in paths]
    suites = [file for file in files if is_suite(file)]
    tables = (row for file in files if file not in suites for row in reader.read_columns(file, encoding, limits).rows())
    return of_rows(chain(points(suites, limits), tables), percent=percent)


def of_rows(rows: Iterable[Row], *, percent: bool | None = None) -> Values:
    """The same of rows that were read already.

    Example:
        >>> cells = [("a", "x", 0.9), ("a", "y", 0.7), ("b", "x", 0.8)]
        >>> rows = [Row(f"row {n}", n, dict(zip(NEEDED, c, strict=True))) for n, c in enumerate(cells, 1)]
        >>> found = of_rows(rows)
        >>> found.models, found.tasks, found.values.tolist()
        (('a', 'b'), ('x', 'y'), [[0.9, 0.7], [0.8, nan]])
    """
    cells: dict[tuple[str, Set], tuple[str, float, float, float]] = {}
    kinds: dict[tuple[str, str], tuple[Kind, str]] = {}
    runs: dict[str, str] = {}
    unread: dict[str, None] = {}
    for row in rows:
        _check_columns(row)
        unread |= dict.fromkeys(str(name) for name in row.cells if name not in COLUMNS)
        model, name = _text(row, "model"), _text(row, "set")
        kind = _kind(row)
        group = _optional(row, "group") or ("" if kind == "in-domain" else name)
        before, place = kinds.setdefault((group, name), (kind, row.place))
        if before != kind:
            raise DataError(f"{row.place}: {name} is {kind} here, and {before} in {place}")
        key = (model, Set(name, group, kind))
        if key in cells:
            raise DataError(f"{row.place}: {model} on {key[1]} a second time; the first is {cells[key][0]}")
        cells[key] = (row.place, *_numbers(row))
        run = _optional(row, "run")
        if run != runs.setdefault(model, run):
            raise DataError(f"{row.place}: {model} is of the run {run!r} here, and of {runs[model]!r} before")
    if not cells:
        raise DataError("the table has no rows")
    models = tuple(dict.fromkeys(model for model, _ in cells))
    sets = tuple(dict.fromkeys(one for _, one in cells))
    for what, names in (("models", models), ("sets", sets)):
        if len(names) > MOST:
            raise DataError(f"more than {MOST:,} {what}, the most that are compared (got {len(names):,})")
    values, errors, sizes = np.full((3, len(models), len(sets)), np.nan)
    of_model, of_set = ({name: at for at, name in enumerate(names)} for names in (models, sets))
    for (model, one), (_, *numbers) in cells.items():
        at = of_model[model], of_set[one]
        values[at], errors[at], sizes[at] = numbers
    notes: list[str] = [Assumption(f"Columns that are not read: {listed(unread)}.")] if unread else []
    notes += _of_one_run(runs) if any(one.kind == "in-domain" for one in sets) else []
    if _are_percentages(values, percent):
        values, errors = values / 100, errors / 100
        guess = Assumption("All values are above 1, or 0: they are taken for percentages.")
        notes += [] if percent else [guess]
    return Values(models, sets, values, _errors(values, errors, sizes), notes=tuple(notes))


def _of_one_run(runs: Mapping[str, str]) -> Iterator[str]:
    """A note where several models are checkpoints of one training run; it is about trends."""
    of = Counter(run for run in runs.values() if run)
    if several := [run for run, models in of.items() if models > 1]:
        models, whose = sum(of[run] for run in several), counted(len(several), "training run")
        yield (
            f"{models} models are checkpoints of {whose} ({listed(several)}): trends count each as a model of its own, "
            "and are surer than they should be."
        )


def _check_columns(row: Row) -> None:
    if lacking := [name for name in NEEDED if name not in row.cells]:
        raise DataError(
            f"{row.place}: the columns {', '.join(NEEDED)} are needed, and {lacking[0]} is missing "
            f"(got {listed(row.cells)})"
        )


def _optional(row: Row, column: str) -> str:
    cell = row.cells.get(column)
    return "" if cell is None else cell_text(cell)


def _text(row: Row, column: str) -> str:
    if not (text := _optional(row, column)):
        raise DataError(f"{row.place}: the cell `{column}` is empty")
    return text


def _kind(row: Row) -> Kind:
    try:
        return look_up("kind of sets", _optional(row, "kind") or "ood", KINDS)
    except UsageError as error:
        raise DataError(f"{row.place}: {error}") from error


def _numbers(row: Row) -> tuple[float, float, float]:
    """Value, standard error and number of rows; nan where there is none."""
    value, error, size = (_number(row, column) for column in ("value", "se", "n"))
    if not (0 <= error <= 100 or math.isnan(error)):
        raise DataError(f"{row.place}: `se` must be in [0, 100] (got {error:g})")
    if size < 1:
        raise DataError(f"{row.place}: `n` must be at least 1 (got {size:g})")
    return value, error, size


def _number(row: Row, column: str) -> float:
    text = _optional(row, column)
    if text in DASHES or is_empty_word(text):  # nothing in a column of numbers can be a name
        text = ""
    try:
        number = float(text or "nan")
    except ValueError as error:
        if re.fullmatch(r"[-+]?[0-9]*,[0-9]+", text):
            raise DataError(
                f"{row.place}: `{column}` has a decimal comma (got {text[:50]!r}); write a point"
            ) from error
        raise DataError(f"{row.place}: `{column}` must be a number (got {text[:50]!r})") from error
    if math.isinf(number):
        raise DataError(f"{row.place}: `{column}` must be finite (got {text[:50]!r})")
    return number


def _are_percentages(values: Floats, said: bool | None) -> bool:
    """Whether values are percentages; nothing is guessed where some look so and some do not.

    Raises:
        DataError: some do; or they are said to be what they cannot be.
    """
    known = np.abs(values[~np.isnan(values)])
    above, most = known > 1, float(known.max(initial=0.0))
    if most > 100 or (said is False and most > 1):
        raise DataError(f"values must be fractions in [-1, 1], or percentages (got {most:g})")
    if said is None and above.any() and ((known > 0) & ~above).any():
        least = float(known[(known > 0) & ~above].min())
        raise DataError(
            f"some values are above 1 ({most:g}), others below ({least:g}): percentages beside fractions? Where all "
            "are percentages, say so with `percent`"
        )
    return bool(above.any()) if said is None else said


def _errors(values: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Standard errors where they are stated; else the most that they can be of a mean of n outcomes in [0, 1]."""
    inside = np.where((values >= 0) & (values <= 1), values, np.nan)
    return np.where(np.isnan(errors), np.sqrt(inside * (1 - inside) / sizes), errors)


def as_rows(table: Any) -> list[Row]:
    """The rows of a data frame, or of a list of mappings from column to cell.

    Raises:
        UsageError: it is neither.
    """
    if isinstance(table, str) or not (isinstance(table, Sequence) or hasattr(table, "to_dict")):
        raise UsageError(f"a table must be a file, a data frame or a list of rows (got {type(table).__name__})")
    return list(reader.of_rows(table).rows())
