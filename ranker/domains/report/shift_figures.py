"""Figures of a shift: heatmaps of every two sets, and a radar chart of their summaries."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from ranker.domains.report.radar import radar
from ranker.domains.results.shift import Shift
from ranker.report.figures import Drawing, figure_style, grid, shorten

WARMTH = LinearSegmentedColormap.from_list("like", [(1, 1, 1), (0.27, 0.55, 0.9)])
"""Colours from nothing in common to equal."""

CELL = 34
"""Size of a cell, in points."""


def drawings(shift: Shift) -> list[Drawing]:
    """Draw the figures for which there is content: pairs need three sets, and cosines centroids with directions."""
    with figure_style():
        drawn: list[Drawing | None] = []
        if len(shift.domains) > 2:
            if all(pair.measure(shift.closeness).value is not None for pair in shift.pairs):
                cosine = f"The cosine of the centroids of each pair of sets, by {shift.encoder or 'their words'}."
                drawn.append(heatmap(shift, "heatmap", "Similarity of sets", shift.closeness, cosine))
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
