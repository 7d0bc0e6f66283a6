"""Embedded suites in several trainings: how far each designed factor is from accuracy, and how much a training decides.

One training says little: trained again, a suite has other models, and the distance of its factor from accuracy moves by
many points. So each claim is about trainings, too, and not only about rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from ranker import rank
from ranker.datasets import sets
from ranker.report import csv
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.sources import suites

PROBES = (5, 10, 20)
"""K: sizes of probes for which the paper calls the results similar."""

Z95 = 1.96
"""Half a 95 % interval, in standard errors."""


@dataclass(frozen=True)
class Distance:
    """Distance of a designed factor from accuracy in one training.

    Attributes:
        set: OOD set.
        attribution: backend.
        factor: factor designed for the set.
        probe: K.
        training: number of the training, from 1; the first is that of the embedded suite.
        pairwise, accuracy: pairwise accuracy of the factor and of ACC, fractions.
        difference, low, high: the factor's minus that of ACC, with its 95 % interval over rows.
    """

    set: str
    attribution: str
    factor: str
    probe: int
    training: int
    pairwise: float
    accuracy: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class MeanDistance:
    """Distance over several trainings.

    Attributes:
        set, attribution, factor, probe: see `Distance`.
        trainings: their number.
        difference: mean over trainings.
        low, high: 95 % interval over trainings and rows; None for one training.
        least, most: over trainings.
    """

    set: str
    attribution: str
    factor: str
    probe: int
    trainings: int
    difference: float
    low: float | None
    high: float | None
    least: float
    most: float


def distances(
    suite: Path, training: int, attributions: Sequence[str], runtime: Runtime, population: int | None = None
) -> Iterator[Distance]:
    """Yield the distances of the factors designed for the sets of a suite, by each backend and for each K.

    Args:
        suite: folder with a suite.json.
        training: its number.
        attributions: backends.
        runtime: how models run, and where answers are stored.
        population: rows that are attributed; None for as many as the set's card says.
    """
    models = suites.load([str(suite)])
    for name in [name for name, card in sets.cards().items() if card.designed and f"{name}-mini" == suite.name]:
        rows = sets.load(name)
        rows = replace(rows, population=population or rows.population)
        for attribution in attributions:
            for probe in PROBES:
                evidence = Evidence(attribution, methods=())
                evaluation = rank(models, rows, probe=probe, evidence=evidence, runtime=runtime).evaluation
                designed = next(method for method in evaluation.methods if method.designed)
                yield Distance(
                    *(name, attribution, designed.name, probe, training),
                    pairwise=designed.pairwise_accuracy,
                    accuracy=evaluation.method("ACC").pairwise_accuracy,
                    difference=designed.difference,
                    low=designed.difference_low,
                    high=designed.difference_high,
                )


def means(measured: Iterable[Distance]) -> Iterator[MeanDistance]:
    """Average distances over trainings.

    The rows are the same in all trainings, so their noise is not averaged away: the variance of a mean is that between
    trainings over their number, and the mean variance over rows. The interval is Student's, with a degree of freedom
    less than there are trainings.
    """
    from scipy.stats import t

    def case(distance: Distance) -> tuple[str, str, str, int]:
        return distance.set, distance.attribution, distance.factor, distance.probe

    for key, cases in groupby(sorted(measured, key=astuple), key=case):
        of_case = list(cases)
        differences = np.array([distance.difference for distance in of_case])
        count, mean, low, high = len(of_case), float(differences.mean()), None, None
        if count > 1:
            of_rows = np.mean([((distance.high - distance.low) / (2 * Z95)) ** 2 for distance in of_case])
            half = float(t.ppf(0.975, count - 1) * np.sqrt(differences.var(ddof=1) / count + of_rows))
            low, high = mean - half, mean + half
        yield MeanDistance(*key, count, mean, low, high, float(differences.min()), float(differences.max()))


def written(rows: Sequence[Distance] | Sequence[MeanDistance]) -> str:
    """Return rows as CSV; differences and accuracies are percentages with two digits."""
    cells = [{field.name: getattr(row, field.name) for field in fields(row)} for row in rows]
    return csv.to_csv(
        [
            {name: round(100 * value, 2) if isinstance(value, float) else value for name, value in row.items()}
            for row in cells
        ]
    )
