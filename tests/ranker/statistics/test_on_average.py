import numpy as np
import pytest
from scipy import stats

from ranker.statistics import on_average
from ranker.statistics.draws import Draws, mean_of


def normal(means, sds, rng, draws=40_000):
    """Independent normal draws of each model."""
    return Draws(rng.normal(means, sds, (draws, len(means))))


def test_two_sets_by_hand():
    """The difference of means over two sets is normal: its mean and variance are those of both."""
    rng = np.random.default_rng(0)
    drawn = [normal([0.8, 0.7], [0.05, 0.1], rng), normal([0.6, 0.65], [0.02, 0.03], rng)]
    sd = np.sqrt(0.05**2 + 0.1**2 + 0.02**2 + 0.03**2) / 2
    wanted = stats.norm.cdf((0.1 - 0.05) / 2 / sd)
    average = mean_of(drawn)
    assert average.beats()[0, 1] == pytest.approx(wanted, abs=0.008)
    best, near = average.best(), average.near(0.01)
    assert best == pytest.approx([wanted, 1 - wanted], abs=0.008)
    assert near[0] == pytest.approx(stats.norm.cdf((0.025 + 0.01) / sd), abs=0.008)


def test_normal_draws_have_the_moments_and_the_orders():
    """Means, errors and P(beats) of a correlated law come back."""
    rng = np.random.default_rng(2)
    means, errors = np.array([0.8, 0.75, 0.7]), np.array([0.05, 0.06, 0.04])
    correlation = np.array([[1, 0.7, 0.5], [0.7, 1, 0.6], [0.5, 0.6, 1]])
    covariance = correlation * np.outer(errors, errors)
    sd = np.sqrt(errors[:, None] ** 2 + errors[None] ** 2 - 2 * covariance) + 1e-30
    beats = stats.norm.cdf((means[:, None] - means[None]) / sd)
    drawn = on_average.normal_draws(means, errors, beats, rng, 60_000).values
    assert drawn.mean(axis=0) == pytest.approx(means, abs=1e-3)
    assert np.cov(drawn.T) == pytest.approx(covariance, abs=6e-5)


def test_normal_draws_of_what_is_known_for_sure_are_finite():
    """Probabilities of 0, 1/2 and 1 say nothing of correlations; errors of 0 do not vary."""
    beats = np.array([[0.5, 1.0, 0.5], [0.0, 0.5, 0.0], [0.5, 1.0, 0.5]])
    drawn = on_average.normal_draws(
        np.array([0.9, 0.2, 0.9]), np.array([0.01, 0.0, 0.02]), beats, np.random.default_rng(0), 4_000
    ).values
    assert np.isfinite(drawn).all()
    assert drawn.std(axis=0) == pytest.approx([0.01, 0.0, 0.02], rel=0.05)


def test_no_other_split_of_the_next_labels_tells_more():
    """By trying all splits between two sets; a set of which much is labelled gets few."""
    rng = np.random.default_rng(4)
    drawn = [normal([0.8, 0.72], [0.05, 0.09], rng), normal([0.6, 0.55], [0.12, 0.11], rng)]
    labels = np.array([12, 8])
    spread = np.array([(sample.values[:, 0] - sample.values[:, 1]).var() for sample in drawn]) * labels
    left = {split: (spread / (labels + [split, 10 - split])).sum() for split in range(11)}
    best = min(left, key=left.get)
    assert on_average.next_labels(drawn, labels, 0, 1).tolist() == [best, 10 - best]
    assert 0 < best < 5
