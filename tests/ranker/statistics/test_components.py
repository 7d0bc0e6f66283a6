import numpy as np
import pytest
from scipy.special import ndtri

from ranker.statistics.components import variance_components

THREE_BY_FOUR = np.divmod(np.arange(12), 4)
UNBALANCED = (np.array([0, 0, 0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 2, 2, 0, 1, 1, 2, 2]))
"""Of 3 x 3 pairs two are missing, and two have two members."""


def simulate(rng, first, second, sds, rows=60, shared=0.6):
    """Draw right and wrong answers of members with normal effects; rows are easy or hard for all of them.

    Returns:
        (M, N) outcomes, and (M,) the members' accuracies in the domain.
    """
    a, b, noise = (sd * rng.normal(size=len(first)) for sd in sds)
    accuracy = np.clip(0.7 + a[first] + b[second] + noise, 0.03, 0.97)
    ease = np.sqrt(shared) * rng.normal(size=rows) + np.sqrt(1 - shared) * rng.normal(size=(len(first), rows))
    return (ease < ndtri(accuracy)[:, None]).astype(float), accuracy


def estimates(parts):
    """The three estimates, in order."""
    return [part.variance for part in (parts.first, parts.second, parts.residual)]


def fitted_squares(values, *parts):
    """Squares that are left of values once the levels of some parts are fitted, by least squares on dummies."""
    dummies = np.column_stack([np.ones(len(values)), *(codes == level for codes in parts for level in set(codes))])
    return ((values - dummies @ np.linalg.lstsq(dummies.astype(float), values, rcond=None)[0]) ** 2).sum()


@pytest.mark.parametrize(("levels", "repeats"), [((2, 3), 1), ((3, 2), 2), ((4, 4), 1)])
@pytest.mark.parametrize("seed", range(3))
def test_balanced_members_are_an_analysis_of_variance(levels, repeats, seed):
    """Mean squares by hand, the noise of each measured from row to row, give the same three estimates."""
    rng, (size_a, size_b), rows = np.random.default_rng(seed), levels, 12
    outcomes = rng.random((size_a, size_b, repeats, rows))
    mean = outcomes.mean(axis=(0, 1, 2))
    of_a = outcomes.mean(axis=(1, 2)) - mean
    of_b = outcomes.mean(axis=(0, 2)) - mean
    left = outcomes - mean - of_a[:, None, None] - of_b[None, :, None]
    squares, noise = [], []
    for deviations, times in ((of_a, size_b * repeats), (of_b, size_a * repeats), (left.reshape(-1, rows), 1)):
        squares.append(times * sum(level.mean() ** 2 for level in deviations))
        noise.append(times * sum(level.var(ddof=1) / rows for level in deviations))
    degrees = size_a - 1, size_b - 1, size_a * size_b * repeats - size_a - size_b + 1
    a, b, of_rest = [(square - of_rows) / df for square, of_rows, df in zip(squares, noise, degrees, strict=True)]
    first, second = (codes.ravel() for codes in np.indices((size_a, size_b, repeats))[:2])
    parts = variance_components(outcomes.reshape(-1, rows), first, second, rng, draws=10)
    wanted = [(a - of_rest) / (size_b * repeats), (b - of_rest) / (size_a * repeats), of_rest]
    assert estimates(parts) == pytest.approx(wanted, abs=1e-12)
    assert [parts.first.sd, parts.residual.sd] == pytest.approx(np.sqrt(np.maximum([wanted[0], of_rest], 0)))


def test_missing_pairs_are_fitted_by_least_squares():
    """Without noise, differences of residual squares give the estimates, their expectations by trying each effect."""
    first, second = UNBALANCED
    means = np.random.default_rng(0).random(9)

    def reductions(values):
        """The three sums of squares of Henderson's third method."""
        squares = fitted_squares(values, first, second)
        return np.array([fitted_squares(values, second) - squares, fitted_squares(values, first) - squares, squares])

    effects = [np.eye(3)[:, first], np.eye(3)[:, second], np.eye(9)]
    expected = np.stack([sum(map(reductions, effect)) for effect in effects], axis=1)
    parts = variance_components(np.tile(means[:, None], 5), first, second, np.random.default_rng(0), draws=10)
    assert estimates(parts) == pytest.approx(np.linalg.solve(expected, reductions(means)), abs=1e-10)


