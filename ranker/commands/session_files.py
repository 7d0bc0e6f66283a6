"""A labelling session and its file on disk."""

from __future__ import annotations

import getpass
import hashlib
import json
import logging
import re
import shlex
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from factors import Example
from ranker.commands.label_arguments import LabellingRequest
from ranker.commands.outputs import path_error
from ranker.datasets import readers
from ranker.datasets.identity import row_key
from ranker.datasets.pools import distinct_rows
from ranker.errors import DataError, RankModelsError, UsageError, listed
from ranker.files.reader import read_columns
from ranker.files.saving import save
from ranker.labelling.sheet import Line, agreement, pool_column_names, read_lines, to_csv
from ranker.numbers import counted, percent
from ranker.results.explanation import Explanation
from ranker.runs.label import Labelling
from ranker.runs.label import label as labelling_of
from ranker.runs.label_answers import label_answers
from ranker.runs.label_parts import in_parts
from ranker.runs.label_pool import Panel, PoolFile, read_pool
from ranker.runs.pool import MAX_COMPARED_ROWS

log = logging.getLogger("ranker")

UNREADABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that a file of text cannot give back: NUL, and halves of surrogate pairs."""

State = tuple[str, Any, Any]
"""State of a row in a line: status, label, and the label that it was changed to."""

TRIES, PAUSE = 10, 0.05
"""Number of checks that another program has finished writing a file, and the seconds between them."""

GRADES = "grades_so_far"
"""Column of what was said of a row's parts before its last one has a label, as JSON."""

KNOWN = "known"
"""What picked a row whose answer need not be asked."""

MAX_LISTED_ROWS = 3
"""Limit on the disputed rows that a warning names."""


