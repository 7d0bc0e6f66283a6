"""Metrics of which some rows say nothing, whatever models answer."""

import pytest
from refusals import refuses

from ranker import decide
from ranker.errors import UsageError

ALIKE = [f"Row {n}.,cat,{'cat' if n % 2 else 'dog'},{'cat' if n % 3 else 'bird'}" for n in range(12)]
TWO = [*ALIKE, "Row 12.,bird,bird,dog"]


def by(metric, rows, folder):
    """Decide between two columns of a table."""
    (folder / "m.csv").write_text("\n".join(["text,label,a,b", *rows]) + "\n")
    models = [f"{folder / 'm.csv'}#{name}" for name in "ab"]
    return decide(models, metric=metric).decision


@pytest.mark.parametrize("metric", ["mcc", "kappa", "f1:dog"])
def test_a_metric_that_no_answer_changes_is_refused(tmp_path, metric):
    """On rows of one label all models were 0, and so all within a point of the best, "with a probability of 90 %"."""
    with refuses(UsageError, option="metric", value=metric) as stop:
        by(metric, ALIKE, tmp_path)
    assert "too few different labels" in str(stop.value)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("metric", "rows"),
    [("macro-f1", ALIKE), ("balanced-accuracy", ALIKE), ("f1:cat", ALIKE), ("mcc", TWO), ("kappa", TWO)],
    ids=str,
)
def test_others_decide_as_before(tmp_path, metric, rows):
    """Other metrics decide as if a right answer were worth more than a wrong one."""
    assert by(metric, rows, tmp_path).names
