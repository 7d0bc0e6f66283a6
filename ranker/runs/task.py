"""Decide the task, for all commands: from what the user named, the labels in the rows, and those of the models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from factors import Example
from ranker.datasets import row_notes, sets
from ranker.datasets.cards import Card
from ranker.datasets.mapping import candidate_label_maps, check_spellings, label_disagreement, label_mismatch, number_in
from ranker.datasets.readers import Sheet, raw_labels
from ranker.errors import Assumption, DataError, FileReading, ModelError, Question, UsageError, listed, look_up
from ranker.sources.base import ModelInfo
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassificationTask, has_labels
from ranker.tasks.empty import empty_word_question, unlabelled_words
from ranker.tasks.named import known_tasks, task_class, value_task
from ranker.tasks.names import NameIndex, fold, is_number, number_of, with_numbers
from ranker.tasks.text_scores import Score
from ranker.tasks.texts import TextTask
from ranker.tasks.values import ValueTask, has_values

SHARED = "own labels"
"""Name of a task made of the models' own labels."""

MAX_COMPARED_LABELS = 20
"""Limit on the row labels that a message compares with the models'; a column with more is probably the wrong one."""

CARD = "a card and `include=DIR`, see docs/own-set.md"
"""Advice on how to define a task that no set has."""

ANY_LABELS = "for labels of your own take `prompts labels`, or a prompt file that has `verbalizers` for them"
"""Advice on how to ask a language model for labels that no set has."""


@dataclass(frozen=True)
class NamedTask:
    """Options that name the task.

    Attributes:
        task: the task, or the name of a known one; None if not named.
        like: an OOD set with the same task; None if not named.
        include: folders of the user's own sets, whose tasks are known as well.
        scale: worst and best number, for tasks whose answers are numbers; None if not stated.
        separator, threshold: of label sets; None if not stated.

    Example:
        >>> NamedTask("NLI").lookup().labels, NamedTask().lookup()
        (('non-entailment', 'entailment'), None)
    """

    task: Task | str | None = None
    like: str | None = None
    include: tuple[str | Path, ...] = ()
    scale: tuple[float, float] | None = None
    separator: str | None = None
    threshold: float | None = None

    @property
    def card(self) -> Card | None:
        """Card of the OOD set."""
        return None if self.like is None else sets.find_card(self.like, self.include)

    def lookup(self) -> Task | None:
        """Look up the task; None if none is named. Raises a UsageError: no such task, or the set has another."""
        card, task = self.card, self.task
        of_sets = {"separator": self.separator, "threshold": self.threshold}
        if task is None and (unread := next((name for name, value in of_sets.items() if value is not None), "")):
            raise UsageError.about(unread, "is for sets of labels: name them by `task=label-sets`", of_sets[unread])
        of_set = None if card is None else card.task
        if isinstance(task, str):
            of_labels = sets.tasks(self.include) | ({of_set.name: of_set} if of_set else {})
            of_values = value_task(task, scale=self.scale, **of_sets)
            task = of_values or look_up("task", task, of_labels | dict.fromkeys(known_tasks()))
        if card is not None and task not in (None, of_set):
            predicate = f"{task.name} is not that of {card.name}, which is {card.task.name}"
            raise UsageError.about("task", predicate, task.name, allowed=(card.task.name,))
        return task or of_set


def takes_values(task: str | None) -> bool:
    """Return whether a task of that name has answers that only it can parse, such as tags or texts.

    Example:
        >>> takes_values("tags"), takes_values("nli"), takes_values(None)
        (True, False, False)
    """
    return task is not None and task.casefold() in known_tasks()


def label_metric(task: str | None) -> str:
    """Return the metric of a labelling session of a task that names none; "" for the outcome.

    Example:
        >>> label_metric("ranking"), label_metric("text")
        ('ndcg@10:judged', '')
    """
    class_of_task = None if task is None else task_class(task)
    return "" if class_of_task is None else class_of_task.label_metric


