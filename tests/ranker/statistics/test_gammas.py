import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import gammas
from ranker.statistics.gammas import above_zero


def swinging(rows, c):
    """P(X > 0) by Gil-Pelaez and Imhof: along the imaginary axis, in tiny steps of the logarithm of t."""
    u = np.arange(-60, 90, 0.004)
    theta, rho = np.zeros_like(u), c * np.log1p(np.exp(2 * u))
    for d in rows:
        theta += np.arctan(np.exp(u) * d)
        rho += np.log1p((np.exp(u) * d) ** 2) / 2
    return 0.5 + 0.004 * np.sum(np.sin(theta) * np.exp(-rho)) / np.pi


def chances(rows, c):
    """P(X > 0) of each row, with one value of c."""
    return above_zero(rows, np.array([c]), np.ones(1))


SIGNED = st.one_of(st.floats(1e-6, 1), st.floats(-1, -1e-6), st.sampled_from([1.0, -1.0, 0.5, -0.01, 1e-6]))


@pytest.mark.more
@settings(max_examples=60)
@given(st.lists(SIGNED, min_size=1, max_size=25), st.integers(-5, 2))
def test_it_is_the_formula_of_gil_pelaez(rows, power):
    """The path through the saddle point and the imaginary axis have the same integral."""
    probability = chances(np.array([rows]), 2.0**power)
    assert probability.item() == pytest.approx(swinging(rows, 2.0**power), abs=1e-11)


@settings(max_examples=60)
@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([1 / 32, 1.0, 16.0]))
def test_whole_rows_have_a_closed_form(plus, minus, c):
    """G(n + c) > G(m + c) exactly if Beta(n + c, m + c) > 1/2."""
    probability = chances(np.array([[1.0] * plus + [-1.0] * minus + [0.0]]), c)
    assert probability.item() == pytest.approx(scipy.special.betaincc(plus + c, minus + c, 0.5), abs=1e-12)


def test_the_values_of_c_are_mixed():
    """P over several c is the mean of the P of each."""
    rows, shapes, weights = np.array([[0.3, -0.1, 0.7]]), np.array([0.03, 1, 4]), np.array([0.2, 0.5, 0.3])
    probabilities = [chances(rows, c).item() for c in shapes]
    assert above_zero(rows, shapes, weights).item() == pytest.approx(weights @ probabilities, abs=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "rows",
    [np.full(600, 0.01), np.r_[np.full(599, 1e-6), -1], np.full(600, 0.5), np.array([1e-12]), np.full(600, 1e-6)],
    ids=["small leads", "one against many", "great leads", "a hair", "600 hairs"],
)
def test_one_sided_rows_are_summed_up_right(rows):
    """Where X is nearly always above zero, or next to nothing is known, the result is as exact."""
    probabilities = chances(np.stack([rows, -rows]), 1 / 32)
    assert probabilities[0] == pytest.approx(swinging(rows, 1 / 32), abs=1e-9)
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_zeros_and_neighbours_change_nothing(monkeypatch):
    """Rows of 0 say nothing, and a sum has the same probability in any chunk."""
    rows = np.random.default_rng(0).uniform(-1, 1, (7, 5)) * 10.0 ** -np.arange(7)[:, None]
    probabilities = chances(rows, 0.25)
    assert chances(np.hstack([rows, np.zeros((7, 3))]), 0.25) == pytest.approx(probabilities, abs=1e-13)
    monkeypatch.setattr(gammas, "CHUNK", 2)
    assert chances(rows, 0.25) == pytest.approx(probabilities, abs=1e-13)
    assert chances(rows[:0], 0.25).shape == (0,)
