"""What one labels at: the session, its file on the disk, and who sits there."""

from __future__ import annotations

import getpass
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from factors import Example
from ranker.commands.arguments import LabellingRequest
from ranker.datasets import readers
from ranker.errors import RankModelsError
from ranker.files.reader import read
from ranker.files.saving import save
from ranker.labelling.agreement import agreement
from ranker.labelling.sheet import Line, cells_of, lines_of, written
from ranker.numbers import counted, percent
from ranker.report.escapes import visible
from ranker.runs.label import Labelling, PoolFile, distinct, read_pool
from ranker.runs.label import label as labelling_of

log = logging.getLogger("ranker")

SHOWN = 3
"""Disputed rows that are named."""


@dataclass
class Desk:
    """A session, and where it is kept.

    Attributes:
        request: what was asked.
        pool: the rows.
        labelling: the session.
        column: that labels stand in.
        waiting: rows of the file that nothing was said of: texts, cells.
    """

    request: LabellingRequest
    pool: PoolFile
    labelling: Labelling
    column: str
    waiting: Sequence[tuple[tuple[str, ...], Mapping[str, str]]]

    def keep(self) -> None:
        """Replace the file by what is known now, in one piece, and bring it to the disk.

        Raises:
            RankModelsError: it cannot be written.
        """
        path = self.request.output
        if path is None:
            return
        cells = cells_of(self.pool.sheet, self.pool.rows)
        rows = self.labelling.rows
        lines = [
            line if line.cells is not None else replace(line, cells=cells.get(rows[line.event.row].segments, {}))
            for line in self.labelling.lines
        ]
        said = {rows[line.event.row].segments for line in lines}
        waiting = [cells for texts, cells in self.waiting if texts not in said]
        try:
            save(path, written(lines, waiting, self.labelling.task.labels, self.column).encode())
        except OSError as error:
            raise RankModelsError(f"`--output`: {path} cannot be written: {error.strerror}") from error

    def beside(self, seconds: float) -> dict[str, Any]:
        """What is recorded beside an answer."""
        when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return {"annotator": self.request.annotator or _user(), "seconds": seconds, "when": when}


def opened(request: LabellingRequest, going_on: bool) -> Desk:
    """Read the pool, and what was said before if `going_on`, and ask the models; see `read_pool` and `ranker.label`."""
    pool = read_pool(request.pool, request.labelled, request.models, request.label_map)
    column = pool.sheet.layout.label or next(iter(request.pool.columns.get("label", [])), "label")
    of = distinct(pool.rows)
    lines, waiting = _said_before(request, pool, of, column) if going_on else ([], [])
    answered = [line.event for line in lines if line.event.status == "answered"]
    _disputed([*pool.labelled, *(replace(of[event.row], label=event.label) for event in answered)])
    session = labelling_of(
        pool.rows,
        request.models,
        task=pool.task,
        labelled=pool.labelled,
        lines=lines,
        settings=request.settings,
        runtime=request.runtime,
    )
    return Desk(request, pool, session, column, [(of[at].segments, cells) for at, cells in waiting])


def _said_before(
    request: LabellingRequest, pool: PoolFile, rows: Sequence[Example], column: str
) -> tuple[list[Line], list[tuple[int, Mapping[str, str]]]]:
    """What the file of a session says, whoever began it."""
    path, own = request.output, request.pool
    if path is None or not read(path, own.encoding, own.limits, empty=True).size:
        return [], []
    places = {row.segments: at for at, row in enumerate(rows)}
    ids = {row.id for row in rows} if pool.sheet.layout.id else set()

    def place(row: Example) -> int:
        if row.segments in places:
            return places[row.segments]
        known = f"the id {row.id!r} has another text there" if row.id in ids else "its text is not there"
        raise ValueError(f"a row that {pool.sheet.origin} does not have ({known}): the pool has changed since")

    file = replace(own, file=path, columns={**own.columns, "label": [column]}).sheet("text")
    found = readers.unlabelled(file._replace(layout=replace(file.layout, id=None)))  # several lines may be of one row
    if ids and file.layout.id:
        found = tuple(
            replace(one, id=str(row.cells[file.layout.id])) for one, row in zip(found, file.rows, strict=True)
        )
    return lines_of(file, found, place, lambda cell: readers.label_of(cell, pool.task))


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
