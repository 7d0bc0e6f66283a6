"""Rows of the domain without a label, as a decision reads them: what models say there, and methods that rank by it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from factors.types import Floats, Ints
from ranker.scoring.by_metric import MetricRows
from ranker.statistics import posterior
from ranker.statistics.anchors import AnchorPosterior, Anchors, infer_differences
from ranker.statistics.pool import Infer, Kind, Pool, PoolMethod, Posterior, Targets, possible

ANCHORS, AGREEMENT = "ANCHORS", "AGREEMENT"
"""Methods that rank models by the likeness of their answers: with some outcomes, and without any."""

OF_ANSWERS = (ANCHORS, AGREEMENT)
"""These, in the order of their use."""


@dataclass(frozen=True)
class ModelOrder:
    """Method that orders the models, and its scores.

    Attributes:
        method, kind: of the method.
        score: (M,) of the models, higher is better.
        posterior: of the method, where it has one.
        warning: its main caveat, a clause that continues its name; "" for none.
        without_in_domain: its posterior if the models' in-domain accuracies were unknown; None if they are.
    """

    method: str
    kind: Kind
    score: Floats
    posterior: Posterior | None = None
    warning: str = ""
    without_in_domain: Posterior | None = None


class UnlabelledContext(Protocol):
    """Rows of the domain beside the labelled ones."""

    @property
    def unlabelled(self) -> int:
        """Number of rows without a label."""

    @property
    def methods(self) -> dict[str, Kind]:
        """Methods that can order the models: name -> kind."""

    def order(self, method: str, seed: int, by_metric: MetricRows | None = None) -> ModelOrder:
        """Order the models by one of the methods.

        Args:
            method: its name.
            seed: of its draws.
            by_metric: a metric that is no mean, for the methods that have a posterior of it.
        """


@dataclass(frozen=True)
class LabelContext:
    """Predicted labels on the rows of a pool; an `UnlabelledContext`.

    Attributes:
        pool: the models' predictions on all of them.
        targets: labels and outcomes of the labelled ones.
        places: (K,) places of the labelled ones in the pool; a row that several people labelled occurs several times.
        labels: (K,) their labels.
        candidates: methods that may rank by them.
    """

    pool: Pool
    targets: Targets
    places: Ints
    labels: Ints
    candidates: tuple[PoolMethod, ...]

    @property
    def unlabelled(self) -> int:
        """Number of rows without a label; labelled rows of one text stand in one place."""
        return len(self.targets.labels) - len(set(self.places.tolist()))

    @cached_property
    def _usable(self) -> dict[str, PoolMethod]:
        labels = self.targets.labels[self.places]
        return {method.name: method for method in possible(self.candidates, self.pool, labels) if method.decides}

    @property
    def methods(self) -> dict[str, Kind]:
        """Methods whose needs the rows meet: name -> kind."""
        return {name: method.kind for name, method in self._usable.items()}

    def order(self, method: str, seed: int, by_metric: MetricRows | None = None) -> ModelOrder:
        """Order the models by one of the methods. See `UnlabelledContext`."""
        by = self._usable[method]
        if by.posterior is None:
            score = by.estimate(self.pool, self.targets, self.places[None])[:, 0]
            return ModelOrder(method, by.kind, score, None, by.warning)
        pooled, without = self._posterior(by.posterior, self.pool, by_metric), None
        if self.pool.in_domain_accuracy is not None:
            without = self._posterior(by.posterior, replace(self.pool, in_domain_accuracy=None), by_metric)
        return ModelOrder(method, by.kind, pooled.score, pooled, by.warning, without)

    def _posterior(self, infer: Infer, pool: Pool, by_metric: MetricRows | None) -> Posterior:
        """Return the posterior of the mean outcomes, or of the metric where there is one."""
        pooled = infer(pool, self.places, self.labels)
        if by_metric is None or by_metric.by_label is None:
            return pooled
        return pooled.judged_by(by_metric.by_label, by_metric.signed_value)


@dataclass(frozen=True)
class AnswerContext:
    """Answers of any kind to the rows of a pool, and how alike they are; an `UnlabelledContext`.

    Attributes:
        anchors: likeness of the models' answers to the rows.
        outcomes: (M, K) outcomes on the labelled rows, 0 for a missing answer.
        places: (K,) places of the labelled rows among the rows, each once.
    """

    anchors: Anchors
    outcomes: Floats
    places: Ints

    @property
    def unlabelled(self) -> int:
        """Number of rows without a label."""
        return self.anchors.rows - len(self.places)

    @property
    def methods(self) -> dict[str, Kind]:
        """ANCHORS and AGREEMENT."""
        return {ANCHORS: "pool", AGREEMENT: "label-free"}

    def order(self, method: str, seed: int, by_metric: MetricRows | None = None) -> ModelOrder:
        """Order the models by one of the methods, which know means alone. See `UnlabelledContext`."""
        if method == AGREEMENT:
            warning = "puts models first that err alike"
            return ModelOrder(AGREEMENT, "label-free", self.anchors.mean_agreement, None, warning)
        pooled = OutcomePosterior(
            infer_differences(self.anchors, self.outcomes, self.places, domain=True), self.outcomes, seed
        )
        warning = "is too bold among models that are nearly as good, and misled by models that err alike"
        return ModelOrder(ANCHORS, "pool", pooled.score, pooled, warning)


@dataclass(frozen=True)
class OutcomePosterior:
    """Posterior of ANCHORS as a decision reads it; a `ranker.statistics.pool.Posterior`.

    Attributes:
        differences: between the models.
        outcomes: (M, K) on the labelled rows, which alone tell of the level of the outcomes.
        seed: of the draws.
    """

    differences: AnchorPosterior
    outcomes: Floats
    seed: int

    @property
    def score(self) -> Floats:
        """(M,) expected differences from the mean model."""
        return self.differences.score

    def beats(self) -> Floats:
        """Return (M, M) P(the row's model is better than the column's)."""
        return self.differences.beats()

    def best(self) -> Floats:
        """Return (M,) P(no other model is better in the domain)."""
        return self.differences.best(np.random.default_rng(self.seed))[0]

    def near(self, margin: float) -> Floats:
        """Return (M,) P(no other model is better in the domain by more than the margin)."""
        return self.differences.best(np.random.default_rng(self.seed), near=margin)[1]

    def equal(self, first: int, margin: float) -> Floats:
        """Return (M,) P(its mean outcome and that of one model differ by no more than the margin)."""
        drawn = self.differences.draw(np.random.default_rng(self.seed))
        return np.asarray((np.abs(drawn - drawn[:, [first]]) <= margin).mean(axis=0))

    def expected(self) -> Floats:
        """Return (M,) expected mean outcomes, from the labelled rows alone."""
        return posterior.expected_accuracy(self.outcomes)

    def interval(self) -> tuple[Floats, Floats]:
        """Return the ends of (M,) 95 % intervals of the mean outcomes, from the labelled rows alone."""
        return posterior.intervals_of_accuracy(self.outcomes)

    def outlook(self) -> None:
        """Return None: what further labels would add is not known."""
