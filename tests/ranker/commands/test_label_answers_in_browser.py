"""The page of `rank-models label --votes` and `--marks` in a real browser."""

import csv
import json

import axe
import pytest
from chromium import CHROMIUM, browser
from test_label import kept
from test_label_answers import MODELS, NAMES, write_answers
from test_label_documents import NAMES as SYSTEMS
from test_label_documents import write_search
from test_label_in_browser import ROW, TITLE, press
from test_label_sets_in_label import MODELS as SETS_OF
from test_label_sets_in_label import SETS, write_sets
from test_label_web import Served

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the PATH")]

SHIFT = 8
"""Modifier of a key."""

ANSWERS = "[...document.querySelectorAll('.answer > div')].map(answer => answer.innerText)"
LONG = (
    "# Title\n\nA *word*, `code`, and:\n\n```py\nreturn 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    + "More words. " * 300
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A browser."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    """A pool, and what three models answer; long answers in Markdown to the odd rows."""
    write_answers(tmp_path)
    for name in NAMES:
        with (tmp_path / f"{name}.csv").open(newline="") as file:
            rows = [*csv.DictReader(file)]
        for number, row in enumerate(rows):
            row["answer"] = f"{row['answer']}\n\n{LONG * (number % 2)}"
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "answer"])
            writer.writeheader()
            writer.writerows(rows)
    return tmp_path


@pytest.fixture
def serve(folder):
    """Starts the program; none outlives its test."""
    begun = []

    def start(*flags, output="votes.csv"):
        kind = () if "--marks" in flags or "--votes" in flags else ("--votes",)
        begun.append(Served(folder, *kind, *flags, models=MODELS, output=output))
        return begun[-1]

    yield start
    for served in begun:
        served.close(kill=True)


def shown(chromium, served, width=1280):
    """A tab with the page, as wide as a phone or a screen."""
    page = chromium.tab()
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 400)
    page.call("Emulation.setTouchEmulationEnabled", enabled=width < 400)
    page.open(served.address)
    page.until(f"{ROW} !== ''")
    return page


def tap(page, key):
    """Touch the button with a key, as a finger does."""
    x, y = page.ask(
        f"(b => {{ b.scrollIntoView({{block: 'center'}}); const r = b.getBoundingClientRect();"
        f"return [r.x + r.width / 2, r.y + r.height / 2] }})(document.querySelector('#labels [data-key=\"{key}\"]'))"
    )
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def sent(page):
    """All that the program sent to a page."""
    replies = page.seen("Network.responseReceived")
    bodies = (page.call("Network.getResponseBody", requestId=reply["requestId"]) for reply in replies)
    return [body["body"] for body in bodies]


def people(folder, name="votes.csv"):
    """The lines of a file that a person answered."""
    return [row for row in kept(folder, name) if row["picked"] != "known"]


@pytest.mark.parametrize("way", ["keys", "touch"])
def test_twenty_votes(folder, chromium, serve, way):
    """By keys or by touch: what was seen is kept, and no model is named in anything that was sent before the end."""
    page = shown(chromium, serve("--budget", "24"), 1280 if way == "keys" else 320)
    pairs = []
    for number in range(20):
        key = "120"[number % 3]
        title = page.until(f"{TITLE}.startsWith('Vote') && {TITLE}") if number else ""
        before = len(people(folder))
        pairs.append([text.split("\n")[0] for text in page.ask(ANSWERS)])
        (press if way == "keys" else tap)(page, key)
        page.until(f"{TITLE} !== {title!r} && !document.body.hasAttribute('aria-busy')")
        assert len(people(folder)) == before + 1
        if page.ask("document.getElementById('asking').hidden"):
            break
    rows = people(folder)
    assert [row["winner"] for row in rows] == [["model_a", "model_b", "tie"][n % 3] for n in range(len(rows))]
    first_lines = [[row[f"answer_{side}"].split("\n")[0] for side in "ab"] for row in rows]
    assert first_lines == [[text.removeprefix("Answer 1\n") for text in pair] for pair in pairs]
    assert len(kept(folder, "votes.csv")) >= len(rows) >= 18
    if not page.ask("document.getElementById('asking').hidden"):
        assert not [name for name in NAMES for body in sent(page) if name in body]


def test_nothing_is_lost_by_a_kill_after_each_vote(folder, chromium, serve):
    """The program is killed twenty times; the file has all votes that were accepted, and the next row waits."""
    for number in range(20):
        served = serve()
        page = shown(chromium, served)
        before, texts = people(folder) if number else [], page.ask(ANSWERS)
        press(page, "12"[number % 2])
        page.until(f"{TITLE}.startsWith('Vote')")
        served.close(kill=True)
        rows = people(folder)
        assert rows[: len(before)] == before
        assert len(rows) == len(before) + 1
        assert texts[0].split("\n")[0] == rows[-1]["answer_a"].split("\n")[0]


def test_two_tabs_answer_once(folder, chromium, serve):
    """The second vote of a tab that is behind is refused, and it shows the next row."""
    served = serve()
    page, second_page = shown(chromium, served), shown(chromium, served)
    assert page.ask(ANSWERS) == second_page.ask(ANSWERS)
    press(page, "1")
    page.until(f"{TITLE}.startsWith('Vote')")
    press(second_page, "2")
    second_page.until("document.getElementById('message').textContent.startsWith('too late')")
    assert second_page.ask(ANSWERS) == page.ask(ANSWERS)
    assert [row["winner"] for row in people(folder)] == ["model_a"]


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("kind", ["votes", "marks"])
def test_axe_finds_no_serious_fault(folder, chromium, serve, kind, width):
    """Of short and long answers, with differences marked, and at the end; nothing is wider than the screen."""
    page = shown(chromium, serve(f"--{kind}", "--budget", "6", output="file.csv"), width)
    for _ in range(8):
        assert axe.faults(page) == []
        assert page.ask("document.documentElement.scrollWidth") <= width
        assert page.ask("document.querySelectorAll('#labels button').length") == {"votes": 3, "marks": 5}[kind]
        if kind == "votes":
            click_box(page, "differences")
            page.until("document.querySelectorAll('.answer mark').length > 0")
            assert axe.faults(page) == []
            click_box(page, "differences")
        title = page.ask("document.getElementById('row-title').textContent")
        press(page, "1")
        over = "document.getElementById('asking').hidden"
        page.until(f"document.getElementById('row-title').textContent !== {title!r} || {over}")
        if page.ask(over):
            break
    assert page.ask(TITLE).startswith("The budget is spent. ")
    assert axe.faults(page) == []
    assert all(name in page.ask("document.body.innerText") for name in NAMES)


def click_box(page, name):
    """Click a box, and wait until the page has done what it says."""
    page.ask(f"document.getElementById('{name}').click()")
    page.until("!document.body.hasAttribute('aria-busy')")


def test_answers_are_read_side_by_side(folder, chromium, serve):
    """Beside each other on a screen, below on a phone; Markdown is built, or as written; they scroll together."""
    served = serve()
    page = shown(chromium, served)
    boxes = "[...document.querySelectorAll('.answer')].map(a => a.getBoundingClientRect()).map(r => [r.x, r.y])"
    while page.ask("document.querySelectorAll('.answer pre').length") < 2:  # until a row with long answers
        title = page.ask("document.getElementById('row-title').textContent")
        press(page, "1")
        page.until(f"document.getElementById('row-title').textContent !== {title!r}")
    (left, top), (right, beside) = page.ask(boxes)
    assert left < right
    assert top == beside
    assert page.ask("document.querySelectorAll('.answer table, .answer pre, .answer em').length") >= 6
    page.ask("document.querySelector('.answer > div').focus()")
    page.ask("document.querySelector('.answer > div').scrollTop = 200")
    page.until("document.querySelectorAll('.answer > div')[1].scrollTop > 100")
    click_box(page, "written")
    assert "# Title" in page.ask(ANSWERS)[0]
    page.call("Emulation.setDeviceMetricsOverride", width=320, height=800, deviceScaleFactor=1, mobile=True)
    (left, top), (right, beside) = page.ask(boxes)
    assert left == right
    assert top < beside


@pytest.mark.parametrize("width", [320, 1280])
def test_documents_are_graded_by_keys(tmp_path, chromium, width):
    """Document by document, a reload and an undo between; the file has what was seen; no fault at both widths."""
    write_search(tmp_path)
    served = Served(
        tmp_path, "--task", "ranking", "--documents", "corpus.jsonl", pool="queries.jsonl",
        models=[f"{name}.run" for name in SYSTEMS], output="grades.csv",
    )  # fmt: skip
    try:
        page = shown(chromium, served, width)
        heading = "document.querySelector('.answer h3').innerText"
        count, graded = int(page.ask(heading).split()[-1]), {}
        for number in range(count):
            page.until(f"{heading} === 'Document {number + 1} of {count}' && !document.body.hasAttribute('aria-busy')")
            name = page.ask(ANSWERS)[0].split("\n")[0].removeprefix("On ")
            graded[name] = number % 4
            if number == 2:
                press(page, "3")
                page.until(f"{heading} === 'Document {number + 2} of {count}'")
                press(page, "u")
                page.until(f"{heading} === 'Document {number + 1} of {count}'")
                page = shown(chromium, served, width)  # the other tab stays behind
                page.until(f"{heading} === 'Document {number + 1} of {count}'")
                assert axe.faults(page) == []
            press(page, str(number % 4))
        page.until(f"{TITLE} === 'Query 2' || !document.getElementById('end').hidden")
        assert json.loads(kept(tmp_path, "grades.csv")[0]["label"]) == graded
        assert not [name for name in SYSTEMS for body in sent(page) if f"{name}.run" in body]
    finally:
        served.close(kill=True)


@pytest.mark.parametrize("width", [320, 1280])
def test_boxes_are_ticked_by_keys_and_clicks(tmp_path, chromium, width):
    """Ticked, unticked and saved; the next row has no tick; no fault at both widths."""
    write_sets(tmp_path)
    served = Served(tmp_path, *SETS, models=SETS_OF, output="labels.csv")
    ticked = "[...document.querySelectorAll('#ticks :checked')].map(box => box.value)"
    try:
        page = shown(chromium, served, width)
        for key in "1322":
            press(page, key)
        assert page.until(f"({ticked}).length === 2 && {ticked}") == ["anger", "love"]
        page.ask("document.querySelectorAll('#ticks label')[3].click()")
        assert page.ask(ticked) == ["anger", "love", "sadness"]
        assert axe.faults(page) == []
        press(page, "t")
        page.until(f"{TITLE} === 'Row 2'")
        assert page.ask(ticked) == []
        assert [row["label"] for row in kept(tmp_path, "labels.csv")] == ['["anger", "love", "sadness"]']
    finally:
        served.close(kill=True)


@pytest.mark.parametrize("width", [320, 1280])
def test_spans_are_marked_by_mouse_and_keys(tmp_path, chromium, width):
    """Words are selected by a drag, clicks and arrows; a type marks them; no fault at both widths."""
    (tmp_path / "pool.csv").write_text("id,text\n" + "".join(f"{n},Ann saw New York and Bob {n}\n" for n in range(20)))
    for name, tags in (("one", "B-PER O B-LOC I-LOC O B-PER O"), ("two", "O O B-LOC I-LOC O O O")):
        (tmp_path / f"{name}.csv").write_text("id,prediction\n" + "".join(f"{n},{tags}\n" for n in range(20)))
    served = Served(tmp_path, "--task", "tags", models=["one.csv", "two.csv"], output="labels.csv")
    words = "[...document.getElementById('tokens').children]"
    selected = f"{words}.filter(word => word.ariaSelected === 'true').map(word => word.innerText)"
    try:
        page = shown(chromium, served, width)
        page.ask(
            f"(words => {{ const range = document.createRange(); range.setStart(words[2].firstChild, 1);"
            f"range.setEnd(words[3].firstChild, 2); getSelection().removeAllRanges(); getSelection().addRange(range)"
            f"}})({words})"
        )
        page.until(f"({selected}).join(' ') === 'New York'")
        press(page, "1")  # LOC
        assert page.ask(f"{words}.map(word => word.innerText.replace(/\\s+/, ' '))")[3] == "York LOC"
        page.ask(f"{words}[0].click()")
        press(page, "2")  # PER
        for key, modifiers in (("End", 0), ("ArrowLeft", 0), ("ArrowLeft", 0), ("ArrowRight", SHIFT)):
            page.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers)
        assert page.until(f"({selected}).length === 2 && {selected}") == ["and", "Bob"]
        assert axe.faults(page) == []
        press(page, "2")
        page.ask(f"{words}[4].click()")
        page.call("Input.dispatchKeyEvent", type="keyDown", key="Delete")
        page.ask(f"{words}[6].click()")
        page.ask("document.getElementById('another').focus()")
        page.call("Input.insertText", text="AGE")
        page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter")
        page.until("document.querySelectorAll('#types button').length === 3")
        page.ask("document.activeElement.click()")
        press(page, "t")
        page.until(f"{TITLE} === 'Row 2'")
        assert page.ask(selected) == []
        assert [row["label"] for row in kept(tmp_path, "labels.csv")] == ["B-PER O B-LOC I-LOC O B-PER B-AGE"]
    finally:
        served.close(kill=True)
