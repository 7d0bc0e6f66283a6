from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker import rank
from ranker.scoring.score import Evidence, signed_scores
from ranker.statistics import engine, exact


def by_listing(difference, size):
    """P(S > 0) + P(S = 0) / 2 from the list of all probes."""
    total = np.zeros(1)
    for _ in range(size):
        total = (total[:, None] + difference).ravel()
    return float((total > 1e-12).mean() + (np.abs(total) <= 1e-12).mean() / 2)


def trinomial(wins, losses, size):
    """P(more wins than losses in K examples) plus half of P(as many), in closed form."""
    total = 0.0
    for w in range(size + 1):
        for v in range(size + 1 - w):
            p = comb(size, w) * comb(size - w, v) * wins**w * losses**v * (1 - wins - losses) ** (size - w - v)
            total += p * (1.0 if w > v else 0.5 if w == v else 0.0)
    return total


def two_models(difference):
    """A table of two models whose scores differ so."""
    return np.stack([difference, np.zeros_like(difference)])[:, None, :]


KINDS = {
    "normal": lambda rng, n: rng.normal(0.2, 1, n),
    "far": lambda rng, n: rng.normal(1.5, 1, n),
    "heavy tails": lambda rng, n: rng.standard_t(2, n) + 0.2,
    "an outlier": lambda rng, n: np.append(rng.normal(0.1, 1, n - 1), 100.0),
    "mostly zero": lambda rng, n: rng.normal(0.3, 1, n) * (rng.random(n) < 0.1),
    "skewed": lambda rng, n: rng.exponential(size=n) - 1,
    "two heaps": lambda rng, n: np.where(rng.random(n) < 0.5, 1, -1) * (1 + 0.05 * rng.normal(size=n)),
    "near whole numbers": lambda rng, n: rng.integers(-1, 2, n) + 1e-3 * rng.normal(size=n),
    "two scales": lambda rng, n: 1e-6 * rng.normal(3, 1, n) + rng.integers(-1, 2, n) * (rng.random(n) < 0.2),
    "log losses": lambda rng, n: np.logaddexp(0, rng.normal(-3, 4, n)) - np.logaddexp(0, rng.normal(-3.3, 4, n)),
    "probabilities": lambda rng, n: rng.beta(0.3, 0.3, n) - rng.beta(0.3, 0.4, n),
    "log losses of sure models": lambda rng, n: np.subtract(*np.logaddexp(0, rng.normal([[-8.5], [-8]], 4, (2, n)))),
    "probabilities of sure models": lambda rng, n: np.subtract(
        *(1 / (1 + np.exp(rng.normal([[-8.5], [-8]], 4, (2, n)))))
    ),
}

SATURATED = ("log losses of sure models", "probabilities of sure models")
"""Scores of models that are sure of nearly everything: differences from 1e-9 to 10."""

FINE = ("an outlier", "near whole numbers", "two scales", "log losses")
"""Kinds with a structure that may be finer than any grid."""


@settings(max_examples=60)
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=30), st.integers(1, 12))
def test_accuracy_is_the_trinomial_probability(difference, size):
    """With differences of -1, 0 and 1 the answer is the closed form, to rounding."""
    signs = np.array(difference)
    first, second = (signs > 0).astype(float), (signs < 0).astype(float)
    probabilities = exact.probabilities(np.stack([first, second])[:, None], size)
    assert probabilities.item() == pytest.approx(trinomial((signs > 0).mean(), (signs < 0).mean(), size), abs=1e-12)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("examples", "size", "repeats", "worth"),
    [
        *((n, size, 2, 2**17) for n, size in [(1, 3), (600, 1), (600, 2), (100, 3), (200, 4), (40, 6), (12, 10)]),
        *(
            pytest.param(examples, size, 10, exact.MAX_TOTAL_POINTS, marks=pytest.mark.slow)
            for examples, size in [(100, 3), (300, 3), (100, 4), (200, 4), (60, 6), (25, 8), (12, 10)]
        ),
    ],
)
def test_all_kinds_of_scores_agree_with_the_list_of_all_probes(kind, examples, size, repeats, worth, monkeypatch):
    """The grid is off by less than the stated bound, or says that it cannot tell; it is never silently wrong."""
    monkeypatch.setattr(exact, "LISTED", 0)  # the grid alone
    rng = np.random.default_rng(examples + size)
    for _ in range(repeats):
        difference = KINDS[kind](rng, examples)
        probability = exact.probabilities(two_models(difference), size, worth).item()
        if np.isnan(probability):
            assert examples <= 100 or kind in FINE or kind in SATURATED
        else:
            assert probability == pytest.approx(by_sorted_halves(difference, size), abs=exact.ERROR)


