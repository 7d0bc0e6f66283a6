"""Demonstrations: labelled rows that a prompt shows before the row that it asks about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ranker.datasets.readers import examples, raw_labels, read_sheet
from ranker.errors import LabelError, UsageError
from ranker.limits import LIMITS, Limits
from ranker.tasks.classes import has_labels

if TYPE_CHECKING:
    from ranker.tasks.base import Task


@dataclass(frozen=True)
class Demonstration:
    """A row with its answer.

    Attributes:
        answer: the cell of its file that holds the answer, as JSON.
    """

    segments: tuple[str, ...]
    answer: str


def draw(
    file: Path, count: int, seed: int, limits: Limits = LIMITS, columns: Mapping[str, Sequence[str]] | None = None
) -> tuple[Demonstration, ...]:
    """Draw rows of a file at random, as many of each label as possible, in a random order.

    With one seed, fewer demonstrations are the first ones drawn of more, label by label.

    Args:
        file: labelled rows, as `ranker.datasets.readers.read_sheet` reads them.
        columns: see `ranker.datasets.readers.read_sheet`; None for those with usual names.

    Raises:
        UsageError: it has fewer labelled rows; DataError: it cannot be read.
    """
    sheet = read_sheet(file, columns, limits=limits)
    labels = raw_labels(sheet)
    generator = np.random.default_rng(seed)
    of_label: dict[str, list[int]] = {}
    for row in generator.permutation(len(sheet.rows)).tolist():
        if labels[row] is not None:
            of_label.setdefault(str(labels[row]), []).append(row)
    turns = [(turn, label, row) for label, rows in of_label.items() for turn, row in enumerate(rows)]
    chosen = [row for _, _, row in sorted(turns)[:count]]
    if len(chosen) < count:
        text = f"must be at most {len(chosen)}, the labelled rows of {file} (got {count})"
        raise UsageError.about("shots", text, count, allowed=(0, len(chosen)))
    generator.shuffle(chosen)
    texts = examples([sheet.rows[row] for row in chosen], None, sheet.layout, limits=limits, size=sheet.size)
    column, names = sheet.layout.label or "", sheet.layout.numbers
    cells = [labels[row] if names else sheet.rows[row].cells[column] for row in chosen]
    return tuple(
        Demonstration(example.segments, json.dumps(cell, default=str))
        for example, cell in zip(texts, cells, strict=True)
    )


def answer_text(demonstration: Demonstration, task: Task, words: Mapping[str, Sequence[str]], name: str) -> str:
    """Return the answer to a demonstration as a prompt shows it: the label's first word, or the value.

    Args:
        words: label -> words for it; empty where answers are no labels.

    Raises:
        LabelError: the answer is none of the task's, or its label has no words.
    """
    cell = json.loads(demonstration.answer)
    try:
        target = task.target_of(cell, demonstration.segments)
    except ValueError as error:
        raise LabelError.at(name, f"a demonstration has an answer that is none of {task.name}: {error}") from error
    if not has_labels(task):
        first = target[0] if isinstance(target, tuple) and target else target
        return task.show(first or "")
    exact = [label for label in words if label == str(cell)]
    alike = [label for label in words if task.index(label) == target]
    return words[(exact or alike)[0]][0]
