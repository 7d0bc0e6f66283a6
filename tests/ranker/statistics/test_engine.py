import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from factors.rounding import TIE
from ranker.statistics import engine

quick = settings(max_examples=60)


@st.composite
def tables(draw, most_models=4):
    """(M, F, N) scores with ties, near ties and holes."""
    shape = (draw(st.integers(2, most_models)), draw(st.integers(1, 3)), draw(st.integers(1, 8)))
    # a few values only, so that means tie; 0.1 + 0.2 and 0.3 tie only with a tolerance
    cells = st.sampled_from([0.0, 1.0, 0.1, 0.2, 0.3, 1 / 3, -1.0, 1e6, 1e-6, float("nan")])
    return draw(arrays(np.float64, shape, elements=cells))


def slow_mean(values, model, method, draw):
    """The mean over the examples of a draw that every model has a score on; 0 where there is none."""
    usable = [n for n in draw if not any(np.isnan(values[m][method][n]) for m in range(len(values)))]
    return sum(values[model][method][n] for n in usable) / len(usable) if usable else 0.0


def slow_points(first, second):
    """1 for the higher mean, one half each for a tie."""
    return 0.5 if abs(first - second) <= TIE else float(first > second)


def slow_simulation(values, draws, decided):
    """What `simulate` returns, model by model and draw by draw."""
    models, methods, _ = values.shape
    pairs = [(a, b) for a in range(models) for b in range(a + 1, models)]
    points = [
        [[slow_points(*(slow_mean(values, m, f, draw) for m in pair)) for draw in draws] for f in range(methods)]
        for pair in pairs
    ]
    beats = [[sum(won) / len(draws) for won in pair] for pair in points]
    decided_pairs = [pair for pair, counts in zip(points, decided, strict=True) if counts]
    pairwise_accuracy = [
        [
            sum(pair[f][b] for pair in decided_pairs) / len(decided_pairs) if decided_pairs else 0.5
            for b in range(len(draws))
        ]
        for f in range(methods)
    ]
    return beats, pairwise_accuracy


@quick
@given(tables(), st.integers(1, 4), st.integers(0, 99), st.data())
def test_the_simulation_agrees_with_loops(values, size, seed, strategy):
    """Every pair and method scores what a loop over draws, models and examples gives, ties and holes included."""
    draws = engine.draw_probes(np.random.default_rng(seed), values.shape[2], size, 7)
    count = len(values) * (len(values) - 1) // 2
    decided = np.array(strategy.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    simulation = engine.simulate(values, draws, decided)
    beats, pairwise_accuracy = slow_simulation(values, draws.tolist(), decided)
    assert simulation.beats == pytest.approx(np.array(beats), abs=1e-12)
    assert simulation.pairwise_accuracy == pytest.approx(np.array(pairwise_accuracy), abs=1e-12)


def test_a_worked_case():
    """Two models, three draws of two examples: a win, a tie and a loss."""
    values = np.array([[[1.0, 0.0, 1.0]], [[0.0, 1.0, 1.0]]])
    draws = np.array([[0, 2], [0, 1], [1, 2]])
    assert engine.means(values, draws).tolist() == [[[1.0, 0.5, 0.5]], [[0.5, 0.5, 1.0]]]
    assert engine.simulate(values, draws, np.array([True])).pairwise_accuracy.tolist() == [[1.0, 0.5, 0.0]]


def test_sums_in_another_order_tie():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit, and still tie."""
    values = np.array([[[0.1, 0.2, 0.3]], [[0.3, 0.2, 0.1]]])
    assert engine.simulate(values, np.array([[0, 1, 2]]), np.array([True])).beats.tolist() == [[0.5]]


def test_a_hole_removes_the_example_for_all_models():
    """Where one model has no score, the other's does not count either."""
    values = np.array([[[1.0, 0.0]], [[np.nan, 1.0]]])
    assert engine.means(values, np.array([[0, 1], [0, 0]])).tolist() == [[[0.0, 0.0]], [[1.0, 0.0]]]


def test_memory_stays_bounded(monkeypatch):
    """Draws are handled in chunks, and the chunks change nothing."""
    rng = np.random.default_rng(0)
    values, draws = rng.random((3, 2, 9)), engine.draw_probes(rng, 9, 4, 50)
    complete = engine.simulate(values, draws, np.ones(3, bool))
    monkeypatch.setattr(engine, "CHUNK", 7)
    parts = engine.simulate(values, draws, np.ones(3, bool))
    assert np.array_equal(complete.beats, parts.beats)
    assert np.array_equal(complete.pairwise_accuracy, parts.pairwise_accuracy)


def test_draws_are_with_replacement_and_of_the_generator_alone():
    """All N examples are drawn about equally often, some twice in a draw; the same seed draws the same."""
    draws = engine.draw_probes(np.random.default_rng(5), 20, 10, 5_000)
    assert np.bincount(draws.ravel(), minlength=20) == pytest.approx(2_500, rel=0.1)
    assert any(len(set(draw)) < 10 for draw in draws.tolist())
    assert np.array_equal(draws, engine.draw_probes(np.random.default_rng(5), 20, 10, 5_000))


@pytest.mark.parametrize("numbers", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_draws_need_something_to_draw(numbers):
    """No examples, no size or no draws is an error, not an empty array."""
    with pytest.raises(ValueError, match="at least 1"):
        engine.draw_probes(np.random.default_rng(0), *numbers)


@quick
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_models_and_draws_changes_nothing_else(values, random):
    """P(a above b) + P(b above a) = 1 with ties halved, whatever stands where, and other models do not matter."""
    draws = engine.draw_probes(np.random.default_rng(1), values.shape[2], 3, 11)
    pairs = [tuple(pair) for pair in engine.pairs(len(values)).tolist()]
    complete_beats = engine.simulate(np.nan_to_num(values), draws, np.ones(len(pairs), bool)).beats
    order = random.sample(range(len(values)), len(values))
    shuffled = draws[random.sample(range(len(draws)), len(draws))]
    turned = engine.simulate(np.nan_to_num(values)[order], shuffled, np.ones(len(pairs), bool)).beats
    for p, (i, j) in enumerate(pairs):
        a, b = order[i], order[j]
        expected = complete_beats[pairs.index((a, b))] if a < b else 1 - complete_beats[pairs.index((b, a))]
        assert turned[p] == pytest.approx(expected, abs=1e-12)
    first_two = engine.simulate(np.nan_to_num(values)[:2], draws, np.ones(1, bool)).beats
    assert np.array_equal(first_two[0], complete_beats[0])


def test_expected_ranks_are_one_plus_the_models_expected_above():
    """A certain winner is first, two that tie share the ranks 2 and 3, and ranks always sum to 1 + ... + M."""
    beats = np.array([[1.0], [1.0], [0.5]])
    assert engine.expected_ranks(beats, 3).ravel().tolist() == [1.0, 2.5, 2.5]
    random = np.random.default_rng(0).random((10, 2))
    assert engine.expected_ranks(random, 5).sum(axis=0) == pytest.approx(15)