@dataclass
class SessionFile:
    """A session, and the file it is kept in.

    Attributes:
        waiting: rows of the file without an answer: key, cells.
        digest: SHA-256 of the file when it was last read or written; "" if there was none.
        states: states of each row at that time, by its key.
        row: the row that waits for an answer; None before it is asked.
        since: time when it was asked, in seconds.
        ending: why the session has ended; "" while it goes on.
        grades: the labels of parts of each row that was begun, by its key.
        ticked: boxes that are ticked of the row that waits.
    """

    request: LabellingRequest
    pool: PoolFile
    labelling: Labelling
    column: str
    waiting: Sequence[tuple[Hashable, Mapping[str, str]]]
    digest: str = ""
    row: Example | None = None
    since: float = 0.0
    ending: str = ""
    grades: dict[Hashable, dict[str, str]] = field(default_factory=dict)
    ticked: frozenset[str] = frozenset()
    _own_rows: set[Hashable] = field(default_factory=set)  # keys of rows that this session changed

    def __post_init__(self) -> None:
        self.states = self._row_states(self.labelling.lines)

    def ask(self) -> Example | None:
        """Return the row that waits for an answer, the same until it has one; None if the session has `ending`.

        What need not be asked is recorded as known.
        """
        while self.row is None and not self.ending:
            self.ending = self._ending()
            row = None if self.ending else self.labelling.next()
            if row is not None and (label := self.pool.known(row)):
                self.labelling.tell(row, label, annotator=self.annotator, when=_now(), picked=KNOWN)
                self.keep()
                continue
            self._wait_for(row)
            self.ending = self.ending or ("" if self.row else "no row is left that could tell the models apart")
        return self.row

    def _wait_for(self, row: Example | None) -> None:
        self.row, self.since, self.ticked = row, time.monotonic(), frozenset()

    def _ending(self) -> str:
        """Return the reason to stop; "" to go on."""
        labelling = self.labelling
        if not labelling.session.answered:
            text = "all models predict the same on every row of the pool: no label would tell them apart"
            return text if labelling.predictions.alike else ""
        ranking = labelling.ranking()
        reasons = {
            "until": f"enough: P(the leader is within {ranking.points} of the best) has reached {ranking.until}",
            "shortfall": f"enough: {ranking.loss} are expected to be lost by taking the leader",
            "budget": f"the budget of {counted(self.request.budget or 0, 'answer')} is spent",
        }
        return next((reasons[limit] for limit in self._limits), "")

    @property
    def verdict(self) -> str:
        """The end in few words: what may be taken; "" while the session goes on."""
        if not self.ending:
            return ""
        choice, reached = self.labelling.ranking().choice, self._limits
        text = f"take{choice.text[4:]}" if choice.verb == "take" else choice.text
        if {"until", "shortfall"} & {*reached}:
            return f"Done: {text}"
        return f"{'The budget is spent' if reached else 'No row is left that tells more'}. {choice.text}"

    @property
    def _begun(self) -> dict[str, str]:
        """Labels of parts of the row that waits."""
        return {} if self.row is None else self.grades.get(row_key(self.row), {})

    @property
    def panel(self) -> Panel:
        """The answers that are shown beside the row that waits, and which is meant."""
        return Panel() if self.row is None else self.pool.panel(self.row, self._begun)

    @property
    def sentence(self) -> str:
        """Certainty of the answers so far, and the number of labels that parts of rows have, as a sentence."""
        return self.labelling.ranking().sentence + self._count_of_grades

    @property
    def line(self) -> str:
        """The same in a line."""
        return self.labelling.ranking().line + self._count_of_grades

    @property
    def _count_of_grades(self) -> str:
        counts = [len(labels) for labels in self.grades.values()]
        return f" ({counted(sum(counts), 'grade')} of {counted(len(counts), 'query', 'queries')})" if counts else ""

    @property
    def last_answer(self) -> str:
        """The last answer, as people read it; "" after another entry, and without one."""
        if self._begun:
            return self.pool.wording.of([*self._begun.values()][-1])
        line = self.labelling.lines[-1] if self.labelling.lines else None
        label = None if line is None else line.event.label
        return self.pool.wording.of(self.labelling.text_of(label))

    @property
    def _limits(self) -> list[str]:
        """Options whose limits the session has reached."""
        ranking, budget = self.labelling.ranking(), self.request.budget
        closed = [
            self.labelling.rows[line.event.row] for line in self.labelling.lines if line.event.status != "skipped"
        ]
        claims = ranking.answers > 0 and not ranking.alarmed and self.pool.whole(closed)
        enough = claims and ranking.until is not None and ranking.within >= ranking.until
        unasked = sum(line.picked == KNOWN for line in self.labelling.lines)
        spent = budget is not None and self.labelling.own_answers - unasked >= budget
        limits = {"until": enough, "shortfall": claims and ranking.loses_little, "budget": spent}
        return [name for name, reached in limits.items() if reached]

    def answer(self, label: str) -> None:
        """Record the label of the row that waits, or of its next part, and save it."""
        assert self.row is not None  # the caller has asked
        parts, key = self.pool.parts(self.row), row_key(self.row)
        left = [part for part in parts if part not in self._begun]
        if not left:
            self.record(self.labelling.tell, label)
            return
        if label not in self.pool.labels:
            raise UsageError.about("label", f"must be one of {listed(self.pool.labels)} (got {label[:50]!r})", label)
        self.grades[key] = {**self._begun, left[0]: label}
        if len(left) == 1:
            self.record(self.labelling.tell, self._written(key))
        else:
            self.keep()

    def _written(self, key: Hashable) -> str:
        """Return the labels of a row's parts as its label."""
        return json.dumps({part: int(label) for part, label in self.grades[key].items()}, ensure_ascii=False)

    def record(self, entry: Callable[..., None], *label: str) -> None:
        """Record an entry for the row that waits, and save it.

        Raises:
            UsageError: it is no answer to the row, which goes on waiting, or cannot be kept.
        """
        cleaned = [self._clean(text) for text in label]
        entry(self.row, *cleaned, annotator=self.annotator, seconds=time.monotonic() - self.since, when=_now())
        self.row = None
        self.keep()

    def _clean(self, label: str) -> str:
        """Return a typed answer without blanks around it; refuse one that the file could not give back."""
        label = label.replace("\r\n", "\n").strip()
        most = self.request.pool.limits.cell
        if len(label) > most:
            text = f"an answer has at most {most:,} characters, as a cell of a file (got {len(label):,})"
            raise UsageError(text, option="label", value=label[:50])
        if sign := UNREADABLE.search(label):
            raise UsageError(
                f"an answer cannot hold {sign[0]!r}, which no file gives back", option="label", value=sign[0]
            )
        return label

    @property
    def annotator(self) -> str:
        """Name of the person who answers."""
        return self.request.annotator or _user()

    def undo(self) -> None:
        """Undo the last entry, save, and wait for its row again.

        Raises:
            UsageError: there is nothing to undo.
        """
        if self._begun:
            self._take_back_grade()
            return
        entries = [line for line in self.labelling.lines if line.picked != KNOWN]
        if not any(line.changed_to is None for line in entries):
            final = "an answer is final once you saw what the models say of its row, and there is no other"
            raise UsageError(final if entries else "nothing was said that could be taken back")
        row = self.labelling.undo()
        while self.pool.known(row):
            row = self.labelling.undo()
        self._wait_for(row)
        self.ending = ""
        if {*self.pool.parts(row)} <= {*self._begun} != set():
            self._take_back_grade()
        else:
            self.keep()

    def _take_back_grade(self) -> None:
        assert self.row is not None  # it is begun
        key = row_key(self.row)
        labels = [*self.grades.pop(key).items()][:-1]
        self.grades |= {key: dict(labels)} if labels else {}
        self.keep()

    def reveal(self, label: str = "") -> None:
        """Record that the predictions for the last answered row were shown, and the label given then, and save.

        Raises:
            UsageError: the last entry is no answer, or what was given is none to its row, or cannot be kept.
        """
        if self.pool.wording.blind:
            raise UsageError("which answer is whose is told at the end")
        self.labelling.mark_revealed(self._clean(label))
        self.since = time.monotonic()
        self.keep()

    def explain(self) -> Explanation:
        """Return the words behind the predictions for the last answered row.

        Raises:
            UsageError: the predictions were not shown yet, or answers lie in files.
            ModelError: no model could be run.
        """
        from ranker.runs.explain import explain
        from ranker.scoring.score import Evidence

        labelling, request = self.labelling, self.request
        if not labelling.lines or labelling.lines[-1].changed_to is None:
            raise UsageError("what models looked at is shown after their predictions")
        row = labelling.rows[labelling.lines[-1].event.row]
        return explain(request.models, row, task=labelling.task, evidence=Evidence(factors=()), runtime=request.runtime)

    @property
    def last_words(self) -> str:
        """The result, where it is kept, how to go on, and the command that reports, with the answers that it lacks."""
        answers, prior = self.labelling.own_answers, self.labelling.prior_answers
        if not answers + prior:
            return self.where_kept
        labels = readers.raw_labels(self.pool.sheet)
        files = [
            *([self.request.pool.file] if any(label is not None for label in labels) else []),
            *self.request.labelled,
        ]
        theirs = f"{counted(prior, 'answer')} of others in {listed(map(str, files))}"
        if self.ending and not answers and len(files) == 1:
            nothing = f"nothing was asked beside the {theirs}"
            return "\n".join([self.labelling.ranking().answer, nothing, f"report: {self._report_by(files[0])}"])
        report = (
            f"report: {self.request.report_command}"
            if answers
            else f"no report yet: {self.request.output} holds no answer"
        )
        lacks = [f"a report reads one file, without the {theirs}"] if prior else []
        return "\n".join([self.labelling.ranking().answer, self.where_kept, report, *lacks])

    def _report_by(self, file: object) -> str:
        """Return the command that reports by the answers of another file, without a pool if that is the file."""
        own_flag, their_flag, pool_flag = (
            shlex.join([flag, str(path)])
            for flag, path in (("--data", self.request.output), ("--data", file), ("--pool", self.request.pool.file))
        )
        command = self.request.report_command.replace(own_flag, their_flag, 1)
        return command.replace(f" {pool_flag}", "", 1) if file == self.request.pool.file else command

    @property
    def where_kept(self) -> str:
        """Place of the answers, and how to go on, if that is possible."""
        limits = self._limits if self.labelling.ranking().rows_left else []
        options = " and ".join(f"{'lower' if name == 'shortfall' else 'raise'} --{name}" for name in limits)
        to_continue = f"; to go on, {options} in the same command" if options else ""
        return f"saved in {self.request.output}{to_continue if self.ending else '; the same command resumes'}"

    def segment_names(self, row: Example) -> tuple[str, ...]:
        """Return the name of each text of a row, such as premise and hypothesis; "" where it is unknown."""
        names = self.pool.sheet.layout.text
        return names if len(names) == len(row.segments) else ("",) * len(row.segments)

    def keep(self) -> None:
        """Replace the file by the current session, in one piece, and flush it to disk.

        Changes by another program are merged first.

        Raises:
            RankModelsError: the file cannot be written, or another program's changes contradict this session, which is
                then saved in a file beside it.
        """
        path = self.request.output
        if path is None:
            return
        self._own_rows |= {*_changed_rows(self.states, self._row_states(self.labelling.lines))}
        try:
            for _ in range(TRIES):
                if (current := _wait_until_stable(path, self.digest)) != self.digest:
                    self._take_in(path, current)
                content = self._serialize()
                if save(path, content, confirm=lambda current=current: _digest(path) == current):  # type: ignore[misc]
                    break
            else:
                text = f"`--output`: another program writes {path} again and again; {self._save_aside(path)}"
                raise DataError(text, option="output", value=path)
        except OSError as error:
            raise path_error("output", path, f"cannot be written: {error.strerror}", RankModelsError) from error
        self.digest, self.states = hashlib.sha256(content).hexdigest(), self._row_states(self.labelling.lines)

    def _take_in(self, path: Path, digest: str) -> None:
        """Merge another program's changes to the file since it was read or written here."""
        if not digest:
            log.warning("%s was removed meanwhile; it is written again", path)
            return
        labelling = self.labelling
        try:
            their_lines, waiting = _read_lines(self.request, self.pool, labelling.rows, self.column)
            theirs, ours = self._row_states(their_lines), self._row_states(labelling.lines)
            changed_there, changed_here = ({*_changed_rows(self.states, states)} for states in (theirs, ours))
            # rows that are missing there stay: the other program had read the file before
            changed_here |= self._own_rows - {*theirs}
            conflicting = [key for key in changed_there & changed_here & {*theirs} if theirs[key] != ours.get(key)]
            if conflicting:
                raise DataError(f"on {counted(len(conflicting), 'row that was', 'rows that were')} answered here")
            their_kept_lines = [line for line in their_lines if self._key(line) not in changed_here]
            own_lines = [line for line in labelling.lines if self._key(line) in changed_here]
            labelling.replace_lines([*their_kept_lines, *own_lines])
        except (RankModelsError, ValueError) as error:
            text = f"`--output`: another program has changed {path} otherwise ({error}); {self._save_aside(path)}"
            raise DataError(text, option="output", value=path) from error
        self.waiting = [(row_key(labelling.rows[place]), cells) for place, cells in waiting]
        self.digest, self.states = digest, theirs
        taken_in = counted(len(changed_there - changed_here), "row", "rows")
        log.warning("%s: another program has changed it; taken in: %s", path, taken_in)

    def _save_aside(self, path: Path) -> str:
        """Save the session in a file of its own, and say where."""
        numbers = (path.with_name(f"{path.stem}-session-{n}{path.suffix}") for n in count(1))
        path_beside = next(file for file in numbers if not file.exists())
        try:
            save(path_beside, self._serialize())
        except OSError as error:
            return f"what this session knows cannot be written to {path_beside}: {error.strerror}"
        return f"it is left as it is, and what this session knows is in {path_beside}"

    def _key(self, line: Line) -> Hashable:
        """Return the key of a line's row."""
        return row_key(self.labelling.rows[line.event.row])

    def _row_states(self, lines: Iterable[Line]) -> dict[Hashable, list[State]]:
        """Return the states of each row in lines, by its key."""
        states: dict[Hashable, list[State]] = {}
        for line in lines:
            state = (line.event.status, line.event.label, line.changed_to)
            states.setdefault(self._key(line), []).append(state)
        return states

    def _serialize(self) -> bytes:
        """Return the contents of the file."""
        lines = [
            replace(line, cells=self._cells(self._key(line), line.cells, line.event.status == "answered"))
            for line in self.labelling.lines
        ]
        keys_with_lines = {*map(self._key, lines)}
        waiting_cells = {**dict.fromkeys(self.grades), **dict(self.waiting)}
        waiting = [self._cells(key, cells) for key, cells in waiting_cells.items() if key not in keys_with_lines]
        return to_csv(lines, waiting, self.labelling.task.cell_of, self.column).encode()

    def _cells(self, key: Hashable, cells: Mapping[str, str] | None, answered: bool = False) -> Mapping[str, str]:
        """Return the cells of a row, with the labels of its parts while others are missing."""
        cells = self.pool.cells.get(key, {}) if cells is None else cells
        if key not in self.grades:
            return cells
        plain_cells = {name: cell for name, cell in cells.items() if name != GRADES}
        return plain_cells if answered else {**plain_cells, GRADES: self._written(key)}

    def restore_grades(self) -> None:
        """Take up the labels of parts that the file holds; a row that was begun waits again.

        Raises:
            DataError: a label of a part is none.
        """
        rows = {row_key(row): row for row in self.labelling.rows}
        for line in self.labelling.lines:
            if line.event.status == "answered" and self.pool.parts(self.labelling.rows[line.event.row]):
                text = self.labelling.text_of(line.event.label)
                self.grades[self._key(line)] = {part: str(label) for part, label in json.loads(text).items()}
        begun = [(self._key(line), line.cells or {}) for line in self.labelling.lines if line.event.status == "skipped"]
        for key, cells in (*begun, *self.waiting):
            if cells.get(GRADES) and self.pool.parts(rows[key]):
                self.grades[key] = self._read_grades(cells[GRADES])
        waiting = [key for key, _ in self.waiting if key in self.grades]
        if waiting:
            self._wait_for(rows[waiting[-1]])

    def _read_grades(self, cell: str) -> dict[str, str]:
        try:
            grades = {str(part): str(label) for part, label in json.loads(cell).items()}
        except (ValueError, AttributeError, RecursionError):
            grades = {}
        if not grades or not {*grades.values()} <= {*self.pool.labels}:
            allowed = listed(self.pool.labels)
            raise DataError.at(self.request.output, f"{GRADES!r} must be documents with {allowed} (got {cell[:50]!r})")
        return grades


