"""What a pool and a few labels say of the models' accuracies, and how sure that is.

In world i (`worlds`), a row without an answer is of label c with probability P_i(c). A row with answers is so with
P_i(c) times their likelihood. The accuracy of model m on the pool is A_im = mean over rows of P_i(Q_m). Models are
ranked by its mean over worlds. The pool of N rows is a sample of the domain, so that in the domain, in world i,

    accuracies ~ Normal(A_i, covariance / N),    P(m beats k) = mean over i of Phi((A_im - A_ik) / sqrt(v_mk / N)),

with the covariance over rows of P_i(Q), averaged over worlds, and v_mk the variance of P_i(Q_m) - P_i(Q_k), which one
row more on which the two may differ makes greater by their share of rows with other labels, over N. Axis letters as in
`worlds`, and V patterns whose rows may be asked next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.engine import pairs
from ranker.statistics.patterns import Patterns, Readings, gather_answers
from ranker.statistics.posterior import LEVEL
from ranker.statistics.posterior_samples import WORLDS, PosteriorSamples, sample_posterior, votes

LABEL_NOISE = 0.02
"""The share of answers that are given at random."""

CELLS = 40_000
"""Labels of patterns that are candidates for the next row, V * C at most; of more patterns so many are drawn."""

CHUNK = 4_000_000
"""Probabilities of labels that are computed at once: 16 MB."""

SPREAD_WORLDS, SPREAD_PATTERNS = 64, 1_000
"""Worlds and patterns that the covariance over rows is computed from, where there are more."""

EQUAL = 1e-6
"""Two accuracies of one world that are this close are equal: models that predict the same, but for rounding."""

DOMAINS = 8
"""Draws of the domain's accuracies in each world."""

TINY = 1e-30
"""Of nothing, no share is taken."""

ENOUGH = 2**20
"""No number of further labels above this is told."""


