"""Label rows of a pool one after the other, and rank models by the answers: `rank-models label`."""

from __future__ import annotations

import logging
from collections import Counter
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
from ranker.datasets.pools import check_text_counts, with_labelled
from ranker.datasets.readers import Sheet
from ranker.datasets.sets import LabelledDataset
from ranker.errors import DataError, ModelError, UsageError, choice_error, range_error
from ranker.labelling.session import RULES, LabelEvent, Rule, Session, rule_key
from ranker.labelling.sheet import Line
from ranker.numbers import counted, probability
from ranker.results.label_ranking import LabelledModel, LabelRanking
from ranker.runs.collect import collect, unanswered
from ranker.runs.gather import (
    InspectedModels,
    Models,
    RowsFile,
    RunInputs,
    RunRows,
    UnlabelledRows,
    check_columns,
    inspect_models,
    unlabelled,
)
from ranker.runs.measured import Measurer
from ranker.runs.plan import Plan, plan
from ranker.runs.pool import pool_of, positions_among, small_pool_notes
from ranker.runs.task import NamedTask, check_known_labels, decide_task, mask_empty_words
from ranker.runtime.runtime import Runtime
from ranker.scoring.diagnostics import constant_models
from ranker.scoring.score import Evidence
from ranker.statistics.acquisition import ALIKE, one_label_probability
from ranker.statistics.beliefs import LABEL_NOISE
from ranker.statistics.pool import Pool
from ranker.statistics.sequential_tests import rows_apart
from ranker.statistics.stopping import MARGIN, PROBABLE
from ranker.tasks.base import Task
from ranker.tasks.classes import ClassificationTask, require_labels

log = logging.getLogger(__name__)

MAX_FIRST_ROWS = 1_000
"""Limit on the rows of a pool that models are asked about first, if their predictions are not stored yet."""


