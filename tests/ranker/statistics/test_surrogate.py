import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import engine, surrogate
from ranker.statistics.pool import Pool, corners
from ranker.statistics.posterior import NEAR


@st.composite
def pools(draw, most_rows=8):
    """A pool of a few rows with labels, and a draw of labelled rows that may name one twice."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    models, rows, classes = draw(st.integers(1, 4)), draw(st.integers(1, most_rows)), draw(st.integers(2, 4))
    probs = rng.dirichlet(np.full(classes, 0.5), size=(models, rows))
    return Pool(probs), rng.integers(classes, size=rows), rng.integers(rows, size=draw(st.integers(1, 5)))


def loops(pool, labels, drawn):
    """The definition: least squares on labels as corners of a simplex in C dimensions, then accuracy row by row."""
    models, rows, classes = pool.probs.shape
    edge = np.sqrt(1 - 1 / classes)
    equations, values = [], []
    for row in drawn:
        for c in range(classes):
            equations.append([(pool.probs[m, row, c] - 1 / classes) / edge / np.sqrt(models) for m in range(models)])
            values.append(((labels[row] == c) - 1 / classes) / edge)
    for m in range(models):  # the prior: every weight is observed as 0
        equations.append([np.sqrt(surrogate.NOISE) * (m == other) for other in range(models)])
        values.append(0.0)
    weights = np.linalg.lstsq(np.array(equations), np.array(values), rcond=None)[0]
    found = []
    for m in range(models):
        total = 0.0
        for row in range(rows):
            said = int(np.argmax(pool.probs[m, row]))
            vote = sum(weights[k] * (pool.probs[k, row, said] - 1 / classes) for k in range(models)) / np.sqrt(models)
            total += 1 / classes + vote
        found.append(total / rows)
    return found


@settings(max_examples=150, deadline=None)
@given(pools())
def test_estimates_are_those_of_the_definition(world):
    """Estimates are the accuracies under a ridge regression of the labels on the models' votes."""
    pool, labels, drawn = world
    found = surrogate.estimates(pool, labels, drawn[None])[:, 0]
    assert found == pytest.approx(loops(pool, labels, drawn), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(pools(), st.integers(0, 2**32 - 1))
def test_the_order_of_models_and_rows_changes_nothing(world, seed):
    """Permuted models get permuted estimates, and permuted rows the same ones."""
    pool, labels, drawn = world
    rng = np.random.default_rng(seed)
    models, rows = rng.permutation(pool.probs.shape[0]), rng.permutation(pool.probs.shape[1])
    found = surrogate.estimates(pool, labels, drawn[None])
    moved = surrogate.estimates(pool.ordered(models).part(rows), labels[rows], np.argsort(rows)[drawn][None])
    assert moved == pytest.approx(found[models], abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(pools())
def test_a_pool_twice_over_says_the_same(world):
    """Rows that stand in the pool twice change nothing but their weight, which all rows share."""
    pool, labels, drawn = world
    twice = pool.part(np.tile(np.arange(len(labels)), 2))
    found = surrogate.estimates(pool, labels, drawn[None])
    assert surrogate.estimates(twice, np.tile(labels, 2), drawn[None]) == pytest.approx(found, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(pools(most_rows=1))
def test_one_label_and_no_other_row_order_as_accuracy_does(world):
    """Where the pool is one labelled row of two classes, those that have it right are put above those that do not."""
    pool, labels, drawn = world
    if pool.probs.shape[2] > 2:
        return
    found = surrogate.estimates(pool, labels, drawn[None])[:, 0]
    outcomes = pool.predicted[:, 0] == labels[0]
    assert (found[outcomes] >= 0.5).all()
    assert (found[~outcomes] <= 0.5).all()


def test_without_noise_and_with_no_other_rows_it_is_accuracy(monkeypatch):
    """Where the models can tell all rows apart and labels are exact, what is estimated is what was seen."""
    monkeypatch.setattr(surrogate, "NOISE", 1e-12)
    rng = np.random.default_rng(0)
    pool, labels = Pool(rng.dirichlet([1, 1, 1], size=(12, 5))), rng.integers(3, size=5)
    found = surrogate.estimates(pool, labels, np.arange(5)[None])[:, 0]
    assert found == pytest.approx((pool.predicted == labels).mean(axis=1), abs=1e-6)


def shortcut(rng, rows):
    """Eight models, most of which follow a wrong shortcut, each to another degree: probabilities and labels."""
    labels = rng.integers(2, size=rows)
    easy = rng.normal(size=rows)
    strength = np.linspace(0.2, 3.0, 8)
    logits = [3 - s * (1 - 2 * labels) * -1.2 + 0.5 * easy + rng.normal(0, 0.7, rows) - 3 / s for s in strength]
    positive = 1 / (1 + np.exp(-np.array(logits)))
    return np.stack([1 - positive, positive], axis=2), labels


def pairwise_accuracy(scores, truth):
    """The share of pairs in their true order."""
    first, second = engine.pairs(len(truth)).T
    sign = np.sign(truth[first] - truth[second])
    right = np.sign(scores[first] - scores[second]) * sign[:, None]
    return float(((1 + right)[sign != 0] / 2).mean())


def test_ten_labels_and_a_pool_beat_ten_labels():
    """Where models share a shortcut to different degrees, it orders far more pairs rightly than accuracy does."""
    rng = np.random.default_rng(1)
    probs, labels = shortcut(rng, 2000)
    pool = Pool(probs)
    truth = (pool.predicted == labels).mean(axis=1)
    drawn = rng.integers(2000, size=(200, 10))
    accuracy = (pool.predicted == labels)[:, drawn].mean(axis=2)
    assert (
        pairwise_accuracy(surrogate.estimates(pool, labels, drawn), truth) > pairwise_accuracy(accuracy, truth) + 0.05
    )


def in_function_space(pool, drawn):
    """Kriging, rows of votes against rows of votes: kernel of the drawn, of the accuracies with these, and of these."""
    models, rows, classes = pool.probs.shape
    votes = pool.votes
    kernel = np.einsum("icm,jdm->icjd", votes, votes).reshape(rows * (classes - 1), -1)
    seen = (drawn[:, None] * (classes - 1) + np.arange(classes - 1)).ravel()
    said = corners(classes)[pool.predicted].reshape(models, -1) / rows * (1 - 1 / classes)
    return kernel[np.ix_(seen, seen)], said @ kernel[:, seen], said @ kernel @ said.T


@settings(max_examples=80, deadline=None)
@given(pools())
def test_the_posterior_is_that_of_kriging(world):
    """For each noise, means, covariances and likelihood are those of a process over the rows with unknown scale."""
    pool, labels, drawn = world
    classes = pool.probs.shape[2]
    found = surrogate.posterior(pool, drawn, labels[drawn])
    assert found.score == pytest.approx(surrogate.estimates(pool, labels, drawn[None])[:, 0], abs=1e-9)
    told = corners(classes)[labels[drawn]].ravel()
    of_drawn, across, prior = in_function_space(pool, drawn)
    likely = []
    for h, noise in enumerate(surrogate.NOISES):
        noisy = of_drawn + noise * np.eye(len(told))
        assert found.means[h] == pytest.approx(1 / classes + across @ np.linalg.solve(noisy, told), abs=1e-8)
        scale = 1 / (1 + (classes - 1) * noise)
        shape = scipy.stats.multivariate_t(shape=scale * noisy, df=surrogate.BELIEF)
        likely.append(shape.logpdf(told))
        spread = surrogate.BELIEF * scale + told @ np.linalg.solve(noisy, told)
        expected = spread / (surrogate.BELIEF + len(told)) * (prior - across @ np.linalg.solve(noisy, across.T))
        assert found.directions[h] @ found.directions[h].T == pytest.approx(expected, abs=1e-8)
    weights = np.exp(np.array(likely) - max(likely))
    assert found.weights == pytest.approx(weights / weights.sum(), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(pools())
def test_the_pool_is_a_sample(world):
    """Beside the weights, the difference of two accuracies varies by the share of disagreement over the rows."""
    pool, labels, drawn = world
    found = surrogate.posterior(pool, drawn, labels[drawn])
    models, size, _ = pool.probs.shape
    rest = found.covariances[0] - found.directions[0] @ found.directions[0].T
    for a in range(models):
        for b in range(models):
            disagree = (pool.predicted[a] != pool.predicted[b]).mean()
            assert rest[a, a] + rest[b, b] - 2 * rest[a, b] == pytest.approx(disagree / size, abs=1e-9)


def test_probabilities_and_intervals_are_those_of_the_mix():
    """P(a > b), P(best) and intervals agree with drawing a noise, then accuracies, very often."""
    rng = np.random.default_rng(2)
    probs, labels = shortcut(rng, 300)
    pool, drawn = Pool(probs[:4]), rng.integers(300, size=6)
    found = surrogate.posterior(pool, drawn, labels[drawn])
    which = rng.choice(len(found.weights), size=40_000, p=found.weights)
    sampled = np.concatenate(
        [
            rng.multivariate_normal(mean, covariance, size=int((which == h).sum()))
            for h, (mean, covariance) in enumerate(zip(found.means, found.covariances, strict=True))
        ]
    )
    assert found.beats() == pytest.approx(
        (sampled[:, :, None] > sampled[:, None]).mean(axis=0) + np.eye(4) / 2, abs=0.01
    )
    best, near = found.best(rng)
    assert best == pytest.approx(np.bincount(sampled.argmax(axis=1), minlength=4) / 40_000, abs=0.02)
    close = sampled >= sampled.max(axis=1, keepdims=True) - NEAR
    assert near == pytest.approx(close.mean(axis=0), abs=0.02)
    assert (near > best).all()
    low, high = found.interval()
    mean, spread = sampled.mean(axis=0), sampled.std(axis=0)
    assert low == pytest.approx(np.clip(mean - 1.96 * spread, 0, 1), abs=0.02)
    assert high == pytest.approx(np.clip(mean + 1.96 * spread, 0, 1), abs=0.02)


def test_models_that_have_nothing_in_common_are_not_believed():
    """Where votes say next to nothing of labels, many labels teach that, and few pairs are told apart."""
    rng = np.random.default_rng(5)
    labels = rng.integers(2, size=600)
    positive = np.clip(0.5 + 0.45 * np.sign(rng.normal(size=(6, 600)) + 0.2 * (2 * labels - 1)), 0, 1)
    pool, drawn = Pool(np.stack([1 - positive, positive], axis=2)), rng.permutation(600)[:40]
    found = surrogate.posterior(pool, drawn, labels[drawn])
    assert found.weights[0] < 0.1
    fixed = scipy.stats.norm.cdf(
        (found.means[0][:, None] - found.means[0])
        / np.sqrt(np.maximum(surrogate._of_differences(found.covariances[0]), 1e-12))
    )
    upper = np.triu_indices(6, 1)
    assert np.abs(found.beats() - 0.5)[upper].mean() < np.abs(fixed - 0.5)[upper].mean()


def test_models_that_say_the_same_are_tied():
    """No label tells models apart that predict the same on all rows, and they share being best."""
    probs = np.random.default_rng(0).dirichlet([1, 1], size=20)
    found = surrogate.posterior(Pool(np.stack([probs] * 3)), np.arange(5), np.array([0, 1, 0, 1, 1]))
    assert found.beats().tolist() == [[0.5] * 3] * 3
    assert found.best(np.random.default_rng(0))[0] == pytest.approx([1 / 3] * 3)
    assert (found.more_labels() == -1).all()


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("noise", [0.3, 10.0])
def test_the_prior_gives_labels_the_length_that_they_have(classes, noise):
    """Votes of certain models with weights of that variance, and the noise, make points of mean squared length 1."""
    rng = np.random.default_rng(0)
    variance = surrogate.scale(noise, classes)
    said = corners(classes)[rng.integers(classes, size=(20_000, 8))]
    weights = rng.normal(0, np.sqrt(variance), (20_000, 8, 1))
    labels = (weights * said).sum(axis=1) / np.sqrt(8) + rng.normal(0, np.sqrt(variance * noise), said[:, 0].shape)
    assert (labels**2).sum(axis=1).mean() == pytest.approx(1, abs=0.03)


def test_more_labels_is_the_first_number_that_does():
    """The number told is the least for which the formula's inequality holds, found by counting up."""
    rng = np.random.default_rng(3)
    probs, labels = shortcut(rng, 400)
    pool, drawn = Pool(probs), rng.integers(400, size=10)
    found = surrogate.posterior(pool, drawn, labels[drawn])
    z = scipy.stats.norm.ppf(0.9)
    numbers = found.more_labels()
    checked = 0
    mean = found.weights @ found.means
    for a in range(8):
        for b in range(a):
            parts = (found.directions[:, a] - found.directions[:, b]) ** 2
            whole = sum(
                w * (c[a, a] + c[b, b] - 2 * c[a, b]) for w, c in zip(found.weights, found.covariances, strict=True)
            )
            rest = whole - found.weights @ parts.sum(axis=1)
            left = [found.weights @ (parts / (1 + n * found.to_come)).sum(axis=1) for n in range(500)]
            lead = abs(mean[a] - mean[b])
            enough = [n for n in range(1, 500) if lead >= z * np.sqrt(left[n] + rest) + z * np.sqrt(left[n])]
            if enough:
                assert numbers[a, b] == enough[0]
                checked += 1
    assert checked > 5


def variance(pool, drawn):
    """Of the first model's accuracy minus the last's, due to the weights, in units of s^2."""
    seen = pool.votes[drawn].reshape(-1, pool.probs.shape[0])
    gain = pool.gains
    apart = gain[0] - gain[-1]
    return apart @ np.linalg.inv(seen.T @ seen / surrogate.NOISE + np.eye(len(apart))) @ apart


def test_further_labels_narrow_as_foretold():
    """Ninety more random labels leave about the share of the variance that `to_come` says."""
    rng = np.random.default_rng(4)
    probs, labels = shortcut(rng, 3000)
    pool, drawn = Pool(probs), rng.integers(3000, size=10)
    now = surrogate.posterior(pool, drawn, labels[drawn])
    apart = (now.directions[0, 0] - now.directions[0, -1]) ** 2
    foretold = (apart / (1 + 90 * now.to_come[0])).sum() / apart.sum()
    later = [variance(pool, np.concatenate([drawn, rng.integers(3000, size=90)])) for _ in range(20)]
    assert np.mean(later) / variance(pool, drawn) == pytest.approx(foretold, rel=0.1)
