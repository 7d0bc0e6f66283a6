"""The documentation site: ``make docs``, or ``python docs/make_site.py``, builds it into build/site, without network.

Pages are copied into build/pages, with those of the root and the files that they link to, and the gallery is made.
`zensical build --strict` then takes each broken link, anchor and reference for an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import gallery

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
OF_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
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
    sys.exit(subprocess.run([program, "build", "--strict", "--clean"], cwd=ROOT).returncode)


def sources() -> list[Path]:
    """List what the site is made of: pages, the stylesheet, and each file that a page links to."""
    pages = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in OF_ROOT)]
    linked = {target for page in pages for target in map(Path, targets(page)) if target.is_file()}
    return [*pages, DOCS / "site.css", *sorted(linked - {*pages})]


def targets(page: Path) -> list[str]:
    """List the files that a page links to."""
    return [os.path.normpath(page.parent / link) for link in LINK.findall(page.read_text(encoding="utf-8"))]


def place(source: Path) -> Path:
    """Return the path of a page or a file in the site: as in docs, or at the top."""
    return source.relative_to(DOCS) if source.is_relative_to(DOCS) else Path(source.name)


def copy(source: Path, target: Path) -> None:
    """Copy a file; a page's links lead to where their files lie in the site, and files among its blocks have titles."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix != ".md":
        shutil.copyfile(source, target)
        return

    def moved(link: re.Match[str]) -> str:
        wanted = Path(os.path.normpath(source.parent / link[1]))
        return f"]({os.path.relpath(PAGES / place(wanted), target.parent)}" if wanted.exists() else link[0]

    text = NAMED.sub(r'```\1 title="\2"', source.read_text(encoding="utf-8"))
    target.write_text(LINK.sub(moved, text), encoding="utf-8")


if __name__ == "__main__":
    main()
