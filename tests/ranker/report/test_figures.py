import dataclasses
import re
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
from goldens import PageReader
from test_report_formats import HOSTILE, method, toy, toy_decision, with_found

from ranker import report
from ranker.report import figures

EXPECTED = {toy: ["learning-curve", "distribution", "against-acc"], toy_decision: ["accuracies"]}


def drawn(ranking, draw):
    """One figure, and its axes."""
    (drawing,) = figures.drawings(ranking, [draw])
    return drawing, drawing.figure.axes[0]


def texts(svg):
    """The texts in an SVG, each element's as one string."""
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]


@pytest.mark.parametrize("make", EXPECTED)
def test_every_mode_has_its_figures(make):
    """An evaluation and a decision are drawn as far as they have what a figure shows."""
    assert [drawing.name for drawing in figures.drawings(make(), figures.ALL[make().mode])] == EXPECTED[make]


def test_the_learning_curve_is_that_of_the_ranking():
    """A line a method through its accuracies, K on a logarithmic axis with its own ticks, names beside the ends."""
    drawing, axes = drawn(toy(), figures.learning_curve)
    labelled = [method for method in toy().evaluation.methods if method.kind != "label-free"]
    lines = [line.get_xydata().tolist() for line in axes.lines if line.get_transform() == axes.transData]
    assert sorted(lines) == sorted([[k, v] for k, v in method.curve.items()] for method in labelled)
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "10", "50"]
    assert {"ACC", "RANDOM", "INDEX-DIFF"} <= {text.get_text() for text in axes.texts}
    assert "At 50: ACC 90.0 %, RANDOM 50.0 %, INDEX-DIFF 100.0 %." in drawing.alt
    short = with_found(toy(), methods=(method("ACC", "baseline", 0.5, curve={2: 0.5}),))
    assert figures.drawings(short, [figures.learning_curve]) == []


def test_names_of_lines_do_not_lie_on_each_other():
    """Methods that end at the same height have their names one below the other."""
    alike = tuple(method(name, "factor", 0.7, curve={1: 0.6, 9: 0.7}) for name in ("ACC", "RANDOM"))
    _, axes = drawn(with_found(toy(), methods=alike), figures.learning_curve)
    first, second = sorted(axes.transData.transform((1, text.get_position()[1]))[1] for text in axes.texts)
    assert (second - first) * 72 / axes.figure.dpi >= 10.9  # points: a line of text


def test_pairs_stand_against_acc():
    """A point a pair: ACC's accuracy on it along the page, the method's up, the same pair in both."""
    drawing, axes = drawn(toy(), figures.against_acc)
    (points,) = axes.collections
    assert points.get_offsets().tolist() == [[0.75, 0.875]] * 3
    assert drawing.alt == "3 pairs. INDEX-DIFF is above ACC on 3 pairs, below on 0."
    without = with_found(toy(), pairs=toy().evaluation.pairs[1:2])
    assert figures.drawings(without, [figures.against_acc]) == []


def test_the_distribution_has_a_row_a_method_the_best_on_top():
    """Points are the pairs, a stroke their mean, a star the designed factor; label-free methods lie below."""
    drawing, axes = drawn(toy(), figures.distribution)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["MAJORITY", "RANDOM", "ACC", "CONF-GT", "SURROGATE+LABEL", "INDEX-DIFF *"]
    values = [set(points.get_offsets()[:, 0]) for points in axes.collections]
    assert values == [{0.9}, {0.5}, {0.75}, {0.775}, {0.85}, {0.875}]
    assert [len(points.get_facecolor()) for points in axes.collections] == [0, 1, 1, 1, 1, 1]
    assert "the best mean on top, but those that see no label at the bottom: INDEX-DIFF 87.5 %" in drawing.alt
    strokes = [
        line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1 and line.get_linewidth() > 1
    ]
    assert {0.5, 0.75, 0.775, 0.875} <= set(strokes)


def test_points_in_a_row_do_not_hide_each_other():
    """Equal accuracies stand one above the other, around the row's middle."""
    heights = figures._spread(np.array([0.5, 0.5, 0.5, 0.9]))
    assert len(set(heights[:3])) == 3
    assert heights[:3].sum() == pytest.approx(0)
    assert heights[3] == 0


