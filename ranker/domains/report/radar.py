"""Figure of several measures of several sets: a radar chart, as in Figure 3 of DomainSum (Yuan and Zhang 2025)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ranker.domains.report.correlations import measure_name
from ranker.report.figures import BLUE, GREEN, INK, PURPLE, SOFT, VERMILION, WIDTH, Drawing, empty_axes, shorten

LOOKS: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "linestyle": "-", "marker": "o"},
    {"color": VERMILION, "linestyle": "--", "marker": "s"},
    {"color": GREEN, "linestyle": "-.", "marker": "^"},
    {"color": PURPLE, "linestyle": ":", "marker": "D"},
    {"color": INK, "linestyle": "-", "marker": "v"},
    {"color": SOFT, "linestyle": "--", "marker": "x"},
)
"""Styles of the sets, as many as can be told apart."""

MIN_AXES = 3
"""Measures below which a radar has no area."""


def radar(
    figure_name: str, title: str, measures: Mapping[str, Mapping[str, float]], sets: Iterable[str]
) -> Drawing | None:
    """Plot each set as a polygon, a measure a corner, as a share of the largest absolute value of the measure.

    Returns:
        None for fewer than two sets or three measures, or for more sets than there are styles. A measure counts if all
        the sets have it and one is not 0.
    """
    names = [name for name in sets if any(name in numbers for numbers in measures.values())]
    complete = {measure: [numbers[name] for name in names] for measure, numbers in measures.items()
                if numbers.keys() >= {*names}}  # fmt: skip
    axes_of = {measure: np.array(numbers) / np.abs(numbers).max() for measure, numbers in complete.items()
               if any(numbers)}  # fmt: skip
    if not 2 <= len(names) <= len(LOOKS) or len(axes_of) < MIN_AXES:
        return None
    angles = 2 * np.pi * np.arange(len(axes_of) + 1) / len(axes_of)
    across, up = np.sin(angles), np.cos(angles)
    side = WIDTH * 0.72
    figure, axes = empty_axes(
        side + 14 * len(names), left=WIDTH * 0.14, right=WIDTH * 0.14, bottom=8, top=14 * len(names)
    )
    for ring in (0.5, 1.0):
        axes.plot(ring * across, ring * up, color=SOFT, linewidth=0.6)
    for x, y, measure in zip(across, up, axes_of, strict=False):
        axes.plot([0, x], [0, y], color=SOFT, linewidth=0.6)
        place = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
        axes.text(1.08 * x, 1.08 * y, shorten(measure_name(measure)), ha=place, va="center", fontsize=7)
    for look, name, row in zip(LOOKS, names, np.array([*axes_of.values()]).T, strict=False):
        closed = np.maximum(np.append(row, row[0]), 0.0)
        axes.plot(closed * across, closed * up, linewidth=1.3, markersize=3.5, label=shorten(name), **look)
    axes.set(xlim=(-1.3, 1.3), ylim=(-1.2, 1.2), aspect="equal")
    axes.set_axis_off()
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, labelspacing=0.3, fontsize=8)
    largest = (
        f"{measure_name(key)} {names[int(np.argmax(np.abs(row)))]}" for key, row in complete.items() if key in axes_of
    )
    return Drawing(
        figure_name,
        title,
        "A polygon for each set, a corner for each measure. The outer ring is the largest value of a measure among "
        "these sets, the inner ring half of it.",
        f"{len(names)} sets by {len(axes_of)} measures. Largest: {', '.join(largest)}.",
        figure,
    )
