"""Words for metrics in reports: accuracy has its own; other metrics go by their names."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.numbers import SHARES, Unit, counted, unit
from ranker.results.ranking import Ranking

MOST_LABELS = 1_000
"""Further labels above which two models count as equal, since nobody will label so many."""


def labels(count: int, singular: str = "more row") -> str:
    """Describe the number of further labels that would tell two models apart; large numbers are capped.

    Example:
        >>> labels(40), labels(40_057, "more label")
        ('about 40 more rows', 'more than 1,000 more labels')
    """
    if count > MOST_LABELS:
        return f"more than {counted(MOST_LABELS, singular)}"
    return f"about {counted(count, singular)}"


MISLED = "misled: percent of the examples with a wrong shortcut on which a model gives the shortcut's label"
"""Explanation of the column of that name."""


@dataclass(frozen=True)
class MetricWords:
    """Words for one metric.

    Attributes:
        what: the mean outcome: "accuracy".
        whats: its plural.
        fully: the mean outcome with its column's name.
        column: head of the column of the models' means on rows.
        over: explanation of that column.
        did, same: for a model on a row, and for two on all rows.
        unit: unit of its values.
    """

    what: str
    whats: str
    fully: str
    column: str
    over: str
    did: str
    same: str
    unit: Unit = SHARES

    def outcome_text(self, value: float | None) -> str:
        """Return a mean outcome in a few words.

        Example:
            >>> words("ACC").outcome_text(0.91), words("ROUGE-L").outcome_text(0.91)
            ('91.0 % right', 'ROUGE-L 91.0 %')
        """
        text = f"{self.unit.value(value)}{self.unit.sign}"
        return f"{text} right" if self is ACCURACY else f"{self.what} {text}"

    def outcome_on(self, value: float | None, rows: str) -> str:
        """Return a mean outcome on rows, as the rest of a sentence that begins with the model.

        Example:
            >>> words("ACC").outcome_on(0.9, "10 rows"), words("ROUGE-L").outcome_on(0.9, "1 row")
            ('accuracy on the 10 rows is 90.0 %', 'mean ROUGE-L on the 1 row is 90.0 %')
        """
        mean = self.what if self is ACCURACY else self.column
        return f"{mean} on the {rows} is {self.unit.value(value)}{self.unit.sign}"


ACCURACY = MetricWords(
    "accuracy",
    "accuracies",
    "accuracy, ACC,",
    "right",
    "right: a model's accuracy on these rows",
    "right",
    "they were right on the same rows",
)


def words(metric: str, of_all: bool = False) -> MetricWords:
    """Return the words of a metric.

    Args:
        metric: its name.
        of_all: whether the metric is no mean over rows.

    Example:
        >>> words("ACC").column, words("ROUGE-L").column, words("macro-f1", of_all=True).column
        ('right', 'mean ROUGE-L', 'macro-f1')
    """
    if metric == "ACC":
        return ACCURACY
    if of_all:
        over, same = f"{metric}: of these rows together", "they were right on the same rows"
        return MetricWords(metric, metric, metric, metric, over, "right", same, unit(metric))
    mean, same = f"mean {metric}", "they were equally good on every row"
    return MetricWords(metric, metric, metric, mean, f"{mean}: over these rows", "better", same)


def words_of(ranking: Ranking) -> MetricWords:
    """Return the words of the metric by which a run compares models."""
    return words(ranking.header.metric, bool(ranking.found.metric))