def test_a_curve_that_ends_early_is_not_said_to_go_on():
    """A method that was not measured at K = 50 has no number there."""
    methods = toy().evaluation.methods
    cut = dataclasses.replace(methods[4], pairwise_accuracy=0.99, curve={2: 0.8, 10: 0.99})
    drawing, _ = drawn(with_found(toy(), methods=(*methods[:4], cut)), figures.learning_curve)
    message = drawing.alt.partition("At 50: ")[2]
    assert "ACC 90.0 %" in message
    assert "SURROGATE+LABEL" not in message


def test_a_decision_is_drawn_with_its_intervals():
    """A line from the low to the high end for each model, and its probability of being near the best beside it."""
    _, axes = drawn(toy_decision(), figures.intervals)
    assert [list(line.get_xdata()) for line in axes.lines] == [[0.6, 0.975], [0.5, 0.95], [0.15, 0.7]]
    assert [text.get_text() for text in axes.texts[:3]] == ["75.0 %", "33.0 %", "3.0 %"]


# ---- files and pages


@pytest.mark.few(1)
@pytest.mark.parametrize("extension", figures.FORMATS)
@pytest.mark.parametrize("draw", [figures.learning_curve, figures.distribution])
def test_the_same_figure_has_the_same_bytes(draw, extension):
    """No date, no random name: drawn twice, the files are equal, whatever the user's own style is."""
    first = figures.encode(drawn(toy(), draw)[0].figure, extension)
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": None}):
        assert figures.encode(drawn(toy(), draw)[0].figure, extension) == first


def test_drawing_leaves_matplotlib_as_it_was():
    """The user's own settings hold after a report as before it."""
    before = dict(matplotlib.rcParams)
    report.render(toy(), "html")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [*HOSTILE, "$x^2$", r"$\undefined{", "=cmd", "模型 🤖"])
def test_a_name_is_text_in_a_figure(name):
    """Markup, formulas and scripts in a model's name are drawn as they stand, in a file and in a page."""
    shorten = figures.shorten(name)
    (drawing,) = figures.drawings(toy_decision((name, "b", "c")), [figures.intervals])
    page = figures.inline(drawing)
    for svg in (figures.encode(drawing.figure, "svg"), page):
        assert any(
            shorten in text
            for text in texts(re.sub(r"xlink:href", "href", svg if isinstance(svg, str) else svg.decode()))
        )
    figures.encode(drawing.figure, "png")
    tags = {tag for tag, _ in PageReader(page).tags}
    assert tags <= {"svg", "title", "desc", "g", "path", "defs", "use", "text", "tspan", "clippath", "rect"}


def test_a_figure_in_a_page_is_the_pages_own():
    """The image has a name and a description, the page's ink, and ids of its own."""
    drawings = figures.drawings(toy(), figures.ALL["evaluation"])
    pages = [figures.inline(drawing) for drawing in drawings]
    ids = [match for svg in pages for match in re.findall(r' id="([^"]+)"', svg)]
    assert len(ids) == len(set(ids))
    for drawing, svg in zip(drawings, pages, strict=True):
        tag, attributes = PageReader(svg).tags[0]
        assert (tag, attributes["role"]) == ("svg", "img")
        assert attributes["aria-labelledby"] == f"{drawing.name}-title {drawing.name}-alt"
        assert drawing.alt in PageReader(svg).text
        assert figures.INK not in svg
        assert "currentColor" in svg
        used = set(re.findall(r'(?:url\(|href=")#([^")]+)', svg))
        assert used
        assert used <= set(re.findall(r' id="([^"]+)"', svg))


@pytest.mark.more
def test_plots_of_a_kept_run(tmp_path, rank_models):
    """`report --plots` writes each figure three times; what is there is not written over unless it is said."""
    toy().save(tmp_path / "run.json")

    def call(*flags):
        return rank_models("report", str(tmp_path / "run.json"), "--plots", str(tmp_path / "plots"), *flags)

    assert call()[0] == 0
    wanted = {f"{name}.{extension}" for name in EXPECTED[toy] for extension in figures.FORMATS}
    assert {file.name for file in (tmp_path / "plots").iterdir()} == wanted
    assert (tmp_path / "plots" / "distribution.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "plots" / "distribution.pdf").read_bytes().startswith(b"%PDF")
    status, out, err = call()
    assert (status, out) == (2, "")
    assert "`--plots`" in err
    assert "`--force`" in err
    assert call("--force")[0] == 0
