import numpy as np
import pytest
import scipy.stats

from ranker.statistics import engine, exact, intervals


def population(rng, size):
    """(M, F, size) scores of 5 models by 4 methods of very different accuracy: 0.83, 0.89, 0.55 and 0.97."""
    quality = np.array([0.95, 0.87, 0.8, 0.7, 0.6])[:, None]
    latent = 0.8 * rng.normal(size=(5, size)) + 0.8 * rng.normal(size=size) + 1.13 * scipy.stats.norm.ppf(quality)
    accuracy = (latent > 0).astype(float)
    weak, strong = (factor * quality + rng.normal(size=(5, size)) for factor in (0.3, 8.0))
    return np.stack([accuracy, 1 / (1 + np.exp(-1.5 * latent)), weak, strong], axis=1)


@pytest.mark.more
@pytest.mark.parametrize(
    ("examples", "count"),
    [(600, 120), *(pytest.param(examples, 600, marks=pytest.mark.slow) for examples in (60, 200, 600))],
)
def test_intervals_over_examples_cover(examples, count):
    """Of 95 % intervals from N examples, 93 to 97 % hold the accuracy in the whole domain, near 50 and near 100 %."""
    rng = np.random.default_rng(0)
    domain = population(rng, 30_000)
    decided = np.ones(10, bool)
    truth = engine.simulate(domain, engine.draw_probes(rng, 30_000, 10, 100_000), decided).beats.mean(axis=0)
    inside, inside_difference = [], []
    for _ in range(count):
        values = domain[:, :, rng.integers(30_000, size=examples)]
        estimate = exact.probabilities(values, 10).mean(axis=0)
        influence = exact.influence(values, 10, decided, engine.draw_probes(rng, examples, 10, 1_000))
        low, high = intervals.of_pairwise_accuracy(estimate, intervals.variance(influence, np.zeros(4)))
        inside.append((low <= truth) & (truth <= high))
        versus = intervals.variance(influence[1:] - influence[0], np.zeros(3))
        low, high = intervals.of_difference(estimate[1:] - estimate[0], versus)
        inside_difference.append((low <= truth[1:] - truth[0]) & (truth[1:] - truth[0] <= high))
    assert 0.93 <= np.mean(inside) <= 0.97
    assert 0.93 <= np.mean(inside_difference) <= 0.97


def test_a_difference_is_paired():
    """Two methods that nearly agree differ by much less than either varies."""
    rng = np.random.default_rng(1)
    values = population(rng, 400)[:, [0, 0]]
    values[:, 1] += 0.01 * rng.normal(size=(5, 400))
    influence = exact.influence(values, 10, np.ones(10, bool), engine.draw_probes(rng, 400, 10, 1_000))
    single = intervals.variance(influence, np.zeros(2))
    between = intervals.variance(influence[1:] - influence[:1], np.zeros(1))
    assert between[0] < single.min() / 4


@pytest.mark.parametrize("size", [1, 10])
def test_standard_errors_agree_with_scipys_bootstrap(size):
    """Resampling the examples and computing the pairwise accuracy anew gives the same standard error."""
    values = population(np.random.default_rng(2), 150)[:, :1]
    decided = np.ones(10, bool)

    def accuracy(examples):
        return exact.probabilities(values[:, :, examples], size).mean()

    resampled = scipy.stats.bootstrap(
        (np.arange(150),), accuracy, vectorized=False, n_resamples=400, method="percentile",
        rng=np.random.default_rng(3),
    )  # fmt: skip
    estimate = exact.probabilities(values, size).mean(axis=0)
    draws = engine.draw_probes(np.random.default_rng(4), 150, size, 1_000)
    variance = intervals.variance(exact.influence(values, size, decided, draws), np.zeros(1))
    assert np.sqrt(variance)[0] == pytest.approx(resampled.standard_error, rel=0.12)
    low, high = intervals.of_pairwise_accuracy(estimate, variance)
    assert low[0] == pytest.approx(resampled.confidence_interval.low, abs=0.012)
    assert high[0] == pytest.approx(resampled.confidence_interval.high, abs=0.012)


def test_drawn_influences_give_the_exact_variance():
    """Estimated from draws, and with the noise of the draws taken off, the variance is the one without draws."""
    rng = np.random.default_rng(4)
    values, decided = population(rng, 200), np.ones(10, bool)
    draws = engine.draw_probes(rng, 200, 10, 40_000)
    accuracy = engine.simulate(values, draws, decided).pairwise_accuracy
    drawn = intervals.variance(intervals.drawn_influence(accuracy, draws, 200), -10 * accuracy.var(axis=1) / len(draws))
    known_variance = intervals.variance(exact.influence(values, 10, decided, draws), np.zeros(4))
    assert np.sqrt(drawn) == pytest.approx(np.sqrt(known_variance), rel=0.05)


def test_intervals_stay_between_none_and_all():
    """An accuracy near 100 % has an interval that ends below it; one of 100 % without variance has no width."""
    low, high = intervals.of_pairwise_accuracy(np.array([0.99, 1.0, 0.0]), np.array([0.02**2, 0.0, 0.0]))
    assert 0.9 < low[0] < 0.99 < high[0] <= 1
    assert (low[1], high[1], low[2], high[2]) == (1, 1, 0, 0)


