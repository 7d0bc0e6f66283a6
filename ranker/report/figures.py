"""Figures of a report: each a pure function of a `Ranking`, drawn by matplotlib for a file or a page.

Colours are Okabe and Ito's, which the colour-blind can tell apart; a shape or a text always repeats what a colour says.
Texts stay texts: names are never read as formulas, and fonts are the reader's own.

Source: learning curves and distributions of pair accuracies as in Figures 3 and 4, pairs against ACC as in Figure 5 of
Singhal et al. 2022.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.dom.minidom import parseString

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

from ranker.numbers import interval, percent, probability
from ranker.report.costs import PRICED_ROWS
from ranker.report.escapes import visible
from ranker.report.tables import MAX_PAIRED_MODELS
from ranker.report.words import words_of
from ranker.results.ranking import Ranking
from ranker.results.result import Mode

INK, SOFT = "#010203", "#70777f"
"""Colours of texts and axes, and of the background. Only figures use `INK`, which a page replaces by its own ink."""

BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
"""Okabe and Ito's colours that are visible on white and on black."""

KINDS = {"baseline": SOFT, "factor": BLUE, "combined": GREEN, "pool": PURPLE, "label-free": PURPLE}
"""Colours of the kinds of methods; those that see no label are hollow."""

LINES: tuple[dict[str, Any], ...] = (
    {"color": INK, "linestyle": "-"},
    {"color": SOFT, "linestyle": ":"},
    {"color": BLUE, "linestyle": "-", "marker": "o"},
    {"color": VERMILION, "linestyle": "--", "marker": "s"},
    {"color": GREEN, "linestyle": "-.", "marker": "^"},
)
"""Styles of the named methods of a figure: ACC, RANDOM, and the others."""

Floats = np.ndarray[Any, np.dtype[np.float64]]

STYLE = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": SOFT,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text as text
    "svg.hashsalt": "rank-models",  # the same figure has the same bytes
    "pdf.fonttype": 42,
}

WIDTH = 360.0
"""Width of a figure in points: that of a phone, so that its texts can be read there."""

MAX_NAME_CHARACTERS = 20
"""Characters of a name that fit in a figure."""

HALF = 0.5
"""Probability from which on a model is drawn as one of the frontier."""

FORMATS = ("png", "svg", "pdf")

UNDATED: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    "pdf": dict.fromkeys(("Creator", "Producer", "CreationDate")),
}
"""Metadata that matplotlib would add and that would change the bytes of equal figures."""


@dataclass(frozen=True, repr=False)
class Drawing:
    """A figure with its texts.

    Attributes:
        name: name of its files.
        help: instructions for reading it, a sentence or two.
        alt: description for readers who cannot see it.
    """

    name: str
    title: str
    help: str
    alt: str
    figure: Figure

    def __repr__(self) -> str:
        return f"<figure {self.name}: {self.title}>"

    def _repr_svg_(self) -> str:
        """Return the figure for a notebook."""
        return encode(self.figure, "svg").decode()


