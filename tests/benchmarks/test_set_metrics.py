"""The benchmark of metrics of all rows together."""

import numpy as np
import pytest

from benchmarks.set_metrics import judge, scores


def write(file, rows):
    """A CoNLL file of tokens and tags."""
    file.write_text("\n\n".join("\n".join(f"w\t{tag}" for tag in row) for row in rows) + "\n")
    return file


def test_with_all_rows_labelled_matches_give_the_metric(tmp_path):
    """The matches of the pool are then known, and so is what references tell: F1 is that of the pool."""
    rng = np.random.default_rng(0)
    rows = rng.choice(["O", "B-A", "B-B"], (40, 5))
    wrong = [np.where(rng.random(rows.shape) < share, "O", rows) for share in (0.1, 0.3, 0.6)]
    files = [write(tmp_path / f"{name}.conll", table) for name, table in zip("gabc", [rows, *wrong], strict=True)]
    judged = judge("span-f1", files)
    (on_rows, _, _, by_matches), belief = scores(judged, range(30), range(30))
    assert by_matches == pytest.approx(belief.score)
    assert by_matches == pytest.approx(on_rows, abs=0.005)  # means of draws for a domain: the metric is no mean
    expected = [
        2 * np.sum((table == rows)[:30] & (rows[:30] != "O")) / (np.sum(table[:30] != "O") + np.sum(rows[:30] != "O"))
        for table in wrong
    ]
    assert on_rows == pytest.approx(expected)