def open_session(request: LabellingRequest, going_on: bool) -> SessionFile:
    """Open the session of a request, after the earlier lines if `going_on`: of labels, or of models' answers."""
    return (_of_labels if request.form is None else _of_answers)(request, going_on)


def _of_answers(request: LabellingRequest, going_on: bool) -> SessionFile:
    """Ask the models, and prepare what people are asked about their answers; see `label_answers`."""
    path, form = request.output, request.form
    assert path is not None  # the command refuses a session without a file
    assert form is not None
    file, earlier = request.pool, list[tuple[str, ...]]()
    if going_on and _has_rows(request):
        texts, cells = replace(file, file=path).texts(), read_columns(path, file.encoding, file.limits).cells
        if missing := [name for name in ("id", *form.models) if name not in cells]:
            noun = form.wording.noun
            raise DataError.at(path, f"no file of this session: a {noun} needs the column {missing[0]!r}")
        earlier = [
            (*map(str, line),) for line in zip(*(cells[name].to_pylist() for name in ("id", *form.models)), strict=True)
        ]
        file = file.as_pool(texts)
    else:
        file = file.as_pool()
    pool, labelling = label_answers(
        file, request.models, form, request.judges, earlier, request.settings, request.runtime
    )
    digest = _digest(path)
    lines, waiting = _read_lines(request, pool, labelling.rows, form.column) if going_on else ([], [])
    labelling.replace_lines(lines)
    keys = [(row_key(labelling.rows[place]), cells) for place, cells in waiting]
    return SessionFile(request, pool, labelling, form.column, keys, digest)


