"""What `rank-models choose` does: the rows of a pool to label next, as a file to fill in."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from factors import Example
from ranker import choice
from ranker.backends import Settings
from ranker.cards import Task
from ranker.errors import UsageError
from ranker.measure import ModelOptions, Question, Subject
from ranker.pipeline import with_labelled
from ranker.pool import Pool
from ranker.progress import Progress, silent
from ranker.suites import Suite
from ranker.workers import ahead

if TYPE_CHECKING:
    from ranker.classifiers import Bases
    from ranker.store import Store

log = logging.getLogger(__name__)

COLUMNS = {1: ("text",), 2: ("text1", "text2")}
"""The columns of a file to fill in, by the number of segments; `ranker.readers` knows these names."""


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
) -> list[Example]:
    """Choose the rows of a pool whose labels would tell most about which model is best.

    Args:
        suite: the models.
        task: what they do.
        pool: rows, of which no label is looked at.
        count: how many to choose.
        labelled: rows that have a label already; those in the pool are not chosen again, and the others count as well.
        rule: a name in `ranker.choice.RULES`.
        seed: of the random rule.
        options: how models are loaded and run.
        store: where predictions are kept.
        progress: opens a stage of the work on one model.

    Returns:
        The rows, the most useful first; a text that stands in the pool twice is chosen once.

    Raises:
        UsageError: the pool has too few different rows, or some of one text and some of two.
        ModelError: a model cannot be loaded or run.
        StoreError: the store cannot be read or written.
    """
    if len({len(row.segments) for row in pool}) > 1:
        raise UsageError("the pool has rows of one text and rows of two; choose from either by itself")
    distinct = list({row.segments: row for row in reversed(pool)}.values())[::-1]
    rows, places = with_labelled(distinct, labelled)
    left = len(rows) - len(set(places.tolist()))
    if not 1 <= count <= left:
        raise UsageError(f"`--labels` must be between 1 and {left}, the rows of the pool without a label (got {count})")
    seen = predictions(suite, task, rows, options, store, progress)
    return [rows[n] for n in choice.choose(seen, count, places.tolist(), rule, seed)]


def predictions(
    suite: Suite,
    task: Task,
    rows: Sequence[Example],
    options: ModelOptions = ModelOptions(),
    store: Store | None = None,
    progress: Progress = silent,
) -> Pool:
    """What the models of a suite make of rows.

    Raises:
        ModelError: a model cannot be loaded or run.
        StoreError: the store cannot be read or written.
    """
    question = Question("predictions", rows, "none", Settings())
    ahead([(model, [question]) for model in suite.models], task, options, store, progress)
    bases: Bases = {}
    subjects = (Subject(model, task, options, store, bases) for model in suite.models)  # one network at a time
    found = [[row.probs for row in subject.answer(question, progress)] for subject in subjects]
    return Pool(np.array(found))


def to_fill_in(rows: Sequence[Example]) -> str:
    """A CSV table of rows with an empty column for their labels, which `rank-models --data` reads once it is filled.

    Texts stand there as they are, since they are read back: one that begins with "=" is a formula to a spreadsheet
    (see SECURITY.md).

    Example:
        >>> print(to_fill_in([Example("7", ("A dog ran.", "It moved."), -1)]), end="")
        id,text1,text2,label
        7,A dog ran.,It moved.,
    """
    file = io.StringIO()
    bare = any("\r" in text for row in rows for text in row.segments)  # which is quoted with everything, or not at all
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL)
    writer.writerow(["id", *COLUMNS[len(rows[0].segments)], "label"])
    writer.writerows([row.id, *row.segments, ""] for row in rows)
    return file.getvalue()
