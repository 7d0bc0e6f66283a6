"""The OOD sets by name: a folder with a card, and its rows from the embedded sample or from the official file.

A set is data, not code: its card says where the official file lies, how its rows are laid out and which rule marks
which words (`datasets.cards`). A user's own set is a folder like those in ``data/``, named by ``include``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from factors import Example
from ranker.datasets import cards as cards_of
from ranker.datasets import embedded, readers, readings
from ranker.datasets.cards import Card, Layout
from ranker.datasets.identity import fingerprint
from ranker.datasets.mapping import Said, number_in, unlike
from ranker.datasets.mapping import readings as readings_of
from ranker.datasets.marks import marker
from ranker.datasets.rows import Row, read_rows
from ranker.errors import DataError, UsageError, listed, look_up
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassTask, fold

log = logging.getLogger(__name__)

SAMPLE = ("examples.jsonl.gz", "examples.jsonl")
"""The files of a set's own folder that may hold its rows."""

MANY = 20
"""Labels of rows that are more than these are probably none."""

EMBEDDED = "embedded sample"
"""The origin of rows that come with the product."""

CARD = "a card and `include=DIR`, see docs/data.md"
"""How a task is made known that no set has."""

OWN = Layout(text=("segments",), label="label", id="id")
"""How a row stands in them: {"id": "a", "segments": ["The actor ran.", "An actor ran."], "label": "entailment"}."""


