import re

import numpy as np
import pytest

from ranker import plot, shift
from ranker.domains.report import shift_figures
from ranker.domains.report.shift import document
from ranker.errors import UsageError
from ranker.report import write


@pytest.fixture(scope="module")
def shifts():
    """Three sets."""
    return shift("hans-sub", "hans-con", "paws")


@pytest.mark.parametrize(
    ("figure", "measure", "least"),
    [((), "cosine", "hans-con and paws"), (("overlap",), "vocabulary_overlap", "hans-sub and paws")],
)
def test_a_heatmap_has_every_pair(shifts, figure, measure, least):
    """Twice, and none of a set with itself; overlaps of vocabularies are DomainSum's Figure 4."""
    drawing = plot(shifts, *figure)
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    assert sorted(texts) == sorted(2 * [f"{pair.measure(measure).value:.2f}" for pair in shifts.pairs])
    assert drawing.alt == f"3 by 3 cells. Most alike: hans-sub and hans-con; least: {least}."


def test_summaries_have_a_radar_chart(tmp_path):
    """DomainSum's Figure 3: a polygon for each set, whose corners are shares of the largest value."""
    rows = {"news": "a b c d e f g h. i j", "talks": "a a a b b b. c d"}
    for name, text in rows.items():
        lines = "".join(f"{text} {n},{text[:5]} new {n}\n" for n in range(25))
        (tmp_path / f"{name}.csv").write_text("document,summary\n" + lines)
    pair = shift(*(tmp_path / f"{name}.csv" for name in rows), columns={"text": ["document"], "summary": ["summary"]})
    (drawing,) = shift_figures.drawings(pair)
    assert drawing.name == "summaries"
    assert drawing.alt.startswith("2 sets by 8 measures. Largest: document length news")
    axes = drawing.figure.axes[0]
    polygons = {line.get_label(): np.hypot(*line.get_data()) for line in axes.lines if len(line.get_xdata()) == 9}
    lengths = [domain.summaries[0].value for domain in pair.domains]
    assert polygons["news"][0] == pytest.approx(1)
    assert polygons["talks"][0] == pytest.approx(lengths[1] / lengths[0])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["news", "talks"]


def test_equal_sets_have_figures(tmp_path):
    """Files of the same rows."""
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    for file in files:
        file.write_text("text\n" + "".join(f"Row {n} of the set.\n" for n in range(12)))
    same = shift(*files)
    assert len(shift_figures.drawings(same)) == 2
    assert "<svg" in write(document(same), "html")


def test_two_sets_have_no_figure():
    """There is nothing to draw."""
    two = shift("hans-sub", "hans-con")
    assert shift_figures.drawings(two) == []
    with pytest.raises(UsageError):
        plot(two)


def test_the_page_has_both(shifts):
    """As drawings whose texts are texts; a page of two sets has none."""
    page = write(document(shifts), "html")
    svgs = re.findall(r"(?s)<svg.*?</svg>", page)
    assert len(svgs) == 2
    for svg in svgs:
        assert ">hans-con</text>" in svg
    assert "<svg" not in write(document(shift("hans-sub", "hans-con")), "html")


@pytest.mark.more
def test_files_are_written(tmp_path, monkeypatch, rank_models):
    """Of each figure three."""
    monkeypatch.chdir(tmp_path)
    status, *_ = rank_models("shift", "hans-sub", "hans-con", "paws", "--quiet", "--plots", "plots")
    assert not status
    names = sorted(file.name for file in (tmp_path / "plots").iterdir())
    assert names == sorted(f"{name}.{end}" for name in ("heatmap", "overlap") for end in ("pdf", "png", "svg"))
