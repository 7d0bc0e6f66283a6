"""Differences between models from few outcomes and from the likeness of their answers (ANCHORS).

A row's truth is taken for something between the models' answers, its *anchors*: the outcomes on labelled rows show how
near to it each of them is. With S_mkn the outcome of model m's answer to row n, were the answer of model k the truth,

    x_mkn = S_mkn - mean over i other than k of S_ikn,    x_kkn = 0,    z_n^2 = mean over m and k of x_mkn^2

are relative agreement and a row's spread. y_mn, a row's outcomes less their mean over models, is modelled as

    y_mn = sum over k of w_k x_mkn + z_n (d_m - mean of d) + e_mn,    e_mn ~ Normal(0, sigma^2 z_n^2), of sum 0 over m,
    w_k = (b + g_k) / (M - 1),    b ~ Normal(0.6, 0.4^2),    g_k ~ Normal(0, s^2),    d_m ~ Normal(0, t^2).

Answers that are not ranked (a judge's references) are anchors, too: x_mqn is S_mqn less its mean over all m, and their
weights, of J together, are w_q ~ Normal(`REFERENCE` / J, `REFERENCE_SD`^2 / J); for those that are trusted, such as
outputs of a strong system, `TRUSTED` stands for `REFERENCE`, and J counts them apart. The effects d let outcomes
overrule agreement.

Models of one family agree because they err alike. So a second prior is weighed, in which families count once: the
mean and the deviations of w_k are multiplied by c_k, and s^2 by c_k, with c_k proportional to 1 / the size of k's
family and 1 on average; and families' effects are shared, d_m ~ Normal(0, t^2) with a correlation of `SHARED` within a
family. Its odds beforehand are `FAMILY_ODDS`. Families are declared, or are chains of models whose answers are nearer
than `KIN` of the median distance, 1 less the mean similarity.

Values of s and t, and the priors, are weighed by their marginal likelihood. sigma^2 is the variance of y_n / z_n about
its mean over labelled rows, drawn toward a prior value. It is too large by what agreement explains of it, so
probabilities are somewhat too cautious. Given s, t, sigma and the prior, this is a Gaussian regression. Each model's
mean outcome over the pool, less that of the mean model, is what labelled rows show and what is predicted of the rest.
Two models agree with each other alike, so of them only outcomes tell.

Source: ours. Axis letters as in `engine`, and G pairs of s and t, twice if there are families.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from factors.rounding import TIE
from factors.types import Bools, Floats, Ints
from ranker.statistics.draws import TAIL, Draws, kinds_of, sample_count
from ranker.statistics.rows import draw_level, find_ends

SLOPE, SLOPE_SD = 0.6, 0.4
"""Prior mean and standard deviation of b: the outcome that a point of agreement with all others is worth."""

REFERENCE, REFERENCE_SD = 0.2, 0.3
"""Prior mean of the sum of the weights of answers that are not ranked, and its standard deviation."""

TRUSTED = 0.6
"""The same mean, of those that are known to be better than the models."""

WEIGHT_SDS, EFFECT_SDS = (0.3, 1.0), (0.05, 0.1, 0.2, 0.4, 0.8)
"""Values of s and t that are weighed."""

PLANNED_SDS = (0.5, 0.25)
"""s and t by which rows are chosen, before outcomes weigh them."""

KIN = 0.8
"""Share of the median distance between two models' answers below which they are of one family."""

SHARED = 0.5
"""Correlation of the effects d of a family's models."""

FAMILY_ODDS = 1 / 3
"""Prior odds that families count once, to that each model does."""

NOISE = 0.7
"""Prior value of sigma."""

NOISE_VALUES = 3.0
"""Values of e that the prior of sigma counts as; one row of eight models has seven."""

SPREAD_FLOOR = 0.05
"""Least spread of a row, in mean spreads. A row below it, on which answers are alike, is not used to tell models apart:
outcomes that are equal there would pass for proof that models are."""

