"""Estimates of accuracy from predictions on a pool, without labels of the new domain.

None of them is safe: each orders some suite worse than chance, and the predictions do not show which
(docs/results/labels.md, "Without a label"). They are for comparison with the methods that use labels; `methods` lists
them. Axis letters as in `pool`.
"""

from __future__ import annotations

import numpy as np

from factors.rounding import TIE
from factors.types import Floats, Ints
from ranker.statistics.pool import InDomain, Pool

ITERATIONS = 50
"""Rounds of Dawid and Skene's EM; it has settled long before."""

SMOOTH = 0.1
"""Prior count of every cell of a confusion matrix, so that none is zero."""

MOST_ROWS = 1_000
"""Most rows of the pool, spread evenly, that COT pairs with labels: an assignment takes time like N^3."""

POWER = 4
"""p of MANO's norm, as its authors set it."""


def average_confidence(pool: Pool) -> Floats:
    """Return (M,) mean probabilities of the predicted label.

    Example:
        >>> average_confidence(Pool(np.array([[[0.9, 0.1], [0.3, 0.7]]]))).tolist()
        [0.8]
    """
    return np.asarray(pool.probs.max(axis=2).mean(axis=1))


def difference_of_confidences(pool: Pool) -> Floats:
    """Return (M,) in-domain accuracies, minus the loss of mean confidence since."""
    in_domain = _in_domain(pool)
    return np.asarray(in_domain.accuracy - in_domain.probs.max(axis=2).mean(axis=1) + average_confidence(pool))


def thresholded_confidence(pool: Pool) -> Floats:
    """Return (M,) shares of the pool above a threshold; in-domain, the share above it is the accuracy."""
    in_domain = _in_domain(pool)
    confidence = np.sort(in_domain.probs.max(axis=2), axis=1)
    wrong = np.rint((1 - in_domain.accuracy) * confidence.shape[1]).astype(np.int64)
    beyond = np.column_stack([confidence, np.full(len(confidence), np.inf)])
    threshold = np.take_along_axis(beyond, wrong[:, None], axis=1)
    return np.asarray((pool.probs.max(axis=2) >= threshold).mean(axis=1))


def in_domain_accuracy(pool: Pool) -> Floats:
    """Return (M,) accuracies in-domain, the fallback where nothing is known of the new domain."""
    return _in_domain(pool).accuracy


def agreement_on_the_line(pool: Pool) -> Floats:
    """Return (M,) accuracies by ALine-D: accuracies lie on the line that the models' agreements lie on.

    With q a normal quantile, a_ij the agreement of two models and A_i an accuracy, here and (') in-domain, the slope s
    is that of the least squares line of q(a_ij) by q(a'_ij). Then the q(A_i) are those that leave the least squares in

        (q(A_i) + q(A_j)) / 2 = q(a_ij) + s ((q(A'_i) + q(A'_j)) / 2 - q(a'_ij))        for each pair.

    Shares of n rows lie between 1/(2 n + 2) and 1 less that, so that each has a quantile. Two models have no line: s
    is 1, and each q(A_i) is q(A'_i) moved by q(a_ij) - q(a'_ij).

    Source: Baek, Jiang, Raghunathan, Kolter 2022, "Agreement-on-the-Line", section 5 (ALine-D).
    """
    from scipy.special import ndtr

    in_domain = _in_domain(pool)
    models = len(pool.probs)
    first, second = np.triu_indices(models, 1)
    agreed, agreed_own = _agreements(pool.predicted), _agreements(in_domain.probs.argmax(axis=2))
    quantiles = _quantile(in_domain.accuracy, in_domain.probs.shape[1])
    if models < 3:
        return np.asarray(ndtr(quantiles + (agreed - agreed_own).sum()))
    centred = agreed_own - agreed_own.mean()
    spread = float((centred**2).sum())
    slope = float((centred * agreed).sum()) / spread if spread > TIE else 1.0
    pairs = np.zeros((len(first), models))
    pairs[np.arange(len(first)), first] = pairs[np.arange(len(first)), second] = 0.5
    right = agreed + slope * (pairs @ quantiles - agreed_own)
    return np.asarray(ndtr(np.linalg.lstsq(pairs, right)[0]))


