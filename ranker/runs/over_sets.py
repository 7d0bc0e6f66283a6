"""Ask every model about every row of several sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from factors import Example
from factors.types import Ints
from ranker.datasets import row_notes, sets
from ranker.datasets.identity import Texts
from ranker.datasets.sets import LabelledDataset
from ranker.domains.drops import SetAnswers
from ranker.domains.shift import Domain
from ranker.errors import DataError, ModelError
from ranker.runs.collect import run_models
from ranker.runs.gather import check_numbers
from ranker.runs.inspected import InspectedModels
from ranker.runtime.base import Request
from ranker.runtime.runtime import Runtime
from ranker.tasks.classes import ClassificationTask, are_classes, labels_of


@dataclass(frozen=True)
class SetResponses:
    """Answers of models on several sets.

    Attributes:
        answers: set -> answers of each model.
        true: (N,) labels of the rows of the first set, -1 if unlabelled.
    """

    answers: Mapping[str, Sequence[SetAnswers]]
    true: Ints
    failures: Mapping[str, str]


def over_sets(
    domains: Sequence[Domain], models: InspectedModels, task: ClassificationTask, runtime: Runtime = Runtime()
) -> SetResponses:
    """Ask every model about every row of several sets, the in-domain one first.

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
    answers: dict[str, list[SetAnswers]] = {name: [] for name in rows}
    for model, responses in responses_of.items():
        for (name, examples), answer in zip(rows.items(), responses.answers, strict=True):
            if answer is not None:
                predictions = answer.predictions
                predicted = predictions.predicted if are_classes(predictions) else None
                answers[name].append(SetAnswers(model, task.outcomes(predictions, examples), predicted))
    true = labels_of(rows[domains[0].name])
    return SetResponses(answers, true, failures)


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