Draw = Callable[[Ranking], Drawing | None]
"""Function that draws a ranking; None if the ranking has nothing of the kind."""


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply our style over matplotlib's defaults, whatever the user's are, and ignore missing glyphs."""
    with style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph")
        yield


def drawings(ranking: Ranking, wanted: Sequence[Draw]) -> list[Drawing]:
    """Draw those of the wanted figures for which the ranking has content."""
    with figure_style():
        drawn = [draw(ranking) for draw in wanted]
    return [drawing for drawing in drawn if drawing is not None]


def encode(figure: Figure, extension: str) -> bytes:
    """Encode a figure as the bytes of a file; equal figures give equal bytes."""
    file = io.BytesIO()
    with figure_style():
        figure.savefig(file, format=extension, dpi=200, metadata=UNDATED[extension], facecolor="white")
    return file.getvalue()


# ---- in a page


def inline(drawing: Drawing) -> str:
    """Return the figure as an ``<svg>`` for a page: in the page's ink, on its paper, with its `alt` text."""
    file = io.BytesIO()
    with figure_style():
        drawing.figure.savefig(file, format="svg", metadata=UNDATED["svg"], transparent=True)
    document = parseString(file.getvalue())
    svg = document.documentElement
    assert svg is not None  # matplotlib wrote one
    for element in (svg, *svg.getElementsByTagName("*")):
        for name, value in list(element.attributes.items()):
            if name.startswith("xmlns") or name == "version":
                element.removeAttribute(name)
            else:
                element.setAttribute(name, _at_home(name, value, drawing.name))
    for size in ("width", "height"):
        svg.removeAttribute(size)
    for unwanted in [*svg.getElementsByTagName("metadata"), *svg.getElementsByTagName("style")]:
        (unwanted.parentNode or svg).removeChild(unwanted)
    svg.setAttribute("role", "img")
    svg.setAttribute("aria-labelledby", f"{drawing.name}-title {drawing.name}-alt")
    for tag, key, text in (("desc", "alt", drawing.alt), ("title", "title", drawing.title)):
        label = document.createElement(tag)
        label.setAttribute("id", f"{drawing.name}-{key}")
        label.appendChild(document.createTextNode(text))
        svg.insertBefore(label, svg.firstChild)
    return svg.toxml()


def _at_home(name: str, value: str, prefix: str) -> str:
    """Adapt an attribute's value to a page: ids get the figure's prefix, numbers are short, the ink is the page's."""
    if name == "id":
        return f"{prefix}-{value}"
    if name.endswith("href"):
        return f"#{prefix}-{value.removeprefix('#')}"
    value = value.replace("url(#", f"url(#{prefix}-").replace(INK, "currentColor")
    return re.sub(r"-?\d+\.\d{2,}", lambda number: f"{float(number.group()):.1f}", value)


# ---- the figures


def learning_curve(ranking: Ranking) -> Drawing | None:
    """Plot pairwise accuracy against K for methods that see labels; None if fewer than two sizes were measured."""
    methods = [method for method in ranking.evaluation.methods if method.curve and method.sees_labels]
    sizes = sorted({size for method in methods for size in method.curve})
    if len(sizes) < 2:
        return None
    chosen = highlighted_methods(ranking)
    right = 24 + 5.7 * max(len(shorten(name, 16)) for name in chosen)
    figure, axes = empty_axes(220, left=34, right=right, bottom=34, top=8)
    ends = {}
    for method in sorted(methods, key=lambda method: method.name in chosen):  # names over grey
        x, y = zip(*sorted(method.curve.items()), strict=True)
        look = LINES[chosen.index(method.name)] if method.name in chosen else {"color": SOFT, "alpha": 0.35}
        axes.plot(x, y, **{"linewidth": 1.6 if method.name in chosen else 0.8, "markersize": 3.5} | look)
        ends[method.name] = float(y[-1])
    low = min(0.9, min(value for method in methods for value in method.curve.values()))
    axes.set(xscale="log", xlabel="K, labelled examples", ylim=(np.floor(10 * low) / 10, 1.005))
    axes.set_xlim(sizes[0] / 1.08, sizes[-1] * 1.08)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    percent_axis(axes, "y")
    _name_ends(axes, [(ends[name], name, LINES[chosen.index(name)]["color"]) for name in chosen if name in ends])
    last = {method.name: method.curve[sizes[-1]] for method in methods if sizes[-1] in method.curve}
    ends_at = ", ".join(f"{name} {percent(last[name])} %" for name in chosen if name in last)
    return Drawing(
        "learning-curve",
        "Learning curve",
        "Pairwise accuracy in percent with a probe of K examples. Methods without a name here are grey. Methods that "
        "see no label would be flat, and are not drawn. The numbers are below.",
        f"Lines of {len(ends)} methods from K = {sizes[0]} to {sizes[-1]}. At {sizes[-1]}: {ends_at}.",
        figure,
    )


