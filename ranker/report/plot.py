"""One figure of a result: what `Result.plot` draws."""

from __future__ import annotations

import textwrap
from importlib import import_module

from ranker.errors import UsageError, look_up
from ranker.report.figures import ALL, Drawing, drawings
from ranker.results.ranking import Ranking
from ranker.results.result import Result

LINE_POINTS, CHARACTERS_PER_INCH = 16, 8
"""Height of a line of a title, and its characters, of which more do not fit."""


def plot(drawable: Result, name: str | None = None) -> Drawing:
    """Draw the named figure, or the first, of those that a report of it has.

    Raises:
        UsageError: the result has no figure.
    """
    drawn = {drawing.name: drawing for drawing in _drawings(drawable)}
    kind = type(drawable).__name__
    if not drawn:
        raise UsageError(f"this {kind} has no figure: `to_frame()` has its numbers", value=kind)
    drawing = look_up(f"figure of this {kind}", next(iter(drawn)) if name is None else name, drawn)
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
