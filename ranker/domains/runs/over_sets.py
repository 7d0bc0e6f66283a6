"""Ask every model about every row of several sets, and relate what they lose to the measures of the shift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np

from factors import Example
from factors.types import Floats
from ranker.datasets import row_notes, sets
from ranker.datasets.identity import Texts
from ranker.datasets.sets import LabelledDataset
from ranker.domains.measures import correlate, warnings_of
from ranker.domains.results.shift import Correlation, Score, Shift
from ranker.domains.shift import Domain
from ranker.errors import DataError, ModelError
from ranker.runs.collect import run_models
from ranker.runs.gather import check_numbers
from ranker.runs.inspected import InspectedModels
from ranker.runtime.base import Request
from ranker.runtime.runtime import Runtime
from ranker.statistics.paired import of_mean, standard_errors
from ranker.tasks.classes import ClassificationTask


def over_sets(
    domains: Sequence[Domain], models: InspectedModels, task: ClassificationTask, runtime: Runtime = Runtime()
) -> tuple[dict[str, dict[str, Floats]], Mapping[str, str]]:
    """Ask every model about every row of several sets.

    Args:
        domains: the sets, the in-domain one first.
        runtime: how models run, and where answers are stored.

    Returns:
        Set -> model -> (N,) outcomes, nan where a row has no label; and model -> why it could not be asked.

    Raises:
        DataError: a row has a label outside the task.
        ModelError: no model could be asked.
    """
    try:
        rows = {
            domain.name: sets.with_labels(domain.examples, domain.labels, repeat(domain.name), task)
            for domain in domains
        }
    except DataError as error:
        text = f"{error}{_hint(domains)}"
        raise DataError(
            text, option=error.option, value=error.value, allowed=error.allowed, place=error.place
        ) from error
    check_numbers([_numbered(domain, rows[domain.name], task) for domain in domains], models.infos)
    requests = [Request(Texts(examples)) for examples in rows.values()]
    responses_of, failures = run_models(models, task, [requests for _ in models.models], runtime)
    if not responses_of:
        name, reason = next(iter(failures.items()), ("", ""))
        raise ModelError(f"no model could be asked: {reason}", place=name)
    outcomes: dict[str, dict[str, Floats]] = {name: {} for name in rows}
    for model, responses in responses_of.items():
        for (name, examples), answer in zip(rows.items(), responses.answers, strict=True):
            if answer is not None:
                outcomes[name][model] = task.outcomes(answer.predictions, examples)
    return outcomes, failures


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


def _hint(domains: Sequence[Domain]) -> str:
    """Return advice to name the known task that has the labels of all sets; "" if there is none."""
    labels = {label for domain in domains for label in domain.labels if label is not None}
    fitting = [name for name, task in sets.tasks(()).items() if all(task.index(label) is not None for label in labels)]
    return f"; the task {fitting[0]} has the labels of all sets: say `task`" if fitting else ""


def _numbered(domain: Domain, rows: Sequence[Example], task: ClassificationTask) -> LabelledDataset:
    """Return the set, with the labels that its numbers were read as."""
    targets_by_label = {label: row.target for label, row in zip(domain.labels, rows, strict=True) if label is not None}
    return LabelledDataset(
        domain.name,
        task,
        tuple(rows),
        len(rows),
        origin=domain.name,
        numbers=row_notes.read_numbers(targets_by_label, task),
    )
