"""What is asked of draws, question by question: each answer is worked out draw by draw."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics.draws import CELLS, SAMPLES, Alone, Draws, kinds_of, mean_of, sample_count, tied_groups
from ranker.statistics.forecast import Outlook


@st.composite
def values(draw):
    """(S, M) values with many ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(4, size=(draw(st.integers(1, 30)), draw(st.integers(1, 5)))) / 4


@settings(max_examples=80)
@given(values(), st.sampled_from([0.0, 0.25, 0.6]))
def test_every_question_is_answered_draw_by_draw(drawn, margin):
    """Ties count half to P(better) and share P(best); a margin includes its end."""
    belief, (samples, models) = Draws(drawn), drawn.shape
    better, (best, near, shortfall) = belief.beats(), np.zeros((3, models))
    leader = min(range(models), key=lambda m: (-drawn[:, m].mean().round(9), m))
    for row in drawn:
        top = max(row)
        first = [m for m in range(models) if row[m] == top]
        best[first] += 1 / len(first) / samples
        near += (row >= top - margin - 1e-9) / samples
        shortfall += (top - row) / samples
    for a in range(models):
        for b in range(models):
            share = np.mean([(x > y) + (x == y) / 2 for x, y in drawn[:, [a, b]]])
            assert better[a, b] == (0.5 if a == b else pytest.approx(np.clip(share, 0.5 / samples, 1 - 0.5 / samples)))
            apart = [abs(x - y) <= margin + 1e-9 for x, y in drawn[:, [a, b]]]
            assert belief.equal(b, margin)[a] == pytest.approx(np.mean(apart))
    assert belief.best() == pytest.approx(best)
    assert belief.near(margin) == pytest.approx(near)
    assert belief.leader == leader
    assert belief.within(margin) == pytest.approx(near[leader])
    assert belief.shortfall() == pytest.approx(shortfall, abs=1e-9)
    assert belief.expected == pytest.approx(drawn.mean(axis=0))
    low, high = belief.interval()
    assert low == pytest.approx([np.quantile(column, 0.025) for column in drawn.T])
    assert high == pytest.approx([np.quantile(column, 0.975) for column in drawn.T])
    lead, least, most = belief.difference(0, models - 1)
    ends = np.quantile(drawn[:, 0] - drawn[:, -1], [0.025, 0.975])
    assert (lead, least, most) == pytest.approx((np.mean(drawn[:, 0] - drawn[:, -1]), *ends))


@settings(max_examples=80)
@given(values(), st.integers(0, 2**32 - 1))
def test_a_model_is_on_the_frontier_where_none_as_cheap_is_better(drawn, seed):
    """Of level models the cheaper one is, and both of equal cost; a model of unknown cost has no say."""
    samples, models = drawn.shape
    costs = np.random.default_rng(seed).choice([0.0, 1.0, 2.5, np.nan], models)
    on = np.zeros(models)
    for row in drawn:
        for m in range(models):
            on[m] += not any(
                costs[other_index] <= costs[m]
                and row[other_index] >= row[m]
                and (costs[other_index] < costs[m] or row[other_index] > row[m])
                for other_index in range(models)
            )
    expected = np.where(np.isnan(costs), np.nan, on / samples)
    assert Draws(drawn).frontier(costs) == pytest.approx(expected, nan_ok=True)


def test_rounding_puts_no_model_on_the_frontier():
    """A model that is better by less than a rounding error, and dearer, is level; of equal costs both are on it."""
    belief = Draws(np.array([[0.3, 0.1 + 0.2, 0.3]]))
    assert belief.frontier(np.array([1.0, 2.0, 1.0])).tolist() == [1.0, 0.0, 1.0]


def test_models_of_one_kind_share_the_frontier_where_they_cost_the_same():
    """Their draws differ by chance; the dearer of two is still the dearer."""
    rng = np.random.default_rng(0)
    belief = Draws(rng.normal([0.6, 0.6, 0.6, 0.3], 0.1, (400, 4)), kinds=np.array([7, 7, 7, 2]))
    first, second, dearer, worst = belief.frontier(np.array([1.0, 1.0, 2.0, 3.0]))
    assert first == second == pytest.approx(0.5, abs=0.01)
    assert worst < dearer < first