def kinds_of_values() -> dict[str, type[ValueTask]]:
    """Return the tasks whose answers are no labels, those of packages too: name -> class."""
    return {name: kind for name in known_tasks() if (kind := task_class(name)) is not None}


def task_of_texts(score: Score) -> Task:
    """Return the task of texts whose outcome is a function of the user's own: (answer, reference) -> score."""
    return TextTask("text", score)


def decide_task(choice: NamedTask = NamedTask(), rows: Sheet | None = None, infos: Sequence[ModelInfo] = ()) -> Task:
    """Decide the task; the first rule that applies counts.

    1. The user named it: a task, or an OOD set that has one.
    2. The models' own labels, if the rows have no others: three-way models judge three-way rows three ways. A task
       with the same labels replaces them, since it has their aliases and the shortcut's label.
    3. The only known task that all labels of the rows fit.
    4. The rows' own labels, if all models are files of answers, or prompts for any labels, and the labels are no
       numbers that count them. Of files it comes before 3 if the rows have more labels than the known task, and no
       model names labels, or they name those of the rows, and junk.

    Otherwise the error says in one line what to name. If the rows' file states which labels numbers stand for, they
    stand for these in files of answers, too.

    Args:
        rows: the rows with their labels as written, if any; rows without a label do not count.

    Raises:
        UsageError: there is no such task or set, models differ in their labels, or the labels fit no single task.
        DataError: no known task has a label of the rows.
        ModelError: no task is named, and no model can be read.

    Example:
        >>> from ranker.datasets.readers import read_sheet
        >>> decide_task(rows=read_sheet([{"text": "It rang.", "label": "paraphrase"}])).name
        'paraphrase'
    """
    task = choice.lookup() or _infer_task(choice, rows, infos)
    if has_values(task):
        column = None if rows is None else rows.layout.label
        cells = (row.cells.get(column) for row in rows.rows) if rows is not None and column else ()
        return task.fitted(
            (cell for cell in cells if cell is not None), (name for info in infos for name in info.outputs)
        )
    if rows is not None and has_labels(task):
        check_common_labels(task, rows, infos)
    stated = rows.layout.numbers if rows is not None else ()
    return replace(task, numbers=stated) if stated and has_labels(task) else task


