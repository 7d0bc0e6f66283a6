"""Metrics that installed packages bring: of texts, and of labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any

from ranker.errors import UsageError
from ranker.sources.hf.bertscore import NAME as BERTSCORE
from ranker.sources.packages import load_entry_points
from ranker.tasks.metrics import METRICS, SHARE, is_metric
from ranker.tasks.metrics import LabelScore as LabelScore
from ranker.tasks.text_scores import is_text_metric

GROUP = "rank_models.metrics"
"""Entry point group of packages with metrics; each names a function, of texts (`Score`) or labels (`LabelScore`)."""

OF_TEXTS, OF_LABELS = "texts", "labels"
"""Answers that a function judges."""


@dataclass(frozen=True)
class InstalledMetric:
    """Metric that an installed package brings.

    Attributes:
        function: a `Score` of an answer and a reference, or a `LabelScore` of a confusion matrix.
    """

    entry_point: str
    function: Callable[..., float]

    @property
    def __signature__(self) -> Signature:
        """Parameters of the function, which tell what it judges."""
        return signature(self.function)

    @property
    def range(self) -> tuple[float, float]:
        """Least and greatest value."""
        return getattr(self.function, "range", SHARE)

    @property
    def lower_is_better(self) -> bool:
        """True if lower values are better."""
        return bool(getattr(self.function, "lower_is_better", False))

    @property
    def __name__(self) -> str:
        """Name of the metric."""
        return self.entry_point

    def __call__(self, *arguments: Any) -> float:
        """Return the score of an answer against one reference, or the value of a confusion matrix."""
        return self.function(*arguments)


def answers_of(function: Callable[..., float]) -> str:
    """Return what a metric of one's own judges: with one parameter labels, by their confusion; with two texts.

    Example:
        >>> answers_of(lambda confusion: 0.0), answers_of(lambda answer, reference: 0.0)
        ('labels', 'texts')
    """
    parameters = signature(function).parameters.values()
    required = [part for part in parameters if part.default is part.empty and part.kind is not part.VAR_KEYWORD]
    return OF_LABELS if len(required) == 1 else OF_TEXTS


def metrics_of_labels() -> tuple[str, ...]:
    """Return the names of the built-in metrics of labels."""
    return (*METRICS, "f1:LABEL")


def installed_metrics() -> dict[str, InstalledMetric]:
    """Return the metrics of installed packages, by name in lower case.

    Raises:
        UsageError: a package cannot be imported, brings something else than a function, or claims a name that is taken.
    """
    registry: dict[str, InstalledMetric] = {}
    for name, origin, target, function in load_entry_points(GROUP):
        if not callable(function):
            raise UsageError.at(
                origin,
                f"it must name a function of an answer and a reference, or of a confusion matrix (got {target})",
                value=target,
            )
        if set(name) & set(", "):
            raise UsageError.at(origin, "the name of a metric must be one word without a comma", value=name)
        if is_text_metric(name) or is_metric(name) or name.casefold() in (*registry, BERTSCORE):
            raise UsageError.at(origin, f"another metric is named {name}", value=name)
        registry[name.casefold()] = InstalledMetric(name, function)
    return registry
