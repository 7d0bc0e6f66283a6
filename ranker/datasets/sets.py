"""Load OOD sets by name: a folder with a card, and rows from the embedded sample or the official file.

A set is data, not code: its card names the official file, the layout of its rows and the rules that mark words
(`datasets.cards`). A user's own set is a folder like those in ``data/``, named by ``include``.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from factors import Example
from ranker.datasets import cards as cards_of
from ranker.datasets import embedded, readers, row_notes, rules
from ranker.datasets.cards import Card, Layout
from ranker.datasets.identity import fingerprint, row_key
from ranker.datasets.marks import marker
from ranker.datasets.readers import Sheet
from ranker.datasets.sheets import PICKED, PICKING, SESSION_COLUMNS
from ranker.errors import DataError, UsageError, listed
from ranker.files import reader
from ranker.files.columns import MEMORY, Columns, Row
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassificationTask, has_labels, label_names

log = logging.getLogger(__name__)

SAMPLE = ("examples.jsonl.gz", "examples.jsonl")
"""Files of a set's own folder that may hold its rows."""

EMBEDDED = "embedded sample"
"""Origin of rows that are shipped with the package."""

OWN = Layout(text=("segments",), label="label", id="id")
"""Layout of a row there: {"id": "a", "segments": ["The actor ran.", "An actor ran."], "label": "entailment"}."""


@dataclass(frozen=True, repr=False)
class LabelledDataset:
    """Labelled examples of a new domain.

    Attributes:
        name: of the set, or of the file.
        task: their task.
        examples: all rows; accuracy on these is the truth that a ranking is compared with.
        population: number of them that are attributed, at most; the draw is always the same.
        designed: the factor that was designed for this set, if any.
        origin: "embedded sample", or the file of the rows.
        notes: how a user's own rows were read, a sentence each.
        numbers: bare numbers that stand for labels -> the labels, by the order of the task.
        metric: by which models are compared unless another is named; "" for the mean outcome.
        picked: number of them that a session picked, so that they are no random sample.
        unlabelled: further rows of the same files without a label, which could be a pool; 0 where there is one.

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
    metric: str = ""
    picked: int = 0
    unlabelled: int = 0

    def __repr__(self) -> str:
        names = label_names(self.task)
        labels = f" ({listed(names)})" if names else ""
        rows = counted(len(self.examples), "row")
        return f"<LabelledDataset {self.name}: {rows} of {self.task.name}{labels}, {self.origin or 'in memory'}>"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the rows, which identifies the data that an accuracy was measured on."""
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
        data_dir: folder of the official file (directly, or in a folder of its own), or that file; None uses the sample
            in the set's own folder.
        include: folders of a user's own sets, or folders of such folders.
        limit: number of rows used as the whole set, for a quick try; see `sample`. None for all.
        limits: size limits of the file.

    Raises:
        UnknownName: no set has that name.
        UsageError: the file is missing (the message says how to get it), or the limit is below 1.
        DataError: the card or the file cannot be read, with the line.

    Example:
        >>> from ranker import load_set
        >>> load_set("hans-sub", limit=40)
        <LabelledDataset hans-sub: 40 rows of nli (non-entailment, entailment), embedded sample>
    """
    if limit is not None and limit < 1:
        raise UsageError.about("limit", f"must be at least 1 (got {limit})", limit)
    card = find_card(name, include)
    file = _find(card, None if data_dir is None else Path(data_dir))
    origin = EMBEDDED if file in [card.folder / name for name in SAMPLE] else str(file)
    nested = ("segments", "marks", *(column for layout in card.layouts for column in layout.columns))

    def columns_by(form: str, header: tuple[str, ...]) -> Columns:
        return reader.read_columns(file, limits=limits, nested=nested, form=form, header=header)

    dataset = _built(card, columns_by, origin)
    return dataset if limit is None else replace(dataset, examples=sample(dataset, limit))


def from_rows(name: str, rows: Iterable[Mapping[str, Any]], include: Iterable[str | Path] = ()) -> LabelledDataset:
    """Build an OOD set from its rows in memory, such as its copy on the Hugging Face hub.

    Args:
        name: a set's name.
        rows: mappings in one of the set's layouts; numbers are read as the container names them, if it does.
        include: folders of a user's own sets.

    Raises:
        UnknownName: no set has that name.
        DataError: the rows cannot be read, with the number of the row.

    Example:
        >>> from ranker import set_from_rows
        >>> texts = {"premise": "The cook near the maid ran.", "hypothesis": "The maid ran."}
        >>> set_from_rows("hans-sub", [texts | {"label": 1, "heuristic": "subsequence"}])
        <LabelledDataset hans-sub: 1 row of nli (non-entailment, entailment), rows in memory>
    """
    columns = reader.of_rows(rows)
    return _built(find_card(name, include), lambda form, header: columns, MEMORY)


def _built(card: Card, columns_by: Callable[[str, tuple[str, ...]], Columns], origin: str) -> LabelledDataset:
    """Build the set of a card's rows; `columns_by` reads them by an ending and the names of columns (see `Layout`)."""
    layout, columns = _fitting(card, columns_by, origin)
    by_file = readers.with_number_names(layout, columns)
    if not (layout.numbers and has_labels(card.task)) or None not in map(card.task.index, by_file.numbers):
        layout = by_file  # else the file's names of numbers, such as "1" and "2", say less than the card
    left_out: Counter[str] = Counter()
    rows = _by_rules(columns.rows(), layout, left_out)
    examples = tuple(readers.examples(rows, card.task, layout, marker(card.marks), columns.limits))
    if not examples:
        wanted = " or ".join(sorted({f"{c} = {v}" for layout in card.layouts for c, v in layout.where.items()}))
        raise DataError.of(origin, f"holds no row of {card.name}" + (f": none has {wanted}" if wanted else ""))
    if card.balance:
        examples = balanced(examples, left_out)
    notes = [f"Rows left out by the rule {rule!r}: {count:,}." for rule, count in left_out.items()]
    if card.size is not None and card.size != len(examples):
        notes.append(f"{card.name}: {counted(len(examples), 'row')}; the paper counts {card.size:,}.")
    metric = next(iter(card.metrics), "")
    return LabelledDataset(
        card.name, card.task, examples, card.population, card.designed, origin, tuple(notes), metric=metric
    )


