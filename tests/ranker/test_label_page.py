"""docs/label-ten-rows.md, followed in a real pseudo-terminal."""

import csv
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ranker.datasets import sets

PAGE = (Path(__file__).parents[2] / "docs" / "label-ten-rows.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```", PAGE)


@pytest.mark.more
@pytest.mark.models
def test_a_newcomer_labels_ten_rows(tmp_path):
    """The page's code and commands, in order; ten true answers end the session, and the file decides."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "RANK_MODELS_STORE": "store",
        "COLUMNS": "100",
        "TERM": "xterm",
    }
    (_, code), (_, labelling), (_, deciding) = BLOCKS
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env=environment)
    ood = sets.load("hans-sub", limit=200)
    truth = {row.segments: row.target for row in ood.examples}
    inside, outside = pty.openpty()
    command = [sys.executable, "-m", "ranker", *shlex.split(labelling)[1:]]
    with subprocess.Popen(command, cwd=tmp_path, stdin=outside, stdout=outside, stderr=outside, env=environment) as run:
        os.close(outside)
        text, end, answered = "", time.monotonic() + 600, 0
        try:
            while "saved in labels.csv" not in text:
                assert time.monotonic() < end, text
                if select.select([inside], [], [], 0.3)[0]:
                    text += os.read(inside, 65536).decode()
                    continue
                lines = re.sub(r"\x1b\[[0-9;]*m|\r", "", text).rstrip("\n").split("\n")[-2:]
                texts = [
                    line.removeprefix(name) for line, name in zip(lines, ("premise: ", "hypothesis: "), strict=False)
                ]
                if tuple(texts) in truth and answered < 10:
                    answered, text = answered + 1, ""
                    os.write(inside, b"12"[(label := truth[tuple(texts)]) : label + 1])
        finally:
            run.kill()
            os.close(inside)
    assert "enough: P(the leader is within 1 point of the best) has reached 0.965" in text
    assert answered == 10
    with (tmp_path / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [ood.task.index(row["label"]) for row in rows] == [truth[row["premise"], row["hypothesis"]] for row in rows]
    done = subprocess.run(
        [sys.executable, "-m", "ranker", *shlex.split(deciding)[1:]], cwd=tmp_path, env=environment, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert "SURROGATE puts" in done.stdout
