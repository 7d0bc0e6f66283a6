"""What models lose in new domains: their scores on each set, and whether a measure of the shift goes with the loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from factors.types import Floats, Ints
from ranker.results.shift import Correlation, Estimated, Score, Shift
from ranker.statistics import correlation, shift
from ranker.statistics.paired import of_mean, standard_errors

FEW = 8
"""Sets below which a correlation tells nearly nothing."""


@dataclass(frozen=True)
class SetAnswers:
    """One model's answers to the rows of one set.

    Attributes:
        model: its name.
        outcomes: (N,) how good each answer is, from 0 to 1; nan where that is not known.
        predicted: (N,) the label of each, -1 where there is none; None where answers have no labels.
    """

    model: str
    outcomes: Floats
    predicted: Ints | None = None


def with_models(
    found: Shift,
    answers: Mapping[str, Sequence[SetAnswers]],
    metric: str,
    labels: Sequence[str] = (),
    true: Ints | None = None,
    failures: Mapping[str, str] | None = None,
) -> Shift:
    """Put what models do on the sets beside how far these are.

    Args:
        found: how far the sets are.
        answers: set -> the answers of each model.
        metric: what an outcome is.
        labels: (C,) of the task, where answers are labels.
        true: (N,) the labels of the in-domain rows, -1 where one is not known; None where none is.
        failures: model -> why it could not be asked.
    """
    scores = tuple(score for name, some in answers.items() for one in some for score in _scored(name, one))
    known = replace(found, metric=metric, scores=scores, failures=failures or {})
    estimated = () if true is None or not labels else tuple(_estimated(known, answers, labels, true))
    correlations = tuple(_correlations(known))
    few = correlations[0].sets if correlations else FEW
    warning = (
        f"The correlations are over {few} sets; below {FEW} they tell nearly nothing, and of {len(correlations)} "
        "measures the highest flatters."
    )
    notes = (*found.notes, warning) if few < FEW else found.notes
    return replace(known, estimated=estimated, correlations=correlations, notes=notes)


def _scored(domain: str, one: SetAnswers) -> Iterator[Score]:
    there = one.outcomes[~np.isnan(one.outcomes)]
    if len(there) > 1:
        mean, se = float(there.mean()), float(standard_errors(there[None])[0])
        found = of_mean(mean, se, len(there) - 1)
        yield Score(domain, one.model, len(there), mean, found.low, found.high)


def _estimated(
    found: Shift, answers: Mapping[str, Sequence[SetAnswers]], labels: Sequence[str], true: Ints
) -> Iterator[Estimated]:
    """Black-box shift estimation for each model and each new set."""
    own = {one.model: one.predicted for one in answers[found.first] if one.predicted is not None}
    for pair in found.new:
        for one in answers[pair.b]:
            if one.predicted is None or one.model not in own:
                continue
            predicted = own[one.model]
            there, new = (true >= 0) & (predicted >= 0), one.predicted[one.predicted >= 0]
            if not there.any() or not len(new):
                continue
            shifted = shift.black_box_shift(true[there], predicted[there], new, len(labels))
            if shifted is not None:
                shares = np.bincount(true[there], minlength=len(labels)) / there.sum()
                named = dict(zip(labels, shifted.shares.tolist(), strict=True))
                away = float(np.abs(shares - shifted.shares).sum() / 2)
                yield Estimated(pair.b, one.model, named, away, shifted.condition)


def _correlations(found: Shift) -> Iterator[Correlation]:
    """Each measure that differs between the new sets against what the models lose there."""
    drops = {pair.b: drop for pair in found.new if (drop := found.drop(pair.b)) is not None}
    known: dict[str, dict[str, float]] = {}
    summed_up = {domain.name: domain.summaries for domain in found.domains}
    for pair in found.new:
        for one in (*pair.measures, *summed_up[pair.b]):
            if one.value is not None and pair.b in drops:
                known.setdefault(one.name, {})[pair.b] = one.value
    for name, values in known.items():
        if len(values) < 3:
            continue
        first, second = np.array([*values.values()]), np.array([drops[domain] for domain in values])
        r, rho = (of(first, second) for of in (correlation.pearson, correlation.spearman))
        if r.value is not None:  # a measure that is the same for all goes with nothing
            yield Correlation(name, len(values), r.value, r.low, r.high, rho.value, rho.low, rho.high)
