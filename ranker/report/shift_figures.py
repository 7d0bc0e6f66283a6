"""Figures of a shift: heatmaps of every two sets, a map of the sets, and a radar chart of their summaries."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from ranker.report.figures import BLUE, SOFT, VERMILION, WIDTH, Drawing, Floats, empty_axes, figure_style, grid, shorten
from ranker.report.radar import radar
from ranker.results.shift import Shift

WARMTH = LinearSegmentedColormap.from_list("like", [(1, 1, 1), (0.27, 0.55, 0.9)])
"""Colours from nothing in common to equal."""

CELL, LINE = 34, 11
"""Sizes of a cell, and of a line of text, in points."""


def drawings(shift: Shift) -> list[Drawing]:
    """Draw the figures for which there is content: pairs need three sets, and a map needs centroids with directions."""
    with figure_style():
        drawn: list[Drawing | None] = []
        if len(shift.domains) > 2:
            if shift.places:
                cosine = f"The cosine of the centroids of each pair of sets, by {shift.encoder or 'their words'}."
                drawn += [heatmap(shift, "heatmap", "Similarity of sets", shift.closeness, cosine), positions(shift)]
            share = "The share of words that two vocabularies have in common, of the smaller one (DomainSum, Figure 4)."
            drawn.append(heatmap(shift, "overlap", "Overlap of vocabularies", "vocabulary_overlap", share))
        drawn.append(_summaries(shift))
    return [drawing for drawing in drawn if drawing is not None]


def _summaries(shift: Shift) -> Drawing | None:
    measures: dict[str, dict[str, float]] = {}
    for domain in shift.domains:
        for measure in domain.summaries:
            if measure.value is not None:
                measures.setdefault(measure.name, {})[domain.name] = measure.value
    return radar("summaries", "Measures of summaries", measures, [domain.name for domain in shift.domains])


def heatmap(shift: Shift, name: str, title: str, measure: str, meaning: str) -> Drawing:
    """Plot a measure from 0 to 1 of every two sets."""
    names = [domain.name for domain in shift.domains]
    size = len(names)
    values_of = {pair: pair.measure(measure).value for pair in shift.pairs}
    by_names = {frozenset((pair.a, pair.b)): value for pair, value in values_of.items()}
    cells = [[np.nan if a == b else by_names[frozenset((a, b))] for b in names] for a in names]
    values = np.array(cells, dtype=np.float64)
    texts = [["" if np.isnan(value) else f"{value:.2f}" for value in row] for row in values]
    np.fill_diagonal(values, 1.0)
    figure = grid(values, texts, list(map(shorten, names)), list(map(shorten, names)), WARMTH, (CELL, CELL))
    nearest, furthest = (pick(shift.pairs, key=lambda pair: values_of[pair] or 0.0) for pick in (max, min))
    return Drawing(
        name,
        title,
        f"{meaning} Darker is more alike.",
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
