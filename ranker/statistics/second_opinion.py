"""A second opinion on the models' accuracies: one step of EM from the labels that the vote gives the rows.

The vote has a weight for each model, whatever the label. Here each model has a full confusion matrix: from the label
probabilities of the vote follows how often it says a where the label is c, and from these matrices and the frequencies
of the labels follow new label probabilities,

    P'(c | row)  ~  P(c) * product over voters of P_v(a_v | c)^say_v * likelihood of the row's answers.

The accuracy of model m is the mean over rows of P'(its label). Silence is an answer, and never right. Each matrix
begins with one row for a label, spread evenly over all answers.

Source: Dawid and Skene 1979, one step of their EM, with a Dirichlet prior. Axis letters as in `vote`, and u rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.patterns import answers_given

TINY = 1e-30
"""Floor that avoids the logarithm of zero."""


Rows: TypeAlias = tuple[Ints, Ints, Floats, Floats | None]
"""(u, V) predicted labels, below 0 for none, (u,) numbers of such rows, (u, C) probabilities of their labels by the
vote, and (u, C) likelihood of the answers to them; None where they have none."""


def second_opinion(rows: Sequence[Rows], say: Floats) -> Floats:
    """Return (V,) expected accuracies by confusion matrices; `say` are (V,) powers of the voters' likelihoods.

    Example:
        >>> predictions = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 0], [1, 1, 1]])
        >>> votes = np.array([[0.8, 0.2], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
        >>> second_opinion([(predictions, np.full(4, 10), votes, None)], np.ones(3)).round(2).tolist()
        [0.96, 0.96, 0.51]
    """
    classes, voters = rows[0][2].shape[1], len(say)
    designs = [answers_given(predictions, classes) for predictions, *_ in rows]
    confusion = np.full(((classes + 1) * voters, classes), 1 / (classes + 1))
    frequency = np.zeros(classes)
    for (_, counts, labels, _), answers in zip(rows, designs, strict=True):
        weighted = labels * counts[:, None]
        confusion += answers.T @ weighted
        frequency += weighted.sum(axis=0)
    by_answer = confusion.reshape(classes + 1, voters, classes)
    powers = np.log(by_answer / by_answer.sum(axis=0)) * say[:, None]
    right = np.zeros(voters)
    for (_, counts, _, likelihood), answers in zip(rows, designs, strict=True):
        likely = answers @ powers.reshape(confusion.shape) + np.log(frequency / frequency.sum() + TINY)
        labels = np.exp(likely - likely.max(axis=1, keepdims=True))
        if likelihood is not None:
            labels *= likelihood
        labels *= (counts / np.maximum(labels.sum(axis=1), TINY))[:, None]
        right += np.einsum("avc,ca->v", (answers.T @ labels).reshape(by_answer.shape), np.eye(classes, classes + 1))
    return np.asarray(right / sum(counts.sum() for _, counts, *_ in rows))