def _infer_task(choice: NamedTask, rows: Sheet | None, infos: Sequence[ModelInfo]) -> Task:
    """Return the task that rows and models tell; see `decide_task`."""
    check_readable(infos)
    if infos and all(info.unclear and not info.source.precomputed for info in infos):
        names = tuple(known_tasks())
        text = f"`task=NAME` is needed ({listed(names)}): {infos[0].unclear}"
        raise UsageError(text, option="task", allowed=names)
    tasks = sets.tasks(choice.include)
    shared = _shared_labels(infos)
    model_task = (
        None if shared is None else next((task for task in tasks.values() if _same_labels(task, shared)), shared)
    )
    labels = () if rows is None else tuple(dict.fromkeys(filter(None, raw_labels(rows))))
    unlisted = [label for label in labels if model_task is None or model_task.index(label) is None]
    signed = any((number_in(label) or 0) < 0 for label in labels)  # -1, 0 and 1 are names, not indices
    numbers = [number for label in unlisted if not signed and (number := number_of(label)) is not None]
    if model_task is not None and _fits(model_task, labels) and (not numbers or _counts(model_task, numbers)):
        return model_task
    if model_task is not None and rows is not None and not model_task.counted and len(numbers) == len(labels) > 1:
        outputs = model_task.labels
        if sorted(numbers) == [*range(len(outputs))] and not any(map(is_number, outputs)):
            raise Question.at(rows.origin, label_mismatch(labels, outputs), option="label_map", allowed=outputs)
    differ = "" if shared else label_disagreement({info.source.name: info.labels for info in infos})
    fitting = [task for task in tasks.values() if labels and _fits(task, labels)]
    names = tuple(sorted(labels, key=lambda label: (fold(label), label)))
    in_files = bool(infos) and all(info.source.precomputed for info in infos)
    model_names = {label for info in infos for label in info.labels}
    shared_names = {*labels} <= model_names or (in_files and all(map(is_number, model_names)))
    positions = bool(numbers) and not shared_names and max(numbers) < len(labels)  # larger numbers are names
    by_name = [task for task in fitting if not shared_names or all(task.index(label) is not None for label in labels)]
    asked_for_any = bool(infos) and all(getattr(info.source, "takes_any_labels", False) for info in infos)
    if rows is not None and len(names) > 1 and not positions and (in_files or asked_for_any):
        unnamed = not differ and (model_task is None or all(number_in(name) is not None for name in model_task.labels))
        unmerged = unnamed or _name_the_same(names, model_names, by_name)
        if not by_name or (in_files and unmerged and len(names) > max(len(task.labels) for task in by_name)):
            check_spellings(rows.origin, repr(rows.layout.label), names)
            return ClassificationTask(Path(rows.origin).stem, names, ordered=False)
    if len(fitting) == 1:
        return fitting[0]
    if differ:
        raise UsageError(differ, option="label_map")
    if rows is None or not labels:
        choices = tuple(tasks)
        reason = "the models name no labels, or not all the same"
        hint = "; or say with `label_map` what their outputs mean" if any(info.outputs for info in infos) else ""
        text = f"`task=NAME` is needed ({listed(choices)}): {reason}{hint}"
        raise UsageError(text, option="task", allowed=choices)
    if fitting:
        task_names = tuple(task.name for task in fitting)
        hint = "; or write names instead of numbers" if numbers else ""
        hint += next((f"; {info.unclear}" for info in infos if info.unclear), "")
        text = f"`task=NAME` is needed: the labels of {rows.origin} fit several tasks ({listed(task_names)}){hint}"
        from ranker.sources.tables.previews import of_labels, with_previews

        readings = [FileReading.by("task", name) for name in task_names]
        with with_previews(lambda way: of_labels(rows, partial(_shown_by, tasks[way["task"]]))):
            raise Question(text, option="task", allowed=task_names, place=rows.origin, readings=readings)
    raise _misfit(rows, labels, [*([model_task] if model_task else []), *tasks.values()], infos)


def mask_empty_words(
    rows: Sheet,
    words: Collection[str] | None = None,
    choice: NamedTask = NamedTask(),
    infos: Sequence[ModelInfo] = (),
) -> tuple[Sheet, tuple[str, ...]]:
    """Mask labels of rows that are words for nothing: see `ranker.tasks.empty`.

    Args:
        words: words that mean nothing; None takes the usual ones, except those declared as labels by the user, the
            rows' file or the models.

    Returns:
        The rows, and a sentence for each word.

    Raises:
        Question: no labels are declared, and a usual word may be one.
    """
    task = choice.lookup()
    rows = rows if task is not None and has_values(task) and task.empty_lists else _without_empty_lists(rows)
    if words is None and task is not None and not has_labels(task):
        return rows, ()  # where any text may be an answer, no word means nothing
    labels = raw_labels(rows)
    all_counts = Counter(label for label in labels if label is not None)
    all_name_labels = bool(infos) and all(info.labels for info in infos)
    predicted = {label for info in infos for label in info.labels} if all_name_labels else None
    doubtful = unlabelled_words(all_counts, predicted) if words is None else {*all_counts} & {*words}
    counts = Counter({word: count for word, count in all_counts.items() if word in doubtful})
    if words is None and counts:
        declared = _declared_names(rows, choice, infos)
        if declared is None:
            from ranker.sources.tables.previews import of_labels, with_previews

            with with_previews(lambda way: of_labels(mask_empty_words(rows, way["empty_words"], choice)[0], str)):
                raise empty_word_question(rows.origin, rows.layout.label or "", counts)
        counts = Counter({word: count for word, count in counts.items() if declared.find(word) is None})
    if not counts:
        return rows, ()
    column = rows.layout.label or ""
    masked = [
        row._replace(cells={**row.cells, column: None}) if label in counts else row
        for row, label in zip(rows.rows, labels, strict=True)
    ]
    notes = (f"{_cells(count)} {word!r} in {column!r}: no label." for word, count in counts.items())
    return rows._replace(rows=tuple(masked)), tuple(notes)


