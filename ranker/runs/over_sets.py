"""What models do on each of several sets: the task that they share, and every model asked about every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from factors import Example
from factors.types import UNLABELLED, Ints
from ranker.datasets import readings, sets
from ranker.datasets.identity import Texts
from ranker.datasets.readers import Sheet, label_of
from ranker.datasets.sets import OODSet
from ranker.domains.drops import Answers
from ranker.domains.shift import Domain
from ranker.errors import DataError, ModelError, UsageError
from ranker.runs.collect import ask
from ranker.runs.gather import Looked, Models, agreed, check_numbers, looked, said
from ranker.runtime.base import Request
from ranker.runtime.runtime import Runtime
from ranker.tasks.classes import Classes, ClassTask


@dataclass(frozen=True)
class OverSets:
    """What models do on several sets.

    Attributes:
        task: what they do.
        answers: set -> the answers of each model.
        true: (N,) the labels of the rows of the first set, -1 where one has none.
        failures: model -> why it could not be asked.
    """

    task: ClassTask
    answers: Mapping[str, Sequence[Answers]]
    true: Ints
    failures: Mapping[str, str]


def over_sets(
    domains: Sequence[Domain],
    models: Models,
    task: ClassTask | None,
    sheet: Sheet | None,
    runtime: Runtime = Runtime(),
) -> OverSets:
    """Ask every model about every row of several sets.

    Args:
        domains: the sets, the in-domain one first.
        models: one or more.
        task: what they do; None takes the one that the labels and the models fit.
        sheet: the rows whose labels tell the task, where none is named.
        runtime: how they are run, and where their answers are kept.

    Raises:
        UsageError: there is no task that fits; labels that are numbers which the models count otherwise.
        DataError: a row has a label that is none of the task's.
        ModelError: no model could be asked.
    """
    seen = looked(models)
    of = _task(seen, task, sheet)
    try:
        rows = {domain.name: _labelled(domain, of) for domain in domains}
    except DataError as error:
        raise DataError(f"{error}{_hint(domains)}") from error
    check_numbers([_numbered(domain, rows[domain.name], of) for domain in domains], seen.stated)
    requests = [Request(Texts(examples)) for examples in rows.values()]
    told, failures = ask(seen, of, [requests for _ in seen.models], runtime)
    if not told:
        raise ModelError(f"no model could be asked: {next(iter(failures.items()), ('', ''))[1]}")
    answers: dict[str, list[Answers]] = {name: [] for name in rows}
    for model, one in told.items():
        for (name, examples), answer in zip(rows.items(), one.answers, strict=True):
            if answer is not None:
                given = answer.predictions
                predicted = given.predicted if isinstance(given, Classes) else None
                answers[name].append(Answers(model, of.outcomes(given, examples), predicted))
    true = np.array([example.label for example in rows[domains[0].name]], dtype=np.int64)
    return OverSets(of, answers, true, failures)


def _task(seen: Looked, task: ClassTask | None, sheet: Sheet | None) -> ClassTask:
    """What the models do."""
    if task is not None:
        return task
    own = agreed(seen)
    if sheet is not None:
        return sets.task_of(sheet, own, free=seen.at_hand, said=said(seen))
    if own is None:
        raise UsageError(
            f"`task` is needed ({', '.join(sets.tasks(()))}): the models name no labels, or not all the same"
        )
    return sets.known(own)


def _labelled(domain: Domain, task: ClassTask) -> list[Example]:
    """Its rows with their labels, where they have some."""
    found = []
    for example, label in zip(domain.examples, domain.labels, strict=True):
        try:
            number = UNLABELLED if label is None else label_of(label, task)
        except ValueError as error:
            raise DataError(f"{domain.name}: {error}") from error
        found.append(replace(example, label=number))
    return found


def _hint(domains: Sequence[Domain]) -> str:
    """The known task that has the labels of all sets, to be said; "" where there is none."""
    labels = {label for domain in domains for label in domain.labels if label is not None}
    fitting = [name for name, task in sets.tasks(()).items() if all(task.index(label) is not None for label in labels)]
    return f"; the task {fitting[0]} has the labels of all sets: say `task`" if fitting else ""


def _numbered(domain: Domain, rows: Sequence[Example], task: ClassTask) -> OODSet:
    """The set with what its bare numbers were taken for."""
    meant = {label: row.label for label, row in zip(domain.labels, rows, strict=True) if label is not None}
    return OODSet(domain.name, task, tuple(rows), len(rows), origin=domain.name, numbers=readings.numbers(meant, task))
