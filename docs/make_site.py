"""The documentation site: ``make docs``, or ``python docs/make_site.py``, builds it into build/site, without network.

Pages are copied into build/pages, with those of the root and the files that they link to. A notebook becomes a page,
the gallery is made, and JSON schemas are written as tables.
`zensical build --strict` then takes each broken link, anchor and reference for an error.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import gallery
from schema_tables import with_tables

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
OF_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
PICTURES = {"image/svg+xml": "svg", "image/png": "png"}
UNSEARCHED = ("CHANGELOG.md", "modules.md", "results/")
"""Pages that the search leaves out, and folders of them: they hold every word, and answer few questions."""
NAMED = re.compile(r"(?m)^```(\w+) ([\w.]+)$")
"""A fence of a block that is a file."""


def main() -> None:
    """Build the site anew."""
    for folder in (PAGES, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    for source in sources():
        copy(source, PAGES / place(source))
    with tempfile.TemporaryDirectory() as work:
        gallery.make(PAGES, Path(work))
    program = Path(sys.executable).with_name("zensical")
    if failed := subprocess.run([program, "build", "--strict", "--clean"], cwd=ROOT).returncode:
        sys.exit(failed)
    sys.stdout.write(
        f"the site is in {SITE.relative_to(ROOT)}; to see it: python3 -m http.server -d {SITE.relative_to(ROOT)}\n"
    )


def sources() -> list[Path]:
    """List what the site is made of: pages, the stylesheet, and each file that a page links to."""
    pages = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in OF_ROOT)]
    linked = {target for page in pages for target in map(Path, targets(page)) if target.is_file()}
    return [*pages, DOCS / "site.css", DOCS / "site.js", *sorted(linked - {*pages})]


def targets(page: Path) -> list[str]:
    """List the files that a page links to."""
    return [os.path.normpath(page.parent / link) for link in LINK.findall(page.read_text(encoding="utf-8"))]


def place(source: Path) -> Path:
    """Return the path of a page or a file in the site: as in docs, or at the top."""
    path = source.relative_to(DOCS) if source.is_relative_to(DOCS) else Path(source.name)
    return path.with_suffix(".md") if path.suffix == ".ipynb" else path


def copy(source: Path, target: Path) -> None:
    """Copy a page, a notebook as a page, or another file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".ipynb":
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
        target.write_text("\n".join(shown(cell, n, target) for n, cell in enumerate(cells)), encoding="utf-8")
    elif source.suffix != ".md":
        shutil.copyfile(source, target)
    else:
        target.write_text(moved_page(source, target), encoding="utf-8")


def moved_page(source: Path, target: Path) -> str:
    """Return a page with links to where their files lie in the site, and titles for its blocks that are files."""

    def moved(link: re.Match[str]) -> str:
        wanted = Path(os.path.normpath(source.parent / link[1]))
        return f"]({os.path.relpath(PAGES / place(wanted), target.parent)}" if wanted.exists() else link[0]

    text = NAMED.sub(r'```\1 title="\2"', with_tables(source.read_text(encoding="utf-8")))
    searched = not place(source).as_posix().startswith(UNSEARCHED)
    return LINK.sub(moved, text if searched else f"---\nsearch:\n  exclude: true\n---\n\n{text}")


def shown(cell: dict[str, Any], number: int, page: Path) -> str:
    """Return a cell of a notebook as Markdown; its pictures are written beside the page."""
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return f"{source}\n"
    text = f"```python\n{source}\n```\n"
    for data in (output["data"] for output in cell["outputs"]):
        if drawn := next((kind for kind in PICTURES if kind in data), None):
            name = f"{page.stem}-{number}.{PICTURES[drawn]}"
            content = "".join(data[drawn])
            page.with_name(name).write_bytes(content.encode() if name.endswith("svg") else base64.b64decode(content))
            text += f"\n![The figure that this cell draws]({name})\n"
        else:
            text += "\n```text\n" + "".join(data["text/plain"]) + "\n```\n"
    return text


if __name__ == "__main__":
    main()
