"""What docs/results/single-texts.md says of other models is what leaving out each model says."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t

from benchmarks.single_texts import TIES, over_models
from ranker.results.records import PairResult


def test_the_interval_over_models_is_that_of_leaving_out_each():
    """By a loop: mean differences without a model's pairs, their spread, and a t quantile; below 0, too."""
    rng, names = np.random.default_rng(0), "abcdefgh"
    kept = [pair for pair in combinations(names, 2) if pair != ("b", "c")]  # these two are equally good
    by = {pair: {"ACC": rng.uniform(0.5, 0.9), TIES: rng.uniform(0.4, 0.8)} for pair in kept}
    found = [
        PairResult(a, b, method, accuracy, 0.8, 0.7, 0.1, False, None)
        for (a, b), of in by.items()
        for method, accuracy in of.items()
    ]
    gains = {pair: of[TIES] - of["ACC"] for pair, of in by.items()}
    left = [np.mean([gain for pair, gain in gains.items() if name not in pair]) for name in names]
    error = np.sqrt(7 / 8 * sum((one - np.mean(left)) ** 2 for one in left))
    mean, half = np.mean(list(gains.values())), t.ppf(0.975, 7) * error
    assert mean < 0
    assert over_models(found) == pytest.approx((mean - half, mean + half), abs=1e-12)
