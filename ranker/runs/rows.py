"""Rows as users name them, labelled or not: files and how they are read, datasets, rows in memory."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

from factors import Example
from ranker.datasets import readers, row_notes, sets
from ranker.datasets.readers import Sheet
from ranker.datasets.sets import LabelledDataset
from ranker.errors import Assumption, DataError, UsageError
from ranker.files.buckets import local_path
from ranker.files.columns import Columns
from ranker.files.draws import Draw
from ranker.limits import LIMITS, Limits
from ranker.numbers import counted
from ranker.runs.task import NamedTask, decide_task, mask_empty_words, unknown_label_notes
from ranker.sources.base import ModelInfo
from ranker.statistics.patterns import ROWS as POOL_ROWS
from ranker.tasks.base import Task

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NamedDataset:
    """Name of an OOD set, and how it is read: see `ranker.datasets.sets.load`.

    Attributes:
        data_dir: folder of the official file; None takes the embedded sample.
        limit: number of rows that stand for the whole set; None for all.
        population: number of rows that are attributed; None for the number on the set's card.
        limits: size limits of the file.
    """

    name: str
    data_dir: Path | None = None
    include: tuple[Path, ...] = ()
    limit: int | None = None
    population: int | None = None
    limits: Limits = LIMITS

    def load(self) -> LabelledDataset:
        """Load the set; errors are those of `ranker.datasets.sets.load`."""
        dataset = sets.load(self.name, self.data_dir, self.include, self.limit, self.limits)
        return replace(dataset, population=self.population) if self.population else dataset


@dataclass(frozen=True)
class RowsFile:
    """A user's own rows, and the options that say how to read them.

    Attributes:
        file: .jsonl, .csv, .tsv or .parquet; or rows in memory (see `readers.read_sheet`).
        task, columns, like, include, encoding, limits, empty_words: as in `labelled`; without a task `decide_task`
            decides.
        scale: worst and best number, where the task's answers are numbers; None if not stated.
        draw: the rows that are read of a file of any size; None reads all.
        separator, threshold: sign between labels, and least probability of one, where answers are sets of labels; None
            if not stated.
    """

    file: Path | Collection[Mapping[str, object]]
    task: Task | str | None = None
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    like: str | None = None
    include: tuple[str | Path, ...] = ()
    encoding: str = ""
    limits: Limits = LIMITS
    empty_words: tuple[str, ...] | None = None
    scale: tuple[float, float] | None = None
    draw: Draw | None = None
    separator: str | None = None
    threshold: float | None = None

    @property
    def name(self) -> str:
        """Name of the file without its ending; "rows" in memory."""
        return self.file.stem if isinstance(self.file, Path) else "rows"

    @property
    def named_task(self) -> NamedTask:
        """The options that name the task, or else the only one that the file's layout has."""
        of_layout = "" if self.task or self.like else readers.layout_task(self.content)
        name = self.task or of_layout or None
        return NamedTask(name, self.like, self.include, self.scale, self.separator, self.threshold)

    @cached_property
    def content(self) -> Columns:
        """Columns of the rows; a file is read once."""
        return readers.content(self.file, self.columns, self.encoding, self.limits, self.draw)

    def as_pool(self, texts: Iterable[tuple[str, ...]] = (), *, keep_labels: bool = False) -> RowsFile:
        """Return the same file as a pool, of which a bounded number of rows is drawn.

        Args:
            texts: texts of labelled rows; the first row with each is read in any case.
            keep_labels: read the rows that have a label in any case, too.
        """
        columns = self.columns.get("label", ())
        label_columns = (columns,) if isinstance(columns, str) else tuple(columns)
        labels = label_columns or tuple(name for group in readers.USUAL["label"] for name in group)
        filled = tuple(name.casefold() for name in labels) if keep_labels else ()
        return replace(self, draw=Draw(POOL_ROWS, frozenset(texts), filled))

    def texts(self) -> Iterator[tuple[str, ...]]:
        """Yield the texts of each row that has some."""
        if self.content.size:
            yield from (texts for texts in _texts_of(self.sheet()) if texts)

    @property
    def draw_note(self) -> str:
        """Sentence that says how many rows were drawn of how many; "" where all were read."""
        return draw_note(self.content.size, self.content.total) if self.content.total else ""

    def unread_label_notes(self) -> Iterator[str]:
        """Say how many rows of a pool have a label there and none among the labelled rows: it is not read."""
        sheet, labelled_texts = self.sheet(), self.draw.texts if self.draw else frozenset()
        labels = readers.raw_labels(sheet)
        count = sum(
            label is not None and texts not in labelled_texts
            for texts, label in zip(_texts_of(sheet), labels, strict=True)
        )
        if count:
            have = counted(count, "row of the pool has a label", "rows of the pool have a label")
            yield Assumption(
                f"{have} in the column {sheet.layout.label!r}, which is not read: only those of `data` are."
            )

    def sheet(self, *required: str) -> Sheet:
        """Read the rows as written; each part in `required` must have a column."""
        return readers.read_sheet(self.content, self.columns, required, limits=self.limits)

    def with_texts(self) -> Sheet:
        """Read the rows that have a text; labels stay as written."""
        sheet = readers.read_pool_rows(self.content, self.columns, limits=self.limits)
        if hint := row_notes.swapped_columns_note(sheet):
            log.warning("%s: %s", sheet.origin, hint)
        return sheet

    def labelled(self, infos: Sequence[ModelInfo] = ()) -> LabelledDataset:
        """Read the labelled rows as examples of the task that `decide_task` decides.

        Rows need no text if all models are files of answers: ids or the order identify them.
        """
        precomputed = bool(infos) and all(info.source.precomputed for info in infos)
        raw_sheet = self.sheet(*(("label",) if precomputed else ("text", "label")))
        sheet, words = mask_empty_words(raw_sheet, self.empty_words, self.named_task, infos)
        if not any(label is not None for label in readers.raw_labels(sheet)):
            problem = f"the column {sheet.layout.label!r} is still empty in all {len(sheet.rows)} rows"
            raise DataError.at(sheet.origin, problem, option=sheet.layout.label or "")
        task = decide_task(self.named_task, sheet, infos)
        ood = sets.from_sheet(self.name, sheet, task, self.named_task.card, chosen="text" in self.columns)
        unknown = () if self.named_task.lookup() else unknown_label_notes(task, infos, ood.examples)
        return replace(ood, notes=(*words, *ood.notes, *unknown))

    def unlabelled(self, by_id: bool = False) -> tuple[Example, ...]:
        """Read all rows, without labels; with `by_id`, they may have ids alone."""
        roles = {role: names for role, names in self.columns.items() if role not in ("label", "cluster")}
        return sets.unlabelled(self.content, roles, self.like, self.include, limits=self.limits, by_id=by_id)