@dataclass(frozen=True)
class LabelSettings:
    """Settings of how rows are picked, and when to stop.

    Attributes:
        rule: "best" for the best model, "order" for the order of all, "certain" for a proven winner, or "random".
        label_noise: share of answers that are given at random, a fraction.
        margin: how much less accurate than the best a winner may be, a fraction.
        until: probability of such a winner that is enough to stop.
        seed: seed of the rules that draw rows.

    Raises:
        UsageError: an unknown rule, or a number outside [0, 1].

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
            raise choice_error("rule", self.rule, RULES)
        for name in ("label_noise", "margin", "until"):
            if not 0 <= getattr(self, name) <= 1:
                raise range_error(name, getattr(self, name), 0, 1)


@dataclass
class Labelling:
    """A labelling session in terms of rows and labels, without input and output. Its state is the pool and the lines.

    Attributes:
        task: the labels.
        models: (M,) names of the models that answered.
        rows: (N,) rows of the pool, each text once, and labelled rows that are not in it.
        pool: predictions of the models on these rows.
        session: the session that picks the next row.
        lines: what was answered so far, in order, with its metadata.
        settings: how rows are picked, and when to stop.
        failures: model -> why it could not be asked.
        prior_answers: number of answers by others; they precede all lines and are never undone.

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
    prior_answers: int = 0

    def __post_init__(self) -> None:
        self._places = {row.segments: place for place, row in reversed(list(enumerate(self.rows)))}
        self._rule = rule_key(self.session.rule, self.session.margin, self.pool.answered_labels)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the pool's rows, whatever their labels."""
        return fingerprint((Example(row.id, row.segments) for row in self.rows), self.task)

    def next(self) -> Example | None:
        """Return the row to label next; None if no row is left, or a winner is proven (`certain`)."""
        place = self.session.next()
        return None if place is None else self.rows[place]

    def next_batch(self, count: int) -> tuple[Example, ...]:
        """Return `count` rows to label at once, the most useful first.

        Raises:
            UsageError: fewer rows are left.
        """
        left = len(self.rows) - len({event.row for event in self.session.events if event.status != "skipped"})
        if not left:
            raise UsageError("no row is left to choose: all of the pool have a label", option="pool")
        if not 1 <= count <= left:
            raise range_error("batch", count, 1, left, "the rows of the pool without a label")
        return tuple(self.rows[place] for place in self.session.several(count))

    def place(self, row: Example) -> int:
        """Return the position of a row in the pool.

        Raises:
            UsageError: the row is not in the pool.
        """
        if row.segments not in self._places:
            text = f"the row {row.id[:50]!r} is not in the pool, which may have changed since"
            raise UsageError(text, option="row", value=row.id)
        return self._places[row.segments]

    def tell(
        self, row: Example, label: str, *, annotator: str = "", seconds: float | None = None, when: str = ""
    ) -> None:
        """Record an answer.

        Args:
            row: the row, from `next`.
            label: the name or an alias of the label.
            annotator: name of the person.
            seconds: time that the answer took.
            when: time of the answer.

        Raises:
            UsageError: no such row or label, or the row has an answer.
        """
        index = self.task.index(label)
        if index is None:
            raise choice_error("label", label, self.task.labels)
        self._add(Line(LabelEvent(self.place(row), "answered", index), annotator, seconds, when, self._rule))

    def skip(self, row: Example, *, annotator: str = "", seconds: float | None = None, when: str = "") -> None:
        """Ask for a row later."""
        self._add(Line(LabelEvent(self.place(row), "skipped"), annotator, seconds, when, self._rule))

    def cannot_tell(self, row: Example, *, annotator: str = "", seconds: float | None = None, when: str = "") -> None:
        """Never ask for a row again."""
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
        """Undo the last entry, and return its row. An answer is final once its predictions were shown.

        Raises:
            UsageError: there is nothing to undo.
        """
        place = next((n for n in reversed(range(len(self.lines))) if self.lines[n].changed_to < 0), None)
        if place is None:
            raise UsageError("nothing was said that could be taken back")
        later = self.lines[place + 1 :]
        for _ in self.lines[place:]:
            self.session.undo()
        line = self.lines[place]
        del self.lines[place:]
        for line_after in later:
            self._add(line_after)
        return self.rows[line.event.row]

    def replace_lines(self, lines: Sequence[Line]) -> None:
        """Go on from other lines, as if the session had begun with them; see `label`.

        Args:
            lines: lines by positions in `rows`.

        Raises:
            ValueError: a line has no valid label.
        """
        self.session = _session(self.pool, self.session.events[: self.prior_answers], lines, self.settings)
        self.lines = list(lines)

    def mark_revealed(self, label: str = "") -> None:
        """Record that the predictions for the last answered row were shown, and the label given afterwards, if any.

        The first answer counts.

        Raises:
            UsageError: the last entry is no answer, or there is no such label.
        """
        if not self.lines or self.lines[-1].event.status != "answered":
            raise UsageError("predictions are shown once a row has an answer")
        last = self.lines[-1]
        index = last.event.label if not label else self.task.index(label)
        if index is None:
            raise choice_error("label", label, self.task.labels)
        self.lines[-1] = replace(last, changed_to=index)

    def predictions_for(self, row: Example) -> dict[str, str]:
        """Return model -> predicted label, "" for no answer. Not to be shown before the row has an answer."""
        labels = self.pool.answered_labels[:, self.place(row)]
        return {
            name: self.task.labels[label] if label >= 0 else "" for name, label in zip(self.models, labels, strict=True)
        }

    def ranking(self) -> LabelRanking:
        """Return what the answers so far say of the models."""
        status = self.session.status()
        low, high = self.session.beliefs.interval()
        return LabelRanking(
            models=tuple(
                LabelledModel(self.models[m], *(float(values[m]) for values in (status.score, low, high, status.best)))
                for m in status.order.tolist()
            ),
            p_beats=tuple(tuple(row) for row in status.beats[np.ix_(status.order, status.order)].tolist()),
            answers=len(self.session.answers[0]),
            margin=self.session.margin,
            within=status.within,
            forecast=status.forecast,
            certain=status.certain,
            alarmed=status.alarmed,
            failures=tuple(self.failures),
            labels=Counter(self.task.labels[label] for label in self.session.answers[1].tolist()),
            until=None if self.session.rule in ("certain", "random") else self.session.probable,
        )

    def inseparable_models(self) -> Iterator[str]:
        """Name the pairs of models that no labels of this pool can separate, in sentences.

        Models that differ on d of N rows are at most d / N apart.
        """
        apart = rows_apart(self.pool.answered_labels)
        size = len(self.rows)
        for a in range(len(self.models)):
            for b in range(a):
                if apart[a, b] <= self.session.margin * size:
                    names = f"{self.models[b]} and {self.models[a]}"
                    gap = f"differ on {apart[a, b]} of {size} rows" if apart[a, b] else "predict the same on every row"
                    yield (
                        f"{names} {gap}, and are at most {100 * apart[a, b] / size:.1f} points apart: {size} "
                        "answers would not separate them"
                    )

    def opening_notes(self) -> Iterator[str]:
        """Say what is plain before a label: which models are constant, and whether in-domain accuracies count."""
        yield from constant_models(self.models, self.pool.answered_labels, self.task.labels)
        if self.pool.in_domain_accuracy is not None:
            yield "The models' in-domain accuracies count until labels say otherwise."

    def balance(self, rows: Sequence[Example]) -> str:
        """Describe the predicted labels of these rows, so that no single row is revealed: their shares, and P(all rows
        have one label).
        """
        places = np.array([self.place(row) for row in rows])
        predicted = self.pool.answered_labels[:, places]
        shares = {label: float(np.mean(predicted == number)) for number, label in enumerate(self.task.labels)}
        shares |= {"no answer": float(np.mean(predicted < 0))} if (predicted < 0).any() else {}
        ordered = sorted(shares.items(), key=lambda label_share: -label_share[1])
        shares_text = ", ".join(f"{label} {100 * share:.0f} %" for label, share in ordered)
        alike = one_label_probability(self.session.beliefs, places)
        caveat = "; if so, label some more: a model that always predicts it looks perfect"
        return (
            f"on these rows the models predict {shares_text} of the time; all rows have one label with a probability "
            f"of {probability(alike, 0)} %{caveat if alike > ALIKE else ''}"
        )


