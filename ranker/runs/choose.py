"""What `rank-models choose` does: the rows of a pool to label next."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from factors import Example
from factors.types import Ints
from ranker.datasets.pools import check_alike, with_labelled
from ranker.datasets.sets import OODSet
from ranker.errors import ModelError, UsageError
from ranker.results.choice import Choice
from ranker.runs.collect import collect
from ranker.runs.gather import Gathered, Models, Rows, looked
from ranker.runs.measured import Measuring
from ranker.runs.plan import plan
from ranker.runs.pool import placed, pool_of
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.statistics import choice
from ranker.statistics.pool import Pool
from ranker.tasks.base import Task

log = logging.getLogger(__name__)

NO_LABEL = "no answer"
"""What stands for the label of an answer that was not given: see `runs.pool`."""


def choose(
    models: Models,
    task: Task,
    pool: Sequence[Example],
    count: int,
    *,
    labelled: Sequence[Example] = (),
    rule: str = choice.DEFAULT,
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> Choice:
    """Choose the rows of a pool whose labels would tell most about which model is best.

    Args:
        models: a suite, references to models, or those that were looked at before.
        task: what they do.
        pool: rows, of which no label is looked at.
        count: how many to choose.
        labelled: rows that have a label already; those in the pool are not chosen again, and the others count as well.
        rule: "variance-reduction", "facility", "disagreement" or "random".
        seed: of the random rule.
        runtime: how models are run, and where predictions are kept.

    Returns:
        The rows; a text that stands in the pool twice is chosen once. Models that failed have no say, and are listed.

    Raises:
        UsageError: the pool has too few different rows, or some of one text and some of two.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.

    Example:
        >>> from ranker import choose, load_set, load_suite
        >>> models, pool = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=10)
        >>> choose(models, pool.task, pool.examples, 2)
        label 2 rows next: se_PP_on_obj-363, sn_PP_on_subject-229
    """
    distinct = list({row.segments: row for row in reversed(pool)}.values())[::-1]
    rows, places = with_labelled(distinct, labelled)
    check_alike(rows)
    left = len(rows) - len(set(places.tolist()))
    if not left:
        raise UsageError("no row is left to choose: all of the pool have a label")
    if not 1 <= count <= left:
        raise UsageError(f"`labels` must be between 1 and {left}, the rows of the pool without a label (got {count})")
    seen, asked, failures = predictions(models, task, rows, runtime)
    places = placed(places, asked, len(rows))
    if (seen.predicted == seen.predicted[0]).all():
        log.warning("all models predict the same on every row of the pool; no label would tell them apart")
    left = len(asked) - len(set(places[places >= 0].tolist()))
    if count > left:
        raise UsageError(f"`labels`: only {left} rows without a label are in the files of all models (got {count})")
    chosen = choice.choose(seen, count, places[places >= 0].tolist(), rule, seed)
    said = seen.predicted[:, chosen]
    shares = np.bincount(said.ravel(), minlength=len(task.labels)) / said.size
    predicted = dict(zip((*task.labels, NO_LABEL), shares.tolist(), strict=False))
    return Choice(tuple(rows[asked[n]] for n in chosen), failures, predicted)


def predictions(
    models: Models, task: Task, rows: Sequence[Example], runtime: Runtime = Runtime()
) -> tuple[Pool, Ints, Mapping[str, str]]:
    """What models make of rows, which rows these are, and why others of them make nothing of these.

    Raises:
        ModelError: fewer than two models could be asked, or some say nothing of labels.
        StoreError: the store cannot be read or written.
    """
    asked = Rows(OODSet("pool", task, tuple(rows), len(rows)), rows)
    made = plan(Gathered(looked(models), asked), Evidence("none", factors=()))
    collected = collect(made, runtime)
    if len(collected.answered) < 2:
        count = len(made.gathered.looked.models)
        raise ModelError(f"nothing to choose by: {len(collected.failures)} of {count} models failed")
    seen, at = pool_of(Measuring(made), collected.answered)
    if seen is None:
        why = "some models say only how good their answers were" if len(at) else "no row is in the files of all models"
        raise ModelError(f"nothing to choose by: {why}")
    return seen, at, collected.failures
