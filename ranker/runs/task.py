"""The task, decided in one place: by what the user named, the labels in the rows, and those of the models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ranker.datasets import row_notes, sets
from ranker.datasets.cards import Card
from ranker.datasets.mapping import candidate_label_maps, check_alike, differing, number_in, unlike
from ranker.datasets.readers import Sheet, raw_labels
from ranker.errors import DataError, ModelError, Question, UsageError, listed, look_up
from ranker.sources.base import ModelInfo
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassificationTask, has_labels
from ranker.tasks.empty import ask, is_empty_word
from ranker.tasks.names import NameIndex, fold, number_of, with_numbers

SHARED = "own labels"
"""Name of a task that is made of the models' own labels."""

MOST_LABELS = 20
"""Most labels of rows that a message compares with the models'; where there are more, the column is probably wrong."""

CARD = "a card and `include=DIR`, see docs/data.md"
"""How to make a task known that no set has."""


@dataclass(frozen=True)
class NamedTask:
    """What the user names that tells the task.

    Attributes:
        task: the task, or the name of a known one; None where none is named.
        like: an OOD set whose task it is; None where none is named.
        include: folders of the user's own sets, whose tasks are known as well.
        option: the parameter that names a task here, for messages: "task" or "ood".

    Example:
        >>> NamedTask("NLI").lookup().labels, NamedTask().lookup()
        (('non-entailment', 'entailment'), None)
    """

    task: Task | str | None = None
    like: str | None = None
    include: tuple[str | Path, ...] = ()
    option: str = "task"

    @property
    def card(self) -> Card | None:
        """The card of the OOD set."""
        return None if self.like is None else sets.find_card(self.like, self.include)

    def lookup(self) -> Task | None:
        """Look up the task; None where none is named. It raises a UsageError: there is none, or the set has another."""
        card, task = self.card, self.task
        of_set = None if card is None else card.task
        if isinstance(task, str):
            task = look_up("task", task, sets.tasks(self.include) | ({of_set.name: of_set} if of_set else {}))
        if card is not None and task not in (None, of_set):
            raise UsageError(f"`task` {task.name} is not that of {card.name}, which is {card.task.name}")
        return task or of_set


