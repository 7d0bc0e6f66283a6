"""The HTML report in a real browser."""

import dataclasses
import re
from functools import partial

import axe
import pytest
from chromium import CHROMIUM, browser
from test_report_formats import HOSTILE, MODELS, crowd, toy, toy_decision, toy_parts, with_best, with_found

from ranker import report
from ranker.statistics.paired import PairedComparison

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the PATH")

FIRST_COLUMN = "[...document.querySelector('table').tBodies[0].rows].map(row => row.cells[0].textContent)"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page; what it reported is of the file that was opened last."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def load(page, tmp_path, ranking):
    """The ranking's report, opened in the page."""
    file = tmp_path / "report.html"
    file.write_text(report.render(ranking, "html"), encoding="utf-8")
    page.open(file.as_uri())


@pytest.mark.more
@pytest.mark.parametrize("make", [toy, toy_decision])
def test_nothing_runs_but_the_page_and_nothing_leaves_it(make, page, tmp_path):
    """With hostile names there is no console message, no error, no dialog, and one request: the file itself."""
    load(page, tmp_path, make(HOSTILE[:3]))
    names = page.ask(f"{FIRST_COLUMN}.length") and page.ask("document.body.textContent")
    assert all(name in names for name in HOSTILE[:3])
    assert page.ask("document.scripts.length") == 1
    wrong = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")
    assert page.seen(*wrong) == []
    requests = [event["request"]["url"] for event in page.seen("Network.requestWillBeSent")]
    assert requests == [(tmp_path / "report.html").as_uri()]


@pytest.mark.more
def test_a_click_on_a_header_sorts(page, tmp_path):
    """Numbers by value, the greatest first, then the least; names by the alphabet."""
    load(page, tmp_path, toy())
    click = "document.querySelectorAll('table')[0].querySelectorAll('thead button')[{}].click()"
    page.ask(click.format(2))
    assert page.ask(FIRST_COLUMN) == ["MAJORITY", "INDEX-DIFF *", "SURROGATE+LABEL", "CONF-GT", "ACC", "RANDOM"]
    page.ask(click.format(4))
    assert page.ask(FIRST_COLUMN) == ["MAJORITY", "INDEX-DIFF *", "SURROGATE+LABEL", "CONF-GT", "ACC", "RANDOM"]
    page.ask(click.format(4))
    assert page.ask(FIRST_COLUMN) == ["RANDOM", "ACC", "CONF-GT", "SURROGATE+LABEL", "INDEX-DIFF *", "MAJORITY"]
    page.ask(click.format(0))
    assert page.ask(FIRST_COLUMN) == ["ACC", "CONF-GT", "INDEX-DIFF *", "MAJORITY", "RANDOM", "SURROGATE+LABEL"]
    assert page.ask("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "ascending"


@pytest.mark.more
def test_empty_cells_stay_last(page, tmp_path):
    """Whichever end of the numbers is first."""
    large, base, lstm = toy().evaluation.models
    models = (large, dataclasses.replace(base, in_domain=None), dataclasses.replace(lstm, in_domain=0.5))
    load(page, tmp_path, with_found(toy(), models=models))
    table = "[...document.querySelectorAll('table')].find(t => t.textContent.includes('in-domain accuracy'))"
    cells = f"[...{table}.querySelectorAll('tbody tr')].map(row => row.cells[3].textContent)"
    for expected in (["95.0", "50.0", ""], ["50.0", "95.0", ""]):
        page.ask(f"{table}.querySelectorAll('thead button')[3].click()")
        assert page.ask(cells) == expected


def test_numbers_with_commas_are_sorted_by_value(page, tmp_path):
    """1,200 rows on which one did better are more than 40."""
    pairs = [
        PairedComparison("a", f"{n}", 0.2, 0.1, 0.0, 0.4, better, 1, 0.03, "mcnemar", 0.03, 0.2, 0.4, 20, None, 0.1)
        for n, better in enumerate((40, 1_200, 300))
    ]
    load(page, tmp_path, with_found(toy_decision(), versus=tuple(pairs)))
    table = "[...document.querySelectorAll('table')].find(t => t.textContent.includes('first better'))"
    cells = f"[...{table}.querySelectorAll('tbody tr')].map(row => row.cells[4].textContent)"
    for expected in (["1,200", "300", "40"], ["40", "300", "1,200"]):
        page.ask(f"{table}.querySelectorAll('thead button')[4].click()")
        assert page.ask(cells) == expected


def test_probabilities_near_certainty_are_sorted_as_what_they_are_near(page, tmp_path):
    """More than 99.9 is more than 60, and less than .1 the least."""
    load(page, tmp_path, with_best(toy_decision(), 0.6, 0.99999, 0.00001))
    table = "[...document.querySelectorAll('table')].find(t => t.textContent.includes('P(near best)'))"
    for expected in ([">99.9", "60.0", "<0.1"], ["<0.1", "60.0", ">99.9"]):
        page.ask(f"{table}.querySelectorAll('thead button')[2].click()")
        assert page.ask(f"[...{table}.querySelectorAll('tbody tr')].map(row => row.cells[2].textContent)") == expected


OUTSIDE = """
(() => {
  const wide = document.documentElement.clientWidth, beyond = (inner, outer) =>
    inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1);
  const text = (one) => { const range = document.createRange(); range.selectNodeContents(one); return range; };
  const all = (query) => [...document.querySelectorAll(query)];
  const named = (kind) => (one) => `${kind}: ${one.textContent.trim().slice(0, 40)}`;
  return [
    ...all("body *").filter(one => !one.parentElement.closest(".scroll"))
      .filter(one => beyond(one.getBoundingClientRect(), {left: 0, right: wide})).map(named("outside")),
    ...all("h1, h2, h3, h4, summary, th")
      .filter(one => beyond(text(one).getBoundingClientRect(), one.getBoundingClientRect())).map(named("clipped")),
    ...all("svg text").filter(one => beyond(one.getBoundingClientRect(), one.closest("svg").getBoundingClientRect()))
      .map(named("outside its figure")),
  ];
})()
"""
"""What is outside the screen, with tables that scroll on their own as a whole; headings and texts that are clipped."""

WIDTHS = [pytest.param(width, marks=() if width == 320 else pytest.mark.slow) for width in (320, 375, 768, 1024, 1280)]
"""Widths of screens, in pixels; the narrowest is checked each time."""


@pytest.fixture
def screen(page):
    """A function that sets the width of the page's screen, in pixels, until the test ends."""
    yield lambda width: page.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 700
    )
    page.call("Emulation.clearDeviceMetricsOverride")


