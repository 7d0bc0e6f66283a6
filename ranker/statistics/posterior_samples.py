"""Draws from the posterior of a vote of the models, given a few labels, by sequential Monte Carlo.

The vote. With Q_m the label that model m predicts on a row, the row's label is c with probability

    P(c) = softmax over c of  sum over m of w_m s_m [Q_m = c] + b_c.

s_m is how sure the model is of its label on that row, by its mean over rows (`Pool.strength`); 1 where a model gives
labels alone.

The prior, with x and z standard normal, M models and log-uniform sigma and beta:

    w_m = mu g_m + sigma x_m,    b_c = beta z_c,    log(M mu) ~ Normal(log MEAN, MEAN_SPREAD^2),
    sigma in SPREAD sqrt(8 / M),    beta in BIAS,    g_m = 1 + h a_m + i d_m,    h ~ Normal(AGREEMENT),
    i ~ Normal(IN_DOMAIN).

a_m is a model's agreement with the others (`Patterns.agreement`), d_m its in-domain accuracy, both standardised over
the models. Where each model errs in its own way, models that agree more are right more often; where most err alike,
they are not, so h may be below 0. Nor need the best in-domain be the best here, so i is learnt, too; it is 0 where
in-domain accuracies are unknown. In some draws the models share a wrong shortcut, or have nothing in common, and the
prior trusts no model: mu is 0, and sigma is sqrt(8 / M). Such a draw does not trust the models' label frequencies
either, since all may predict one label too often. So b_c is reduced by the mean over rows of the models' votes for c: a
prediction counts by how far it departs from its model's average.

`distrust_probability` is the share of these draws.

The posterior. The likelihood of a labelled row counts to the power TRUST. The vote is only a model, and rows are chosen
where models differ, so an answer says less than it would if the vote were the truth. A draw is a *world*. The worlds
start at the prior. The power of all answers rises from 0 to TRUST in steps, each as long as half of the worlds stay
effective. At each step the worlds are resampled by weight, and moved by sweeps that leave the posterior unchanged:
elliptical slice sampling of (x, z), and Metropolis steps of (mu, sigma, beta, h, i) and of whether mu is 0. All answers
enter together, so their order does not matter. Only patterns with an answer enter, which keeps the cost low.

Likelihoods, levels and weights, on which decisions depend, are in double precision. Processors sum and round
differently; in double precision that flips no decision, so a seed gives the same draws on all of them. Only the labels
of a pool's rows, on which no decision here depends, are in single precision.

Sources: Del Moral, Doucet, Jasra 2006, "Sequential Monte Carlo samplers", section 3; Jasra et al. 2011 (steps of the
power); Murray, Adams, MacKay 2010, "Elliptical slice sampling"; Kitagawa 1996 (systematic resampling); Bissiri, Holmes,
Walker 2016 (likelihoods to a power). Prior and constants: ours. Axis letters as in `patterns`, and S worlds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.patterns import Patterns, Readings

WORLDS = 500
"""S, the number of draws: the error of a mean over worlds is their spread over sqrt(S)."""

TRUST = 0.7
"""Power of an answer's likelihood."""

MEAN, MEAN_SPREAD = 3.2, 0.5
"""Sum of all weights, and the spread of its logarithm."""

SPREAD = (0.3, 1.5)
"""Range of the standard deviation of weights, for eight models."""

BIAS = (0.3, 1.0)
"""Range of the standard deviation of the labels' log odds."""

AGREEMENT = (0.3, 0.3)
"""Mean and spread of the extra weight of a model that agrees more by one standard deviation, in units of the mean
weight."""

IN_DOMAIN = (0.4, 0.3)
"""The same of a model that is more accurate in-domain."""

LEAST_AGREEMENT = 0.02
"""Floor of the standard deviation of agreements: below it, models agree alike."""

LEAST_IN_DOMAIN = 0.1
"""Floor of the standard deviation of in-domain accuracies. Smaller differences say less of another domain, and nothing
where all models of a suite share a shortcut, which they hardly pay for in-domain."""

APART = (0.1, 0.97)
"""Least and greatest share of worlds in which the prior trusts no model."""

UNEVEN = (0.15, 0.25)
"""Unevenness of the pairs' agreements between which that share rises, for two classes a standard deviation."""

RARE = (0.45, 0.3)
"""Means of the pairs' agreements between which that share rises, as they fall, for two classes; for C classes they are
sqrt(2 / C) times as high."""

ROUNDS = 50
"""Rounds of the fit of accuracies to agreements; half of the distance is left after each."""

