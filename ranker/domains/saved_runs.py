"""Tables of values made from saved runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from factors.types import Floats
from ranker.domains.decided import normal_beliefs
from ranker.domains.values import Set, Values, values_of_rows
from ranker.errors import UsageError, listed
from ranker.files.columns import Row
from ranker.results.decision import Decision
from ranker.results.ranking import Ranking

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
