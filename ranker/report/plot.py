"""One figure of a result: what `Result.plot` draws."""

from __future__ import annotations

from ranker.errors import UsageError, look_up
from ranker.report import sets_figures, shift_figures
from ranker.report.figures import ALL, Drawing, drawings
from ranker.results.over_sets import OverSets
from ranker.results.ranking import Ranking
from ranker.results.result import Result
from ranker.results.shift import Shift


def plot(drawable: Result, name: str | None = None) -> Drawing:
    """Draw the named figure, or the first, of those that a report of it has.

    Raises:
        UsageError: the result has no figure.
        UnknownName: it has others.
    """
    drawn = {drawing.name: drawing for drawing in _drawings(drawable)}
    kind = type(drawable).__name__
    if not drawn:
        raise UsageError(f"this {kind} has no figure: `to_frame()` has its numbers", value=kind)
    return look_up(f"figure of this {kind}", next(iter(drawn)) if name is None else name, drawn)


def _drawings(drawable: Result) -> list[Drawing]:
    match drawable:
        case Ranking():
            return drawings(drawable, ALL[drawable.mode])
        case Shift():
            return shift_figures.drawings(drawable)
        case OverSets():
            return sets_figures.drawings(drawable)
    return []