@dataclass(frozen=True, repr=False)
class OODSet:
    """Labelled examples of a new domain.

    Attributes:
        name: of the set, or of the file.
        task: the labels.
        examples: all rows; accuracy on these is the truth that a ranking is compared with.
        population: how many of them are attributed, at most; they are drawn, always the same.
        designed: the factor that was designed for this set, if any.
        origin: "embedded sample", or the file that the rows come from.
        notes: what was made of a user's own rows, a sentence each.
        numbers: bare numbers that stand for labels in them -> the labels, by the order of the task.

    Example:
        >>> from ranker import load_set
        >>> rows = load_set("hans-sub")
        >>> rows.designed, rows.examples[0].segments[1], rows.task.labels[rows.examples[0].label]
        ('INDEX-DIFF', ...)
    """

    name: str
    task: Task
    examples: tuple[Example, ...]
    population: int
    designed: str | None = None
    origin: str = ""
    notes: tuple[str, ...] = ()
    numbers: Mapping[int, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        labels = f" ({listed(self.task.labels)})" if self.task.labels else ""
        rows = counted(len(self.examples), "row")
        return f"<OODSet {self.name}: {rows} of {self.task.name}{labels}, {self.origin or 'in memory'}>"

    @cached_property
    def fingerprint(self) -> str:
        """What identifies the rows, and with them what an accuracy was measured on."""
        return fingerprint(self.examples, self.task)


def load(
    name: str,
    data_dir: str | Path | None = None,
    include: Iterable[str | Path] = (),
    limit: int | None = None,
    limits: Limits = LIMITS,
) -> OODSet:
    """Read an OOD set.

    Args:
        name: a set's name; case does not matter.
        data_dir: where the official file lies (directly, or in a folder of its own), or that file; None takes the
            sample in the set's own folder.
        include: folders of a user's own sets, or folders of such folders.
        limit: how many of the rows are taken for the whole set, for a quick try; see `sample`. None for all.
        limits: how much of the file is read.

    Raises:
        UnknownName: no set bears that name.
        UsageError: the file is not there, and the message says how to get it; or a limit below 1.
        DataError: the card or the file cannot be read, with the line.

    Example:
        >>> from ranker import load_set
        >>> load_set("hans-sub", limit=40)
        <OODSet hans-sub: 40 rows of nli (non-entailment, entailment), embedded sample>
    """
    if limit is not None and limit < 1:
        raise UsageError(f"`limit` must be at least 1 (got {limit})")
    card = look_up("OOD set", name, cards(include))
    file = _find(card, None if data_dir is None else Path(data_dir))
    origin = EMBEDDED if file in [card.folder / name for name in SAMPLE] else str(file)
    nested = ("segments", "marks", *(column for layout in card.layouts for column in layout.columns))
    whole = _built(card, read_rows(file, limits=limits, nested=nested), origin, lambda layout: layout, limits)
    return whole if limit is None else replace(whole, examples=sample(whole, limit))


def from_rows(name: str, rows: Iterable[Mapping[str, Any]], include: Iterable[str | Path] = ()) -> OODSet:
    """An OOD set from its rows in memory, such as its copy on the Hugging Face hub.

    Args:
        name: a set's name.
        rows: mappings in one of the set's layouts; numbers are read as the container names them, if it does.
        include: folders of a user's own sets.

    Raises:
        UnknownName: no set bears that name.
        DataError: the rows cannot be read, with the number of the row.

    Example:
        >>> from ranker import set_from_rows
        >>> texts = {"premise": "The cook near the maid ran.", "hypothesis": "The maid ran."}
        >>> set_from_rows("hans-sub", [texts | {"label": 1, "heuristic": "subsequence"}])
        <OODSet hans-sub: 1 row of nli (non-entailment, entailment), rows in memory>
    """
    card = look_up("OOD set", name, cards(include))
    return _built(card, readers.placed(rows), "rows in memory", lambda layout: readers.named(layout, rows))


def _built(
    card: Card, rows: Iterable[Row], origin: str, adapt: Callable[[Layout], Layout], limits: Limits = LIMITS
) -> OODSet:
    """The set of a card's rows, in the first of its layouts whose columns are there."""
    layouts = (*card.layouts, OWN)

    def choose(found: Sequence[str]) -> Layout:
        return adapt(next((layout for layout in layouts if set(layout.columns) <= set(found)), layouts[0]))

    examples = tuple(readers.examples(rows, card.task, choose, marker(card.marks), limits))
    if not examples:
        wanted = " or ".join(sorted({f"{c} = {v}" for layout in card.layouts for c, v in layout.where.items()}))
        raise DataError(f"{origin} holds no row of {card.name}" + (f": none has {wanted}" if wanted else ""))
    return OODSet(card.name, card.task, examples, card.population, card.designed, origin)


def labelled(
    data: str | Path | Collection[Mapping[str, Any]],
    task: str | ClassTask | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    like: str | None = None,
    include: Iterable[str | Path] = (),
    own: ClassTask | None = None,
    free: bool = False,
    said: Said = Said(),
    encoding: str = "",
    limits: Limits = LIMITS,
) -> OODSet:
    """Read a user's own labelled rows; all of them are the population.

    Rows whose label is blank are left out, and so are those that repeat another, label and all: the notes say how many.

    Args:
        data: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file, or rows in memory: mappings, a `datasets.Dataset`,
            a data frame.
        task: the labels, or the name of a known task; None takes the one whose labels the rows have.
        columns: "text", "label" and "id" -> columns, where their names are unusual; "cluster" -> the one that says
            which rows belong together.
        like: an OOD set whose task, marks and designed factor hold for these rows, too.
        include: folders of a user's own sets.
        own: the task of the models' own labels.
        free: labels of no known task are taken as they are, since no model has labels of its own.
        said: what the models say of their labels, for messages.
        encoding: of a file that is not UTF-8 and does not say what it is, such as cp1252.
        limits: how much of the file is read.

    Raises:
        UsageError: no such set or task, or no task whose labels fit, or several.
        DataError: the file cannot be read, with the line, or holds no row with a label.

    Example:
        >>> rows = [{"text": "Lovely.", "label": "good"}, {"text": "Dull.", "label": "bad"}]
        >>> [row.label for row in labelled(rows, ClassTask("sentiment", ("bad", "good"))).examples]
        [1, 0]
    """
    source = Path(data) if isinstance(data, str) else data
    card = None if like is None else look_up("OOD set", like, cards(include))
    own_of_set = {} if card is None else {card.task.name: card.task}
    wanted = look_up("task", task, tasks(include) | own_of_set) if isinstance(task, str) else task
    if card is not None and wanted not in (None, card.task):
        raise UsageError(f"`task` {task} is not that of {card.name}, which is {card.task.name}")
    sheet = readers.sheet(source, columns, encoding=encoding, limits=limits)
    written = readers.written(sheet)
    rows = [row for row, label in zip(sheet.rows, written, strict=True) if label is not None]
    if not rows:
        raise DataError(f"{sheet.origin}: the column {sheet.layout.label!r} is still empty in all {len(written)} rows")
    chosen = wanted or (task_of(sheet, own, include, free, said) if card is None else card.task)
    marks = readers.no_marks if card is None else marker(card.marks)
    found = list(readers.examples(rows, chosen, lambda _: sheet.layout, marks, limits))
    kept: dict[tuple[tuple[str, ...], int], Example] = {}
    for row in found:
        kept.setdefault((row.segments, row.label), row)
    meant = {label: row.label for label, row in zip(filter(None, written), found, strict=True)}
    blank = len(written) - len(rows)
    return OODSet(
        name=source.stem if isinstance(source, Path) else "rows",
        task=chosen,
        examples=tuple(kept.values()),
        population=len(kept),
        designed=None if card is None else card.designed,
        origin=sheet.origin,
        notes=(
            *readings.notes(meant, chosen, list(kept.values()), blank, repeated=len(found) - len(kept)),
            *readings.of_file(sheet, list(kept.values()), chosen="text" in (columns or {})),
        ),
        numbers=readings.numbers(meant, chosen),
    )


def task_of(
    sheet: readers.Sheet,
    own: ClassTask | None = None,
    include: Iterable[str | Path] = (),
    free: bool = False,
    said: Said = Said(),
) -> ClassTask:
    """The task that the labels of rows are of.

    The models' own labels, if the rows have no others: so three-way rows are judged three ways by three-way models. A
    known task of the same labels stands for them, since it knows what else they are called, and what the shortcut
    speaks for. Where the rows have other labels, it is the one known task that all of them fit; where no model
    names labels, rows of more labels than that are judged by their own.

    Args:
        sheet: the rows; of those without a label nothing is asked.
        own: the task of the models' own labels (see `ranker.runs.gather.own_task`).
        include: folders of a user's own sets.
        free: where no known task fits, the labels are those of the rows.
        said: what the models say of their labels, for messages.

    Raises:
        UsageError: no known task fits, or several do; the message says what to do.
    """
    every = tasks(include)
    own = None if own is None else known(own, include)
    labels = dict.fromkeys(filter(None, readers.written(sheet)))
    numbers = [label for label in labels if own is None or own.index(label) is None]
    counted = [n for label in numbers if (n := readers.number_of(label)) is not None]
    in_order = own is not None and all(number_in(name) in (None, n) for n, name in enumerate(own.labels))
    if own is not None and _fits(own, labels) and (not counted or (in_order and max(counted) == len(own.labels) - 1)):
        return own
    fitting = [task for task in every.values() if labels and _fits(task, labels)]
    said_there = tuple(sorted({fold(label): label for label in labels}.values(), key=fold))
    unnamed = not said.differ and (own is None or all(number_in(name) is not None for name in own.labels))
    if free and unnamed and not counted and len(said_there) > max((len(one.labels) for one in fitting), default=1):
        return ClassTask(sheet_name(sheet), said_there, ordered=False)  # no label of several is taken for another
    if len(fitting) == 1:
        return fitting[0]
    if len(fitting) > 1 and said.differ:
        raise UsageError(said.differ)
    if len(fitting) > 1:
        several = listed(task.name for task in fitting)
        names = "; or write names instead of numbers" if counted else ""
        raise UsageError(f"`task=NAME` is needed: the labels of {sheet.origin} fit several tasks ({several}){names}")
    if not labels:
        why = said.differ or f"`task=NAME` is needed ({listed(every)}): the models name no labels, or not all the same"
        raise UsageError(why)
    if free and len(labels) > 1 and not counted:
        return ClassTask(sheet_name(sheet), said_there, ordered=False)
    if said.differ:
        raise UsageError(said.differ)
    raise DataError(_unfit(sheet, list(labels), [*([own] if own else []), *every.values()], said.outputs))


def known(own: ClassTask, include: Iterable[str | Path] = ()) -> ClassTask:
    """The known task with the labels of another, which knows more of them; else that other one.

    Example:
        >>> known(ClassTask("own", ("entailment", "not_entailment"))).name
        'nli'
    """
    return next((task for task in tasks(include).values() if _same_labels(task, own)), own)


def sheet_name(sheet: readers.Sheet) -> str:
    """What the task of rows is called that have labels of their own."""
    return Path(sheet.origin).stem


def _same_labels(task: ClassTask, own: ClassTask) -> bool:
    """Whether a known task has the models' labels, each by one name."""
    return len(own.labels) == len(task.labels) == len({task.index(name) for name in own.labels} - {None})


def _fits(task: ClassTask, labels: Iterable[str]) -> bool:
    """Whether each of these, as rows write them, is a label of the task: a name, an alias or a number."""
    counted = range(len(task.labels))
    return all(task.index(label) is not None or readers.number_of(label) in counted for label in labels)


def _unfit(sheet: readers.Sheet, labels: Sequence[str], candidates: Sequence[ClassTask], outputs: Sequence[str]) -> str:
    """What is wrong with labels that fit no task, and what to do; the task of most of them is taken to be meant."""
    if swapped := readings.swapped(sheet):
        return f"{sheet.origin}: {swapped}"
    near = max(candidates, key=lambda task: sum(_fits(task, [label]) for label in labels))
    if readings_of(labels, outputs):
        return f"{sheet.origin}: {unlike(labels, outputs)}"
    wrong = next((label for label in labels if not _fits(near, [label])), labels[0])
    place = next(row.place for row, label in zip(sheet.rows, readers.written(sheet), strict=True) if label == wrong)
    if 2 * sum(_fits(near, [label]) for label in labels) > len(labels):
        what = f"must be one of {readers.counted(near.labels)} or an alias (got {wrong[:50]!r})"
        return (
            f"{place}: a label {what}; for another task say `task=NAME`, or describe it: {CARD}, or say with "
            "`label_map` what the models' outputs mean"
        )
    if outputs and len(labels) <= MANY:
        return f"{sheet.origin}: {unlike(labels, outputs)}"
    each = "; ".join(dict.fromkeys(f"{task.name}: {listed(task.labels)}" for task in candidates))
    return (
        f"{place}: the label {wrong[:50]!r} is of no known task ({each}); describe yours: {CARD}, or say with "
        "`label_map` which outputs of the models are meant"
    )


def unlabelled(
    data: str | Path | Iterable[Mapping[str, Any]],
    columns: Mapping[str, str | Sequence[str]] | None = None,
    like: str | None = None,
    include: Iterable[str | Path] = (),
    encoding: str = "",
    limits: Limits = LIMITS,
) -> tuple[Example, ...]:
    """Read rows of a domain that nobody has labelled; a column of labels, if there is one, is not looked at.

    Rows with a blank text are left out, and that is said.

    Args:
        data: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file, or rows in memory: mappings, a `datasets.Dataset`,
            a data frame.
        columns: "text" and "id" -> columns, where their names are unusual.
        like: an OOD set whose marks hold for these rows, too.
        include: folders of a user's own sets.
        encoding: see `labelled`.
        limits: how much of the file is read.

    Raises:
        UnknownName: no set bears that name.
        DataError: the file cannot be read, with the line, or holds no row.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from ranker import unlabelled
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "rows.csv")
        ...     _ = file.write_text("id,text\\nr1,It rang.\\nr2,It did not.\\n")
        ...     [row.id for row in unlabelled(file)]
        ['r1', 'r2']
    """
    marks = readers.no_marks if like is None else marker(look_up("OOD set", like, cards(include)).marks)
    pool = readers.pool(Path(data) if isinstance(data, str) else data, columns, encoding, limits)
    if hint := readings.swapped(pool):
        log.warning("%s: %s", pool.origin, hint)
    return readers.unlabelled(pool, marks)


def cards(include: Iterable[str | Path] = ()) -> dict[str, Card]:
    """The sets that can be loaded: name -> card. A user's set hides a built-in one of the same name.

    Raises:
        UsageError: an included folder holds no card.
        DataError: a card cannot be read.
    """
    return {name: cards_of.read_card(path) for name, path in embedded.cards(include).items()}


def names(include: Iterable[str | Path] = ()) -> tuple[str, ...]:
    """The names of the sets, in order."""
    return tuple(cards(include))


def tasks(include: Iterable[str | Path] = ()) -> dict[str, ClassTask]:
    """The tasks of the known sets, by name."""
    return {card.task.name: card.task for card in cards(include).values()}


def sample(ood: OODSet, size: int, seed: int = 0) -> tuple[Example, ...]:
    """The population: ``size`` of the examples, drawn without replacement, in the order of the set.

    A smaller one is part of a larger one, so that what is known of its examples serves both.

    Args:
        ood: the set.
        size: how many; all of them if there are not more.
        seed: of the draw.
    """
    if size >= len(ood.examples):
        return ood.examples
    chosen = np.random.default_rng(seed).permutation(len(ood.examples))[:size]
    return tuple(ood.examples[i] for i in sorted(chosen))


def _find(card: Card, data_dir: Path | None) -> Path:
    """The file that holds the set's rows."""
    get = f"`rank-models fetch {card.name} --data-dir DIR` gets them" if card.url else f"they come from {card.source}"
    if data_dir is None or not card.files:
        places = [card.folder / file for file in (*SAMPLE, *card.files)]
        missing = f"{card.name} has no embedded sample: name the folder of the official rows with `data_dir`; {get}"
    elif os.path.isfile(data_dir):
        return data_dir
    elif not os.path.isdir(data_dir):
        raise UsageError(f"`data_dir` must be a folder that exists (got {data_dir})")
    else:
        places = [data_dir / folder / file for folder in ("", *card.folders) for file in card.files]
        below = ", ".join(f"{folder}/" for folder in card.folders)
        missing = f"`data_dir`: there is no {card.files[0]} in {data_dir}, nor in its {below}; {get}"
    found = next((path for path in places if os.path.isfile(path)), None)
    if found is None:
        raise UsageError(missing)
    return found
