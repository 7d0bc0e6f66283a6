"""The documentation site: zensical.toml, docs/make_site.py, and what a browser shows of build/site."""

import functools
import http.server
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import axe
import pytest
from chromium import CHROMIUM, browser

ROOT = Path(__file__).parents[1]
DOCS, SITE = ROOT / "docs", ROOT / "build" / "site"
CONFIG = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
ZENSICAL = Path(sys.executable).with_name("zensical")
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES += sorted(DOCS.rglob("*.md"))
LONGEST = 250
"""Lines of a page that is no reference and no result."""

needs_zensical = pytest.mark.skipif(not ZENSICAL.is_file(), reason="zensical is not installed")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the PATH")


def entries(nav):
    """Yield the files of a part of the navigation."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from entries([value] if isinstance(value, str) else value)


def part(name):
    """Return the files of one part of the navigation."""
    return {file for entry in CONFIG["nav"] if name in entry for file in entries(entry[name])}


def prose(page):
    """Return a page without its blocks."""
    return re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"(?m)^#+ (.*)", prose(page))]
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_in_the_navigation_once():
    """Each kind of page has some; two pages are made, and three files lie at the top."""
    listed = list(entries(CONFIG["nav"]))
    other_pages = {"gallery.md", "notebook.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    assert sorted(listed) == sorted({page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} | other_pages)
    assert all(part(kind) for kind in ("Tutorials", "How-to", "Reference", "Explanation", "Results"))


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.stem)
def test_no_page_is_long_but_results_and_reference(page):
    """Split a page by its reader's question, or cut what another page says."""
    name = page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).as_posix()
    if name != "CHANGELOG.md" and name not in part("Reference") | part("Results"):
        assert len(page.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_to_a_file_and_a_heading(page):
    """In the repository, too, where no build checks them."""
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose(page)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def built(folder, text):
    """Build a site of one page with the settings of the real one."""
    config = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    config = re.sub(r"(?ms)^nav = \[.*?^\]\n", "", config).replace('"build/pages"', '"pages"')
    config = config.replace('paths = ["."]', f'paths = ["{ROOT}"]').replace("docs/docstrings", f"{DOCS}/docstrings")
    (folder / "pages").mkdir()
    (folder / "zensical.toml").write_text(config, encoding="utf-8")
    (folder / "pages" / "index.md").write_text(text, encoding="utf-8")
    return subprocess.run([ZENSICAL, "build", "--strict"], cwd=folder, capture_output=True, text=True)


@needs_zensical
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("# A\n\n[a](#a)\n\n::: ranker.silent\n", False),
        ("# A\n\n[b](b.md)\n", True),
        ("# A\n\n[b](#b)\n", True),
        ("# A\n\n::: ranker.nothing\n", True),
        ("# A\n\n[b][ranker.nothing]\n", True),
    ],
    ids=["right", "page", "anchor", "name", "reference"],
)
def test_a_build_fails_where_something_is_missing(text, fails, tmp_path):
    """A page, a heading, a name of the package, or a reference to one."""
    assert bool(built(tmp_path, text).returncode) == fails


@pytest.fixture(scope="module")
def site():
    """The built site, served on this machine: its address."""
    if not ZENSICAL.is_file():
        pytest.skip("zensical is not installed")
    done = subprocess.run([sys.executable, DOCS / "make_site.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "griffe: " not in done.stdout + done.stderr
    handler = functools.partial(Quiet, directory=SITE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page of the browser."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.slow
def test_nothing_of_the_site_is_on_another_host(site):
    """No script, style, font or picture; only links that a reader may follow."""
    for file in SITE.rglob("*"):
        if file.suffix in (".html", ".css", ".svg"):
            text = file.read_text(encoding="utf-8")
            loaded = re.findall(
                r"<(?:script|img|link|iframe|source|image)\b[^>]*?(?:src|href)=[\"']?([^\"'\s>]+)", text
            )
            loaded += re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", text)
            assert not [address for address in loaded if re.match(r"(https?:)?//", address)], file


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "light"), (1280, "dark")])
def test_every_page_fits_the_screen_and_has_no_serious_fault(site, page, width, scheme):
    """Pages of the site and of the product: no sideways scroll, no error, no other host, nothing that axe finds."""
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 700)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.open(site + "index.html")
    page.ask("localStorage.clear()")  # it holds the scheme that was shown first
    page.open(site + "index.html")
    assert page.ask("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
    wrong = {}
    for file in sorted(SITE.rglob("*.html")):
        page.open(site + file.relative_to(SITE).as_posix())
        faults = [] if page.ask("document.documentElement.scrollWidth") <= width else ["wide"]
        faults += [f"exception {event}" for event in page.seen("Runtime.exceptionThrown", "Log.entryAdded")]
        requests = [event["request"]["url"] for event in page.seen("Network.requestWillBeSent")]
        faults += [url for url in requests if not url.startswith((site, "data:", "blob:"))]
        if faults := faults + axe.faults(page):
            wrong[file.name] = faults
    page.call("Emulation.setEmulatedMedia", features=[])
    assert wrong == {}


SEARCH = "[...document.querySelectorAll('div')].find(one => one.shadowRoot)?.shadowRoot"
"""Where the site's search lies, once it is open."""


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("mcnemar unpaired", "tables.html"),
        ("decide_within", "reference/questions.html"),
        ("surrogate", "surrogate.html"),
    ],
)
def test_search_finds_a_page_by_its_words(site, page, words, wanted):
    """A reader clicks, types words, and the page is among the hits; nothing is asked of another host."""
    page.open(site + "index.html")
    page.ask("document.querySelector('.md-search__button').click()")
    page.until(f"{SEARCH}?.activeElement?.tagName === 'INPUT'")
    page.call("Input.insertText", text=words)
    page.until(f"[...{SEARCH}.querySelectorAll('a')].some(hit => hit.href.includes({wanted!r}))")
