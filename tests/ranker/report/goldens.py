"""Reports that were read and kept: text byte for byte, pages by what a reader sees in them."""

import os
from html.parser import HTMLParser
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
REFRESH = "RANK_MODELS_REFRESH_GOLDEN"
"""Set it to write the golden files anew; then read the diff."""

BLOCKS = {
    **{f"h{level}": f"{'#' * level} " for level in range(1, 7)},
    "p": "",
    "li": "- ",
    "summary": "> ",
    "pre": "",
    "footer": "",
    "title": "title: ",
}
"""Tag -> what its line in an outline begins with."""


def check_golden(name, form, text):
    """Hold a report to the one that was kept; of a page its outline.

    Args:
        name: of the golden file, without an ending.
        form: the format.
        text: the report.
    """
    file, shown = FOLDER / f"{name}.{form}", (outline(text) if form == "html" else text).encode()
    if os.environ.get(REFRESH):
        file.write_bytes(shown)
    assert shown == file.read_bytes(), f"set {REFRESH}=1 to write it anew, and read the diff"


def outline(page):
    r"""What a reader sees in a page, from top to bottom: headings, paragraphs, remarks, cells, and a line a figure.

    Styles, scripts and what a figure is drawn of are no part of it.

    Example:
        >>> outline("<h2>A</h2><table><tr><th>x</th><td>1</td></tr></table><svg><title>T</title><path/></svg>")
        '## A\n| x | 1 |\n[figure: T]\n'
    """
    return "\n".join([*_Outline(page).lines, ""])


class _Outline(HTMLParser):
    """Collects the lines of a page.

    Attributes:
        lines: so far.
    """

    def __init__(self, page):
        super().__init__()
        self.lines, self.open, self.text = [], [], ""
        self.cells = []
        self.feed(page)
        self.close()

    def inside(self, *tags):
        """Whether one of these tags is open."""
        return not {*tags}.isdisjoint(self.open)

    def handle_starttag(self, tag, attributes):
        """Open a tag; a row begins without cells, a block without text."""
        if tag in ("meta", "path", "use", "br"):
            return
        self.open.append(tag)
        if tag == "tr":
            self.cells = []
        if tag in BLOCKS or tag in ("th", "td"):
            self.text = ""

    def handle_endtag(self, tag):
        """Write the line of a block or a row that ends."""
        if tag not in self.open:
            return
        while self.open.pop() != tag:
            pass
        said = " ".join(self.text.split())
        if self.inside("svg"):
            if tag == "title":
                self.lines.append(f"[figure: {said}]")
        elif tag in ("th", "td"):
            self.cells.append(said)
        elif tag == "tr":
            self.lines.append(f"| {' | '.join(self.cells)} |")
        elif tag == "pre":
            self.lines += self.text.splitlines()
        elif tag in BLOCKS:
            self.lines.append(f"{BLOCKS[tag]}{said}")

    def handle_data(self, data):
        """Add to the text of what is open; text that no reader sees is no part of it."""
        if not self.inside("style", "script"):
            self.text += data
