"""The benchmark of the verbs on top of reports."""

import json

import numpy as np
from click.testing import CliRunner

from benchmarks.choices import Said, cells, main, verdicts


def of_two(near, shortfall, beats, lost):
    """Write the sentences about two models."""
    return Said("labels", 5, near, [shortfall, shortfall], [0.5, beats], [1.0, 0.0], lost)


def test_verbs_come_with_what_their_models_lose():
    """Of several that are named, each one's loss; of one that is taken, its own; nothing else is counted."""
    verbs = [
        of_two(0.95, 0.1, 0.9, [0.02, 0.0]),
        of_two(0.5, 0.001, 0.5, [0.0, 0.03]),
        of_two(0.5, 0.1, 0.5, [0.0, 0.1]),
    ]
    assert [*verdicts(verbs, 0.004)] == [("take", [0.02]), ("any", [0.0, 0.03]), ("none", [0.0])]
    assert cells([True, False], [0.02, 0.0]) == ["50.0", "50.0", "1.00"]
    assert cells([False], []) == ["0.0", "", ""]


def test_a_file_of_labels_is_measured(tmp_path):
    """A line for each number of labels and kind of evidence; the table has a line for each kind."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    right = rng.random((3, 80)) < np.array([[0.9], [0.7], [0.5]])
    np.savez(tmp_path / "set.npz", labels=labels, predictions=np.where(right, labels, 1 - labels))
    arguments = ["measure", str(tmp_path / "set.npz"), "--replicates", "1", "-o", str(tmp_path / "said.jsonl")]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["labels", "labels and a pool"] * 5 + ["labels that `label` picked"] * 3
    assert all(min(line["lost"]) == 0 for line in lines)
    printed = CliRunner().invoke(main, ["tables", str(tmp_path / "said.jsonl")]).output
    assert len(printed.splitlines()) == 2 + 3
