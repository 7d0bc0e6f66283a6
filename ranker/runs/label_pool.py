"""Read the pool of a labelling session, and the rows that others have labelled."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from factors import Example
from ranker.datasets import readers
from ranker.datasets.identity import row_key
from ranker.datasets.readers import Sheet
from ranker.labelling.sheet import cells_by_row
from ranker.runs.inspected import InspectedModels
from ranker.runs.rows import RowsFile, check_columns
from ranker.runs.task import check_known_labels, decide_task, mask_empty_words, unknown_label_notes
from ranker.tasks.base import Task
from ranker.tasks.classes import has_labels, label_names
from ranker.tasks.values import has_values

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wording:
    """Words for people who answer.

    Attributes:
        noun: what one answer of theirs is.
        title: what they are asked.
        keys: of the labels; "" for the usual ones.
        texts: label -> as people read it, where that is another text.
        blind: whether models' names are hidden while the session lasts, and so what they said.
    """

    noun: str = "row"
    title: str = "Label rows"
    keys: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    blind: bool = False

    def of(self, label: str) -> str:
        """Return a label as people read it."""
        return self.texts.get(label, label)


@dataclass(frozen=True)
class Panel:
    """Answers that are shown beside a row.

    Attributes:
        current: which of them is meant; None for all.
        titles: of the answers; () for their numbers.
    """

    answers: tuple[str, ...] = ()
    current: int | None = None
    titles: tuple[str, ...] = ()

    @property
    def titled(self) -> list[tuple[str, str]]:
        """Each answer after its title."""
        titles = self.titles or tuple(f"Answer {number}" for number in range(1, len(self.answers) + 1))
        return [*zip(titles, self.answers, strict=True)]


@dataclass(frozen=True)
class PoolFile:
    """A pool as its file holds it, its rows without labels, and those labelled there or in other people's files.

    Several of the labelled rows may be answers to one row.
    """

    sheet: Sheet
    rows: tuple[Example, ...]
    task: Task
    labelled: tuple[Example, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels; () where answers are none, and are typed."""
        return label_names(self.task)

    @property
    def boxes(self) -> tuple[str, ...]:
        """Labels of which any number is ticked; () where answers are given otherwise."""
        return self.task.boxes if has_values(self.task) else ()

    @property
    def span_types(self) -> tuple[str, ...]:
        """Types of the spans that people mark in a row; () where answers are given otherwise."""
        return self.task.span_types if has_values(self.task) else ()

    def tokens(self, row: Example) -> tuple[str, ...]:
        """Return the tokens of a row that people mark; () where answers are given otherwise."""
        return self.task.tokens(row.segments) if has_values(self.task) else ()

    @property
    def hint(self) -> str:
        """Form of an answer that is typed; "" where it is a label."""
        return self.task.hint if has_values(self.task) else ""

    @property
    def quotes(self) -> bool:
        """True if a correct answer is a part of a row's texts."""
        return has_values(self.task) and self.task.quotes

    @cached_property
    def cells(self) -> Mapping[Hashable, Mapping[str, str]]:
        """The cells of each row, by its key, as a session's file has them."""
        return cells_by_row(self.sheet, self.rows)

    @property
    def wording(self) -> Wording:
        """Words for people."""
        return Wording()

    @property
    def own_columns(self) -> Mapping[str, Sequence[str]]:
        """Columns of a session's file by their part, where they are others than those of the pool."""
        return {}

    def panel(self, row: Example, graded: Collection[str] = ()) -> Panel:
        """Return the answers that are shown beside a row, some of whose parts are graded: none."""
        return Panel()

    def parts(self, row: Example) -> tuple[str, ...]:
        """Return the parts of a row's answer that people label one by one; () if its label is one."""
        return ()

    def known(self, row: Example) -> str:
        """Return the label that need not be asked; "" if people are to say."""
        return ""

    def whole(self, answered: Sequence[Example]) -> bool:
        """Return whether a session may end after these rows."""
        return True

    def finder(self, rows: Sequence[Example]) -> Callable[[Example, Mapping[str, object]], int]:
        """Return what finds the row of a line in a session's file, or raises a ValueError.

        A row is found by its id; by its text, if either has no ids.
        """
        by_id = {row.id: place for place, row in enumerate(rows)} if self.sheet.layout.id else {}
        by_text: dict[tuple[str, ...], list[int]] = {}
        for place_in_pool, row in enumerate(rows):
            by_text.setdefault(row.segments, []).append(place_in_pool)

        def place(row: Example, _: Mapping[str, object]) -> int:
            same_text, the_id = by_text.get(row.segments, []), f"the id {row.id!r}"
            if row.numbered_in or not by_id:
                places = same_text
                count = len(places)
                reason = (
                    f"its text is that of {count} rows, and its id is missing" if places else "its text is not there"
                )
            else:
                places = [number for number in same_text if number == by_id.get(row.id)]
                reason = f"{the_id} has another text there" if row.id in by_id else f"{the_id} is not there"
            if len(places) != 1:
                raise ValueError(f"a row that {self.sheet.origin} does not have ({reason}): the pool has changed since")
            return places[0]

        return place


