"""What models make of rows, labelled or not: one pool, and what is known of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.types import Floats, Ints
from ranker.results.table import ScoreTable
from ranker.runs.collect import ModelResponses
from ranker.runs.measured import Measurer
from ranker.runs.plan import Plan
from ranker.runtime.base import Answer
from ranker.statistics.pool import InDomain, Pool, Targets
from ranker.tasks.base import NO_ANSWER
from ranker.tasks.classes import label_names, labels_of


def population_answers(one: ModelResponses) -> Answer:
    """A model's answers to the population."""
    return one.to["population"]


def pool_of(measuring: Measurer, answered: Sequence[ModelResponses]) -> tuple[Pool | None, Ints]:
    """What the models make of rows, labelled or not, and (P,) which rows these are: those that no model lacks.

    There is no pool where some model says nothing of labels.

    Raises:
        StoreError: the store cannot be read or written.
    """
    plan = measuring.plan
    of_pool = [one.to.get("pool", population_answers(one)) for one in answered]
    asked = np.flatnonzero(np.all([one.predictions.state <= NO_ANSWER for one in of_pool], axis=0))
    probs = [one.predictions.probabilities() for one in of_pool]
    some = [one[asked] for one in probs if one is not None and one.shape[1] > 1]
    if len(some) < len(probs) or not len(asked):
        return None, asked
    designed, explained = plan.about_all, plan.explains_pool or not plan.rows.pool
    examples = plan.rows.pool or plan.rows.population
    factor = None
    if designed is not None and explained:
        sign = 1.0 if designed.higher_is_better else -1.0
        models = list(zip(answered, of_pool, strict=True))
        found = [scores.values[0] for scores in measuring.scores_of_each(models, examples, [designed])]
        factor = sign * np.array(found)[:, asked]
    domain = [one.to["in-domain"].predictions.probabilities() for one in answered if "in-domain" in one.to]
    labels = labels_of(plan.gathered.in_domain_rows)
    known = [one for one in domain if one is not None]
    seen = silent_apart(np.array(some))
    if not known:
        return Pool(seen, None, factor, seen.shape[2] > some[0].shape[1]), asked
    trained = silent_apart(np.array(known))
    size = max(seen.shape[2], trained.shape[2])
    in_domain = InDomain(_padded(trained, size), labels)
    return Pool(_padded(seen, size), in_domain, factor, size > some[0].shape[1]), asked


def silent_apart(probs: Floats) -> Floats:
    """(M, N, C) probabilities, nan where there is no answer -> (M, N, C + 1): silence is a class, which is never true.

    Where every model answered every row there is no such class.

    Example:
        >>> silent_apart(np.array([[[0.2, 0.8], [np.nan, np.nan]]])).tolist()
        [[[0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]]
    """
    silent = np.isnan(probs).any(axis=2, keepdims=True)
    return np.concatenate([np.where(silent, 0.0, probs), silent], axis=2) if silent.any() else probs


def _padded(probs: Floats, classes: int) -> Floats:
    """The probabilities of so many classes: those of more are 0."""
    return np.pad(probs, ((0, 0), (0, 0), (0, classes - probs.shape[2])))


def targets_of(plan: Plan, table: ScoreTable, asked: Ints, places: Ints | None) -> Targets:
    """What is known of the rows of the pool; where there is none beside the labelled rows, of these.

    A row that several labelled differently has the label that most gave, of equally many the first of the task; its
    outcomes are the means of theirs.

    Args:
        plan: what was asked.
        table: the scores on the labelled rows.
        asked: (P,) which rows are in the pool.
        places: (K,) where the labelled rows stand in it, -1 for those that do not; None where they are all of it.
    """
    labels = true_labels(plan)
    if places is None:
        return Targets(table.outcomes[:, asked], labels[asked])
    there = places >= 0
    outcomes, every = np.full((len(table.models), len(asked)), np.nan), np.full(len(asked), -1, dtype=np.int64)
    rows, at = np.unique(places[there], return_inverse=True)
    means, given = np.zeros((len(rows), len(table.models))), np.zeros((len(rows), int(labels.max()) + 2))
    np.add.at(means, at, table.outcomes[:, there].T)
    np.add.at(given, (at, labels[there] + 1), 1)
    outcomes[:, rows], every[rows] = means.T / np.bincount(at), given.argmax(axis=1) - 1
    return Targets(outcomes, every)


def true_labels(plan: Plan) -> Ints:
    """(K,) The labels of the labelled rows; -1 where answers are no labels."""
    rows = plan.rows.population
    return labels_of(rows) if label_names(plan.task) else np.full(len(rows), -1, dtype=np.int64)


def positions_among(places: Ints, asked: Ints, size: int) -> Ints:
    """(K,) where rows stand among some of all: -1 where they are none of these.

    Args:
        places: (K,) where they stand among all.
        asked: (P,) which those some are.
        size: how many all are.

    Example:
        >>> positions_among(np.array([3, 0]), np.array([1, 3]), 4).tolist()
        [1, -1]
    """
    at = np.full(size, -1)
    at[asked] = np.arange(len(asked))
    return np.asarray(at[places])