def _fitting(card: Card, columns_by: Callable[[str, tuple[str, ...]], Columns], origin: str) -> tuple[Layout, Columns]:
    """Return the first layout of a card whose columns are all present, and the rows read by it."""
    layouts, trouble = (*card.layouts, OWN), UsageError("")
    contents: dict[tuple[str, tuple[str, ...]], Columns | None] = {}
    for layout in layouts:
        way = layout.form, layout.header
        try:
            columns = contents[way] = contents[way] if way in contents else columns_by(*way)
        except UsageError as error:  # such as a file of no known ending
            contents[way], columns, trouble = None, None, error
        if columns is not None and set(layout.columns) <= set(columns.order):
            return layout, columns
    columns = next((columns for columns in contents.values() if columns is not None), None)
    if columns is None:
        raise trouble
    if not columns.order:  # no row, no column
        return layouts[0], columns
    needed = [layout.columns for layout in card.layouts or (OWN,)]
    missing = min(([name for name in names if name not in columns.order] for names in needed), key=len)
    wanted = "; or ".join(dict.fromkeys(map(listed, needed)))
    text = f"has another layout than {card.name}, which needs the columns {wanted} (columns: {listed(columns.order)})"
    raise DataError.of(origin, text, option=missing[0], allowed=needed)


def _by_rules(rows: Iterable[Row], layout: Layout, left_out: Counter[str]) -> Iterator[Row]:
    """Yield rows as the layout's rules make them; `left_out` counts those that a rule leaves out."""
    if not (layout.rows or layout.clean or layout.map):
        yield from rows
        return
    number = 0
    for row in rows:
        if any(str(row.cells[column]) != value for column, value in layout.where.items()):
            continue
        try:
            products: list[Mapping[str, Any]] = [row.cells]
            for rule in layout.rows:
                products = [cells for earlier in products for cells in rules.ROWS[rule](earlier)]
            left_out.update(layout.rows[-1:] if not products else ())
            for cells in products:
                ruled = _with_rules(cells, layout, left_out)
                if ruled is not None:
                    number += 1
                    yield Row(row.place, number, ruled)
        except (ValueError, KeyError, TypeError, AttributeError) as error:  # of a cell of another shape
            raise DataError.at(row.place, error if isinstance(error, ValueError) else f"{error!r}") from error


