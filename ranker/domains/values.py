"""Read a table of model scores on sets from files or rows, and check every cell.

Columns: `model`, `set`, `value`; optional: `se` (standard error), `n` (rows), `group` (the task of a set), `kind`
("in-domain" or, the default, "ood") and `run` (the training run that a model is a checkpoint of).
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
from ranker.datasets.stated import is_suite, stated_accuracies
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

MAX_MODELS_OR_SETS = 2_000
"""Models, and sets, of a table, at most: time and memory grow with their squares."""

DASHES = ("-", "\N{EN DASH}")
"""Cells that published tables use for a missing number, besides the usual words for nothing."""


@dataclass(frozen=True)
class Set:
    """A set that models were measured on.

    Attributes:
        name: of the set.
        group: its task; "" for an in-domain set of all tasks.
        kind: "in-domain" or "ood".
    """

    name: str
    group: str
    kind: Kind

    def __str__(self) -> str:
        return self.name if self.group in ("", self.name) else f"{self.group}: {self.name}"


@dataclass(frozen=True, eq=False)
class Values:
    """Scores of models on sets. Axis letters: M models, S sets, N rows of a set.

    Attributes:
        models: (M,) names, in the order of the table.
        sets: (S,) in the same order.
        values: (M, S) fractions, higher is better; nan if missing.
        errors: (M, S) their standard errors; nan if unknown.
        outcomes: set -> (M, N) the outcomes that its values are means of, if the rows are known.
        notes: how the table was read, a sentence each.

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
            raise UsageError(f"at least two models are needed (got {len(self.models)})", value=len(self.models))
        if not any(scored_set.kind == "ood" for scored_set in self.sets):
            raise UsageError(f"at least one set must be of the kind ood (got {len(self.sets)} in-domain)")
        for array in (self.values, self.errors):
            array.flags.writeable = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """The groups that have sets of the kind "ood", in the order of the table."""
        return tuple(dict.fromkeys(scored_set.group for scored_set in self.sets if scored_set.kind == "ood"))

    def places(self, task: str, kind: Kind) -> list[int]:
        """Return the columns of a task's sets; without own in-domain sets, those of all tasks."""
        keys = [(scored_set.kind, scored_set.group) for scored_set in self.sets]
        of_task, of_all = ([n for n, key in enumerate(keys) if key == (kind, group)] for group in (task, ""))
        return of_task or of_all


def read_values(
    paths: Sequence[str | Path], *, percent: bool | None = None, encoding: str = "", limits: Limits = LIMITS
) -> Values:
    """Read the table in one or several files.

    Args:
        paths: .csv, .tsv, .txt, .jsonl or .parquet, a line for each model and set; or suites with stated values.
        percent: the values are percentages; None assumes so if all are above 1, or 0.
        encoding: of files that are not UTF-8.
        limits: size limits of the files.

    Raises:
        DataError: a file cannot be read, or a cell cannot be right; file and line are named.
        UsageError: fewer than two models, or no set that is not in-domain.
    """
    files = [Path(path) for path in paths]
    suites = [file for file in files if is_suite(file)]
    tables = (row for file in files if file not in suites for row in reader.read_columns(file, encoding, limits).rows())
    return values_of_rows(chain(stated_accuracies(suites, limits), tables), percent=percent)


