"""Posterior of a metric that is no mean of outcomes (F1, MCC, kappa), given a pool and a few labels.

A metric of labels is a function of means of statistics, and the statistics of a row follow from its answer and its
label alone (`ranker.tasks.metrics`). In world s of the vote a row has label c with probability P_s(c). With a weight
g_n from Gamma(1) for each row of the pool, which is a sample of the domain (the Bayesian bootstrap), a draw of the
metric of model m is

    value(sum_n g_n sum_c P_s(c) t(answer_mn, c) / sum_n g_n),    t: (k,) statistics.

For accuracy these are the draws of `beliefs`, but for the pseudo-row of disagreement there. Axis letters as in
`posterior_samples`, k statistics, D draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics import resampling
from ranker.statistics.forecast import Outlook

DIGITS = 9
"""Digits of a score: rounding does not separate equal predictions."""


@dataclass(frozen=True)
class MetricPosterior:
    """Posterior of a metric in the domain; a `ranker.statistics.pool.Posterior`.

    Attributes:
        drawn: (D, M) values in the domain, higher is better, drawn together.
        of_accuracy: what is known of the models' accuracies, and what labels add to that.
    """

    drawn: Floats
    of_accuracy: Outlook

    @property
    def score(self) -> Floats:
        """(M,) expected values, by which the models are ranked."""
        return np.round(self.expected(), DIGITS)

    def beats(self) -> Floats:
        """Return (M, M) P(the row's model has the better value); 1/2 on the diagonal."""
        return resampling.p_better(self.drawn)

    def best(self) -> Floats:
        """Return (M,) P(no other model has a better value); they sum to 1."""
        return resampling.p_best(self.drawn)

    def near(self, margin: float) -> Floats:
        """Return (M,) P(no other model's value is better by more than the margin)."""
        return resampling.p_near_best(self.drawn, margin)

    def within(self, margin: float) -> float:
        """Return P(no model's value is better than the leader's, the best by score, by more than the margin)."""
        return float(self.near(margin)[self.score.argmax()])

    def equal(self, first: int, margin: float) -> Floats:
        """Return (M,) P(its value and that of one model differ by no more than the margin)."""
        return np.asarray((np.abs(self.drawn - self.drawn[:, [first]]) <= margin).mean(axis=0))

    def expected(self) -> Floats:
        """Return (M,) expected values."""
        return np.asarray(self.drawn.mean(axis=0))

    def interval(self) -> tuple[Floats, Floats]:
        """Return (M,) lower and (M,) upper ends of the 95 % interval of each value."""
        low, high = np.quantile(self.drawn, [resampling.TAIL, 1 - resampling.TAIL], axis=0)
        return low, high

    def outlook(self) -> Outlook:
        """Return what is known of the values; labels add to it as they add to what is known of accuracies."""
        spread = Outlook.of(self.drawn, self.of_accuracy.gain, self.of_accuracy.most)
        lasting = np.trace(self.of_accuracy.lasting)
        share = lasting / max(lasting + np.trace(self.of_accuracy.reducible), np.finfo(float).tiny)
        return replace(spread, reducible=(1 - share) * spread.reducible, lasting=share * spread.reducible)


def draw_values(
    kinds: Iterable[tuple[Ints, Ints, Floats]],
    statistics: Floats,
    value: Callable[[Floats], Floats],
    rng: np.random.Generator,
) -> Floats:
    """Draw the models' values in the domain, one draw a world.

    Args:
        kinds: (u, M) predictions of rows, -1 for none, (u,) numbers of such rows, and (C, S, u) probabilities of their
            labels in each world; in parts.
        statistics: (C + 1, C, k) of a row with each answer (the last: none) and each label.
        value: (..., k) means of statistics -> (...) values.
        rng: the only source of randomness.

    Returns:
        (S, M) values, drawn together.

    Example:
        >>> predictions, counts = np.array([[0, 1], [1, 1]]), np.array([30, 10])
        >>> sure = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # one world, which knows both labels: the first is right
        >>> right = np.array([[[1.0], [0.0]], [[0.0], [1.0]], [[0.0], [0.0]]])
        >>> kinds, rng = [(predictions, counts, sure)], np.random.default_rng(0)
        >>> drawn = draw_values(kinds, right, lambda means: means[..., 0], rng)
        >>> round(float(drawn[0, 0]), 9), bool(0.1 < drawn[0, 1] < 0.4)
        (1.0, True)
    """
    from scipy.sparse import csr_array

    silence, total, mass, shape = len(statistics) - 1, np.zeros(()), np.zeros(()), (0, 0, 0, 0)
    for predictions, counts, labels in kinds:
        weights = rng.standard_gamma(counts, (labels.shape[1], len(counts)))
        weighted = labels.astype(np.float64) * weights  # (C, S, u)
        rows, models = predictions.shape
        shape = (silence + 1, models, *labels.shape[:2])  # (answers, M, C, S)
        places = np.where(predictions < 0, silence, predictions) * models + np.arange(models)
        answered = csr_array(
            (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, models)), (rows, shape[0] * models)
        )
        mass = mass + answered.T @ weighted.reshape(-1, rows).T
        total = total + weights.sum(axis=1)[:, None, None]
    return value(np.einsum("amcs,ack->smk", mass.reshape(shape), statistics, optimize=True) / total)
