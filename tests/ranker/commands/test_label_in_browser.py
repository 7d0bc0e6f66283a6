"""The page of `rank-models label --web` in a real browser."""

import csv
import http.server
import json
import signal
import threading

import axe
import pytest
from chromium import CHROMIUM, browser
from test_label import kept, plain, pool_folder  # noqa: F401  (a fixture)
from test_label_texts import MODELS, TEXT, write_texts
from test_label_web import Served, timeless

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the PATH")]

ROW = "document.getElementById('segments').innerText"
TITLE = "document.activeElement.textContent"
BOX = "document.getElementById('writing-text')"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A tab; a name of another machine leads to this one, as the server of a hostile name can have it."""
    with browser(tmp_path_factory.mktemp("profile"), "--host-resolver-rules=MAP rebind.example 127.0.0.1") as opened:
        yield opened


@pytest.fixture
def serve(folder):
    """Starts the program; none outlives its test."""
    begun = []

    def start(*flags, **options):
        begun.append(Served(folder, *flags, **options))
        return begun[-1]

    yield start
    for served in begun:
        served.close(kill=True)


def press(page, key):
    """Press a key, as a keyboard does."""
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" else "")


def write(page, text):
    """Type a text with a keyboard: each sign is a key that is pressed."""
    for sign in text:
        press(page, sign)


def click(page, name):
    """Click into the middle of the button with a text, as a mouse does."""
    button = f"[...document.querySelectorAll('button')].find(b => b.textContent.endsWith({json.dumps(name)}))"
    x, y = page.ask(f"(b => {{ b.scrollIntoView({{block: 'center'}}); const r = b.getBoundingClientRect();"
                    f"return [r.x + r.width / 2, r.y + r.height / 2] }})({button})")  # fmt: skip
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def wait_for_row(page, number):
    """Wait until a row is asked, and the focus is on its title."""
    page.until(f"{TITLE} === 'Row {number}'")


def reload(page):
    """Load the page again."""
    page.ask("window.before = true")
    page.call("Page.reload")
    page.until(
        "!window.before && document.readyState === 'complete' && document.getElementById('row-title')?.textContent"
    )


def test_fifteen_rows_by_clicks_and_keys_make_the_file_of_the_terminal(folder, chromium, serve):
    """With undo, a reload, the back button, a second tab, and a program that is killed and started again."""
    served = serve("--budget", "15")
    page = chromium.tab()
    page.open(served.address)
    page.until(f"{ROW} !== ''")
    entries = ["1", "2", "0", "s", "1", "u", "2", "1", "v", "2", "2", "1", "1", "2", "1", "2", "1"]
    names = {"1": "bad", "2": "good", "0": "Cannot tell", "s": "Skip for now", "u": "Undo"}
    count = 0
    for number, key in enumerate(entries):
        if key == "v":
            click(page, "What the models said of the last row")
            page.until(f"{TITLE} === 'What the models said of the last row'")
            assert "gamma: " in page.ask("document.getElementById('predictions').innerText")
            continue
        if entries[number - 1] == "v":
            page.ask("document.querySelectorAll('#changes button')[1].click()")
            page.until("document.getElementById('last-answer').textContent.endsWith('now: good')")
            continue
        if key == "u":  # which works after a look at the leader
            click(page, "Which model leads")
            page.until("document.getElementById('leaders').children.length === 3")
        press(page, key) if number % 2 else click(page, names[key])
        count += -1 if key == "u" else 1
        wait_for_row(page, count + 1)
        assert len(kept(folder)) == count
        if number == 3:
            before = page.ask(ROW)
            reload(page)
            assert page.ask(ROW) == before
            page.open("about:blank")
            page.ask("history.back()")
            page.until(f"document.getElementById('row-title')?.textContent && {ROW} === {json.dumps(before)}")
        if number == 7:
            other_tab = chromium.tab()
            other_tab.open(served.address)
            other_tab.until(f"{ROW} === {json.dumps(page.ask(ROW))}")
        if number == 10:  # the other tab is three changes behind
            press(other_tab, "2")
            other_tab.until("document.getElementById('message').textContent.startsWith('too late')")
            assert other_tab.ask(ROW) == page.ask(ROW)
            assert len(kept(folder)) == count
        if number == 12:
            before = page.ask(ROW)
            served.close(kill=True)
            press(page, "1")
            page.until("document.getElementById('message').textContent.includes('does not answer')")
            assert len(kept(folder)) == count
            served = serve("--budget", "15")
            page.open(served.address)
            page.until(f"{ROW} === {json.dumps(before)}")
    remaining = 0
    while len([row for row in kept(folder) if row["label"]]) < 15:
        press(page, "1")
        remaining, count = remaining + 1, count + 1
        page.until(f"{TITLE} === 'Row {count + 1}' || {TITLE}.startsWith('The budget is spent. ')")
    assert "budget of 15 answers is spent" in page.ask("document.body.innerText")
    click(page, "Close the session")
    page.until(f"{TITLE} === 'The session is closed'")
    assert served.close()[0] == 0
    status, _, err = plain(folder, [*entries, *("1" * remaining)], "--budget", "15", output="terminal.csv")
    assert (status, err) == (0, "")
    assert timeless(folder) == timeless(folder, "terminal.csv")


def test_keys_can_be_switched_off(folder, chromium, serve):
    """Then no key answers, and a button that has the focus still does; a key that is held answers once."""
    page = chromium.tab()
    page.open(serve().address)
    page.until(f"{ROW} !== ''")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="1", text="1")
    wait_for_row(page, 2)
    for _ in range(5):
        page.call("Input.dispatchKeyEvent", type="keyDown", key="1", text="1", autoRepeat=True)
    page.call("Input.dispatchKeyEvent", type="keyUp", key="1")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="1", text="1", modifiers=2)
    page.ask("document.getElementById('keys').click()")
    press(page, "1")
    assert page.ask("document.querySelectorAll('kbd').length") == 0
    reload(page)
    assert len(kept(folder)) == 1
    page.ask("document.querySelector('#labels button').focus()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
    wait_for_row(page, 2 + 1)
    assert len(kept(folder)) == 2


class Evil(http.server.BaseHTTPRequestHandler):
    """A page of another origin."""

    def do_GET(self):
        """Serve an empty page."""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>other</title><iframe name=frame></iframe>")

    def log_message(self, *_):
        """Say nothing."""


def test_a_page_of_another_origin_reads_and_writes_nothing(folder, chromium, serve):
    """Not by fetch, with the token or without, by a form, in a frame, or under a name that resolves to this machine."""
    served = serve()
    root, token = served.address.split("/#")
    page = chromium.tab()
    page.open(served.address)
    page.until(f"{ROW} !== ''")
    press(page, "1")
    wait_for_row(page, 2)
    before = (folder / "labels.csv").read_bytes()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        for host in ("127.0.0.1", "localhost"):
            other_tab = chromium.tab()
            other_tab.open(f"http://{host}:{evil.server_port}/")
            change = json.dumps({"step": 1, "action": "answer", "label": "good"})
            authorized = {"authorization": f"Bearer {token}", "content-type": "application/json"}
            for path, options in (
                ("/state", {}),
                ("/state", {"headers": authorized}),
                ("/state", {"mode": "no-cors"}),
                ("/change", {"method": "POST", "body": change, "mode": "no-cors"}),
                ("/change", {"method": "POST", "body": change, "headers": authorized}),
                ("/report", {"method": "POST", "body": f"token={token}", "mode": "no-cors"}),
            ):
                text = f"fetch({json.dumps(root + path)}, {json.dumps(options)}).then(r => r.text()).catch(() => '')"
                assert other_tab.ask(text) == ""
            name = change[:-1] + ', "a": "'  # a form's way to send JSON
            for path in ("/change", "/report"):
                other_tab.ask(f"document.body.insertAdjacentHTML('beforeend', `<form method=post target=frame "
                          f"enctype='text/plain' action='{root}{path}'><input name='{name}' value='\"}}'></form>`),"
                          "document.forms[document.forms.length - 1].submit()")  # fmt: skip
            other_tab.ask(f"frames[0].location = {json.dumps(served.address)}")
            other_tab.until("(() => { try { return frames[0].document === null } catch { return true } })()")
            assert other_tab.ask("frames[0].length") == 0
        evil.shutdown()
    port = root.rsplit(":", 1)[1]
    rebound = chromium.tab()
    rebound.open(f"http://rebind.example:{port}/#{token}")
    assert rebound.ask("document.body.innerText") == "this server has no such name"
    text = f"fetch('/state', {{headers: {{authorization: 'Bearer {token}'}}}}).then(r => r.text()).catch(() => '')"
    assert rebound.ask(text) == ""
    assert (folder / "labels.csv").read_bytes() == before
    press(page, "2")
    wait_for_row(page, 3)


def test_hostile_rows_are_text(folder, chromium, serve):
    """Scripts, terminal codes, bidi marks and a megabyte are shown; nothing runs, loads or scrolls sideways."""
    hostile = "<img src=x onerror=canary()><script>canary()</script>\x1b[31m\u202e{{ 7 * 7 }}' onclick='canary()"
    rows = [{"id": f"r{n}", "text": f"{n} {hostile if n % 2 else 'x' * 1_000_000}"} for n in range(40)]
    (folder / "pool.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "limits.toml").write_text("[limits]\ncell = 2_000_000\nline = 4_000_000\n")
    page = chromium.tab()
    page.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
    page.open(serve("--config", "limits.toml", pool="pool.jsonl").address)
    lengths, count = set(), 1
    while len(lengths) < 2:
        text = page.until("document.querySelector('#segments p')?.textContent")
        page.ask("window.canary = () => { window.ran = true }")
        if len(text) < 1_000:
            assert text.split(" ", 1)[1] == hostile.replace("\x1b", "\\u001b").replace("\u202e", "\\u202e")
        else:
            assert page.ask("document.querySelector('#segments p').tabIndex") == 0
        assert page.ask("document.documentElement.scrollWidth") <= 320
        lengths.add(len(text) > 1_000)
        press(page, "1")
        count += 1
        wait_for_row(page, count)
    assert page.ask("window.ran") is None
    requests = [event["request"]["url"] for event in page.seen("Network.requestWillBeSent")]
    paths = {url.split("/", 3)[3].split("#")[0] for url in requests if url.startswith("http")}
    assert paths == {"", "state", "change"}
    wrong = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")
    assert page.seen(*wrong) == []


def test_it_can_be_used_with_fingers_and_by_screen_readers(folder, chromium, serve):
    """Buttons have 44 pixels and names; the row's title takes the focus, and what changes is announced."""
    with (folder / "pool.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "text"), *((f"r{n}", f"שורה {n} " * 900) for n in range(40))])
    page = chromium.tab()
    page.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
    page.open(serve().address)
    page.until(f"{ROW} !== ''")
    press(page, "1")
    wait_for_row(page, 2)
    press(page, "v")
    page.until(f"{TITLE} === 'What the models said of the last row'")
    sizes = page.ask("[...document.querySelectorAll('button, summary')].filter(b => b.getClientRects().length)"
                     ".map(b => b.getBoundingClientRect()).map(r => [r.width, r.height])")  # fmt: skip
    assert len(sizes) >= 8
    assert all(width >= 44 and height >= 44 for width, height in sizes)
    assert page.ask("document.documentElement.scrollWidth") <= 320
    assert page.ask("getComputedStyle(document.querySelector('#segments p')).direction") == "rtl"
    nodes = [node for node in page.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    names = {node["name"]["value"] for node in nodes if node["role"]["value"] == "button"}
    assert {"bad", "good", "Cannot tell", "Skip for now", "Undo"} <= names
    live = {node["role"]["value"] for node in nodes for attribute in node.get("properties", ())
            if attribute["name"] == "live" and attribute["value"]["value"] in ("polite", "assertive")}  # fmt: skip
    assert {"alert", "paragraph", "status"} <= live


def test_ctrl_c_is_said_on_the_page(folder, chromium, serve):
    """The page says that the program has stopped, and that nothing is lost."""
    served = serve()
    page = chromium.tab()
    page.open(served.address)
    page.until(f"{ROW} !== ''")
    press(page, "1")
    wait_for_row(page, 2)
    served.process.send_signal(signal.SIGINT)
    assert served.close()[0] == 130
    press(page, "2")
    page.until("document.getElementById('message').textContent.includes('all answers that you saw accepted are saved')")
    assert len(kept(folder)) == 1


def test_the_report_opens_in_a_tab_of_its_own(folder, chromium, serve):
    """By the form of the last screen, with no token in its address."""
    page = chromium.tab()
    page.open(serve("--budget", "2").address)
    page.until(f"{ROW} !== ''")
    press(page, "1")
    wait_for_row(page, 2)
    press(page, "2")
    page.until(f"{TITLE}.startsWith('The budget is spent. ')")
    page.ask("document.getElementById('report').target = '_self'")
    click(page, "Open the report")
    page.until("document.title.startsWith('models on labels')")
    assert page.ask("location.pathname + location.search + location.hash") == "/report"
    assert page.ask("document.querySelectorAll('table').length") > 0


def test_texts_are_typed_by_keyboard_alone(folder, chromium, serve):
    """No sign in the box is a key of the page; what is typed is kept, in lines, and the file is the terminal's."""
    write_texts(folder)
    served = serve(*TEXT, models=MODELS)
    page = chromium.tab()
    page.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
    page.open(served.address)
    page.until(f"{ROW} !== ''")
    first = page.ask(ROW)
    press(page, "t")
    assert page.ask(f"document.activeElement === {BOX}")
    write(page, "su0vn1tg")
    page.call("Input.insertText", text="\nשורה two")
    page.until("!document.body.hasAttribute('aria-busy')")
    assert (page.ask(ROW), kept(folder)) == (first, [])
    page.ask("document.dispatchEvent(new Event('visibilitychange'))")  # the page asks again, and the text stays
    page.until("!document.body.hasAttribute('aria-busy')")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", modifiers=2)
    wait_for_row(page, 2)
    assert page.ask(f"{BOX}.value") == ""
    press(page, "t")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", modifiers=2)
    page.until("document.getElementById('message').textContent === 'a row needs a reference'")
    write(page, "a hill")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert page.ask(TITLE) == "Row 2"
    assert page.ask(f"{BOX}.value") == "a hill"
    page.call("Page.reload")  # the browser asks before the text is lost
    page.until_seen("Page.javascriptDialogOpening")
    page.call("Page.handleJavaScriptDialog", accept=False)
    assert page.ask(f"{BOX}.value") == "a hill"
    click(page, "Save the answer")
    wait_for_row(page, 3)
    press(page, "v")
    page.until(f"{TITLE} === 'What the models said of the last row'")
    page.ask("document.getElementById('rewriting-text').focus()")
    write(page, "the hill")
    click(page, "Save your answer now")
    page.until("document.getElementById('last-answer').textContent === 'Your answer: a hill; now: the hill'")
    press(page, "s")
    wait_for_row(page, 4)
    press(page, "u")
    wait_for_row(page, 3)
    press(page, "0")
    wait_for_row(page, 4)
    assert page.ask("document.documentElement.scrollWidth") <= 320
    served.process.send_signal(signal.SIGINT)
    assert served.close()[0] == 130
    answers = [row["label"] for row in kept(folder)]
    assert answers == ["su0vn1tg\nשורה two", "a hill", ""]
    keys = ["t", "LINES", "t", "a hill", "v", "t", "the hill", "s", "u", "0", "q"]
    status, _, err = plain(folder, keys, *TEXT, models=MODELS, output="terminal.csv")
    assert (status, err) == (0, "")
    rows, header = timeless(folder, "terminal.csv")
    rows[0]["label"] = answers[0]  # a line of a terminal has no line ends
    assert timeless(folder) == (rows, header)


def test_a_part_of_a_passage_is_taken_by_selecting_it(folder, chromium, serve):
    """A selection with the mouse goes into the box; what is no part of the row is refused."""
    with (folder / "pool.csv").open("w", newline="") as file:
        rows = ((n, "Who sat?", f"The old dog sat on hill {n}.") for n in range(30))
        csv.writer(file).writerows([("id", "question", "passage"), *rows])
    for name, words in (("one", "dog"), ("two", "hill")):
        lines = (f"{n},{words if n % 3 else 'The old'}\n" for n in range(30))
        (folder / f"{name}.csv").write_text("id,prediction\n" + "".join(lines))
    page = chromium.tab()
    page.open(serve("--task", "spans", models=("one.csv", "two.csv")).address)
    page.until(f"{ROW} !== ''")
    left, right, y = page.ask("""(() => {
        const text = document.querySelectorAll('#segments p')[1].firstChild;
        const range = document.createRange();
        range.setStart(text, 4);
        range.setEnd(text, 11);
        const place = range.getBoundingClientRect();
        return [place.left, place.right, place.top + place.height / 2];
    })()""")
    for kind, x in (("mousePressed", left + 1), ("mouseMoved", right), ("mouseReleased", right)):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
    click(page, "Take the selected words")
    assert page.ask(f"{BOX}.value") == "old dog"
    click(page, "Save the answer")
    wait_for_row(page, 2)
    press(page, "t")
    write(page, "a cow")
    click(page, "Save the answer")
    page.until("document.getElementById('message').textContent.includes('must be a part of its passage')")
    assert [row["label"] for row in kept(folder)] == ["old dog"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["labels", "texts"])
def test_axe_finds_no_serious_fault(folder, chromium, serve, kind, scheme):
    """In no state of the page: a row is asked, predictions are shown, something is wrong, the end, after it."""
    flags, models = ((), {}) if kind == "labels" else (TEXT, {"models": MODELS})
    if models:
        write_texts(folder)
    served = serve("--budget", "2", *flags, **models)
    page = chromium.tab()
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def answer(number):
        if kind == "texts":
            press(page, "t")
            write(page, "a dog")
            click(page, "Save the answer")
        else:
            press(page, "1")
        page.until(f"{TITLE}.startsWith('{number}')")

    def check(state):
        assert axe.faults(page) == [], state

    page.open(served.address)
    page.until(f"{ROW} !== ''")
    check("asking")
    answer("Row 2")
    press(page, "v")
    page.until(f"{TITLE} === 'What the models said of the last row'")
    for opened in ("Help", "Guidelines"):
        page.ask(f"[...document.querySelectorAll('summary')].find(s => s.textContent === '{opened}').click()")
    page.ask("document.getElementById('message').textContent = 'Something is wrong.'")
    check("predictions")
    answer("The budget is spent")
    check("the end")
    click(page, "Close the session")
    page.until(f"{TITLE} === 'The session is closed'")
    check("closed")
