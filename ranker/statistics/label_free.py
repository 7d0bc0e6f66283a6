"""Estimates of accuracy that need no label of the new domain, from predictions on a pool: each has its trap.

None of them is safe: every one orders some suite worse than a coin does, and nothing in the predictions tells which
(docs/results/labels-regression.md). They are here to be seen beside the methods that use labels; `methods` lists
them. Axis letters as in `pool`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.pool import InDomain, Pool

ITERATIONS = 50
"""Of Dawid and Skene's EM; it has settled long before."""

CELLS = 2**20
"""Probabilities of labels that EM has in hand at once, over rows, classes and parts: 8 MB, a few times over."""

SMOOTH = 0.1
"""What every cell of a confusion matrix holds before a row is seen, so that none is zero."""

MOST_ROWS = 1_000
"""COT pairs so many rows of the pool, spread evenly, with labels: an assignment takes time that grows like N^3."""

POWER = 4
"""The p of MANO's norm, as its authors set it."""


def average_confidence(pool: Pool) -> Floats:
    """(M,) mean probability of the predicted label.

    Example:
        >>> average_confidence(Pool(np.array([[[0.9, 0.1], [0.3, 0.7]]]))).tolist()
        [0.8]
    """
    return np.asarray(_confidence(pool.probs).mean(axis=1))


def difference_of_confidences(pool: Pool) -> Floats:
    """(M,) in-domain accuracy, less what the mean confidence has lost since."""
    own = _in_domain(pool)
    return np.asarray(own.accuracy - _confidence(own.probs).mean(axis=1) + average_confidence(pool))


def thresholded_confidence(pool: Pool) -> Floats:
    """(M,) share of the pool above the confidence that, in-domain, as many rows exceed as are predicted rightly."""
    own = _in_domain(pool)
    confidence = np.sort(_confidence(own.probs), axis=1)
    wrong = np.rint((1 - own.accuracy) * confidence.shape[1]).astype(np.int64)
    beyond = np.column_stack([confidence, np.full(len(confidence), np.inf)])
    threshold = np.take_along_axis(beyond, wrong[:, None], axis=1)
    return np.asarray((_confidence(pool.probs) >= threshold).mean(axis=1))


def in_domain_accuracy(pool: Pool) -> Floats:
    """(M,) accuracy in-domain: what one has where nothing is known of the new domain."""
    return _in_domain(pool).accuracy


def agreement_on_the_line(pool: Pool) -> Floats:
    """(M,) accuracy by ALine-D: in-domain and new accuracies lie on the line that agreements of models lie on.

    With q a normal quantile, a_ij the agreement of two models and A_i an accuracy, here and (') in-domain, the slope s
    is that of the least squares line of q(a_ij) by q(a'_ij). Then the q(A_i) are those that leave the least squares in

        (q(A_i) + q(A_j)) / 2 = q(a_ij) + s ((q(A'_i) + q(A'_j)) / 2 - q(a'_ij))        for each pair.

    Shares of n rows lie between 1/(2 n + 2) and 1 less that, so that each has a quantile. Two models have no line: s
    is 1, and each q(A_i) is q(A'_i) moved by q(a_ij) - q(a'_ij).

    Source: Baek, Jiang, Raghunathan, Kolter 2022, "Agreement-on-the-Line", section 5 (ALine-D).
    """
    from scipy.special import ndtr

    own = _in_domain(pool)
    models = len(pool.probs)
    first, second = np.triu_indices(models, 1)
    agreed, agreed_own = _agreements(pool.predicted), _agreements(own.probs.argmax(axis=2))
    known = _quantile(own.accuracy, own.probs.shape[1])
    if models < 3:
        return np.asarray(ndtr(known + (agreed - agreed_own).sum()))
    centred = agreed_own - agreed_own.mean()
    spread = float((centred**2).sum())
    slope = float((centred * agreed).sum()) / spread if spread > 0 else 1.0
    pairs = np.zeros((len(first), models))
    pairs[np.arange(len(first)), first] = pairs[np.arange(len(first)), second] = 0.5
    right = agreed + slope * (pairs @ known - agreed_own)
    return np.asarray(ndtr(np.linalg.lstsq(pairs, right)[0]))


