"""Label rows of a pool one after the other, and rank models by the answers: `rank-models label`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from factors import Example
from factors.types import Ints
from ranker.datasets.identity import fingerprint, row_key
from ranker.datasets.pools import check_ids, check_text_counts, distinct_rows, with_labelled
from ranker.errors import DataError, UsageError, listed, range_error
from ranker.labelling.session import RANDOM, LabelEvent, Session
from ranker.labelling.sheet import Line
from ranker.numbers import counted
from ranker.results.label_ranking import LabelledModel, LabelRanking
from ranker.results.result import NAMES
from ranker.runs.collect import unanswered
from ranker.runs.inspected import InspectedModels, Models, inspect_models
from ranker.runs.label_predictions import (
    LabelSettings,
    PoolPredictions,
    check_rule,
    judged_task,
    metric_of_values,
    pool_predictions,
    prediction_plan,
)
from ranker.runs.pool import MAX_COMPARED_ROWS, compared_rows, most_compared, positions_among, small_pool_notes
from ranker.runs.rows import RowsFile, UnlabelledRows, as_pool, read_pool_rows
from ranker.runs.signatures import checked
from ranker.runs.task import NamedTask, decide_task
from ranker.runtime.runtime import Runtime
from ranker.tasks.base import Task
from ranker.tasks.classes import has_labels, label_names, metric_by
from ranker.tasks.values import has_values

log = logging.getLogger(__name__)

MAX_FIRST_ROWS = 1_000
"""Limit on the rows of a pool that models are asked about first, if their predictions are not stored yet."""

FIRST_ROWS = (
    "the models first predict %d of the %d rows of the pool; `rank-models run` with the same pool predicts all, and "
    "then all are used"
)

COMPARED_ROWS = "answers are compared on %d of the %d rows of the pool, among which rows are chosen"


@dataclass(repr=False)
class Labelling:
    """A labelling session in terms of rows and labels, without input and output. Its state is the pool and the lines.

    Attributes:
        task: of the models: labels, or values such as texts.
        models: (M,) names of the models that answered.
        rows: (N,) rows of the pool, each id or text once, and labelled rows that are not in it.
        predictions: the models' answers to these rows.
        session: the session that picks the next row.
        lines: what was answered so far, in order, with its metadata.
        settings: how rows are picked, and when to stop.
        failures: model -> why it could not be asked.
        prior_answers: number of answers by others; they precede all lines and are never undone.
        scale: worst and best mark, where people mark answers; None if they do not.

    Example:
        >>> from ranker import label, load_set, load_suite
        >>> rows = load_set("hans-sub", limit=40)
        >>> session = label(load_suite(["hans-sub-mini"]).models[-3:], rows.examples, task=rows.task)
        >>> for _ in range(3):
        ...     row = session.next()
        ...     session.tell(row, rows.task.labels[row.target])
        >>> session.ranking().answers
        3
    """

    task: Task
    models: tuple[str, ...]
    rows: tuple[Example, ...]
    predictions: PoolPredictions
    session: Session
    lines: list[Line] = field(default_factory=list)
    settings: LabelSettings = LabelSettings()
    failures: Mapping[str, str] = field(default_factory=dict)
    prior_answers: int = 0
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self._places = {row_key(row): place for place, row in reversed(list(enumerate(self.rows)))}

    def __repr__(self) -> str:
        rows, answers = counted(len(self.rows), "row"), counted(len(self.session.answered), "answer")
        return f"<Labelling of {rows} of {self.task.name} by {listed(self.models, NAMES)}: {answers}>"

    def _repr_html_(self) -> str:
        """Return the models in order for a notebook."""
        return self.ranking()._repr_html_()

    @property
    def metric(self) -> str:
        """Name of the metric by which models are ranked; "" for accuracy, and for the mean of an outcome."""
        of_labels = metric_by(self.task, self.settings.metric) if has_labels(self.task) else None
        metric = of_labels or metric_of_values(self.task, self.settings.metric)
        return "" if metric is None else metric.name

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the pool's rows, whatever their labels."""
        return fingerprint((Example(row.id, row.segments) for row in self.rows), self.task)

    def next(self) -> Example | None:
        """Return the row to label next; None if no row is left."""
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
        place = self._places.get(row_key(row))
        if place is None:
            text = f"the row {row.id[:50]!r} is not in the pool, which may have changed since"
            raise UsageError(text, option="row", value=row.id)
        return place

    def tell(
        self,
        row: Example,
        label: str,
        *,
        annotator: str = "",
        seconds: float | None = None,
        when: str = "",
        picked: str = "",
    ) -> None:
        """Record an answer.

        Args:
            row: the row, from `next`.
            label: the name, an alias or the number of the label; or a text, a number or tags, as a cell of a file has
                them.
            annotator: name of the person.
            seconds: time that the answer took.
            when: time of the answer.
            picked: why the row was asked; "" for the session's rule.

        Raises:
            UsageError: no such row, no answer of the task, or the row has an answer.
        """
        event = LabelEvent(self.place(row), "answered", self._target(row, label))
        self._add(Line(event, annotator, seconds, when, picked or self.session.rule))

    def _target(self, row: Example, label: str) -> Any:
        """Return an answer as typed, as the target of a row."""
        try:
            return self.task.target_of(label, row.segments)
        except (ValueError, RecursionError) as error:  # JSON may be nested too deeply
            raise UsageError(str(error), option="label", value=label, allowed=label_names(self.task)) from error

    def skip(self, row: Example, *, annotator: str = "", seconds: float | None = None, when: str = "") -> None:
        """Ask for a row later."""
        self._add(Line(LabelEvent(self.place(row), "skipped"), annotator, seconds, when, self.session.rule))

    def cannot_tell(self, row: Example, *, annotator: str = "", seconds: float | None = None, when: str = "") -> None:
        """Never ask for a row again."""
        self._add(Line(LabelEvent(self.place(row), "cannot-tell"), annotator, seconds, when, self.session.rule))

    def _add(self, line: Line) -> None:
        try:
            self.session.add(line.event)
        except ValueError as error:
            raise UsageError(str(error)) from error
        self.lines.append(line)

    def undo(self) -> Example:
        """Undo the last entry, and return its row. An answer is final once its predictions were shown.

        Raises:
            UsageError: there is nothing to undo.
        """
        place = next((n for n in reversed(range(len(self.lines))) if self.lines[n].changed_to is None), None)
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
        self.session = self.predictions.session(self.session.events[: self.prior_answers], lines, self.settings)
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
        row = self.rows[last.event.row]
        self.lines[-1] = replace(last, changed_to=self._target(row, label) if label else last.event.label)

    def text_of(self, label: Any) -> str:
        """Return an answer as it is typed; "" for none."""
        return "" if label is None else self.task.cell_of(label)

    def predictions_for(self, row: Example) -> dict[str, str]:
        """Return model -> its answer as text, "" for none. Not to be shown before the row has an answer."""
        return dict(zip(self.models, self.predictions.shown(self.place(row), row.segments), strict=True))

    def ranking(self) -> LabelRanking:
        """Return what the answers so far say of the models."""
        status = self.session.status()
        columns = (status.score, status.low, status.high, status.best, status.shortfall)
        return LabelRanking(
            models=tuple(
                LabelledModel(self.models[m], *(float(column[m]) for column in columns)) for m in status.order.tolist()
            ),
            p_beats=tuple(tuple(row) for row in status.beats[np.ix_(status.order, status.order)].tolist()),
            answers=len(self.session.answered),
            margin=self.session.margin,
            within=status.within,
            forecast=status.forecast,
            alarmed=status.alarmed,
            failures=tuple(self.failures),
            labels=self.predictions.counts(self.session.answered),
            until=None if self.session.rule == RANDOM else self.session.probable,
            shortfall=None if self.session.rule == RANDOM else self.settings.shortfall,
            rows_left=status.rows_left,
            metric=self.metric,
            scale=self.scale,
        )

    @property
    def own_answers(self) -> int:
        """Number of answers given in this session: those of others precede them."""
        return len(self.session.answered) - self.prior_answers

    def opening_notes(self) -> Iterator[str]:
        """Say what is plain before an answer, in sentences."""
        return self.predictions.notes(self.models, self.session.margin)

    def balance(self, rows: Sequence[Example]) -> str:
        """Describe the predicted labels of these rows, so that no single row is revealed: their shares, and P(all rows
        have one label); "" where answers are no labels.
        """
        return self.predictions.balance(self.session, np.array([self.place(row) for row in rows]))


