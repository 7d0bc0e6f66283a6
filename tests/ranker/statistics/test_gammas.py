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


SIGNED = st.one_of(st.floats(1e-6, 1), st.floats(-1, -1e-6), st.sampled_from([1.0, -1.0, 0.5, -0.01, 1e-6]))


@settings(max_examples=60)
@given(st.lists(SIGNED, min_size=1, max_size=25), st.integers(-5, 2))
def test_it_is_the_formula_of_gil_pelaez(rows, power):
    """The path through the saddle point and the imaginary axis have the same integral."""
    found = above_zero(np.array([rows]), np.array([2.0**power]))
    assert found.item() == pytest.approx(swinging(rows, 2.0**power), abs=1e-11)


@settings(max_examples=60)
@given(st.integers(1, 300), st.integers(1, 300), st.floats(1e-6, 1), st.floats(1e-6, 1))
def test_two_sizes_have_a_closed_form(plus, minus, up, down):
    """G(n) a > G(m) b exactly if Beta(n, m) > b / (a + b)."""
    found = above_zero(np.array([[up] * plus + [-down] * minus]))
    assert found.item() == pytest.approx(scipy.special.betaincc(plus, minus, down / (up + down)), abs=1e-12)


def test_the_values_of_c_are_mixed():
    """P over several c is the mean of the P of each."""
    rows, shapes, weights = np.array([[0.3, -0.1, 0.7]]), np.array([0.03, 1, 4]), np.array([0.2, 0.5, 0.3])
    each = [above_zero(rows, np.array([c])).item() for c in shapes]
    assert above_zero(rows, shapes, weights).item() == pytest.approx(weights @ each, abs=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "rows",
    [np.full(600, 0.01), np.r_[np.full(599, 1e-6), -1], np.full(600, 0.5), np.array([1e-12]), np.full(600, 1e-6)],
    ids=["small leads", "one against many", "great leads", "a hair", "600 hairs"],
)
def test_one_sided_rows_are_summed_up_right(rows):
    """Where X is nearly always above zero, or next to nothing is known, the result is as exact."""
    found = above_zero(np.stack([rows, -rows]), np.array([1 / 32]))
    assert found[0] == pytest.approx(swinging(rows, 1 / 32), abs=1e-9)
    assert found.sum() == pytest.approx(1, abs=1e-12)


def test_zeros_and_neighbours_change_nothing(monkeypatch):
    """Rows of 0 say nothing, and a sum has the same probability in any chunk."""
    rows = np.random.default_rng(0).uniform(-1, 1, (7, 5)) * 10.0 ** -np.arange(7)[:, None]
    found = above_zero(rows, np.array([0.25]))
    assert above_zero(np.hstack([rows, np.zeros((7, 3))]), np.array([0.25])) == pytest.approx(found, abs=1e-13)
    monkeypatch.setattr(gammas, "CHUNK", 2)
    assert above_zero(rows, np.array([0.25])) == pytest.approx(found, abs=1e-13)
    assert above_zero(rows[:0]).shape == (0,)
