"""The OOD sets by name: a folder with a card, and its rows from the embedded sample or from the official file.

A set is data, not code: its card says where the official file lies, how its rows are laid out and which rule marks
which words (`datasets.cards`). A user's own set is a folder like those in ``data/``, named by ``include``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from factors import Example
from ranker.datasets import cards as cards_of
from ranker.datasets import embedded, readers, row_notes
from ranker.datasets.cards import Card, Layout
from ranker.datasets.identity import fingerprint
from ranker.datasets.marks import marker
from ranker.datasets.readers import Sheet
from ranker.errors import DataError, UsageError, listed, look_up
from ranker.files import reader
from ranker.files.columns import MEMORY, Columns
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassificationTask, has_labels, label_names

log = logging.getLogger(__name__)

SAMPLE = ("examples.jsonl.gz", "examples.jsonl")
"""The files of a set's own folder that may hold its rows."""

EMBEDDED = "embedded sample"
"""The origin of rows that come with the product."""

OWN = Layout(text=("segments",), label="label", id="id")
"""How a row stands in them: {"id": "a", "segments": ["The actor ran.", "An actor ran."], "label": "entailment"}."""


@dataclass(frozen=True, repr=False)
class LabelledDataset:
    """Labelled examples of a new domain.

    Attributes:
        name: of the set, or of the file.
        task: what is asked of them.
        examples: all rows; accuracy on these is the truth that a ranking is compared with.
        population: how many of them are attributed, at most; they are drawn, always the same.
        designed: the factor that was designed for this set, if any.
        origin: "embedded sample", or the file that the rows come from.
        notes: what was made of a user's own rows, a sentence each.
        numbers: bare numbers that stand for labels in them -> the labels, by the order of the task.

    Example:
        >>> from ranker import load_set
        >>> rows = load_set("hans-sub")
        >>> rows.designed, rows.examples[0].segments[1], rows.task.labels[rows.examples[0].target]
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
        names = label_names(self.task)
        labels = f" ({listed(names)})" if names else ""
        rows = counted(len(self.examples), "row")
        return f"<LabelledDataset {self.name}: {rows} of {self.task.name}{labels}, {self.origin or 'in memory'}>"

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
) -> LabelledDataset:
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
        <LabelledDataset hans-sub: 40 rows of nli (non-entailment, entailment), embedded sample>
    """
    if limit is not None and limit < 1:
        raise UsageError(f"`limit` must be at least 1 (got {limit})")
    card = find_card(name, include)
    file = _find(card, None if data_dir is None else Path(data_dir))
    origin = EMBEDDED if file in [card.folder / name for name in SAMPLE] else str(file)
    nested = ("segments", "marks", *(column for layout in card.layouts for column in layout.columns))
    whole = _built(card, reader.read_columns(file, limits=limits, nested=nested), origin)
    return whole if limit is None else replace(whole, examples=sample(whole, limit))


def from_rows(name: str, rows: Iterable[Mapping[str, Any]], include: Iterable[str | Path] = ()) -> LabelledDataset:
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
        <LabelledDataset hans-sub: 1 row of nli (non-entailment, entailment), rows in memory>
    """
    card = find_card(name, include)
    return _built(card, reader.of_rows(rows), MEMORY)


def _built(card: Card, columns: Columns, origin: str) -> LabelledDataset:
    """The set of a card's rows, in the first of its layouts whose columns are there."""
    layouts = (*card.layouts, OWN)
    layout = next((layout for layout in layouts if set(layout.columns) <= set(columns.order)), layouts[0])
    layout = readers.numbered(layout, columns)
    examples = tuple(readers.examples(columns.rows(), card.task, layout, marker(card.marks), columns.limits))
    if not examples:
        wanted = " or ".join(sorted({f"{c} = {v}" for layout in card.layouts for c, v in layout.where.items()}))
        raise DataError(f"{origin} holds no row of {card.name}" + (f": none has {wanted}" if wanted else ""))
    return LabelledDataset(card.name, card.task, examples, card.population, card.designed, origin)