def decide_task(named: NamedTask = NamedTask(), rows: Sheet | None = None, stated: Sequence[ModelInfo] = ()) -> Task:
    """Decide what the task is; the first of these that applies.

    1. What the user named: a task, or an OOD set that has one.
    2. The models' own labels, if the rows have no others: so three-way models judge three-way rows three ways. A known
       task of the same labels stands for them, since it knows their aliases and what the shortcut speaks for.
    3. The one known task that all labels of the rows fit.
    4. The rows' own labels, if all models are files of answers, and the labels are no numbers that count them. Where no
       model names labels this comes before 3, if the rows have more labels than the known task.

    Otherwise the error says in one line what to name.

    Args:
        named: what the user named.
        rows: the rows with their labels as written, if any; rows without a label have no say.
        stated: what the models say of themselves; () where there are none.

    Raises:
        UsageError: there is no such task or set, models differ in their labels, or no labels tell one task.
        DataError: no known task has a label of the rows.
        ModelError: no task is named, and no model can be read.

    Example:
        >>> from ranker.datasets.readers import sheet
        >>> decide_task(rows=sheet([{"text": "It rang.", "label": "paraphrase"}])).name
        'paraphrase'
    """
    chosen = named.lookup()
    if chosen is not None:
        return chosen
    check_readable(stated)
    tasks = sets.tasks(named.include)
    shared = _shared_labels(stated)
    own = None if shared is None else next((task for task in tasks.values() if _same_labels(task, shared)), shared)
    labels = () if rows is None else tuple(dict.fromkeys(filter(None, raw_labels(rows))))
    unlisted = [label for label in labels if own is None or own.index(label) is None]
    signed = any((number_in(label) or 0) < 0 for label in labels)  # -1, 0 and 1 are names: they count no labels
    numbers = [number for label in unlisted if not signed and (number := number_of(label)) is not None]
    if own is not None and _fits(own, labels) and (not numbers or _counts(own, numbers)):
        return own
    differ = "" if shared else differing({model.source.name: model.labels for model in stated})
    fitting = [task for task in tasks.values() if labels and _fits(task, labels)]
    names = tuple(sorted(labels, key=lambda label: (fold(label), label)))
    shared_names = {*labels} <= {label for model in stated for label in model.labels}
    positions = bool(numbers) and not shared_names and max(numbers) < len(labels)  # others are names, and count nothing
    by_name = [task for task in fitting if not shared_names or all(task.index(label) is not None for label in labels)]
    in_files = bool(stated) and all(model.source.precomputed for model in stated)
    if rows is not None and len(names) > 1 and not positions and in_files:
        unnamed = not differ and (own is None or all(number_in(name) is not None for name in own.labels))
        if not by_name or (unnamed and len(names) > max(len(task.labels) for task in by_name)):
            check_alike(rows.origin, repr(rows.layout.label), names)
            return ClassificationTask(Path(rows.origin).stem, names, ordered=False)
    if len(fitting) == 1:
        return fitting[0]
    if differ:
        raise UsageError(differ)
    if rows is None or not labels:
        choices = listed(tasks if named.option == "task" else sets.names(named.include))
        why = "the models name no labels, or not all the same"
        hint = "; or say with `label_map` what their outputs mean" if any(one.outputs for one in stated) else ""
        raise UsageError(f"`{named.option}=NAME` is needed ({choices}): {why}{hint}")
    if fitting:
        several = listed(task.name for task in fitting)
        hint = "; or write names instead of numbers" if numbers else ""
        hint += next((f"; {model.unclear}" for model in stated if model.unclear), "")
        raise UsageError(f"`task=NAME` is needed: the labels of {rows.origin} fit several tasks ({several}){hint}")
    outputs = next((model.outputs for model in stated if model.outputs), ())
    raise DataError(_misfit(rows, labels, [*([own] if own else []), *tasks.values()], outputs))


def mask_empty_words(
    rows: Sheet, words: Collection[str] | None = None, named: NamedTask = NamedTask(), stated: Sequence[ModelInfo] = ()
) -> tuple[Sheet, tuple[str, ...]]:
    """Leave out labels of rows that are words for nothing: see `ranker.tasks.empty`.

    Args:
        rows: with their labels as written.
        words: those that the user says are nothing; None takes the usual ones, unless a declared label is called so: by
            the user, by the rows' own file or by models that are asked.
        named: what the user named.
        stated: what the models say of themselves.

    Returns:
        The rows, and a sentence for each word.

    Raises:
        Question: no labels are declared, and a usual word stands there that may be one.
    """
    labels = raw_labels(rows)
    counts = Counter(label for label in labels if label is not None and is_empty_word(label, words))
    if words is None and counts:
        declared = _declared(rows, named, stated)
        if declared is None:
            raise Question(ask(rows.origin, rows.layout.label or "", counts))
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


def _cells(count: int) -> str:
    """How many cells say something, for messages."""
    return f"{count:,} cell says" if count == 1 else f"{count:,} cells say"


def _declared(rows: Sheet, named: NamedTask, stated: Sequence[ModelInfo]) -> NameIndex | None:
    """The names of labels that somebody declares; None where nobody does."""
    task = named.lookup()
    if task is not None and not has_labels(task):
        return None
    if task is not None:
        names = {name for label in task.labels for name in (label, *task.aliases.get(label, ()))}
    else:
        of_models = (label for model in stated if not model.source.precomputed for label in model.labels)
        names = {*of_models, *rows.layout.numbers}
    return NameIndex((name, 0) for name in names) if names else None