def values_of_rows(rows: Iterable[Row], *, percent: bool | None = None) -> Values:
    """Build the table from rows.

    Example:
        >>> cells = [("a", "x", 0.9), ("a", "y", 0.7), ("b", "x", 0.8)]
        >>> rows = [Row(f"row {n}", n, dict(zip(NEEDED, c, strict=True))) for n, c in enumerate(cells, 1)]
        >>> table = values_of_rows(rows)
        >>> table.models, table.tasks, table.values.tolist()
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
            raise DataError.at(row.place, f"{name} is {kind} here, and {before} in {place}", value=kind)
        key = (model, Set(name, group, kind))
        if key in cells:
            raise DataError.at(
                row.place, f"{model} on {key[1]} a second time; the first is {cells[key][0]}", value=model
            )
        cells[key] = (row.place, *_numbers(row))
        run = _optional(row, "run")
        if run != runs.setdefault(model, run):
            raise DataError.at(
                row.place, f"{model} is of the run {run!r} here, and of {runs[model]!r} before", value=run
            )
    if not cells:
        raise DataError("the table has no rows")
    models = tuple(dict.fromkeys(model for model, _ in cells))
    sets = tuple(dict.fromkeys(scored_set for _, scored_set in cells))
    for plural, names in (("models", models), ("sets", sets)):
        if len(names) > MAX_MODELS_OR_SETS:
            most = f"{MAX_MODELS_OR_SETS:,} {plural}, the most that are compared"
            raise DataError(f"more than {most} (got {len(names):,})", value=len(names), allowed=(0, MAX_MODELS_OR_SETS))
    values, errors, sizes = np.full((3, len(models), len(sets)), np.nan)
    rows_of, columns_of = ({name: index for index, name in enumerate(names)} for names in (models, sets))
    for (model, scored_set), (_, *numbers) in cells.items():
        cell = rows_of[model], columns_of[scored_set]
        values[cell], errors[cell], sizes[cell] = numbers
    notes: list[str] = [Assumption(f"Unread columns: {listed(unread)}.")] if unread else []
    notes += _of_one_run(runs) if any(scored_set.kind == "in-domain" for scored_set in sets) else []
    if _are_percentages(values, percent):
        values, errors = values / 100, errors / 100
        guess = Assumption("All values are above 1, or 0: they are read as percentages.")
        notes += [] if percent else [guess]
    return Values(models, sets, values, _errors(values, errors, sizes), notes=tuple(notes))


def _of_one_run(runs: Mapping[str, str]) -> Iterator[str]:
    """Note that several models are checkpoints of one training run, which makes trends too certain."""
    models_of_run = Counter(run for run in runs.values() if run)
    if several := [run for run, models in models_of_run.items() if models > 1]:
        models, whose = sum(models_of_run[run] for run in several), counted(len(several), "training run")
        yield (
            f"{models} models are checkpoints of {whose} ({listed(several)}): trends count each as a separate model, "
            "so they are too sure."
        )


def _check_columns(row: Row) -> None:
    if lacking := [name for name in NEEDED if name not in row.cells]:
        raise DataError.at(
            row.place,
            f"the columns {', '.join(NEEDED)} are needed, and {lacking[0]} is missing (got {listed(row.cells)})",
            value=lacking[0],
            allowed=NEEDED,
        )


def _optional(row: Row, column: str) -> str:
    cell = row.cells.get(column)
    return "" if cell is None else cell_text(cell)


def _text(row: Row, column: str) -> str:
    if not (text := _optional(row, column)):
        raise DataError.at(row.place, f"the cell `{column}` is empty", option=column)
    return text


def _kind(row: Row) -> Kind:
    try:
        return look_up("kind of sets", _optional(row, "kind") or "ood", KINDS)
    except UsageError as error:
        raise DataError.at(row.place, error, option="kind") from error


def _numbers(row: Row) -> tuple[float, float, float]:
    """Return value, standard error and number of rows; nan if missing."""
    value, error, size = (_number(row, column) for column in ("value", "se", "n"))
    if not (0 <= error <= 100 or math.isnan(error)):
        raise DataError.about("se", f"must be in [0, 100] (got {error:g})", error, place=row.place, allowed=(0, 100))
    if size < 1:
        raise DataError.about("n", f"must be at least 1 (got {size:g})", size, place=row.place)
    return value, error, size


def _number(row: Row, column: str) -> float:
    text = _optional(row, column)
    if text in DASHES or is_empty_word(text):  # nothing in a column of numbers can be a name
        text = ""
    try:
        number = float(text or "nan")
    except ValueError as error:
        if re.fullmatch(r"[-+]?[0-9]*,[0-9]+", text):
            predicate = f"has a decimal comma (got {text[:50]!r}); write a point"
            raise DataError.about(column, predicate, text, place=row.place) from error
        raise DataError.about(column, f"must be a number (got {text[:50]!r})", text, place=row.place) from error
    if math.isinf(number):
        raise DataError.about(column, f"must be finite (got {text[:50]!r})", text, place=row.place)
    return number


def _are_percentages(values: Floats, stated: bool | None) -> bool:
    """Decide whether values are percentages; raise if only some look so, or if `stated` contradicts them."""
    finite = np.abs(values[~np.isnan(values)])
    above, most = finite > 1, float(finite.max(initial=0.0))
    if most > 100 or (stated is False and most > 1):
        raise DataError(
            f"values must be fractions in [-1, 1], or percentages (got {most:g})", value=most, allowed=(-1, 1)
        )
    if stated is None and above.any() and ((finite > 0) & ~above).any():
        least = float(finite[(finite > 0) & ~above].min())
        raise DataError(
            f"some values are above 1 ({most:g}), others below ({least:g}): percentages beside fractions? Where all "
            "are percentages, say so with `percent`",
            option="percent",
        )
    return bool(above.any()) if stated is None else stated


def _errors(values: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return stated standard errors, else the largest that a mean of n outcomes in [0, 1] can have."""
    inside = np.where((values >= 0) & (values <= 1), values, np.nan)
    return np.where(np.isnan(errors), np.sqrt(inside * (1 - inside) / sizes), errors)


def as_rows(table: Any) -> list[Row]:
    """Convert a data frame, or a list of mappings from column to cell, to rows.

    Raises:
        UsageError: it is neither.
    """
    if isinstance(table, str) or not (isinstance(table, Sequence) or hasattr(table, "to_dict")):
        raise UsageError(
            f"a table must be a file, a data frame or a list of rows (got {type(table).__name__})",
            value=type(table).__name__,
        )
    return list(reader.of_rows(table).rows())
