"""What one labels at: the session, its file on the disk, and who sits there."""

from __future__ import annotations

import getpass
import hashlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from factors import Example
from ranker.commands.arguments import LabellingRequest
from ranker.datasets import readers
from ranker.errors import DataError, RankModelsError
from ranker.files.reader import read_columns
from ranker.files.saving import save
from ranker.labelling.agreement import agreement
from ranker.labelling.sheet import Line, cells_of, lines_of, renamed, to_csv
from ranker.numbers import counted, percent
from ranker.runs.label import Labelling, PoolFile, distinct, read_pool
from ranker.runs.label import label as labelling_of

log = logging.getLogger("ranker")

State = tuple[str, int, int]
"""What a line says of a row: the status, the label, and the one that it was changed to."""

TRIES, PAUSE = 10, 0.05
"""How often it is looked whether another program is through with a file, and the seconds between."""

SHOWN = 3
"""Disputed rows that are named."""


@dataclass
class SessionFile:
    """A session, and where it is kept.

    Attributes:
        request: what was asked.
        pool: the rows.
        labelling: the session.
        column: that labels stand in.
        waiting: rows of the file that nothing was said of: texts, cells.
        digest: the SHA-256 of the file when it was read or written last; "" where there was none.
        states: what stood there then of each row, by its texts.
    """

    request: LabellingRequest
    pool: PoolFile
    labelling: Labelling
    column: str
    waiting: Sequence[tuple[tuple[str, ...], Mapping[str, str]]]
    digest: str = ""
    states: Mapping[tuple[str, ...], list[State]] = field(default_factory=dict)
    _own: set[tuple[str, ...]] = field(default_factory=set)  # the texts of rows that this session said something of

    def keep(self) -> None:
        """Replace the file by what is known now, in one piece, and bring it to the disk.

        What another program has written there meanwhile is taken in first.

        Raises:
            RankModelsError: it cannot be written, or another program has written what contradicts this session; what
                the session knows is then in a file beside it.
        """
        path = self.request.output
        if path is None:
            return
        self._own |= {*_changed(self.states, self._states(self.labelling.lines))}
        try:
            for _ in range(TRIES):
                if (now := _settled(path, self.digest)) != self.digest:
                    self._take_in(path, now)
                content = self._written()
                if save(path, content, still=lambda now=now: _digest(path) == now):  # type: ignore[misc]
                    break
            else:
                raise DataError(f"`--output`: another program writes {path} again and again; {self._aside(path)}")
        except OSError as error:
            raise RankModelsError(f"`--output`: {path} cannot be written: {error.strerror}") from error
        self.digest, self.states = hashlib.sha256(content).hexdigest(), self._states(self.labelling.lines)

    def _take_in(self, path: Path, digest: str) -> None:
        """Take in what another program has changed in the file since it was read or written here.

        An answer of this session that is missing there stays: whoever wrote it had read the file before.
        """
        if not digest:
            log.warning("%s was removed meanwhile; it is written again", path)
            return
        labelling = self.labelling
        try:
            theirs, waiting = _said_before(self.request, self.pool, labelling.rows, self.column)
            there, here = self._states(theirs), self._states(labelling.lines)
            changed_there, changed_here = ({*_changed(self.states, one)} for one in (there, here))
            changed_here |= self._own - {*there}
            against = [texts for texts in changed_there & changed_here & {*there} if there[texts] != here.get(texts)]
            if against:
                raise DataError(f"on {counted(len(against), 'row that was', 'rows that were')} answered here")
            rows = labelling.rows
            kept = [line for line in theirs if rows[line.event.row].segments not in changed_here]
            own = [line for line in labelling.lines if rows[line.event.row].segments in changed_here]
            labelling.retell([*kept, *own])
        except (RankModelsError, ValueError) as error:
            raise DataError(
                f"`--output`: another program has changed {path} otherwise ({error}); {self._aside(path)}"
            ) from error
        self.waiting = [(rows[at].segments, cells) for at, cells in waiting]
        self.digest, self.states = digest, there
        taken = counted(len(changed_there - changed_here), "row", "rows")
        log.warning("%s: another program has changed it; taken in: %s", path, taken)

    def _aside(self, path: Path) -> str:
        """Keep what the session knows in a file of its own; where that is, in words."""
        numbers = (path.with_name(f"{path.stem}-session-{n}{path.suffix}") for n in count(1))
        beside = next(one for one in numbers if not one.exists())
        try:
            save(beside, self._written())
        except OSError as error:
            return f"what this session knows cannot be written to {beside}: {error.strerror}"
        return f"it is left as it is, and what this session knows is in {beside}"

    def _states(self, lines: Iterable[Line]) -> dict[tuple[str, ...], list[State]]:
        """What lines say of each row, by its texts."""
        found: dict[tuple[str, ...], list[State]] = {}
        for line in lines:
            said = (line.event.status, line.event.label, line.changed_to)
            found.setdefault(self.labelling.rows[line.event.row].segments, []).append(said)
        return found

    def _written(self) -> bytes:
        """The file, as what is known now has it."""
        cells = cells_of(self.pool.sheet, self.pool.rows)
        rows = self.labelling.rows
        lines = [
            line if line.cells is not None else replace(line, cells=cells.get(rows[line.event.row].segments, {}))
            for line in self.labelling.lines
        ]
        said = {rows[line.event.row].segments for line in lines}
        waiting = [cells for texts, cells in self.waiting if texts not in said]
        return to_csv(lines, waiting, self.labelling.task.labels, self.column).encode()

    def beside(self, seconds: float) -> dict[str, Any]:
        """What is recorded beside an answer."""
        when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return {"annotator": self.request.annotator or _user(), "seconds": seconds, "when": when}


