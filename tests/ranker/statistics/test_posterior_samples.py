import math

import numpy as np
import pytest
from scipy.optimize import minimize

from ranker.statistics import posterior_samples
from ranker.statistics.patterns import CONSTANT, fold, gather_answers
from ranker.statistics.posterior_samples import PosteriorSamples, distrust_probability, sample_posterior

NONE = np.zeros(0, dtype=np.int64)

CASES = {
    # name: (predictions (M, N), classes, rows, labels, label noise)
    "two models, one label": ([[0, 1, 1], [0, 0, 1]], 2, [1], [1], 0.0),
    "three models, four labels": (
        [[0, 1, 1, 0, 1], [0, 0, 1, 1, 1], [1, 0, 1, 0, 0]],
        2,
        [0, 1, 3, 4],
        [0, 1, 0, 1],
        0.02,
    ),
    "all were wrong": ([[0, 1, 1, 0], [0, 1, 0, 0]], 2, [0, 1, 3], [1, 0, 1], 0.02),
    "three classes and silence": ([[0, 2, 1, -1], [0, 1, 1, 2]], 3, [1, 2, 3, 3], [2, 1, 0, 2], 0.1),
    "nine labels of which few stand out": ([[0, 8, 1, -1], [0, 1, 1, 5]], 9, [1, 2, 3, 3], [8, 1, 0, 5], 0.1),
    "one model": ([[0, 1, 1, 0, 1]], 2, [0, 1, 2], [0, 1, 0], 0.02),
    "models that are not as sure of each row": (
        [[0, 1, 1, 0], [0, 0, 1, 1]],
        2,
        [1, 3, 0],
        [1, 0, 1],
        0.02,
        [[2.0, 0.0, 1.5, 0.5], [0.25, 2.25, 0.5, 1.0]],
    ),
    "accuracies at home": (
        [[0, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 0]],
        2,
        [1, 3],
        [1, 0],
        0.02,
        None,
        [0.9, 0.7, math.nan],
    ),
}


def folded(case):
    """The pool of a case."""
    strength, in_domain = (None if part is None else np.array(part) for part in (*case[5:], None, None)[:2])
    return fold(np.array(case[0]), case[1], strength=strength, in_domain=in_domain)


def density(case, patterns, normal, scales, apart):
    """The vote, and the logarithm of the posterior's density up to a constant, loop by loop from the definition."""
    predicted, classes, rows, labels, noise, *strengths = case
    sure, home = (*strengths, None, None)[:2]
    sure = np.ones_like(predicted) if sure is None else sure
    models = len(predicted)
    spread = max(patterns.agreement.std(), posterior_samples.LEAST_AGREEMENT)
    uniform = [0.5 * (1 + math.erf(scale / math.sqrt(2))) for scale in scales]
    mean = 0.0 if apart else posterior_samples.MEAN / models * math.exp(posterior_samples.MEAN_SPREAD * scales[0])
    low, high = posterior_samples.SPREAD
    sigma = math.sqrt(8 / models) * (1.0 if apart else low * (high / low) ** uniform[1])
    low, high = posterior_samples.BIAS
    beta = low * (high / low) ** uniform[2]
    weight = []
    for m in range(models):
        strengths = posterior_samples.AGREEMENT[0] + posterior_samples.AGREEMENT[1] * scales[3]
        strengths *= (patterns.agreement[m] - patterns.agreement.mean()) / spread
        if home and not math.isnan(home[m]):
            home_values = [value for value in home if not math.isnan(value)]
            strengths += (posterior_samples.IN_DOMAIN[0] + posterior_samples.IN_DOMAIN[1] * scales[4]) * (
                (home[m] - np.mean(home_values)) / max(np.std(home_values), posterior_samples.LEAST_IN_DOMAIN)
            )
        weight.append(mean * (1 + strengths) + sigma * normal[m])
    bias = [beta * normal[models + c] for c in range(classes)]
    few = len(predicted[0]) < CONSTANT
    varied = [m for m in range(models) if few or len(set(predicted[m])) > 1]
    share = distrust_probability(patterns.agreements[np.ix_(varied, varied)], classes)
    total = math.log(share if apart else 1 - share)
    total -= sum(square**2 for square in [*normal, *scales]) / 2
    if apart:
        for m in range(models):
            for c in range(classes):
                bias[c] -= weight[m] * np.mean([s * (q == c) for s, q in zip(sure[m], predicted[m], strict=True)])
    for row in set(rows):
        odds = [
            math.exp(bias[c] + sum(weight[m] * sure[m][row] * (predicted[m][row] == c) for m in range(models)))
            for c in range(classes)
        ]
        likely = 0.0
        for c in range(classes):
            labels_of_row = [label for position, label in zip(rows, labels, strict=True) if position == row]
            likelihood = [(1 - noise) * (label == c) + noise / classes for label in labels_of_row]
            likely += odds[c] / sum(odds) * math.prod(likelihood)
        total += posterior_samples.TRUST * math.log(likely)
    return np.array([*weight, *bias]), total


