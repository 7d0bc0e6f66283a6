"""Modules that lie in the folder where somebody works: none of them is run, in no process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ranker.sources import suites

NAMES = ("torch", "ranker", "factors", "tempfile", "random", "multiprocessing")
"""What the program, and Python's own server of processes, import."""

SUITE = suites.bundled_suites()["hans-sub-mini"]
PROGRAM = Path(sys.executable).with_name("rank-models")
ROWS = [{"premise": f"The judge {n} ran.", "hypothesis": "The judge ran.", "label": "entailment"} for n in range(2)]


@pytest.mark.more
@pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not installed beside this Python")
@pytest.mark.parametrize(
    "flags",
    [
        ("--workers", "2"),
        *(pytest.param(n, marks=pytest.mark.slow) for n in (("--no-isolate", "--workers", "1"), ("--workers", "1"))),
    ],
)
def test_no_module_of_the_current_folder_is_run(tmp_path, flags):
    """A folder of data that somebody has handed on may hold a torch.py; each here would leave a file and fail."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(
            f"import os\nopen(os.path.join({str(tmp_path)!r}, 'ran-{name}'), 'w').close()\nraise SystemExit(3)\n"
        )
    (tmp_path / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    models = [str(SUITE / name) for name in ("untouched", "inoc-4000")]
    arguments = ["--data", "two.jsonl", "--attribution", "none", "--store", "store", *flags]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [PROGRAM, *arguments, "--models", *models], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert list(tmp_path.glob("ran-*")) == []
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