@pytest.mark.more
@pytest.mark.parametrize(("first", "second"), [THREE_BY_FOUR, UNBALANCED])
def test_estimates_have_no_bias(first, second):
    """Their means over 200 samples of effects and rows are the true variances, up to three standard errors."""
    sds = 0.08, 0.04, 0.02
    drawn = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        drawn.append(estimates(variance_components(simulate(rng, first, second, sds)[0], first, second, rng, draws=2)))
    errors = np.std(drawn, axis=0) / np.sqrt(200)
    assert (np.abs(np.mean(drawn, axis=0) - np.square(sds)) < 3 * errors).all()
    assert (errors < 0.0007).all()


def hits(first, second, sds, rows, seeds):
    """(seeds, 3) whether the intervals hold the standard deviations that other rows without end would show."""
    held = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        outcomes, accuracy = simulate(rng, first, second, sds, rows)
        endless = variance_components(np.tile(accuracy[:, None], 2), first, second, rng, draws=2)
        parts = variance_components(outcomes, first, second, rng, draws=500)
        if not isinstance(parts, str):
            true = [0.0] * 3 if isinstance(endless, str) else [endless.first.sd, endless.second.sd, endless.residual.sd]
            intervals = [(part.low - 1e-9, part.high + 1e-9) for part in (parts.first, parts.second, parts.residual)]
            held.append([low <= sd <= high for sd, (low, high) in zip(true, intervals, strict=True)])
    return np.mean(held, axis=0)


@pytest.mark.more
def test_intervals_hold_the_truth():
    """Of 60 samples of 50 rows they hold it nearly always: 94 to 100 of 100 in the long run."""
    assert (hits(*THREE_BY_FOUR, (0.1, 0.05, 0.03), 50, 60) > 0.87).all()


@pytest.mark.slow
@pytest.mark.parametrize("sds", [(0.1, 0.05, 0.03), (0.0, 0.1, 0.0), (0.0, 0.0, 0.0)])
@pytest.mark.parametrize("rows", [10, 50, 200])
@pytest.mark.parametrize(("first", "second"), [THREE_BY_FOUR, UNBALANCED, np.divmod(np.arange(40), 8)])
def test_intervals_hold_the_truth_of_many_members_and_rows(first, second, sds, rows):
    """Of 400 samples they hold it in 93 of 100 or more; where there is no variance, more often."""
    assert (hits(first, second, sds, rows, 400) >= 0.93).all()


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "samples", "most"), [(10, 1600, 0.07), (50, 400, 0.03), (200, 400, 0.03)])
@pytest.mark.parametrize(("first", "second"), [THREE_BY_FOUR, np.divmod(np.arange(40), 8)])
def test_a_part_that_surely_matters_more_does(first, second, rows, samples, most):
    """Of many samples of two parts alike, few of those that are 95 % sure are wrong; of ten rows a little more."""
    right = []
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        outcomes, accuracy = simulate(rng, first, second, (0.06, 0.06, 0.03), rows)
        endless = variance_components(np.tile(accuracy[:, None], 2), first, second, rng, draws=2)
        parts = variance_components(outcomes, first, second, rng, draws=500)
        if abs(parts.p_first - 0.5) >= 0.45:
            right.append((parts.p_first > 0.5) == (endless.first.variance > endless.second.variance))
    assert len(right) >= 10
    assert np.mean(right) >= 1 - most


def test_a_row_that_is_hard_for_all_is_no_noise():
    """What is added to all members on a row changes no estimate; the noise of their own means would."""
    rng = np.random.default_rng(0)
    outcomes, _ = simulate(rng, *THREE_BY_FOUR, (0.1, 0.05, 0.03))
    moved = outcomes + 5 * rng.random(60)
    plain, shifted = (
        variance_components(rows, *THREE_BY_FOUR, np.random.default_rng(0), draws=50) for rows in (outcomes, moved)
    )
    assert estimates(shifted) == pytest.approx(estimates(plain), abs=1e-12)


def test_parts_may_change_places():
    """The first part's numbers are then the second's, and P(first > second) is the rest to 1."""
    outcomes, _ = simulate(np.random.default_rng(3), *UNBALANCED, (0.05, 0.05, 0.03), rows=30)
    one_way = variance_components(outcomes, *UNBALANCED, np.random.default_rng(1))
    other_way = variance_components(outcomes, *UNBALANCED[::-1], np.random.default_rng(1))
    assert estimates(other_way) == pytest.approx(
        [one_way.second.variance, one_way.first.variance, one_way.residual.variance]
    )
    assert (one_way.second.low, one_way.second.high) == pytest.approx((other_way.first.low, other_way.first.high))
    assert 0.02 < one_way.p_first < 0.98
    assert one_way.p_first + other_way.p_first == pytest.approx(1)


