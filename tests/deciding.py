"""Decisions of tests: by the mean outcome, where no metric is given."""

from ranker.scoring.by_metric import JudgedRows, MeanRows
from ranker.scoring.decision import decide as decide_judged


def decide(table, by_metric: JudgedRows | None = None, **options):
    """Decide by the rows of a table."""
    return decide_judged(table, by_metric or MeanRows.of(table), **options)
