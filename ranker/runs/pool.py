"""Build the pool: the models' predictions on all rows, and what is known of these rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from factors.types import Example, Floats, Ints
from ranker.datasets.identity import text_or_place
from ranker.errors import UsageError
from ranker.numbers import counted
from ranker.results.table import ScoreTable
from ranker.runs.collect import ModelResponses
from ranker.runs.inspected import InspectedModels
from ranker.runs.likeness import compare_answers, compare_statistics
from ranker.runs.measured import Measurer
from ranker.runs.plan import Plan
from ranker.runtime.base import Answer
from ranker.scoring.unlabelled import AnswerContext
from ranker.statistics.label_votes import LabelVotes
from ranker.statistics.matches import Matches
from ranker.statistics.pool import InDomain, Pool, Targets, Voters
from ranker.statistics.vote import MetricByLabel
from ranker.tasks.base import NO_ANSWER, Predictions, Task
from ranker.tasks.classes import label_names, labels_of
from ranker.tasks.metrics import Metric
from ranker.tasks.values import ValueTask, has_values

SMALL_POOL = 500
"""Rows below which a pool is small: labels do more with a larger one (docs/results/labels.md)."""


def small_pool_notes(rows: int, inspected: InspectedModels) -> Iterator[str]:
    """Say how much more labels do with a larger pool, if this one is small and the models can be run on more rows."""
    if 0 < rows < SMALL_POOL and not any(info.source.precomputed for info in inspected.infos):
        yield (
            f"A pool of {counted(rows, 'row')} is small, and more unlabelled rows cost no label: ten labels put 83.4 % "
            "of the pairs of models in their true order with a pool of 1,000 rows, and 79.1 % with 300."
        )


def population_answers(reply: ModelResponses) -> Answer:
    """Return a model's answers to the population."""
    return reply.answers["population"]


def pool_of(
    measuring: Measurer, answered: Sequence[ModelResponses], voting: Sequence[ModelResponses] = ()
) -> tuple[Pool | None, Ints]:
    """Return the models' predictions on the pool's rows, and (P,) indices of the rows that every model was asked.

    The pool is None if some model's answers are no labels; a UsageError if a voter's are none. A row that a voter was
    not asked has no vote of it.
    """
    plan = measuring.plan
    pool_answers = [reply.answers.get("pool", population_answers(reply)) for reply in answered]
    pool_rows = np.flatnonzero(np.all([answer.predictions.state <= NO_ANSWER for answer in pool_answers], axis=0))
    probs = [answer.predictions.probabilities() for answer in pool_answers]
    probs_asked = [array[pool_rows] for array in probs if array is not None and array.shape[1] > 1]
    if len(probs_asked) < len(probs) or not len(pool_rows):
        return None, pool_rows
    designed, explained = plan.designed_factor, plan.explains_pool or not plan.pool
    examples = plan.pool or plan.population
    factor = None
    if designed is not None and explained:
        sign = 1.0 if designed.higher_is_better else -1.0
        pairs = list(zip(answered, pool_answers, strict=True))
        factor_scores = [scores.values[0] for scores in measuring.scores_of_each(pairs, examples, [designed])]
        factor = sign * np.array(factor_scores)[:, pool_rows]
    domain = [
        reply.answers["in-domain"].predictions.probabilities() for reply in answered if "in-domain" in reply.answers
    ]
    labels = labels_of(plan.in_domain_rows)
    trained_probs = [array for array in domain if array is not None]
    votes = _votes(voting, pool_rows, probs_asked[0].shape[1])
    everyone, in_domain = add_silence_class(np.array([*probs_asked, *votes])), None
    size = everyone.shape[2]
    if trained_probs:
        domain_probs = add_silence_class(np.array(trained_probs))
        size = max(size, domain_probs.shape[2])
        in_domain = InDomain(_pad_classes(domain_probs, size), labels)
    accuracy = np.array([in_domain_outcome(plan, reply) for reply in answered], dtype=np.float64)
    everyone = _pad_classes(everyone, size)
    trusted = np.array([reply.model.role == "trusted" for reply in voting])
    pool = Pool(
        everyone[: len(answered)],
        in_domain,
        factor,
        silence=size > probs_asked[0].shape[1],
        in_domain_accuracy=None if np.isnan(accuracy).all() else accuracy,
        voters=Voters(everyone[len(answered) :], trusted) if voting else None,
    )
    return pool, pool_rows


def _votes(voting: Sequence[ModelResponses], pool_rows: Ints, classes: int) -> list[Floats]:
    """Return the probabilities of the models that only vote, each (P, C), nan where there is no answer."""
    votes = []
    for reply in voting:
        probs = reply.answers["votes"].predictions.probabilities()
        if probs is None or probs.shape[1] != classes:
            raise UsageError.of(reply.model.name, "cannot vote: its answers are no labels of the rows", option="voters")
        votes.append(probs[pool_rows])
    return votes


