"""Figures of a shift: a heatmap of every two sets, and a map of the sets."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from ranker.report.figures import BLUE, SOFT, VERMILION, WIDTH, Drawing, Floats, empty_axes, figure_style, grid, shorten
from ranker.results.shift import Shift

WARMTH = LinearSegmentedColormap.from_list("like", [(1, 1, 1), (0.27, 0.55, 0.9)])
"""Colours from nothing in common to equal."""

CELL, LINE = 34, 11
"""Sizes of a cell, and of a line of text, in points."""


def drawings(shift: Shift) -> list[Drawing]:
    """Draw the figures; none for two sets, or if a centroid has no direction."""
    if len(shift.domains) < 3 or not shift.places:
        return []
    with figure_style():
        return [heatmap(shift), positions(shift)]


def heatmap(shift: Shift) -> Drawing:
    """Plot the cosine of the centroids of every two sets."""
    names = [domain.name for domain in shift.domains]
    size = len(names)
    values = np.array([[_cosine(shift, a, b) for b in names] for a in names])
    texts = [["" if i == j else f"{value:.2f}" for j, value in enumerate(row)] for i, row in enumerate(values)]
    figure = grid(values, texts, list(map(shorten, names)), list(map(shorten, names)), WARMTH, (CELL, CELL))
    nearest, furthest = (
        pick(shift.pairs, key=lambda pair: pair.measure(shift.closeness).value or 0.0) for pick in (max, min)
    )
    return Drawing(
        "heatmap",
        "Similarity of sets",
        f"The cosine of the centroids of each pair of sets, by {shift.encoder or 'their words'}. Darker is more alike.",
        f"{size} by {size} cells. Most alike: {nearest.a} and {nearest.b}; least: {furthest.a} and {furthest.b}.",
        figure,
    )


def positions(shift: Shift) -> Drawing:
    """Plot the sets as points, the in-domain one as a square."""
    side, room = WIDTH * 0.7, WIDTH * 0.3
    figure, axes = empty_axes(side + 16, left=8, right=room - 8, bottom=8, top=8)
    points = np.array([shift.places[domain.name] for domain in shift.domains])
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    half = 0.55 * np.ptp(points, axis=0).max() or 1.0  # of sets that lie at one place any room will do
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half), aspect="equal")
    heights = _apart((points[:, 1] - middle[1] + half) / (2 * half), LINE / side)
    for (x, y), height, domain in zip(points, heights, shift.domains, strict=True):
        colour, marker = (VERMILION, "s") if domain.name == shift.first else (BLUE, "o")
        axes.scatter([x], [y], 34, colour, marker=marker, alpha=0.8, zorder=3)
        axes.annotate(
            shorten(domain.name),
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
        "Map of the sets",
        "Distances approximate those of the centroids, sqrt(2 - 2 cosine), on a plane. The square "
        "is the in-domain set; the axes mean nothing.",
        f"{len(points)} points: {', '.join(f'{name} at {x:.2f}, {y:.2f}' for name, (x, y) in shift.places.items())}.",
        figure,
    )


def _apart(heights: Floats, least: float) -> Floats:
    """Move heights apart so that a line of text fits: same order, each near its own, none below 0."""
    spaced, least_of_all = heights.copy(), 0.0
    last = np.inf
    for place in np.argsort(-heights, kind="stable"):
        spaced[place] = last = min(heights[place], last - least)
    for place in np.argsort(spaced, kind="stable"):
        spaced[place] = max(spaced[place], least_of_all)
        least_of_all = spaced[place] + least
    return np.asarray(spaced)


def _cosine(shift: Shift, a: str, b: str) -> float:
    value = 1.0 if a == b else shift.pair(a, b).measure(shift.closeness).value
    return np.nan if value is None else value
