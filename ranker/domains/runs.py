"""Runs that were kept, as a table of what models scored on sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from factors.types import Floats
from ranker.domains.values import Set, Values, of_rows
from ranker.errors import UsageError, listed
from ranker.files.columns import Row
from ranker.results.ranking import Ranking

IN_DOMAIN = "in-domain"
"""What the in-domain set of a run is called: a run knows its values, and not its name."""

SAME = 1e-9
"""A value this near to the mean of the rows that a run has kept is their mean."""


def of_runs(runs: Sequence[Ranking]) -> Values:
    """The table of several runs: a set is what a run was about, and has its in-domain values beside it.

    Raises:
        UsageError: a model was measured twice on a set, fewer than two models were measured, or a run is by a metric
            that is no mean over rows.
    """
    if by := next((run for run in runs if run.found.metric), None):
        raise UsageError(
            f"the run on {by.header.ood} is by {by.found.metric}; who leads over sets is told of mean outcomes alone"
        )
    found = of_rows(_rows(runs), percent=False)
    outcomes = {}
    for run in runs:
        one = Set(run.header.ood, run.header.ood, "ood")
        rows = _outcomes(run, found.models)
        if rows is not None and one not in outcomes:
            outcomes[one] = rows
    metrics = dict.fromkeys(run.header.metric for run in runs)
    notes = [f"The runs have several metrics: {listed(metrics)}."] if len(metrics) > 1 else []
    return replace(found, outcomes=outcomes, notes=(*found.notes, *notes))


def _rows(runs: Sequence[Ranking]) -> Iterator[Row]:
    """A row for each model and set of each run."""
    number = 0
    for at, run in enumerate(runs, 1):
        data, name = run.header.provenance.data, run.header.ood
        rows = len(run.table.examples) if data is None else data.rows
        for model in run.found.models:
            cells: list[dict[str, Any]] = [{"set": name, "value": model.outcome, "n": rows, "kind": "ood"}]
            if model.in_domain is not None:
                cells.append({"set": IN_DOMAIN, "value": model.in_domain, "kind": "in-domain"})
            for cell in cells:
                number += 1
                yield Row(f"run {at} of {name}", number, {"model": model.name, "group": name} | cell)


def _outcomes(run: Ranking, models: Sequence[str]) -> Floats | None:
    """(M, N) outcomes on the rows of a run; None where its values are not their means, or one is not known."""
    places = {name: at for at, name in enumerate(run.table.models)}
    values = {model.name: model.outcome for model in run.found.models}
    if set(values) != set(models):
        return None
    rows = run.table.values[[places[name] for name in models], 0]
    means = rows.mean(axis=1)
    return rows if np.allclose(means, [values[name] for name in models], rtol=0, atol=SAME) else None