def _agreements(said: Ints) -> Floats:
    """(P,) normal quantiles of the shares of rows on which two models say the same."""
    first, second = np.triu_indices(len(said), 1)
    return _quantile((said[first] == said[second]).mean(axis=1), said.shape[1])


def _quantile(shares: Floats, rows: int) -> Floats:
    from scipy.special import ndtri

    least = 0.5 / (rows + 1)
    return np.asarray(ndtri(np.clip(shares, least, 1 - least)))


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

    labels = np.sort(_in_domain(pool).labels)
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
    everything = np.arange(pool.probs.shape[1])
    return np.asarray(dawid_skene_of_parts(pool, [everything])[0])


def dawid_skene_of_parts(pool: Pool, parts: Sequence[Ints]) -> Floats:
    """The same by the rows of each part alone: two matrix products a round for all parts together.

    Args:
        pool: what the models make of all rows.
        parts: the rows of each, no row twice.

    Returns:
        (parts, M) what `dawid_skene` makes of `pool.part(rows)`.
    """
    models, size, classes = pool.probs.shape
    said = np.eye(classes)[pool.predicted].transpose(1, 0, 2)  # (N, M, C)
    some = max(CELLS // (size * classes), 1)
    found = [_agreement(said, parts[at : at + some]) for at in range(0, len(parts), some)]
    return np.concatenate(found) if found else np.zeros((0, models))


def _agreement(said: Floats, parts: Sequence[Ints]) -> Floats:
    """(parts, M) expected agreement of what models say, (N, M, C) zeros and ones, with the labels of each part."""
    size, models, classes = said.shape
    inside = np.zeros((len(parts), 1, size))
    for part, rows in enumerate(parts):
        inside[part, 0, rows] = 1.0
    counts = inside.sum(axis=2)  # (parts, 1)
    told = np.ascontiguousarray(said.reshape(size, -1))
    truth = said.mean(axis=1).T * inside  # (parts, C, N)
    for _ in range(ITERATIONS):
        confusion = _confusion(truth, told, models) + SMOOTH
        confusion /= confusion.sum(axis=3, keepdims=True)
        logs = np.log(confusion).reshape(-1, told.shape[1])
        likely = (logs @ told.T).reshape(truth.shape)
        likely += np.log(truth.sum(axis=2) / counts + 1e-12)[:, :, None]
        likely -= likely.max(axis=1, keepdims=True)
        np.exp(likely, out=likely)
        likely *= inside / likely.sum(axis=1, keepdims=True)
        if np.array_equal(likely, truth):  # so would all rounds to come be
            break
        truth = likely
    return np.asarray(np.einsum("pymy->pm", _confusion(truth, told, models)) / counts)


def _confusion(truth: Floats, told: Floats, models: int) -> Floats:
    """(parts, C, M, C) how many rows, by the probabilities of their labels (parts, C, N), a model says what about."""
    parts, classes, size = truth.shape
    return np.asarray((truth.reshape(-1, size) @ told).reshape(parts, classes, models, classes))


def pool_factor(pool: Pool) -> Floats:
    """(M,) mean score by the factor designed for the domain, over the rows on which it is defined for all models."""
    if pool.factor is None:
        raise ValueError("this needs a factor about one label on every row")
    usable = ~np.isnan(pool.factor).any(axis=0)
    return np.asarray(pool.factor[:, usable].sum(axis=1) / max(int(usable.sum()), 1))


def _confidence(probs: Floats) -> Floats:
    return np.asarray(probs.max(axis=2))


def _in_domain(pool: Pool) -> InDomain:
    if pool.in_domain is None:
        raise ValueError("this needs labelled in-domain rows")
    return pool.in_domain
