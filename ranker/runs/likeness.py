"""Compare models' answers that are no labels with each other, and store how alike they are.

A row is stored under all its answers, so that only rows with other answers, or of other models, are compared anew. What
the metric of a task depends on is part of the key; a metric that is not ours (`functions`) is computed each time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from factors.types import Floats
from ranker.runs import functions
from ranker.runtime.runtime import Runtime
from ranker.runtime.shards import MeasureColumn
from ranker.runtime.store import Entry, Store, load_or_compute
from ranker.sources.base import version
from ranker.statistics.likeness import Anchors
from ranker.tasks.base import Predictions
from ranker.tasks.metrics import Metric
from ranker.tasks.values import ValueTask

REVISION = 2
"""Version of the stored likeness; raised when the same sources give other numbers, those of BERTScore included."""

LIBRARIES = ("rapidfuzz", "sacrebleu", "nltk", "nervaluate", "torch", "transformers")
"""Packages that compute metrics, by version."""


def compare_answers(
    task: ValueTask,
    answers: Mapping[str, Predictions],
    runtime: Runtime,
    store: Store | None = None,
    references: Mapping[str, Predictions] = {},  # noqa: B006  # it is only read
    families: Sequence[str] = (),
    trusted: Collection[str] = (),
) -> Anchors:
    """Compute how alike models' answers to the same rows are, where that is not stored.

    Args:
        answers: model -> its answers to N rows.
        store: store of earlier comparisons; None to store nothing.
        references: name -> answers to the same rows that are not ranked, which those of models are compared with, too.
        families: (M,) the models' families, which count if each has one; "" where unknown.
        trusted: names of the references that are known to be better than the models.
    """
    anchors = {**answers, **references}
    entry = None if store is None else _entry(task, store)
    names = [_row_name(row) for row in zip(*(anchor.answers() or () for anchor in anchors.values()), strict=True)]

    def compare(places: Sequence[int]) -> list[MeasureColumn]:
        new_rows = {name: anchor.part(places) for name, anchor in anchors.items()}
        rows = _compare(task, {name: new_rows[name] for name in answers}, new_rows, runtime)
        return [MeasureColumn(row, np.full(len(row), -1)) for row in rows]

    columns, shape = load_or_compute(entry, names, compare), (len(answers), len(anchors))
    similarity = np.stack([column.values.reshape(shape) for column in columns], axis=2)
    return Anchors(similarity, tuple(families) if all(families) else (), tuple(name in trusted for name in references))


TEXTS = 1 << 8
"""Answers that are compared with each other before others are, so that what a metric counts of a text is at hand."""


def _compare(
    task: ValueTask, answers: Mapping[str, Predictions], anchors: Mapping[str, Predictions], runtime: Runtime
) -> Floats:
    """Return (N, M * A) likeness of each answer of a model to each anchor."""
    rows = len(next(iter(answers.values())))
    size, parts = max(TEXTS // len(anchors), 1), [np.zeros((0, len(answers) * len(anchors)))]
    with runtime.steps(f"comparing {len(answers):,} models' answers", rows) as watch:
        for start in range(0, rows, size):
            places = range(start, min(start + size, rows))
            of_models, of_anchors = (
                [predictions.part(places) for predictions in several.values()] for several in (answers, anchors)
            )
            parts.append(task.likeness(of_models, of_anchors).reshape(-1, len(places)).T)
            watch(f"{places.stop:,} of {rows:,} rows are done", len(places))
    return np.concatenate(parts)


def compare_statistics(
    task: ValueTask,
    metric: Metric,
    answers: Mapping[str, Predictions],
    references: Mapping[str, Predictions],
    runtime: Runtime,
) -> Floats:
    """Return (M, A, N, k) statistics of models' answers for a metric of all rows, were other answers the truth."""
    targets = [[*map(task.as_target, anchor.answers() or ())] for anchor in (*answers.values(), *references.values())]
    statistics: list[list[Floats]] = []
    with runtime.steps(f"comparing {len(answers):,} models' answers by {metric.name}", len(answers)) as watch:
        for name, predictions in answers.items():
            statistics.append([metric.statistics(predictions.answers() or (), of_anchor) for of_anchor in targets])
            watch(f"those of {name} are done", 1)
    return np.array(statistics)


def _entry(task: ValueTask, store: Store) -> Entry | None:
    """Return the store's entry for a task and its metric; None if they cannot be identified."""
    identity = functions.identity(task)
    if identity is None:
        return None
    versions = {name: version(name) for name in LIBRARIES}
    return store.entry({"scores": REVISION, "of": {"likeness": identity, "made with": versions}}, task.metric)


def _row_name(answers: Sequence[Any]) -> bytes:
    """Return 32 bytes that identify the answers to a row: those of the models, then references."""
    return hashlib.sha256(json.dumps(answers).encode()).digest()