def by_sorted_halves(difference, size):
    """`by_listing`, for more probes than fit a list: every half of a probe against the sorted other halves."""
    halves = []
    for count in (size // 2, size - size // 2):
        total = np.zeros(1)
        for _ in range(count):
            total = (total[:, None] + difference).ravel()
        halves.append(total)
    ordered = np.sort(halves[0])
    below = np.searchsorted(ordered, -halves[1] - 1e-12, side="left")
    upto = np.searchsorted(ordered, -halves[1] + 1e-12, side="right")
    return float(1 - (below.mean() + upto.mean()) / (2 * len(ordered)))


def test_the_oracle_of_halves_is_the_list_of_all_probes():
    """Two slow ways agree, so that either can stand for the definition."""
    difference = np.array([0.5, -0.25, -0.25, 0.125, 0.0])
    for size in range(1, 7):
        assert by_sorted_halves(difference, size) == pytest.approx(by_listing(difference, size), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_small_probes_are_listed_where_no_grid_is_fine_enough(kind):
    """With few probes there is always an exact answer."""
    difference = KINDS[kind](np.random.default_rng(1), 100)
    for size in (2, 3, 4):
        probability = exact.probabilities(two_models(difference), size).item()
        assert probability == pytest.approx(by_sorted_halves(difference, size), abs=exact.ERROR)


def test_exact_and_drawn_agree_within_the_noise_of_draws():
    """200,000 draws of a table of every kind of method differ by their own standard error, and by no more."""
    rng = np.random.default_rng(0)
    quality = np.linspace(0.5, 0.0, 5)[:, None]
    latent = quality * 2 + rng.normal(size=(5, 600)) + rng.normal(size=600)
    values = np.stack([latent > 0, 1 / (1 + np.exp(-latent)), latent, -np.logaddexp(0, -2 * latent)], axis=1)
    probabilities = exact.probabilities(values, 10)
    drawn = engine.simulate(values, engine.draw_probes(rng, 600, 10, 200_000), np.ones(10, bool)).beats
    z = (probabilities - drawn) / np.sqrt(probabilities * (1 - probabilities) / 200_000)
    assert np.sqrt((z**2).mean()) == pytest.approx(1.0, abs=0.4)
    assert np.abs(z).max() < 4


@pytest.mark.slow
def test_exact_and_drawn_agree_on_the_embedded_suite():
    """So do those of a real table: eight saturated models, all methods that need no attribution, every pair exact."""
    table = rank(["hans-sub-mini"], "hans-sub", evidence=Evidence("none"), draws=1).table
    values = signed_scores(table)
    probabilities = exact.probabilities(values, 10)
    assert not np.isnan(probabilities).any()
    drawn = engine.simulate(
        values, engine.draw_probes(np.random.default_rng(0), 600, 10, 200_000), np.ones(28, bool)
    ).beats
    error = np.sqrt(np.maximum(probabilities * (1 - probabilities), 1e-9) / 200_000)
    assert (np.abs(probabilities - drawn) < 4 * error + exact.ERROR).all()


def test_sure_models_are_exact_too():
    """With K = 10, differences from 1e-9 to 10 need the finest grids, and agree with 200,000 draws."""
    rng = np.random.default_rng(3)
    for kind in SATURATED:
        values = two_models(KINDS[kind](rng, 600))
        probability = exact.probabilities(values, 10).item()
        drawn = engine.simulate(values, engine.draw_probes(rng, 600, 10, 200_000), np.array([True])).beats.item()
        assert probability == pytest.approx(drawn, abs=4 * np.sqrt(0.25 / 200_000))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_sums_that_cancel_are_ties(size):
    """Differences without a common step that cancel to zero count one half, also where sums are listed."""
    difference = np.array([0.1, -0.1, 2**0.5, -(2**0.5), 0.3, -0.2])
    probability = exact.probabilities(two_models(difference), size).item()
    assert probability == pytest.approx(by_listing(difference, size), abs=1e-9)


def test_what_is_too_much_work_is_left_to_draws():
    """Neither grids nor lists grow without end: where both would, the probability is nan."""
    values = two_models(KINDS["two scales"](np.random.default_rng(1), 600))
    assert np.isnan(exact.probabilities(values, 10, max_points=2**16)).all()
    assert not np.isnan(exact.probabilities(values, 2, max_points=2**16)).any()


def test_a_hole_counts_for_no_model():
    """An example without a score for one model leaves the sum of both, as in the drawn means."""
    rng = np.random.default_rng(2)
    values = rng.random((3, 2, 40)).round(1)
    values[rng.random(values.shape) < 0.1] = np.nan
    probabilities = exact.probabilities(values, 5)
    drawn = engine.simulate(values, engine.draw_probes(rng, 40, 5, 100_000), np.ones(3, bool)).beats
    assert probabilities == pytest.approx(drawn, abs=0.007)


def test_turned_scores_give_the_complement():
    """P(a above b) + P(b above a) + P(tie) = 1, for scores that lie on a grid and for others."""
    rng = np.random.default_rng(3)
    values = np.stack([rng.integers(0, 2, (4, 90)).astype(float), rng.random((4, 90))], axis=1)
    assert exact.probabilities(values, 7) + exact.probabilities(-values, 7) == pytest.approx(1.0, abs=2e-5)


def test_neither_the_order_of_examples_nor_other_models_matter():
    """The probabilities of a pair are those of its own differences, as a set."""
    rng = np.random.default_rng(4)
    values = rng.random((4, 2, 80))
    full_probabilities = exact.probabilities(values, 6)
    assert exact.probabilities(values[:, :, rng.permutation(80)], 6) == pytest.approx(full_probabilities, abs=1e-9)
    assert exact.probabilities(values[:2], 6)[0] == pytest.approx(full_probabilities[0], abs=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_unit_of_the_scores_does_not_matter(scale):
    """Scores in another unit rank the same."""
    values = np.random.default_rng(5).normal(size=(2, 1, 300))
    expected = exact.probabilities(values, 10)
    assert exact.probabilities(values * scale, 10) == pytest.approx(expected, abs=1e-4)


def test_models_that_score_the_same_tie():
    """A method that is constant, over examples or over models, tells no two models apart."""
    constant = np.full((3, 1, 20), 0.3)
    alike = np.repeat(np.random.default_rng(6).random((1, 1, 20)), 3, axis=0)
    nowhere = np.full((3, 1, 20), np.nan)
    for values in (constant, alike, nowhere):
        assert exact.probabilities(values, 10).tolist() == [[0.5]] * 3


def test_a_constant_lead_always_wins():
    """A difference without spread decides every probe."""
    values = np.random.default_rng(7).random((1, 1, 50)) + np.array([1.0, 0.0])[:, None, None]
    assert exact.probabilities(values, 10).tolist() == [[1.0]]


@pytest.mark.parametrize("kind", ["accuracy", "normal", "mostly zero"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_influence_is_the_derivative_with_respect_to_an_examples_weight(kind, size):
    """An example listed 50 times among 50 times all others, and once more, moves the accuracy by its influence."""
    rng = np.random.default_rng(8)
    difference = rng.integers(-1, 2, 30).astype(float) if kind == "accuracy" else KINDS[kind](rng, 30)
    values = two_models(difference)
    by_draws = exact.influence(values, size, np.array([True]), engine.draw_probes(rng, 30, size, 20_000))[0]
    many = np.tile(difference, 50)
    before = exact.probabilities(two_models(many), size).item()
    for example in (0, 7, 29):
        after = exact.probabilities(two_models(np.append(many, difference[example])), size).item()
        if not np.isnan([before, after]).any():
            # the weight of the example grows by 1 / 1501 of what is left of the mean
            assert (after - before) * 1501 == pytest.approx(by_draws[example], abs=0.06)


def test_influence_agrees_with_the_mean_over_draws_that_start_with_an_example():
    """U_i = K (A of the probes that start with i - A of all), counted over drawn probes."""
    rng = np.random.default_rng(9)
    values = np.stack([rng.normal(0.3, 1, (2, 20)), rng.integers(0, 2, (2, 20)).astype(float)], axis=1)
    draws = engine.draw_probes(rng, 20, 4, 60_000)
    influence = exact.influence(values, 4, np.array([True]), draws)
    beats = engine.simulate(values, draws, np.array([True])).beats[0]
    for example in (0, 11):
        given_first = draws.copy()
        given_first[:, 0] = example
        drawn = engine.simulate(values, given_first, np.array([True])).beats[0]
        assert influence[:, example] == pytest.approx(4 * (drawn - beats), abs=0.04)
    assert influence.mean(axis=1) == pytest.approx(0.0, abs=1e-12)


def influence_by_listing(difference, size):
    """U_i = K (P(S > 0 | the first is i) + P(S = 0 | ...) / 2 - A), from the list of all that may follow the first."""
    sums = np.zeros(1)
    for _ in range(size - 1):
        sums = (sums[:, None] + difference).ravel()
    given_first = [np.mean(first + sums > 1e-12) + np.mean(np.abs(first + sums) <= 1e-12) / 2 for first in difference]
    return size * (np.array(given_first) - np.mean(given_first))


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("examples", "size"), [(200, 1), (200, 2), (60, 3), (250, 3), (30, 5)])
def test_standard_errors_agree_with_the_list_of_all_probes(kind, examples, size):
    """Also where one step of a grid holds most differences, and with few of them: listed, on a grid or drawn."""
    rng = np.random.default_rng(examples + size)
    difference = KINDS[kind](rng, examples)
    draws = engine.draw_probes(rng, examples, size, 20_000)
    by_draws = exact.influence(two_models(difference), size, np.array([True]), draws)[0]
    expected = influence_by_listing(difference, size)
    assert (by_draws**2).sum() ** 0.5 == pytest.approx((expected**2).sum() ** 0.5, rel=0.03)
    if size <= 2 or examples == 60:
        assert by_draws == pytest.approx(expected, abs=1e-9)


def test_influences_of_sums_that_cancel_count_half():
    """Differences without a common step that cancel with those that follow are ties, whichever comes first."""
    difference = np.array([0.1, -0.1, 2**0.5, -(2**0.5), 0.3, -0.2])
    draws = np.zeros((1_000, 3), dtype=np.int64)
    by_draws = exact.influence(two_models(difference), 3, np.array([True]), draws)[0]
    assert by_draws == pytest.approx(influence_by_listing(difference, 3), abs=1e-12)


def test_influences_of_smooth_scores_need_no_draws():
    """Neither scores on a grid of their own nor smooth ones need the draws."""
    rng = np.random.default_rng(10)
    values = np.stack([rng.integers(0, 2, (3, 400)).astype(float), rng.normal(size=(3, 400))], axis=1)
    first, second = (
        exact.influence(values, 10, np.ones(3, bool), engine.draw_probes(rng, 400, 10, 100)) for _ in range(2)
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("levels", [(0.0, 1.0), (0.0, 0.5, 1.0), (-0.2, 0.0, 0.2, 0.4)])
def test_scores_of_few_levels_are_counted(size, levels):
    """What is counted level by level is what the list of all probes says, undefined scores included."""
    scores = np.random.default_rng(size).choice(levels, size=(4, 1, 20))
    scores[2, 0, 5] = np.nan
    assert exact._few(np.nan_to_num(scores[:, 0]))
    probability = exact.probabilities(scores, size)[:, 0]
    used = np.where(np.isnan(scores[2, 0]), 0.0, scores[:, 0])
    assert probability == pytest.approx(
        [by_listing(used[a] - used[b], size) for a in range(4) for b in range(a + 1, 4)]
    )