EVEN_SPREAD = 0.2
"""Spread of each row, in outcomes, where agreement is the same throughout, as it is between two models."""

BALANCED_POOL = 100
"""Least pool of which one half is chosen last: rows on which a single model makes up most of the spread, and which tell
of that model alone."""

TINY = 1e-12
"""Floor that avoids division by zero; a spread or a squared outcome below it is rounding."""


@dataclass(frozen=True)
class Anchors:
    """Likeness of the models' answers on the rows of a pool.

    A missing answer is as bad as can be and supports no other: 0 in its row, [m, :, n], and its column, [:, m, n].

    Attributes:
        similarity: (M, A, N) at [m, k, n] the outcome of m's answer to row n, were the answer of k the truth: of the
            models themselves, then of answers that are not ranked. The diagonal, [k, k, n], is not read.
        declared: (M,) names of the models' families; () to find families by how near answers are.
        trusted: (J,) whether answers that are not ranked are known to be better than the models'; () for none.

    Raises:
        ValueError: another shape, fewer than two models, no row, or a value that is not finite.

    Example:
        >>> alike = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])  # the third answer is unlike the others
        >>> Anchors(alike[:, :, None]).mean_agreement.round(9).tolist()
        [0.5, 0.5, 0.0]
        >>> Anchors(alike[:, :, None]).families.tolist()
        [0, 0, 1]
    """

    similarity: Floats
    declared: tuple[str, ...] = ()
    trusted: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        shape = np.shape(self.similarity)
        if len(shape) != 3 or shape[0] > shape[1] or shape[0] < 2 or shape[2] < 1:
            raise ValueError(f"similarity must have the shape (M, A, N), with A >= M >= 2 and N >= 1 (got {shape})")
        if not np.isfinite(self.similarity[~np.eye(*shape[:2], dtype=bool)]).all():
            raise ValueError("similarity must be finite; that of a missing answer is 0")

    @property
    def models(self) -> int:
        """M."""
        return int(self.similarity.shape[0])

    @property
    def rows(self) -> int:
        """N."""
        return int(self.similarity.shape[2])

    @property
    def references(self) -> int:
        """J, the number of anchors that are not ranked."""
        return int(self.similarity.shape[1]) - self.models

    @property
    def trust(self) -> Bools:
        """(J,) whether anchors that are not ranked are trusted."""
        return np.array(self.trusted or [False] * self.references, dtype=bool)

    @property
    def own(self) -> Bools:
        """(M, A) whether an anchor is the model's own answer."""
        return np.eye(self.models, self.models + self.references, dtype=bool)

    @property
    def of_models(self) -> Anchors:
        """The same without answers that are not ranked."""
        return Anchors(self.similarity[:, : self.models], self.declared)

    @cached_property
    def families(self) -> Ints:
        """(M,) number of each model's family: declared, or found from how near answers are."""
        from scipy.sparse.csgraph import connected_components

        if self.declared:
            return np.unique(self.declared, return_inverse=True)[1]
        means = self.similarity[:, : self.models].mean(axis=2)
        distance = np.round(1 - (means + means.T) / 2, 12)
        median = np.median(distance[~np.eye(self.models, dtype=bool)])
        return np.asarray(connected_components(distance < KIN * median, directed=False)[1])

    @cached_property
    def relative(self) -> Floats:
        """(M, A, N) agreement with each anchor, less that of the mean of the other models: x."""
        diagonal = np.arange(self.models)
        relative = np.array(self.similarity, dtype=np.float64)
        relative[diagonal, diagonal] = 0.0
        counts = np.repeat([self.models - 1, self.models], [self.models, self.references])
        relative -= relative.sum(axis=0) / counts[:, None]
        relative[diagonal, diagonal] = 0.0
        return relative

    @cached_property
    def _own_spread(self) -> Floats:
        """(N,) root mean square of a row's relative agreement."""
        return np.asarray(np.sqrt((self.relative**2).mean(axis=(0, 1))))

    @cached_property
    def spread(self) -> Floats:
        """(N,) spread of each row, at least the least one, which scales all else on the row: z."""
        mean = self._own_spread.mean()
        return np.maximum(self._own_spread, SPREAD_FLOOR * mean) if mean > TINY else np.full(self.rows, EVEN_SPREAD)

    @cached_property
    def uneven(self) -> Bools:
        """(N,) rows that tell models apart: those above the least spread; all if agreement is the same throughout."""
        mean = self._own_spread.mean()
        return np.asarray((self._own_spread > SPREAD_FLOOR * mean) | (mean <= TINY))

    @cached_property
    def balanced(self) -> Bools:
        """(N,) uneven rows that are chosen first: of a large pool the half least spread by a single model."""
        if self.rows < BALANCED_POOL:
            return self.uneven
        squares = (self.relative**2).sum(axis=1)
        largest = np.round((squares / np.maximum(squares.sum(axis=0), TINY)).max(axis=0), 12)
        return np.asarray(self.uneven & (largest <= np.median(largest[self.uneven])))

    @cached_property
    def inputs(self) -> Floats:
        """(N, M, A + M) what y_n / z_n is regressed on: agreement with each anchor, and the models' own effects.

        They are 0 on rows that are not uneven, which so tell nothing.
        """
        agreement = (self.relative / self.spread).transpose(2, 0, 1)
        effects = np.broadcast_to(_centring(self.models), (self.rows, self.models, self.models))
        return np.concatenate([agreement, effects], axis=2) * self.uneven[:, None, None]

    @property
    def mean_agreement(self) -> Floats:
        """(M,) mean outcomes of each model, were another model's answer the truth: a score that needs no label.

        Source: minimum Bayes risk, Kumar and Byrne 2004, "Minimum Bayes-risk decoding for statistical machine
        translation", section 2; here of a whole pool.
        """
        off_diagonal = np.where(self.own[:, :, None], 0.0, self.similarity)
        return np.asarray(off_diagonal.sum(axis=(1, 2)) / ((self.similarity.shape[1] - 1) * self.rows))

    def pooled(self, rows: Ints) -> Floats:
        """Return (M, A + M) the share in the pool's mean of the inputs of some rows, in outcomes."""
        effects = self.spread[rows].sum() * _centring(self.models)
        return np.concatenate([self.relative[:, :, rows].sum(axis=2), effects], axis=1) / self.rows


