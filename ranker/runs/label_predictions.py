"""Models' answers to the pool of a labelling session, and the session that learns from them."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from factors import Example
from factors.types import Floats, Ints
from ranker.datasets.sets import LabelledDataset
from ranker.errors import ModelError, UsageError, choice_error, range_error
from ranker.labelling.learners import ReferenceLearner, VoteLearner
from ranker.labelling.session import RANDOM, LabelEvent, Learner, Session
from ranker.labelling.sheet import Line
from ranker.numbers import counted, probability
from ranker.runs.collect import RunResponses, collect, failed_of
from ranker.runs.gather import RunInputs
from ranker.runs.inspected import Models, inspect_models
from ranker.runs.likeness import compare_answers
from ranker.runs.measured import Measurer
from ranker.runs.plan import Plan, plan
from ranker.runs.pool import label_votes_of, pool_of, population_answers
from ranker.runtime.runtime import Runtime
from ranker.scoring.diagnostics import constant_models, voter_notes
from ranker.scoring.score import Evidence
from ranker.scoring.unlabelled import family_notes
from ranker.statistics import label_votes
from ranker.statistics.acquisition import ALIKE, one_label_probability
from ranker.statistics.draws import Draws
from ranker.statistics.likeness import Anchors
from ranker.statistics.pool import Pool
from ranker.statistics.stopping import MARGIN, PROBABLE
from ranker.statistics.vote import LABEL_NOISE, MetricByLabel
from ranker.tasks.base import ANSWERED, NO_ANSWER, Task
from ranker.tasks.classes import ClassificationTask, metric_by, require_labels
from ranker.tasks.metrics import LabelScore, Metric
from ranker.tasks.values import ValueTask, has_values

log = logging.getLogger(__name__)

READ = 100
"""Rows of each model whose answers show if a metric of texts can read them."""

RULES = ("order", "best", RANDOM)
"""Rules that pick rows."""

MAX_SHARES = 10
"""Most labels whose shares among the predictions are listed."""


@dataclass(frozen=True)
class LabelSettings:
    """Settings of how rows are picked, and when to stop.

    Attributes:
        rule: "best" for the best model, "order" for the order of all, or "random". Where answers are no labels: "order"
            or "random".
        label_noise: share of answers that are given at random, a fraction.
        margin: how much less accurate than the best a winner may be, a fraction.
        until: probability of such a winner that is enough to stop.
        seed: seed of the rules that draw rows.
        metric: by which models are ranked; "" for the task's own, accuracy for labels. Where answers are labels, rows
            are picked for accuracy all the same.
        shortfall: what may be expected to be lost by taking the leader, at which to stop as well, a fraction; None for
            nothing.

    Raises:
        UsageError: an unknown rule, or a number outside [0, 1].

    Example:
        >>> from ranker import LabelSettings
        >>> LabelSettings().until
        0.965
    """

    rule: str = "best"
    label_noise: float = LABEL_NOISE
    margin: float = MARGIN
    until: float = PROBABLE
    seed: int = 0
    metric: str | LabelScore = ""
    shortfall: float | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise choice_error("rule", self.rule, RULES)
        for name in ("label_noise", "margin", "until", "shortfall"):
            if not 0 <= (getattr(self, name) or 0) <= 1:
                raise range_error(name, getattr(self, name), 0, 1)


class PoolPredictions(ABC):
    """Answers of M models to the N rows of a pool, as a session learns from them.

    Attributes:
        task: of the answers.
        ruled: False if rows are picked by the learner's own rule alone.
    """

    task: Task
    ruled: ClassVar[bool] = True

    @property
    @abstractmethod
    def alike(self) -> bool:
        """True if all models predict the same on every row."""

    @abstractmethod
    def learner(self, events: Sequence[LabelEvent], settings: LabelSettings) -> Learner:
        """Return what learns from answers; events are those given so far."""

    @abstractmethod
    def notes(self, models: Sequence[str], margin: float) -> Iterator[str]:
        """Say what is plain before an answer, in sentences."""

    def session(self, prior: Sequence[LabelEvent], lines: Sequence[Line], settings: LabelSettings) -> Session:
        """Build the session after all earlier answers: those of others, then lines."""
        events = [*prior, *(line.event for line in lines)]
        return Session(
            self.learner(events, settings),
            events,
            rule=settings.rule if self.ruled else "",
            margin=settings.margin,
            probable=settings.until,
            seed=settings.seed,
        )

    def shown(self, row: int, segments: Sequence[str]) -> list[str]:
        """Return (M,) the answers to a row as text, "" for none; [] where models are hidden."""
        return []

    def counts(self, answered: Sequence[LabelEvent]) -> Counter[str]:
        """Count the answers of each label; none where answers are no labels, which all differ."""
        return Counter()

    def balance(self, session: Session, places: Ints) -> str:
        """Describe the predicted labels of some rows together, in words; "" where answers are no labels."""
        return ""


@dataclass(frozen=True)
class LabelPredictions(PoolPredictions):
    """Predicted labels.

    Attributes:
        task: the labels.
    """

    task: ClassificationTask
    pool: Pool
    voters: tuple[str, ...] = ()

    @property
    def alike(self) -> bool:
        """True if all models predict the same on every row."""
        return bool((self.pool.answered_labels == self.pool.answered_labels[0]).all())

    def learner(self, events: Sequence[LabelEvent], settings: LabelSettings) -> Learner:
        """Return what learns from labels by a vote of the models."""
        patterns = self.pool.patterns(np.array([event.row for event in events], dtype=np.int64))
        return VoteLearner(patterns, label_noise=settings.label_noise, metric=label_metric(self.task, settings))

    def shown(self, row: int, segments: Sequence[str]) -> list[str]:
        """Return (M,) predicted labels of a row; "" for no answer."""
        return [self.task.labels[label] if label >= 0 else "" for label in self.pool.answered_labels[:, row].tolist()]

    def counts(self, answered: Sequence[LabelEvent]) -> Counter[str]:
        """Count the answers of each label."""
        return Counter(self.task.labels[event.label] for event in answered)

    def notes(self, models: Sequence[str], margin: float) -> Iterator[str]:
        """Name models that no labels can separate, and constant ones, and say whether in-domain accuracies count."""
        yield from self._inseparable_models(models, margin)
        yield from constant_models(models, self.pool.answered_labels, self.task.labels)
        yield from voter_notes(dict(zip(self.voters, self.pool.says.tolist(), strict=True)))
        if self.pool.in_domain_accuracy is not None:
            yield "The models' in-domain accuracies count until labels say otherwise."

    def _inseparable_models(self, models: Sequence[str], margin: float) -> Iterator[str]:
        """Name the pairs of models that no labels of this pool can separate, in sentences."""
        predicted = self.pool.answered_labels
        apart, size = np.stack([(predicted != labels).sum(axis=1) for labels in predicted]), predicted.shape[1]
        for a in range(len(models)):
            for b in range(a):
                if apart[a, b] <= margin * size:
                    names = f"{models[b]} and {models[a]}"
                    gap = f"differ on {apart[a, b]} of {size} rows" if apart[a, b] else "predict the same on every row"
                    yield (
                        f"{names} {gap}, and are at most {100 * apart[a, b] / size:.1f} points apart: {size} "
                        "answers would not separate them"
                    )

    def balance(self, session: Session, places: Ints) -> str:
        """Describe the predicted labels of some rows: their shares, and P(all rows have one label)."""
        predicted = self.pool.answered_labels[:, places]
        shares = {
            label: int((predicted == number).sum()) / predicted.size for number, label in enumerate(self.task.labels)
        }
        shares |= {"no answer": int((predicted < 0).sum()) / predicted.size} if (predicted < 0).any() else {}
        ordered = sorted(shares.items(), key=lambda label_share: -label_share[1])
        listed_shares, rare = ordered[:MAX_SHARES], ordered[MAX_SHARES:]
        if rare:
            listed_shares.append((f"{len(rare)} others", sum(share for _, share in rare)))
        shares_text = ", ".join(f"{label} {100 * share:.0f} %" for label, share in listed_shares)
        alike = one_label_probability(cast(VoteLearner, session.learner).beliefs(session.answered), places)
        caveat = "; if so, label some more: a model that always predicts it looks perfect"
        return (
            f"on these rows the models predict {shares_text} of the time; all rows have one label with a probability "
            f"of {probability(alike, 0)} %{caveat if alike > ALIKE else ''}"
        )


@dataclass(frozen=True)
class ValuePredictions(PoolPredictions):
    """Answers that only the task can compare, such as texts.

    Attributes:
        values: (M, N) the answers; None for none.
    """

    task: ValueTask
    values: tuple[tuple[Any, ...], ...]
    anchors: Anchors

    @property
    def alike(self) -> bool:
        """True if all models predict the same on every row."""
        return all(of_model == self.values[0] for of_model in self.values)

    def learner(self, events: Sequence[LabelEvent], settings: LabelSettings) -> Learner:
        """Return what learns from references; of label sets by the vote of each label."""
        metric = metric_of_values(self.task, settings.metric)

        def believe(answered: Sequence[LabelEvent]) -> Draws:
            places = np.array([event.row for event in answered], dtype=np.int64)
            targets = [event.label for event in answered]
            assert metric is not None  # or there is no vote
            evidence = label_votes_of(self.task, self.values, places, targets, metric.name)
            assert evidence is not None  # it has a metric of label sets
            return label_votes.draw(evidence, settings.label_noise)

        return ReferenceLearner(self.anchors, self._outcomes, None if metric is None else believe)

    def _outcomes(self, row: int, reference: Any) -> Floats:
        """Return (M,) outcomes of the answers to a row, were a reference the truth."""
        return self.task.judge([of_model[row] for of_model in self.values], [reference] * len(self.values))

    def shown(self, row: int, segments: Sequence[str]) -> list[str]:
        """Return (M,) the answers to a row as text; "" for none."""
        answers = [of_model[row] for of_model in self.values]
        return ["" if answer is None else self.task.show(answer, segments) for answer in answers]

    def notes(self, models: Sequence[str], margin: float) -> Iterator[str]:
        """Say which models answer alike, and how far the probabilities can be trusted."""
        yield from family_notes(models, self.anchors)
        yield "P is too bold among models that are nearly as good, and misled by models that err alike."


def label_metric(task: ClassificationTask, settings: LabelSettings) -> MetricByLabel | None:
    """Return the metric by which a session of labels ranks models, None for accuracy; a UsageError without one."""
    metric = metric_by(task, settings.metric)
    if metric is None:
        return None
    statistics = metric.by_label()
    if statistics is None:
        raise UsageError.about("metric", f"{metric.name} is for labelled rows alone, without a pool", metric.name)
    return MetricByLabel(statistics, metric.value)


def judged_task(task: Task, metric: str | LabelScore) -> Task:
    """Return the task with the outcome by which answers that are no labels are compared; its own for "".

    A metric of all rows together is a UsageError.
    """
    if not has_values(task) or not metric:
        return task
    named_metric = metric_by(task, metric)
    assert not callable(metric)  # which are for labels alone
    if named_metric is not None and named_metric.by_label() is None:
        text = f"{metric} is of all rows together, and rows are chosen one by one; name a metric of rows"
        raise UsageError.about("metric", text, metric)
    return task.judged_by(metric)


def metric_of_values(task: Task, name: str | LabelScore) -> Metric | None:
    """Return the metric of label sets by which a session ranks models; None for the mean of an outcome."""
    metric = metric_by(task, name) if has_values(task) else None
    return None if metric is None or metric.by_label() is None else metric


def check_rule(task: Task, rule: str) -> None:
    """Raise a UsageError for a rule of labels where answers are none."""
    possible = (*ReferenceLearner.rules, RANDOM)
    if has_values(task) and rule not in possible:
        text = f"`rule` {rule} is for labels; here it is {' or '.join(possible)}"
        raise UsageError(text, option="rule", value=rule, allowed=possible)


def prediction_plan(models: Models, task: Task, rows: Sequence[Example]) -> Plan:
    """Return the plan that asks models for their answers to rows, and for nothing else."""
    dataset = LabelledDataset("pool", task, tuple(rows), len(rows))
    return plan(RunInputs(inspect_models(models), dataset, rows), Evidence("none", factors=()))


def pool_predictions(
    models: Models, task: Task, rows: Sequence[Example], runtime: Runtime = Runtime()
) -> tuple[PoolPredictions, Ints, Mapping[str, str]]:
    """Return the models' answers to rows, the indices of these rows, and why some models failed.

    Raises:
        ModelError: fewer than two models could be asked, or no row is in the files of all.
        LabelError: the answers are neither labels nor values.
    """
    if not has_values(task):
        label_task = require_labels(task, "`label`")
        pool, pool_rows, collected = predictions(models, label_task, rows, runtime)
        voters = tuple(reply.model.name for reply in collected.voters)
        return LabelPredictions(label_task, pool, voters), pool_rows, collected.failures
    _, collected = _collect(models, task, rows, runtime)
    answered = collected.answered
    predictions_of = {reply.model.name: population_answers(reply).predictions for reply in answered}
    states = np.array([of_model.state for of_model in predictions_of.values()])
    pool_rows = np.flatnonzero((states <= NO_ANSWER).all(axis=0) & (states == ANSWERED).any(axis=0))
    if unanswered := int((states == NO_ANSWER).all(axis=0).sum()):
        log.warning("left out: %s that no model answers", counted(unanswered, "row"))
    answers = [of_model.part(pool_rows).answers() for of_model in predictions_of.values()]
    values = tuple(tuple(of_model) for of_model in answers if of_model is not None)
    if not len(pool_rows) or len(values) < len(answers):
        raise _nothing_to_compare(pool_rows)
    for note in task.reading_notes([task.as_target(answer) for of_model in values for answer in of_model[:READ]]):
        log.warning(note)
    task = task.fitted((answer for of_model in values for answer in of_model if answer), ())
    compared = {name: of_model.part(pool_rows) for name, of_model in predictions_of.items()}
    with runtime.open_store() as store:
        voting = collected.voters
        anchoring = {reply.model.name: reply.answers["votes"].predictions.part(pool_rows) for reply in voting}
        families = [reply.model.family for reply in answered]
        trusted = [reply.model.name for reply in voting if reply.model.role == "trusted"]
        anchors = compare_answers(task, compared, runtime, store, anchoring, families, trusted)
    return ValuePredictions(task, values, anchors), pool_rows, collected.failures


def predictions(
    models: Models, task: Task, rows: Sequence[Example], runtime: Runtime = Runtime()
) -> tuple[Pool, Ints, RunResponses]:
    """Return the models' predicted labels of rows, the indices of these rows, and all answers."""
    run_plan, collected = _collect(models, task, rows, runtime)
    pool, pool_rows = pool_of(Measurer(run_plan, runtime=runtime), collected.answered, collected.voters)
    if pool is None:
        raise _nothing_to_compare(pool_rows)
    return pool, pool_rows, collected


def _collect(models: Models, task: Task, rows: Sequence[Example], runtime: Runtime) -> tuple[Plan, RunResponses]:
    """Return the plan, and the responses, of two ranked models or more."""
    run_plan = prediction_plan(models, task, rows)
    collected = collect(run_plan, runtime)
    if len(collected.answered) < 2:
        failed = failed_of(run_plan.inspected, collected)
        raise ModelError(f"nothing to choose by: {failed} failed", option="models")
    return run_plan, collected


def _nothing_to_compare(pool_rows: Ints) -> ModelError:
    """Return the error of models whose answers cannot be compared on any row."""
    no_answers, no_rows = "some models say only how good their answers were", "no row is in the files of all models"
    return ModelError(f"nothing to choose by: {no_answers if len(pool_rows) else no_rows}", option="models")
