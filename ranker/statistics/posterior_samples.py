"""What a few labels teach of how to read the models' predictions: draws of a vote, by sequential Monte Carlo.

The vote. With Q_m the label that model m predicts on a row, the row's label is c with probability

    P(c) = softmax over c of  sum over m of w_m s_m [Q_m = c] + b_c.

s_m is how sure the model is of its label on that row, by its mean over rows (`Pool.strength`); 1 where a model gives
labels alone.

The prior, with x and z standard normal, M models and log-uniform sigma and beta:

    w_m = mu g_m + sigma x_m,    b_c = beta z_c,    log(M mu) ~ Normal(log MEAN, MEAN_SPREAD^2),
    sigma in SPREAD sqrt(8 / M),    beta in BIAS,    g_m = 1 + h (a_m - mean a) / sd a,    h ~ Normal(AGREEMENT).

a_m is how much a model agrees with the others (`Patterns.agreement`): where models err each in its own way, those that
agree more are right more often; where most err alike, they are not, so that h may be below 0. In some draws the models
share a wrong shortcut, or have nothing in common, and no model is believed before labels speak: mu is 0, and sigma is
sqrt(8 / M). Nor is it believed then that labels are as frequent as models say, who may all say one too often. So the
mean over rows of what c gets from the models is taken off b_c: a prediction counts by how far it departs from what its
model usually says.

The share of these draws is the least of APART where all pairs of models agree alike and often. It rises to the greatest
with the standard deviation of the pairs' agreements, over UNEVEN: models of one family, that follow a shortcut to
different degrees, agree with those next to them and contradict the others. And it does so as their mean falls, over
RARE: models that hardly agree have little in common, and most of them may be wrong.

The posterior. A row that was answered counts with its likelihood to the power TRUST. No vote is the truth, and rows are
chosen where models differ, so an answer tells less than it would if the vote were the truth. A draw is a *world*. The
worlds start at the prior. The power of all answers is raised from 0 to TRUST in steps, each as long as half of the
worlds stay effective; at each the worlds are resampled by weight, and moved by sweeps that leave the posterior as it
is: elliptical slice sampling of (x, z), and Metropolis steps of (mu, sigma, beta, h) and of whether mu is 0. All
answers come in together, so that their order decides nothing. Only patterns that have an answer enter, which keeps it
cheap.

Everything that decides (likelihoods, levels, weights) is computed in double precision. Processors sum and round
differently; in double precision that flips no decision, so that a seed gives the same draws on all of them. Only the
labels of a pool's rows, which decide nothing here, are in single precision.

Sources: Del Moral, Doucet, Jasra 2006, "Sequential Monte Carlo samplers", section 3; Jasra et al. 2011 (steps of the
power); Murray, Adams, MacKay 2010, "Elliptical slice sampling"; Kitagawa 1996 (systematic resampling); Bissiri, Holmes,
Walker 2016 (likelihoods to a power). Prior and constants: ours. Axis letters as in `patterns`, and S worlds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from factors.types import Bools, Floats, Ints
from ranker.statistics.patterns import Patterns, Readings

WORLDS = 500
"""S: a mean over worlds is off by their spread over sqrt(S)."""

TRUST = 0.7
"""The power of an answer's likelihood."""

MEAN, MEAN_SPREAD = 3.2, 0.5
"""What all weights together come to, and the spread of its logarithm."""

SPREAD = (0.3, 1.5)
"""How far the weight of a model of eight may be from that of another."""

BIAS = (0.3, 1.0)
"""How much more frequent than another a label may be, on the scale of log odds."""

AGREEMENT = (0.3, 0.3)
"""The mean and the spread of how much more a model is believed that agrees more by one standard deviation, in units of
the mean weight."""

LEAST_AGREEMENT = 0.02
"""The least standard deviation of agreements that is one: below, models agree alike."""

APART = (0.1, 0.97)
"""The least and the greatest share of worlds in which no model is believed before labels speak."""

UNEVEN = (0.15, 0.25)
"""The standard deviations of the pairs' agreements between which that share rises."""

RARE = (0.45, 0.3)
"""The means of the pairs' agreements between which it rises, too, as they fall."""

EFFECTIVE = 0.5
"""The share of the worlds that stays effective in a step of the power."""

SWEEPS = 2
"""Moves of each world after a step."""

KEPT = 0.7
"""How much of mu, sigma, beta and h a Metropolis step keeps: the correlation of old and new."""

