"""Choose rows of a pool to write references for, where answers are no labels: `rank-models label --batch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from factors.types import Example
from ranker.datasets import readers
from ranker.datasets.readers import Sheet
from ranker.errors import ModelError, UsageError
from ranker.runs.collect import collect
from ranker.runs.gather import InspectedModels, RowsFile
from ranker.runs.label import distinct_rows, prediction_plan
from ranker.runs.pool import MAX_COMPARED_ROWS, compare_answers, population_answers
from ranker.runs.task import decide_task
from ranker.runtime.runtime import Runtime
from ranker.statistics.anchors import choose_rows
from ranker.tasks.base import NO_ANSWER
from ranker.tasks.values import has_values


class ChosenRows(NamedTuple):
    """Rows to write references for.

    Attributes:
        rows: the most useful first.
        sheet: the pool, as written.
        pool: its rows, in the order of the sheet.
        failures: model -> why it could not be asked.
    """

    rows: tuple[Example, ...]
    sheet: Sheet
    pool: tuple[Example, ...]
    failures: Mapping[str, str]


def choose_batch(
    pool: RowsFile,
    models: InspectedModels,
    count: int,
    rule: str,
    seed: int,
    runtime: Runtime = Runtime(),
    metric: str = "",
) -> ChosenRows:
    """Choose rows of a pool: those that tell models apart best by ANCHORS, or random ones.

    Rows that have a reference are left out. Of a pool of more than `MAX_COMPARED_ROWS` such rows some are drawn first.

    Args:
        pool: the file of rows, and the options that name the task.
        models: the models.
        count: how many rows; fewer where fewer are left.
        rule: "order", or "random".
        seed: of random rows.
        runtime: how models run.
        metric: by which answers are compared; "" for the task's own.

    Raises:
        UsageError: there is no such metric of rows, another rule, or the pool has no row without a reference.
        ModelError: fewer than two models could be asked, or no row is in the files of all.
    """
    if rule not in ("order", "random"):
        raise UsageError(f"`rule` {rule} is for labels; here it is order or random", option="rule", value=rule)
    task = decide_task(pool.named_task, infos=models.infos)
    assert has_values(task)  # the caller checks it
    if metric and task.metric_named(metric) is not None:
        text = f"{metric} is of all rows together, and rows are chosen one by one; name a metric of rows"
        raise UsageError.about("metric", text, metric)
    task = task.judged_by(metric)
    sheet = pool.with_texts()
    examples = readers.unlabelled(sheet)
    with_reference = {
        row.segments for row, cell in zip(examples, readers.raw_labels(sheet), strict=True) if cell is not None
    }
    candidates = [row for row in distinct_rows(examples) if row.segments not in with_reference]
    if not candidates:
        raise UsageError(f"{sheet.origin} has no row without a reference", place=sheet.origin)
    rng = np.random.default_rng(seed)
    if rule == "random":
        order = rng.permutation(len(candidates))[:count].tolist()
        return ChosenRows(tuple(candidates[place] for place in order), sheet, examples, {})
    if len(candidates) > MAX_COMPARED_ROWS:
        drawn = np.sort(rng.choice(len(candidates), MAX_COMPARED_ROWS, replace=False))
        candidates = [candidates[place] for place in drawn.tolist()]
    run_plan = prediction_plan(models, task, candidates)
    collected = collect(run_plan, runtime)
    if len(collected.answered) < 2:
        text = f"nothing to choose by: {len(collected.failures)} of {len(models.infos)} models failed"
        raise ModelError(text, option="models")
    answers = {reply.model.name: population_answers(reply).predictions for reply in collected.answered}
    answered = np.flatnonzero(np.all([of_model.state <= NO_ANSWER for of_model in answers.values()], axis=0))
    if not len(answered):
        raise ModelError("nothing to choose by: no row is in the files of all models", option="models")
    anchors = compare_answers(task, {name: of_model.part(answered) for name, of_model in answers.items()}, runtime)
    chosen: Sequence[int] = answered[choose_rows(anchors, count)].tolist()
    return ChosenRows(tuple(candidates[place] for place in chosen), sheet, examples, collected.failures)