def in_domain_outcome(plan: Plan, reply: ModelResponses) -> float | None:
    """Return a model's mean outcome on the in-domain rows, else as its suite states it; None where it is unknown."""
    answer = reply.answers.get("in-domain")
    if answer is None:
        return reply.model.in_domain_accuracy
    return mean_outcome(plan.task, answer, plan.in_domain_rows)


def mean_outcome(task: Task, answer: Answer, examples: Sequence[Example]) -> float:
    """Compute the mean outcome over judged rows."""
    return float(np.nanmean(task.outcomes(answer.predictions, examples)))


def add_silence_class(probs: Floats) -> Floats:
    """(M, N, C) probabilities, nan for no answer -> (M, N, C + 1): no answer becomes a class that is never true.

    Unchanged if every model answered every row.

    Example:
        >>> add_silence_class(np.array([[[0.2, 0.8], [np.nan, np.nan]]])).tolist()
        [[[0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]]
    """
    silent = np.isnan(probs).any(axis=2, keepdims=True)
    return np.concatenate([np.where(silent, 0.0, probs), silent], axis=2) if silent.any() else probs


def _pad_classes(probs: Floats, classes: int) -> Floats:
    """Pad probabilities to `classes` classes with zeros."""
    return np.pad(probs, ((0, 0), (0, 0), (0, classes - probs.shape[2])))


MAX_COMPARED_ROWS, LEAST_COMPARED_ROWS = 600, 50
"""Rows of a pool on which answers are compared: most, and least of a metric that is slow for so many models."""

MOST_SECONDS = 120.0
"""Time that comparisons may take, by what a task states of a metric."""


def most_compared(task: ValueTask, models: int, anchors: int = 0) -> int:
    """Return the number of rows on which answers are compared: fewer where a metric is slow for so many models.

    Args:
        models: number of models that are ranked.
        anchors: number of those that are not.

    Example:
        >>> from ranker.tasks.texts import TextTask
        >>> [most_compared(TextTask("news", "sentence-bleu"), models) for models in (10, 60)]
        [600, 66]
    """
    affordable = int(MOST_SECONDS / task.seconds_to_compare(models, models + anchors))
    return min(max(affordable, LEAST_COMPARED_ROWS), MAX_COMPARED_ROWS)


def compared_rows(rows: Sequence[Example], labelled: Ints, most: int = MAX_COMPARED_ROWS) -> Ints:
    """Return rows of a pool on which answers are compared: the labelled ones, and of more than `most` some.

    Which ones depends on each row's texts alone, so a session, a run and a report compare the same.
    """
    if len(rows) <= most:
        return np.arange(len(rows))
    digests = [hashlib.sha256(repr(text_or_place(row)).encode()).digest() for row in rows]
    first = sorted(range(len(rows)), key=lambda place: digests[place])[:most]
    return np.union1d(np.array(first, dtype=np.int64), np.asarray(labelled, dtype=np.int64))


def answer_context(
    measuring: Measurer,
    answered: Sequence[ModelResponses],
    pool_rows: Ints,
    targets: Targets,
    voting: Sequence[ModelResponses] = (),
) -> AnswerContext | None:
    """Compare the models' answers to (P,) rows of a pool with each other; None if they are labels or scores.

    The rows of `compared_rows` are read, and answers of voters as references.
    """
    task = measuring.plan.task
    if not has_values(task):
        return None
    labelled = np.flatnonzero(~np.isnan(targets.outcomes).any(axis=0))
    examples, most = measuring.plan.pool, most_compared(task, len(answered), len(voting))
    metric = measuring.plan.metric
    matched = None if metric is None else task.matched(metric)
    if matched is not None:
        pairs = len(answered) * (len(answered) + len(voting))
        most = min(most, max(int(MOST_SECONDS / (matched.seconds * pairs)), LEAST_COMPARED_ROWS))
    rows = compared_rows([examples[place] for place in pool_rows.tolist()], labelled, most)
    if len(rows) == 0:
        return None
    answers = {reply.model.name: reply.answers["pool"].predictions.part(pool_rows[rows]) for reply in answered}
    references = {reply.model.name: reply.answers["votes"].predictions.part(pool_rows[rows]) for reply in voting}
    declared = [reply.model.family for reply in answered]
    trusted = [reply.model.name for reply in voting if reply.model.role == "trusted"]
    anchors = compare_answers(task, answers, measuring.runtime, measuring.store, references, declared, trusted)
    sets = None if metric is None else _label_votes(measuring.plan, answered, pool_rows)
    places, matches, name = np.searchsorted(rows, labelled), None, task.metric
    if matched is not None and metric is not None:
        alike = compare_statistics(task, metric, answers, references, measuring.runtime)
        of_labels = _labelled_statistics(measuring.plan, metric, [*answers.values()], places, pool_rows[rows])
        value = metric.value if metric.higher_is_better else lambda means: -metric.value(means)
        families = tuple(map(str, anchors.families.tolist()))  # of whole answers: counts of matches have no distance
        matches = Matches(alike, of_labels, places, *matched[:2], value, families, anchors.trusted)
        name = metric.name
    slow = f"{name} of {len(answered):,} models is slow" if most < MAX_COMPARED_ROWS else ""
    outcomes, left = targets.outcomes[:, labelled], len(pool_rows) - len(labelled)
    return AnswerContext(
        tuple(answers), anchors, outcomes, places, sets, left, slow, matches, not measuring.plan.ood.picked
    )


