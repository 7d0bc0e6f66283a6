"""The pictures of the README, made by the product itself: ``make pictures``, or ``python docs/pictures.py``.

The embedded models are ranked on the embedded examples; the terminal's answer becomes an SVG, the page's a screenshot,
as does a row as two models read it. Needs Debian's `chromium` for the screenshots.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console

from ranker.report import render, terminal
from ranker.report.ranking import document
from ranker.results.ranking import Ranking
from ranker.sources.suites import bundled_suites

IMAGES = Path(__file__).parent / "images"
COMMAND = "rank-models --ood hans-sub --probe 10"
ROW = "explain --ood hans-con --id cn_embedded_under_verb-0"
READERS = ("untouched", "inoc-800")
"""Two models of hans-con-mini: one follows the shortcut, and one hardly."""

REPORT, WORDS = (1280, 1470), (880, 318)
"""Width and height of the screenshots, in pixels: answer, methods, models and figures; a row and its words."""


def ranked(folder: Path) -> Ranking:
    """The run that the pictures show."""
    file = folder / "run.json"
    subprocess.run([sys.executable, "-m", "ranker", *COMMAND.split()[1:], "--quiet", "--save", file], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    return Ranking.load(file)


def of_the_terminal(ranking: Ranking) -> str:
    """What the terminal shows, as an SVG that loads no font from elsewhere."""
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True, highlight=False)
    terminal.show(terminal.blocks(document(ranking)), console)
    drawn = console.export_svg(title=COMMAND, unique_id="terminal")
    return re.sub(r"(?s) *@font-face \{.*?\}\n", "", drawn)


def of_a_row(folder: Path) -> Path:
    """The page that shows a row as two models read it."""
    page, suite = folder / "row.html", bundled_suites()["hans-con-mini"]
    models = [str(suite / name) for name in READERS]
    command = [sys.executable, "-m", "ranker", *ROW.split(), "--factors", "CONST", "-o", page, "--models", *models]
    subprocess.run([*command, "--quiet"], check=True)
    return page


def screenshot(page: Path, folder: Path, size: tuple[int, int]) -> Image.Image:
    """A screenshot of a page's upper part."""
    shot = folder / "page.png"
    options = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars"
    subprocess.run(
        [shutil.which("chromium") or "chromium-browser", *options.split(), f"--user-data-dir={folder / 'profile'}",
         f"--window-size={size[0]},{size[1]}", f"--screenshot={shot}", page.as_uri()],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    return Image.open(shot).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


def main() -> None:
    """Make all three."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ranking = ranked(folder)
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / "terminal.svg").write_text(of_the_terminal(ranking), encoding="utf-8")
        page = folder / "report.html"
        page.write_text(render(ranking, "html"), encoding="utf-8")
        screenshot(page, folder, REPORT).save(IMAGES / "report.png", optimize=True)
        screenshot(of_a_row(folder), folder, WORDS).save(IMAGES / "words.png", optimize=True)


if __name__ == "__main__":
    main()