def test_models_that_no_evidence_tells_apart_have_the_same_of_everything():
    """Their draws differ by chance; P is one half between them and the same against a third; they share a letter."""
    rng = np.random.default_rng(0)
    belief = Draws(rng.normal([0.6, 0.6, 0.3], 0.1, (400, 3)), kinds=np.array([7, 7, 2]))
    better = belief.beats()
    assert better[0, 1] == better[1, 0] == 0.5
    assert better[0, 2] == better[1, 2] == 1 - better[2, 0]
    for answer in (belief.best(), belief.near(), belief.expected, *belief.interval()):
        assert answer[0] == answer[1]
    assert belief.best().sum() == pytest.approx(1)
    assert belief.groups(0.9)[0] == [0, 1]
    assert belief.leader == 0


def test_what_has_a_closed_form_is_taken_from_it():
    """P(better) alone."""
    closed = np.array([[0.5, 0.8], [0.2, 0.5]])
    belief = Draws(np.zeros((9, 2)), closed=closed)
    assert (belief.beats() == closed).all()
    assert belief.best() == pytest.approx([0.5, 0.5])


def test_without_a_bound_nothing_is_near_the_best():
    """Neither is it equal to another, nor forecast."""
    belief = Draws(np.array([[0.2, 0.2]]), bounded=False)
    assert np.isnan(belief.near()).all()
    assert belief.equal(0).tolist() == [0, 0]
    assert belief.forecast(0.9) is None


def test_what_is_known_of_a_model_by_itself_is_taken_from_it():
    """Expected values and intervals, and so the order; shares lie between 0 and 1."""
    belief = Draws(np.array([[0.9, 0.5], [1.2, 0.7]]))
    assert [end.tolist() for end in belief.as_shares().interval()] == [
        pytest.approx([0.9075, 0.505]),
        pytest.approx([1.0, 0.695]),
    ]
    assert belief.as_shares().expected == pytest.approx([1.0, 0.6])
    alone = Draws(belief.values, alone=Alone(np.array([0.2, 0.3]), np.array([0.1, 0.1]), np.array([0.4, 0.5])))
    assert alone.leader == 1
    assert alone.interval()[1].tolist() == [0.4, 0.5]
    assert alone.shortfall() == pytest.approx([0.0, 0.45])


def test_more_labels_are_forecast_from_the_outlook():
    """None are needed where the leader is near the best already."""
    drawn = np.random.default_rng(0).normal([0.8, 0.7], 0.05, (4_000, 2))
    belief = Draws(drawn, outlook=Outlook.of(drawn, 0.1, 1_000))
    assert belief.forecast(belief.within()).low == 0
    assert 0 < belief.forecast(0.99).low <= belief.forecast(0.999).low
    assert belief.forecast(0.99) == belief.forecast(0.99)
    unknown = Draws(drawn)
    assert (unknown.forecast(unknown.within()).low, unknown.forecast(0.99)) == (0, None)


def test_a_mean_over_sets_is_drawn_set_by_set():
    """Of as many draws as the smallest belief has."""
    first, second = np.random.default_rng(0).random((2, 5, 3))
    assert mean_of([Draws(first), Draws(second[:4])]).values == pytest.approx((first[:4] + second[:4]) / 2)


def test_of_many_models_fewer_draws_are_held():
    """No more than `CELLS` values, and a few at least."""
    assert [sample_count(models) for models in (1, 209, 210, 10**6)] == [SAMPLES, SAMPLES, CELLS // 210, 500]


def test_kinds_are_those_of_equal_evidence():
    """To 12 digits, and whatever the sign of zero."""
    kinds = kinds_of(np.array([[[0.1 + 0.2, 0.0]], [[0.3, -0.0]], [[0.3, 0.1]]]))
    assert kinds[0] == kinds[1] != kinds[2]


def test_no_draws_are_no_belief():
    """Nor is no model."""
    for shape in ((0, 2), (2, 0), (4,)):
        with pytest.raises(ValueError, match=r"must have the shape \(S, M\)"):
            Draws(np.zeros(shape))


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_each_pair_that_is_not_told_apart_is_in_a_group(models, seed):
    """No group has a pair that is, none is part of another, and every model is in one."""
    rng = np.random.default_rng(seed)
    above = np.triu(rng.random((models, models)), 1)
    beats = above + np.tril(1 - above.T, -1) + np.eye(models) / 2
    groups = [set(group) for group in tied_groups(beats, 0.8)]
    decided = np.maximum(beats, 1 - beats) >= 0.8
    for a in range(models):
        assert any(a in group for group in groups)
        for b in range(a):
            assert decided[a, b] != any({a, b} <= group for group in groups)
    assert not any(group < wider for group in groups for wider in groups)
