"""Posterior of the models' accuracies, given a pool and a few labels (SURROGATE).

In world i, a draw of `posterior_samples`, a row without an answer has label c with probability P_i(c); answers multiply
P_i(c) by their likelihood. The accuracy of model m on the pool is A_im = mean over rows of P_i(Q_m). Models are ranked
by its mean over worlds. The pool of N rows is a sample of the domain. So in the domain, in world i,

    accuracies ~ Normal(A_i, covariance / N),    P(m beats k) = mean over i of Phi((A_im - A_ik) / sqrt(v_mk / N)),

with the covariance over rows of P_i(Q), averaged over worlds, and v_mk the variance of P_i(Q_m) - P_i(Q_k). One
pseudo-row of disagreement adds to v_mk the share of rows with different labels, over N. Axis letters as in
`posterior_samples`, and V patterns whose rows may be labelled next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.engine import pairs
from ranker.statistics.forecast import Outlook
from ranker.statistics.metric_posterior import MetricPosterior, draw_values
from ranker.statistics.patterns import Patterns, Readings, gather_answers
from ranker.statistics.posterior_samples import WORLDS, PosteriorSamples, sample_posterior, votes

LABEL_NOISE = 0.02
"""Share of answers that are random."""

CELLS = 40_000
"""Most labels of candidate patterns, V * C. Of more patterns so many are drawn."""

CHUNK = 4_000_000
"""Label probabilities computed at once: 16 MB."""

BLOCK = 1 << 18
"""Probabilities of pairs computed at once: 2 MB, which stay in a processor's cache."""

SPREAD_WORLDS, SPREAD_PATTERNS = 64, 1_000
"""Most worlds and patterns behind the covariance over rows; of more, so many are drawn."""

EQUAL = 1e-6
"""Two accuracies of one world this close are equal, so that rounding does not separate equal predictions."""

METRIC_CELLS = 1 << 24
"""Most numbers behind a metric, answers x labels x worlds x models: 134 MB. Of more worlds, fewer are read."""

DOMAINS = 8
"""Draws of the accuracies in the domain, in each world."""

TINY = 1e-30
"""Floor that avoids division by zero."""