def against_acc(ranking: Ranking) -> Drawing | None:
    """Plot each pair's accuracy by the best and the designed methods against its accuracy by the metric."""
    by_method, metric = _by_method(ranking), ranking.header.metric
    compared = [name for name in highlighted_methods(ranking) if name not in (metric, "RANDOM") and name in by_method]
    if not compared or metric not in by_method:
        return None
    figure, axes = empty_axes(300, left=42, right=16, bottom=36, top=14 * len(compared) + 6)
    base = np.array([by_method[metric][pair] for pair in by_method[metric]])
    axes.plot([0, 1], [0, 1], color=SOFT, linewidth=0.8, zorder=1)
    counts = []
    for look, name in zip(LINES[2:], compared, strict=False):
        values = np.array([by_method[name][pair] for pair in by_method[metric]])
        looks = {"c": look["color"], "marker": look["marker"], "alpha": 0.75, "linewidths": 0}
        axes.scatter(base, values, 22, **looks, label=shorten(name))
        counts.append(f"{name} is above {metric} on {np.sum(values > base)} pairs, below on {np.sum(values < base)}")
    low = min(0.5, *(value for name in (metric, *compared) for value in by_method[name].values()))
    low = np.floor(10 * low) / 10 - 0.02
    axes.set(xlabel=f"{metric} on the pair", ylabel="method on the pair", xlim=(low, 1.02), ylim=(low, 1.02))
    for axis in ("x", "y"):
        percent_axis(axes, axis)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, handletextpad=0.2, labelspacing=0.3)
    return Drawing(
        "against-acc",
        f"Each pair of models: a method against {metric}",
        f"A point for each pair, in percent of draws. Above the line the method orders the pair better than {metric}.",
        f"{len(base)} pairs. {'; '.join(counts)}.",
        figure,
    )


def distribution(ranking: Ranking) -> Drawing | None:
    """Plot the spread of each method's accuracy over the pairs, with methods that see no label at the bottom."""
    by_method = _by_method(ranking)
    rows = sorted(
        (method for method in ranking.evaluation.methods if method.name in by_method),
        key=lambda method: (method.sees_labels, method.pairwise_accuracy),
    )
    if not rows:
        return None
    figure, axes = empty_axes(18 * len(rows) + 46, left=112, right=14, bottom=34, top=8)
    for i, method in enumerate(rows):
        values = np.sort(list(by_method[method.name].values()))
        colour, hollow = VERMILION if method.designed else KINDS[method.kind], not method.sees_labels
        if not hollow:  # without draws a pair is right or wrong: there is no middle half
            low, high = np.quantile(values, [0.25, 0.75])
            axes.plot([low, high], [i, i], color=colour, alpha=0.22, linewidth=9, solid_capstyle="butt")
        face, edge, line = ("none", colour, 0.7) if hollow else (colour, "none", 0.0)
        axes.scatter(
            values, i + _spread(values), 9, facecolors=face, edgecolors=edge, linewidths=line, alpha=0.7, clip_on=False
        )
        axes.plot([method.pairwise_accuracy] * 2, [i - 0.36, i + 0.36], color=INK, linewidth=1.6)
    unlabelled = sum(not method.sees_labels for method in rows)
    if 0 < unlabelled < len(rows):
        axes.axhline(unlabelled - 0.5, color=SOFT, linewidth=0.8)
    axes.axvline(0.5, color=SOFT, linewidth=0.8)
    axes.set(xlabel="pairs put in the right order, % of draws", ylim=(-0.6, len(rows) - 0.4), xlim=(-0.02, 1.02))
    axes.set_yticks(range(len(rows)), [shorten(method.name) + (" *" if method.designed else "") for method in rows])
    axes.grid(visible=False, axis="y")
    percent_axis(axes, "x")
    best = rows[-1]
    return Drawing(
        "distribution",
        "Accuracies of the pairs",
        "A point for each pair. The bar holds the middle half, the stroke is the mean, the pairwise accuracy. Grey: "
        "baselines; blue: factors; orange: the factor designed for the set; green: combined; purple: methods that read "
        "unlabelled rows, too; hollow and at the bottom: methods that see no label.",
        f"{len(rows)} methods over {len(by_method[best.name])} pairs, the best mean on top"
        f"{', but those that see no label at the bottom' if 0 < unlabelled < len(rows) else ''}: "
        + ", ".join(f"{method.name} {percent(method.pairwise_accuracy)} %" for method in reversed(rows))
        + ".",
        figure,
    )


