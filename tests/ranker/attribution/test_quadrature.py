import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.attribution.quadrature import nested_rules

KRONROD_15 = {  # QUADPACK, 1983, QK15: places and weights on [-1, 1], the upper half
    0.991455371120812639: 0.022935322010529225,
    0.949107912342758525: 0.063092092629978553,
    0.864864423359769073: 0.104790010322250184,
    0.741531185599394440: 0.140653259715525919,
    0.586087235467691130: 0.169004726639267903,
    0.405845151377397167: 0.190350578064785410,
    0.207784955007898468: 0.204432940075298892,
    0.000000000000000000: 0.209482141084727828,
}


@given(size=st.integers(1, 60), name=st.sampled_from(["gausslegendre", "riemann_middle"]))
def test_the_larger_rule_has_the_places_of_the_smaller(size, name):
    """To the last bit, at its start; all places are distinct and inside, and weights are positive and add up to 1."""
    small, large = nested_rules(name, size)
    assert small.size == size
    assert large.size == (2 * size + 1 if name == "gausslegendre" else 3 * size)
    np.testing.assert_array_equal(large.places[:size], small.places)
    for rule in (small, large):
        assert len(set(rule.places)) == rule.size
        assert ((rule.places > 0) & (rule.places < 1) & (rule.weights > 0)).all()
        assert rule.weights.sum() == pytest.approx(1)


@given(size=st.integers(1, 30), strategy=st.data())
def test_polynomials_are_integrated_exactly(size, strategy):
    """Gauss's rule to degree 2 N - 1, Kronrod's to 3 N + 1."""
    small, large = nested_rules("gausslegendre", size)
    for rule, most in ((small, 2 * size - 1), (large, 3 * size + 1)):
        degree = strategy.draw(st.integers(0, most))
        assert rule.weights @ rule.places**degree == pytest.approx(1 / (degree + 1), abs=1e-13)


def test_kronrods_places_are_the_published_ones():
    """Fifteen of them, on seven of Gauss's."""
    _, (places, weights) = nested_rules("gausslegendre", 7)
    order = np.argsort(-places)[:8]
    np.testing.assert_allclose(2 * places[order] - 1, list(KRONROD_15), atol=1e-14)
    np.testing.assert_allclose(2 * weights[order], list(KRONROD_15.values()), atol=1e-14)


def test_middles_of_thirds():
    """Two parts, then six."""
    small, large = nested_rules("riemann_middle", 2)
    assert small.places.tolist() == [0.25, 0.75]
    np.testing.assert_allclose(np.sort(large.places), (np.arange(6) + 0.5) / 6)
