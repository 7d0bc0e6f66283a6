"""Rows that lie in the models' own files, joined into one dataset."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from factors import Example
from ranker.datasets.identity import counted_keys
from ranker.datasets.sets import LabelledDataset
from ranker.errors import Assumption, UsageError, listed
from ranker.runs.inspected import InspectedModels
from ranker.runs.task import check_readable
from ranker.sources.base import BundledRows
from ranker.tasks.base import Task
from ranker.tasks.classes import has_labels, label_names
from ranker.tasks.precomputed import PrecomputedScores, PrecomputedTask, scale_of

OWN_ROWS = "their own rows"
"""Name of a dataset made of the rows of several files that share no name."""


def bundled_rows(
    inspected: InspectedModels, pool_from_unlabelled: bool = False
) -> tuple[LabelledDataset, tuple[Example, ...]]:
    """Read the rows in the models' own files: those with a true label, and all if the others are to be the pool.

    Files share a row if it has the same id; without ids the same texts, else the same position. Rows keep the order of
    the first file that has them.

    Raises:
        UsageError: no file has rows, or files have different metrics, or different right answers to a row.
    """
    by_bundle = {id(info.rows): (info.source.name, info.rows) for info in inspected.infos if info.rows is not None}
    bundles = list(by_bundle.values())  # models of one file share its rows
    if not bundles:
        check_readable(inspected.infos)
        unclear = next((info for info in inspected.infos if info.unclear), None)
        reason = f" ({unclear.unclear})" if unclear else ""
        places = {info.source.place.partition("#")[0] for info in inspected.infos}
        if not reason and len(places) == 1:  # a table with a column for each model
            reason = next(
                (f" ({Path(places.pop()).name}: {info.contents[0]})" for info in inspected.infos if info.contents), ""
            )
        column = ", or `truth=COLUMN`," if any(info.source.precomputed for info in inspected.infos) else ""
        predicate = f"or `ood`{column} is needed: no model brings rows of its own whose truth is known{reason}"
        raise UsageError.about("data", predicate, readings=unclear.readings if unclear else ())
    first_name, first = bundles[0]
    rows: dict[Hashable, Example] = {}
    checks: dict[Hashable, str] = {}
    tasks: dict[Hashable, Task] = {}
    _check_questions(bundles)
    keys_of = _row_keys(bundles)
    for name, bundle in bundles:
        if (bundle.task.metric, type(bundle.task)) != (first.task.metric, type(first.task)):
            metrics = first.task.metric, bundle.task.metric
            text = f"{first_name} is judged by {metrics[0]} and {name} by {metrics[1]}; name one with `metric`"
            reducer = " or `reducer`" if "[" in "".join(metrics) else ""
            raise UsageError(text + reducer, option="metric", allowed=metrics, place=name)
        bundle_checks = bundle.checks or ("",) * len(bundle.examples)
        for key, example, check in zip(keys_of(bundle.examples), bundle.examples, bundle_checks, strict=True):
            if example.numbered_in and key not in rows and bundle is not first:  # another row has its number
                example = replace(example, id=str(len(rows) + 1))
            earlier, first_task = rows.setdefault(key, example), tasks.setdefault(key, bundle.task)
            if check != checks.setdefault(key, check) or _answers_differ(first_task, earlier, bundle.task, example):
                text = f"{first_name} and {name} differ on the right answer to the row {earlier.id[:50]!r}"
                raise UsageError(text, value=earlier.id, place=name)
    _check_labels([(name, bundle.task) for name, bundle in bundles])
    task = _agreed_task([bundle.task for _, bundle in bundles])
    all_examples = tuple(rows.values())
    scored = task.answers == PrecomputedScores.kind  # by the program that wrote them, so that no target is needed
    judged = all_examples if scored else tuple(row for row in all_examples if row.labelled)
    origin = ", ".join(
        dict.fromkeys(info.source.place.partition("#")[0] for info in inspected.infos if info.rows is not None)
    )
    name = task.name if len({bundle.task.name for _, bundle in bundles}) == 1 else OWN_ROWS
    notes = [*_question_notes(bundles), *_prompt_notes(bundles)]
    unjudged = len(all_examples) - len(judged)
    if unjudged and not pool_from_unlabelled:
        has, are, pronoun = ("has", "is", "it") if unjudged == 1 else ("have", "are", "them")
        left_out = f"{unjudged:,} of {len(all_examples):,} rows {has} no true label, and {are} left out"
        notes.append(Assumption(f"{left_out}; `pool_from_unlabelled` takes {pronoun} as the pool."))
    ood = LabelledDataset(name, task, judged, len(judged), origin=origin, notes=tuple(notes), unlabelled=unjudged)
    return ood, all_examples if unjudged and pool_from_unlabelled else ()


def _row_keys(bundles: Sequence[tuple[str, BundledRows]]) -> Callable[[Sequence[Example]], Iterator[Hashable]]:
    """Choose the key that identifies rows across files: id, else texts if a file has no ids, else position."""
    if not any(row.numbered_in for _, bundle in bundles for row in bundle.examples):
        return lambda rows: (row.id for row in rows)
    if all(any(row.segments) for _, bundle in bundles for row in bundle.examples):
        return lambda rows: counted_keys(row.segments for row in rows)
    sizes = {name: len(bundle.examples) for name, bundle in bundles}
    if len({*sizes.values()}) > 1:
        sizes_text = listed(f"{name} has {size:,} rows" for name, size in sizes.items())
        raise UsageError(f"which rows are the same cannot be told without ids or texts: {sizes_text}", option="id")
    return lambda rows: iter(range(len(rows)))


def _prompt_notes(bundles: Sequence[tuple[str, BundledRows]]) -> Iterator[str]:
    """Name the files with rows whose prompt differs from that in the first file that has them."""
    first: dict[str, tuple[str, str]] = {}
    alike: dict[tuple[str, int, int], list[str]] = {}
    for name, bundle in bundles:
        prompts = [(row.id, prompt) for row, prompt in zip(bundle.examples, bundle.prompts, strict=False) if prompt]
        owner_prompts = [(prompt, *first.setdefault(row, (prompt, name))) for row, prompt in prompts]
        owners = [owner for prompt, before, owner in owner_prompts if prompt != before]
        if owners:
            alike.setdefault((listed(dict.fromkeys(owners)), len(owners), len(prompts)), []).append(name)
    for (owner_names, count, rows), names in alike.items():
        yield (
            f"{listed(names)}: {count} of {rows} rows were asked in another way than in {owner_names} (prompt, number "
            "of shots, order of choices, solver or arguments of the task), so more than the models may differ."
        )


def _differing_questions(
    bundles: Sequence[tuple[str, BundledRows]],
) -> Iterator[tuple[str, BundledRows, str, list[str]]]:
    """Yield (file, its rows, first file, ids) for files with another question under an id that an earlier file has."""
    first: dict[str, tuple[str, str]] = {}
    for name, bundle in bundles:
        questions = [
            (row.id, question) for row, question in zip(bundle.examples, bundle.questions, strict=False) if question
        ]
        ids = [row for row, question in questions if first.setdefault(row, (question, name))[0] != question]
        if ids:
            yield name, bundle, first[ids[0]][1], ids


def _check_questions(bundles: Sequence[tuple[str, BundledRows]]) -> None:
    """Refuse files whose ids are positions, with different questions under one id."""
    for name, bundle, owner, ids in _differing_questions(bundles):
        if bundle.numbered:
            others_text = f", and under {len(ids) - 1:,} more" if ids[1:] else ""
            text = (
                f"{owner} and {name} ask different questions under the id {ids[0][:50]!r}{others_text}: their ids are "
                "mere positions, in data of another order or of other rows"
            )
            raise UsageError(text, value=ids[0], place=name)


def _question_notes(bundles: Sequence[tuple[str, BundledRows]]) -> Iterator[str]:
    """Name the files with another question under the ids of an earlier file."""
    for name, bundle, owner, ids in _differing_questions(bundles):
        differing = (
            f"{len(ids):,} of {len(bundle.examples):,} rows ask another question than in {owner}, under the same ids"
        )
        yield Assumption(f"{name}: {differing}: if these are other rows, the comparison means nothing.")


def _answers_differ(first_task: Task, first_example: Example, task: Task, example: Example) -> bool:
    """Return True if two files give different right answers to a row; labels are compared by name, in any order."""
    if not (first_example.labelled and example.labelled):
        return False
    if {*label_names(first_task)} == {*label_names(task)}:
        return first_task.show(first_example.target) != task.show(example.target)
    return bool(first_example.target != example.target)


def _check_labels(named_tasks: Sequence[tuple[str, Task]]) -> None:
    """Refuse files with different labels, since the same number would mean different things."""
    first_name, first_task = named_tasks[0]
    for name, task in named_tasks:
        if has_labels(task) and task.labels != label_names(first_task):
            both_labels = (
                f"{first_name} has the labels {listed(label_names(first_task))} and {name} {listed(task.labels)}"
            )
            raise UsageError(f"{both_labels}; put the rows into a file of their own: `data`", option="data", place=name)


def _agreed_task(tasks: Sequence[Task]) -> Task:
    """Return the task of several files: the first; judged answers keep labels only if all files name the same."""
    first = tasks[0]
    if not has_labels(first) and any(label_names(later) != label_names(first) for later in tasks):
        return PrecomputedTask(first.name, first.metric, scale=scale_of(first))
    return first