def end_or_value(end: float | None, value: float) -> float:
    """Return the end of an interval, or the value itself if the end is unknown."""
    return value if end is None else end


def _near_best(p: float | None) -> str:
    return "?" if p is None else f"{probability(p)} %"


def intervals(ranking: Ranking) -> Drawing:
    """Plot the interval of each model's accuracy in the domain."""
    decision, terms = ranking.decision, words_of(ranking)
    first_models, ends = decision.models[:MAX_PAIRED_MODELS], []
    for model in first_models:
        expected = end_or_value(model.expected, model.outcome)
        ends.append((model.name, end_or_value(model.low, expected), end_or_value(model.high, expected), expected))
    label = f"{terms.what} in the domain{',' if terms.unit.sign else ''}{terms.unit.sign}"
    figure, axes = lines(ends, label, 20, right=66, top=22)
    for i, model in enumerate(first_models):
        axes.text(1.03, i, _near_best(model.p_near_best), va="center", transform=axes.get_yaxis_transform())
    axes.text(1.03, -0.75, "P(near best)", va="bottom", transform=axes.get_yaxis_transform())
    if not decision.metric:
        axes.set_xlim(0, 1.01)
        percent_axis(axes, "x")
    texts = (
        f"{model.name} {interval(model.low, model.high, terms.unit.value)}{terms.unit.sign}, "
        f"near best with {_near_best(model.p_near_best)}"
        for model in first_models
    )
    return Drawing(
        "accuracies",
        "Each model in the domain",
        f"The line: a 95 % interval for the model's {terms.what if decision.metric else 'accuracy'} in the domain; "
        "the point: its expected value there. Models are compared on the same rows, so lines may "
        "overlap where their order is sure.",
        f"Intervals of {len(first_models)} models: {'; '.join(texts)}.",
        figure,
    )