def _of_labels(request: LabellingRequest, going_on: bool) -> SessionFile:
    """Read the pool, and the earlier lines if `going_on`, and ask the models; see `read_pool` and `ranker.label`."""
    earlier = request.output if going_on and _has_rows(request) else None
    pool = read_pool(request.pool, request.labelled, request.models, request.label_map, earlier)
    column = pool.sheet.layout.label or next(iter(request.pool.columns.get("label", [])), "label")
    for name, kept_name in pool_column_names(name for row in pool.sheet.rows for name in row.cells).items():
        log.warning("the column %r of the pool is kept as %r: a session has one of its name", name, kept_name)
    rows = distinct_rows(pool.rows)
    digest = "" if request.output is None else _digest(request.output)
    lines, waiting = _read_lines(request, pool, rows, column) if going_on else ([], [])
    if pool.labels:  # two people write two texts
        answered = [line.event for line in lines if line.event.status == "answered"]
        _warn_of_disputes([*pool.labelled, *(replace(rows[event.row], target=event.label) for event in answered)])
    labelling = labelling_of(
        request.models,
        pool.rows,
        task=pool.task,
        labelled=pool.labelled,
        lines=lines,
        settings=request.settings,
        compared=max(MAX_COMPARED_ROWS, request.batch or 0),
        runtime=request.runtime,
    )
    pool = in_parts(pool, labelling, request.documents, request.pool.limits)
    session = SessionFile(
        request, pool, labelling, column, [(row_key(rows[place]), cells) for place, cells in waiting], digest
    )
    session.restore_grades()
    return session


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; "" if there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def _wait_until_stable(path: Path, last_digest: str) -> str:
    """Return the digest of a file, once other programs seem to have finished writing it."""
    digest = _digest(path)
    for _ in range(TRIES if digest != last_digest else 0):
        time.sleep(PAUSE)
        before, digest = digest, _digest(path)
        if before == digest:
            break
    return digest


