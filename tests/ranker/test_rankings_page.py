"""docs/rankings.md: its commands print what it shows, on runs whose first lines it has."""

import io
import json
import re
import shlex
from pathlib import Path

import numpy as np

PAGE = (Path(__file__).parents[2] / "docs" / "rankings.md").read_text(encoding="utf-8")
FIRST = {"ten.qrels": ["q0 0 d0 2", "q0 0 d1 0", "q0 0 d2 1"],
         "good.run": ["q0 Q0 d0 1 1.0 good", "q0 Q0 d3 2 0.9 good", "q0 Q0 d2 3 0.8 good"]}  # fmt: skip


def write_runs():
    """The lines of the page, then runs of three systems, good, fair and poor, and grades for ten queries."""
    rng = np.random.default_rng(5)
    grades = {
        query: dict(zip([f"d{n}" for n in range(12)], rng.integers(0, 3, 12).tolist(), strict=True))
        for query in range(40)
    }
    lines = [
        *FIRST["ten.qrels"],
        *(f"q{query} 0 {name} {grade}" for query in range(1, 10) for name, grade in grades[query].items()),
    ]
    Path("ten.qrels").write_text("\n".join(lines) + "\n")
    for system, noise in (("good", 0.3), ("fair", 1.2), ("poor", 3.0)):
        lines = FIRST["good.run"] if system == "good" else [f"q0 Q0 d{n} {n} {1 - n / 10} {system}" for n in (1, 0, 3)]
        lines = [*lines]
        for query in range(1, 40):
            scores = {name: grade + rng.normal(0, noise) for name, grade in grades[query].items()}
            ordered = sorted(scores, key=lambda name: -scores[name])
            lines += [f"q{query} Q0 {name} {n + 1} {scores[name]:.4f} {system}" for n, name in enumerate(ordered)]
        Path(f"{system}.run").write_text("\n".join(lines) + "\n")
    Path("queries.csv").write_text("id,text\n" + "".join(f"q{query},What of {query}?\n" for query in range(40)))
    lines = [json.dumps({"_id": f"d{n}", "title": f"Title of d{n}", "text": "A text."}) for n in range(12)]
    Path("corpus.jsonl").write_text("\n".join(lines))


def test_the_commands_print_what_is_shown(tmp_path, monkeypatch, rank_models):
    """Each line, whatever the blanks between cells; the page shows the first lines of the files."""
    monkeypatch.chdir(tmp_path)
    write_runs()
    text = " ".join(PAGE.split())
    assert all(line in text for lines in FIRST.values() for line in lines)
    blocks = re.findall(r"(?s)```console\n\$ (.*?)\n```", PAGE)
    assert len(blocks) == 3
    monkeypatch.setattr("sys.stdin", io.StringIO("2\nq\n"))
    for block in blocks:
        command, *lines = block.splitlines()
        status, out, _ = rank_models(*shlex.split(command)[1:])
        assert status == 0
        output = " ".join(out.split())
        assert [line for line in lines if " ".join(line.split()) not in output] == []