def open_session(request: LabellingRequest, going_on: bool) -> SessionFile:
    """Read the pool, and what was said before if `going_on`, and ask the models; see `read_pool` and `ranker.label`."""
    pool = read_pool(request.pool, request.labelled, request.models, request.label_map)
    column = pool.sheet.layout.label or next(iter(request.pool.columns.get("label", [])), "label")
    for name, other in renamed(name for row in pool.sheet.rows for name in row.cells).items():
        log.warning("the column %r of the pool is kept as %r: a session has one of its name", name, other)
    of = distinct(pool.rows)
    digest = "" if request.output is None else _digest(request.output)
    lines, waiting = _said_before(request, pool, of, column) if going_on else ([], [])
    answered = [line.event for line in lines if line.event.status == "answered"]
    _disputed([*pool.labelled, *(replace(of[event.row], target=event.label) for event in answered)])
    session = labelling_of(
        pool.rows,
        request.models,
        task=pool.task,
        labelled=pool.labelled,
        lines=lines,
        settings=request.settings,
        runtime=request.runtime,
    )
    desk = SessionFile(request, pool, session, column, [(of[at].segments, cells) for at, cells in waiting], digest)
    desk.states = desk._states(session.lines)
    return desk


def _digest(path: Path) -> str:
    """The SHA-256 of what is in a file; "" where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def _settled(path: Path, known: str) -> str:
    """The same, once whoever writes the file seems to be through with it."""
    now = _digest(path)
    for _ in range(TRIES if now != known else 0):
        time.sleep(PAUSE)
        before, now = now, _digest(path)
        if before == now:
            break
    return now


def _changed(
    before: Mapping[tuple[str, ...], list[State]], now: Mapping[tuple[str, ...], list[State]]
) -> Iterator[Any]:
    """The texts of the rows of which something else is said now."""
    return (texts for texts in {*before, *now} if before.get(texts) != now.get(texts))


def _said_before(
    request: LabellingRequest, pool: PoolFile, rows: Sequence[Example], column: str
) -> tuple[list[Line], list[tuple[int, Mapping[str, str]]]]:
    """What the file of a session says, whoever began it."""
    path, own = request.output, request.pool
    if path is None or not read_columns(path, own.encoding, own.limits, empty=True).size:
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
    return lines_of(file, found, place, pool.task.target_of)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _disputed(rows: Sequence[Example]) -> None:
    """Say where several answers to one row differ, and how often they agree."""
    found = agreement([(row.segments, row.target) for row in rows])
    if found.disputed:
        shown = (" ".join(" / ".join(texts).split())[:60] for texts in found.disputed[:SHOWN])  # type: ignore[arg-type]
        named = "; ".join(shown)
        more = f" and {len(found.disputed) - SHOWN} more" if len(found.disputed) > SHOWN else ""
        several = counted(len(found.disputed), "row has", "rows have")
        log.warning("%s answers that differ: %s%s", several, named, more)
    if found.share is not None:
        log.warning("two answers to one row agree in %s %% of %d rows", percent(found.share), found.rows)