def costs(ranking: Ranking) -> Drawing | None:
    """Plot each model's value against its price, or its time, with the frontier; None if too few are known."""
    decision, terms = ranking.decision, words_of(ranking)
    if decision.costs is None or decision.costs.by is None:
        return None
    by, currency = decision.costs.by, decision.costs.currency
    label = f"price of {PRICED_ROWS:,} rows{f', {currency}' if currency else ''}" if by == "money" else "seconds a row"
    scale = PRICED_ROWS if by == "money" else 1
    points = [
        (scale * amount, end_or_value(model.expected, model.outcome), model, cost)
        for amount, model, cost in zip(decision.costs.amounts(by), decision.models, decision.costs.models, strict=True)
        if amount is not None
    ][:MAX_PAIRED_MODELS]
    figure, axes = empty_axes(230, left=46, right=90, bottom=34, top=8)
    for amount, value, model, cost in points:
        on_frontier = (cost.p_frontier or 0.0) >= HALF
        low, high = end_or_value(model.low, value), end_or_value(model.high, value)
        axes.plot([amount, amount], [low, high], color=BLUE if on_frontier else SOFT, linewidth=1.6)
        face = BLUE if on_frontier else "none"
        axes.scatter([amount], [value], 26, face, edgecolors=BLUE if on_frontier else SOFT, zorder=3)
        text = f"{shorten(model.name, 14)} {probability(cost.p_frontier, 0)} %"
        axes.annotate(text, (amount, value), (5, 3), textcoords="offset points", va="bottom", fontsize=8)
    frontier = sorted((amount, value) for amount, value, _, cost in points if (cost.p_frontier or 0.0) >= HALF)
    if frontier:
        axes.step(*zip(*frontier, strict=True), where="post", color=BLUE, linewidth=0.8, linestyle="--", zorder=1)
    least, most = min(amount for amount, *_ in points), max(amount for amount, *_ in points)
    if least > 0:
        axes.set(xscale="log", xlim=(least / 1.3, most * 1.3))
        axes.set_xticks(ticks := log_ticks(least, most), [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: terms.unit.value(value))
    axes.set(xlabel=label, ylabel=f"{terms.what} in the domain{',' if terms.unit.sign else ''}{terms.unit.sign}")
    texts = (
        f"{model.name} {amount:.3g} and {terms.unit.value(value)}{terms.unit.sign}, on the frontier with "
        f"{probability(cost.p_frontier)} %"
        for amount, value, model, cost in points
    )
    return Drawing(
        "costs",
        f"Quality against {'price' if by == 'money' else 'time'}",
        "A filled point: no model that takes no more is better, with a probability of a half or more, which stands "
        "beside it; the dashed line joins these. Vertical lines are 95 % intervals.",
        f"{label} and {terms.what} of {len(points)} models: {'; '.join(texts)}.",
        figure,
    )


ALL: Mapping[Mode, tuple[Draw, ...]] = {
    "evaluation": (learning_curve, distribution, against_acc),
    "decision": (intervals, costs),
}
"""Mode of a run -> its figures, the one to look at first before the others."""

# ---- what they share


def highlighted_methods(ranking: Ranking) -> list[str]:
    """Return the methods named in a figure: the metric, RANDOM, the best, the best factor, and the designed one."""
    ranked = sorted(ranking.evaluation.methods, key=lambda method: -method.pairwise_accuracy)
    measured = {method.name for method in ranked}
    designed = [method.name for method in ranked if method.designed][:1]
    factors = [method.name for method in ranked if method.kind == "factor"][:1]
    best = [method.name for method in ranked if method.sees_labels][:1]  # as in the answer
    wanted = dict.fromkeys([ranking.header.metric, "RANDOM", *best, *factors, *designed])
    return [name for name in wanted if name in measured]


def _by_method(ranking: Ranking) -> dict[str, dict[tuple[str, str], float]]:
    """Map each method to its accuracy on each pair of models."""
    evaluation = ranking.evaluation
    accuracies: dict[str, dict[tuple[str, str], float]] = {method.name: {} for method in evaluation.methods}
    for pair in evaluation.pairs:
        accuracies.setdefault(pair.method, {})[pair.a, pair.b] = pair.accuracy
    return {name: pairs for name, pairs in accuracies.items() if pairs}


def empty_axes(
    height: float, *, left: float, right: float, bottom: float, top: float, width: float = WIDTH
) -> tuple[Figure, Axes]:
    """Create an empty figure and its axes inside the margins; all in points."""
    figure = Figure(figsize=(width / 72, height / 72))
    inside = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    return figure, figure.add_axes(inside)


def lines(
    ends: Sequence[tuple[str, float, float, float]], label: str, height: float, *, right: float, top: float
) -> tuple[Figure, Axes]:
    """Plot a line with a point for each name, from top to bottom.

    Args:
        ends: name, ends of the line, and point.
        height: height of a line, in points.
        right, top: margins, in points.
    """
    figure, axes = empty_axes(height * len(ends) + 34 + top + 4, left=118, right=right, bottom=34, top=top)
    for i, (_, low, high, point) in enumerate(ends):
        axes.plot([low, high], [i, i], color=BLUE, linewidth=2.2, solid_capstyle="round")
        axes.scatter([point], [i], 26, INK, zorder=3, clip_on=False)
    axes.set(xlabel=label, ylim=(len(ends) - 0.5, -0.6))
    axes.set_yticks(range(len(ends)), [shorten(name) for name, *_ in ends])
    axes.grid(visible=False, axis="y")
    return figure, axes


def grid(
    values: Floats,
    texts: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    colours: Colormap,
    cell: tuple[float, float],
) -> Figure:
    """Plot numbers from 0 to 1 as coloured cells, with the names of the columns above.

    Args:
        values: (rows, columns), nan if missing.
        rows, columns: names, shortened to fit.
        cell: its width and height, in points.
    """
    longest = max(map(len, columns))
    left, right, top = 4.5 * max(map(len, rows)) + 12, 24 + 2.2 * longest, 4.2 * longest + 12
    size = (left + cell[0] * len(columns) + right, 8 + cell[1] * len(rows) + top)
    figure, axes = empty_axes(size[1], left=left, right=right, bottom=8, top=top, width=size[0])
    axes.pcolormesh(np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=0.5)
    for i, row in enumerate(texts):
        for j, text in ((j, text) for j, text in enumerate(row) if text):
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=7, color=INK)
    axes.set(ylim=(len(rows), 0), xlim=(0, len(columns)))
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows, fontsize=7)
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, fontsize=7)
    axes.tick_params("x", labeltop=True, labelbottom=False)
    for label in axes.get_xticklabels():
        label.set(rotation=45, ha="left", va="bottom", rotation_mode="anchor")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    return figure


