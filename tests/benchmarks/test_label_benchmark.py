import numpy as np
import pytest

from benchmarks.labels import pairwise_accuracy


@pytest.mark.parametrize("seed", range(20))
def test_pairs_count_in_whatever_order_models_stand(seed):
    """As a loop counts them: a pair in its true order 1, a tie of scores one half, equal truths nothing."""
    rng = np.random.default_rng(seed)
    truth, scores = rng.integers(4, size=6) / 4, rng.integers(4, size=6) / 4
    truth[:2] = 0.25, 0.5  # some pair differs
    counted = [
        1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
        for i in range(6)
        for j in range(6)
        if truth[i] > truth[j]
    ]
    assert pairwise_accuracy(scores, truth) == pytest.approx(np.mean(counted))