def from_sheet(name: str, sheet: Sheet, task: Task, card: Card | None = None, chosen: bool = False) -> LabelledDataset:
    """Make a set of a user's own rows; all of them are the population.

    Blank labels and repeated rows are left out, and the notes count them. The card is of the OOD set whose marks and
    designed factor hold for them, too; `chosen`: the user has named the columns of texts. See `readers.examples`.

    Example:
        >>> sheet = readers.sheet([{"text": "Lovely.", "label": "good"}, {"text": "Dull.", "label": "bad"}])
        >>> [row.target for row in from_sheet("reviews", sheet, ClassificationTask("mood", ("bad", "good"))).examples]
        [1, 0]
    """
    labels = readers.raw_labels(sheet)
    rows = [row for row, label in zip(sheet.rows, labels, strict=True) if label is not None]
    marks = readers.no_marks if card is None else marker(card.marks)
    examples = list(readers.examples(rows, task, sheet.layout, marks, sheet.limits, sheet.size))
    distinct: dict[object, Example] = {}
    for row in examples:
        distinct.setdefault((row.segments, row.target) if sheet.layout.text else row.id, row)
    kept = tuple(distinct.values())
    meant = {label: row.target for label, row in zip(filter(None, labels), examples, strict=True)}
    of_labels = tuple(row_notes.of_labels(meant, task)) if has_labels(task) else ()
    return LabelledDataset(
        name=name,
        task=task,
        examples=kept,
        population=len(kept),
        designed=None if card is None else card.designed,
        origin=sheet.origin,
        notes=(
            *of_labels,
            *row_notes.notes(kept, len(labels) - len(rows), repeated=len(examples) - len(kept)),
            *row_notes.of_file(sheet, kept, chosen),
        ),
        numbers=row_notes.numbers(meant, task) if has_labels(task) else {},
    )


def unlabelled(
    data: str | Path | Iterable[Mapping[str, Any]] | Columns,
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
        encoding: of a file that is not UTF-8 and does not say what it is, such as cp1252.
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
    marks = readers.no_marks if like is None else marker(find_card(like, include).marks)
    pool = readers.pool(Path(data) if isinstance(data, str) else data, columns, encoding, limits)
    if hint := row_notes.swapped(pool):
        log.warning("%s: %s", pool.origin, hint)
    return readers.unlabelled(pool, marks)


def with_labels(
    rows: Iterable[Example],
    labels: Iterable[str | None],
    places: Iterable[str],
    task: Task,
) -> list[Example]:
    """Give rows their labels as they are written, or none; a DataError says at which place one is no label."""
    labelled = []
    for row, label, place in zip(rows, labels, places, strict=False):
        try:
            target = None if label is None else task.target_of(label)
        except ValueError as error:
            raise DataError(f"{place}: {error}") from error
        labelled.append(replace(row, target=target))
    return labelled


def cards(include: Iterable[str | Path] = ()) -> dict[str, Card]:
    """The sets that can be loaded: name -> card. A user's set hides a built-in one of the same name.

    Raises:
        UsageError: an included folder holds no card.
        DataError: a card cannot be read.
    """
    return {name: cards_of.read_card(path) for name, path in embedded.cards(include).items()}


def find_card(name: str, include: Iterable[str | Path] = ()) -> Card:
    """Find the card of a set by its name; case does not matter. It raises `UnknownName`."""
    return look_up("OOD set", name, cards(include))


def names(include: Iterable[str | Path] = ()) -> tuple[str, ...]:
    """The names of the sets, in order."""
    return tuple(cards(include))


def tasks(include: Iterable[str | Path] = ()) -> dict[str, ClassificationTask]:
    """The tasks of the known sets, by name."""
    return {card.task.name: card.task for card in cards(include).values()}


def sample(ood: LabelledDataset, size: int, seed: int = 0) -> tuple[Example, ...]:
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
