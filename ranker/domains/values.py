"""Read a table of model scores on sets from files or rows, and check every cell.

Columns: `model`, `set`, `value`; optional: `se` (standard error), `n` (rows), `group` (the task of a set), `kind`
("in-domain" or, the default, "ood"), `level` (of a hierarchy of sets) and `run` (the training run that a model is a
checkpoint of). Candidates for test sets also have `source` and `similarity`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from factors.rounding import TIE
from factors.types import Floats
from ranker.datasets.stated import is_suite, stated_accuracies
from ranker.domains.rows import number, optional, read_rows, require, required
from ranker.errors import Assumption, DataError, UsageError, listed, look_up
from ranker.files.columns import Row
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted

NEEDED = ("model", "set", "value")
COLUMNS = (*NEEDED, "se", "n", "group", "kind", "level", "run")

SET_COLUMNS = ("level", "source", "similarity")
"""Columns that say something of a set, the same in each of its rows."""

Kind = Literal["in-domain", "ood"]
KINDS: Mapping[str, Kind] = {"ood": "ood", "in-domain": "in-domain"}

MAX_MODELS_OR_SETS = 2_000
"""Models, and sets, of a table, at most: time and memory grow with their squares."""


@dataclass(frozen=True)
class Set:
    """A set that models were measured on.

    Attributes:
        group: its task; "" for an in-domain set of all tasks, or all of its level.
        kind: "in-domain" or "ood".
        level: its level in a hierarchy of sets, such as genre, style and topic; "" without one.
        source: origin of its texts; "" if unknown.
        similarity: to the in-domain set, such as the cosine of their centroids; "" if unknown.
    """

    name: str
    group: str
    kind: Kind
    level: str = ""
    source: str = ""
    similarity: str = ""

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
        beats: set -> (M, M) P(the row's model is better than the column's), where values are no means of outcomes.
        notes: how the table was read, a sentence each.
        lower_is_better: the values are negated, because lower ones are better.

    Raises:
        UsageError: no set is out of domain.
    """

    models: tuple[str, ...]
    sets: tuple[Set, ...]
    values: Floats
    errors: Floats
    outcomes: Mapping[Set, Floats] = field(default_factory=dict)
    beats: Mapping[Set, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    lower_is_better: bool = False

    def __post_init__(self) -> None:
        if not any(scored_set.kind == "ood" for scored_set in self.sets):
            raise UsageError(f"at least one set must be of the kind ood (got {len(self.sets)} in-domain)")
        for array in (self.values, self.errors):
            array.flags.writeable = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """The groups that have sets of the kind "ood", in the order of the table."""
        return tuple(dict.fromkeys(scored_set.group for scored_set in self.sets if scored_set.kind == "ood"))

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of the sets of the kind "ood", in the order of the table."""
        return tuple(dict.fromkeys(scored.level for scored in self.sets if scored.kind == "ood" and scored.level))

    def places(self, task: str, kind: Kind) -> list[int]:
        """Return the columns of a task's sets; without own in-domain sets, those of its levels, or of all tasks."""
        of_kind = [(index, scored) for index, scored in enumerate(self.sets) if scored.kind == kind]
        levels = {scored.level for scored in self.sets if scored.group == task}
        of_task = [index for index, scored in of_kind if scored.group == task]
        of_level = [index for index, scored in of_kind if scored.group == "" and scored.level in levels]
        return of_task or of_level or [index for index, scored in of_kind if scored.group == scored.level == ""]

    def places_by_name(self) -> dict[str, tuple[str, list[int]]]:
        """Map each task, and each set that shares its name with no other, to its task and its columns."""
        sets = [(scored.name, scored.group, index) for index, scored in enumerate(self.sets) if scored.kind == "ood"]
        shared = Counter(name for name, *_ in sets)
        of_sets = {name: (task, [index]) for name, task, index in sets if shared[name] == 1}
        return of_sets | {task: (task, self.places(task, "ood")) for task in self.tasks}

    def at_level(self, level: str) -> Values:
        """Return the same models on the sets of a level, with the in-domain sets that have none.

        Raises:
            UsageError: no set has the level.
        """
        if not self.levels:
            raise UsageError.about("level", f"needs sets with a level, by a column `level` (got {level})", level)
        name = look_up("level", level, dict(zip(self.levels, self.levels, strict=True)))
        levels = {"ood": (name,), "in-domain": (name, "")}
        places = [index for index, scored in enumerate(self.sets) if scored.level in levels[scored.kind]]
        sets = tuple(self.sets[index] for index in places)
        return replace(self, sets=sets, values=self.values[:, places], errors=self.errors[:, places])


def read_values(
    tables: Sequence[Any], percent: bool | None = None, lower_is_better: bool = False, limits: Limits = LIMITS
) -> Values:
    """Read tables, long or wide, as one; see `ranker.domains.rows`.

    Args:
        tables: .csv, .tsv, .txt, .jsonl or .parquet, suites with stated values, or tables in memory.
        percent: the values are percentages; None assumes so if all are above 1, or 0.
        lower_is_better: lower values are better, and may have any size.

    Raises:
        DataError: a file cannot be read, or a cell cannot be right; file and line are named.
    """
    suites = [Path(table) for table in tables if isinstance(table, (str, Path)) and is_suite(Path(table))]
    rows: Iterable[Row] = stated_accuracies(suites, limits)
    notes: list[str] = []
    for table in tables:
        if not (isinstance(table, (str, Path)) and is_suite(Path(table))):
            table_rows, table_notes = read_rows(table, limits)
            rows, notes = chain(rows, table_rows), [*notes, *table_notes]
    values = values_of_rows(rows, percent=percent, lower_is_better=lower_is_better)
    return replace(values, notes=(*notes, *values.notes))


def values_of_rows(
    rows: Iterable[Row],
    *,
    percent: bool | None = None,
    lower_is_better: bool = False,
    columns: Sequence[str] = COLUMNS,
) -> Values:
    """Build the table from long rows.

    Args:
        rows: a row for each model and set.
        percent, lower_is_better: see `read_values`.
        columns: those that are read; a note names the others.

    Example:
        >>> cells = [("a", "x", 0.9), ("a", "y", 0.7), ("b", "x", 0.8)]
        >>> rows = [Row(f"row {n}", n, dict(zip(NEEDED, c, strict=True))) for n, c in enumerate(cells, 1)]
        >>> table = values_of_rows(rows)
        >>> table.models, table.tasks, table.values.tolist()
        (('a', 'b'), ('x', 'y'), [[0.9, 0.7], [0.8, nan]])
    """
    cells: dict[tuple[str, tuple[str, str]], tuple[str, float, float, float]] = {}
    stated: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    runs: dict[str, str] = {}
    unread: dict[str, None] = {}
    for row in require(rows, NEEDED):
        unread |= dict.fromkeys(str(name) for name in row.cells if name not in columns)
        model, name = required(row, "model"), required(row, "set")
        facts = {"kind": _kind(row)} | {column: optional(row, column) for column in SET_COLUMNS if column in columns}
        group = optional(row, "group") or ("" if facts["kind"] == "in-domain" else name)
        key = (group, name)
        for column, fact in facts.items():
            before, place = stated.setdefault(key, {}).setdefault(column, (fact, row.place))
            if before != fact:
                text_here, text_before = (stated_text or "blank" for stated_text in (fact, before))
                raise DataError.at(row.place, f"{name} is {text_here} here, and {text_before} in {place}", value=fact)
        if (model, key) in cells:
            first = cells[model, key][0]
            scored_set = Set(name, group, _kind(row))
            raise DataError.at(row.place, f"{model} on {scored_set} a second time; the first is {first}", value=model)
        cells[model, key] = (row.place, *_numbers(row))
        run = optional(row, "run")
        if run != runs.setdefault(model, run):
            raise DataError.at(
                row.place, f"{model} is of the run {run!r} here, and of {runs[model]!r} before", value=run
            )
    if not cells:
        raise DataError("the table has no rows")
    models = tuple(dict.fromkeys(model for model, _ in cells))
    sets = tuple(
        Set(name, group, KINDS[facts["kind"][0]], *(facts.get(column, ("", ""))[0] for column in SET_COLUMNS))
        for (group, name), facts in stated.items()
    )
    for plural, names in (("models", models), ("sets", sets)):
        if len(names) > MAX_MODELS_OR_SETS:
            most = f"{MAX_MODELS_OR_SETS:,} {plural}, the most that are compared"
            raise DataError(f"more than {most} (got {len(names):,})", value=len(names), allowed=(0, MAX_MODELS_OR_SETS))
    values, errors, sizes = np.full((3, len(models), len(sets)), np.nan)
    rows_of = {model: index for index, model in enumerate(models)}
    columns_of = {key: index for index, key in enumerate(stated)}
    for (model, key), (_, *numbers) in cells.items():
        cell = rows_of[model], columns_of[key]
        values[cell], errors[cell], sizes[cell] = numbers
    notes: list[str] = [Assumption(f"Unread columns: {listed(unread)}.")] if unread else []
    notes += _of_one_run(runs) if any(scored_set.kind == "in-domain" for scored_set in sets) else []
    if _are_percentages(cells, percent, math.inf if lower_is_better else 100):
        values, errors = values / 100, errors / 100
        guess = Assumption("All values are above 1, or 0: they are read as percentages.")
        notes += [] if percent else [guess]
    errors = _errors(values, errors, sizes)
    return Values(models, sets, -values if lower_is_better else values, errors, {}, {}, tuple(notes), lower_is_better)


def _of_one_run(runs: Mapping[str, str]) -> Iterator[str]:
    """Note that several models are checkpoints of one training run, which makes trends too certain."""
    models_of_run = Counter(run for run in runs.values() if run)
    if several := [run for run, models in models_of_run.items() if models > 1]:
        models, whose = sum(models_of_run[run] for run in several), counted(len(several), "training run")
        yield (
            f"{models} models are checkpoints of {whose} ({listed(several)}): trends count each as a separate model, "
            "so they are too sure."
        )


def _kind(row: Row) -> Kind:
    try:
        return look_up("kind of sets", optional(row, "kind") or "ood", KINDS)
    except UsageError as error:
        raise DataError.at(row.place, error, option="kind") from error


def _numbers(row: Row) -> tuple[float, float, float]:
    """Return value, standard error and number of rows; nan if missing."""
    value, error, size = (number(row, column) for column in ("value", "se", "n"))
    if not (0 <= error <= 100 or math.isnan(error)):
        raise DataError.about("se", f"must be in [0, 100] (got {error:g})", error, place=row.place, allowed=(0, 100))
    if size < 1:
        raise DataError.about("n", f"must be at least 1 (got {size:g})", size, place=row.place)
    return value, error, size


def _are_percentages(cells: Mapping[Any, tuple[str, float, float, float]], stated: bool | None, limit: float) -> bool:
    """Decide whether the values of cells are percentages; an error names the place of the largest."""
    places: dict[object, str] = {abs(value): place for place, value, *_ in cells.values()}
    try:
        return are_percentages(np.array([value for _, value, *_ in cells.values()]), stated, limit)
    except DataError as error:
        raise DataError.at(places[float(str(error.value))], error) from error


def are_percentages(values: Floats, stated: bool | None = None, limit: float = 100) -> bool:
    """Decide whether values are percentages; raise if only some look so, or if `stated` contradicts them.

    Args:
        values: of any shape; nan is no value.
        stated: what the user says; None to decide by size.
        limit: the largest percentage.
    """
    finite = np.abs(values[~np.isnan(values)])
    above, most = finite > 1 + TIE, float(finite.max(initial=0.0))
    if most > limit + TIE or (stated is False and most > 1 + TIE):
        raise DataError(
            f"values must be fractions in [-1, 1], or percentages (got {most:g})", value=most, allowed=(-1, 1)
        )
    if stated is None and above.any() and ((finite > 0) & ~above).any():
        least = float(finite[(finite > 0) & ~above].min())
        raise DataError(
            f"some values are above 1 ({most:g}), others below ({least:g}): percentages beside fractions? Where all "
            "are percentages, say so with `percent`",
            option="percent",
            value=most,
        )
    return bool(above.any()) if stated is None else stated


def _errors(values: Floats, errors: Floats, sizes: Floats) -> Floats:
    """Return stated standard errors, else the largest that a mean of n outcomes in [0, 1] can have."""
    inside = np.where((values >= -TIE) & (values <= 1 + TIE), np.clip(values, 0, 1), np.nan)
    return np.where(np.isnan(errors), np.sqrt(inside * (1 - inside) / sizes), errors)
