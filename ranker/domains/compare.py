"""`compare`: rank models over many sets, and relate in-domain values to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ranker.domains.leaders import ROPE, rank_over_tasks, select_complete_part
from ranker.domains.measures import read_measures, relate, warnings_of, with_levels
from ranker.domains.results.over_sets import OverSets
from ranker.domains.saved_runs import decide_on_average, values_of_runs
from ranker.domains.trends import fit_trends
from ranker.domains.values import read_values
from ranker.errors import UsageError
from ranker.limits import LIMITS, Limits
from ranker.results.ranking import Ranking

T = TypeVar("T")


def compare(
    table: Any,
    *,
    missing: str = "sets",
    rope: float = ROPE,
    axes: str = "plain",
    percent: bool | None = None,
    lower_is_better: bool = False,
    measures: Any = None,
    level: str | None = None,
    seed: int = 0,
    limits: Limits = LIMITS,
) -> OverSets:
    """Rank models over many sets, test which differ, and relate in-domain values to other sets.

    Args:
        table: scores of models on sets: a file, several files, a data frame, or a list of rows; a suite (its folder,
            or suite.json), which states its members' scores; or a `Ranking` for each set. Columns: `model`, `set`,
            `value`; and, where they are known, `se` (standard error), `n` (rows), `group` (the task of a set), `kind`
            ("in-domain", or "ood") and `run` (the training run that a model is a checkpoint of).
        missing: treatment of missing cells: "sets" drops their sets; "models" drops models that lack a set of the kind
            "ood"; "ranks" ranks models by their ranks, with the middle rank for a task that they lack.
        rope: half the width of the region within which two models count as equally good, a fraction.
        axes: of trends: "plain", or "probit" for normal quantiles of the values.
        percent: the values are percentages; None assumes so if all are above 1, or 0.
        lower_is_better: lower values are better, such as error rates; they may have any size.
        measures: measures of the sets, or of their tasks, to correlate with the values: a table with `set`, and a
            column for each measure, or with `set`, `measure` and `value`; `level` may stand there, too.
        level: the level of the sets that count; None for all.
        limits: size limits of files.

    Raises:
        UsageError: the table cannot be right (a `DataError` names the line), or says too little.

    Example:
        >>> from ranker import compare
        >>> scores = {"a": (0.91, 0.72, 0.66), "b": (0.90, 0.70, 0.64), "c": (0.85, 0.61, 0.60)}
        >>> rows = [{"model": m, "set": f"set {s}", "value": v} for m in scores for s, v in enumerate(scores[m])]
        >>> compare(rows)
        3 models over 3 tasks: Cannot say yet: a leads on 3 tasks, too few to speak for others
        first: a, 76.3 %, in >99.9 % of draws
        not told from the first: b
    """
    runs = _runs(table)
    if runs and lower_is_better:
        raise UsageError.about("lower_is_better", "is for tables: outcomes of runs are better if higher")
    values = values_of_runs(runs) if runs else read_values(_tables(table), percent, lower_is_better, limits)
    beside = None if measures is None else read_measures(measures, limits)
    if beside is not None:
        values = with_levels(values, beside.levels)
    if level is not None:
        values = values.at_level(level)
    ordered, fitted, averaged = np.random.default_rng(seed).spawn(3)
    board = rank_over_tasks(values, missing, rope, ordered)
    board = replace(board, trends=tuple(fit_trends(values, axes, fitted)))
    decided = decide_on_average(runs, board.names, rope, averaged) if runs else None
    if decided is not None:
        board = replace(board, on_average=decided[0], choice=decided[1])
    board = _negated(board) if lower_is_better else board
    if beside is None:
        return board
    related = tuple(relate(select_complete_part(values, board.missing).values, beside))
    notes = (*board.notes, *beside.notes, *warnings_of(related))
    return replace(board, measures=beside.values, correlations=related, notes=notes)


def _negated(board: OverSets) -> OverSets:
    """Give a comparison of negated values the sign of the table; losses, `decay` and `drops`, have no other."""
    return replace(
        board,
        models=tuple(_negate(leader, "value", "in_domain", "tasks", "levels") for leader in board.models),
        differences=tuple(_negate(pair, "difference") for pair in board.differences),
        trends=tuple(
            replace(
                _negate(trend, "joint", joint_low="joint_high", joint_high="joint_low"),
                points=tuple(
                    _negate(point, "x", "y", "expected", "robustness", low="high", high="low") for point in trend.points
                ),
            )
            for trend in board.trends
        ),
    )


def _negate(record: T, *names: str, **swapped: str) -> T:
    """Return a record with fields negated, or taken negated from others."""

    def negative(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: negative(part) for name, part in value.items()}
        return None if value is None else -value + 0.0  # no -0

    fields = dict(zip(names, names, strict=True)) | swapped
    return replace(record, **{name: negative(getattr(record, origin)) for name, origin in fields.items()})  # type: ignore[type-var]


def _runs(table: Any) -> list[Ranking]:
    """Return the runs that a table is made of; none if it is something else."""
    parts = table if isinstance(table, (list, tuple)) else [table]
    return list(parts) if all(isinstance(part, Ranking) for part in parts) else []


def _tables(table: Any) -> Sequence[Any]:
    """Return the tables of an argument: several files, or one of anything."""
    several = isinstance(table, (list, tuple)) and table and all(isinstance(part, (str, Path)) for part in table)
    return table if several else [table]
