"""Labelled rows, and what models are judged by on them: the mean outcome, or a metric that is no mean.

A decision asks both the same questions. Axis letters as in `statistics.engine`; k statistics a row, J rows that all
models were judged on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from factors.rounding import TIE
from factors.types import Bools, Example, Floats, Ints
from ranker.errors import UsageError
from ranker.results.table import ScoreTable
from ranker.statistics import engine, paired, resampling, rows
from ranker.statistics.draws import Draws
from ranker.statistics.paired import PairedComparison
from ranker.statistics.rows import RowEvidence
from ranker.statistics.vote import MetricByLabel
from ranker.tasks.base import NO_ANSWER, Predictions, Task
from ranker.tasks.metrics import Metric

ROUNDING = 1e-6
"""Bound of the rounding of a metric's best value."""


@dataclass(frozen=True, eq=False)
class MeanRows:
    """Outcomes of several models on the same rows, whose mean they are judged by.

    Attributes:
        judged: (N,) rows that all models were judged on.
        values: (M,) the mean outcomes on these.
        name: that of a metric; "" for the mean outcome.
        order: scores by which models are ordered where no method is named; None where a method must be chosen.
        of_labels: a metric for a pool; None for the mean outcome.
    """

    judged: Bools
    values: Floats

    name = ""
    lower_is_better = False
    order = None
    of_labels = None

    @classmethod
    def of(cls, table: ScoreTable) -> MeanRows:
        """Return the rows of a table of scores; a UsageError if there is none that all models were judged on."""
        judged = _some(engine.defined_for_all(table.values)[0])
        return cls(judged, table.outcomes[:, judged].mean(axis=1))

    def belief(self, outcomes: Floats, clusters: Ints | None, rng: np.random.Generator) -> Draws:
        """Return what is believed of the models' mean outcomes in the domain.

        Args:
            outcomes: (M, J) scores of the answers.
        """
        return rows.draw(RowEvidence.of_means(outcomes, clusters), rng)

    def compare_pairs(
        self,
        names: tuple[str, ...],
        outcomes: Floats,
        pairs: Iterable[tuple[int, int]],
        seed: int,
        clusters: Ints | None = None,
    ) -> tuple[PairedComparison, ...]:
        """Compare models in pairs by `paired.compare`; each pair has a generator of its own.

        Args:
            pairs: places of the models, the one first in the order first.
        """
        pairs = list(pairs)
        streams = np.random.default_rng(seed).spawn(len(pairs))
        return paired.correct_for_pairs(
            [
                paired.compare((names[a], names[b]), outcomes[[a, b]], stream, clusters)
                for (a, b), stream in zip(pairs, streams, strict=True)
            ]
        )


@dataclass(frozen=True, eq=False)
class MetricRows:
    """Statistics of each row for a metric, for several models on the same rows; as `MeanRows`.

    Attributes:
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
            answers: (M,) of the models, each to all examples.
            examples: (N,) the rows.

        Raises:
            UsageError: no row that all models were judged on, or answers that the metric cannot judge.

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
        judged = _some(answered & [example.labelled for example in examples])
        places = np.flatnonzero(judged)
        of_places = [examples[place] for place in places.tolist()]
        inputs = [task.metric_inputs(predictions.part(places), of_places) for predictions in answers]
        statistics = np.stack([metric.statistics(values, targets) for values, targets in inputs])
        targets = inputs[0][1]
        return cls(metric, judged, statistics, metric.unseen(targets), _is_defined(metric, targets))

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name

    @property
    def lower_is_better(self) -> bool:
        """True if less of the metric is better."""
        return not self.metric.higher_is_better

    @property
    def of_labels(self) -> MetricByLabel:
        """The metric for a pool of labels; a plan refuses one that labels alone do not give."""
        statistics = self.metric.by_label()
        assert statistics is not None
        return MetricByLabel(statistics, self.signed_value)

    @property
    def order(self) -> Floats:
        """(M,) the values, turned so that higher is better."""
        return self.signed_value(self.statistics.mean(axis=1))

    @cached_property
    def values(self) -> Floats:
        """(M,) the metric, in its own unit."""
        return self.metric.value(self.statistics.mean(axis=1))

    def signed_value(self, means: Floats) -> Floats:
        """Return (...) the metric of (..., k) means, turned so that higher is better."""
        return self.metric.value(means) if self.metric.higher_is_better else -self.metric.value(means)

    def belief(self, outcomes: Floats, clusters: Ints | None, rng: np.random.Generator) -> Draws:
        """Return what is believed of the models' values in the domain, higher is better."""
        evidence = RowEvidence(outcomes, self.statistics, self.signed_value, self.unseen, clusters)
        return rows.draw(evidence, rng)

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
        Outcomes serve to count rows on which one model is better. Intervals share their draws, and each test has a
        generator of its own.
        """
        pairs = list(pairs)
        count = None if clusters is None else len(np.unique(clusters))
        sign, rng = 1 if self.metric.higher_is_better else -1, np.random.default_rng(seed)
        ends = resampling.intervals(self.statistics, self.signed_value, self.unseen, pairs, rng, clusters)
        tests = [
            resampling.swap_test(self.statistics[list(pair)], self.signed_value, of_pair, clusters)
            for pair, of_pair in zip(pairs, rng.spawn(len(pairs)), strict=True)
        ]
        comparisons = [
            PairedComparison(
                a=names[a],
                b=names[b],
                difference=float(sign * (self.values[a] - self.values[b])),
                se=None,
                low=engine.none_if_nan(low),
                high=engine.none_if_nan(high),
                better=int((outcomes[a] > outcomes[b] + TIE).sum()),
                worse=int((outcomes[b] > outcomes[a] + TIE).sum()),
                p=p,
                test=test,
                p_corrected=p,
                p_unpaired=None,
                detectable=None,
                rows=outcomes.shape[1],
                clusters=count,
            )
            for (a, b), (low, high), (p, test) in zip(pairs, ends, tests, strict=True)
        ]
        return paired.correct_for_pairs(comparisons)

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


JudgedRows: TypeAlias = MeanRows | MetricRows
"""Labelled rows that several models were judged on."""


def _some(judged: Bools) -> Bools:
    """Return the rows that all models were judged on; refuse none."""
    if not judged.any():
        text = "there is no row that all models were judged on; do their answers belong to the same rows?"
        raise UsageError(text, option="models")
    return judged


def _is_defined(metric: Metric, targets: Any) -> bool:
    """Return whether right answers, labels or numbers, reach the best value of the metric."""
    if not isinstance(targets, np.ndarray):
        return True  # texts and tags have several right answers
    best = metric.range[1 if metric.higher_is_better else 0]
    return bool(abs(metric.value(metric.statistics(targets, targets).mean(axis=0)) - best) < ROUNDING)