SCALES = 4
"""Numbers that a world has beside its weights and biases: those that mu, sigma, beta and h are made of."""

TINY = 1e-30
"""The least likelihood that has a logarithm."""

MOST = 80.0
"""The most that the log odds of two labels may be in single precision: more than any vote comes to."""

CHUNK = 250_000
"""Probabilities of labels that are computed at once: 1 MB, which a processor holds near."""

SHRINKS = 30
"""Of a slice, until a world stays where it is."""


@dataclass(frozen=True)
class PosteriorSamples:
    """Draws of the vote.

    Attributes:
        weights: (S, M) how much each model's prediction counts.
        biases: (S, C) what each label has without a prediction.
    """

    weights: Floats
    biases: Floats

    def labels(self, said: Ints, strength: Floats | None = None) -> Floats:
        """(C, S, U) the probabilities of labels, in single precision, of rows on which models predict (U, M).

        Args:
            said: (U, M) what they predict.
            strength: (U, M) how much that counts; None where all count alike.
        """
        size, classes = self.biases.shape
        biases = (self.biases[:, :-1] - self.biases[:, -1:]).T[:, :, None]
        found = np.empty((classes, size, len(said)), dtype=np.float32)
        each = max(CHUNK // (size * classes), 1)
        for low in range(0, len(said), each):
            given = votes(said[low : low + each], classes, None if strength is None else strength[low : low + each])
            logits = self.weights @ (given[:-1] - given[-1])  # to the last label; summed in double precision
            logits += biases
            odds = np.minimum(logits, MOST, out=logits).astype(np.float32)
            np.exp(odds, out=odds)
            last, rest = found[-1, :, low : low + each], found[:-1, :, low : low + each]
            np.reciprocal(odds.sum(axis=0) + 1, out=last)
            np.multiply(odds, last, out=rest)
        return np.asarray(found)


def votes(said: Ints, classes: int, strength: Floats | None = None) -> Floats:
    """(C, M, U) 1, or the strength, where the model predicts the label on the row, else 0."""
    given = np.arange(classes)[:, None, None] == said.T
    return np.asarray(given if strength is None else given * strength.T, dtype=np.float64)


def sample_posterior(
    patterns: Patterns, readings: Readings, rng: np.random.Generator, worlds: int = WORLDS
) -> PosteriorSamples:
    """Draw votes from the posterior, given the answers.

    Args:
        patterns: of the pool.
        readings: what was answered.
        rng: the only source of randomness.
        worlds: S.

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
        state = state.taken(_resampled(step * state.likelihood, rng))
        for _ in range(SWEEPS):
            state = chain.moved(state, power)
    vote = chain.vote(state.normal, state.scales, state.apart)
    return PosteriorSamples(vote[:, : patterns.models], vote[:, patterns.models :])


def distrust_probability(agreements: Floats) -> float:
    """The share of worlds in which no model is believed before labels speak.

    Args:
        agreements: (M, M) of pairs of models, see `Patterns.agreements`.

    Example:
        >>> alike, unlike = np.array([[1.0, 0.8], [0.8, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> distrust_probability(alike), distrust_probability(unlike)
        (0.1, 0.97)
    """
    pairs = agreements[np.triu_indices(len(agreements), 1)]
    if not len(pairs):
        return APART[0]
    uneven = np.interp(pairs.std(), UNEVEN, APART)
    rare = np.interp(pairs.mean(), sorted(RARE), APART[::-1])
    return float(max(uneven, rare))


def _step(likelihood: Floats, most: float) -> float:
    """The longest step of the power after which so many worlds stay effective as are wanted."""

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


def _resampled(logarithms: Floats, rng: np.random.Generator) -> Ints:
    """(S,) worlds drawn by weight, evenly spaced: each as often as its share says, rounded up or down."""
    weight = np.exp(logarithms - logarithms.max())
    reach = np.cumsum(weight) / weight.sum()
    ticks = (rng.random() + np.arange(len(weight))) / len(weight)
    return np.asarray(np.minimum(np.searchsorted(reach, ticks), len(weight) - 1))


@dataclass(frozen=True)
class _State:
    """Worlds as the standard normal numbers that they are made of.

    Attributes:
        normal: (S, M + C) x and z.
        scales: (S, 4) those that mu, sigma, beta and h are made of.
        apart: (S,) whether mu is 0.
        logits: (D, S, R) of the labels that stand out on the labelled rows.
        biases: (S, C) the logits of all others.
        likelihood: (S,) the logarithm of that of all answers.
    """

    normal: Floats
    scales: Floats
    apart: Bools
    logits: Floats
    biases: Floats
    likelihood: Floats

    def taken(self, worlds: Ints) -> _State:
        """These of its worlds."""
        return _State(
            self.normal[worlds],
            self.scales[worlds],
            self.apart[worlds],
            self.logits[:, worlds],
            self.biases[worlds],
            self.likelihood[worlds],
        )

    def where(self, accepted: Bools, other: _State) -> _State:
        """The worlds of the other state where they are accepted."""
        each = accepted[:, None]
        return _State(
            np.where(each, other.normal, self.normal),
            np.where(each, other.scales, self.scales),
            np.where(accepted, other.apart, self.apart),
            np.where(each, other.logits, self.logits),
            np.where(each, other.biases, self.biases),
            np.where(accepted, other.likelihood, self.likelihood),
        )


def _outstanding(said: Ints, likelihood: Floats) -> Ints:
    """(D, R) the labels that stand out on each row: predicted by a model, or likelier by the answers than the others.

    Rows with fewer have others beside them.
    """
    rows, classes = likelihood.shape
    stands = likelihood > likelihood.min(axis=1, keepdims=True)
    row, model = np.nonzero(said >= 0)
    stands[row, said[row, model]] = True
    most = int(stands.sum(axis=1).max(initial=1))
    return np.sort(np.argsort(~stands, axis=1, kind="stable")[:, :most], axis=1).T


class _Chain:
    """The posterior that worlds are moved in: the prior, and the likelihood of the answers.

    On a row D labels stand out, which a model predicts or somebody answered. The others have no more than their biases,
    and one likelihood, so that they count together: 200 labels cost no more than a few.
    """

    def __init__(self, patterns: Patterns, readings: Readings, rng: np.random.Generator) -> None:
        self.rng, self.models, self.classes = rng, patterns.models, patterns.classes
        spread = max(float(patterns.agreement.std()), LEAST_AGREEMENT)
        self.agreeing = (patterns.agreement - patterns.agreement.mean()) / spread
        self.apart = distrust_probability(patterns.agreements)
        self.usual = patterns.usual
        self.columns = np.concatenate([patterns.places, np.arange(self.models, self.models + self.classes)])
        said, strength = patterns.ballots(readings.pattern)
        self.labels = _outstanding(said, readings.likelihood)
        given = self.labels[:, None] == said.T
        self.design: Floats = np.asarray(given if strength is None else given * strength.T, dtype=np.float64)
        self.answers = np.take_along_axis(readings.likelihood.T, self.labels, axis=0)[:, None]  # (D, 1, R)
        self.of_others = readings.likelihood.min(axis=1)
        self.counts = readings.counts

    def start(self, worlds: int) -> _State:
        """Worlds from the prior."""
        normal, scales = self.standard(worlds), self.rng.standard_normal((worlds, SCALES))
        return self.at(normal, scales, self.rng.random(worlds) < self.apart)

    def standard(self, worlds: int) -> Floats:
        """(S, M + C) standard normal numbers, each model's the same wherever it is listed."""
        return self.rng.standard_normal((worlds, self.models + self.classes))[:, self.columns]

    def at(self, normal: Floats, scales: Floats, apart: Bools) -> _State:
        """The state with these numbers."""
        vote = self.vote(normal, scales, apart)
        logits, biases = self.logits(vote), vote[:, self.models :]
        return _State(normal, scales, apart, logits, biases, self.likelihood(logits, biases))

    def centre(self, scales: Floats, apart: Bools) -> Floats:
        """(S, M + C) the prior's mean of weights and biases."""
        mean = np.where(apart, 0.0, MEAN / self.models * np.exp(MEAN_SPREAD * scales[:, 0]))
        more = AGREEMENT[0] + AGREEMENT[1] * scales[:, 3]
        believed = mean[:, None] * (1 + more[:, None] * self.agreeing)
        return np.concatenate([believed, np.zeros((len(mean), self.classes))], axis=1)

    def spread(self, scales: Floats, apart: Bools) -> Floats:
        """(S, M + C) the prior's standard deviation of weights and biases."""
        from scipy.special import ndtr

        def between(ends: tuple[float, float], at: Floats) -> Floats:
            return np.asarray(ends[0] * (ends[1] / ends[0]) ** ndtr(at))

        of_weights = np.sqrt(8 / self.models) * np.where(apart, 1.0, between(SPREAD, scales[:, 1]))
        of_biases = between(BIAS, scales[:, 2])
        return np.repeat(np.stack([of_weights, of_biases], axis=1), [self.models, self.classes], axis=1)

    def vote(self, normal: Floats, scales: Floats, apart: Bools) -> Floats:
        """(S, M + C) weights and biases."""
        return self.departing(self.centre(scales, apart) + self.spread(scales, apart) * normal, apart)

    def departing(self, vote: Floats, apart: Bools) -> Floats:
        """(S, M + C) the vote; where no model is believed, biases are less by what its weights usually give."""
        weights, biases = vote[:, : self.models], vote[:, self.models :]
        return np.concatenate([weights, biases - apart[:, None] * (weights @ self.usual)], axis=1)

    def logits(self, vote: Floats) -> Floats:
        """(D, S, R) of the labels that stand out on the labelled rows, from weights and biases."""
        found = vote[:, : self.models] @ self.design
        found += vote[:, self.models :].T[self.labels].transpose(0, 2, 1)
        return np.asarray(found)

    def likelihood(self, logits: Floats, biases: Floats) -> Floats:
        """(S,) the logarithm of the likelihood of all answers."""
        highest = logits.max(axis=0)
        odds = logits - highest
        np.exp(odds, out=odds)
        right, every = (odds * self.answers).sum(axis=0), odds.sum(axis=0)
        if len(self.labels) < self.classes:
            weights = np.exp(biases - biases.max(axis=1, keepdims=True))
            others = weights.sum(axis=1, keepdims=True) - weights.T[self.labels].sum(axis=0).T
            others = np.maximum(others, 0) * np.exp(biases.max(axis=1, keepdims=True) - highest)
            right, every = right + others * self.of_others, every + others
        return np.asarray(np.log(right / every + TINY) @ self.counts)

    def moved(self, state: _State, power: float) -> _State:
        """Each world after one sweep, with the answers' likelihood to that power."""
        state = self.sliced(state, power)
        count = len(state.apart)
        scales = KEPT * state.scales + np.sqrt(1 - KEPT**2) * self.rng.standard_normal((count, SCALES))
        state = self.accepted(state, self.at(state.normal, scales, state.apart), power)
        return self.accepted(state, self.at(state.normal, state.scales, self.rng.random(count) < self.apart), power)

    def accepted(self, state: _State, proposed: _State, power: float) -> _State:
        """The proposal, which keeps the prior, where Metropolis accepts it."""
        lift = power * (proposed.likelihood - state.likelihood)
        return state.where(np.log(self.rng.random(len(lift))) < lift, proposed)

    def sliced(self, state: _State, power: float) -> _State:
        """Each world at another place of an ellipse through it and a draw of the prior, above a random level."""
        count = len(state.apart)
        own, other = state.normal, self.standard(count)
        spread = self.spread(state.scales, state.apart)
        votes_of = [self.departing(spread * one, state.apart) for one in (own, other)]
        of_own, of_other = map(self.logits, votes_of)
        own_biases, other_biases = (vote[:, self.models :] for vote in votes_of)
        fixed, fixed_biases = state.logits - of_own, state.biases - own_biases
        level = power * state.likelihood + np.log(self.rng.random(count))
        angle = 2 * np.pi * self.rng.random(count)
        low, high = angle - 2 * np.pi, angle.copy()
        logits, biases, likelihood = state.logits.copy(), state.biases.copy(), state.likelihood.copy()
        left = np.arange(count)
        for _ in range(SHRINKS):
            turned = angle[left, None]
            cosine, sine = np.cos(turned), np.sin(turned)
            tried = fixed[:, left] + cosine * of_own[:, left] + sine * of_other[:, left]
            tried_biases = fixed_biases[left] + cosine * own_biases[left] + sine * other_biases[left]
            found = self.likelihood(tried, tried_biases)
            above = power * found > level[left]
            done = left[above]
            logits[:, done], biases[done], likelihood[done] = tried[:, above], tried_biases[above], found[above]
            left = left[~above]
            if not len(left):
                break
            back = angle[left] < 0
            low[left] = np.where(back, angle[left], low[left])
            high[left] = np.where(back, high[left], angle[left])
            angle[left] = low[left] + self.rng.random(len(left)) * (high[left] - low[left])
        angle[left] = 0.0
        normal = own * np.cos(angle)[:, None] + other * np.sin(angle)[:, None]
        return replace(state, normal=normal, logits=logits, biases=biases, likelihood=likelihood)