@pytest.mark.more
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [toy, toy_decision])
@pytest.mark.parametrize(
    "names", [MODELS, ("a model of a rather long name " * 3, "x" * 80, "c")], ids=["short", "long"]
)
def test_nothing_is_clipped_or_outside_the_screen(make, names, width, page, screen, tmp_path):
    """The page never scrolls sideways, wide tables do on their own, and headings and figures show all of their text."""
    screen(width)
    load(page, tmp_path, make(names))
    assert page.ask(OUTSIDE) == []
    assert page.ask("document.documentElement.scrollWidth") <= width


def test_the_first_screen_says_the_answer_how_sure_it_is_and_what_to_do(page, screen, tmp_path):
    """On a phone it holds these, and no name of a method, no K and no list of groups."""
    screen(375)
    load(page, tmp_path, toy_decision())
    visible = "[...document.querySelectorAll('h1, h2, p, th, td')].filter(one => one.getBoundingClientRect().top < 800)"
    text = page.ask(f"{visible}.map(one => one.textContent).join(' ')")
    for part in ("Cannot say yet: bert_large leads", "Probability that no other model is better", "75.0 %", "Next: "):
        assert part in text
    assert not re.search(r"\bK\b|ACC\+TIES|; nor ", text)


def test_what_the_numbers_were_made_from_is_in_print(page, tmp_path):
    """On paper nothing can be unfolded: the provenance, closed on a screen, is open there."""
    load(page, tmp_path, toy())
    height = "document.querySelector('details.made').getBoundingClientRect().height"
    closed = page.ask(height)
    page.call("Emulation.setEmulatedMedia", media="print")
    printed = page.ask(height)
    page.call("Emulation.setEmulatedMedia", media="")
    assert closed < 50
    assert printed > 200


PAPER = 1032
"""Width of a landscape A4 sheet within the margins of the page, in CSS pixels."""


@pytest.mark.more
@pytest.mark.parametrize("make", [toy, toy_decision, partial(crowd, 60)])
def test_a_dark_page_is_printed_whole_in_black_on_white(make, page, screen, tmp_path):
    """Inks are those of the light page, and no table or figure is wider than the paper."""
    screen(PAPER)
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    load(page, tmp_path, make())
    inks = page.ask("(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))")
    wide = page.ask(
        "Math.max(...[...document.querySelectorAll('table, svg')].map(one => one.getBoundingClientRect().right))"
    )
    page.call("Emulation.setEmulatedMedia", media="", features=[])
    assert inks == ["rgb(22, 25, 29)", "rgb(255, 255, 255)"]
    assert wide <= PAPER


