"""Whatever a model computes, `kill -9` loses what is younger than 15 seconds at most (docs/reliability.md)."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import make_lm
from pyarrow import parquet

from ranker.sources.suites import bundled_suites

LOST = 15.0
"""Seconds of work that may be lost."""

PROMPT = """
segments = ["text"]
template = "{text} It was "
verbalizers = {positive = ["good"], negative = ["bad"]}
"""

CHECKPOINTS = [str(bundled_suites()["hans-sub-mini"] / name) for name in ("untouched", "inoc-50")]

HANS = ["--ood", "hans-sub", "--limit", "400", "--methods", "none"]

KINDS = {
    "labels by a prompt": (
        ["--data", "rows.csv", "--prompts", "prompt.toml", "--prompts", "other.toml", "--models", "lm:tiny"],
        1,
    ),
    "written labels": (
        ["--data", "rows.csv", "--prompts", "write.toml", "--prompts", "also.toml", "--models", "lm:tiny"],
        3,
    ),
    "a classifier": ([*HANS, "--attribution", "none", "--models", *CHECKPOINTS], 1),
}
"""What a model computes -> options, and the most passes that a stored row stands for."""


@pytest.mark.more
@pytest.mark.parametrize("kind", [
    kind if kind == "labels by a prompt" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS
])  # fmt: skip
def test_a_killed_run_loses_seconds(tmp_path, kind):
    """Killed at a random moment: all passes that ended 15 seconds before it are of rows that are stored, or of one."""
    rows = "".join(f"row number {n} of many,{('positive', 'negative')[n % 2]}\n" for n in range(400))
    Path(tmp_path, "rows.csv").write_text(f"text,label\n{rows}")
    Path(tmp_path, "prompt.toml").write_text(PROMPT)
    writing = "decode = true\nmax_new_tokens = 3\n"
    texts = {"prompt": PROMPT, "other": PROMPT.replace("It", "All"), "write": writing + PROMPT}
    for name, text in (texts | {"also": writing + texts["other"]}).items():
        Path(tmp_path, f"{name}.toml").write_text(text)
    make_lm(tmp_path / "tiny")
    options, passes = KINDS[kind]
    words = [
        sys.executable, str(Path(__file__).with_name("slowly.py")), "passes.txt", "run", "--no-isolate", "--workers",
        "1", "--store", "store",
    ]  # fmt: skip
    log = tmp_path / "passes.txt"
    with subprocess.Popen([*words, *options], cwd=tmp_path, stderr=subprocess.PIPE) as process:
        while not log.exists() or not log.read_text():
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.1)
        time.sleep(float(np.random.default_rng().uniform(LOST + 3, LOST + 12)))
        process.kill()
        killed = time.monotonic()
    done = np.array([line.split() for line in log.read_text().splitlines()], dtype=float)
    before = done[done[:, 0] < killed - LOST, 1].sum()
    stored = sum(parquet.read_metadata(file).num_rows for file in (tmp_path / "store").rglob("*.parquet"))
    assert stored > 0
    assert (stored + 1) * passes >= before