@dataclass(frozen=True)
class PoolFile:
    """A pool as its file holds it, its rows without labels, and those labelled there or in other people's files.

    Several of the labelled rows may have one text.
    """

    sheet: Sheet
    rows: tuple[Example, ...]
    task: ClassificationTask
    labelled: tuple[Example, ...]


def read_pool(pool: RowsFile, labelled: Sequence[Path], models: InspectedModels, label_map: bool = False) -> PoolFile:
    """Read a pool, and rows that others have labelled.

    Args:
        pool: the file of rows, and options for it and the other files.
        labelled: files of labelled rows; the labels in the first, else those in the pool, decide the task.
        models: the models.
        label_map: True if the user maps the models' labels, so that rows may have labels of other names.

    Raises:
        UsageError, ModelError: as `decide_task`.
        DataError: as `decide_task`; a file cannot be read, or has a label that is unknown to the task or to all models.
    """
    files = [replace(pool, file=file) for file in labelled]
    check_columns(pool, *files, absent="label")
    raw_sheets = (pool.with_texts(), *(file.sheet("text", "label") for file in files))
    sheet, *sheets = (_mask_labels(raw_sheet, pool, models) for raw_sheet in raw_sheets)
    telling = next(iter(sheets), sheet)
    task = require_labels(decide_task(pool.named_task, telling, models.infos), "`label`")
    if not (pool.task or pool.like or label_map):
        check_known_labels(task, models.infos, telling.origin)
    rows = readers.unlabelled(sheet)
    answers = [row for labelled_sheet in sheets for row in _distinct_answers(labelled_sheet, task)]
    return PoolFile(sheet, rows, task, (*_labelled_rows(sheet, rows, task), *answers))


