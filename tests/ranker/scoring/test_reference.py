import numpy as np
import pytest
from refusals import refuses
from test_evaluation import table

from ranker.errors import UsageError
from ranker.scoring.reference import Truth, guess_range


def truth(accuracy, families=None, misled=None):
    """What is known of models of these accuracies."""
    scores = table(np.zeros((len(accuracy), 1, 2)), ["ACC"], accuracy)
    return Truth.of(scores, families, misled and dict(zip(scores.models, misled, strict=True)))


def test_models_are_ordered_and_pairs_follow():
    """Best first; the gap of a pair is never negative, and an equal pair is not decided."""
    reference = truth([0.7, 0.9, 0.7])
    assert reference.order.tolist() == [1, 0, 2]
    assert reference.gap.tolist() == pytest.approx([0.2, 0.2, 0.0])
    assert reference.decided.tolist() == [True, True, False]
    assert truth([0.5] * 40 + [0.9]).order.tolist() == [40, *range(40)]


def test_parts_hold_decided_pairs_only():
    """Near, far, within and across a family: each pair with an order is in one of two, twice; an equal one in none."""
    reference_found = truth([0.9, 0.85, 0.6, 0.6], ["a", "b", "a", "b"])
    counts = {name: part.tolist() for name, part in reference_found.splits.items()}
    assert counts == {
        "near": [True, False, False, False, False, False],
        "far": [False, True, True, True, True, False],
        "within-family": [False, True, False, False, True, False],
        "across-family": [True, False, True, True, False, False],
    }
    assert reference_found.families == ("a", "b", "a", "b")
    assert set(truth([0.9, 0.5]).splits) == {"far"}


def test_a_pair_is_misled_where_one_of_the_two_follows_the_shortcut():
    """At 80 % or more, whichever it is; where nobody knows how often, the pairs are not parted by it."""
    reference_found = truth([0.6, 0.9, 0.8], misled=[0.8, 0.1, 0.79])
    assert reference_found.order.tolist() == [1, 2, 0]
    assert reference_found.splits["misled"].tolist() == [False, True, True]
    assert reference_found.splits["not-misled"].tolist() == [True, False, False]
    assert "misled" not in truth([0.6, 0.9], misled=[0.5, 0.5]).splits
    assert truth([0.6, 0.9]).splits.keys() == truth([0.6, 0.9], misled=[]).splits.keys() == {"far"}


def test_models_that_are_all_equal_have_no_order():
    """Equal outcomes leave nothing to find."""
    with refuses(UsageError, option="models"):
        truth([0.7, 0.7])


@pytest.mark.parametrize("accuracy", [[0.9, 0.5], [0.9, 0.7, 0.5], [0.9, 0.9, 0.5], np.linspace(0.9, 0.5, 6)])
def test_a_fixed_preference_is_half_right_over_all_picks(accuracy):
    """Preferring the best model is right on its pairs, the worst wrong on as many; all picks average to 1/2."""
    low, high = guess_range(truth(accuracy))
    count = len(accuracy)
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count) if accuracy[a] > accuracy[b]]
    shares = [np.mean([0.5 if pick not in (a, b) else float(pick == a) for a, b in pairs]) for pick in range(count)]
    assert (low, high) == pytest.approx((min(shares), max(shares)))
    assert np.mean(shares) == pytest.approx(0.5)