def _without_empty_lists(rows: Sheet) -> Sheet:
    """Return rows of which those with an empty list have no label."""
    column = rows.layout.label or ""
    masked = (
        row._replace(cells={**row.cells, column: None}) if row.cells.get(column) == [] else row for row in rows.rows
    )
    return rows._replace(rows=tuple(masked))


def _cells(count: int) -> str:
    """Return "1 cell says" or "N cells say"."""
    return f"{count:,} cell says" if count == 1 else f"{count:,} cells say"


def _declared_names(rows: Sheet, choice: NamedTask, infos: Sequence[ModelInfo]) -> NameIndex | None:
    """Return the declared names of labels; None if there are none."""
    task = choice.lookup()
    if task is not None and has_labels(task):
        names = {name for label in task.labels for name in (label, *task.aliases.get(label, ()))}
    else:
        of_models = (label for info in infos if not info.source.precomputed for label in info.labels)
        names = {*of_models, *rows.layout.numbers}
    return NameIndex((name, 0) for name in names) if names else None


def check_known_labels(task: ClassificationTask, infos: Sequence[ModelInfo], origin: str) -> None:
    """Refuse with a DataError a task that has some of the labels that all models share, and others for the rest."""
    model_task = _shared_labels(infos)
    if model_task and 0 < sum(task.index(name) is not None for name in model_task.labels) < len(model_task.labels):
        strange = [name for name in task.labels if model_task.index(name) is None]
        names = listed(repr(name[:50]) for name in strange)
        text = f"no model knows the label {names}; theirs are {listed(model_task.labels)}"
        raise DataError.at(origin, text, value=strange[0], allowed=model_task.labels)


def check_common_labels(task: ClassificationTask, rows: Sheet, infos: Sequence[ModelInfo]) -> None:
    """Refuse with a DataError files of answers whose labels are alike, and none of them a label of the rows."""
    shared = _shared_labels(infos)
    if shared is None or not all(info.source.precomputed and info.labels for info in infos):
        return
    labels = tuple(dict.fromkeys(filter(None, raw_labels(rows))))
    strange = all(task.index(name) is None and number_in(name) is None for name in shared.labels)
    if strange and len(labels) <= MAX_COMPARED_LABELS and _fits(task, labels):
        text = label_mismatch(labels, shared.labels)
        raise DataError.at(rows.origin, text, option="label_map", allowed=shared.labels)


def unknown_label_notes(task: Task, infos: Sequence[ModelInfo], rows: Iterable[Example]) -> Iterator[Assumption]:
    """Yield a note on each label of rows that no model has, such as a mistyped one; none if a model names no labels."""
    if not has_labels(task) or not all(info.labels for info in infos):
        return
    theirs = {task.index(name) for info in infos for name in info.labels} - {None}
    counts = Counter(row.target for row in rows if row.target is not None)
    for index in sorted(counts.keys() - theirs) if theirs else ():
        count = f"{counts[index]:,} row{'s' if counts[index] > 1 else ''}"
        yield Assumption(f"No model predicts {task.labels[index]!r} ({count}).")


def check_readable(infos: Iterable[ModelInfo]) -> None:
    """Refuse with a ModelError models of which none can be read, before their labels are blamed."""
    infos = list(infos)
    if infos and all(info.trouble for info in infos):
        raise ModelError(infos[0].trouble, place=infos[0].source.name)


def _shared_labels(infos: Iterable[ModelInfo]) -> ClassificationTask | None:
    """Return the task of the labels that all models share, in the order of the first; None if they share none."""
    # unreadable models and those without labels do not count, nor numbers where another model has names alone
    infos = [info for info in infos if info.labels]
    label_lists = [info.labels for info in infos]
    names = [labels for labels in label_lists if not any(map(is_number, labels))] or label_lists
    if not names or any({*map(fold, labels)} != {*map(fold, names[0])} for labels in names):
        return None
    labels = tuple(dict.fromkeys(names[0]))  # distinct labels of one model stay distinct
    in_order = not all(info.source.precomputed for info in infos)  # files of answers name them in any order
    if not in_order:
        labels = tuple(sorted(labels, key=lambda label: (number_in(label) or 0, fold(label), label)))
    return ClassificationTask(SHARED, labels, ordered=in_order) if len(labels) > 1 else None