def _mask_labels(sheet: Sheet, pool: RowsFile, models: InspectedModels) -> Sheet:
    """Mask labels of a sheet that are words for nothing, and log which."""
    masked, notes = mask_empty_words(sheet, pool.empty_words, pool.named_task, models.infos)
    for note in notes:
        log.warning("%s: %s", sheet.origin, note)
    return masked


def _labelled_rows(sheet: Sheet, rows: Sequence[Example], task: ClassificationTask) -> list[Example]:
    """Return the labelled rows of a sheet."""
    places = [row.place for row in sheet.rows]
    examples = sets.with_labels(rows, readers.raw_labels(sheet), places, task)
    return [row for row in examples if row.labelled]


def _distinct_answers(sheet: Sheet, task: ClassificationTask) -> Iterable[Example]:
    """Return labelled rows of a sheet, several per row if people differ; repeated answers of one person count once."""
    rows = [row for row, label in zip(sheet.rows, readers.raw_labels(sheet), strict=True) if label is not None]
    answer_sheet = sheet._replace(
        rows=tuple(rows), layout=replace(sheet.layout, id=None)
    )  # several answers share an id
    people = [str(row.cells.get("annotator") or "") for row in rows]
    answers = _labelled_rows(answer_sheet, readers.unlabelled(answer_sheet), task)
    return {(row.segments, row.target, person): row for row, person in zip(answers, people, strict=True)}.values()


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
    """Start or continue a labelling session: it picks the next row, ranks models by the answers, and says when to stop.

    Args:
        pool: rows of the domain, whose labels are ignored; a file of rows, or rows in memory.
        models: a suite, references to models, or inspected models.
        task: task of the models; None takes their own labels.
        labelled: rows labelled by others; several answers to one row are noisy readings of one label. Rows outside the
            pool count as well.
        lines: lines of an earlier session, by positions in `Labelling.rows`.
        settings: how rows are picked, and when to stop.
        runtime: how models run, and where predictions are stored.

    Returns:
        The session. A text that stands in the pool twice is one row. Models that failed are listed, and have no vote.

    Raises:
        UsageError: single texts are mixed with pairs, or the models share no labels.
        DataError: the pool cannot be read, or a line is about a row that it does not have.
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
    inspected = inspect_models(models)
    label_task = require_labels(decide_task(NamedTask(task), infos=inspected.infos), "`label`")
    rows, places = with_labelled(distinct_rows(unlabelled(pool)), labelled)
    check_text_counts(rows)
    for note in small_pool_notes(len(rows), inspected):
        log.warning(note)
    rows, places, lines = _sample_large_pool(inspected, label_task, rows, places, lines, runtime)
    answers, pool_rows, failures = predictions(inspected, label_task, rows, runtime)
    places = positions_among(places, pool_rows, len(rows))
    if (answers.answered_labels == answers.answered_labels[0]).all():
        log.warning("all models predict the same on every row of the pool; no label would tell them apart")
    prior = [LabelEvent(int(n), "answered", row.target) for n, row in zip(places, labelled, strict=True) if n >= 0]
    moved = positions_among(np.array([line.event.row for line in lines], dtype=np.int64), pool_rows, len(rows))
    shifted = [replace(line, event=replace(line.event, row=int(n))) for n, line in zip(moved, lines, strict=True)]
    if any(line.event.row < 0 for line in shifted):
        raise DataError("a row that has a label is not in the files of all models")
    session = _session(answers, prior, shifted, settings)
    names = tuple(model.name for model in inspected.models if model.name not in failures)
    return Labelling(
        label_task, names, tuple(rows[n] for n in pool_rows), answers, session, shifted, settings, failures, len(prior)
    )


def _session(pool: Pool, prior: Sequence[LabelEvent], lines: Sequence[Line], settings: LabelSettings) -> Session:
    """Build a session after all earlier answers; only the last rows that its own rule picked may prove a winner."""
    rule = rule_key(settings.rule, settings.margin, pool.answered_labels)
    drawn = sum(1 for _ in takewhile(lambda line: line.picked == rule, reversed(lines)))
    lost = sum(line.picked.startswith("certain") for line in lines[: len(lines) - drawn])
    if lost and settings.rule == "certain":
        log.warning(
            "%s drawn for a certain winner with another margin, other models or another pool, or before another rule "
            "picked some: they count as known, but not in the test",
            counted(lost, "row was", "rows were"),
        )
    return Session(
        pool.answered_labels,
        pool.labels,
        [*prior, *(line.event for line in lines)],
        strength=pool.strength,
        in_domain=pool.in_domain_accuracy,
        drawn=drawn,
        rule=cast(Rule, settings.rule),
        label_noise=settings.label_noise,
        margin=settings.margin,
        probable=settings.until,
        seed=settings.seed,
    )


def distinct_rows(rows: Iterable[Example]) -> list[Example]:
    """Return the rows of a pool, each text once, under its first id."""
    return list({row.segments: row for row in reversed(list(rows))}.values())[::-1]


def _sample_large_pool(
    inspected: InspectedModels, task: Task, rows: list[Example], places: Ints, lines: Sequence[Line], runtime: Runtime
) -> tuple[list[Example], Ints, Sequence[Line]]:
    """Draw a seeded part of a large pool, with all labelled rows, if predictions are not stored yet."""
    if len(rows) <= MAX_FIRST_ROWS or not unanswered(
        inspected, task, prediction_plan(inspected, task, rows).request_matrix, runtime
    ):
        return rows, places, lines
    labelled_at = np.array([line.event.row for line in lines], dtype=np.int64)
    drawn = np.random.default_rng(0).choice(len(rows), MAX_FIRST_ROWS, replace=False)
    chosen = np.union1d(drawn, np.concatenate([places, labelled_at]))
    log.warning(
        "the models first predict %d of the %d rows of the pool; `rank-models run` with the same pool predicts all, "
        "and then all are used",
        *(len(chosen), len(rows)),
    )
    new_positions = positions_among(np.arange(len(rows)), chosen, len(rows))
    moved = [replace(line, event=replace(line.event, row=int(new_positions[line.event.row]))) for line in lines]
    return [rows[n] for n in chosen.tolist()], new_positions[places], moved


def prediction_plan(models: Models, task: Task, rows: Sequence[Example]) -> Plan:
    """Return the plan that asks models for their answers to rows, and for nothing else."""
    run_rows = RunRows(LabelledDataset("pool", task, tuple(rows), len(rows)), rows)
    return plan(RunInputs(inspect_models(models), run_rows), Evidence("none", factors=()))


def predictions(
    models: Models, task: Task, rows: Sequence[Example], runtime: Runtime = Runtime()
) -> tuple[Pool, Ints, Mapping[str, str]]:
    """Return the models' predictions on rows, the indices of these rows, and why some models failed.

    Raises:
        ModelError: fewer than two models could be asked, or some answers are no labels.
    """
    run_plan = prediction_plan(models, task, rows)
    collected = collect(run_plan, runtime)
    if len(collected.answered) < 2:
        count = len(run_plan.inputs.inspected.models)
        raise ModelError(f"nothing to choose by: {len(collected.failures)} of {count} models failed", option="models")
    pool, pool_rows = pool_of(Measurer(run_plan, runtime=runtime), collected.answered)
    if pool is None:
        reason = (
            "some models say only how good their answers were"
            if len(pool_rows)
            else "no row is in the files of all models"
        )
        raise ModelError(f"nothing to choose by: {reason}", option="models")
    return pool, pool_rows, collected.failures