def percent_axis(axes: Axes, axis: str) -> None:
    """Label an axis of fractions with percentages without decimals."""
    low, high = axes.get_xlim() if axis == "x" else axes.get_ylim()
    step = 0.1 if high - low < 0.65 else 0.2
    ticks = [tick / 100 for tick in range(0, 101, round(100 * step)) if low - 1e-9 <= tick / 100 <= high]
    (axes.set_xticks if axis == "x" else axes.set_yticks)(ticks, [f"{100 * tick:.0f}" for tick in ticks])


def log_ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two, and about them, for a logarithmic axis; powers of ten if there are many.

    Example:
        >>> log_ticks(0.9, 6.0), log_ticks(0.02, 300.0), log_ticks(3.0, 3.5)
        ([1.0, 2.0, 5.0], [0.1, 1.0, 10.0, 100.0], [3.0, 3.5])
    """
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    round_numbers = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    ticks = [tick for tick in round_numbers if low <= tick <= high]
    if len(ticks) > 7:
        ticks = [tick for tick in ticks if f"{tick:e}".startswith("1.")]
    return ticks if len(ticks) > 1 else [low, high]


def _name_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write names beside the ends of their lines, moved down only as far as needed to keep them apart."""
    low, high = axes.get_ylim()
    height = axes.bbox.transformed(axes.figure.dpi_scale_trans.inverted()).height * 72  # in points
    line = 11 / height * (high - low)  # of text, in data
    last = np.inf
    for y, name, colour in sorted(ends, reverse=True):
        last = min(y, last - line)
        axes.plot([1.02, 1.05], [last, last], color=colour, linewidth=2.4, transform=axes.get_yaxis_transform(),
                  clip_on=False)  # fmt: skip
        axes.text(1.07, last, shorten(name, 16), fontsize=8, va="center_baseline", transform=axes.get_yaxis_transform())


def _spread(values: Floats) -> Floats:
    """Return heights of points in a row, so that near ones do not overlap: around 0, at most 0.3 away."""
    places = np.round(values * 60)
    heights = np.zeros(len(values))
    for place in np.unique(places):
        group = np.flatnonzero(places == place)
        heights[group] = (np.arange(len(group)) - (len(group) - 1) / 2) * min(0.16, 0.6 / len(group))
    return heights


def shorten(name: str, longest: int = MAX_NAME_CHARACTERS) -> str:
    """Return a name in one line, cut to fit in a figure.

    Example:
        >>> shorten("a-model-of-a-rather-long-name"), shorten("two\\nlines")
        ('a-model-of-a-rather…', 'two lines')
    """
    name = visible(" ".join(name.split()))
    return name if len(name) <= longest else name[: longest - 1] + "…"