def _name_the_same(labels: Iterable[str], model_names: Iterable[str], tasks: Iterable[ClassificationTask]) -> bool:
    """Return True if models name all labels of the rows, and otherwise words that are labels of no task: junk."""
    folded = {*map(fold, labels)}
    junk = [name for name in model_names if fold(name) not in folded]
    all_are_named = folded <= {*map(fold, model_names)}
    return all_are_named and not any(task.index(name) is not None for task in tasks for name in junk)


def _same_labels(task: ClassificationTask, model_task: ClassificationTask) -> bool:
    """Return True if a known task has the models' labels, each under one name."""
    return len(model_task.labels) == len(task.labels) == len({task.index(name) for name in model_task.labels} - {None})


def _fits(task: ClassificationTask, labels: Iterable[str]) -> bool:
    """Return True if each label, as rows write it, is a name, an alias or a number of the task."""
    return all(task.index(label) is not None or number_of(label) in range(len(task.counted)) for label in labels)


def _shown_by(task: Task, label: str) -> str:
    return task.show(task.target_of(label))


def _counts(model_task: ClassificationTask, numbers: Sequence[int]) -> bool:
    """Return True if numbers in rows may be indices of the models' labels: up to the last, in the order of names."""
    in_order = all(number_in(name) in (None, n) for n, name in enumerate(model_task.labels))
    return in_order and max(numbers) == len(model_task.labels) - 1


def _misfit(
    sheet: Sheet, labels: Sequence[str], candidates: Sequence[ClassificationTask], infos: Sequence[ModelInfo]
) -> DataError:
    """Return the error of labels that fit no task, with advice for the task that fits most of them."""
    outputs = next((info.outputs for info in infos if info.outputs), ())
    prompted = any("prompt" in info.parts for info in infos)
    if hint := row_notes.swapped_columns_note(sheet) or (
        label_mismatch(labels, outputs) if candidate_label_maps(labels, outputs) else ""
    ):
        return DataError.at(sheet.origin, hint)
    near = max(candidates, key=lambda task: sum(_fits(task, [label]) for label in labels))
    misfits = [label for label in labels if not _fits(near, [label])]
    wrong = next(iter(misfits), labels[0])
    place = next(row.place for row, label in zip(sheet.rows, raw_labels(sheet), strict=True) if label == wrong)
    if 2 * len(misfits) < len(labels):
        text = (
            f"a label must be one of {with_numbers(near.labels)} or an alias (got {wrong[:50]!r}); for another task "
            f"say `task=NAME`, or describe it: {CARD}, or say with `label_map` what the models' outputs mean"
        )
        if prompted:
            text = f"{text.partition(';')[0]}; {ANY_LABELS}"
        return DataError.at(place, text, option="label", value=wrong, allowed=near.labels)
    if outputs and len(labels) <= MAX_COMPARED_LABELS:
        return DataError.at(sheet.origin, label_mismatch(labels, outputs), option="label_map", allowed=outputs)
    if prompted:
        names = next((info.labels for info in infos if info.labels), ())
        theirs = f"none of the prompts' ({listed(names)})" if names else "of no known task"
        return DataError.at(place, f"the label {wrong[:50]!r} is {theirs}; {ANY_LABELS}", option="label", value=wrong)
    candidates_text = "; ".join(dict.fromkeys(f"{task.name}: {listed(task.labels)}" for task in candidates))
    text = (
        f"the label {wrong[:50]!r} is of no known task ({candidates_text}); describe yours: {CARD}, or say with "
        "`label_map` which outputs of the models are meant"
    )
    return DataError.at(place, text, option="label", value=wrong)
