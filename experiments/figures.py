"""The published figures, drawn from cells; colours, fonts and files are those of the report's figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.published import Exhibit
from experiments.tables import Cell
from ranker.report.figures import BLUE, GREEN, INK, PURPLE, SOFT, VERMILION, encode, figure_style

LOOKS = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PURPLE, "D"), (INK, "v"), (SOFT, "P"))
"""Colour and shape of each method's points."""


def draw(exhibit: Exhibit, cells: Sequence[Cell], extension: str) -> bytes:
    """Return a figure as the bytes of a picture file, the same for the same cells.

    Args:
        exhibit: what it shows.
        cells: of the kind "pairs".
        extension: one of `ranker.report.figures.FORMATS`.
    """
    accuracies: dict[str, dict[str, float]] = {}
    for cell in cells:
        if cell.here is not None:
            accuracies.setdefault(cell.column, {})[cell.row] = cell.here
    with figure_style():
        figure = Figure(figsize=(5.0, 4.2 if exhibit.draw == "scatter" else 0.9 + 0.34 * len(accuracies)))
        figure.set_layout_engine("constrained")
        FORMS[exhibit.draw or "scatter"](figure.add_subplot(), accuracies)
        figure.suptitle(exhibit.title, fontsize=9, wrap=True)
        return encode(figure, extension)


def scatter(axes: Axes, accuracies: Mapping[str, Mapping[str, float]]) -> None:
    """Draw each pair's accuracy by a method against that by ACC; above the line ACC is worse."""
    base = accuracies["ACC"]
    axes.plot([0, 100], [0, 100], color=SOFT, linewidth=0.8, zorder=1)
    methods = [name for name in accuracies if name != "ACC"]
    for (colour, shape), name in zip(LOOKS, methods, strict=False):
        x, y = zip(*((base[pair], accuracy) for pair, accuracy in accuracies[name].items()), strict=True)
        axes.scatter(x, y, s=22, c=colour, marker=shape, alpha=0.75, linewidths=0, label=name)
    axes.set(xlabel="ACC on the pair, percent", ylabel="factor on the pair, percent", xlim=(-2, 102), ylim=(-2, 102))
    axes.figure.legend(loc="outside lower center", ncols=len(methods))


def distribution(axes: Axes, accuracies: Mapping[str, Mapping[str, float]]) -> None:
    """Draw a point a pair, a line for the middle half of the pairs, and a bar at the median."""
    for i, method_values in enumerate(accuracies.values()):
        values = np.sort(list(method_values.values()))
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        axes.plot([low, high], [i, i], color=SOFT, linewidth=5, alpha=0.4, solid_capstyle="butt")
        axes.plot(values, np.full(len(values), i), "o", color=BLUE, markersize=4, alpha=0.6, markeredgewidth=0)
        axes.plot([middle, middle], [i - 0.3, i + 0.3], color=VERMILION, linewidth=1.6)
    axes.axvline(50, color=SOFT, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(accuracies)), list(accuracies))
    axes.set(xlabel="accuracy on the pair, percent", xlim=(-2, 102), ylim=(len(accuracies) - 0.4, -0.6))


FORMS: Mapping[str, Callable[[Axes, Mapping[str, Mapping[str, float]]], None]] = {
    "scatter": scatter,
    "distribution": distribution,
}
"""A figure's form -> what draws it."""
