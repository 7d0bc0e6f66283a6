"""Saved runs on several sets: a table of their values, and one decision about the models' means over these sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from factors.rounding import level
from factors.types import Floats
from ranker.domains.results.over_sets import OnAverage
from ranker.domains.values import Set, Values, values_of_rows
from ranker.errors import UsageError, listed
from ranker.files.columns import Row
from ranker.results.choice import Choice, choose_by
from ranker.results.decision import Decision
from ranker.results.ranking import Ranking
from ranker.statistics import on_average, posterior
from ranker.statistics.draws import Draws, mean_of, sample_count
from ranker.statistics.rows import RowEvidence, draw

IN_DOMAIN = "in-domain"
"""Name of the in-domain set of a run, since a run stores its values but not its name."""

SAME = 1e-9
"""Tolerance within which a value counts as the mean of the rows that a run stores."""


def values_of_runs(runs: Sequence[Ranking]) -> Values:
    """Build the table of several runs: each run gives a set and its in-domain values.

    Raises:
        UsageError: a model was measured twice on a set, fewer than two models were measured, or less of a run's metric
            is better.
    """
    if by := next((run for run in runs if run.decided and run.decided.lower_is_better), None):
        text = f"the run on {by.header.ood} is by {by.found.metric}: errors have no scale that sets share"
        raise UsageError(text, option="metric", value=by.found.metric, place=by.header.ood)
    values = values_of_rows(_rows(runs), percent=False)
    outcomes, beats = {}, {}
    for run in runs:
        ood_set = Set(run.header.ood, run.header.ood, "ood")
        rows = _outcomes(run, values.models)
        if rows is not None and ood_set not in outcomes:
            outcomes[ood_set] = rows
        if run.found.metric and run.decided and set(values.models) == set(run.decided.names):
            beats[ood_set] = normal_beliefs(run.decided, values.models)[2]
    metrics = dict.fromkeys(run.header.metric for run in runs)
    notes = [f"The runs have several metrics: {listed(metrics)}."] if len(metrics) > 1 else []
    if not notes and runs[0].found.metric:
        notes = [f"The values are those of {runs[0].found.metric}, in percent."]
    return replace(values, outcomes=outcomes, beats=beats, notes=(*values.notes, *notes))


def _rows(runs: Sequence[Ranking]) -> Iterator[Row]:
    """Yield a row for each model and set of each run."""
    number = 0
    for index, run in enumerate(runs, 1):
        stated_rows, name = run.header.provenance.data, run.header.ood
        rows = len(run.table.examples) if stated_rows is None else stated_rows.rows
        errors = _errors(run.decided) if run.decided else {}
        for model in run.found.models:
            spread = errors.get(model.name, {}) if run.found.metric else {"n": rows}
            cells: list[dict[str, Any]] = [{"set": name, "value": model.outcome, "kind": "ood", **spread}]
            if model.in_domain is not None:
                cells.append({"set": IN_DOMAIN, "value": model.in_domain, "kind": "in-domain"})
            for cell in cells:
                number += 1
                yield Row(f"run {index} of {name}", number, {"model": model.name, "group": name} | cell)


def _errors(decision: Decision) -> Mapping[str, Mapping[str, float]]:
    """Return model -> the cell of its standard error; none where its interval is unknown."""
    of_models = zip(decision.names, normal_beliefs(decision, decision.names)[1].tolist(), strict=True)
    return {name: {"se": error} for name, error in of_models if np.isfinite(error)}


def _outcomes(run: Ranking, models: Sequence[str]) -> Floats | None:
    """Return (M, N) outcomes on a run's rows; None if its values are not their means, or one is unknown."""
    places = {name: index for index, name in enumerate(run.table.models)}
    values = {model.name: model.outcome for model in run.found.models}
    if set(values) != set(models):
        return None
    rows = run.table.values[[places[name] for name in models], 0]
    means = rows.mean(axis=1)
    return rows if np.allclose(means, [values[name] for name in models], rtol=0, atol=SAME) else None


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
        return draw(RowEvidence.of_means(outcomes[:, ~np.isnan(outcomes).any(axis=0)]), rng)
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
