"""Points on a plane whose distances approximate given ones."""

from __future__ import annotations

import numpy as np

from factors.types import Floats


def places(distances: Floats) -> Floats:
    """Place points by classical scaling of (S, S) distances to (S, 2) coordinates around 0.

    The axes are those of the greatest variance, and the first point that is off an axis lies on its positive side.
    Where points lie on a line, the second coordinate is 0.

    Example:
        >>> places(np.array([[0.0, 2.0], [2.0, 0.0]])).round(3).tolist()
        [[1.0, 0.0], [-1.0, 0.0]]

    Source: Torgerson 1952, "Multidimensional scaling: I. Theory and method".
    """
    size = len(distances)
    centring = np.eye(size) - 1 / size
    values, axes = np.linalg.eigh(-centring @ distances**2 @ centring / 2)
    order = np.argsort(-values, kind="stable")[:2]
    points = np.zeros((size, 2))
    points[:, : len(order)] = axes[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    points[np.abs(points) < 1e-9] = 0.0
    first = points[np.argmax(points != 0, axis=0), np.arange(2)]
    return np.asarray(points * np.where(first < 0, -1.0, 1.0))
