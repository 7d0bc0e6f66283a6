"""One file of answers alone: what is in it, what its models answer, and how good that is, where the file says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ranker.errors import ModelError, listed
from ranker.numbers import counted, interval, percent
from ranker.runs.gather import Looked
from ranker.sources.base import Brought, Machine, Shelf, Source
from ranker.statistics.posterior import intervals_of_accuracy
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER

STATES = {NO_ANSWER: "no answer", ERROR: "failed or not scored", MISSING: "not asked"}
"""State of an answer -> what is said of it."""

MOST = 20
"""Kinds of answers that are listed."""


def described(seen: Looked) -> Iterator[str]:
    """What the file of one model says, a line each.

    Raises:
        ModelError: it cannot be read.
    """
    (stated,), (model,) = seen.stated, seen.named
    if stated.trouble:
        raise ModelError(stated.trouble)
    yield f"{model.source.place}: one model, {model.name}"
    yield from stated.contents
    if stated.rows is not None:
        yield from _judged(stated.source, stated.rows, seen.shelf)
    for note in stated.notes:
        yield f"- {note[:1].upper()}{note[1:].rstrip('.')}."
    yield "A ranking needs two models or more: name another one with `models`."


def _judged(source: Source, rows: Brought, shelf: Shelf) -> Iterator[str]:
    """What the model answers to the rows of its file, and how good that is."""
    blocks = list(source.open(rows.task, Machine(), shelf).predict(rows.examples, lambda done: None))
    state = np.concatenate([one.state for one in blocks])
    labels: Sequence[str] = rows.task.labels
    probs = [one.probs for one in blocks if one.probs is not None]
    if labels and probs:
        known = np.concatenate(probs)[state == ANSWERED]
        says = Counter(labels[n] for n in known.argmax(axis=1).tolist())
        yield f"answers: {listed(f'{label} {count:,}' for label, count in says.most_common(MOST))}"
    silence = Counter(STATES[one] for one in state.tolist() if one != ANSWERED)
    if silence:
        yield listed(f"{what} {count:,}" for what, count in silence.items())
    outcomes = np.concatenate([rows.task.outcomes(block, rows.examples) for block in blocks])
    judged = outcomes[~np.isnan(outcomes)]
    if len(judged):
        (low,), (high,) = intervals_of_accuracy(judged[np.newaxis])
        of = f"{percent(float(judged.mean()))} % ({interval(low, high)}) on {counted(len(judged), 'row')}"
        yield f"{_called(rows)}: {of}"


def _called(rows: Brought) -> str:
    return "accuracy" if rows.task.metric == "ACC" else rows.task.metric
