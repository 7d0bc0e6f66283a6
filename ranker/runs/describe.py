"""Describe one file of answers: its contents, answers, and accuracy if it has true labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from factors import Example
from ranker.errors import ModelError, listed
from ranker.numbers import counted, interval, percent
from ranker.runs.inspected import InspectedModels
from ranker.runs.rows import RowsFile
from ranker.sources.base import Machine, ResourceCache, Source
from ranker.sources.faults import model_errors
from ranker.statistics.rows import mean_belief
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER, Task
from ranker.tasks.classes import label_names

STATES = {NO_ANSWER: "no answer", ERROR: "failed or not scored", MISSING: "not asked"}
"""State of an answer -> its description."""

MAX_LISTED_LABELS = 20
"""Limit on the labels that are listed with counts."""


def describe_model(inspected: InspectedModels, beside: RowsFile | None = None) -> Iterator[str]:
    """Describe the file of one model, line by line, beside labelled rows, or else with those in its file.

    Raises:
        ModelError: it cannot be read, or answers none of the rows.
    """
    (info,), (model,) = inspected.infos, inspected.unpinned
    if info.trouble:
        raise ModelError(info.trouble, place=model.source.place)
    yield f"{model.source.place}: one model, {model.name}"
    yield from info.contents if beside is None else info.contents[:1]
    if beside is not None:
        rows = beside.labelled(inspected.infos)
        yield f"{counted(len(rows.examples), 'labelled row')} in {rows.origin}"
        yield from _describe_answers(info.source, rows.task, rows.examples, inspected.cache)
    elif info.rows is not None:
        yield from _describe_answers(info.source, info.rows.task, info.rows.examples, inspected.cache)
    for note in info.notes:
        yield f"- {note[:1].upper()}{note[1:].rstrip('.')}."
    yield "A ranking needs two models or more: name another one with `models`."


def _describe_answers(source: Source, task: Task, examples: Sequence[Example], cache: ResourceCache) -> Iterator[str]:
    """Describe the model's answers to rows, and their accuracy."""
    with model_errors():
        blocks = list(source.open(task, Machine(), cache).predict(examples, lambda done: None))
    state = np.concatenate([block.state for block in blocks])
    labels = label_names(task)
    probs = [probs for block in blocks if (probs := block.probabilities()) is not None]
    if labels and probs:
        answered_probs = np.concatenate(probs)[state == ANSWERED]
        counts = Counter(labels[n] for n in answered_probs.argmax(axis=1).tolist())
        yield f"answers: {listed(f'{label} {count:,}' for label, count in counts.most_common(MAX_LISTED_LABELS))}"
    silence = Counter(STATES[code] for code in state.tolist() if code != ANSWERED)
    if silence:
        yield listed(f"{phrase} {count:,}" for phrase, count in silence.items())
    outcomes = np.concatenate([task.outcomes(block, examples) for block in blocks])
    judged = outcomes[~np.isnan(outcomes)]
    if len(judged):
        _, (low,), (high,) = mean_belief(judged[np.newaxis])
        accuracy = f"{percent(float(judged.mean()))} % ({interval(low, high)}) on {counted(len(judged), 'row')}"
        yield f"{'accuracy' if task.metric == 'ACC' else task.metric}: {accuracy}"