@dataclass(frozen=True)
class AnchorPosterior:
    """Posterior of each model's mean outcome in a pool or domain, less that of the mean model: a mixture of normals.

    The level, the mean model's own mean outcome, is not among it: agreement says nothing of it, and the mean of the
    labelled rows estimates it only where these are random.

    Attributes:
        weights: (G,) of the normals; they sum to 1.
        means: (G, M) in outcomes; each sums to 0.
        covariances: (G, M, M) in squared outcomes.
    """

    weights: Floats
    means: Floats
    covariances: Floats

    @property
    def score(self) -> Floats:
        """(M,) expected differences from the mean model, in outcomes, by which models are ranked."""
        return np.asarray(np.round(self.weights @ self.means, 12))

    @property
    def covariance(self) -> Floats:
        """(M, M) of the differences, in squared outcomes."""
        apart = self.means - self.weights @ self.means
        return np.asarray(np.tensordot(self.weights, self.covariances + apart[:, :, None] * apart[:, None], axes=1))

    def beats(self) -> Floats:
        """Return (M, M) P(the row's model is better than the column's); 1/2 on the diagonal."""
        from scipy.special import ndtr

        lead = self.means[:, :, None] - self.means[:, None]
        variance = np.diagonal(self.covariances, axis1=1, axis2=2)
        apart = variance[:, :, None] + variance[:, None] - 2 * self.covariances
        better = np.tensordot(self.weights, ndtr(lead / np.sqrt(np.maximum(apart, TINY))), axes=1)
        upper = np.triu(np.round(better, 12), 1)
        return np.asarray(upper + np.tril(1 - upper.T, -1) + np.eye(len(upper)) / 2)

    def interval(self) -> tuple[Floats, Floats]:
        """Return (M,) lower and (M,) upper ends of the 95 % interval of each difference from the mean model."""
        from scipy.special import ndtr, ndtri

        spreads = np.sqrt(np.maximum(np.diagonal(self.covariances, axis1=1, axis2=2), TINY))
        reach = ndtri(1 - TAIL) * spreads
        return find_ends(
            lambda values: np.tensordot(self.weights, ndtr((values[:, None] - self.means) / spreads), axes=(0, 1)),
            (self.means - reach).min(axis=0),
            (self.means + reach).max(axis=0),
        )

    def drawn(self, rng: np.random.Generator, samples: int) -> Floats:
        """Draw (S, M) differences from the mean model, in outcomes, whose means are those of the mixture."""
        sizes, axes = np.linalg.eigh(self.covariances)
        parts = zip(rng.multinomial(samples, self.weights), self.means, sizes, axes, strict=True)
        drawn = np.concatenate(
            [
                mean + rng.standard_normal((count, len(mean))) * np.sqrt(np.maximum(size, 0)) @ axis.T
                for count, mean, size, axis in parts
            ]
        )
        return np.asarray(drawn + self.score - drawn.mean(axis=0))

    def belief(self, outcomes: Floats, alike: Floats, rng: np.random.Generator, samples: int) -> Draws:
        """Draw values in the domain, with the level that labelled rows have; differences from the mean model without.

        Args:
            outcomes: (M, K) on random labelled rows.
            alike: (M, ...) evidence, as of `kinds_of`.
        """
        samples = samples or sample_count(len(alike))
        values = self.drawn(rng, samples)
        if outcomes.size:
            values = values + draw_level(outcomes, rng, samples)[:, None]
        belief = Draws(values, int(rng.integers(2**32)), kinds_of(alike), self.beats())
        return belief.as_shares() if outcomes.size else belief


