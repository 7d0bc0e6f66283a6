import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ranker.statistics import combined

scores = arrays(
    np.float64, st.tuples(st.integers(2, 6), st.just(1)), elements=st.sampled_from([0.0, 0.1, 0.5, 2.0, -3])
)


def standardised(values):
    """Each score's distance from the mean of all, in standard deviations; 0 where all are equal."""
    mean = sum(values) / len(values)
    spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return [(value - mean) / spread if spread > 1e-12 else 0.0 for value in values]


@settings(max_examples=80)
@given(scores, st.data())
def test_ties_of_accuracy_and_only_those_go_to_the_other_method(factor_values, strategy):
    """By ACC where it differs, else by the other method; what both tie stays a tie."""
    counts = strategy.draw(st.lists(st.integers(0, 10), min_size=len(factor_values), max_size=len(factor_values)))
    accuracy = np.array(counts)[:, None] / 10
    combined_scores = combined.scores("ACC+TIES", accuracy, factor_values)[:, 0]
    for a in range(len(counts)):
        for b in range(len(counts)):
            above = counts[a] > counts[b] or (counts[a] == counts[b] and factor_values[a, 0] > factor_values[b, 0])
            assert (combined_scores[a] > combined_scores[b] + 1e-12) == above


@settings(max_examples=80)
@given(scores, st.data())
def test_the_sum_is_of_standardised_scores(values, strategy):
    """ACC+FACTOR adds the two, each in standard deviations over the models of the draw."""
    accuracy = (
        np.array(strategy.draw(st.lists(st.integers(0, 10), min_size=len(values), max_size=len(values))))[:, None] / 10
    )
    expected = np.add(standardised(accuracy[:, 0].tolist()), standardised(values[:, 0].tolist()))
    assert combined.scores("ACC+FACTOR", accuracy, values)[:, 0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("measured", "designed", "expected"),
    [
        (["ACC", "NLL", "INDEX-DIFF"], "INDEX-DIFF", {"ACC+TIES": "INDEX-DIFF", "ACC+FACTOR": "INDEX-DIFF"}),
        (["ACC", "NLL", "INDEX-DIFF"], None, {"ACC+TIES": "NLL"}),
        (["ACC", "NLL"], "INDEX-DIFF", {"ACC+TIES": "NLL"}),
        (["ACC", "CONF"], None, {}),
        (["JUDGE", "NLL", "ACC"], None, {"JUDGE+TIES": "NLL"}),
        (["JUDGE", "INDEX-DIFF"], "INDEX-DIFF", {"JUDGE+TIES": "INDEX-DIFF", "JUDGE+FACTOR": "INDEX-DIFF"}),
        (["JUDGE"], "JUDGE", {}),
    ],
)
def test_what_can_be_combined(measured, designed, expected):
    """The metric, which comes first, with the declared factor if it was measured, else with the loss."""
    assert combined.names(measured, designed) == expected