def _changed_rows(before: Mapping[Hashable, list[State]], after: Mapping[Hashable, list[State]]) -> Iterator[Hashable]:
    """Return the keys of rows whose states changed."""
    return (key for key in {*before, *after} if before.get(key) != after.get(key))


def _has_rows(request: LabellingRequest) -> bool:
    """Return whether the session's file has rows."""
    pool, path = request.pool, request.output
    return path is not None and bool(read_columns(path, pool.encoding, pool.limits, empty=True).size)


def _read_lines(
    request: LabellingRequest, pool: PoolFile, rows: Sequence[Example], column: str
) -> tuple[list[Line], list[tuple[int, Mapping[str, str]]]]:
    """Read the lines of a session's file, and the rows without an answer."""
    path, pool_file = request.output, request.pool
    if path is None or not _has_rows(request):
        return [], []
    columns = {**pool_file.columns, **pool.own_columns, "label": [column]}
    file = replace(pool_file, file=path, columns=columns).sheet("text")
    examples = readers.examples(file.rows, None, file.layout, limits=file.limits, size=file.size, repeated=True)
    return read_lines(file, tuple(examples), pool.finder(rows), pool.task.target_of)


def _now() -> str:
    """Return the time as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _warn_of_disputes(rows: Sequence[Example]) -> None:
    """Warn of rows with different answers, and report how often answers agree."""
    answers = agreement([(row_key(row), row.target) for row in rows])
    if answers.disputed:
        texts = {row_key(row): " / ".join(row.segments) for row in rows}
        shown_texts = (" ".join(texts[key].split())[:60] for key in answers.disputed[:MAX_LISTED_ROWS])
        rows_text = "; ".join(shown_texts)
        others_text = (
            f" and {len(answers.disputed) - MAX_LISTED_ROWS} more" if len(answers.disputed) > MAX_LISTED_ROWS else ""
        )
        count_text = counted(len(answers.disputed), "row has", "rows have")
        log.warning("%s answers that differ: %s%s", count_text, rows_text, others_text)
    if answers.share is not None:
        log.warning("two answers to one row agree in %s %% of %d rows", percent(answers.share), answers.rows)
