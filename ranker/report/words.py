"""Words for metrics in reports: accuracy has its own; other metrics go by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ranker.numbers import SHARES, Unit, unit
from ranker.results.ranking import Ranking

MISLED = "misled: percent of the examples with a wrong shortcut on which a model gives the shortcut's label"
"""Explanation of the column of that name."""


@dataclass(frozen=True)
class MetricWords:
    """Words for one metric.

    Attributes:
        what: the mean outcome: "accuracy".
        fully: the mean outcome with its column's name.
        column: head of the column of the models' means on rows.
    """

    what: str
    whats: str
    fully: str
    column: str
    over: str
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
)


def words(metric: str, of_all: bool = False, scale: tuple[float, float] | None = None) -> MetricWords:
    """Return the words of a metric.

    Args:
        of_all: whether the metric is no mean over rows.
        scale: worst and best mark, where outcomes are marks.

    Example:
        >>> words("ACC").column, words("ROUGE-L").column, words("macro-f1", of_all=True).column
        ('right', 'mean ROUGE-L', 'macro-f1')
    """
    if metric == "ACC":
        return ACCURACY
    if of_all:
        return MetricWords(metric, metric, metric, metric, f"{metric}: of these rows together", unit(metric))
    mean = f"mean {metric}"
    return MetricWords(metric, metric, metric, mean, f"{mean}: over these rows", unit("", scale))


def failed_answers(failed: Mapping[str, int]) -> list[str]:
    """Say which answers failed, in a sentence; none if none did."""
    of_models = ", ".join(f"{count:,} of {name}" for name, count in failed.items())
    text = f"Answers that failed: {of_models}. They are neither right nor wrong; the same command asks again."
    return [text] if failed else []


def words_of(ranking: Ranking) -> MetricWords:
    """Return the words of the metric by which a run compares models."""
    return words(ranking.header.metric, bool(ranking.found.metric), ranking.found.scale)
