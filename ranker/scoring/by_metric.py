"""Comparison of models by a metric that is no mean over rows, for decisions, comparisons and evaluations.

Axis letters as in `statistics.engine`; k statistics a row, J rows that all models were judged on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from factors.rounding import TIE
from factors.types import Bools, Example, Floats, Ints
from ranker.errors import UsageError
from ranker.statistics import engine, resampling
from ranker.statistics.paired import PairedComparison
from ranker.statistics.significance import holm
from ranker.tasks.base import NO_ANSWER, Predictions, Task
from ranker.tasks.metrics import Metric

ROUNDING = 1e-6
"""Bound of the rounding of a metric's best value."""


@dataclass(frozen=True, eq=False)
class MetricRows:
    """Statistics of each row for a metric, for several models on the same rows.

    Attributes:
        metric: the metric.
        judged: (N,) rows that all models were judged on.
        statistics: (M, J, k) of these.
        unseen: (2, R, k) rows that may be missing; None where they may change the metric by any amount.
        defined: False if even right answers do not reach the best value, as of MCC where all rows have one label.
    """

    metric: Metric
    judged: Bools
    statistics: Floats
    unseen: Floats | None
    defined: bool = True

    @classmethod
    def of(cls, metric: Metric, task: Task, answers: Sequence[Predictions], examples: Sequence[Example]) -> MetricRows:
        """Compute the statistics of the models' answers, on the rows where all of them can be judged.

        Args:
            metric: the metric: one of the task's.
            task: the task of the models.
            answers: (M,) of the models, each to all examples.
            examples: (N,) the rows.

        Raises:
            UsageError: no row that all models were judged on, or answers that the metric cannot judge.
            LabelError: the answers lack the input of the metric.

        Example:
            >>> from ranker.tasks.classes import ClassificationTask
            >>> task = ClassificationTask("mood", ("no", "yes"))
            >>> answers = [task.predictions(labels) for labels in ([0, 1, 1], [0, 0, 1])]
            >>> examples = [Example("1", ("a",), 0), Example("2", ("b",), 1), Example("3", ("c",))]
            >>> rows = MetricRows.of(task.metric_named("macro-f1"), task, answers, examples)
            >>> rows.judged.tolist(), rows.values.round(3).tolist()
            ([True, True, False], [1.0, 0.333])
        """
        answered = np.all([predictions.state <= NO_ANSWER for predictions in answers], axis=0)
        judged = answered & [example.labelled for example in examples]
        if not judged.any():
            text = "there is no row that all models were judged on; do their answers belong to the same rows?"
            raise UsageError(text, option="models")
        places = np.flatnonzero(judged)
        rows = [examples[place] for place in places.tolist()]
        inputs = [task.metric_inputs(predictions.part(places), rows) for predictions in answers]
        statistics = np.stack([metric.statistics(values, targets) for values, targets in inputs])
        targets = inputs[0][1]
        return cls(metric, judged, statistics, metric.unseen(targets), _is_defined(metric, targets))

    @property
    def by_label(self) -> Floats | None:
        """(C + 1, C, k) statistics of a row with each answer and each label; see `ranker.tasks.metrics.Metric`."""
        return self.metric.by_label()

    @cached_property
    def values(self) -> Floats:
        """(M,) the metric, in its own unit."""
        return self.metric.value(self.statistics.mean(axis=1))

    def signed_value(self, means: Floats) -> Floats:
        """Return (...) the metric of (..., k) means, turned so that higher is better."""
        return self.metric.value(means) if self.metric.higher_is_better else -self.metric.value(means)

    def intervals(self, rng: np.random.Generator, clusters: Ints | None = None) -> tuple[Floats, Floats]:
        """Return (M,) lower and (M,) upper ends of the models' values in the domain, in the metric's unit.

        Args:
            rng: the only source of randomness.
            clusters: (J,) the number of each row's cluster; None where rows are independent.
        """
        models = [(model,) for model in range(len(self.statistics))]
        ends = resampling.intervals(self.statistics, self.signed_value, self.unseen, models, rng, clusters)
        low, high = np.array(ends).T
        return (low, high) if self.metric.higher_is_better else (-high, -low)

    def compare_pairs(
        self,
        names: tuple[str, ...],
        outcomes: Floats,
        pairs: Iterable[tuple[int, int]],
        seed: int,
        clusters: Ints | None = None,
    ) -> tuple[PairedComparison, ...]:
        """Compare models in pairs, by drawn weights and exchanged answers.

        Fields that only a mean has stay None: standard errors, values that follow from these, and an unpaired test.

        Args:
            names: (M,) of the models.
            outcomes: (M, J) scores of the answers, for the counts of rows on which one model is better.
            pairs: places of the models, the one first in the order first.
            seed: of the draws: intervals share them, and each test has a generator of its own.
            clusters: (J,) the number of each row's cluster; None where rows are independent.
        """
        pairs = list(pairs)
        count = None if clusters is None else len(np.unique(clusters))
        sign, rng = 1 if self.metric.higher_is_better else -1, np.random.default_rng(seed)
        ends = resampling.intervals(self.statistics, self.signed_value, self.unseen, pairs, rng, clusters)
        tests = [
            resampling.swap_test(self.statistics[list(pair)], self.signed_value, of_pair, clusters)
            for pair, of_pair in zip(pairs, rng.spawn(len(pairs)), strict=True)
        ]
        corrected = holm(np.array([p for p, _ in tests])).tolist() if tests else []
        return tuple(
            PairedComparison(
                a=names[a],
                b=names[b],
                difference=float(sign * (self.values[a] - self.values[b])),
                se=None,
                low=None if np.isnan(low) else low,
                high=None if np.isnan(high) else high,
                better=int((outcomes[a] > outcomes[b] + TIE).sum()),
                worse=int((outcomes[b] > outcomes[a] + TIE).sum()),
                p=p,
                test=test,
                p_corrected=corrected_p,
                p_unpaired=None,
                detectable=None,
                rows=outcomes.shape[1],
                clusters=count,
            )
            for (a, b), (low, high), (p, test), corrected_p in zip(pairs, ends, tests, corrected, strict=True)
        )

    def simulate(self, draws: Ints, decided: Bools, order: Ints) -> engine.Simulation:
        """Rank by the metric from drawn probes.

        Args:
            draws: (B, K) of the N rows; those that not all models were judged on are skipped.
            decided: (P,) pairs that have a true order.
            order: (M,) the models in it, best first.
        """
        models, _, size = self.statistics.shape
        values = np.full((models, size, len(self.judged)), np.nan)
        values[:, :, self.judged] = self.statistics[order].swapaxes(1, 2)
        return engine.simulate(values, draws, decided, resampling.derive(self.signed_value))


def _is_defined(metric: Metric, targets: Any) -> bool:
    """Return whether right answers, labels or numbers, reach the best value of the metric."""
    if not isinstance(targets, np.ndarray):
        return True  # texts and tags have several right answers
    best = metric.range[1 if metric.higher_is_better else 0]
    return bool(abs(metric.value(metric.statistics(targets, targets).mean(axis=0)) - best) < ROUNDING)