EFFECTIVE = 0.5
"""Share of the worlds that stays effective in a step of the power."""

SWEEPS = 2
"""Moves of each world after a step."""

CORRELATION = 0.7
"""Correlation of old and new mu, sigma, beta, h and i in a Metropolis step."""

SCALES = 3
"""Standard normal numbers of a world for mu, sigma and beta, beside h, i, and its weights and biases."""

TINY = 1e-30
"""Floor of likelihoods, which avoids the logarithm of zero."""

MAX_LOG_ODDS = 80.0
"""Bound of the log odds of two labels, which avoids overflow in single precision; no vote reaches it."""

CHUNK = 250_000
"""Label probabilities computed at once: 1 MB, which fits the processor's cache."""

SHRINKS = 30
"""Most shrinks of a slice; after these a world stays where it is."""


@dataclass(frozen=True)
class PosteriorSamples:
    """Draws of the vote.

    Attributes:
        weights: (S, V) weights of the models' predictions.
        biases: (S, C) logits of the labels without a prediction.
        apart: (S,) whether the world trusts no model before labels speak.
    """

    weights: Floats
    biases: Floats
    apart: Bools

    def part(self, worlds: Ints) -> PosteriorSamples:
        """Return some of the draws."""
        return PosteriorSamples(self.weights[worlds], self.biases[worlds], self.apart[worlds])

    def labels(self, predicted: Ints, strength: Floats | None = None) -> Floats:
        """Return (C, S, U) label probabilities, in single precision, of rows with (U, V) predictions and strengths."""
        size, classes = self.biases.shape
        biases = (self.biases[:, :-1] - self.biases[:, -1:]).T[:, :, None]
        probabilities = np.empty((classes, size, len(predicted)), dtype=np.float32)
        step = max(CHUNK // (size * classes), 1)
        for low in range(0, len(predicted), step):
            vote = votes(predicted[low : low + step], classes, None if strength is None else strength[low : low + step])
            logits = self.weights @ (vote[:-1] - vote[-1])  # to the last label; summed in double precision
            logits += biases
            odds = np.minimum(logits, MAX_LOG_ODDS, out=logits).astype(np.float32)
            np.exp(odds, out=odds)
            last, first_labels = probabilities[-1, :, low : low + step], probabilities[:-1, :, low : low + step]
            np.reciprocal(odds.sum(axis=0) + 1, out=last)
            np.multiply(odds, last, out=first_labels)
        return np.asarray(probabilities)


def votes(predicted: Ints, classes: int, strength: Floats | None = None) -> Floats:
    """Return (C, V, U) 1, or the strength, where the model predicts the label on the row, else 0."""
    chosen = np.arange(classes)[:, None, None] == predicted.T
    return np.asarray(chosen if strength is None else chosen * strength.T, dtype=np.float64)


def sample_posterior(
    patterns: Patterns, readings: Readings, rng: np.random.Generator, worlds: int = WORLDS
) -> PosteriorSamples:
    """Draw votes from the posterior, given the answers.

    Example:
        >>> from ranker.statistics.patterns import fold, gather_answers
        >>> pool = fold(np.array([[0, 1, 1, 0], [0, 0, 0, 1]]), 2)
        >>> answers = gather_answers(pool, np.array([1, 2]), np.array([1, 1]))
        >>> samples = sample_posterior(pool, answers, np.random.default_rng(0))
        >>> bool(samples.weights[:, 0].mean() > samples.weights[:, 1].mean())  # the first was right twice
        True
    """
    chain = _Chain(patterns, readings, rng)
    state = chain.start(worlds)
    power = 0.0
    while len(readings.counts) and power < TRUST:
        step = _step(state.likelihood, TRUST - power)
        power = TRUST if step >= TRUST - power else power + step
        state = state.select(_resample(step * state.likelihood, rng))
        for _ in range(SWEEPS):
            state = chain.sweep(state, power)
    vote = chain.vote(state.normal, state.scales, state.apart)
    return PosteriorSamples(vote[:, : patterns.voters], vote[:, patterns.voters :], state.apart)


def distrust_probability(agreements: Floats, classes: int) -> float:
    """Return the share of worlds in which the prior trusts no model.

    It is the lower end of `APART` where all models agree alike and often. It rises with two signs, which add up:

    - *Rare* agreement: models that hardly agree have little in common, and most of them may be wrong. Among many
      classes a small agreement is evidence, since two models agree by chance on one row in C. The limits fall with the
      square root of that: as a multiple of chance they rise, and as an agreement they fall.
    - *Uneven* agreement: models of one family that follow a shortcut to different degrees agree with their neighbours
      and contradict the others. If models err independently, each with its own accuracy, two agree by r_m r_k. Where
      they do not, they err alike. The spread of r_m r_k counts by 1 / (C - 1), the probability that two wrong answers
      agree: with two classes accuracy and a shortcut look the same. The sum of both variances is in units of half of
      the range of an agreement, C / (2 (C - 1)).

    Args:
        agreements: (M, M) `Patterns.agreements` of the models that are no constants, see `Patterns.varied`.

    Example:
        >>> alike, unlike = np.array([[1.0, 0.8], [0.8, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> distrust_probability(alike, 2), distrust_probability(unlike, 2)
        (0.1, 0.97)
        >>> seldom = np.array([[1.0, 0.26], [0.26, 1.0]])
        >>> distrust_probability(seldom, 2), distrust_probability(seldom, 10)
        (0.97, 0.1)
    """
    above = np.triu_indices(len(agreements), 1)
    pairs = agreements[above]
    if not len(pairs):
        return APART[0]
    independent = _independent_agreements(agreements)[above]
    shared = min(float(((pairs - independent) ** 2).mean()), float(pairs.var()))
    uneven = 2 * (classes - 1) / classes * np.sqrt(shared + (pairs.var() - shared) / (classes - 1))
    signs = np.interp(uneven, UNEVEN, (0, 1)) + np.interp(pairs.mean() * np.sqrt(classes / 2), RARE[::-1], (1, 0))
    return round(float(APART[0] + (APART[1] - APART[0]) * min(signs, 1.0)), 9)


def _independent_agreements(agreements: Floats) -> Floats:
    """Return (M, M) agreements r_m r_k of models that err independently, by least squares off the diagonal."""
    cross, skills = agreements - np.diag(np.diagonal(agreements)), np.ones(len(agreements))
    for _ in range(ROUNDS):
        skills = (skills + np.maximum(cross @ skills / np.maximum(skills @ skills - skills**2, TINY), 0.0)) / 2
    return np.asarray(np.outer(skills, skills))


def _standardised(values: Floats, least: float, say: Floats) -> Floats:
    """Return (V,) deviations from the weighted mean in standard deviations, of `least` at least; 0 where unknown."""
    weights = np.where(np.isnan(values), 0.0, say)
    if not weights.any():
        return np.zeros(len(values))
    defined = np.nan_to_num(values)
    mean = (weights * defined).sum() / weights.sum()
    deviation = np.sqrt((weights * (defined - mean) ** 2).sum() / weights.sum())
    return np.asarray(np.nan_to_num(np.round((values - mean) / max(deviation, least), 9)))


def _step(likelihood: Floats, most: float) -> float:
    """Return the longest step of the power that leaves the share `EFFECTIVE` of the worlds effective."""

    def effective(step: float) -> float:
        weight = np.exp(step * (likelihood - likelihood.max()))
        return float(weight.sum() ** 2 / (weight**2).sum() / len(weight))

    if effective(most) >= EFFECTIVE:
        return most
    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if effective(middle) >= EFFECTIVE else (low, middle)
    return high


def _resample(logarithms: Floats, rng: np.random.Generator) -> Ints:
    """Return (S,) worlds drawn by weight, evenly spaced: each as often as its share says, rounded up or down."""
    reach = np.cumsum(np.exp(logarithms - logarithms.max()))
    ticks = (rng.random() + np.arange(len(reach))) / len(reach) * reach[-1]
    return np.asarray(np.searchsorted(reach, ticks))


class _State(NamedTuple):
    """Worlds as the standard normal numbers that they are made of."""

    normal: Floats  # (S, V + C) x and z
    scales: Floats  # (S, 4 or 5) what mu, sigma, beta, h and i are made of
    apart: Bools  # (S,) whether mu is 0
    logits: Floats  # (D, S, R) of the labels that stand out on the labelled rows
    biases: Floats  # (S, C) the logits of all others
    likelihood: Floats  # (S,) the log likelihood of all answers

    def select(self, worlds: Ints) -> _State:
        """Return the state of some of its worlds."""
        return _State._make(part[:, worlds] if part.ndim == 3 else part[worlds] for part in self)

    def where(self, accepted: Bools, proposal: _State) -> _State:
        """Return this state, with the other's worlds where they are accepted."""
        parts = zip(proposal, self, strict=True)
        return _State._make(np.where(accepted if old.ndim == 1 else accepted[:, None], new, old) for new, old in parts)


def _tracked_labels(predicted: Ints, likelihood: Floats) -> Ints:
    """Return (D, R) labels that a model predicts or the answers make likelier, filled up with other labels."""
    rows, classes = likelihood.shape
    stands = likelihood > likelihood.min(axis=1, keepdims=True)
    row, model = np.nonzero(predicted >= 0)
    stands[row, predicted[row, model]] = True
    most = int(stands.sum(axis=1).max(initial=1))
    return np.sort(np.argsort(~stands, axis=1, kind="stable")[:, :most], axis=1).T


class _Chain:
    """Posterior that worlds are moved in: the prior, and the likelihood of the answers."""

    # On a row D labels stand out: predicted by a model, or answered. The others have only their biases and one common
    # likelihood, so they count together: 200 labels cost no more than a few.

    def __init__(self, patterns: Patterns, readings: Readings, rng: np.random.Generator) -> None:
        self.rng, self.voters, self.classes, self.say = rng, patterns.voters, patterns.classes, patterns.say
        standing = [_standardised(patterns.agreement, LEAST_AGREEMENT, self.say)]
        if patterns.in_domain is not None:
            standing.append(_standardised(patterns.in_domain, LEAST_IN_DOMAIN, self.say))
        trusted = self.say > 1  # whatever the others predict
        self.standing = np.where(trusted, np.maximum(standing, 0.0), standing)
        self.slopes = np.array([AGREEMENT, IN_DOMAIN])[: len(standing)]
        varied = patterns.varied
        self.apart = distrust_probability(patterns.agreements[np.ix_(varied, varied)], self.classes)
        self.usual = patterns.usual
        self.columns = np.concatenate([patterns.places, np.arange(self.voters, self.voters + self.classes)])
        predicted, strength = patterns.ballots(readings.pattern)
        self.labels = _tracked_labels(predicted, readings.likelihood)
        chosen = self.labels[:, None] == predicted.T
        self.design: Floats = np.asarray(chosen if strength is None else chosen * strength.T, dtype=np.float64)
        self.answers = np.take_along_axis(readings.likelihood.T, self.labels, axis=0)[:, None]  # (D, 1, R)
        self.of_others = readings.likelihood.min(axis=1)
        self.counts = readings.counts

    def start(self, worlds: int) -> _State:
        """Draw worlds from the prior."""
        normal, scales = self.standard(worlds), self.rng.standard_normal((worlds, SCALES + len(self.slopes)))
        return self.at(normal, scales, self.rng.random(worlds) < self.apart)

    def standard(self, worlds: int) -> Floats:
        """Draw (S, V + C) standard normal numbers; a model has the same ones wherever it is listed."""
        return self.rng.standard_normal((worlds, self.voters + self.classes))[:, self.columns]

    def at(self, normal: Floats, scales: Floats, apart: Bools) -> _State:
        """Return the state with these numbers."""
        vote = self.vote(normal, scales, apart)
        logits, biases = self.logits(vote), vote[:, self.voters :]
        return _State(normal, scales, apart, logits, biases, self.likelihood(logits, biases))

    def centre(self, scales: Floats, apart: Bools) -> Floats:
        """Return the prior's (S, V + C) means of weights and biases."""
        mean = np.where(apart, 0.0, MEAN / self.say.sum() * np.exp(MEAN_SPREAD * scales[:, 0]))
        slopes = self.slopes[:, 0] + self.slopes[:, 1] * scales[:, SCALES:]
        believed = mean[:, None] * (1 + slopes @ self.standing) * self.say
        return np.concatenate([believed, np.zeros((len(mean), self.classes))], axis=1)

    def spread(self, scales: Floats, apart: Bools) -> Floats:
        """Return the prior's (S, V + C) standard deviations of weights and biases."""
        from scipy.special import ndtr

        def between(ends: tuple[float, float], normal: Floats) -> Floats:
            return np.asarray(ends[0] * (ends[1] / ends[0]) ** ndtr(normal))

        of_weights = np.sqrt(8 / self.say.sum()) * np.where(apart, 1.0, between(SPREAD, scales[:, 1]))
        of_biases = between(BIAS, scales[:, 2])
        return np.concatenate([of_weights[:, None] * self.say, np.tile(of_biases[:, None], self.classes)], axis=1)

    def vote(self, normal: Floats, scales: Floats, apart: Bools) -> Floats:
        """Return (S, V + C) weights and biases."""
        return self.subtract_usual_vote(self.centre(scales, apart) + self.spread(scales, apart) * normal, apart)

    def subtract_usual_vote(self, vote: Floats, apart: Bools) -> Floats:
        """Return (S, V + C) the vote; where no model is trusted, biases are reduced by the mean vote of its weights."""
        weights, biases = vote[:, : self.voters], vote[:, self.voters :]
        return np.concatenate([weights, biases - apart[:, None] * (weights @ self.usual)], axis=1)

    def logits(self, vote: Floats) -> Floats:
        """Return (D, S, R) logits of the labels that stand out on the labelled rows, from weights and biases."""
        logits = vote[:, : self.voters] @ self.design
        logits += vote[:, self.voters :].T[self.labels].transpose(0, 2, 1)
        return np.asarray(logits)

    def likelihood(self, logits: Floats, biases: Floats) -> Floats:
        """Return the (S,) log likelihood of all answers."""
        highest = logits.max(axis=0)
        odds = logits - highest
        np.exp(odds, out=odds)
        right, total = (odds * self.answers).sum(axis=0), odds.sum(axis=0)
        if len(self.labels) < self.classes:
            weights = np.exp(biases - biases.max(axis=1, keepdims=True))
            other_odds = weights.sum(axis=1, keepdims=True) - weights.T[self.labels].sum(axis=0).T
            other_odds = np.maximum(other_odds, 0) * np.exp(biases.max(axis=1, keepdims=True) - highest)
            right, total = right + other_odds * self.of_others, total + other_odds
        return np.asarray(np.log(right / total + TINY) @ self.counts)

    def sweep(self, state: _State, power: float) -> _State:
        """Return each world after one sweep, with the answers' likelihood to that power."""
        state = self.slice_step(state, power)
        count = len(state.apart)
        drawn = self.rng.standard_normal(state.scales.shape)
        scales = CORRELATION * state.scales + np.sqrt(1 - CORRELATION**2) * drawn
        state = self.metropolis(state, self.at(state.normal, scales, state.apart), power)
        return self.metropolis(state, self.at(state.normal, state.scales, self.rng.random(count) < self.apart), power)

    def metropolis(self, state: _State, proposed: _State, power: float) -> _State:
        """Return the proposal, which leaves the prior unchanged, where Metropolis accepts it."""
        lift = power * (proposed.likelihood - state.likelihood)
        return state.where(np.log(self.rng.random(len(lift))) < lift, proposed)

    def slice_step(self, state: _State, power: float) -> _State:
        """Return each world at another place of an ellipse through it and a draw of the prior, above a random level."""
        count = len(state.apart)
        current, proposal = state.normal, self.standard(count)
        spread = self.spread(state.scales, state.apart)
        votes_of = [self.subtract_usual_vote(spread * draw, state.apart) for draw in (current, proposal)]
        current_logits, proposal_logits = map(self.logits, votes_of)
        current_biases, proposal_biases = (vote[:, self.voters :] for vote in votes_of)
        fixed, fixed_biases = state.logits - current_logits, state.biases - current_biases
        level = power * state.likelihood + np.log(self.rng.random(count))
        angle = 2 * np.pi * self.rng.random(count)
        low, high = angle - 2 * np.pi, angle.copy()
        logits, biases, likelihood = state.logits.copy(), state.biases.copy(), state.likelihood.copy()
        left = np.arange(count)
        for _ in range(SHRINKS):
            turned = angle[left, None]
            cosine, sine = np.cos(turned), np.sin(turned)
            tried = fixed[:, left] + cosine * current_logits[:, left] + sine * proposal_logits[:, left]
            tried_biases = fixed_biases[left] + cosine * current_biases[left] + sine * proposal_biases[left]
            tried_likelihood = self.likelihood(tried, tried_biases)
            above = power * tried_likelihood > level[left]
            done = left[above]
            logits[:, done], biases[done], likelihood[done] = (
                tried[:, above],
                tried_biases[above],
                tried_likelihood[above],
            )
            left = left[~above]
            if not len(left):
                break
            back = angle[left] < 0
            low[left] = np.where(back, angle[left], low[left])
            high[left] = np.where(back, high[left], angle[left])
            angle[left] = low[left] + self.rng.random(len(left)) * (high[left] - low[left])
        angle[left] = 0.0
        normal = current * np.cos(angle)[:, None] + proposal * np.sin(angle)[:, None]
        return state._replace(normal=normal, logits=logits, biases=biases, likelihood=likelihood)
