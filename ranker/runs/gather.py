"""Gather the inputs of a run: inspect models, read rows, and check once that they fit together."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import NoneType

from factors import Example
from factors.types import Ints
from ranker.datasets.pools import check_ids, check_text_counts, sample_pool, with_labelled
from ranker.datasets.sets import LabelledDataset, sample
from ranker.errors import UnknownName, UsageError, listed
from ranker.files.buckets import local_path
from ranker.limits import LIMITS
from ranker.runs.bundles import bundled_rows
from ranker.runs.inspected import InspectedModels, Models, inspect_models
from ranker.runs.rows import (
    LabelledRows,
    NamedDataset,
    RowsFile,
    UnlabelledRows,
    as_pool,
    check_columns,
    draw_note,
    read_pool_rows,
)
from ranker.scoring.score import check_probe
from ranker.sources.base import ModelInfo
from ranker.sources.logs.options import value_for_task
from ranker.sources.suites import Suite
from ranker.statistics.patterns import ROWS as POOL_ROWS
from ranker.tasks.base import Task
from ranker.tasks.classes import require_labels

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunInputs:
    """Models, and the rows that every one of them is asked about.

    Attributes:
        inspected: the models, with what they say of themselves.
        population: the rows of it that are attributed.
        truth: True if the models are also asked about the whole set, which gives their true order.
        pool: rows, labelled or not, that models only predict; () takes the population.
        places: (K,) positions of the population in the pool; None without a pool.
        in_domain: labelled rows of the domain that the models were trained for; None if there are none.
    """

    inspected: InspectedModels
    ood: LabelledDataset
    population: Sequence[Example]
    truth: bool = False
    pool: Sequence[Example] = ()
    places: Ints | None = None
    in_domain: LabelledDataset | None = None

    @property
    def task(self) -> Task:
        """Task of the rows."""
        return self.ood.task

    @property
    def in_domain_rows(self) -> Sequence[Example]:
        """In-domain rows; () if there are none."""
        return () if self.in_domain is None else self.in_domain.examples

    def judged_by(self, metric: str) -> RunInputs:
        """Return the same with the outcome of that name: see `ranker.tasks.base.Task.judged_by`."""
        in_domain, task = self.in_domain, self.task.judged_by(value_for_task(metric, self.task.name))
        if task is self.task:
            return self
        in_domain = None if in_domain is None else replace(in_domain, task=in_domain.task.judged_by(metric))
        return replace(self, ood=replace(self.ood, task=task), in_domain=in_domain)

    def with_shortcut(self, label: str | None) -> RunInputs:
        """Return the same with a label that a shortcut points to; None for that of the task.

        Raises:
            UnknownName: the task has no such label; LabelError: its answers are no labels.
        """
        if label is None:
            return self
        ood = self.ood
        task = require_labels(ood.task, ood.name)
        index = task.index(label)
        if index is None:
            raise UnknownName(f"label of {task.name}", label, task.labels)
        note = f"The shortcut points to {task.show(index)}, as declared."
        return replace(self, ood=replace(ood, task=replace(task, shortcut=index), notes=(*ood.notes, note)))


def gather_with_truth(
    models: Models,
    examples: LabelledDataset | NamedDataset | str,
    probe: int,
    in_domain: LabelledDataset | RowsFile | None = None,
) -> RunInputs:
    """Gather models and a set whose true labels are known; arguments are as of `rank`.

    Raises:
        UsageError: K does not fit the population, there is no such reference or set, or rows cannot be read.
    """
    dataset = NamedDataset(examples) if isinstance(examples, str) else examples
    ood = dataset.load() if isinstance(dataset, NamedDataset) else dataset
    population = sample(ood, ood.population)
    check_probe(probe, len(population), f"the rows of {ood.name} that are explained")
    return _checked(RunInputs(inspect_models(models), ood, population, truth=True), in_domain)


def gather_without_truth(
    models: Models,
    examples: LabelledRows | None = None,
    pool: UnlabelledRows = (),
    probe: int | None = None,
    in_domain: LabelledDataset | RowsFile | None = None,
    pool_from_unlabelled: bool = False,
) -> RunInputs:
    """Gather models and a few labelled rows of a domain whose true order is not known; arguments are as of `decide`.

    Raises:
        UsageError: K does not fit the rows, single texts are mixed with pairs, rows have clusters beside a pool, or
            labels are numbers that the models count otherwise.
    """
    if not isinstance(examples, (LabelledDataset, RowsFile, NoneType)):
        examples = RowsFile(local_path(examples, "data", LIMITS.file) if isinstance(examples, str) else examples)
    pool_file = as_pool(pool, _texts_of(examples))
    check_columns(examples, pool_file, in_domain)
    inspected = inspect_models(models)
    pool = read_pool_rows(pool_file, isinstance(pool_file, RowsFile) and inspected.precomputed)
    if examples is None:
        examples, own_pool = bundled_rows(inspected, pool_from_unlabelled and not pool)
        pool = pool or own_pool
    all_rows = (
        examples.unlabelled() if pool_from_unlabelled and not pool and not isinstance(examples, LabelledDataset) else ()
    )
    if isinstance(examples, RowsFile):
        examples = examples.labelled(inspected.infos)
    if {row.segments for row in all_rows} - {row.segments for row in examples.examples}:
        pool = all_rows
    if probe is not None:
        check_probe(probe, len(examples.examples), "the labelled rows")
    if pool and any(row.group for row in examples.examples):
        raise UsageError.about("cluster", "is for labelled rows alone, without `pool`")
    if pool and inspected.precomputed:
        check_ids(pool, examples.examples)
    if not pool and any(model.votes_only for model in inspected.unpinned):
        raise UsageError.about("voters", "vote on the rows of a pool, and there is none: `pool`")
    everything, places = with_labelled(pool, examples.examples)
    check_text_counts(everything)
    if pool and len(everything) > len(pool):
        log.warning("%d of the labelled rows are not in the pool; they are added to it", len(everything) - len(pool))
    note = pool_file.draw_note if isinstance(pool_file, RowsFile) else ""
    if pool and len(everything) > POOL_ROWS + len(examples.examples):
        size = len(everything)
        everything, places = sample_pool(everything, places, POOL_ROWS)
        note = draw_note(len(everything), size)
    notes = [*([note] if note else ()), *(pool_file.unread_label_notes() if isinstance(pool_file, RowsFile) else ())]
    examples = replace(examples, notes=(*examples.notes, *notes), unlabelled=0 if pool else examples.unlabelled)
    inputs = RunInputs(
        inspected,
        examples,
        examples.examples[:probe],
        pool=tuple(everything) if pool else (),
        places=places[:probe] if pool else None,
    )
    return _checked(inputs, in_domain)


def _texts_of(examples: LabelledDataset | RowsFile | None) -> Iterator[tuple[str, ...]]:
    """Yield the texts of labelled rows."""
    if isinstance(examples, RowsFile):
        yield from examples.texts()
    elif examples is not None:
        yield from (row.segments for row in examples.examples)


def _checked(inputs: RunInputs, in_domain: LabelledDataset | RowsFile | None) -> RunInputs:
    """Return inputs with in-domain rows, after checking that there are two models or more and numeric labels agree."""
    inspected = inputs.inspected
    _ = Suite(inspected.name, inspected.unpinned)
    if isinstance(in_domain, RowsFile):
        in_domain = replace(in_domain, task=inputs.task, like=None).labelled()
    datasets = [*([] if inputs.truth else [inputs.ood]), *([in_domain] if in_domain else [])]
    if any(dataset.numbers for dataset in datasets):
        check_numbers(datasets, inspected.infos)
    return replace(inputs, in_domain=in_domain)


def check_numbers(datasets: Iterable[LabelledDataset], infos: Iterable[ModelInfo]) -> None:
    """Refuse with a UsageError numeric labels that a model counts in another order than the rows' task."""
    numbered = [rows for rows in datasets if rows.numbers]
    for info in infos if numbered else ():
        names = dict(enumerate(info.labels))
        for rows in numbered:
            task, names_by_number = (
                require_labels(rows.task, info.source.name),
                {n: (label, names[n]) for n, label in rows.numbers.items() if n in names},
            )
            if any(task.index(name) not in (None, label) for label, name in names_by_number.values()):
                in_rows = listed(f"{n} is {task.labels[label]}" for n, (label, _) in names_by_number.items())
                in_model = listed(f"{n} is {name}" for n, (_, name) in names_by_number.items())
                text = (
                    f"the labels of {rows.origin} are numbers: in the task {task.name} {in_rows}, and to "
                    f"{info.source.name} {in_model}; write names instead"
                )
                raise UsageError(text, place=rows.origin)
