import numpy as np
import pytest

from ranker.statistics.places import places


def distances(points):
    """Of every two points."""
    return np.linalg.norm(points[:, None] - points, axis=-1)


def test_points_on_a_plane_keep_their_distances():
    """Turned, moved and perhaps mirrored, and nothing else."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(6, 2))
    found = places(distances(points))
    assert distances(found) == pytest.approx(distances(points))
    assert found.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-9)
    assert found[:, 0].var() >= found[:, 1].var()


def test_the_same_distances_give_the_same_places():
    """The signs of the axes are settled by the first point."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(5, 3))
    found = places(distances(points))
    assert places(distances(points @ np.diag([-1, 1, -1]))) == pytest.approx(found)
    assert (found[0] > 0).all()


def test_equal_points_lie_at_one_place():
    """At 0; and one point does, too."""
    assert places(np.zeros((3, 3))).tolist() == [[0, 0]] * 3
    assert places(np.zeros((1, 1))).tolist() == [[0, 0]]