def read_pool(
    pool: RowsFile,
    labelled: Sequence[Path],
    models: InspectedModels,
    label_map: bool = False,
    session: Path | None = None,
) -> PoolFile:
    """Read a pool, and rows that others have labelled.

    Args:
        pool: the file of rows, and options for it and the other files.
        labelled: files of labelled rows; the labels in the first, else those in the pool, decide the task.
        label_map: True if the user maps the models' labels, so that rows may have labels of other names.
        session: file of earlier answers; all its rows are read of a large pool. None if there is none.

    Raises:
        DataError: as `decide_task`; a file cannot be read, or has a label that is unknown to the task or to all models.
    """
    files = [replace(pool, file=file) for file in labelled]
    earlier = [*files, replace(pool, file=session)] if session else files
    pool = pool.as_pool((texts for file in earlier for texts in file.texts()), keep_labels=True)
    check_columns(pool, *files, absent="label")
    if pool.draw_note:
        log.warning(pool.draw_note)
    raw_sheets = (pool.with_texts(), *(file.sheet("text", "label") for file in files))
    sheet, *sheets = (_mask_labels(raw_sheet, pool, models) for raw_sheet in raw_sheets)
    telling = next(iter(sheets), sheet)
    task = decide_task(pool.named_task, telling, models.infos)
    if has_labels(task) and not (pool.task or pool.like or label_map):
        check_known_labels(task, models.infos, telling.origin)
    answers = [row for labelled_sheet in sheets for row in _distinct_answers(labelled_sheet, task)]
    all_labelled = (*_labelled_rows(sheet, task), *answers)
    for note in () if pool.named_task.lookup() else unknown_label_notes(task, models.infos, all_labelled):
        log.warning(note)
    return PoolFile(sheet, readers.unlabelled(sheet), task, all_labelled)


def _mask_labels(sheet: Sheet, pool: RowsFile, models: InspectedModels) -> Sheet:
    """Mask labels of a sheet that are words for nothing, and log which."""
    masked, notes = mask_empty_words(sheet, pool.empty_words, pool.named_task, models.infos)
    for note in notes:
        log.warning("%s: %s", sheet.origin, note)
    return masked


def _labelled_rows(sheet: Sheet, task: Task, repeated: bool = False) -> list[Example]:
    """Return the labelled rows of a sheet; of one row there may be several if `repeated`."""
    labels = readers.raw_labels(sheet)
    rows = [row for row, label in zip(sheet.rows, labels, strict=True) if label is not None]
    return list(readers.examples(rows, task, sheet.layout, limits=sheet.limits, size=sheet.size, repeated=repeated))


def _distinct_answers(sheet: Sheet, task: Task) -> Iterable[Example]:
    """Return labelled rows of a sheet, several per row if people differ; repeated answers of one person count once."""
    answers = _labelled_rows(sheet, task, repeated=True)
    labels = readers.raw_labels(sheet)
    people = [
        str(row.cells.get("annotator") or "")
        for row, label in zip(sheet.rows, labels, strict=True)
        if label is not None
    ]
    return {(row_key(row), row.target, person): row for row, person in zip(answers, people, strict=True)}.values()