@dataclass(frozen=True, eq=False)
class LikenessEvidence:
    """Outcomes and a pool of answers.

    Attributes:
        anchors: the models' answers on the pool.
        outcomes: (M, K) of each model on each labelled row; a missing answer has 0.
        rows: (K,) the labelled rows, each once.
        random: whether these are random rows, whose outcomes so tell the level; if not, values are differences from the
            mean model.
    """

    anchors: Anchors
    outcomes: Floats
    rows: Ints
    random: bool = True


def draw(evidence: LikenessEvidence, rng: np.random.Generator, samples: int = 0) -> Draws:
    """Draw models' mean outcomes in the domain that the pool is a random sample of.

    Likeness tells how far they are apart. Their level is that of `rows`, from the outcomes alone.
    """
    anchors, outcomes = evidence.anchors, evidence.outcomes
    differences = infer_differences(anchors, outcomes, evidence.rows, domain=True)
    answers = np.where(anchors.own[:, :, None], 1.0, anchors.similarity)
    alike = np.concatenate([answers.reshape(anchors.models, -1), outcomes], axis=1)
    return differences.belief(outcomes if evidence.random else outcomes[:, :0], alike, rng, samples)


def infer_differences(
    anchors: Anchors, outcomes: Floats, rows: Sequence[int] | Ints, domain: bool = False
) -> AnchorPosterior:
    """Compute the posterior of the differences between models, given some outcomes.

    Where all rows of a pool are labelled, nothing is left open on the pool, and much of a domain. So for a domain the
    covariance over rows of what is expected of y_n, by the number of rows, is added.

    Args:
        outcomes: (M, K) of each model on each labelled row; a missing answer has 0.
        rows: (K,) the labelled rows, each once; none is allowed, and agreement and the prior then speak alone.
        domain: whether the differences are those in the domain that the pool is a random sample of.

    Raises:
        ValueError: outcomes of another shape or not finite, or rows that are not distinct rows of the pool.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.integers(4, size=200)
        >>> answers = np.where(rng.random((3, 200)) < [[0.9], [0.6], [0.3]], truth, rng.integers(4, size=(3, 200)))
        >>> anchors = Anchors((answers[:, None] == answers).astype(float))
        >>> posterior = infer_differences(anchors, (answers[:, :5] == truth[:5]).astype(float), range(5))
        >>> posterior.score.round(2).tolist()
        [0.11, 0.05, -0.16]
        >>> posterior.beats()[0].round(2).tolist()
        [0.5, 0.84, 1.0]
    """
    rows, models = np.asarray(rows, dtype=np.int64), anchors.models
    if len(np.unique(rows)) != len(rows) or ((rows < 0) | (rows >= anchors.rows)).any():
        raise ValueError(f"rows must be different rows of the pool, from 0 to {anchors.rows - 1} (got {rows.tolist()})")
    if np.shape(outcomes) != (models, len(rows)) or not np.isfinite(outcomes).all():
        raise ValueError(f"outcomes must be finite, of the shape {(models, len(rows))} (got {np.shape(outcomes)})")
    centred = np.asarray(outcomes, dtype=np.float64) - np.mean(outcomes, axis=0)
    uneven = anchors.uneven[rows]
    targets = (centred / anchors.spread[rows]).T[uneven]
    variance = _noise_variance(targets)
    log_odds, prior_means, prior_covariances = _priors(anchors)
    inputs = anchors.inputs[rows[uneven]].reshape(-1, prior_means.shape[1])

    prior_precisions = np.linalg.inv(prior_covariances)
    precisions = prior_precisions + inputs.T @ inputs / variance
    covariances = np.linalg.inv(precisions)
    residuals = targets.ravel() - prior_means @ inputs.T
    gradients = residuals @ inputs / variance
    moves = (covariances @ gradients[:, :, None])[:, :, 0]
    determinants = np.linalg.slogdet(prior_precisions)[1] - np.linalg.slogdet(precisions)[1]
    explained = (gradients * moves).sum(axis=1) - (residuals**2).sum(axis=1) / variance
    log_posterior = (explained + determinants) / 2 + log_odds
    weights = np.exp(log_posterior - log_posterior.max())

    weights /= weights.sum()
    effects = prior_means + moves

    unlabelled = np.setdiff1d(np.arange(anchors.rows), rows)
    pooled = anchors.pooled(unlabelled)
    noise = variance * (anchors.spread[unlabelled] ** 2).sum() / anchors.rows**2 * _centring(models)
    covariances = pooled @ covariances @ pooled.T + noise
    if domain:
        agreement, own_effects = np.split(weights @ effects, [-models])
        expected = agreement @ anchors.relative + np.outer(own_effects - own_effects.mean(), anchors.spread)
        expected[:, rows] = centred
        covariances += np.cov(expected, bias=True) / max(anchors.rows - 1, 1) + noise
    return AnchorPosterior(weights, centred.sum(axis=1) / anchors.rows + effects @ pooled.T, covariances)


