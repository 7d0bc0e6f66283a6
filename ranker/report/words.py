"""What a metric is called in reports: accuracy has words of its own, and any other metric is called by its name."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.numbers import SHARES, Unit, counted, unit
from ranker.results.ranking import Ranking

MOST_LABELS = 1_000
"""Of two models that only more labels than these would tell apart, either will do."""


def labels(more: int, one: str = "more row") -> str:
    """How many more labels would tell two models apart, in words; none believes a large number.

    Example:
        >>> labels(40), labels(40_057, "more label")
        ('about 40 more rows', 'more than 1,000 more labels')
    """
    if more > MOST_LABELS:
        return f"more than {counted(MOST_LABELS, one)}"
    return f"about {counted(more, one)}"


@dataclass(frozen=True)
class MetricWords:
    """The words of one metric.

    Attributes:
        what: an outcome's mean: "accuracy".
        whats: several of these.
        fully: the same with its column's name.
        column: of the models' means on rows.
        over: what stands in that column.
        did, same: of a model on a row, of two on all rows.
        unit: how its values are written.
    """

    what: str
    whats: str
    fully: str
    column: str
    over: str
    did: str
    same: str
    unit: Unit = SHARES

    def share(self, value: float | None) -> str:
        """A mean outcome in a few words.

        Example:
            >>> words("ACC").share(0.91), words("ROUGE-L").share(0.91)
            ('91.0 % right', 'ROUGE-L 91.0 %')
        """
        written = f"{self.unit.value(value)}{self.unit.sign}"
        return f"{written} right" if self is ACCURACY else f"{self.what} {written}"

    def on(self, value: float | None, rows: str) -> str:
        """What a model did on rows, as a predicate.

        Example:
            >>> words("ACC").on(0.9, "10 rows"), words("ROUGE-L").on(0.9, "10 rows")
            ('was right on 90.0 % of the 10 rows', 'had a mean ROUGE-L of 90.0 % on the 10 rows')
            >>> words("ACC").on(1.0, "1 row")
            'was right on the only row'
        """
        if self is ACCURACY and rows == "1 row":
            return f"was {'right' if value else 'wrong'} on the only row"
        written = f"{self.unit.value(value)}{self.unit.sign}"
        if self is ACCURACY:
            return f"was right on {written} of the {rows}"
        return f"had a {self.column} of {written} on the {rows}"


ACCURACY = MetricWords(
    "accuracy",
    "accuracies",
    "accuracy, ACC,",
    "right",
    "right: the share of these rows that a model is right on",
    "right",
    "they were right on the same rows",
)


def words(metric: str, of_all: bool = False) -> MetricWords:
    """The words of a metric.

    Args:
        metric: its name.
        of_all: it is no mean over rows.

    Example:
        >>> words("ACC").column, words("ROUGE-L").column, words("macro-f1", of_all=True).column
        ('right', 'mean ROUGE-L', 'macro-f1')
    """
    if metric == "ACC":
        return ACCURACY
    if of_all:
        over, same = f"{metric}: of these rows together", "they were right on the same rows"
        return MetricWords(metric, metric, metric, metric, over, "right", same, unit(metric))
    mean, same = f"mean {metric}", "they were as good on every row"
    return MetricWords(metric, metric, metric, mean, f"{mean}: over these rows", "better", same)


def words_of(ranking: Ranking) -> MetricWords:
    """The words of what a run compares models by."""
    return words(ranking.header.metric, bool(ranking.found.metric))