def _labelled_statistics(
    plan: Plan, metric: Metric, answers: Sequence[Predictions], places: Ints, pool_rows: Ints
) -> Floats:
    """Return (M, K, k) statistics of the answers at places among some rows of a pool; of several labels, their mean."""
    assert plan.places is not None  # the rows are labelled, and in the pool
    position = positions_among(plan.places, pool_rows, len(plan.pool))
    of_models = [predictions.answers() or () for predictions in answers]
    statistics = []
    for place in places.tolist():
        labels = [plan.population[n].target for n in np.flatnonzero(position == place).tolist()]
        of_row = [metric.statistics([of_model[place]] * len(labels), labels) for of_model in of_models]
        statistics.append(np.mean(of_row, axis=1))
    return np.array(statistics).swapaxes(0, 1)


def _label_votes(plan: Plan, answered: Sequence[ModelResponses], pool_rows: Ints) -> LabelVotes | None:
    """Return what models give to all rows of the pool, and the metric; None where answers are no sets of labels."""
    if not has_values(plan.task) or plan.places is None or plan.metric is None:
        return None
    places = positions_among(plan.places, pool_rows, len(plan.pool))
    of_models = [reply.answers["pool"].predictions.part(pool_rows).answers() or () for reply in answered]
    labelled = [row.target for row, place in zip(plan.population, places.tolist(), strict=True) if place >= 0]
    return label_votes_of(plan.task, of_models, places[places >= 0], labelled, plan.metric.name)


def label_votes_of(
    task: ValueTask, answers: Sequence[Sequence[Any]], places: Ints, targets: Sequence[Any], metric: str
) -> LabelVotes | None:
    """Return label sets of models and of labelled rows, by the labels of all of them; None where answers are no sets.

    There are (M,) answers, each to the N rows of a pool, None for none, and (K,) places and targets of labelled rows.
    """
    task = task.fitted((answer for of_model in answers for answer in of_model if answer), ())
    truth, named_metric = task.indicators(targets), task.metric_named(metric)
    if truth is None or named_metric is None:
        return None
    matrices = [task.indicators(of_model) for of_model in answers]
    statistics = named_metric.by_label()
    assert statistics is not None  # each metric of label sets has them
    return LabelVotes(np.array(matrices), places, truth, MetricByLabel(statistics, named_metric.value))


def targets_of(plan: Plan, table: ScoreTable, pool_rows: Ints, places: Ints | None) -> Targets:
    """Return true labels and outcomes of the pool's rows, as far as known; without a pool those of the labelled rows.

    If several people labelled a row differently, the most frequent label counts, on a tie the first of the task. Its
    outcomes are the means over these answers.

    Args:
        pool_rows: (P,) indices of the rows in the pool.
        places: (K,) positions of the labelled rows in it, -1 if absent; None if they are all of it.
    """
    labels = true_labels(plan)
    if places is None:
        return Targets(table.outcomes[:, pool_rows], labels[pool_rows])
    in_pool = places >= 0
    outcomes, labels_of_pool = (
        np.full((len(table.models), len(pool_rows)), np.nan),
        np.full(len(pool_rows), -1, dtype=np.int64),
    )
    rows, inverse = np.unique(places[in_pool], return_inverse=True)
    means, votes = np.zeros((len(rows), len(table.models))), np.zeros((len(rows), int(labels.max()) + 2))
    np.add.at(means, inverse, table.outcomes[:, in_pool].T)
    np.add.at(votes, (inverse, labels[in_pool] + 1), 1)
    outcomes[:, rows], labels_of_pool[rows] = means.T / np.bincount(inverse), votes.argmax(axis=1) - 1
    return Targets(outcomes, labels_of_pool)


def true_labels(plan: Plan) -> Ints:
    """(K,) Labels of the labelled rows; -1 if answers are no labels."""
    rows = plan.population
    return labels_of(rows) if label_names(plan.task) else np.full(len(rows), -1, dtype=np.int64)


def positions_among(places: Ints, chosen: Ints, size: int) -> Ints:
    """(K,) Positions of rows among a chosen subset; -1 if a row is not in it.

    Args:
        places: (K,) indices of the rows.
        chosen: (P,) indices of the subset.

    Example:
        >>> positions_among(np.array([3, 0]), np.array([1, 3]), 4).tolist()
        [1, -1]
    """
    positions = np.full(size, -1)
    positions[chosen] = np.arange(len(chosen))
    return np.asarray(positions[places])