def _with_rules(cells: Mapping[str, Any], layout: Layout, left_out: Counter[str]) -> Mapping[str, Any] | None:
    """Return a row with its texts cleaned and its label mapped; None, counted, if nothing of either is left."""
    changed = dict(cells)
    for column in layout.text if layout.clean else ():
        for rule in layout.clean:
            changed[column] = rules.TEXTS[rule](str(changed[column]))
        if not changed[column]:
            left_out[layout.clean[-1]] += 1
            return None
    if layout.map and layout.label is not None:
        changed[layout.label] = rules.LABELS[layout.map](cells[layout.label])
        if changed[layout.label] is None:
            left_out[layout.map] += 1
            return None
    return changed


def balanced(examples: Sequence[Example], left_out: Counter[str], seed: int = 0) -> tuple[Example, ...]:
    """Draw as many rows of each label as the rarest label has, in their order; `left_out` counts the others.

    Example:
        >>> rows = [Example(str(n), ("a",), n % 3 == 0) for n in range(9)]
        >>> sum(row.target for row in balanced(rows, Counter())), len(balanced(rows, Counter()))
        (3, 6)

    Source: BOSS B.2.1.
    """
    generator = np.random.default_rng(seed)
    targets = np.array([row.target for row in examples])
    labels, counts = np.unique(targets, return_counts=True)
    drawn = [generator.permutation(np.flatnonzero(targets == label))[: counts.min()] for label in labels]
    left_out["balance"] = len(examples) - int(counts.min()) * len(labels)
    return tuple(examples[place] for place in sorted(np.concatenate(drawn).tolist()))


def from_sheet(name: str, sheet: Sheet, task: Task, card: Card | None = None, chosen: bool = False) -> LabelledDataset:
    """Build a set of a user's own rows; all of them are the population.

    Blank labels are left out, and so are rows without ids that repeat a text and its label; the notes count them.
    `card` is of the OOD set whose marks and designed factor also hold for them; `chosen`: the user named the columns of
    texts. See `readers.examples`.

    Example:
        >>> sheet = readers.read_sheet([{"text": "Lovely.", "label": "good"}, {"text": "Dull.", "label": "bad"}])
        >>> [row.target for row in from_sheet("reviews", sheet, ClassificationTask("mood", ("bad", "good"))).examples]
        [1, 0]
    """
    labels = readers.raw_labels(sheet)
    rows = [row for row, label in zip(sheet.rows, labels, strict=True) if label is not None]
    marks = readers.no_marks if card is None else marker(card.marks)
    examples = list(readers.examples(rows, task, sheet.layout, marks, sheet.limits, sheet.size))
    distinct: dict[object, Example] = {}
    for row in examples:  # metrics of all rows together, such as span F1, count every one
        distinct.setdefault((row_key(row), row.target) if has_labels(task) else row.id, row)
    distinct_rows = tuple(distinct.values())
    meant = {label: row.target for label, row in zip(filter(None, labels), examples, strict=True)}
    of_labels = tuple(row_notes.label_notes(meant, task)) if has_labels(task) else ()
    return LabelledDataset(
        name=name,
        task=task,
        examples=distinct_rows,
        population=len(distinct_rows),
        designed=None if card is None else card.designed,
        origin=sheet.origin,
        notes=(
            *of_labels,
            *task.notes([row.target for row in distinct_rows]),
            *row_notes.count_notes(distinct_rows, len(labels) - len(rows), repeated=len(examples) - len(distinct_rows)),
            *row_notes.file_notes(sheet, distinct_rows, chosen),
        ),
        numbers=row_notes.read_numbers(meant, task) if has_labels(task) else {},
        picked=sum(row.cells.keys() >= SESSION_COLUMNS and row.cells[PICKED] in PICKING for row in rows),
        unlabelled=len(labels) - len(rows) if sheet.layout.text else 0,
    )


