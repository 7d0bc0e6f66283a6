"""Read judges' marks of the models' answers, and put them beside people's.

A judge's file is read as a run of its own: it may have every layout that `models` takes, and be a log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from ranker.runs.pool import population_answers
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.scoring.unlabelled import JudgeContext
from ranker.sources.base import SourceOptions
from ranker.sources.logs.options import LogOptions
from ranker.sources.tables.options import TableOptions
from ranker.statistics.judges import JudgedMarks

ANY_SCALE = (-1e6, 1e6)
"""Ends of a judge's scale as it is read: only differences of its marks count, whatever their unit."""


@dataclass(frozen=True)
class JudgeMarks:
    """Marks of one judge, as its file has them.

    Attributes:
        models: names of those that it marked.
        rows: (n,) ids.
        values: model -> (n,) marks, nan where there is none.
    """

    models: tuple[str, ...]
    rows: tuple[str, ...]
    values: Mapping[str, Floats]


def marks_of(name: str, reference: str | Path, limits: Limits = LIMITS) -> JudgeMarks:
    """Read a judge's marks as the outcomes of the models that it marked.

    Raises:
        UsageError: the file cannot be read, or holds no marks of two models.
    """
    kinds = [TableOptions(answers="outcomes", scale=ANY_SCALE), LogOptions(scale=ANY_SCALE)]
    inspected = inspect_references([reference], SourceOptions(kinds=kinds, limits=limits))
    try:
        own_plan = plan(gather_without_truth(inspected), Evidence("none", factors=()))
    except UsageError as error:
        raise UsageError(f"`judges`: {name}: {error}", option="judges", value=str(reference)) from error
    examples = own_plan.rows.population
    values = {
        reply.model.name: own_plan.task.outcomes(population_answers(reply).predictions, examples)
        for reply in collect(own_plan, Runtime(store=None)).answered
    }
    return JudgeMarks(tuple(values), tuple(example.id for example in examples), values)


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


def judged(table: ScoreTable, judges: Mapping[str, JudgeMarks]) -> JudgeContext:
    """Put judges' marks beside people's scores: first the rows that people marked, then all others.

    Args:
        table: people's scores.
        judges: name -> its marks.

    Raises:
        UsageError: a judge marked no answer of a model, or no row that people marked.
    """
    ids = list(dict.fromkeys([*table.examples, *(row for marks in judges.values() for row in marks.rows)]))
    for name, marks in judges.items():
        if missing := [model for model in table.models if model not in marks.models]:
            text = f"marked no answer of {listed(missing)}; it marked those of {listed(marks.models)}"
            raise UsageError(f"`judges`: {name} {text}", option="judges", value=name)
        if not {*marks.rows} & {*table.examples}:
            raise UsageError(f"`judges`: {name} marked no row that people marked", option="judges", value=name)
    people = _aligned(dict(zip(table.models, table.outcomes, strict=True)), table.models, table.examples, ids)
    of_judges = [_aligned(marks.values, table.models, marks.rows, ids) for marks in judges.values()]
    return JudgeContext(tuple(table.models), tuple(judges), JudgedMarks(people, np.array(of_judges)))


def _aligned(values: Mapping[str, Floats], models: Sequence[str], rows: Sequence[str], ids: Sequence[str]) -> Floats:
    """Return (M, N) values of models on all rows, nan where there is none."""
    places = {row: place for place, row in enumerate(ids)}
    aligned = np.full((len(models), len(ids)), np.nan)
    aligned[:, [places[row] for row in rows]] = [values[model] for model in models]
    return aligned