def long_run(case, patterns, steps, rng):
    """Means and standard deviations of weights and biases, by a random walk of all numbers at once."""
    models, classes = len(case[0]), case[1]
    normal, apart = rng.standard_normal(models + classes), False
    scales = rng.standard_normal(5 if len(case) > 6 else 4)
    vote, level = density(case, patterns, normal, scales, apart)
    states = []
    for step in range(steps):
        moved = (
            normal + rng.normal(0, 0.6, len(normal)),
            scales + rng.normal(0, 0.8, len(scales)),
            apart ^ (rng.random() < 0.3),
        )
        tried, reached = density(case, patterns, *moved)
        if math.log(rng.random()) < reached - level:
            (normal, scales, apart), vote, level = moved, tried, reached
        if step > steps // 20:
            states.append(vote)
    return np.mean(states, axis=0), np.std(states, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_worlds_are_drawn_from_the_posterior(case):
    """Weights and biases have the means and spreads that a long run of another sampler finds."""
    patterns = folded(case)
    readings = gather_answers(patterns, np.array(case[2]), np.array(case[3]), case[4])
    samples = sample_posterior(patterns, readings, np.random.default_rng(1), worlds=20_000)
    mean, spread = long_run(case, patterns, 60_000, np.random.default_rng(2))
    drawn = np.concatenate([samples.weights, samples.biases], axis=1)
    assert np.abs(drawn.mean(axis=0) - mean).max() < 0.12
    assert drawn.std(axis=0) == pytest.approx(spread, rel=0.12)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_likelihood_is_that_of_all_labels(case):
    """It is what a sum over every label gives, while no more labels of a row are held than are said there."""
    patterns = folded(case)
    readings = gather_answers(patterns, np.array(case[2]), np.array(case[3]), case[4])
    chain = posterior_samples._Chain(patterns, readings, np.random.default_rng(0))
    state = chain.sweep(chain.start(40), 0.5)
    vote = chain.vote(state.normal, state.scales, state.apart)
    weights, biases = vote[:, : patterns.models], vote[:, patterns.models :]
    ballots, strength = patterns.ballots(readings.pattern)
    odds = np.exp(
        np.einsum("sm,cmr->csr", weights, posterior_samples.votes(ballots, case[1], strength)) + biases.T[:, :, None]
    )
    right = (odds * readings.likelihood.T[:, None]).sum(axis=0) / odds.sum(axis=0)
    assert state.likelihood == pytest.approx(np.log(right) @ readings.counts, rel=1e-9)
    assert state.biases == pytest.approx(biases)
    assert len(state.logits) <= min(case[1], patterns.models + 2)  # two answers to a row, at most


@pytest.mark.parametrize(("wrong", "believing"), [(0.1, 0.9), (0.5, 0.03)])
def test_without_an_answer_worlds_are_the_prior(wrong, believing):
    """Weights are about their mean, and biases about 0; few worlds believe models that agree by chance alone."""
    rng = np.random.default_rng(0)
    patterns = fold(rng.integers(2, size=500) ^ (rng.random((8, 500)) < wrong), 2)
    samples = sample_posterior(patterns, gather_answers(patterns, NONE, NONE), np.random.default_rng(0), worlds=20_000)
    expected = believing * posterior_samples.MEAN / 8 * math.exp(posterior_samples.MEAN_SPREAD**2 / 2)
    assert samples.weights.mean() == pytest.approx(expected, abs=0.01)
    assert samples.biases.mean() == pytest.approx(0.0, abs=0.02)


def test_where_no_model_is_believed_what_all_say_often_is_not_either():
    """Of models that agree by chance alone, and say one label of three rows in four, only biases say how often it is
    right on average over rows; the median of their difference, of a million draws of the prior, is 0.506."""
    patterns = fold((np.random.default_rng(0).random((8, 500)) < 0.75).astype(int), 2)
    samples = sample_posterior(patterns, gather_answers(patterns, NONE, NONE), np.random.default_rng(0), worlds=20_000)
    often = [samples.weights @ (patterns.predicted == label).T @ patterns.counts / 500 for label in (0, 1)]
    odds = samples.biases[:, 1] - samples.biases[:, 0] + often[1] - often[0]
    assert np.median(np.abs(odds)) == pytest.approx(0.506, abs=0.05)


@pytest.mark.parametrize(
    ("agreements", "classes", "share"),
    [
        ([0.6, 0.6, 0.6], 2, 0.1),
        ([0.9, 0.9, 0.5], 2, 0.435),
        ([0.4, 0.4, 0.4], 2, 0.39),
        ([0.2, 0.2, 0.2], 2, 0.97),
        ([0.6, 0.2, 0.4], 2, 0.506),  # 0.116 for uneven, 0.29 for rare agreement
        ([0.26, 0.26, 0.26], 2, 0.97),
        ([0.26, 0.26, 0.26], 10, 0.1),
        ([0.2, 0.2, 0.2], 8, 0.39),
        ([0.01, 0.01, 0.01], 100, 0.97),
        ([0.1, 0.1, 0.1], 100, 0.1),
        ([0.72, 0.24, 0.27], 10, 0.1),  # 0.8, 0.9 and 0.3 of the rows known
        ([], 2, 0.1),
    ],
)
def test_models_are_believed_the_less_the_less_alike_and_often_they_agree(agreements, classes, share):
    """Uneven and rare agreement add up; with more classes rarer agreement is evidence; one model alone is believed."""
    independent = np.eye(3 if agreements else 1)
    independent[np.triu_indices(len(independent), 1)] = agreements
    assert distrust_probability(np.maximum(independent, independent.T), classes) == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3, 10, 77])
