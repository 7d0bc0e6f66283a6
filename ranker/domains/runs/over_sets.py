"""Ask every model about every row of several sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

from factors import Example
from factors.types import Floats
from ranker.datasets import row_notes, sets
from ranker.datasets.identity import Texts
from ranker.datasets.sets import LabelledDataset
from ranker.domains.shift import Domain
from ranker.errors import DataError, ModelError
from ranker.runs.collect import run_models
from ranker.runs.gather import check_numbers
from ranker.runs.inspected import InspectedModels
from ranker.runtime.base import Request
from ranker.runtime.runtime import Runtime
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
