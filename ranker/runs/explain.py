"""What models saw in one example of the user's choice."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from factors import BUILTIN
from factors.types import Example
from ranker.attribution import settings_of
from ranker.attribution.settings import settle
from ranker.datasets import readers, sets
from ranker.datasets.marks import marker
from ranker.datasets.sets import LabelledDataset
from ranker.errors import DataError, ModelError, UnknownName, UsageError
from ranker.results.explanation import Explanation
from ranker.runs.collect import collect
from ranker.runs.gather import Gathered, InspectedModels, Models, NamedDataset, RowsFile, RunRows, inspect_models
from ranker.runs.plan import BACKEND, plan
from ranker.runs.task import NamedTask, decide_task
from ranker.runtime.runtime import Runtime
from ranker.scoring.score import Evidence
from ranker.scoring.views import View
from ranker.tasks.base import ANSWERED
from ranker.tasks.classes import ClassificationTask, require_labels

log = logging.getLogger(__name__)

NOBODY = (
    "`attribution` must be none: the answers of these models lie in files, and nobody can be asked where they come from"
)
"""Why predictions of files are not explained."""

Chosen: TypeAlias = tuple[ClassificationTask, str | None, Example]
"""An example to explain, with the task and the designed factor of its set."""

UNANSWERED = "has no answer to it in its file"
"""Why a model says nothing of an example."""


def check_askable(models: InspectedModels, evidence: Evidence) -> None:
    """Refuse to attribute answers that lie in files.

    Args:
        models: whose answers they may be.
        evidence: with the backend of attributions; none that is named is SHAP.

    Raises:
        UsageError: the answers of all models lie in files, and the backend is not "none".
    """
    if (evidence.settings or settings_of(BACKEND)).name != "none" and models.precomputed:
        raise UsageError(NOBODY)


def explain(
    models: Models,
    task: ClassificationTask,
    example: Example,
    *,
    evidence: Evidence = Evidence(),
    toward: int | None = None,
    designed: str | None = None,
    runtime: Runtime = Runtime(),
) -> Explanation:
    """Ask models what they make of one example, and where they see it.

    Args:
        models: one or more: references, or those that were looked at before.
        task: what they do.
        example: the text. Where its target is not known, factors that need its label have no value.
        evidence: the backend of attributions, SHAP where none is named, and the factors to measure, all that are built
            in where none are. The backend "none" is for predictions and baselines alone.
        toward: the label that positive scores speak for, an index; None takes the one that the backend's scores speak
            for alone, else the one that the shortcut speaks for, else the last.
        designed: the factor that was designed for the example's set, if any.
        runtime: how models are run, and where their answers are kept.

    Raises:
        UsageError: an unknown backend, a target that is no class, or a label that the backend's attributions cannot be
            turned toward.
        ModelError: no model could be run.
        StoreError: the store cannot be read or written.

    Example:
        >>> from ranker import Evidence, explain, load_set, load_suite
        >>> models, rows = load_suite(["hans-sub-mini"]).models[-1:], load_set("hans-sub", limit=10)
        >>> explain(models, rows.task, rows.examples[0], evidence=Evidence("occlusion"))
        'Although the clerks filmed the drivers visited the nurse. / The clerks filmed...': non-entailment
        inoc-4000 non-entailment 99.7 %
        words by occlusion, toward entailment
    """
    backend = evidence.settings or settings_of(BACKEND)
    settings = settle(backend, task, toward)
    only = settings.only_label(len(task.labels))
    if toward is not None and only not in (None, toward):
        raise UsageError(
            f"`toward` {task.labels[toward]}: the scores speak for {task.labels[only]} alone; see `target` of "
            f"`attribution` {settings.name}"
        )
    seen = inspect_models(models)
    check_askable(seen, evidence)
    factors = tuple(BUILTIN.values() if evidence.factors is None else evidence.factors)
    if settings.name == "none":
        factors = tuple(factor for factor in factors if factor.kind == "baseline")
    rows = RunRows(LabelledDataset("example", task, (example,), 1, designed), (example,))
    made = plan(Gathered(seen, rows), replace(evidence, attribution=settings, factors=factors))
    collected = collect(replace(made, compares=False), runtime)
    answered = [one for one in collected.answered if one.to["population"].predictions.state[0] == ANSWERED]
    silent = {one.model.name: UNANSWERED for one in collected.answered if one not in answered}
    failures = {**collected.failures, **silent}
    if not answered:
        raise ModelError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    metric = [one for one in factors if one.name == task.metric]
    view = View(task, made.settings, [*metric, *made.factors], designed, toward)
    shown = view.explanation(example, {one.model.name: one.to["population"].seen(0) for one in answered})
    return replace(shown, left_out=made.left_out, failures=failures)


def find_example(rows: RowsFile | NamedDataset, identity: str, models: InspectedModels) -> Chosen:
    """Find an example of a set, or of a user's own rows, by its id: the number of the row where rows have none.

    It raises a UsageError: no row has that id, no task fits (see `decide_task`), or the rows cannot be read.
    """
    ood = rows.load() if isinstance(rows, NamedDataset) else _every_row(rows, models)
    example = next((row for row in ood.examples if row.id == identity), None)
    if example is None:
        some = ", ".join(row.id for row in ood.examples[:3])
        raise UsageError(f"`id`: {ood.name} has no example {identity!r}; its ids are like {some}")
    return require_labels(ood.task, ood.name), ood.designed, example


def _every_row(own: RowsFile, models: InspectedModels) -> LabelledDataset:
    """All rows of a user's own, with their labels where these can be read."""
    card = own.named.card
    sheet = own.with_texts()
    task = decide_task(own.named, sheet, models.stated)
    rows: Sequence[Example] = readers.unlabelled(sheet, readers.no_marks if card is None else marker(card.marks))
    try:
        places = [row.place for row in sheet.rows]
        rows = sets.with_labels(rows, readers.raw_labels(sheet), places, task)
    except DataError as error:
        log.warning("the rows are taken without labels: %s", error)
    if sheet.layout.label is None:
        log.warning("the rows are taken without labels: no column has a usual name for them; say which with `columns`")
    return LabelledDataset(own.name, task, tuple(rows), len(rows), None if card is None else card.designed)


def text_example(texts: Sequence[str], label: str | None, named: NamedTask, models: InspectedModels) -> Chosen:
    """Make an example of a user's own text, or pair of texts, with its true label if that is known.

    It raises a UsageError: more or fewer texts than the set's rows have, no such label, or no task (see `decide_task`).
    """
    card = named.card
    layouts = [] if card is None else [layout.text for layout in card.layouts]
    counts = {1, 2} if not layouts or sets.OWN.text in layouts else set(map(len, layouts))
    if len(texts) not in counts:
        of_set = "" if card is None else f" for {card.name}"
        times = " or ".join(map(str, sorted(counts)))
        raise UsageError(f"`text` must be given {times} times{of_set} (got {len(texts)})")
    task = require_labels(decide_task(named, stated=models.stated), "`label`")
    marks = readers.no_marks if card is None else marker(card.marks)
    index = None if label is None else label_index(label, task)
    try:
        example = Example("text", tuple(texts), index, marks(tuple(texts), {}))
    except ValueError as error:  # bytes of the command line that are no text
        raise UsageError(f"`text`: {error}") from error
    return task, None if card is None else card.designed, example


def label_index(name: str, task: ClassificationTask) -> int:
    """Look up the index of a label, by its name or an alias. It raises `UnknownName`."""
    index = task.index(name)
    if index is None:
        raise UnknownName(f"label of {task.name}", name, task.labels)
    return index