@pytest.mark.parametrize("models", [4, 8, 20])
def test_models_that_share_a_shortcut_are_believed_less(classes, models):
    """Models that follow wrong labels to different degrees raise the share, models that err independently do not."""
    rng = np.random.default_rng([classes, models])
    truth, shortcut = rng.integers(classes, size=(2, 600))
    right = rng.random((models, 600)) < np.linspace(0.75, 0.95, models)[:, None]
    independent = np.where(right, truth, rng.integers(classes, size=right.shape))
    follows = rng.random(600) + rng.normal(0, 0.1, right.shape) < np.linspace(0, 1, models)[:, None]
    misled, alone = (
        distrust_probability(fold(predicted, classes).agreements, classes)
        for predicted in (np.where(follows, shortcut, independent), independent)
    )
    assert misled > 0.5
    assert alone == 0.1 or classes == 2


def test_the_fit_to_agreements_has_the_least_squares():
    """As a general minimiser finds it, of agreements of which some are below 0."""
    rng = np.random.default_rng(0)
    above = np.triu_indices(5, 1)
    for _ in range(10):
        agreements = np.corrcoef(rng.normal(size=(5, 8)) + rng.normal(size=8))

        def squares(loadings, agreements=agreements):
            return ((agreements - np.outer(loadings, loadings))[above] ** 2).sum()

        fitted = posterior_samples._independent_agreements(agreements)
        least = minimize(squares, np.full(5, 0.5), bounds=[(0, None)] * 5).fun
        assert ((agreements - fitted)[above] ** 2).sum() == pytest.approx(least, abs=1e-3)


@pytest.mark.parametrize(("rows", "share"), [(CONSTANT, 0.1), (CONSTANT - 1, 0.97)])
def test_constant_models_are_no_sign_of_doubt(rows, share):
    """Models that always predict one label leave the share of worlds that believe the others as it is.

    On few rows they may be models that follow a shortcut, and count as all others.
    """
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=rows)
    good = np.where(rng.random((6, rows)) < 0.95, truth, 1 - truth)
    chains = [
        posterior_samples._Chain(patterns, gather_answers(patterns, NONE, NONE), rng)
        for patterns in (fold(good, 2), fold(np.concatenate([good, [[0] * rows, [1] * rows]]), 2))
    ]
    assert [chain.apart for chain in chains] == [0.1, share]


def test_labels_are_a_softmax_of_the_vote():
    """Probabilities of labels as the definition has them, with a model that is silent counting for no label."""
    samples = posterior_samples.PosteriorSamples(
        np.array([[1.0, 2.0]]), np.array([[0.5, 0.0, -0.5]]), np.array([False])
    )
    odds = np.exp([0.5 + 1.0, 0.0, -0.5])
    assert samples.labels(np.array([[0, -1]]))[:, 0, 0] == pytest.approx(odds / odds.sum(), rel=1e-6)
    odds = np.exp([0.5 + 1.0 * 0.5, 2.0 * 3.0, -0.5])
    label = samples.labels(np.array([[0, 1]]), np.array([[0.5, 3.0]]))[:, 0, 0]
    assert label == pytest.approx(odds / odds.sum(), rel=1e-6)


def test_labels_of_many_rows_are_computed_part_by_part(monkeypatch):
    """Two of seven rows at a time, the last one alone; with strengths and silence."""
    rng = np.random.default_rng(0)
    samples = PosteriorSamples(rng.normal(size=(5, 3)), rng.normal(size=(5, 2)), np.zeros(5, dtype=bool))
    predicted, strength = rng.integers(-1, 2, (7, 3)), rng.random((7, 3))
    together = samples.labels(predicted, strength)
    monkeypatch.setattr(posterior_samples, "CHUNK", 2 * 5 * 2)
    assert samples.labels(predicted, strength) == pytest.approx(together, abs=1e-6)
