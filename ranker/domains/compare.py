"""`compare`: rank models over many sets, and relate in-domain values to others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ranker.domains.decided import decide_on_average
from ranker.domains.leaders import ROPE, rank_over_tasks
from ranker.domains.runs import values_of_runs
from ranker.domains.trends import fit_trends
from ranker.domains.values import Values, as_rows, read_values, values_of_rows
from ranker.limits import LIMITS, Limits
from ranker.results.over_sets import OverSets
from ranker.results.ranking import Ranking


def compare(
    table: Any,
    *,
    missing: str = "sets",
    rope: float = ROPE,
    axes: str = "plain",
    percent: bool | None = None,
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
        seed: random seed.
        limits: size limits of files.

    Raises:
        UsageError: the table cannot be right (a `DataError` names the line), or says too little.

    Example:
        >>> from ranker import compare
        >>> scores = {"a": (0.91, 0.72, 0.66), "b": (0.90, 0.70, 0.64), "c": (0.85, 0.61, 0.60)}
        >>> rows = [{"model": m, "set": f"set {s}", "value": v} for m in scores for s, v in enumerate(scores[m])]
        >>> compare(rows)
        3 models over 3 tasks
        first: a, 76.3 %, in >99.9 % of draws
        not told from the first: b
    """
    runs = _runs(table)
    values = values_of_runs(runs) if runs else _values(table, percent, limits)
    ordered, fitted, averaged = np.random.default_rng(seed).spawn(3)
    comparison = rank_over_tasks(values, missing, rope, ordered)
    return replace(
        comparison,
        trends=tuple(fit_trends(values, axes, fitted)),
        on_average=decide_on_average(runs, comparison.names, rope, averaged) if runs else None,
    )


def _runs(table: Any) -> list[Ranking]:
    """Return the runs that a table is made of; none if it is something else."""
    parts = table if isinstance(table, (list, tuple)) else [table]
    return list(parts) if all(isinstance(part, Ranking) for part in parts) else []


def _values(table: Any, percent: bool | None, limits: Limits) -> Values:
    """Read the values from files, a data frame or rows."""
    parts = table if isinstance(table, (list, tuple)) and table else [table]
    if all(isinstance(part, (str, Path)) for part in parts):
        return read_values(parts, percent=percent, limits=limits)
    return values_of_rows(as_rows(table), percent=percent)
