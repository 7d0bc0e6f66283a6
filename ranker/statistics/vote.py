"""Posterior of the models' accuracies, given a pool and a few labels (SURROGATE).

In world i, a draw of `posterior_samples`, a row without an answer has label c with probability P_i(c); answers multiply
P_i(c) by their likelihood. The accuracy of model m on the pool is A_im = mean over rows of P_i(Q_m). Models are ranked
by its mean over worlds. The pool of N rows is a sample of the domain. So in the domain, in world i,

    accuracies ~ Normal(A_i, covariance / N),    P(m beats k) = mean over i of Phi((A_im - A_ik) / sqrt(v_mk / N)),

with the covariance over rows of P_i(Q), averaged over worlds, and v_mk the variance of P_i(Q_m) - P_i(Q_k). One
pseudo-row of disagreement adds to v_mk the share of rows with different labels, over N.

A metric of labels (F1, MCC, kappa) is a function of means of statistics, and the statistics of a row follow from its
answer and its label alone (`ranker.tasks.metrics`). With a weight g_n from Gamma(1) for each row of the pool, which is
a sample of the domain (the Bayesian bootstrap), a draw of the metric of model m in world i is

    value(sum_n g_n sum_c P_i(c) t(answer_mn, c) / sum_n g_n),    t: (k,) statistics.

For accuracy these are the draws above, but for the pseudo-row. Axis letters as in `posterior_samples`, k statistics,
and V patterns whose rows may be labelled next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from factors.types import Floats, Ints
from ranker.statistics.draws import DIGITS, Draws, kinds_of
from ranker.statistics.engine import pairs
from ranker.statistics.forecast import Outlook
from ranker.statistics.patterns import Patterns, Readings, answers_given, gather_answers
from ranker.statistics.posterior_samples import WORLDS, PosteriorSamples, sample_posterior, votes
from ranker.statistics.second_opinion import second_opinion

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

OPINION = 3.0
"""Part of the second opinion in the values: 1 to this and the number of answers, so that labels soon speak alone."""

TINY = 1e-30
"""Floor that avoids division by zero."""


class MetricByLabel(NamedTuple):
    """Metric that a row's answer and label give.

    `statistics` are (C + 1, C, k) of a row with each answer (the last: none) and each label. `value` maps (..., k)
    means of statistics to (...) values, higher is better.
    """

    statistics: Floats
    value: Callable[[Floats], Floats]


@dataclass(frozen=True)
class Beliefs:
    """Posterior of the models' accuracies.

    Attributes:
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

    def rng(self, purpose: int) -> np.random.Generator:
        """Return a generator that depends on the pool, the answers and the purpose alone."""
        return np.random.default_rng([self.seed, purpose])

    @cached_property
    def unanswered(self) -> Ints:
        """(U,) rows of each pattern that have no answer."""
        answered = np.bincount(self.readings.pattern, self.readings.counts, len(self.patterns.counts))
        return np.asarray(self.patterns.counts - answered.astype(np.int64))

    @cached_property
    def accuracies(self) -> Floats:
        """(S, M) the accuracy of each model on the pool, in each world, by the vote: rows are chosen by it."""
        total = np.zeros((len(self.worlds.weights), self.patterns.models))
        for predictions, counts, labels, _ in self._kinds():
            vote = votes(predictions[:, : self.patterns.models], self.patterns.classes) * counts
            counts_beyond = (vote[:-1] - vote[-1]).transpose(0, 2, 1)  # than if all were of the last label
            total += (labels[:-1].astype(np.float64) @ counts_beyond).sum(axis=0) + vote[-1].sum(axis=1)
        return np.asarray(total / self.rows)

    @cached_property
    def values(self) -> Floats:
        """(S, M) the same with a second opinion, by which models are ranked.

        In worlds that trust the models each model's values are moved by the same, up to a part of the distance between
        its mean there and the second opinion. Where most worlds trust the models, the means of the other worlds are
        shrunk to each other by as much of their spread as is noise of the draws.
        """
        trusting, values = ~self.worlds.apart, self.accuracies.copy()
        distrusting = len(trusting) - trusting.sum()
        if 1 < distrusting < trusting.sum():
            means = values[~trusting].mean(axis=0)
            noise = values[~trusting].var(axis=0, ddof=1).mean() / distrusting
            shrunk = min(noise / max(means.var(), TINY), 1.0)
            values[~trusting] -= shrunk * (means - means.mean())
        if trusting.any():
            labels = [
                (predictions, counts, labels[:, trusting].mean(axis=1, dtype=np.float64).T, likelihood)
                for predictions, counts, labels, likelihood in self._kinds()
            ]
            opinion = second_opinion(labels, np.minimum(self.patterns.say, 1.0))[: self.patterns.models]
            part = 1 / (OPINION + len(self.readings.rows))
            values[trusting] += part * (opinion - self.accuracies[trusting].mean(axis=0))
        return values

    def _kinds(self) -> Iterator[tuple[Ints, Ints, Floats, Floats | None]]:
        """Yield chunks of rows: predictions, numbers of rows, labels in each world, and likelihoods of the answers."""
        # (u, V), (u,), (C, S, u), and (u, C)
        open_ = np.flatnonzero(self.unanswered)
        step = max(CHUNK // self.worlds.biases.size, 1)
        all_candidates = len(self.candidates) == len(open_)  # then `labels` covers all open patterns
        for low in range(0, len(open_), step):
            rows = open_[low : low + step]
            predictions, strength = self.patterns.ballots(rows)
            labels = (
                self.labels[:, :, low : low + step] if all_candidates else self.worlds.labels(predictions, strength)
            )
            yield predictions, self.unanswered[rows], labels, None
        for low in range(0, len(self.readings.counts), step):
            rows = np.arange(low, min(low + step, len(self.readings.counts)))
            predictions, strength = self.patterns.ballots(self.readings.pattern[rows])
            labels = (
                self.worlds.labels(predictions, strength) * self.readings.likelihood[rows].T.astype(np.float32)[:, None]
            )
            labels /= np.maximum(labels.sum(axis=0), np.float32(TINY))
            yield predictions, self.readings.counts[rows], labels, self.readings.likelihood[rows]

    @cached_property
    def covariance(self) -> Floats:
        """(M, M) covariance over the domain's rows of the models' probabilities of being right, in a world.

        It adds one pseudo-row of disagreement per pair (a smoothing prior), since few rows show too little variance.
        """
        worlds = self._spread(len(self.worlds.weights), SPREAD_WORLDS)
        chosen = self._spread(len(self.patterns.counts), SPREAD_PATTERNS)
        second = np.zeros((self.patterns.models, self.patterns.models))
        thin = Beliefs(
            *(_part(self.patterns, chosen), _among(self.readings, chosen), self.worlds.part(worlds)),
            *(self.seed, self.label_noise),
        )
        for predictions, counts, labels, _ in thin._kinds():
            exact = labels.astype(np.float64)
            squares = np.einsum("csu,dsu->cdu", exact, exact) * counts
            vote = votes(predictions[:, : self.patterns.models], self.patterns.classes)  # silence is never right
            second += np.einsum("cmu,cdu,dku->mk", vote, squares, vote, optimize=["einsum_path", (0, 1), (0, 1)])
        means = thin.accuracies
        ranked = slice(self.patterns.models)
        one_more = self.patterns.alike[ranked, ranked] / (2 * self.rows)
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

    def p_first_better(self, first: Ints, second: Ints, values: Floats | None = None) -> Floats:
        """Return (S, P) P(the first model of a pair is more accurate in the domain than the second), in each world.

        It is by (S, M) accuracies, those of the vote if there are no others.
        """
        from scipy.special import ndtr

        values = self.accuracies if values is None else values
        lead = values[:, first] - values[:, second]
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
        return np.asarray(np.round(self.values.mean(axis=0), DIGITS))

    @cached_property
    def better(self) -> Floats:
        """(M, M) P(the row's model is more accurate in the domain than the column's); 1/2 on the diagonal.

        Clipped to [0.5/S, 1 - 0.5/S], since S samples cannot resolve more.
        """
        first, second = pairs(self.patterns.models).T
        least, step = 0.5 / len(self.worlds.weights), max(BLOCK // len(self.worlds.weights), 1)
        better = np.full(self.difference_variance.shape, 0.5)
        above = np.empty(len(first))
        for low in range(0, len(first), step):
            block = slice(low, low + step)
            above[block] = self.p_first_better(first[block], second[block], self.values).mean(axis=0)
        better[first, second] = np.clip(np.round(above, 9), least, 1 - least)
        better[second, first] = 1 - better[first, second]
        return better

    def outlook(self, often: Ints | None = None) -> Outlook:
        """Return what is known of the accuracies in the domain, and what an answer would add.

        The covariance between worlds is what answers lower, that of the pool as a sample is not. An answer raises the
        precision as it does, on average, for the difference between the leader and a model that may be better.

        Args:
            often: (V,) how often each candidate is labelled, up to a factor; None for rows without an answer alike.
        """
        from scipy.special import ndtr

        mean, leader = self.values.mean(axis=0), int(self.score.argmax())
        now, raised = (
            pairs[leader] for pairs in self.precision_gain(self.unanswered[self.candidates] if often is None else often)
        )
        behind = ndtr((mean - mean[leader]) / np.sqrt(np.maximum(now, TINY)))
        doubt = behind * (1 - behind) * (np.arange(len(mean)) != leader) + TINY
        return Outlook(
            mean,
            np.cov(self.values.T, bias=True).reshape(self.covariance.shape),
            self.covariance / self.rows,
            float(raised @ doubt / doubt.sum()),
            int(self.unanswered.sum()),
        )

    def label_shares(self, metric: MetricByLabel) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield rows, their numbers and their labels as `draw_values` takes them; in fewer worlds, of many labels."""
        cells = self.patterns.models * metric.statistics.shape[0] * metric.statistics.shape[1]
        worlds = self._spread(len(self.worlds.weights), max(METRIC_CELLS // cells, 1))
        for predictions, counts, labels, _ in replace(self, worlds=self.worlds.part(worlds))._kinds():
            yield predictions[:, : self.patterns.models], counts, labels

    def precision_gain(self, often: Ints) -> tuple[Floats, Floats]:
        """Return (M, M) variances of differences between worlds, and (M, M) shares by which an answer raises their
        inverse.
        """
        now = _of_differences(np.cov(self.accuracies.T, bias=True).reshape(self.difference_variance.shape))
        reduction = np.minimum(self.variance_reduction(often), now * (1 - EQUAL))
        return now, reduction / np.maximum(now - reduction, TINY)

    def variance_reduction(self, often: Ints) -> Floats:
        """Return (M, M) mean reduction by one answer of the variance of a difference of accuracies."""
        centred = (self.accuracies - self.accuracies.mean(axis=0)).astype(np.float32)
        shares = often / max(often.sum(), 1)
        total = self.answers.mean(axis=1)  # (C, V)
        moved = centred.T @ self.answers / len(centred)  # (C, M, V)
        weighted = moved * (shares / np.maximum(total, TINY))[:, None]
        return _of_differences(np.asarray(np.einsum("cmv,ckv->mk", weighted, moved, optimize=True)))


def believe(
    patterns: Patterns, rows: Ints, labels: Ints, label_noise: float = LABEL_NOISE, worlds: int = WORLDS
) -> Beliefs:
    """Compute the posterior of the models' accuracies, given a pool and (A,) labels of its rows.

    It depends on the pool and the answers alone, not on the order of models, answers or rows (see `fold`), nor on
    earlier posteriors. A row may occur several times.

    Example:
        >>> from ranker.statistics.patterns import fold
        >>> predicted = np.array([[0, 1, 1, 0, 1, 0], [0, 0, 0, 1, 0, 1]])  # they differ on all rows but the first
        >>> posterior = believe(fold(predicted, 2), np.array([1, 3]), np.array([1, 0]))  # the first is right on both
        >>> bool(posterior.better[0, 1] > 0.8)
        True
    """
    readings = gather_answers(patterns, rows, labels, label_noise)
    seed = patterns.seed(readings)
    return Beliefs(
        patterns, readings, sample_posterior(patterns, readings, np.random.default_rng(seed), worlds), seed, label_noise
    )


@dataclass(frozen=True, eq=False)
class VoteEvidence:
    """Labels and a pool, and what models are judged by.

    Attributes:
        beliefs: the posterior of the models' accuracies.
        metric: of labels; None for accuracy.
        often: (V,) how often each candidate will be labelled, up to a factor; None for rows without an answer alike.
    """

    beliefs: Beliefs
    metric: MetricByLabel | None = None
    often: Ints | None = None


def draw(evidence: VoteEvidence, rng: np.random.Generator, samples: int = 0) -> Draws:
    """Draw models' accuracies, or values of a metric of labels, in the domain.

    Accuracies are drawn from the normal distribution above, and a metric from a Bayesian bootstrap of the pool: a world
    by `draw_values`.

    Args:
        samples: S; 0 for `DOMAINS` draws in each world, or one of a metric. Fewer than these are a part of them.
    """
    beliefs, metric = evidence.beliefs, evidence.metric
    kinds = kinds_of(beliefs.patterns.predicted[:, : beliefs.patterns.models].T)
    outlook = beliefs.outlook(evidence.often)
    if metric is not None:
        drawn = draw_values(beliefs.label_shares(metric), metric, rng)
        spread = Outlook.of(drawn, outlook.gain, outlook.most)
        lasting = np.trace(outlook.lasting)
        share = lasting / max(lasting + np.trace(outlook.reducible), np.finfo(float).tiny)
        outlook = replace(spread, reducible=(1 - share) * spread.reducible, lasting=share * spread.reducible)
        return Draws(drawn[: samples or None], beliefs.seed, kinds, outlook=outlook)
    size, axes = np.linalg.eigh(beliefs.covariance / beliefs.rows)
    repeats = -(-samples // len(beliefs.values)) or DOMAINS
    noise = rng.standard_normal((repeats, *beliefs.values.shape)) * np.sqrt(np.maximum(size, 0.0)) @ axes.T
    drawn = (beliefs.values + noise - noise.mean(axis=(0, 1))).reshape(-1, beliefs.patterns.models)
    drawn = drawn[:, np.unique(kinds, return_index=True)[1][kinds]]  # so that rounding separates no equal predictions
    return Draws(drawn[: samples or None], beliefs.seed, kinds, beliefs.better, outlook).as_shares()


def draw_values(kinds: Iterable[tuple[Ints, Ints, Floats]], metric: MetricByLabel, rng: np.random.Generator) -> Floats:
    """Draw (S, M) values in the domain, all models together, one draw a world.

    Args:
        kinds: (u, M) predictions of rows, -1 for none, (u,) numbers of such rows, and (C, S, u) probabilities of their
            labels in each world; in parts.

    Example:
        >>> predictions, counts = np.array([[0, 1], [1, 1]]), np.array([30, 10])
        >>> sure = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # one world, which knows both labels: the first is right
        >>> right = np.array([[[1.0], [0.0]], [[0.0], [1.0]], [[0.0], [0.0]]])
        >>> accuracy = MetricByLabel(right, lambda means: means[..., 0])
        >>> drawn = draw_values([(predictions, counts, sure)], accuracy, np.random.default_rng(0))
        >>> round(float(drawn[0, 0]), 9), bool(0.1 < drawn[0, 1] < 0.4)
        (1.0, True)
    """
    total, mass, shape = np.zeros(()), np.zeros(()), (0, 0, 0, 0)
    for predictions, counts, labels in kinds:
        weights = rng.standard_gamma(counts, (labels.shape[1], len(counts)))
        weighted = labels.astype(np.float64) * weights  # (C, S, u)
        rows, models = predictions.shape
        shape = (len(metric.statistics), models, *labels.shape[:2])  # (answers, M, C, S)
        mass = mass + answers_given(predictions, len(metric.statistics) - 1).T @ weighted.reshape(-1, rows).T
        total = total + weights.sum(axis=1)[:, None, None]
    return metric.value(np.einsum("amcs,ack->smk", mass.reshape(shape), metric.statistics, optimize=True) / total)


def _of_differences(covariance: Floats) -> Floats:
    """Return (M, M) variances of the difference of each two."""
    variances = np.diagonal(covariance)
    return np.asarray(np.maximum(variances[:, None] + variances - 2 * covariance, 0.0))


def _part(patterns: Patterns, chosen: Ints) -> Patterns:
    """Return some of the patterns, without the patterns of the rows."""
    none = np.zeros(0, dtype=np.int64)
    predictions, strength = patterns.ballots(chosen)
    return replace(
        patterns, predicted=predictions, counts=patterns.counts[chosen], pattern_of_row=none, strength=strength
    )


def _among(readings: Readings, chosen: Ints) -> Readings:
    """Return the answers to rows of some of the patterns."""
    inside = np.isin(readings.pattern, chosen)
    return Readings(
        np.searchsorted(chosen, readings.pattern[inside]),
        readings.likelihood[inside],
        readings.counts[inside],
        readings.rows,
    )
