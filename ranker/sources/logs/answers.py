"""What a log answers to the rows that are asked about: how good that was, and which labels it said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.errors import DataError, listed
from ranker.sources.logs.base import TaskLog
from ranker.tasks.base import ANSWERED, ERROR, MISSING, NO_ANSWER, Task
from ranker.tasks.classes import ClassificationTask, ClassProbabilities, label_names, softmax
from ranker.tasks.precomputed import PrecomputedScores


def places(found: TaskLog, examples: Sequence[Example]) -> Ints:
    """(N,) the row of a log that each example is, by its id; else by its text, if one row alone has it; else -1.

    An id that may be a mere position counts only where the texts agree.

    Raises:
        DataError: no example is a row of the log.
    """
    asked = [_words("\n".join(example.segments)) for example in examples]
    texts = [_words(text) for text in found.texts]
    by_id = {key: n for n, key in enumerate(found.keys)}
    at = [by_id.get(example.id, -1) for example in examples]
    if found.numbered:
        at = [n if n >= 0 and texts[n] == text else -1 for n, text in zip(at, asked, strict=True)]
    if max(at, default=-1) < 0:
        often = Counter(texts)
        by_text = {text: n for n, text in enumerate(texts) if text and often[text] == 1}
        at = [by_text.get(text, -1) for text in asked]
    if max(at, default=-1) < 0:
        raise DataError("no row of the log is one of those asked about")
    return np.array(at)


def read_scores(found: TaskLog, outcomes: Floats, at: Ints, task: Task) -> PrecomputedScores:
    """How good the answers are, and their labels where the task has those of the log.

    Args:
        found: the log.
        outcomes: (R,) of its rows, in [0, 1].
        at: (N,) the row of each example, -1 for none.
        task: what the outcomes are.
    """
    there = at >= 0
    state, values = np.full(len(at), MISSING), np.full(len(at), np.nan)
    state[there], values[there] = found.state[at[there]], outcomes[at[there]]
    state[(state != NO_ANSWER) & there & np.isnan(values)] = ERROR
    state[(state == NO_ANSWER) & (values > 0)] = ANSWERED  # a measure that is above 0 for silence, too, is ranked on
    probs = _probs(found, at) if len(found.labels) > 1 and label_names(task) == found.labels else None
    if probs is not None:  # what is none of the labels is wrong, and no answer
        state[(state == ANSWERED) & np.isnan(probs).any(axis=1) & (values == 0)] = NO_ANSWER
    return PrecomputedScores(values, state, probs)


def read_labels(found: TaskLog, at: Ints, task: ClassificationTask) -> ClassProbabilities:
    """The labels of the answers, in the order of a task that is judged by these alone.

    Args:
        found: the log.
        at: (N,) the row of each example, -1 for none.
        task: the labels that the rows have.

    Raises:
        DataError: the log has no labels, or others than the task.
    """
    if not found.labels:
        raise DataError("the log says how good answers were, and not which labels they are")
    said, probs = _probs(found, at), np.zeros((len(at), len(task.labels)))
    for column, label in enumerate(found.labels):
        place = task.index(label)
        if place is None:
            theirs = f"the labels of the log are {listed(found.labels)}"
            raise DataError(f"{theirs}, and those of the rows {listed(task.labels)}")
        probs[:, place] += said[:, column]  # several of them may be one of the task's
    state = np.full(len(at), MISSING)
    state[at >= 0] = found.state[at[at >= 0]]
    silent = np.isnan(probs).any(axis=1)
    state[(state == ANSWERED) & silent] = NO_ANSWER
    state[(state == NO_ANSWER) & ~silent] = ANSWERED
    return ClassProbabilities(probs, state)


def _probs(found: TaskLog, at: Ints) -> Floats:
    """(N, C) softmax of the log-likelihoods, else the chosen label alone; nan where there is no label."""
    probs = np.full((len(at), len(found.labels)), np.nan)
    there = at >= 0
    if found.scores is not None:
        probs[there] = softmax(found.scores[at[there]])
        return probs
    chosen = found.answers[at[there]]
    known = np.flatnonzero(there)[chosen >= 0]
    probs[known] = np.eye(len(found.labels))[chosen[chosen >= 0]]
    return probs


def _words(text: str) -> str:
    """A text without differences of blanks."""
    return " ".join(text.split())
