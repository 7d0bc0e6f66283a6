"""Relate what models lose in new domains to the measures of the shift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from factors.types import Floats
from ranker.domains.measures import correlate, warnings_of
from ranker.domains.results.shift import Correlation, Score, Shift
from ranker.statistics.paired import of_mean, standard_errors


def add_model_scores(
    distances: Shift, outcomes: Mapping[str, Mapping[str, Floats]], metric: str, failures: Mapping[str, str]
) -> Shift:
    """Add the models' scores on the sets to the distances between these sets.

    Args:
        outcomes: set -> model -> (N,) how good each answer is, from 0 to 1; nan where unknown.
        failures: model -> why it could not be run.
    """
    scores = tuple(
        score
        for name, of_models in outcomes.items()
        for model, of_rows in of_models.items()
        for score in _scored(name, model, of_rows[~np.isnan(of_rows)])
    )
    scored = replace(distances, metric=metric, scores=scores, failures=failures)
    correlations = tuple(_correlations(scored))
    return replace(scored, correlations=correlations, notes=(*distances.notes, *warnings_of(correlations)))


def _scored(domain: str, model: str, outcomes: Floats) -> Iterator[Score]:
    if len(outcomes) > 1:
        mean, se = float(outcomes.mean()), float(standard_errors(outcomes[None])[0])
        interval = of_mean(mean, se, len(outcomes) - 1)
        yield Score(domain, model, len(outcomes), mean, interval.low, interval.high)


def _correlations(distances: Shift) -> Iterator[Correlation]:
    """Correlate each measure that differs between the new sets with the models' losses there."""
    drops = {pair.b: drop for pair in distances.new if (drop := distances.drop(pair.b)) is not None}
    values_by_measure: dict[str, dict[str, float]] = {}
    summed_up = {domain.name: domain.summaries for domain in distances.domains}
    for pair in distances.new:
        for measure in (*pair.measures, *summed_up[pair.b]):
            if measure.value is not None and pair.b in drops:
                values_by_measure.setdefault(measure.name, {})[pair.b] = measure.value
    return correlate(values_by_measure, drops, "drop")