@pytest.mark.more
def test_a_table_is_sorted_by_keys(page, tmp_path):
    """Tab reaches the header of a column, which shows that it has the focus, and Enter sorts by it."""
    load(page, tmp_path, toy())
    key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
    for _ in range(4):  # the table, then the headers of three columns
        page.call("Input.dispatchKeyEvent", type="keyDown", **key)
        page.call("Input.dispatchKeyEvent", type="keyUp", **key)
    assert page.ask("document.activeElement.textContent") == "pairwise accuracy"
    assert page.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    page.call("Input.dispatchKeyEvent", type="keyDown", **key)
    page.call("Input.dispatchKeyEvent", type="keyUp", **key)
    assert page.ask("document.querySelector('[aria-sort]').textContent") == "pairwise accuracy"
    assert page.ask(FIRST_COLUMN)[0] == "MAJORITY"


@pytest.mark.more
def test_figures_and_examples_can_be_read_by_a_screen_reader(page, tmp_path):
    """Every drawing is an image with a name and a description; every table that scrolls can be reached by keyboard."""
    load(page, tmp_path, toy())
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    images = [node for node in tree if node["role"]["value"] in ("image", "img") and not node["ignored"]]
    names = [node["name"]["value"] for node in images]
    for title in ("Learning curve", "Accuracies of the pairs", "Each pair of models: a method against ACC"):
        assert any(name.startswith(title) and len(name) > len(title) for name in names), names
    assert page.ask("[...document.querySelectorAll('.scroll')].every(one => one.tabIndex === 0 && one.ariaLabel)")


def test_figures_take_the_inks_of_the_page(page, tmp_path):
    """In the dark, the axes are as light as the text, and the text of a figure is text."""
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    load(page, tmp_path, toy())
    ink = page.ask("getComputedStyle(document.body).color")
    assert ink == "rgb(232, 234, 238)"
    assert page.ask("[...document.querySelectorAll('svg text')].every(text => getComputedStyle(text).fill === "
                    f"'{ink}' || text.textContent === 'P(best)')")  # fmt: skip
    page.call("Emulation.setEmulatedMedia", features=[])
    assert "INDEX-DIFF" in page.ask("document.querySelector('svg').textContent")


@pytest.mark.more
def test_cells_of_the_heatmap_carry_their_numbers(page, tmp_path):
    """A colour never stands alone: every coloured cell has its number as text, and every coloured word its score."""
    load(page, tmp_path, toy())
    cells = page.ask(
        "[...document.querySelectorAll('td')].filter(cell => /(^| )h[0-9]/.test(cell.className))"
        ".map(cell => cell.textContent)"
    )
    assert len(cells) == 18
    assert all(float(cell) >= 0 for cell in cells)
    assert page.ask("[...document.querySelectorAll('.word[title]')].every(word => word.title.length > 0)")


@pytest.mark.more
def test_text_on_the_strongest_colours_can_be_read(page, tmp_path):
    """In light and in dark, words on the full colour of either side have a contrast of 4.5 or more."""
    for scheme in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        load(page, tmp_path, toy())
        style = "getComputedStyle(document.documentElement).getPropertyValue('--{}').trim()"
        paper, ink = ([int(v) for v in page.ask(f"getComputedStyle(document.body).{key}")[4:-1].split(",")]
                      for key in ("backgroundColor", "color"))  # fmt: skip
        for side in ("for", "against"):
            colour = [int(part) for part in page.ask(style.format(side)).split()]
            mixed = [0.65 * a + 0.35 * b for a, b in zip(colour, paper, strict=True)]
            assert contrast(ink, mixed) >= 4.5, (scheme, side)
    page.call("Emulation.setEmulatedMedia", features=[])


def contrast(first, second):
    """The contrast of two colours as the Web Content Accessibility Guidelines 2.1 define it."""

    def luminance(colour):
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("make", [toy, toy_decision, toy_parts, partial(crowd, 60)])
def test_axe_finds_no_serious_fault(make, scheme, page, tmp_path):
    """Contrast, names, order of headings and the like, on reports with every kind of table and figure."""
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    load(page, tmp_path, make())
    faults = axe.faults(page)
    page.call("Emulation.setEmulatedMedia", features=[])
    assert faults == []
