"""Combine decisions by a few labelled rows on several sets into one about the models' means over these sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factors.rounding import level
from factors.types import Floats
from ranker.domains.results.over_sets import OnAverage
from ranker.results.choice import Choice, choose_by
from ranker.results.decision import Decision
from ranker.results.ranking import Ranking
from ranker.statistics import on_average, posterior, rows
from ranker.statistics.draws import Draws, mean_of, sample_count
from ranker.statistics.rows import RowEvidence


def decide_on_average(
    runs: Sequence[Ranking], names: Sequence[str], rope: float, rng: np.random.Generator
) -> tuple[OnAverage, Choice] | None:
    """Return which model is best on average, how sure that is, which sets the next labels go to, and what to take.

    A decision by labelled rows alone has its mean outcomes drawn as it draws them itself. One with a pool, or by a
    metric that is no mean, has its values drawn from a normal distribution with its intervals and probabilities.

    Args:
        runs: one for each set.
        names: (M,) the models, in order.

    Returns:
        None if a run is no decision, lacks a model or an interval, or if there is only one run.
    """
    decisions = [run.decided for run in runs if run.decided and set(names) <= set(run.decided.names)]
    if len(decisions) < len(runs) or len(runs) < 2:
        return None
    parts = zip(runs, decisions, rng.spawn(len(runs)), strict=True)
    drawn = [_belief(run, decision, names, run_rng) for run, decision, run_rng in parts]
    if not all(np.isfinite(belief.values).all() for belief in drawn):
        return None
    labels = {run.header.ood: len(run.table.examples) for run in runs}
    average = mean_of(drawn)
    beats, best, near = average.beats(), average.best(), average.near(rope)
    first, second = (int(index) for index in np.argsort(-level(best), kind="stable")[:2])
    shared = on_average.next_labels(drawn, np.array(list(labels.values())), first, second)
    belief = OnAverage(
        labels=labels,
        p_best=dict(zip(names, map(float, best), strict=True)),
        p_near_best=dict(zip(names, map(float, near), strict=True)),
        p_beats=tuple(tuple(map(float, row)) for row in beats),
        level=posterior.LEVEL,
        groups=tuple(tuple(names[index] for index in group) for group in average.groups(posterior.LEVEL)),
        first=names[first],
        second=names[second],
        next_labels=dict(zip(labels, map(int, shared), strict=True)),
    )
    return belief, choose_by(average, names, rope)


def _belief(run: Ranking, decision: Decision, names: Sequence[str], rng: np.random.Generator) -> Draws:
    """Return what is believed of mean outcomes, or of values of the metric, on one set."""
    if decision.kind != "pool" and not decision.metric:
        places = [run.table.models.index(name) for name in names]
        outcomes = run.table.outcomes[places]
        return rows.draw(RowEvidence.of_means(outcomes[:, ~np.isnan(outcomes).any(axis=0)]), rng)
    return on_average.normal_draws(*normal_beliefs(decision, names), rng, sample_count(len(names)))


def normal_beliefs(decision: Decision, names: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """Return a decision's beliefs as a normal distribution has them.

    Args:
        decision: the decision.
        names: (M,) models of it, in any order.

    Returns:
        (M,) the middle of each interval, (M,) a standard error of that width, nan where it is unknown, and (M, M)
        P(the row's model is better than the column's).
    """
    order = [decision.names.index(name) for name in names]
    ends = [[getattr(decision.models[index], end) for index in order] for end in ("low", "high")]
    low, high = np.array(ends, dtype=np.float64)  # None is nan
    return (low + high) / 2, (high - low) / on_average.INTERVAL_WIDTH, np.array(decision.p_beats)[np.ix_(order, order)]
