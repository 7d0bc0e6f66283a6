"""Headless Chromium, driven over a pipe by its DevTools protocol."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """One page of the browser; `events` is all that the browser reported since a file was opened."""

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

    def tab(self):
        """Another tab of the same browser."""
        return Page(self.to_browser, self.from_browser)

    def open(self, url):
        """Load a page, and wait until it is there."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.until_seen("Page.loadEventFired")

    def ask(self, expression):
        """The value of a JavaScript expression, or of what it promises."""
        options = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        return self.call("Runtime.evaluate", **options)["result"].get("value")

    def until(self, expression, seconds=60):
        """Wait until an expression holds, and return its value."""
        end = time.monotonic() + seconds
        while not (value := self.ask(expression)):
            assert time.monotonic() < end, (expression, self.ask("document.body?.innerText"))
            time.sleep(0.05)
        return value

    def until_seen(self, method):
        """Wait until the browser has reported something of a kind."""
        while not self.seen(method):
            self.events.append(self._read())

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
def browser(folder, *flags) -> Iterator[Page]:
    """A browser with an empty profile, and more options; it gets the descriptors 3 and 4, as the protocol wants."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    options = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-pipe"
    command = f'exec "$0" {options} --user-data-dir="$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["bash", "-c", command, CHROMIUM, str(folder), *flags],
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