def choose_rows(
    anchors: Anchors, count: int = 1, labelled: Sequence[int] | Ints = (), closed: Sequence[int] | Ints = ()
) -> Ints:
    """Choose rows to label: those that are expected to lower most the variances of the differences from the mean model.

    These depend on no outcome, so that a batch is as good as rows asked one after the other. The most useful are first;
    of rows that are equally useful, the first. There are fewer where fewer are left.

    Args:
        closed: other rows to leave out.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> similarity = rng.random((3, 3, 6)) * [0, 0.1, 0, 0, 1, 0]  # answers differ on the second and the fifth
        >>> choose_rows(Anchors(similarity), 2).tolist()
        [4, 1]
    """
    _, (covariance,) = _prior(np.eye(anchors.models), anchors.trust, *map(np.array, PLANNED_SDS))
    noise, pooled = NOISE**2 * np.eye(anchors.models), anchors.pooled(np.arange(anchors.rows))
    open_ = np.ones(anchors.rows, dtype=bool)
    open_[np.asarray([*labelled, *closed], dtype=np.int64)] = False
    for row in labelled:
        covariance = _narrowed(covariance, anchors.inputs[row], noise)
    chosen: list[int] = []
    while open_.any() and len(chosen) < count:
        preferred = open_ & anchors.balanced
        candidates = np.flatnonzero(preferred if preferred.any() else open_)
        inputs = anchors.inputs[candidates]
        projected = inputs @ covariance
        moved = projected @ pooled.T
        gains = (moved * np.linalg.solve(projected @ inputs.transpose(0, 2, 1) + noise, moved)).sum(axis=(1, 2))
        chosen.append(int(candidates[np.argmax(gains >= gains.max() * (1 - TIE))]))
        open_[chosen[-1]] = False
        covariance = _narrowed(covariance, anchors.inputs[chosen[-1]], noise)
    return np.array(chosen, dtype=np.int64)