@dataclass(frozen=True)
class Beliefs:
    """Posterior of the models' accuracies.

    Attributes:
        patterns: of the pool.
        readings: what was answered.
        worlds: draws of the vote.
        seed: of the draws made from this posterior.
        label_noise: the share of answers that are random.
    """

    patterns: Patterns
    readings: Readings
    worlds: PosteriorSamples
    seed: int
    label_noise: float

    @property
    def rows(self) -> int:
        """N, the rows that are read."""
        return int(self.patterns.counts.sum())

    @cached_property
    def unanswered(self) -> Ints:
        """(U,) rows of each pattern that have no answer."""
        answered = np.bincount(self.readings.pattern, self.readings.counts, len(self.patterns.counts))
        return np.asarray(self.patterns.counts - answered.astype(np.int64))

    @cached_property
    def accuracies(self) -> Floats:
        """(S, M) the accuracy of each model on the pool, in each world."""
        total = np.zeros((len(self.worlds.weights), self.patterns.models))
        for predictions, counts, labels in self._kinds():
            vote = votes(predictions, self.patterns.classes) * counts
            counts_beyond = (vote[:-1] - vote[-1]).transpose(0, 2, 1)  # than if all were of the last label
            total += (labels[:-1].astype(np.float64) @ counts_beyond).sum(axis=0) + vote[-1].sum(axis=1)
        return np.asarray(total / self.rows)

    def _kinds(self) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield chunks of rows: (u, M) predictions, (u,) numbers of rows, (C, S, u) labels in each world."""
        open_ = np.flatnonzero(self.unanswered)
        step = max(CHUNK // self.worlds.biases.size, 1)
        all_candidates = len(self.candidates) == len(open_)  # then `labels` covers all open patterns
        for low in range(0, len(open_), step):
            rows = open_[low : low + step]
            predictions, strength = self.patterns.ballots(rows)
            labels = (
                self.labels[:, :, low : low + step] if all_candidates else self.worlds.labels(predictions, strength)
            )
            yield predictions, self.unanswered[rows], labels
        for low in range(0, len(self.readings.counts), step):
            rows = np.arange(low, min(low + step, len(self.readings.counts)))
            predictions, strength = self.patterns.ballots(self.readings.pattern[rows])
            labels = (
                self.worlds.labels(predictions, strength) * self.readings.likelihood[rows].T.astype(np.float32)[:, None]
            )
            labels /= np.maximum(labels.sum(axis=0), np.float32(TINY))
            yield predictions, self.readings.counts[rows], labels

    @cached_property
    def covariance(self) -> Floats:
        """(M, M) covariance over the domain's rows of the models' probabilities of being right, in a world.

        It adds one pseudo-row of disagreement per pair (a smoothing prior), since few rows show too little variance.
        """
        worlds = self._spread(len(self.worlds.weights), SPREAD_WORLDS)
        samples = PosteriorSamples(self.worlds.weights[worlds], self.worlds.biases[worlds])
        chosen = self._spread(len(self.patterns.counts), SPREAD_PATTERNS)
        second = np.zeros((self.patterns.models, self.patterns.models))
        thin = Beliefs(
            _part(self.patterns, chosen), _among(self.readings, chosen), samples, self.seed, self.label_noise
        )
        for predictions, counts, labels in thin._kinds():
            exact = labels.astype(np.float64)
            squares = np.einsum("csu,dsu->cdu", exact, exact) * counts
            vote = votes(predictions, self.patterns.classes)  # silence is never right
            second += np.einsum("cmu,cdu,dku->mk", vote, squares, vote, optimize=["einsum_path", (0, 1), (0, 1)])
        means = thin.accuracies
        one_more = self.patterns.alike / (2 * self.rows)
        return np.asarray(second / (thin.rows * len(worlds)) - means.T @ means / len(worlds) + one_more)

    def _spread(self, count: int, most: int) -> Ints:
        """Return all indices below `count`, or `most` random ones."""
        if count <= most:
            return np.arange(count)
        return np.sort(np.random.default_rng([self.seed, count]).choice(count, most, replace=False))

    @cached_property
    def difference_variance(self) -> Floats:
        """(M, M) variance over rows of the difference of two models' probabilities of being right."""
        return _of_differences(self.covariance)

    def p_first_better(self, first: Ints, second: Ints) -> Floats:
        """Return (S, P) P(the first model of a pair is more accurate in the domain than the second), in each world.

        Args:
            first, second: (P,) models.
        """
        from scipy.special import ndtr

        lead = self.accuracies[:, first] - self.accuracies[:, second]
        error = np.sqrt(self.difference_variance[first, second] / self.rows)
        lead[np.abs(lead) <= EQUAL] = 0.0
        return np.asarray(ndtr(lead / np.maximum(error, EQUAL)))

    @cached_property
    def candidates(self) -> Ints:
        """(V,) patterns with a row without an answer; of very many, a random sample."""
        open_ = np.flatnonzero(self.unanswered)
        return open_[self._spread(len(open_), max(CELLS // self.patterns.classes, 1))]

    @cached_property
    def labels(self) -> Floats:
        """(C, S, V) probability, in each world, of each label of a candidate's row, in single precision."""
        return self.worlds.labels(*self.patterns.ballots(self.candidates))

    @cached_property
    def answers(self) -> Floats:
        """(C, S, V) probability, in each world, of each answer to a candidate's row, in single precision."""
        wrong = self.label_noise / self.patterns.classes
        return self.labels * np.float32(1 - self.label_noise) + np.float32(wrong)

    @property
    def score(self) -> Floats:
        """(M,) expected accuracies on the pool, by which the models are ranked."""
        return np.asarray(np.round(self.expected(), 9))

    def beats(self) -> Floats:
        """Return (M, M) P(the row's model is more accurate in the domain than the column's); 1/2 on the diagonal.

        Clipped to [0.5/S, 1 - 0.5/S], since S samples cannot resolve more.
        """
        first, second = pairs(self.patterns.models).T
        least, step = 0.5 / len(self.worlds.weights), max(BLOCK // len(self.worlds.weights), 1)
        better = np.full(self.difference_variance.shape, 0.5)
        above = np.empty(len(first))
        for low in range(0, len(first), step):
            block = slice(low, low + step)
            above[block] = self.p_first_better(first[block], second[block]).mean(axis=0)
        better[first, second] = np.clip(np.round(above, 9), least, 1 - least)
        better[second, first] = 1 - better[first, second]
        return better

    @cached_property
    def domain(self) -> Floats:
        """(D, M) draws of the models' accuracies in the domain."""
        size, axes = np.linalg.eigh(self.covariance / self.rows)
        rng = np.random.default_rng([self.seed, 1])
        noise = rng.standard_normal((DOMAINS, *self.accuracies.shape)) * np.sqrt(np.maximum(size, 0.0))
        return np.asarray((self.accuracies + noise @ axes.T).reshape(-1, self.patterns.models))

    def best(self) -> Floats:
        """Return (M,) P(no other model is more accurate in the domain); they sum to 1, and equal models share."""
        first = self.domain >= self.domain.max(axis=1, keepdims=True) - EQUAL
        return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))

    def near(self, margin: float) -> Floats:
        """Return (M,) P(in the domain no other model is better by more than the margin)."""
        behind = self.domain.max(axis=1, keepdims=True) - self.domain
        return np.asarray((behind <= margin + EQUAL).mean(axis=0))

    def within(self, margin: float) -> float:
        """Return P(in the domain no model is better than the leader, the best by score, by more than the margin)."""
        return float(self.near(margin)[self.score.argmax()])

    def equal(self, first: int, margin: float) -> Floats:
        """Return (M,) P(its accuracy in the domain and that of one model differ by no more than the margin)."""
        return np.asarray((np.abs(self.domain - self.domain[:, [first]]) <= margin + EQUAL).mean(axis=0))

    def expected(self) -> Floats:
        """Return (M,) expected accuracies in the domain."""
        return np.asarray(self.accuracies.mean(axis=0))

    def interval(self) -> tuple[Floats, Floats]:
        """Return (M,) lower and (M,) upper ends of the 95 % interval of each accuracy in the domain."""
        low, high = np.quantile(self.domain, [0.025, 0.975], axis=0)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def outlook(self, often: Ints | None = None) -> Outlook:
        """Return what is known of the accuracies in the domain, and what an answer would add.

        The covariance between worlds is what answers lower, that of the pool as a sample is not. An answer raises the
        precision as it does, on average, for the difference between the leader and a model that may be better.

        Args:
            often: (V,) how often each candidate is labelled, up to a factor; None for rows without an answer alike.
        """
        from scipy.special import ndtr

        mean, leader = self.expected(), int(self.score.argmax())
        now, raised = (
            pairs[leader] for pairs in self.precision_gain(self.unanswered[self.candidates] if often is None else often)
        )
        behind = ndtr((mean - mean[leader]) / np.sqrt(np.maximum(now, TINY)))
        doubt = behind * (1 - behind) * (np.arange(len(mean)) != leader) + TINY
        return Outlook(
            mean,
            np.cov(self.accuracies.T, bias=True).reshape(self.covariance.shape),
            self.covariance / self.rows,
            float(raised @ doubt / doubt.sum()),
            int(self.unanswered.sum()),
        )

    def judged_by(self, statistics: Floats, value: Callable[[Floats], Floats]) -> MetricPosterior:
        """Return the posterior of a metric of labels. See `ranker.statistics.pool.Posterior`."""
        cells = self.patterns.models * statistics.shape[0] * statistics.shape[1]
        worlds = self._spread(len(self.worlds.weights), max(METRIC_CELLS // cells, 1))
        fewer = PosteriorSamples(self.worlds.weights[worlds], self.worlds.biases[worlds])
        kinds = replace(self, worlds=fewer)._kinds()
        drawn = draw_values(kinds, statistics, value, np.random.default_rng([self.seed, 2]))
        return MetricPosterior(drawn, self.outlook())

    def precision_gain(self, often: Ints) -> tuple[Floats, Floats]:
        """Return (M, M) variances of differences between worlds, and (M, M) shares by which an answer raises their
        inverse.

        Args:
            often: (V,) how often each candidate is labelled, up to a factor.
        """
        now = _of_differences(np.cov(self.accuracies.T, bias=True).reshape(self.difference_variance.shape))
        reduction = np.minimum(self.variance_reduction(often), now * (1 - EQUAL))
        return now, reduction / np.maximum(now - reduction, TINY)

    def variance_reduction(self, often: Ints) -> Floats:
        """Return (M, M) mean reduction by one answer of the variance of a difference of accuracies.

        Args:
            often: (V,) how often each candidate is labelled, up to a factor.
        """
        centred = (self.accuracies - self.accuracies.mean(axis=0)).astype(np.float32)
        shares = often / max(often.sum(), 1)
        total = self.answers.mean(axis=1)  # (C, V)
        moved = centred.T @ self.answers / len(centred)  # (C, M, V)
        weighted = moved * (shares / np.maximum(total, TINY))[:, None]
        return _of_differences(np.asarray(np.einsum("cmv,ckv->mk", weighted, moved, optimize=True)))


def believe(
    patterns: Patterns, rows: Ints, labels: Ints, label_noise: float = LABEL_NOISE, worlds: int = WORLDS
) -> Beliefs:
    """Compute the posterior of the models' accuracies, given a pool and a few labels.

    It depends on the pool and the answers alone, not on the order of models, answers or rows (see `fold`), nor on
    earlier posteriors.

    Args:
        patterns: of the pool.
        rows: (A,) the rows that were answered; a row may occur several times.
        labels: (A,) the answers.
        label_noise: the share of answers that are random.
        worlds: S.

    Raises:
        ValueError: a label that is none of the classes, or contradicting answers without noise.

    Example:
        >>> from ranker.statistics.patterns import fold
        >>> predicted = np.array([[0, 1, 1, 0, 1, 0], [0, 0, 0, 1, 0, 1]])  # they differ on all rows but the first
        >>> posterior = believe(fold(predicted, 2), np.array([1, 3]), np.array([1, 0]))  # the first is right on both
        >>> bool(posterior.beats()[0, 1] > 0.8)
        True
    """
    readings = gather_answers(patterns, rows, labels, label_noise)
    seed = patterns.seed(readings)
    return Beliefs(
        patterns, readings, sample_posterior(patterns, readings, np.random.default_rng(seed), worlds), seed, label_noise
    )


def _of_differences(covariance: Floats) -> Floats:
    """Return (M, M) variances of the difference of each two."""
    variances = np.diagonal(covariance)
    return np.asarray(np.maximum(variances[:, None] + variances - 2 * covariance, 0.0))


def _part(patterns: Patterns, chosen: Ints) -> Patterns:
    """Return some of the patterns, without the patterns of the rows."""
    none = np.zeros(0, dtype=np.int64)
    predictions, strength = patterns.ballots(chosen)
    return Patterns(predictions, patterns.counts[chosen], none, patterns.classes, patterns.places, strength)


def _among(readings: Readings, chosen: Ints) -> Readings:
    """Return the answers to rows of some of the patterns."""
    inside = np.isin(readings.pattern, chosen)
    return Readings(
        np.searchsorted(chosen, readings.pattern[inside]),
        readings.likelihood[inside],
        readings.counts[inside],
        readings.rows,
    )
