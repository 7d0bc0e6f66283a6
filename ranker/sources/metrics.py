"""Metrics of texts that installed packages bring."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.errors import UsageError
from ranker.sources.hf.bertscore import NAME as BERTSCORE
from ranker.sources.packages import load_entry_points
from ranker.tasks.texts import Score, is_text_metric

GROUP = "rank_models.metrics"
"""Entry point group of packages with metrics of texts; each names a function."""


@dataclass(frozen=True)
class InstalledMetric:
    """Metric of texts that an installed package brings.

    Attributes:
        entry_point: its name.
        function: (answer, reference) -> score.
    """

    entry_point: str
    function: Score

    @property
    def __name__(self) -> str:
        """Name of the metric."""
        return self.entry_point

    def __call__(self, answer: str, reference: str) -> float:
        """Return the score of an answer against one reference."""
        return self.function(answer, reference)


def installed_metrics() -> dict[str, InstalledMetric]:
    """Return the metrics of texts of installed packages, by name in lower case.

    Raises:
        UsageError: a package cannot be imported, brings something else than a function, or claims a name that is taken.
    """
    registry: dict[str, InstalledMetric] = {}
    for name, origin, target, function in load_entry_points(GROUP):
        if not callable(function):
            raise UsageError.at(
                origin, f"it must name a function of an answer and a reference (got {target})", value=target
            )
        if set(name) & set(", "):
            raise UsageError.at(origin, "the name of a metric must be one word without a comma", value=name)
        if is_text_metric(name) or name.casefold() in (*registry, BERTSCORE):
            raise UsageError.at(origin, f"another metric is named {name}", value=name)
        registry[name.casefold()] = InstalledMetric(name, function)
    return registry