def test_rows_that_a_member_was_not_judged_on_are_left_out():
    """The others alone give the same numbers, and are counted."""
    outcomes, _ = simulate(np.random.default_rng(0), *THREE_BY_FOUR, (0.1, 0.05, 0.03))
    gaps = outcomes.copy()
    gaps[3, :20] = np.nan
    with_gaps = variance_components(gaps, *THREE_BY_FOUR, np.random.default_rng(1))
    assert with_gaps == variance_components(outcomes[:, 20:], *THREE_BY_FOUR, np.random.default_rng(1))
    assert with_gaps.rows == 40


def test_rows_of_a_cluster_are_one_unit():
    """Rows that stand twice, each pair a cluster, give the numbers of the single rows; as rows they look surer."""
    outcomes, _ = simulate(np.random.default_rng(0), *THREE_BY_FOUR, (0.1, 0.05, 0.03))
    twice, clusters = np.repeat(outcomes, 2, axis=1), np.repeat(np.arange(60), 2)
    single, clustered, unaware = (
        variance_components(rows, *THREE_BY_FOUR, np.random.default_rng(1), groups)
        for rows, groups in ((outcomes, None), (twice, clusters), (twice, None))
    )
    assert estimates(clustered) == pytest.approx(estimates(single), abs=1e-12)
    assert unaware.first.high - unaware.first.low < clustered.first.high - clustered.first.low


def test_many_rows_give_intervals_as_wide_as_estimates_of_other_rows_are_apart():
    """Of 1,000 rows, a hundred samples drawn with replacement."""
    rng = np.random.default_rng(0)
    outcomes, _ = simulate(rng, *THREE_BY_FOUR, (0.1, 0.05, 0.03), rows=1000)
    part = variance_components(outcomes, *THREE_BY_FOUR, rng).first
    drawn = [outcomes[:, rng.integers(1000, size=1000)] for _ in range(100)]
    low, high = np.quantile(
        [variance_components(rows, *THREE_BY_FOUR, rng, draws=2).first.sd for rows in drawn], [0.025, 0.975]
    )
    assert part.high - part.low == pytest.approx(high - low, rel=0.25)


def test_few_rows_without_noise_leave_doubt():
    """Where the first part decides all of ten rows, nothing varies from row to row, and yet nothing is certain."""
    first, second = THREE_BY_FOUR
    parts = variance_components(np.tile((first == 0)[:, None], 10) * 1.0, first, second, np.random.default_rng(0))
    assert parts.first.sd == pytest.approx(np.sqrt(1 / 3))
    assert parts.first.low < 0.5 < parts.first.sd < parts.first.high
    assert parts.second.sd == parts.residual.sd == 0
    assert min(parts.second.high, parts.residual.high) > 0.05


def test_two_rows_leave_all_open():
    """Their noise is known so roughly that a standard deviation may be anything up to the range of outcomes."""
    outcomes, _ = simulate(np.random.default_rng(0), *THREE_BY_FOUR, (0.1, 0.05, 0.03), rows=2)
    parts = variance_components(outcomes, *THREE_BY_FOUR, np.random.default_rng(0))
    assert [(part.low, part.high) for part in (parts.first, parts.second, parts.residual)] == [(0.0, 1.0)] * 3


NESTED = np.array([0, 0, 1, 1])
"""Each second part belongs to one first part."""


@pytest.mark.parametrize(
    ("first", "second", "rows", "reason"),
    [
        (np.zeros(4, int), np.arange(4), 5, "two of each part are needed"),
        (NESTED, np.arange(4), 5, "the parts are confounded: too few pairs of them exist to tell the two apart"),
        (NESTED, NESTED, 5, "the parts are confounded: too few pairs of them exist to tell the two apart"),
        (
            np.array([0, 0, 1]),
            np.array([0, 1, 1]),
            5,
            "the parts are confounded: too few pairs of them exist to tell the two apart",
        ),
        (NESTED, np.array([0, 1, 0, 1]), 1, "two rows that all were judged on are needed, or two clusters of them"),
        (NESTED, np.array([0, 1, 0, 1]), 0, "two rows that all were judged on are needed, or two clusters of them"),
    ],
)
def test_undefined_components_have_a_reason(first, second, rows, reason):
    """No number stands for what these members, or rows, cannot tell."""
    rng = np.random.default_rng(0)
    assert variance_components(rng.random((len(first), rows)), first, second, rng) == reason


def test_members_that_never_differ_have_a_reason():
    """Rows on which all do equally well tell nothing, and no interval of no width is made of them."""
    reason = variance_components(np.ones((4, 10)), NESTED, np.array([0, 1, 0, 1]), np.random.default_rng(0))
    assert reason == "all did equally well on every row"