def _texts_of(sheet: Sheet) -> Iterator[tuple[str, ...]]:
    """Yield the texts of each row; () where a cell is none."""
    for row in sheet.rows:
        cells = [row.cells.get(column) for column in sheet.layout.text]
        texts = [text for cell in cells for text in (cell if isinstance(cell, list) else (cell,))]
        strings = tuple(text for text in texts if isinstance(text, str))
        yield strings if len(strings) == len(texts) else ()


def check_columns(*files: object, absent: str = "") -> None:
    """Refuse with a UsageError named columns that none of several files has; see `readers.check_named`."""
    with_columns = [file for file in files if isinstance(file, RowsFile) and file.columns]
    for file in with_columns:
        readers.check_named(file.columns, [each_file.content for each_file in with_columns], absent)


def labelled(
    data: str | Path | Collection[Mapping[str, object]],
    task: str | Task | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    like: str | None = None,
    include: Iterable[str | Path] = (),
    encoding: str = "",
    limits: Limits = LIMITS,
    empty_words: Iterable[str] | None = None,
) -> LabelledDataset:
    """Read a user's own labelled rows; all of them are the population.

    Rows with a blank label are left out, and so are exact repeats, label included. The notes say how many.

    Args:
        data: a ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` file, or rows in memory: mappings, a `datasets.Dataset`,
            a data frame.
        task: the labels, or the name of a known task; None takes the known task that the rows' labels fit.
        columns: "text", "label" and "id" -> columns with unusual names; "cluster" -> the column that says which rows
            belong together; "rationale" -> columns of the words that people named, one for each annotator.
        like: an OOD set whose task, marks and designed factor also hold for these rows.
        include: folders of a user's own sets.
        encoding: encoding of a file that is not UTF-8 and does not declare it, such as cp1252.
        limits: size limits of the file.
        empty_words: labels that mean nothing, as written; () if only the empty cell does; None for N/A and the like,
            unless a label has that name.

    Raises:
        UsageError: no such set or task, or the labels fit no task, or several.
        DataError: the file cannot be read, with the line, or has no row with a label.

    Example:
        >>> from ranker import ClassificationTask
        >>> rows = [{"text": "Lovely.", "label": "good"}, {"text": "Dull.", "label": "bad"}]
        >>> [row.target for row in labelled(rows, ClassificationTask("sentiment", ("bad", "good"))).examples]
        [1, 0]
    """
    file = local_path(data, "data", limits.file) if isinstance(data, str) else data
    words = None if empty_words is None else tuple(empty_words)
    return RowsFile(file, task, columns or {}, like, tuple(include), encoding, limits, words).labelled()