def _centring(models: int) -> Floats:
    """Return (M, M) the matrix that takes the mean over models off."""
    return np.eye(models) - 1 / models


def _priors(anchors: Anchors) -> tuple[Floats, Floats, Floats]:
    """Return (G,) log prior odds, (G, A + M) prior means of w and d, and their (G, A + M, A + M) covariances."""
    families, models = anchors.families, anchors.models
    kin, each_own = (families == families[:, None]).astype(np.float64), np.eye(models)
    groupings = [each_own, kin] if 1 < len(np.unique(families)) < models else [each_own]
    grid = np.meshgrid(WEIGHT_SDS, EFFECT_SDS)
    means, covariances = zip(*(_prior(grouping, anchors.trust, *grid) for grouping in groupings), strict=True)
    log_odds = np.log([1.0, FAMILY_ODDS][: len(groupings)])
    return np.repeat(log_odds, grid[0].size), np.repeat(means, grid[0].size, axis=0), np.concatenate(covariances)


def _prior(kin: Floats, trust: Bools, weight_sd: Floats, effect_sd: Floats) -> tuple[Floats, Floats]:
    """Return (A + M,) prior means of w and d, and their (G, A + M, A + M) covariances for G pairs of s and t."""
    references = len(trust)
    models, weight_variance, effect_variance = len(kin), np.ravel(weight_sd) ** 2, np.ravel(effect_sd) ** 2
    share = 1 / kin.sum(axis=1)
    share /= share.mean()
    anchors, size = models + references, 2 * models + references
    of_weights = SLOPE_SD**2 * np.outer(share, share) + weight_variance[:, None, None] * np.diag(share)
    covariances = np.zeros((len(weight_variance), size, size))
    covariances[:, :models, :models] = of_weights / (models - 1) ** 2
    counts = np.where(trust, trust.sum(), (~trust).sum())
    covariances[:, models:anchors, models:anchors] = np.diag(REFERENCE_SD**2 / counts)
    shared = (1 - SHARED) * np.eye(models) + SHARED * kin
    covariances[:, anchors:, anchors:] = effect_variance[:, None, None] * shared
    of_references = np.where(trust, TRUSTED, REFERENCE) / counts
    return np.concatenate([SLOPE * share / (models - 1), of_references, np.zeros(models)]), covariances


def _noise_variance(targets: Floats) -> float:
    """Return sigma^2 from (K, M) scaled outcomes: their variance about their mean, or that of a single row about 0."""
    rows, models = targets.shape
    mean = targets.mean(axis=0) if rows > 1 else 0.0
    values = (rows - (rows > 1)) * (models - 1)
    return float((((targets - mean) ** 2).sum() + NOISE_VALUES * NOISE**2) / (values + NOISE_VALUES))


def _narrowed(covariance: Floats, inputs: Floats, noise: Floats) -> Floats:
    """Return the covariance of w and d once a row of these inputs is labelled."""
    projected = inputs @ covariance
    return np.asarray(covariance - projected.T @ np.linalg.solve(projected @ inputs.T + noise, projected))
