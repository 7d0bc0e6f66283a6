"""The HTML report in a real browser: headless Chromium, driven over a pipe by its DevTools protocol."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from test_report_formats import HOSTILE, toy, toy_decision

from ranker import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the PATH")

FIRST_COLUMN = "[...document.querySelector('table').tBodies[0].rows].map(row => row.cells[0].textContent)"


class Page:
    """One page of the browser.

    Attributes:
        events: everything the browser reported since a file was opened: {"method": ..., "params": ...}.
    """

    def __init__(self, to_browser, from_browser):
        self.to_browser, self.from_browser = to_browser, from_browser
        self.events, self.session, self.count = [], None, 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Ask the browser for something, and wait for its answer."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.to_browser.write(json.dumps(message).encode() + b"\0")
        self.to_browser.flush()
        while (got := self._read()).get("id") != self.count:
            self.events.append(got)
        assert "error" not in got, got
        return got["result"]

    def open(self, file):
        """Load a file, and wait until it is there."""
        self.events.clear()
        self.call("Page.navigate", url=file.as_uri())
        while not self.seen("Page.loadEventFired"):
            self.events.append(self._read())

    def ask(self, expression):
        """The value of a JavaScript expression."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def seen(self, *methods):
        """The events of these kinds, so far."""
        return [event["params"] for event in self.events if event.get("method") in methods]

    def _read(self):
        message = bytearray()
        while (byte := self.from_browser.read(1)) != b"\0":
            assert byte, "the browser is gone"
            message += byte
        return json.loads(message)


@contextmanager
def browser(folder) -> Iterator[Page]:
    """A browser with an empty profile; it gets the descriptors 3 and 4, as the protocol wants."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    options = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-pipe"
    command = f'exec "$0" {options} --user-data-dir="$1" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["bash", "-c", command, CHROMIUM, str(folder)],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        with os.fdopen(ours_out, "wb") as to_browser, os.fdopen(ours_in, "rb") as from_browser:
            yield Page(to_browser, from_browser)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page; what it reported is of the file that was opened last."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def load(page, tmp_path, ranking):
    """The ranking's report, opened in the page."""
    file = tmp_path / "report.html"
    file.write_text(report.render(ranking, "html"), encoding="utf-8")
    page.open(file)


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


def test_a_click_on_a_header_sorts(page, tmp_path):
    """Numbers by value, the greatest first, then the least; empty cells stay last; names by the alphabet."""
    load(page, tmp_path, toy())
    click = "document.querySelectorAll('table')[0].querySelectorAll('thead button')[{}].click()"
    page.ask(click.format(2))
    assert page.ask(FIRST_COLUMN) == ["INDEX-DIFF *", "CONF-GT", "ACC", "RANDOM"]
    page.ask(click.format(4))
    assert page.ask(FIRST_COLUMN) == ["INDEX-DIFF *", "CONF-GT", "RANDOM", "ACC"]
    page.ask(click.format(4))
    assert page.ask(FIRST_COLUMN) == ["RANDOM", "CONF-GT", "INDEX-DIFF *", "ACC"]
    page.ask(click.format(0))
    assert page.ask(FIRST_COLUMN) == ["ACC", "CONF-GT", "INDEX-DIFF *", "RANDOM"]
    assert page.ask("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "ascending"


@pytest.mark.parametrize("make", [toy, toy_decision])
def test_a_phone_is_wide_enough(make, page, tmp_path):
    """At 390 pixels the page does not scroll sideways; wide tables do so on their own."""
    page.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
    load(page, tmp_path, make(("a model of a rather long name " * 3, "x" * 80, "c")))
    width = page.ask("document.documentElement.scrollWidth")
    page.call("Emulation.clearDeviceMetricsOverride")
    assert width <= 390
