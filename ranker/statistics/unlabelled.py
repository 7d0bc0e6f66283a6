"""Estimates of accuracy that need no label of the new domain, from predictions on a pool: baselines with a trap each.

None of them is safe: every one orders some suite worse than a coin does, and nothing in the predictions tells which
(docs/results/labels.md). They are here to be seen beside the methods that use labels. Axis letters as in `pool`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from factors.types import Floats
from ranker.statistics.pool import Home, Pool

ITERATIONS = 50
"""Of Dawid and Skene's EM; it has settled long before."""

SMOOTH = 0.1
"""What every cell of a confusion matrix holds before a row is seen, so that none is zero."""

MOST_ROWS = 1_000
"""COT pairs so many rows of the pool, spread evenly, with labels: an assignment takes time that grows like N^3."""

POWER = 4
"""The p of MANO's norm, as its authors set it."""


@dataclass(frozen=True)
class Unlabelled:
    """A label-free baseline.

    Attributes:
        name: as it stands in tables.
        score: (pool) -> (M,) scores, higher is better.
        trap: when it fails, in a clause.
        source: the paper.
        needs: what of the pool it needs, beside the probabilities.
    """

    name: str
    score: Callable[[Pool], Floats]
    trap: str
    source: str
    needs: Literal["", "home", "factor"] = ""


def average_confidence(pool: Pool) -> Floats:
    """(M,) mean probability of the predicted label.

    Example:
        >>> average_confidence(Pool(np.array([[[0.9, 0.1], [0.3, 0.7]]]))).tolist()
        [0.8]
    """
    return np.asarray(_confidence(pool.probs).mean(axis=1))


def difference_of_confidences(pool: Pool) -> Floats:
    """(M,) in-domain accuracy, less what the mean confidence has lost since."""
    home = _home(pool)
    return np.asarray(home.accuracy - _confidence(home.probs).mean(axis=1) + average_confidence(pool))


def thresholded_confidence(pool: Pool) -> Floats:
    """(M,) share of the pool above the confidence that, in-domain, as many rows exceed as are predicted rightly."""
    home = _home(pool)
    at_home = np.sort(_confidence(home.probs), axis=1)
    wrong = np.rint((1 - home.accuracy) * at_home.shape[1]).astype(np.int64)
    beyond = np.column_stack([at_home, np.full(len(at_home), np.inf)])
    threshold = np.take_along_axis(beyond, wrong[:, None], axis=1)
    return np.asarray((_confidence(pool.probs) >= threshold).mean(axis=1))


def majority(pool: Pool) -> Floats:
    """(M,) share of rows on which the model says what most models say; where two labels lead, each is half of it.

    Example:
        >>> one, other = [0.9, 0.1], [0.2, 0.8]
        >>> majority(Pool(np.array([[one, one], [one, other], [other, one]]))).tolist()
        [1.0, 0.5, 0.5]
    """
    votes = np.stack([(pool.predicted == c).sum(axis=0) for c in range(pool.probs.shape[2])], axis=1)
    leads = votes == votes.max(axis=1, keepdims=True)
    share = leads / leads.sum(axis=1, keepdims=True)
    return np.asarray(share[np.arange(len(share)), pool.predicted].mean(axis=1))


def transport(pool: Pool) -> Floats:
    """(M,) mean probability of the labels, given to the rows so that it is greatest, as frequent as in-domain."""
    from scipy.optimize import linear_sum_assignment

    labels = np.sort(_home(pool).labels)
    size = pool.probs.shape[1]
    rows = np.linspace(0, size - 1, min(size, MOST_ROWS)).round().astype(np.int64)
    given = labels[(np.arange(len(rows)) + 0.5).astype(np.int64) * len(labels) // len(rows)]
    gain = pool.probs[:, rows][:, :, given]  # (M, rows, rows)
    return np.array([one[linear_sum_assignment(one, maximize=True)].mean() for one in gain])


def matrix_norm(pool: Pool) -> Floats:
    """(M,) the p-norm of all probabilities, over their number: high where predictions are confident and varied."""
    _, rows, classes = pool.probs.shape
    return np.asarray(((pool.probs**POWER).sum(axis=(1, 2)) / (rows * classes)) ** (1 / POWER))


def dawid_skene(pool: Pool) -> Floats:
    """(M,) expected agreement with labels that EM infers, every model having its own confusion matrix.

    The labels start as the shares of the votes. Each round estimates how often each model says c where the label is
    y, and how frequent y is, and from these the probability of each label on each row.
    """
    from scipy.special import softmax

    classes = pool.probs.shape[2]
    said = np.eye(classes)[pool.predicted]  # (M, N, C)
    truth = said.mean(axis=0)  # (N, C)
    for _ in range(ITERATIONS):
        confusion = np.einsum("ny,mnc->myc", truth, said) + SMOOTH
        confusion /= confusion.sum(axis=2, keepdims=True)
        logs = np.log(truth.mean(axis=0) + 1e-12) + np.einsum("mnc,myc->ny", said, np.log(confusion))
        truth = softmax(logs, axis=1)
    return np.asarray((said * truth).sum(axis=2).mean(axis=1))


def pool_factor(pool: Pool) -> Floats:
    """(M,) mean score by the factor designed for the domain, over the rows on which it is defined for all models."""
    if pool.factor is None:
        raise ValueError("this needs a factor about one label on every row")
    usable = ~np.isnan(pool.factor).any(axis=0)
    return np.asarray(pool.factor[:, usable].sum(axis=1) / max(int(usable.sum()), 1))


def _confidence(probs: Floats) -> Floats:
    return np.asarray(probs.max(axis=2))


def _home(pool: Pool) -> Home:
    if pool.home is None:
        raise ValueError("this needs labelled in-domain rows")
    return pool.home


POOL_FACTOR = "POOL-FACTOR"

BASELINES = (
    Unlabelled(
        POOL_FACTOR,
        pool_factor,
        "the factor may fail on these models",
        "Singhal et al. 2022, section 4.3; over a pool: ours",
        needs="factor",
    ),
    Unlabelled(
        "AVG-CONF",
        average_confidence,
        "a model that is sure of a wrong habit looks best",
        "Hendrycks and Gimpel 2017",
    ),
    Unlabelled(
        "ATC",
        thresholded_confidence,
        "what confidence means at home has to hold abroad",
        "Garg et al. 2022, section 4",
        needs="home",
    ),
    Unlabelled(
        "DOC",
        difference_of_confidences,
        "a model may lose accuracy and stay sure",
        "Guillory et al. 2021, section 3",
        needs="home",
    ),
    Unlabelled(
        "MAJORITY",
        majority,
        "where most models share a wrong habit, the best is the outsider",
        "Jiang et al. 2022 (two models); votes of many: ours",
    ),
    Unlabelled(
        "COT",
        transport,
        "the labels have to be as frequent abroad as at home",
        "Lu et al. 2023, section 3",
        needs="home",
    ),
    Unlabelled(
        "MANO",
        matrix_norm,
        "it measures confidence, as AVG-CONF does",
        "Xie et al. 2024, section 3, the softmax branch: logits are not kept",
    ),
    Unlabelled(
        "DAWID-SKENE",
        dawid_skene,
        "models that err together count as witnesses that agree",
        "Dawid and Skene 1979",
    ),
)


def possible(pool: Pool) -> list[Unlabelled]:
    """The baselines that can be had of a pool."""
    return [one for one in BASELINES if not one.needs or getattr(pool, one.needs) is not None]
