"""What one labels at: the session, its file on the disk, and who sits there."""

from __future__ import annotations

import getpass
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from factors import Example
from ranker.commands import arguments, stderr
from ranker.datasets import readers, readings
from ranker.datasets.readers import Sheet
from ranker.datasets.rows import read_rows
from ranker.errors import RankModelsError
from ranker.labelling.agreement import agreement
from ranker.labelling.sheet import Line, cells_of, read, written
from ranker.numbers import counted, percent
from ranker.report.escapes import visible
from ranker.runs.gather import Looked, looked
from ranker.runs.label import Labelling, Settings, distinct
from ranker.runs.label import label as labelling_of
from ranker.runtime.runtime import Runtime
from ranker.runtime.storage import put
from ranker.tasks.classes import ClassTask

log = logging.getLogger("ranker")

Given = Mapping[str, Any]

SHOWN = 3
"""Disputed rows that are named."""


@dataclass
class Desk:
    """A session, and where it is kept.

    Attributes:
        labelling: the session.
        pool: the file of rows.
        all_rows: its rows, with those of one text.
        models: who says something of them.
        runtime: how models are run.
        path: the file of the answers.
        column: that labels stand in.
        waiting: rows of the file that nothing was said of: texts, cells.
        annotator: who answers.
        until: the probability that is enough.
        budget: how many answers are; None for any number.
    """

    labelling: Labelling
    pool: Sheet
    all_rows: Sequence[Example]
    models: Looked
    runtime: Runtime
    path: Path | None
    column: str
    waiting: Sequence[tuple[tuple[str, ...], Mapping[str, str]]]
    annotator: str
    until: float
    budget: int | None

    def keep(self) -> None:
        """Replace the file by what is known now, in one piece, and bring it to the disk.

        Raises:
            RankModelsError: it cannot be written.
        """
        if self.path is None:
            return
        cells = cells_of(self.pool, self.all_rows)
        rows = self.labelling.rows
        lines = [
            line if line.cells is not None else replace(line, cells=cells.get(rows[line.event.row].segments, {}))
            for line in self.labelling.lines
        ]
        said = {rows[line.event.row].segments for line in lines}
        waiting = [cells for texts, cells in self.waiting if texts not in said]
        try:
            put(self.path, written(lines, waiting, self.labelling.task.labels, self.column).encode())
        except OSError as error:
            raise RankModelsError(f"`--output`: {self.path} cannot be written: {error.strerror}") from error

    def beside(self, seconds: float) -> dict[str, Any]:
        """What is recorded beside an answer."""
        when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return {"annotator": self.annotator, "seconds": seconds, "when": when}


def opened(given: Given, settings: Settings, going_on: bool) -> Desk:
    """Read the pool and what was said before, and ask the models about the rows.

    Args:
        given: the command line.
        settings: how rows are picked.
        going_on: there is a file to go on with.

    Raises:
        UsageError: something that cannot be right.
        DataError: a file that cannot be read, or that is of another pool or task.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.
    """
    models = looked(arguments.suite(given, given["ood_name"]))
    arguments.point_out(given, models)
    columns = arguments.columns(given["columns"])
    pool = readers.pool(given["pool"], columns, given["encoding"] or "", given["limits"])
    if hint := readings.swapped(pool):
        log.warning("%s: %s", given["pool"], hint)
    task = arguments.task(given, models, pool)
    rows = readers.unlabelled(pool)
    column = pool.layout.label or next(iter(columns.get("label", [])), "label")
    own = [
        replace(row, label=readers.label_of(label, task, pool.layout.numbers))
        for row, label in zip(rows, readers.written(pool), strict=True)
        if label is not None
    ]
    others = [*own, *arguments.labelled(given, task)]
    of = distinct(rows)
    lines, waiting = _said_before(given, pool, of, task, column) if going_on else ([], [])
    answered = [line.event for line in lines if line.event.status == "answered"]
    _disputed([*others, *(replace(of[event.row], label=event.label) for event in answered)])
    runtime = arguments.runtime(given, stderr.bars(given))
    session = labelling_of(rows, models, task=task, labelled=others, lines=lines, settings=settings, runtime=runtime)
    annotator = given["annotator"] or _user()
    return Desk(
        session,
        pool,
        rows,
        models,
        runtime,
        given["output"],
        column,
        [(of[at].segments, cells) for at, cells in waiting],
        annotator,
        settings.until,
        given["budget"],
    )


def _said_before(
    given: Given, pool: Sheet, rows: Sequence[Example], task: ClassTask, column: str
) -> tuple[list[Line], list[tuple[int, Mapping[str, str]]]]:
    """What the file of a session says, whoever began it."""
    path, encoding, limits = given["output"], given["encoding"] or "", given["limits"]
    if next(iter(read_rows(path, encoding, limits)), None) is None:
        return [], []
    places = {row.segments: at for at, row in enumerate(rows)}
    ids = {row.id for row in rows} if pool.layout.id else set()

    def place(row: Example) -> int:
        if row.segments in places:
            return places[row.segments]
        known = f"the id {row.id!r} has another text there" if row.id in ids else "its text is not there"
        raise ValueError(f"a row that {given['pool']} does not have ({known}): the pool has changed since")

    file = readers.sheet(path, arguments.columns(given["columns"]) | {"label": [column]}, ("text",), encoding, limits)
    found = readers.unlabelled(file._replace(layout=replace(file.layout, id=None)))  # several lines may be of one row
    if ids and file.layout.id:
        found = tuple(
            replace(one, id=str(row.cells[file.layout.id])) for one, row in zip(found, file.rows, strict=True)
        )
    return read(file, found, place, lambda cell: readers.label_of(cell, task))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _disputed(rows: Sequence[Example]) -> None:
    """Say where several answers to one row differ, and how often they agree."""
    found = agreement([(row.segments, row.label) for row in rows])
    if found.disputed:
        shown = (" ".join(" / ".join(texts).split())[:60] for texts in found.disputed[:SHOWN])  # type: ignore[arg-type]
        named = visible("; ".join(shown))
        more = f" and {len(found.disputed) - SHOWN} more" if len(found.disputed) > SHOWN else ""
        several = counted(len(found.disputed), "row has", "rows have")
        log.warning("%s answers that differ: %s%s", several, named, more)
    if found.share is not None:
        log.warning("two answers to one row agree in %s %% of %d rows", percent(found.share), found.rows)
