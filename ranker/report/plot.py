"""`plot`: one figure of a result."""

from __future__ import annotations

import textwrap
from importlib import import_module

from ranker.errors import UsageError, look_up
from ranker.report.figures import ALL, Drawing, drawings
from ranker.results.ranking import Ranking
from ranker.results.result import Result

LINE_POINTS, CHARACTERS_PER_INCH = 16, 8
"""Height of a line of a title, and its characters, of which more do not fit."""


def plot(drawable: Result, figure: str | None = None) -> Drawing:
    """Draw one figure of a result, as in the reports.

    Args:
        drawable: what `rank`, `decide`, `compare` or `shift` gave.
        figure: of an evaluation "learning-curve", "against-acc" or "distribution", of a decision
            "accuracies" or "costs", of a shift "heatmap", "overlap" or "summaries", of models
            over many sets "ranks", "critical-difference", or a trend. None takes the first that the result has.

    Returns:
        The drawing, which a notebook shows: `figure` is matplotlib's, with its title and `savefig`; `title`, `help`
        and `alt` say in words what it is about, how to read it, and what can be seen in it.

    Raises:
        UsageError: the result has no figure.
        UnknownName: it has others.

    Example:
        >>> from ranker import Evidence, load_set, load_suite, plot, rank
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-3:], load_set("hans-sub", limit=40)
        >>> plot(rank(models, rows, evidence=Evidence("none")), "distribution")
        <figure distribution: ...>
    """
    drawn = {drawing.name: drawing for drawing in _drawings(drawable)}
    kind = type(drawable).__name__
    if not drawn:
        raise UsageError(f"this {kind} has no figure: `to_frame()` has its numbers", value=kind)
    drawing = look_up(f"figure of this {kind}", next(iter(drawn)) if figure is None else figure, drawn)
    _set_title(drawing)
    return drawing


def _set_title(drawing: Drawing) -> None:
    """Put the title above a figure, which a report has in the text around it."""
    figure = drawing.figure
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(drawing.title, max(int(width * CHARACTERS_PER_INCH), 1))
    taller = height + (LINE_POINTS * len(lines) + 8) / 72
    places = [(axes, axes.get_position().bounds) for axes in figure.axes]
    figure.set_size_inches(width, taller)
    for axes, (left, bottom, wide, high) in places:
        axes.set_position((left, bottom * height / taller, wide, high * height / taller))
    figure.text(0.01, 1 - 5 / 72 / taller, "\n".join(lines), ha="left", va="top", fontsize=11, fontweight="bold")


def _drawings(drawable: Result) -> list[Drawing]:
    if isinstance(drawable, Ranking):
        return drawings(drawable, ALL[drawable.mode])
    return list(import_module(drawable.figures).drawings(drawable)) if drawable.figures else []
