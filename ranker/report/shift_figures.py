"""The figures of a shift: how far every two sets are, as a heatmap, and where the sets lie, as a map."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from ranker.report.figures import BLUE, SOFT, VERMILION, WIDTH, Drawing, Floats, empty, grid, short, styled
from ranker.results.shift import Shift

WARMTH = LinearSegmentedColormap.from_list("like", [(1, 1, 1), (0.27, 0.55, 0.9)])
"""From nothing in common to the same."""

CELL, LINE = 34, 11
"""Points of a cell, and of a line of text."""


def drawings(found: Shift) -> list[Drawing]:
    """The figures that it has: of two sets there is nothing to draw, and none where a centroid has no direction."""
    if len(found.domains) < 3 or not found.places:
        return []
    with styled():
        return [heatmap(found), positions(found)]


def heatmap(found: Shift) -> Drawing:
    """Every two sets: the cosine of their centroids."""
    names = [domain.name for domain in found.domains]
    size = len(names)
    values = np.array([[_cosine(found, a, b) for b in names] for a in names])
    texts = [["" if i == j else f"{value:.2f}" for j, value in enumerate(row)] for i, row in enumerate(values)]
    figure = grid(values, texts, list(map(short, names)), list(map(short, names)), WARMTH, (CELL, CELL))
    nearest, furthest = (
        pick(found.pairs, key=lambda pair: pair.measure(found.closeness).value or 0.0) for pick in (max, min)
    )
    return Drawing(
        "heatmap",
        "How like are two sets?",
        f"The cosine of the centroids of every two sets, by {found.encoder or 'their words'}. Darker is more alike.",
        f"{size} by {size} cells. Most alike: {nearest.a} and {nearest.b}; least: {furthest.a} and {furthest.b}.",
        figure,
    )


def positions(found: Shift) -> Drawing:
    """The sets as points, the in-domain one as a square."""
    side, room = WIDTH * 0.7, WIDTH * 0.3
    figure, axes = empty(side + 16, left=8, right=room - 8, bottom=8, top=8)
    points = np.array([found.places[domain.name] for domain in found.domains])
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    half = 0.55 * np.ptp(points, axis=0).max() or 1.0  # of sets that lie at one place any room will do
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
    heights = _apart((points[:, 1] - middle[1] + half) / (2 * half), LINE / side)
    for (x, y), height, domain in zip(points, heights, found.domains, strict=True):
        own = domain.name == found.first
        axes.scatter([x], [y], 34, VERMILION if own else BLUE, marker="s" if own else "o", alpha=0.8, zorder=3)
        axes.annotate(
            short(domain.name),
            (x, y),
            xytext=(1 + 0.12 * room / side, height),
            textcoords="axes fraction",
            fontsize=8,
            va="center",
            arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.5, "shrinkA": 0},
        )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return Drawing(
        "map",
        "Where the sets lie",
        "Distances are about those of the centroids, sqrt(2 - 2 cosine), as far as a plane can show them. The square "
        "is the in-domain set; the axes mean nothing.",
        f"{len(points)} points: {', '.join(f'{name} at {x:.2f}, {y:.2f}' for name, (x, y) in found.places.items())}.",
        figure,
    )


def _apart(heights: Floats, least: float) -> Floats:
    """Heights that are so far apart that a line of text fits, in the same order, each near its own, and none below 0.

    Example:
        >>> _apart(np.array([0.5, 0.49, 0.0]), 0.1).round(2).tolist()
        [0.5, 0.4, 0.0]
    """
    found, least_of_all = heights.copy(), 0.0
    last = np.inf
    for place in np.argsort(-heights, kind="stable"):
        found[place] = last = min(heights[place], last - least)
    for place in np.argsort(found, kind="stable"):
        found[place] = max(found[place], least_of_all)
        least_of_all = found[place] + least
    return np.asarray(found)


def _cosine(found: Shift, a: str, b: str) -> float:
    value = 1.0 if a == b else found.pair(a, b).measure(found.closeness).value
    return np.nan if value is None else value
