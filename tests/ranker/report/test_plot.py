"""`ranker.plot`: one figure of a ranking."""

import pytest
from refusals import refuses
from test_report_formats import toy, toy_decision

from ranker import plot
from ranker.errors import UnknownName, UsageError
from ranker.report import figures


@pytest.mark.parametrize(("make", "first"), [(toy, "learning-curve"), (toy_decision, "heatmap")])
def test_the_first_figure_is_drawn_unasked(make, first):
    """A notebook gets it as SVG, a shell its name in a line, everybody matplotlib's own figure."""
    drawn = plot(make())
    assert (drawn.name, repr(drawn)) == (first, f"<figure {first}: {drawn.title}>")
    assert drawn._repr_svg_().startswith("<?xml")
    assert drawn.figure.axes


@pytest.mark.parametrize("make", [toy, toy_decision])
def test_every_figure_of_a_report_has_its_name(make):
    """Each that a report of the ranking holds can be asked for."""
    names = [one.name for one in figures.drawings(make(), figures.ALL)]
    assert [plot(make(), name).name for name in names] == names


def test_what_cannot_be_drawn_is_one_line():
    """Another result, and a figure that the ranking has not."""
    with refuses(UsageError, value="Decision"):
        plot(toy_decision().found)
    with refuses(UnknownName, value="distribution"):
        plot(toy_decision(), "distribution")