@dataclass(frozen=True)
class Beliefs:
    """What is known of the models' accuracies.

    Attributes:
        patterns: of the pool.
        readings: what was answered.
        worlds: draws of the vote.
        seed: of what is drawn from it.
        label_noise: the share of answers that are given at random.
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
        for said, counts, labels in self._kinds():
            given = votes(said, self.patterns.classes) * counts
            more = (given[:-1] - given[-1]).transpose(0, 2, 1)  # than if all were of the last label
            total += (labels[:-1].astype(np.float64) @ more).sum(axis=0) + given[-1].sum(axis=1)
        return np.asarray(total / self.rows)

    def _kinds(self) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Kinds of rows, some at a time: (u, M) predictions, (u,) numbers of rows, (C, S, u) labels in each world."""
        open_ = np.flatnonzero(self.unanswered)
        each = max(CHUNK // self.worlds.biases.size, 1)
        whole = len(self.candidates) == len(open_)  # then what is worked out of the candidates is all
        for low in range(0, len(open_), each):
            some = open_[low : low + each]
            said, strength = self.patterns.ballots(some)
            labels = self.labels[:, :, low : low + each] if whole else self.worlds.labels(said, strength)
            yield said, self.unanswered[some], labels
        for low in range(0, len(self.readings.counts), each):
            some = np.arange(low, min(low + each, len(self.readings.counts)))
            said, strength = self.patterns.ballots(self.readings.pattern[some])
            labels = self.worlds.labels(said, strength) * self.readings.likelihood[some].T.astype(np.float32)[:, None]
            labels /= np.maximum(labels.sum(axis=0), np.float32(TINY))
            yield said, self.readings.counts[some], labels

    @cached_property
    def covariance(self) -> Floats:
        """(M, M) of the models' chances to be right, over the rows of the domain, in a world.

        As if there were one row more on which two models differ as often as on the others, and one of them is right:
        few rows, and most of all one, would tell too little of how far rows differ.
        """
        worlds = self._spread(len(self.worlds.weights), SPREAD_WORLDS)
        few = PosteriorSamples(self.worlds.weights[worlds], self.worlds.biases[worlds])
        kept = self._spread(len(self.patterns.counts), SPREAD_PATTERNS)
        second = np.zeros((self.patterns.models, self.patterns.models))
        thin = Beliefs(_part(self.patterns, kept), _among(self.readings, kept), few, self.seed, self.label_noise)
        for said, counts, labels in thin._kinds():
            exact = labels.astype(np.float64)
            both = np.einsum("csu,dsu->cdu", exact, exact) * counts
            given = votes(said, self.patterns.classes)  # silence is never right
            second += np.einsum("cmu,cdu,dku->mk", given, both, given, optimize=["einsum_path", (0, 1), (0, 1)])
        means = thin.accuracies
        one_more = self.patterns.alike / (2 * self.rows)
        return np.asarray(second / (thin.rows * len(worlds)) - means.T @ means / len(worlds) + one_more)

    def _spread(self, count: int, most: int) -> Ints:
        """All places, or so many drawn."""
        if count <= most:
            return np.arange(count)
        return np.sort(np.random.default_rng([self.seed, count]).choice(count, most, replace=False))

    @cached_property
    def apart(self) -> Floats:
        """(M, M) the variance over rows of the difference of two models' chances to be right."""
        return _of_differences(self.covariance)

    @cached_property
    def leads(self) -> Floats:
        """(S, P) P(the first of a pair is more accurate in the domain than the second), in each world."""
        return self.leads_of(pairs(self.patterns.models))

    def leads_of(self, these: Ints) -> Floats:
        """(S, p) the same of (p, 2) pairs."""
        from scipy.special import ndtr

        first, second = these.T
        lead = self.accuracies[:, first] - self.accuracies[:, second]
        error = np.sqrt(self.apart[first, second] / self.rows)
        lead[np.abs(lead) <= EQUAL] = 0.0
        return np.asarray(ndtr(lead / np.maximum(error, EQUAL)))

    @cached_property
    def candidates(self) -> Ints:
        """(V,) patterns with a row that has no answer; of very many, some that are drawn."""
        open_ = np.flatnonzero(self.unanswered)
        return open_[self._spread(len(open_), max(CELLS // self.patterns.classes, 1))]

    @cached_property
    def labels(self) -> Floats:
        """(C, S, V) the probability, in each world, of each label of a row of a candidate, in single precision."""
        return self.worlds.labels(*self.patterns.ballots(self.candidates))

    @cached_property
    def answers(self) -> Floats:
        """(C, S, V) the probability, in each world, of each answer to a row of a candidate, in single precision."""
        wrong = self.label_noise / self.patterns.classes
        return self.labels * np.float32(1 - self.label_noise) + np.float32(wrong)

    @property
    def score(self) -> Floats:
        """(M,) the expected accuracies on the pool, which the models are ranked by."""
        return np.asarray(np.round(self.accuracies.mean(axis=0), 9))

    def beats(self) -> Floats:
        """(M, M) P(the model of the row is more accurate in the domain than that of the column); 1/2 on the diagonal.

        None is nearer to 0 or 1 than S worlds can tell, half of a world.
        """
        first, second = pairs(self.patterns.models).T
        least = 0.5 / len(self.worlds.weights)
        better = np.full(self.apart.shape, 0.5)
        better[first, second] = np.clip(np.round(self.leads.mean(axis=0), 9), least, 1 - least)
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
        """(M,) P(no other model is more accurate in the domain); they sum to 1, and equal models share."""
        first = self.domain >= self.domain.max(axis=1, keepdims=True) - EQUAL
        return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))

    def near(self, margin: float) -> Floats:
        """(M,) P(in the domain no other model is better by more than the margin)."""
        behind = self.domain.max(axis=1, keepdims=True) - self.domain
        return np.asarray((behind <= margin + EQUAL).mean(axis=0))

    def within(self, margin: float) -> float:
        """P(in the domain no model is better by more than the margin than the leader, which has the best score)."""
        return float(self.near(margin)[self.score.argmax()])

    def interval(self) -> tuple[Floats, Floats]:
        """(M,) lower and (M,) upper ends of the 95 % interval of each accuracy in the domain."""
        low, high = np.quantile(self.domain, [0.025, 0.975], axis=0)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def more_labels(self) -> Ints:
        """Find how many more labels of random rows would tell two models apart.

        The variance of a difference in the domain is v + r: v that between worlds, which labels lower, and r that of
        the pool as a sample, which they do not. One label lowers v by d on average over rows and answers, so it raises
        the precision by the share d / (v - d), and n labels are taken to leave v_n = v / (1 + n d / (v - d)). If the
        difference is what it now seems, its estimate is told apart with probability `LEVEL` from the n on for which
        |difference| >= z sqrt(v_n + r) + z sqrt(v_n).

        Returns:
            (M, M) numbers, at least 1; -1 where no number up to 2^20 would do with this pool.
        """
        from scipy.special import ndtri

        z = float(ndtri(LEVEL))
        lead, rest = np.abs(self.score[:, None] - self.score), self.apart / self.rows
        now, raised = self.narrowing(self.unanswered[self.candidates])

        def enough(more: Ints) -> Bools:
            left = now / (1 + more * raised)
            return np.asarray(lead >= z * np.sqrt(left + rest) + z * np.sqrt(left))

        return least_number(enough, lead > EQUAL)

    def narrowing(self, often: Ints) -> tuple[Floats, Floats]:
        """(M, M) the variance of differences between worlds, and (M, M) by what share an answer raises its inverse.

        Args:
            often: (V,) how often each candidate is asked, up to a factor.
        """
        now = _of_differences(np.cov(self.accuracies.T, bias=True).reshape(self.apart.shape))
        falls = np.minimum(self.falls(often), now * (1 - EQUAL))
        return now, falls / np.maximum(now - falls, TINY)

    def falls(self, often: Ints) -> Floats:
        """(M, M) by how much one answer lowers the variance of a difference of accuracies, on average.

        Args:
            often: (V,) how often each candidate is asked, up to a factor.
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
    """Say what a pool and a few labels tell of the models' accuracies.

    It depends on the pool and on the answers, and on nothing else: not on the order in which models, answers or rows
    are listed (see `fold`), and not on what was known before.

    Args:
        patterns: of the pool.
        rows: (A,) the rows that were answered; one may be named several times.
        labels: (A,) the answers.
        label_noise: the share of answers that are given at random.
        worlds: S.

    Raises:
        ValueError: a label that is none of the classes, or contradicting answers without noise.

    Example:
        >>> from ranker.statistics.patterns import fold
        >>> predicted = np.array([[0, 1, 1, 0, 1, 0], [0, 0, 0, 1, 0, 1]])  # they differ on all rows but the first
        >>> found = believe(fold(predicted, 2), np.array([1, 3]), np.array([1, 0]))  # the first is right on both
        >>> bool(found.beats()[0, 1] > 0.8)
        True
    """
    readings = gather_answers(patterns, rows, labels, label_noise)
    seed = patterns.seed(readings)
    return Beliefs(
        patterns, readings, sample_posterior(patterns, readings, np.random.default_rng(seed), worlds), seed, label_noise
    )


def least_number(enough: Callable[[Ints], Bools], possible: Bools) -> Ints:
    """Find from which number on a condition holds.

    Args:
        enough: numbers -> whether each is enough; a number above one that is enough is so, too.
        possible: where to look.

    Returns:
        The least numbers from 1 on that are enough; -1 where none up to 2^20 is, or where not to look.

    Example:
        >>> least_number(lambda n: n >= np.array([7, 2**30]), np.array([True, True])).tolist()
        [7, -1]
    """
    low, high = np.zeros(possible.shape, dtype=np.int64), np.full(possible.shape, ENOUGH)
    found = possible & enough(high)
    while (high - low).max(initial=0) > 1:
        middle = (low + high) // 2
        reached = enough(middle)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(np.where(found, np.maximum(high, 1), -1))


def _of_differences(covariance: Floats) -> Floats:
    """(M, M) the variance of the difference of each two."""
    own = np.diagonal(covariance)
    return np.asarray(np.maximum(own[:, None] + own - 2 * covariance, 0.0))


def _part(patterns: Patterns, kept: Ints) -> Patterns:
    """Some of the patterns; which rows are of them is not told."""
    none = np.zeros(0, dtype=np.int64)
    said, strength = patterns.ballots(kept)
    return Patterns(said, patterns.counts[kept], none, patterns.classes, patterns.places, strength)


def _among(readings: Readings, kept: Ints) -> Readings:
    """The answers to rows of some of the patterns."""
    there = np.isin(readings.pattern, kept)
    return Readings(
        np.searchsorted(kept, readings.pattern[there]),
        readings.likelihood[there],
        readings.counts[there],
        readings.rows,
    )