def _agreements(predicted: Ints) -> Floats:
    """Return (P,) normal quantiles of the shares of rows on which two models predict the same."""
    first, second = np.triu_indices(len(predicted), 1)
    return _quantile((predicted[first] == predicted[second]).mean(axis=1), predicted.shape[1])


def _quantile(shares: Floats, rows: int) -> Floats:
    from scipy.special import ndtri

    least = 0.5 / (rows + 1)
    return np.asarray(ndtri(np.clip(shares, least, 1 - least)))


def majority(pool: Pool) -> Floats:
    """Return (M,) shares of rows on which the model agrees with most models; labels that tie share a row.

    Example:
        >>> one, other = [0.9, 0.1], [0.2, 0.8]
        >>> majority(Pool(np.array([[one, one], [one, other], [other, one]]))).round(9).tolist()
        [1.0, 0.5, 0.5]
    """
    votes = np.stack([(pool.predicted == c).sum(axis=0) for c in range(pool.probs.shape[2])], axis=1)
    leads = votes == votes.max(axis=1, keepdims=True)
    share = leads / leads.sum(axis=1, keepdims=True)
    return np.asarray(share[np.arange(len(share)), pool.predicted].mean(axis=1))


def transport(pool: Pool) -> Floats:
    """Return (M,) mean probabilities of labels assigned to the rows at their maximum, as frequent as in-domain."""
    from scipy.optimize import linear_sum_assignment

    labels = np.sort(_in_domain(pool).labels)
    size = pool.probs.shape[1]
    rows = np.linspace(0, size - 1, min(size, MOST_ROWS)).round().astype(np.int64)
    assigned = labels[(np.arange(len(rows)) + 0.5).astype(np.int64) * len(labels) // len(rows)]
    gain = pool.probs[:, rows][:, :, assigned]  # (M, rows, rows)
    return np.array([model_gain[linear_sum_assignment(model_gain, maximize=True)].mean() for model_gain in gain])


def matrix_norm(pool: Pool) -> Floats:
    """Return (M,) p-norms of all probabilities, over their number: high for confident and varied predictions."""
    _, rows, classes = pool.probs.shape
    return np.asarray(((pool.probs**POWER).sum(axis=(1, 2)) / (rows * classes)) ** (1 / POWER))


def dawid_skene(pool: Pool) -> Floats:
    """Return (M,) expected agreements with labels that EM infers; each model has its own confusion matrix.

    The labels start as the shares of the votes. Each round estimates how often each model says c where the label is
    y, and how frequent y is, and from these the probability of each label on each row.
    """
    models, size, classes = pool.probs.shape
    predicted = np.eye(classes)[pool.predicted].transpose(1, 0, 2)  # (N, M, C)
    flat = predicted.reshape(size, -1)
    truth = predicted.mean(axis=1).T  # (C, N)
    for _ in range(ITERATIONS):
        confusion = (truth @ flat).reshape(classes, models, classes) + SMOOTH
        confusion /= confusion.sum(axis=2, keepdims=True)
        likely = np.log(confusion).reshape(classes, -1) @ flat.T
        likely += np.log(truth.sum(axis=1) / size + 1e-12)[:, None]
        likely = np.exp(likely - likely.max(axis=0))
        likely /= likely.sum(axis=0)
        if np.array_equal(likely, truth):  # so would all rounds to come be
            break
        truth = likely
    return np.asarray(np.einsum("ymy->m", (truth @ flat).reshape(classes, models, classes)) / size)


def pool_factor(pool: Pool) -> Floats:
    """Return (M,) mean scores by the domain's factor, over the rows on which it is defined for all models."""
    if pool.factor is None:
        raise ValueError("this needs a factor about one label on every row")
    usable = ~np.isnan(pool.factor).any(axis=0)
    return np.asarray(pool.factor[:, usable].sum(axis=1) / max(int(usable.sum()), 1))


def _in_domain(pool: Pool) -> InDomain:
    if pool.in_domain is None:
        raise ValueError("this needs labelled in-domain rows")
    return pool.in_domain
