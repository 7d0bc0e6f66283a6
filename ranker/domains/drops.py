"""Relate what models lose in new domains to the measures of the shift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from factors.types import Floats, Ints
from ranker.domains.measures import correlate, warnings_of
from ranker.results.shift import Correlation, LabelShiftEstimate, Score, Shift
from ranker.statistics import shift
from ranker.statistics.paired import of_mean, standard_errors


@dataclass(frozen=True)
class SetAnswers:
    """A model's answers to the rows of a set.

    Attributes:
        model: its name.
        outcomes: (N,) how good each answer is, from 0 to 1; nan where unknown.
        predicted: (N,) the label of each, -1 where there is none; None where answers have no labels.
    """

    model: str
    outcomes: Floats
    predicted: Ints | None = None


def add_model_scores(
    distances: Shift,
    answers: Mapping[str, Sequence[SetAnswers]],
    metric: str,
    labels: Sequence[str] = (),
    true: Ints | None = None,
    failures: Mapping[str, str] | None = None,
) -> Shift:
    """Add the models' scores on the sets to the distances between these sets.

    Args:
        distances: between the sets.
        answers: set -> the answers of each model.
        metric: of the outcomes.
        labels: (C,) of the task, if answers are labels.
        true: (N,) the labels of the in-domain rows, -1 where unknown; None if all are.
        failures: model -> why it could not be run.
    """
    scores = tuple(score for name, rows in answers.items() for model in rows for score in _scored(name, model))
    scored = replace(distances, metric=metric, scores=scores, failures=failures or {})
    estimated = () if true is None or not labels else tuple(_estimated(scored, answers, labels, true))
    correlations = tuple(_correlations(scored))
    notes = (*distances.notes, *warnings_of(correlations))
    return replace(scored, estimated=estimated, correlations=correlations, notes=notes)


def _scored(domain: str, answers: SetAnswers) -> Iterator[Score]:
    outcomes = answers.outcomes[~np.isnan(answers.outcomes)]
    if len(outcomes) > 1:
        mean, se = float(outcomes.mean()), float(standard_errors(outcomes[None])[0])
        interval = of_mean(mean, se, len(outcomes) - 1)
        yield Score(domain, answers.model, len(outcomes), mean, interval.low, interval.high)


def _estimated(
    distances: Shift, answers: Mapping[str, Sequence[SetAnswers]], labels: Sequence[str], true: Ints
) -> Iterator[LabelShiftEstimate]:
    """Estimate the label shift of each new set by each model (black-box shift estimation)."""
    in_domain = {model.model: model.predicted for model in answers[distances.first] if model.predicted is not None}
    for pair in distances.new:
        for model in answers[pair.b]:
            if model.predicted is None or model.model not in in_domain:
                continue
            predicted = in_domain[model.model]
            labelled, new = (true >= 0) & (predicted >= 0), model.predicted[model.predicted >= 0]
            if not labelled.any() or not len(new):
                continue
            shifted = shift.black_box_shift(true[labelled], predicted[labelled], new, len(labels))
            if shifted is not None:
                shares = np.bincount(true[labelled], minlength=len(labels)) / labelled.sum()
                estimated_shares = dict(zip(labels, shifted.shares.tolist(), strict=True))
                away = float(np.abs(shares - shifted.shares).sum() / 2)
                yield LabelShiftEstimate(pair.b, model.model, estimated_shares, away, shifted.condition)


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
