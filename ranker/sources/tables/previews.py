"""Previews of the ways to read an ambiguous file: its models and first rows, as they are read so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ranker.datasets.readers import Sheet, raw_labels
from ranker.errors import FileReading, Question, RankModelsError, listed, printed
from ranker.sources.tables.base import NONE, TableAnswerColumn, count
from ranker.sources.tables.reading import ParsedTable
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER

MAX_ROWS = 2
"""Most rows of a preview."""

MAX_READ = 1_000
"""Most rows of which a preview takes these."""

MAX_MODELS = 3
"""Most models in a row of a preview."""

STATES = {NO_ANSWER: "no answer", ERROR: "failed", MISSING: "not asked"}
"""Words for a row that a model does not answer."""

OUTCOMES = {0.0: "wrong", 1.0: "right"}
"""Words for an outcome; others are numbers."""


@contextmanager
def with_previews(preview: Callable[[Mapping[str, Any]], Sequence[str]]) -> Iterator[None]:
    """Preview the readings of a question, by what a file gives with their options: a head, then all rows.

    The rows that are kept are the first that differ between readings.
    """
    try:
        yield
    except Question as question:
        previews = [_preview(preview, reading) for reading in question.readings]
        alike = [len({*lines}) == 1 for lines in zip(*(lines[1:] for lines in previews if lines[1:]), strict=False)]
        places = sorted(sorted(range(len(alike)), key=alike.__getitem__)[:MAX_ROWS])
        question.readings = tuple(
            reading._replace(preview=(head, *(rows[place] for place in places if rows)))
            for reading, (head, *rows) in zip(question.readings, previews, strict=True)
        )
        raise


def _preview(preview: Callable[[Mapping[str, Any]], Sequence[str]], reading: FileReading) -> list[str]:
    try:
        return [*map(printed, preview(reading.options))]
    except RankModelsError as error:
        problem = str(error).removeprefix(f"{error.place}: ")
        return [f"{'asks further' if isinstance(error, Question) else 'refused'}: {problem}"]


def of_table(table: ParsedTable) -> list[str]:
    """Preview a table by itself."""
    rows = table.ids or [f"row {number}" for number in range(1, table.size + 1)]
    labels = table.task.labels if table.task is not None else ()
    codes = table.truth.tolist() if table.truth is not None and labels else [NONE] * table.size
    return of_models(table.models, rows, labels, [labels[code] if code != NONE else "" for code in codes])


def of_models(
    models: Sequence[TableAnswerColumn], rows: Sequence[str], labels: Sequence[str], truths: Iterable[str]
) -> list[str]:
    """Preview the answers of models to rows, by the rows' names; a true label is "" if there is none."""
    kinds = listed(dict.fromkeys(model.kind for model in models))
    of_labels = any(model.classes for model in models)
    names = f" {'/'.join(labels)}" if of_labels else ""
    called = [f"{model.name} " if len(models) > 1 else "" for model in models[:MAX_MODELS]]
    lines = [f"{listed((model.name for model in models), MAX_MODELS)}: {count(len(rows), 'row')}, {kinds}{names}"]
    for place, (row, truth) in enumerate(zip(rows[:MAX_READ], truths, strict=False)):
        answers = [f"{name}{_answer(model, place, labels)}" for name, model in zip(called, models, strict=False)]
        lines.append(f"{row}: {', '.join(answers)}{f' (truth {truth})' if truth and of_labels else ''}")
    return lines


def of_labels(rows: Sheet, names: Callable[[str], str]) -> list[str]:
    """Preview labels of rows by the names that they have in a reading."""
    labels = ["" if label is None else names(label) for label in raw_labels(rows)]
    head = f"{count(len(labels), 'row')}, labels {'/'.join(filter(None, dict.fromkeys(labels)))}"
    return [head, *(f"{row.place}: {label or 'no label'}" for row, label in zip(rows.rows, labels, strict=True))]


def _answer(model: TableAnswerColumn, place: int, labels: Sequence[str]) -> str:
    """Return the answer to a row in words."""
    state, answer = int(model.state[place]), model.answers[place]
    if state != ANSWERED:
        return STATES[state]
    if model.kind == "outcomes":
        return OUTCOMES.get(float(answer), f"{answer:.2f}")
    if not model.classes:
        return str(answer)
    label = int(model.part([place]).predicted[0])
    return f"{labels[label]} {answer[label]:.2f}" if model.answers.ndim == 2 else labels[label]
