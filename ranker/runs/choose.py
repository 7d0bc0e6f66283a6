"""What `rank-models choose` does: the rows of a pool to label next."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from factors import Example
from factors.types import Floats
from ranker.datasets.pools import check_alike, with_labelled
from ranker.errors import ModelError, UsageError
from ranker.progress import Progress, silent
from ranker.runtime.base import Request
from ranker.runtime.executors.serial import survey
from ranker.runtime.guest import Subject
from ranker.sources.base import ModelOptions
from ranker.sources.suites import Suite
from ranker.statistics import choice
from ranker.statistics.pool import Pool
from ranker.tasks.classes import Task

if TYPE_CHECKING:
    from ranker.runtime.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Choice:
    """Rows to label next.

    Attributes:
        rows: the most useful first.
        failures: model -> why it could not be asked.
    """

    rows: tuple[Example, ...]
    failures: Mapping[str, str] = field(default_factory=dict)


def choose(
    suite: Suite,
    task: Task,
    pool: Sequence[Example],
    count: int,
    *,
    labelled: Sequence[Example] = (),
    rule: str = choice.DEFAULT,
    seed: int = 0,
    options: ModelOptions = ModelOptions(),
    store: Store | None = None,
    progress: Progress = silent,
) -> Choice:
    """Choose the rows of a pool whose labels would tell most about which model is best.

    Args:
        suite: the models.
        task: what they do.
        pool: rows, of which no label is looked at.
        count: how many to choose.
        labelled: rows that have a label already; those in the pool are not chosen again, and the others count as well.
        rule: a name in `statistics.choice.RULES`.
        seed: of the random rule.
        options: how models are loaded and run.
        store: where predictions are kept.
        progress: opens a stage of the work on one model.

    Returns:
        The rows; a text that stands in the pool twice is chosen once. Models that failed have no say, and are listed.

    Raises:
        UsageError: the pool has too few different rows, or some of one text and some of two.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.
    """
    distinct = list({row.segments: row for row in reversed(pool)}.values())[::-1]
    rows, places = with_labelled(distinct, labelled)
    check_alike(rows)
    left = len(rows) - len(set(places.tolist()))
    if not left:
        raise UsageError("no row is left to choose: all of the pool have a label")
    if not 1 <= count <= left:
        raise UsageError(f"`--labels` must be between 1 and {left}, the rows of the pool without a label (got {count})")
    seen, failures = predictions(suite, task, rows, options, store, progress)
    if (seen.predicted == seen.predicted[0]).all():
        log.warning("all models predict the same on every row of the pool; no label would tell them apart")
    return Choice(tuple(rows[n] for n in choice.choose(seen, count, places.tolist(), rule, seed)), failures)


def predictions(
    suite: Suite,
    task: Task,
    rows: Sequence[Example],
    options: ModelOptions = ModelOptions(),
    store: Store | None = None,
    progress: Progress = silent,
) -> tuple[Pool, dict[str, str]]:
    """What the models of a suite make of rows, and why the others of them make nothing of these.

    Raises:
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.
    """
    question = Request("predictions", rows)

    def ask(subject: Subject) -> Floats:
        return subject.answer(question, progress).predictions.probs

    found, failures = survey([(model, [question]) for model in suite.models], ask, task, options, store, progress)
    if len(found) < 2:
        raise ModelError(f"nothing to choose by: {len(failures)} of {len(suite.models)} models failed")
    return Pool(np.array(list(found.values()))), failures
