import numpy as np
import pytest

from ranker.statistics.grid import Grid, points_for, room


def laid(difference, reach):
    """A grid that reaches so many steps to each side of zero, and its distribution of a single difference."""
    pair = np.asarray(difference, dtype=float)[None]
    points = int(points_for(np.array([reach]), 1)[0])
    width = np.abs(pair).max() / reach
    grid = Grid.of(pair, np.array([width]), points, reach)
    places = width * np.where(np.arange(points) < points // 2, np.arange(points), np.arange(points) - points)
    return grid, places, np.fft.irfft(grid.spectrum, points, axis=1)[0]


def test_mass_mean_and_variance_are_kept():
    """Splitting a difference over three points changes none of the three."""
    difference = np.random.default_rng(0).normal(0.3, 1, 50)
    _, places, mass = laid(difference, 20)
    assert mass.sum() == pytest.approx(1)
    assert mass @ places == pytest.approx(difference.mean())
    assert mass @ places**2 == pytest.approx((difference**2).mean())


def test_what_lies_on_a_point_stays_there():
    """Whole steps are not split."""
    _, places, mass = laid([1.0, -1.0, 0.0, 2.0], 2)
    assert {round(place): share for place, share in zip(places, mass.round(12), strict=True) if share} == {
        0: 0.25, 1: 0.25, -1: 0.25, 2: 0.25,
    }  # fmt: skip


@pytest.mark.parametrize("size", [1, 3, 10])
def test_a_grid_holds_all_sums(size):
    """Where every difference is the greatest one, the sum of K of them still does not wrap around to the other side."""
    difference = np.ones((1, 4))
    points = int(points_for(np.array([7]), size)[0])
    grid = Grid.of(difference, np.array([1 / 7]), points, 7)
    assert grid.above_zero(size)[0] == pytest.approx(1, abs=1e-12)
    chances, fine = grid.given_first(size)
    assert chances == pytest.approx(1, abs=1e-12)
    assert fine.all()  # though chances that are all alike allow hardly a bend
    assert Grid.of(-difference, np.array([1 / 7]), points, 7).above_zero(size)[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_probes_with_one_difference_beside_zeros_are_counted_exactly(size):
    """Only those with several can be wrong: here a difference is split, so that the grid has mass below zero, too."""
    grid = Grid.of(np.array([[0.0] * 9 + [0.4]]), np.ones(1), int(points_for(np.array([2]), size)[0]), 2)
    none = 0.9**size
    several = 1 - none - size * 0.1 * 0.9 ** (size - 1)
    assert grid.above_zero(size)[0] == pytest.approx(1 - none / 2, abs=0.2 * several)


@pytest.mark.parametrize("size", [1, 4, 10])
def test_the_room_of_a_grid_is_what_it_was_made_for(size):
    """`room` turns `points_for` around: as much as was asked for, and not too much for as many points."""
    for reach in (1, 5, 31, 400):
        points = int(points_for(np.array([reach]), size)[0])
        assert room(points, size) >= reach
        assert points_for(np.array([room(points, size)]), size)[0] == points


def test_many_pairs_and_single_ones_read_the_same():
    """Products with the spectra of many distributions give what transforming them back gives."""
    difference = np.random.default_rng(1).normal(size=(12, 30))
    width = np.abs(difference).max(axis=1) / 40
    points = int(points_for(np.array([40]), 5)[0])
    many, smooth = Grid.of(difference, width, points, 40).above_zero(5)
    for i in range(12):
        alone_sums, alone = Grid.of(difference[i : i + 1], width[i : i + 1], points, 40).above_zero(5)
        assert alone_sums[0] == pytest.approx(many[i], abs=1e-12)
        assert alone[0] == smooth[i]