def check_known_labels(task: ClassificationTask, stated: Sequence[ModelInfo], origin: str) -> None:
    """Refuse with a DataError a task that has some of the labels that all models share, and labels of none instead."""
    own = _shared_labels(stated)
    if own and 0 < sum(task.index(name) is not None for name in own.labels) < len(own.labels):
        strange = listed(repr(name[:50]) for name in task.labels if own.index(name) is None)
        raise DataError(f"{origin}: no model knows the label {strange}; theirs are {listed(own.labels)}")


def check_readable(stated: Iterable[ModelInfo]) -> None:
    """Refuse with a ModelError models of which none can be read: what is wrong with them is not said of the labels."""
    troubles = [model.trouble for model in stated]
    if troubles and all(troubles):
        raise ModelError(troubles[0])


def _shared_labels(stated: Iterable[ModelInfo]) -> ClassificationTask | None:
    """The task of the labels that all models share, in the order of the first; None where two name others, or none any.

    A model that cannot be read, or names no labels, has no say; nor one that names numbers, where another names names.
    """
    stated = [model for model in stated if model.labels]
    every = [model.labels for model in stated]
    names = [labels for labels in every if not all(name.isdecimal() for name in labels)] or every
    if not names or any({*map(fold, labels)} != {*map(fold, names[0])} for labels in names):
        return None
    labels = tuple(dict.fromkeys(names[0]))  # those of one model stay apart
    in_order = not all(model.source.precomputed for model in stated)  # of files of answers it is the alphabet's
    return ClassificationTask(SHARED, labels, ordered=in_order) if len(labels) > 1 else None


def _same_labels(task: ClassificationTask, own: ClassificationTask) -> bool:
    """Say whether a known task has the models' labels, each by one name."""
    return len(own.labels) == len(task.labels) == len({task.index(name) for name in own.labels} - {None})


def _fits(task: ClassificationTask, labels: Iterable[str]) -> bool:
    """Say whether each label, as rows write it, is one of the task: a name, an alias or a number."""
    return all(task.index(label) is not None or number_of(label) in range(len(task.labels)) for label in labels)


def _counts(own: ClassificationTask, numbers: Sequence[int]) -> bool:
    """Say whether numbers in rows may stand for the models' labels: up to the last, and in the order of their names."""
    in_order = all(number_in(name) in (None, n) for n, name in enumerate(own.labels))
    return in_order and max(numbers) == len(own.labels) - 1


def _misfit(
    sheet: Sheet, labels: Sequence[str], candidates: Sequence[ClassificationTask], outputs: Sequence[str]
) -> str:
    """Say what is wrong with labels that fit no task, and what to do; the task of most of them is taken to be meant."""
    if what := row_notes.swapped(sheet) or (unlike(labels, outputs) if candidate_label_maps(labels, outputs) else ""):
        return f"{sheet.origin}: {what}"
    near = max(candidates, key=lambda task: sum(_fits(task, [label]) for label in labels))
    misfits = [label for label in labels if not _fits(near, [label])]
    wrong = next(iter(misfits), labels[0])
    place = next(row.place for row, label in zip(sheet.rows, raw_labels(sheet), strict=True) if label == wrong)
    if 2 * len(misfits) < len(labels):
        return (
            f"{place}: a label must be one of {with_numbers(near.labels)} or an alias (got {wrong[:50]!r}); for "
            f"another task say `task=NAME`, or describe it: {CARD}, or say with `label_map` what the models' outputs "
            "mean"
        )
    if outputs and len(labels) <= MOST_LABELS:
        return f"{sheet.origin}: {unlike(labels, outputs)}"
    each = "; ".join(dict.fromkeys(f"{task.name}: {listed(task.labels)}" for task in candidates))
    return (
        f"{place}: the label {wrong[:50]!r} is of no known task ({each}); describe yours: {CARD}, or say with "
        "`label_map` which outputs of the models are meant"
    )
