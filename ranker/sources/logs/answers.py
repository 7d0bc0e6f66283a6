"""Answers of a log to the requested rows: how good they are, and their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.errors import DataError, listed
from ranker.sources.logs.base import TaskLog
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER, Predictions, Task
from ranker.tasks.classes import ClassificationTask, ClassProbabilities, label_names, softmax
from ranker.tasks.precomputed import PrecomputedScores


def match_rows(log: TaskLog, examples: Sequence[Example]) -> Ints:
    """Return (N,) the row of a log for each example, by id; else by text, if it is unique in the log; else -1.

    An id that may be a mere position counts only if the texts agree.

    Raises:
        DataError: no example is a row of the log.
    """
    by_id = {key: n for n, key in enumerate(log.keys)}
    rows = [by_id.get(example.id, -1) for example in examples]
    if max(rows, default=-1) >= 0 and not log.numbered:
        return np.array(rows)
    requested = [_words("\n".join(example.segments)) for example in examples]
    texts = [_words(text) for text in log.texts]
    if log.numbered:
        rows = [n if n >= 0 and texts[n] == text else -1 for n, text in zip(rows, requested, strict=True)]
    if max(rows, default=-1) < 0:
        often = Counter(texts)
        by_text = {text: n for n, text in enumerate(texts) if text and often[text] == 1}
        rows = [by_text.get(text, -1) for text in requested]
    if max(rows, default=-1) < 0:
        raise DataError("no row of the log is one of those asked about")
    return np.array(rows)


def read_scores(log: TaskLog, outcomes: Floats, rows: Ints, task: Task) -> PrecomputedScores:
    """Read how good the answers are, and their labels if the task has those of the log.

    Args:
        outcomes: (R,) of its rows, in [0, 1].
        rows: (N,) row of each example, -1 for none.
    """
    joined = rows >= 0
    state, values = np.full(len(rows), MISSING), np.full(len(rows), np.nan)
    state[joined], values[joined] = log.state[rows[joined]], outcomes[rows[joined]]
    state[(state != NO_ANSWER) & joined & np.isnan(values)] = ERROR
    state[(state == NO_ANSWER) & (values > 0)] = ANSWERED  # some measures score silence above 0
    probs = _probs(log, rows) if len(log.labels) > 1 and label_names(task) == log.labels else None
    if probs is not None:  # a wrong answer that is no label is no answer
        state[(state == ANSWERED) & np.isnan(probs).any(axis=1) & (values == 0)] = NO_ANSWER
    return PrecomputedScores(values, state, probs)


def read_texts(log: TaskLog, rows: Ints, task: Task) -> Predictions:
    """Read what the model wrote, for a task that judges texts."""
    texts = [log.responses[row] if row >= 0 else "" for row in rows.tolist()]
    failed = [row >= 0 and log.state[row] == ERROR and log.metric != "" for row in rows.tolist()]
    state = np.where(rows < 0, MISSING, np.where(failed, ERROR, NO_ANSWER))
    state[[bool(text.strip()) for text in texts]] = ANSWERED
    return task.predictions([text if text.strip() else None for text in texts], state)


def read_labels(log: TaskLog, rows: Ints, task: ClassificationTask) -> ClassProbabilities:
    """Read the labels of the answers, in the task's order, for a task that is judged by labels alone.

    Raises:
        DataError: the log has no labels, or others than the task.
    """
    if not log.labels:
        raise DataError("the log says how good answers were, and not which labels they are")
    probs_of_log, probs = _probs(log, rows), np.zeros((len(rows), len(task.labels)))
    for column, label in enumerate(log.labels):
        place = task.index(label)
        if place is None:
            theirs = f"the labels of the log are {listed(log.labels)}"
            raise DataError(f"{theirs}, and those of the rows {listed(task.labels)}", value=label, allowed=task.labels)
        probs[:, place] += probs_of_log[:, column]  # several may be one label of the task
    state = np.full(len(rows), MISSING)
    state[rows >= 0] = log.state[rows[rows >= 0]]
    silent = np.isnan(probs).any(axis=1)
    state[(state == ANSWERED) & silent] = NO_ANSWER
    state[(state == NO_ANSWER) & ~silent] = ANSWERED
    return ClassProbabilities(probs, state)


def _probs(log: TaskLog, rows: Ints) -> Floats:
    """Return (N, C) the softmax of the log-likelihoods, else one-hot labels; nan without a label."""
    probs = np.full((len(rows), len(log.labels)), np.nan)
    joined = rows >= 0
    if log.scores is not None:
        probs[joined] = softmax(log.scores[rows[joined]])
        return probs
    chosen = log.answers[rows[joined]]
    labelled = np.flatnonzero(joined)[chosen >= 0]
    probs[labelled] = np.eye(len(log.labels))[chosen[chosen >= 0]]
    return probs


def _words(text: str) -> str:
    """Collapse white space."""
    return " ".join(text.split())
