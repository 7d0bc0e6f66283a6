"""`ranker.plot`: one figure of a result, for a notebook or a paper."""

from __future__ import annotations

from ranker.errors import UsageError, look_up
from ranker.report import shift_figures
from ranker.report.figures import ALL, Drawing, drawings
from ranker.results.ranking import Ranking
from ranker.results.shift import Shift


def plot(ranking: Ranking | Shift, figure: str | None = None) -> Drawing:
    """Draw one figure of a ranking or a shift, as in the reports.

    Args:
        ranking: an evaluation, a decision, or a shift.
        figure: for an evaluation "learning-curve", "against-acc", "distribution" or "heatmap", for a decision "heatmap"
            or "accuracies", for a shift "heatmap" or "map". None takes the first that the ranking has.

    Returns:
        The drawing, which a notebook shows: `figure` is matplotlib's, with `savefig`; `title`, `help` and `alt`
        describe in words its subject, how to read it, and what can be seen in it.

    Raises:
        UsageError: this is no ranking or shift, or it has no such figure.

    Example:
        >>> from ranker import Evidence, load_set, plot, rank
        >>> ranking = rank("hans-sub-mini", load_set("hans-sub", limit=40), evidence=Evidence("none"))
        >>> plot(ranking, "heatmap")
        <figure heatmap: ...>
    """
    if not isinstance(ranking, Ranking | Shift):
        kind = type(ranking).__name__
        raise UsageError(f"only a ranking and a shift have figures (got {kind})", value=kind)
    available = shift_figures.drawings(ranking) if isinstance(ranking, Shift) else drawings(ranking, ALL)
    drawn = {drawing.name: drawing for drawing in available}
    if not drawn:
        raise UsageError(
            "the shift has no figure: it is of two sets"
            if isinstance(ranking, Shift)
            else "the ranking has no figure: it is of too few models"
        )
    return look_up(
        f"figure of this {type(ranking).__name__.casefold()}", next(iter(drawn)) if figure is None else figure, drawn
    )
