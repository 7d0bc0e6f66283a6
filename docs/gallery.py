"""The gallery of the site: pages that the product makes from the files and commands of the other pages.

Runs of models are kept in docs/gallery, so that the site is built without them: `make gallery` runs them anew.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
RUNS = DOCS / "gallery"
TEN = "--data ten.jsonl --columns text=before,text=after,label=gold"
SIXTEEN = TEN.replace("ten.jsonl", "sixteen.jsonl")
THREE = "--models model-a model-b model-c"
PAGES = {
    "decision": ("A decision by ten labelled rows", f"{TEN} {THREE}"),
    "labels": ("After ten labels, with unlabelled rows", f"{TEN} --pool rows.jsonl --models hans-sub-mini"),
    "predictions": ("Two models from a table of predictions", "--models wide.csv"),
    "evaluation": ("How often each method is right", "--ood hans-sub --limit 40"),
    "compare": ("Models over many sets", "compare results.csv --measures measures.csv"),
    "shift": ("The distances of domains", "shift hans-sub hans-con paws"),
    "changes": ("What changed between two runs", "compare decision.json later.json"),
}
"""Name of a page -> its title, and the command that makes it."""

KEPT = {
    **{name: command for name, (_, command) in PAGES.items() if name in ("decision", "labels", "evaluation")},
    "later": f"{SIXTEEN} {THREE}",
}
"""Name of a run that is kept -> its command."""

TOP = """\
# Gallery

The commands below these pages make them. Each is one file that needs no network. Runs of models
were kept by `--save`, and `rank-models report` made their pages when this site was built. The files
and models are those of the [tutorial](tutorial.md), of [labelling ten rows](label-ten-rows.md), of
[tables of predictions](tables.md) and of [many sets](compare.md).
"""


def make(folder: Path, work: Path) -> None:
    """Write the gallery's pages into `folder`/gallery, and `folder`/gallery.md; files lie in `work`."""
    write_files(work)
    (folder / "gallery").mkdir()
    text = TOP
    for name in KEPT:
        shutil.copy(RUNS / f"{name}.json", work)
    for name, (title, command) in PAGES.items():
        made_by = ["report", f"{name}.json"] if name in KEPT else shlex.split(command)
        ranker(work, *made_by, "--format", "html", "--output", str(folder / "gallery" / f"{name}.html"))
        see, page = f"See the page: {title[0].lower()}{title[1:]}", folder / "gallery" / f"{name}.html"
        picture = f"![{see}](gallery/{name}.png)" if screenshot(page) else see
        text += f"\n## {title}\n\n[{picture}](gallery/{name}.html)\n"
        text += f"\n```\nrank-models {command} --format html --output {name}.html\n```\n"
    (folder / "gallery.md").write_text(text, encoding="utf-8")


def screenshot(page: Path) -> bool:
    """Write what the first screen of a page shows beside it; False without chromium."""
    if (chromium := shutil.which("chromium")) is None:
        return False
    picture = page.with_suffix(".png")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,900", f"--screenshot={picture}"]
    subprocess.run([chromium, *options, page.as_uri()], check=True, capture_output=True)
    return True


def write_files(work: Path) -> None:
    """Write the files that the pages tell their readers to write."""
    page = {name: (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in SOURCES}
    files = re.findall(r"(?ms)^cat > (\S+) <<'END'\n(.*?)^END", page["tutorial"])
    files += re.findall(r"(?ms)^```csv (\S+)\n(.*?)^```", page["compare"] + page["compare-tables"] + page["tables"])
    files += [("pool.py", code) for code in re.findall(r"(?ms)^```python\n(.*?)^```", page["label-ten-rows"])]
    for name, content in files:
        (work / name).write_text(content, encoding="utf-8")


def keep_runs(work: Path) -> None:
    """Run models on the files, and keep the runs."""
    write_files(work)
    (work / "sixteen.jsonl").write_text((work / "ten.jsonl").read_text() + (work / "more.jsonl").read_text())
    for script in ("borrow.py", "pool.py"):
        python(work, script)
    for name, command in KEPT.items():
        ranker(work, *shlex.split(command), "--save", f"{name}.json")
        shutil.copy(work / f"{name}.json", RUNS)


SOURCES = ("tutorial", "label-ten-rows", "tables", "compare", "compare-tables")
"""The pages whose files the commands read; of two files of one name the last is kept."""


def ranker(work: Path, *arguments: str) -> None:
    """Run the program; what it says is shown if it fails."""
    python(work, "-m", "ranker", *arguments)


def python(work: Path, *arguments: str) -> None:
    """Run Python in a folder, with this checkout's packages and a store in the folder."""
    path = os.pathsep.join([str(DOCS.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "RANK_MODELS_STORE": str(work / "store")}
    done = subprocess.run([sys.executable, *arguments], cwd=work, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{shlex.join(arguments)}: {done.stderr}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        keep_runs(Path(scratch))
