"""Values that docs/results/single-texts.md states for other models are those of leaving out each model."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t

from benchmarks.single_texts import over_models


def test_the_interval_over_models_is_that_of_leaving_out_each():
    """By a loop: mean differences without a model's pairs, their spread, and a t quantile; below 0, too."""
    pairs = list(combinations(range(8), 2))
    gains = np.random.default_rng(0).uniform(-0.5, 0.3, len(pairs))
    decided = np.array([pair != (1, 2) for pair in pairs])  # these two are equally good
    gains[~decided] = np.nan
    pairs_left = [(pair, gain) for pair, gain, is_decided in zip(pairs, gains, decided, strict=True) if is_decided]
    left = [np.mean([gain for pair, gain in pairs_left if model not in pair]) for model in range(8)]
    error = np.sqrt(7 / 8 * sum((value - np.mean(left)) ** 2 for value in left))
    mean, half = np.mean([gain for _, gain in pairs_left]), t.ppf(0.975, 7) * error
    assert mean < 0
    assert over_models(gains, decided, 8) == pytest.approx((mean - half, mean + half), abs=1e-12)