@checked
def label(
    models: Models,
    pool: UnlabelledRows,
    *,
    task: Task | None = None,
    labelled: Sequence[Example] = (),
    lines: Sequence[Line] = (),
    settings: LabelSettings = LabelSettings(),
    compared: int = MAX_COMPARED_ROWS,
    voters: Models = (),
    runtime: Runtime = Runtime(),
) -> Labelling:
    """Start or continue a labelling session: it picks the next row, ranks models by the answers, and says when to stop.

    Args:
        models: a suite, references to models, or inspected models.
        pool: rows of the domain, whose labels are ignored; a file of rows, or rows in memory.
        task: task of the models; None takes their own labels.
        labelled: rows labelled by others; several answers to one row are noisy readings of one label. Rows outside the
            pool count as well.
        lines: lines of an earlier session, by positions in `Labelling.rows`.
        settings: how rows are picked, and when to stop.
        compared: limit on the rows without an answer of others on which answers that are no labels are compared.
        voters: models that vote and are not ranked.
        runtime: how models run, and where predictions are stored.

    Returns:
        The session. A text that stands twice in a pool without ids is one row. Models that failed are listed, and have
        no vote.

    Raises:
        UsageError: single texts are mixed with pairs, the models share no labels, or the rule is of other answers.
        DataError: the pool cannot be read, or a line is about a row that it does not have.
        ModelError: fewer than two models could be asked.
        StoreError: the store cannot be read or written.

    Example:
        >>> from ranker import label, load_set, load_suite
        >>> rows = load_set("hans-sub", limit=40)
        >>> session = label(load_suite(["hans-sub-mini"]).models[-3:], rows.examples, task=rows.task)
        >>> row = session.next()
        >>> session.tell(row, "entailment")
        >>> session.undo() == row
        True
    """
    inspected = inspect_models(models, voters=voters)
    decided = judged_task(decide_task(NamedTask(task), infos=inspected.infos), settings.metric)
    check_rule(decided, settings.rule)
    pool_file = as_pool(pool, (row.segments for row in labelled))
    pool_rows = distinct_rows(read_pool_rows(pool_file))
    if inspected.precomputed:
        check_ids(pool_rows, labelled)
    rows, places = with_labelled(pool_rows, labelled, repeated=True)
    if isinstance(pool_file, RowsFile) and pool_file.draw_note:
        log.warning(pool_file.draw_note)
    check_text_counts(rows)
    for note in small_pool_notes(len(rows), inspected):
        log.warning(note)
    rows, places, lines = _sample_large_pool(inspected, decided, rows, places, lines, compared, runtime)
    answers, answered_rows, failures = pool_predictions(inspected, decided, rows, runtime)
    places = positions_among(places, answered_rows, len(rows))
    if answers.alike:
        log.warning("all models predict the same on every row of the pool; no label would tell them apart")
    prior = [LabelEvent(int(n), "answered", row.target) for n, row in zip(places, labelled, strict=True) if n >= 0]
    moved = positions_among(np.array([line.event.row for line in lines], dtype=np.int64), answered_rows, len(rows))
    shifted = [replace(line, event=replace(line.event, row=int(n))) for n, line in zip(moved, lines, strict=True)]
    if any(line.event.row < 0 for line in shifted):
        raise DataError("a row that has a label is not in the files of all models")
    session = answers.session(prior, shifted, settings)
    names = tuple(model.name for model in inspected.ranked if model.name not in failures)
    return Labelling(
        answers.task,
        names,
        tuple(rows[n] for n in answered_rows),
        answers,
        session,
        shifted,
        settings,
        failures,
        len(prior),
    )


