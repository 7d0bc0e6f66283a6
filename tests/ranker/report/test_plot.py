"""`plot`: one figure of a result."""

import pytest
from refusals import refuses
from test_over_sets_report import rows
from test_report_formats import toy, toy_decision

from ranker.domains.compare import compare
from ranker.domains.report import sets_figures
from ranker.errors import UnknownName, UsageError
from ranker.report import figures
from ranker.report.plot import plot


def board():
    """Nine models on three sets and in-domain."""
    return compare(list(rows()))


@pytest.mark.parametrize(("make", "first"), [(toy, "learning-curve"), (toy_decision, "accuracies"), (board, "ranks")])
def test_the_first_figure_is_drawn_unasked(make, first):
    """A notebook gets it as SVG, a shell its name in a line, everybody matplotlib's own figure."""
    drawn = plot(make())
    assert (drawn.name, repr(drawn)) == (first, f"<figure {first}: {drawn.title}>")
    assert drawn._repr_svg_().startswith("<?xml")
    assert drawn.figure.axes
    assert drawn.title in " ".join(text.get_text() for text in drawn.figure.texts)


def test_a_title_stands_above_its_figure_and_fits():
    """In lines as wide as the figure, which becomes so much taller; the axes keep their size."""
    (in_report,) = (d for d in figures.drawings(toy(), figures.ALL["evaluation"]) if d.name == "against-acc")
    drawn = plot(toy(), "against-acc").figure
    (title,) = (text for text in drawn.texts if "Each pair" in text.get_text())
    drawn.canvas.draw()
    box = title.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= drawn.bbox.x1
    assert box.y1 <= drawn.bbox.y1
    assert title.get_text().count("\n") == 1
    before, after = (figure.axes[0].get_window_extent() for figure in (in_report.figure, drawn))
    assert (after.width, after.height) == pytest.approx((before.width, before.height))


@pytest.mark.more
@pytest.mark.parametrize("make", [toy, toy_decision])
def test_every_figure_of_a_report_has_its_name(make):
    """Each that a report of the ranking holds can be asked for."""
    names = [drawing.name for drawing in figures.drawings(make(), figures.ALL[make().mode])]
    assert [plot(make(), name).name for name in names] == names


@pytest.mark.more
def test_every_figure_of_many_sets_has_its_name():
    """Ranks, critical difference and trends, too."""
    names = [drawing.name for drawing in sets_figures.drawings(board())]
    assert [plot(board(), name).name for name in names] == names


def test_what_cannot_be_drawn_is_one_line():
    """A result without figures, and a figure that the ranking does not have."""
    with refuses(UsageError, value="ScoreTable"):
        plot(toy().table)
    with refuses(UnknownName, value="distribution"):
        plot(toy_decision(), "distribution")
