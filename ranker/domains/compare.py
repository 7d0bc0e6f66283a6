"""`compare`: who leads over many sets, and what in-domain values say of others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ranker.domains.decided import decided
from ranker.domains.leaders import ROPE, lead
from ranker.domains.runs import of_runs
from ranker.domains.trends import trends
from ranker.domains.values import Values, as_rows, of_rows, read_values
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
    """Say who leads over many sets, who differs from whom, and what in-domain values say of other sets.

    Args:
        table: what models scored on sets: a file, several files, a data frame, or a list of rows; a suite (its folder,
            or suite.json), which states what its members score; or a `Ranking` for each set. Columns: `model`, `set`,
            `value`; and, where they are known, `se` (standard error), `n` (rows), `group` (the task of a set), `kind`
            ("in-domain", or "ood") and `run` (the training run that a model is a checkpoint of).
        missing: what becomes of cells without a value: "sets" leaves their sets out, "models" the models that lack a
            set of the kind "ood", "ranks" ranks the models by their ranks, the middle one for a task that they lack.
        rope: half the width of the region within which two models count as equally good, a fraction.
        axes: of trends: "plain", or "probit" for normal quantiles of the values.
        percent: the values are percentages; None takes them for such where all are above 1, or 0.
        seed: of the draws.
        limits: how much of a file is read.

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
    known = of_runs(runs) if runs else _values(table, percent, limits)
    ordered, fitted, averaged = np.random.default_rng(seed).spawn(3)
    found = lead(known, missing, rope, ordered)
    return replace(
        found,
        trends=tuple(trends(known, axes, fitted)),
        on_average=decided(runs, found.names, rope, averaged) if runs else None,
    )


def _runs(table: Any) -> list[Ranking]:
    """The runs that a table is made of; none where it is something else."""
    parts = table if isinstance(table, (list, tuple)) else [table]
    return list(parts) if all(isinstance(one, Ranking) for one in parts) else []


def _values(table: Any, percent: bool | None, limits: Limits) -> Values:
    """The table of files, of a data frame or of rows."""
    parts = table if isinstance(table, (list, tuple)) and table else [table]
    if all(isinstance(one, (str, Path)) for one in parts):
        return read_values(parts, percent=percent, limits=limits)
    return of_rows(as_rows(table), percent=percent)
