"""The pictures of the README, made by the product itself: ``make pictures``, or ``python docs/pictures.py``.

The embedded models are ranked on the embedded examples; the terminal's answer becomes an SVG, the page's a screenshot.
Needs Debian's `chromium` for the second.
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

IMAGES = Path(__file__).parent / "images"
COMMAND = "rank-models --ood hans-sub --probe 10"
WIDTH, HEIGHT = 1280, 1470
"""Of the screenshot, in pixels: the answer, methods, models, and their figures."""


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


def of_the_page(ranking: Ranking, folder: Path) -> Image.Image:
    """A screenshot of the HTML report's upper part."""
    page, shot = folder / "report.html", folder / "report.png"
    page.write_text(render(ranking, "html"), encoding="utf-8")
    options = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars"
    subprocess.run(
        [shutil.which("chromium") or "chromium-browser", *options.split(), f"--user-data-dir={folder / 'profile'}",
         f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}", page.as_uri()],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    return Image.open(shot).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


def main() -> None:
    """Make both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ranking = ranked(folder)
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / "terminal.svg").write_text(of_the_terminal(ranking), encoding="utf-8")
        of_the_page(ranking, folder).save(IMAGES / "report.png", optimize=True)


if __name__ == "__main__":
    main()