LabelledRows: TypeAlias = LabelledDataset | RowsFile | str | Path | Collection[Mapping[str, object]]
"""Labelled rows as a user names them: a dataset, a file, or rows in memory (see `readers.read_sheet`)."""


R = TypeVar("R")


UnlabelledRows: TypeAlias = Sequence[Example] | RowsFile | str | Path | Collection[Mapping[str, object]]
"""Rows without labels as a user names them: examples, a file, or rows in memory (see `readers.read_sheet`)."""


def with_columns(rows: R, columns: Mapping[str, str | Sequence[str]] | None) -> R | RowsFile:
    """Return rows to be read with names of their columns; no rows stay none; a UsageError if they were read already."""
    if not columns or rows is None or (isinstance(rows, Sequence) and not rows):
        return rows
    if isinstance(rows, (RowsFile, LabelledDataset)) or (
        not isinstance(rows, (str, Path)) and any(isinstance(row, Example) for row in cast(Iterable[object], rows))
    ):
        raise UsageError.about("columns", "is for a file of rows, or rows in memory, that are still to be read")
    file = Path(rows) if isinstance(rows, (str, Path)) else cast(Collection[Mapping[str, object]], rows)
    return RowsFile(file, columns=columns)


def as_pool(rows: UnlabelledRows, texts: Iterable[tuple[str, ...]] = ()) -> Sequence[Example] | RowsFile:
    """Return rows without labels as examples, or as a file of which some are drawn, in any case those with texts."""
    if isinstance(rows, RowsFile):
        return rows.as_pool(texts)
    if isinstance(rows, (str, Path)):
        return RowsFile(local_path(rows, "pool", LIMITS.pool)).as_pool(texts)
    if isinstance(rows, Sequence) and all(isinstance(row, Example) for row in rows):
        return cast(Sequence[Example], rows)
    return RowsFile(cast(Collection[Mapping[str, object]], rows)).as_pool(texts)


def draw_note(drawn: int, size: int) -> str:
    """Say how many rows of a pool were drawn."""
    return f"{drawn:,} of the {size:,} rows of the pool are read, drawn at random (seed 0)."


def read_pool_rows(pool: Sequence[Example] | RowsFile, by_id: bool = False) -> Sequence[Example]:
    """Read the rows of a pool; errors are those of `ranker.datasets.sets.unlabelled`."""
    return pool.unlabelled(by_id) if isinstance(pool, RowsFile) else pool
