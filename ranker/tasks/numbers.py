"""Regression, and marks: numbers on a stated scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from factors.types import Example, Floats
from ranker.errors import UnknownName, UsageError
from ranker.tasks import metrics as metrics_
from ranker.tasks.base import Predictions
from ranker.tasks.metrics import Metric
from ranker.tasks.values import ValueAnswers, ValueTask

SCORES = {"1-mae": 1, "1-mse": 2}
"""Outcomes: 1 minus the absolute, or the squared, error in shares of the scale -> the power of the error."""

FLAT, LEAST_ROWS = 0.25, 5
"""Spread of a model's answers, in that of labels, below which a note says so; fewest rows for one."""

OF_SETS = ("pearson", "spearman", "mae")
"""Metrics of all rows together, in the unit of the numbers."""


class NumberAnswers(ValueAnswers):
    """Numbers of N rows: `values` has a number for each row, or None. See `ValueAnswers`."""

    kind = "numbers"


@dataclass(frozen=True)
class NumberTask(ValueTask):
    """Prediction of a number, such as a similarity or a mark; a `ranker.tasks.base.Task`.

    The outcome of a row is 1 - |answer - target| / (high - low), so that 1 is exactly right. A number outside the scale
    is no answer, and as a target an error.

    Attributes:
        score: name of the outcome: one of `SCORES`.

    Raises:
        UsageError: the scale is no range.

    Example:
        >>> from factors import Example
        >>> task = NumberTask("similarity", 0, 5)
        >>> rows = [Example("1", ("a", "b"), 4.0), Example("2", ("a", "c"), 1.0)]
        >>> task.outcomes(task.predictions([3.0, None]), rows).tolist()
        [0.8, 0.0]
    """

    answers = NumberAnswers.kind
    options = ("scale",)
    metrics = (*SCORES, *OF_SETS)

    low: float = 0.0
    high: float = 1.0
    score: str = "1-mae"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            predicate = f"must be two numbers, the lower first (got {self.low:g} {self.high:g})"
            raise UsageError.about("range", predicate, (self.low, self.high))

    @classmethod
    def named(cls, name: str, **stated: Any) -> Self:
        """Make the task of numbers on a scale. See `ValueTask.named`."""
        scale = stated.get("scale")
        if scale is None:
            raise UsageError(f"`task={name}` needs `scale`: the lower and the upper end of the numbers", option="scale")
        return cls(name, *scale)

    @property
    def metric(self) -> str:
        """Name of the outcome in tables."""
        return self.score.upper()

    def judged_by(self, name: str) -> Self:
        """Return the task with another outcome. See `ranker.tasks.base.Task`."""
        return replace(self, score=name.casefold()) if name.casefold() in SCORES else self

    def metric_named(self, name: str) -> Metric | None:
        """Return a metric of all rows together; None for the mean of an outcome. See `ranker.tasks.base.Task`."""
        if name.casefold() in OF_SETS:
            return metrics_.metric_named(name)
        if name.casefold() not in ("", *SCORES):
            raise UnknownName(f"metric of {self.name}", name, self.metrics)
        return None

    def answer_of(self, cell: Any, segments: Sequence[str] = ()) -> float:
        """Return the number in a cell. See `ranker.tasks.base.Task`."""
        try:
            number = math.nan if isinstance(cell, bool) else float(cell)
        except (TypeError, ValueError):
            number = math.nan
        if not self.low <= number <= self.high:
            raise ValueError(f"a number from {self.low:g} to {self.high:g} is needed (got {str(cell)[:50]!r})")
        return number

    @property
    def hint(self) -> str:
        """The scale. See `ValueTask.hint`."""
        return f"A number from {self.low:g} to {self.high:g}"

    def cell_of(self, target: float) -> str:
        """Return the shortest text of the number. See `ranker.tasks.base.Task`."""
        return repr(target).removesuffix(".0")

    def metric_inputs(self, answers: Predictions, examples: Sequence[Example]) -> tuple[Floats, Floats]:
        """Return (N,) answers, nan for none, and (N,) targets. See `ranker.tasks.base.Task`."""
        values = answers.answers() or ()
        predicted = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
        return predicted, np.array([example.target for example in examples], dtype=np.float64)

    def judging_notes(self, answers: Mapping[str, Sequence[Any]], targets: Sequence[Any]) -> tuple[str, ...]:
        """Return which models answer with nearly the same number on all rows. See `ValueTask.judging_notes`.

        Example:
            >>> NumberTask("marks", 1, 5).judging_notes({"a": [3, 3, 3, 3, 3.5], "b": [1, 5, 2, 4, 3]}, [1, 5, 1, 5, 3])
            ("a answers with nearly the same number on all rows (standard deviation 0.2, the labels' 1.79): ...",)
        """
        labels = [target for target in targets if target is not None]
        if len(labels) < LEAST_ROWS:
            return ()
        numbers = {name: [answer for answer in of_model if answer is not None] for name, of_model in answers.items()}
        spreads = {name: float(np.std(of_model)) for name, of_model in numbers.items() if len(of_model) >= LEAST_ROWS}
        spread = float(np.std(labels))
        return tuple(
            f"{name} answers with nearly the same number on all rows (standard deviation {of_model:.3g}, the labels' "
            f"{spread:.3g}): a mean error favours that, and a correlation does not (`metric=spearman`)."
            for name, of_model in spreads.items()
            if of_model < FLAT * spread
        )

    def outcome(self, answer: float, target: float) -> float:
        """Return 1 minus the error in shares of the scale."""
        return 1 - (abs(answer - target) / (self.high - self.low)) ** SCORES[self.score]
