"""What `rank-models choose` does: the rows of a pool to label next, as a file to fill in."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from factors import Example
from factors.types import Floats
from ranker.datasets.pools import check_alike, with_labelled
from ranker.datasets.readers import Sheet, blank, unlabelled, written
from ranker.errors import ModelError, UsageError
from ranker.measure import ModelOptions, Question, Subject
from ranker.progress import Progress, silent
from ranker.statistics import choice
from ranker.statistics.pool import Pool
from ranker.suites import Suite
from ranker.survey import survey
from ranker.tasks.classes import Task

if TYPE_CHECKING:
    from ranker.store import Store

log = logging.getLogger(__name__)

COLUMNS = {1: ("text",), 2: ("text1", "text2")}
"""The columns of texts that stood in a list, by their number; `datasets.readers` knows these names."""


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
    question = Question("predictions", rows)

    def ask(subject: Subject) -> list[Floats]:
        return [row.probs for row in subject.answer(question, progress)]

    found, failures = survey([(model, [question]) for model in suite.models], ask, task, options, store, progress)
    if len(found) < 2:
        raise ModelError(f"nothing to choose by: {len(failures)} of {len(suite.models)} models failed")
    return Pool(np.array(list(found.values()))), failures


def to_fill_in(pool: Sheet, chosen: Sequence[Example], label: str = "label") -> str:
    """A CSV table of rows of a file, with all of its columns, and one for their labels, if it has none.

    Filled in, it is read as the pool is. Cells stand there as they are: one that begins with "=" is a formula to a
    spreadsheet (see SECURITY.md).

    Args:
        pool: the file.
        chosen: rows of it.
        label: the column of labels to add.

    Example:
        >>> from ranker.datasets.readers import sheet
        >>> pool = sheet([{"text": "A dog ran.", "seen": 3}], required=["text"])
        >>> print(to_fill_in(pool, unlabelled(pool)), end="")
        text,seen,label
        A dog ran.,3,
    """
    cells = dict(zip((row.id for row in unlabelled(pool)), (row.cells for row in pool.rows), strict=True))
    label = pool.layout.label or label
    labels = dict(zip(cells, written(pool), strict=True))
    rows = [_flat(cells[row.id], row, pool.layout.text) for row in chosen]
    columns = dict.fromkeys([*(column for row in rows for column in row), label])
    rows = [{**flat, label: labels[row.id] or ""} for flat, row in zip(rows, chosen, strict=True)]
    file = io.StringIO()
    # a bare return is quoted with everything, or not at all
    bare = any("\r" in text for row in rows for pair in row.items() for text in pair)
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows([row.get(column, "") for column in columns] for row in rows)
    return file.getvalue()


def _flat(cells: Mapping[str, Any], row: Example, texts: Sequence[str]) -> dict[str, str]:
    """A row's cells as text; those that hold its texts as a list become columns of their own."""
    flat: dict[str, str] = {}
    for column, cell in cells.items():
        if column in texts and isinstance(cell, list):
            flat.update(zip(COLUMNS[len(row.segments)], row.segments, strict=True))
        else:
            flat[column] = _written(cell).encode(errors="replace").decode()  # JSON can say half a character
    return flat


def _written(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return "" if blank(cell) else json.dumps(cell, ensure_ascii=False, default=str)
