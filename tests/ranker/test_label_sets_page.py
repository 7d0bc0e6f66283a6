"""docs/label-sets.md: its commands print what it shows, on files whose first lines it has."""

import io
import re
import shlex
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).parents[2] / "docs" / "label-sets.md").read_text(encoding="utf-8")
TEXTS = ("The sun is out.", "He broke it again.", "Nobody came.", "You are back.")
TRUTH = [("joy", "love"), ("anger",), (), ("joy",), ("anger", "sadness"), ("love",), ("joy", "love"), (), ("sadness",),
         ("anger", "joy", "love")]  # fmt: skip
LABELS = ("anger", "joy", "love", "sadness")


def write_files():
    """The lines of the page, then six more rows; what two systems say of these, and of a pool."""
    rng = np.random.default_rng(7)
    rows = [f"{n},{TEXTS[n - 1] if n <= len(TEXTS) else f'Text {n}.'}" for n in range(1, 31)]
    labels = [";".join(labels) or "[]" for labels in TRUTH]
    lines = [f"{row},{cell}" for row, cell in zip(rows, labels, strict=False)]
    Path("rows.csv").write_text("\n".join(["id,text,label", *lines]) + "\n")
    Path("pool.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    truth = [*TRUTH, *(tuple(np.array(LABELS)[rng.random(4) < 0.4].tolist()) for _ in range(20))]
    for system, wrong in (("good", 0.1), ("poor", 0.35)):
        sets = [[label for label in LABELS if (label in has) != (rng.random() < wrong)] for has in truth]
        if system == "good":
            sets[:4] = [["joy", "love"], ["anger"], [], ["joy", "love"]]
        lines = [f"{n},{';'.join(has) or '[]'}" for n, has in enumerate(sets, 1)]
        Path(f"{system}.csv").write_text("\n".join(["id,prediction", *lines]) + "\n")


def test_the_commands_print_what_is_shown(tmp_path, monkeypatch, rank_models):
    """Each line, whatever the blanks between cells; the page shows the first lines of the files."""
    monkeypatch.chdir(tmp_path)
    write_files()
    text = " ".join(PAGE.split())
    for line in [*Path("rows.csv").read_text().splitlines()[:5], *Path("good.csv").read_text().splitlines()[:5]]:
        assert line in text
    blocks = re.findall(r"(?s)```console\n\$ (.*?)\n```", PAGE)
    assert len(blocks) == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n4\nt\nq\n"))
    for block in blocks:
        command, *lines = block.splitlines()
        status, out, _ = rank_models(*shlex.split(command)[1:])
        assert status == 0
        output = " ".join(out.split())
        assert [line for line in lines if " ".join(line.split()) not in output] == [], out
