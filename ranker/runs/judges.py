"""Read judges' marks of the models' answers, and put them beside people's.

A judge's file is read as a run of its own: it may have every layout that `models` takes, and be a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from factors.types import Floats
from ranker.errors import UsageError, listed
from ranker.limits import LIMITS, Limits
from ranker.results.table import ScoreTable
from ranker.runs.collect import collect
from ranker.runs.gather import gather_without_truth
from ranker.runs.inspected import inspect_references
from ranker.runs.plan import Plan, plan
from ranker.runs.run_measurements import measure_run
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.scoring.unlabelled import JudgeContext
from ranker.sources.base import SourceOptions
from ranker.sources.logs.options import LogOptions
from ranker.sources.tables.options import TableOptions
from ranker.statistics.judges import JudgedMarks

ANY_SCALE = (-1e6, 1e6)
"""Ends of a judge's scale as it is read: only differences of its marks count, whatever their unit."""


def marks_of(name: str, reference: str | Path, limits: Limits = LIMITS) -> ScoreTable:
    """Read a judge's marks as the scores of the models that it marked.

    Raises:
        UsageError: the file cannot be read, or holds no marks of two models.
    """
    kinds = [TableOptions(answers="outcomes", scale=ANY_SCALE), LogOptions(scale=ANY_SCALE)]
    inspected = inspect_references([reference], SourceOptions(kinds=kinds, limits=limits))
    try:
        own_plan = plan(gather_without_truth(inspected), Evidence("none", factors=()))
    except UsageError as error:
        raise UsageError(f"`judges`: {name}: {error}", option="judges", value=str(reference)) from error
    return measure_run(own_plan, collect(own_plan, Runtime(store=None)), Runtime(store=None)).table


def check_judges(run_plan: Plan) -> None:
    """Refuse what judges' marks are not read beside: a pool, and a metric that is no mean.

    Raises:
        UsageError: there is one.
    """
    if run_plan.rows.pool:
        raise UsageError.about("judges", "mark answers, and a pool is read by labels; leave one of the two out")
    if run_plan.metric is not None:
        raise UsageError.about(
            "judges", f"tell means of rows, and {run_plan.metric.name} is none", run_plan.metric.name
        )


def judged(table: ScoreTable, judges: Mapping[str, ScoreTable]) -> JudgeContext:
    """Put judges' marks beside people's scores: first the rows that people marked, then all others.

    Args:
        table: people's scores.
        judges: name -> the judge's scores.

    Raises:
        UsageError: a judge marked none of the models, or no row that people marked.
    """
    ids = list(dict.fromkeys([*table.examples, *(row for marks in judges.values() for row in marks.examples)]))
    for name, marks in judges.items():
        if not {*marks.models} & {*table.models}:
            text = f"marked {listed(marks.models)}, and the models are {listed(table.models)}"
            raise UsageError(f"`judges`: {name} {text}", option="judges", value=name)
        if not {*marks.examples} & {*table.examples}:
            raise UsageError(f"`judges`: {name} marked no row that people marked", option="judges", value=name)
    people = _aligned(table, table.models, ids)
    return JudgeContext(
        tuple(table.models),
        tuple(judges),
        JudgedMarks(people, np.array([_aligned(marks, table.models, ids) for marks in judges.values()])),
    )


def _aligned(table: ScoreTable, models: tuple[str, ...], ids: list[str]) -> Floats:
    """Return (M, N) scores of models on rows, nan where there is none."""
    places = {row: place for place, row in enumerate(ids)}
    values = np.full((len(models), len(ids)), np.nan)
    rows = [places[row] for row in table.examples]
    for place, model in enumerate(models):
        if model in table.models:
            values[place, rows] = table.outcomes[table.models.index(model)]
    return values