def unlabelled(
    data: str | Path | Iterable[Mapping[str, Any]] | Columns,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    like: str | None = None,
    include: Iterable[str | Path] = (),
    encoding: str = "",
    limits: Limits = LIMITS,
    by_id: bool = False,
) -> tuple[Example, ...]:
    """Read unlabelled rows of a domain; a column of labels is ignored.

    Rows with a blank text are left out, with a warning.

    Args:
        data: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file, or rows in memory: mappings, a `datasets.Dataset`,
            a data frame.
        columns: "text" and "id" -> columns with unusual names.
        like: an OOD set whose marks also hold for these rows.
        include: folders of a user's own sets.
        encoding: of a file that is not UTF-8 and does not say what it is, such as cp1252.
        limits: size limits of the file.
        by_id: whether rows may have ids alone, by which files of answers are joined.

    Raises:
        UnknownName: no set has that name.
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
    pool = readers.read_pool_rows(Path(data) if isinstance(data, str) else data, columns, encoding, limits, by_id)
    if hint := row_notes.swapped_columns_note(pool):
        log.warning("%s: %s", pool.origin, hint)
    return readers.unlabelled(pool, marks)


def with_labels(
    rows: Iterable[Example],
    labels: Iterable[str | None],
    places: Iterable[str],
    task: Task,
) -> list[Example]:
    """Set the rows' targets from labels as written; a DataError names the place of an invalid label."""
    labelled = []
    for row, label, place in zip(rows, labels, places, strict=False):
        try:
            target = None if label is None else task.target_of(label)
        except ValueError as error:
            raise DataError.at(place, error) from error
        labelled.append(replace(row, target=target))
    return labelled


def cards(include: Iterable[str | Path] = ()) -> dict[str, Card]:
    """Read the cards of all sets with rows, by name, without the catalogues. See `embedded.cards`."""
    return {name: cards_of.read_card(path) for name, path in embedded.cards(include).items()}


def find_card(name: str, include: Iterable[str | Path] = ()) -> Card:
    """Read the card of a set by its name, in any case; raises `UnknownName`."""
    label, path = embedded.find(name, include)
    return cards_of.read_card(path, label)


def names(include: Iterable[str | Path] = ()) -> tuple[str, ...]:
    """Return the names of the sets, in order."""
    return tuple(cards(include))


def tasks(include: Iterable[str | Path] = ()) -> dict[str, ClassificationTask]:
    """Return the tasks of labels of these sets, by name."""
    return {card.task.name: card.task for card in cards(include).values() if has_labels(card.task)}


def sample(ood: LabelledDataset, size: int, seed: int = 0) -> tuple[Example, ...]:
    """Draw the population: ``size`` examples at most, without replacement, in the order of the set.

    A smaller sample is part of a larger one, so that stored results serve both.
    """
    if size >= len(ood.examples):
        return ood.examples
    chosen = np.random.default_rng(seed).permutation(len(ood.examples))[:size]
    return tuple(ood.examples[i] for i in sorted(chosen))


def how_to_get(card: Card) -> str:
    """Return where the official rows of a set come from, and what to do by hand."""
    return f"come from {card.source}" + (f": {card.by_hand}" if card.by_hand else "")


def _find(card: Card, data_dir: Path | None) -> Path:
    """Find the file of the set's rows."""
    get = f"`rank-models fetch {card.name} --data-dir DIR` gets them" if card.url else f"they {how_to_get(card)}"
    if data_dir is None or not card.files:
        places = [card.folder / file for file in (*SAMPLE, *card.files)]
        missing = f"{card.name} has no embedded sample: name the folder of the official rows with `data_dir`; {get}"
    elif os.path.isfile(data_dir):
        return data_dir
    elif not os.path.isdir(data_dir):
        raise UsageError.about("data_dir", f"must be a folder that exists (got {data_dir})", data_dir)
    else:
        places = [data_dir / folder / file for folder in ("", *card.folders) for file in card.files]
        below = ", ".join(f"{folder}/" for folder in card.folders)
        nor = f", nor in its {below}" if below else ""
        missing = f"`data_dir`: there is no {card.files[0]} in {data_dir}{nor}; {get}"
    existing = next((path for path in places if os.path.isfile(path)), None)
    if existing is None:
        raise UsageError(missing, option="data_dir", value=data_dir, allowed=places)
    return existing