def test_a_difference_is_cut_at_all_and_nothing():
    """Of two accuracies between 0 and 1."""
    low, high = intervals.of_difference(np.array([-0.95, 0.95, 0.5]), np.full(3, 0.1**2))
    assert low.tolist() == pytest.approx([-1, 0.95 - 0.196, 0.5 - 0.196], abs=1e-4)
    assert high.tolist() == pytest.approx([-0.95 + 0.196, 1, 0.5 + 0.196], abs=1e-4)


def test_a_mean_of_draws_varies_as_standard_errors_do():
    """The square of scipy's standard error; of two draws that is known, of one it is not."""
    accuracy = np.random.default_rng(7).random((3, 5))
    assert intervals.of_draws(accuracy) == pytest.approx(scipy.stats.sem(accuracy, axis=1) ** 2)
    assert intervals.of_draws(accuracy[:, :2]) == pytest.approx(scipy.stats.sem(accuracy[:, :2], axis=1) ** 2)
    assert intervals.of_draws(accuracy[:, :1]).tolist() == [np.inf] * 3


def test_all_right_is_as_unsure_as_its_variance():
    """An accuracy of 100 or 0 % that is known to vary has an interval of 1.96 standard errors inwards, at most all."""
    low, high = intervals.of_pairwise_accuracy(np.array([1.0, 0.0, 1.0]), np.array([0.02**2, 0.02**2, np.inf]))
    assert low.tolist() == pytest.approx([1 - 1.96 * 0.02, 0, 0], abs=1e-5)
    assert high.tolist() == pytest.approx([1, 1.96 * 0.02, 1], abs=1e-5)


def test_intervals_near_the_end_cover_what_pools_vary_by():
    """Pairwise accuracies are often 100 %, errors are from halves of the pool: over 93 % of intervals hold the mean."""
    rng, pairs = np.random.default_rng(6), engine.pairs(8)
    quality = np.linspace(0.75, 0.0, 8)[:, None]

    def pairwise_accuracy(scores):
        mean = scores.mean(axis=1)
        return (mean[pairs[:, 0]] > mean[pairs[:, 1]]).mean()

    hits = []
    for _ in range(200):
        scores = quality + rng.normal(size=(8, 200))
        halves = [pairwise_accuracy(scores[:, rng.permutation(200)[:100]]) for _ in range(30)]
        hits.append((pairwise_accuracy(scores), np.var(halves)))
    estimate, variance = np.array(hits).T
    low, high = intervals.of_pairwise_accuracy(estimate, variance)
    assert (estimate == 1).mean() > 0.1
    assert np.mean((low <= estimate.mean()) & (estimate.mean() <= high)) > 0.93


def test_intervals_over_models_cover():
    """Where a pair's accuracy is made of its two models' parts, 93 to 97 % of intervals over models hold the mean."""
    rng = np.random.default_rng(5)
    pairs = engine.pairs(8)
    inside = []
    for _ in range(1_000):
        parts = rng.normal(0.4, 0.1, size=(8, 1))
        accuracy = parts[pairs[:, 0]] + parts[pairs[:, 1]] + 0.05 * rng.normal(size=(28, 1))
        low, high = intervals.over_models(accuracy, np.ones(28, bool), 8)
        inside.append(low[0] <= 0.8 <= high[0])
    assert 0.93 <= np.mean(inside) <= 0.97


def test_two_models_say_nothing_about_others():
    """With fewer than three models, or one in all pairs, there is no interval over models."""
    one_in_all = np.array([True, True, False])
    for accuracy, decided, models in ((np.array([[0.7]]), np.array([True]), 2), (np.full((3, 1), 0.7), one_in_all, 3)):
        assert np.isnan(intervals.over_models(accuracy, decided, models)).all()


def test_an_interval_over_three_models_worked_by_hand():
    """Leaving out one of three models leaves one pair, .02 apart: t of 2 degrees, cut at 1."""
    half = scipy.stats.t.ppf(0.975, 2) * np.sqrt(2 / 3 * (0.02**2 + 0.02**2))
    for mean in (0.5, 0.95):
        (low,), (high,) = intervals.over_models(mean + np.array([[-0.02], [0.0], [0.02]]), np.ones(3, bool), 3)
        assert (low, high) == pytest.approx((mean - half, min(mean + half, 1)))


def test_an_accuracy_near_all_with_a_large_variance_overflows_nothing():
    """However many standard errors an interval has, its ends are numbers between 0 and 1; and a share that is nearly 1
    has nearly the interval of 1, that of estimate -+ 1.96 standard errors."""
    low, high = intervals.of_pairwise_accuracy(np.array([1 - 1e-9, 0.5]), np.array([1e-6, np.inf]))
    assert low.tolist() == pytest.approx([1 - 0.00196, 0.0], abs=1e-5)
    assert high.tolist() == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("variance", [1e-6, 1e-4, 0.0016, 0.04])
def test_an_interval_does_not_leap_near_the_ends(variance):
    """From one estimate to the next no end moves by more than four times as far; at 0 and 1 it is 1.96 errors long."""
    estimate = np.concatenate([1 - np.geomspace(0.5, 1e-12, 4_000), [1.0]])
    low, high = intervals.of_pairwise_accuracy(estimate, np.full(len(estimate), variance))
    for end in (low, high):
        assert np.abs(np.diff(end)).max() <= 4 * np.diff(estimate).max()
    assert low[-1] == pytest.approx(1 - intervals.Z95 * variance**0.5)
    mirrored = intervals.of_pairwise_accuracy(1 - estimate, np.full(len(estimate), variance))
    assert np.stack(mirrored) == pytest.approx(np.stack([1 - high, 1 - low]), abs=1e-6)
