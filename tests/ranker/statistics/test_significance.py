from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.statistics import significance
from ranker.statistics.significance import holm, mcnemar, sign_flip

GRADED = st.sampled_from([-1.0, -0.75, -0.5, -1 / 3, 0.0, 0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0, 2.0])
SUMS = st.lists(GRADED, max_size=9) | st.lists(st.floats(-3, 3).map(lambda value: round(value, 6)), max_size=9)
NEVER = None
"""In place of a generator, where nothing is to be drawn."""

MANY = np.linspace(-1.0, 1.0, 30) ** 3
"""Sums off the grid, too many to list, that cancel."""


def slow_sign_flip(sums):
    """The share of all signs with which the sum is as far from 0, one list of signs after the other."""
    flipped = [np.multiply(signs, sums).sum() for signs in product((1, -1), repeat=len(sums))]
    return np.mean(np.abs(flipped) >= abs(sum(sums)) - 1e-9)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(better, worse):
    """Of the rows that one model alone has right each has half: scipy says the same."""
    expected = scipy.stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert mcnemar(np.array(better), np.array(worse)) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_takes_all_pairs_at_once():
    """(M, M) counts give (M, M) p, the same in both directions, 1 on the diagonal."""
    wins = np.array([[0, 9, 3], [1, 0, 4], [3, 0, 0]])
    p = mcnemar(wins, wins.T)
    assert (p == p.T).all()
    assert p[0].tolist() == [1.0, scipy.stats.binomtest(1, 10).pvalue, 1.0]


@given(SUMS)
@settings(max_examples=200)
def test_the_sign_flip_test_counts_all_signs(sums):
    """Its p is the share of all signs with which the sum is at least as far from 0, on a grid and off it."""
    sums = np.array(sums)
    p, test = sign_flip(sums, NEVER)
    assert test == "sign-flip"
    assert p == pytest.approx(slow_sign_flip(sums.tolist()), rel=1e-12)


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9))
@settings(max_examples=50)
def test_the_sign_flip_test_is_scipys_permutation_test_of_pairs(differences):
    """Swapping the two outcomes of a row is turning the sign of their difference."""
    sums = np.array(differences) / 4  # without rounding, which hides ties from scipy
    expected = scipy.stats.permutation_test(
        (sums,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False, rng=np.random.default_rng(0)
    )  # of one sample, scipy turns signs
    assert sign_flip(sums, NEVER)[0] == pytest.approx(expected.pvalue, rel=1e-9)


def test_what_is_near_a_grid_is_not_moved_onto_it():
    """Of 1, 1.0005 and -1, two of the eight sums are nearer to 0 than 1.0005; of 1, 1 and -1 none would be."""
    assert sign_flip(np.array([1.0, 1.0005, -1.0]), NEVER) == (pytest.approx(0.75), "sign-flip")


@given(st.integers(0, 40), st.integers(0, 40))
def test_of_independent_rows_of_0_and_1_the_two_tests_are_one(better, worse):
    """McNemar's test is the sign-flip test of differences -1, 0 and 1."""
    sums = np.repeat([1.0, -1.0, 0.0], [better, worse, 3])
    assert sign_flip(sums, NEVER)[0] == pytest.approx(float(mcnemar(np.array(better), np.array(worse))), rel=1e-9)


def test_a_small_p_is_as_exact_as_a_large_one():
    """The grid only adds what is positive: 2 / 2^200 has all of its digits."""
    assert sign_flip(np.full(200, 1 / 3), NEVER)[0] == pytest.approx(2.0**-199, rel=1e-12)


@pytest.mark.more
@given(SUMS.filter(len), st.floats(0.01, 0.99))
@settings(max_examples=50)
def test_an_exact_test_is_wrong_no_more_often_than_it_says(sums, level):
    """Given the sizes, at most a share of the level of all signs has a p below it."""
    sums = np.array(sums[:7])
    p = [sign_flip(sums * signs, NEVER)[0] for signs in product((1, -1), repeat=len(sums))]
    assert np.mean(np.array(p) <= level) <= level + 1e-12


def test_clusters_are_wrongly_told_apart_in_5_percent_and_rows_more_often():
    """Two equally good models, 30 clusters of which each follows its own model: 5 % by cluster, 25 % or more by row."""
    rng = np.random.default_rng(0)
    by_cluster, by_row = [], []
    for _ in range(1_000):
        leaning = np.repeat(rng.choice([0.1, 0.5, 0.9], size=30), 8)  # of 8 rows each
        differences = np.where(rng.random(240) < leaning, 1.0, -1.0)
        by_cluster.append(sign_flip(differences.reshape(30, 8).sum(axis=1), NEVER)[0])
        by_row.append(mcnemar((differences > 0).sum(), (differences < 0).sum()))
    assert 0.03 <= np.mean(np.array(by_cluster) <= 0.05) <= 0.065
    assert np.mean(np.array(by_row) <= 0.05) > 0.25


def test_drawn_signs_come_near_all_signs_and_never_say_0(monkeypatch):
    """18 sums off the grid are drawn, twice with the same seed the same; their p is that of a list of all signs."""
    sums = np.random.default_rng(1).normal(0.3, 1.0, 18)
    p, test = sign_flip(sums, np.random.default_rng(2))
    assert (p, test) == (sign_flip(sums, np.random.default_rng(2))[0], "sign-flip-drawn")
    monkeypatch.setattr(significance, "LISTED", 18)
    exact, test = sign_flip(sums, NEVER)
    assert test == "sign-flip"
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact / 20_000))
    assert sign_flip(np.random.default_rng(3).uniform(0.5, 1.0, 60), np.random.default_rng(4))[0] == 1 / 20_000


def test_a_grid_that_costs_too_much_is_not_used(monkeypatch):
    """Beyond the work that a p is worth, signs are drawn."""
    sums = np.random.default_rng(5).integers(-3, 4, 400) / 2
    exact, _ = sign_flip(sums, NEVER)
    monkeypatch.setattr(significance, "MAX_ADDITIONS", 1_000)
    p, test = sign_flip(sums, np.random.default_rng(6))
    assert test == "sign-flip-drawn"
    assert p == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize("sums", [[], [0.0, 0.0], [0.4, -0.4], [0.1, 0.2, -0.3], [0.7], MANY])
def test_nothing_to_tell_apart_is_p_1(sums):
    """No cluster, none that differs, sums that cancel but for rounding, or one cluster alone."""
    assert sign_flip(np.array(sums), NEVER) == (pytest.approx(1.0), "sign-flip")


def test_holm_by_hand():
    """0.005, 0.01, 0.03, 0.04 become 4, 3, 2 and 1 times as much, and none less than the one before it."""
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.4, 0.9])).tolist() == [0.8, 0.9]
    assert holm(np.array([0.6, 0.9])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.001, 0.999))
def test_holm_rejects_as_holm_did(p, level):
    """Going up from the smallest p, each is held against level / (tests left), until one fails."""
    rejected = set()
    for left, place in zip(range(len(p), 0, -1), sorted(range(len(p)), key=p.__getitem__), strict=True):
        if p[place] * left > level:
            break
        rejected.add(place)
    adjusted = holm(np.array(p))
    assert set(np.flatnonzero(adjusted <= level).tolist()) == rejected
    assert (adjusted >= p).all()