def _sample_large_pool(
    inspected: InspectedModels,
    task: Task,
    rows: list[Example],
    places: Ints,
    lines: Sequence[Line],
    compared: int,
    runtime: Runtime,
) -> tuple[list[Example], Ints, Sequence[Line]]:
    """Draw a seeded part of a large pool, with all labelled rows: of labels, if predictions are not stored yet."""
    if has_labels(task):
        most, note = MAX_FIRST_ROWS, FIRST_ROWS
        draws = len(rows) > most and unanswered(
            inspected, task, prediction_plan(inspected, task, rows).request_matrix, runtime
        )
    elif not has_values(task):
        return rows, places, lines  # which is refused
    else:
        count = len(inspected.ranked)
        affordable = most_compared(task, count, len(inspected.models) - count)
        most, note = min(compared, affordable) if compared <= MAX_COMPARED_ROWS else compared, COMPARED_ROWS
        draws = len(rows) > most
    if not draws:
        return rows, places, lines
    labelled = np.concatenate([places, np.array([line.event.row for line in lines], dtype=np.int64)])
    if has_labels(task):
        chosen = np.union1d(np.random.default_rng(0).choice(len(rows), most, replace=False), labelled)
    else:
        chosen = compared_rows(rows, labelled, most)
    log.warning(note, len(chosen), len(rows))
    new_positions = positions_among(np.arange(len(rows)), chosen, len(rows))
    moved = [replace(line, event=replace(line.event, row=int(new_positions[line.event.row]))) for line in lines]
    return [rows[n] for n in chosen.tolist()], new_positions[places], moved
