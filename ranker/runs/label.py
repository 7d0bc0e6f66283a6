"""What `rank-models label` does: rows of a pool are labelled one after the other, and models ranked by the answers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import cast

import numpy as np

from factors import Example
from factors.types import Ints
from ranker.datasets import readers, sets
from ranker.datasets.identity import fingerprint
from ranker.datasets.pools import check_alike, with_labelled
from ranker.datasets.readers import Sheet
from ranker.datasets.sets import LabelledDataset
from ranker.errors import DataError, ModelError, UsageError, listed
from ranker.labelling.session import RULES, LabelEvent, Rule, Session, noted
from ranker.labelling.sheet import Line
from ranker.numbers import counted
from ranker.results.label_ranking import LabelledModel, LabelRanking
from ranker.runs.collect import collect, unanswered
from ranker.runs.gather import (
    Gathered,
    InspectedModels,
    Models,
    RowsFile,
    RunRows,
    UnlabelledRows,
    check_columns,
    inspect_models,
    unlabelled,
)
from ranker.runs.measured import Measurer
from ranker.runs.plan import Plan, plan
from ranker.runs.pool import pool_of, positions_among
from ranker.runs.task import NamedTask, check_known_labels, decide_task, mask_empty_words
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.statistics.beliefs import LABEL_NOISE
from ranker.statistics.pool import Pool
from ranker.statistics.sequential_tests import rows_apart
from ranker.statistics.stopping import MARGIN, PROBABLE
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassificationTask, require_labels

log = logging.getLogger(__name__)

FIRST = 1_000
"""Rows of a pool that models are asked about first, where their predictions are not known yet."""

LONELY = 0.8
"""A label that is predicted so often on chosen rows may be the only one that they have."""


@dataclass(frozen=True)
class LabelSettings:
    """How rows are picked, and when it is enough.

    Attributes:
        rule: "best" for the best model, "order" for the order of all, "certain" for a proven winner, or "random".
        label_noise: the share of answers that are given at random, a fraction.
        margin: how much less accurate than the best a winner may be, a fraction.
        until: the probability of that that is enough.
        seed: of the rules that draw rows.

    Raises:
        UsageError: a rule that is none, or a number that is no fraction.

    Example:
        >>> from ranker import LabelSettings
        >>> LabelSettings().until
        0.965
    """

    rule: str = "best"
    label_noise: float = LABEL_NOISE
    margin: float = MARGIN
    until: float = PROBABLE
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise UsageError(f"`rule` must be one of {', '.join(RULES)} (got {self.rule})")
        for name in ("label_noise", "margin", "until"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"`{name}` must be between 0 and 1 (got {getattr(self, name)})")


@dataclass
class Labelling:
    """A session by rows and labels, without input and output. What was said is its whole state, beside the pool.

    Attributes:
        task: the labels.
        models: (M,) the names of the models that answered.
        rows: (N,) the rows of the pool, each text once, and labelled ones that are not in it.
        pool: what the models make of them.
        session: who says what to ask next.
        lines: what was said, the first first, with what is recorded beside it.
        settings: how rows are picked, and when it is enough.
        failures: model -> why it could not be asked.
        known: what was said by others; it comes before all lines, and is never taken back.

    Example:
        >>> from ranker import label, load_set, load_suite
        >>> rows = load_set("hans-sub", limit=40)
        >>> session = label(rows.examples, load_suite(["hans-sub-mini"]).models[-3:], task=rows.task)
        >>> for _ in range(3):
        ...     row = session.next()
        ...     session.tell(row, rows.task.labels[row.target])
        >>> session.ranking().answers
        3
    """

    task: ClassificationTask
    models: tuple[str, ...]
    rows: tuple[Example, ...]
    pool: Pool
    session: Session
    lines: list[Line] = field(default_factory=list)
    settings: LabelSettings = LabelSettings()
    failures: Mapping[str, str] = field(default_factory=dict)
    known: int = 0

    def __post_init__(self) -> None:
        self._places = {row.segments: at for at, row in reversed(list(enumerate(self.rows)))}
        self._rule = noted(self.session.rule, self.session.margin, self.pool.said)

    @property
    def fingerprint(self) -> str:
        """What identifies the pool: a SHA-256 over its rows, whatever their labels."""
        return fingerprint((Example(row.id, row.segments) for row in self.rows), self.task)

    def next(self) -> Example | None:
        """The row to label next; None where none is left, or nothing is in question any more."""
        at = self.session.next()
        return None if at is None else self.rows[at]

    def several(self, count: int) -> tuple[Example, ...]:
        """So many rows to label at once, the most useful first.

        Raises:
            UsageError: fewer are left.
        """
        left = len(self.rows) - len({event.row for event in self.session.events if event.status != "skipped"})
        if not left:
            raise UsageError("no row is left to choose: all of the pool have a label")
        if not 1 <= count <= left:
            raise UsageError(
                f"`batch` must be between 1 and {left}, the rows of the pool without a label (got {count})"
            )
        return tuple(self.rows[at] for at in self.session.several(count))

    def place(self, row: Example) -> int:
        """Where a row stands in the pool.

        Raises:
            UsageError: nowhere.
        """
        if row.segments not in self._places:
            raise UsageError(f"the row {row.id[:50]!r} is not in the pool, which may have changed since")
        return self._places[row.segments]

    def tell(
        self, row: Example, label: str, *, annotator: str = "", seconds: float | None = None, when: str = ""
    ) -> None:
        """Take in an answer.

        Args:
            row: as `next` gave it.
            label: its name, or an alias.
            annotator: who says so.
            seconds: how long it took.
            when: the time.

        Raises:
            UsageError: no such row or label, or the row has an answer.
        """
        index = self.task.index(label)
        if index is None:
            raise UsageError(f"`label` must be one of {listed(self.task.labels)} (got {label[:50]!r})")
        self._add(Line(LabelEvent(self.place(row), "answered", index), annotator, seconds, when, self._rule))

    def skip(self, row: Example, *, annotator: str = "", seconds: float | None = None, when: str = "") -> None:
        """Ask a row later."""
        self._add(Line(LabelEvent(self.place(row), "skipped"), annotator, seconds, when, self._rule))

    def cannot_tell(self, row: Example, *, annotator: str = "", seconds: float | None = None, when: str = "") -> None:
        """Never ask a row again."""
        self._add(Line(LabelEvent(self.place(row), "cannot-tell"), annotator, seconds, when, self._rule))

    def _add(self, line: Line) -> None:
        event = line.event
        try:
            if event.status == "answered":
                self.session.tell(event.row, event.label)
            elif event.status == "skipped":
                self.session.skip(event.row)
            else:
                self.session.cannot_tell(event.row)
        except ValueError as error:
            raise UsageError(str(error)) from error
        self.lines.append(line)

    def undo(self) -> Example:
        """Take back what was said last, and return its row. An answer whose predictions were shown stands.

        Raises:
            UsageError: nothing can be taken back.
        """
        at = next((n for n in reversed(range(len(self.lines))) if self.lines[n].changed_to < 0), None)
        if at is None:
            raise UsageError("nothing was said that could be taken back")
        later = self.lines[at + 1 :]
        for _ in self.lines[at:]:
            self.session.undo()
        line = self.lines[at]
        del self.lines[at:]
        for one in later:
            self._add(one)
        return self.rows[line.event.row]

    def retell(self, lines: Sequence[Line]) -> None:
        """Go on from other lines, as if the session had begun with them; see `label`.

        Args:
            lines: by the places of `rows`.

        Raises:
            ValueError: a label that is none.
        """
        self.session = _session(self.pool, self.session.events[: self.known], lines, self.settings)
        self.lines = list(lines)

    def revealed(self, label: str = "") -> None:
        """Note that the predictions for the row that was answered last were shown, and the label given then, if any.

        The first answer counts.

        Raises:
            UsageError: the last thing said was no answer, or the label is none.
        """
        if not self.lines or self.lines[-1].event.status != "answered":
            raise UsageError("predictions are shown once a row has an answer")
        last = self.lines[-1]
        index = last.event.label if not label else self.task.index(label)
        if index is None:
            raise UsageError(f"`label` must be one of {listed(self.task.labels)} (got {label[:50]!r})")
        self.lines[-1] = replace(last, changed_to=index)

    def said(self, row: Example) -> dict[str, str]:
        """Model -> the label that it predicts; "" where it has no answer. Nobody is to see it before the answer."""
        said = self.pool.said[:, self.place(row)]
        return {
            name: self.task.labels[label] if label >= 0 else "" for name, label in zip(self.models, said, strict=True)
        }

    def ranking(self) -> LabelRanking:
        """What the answers so far say of the models."""
        now = self.session.standing()
        low, high = self.session.beliefs.interval()
        return LabelRanking(
            models=tuple(
                LabelledModel(self.models[m], *(float(of[m]) for of in (now.score, low, high, now.best)))
                for m in now.order.tolist()
            ),
            p_beats=tuple(tuple(row) for row in now.beats[np.ix_(now.order, now.order)].tolist()),
            answers=len(self.session.answers[0]),
            margin=self.session.margin,
            within=now.within,
            more_answers=now.more_answers,
            certain=now.certain,
            alarmed=now.alarmed,
            failures=tuple(self.failures),
        )

    def foregone(self) -> Iterator[str]:
        """What is known of the models before any label, in sentences: which of them no label of this pool tells apart.

        Models that differ on d of N rows are at most d / N apart.
        """
        apart = rows_apart(self.pool.said)
        size = len(self.rows)
        for a in range(len(self.models)):
            for b in range(a):
                if apart[a, b] <= self.session.margin * size:
                    both = f"{self.models[b]} and {self.models[a]}"
                    what = f"differ on {apart[a, b]} of {size} rows" if apart[a, b] else "predict the same on every row"
                    yield (
                        f"{both} {what}, and are at most {100 * apart[a, b] / size:.1f} points apart: {size} answers "
                        "would not separate them"
                    )

    def balance(self, rows: Sequence[Example]) -> str:
        """How often each label is predicted on rows together, in a sentence: on a single row nobody is to know it."""
        predicted = self.pool.said[:, [self.place(row) for row in rows]]
        shares = {label: float(np.mean(predicted == number)) for number, label in enumerate(self.task.labels)}
        shares |= {"no answer": float(np.mean(predicted < 0))} if (predicted < 0).any() else {}
        most = sorted(shares.items(), key=lambda one: -one[1])
        listed = ", ".join(f"{label} {100 * share:.0f} %" for label, share in most)
        alone = (
            "; if all of them turn out to have one label, label some more: a model that always says it looks perfect"
        )
        return f"on these rows together the models predict {listed} of the time{alone if most[0][1] >= LONELY else ''}"


@dataclass(frozen=True)
class PoolFile:
    """A pool as its file holds it: its rows without labels, and those that have one, there or in other people's files.

    Several of the labelled ones may be of one text.
    """

    sheet: Sheet
    rows: tuple[Example, ...]
    task: ClassificationTask
    labelled: tuple[Example, ...]


def read_pool(pool: RowsFile, others: Sequence[Path], models: InspectedModels, label_map: bool = False) -> PoolFile:
    """Read a pool, and rows that others have labelled.

    Args:
        pool: the file of rows, and what the user says of it and of the others.
        others: files of labelled rows; the labels in the first, else those in the pool, tell the task.
        label_map: the user says what the models' labels mean, so that there may be other labels in the rows.

    Raises:
        UsageError, ModelError: as `decide_task`.
        DataError: as `decide_task`; a file cannot be read, or has a label of no model, or that is none of the task's.
    """
    files = [replace(pool, file=file) for file in others]
    check_columns(pool, *files, absent="label")
    read = (pool.with_texts(), *(file.sheet("text", "label") for file in files))
    sheet, *sheets = (_masked(each, pool, models) for each in read)
    telling = next(iter(sheets), sheet)
    task = require_labels(decide_task(pool.named, telling, models.stated), "`label`")
    if not (pool.task or pool.like or label_map):
        check_known_labels(task, models.stated, telling.origin)
    rows = readers.unlabelled(sheet)
    answers = [row for other in sheets for row in _distinct_answers(other, task)]
    return PoolFile(sheet, rows, task, (*_labelled(sheet, rows, task), *answers))


def _masked(sheet: Sheet, pool: RowsFile, models: InspectedModels) -> Sheet:
    """A sheet without labels that are words for nothing, which is said."""
    masked, notes = mask_empty_words(sheet, pool.empty_words, pool.named, models.stated)
    for note in notes:
        log.warning("%s: %s", sheet.origin, note)
    return masked


def _labelled(sheet: Sheet, rows: Sequence[Example], task: ClassificationTask) -> list[Example]:
    """Those rows of a sheet that have a label, with it."""
    places = [row.place for row in sheet.rows]
    every = sets.with_labels(rows, readers.raw_labels(sheet), places, task)
    return [row for row in every if row.labelled]


def _distinct_answers(sheet: Sheet, task: ClassificationTask) -> Iterable[Example]:
    """The labelled rows of a sheet, where several people may answer one row; the same answer of one person once."""
    rows = [row for row, label in zip(sheet.rows, readers.raw_labels(sheet), strict=True) if label is not None]
    alone = sheet._replace(rows=tuple(rows), layout=replace(sheet.layout, id=None))  # their answers share its id
    people = [str(row.cells.get("annotator") or "") for row in rows]
    answers = _labelled(alone, readers.unlabelled(alone), task)
    return {(row.segments, row.target, who): row for row, who in zip(answers, people, strict=True)}.values()


def label(
    pool: UnlabelledRows,
    models: Models,
    *,
    task: ClassificationTask | None = None,
    labelled: Sequence[Example] = (),
    lines: Sequence[Line] = (),
    settings: LabelSettings = LabelSettings(),
    runtime: Runtime = Runtime(),
) -> Labelling:
    """Start to label rows of a pool, or go on: which row next, what the answers say, and when it is enough.

    Args:
        pool: rows of the domain, of which no label is looked at; their file, or rows in memory.
        models: a suite, references to models, or those that were looked at before.
        task: what they do; None takes the models' own labels.
        labelled: rows that others have labelled; several answers to one row are noisy readings of one label. Those that
            are not in the pool count as well.
        lines: what was said before, by the places of `Labelling.rows`.
        settings: how rows are picked, and when it is enough.
        runtime: how models are run, and where predictions are kept.

    Returns:
        The session. A text that stands in the pool twice is one row. Models that failed have no say, and are listed.

    Raises:
        UsageError: some rows have one text and some two, or the models name no labels that all share.
        DataError: the pool cannot be read, or what was said is of rows that it does not have.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.

    Example:
        >>> from ranker import label, load_set, load_suite
        >>> rows = load_set("hans-sub", limit=40)
        >>> session = label(rows.examples, load_suite(["hans-sub-mini"]).models[-3:], task=rows.task)
        >>> row = session.next()
        >>> session.tell(row, "entailment")
        >>> session.undo() == row
        True
    """
    seen = inspect_models(models)
    of = require_labels(decide_task(NamedTask(task), stated=seen.stated), "`label`")
    rows, places = with_labelled(distinct(unlabelled(pool)), labelled)
    check_alike(rows)
    rows, places, lines = _first(seen, of, rows, places, lines, runtime)
    found, asked, failures = predictions(seen, of, rows, runtime)
    places = positions_among(places, asked, len(rows))
    if (found.said == found.said[0]).all():
        log.warning("all models predict the same on every row of the pool; no label would tell them apart")
    before = [LabelEvent(int(at), "answered", row.target) for at, row in zip(places, labelled, strict=True) if at >= 0]
    moved = positions_among(np.array([line.event.row for line in lines], dtype=np.int64), asked, len(rows))
    own = [replace(one, event=replace(one.event, row=int(at))) for at, one in zip(moved, lines, strict=True)]
    if any(line.event.row < 0 for line in own):
        raise DataError("a row that has a label is not in the files of all models")
    session = _session(found, before, own, settings)
    names = tuple(model.name for model in seen.models if model.name not in failures)
    return Labelling(of, names, tuple(rows[at] for at in asked), found, session, own, settings, failures, len(before))


def _session(pool: Pool, before: Sequence[LabelEvent], lines: Sequence[Line], settings: LabelSettings) -> Session:
    """A session after what others and this one have said; rows that its own rule picked last may prove something."""
    rule = noted(settings.rule, settings.margin, pool.said)
    drawn = sum(1 for _ in takewhile(lambda line: line.picked == rule, reversed(lines)))
    lost = sum(line.picked.startswith("certain") for line in lines[: len(lines) - drawn])
    if lost and settings.rule == "certain":
        log.warning(
            "%s drawn for a certain winner with another margin, other models or another pool, or before another rule "
            "picked some: they count as known, and prove nothing",
            counted(lost, "row was", "rows were"),
        )
    return Session(
        pool.said,
        pool.labels,
        [*before, *(line.event for line in lines)],
        strength=pool.strength,
        drawn=drawn,
        rule=cast(Rule, settings.rule),
        label_noise=settings.label_noise,
        margin=settings.margin,
        probable=settings.until,
        seed=settings.seed,
    )


def distinct(pool: Iterable[Example]) -> list[Example]:
    """The rows of a pool, each text once, under its first id."""
    return list({row.segments: row for row in reversed(list(pool))}.values())[::-1]


def _first(
    seen: InspectedModels, task: Task, rows: list[Example], places: Ints, lines: Sequence[Line], runtime: Runtime
) -> tuple[list[Example], Ints, Sequence[Line]]:
    """A seeded part of a large pool, with all labelled rows, where predictions are still to be made."""
    if len(rows) <= FIRST or not unanswered(seen, task, _planned(seen, task, rows).asked, runtime):
        return rows, places, lines
    said = np.array([line.event.row for line in lines], dtype=np.int64)
    drawn = np.random.default_rng(0).choice(len(rows), FIRST, replace=False)
    kept = np.union1d(drawn, np.concatenate([places, said]))
    log.warning(
        "the models are asked about %d of the %d rows of the pool first; `rank-models run` with the same pool asks "
        "them about all, and then all are used",
        *(len(kept), len(rows)),
    )
    at = positions_among(np.arange(len(rows)), kept, len(rows))
    moved = [replace(one, event=replace(one.event, row=int(at[one.event.row]))) for one in lines]
    return [rows[n] for n in kept.tolist()], at[places], moved


def _planned(models: Models, task: Task, rows: Sequence[Example]) -> Plan:
    asked = RunRows(LabelledDataset("pool", task, tuple(rows), len(rows)), rows)
    return plan(Gathered(inspect_models(models), asked), Evidence("none", factors=()))


def predictions(
    models: Models, task: Task, rows: Sequence[Example], runtime: Runtime = Runtime()
) -> tuple[Pool, Ints, Mapping[str, str]]:
    """What models make of rows, which rows these are, and why others of them make nothing of these.

    Raises:
        ModelError: fewer than two models could be asked, or some say nothing of labels.
        StoreError: the store cannot be read or written.
    """
    made = _planned(models, task, rows)
    collected = collect(made, runtime)
    if len(collected.answered) < 2:
        count = len(made.gathered.looked.models)
        raise ModelError(f"nothing to choose by: {len(collected.failures)} of {count} models failed")
    seen, at = pool_of(Measurer(made, runtime=runtime), collected.answered)
    if seen is None:
        why = "some models say only how good their answers were" if len(at) else "no row is in the files of all models"
        raise ModelError(f"nothing to choose by: {why}")
    return seen, at, collected.failures
