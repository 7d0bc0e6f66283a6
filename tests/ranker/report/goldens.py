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
    """Hold a report, or a page's outline, to the golden file of that name and format."""
    file, outlined = FOLDER / f"{name}.{form}", (outline(text) if form == "html" else text).encode()
    if os.environ.get(REFRESH):
        file.write_bytes(outlined)
    assert outlined == file.read_bytes(), f"set {REFRESH}=1 to write it anew, and read the diff"


def outline(page):
    r"""What a reader sees in a page, from top to bottom: headings, paragraphs, remarks, cells, and a line a figure.

    Styles, scripts and what a figure is drawn of are no part of it.

    Example:
        >>> outline("<h2>A</h2><table><tr><th>x</th><td>1</td></tr></table><svg><title>T</title><path/></svg>")
        '## A\n| x | 1 |\n[figure: T]\n'
    """
    return "\n".join([*_Outline(page).lines, ""])


class PageReader(HTMLParser):
    """Parser of a page that keeps its `tags`, the `rows` of every table, and the `texts` outside of tags."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.rows, self.texts, self.in_cell = [], [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        """Note the tag; a row's and a cell's begins an empty one."""
        self.tags.append((tag, dict(attributes)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag):
        """A cell ends."""
        if tag in ("td", "th"):
            self.in_cell = False

    def handle_data(self, text):
        """Add the text to the whole, and to the cell that is open."""
        self.texts.append(text)
        if self.in_cell:
            self.rows[-1][-1] += text

    @property
    def text(self):
        """All texts of the page."""
        return "".join(self.texts)


class _Outline(HTMLParser):
    """Collects the lines of a page."""

    def __init__(self, page):
        super().__init__()
        self.lines, self.open, self.text = [], [], ""
        self.cells = []
        self.feed(page)
        self.close()

    def inside(self, *tags):
        """Tell whether one of these tags is open."""
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
        text = " ".join(self.text.split())
        if self.inside("svg"):
            if tag == "title":
                self.lines.append(f"[figure: {text}]")
        elif tag in ("th", "td"):
            self.cells.append(text)
        elif tag == "tr":
            self.lines.append(f"| {' | '.join(self.cells)} |")
        elif tag == "pre":
            self.lines += self.text.splitlines()
        elif tag in BLOCKS:
            self.lines.append(f"{BLOCKS[tag]}{text}")

    def handle_data(self, text):
        """Add to the text of what is open; text that no reader sees is no part of it."""
        if not self.inside("style", "script"):
            self.text += text
