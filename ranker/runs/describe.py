"""One file of answers alone: what is in it, what its models answer, and how good that is, where the file says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from factors import Example
from ranker.errors import ModelError, listed
from ranker.numbers import counted, interval, percent
from ranker.runs.gather import InspectedModels, RowsFile
from ranker.sources.base import Machine, ResourceCache, Source
from ranker.statistics.posterior import intervals_of_accuracy
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER, Task
from ranker.tasks.classes import label_names

STATES = {NO_ANSWER: "no answer", ERROR: "failed or not scored", MISSING: "not asked"}
"""State of an answer -> what is said of it."""

MOST = 20
"""Kinds of answers that are listed."""


def describe_model(seen: InspectedModels, beside: RowsFile | None = None) -> Iterator[str]:
    """What the file of one model says, a line each.

    Args:
        seen: the model.
        beside: labelled rows that it answers; None for those that its file brings.

    Raises:
        ModelError: it cannot be read, or answers none of the rows.
        UsageError, DataError: the rows cannot be read: see `RowsFile.labelled`.
    """
    (stated,), (model,) = seen.stated, seen.named
    if stated.trouble:
        raise ModelError(stated.trouble)
    yield f"{model.source.place}: one model, {model.name}"
    yield from stated.contents if beside is None else stated.contents[:1]
    if beside is not None:
        rows = beside.labelled(seen.stated)
        yield f"{counted(len(rows.examples), 'labelled row')} in {rows.origin}"
        yield from _judged(stated.source, rows.task, rows.examples, seen.shelf)
    elif stated.rows is not None:
        yield from _judged(stated.source, stated.rows.task, stated.rows.examples, seen.shelf)
    for note in stated.notes:
        yield f"- {note[:1].upper()}{note[1:].rstrip('.')}."
    yield "A ranking needs two models or more: name another one with `models`."


def _judged(source: Source, task: Task, examples: Sequence[Example], shelf: ResourceCache) -> Iterator[str]:
    """What the model answers to rows, and how good that is."""
    blocks = list(source.open(task, Machine(), shelf).predict(examples, lambda done: None))
    state = np.concatenate([one.state for one in blocks])
    labels = label_names(task)
    probs = [probs for one in blocks if (probs := one.probabilities()) is not None]
    if labels and probs:
        known = np.concatenate(probs)[state == ANSWERED]
        says = Counter(labels[n] for n in known.argmax(axis=1).tolist())
        yield f"answers: {listed(f'{label} {count:,}' for label, count in says.most_common(MOST))}"
    silence = Counter(STATES[one] for one in state.tolist() if one != ANSWERED)
    if silence:
        yield listed(f"{what} {count:,}" for what, count in silence.items())
    outcomes = np.concatenate([task.outcomes(block, examples) for block in blocks])
    judged = outcomes[~np.isnan(outcomes)]
    if len(judged):
        (low,), (high,) = intervals_of_accuracy(judged[np.newaxis])
        of = f"{percent(float(judged.mean()))} % ({interval(low, high)}) on {counted(len(judged), 'row')}"
        yield f"{'accuracy' if task.metric == 'ACC' else task.metric}: {of}"
